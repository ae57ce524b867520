"""Trains the digits classifier of this folder and writes its files.

A perceptron 64 -> 64 -> 32 -> 10 on the labelled 8x8 digits that scikit-learn ships (1,797 images,
UCI optical digits). Every fifth image is held out: 360 images that training never sees.

Run:  pip install -r requirements.txt && python train.py
Writes (beside this file):
  digits.onnx   the model: input `image` f32 [1, 64] in 0..1, output `logits` f32 [1, 10]
  images.npy    held-out images, f32 [360, 64]
  labels.npy    their labels, i64 [360]
  answers.npy   onnxruntime's logits for them, f32 [360, 10]
"""

import pathlib

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper
from sklearn.datasets import load_digits
from sklearn.neural_network import MLPClassifier

HERE = pathlib.Path(__file__).parent
OPSET = 17


def main():
    digits = load_digits()
    images = (digits.data / 16.0).astype(np.float32)
    labels = digits.target.astype(np.int64)
    held_out = np.arange(len(images)) % 5 == 4
    held_out[-1] = True  # 360 images

    network = MLPClassifier((64, 32), alpha=1e-3, max_iter=400, random_state=7)
    network.fit(images[~held_out], labels[~held_out])

    nodes, weights, value = [], [], "image"
    layers = list(zip(network.coefs_, network.intercepts_))
    for index, (weight, bias) in enumerate(layers):
        last = index == len(layers) - 1
        weights += [
            numpy_helper.from_array(weight.astype(np.float32), f"fc{index}.weight"),
            numpy_helper.from_array(bias.astype(np.float32), f"fc{index}.bias"),
        ]
        out = "logits" if last else f"fc{index}.out"
        nodes.append(
            helper.make_node(
                "Gemm", [value, f"fc{index}.weight", f"fc{index}.bias"], [out], name=f"fc{index}"
            )
        )
        if not last:
            nodes.append(helper.make_node("Relu", [out], [f"relu{index}"], name=f"relu{index}"))
            value = f"relu{index}"

    graph = helper.make_graph(
        nodes,
        "digits",
        [helper.make_tensor_value_info("image", TensorProto.FLOAT, [1, 64])],
        [helper.make_tensor_value_info("logits", TensorProto.FLOAT, [1, 10])],
        weights,
    )
    model = helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", OPSET)], producer_name="ipucc examples/digits"
    )
    model.ir_version = 8
    onnx.checker.check_model(model, full_check=True)
    path = HERE / "digits.onnx"
    onnx.save(model, path)

    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    test = images[held_out]
    answers = np.concatenate([session.run(None, {"image": row[None]})[0] for row in test])
    np.save(HERE / "images.npy", test)
    np.save(HERE / "labels.npy", labels[held_out])
    np.save(HERE / "answers.npy", answers.astype(np.float32))
    right = int((answers.argmax(1) == labels[held_out]).sum())
    print(f"{len(test)} held-out images, onnxruntime: {right} right, {path.stat().st_size} bytes")


if __name__ == "__main__":
    main()
