//! The builder refuses an ill-typed operation at that operation, family by family, and adds nothing
//! to the function when it does.

use ipucc_chip::ScalarType::{self, F16, F32, I1, I8, I32};
use ipucc_tensor::{
    BinaryOp, Builder, CompareOp, Coordinates, Op, PoolKind, ReduceKind, ResizeMode, ScatterKind,
    TensorType, UnaryOp, Value, Window,
};

struct Case {
    family: &'static str,
    op: Op,
    operands: &'static [(ScalarType, &'static [u32])],
    message: &'static str,
}

fn window(spatial: usize) -> Window {
    let all = |value| smallvec::SmallVec::from_elem(value, spatial);
    Window {
        strides: all(1),
        low: all(0),
        high: all(0),
        dilation: all(1),
    }
}

fn dot(lhs: u8, rhs: u8) -> Op {
    Op::Dot {
        lhs_batch: Default::default(),
        rhs_batch: Default::default(),
        lhs_contract: smallvec::smallvec![lhs],
        rhs_contract: smallvec::smallvec![rhs],
        accumulate: F32,
        result: F32,
    }
}

#[rustfmt::skip]
fn cases() -> Vec<Case> {
    use smallvec::smallvec;
    let case = |family, op, operands, message| Case { family, op, operands, message };
    vec![
        case("unary", Op::Unary(UnaryOp::Exp), &[(I32, &[2])], "needs a float type"),
        case("unary", Op::Unary(UnaryOp::Popcount), &[(F32, &[2])], "integer"),
        case("binary", Op::Binary(BinaryOp::Add), &[(F32, &[2]), (F32, &[3])], "tensor<2xf32> and tensor<3xf32>"),
        case("binary", Op::Binary(BinaryOp::Add), &[(F32, &[2]), (F16, &[2])], "tensor<2xf32> and tensor<2xf16>"),
        case("binary", Op::Binary(BinaryOp::And), &[(F32, &[2]), (F32, &[2])], "integer"),
        case("binary", Op::Binary(BinaryOp::Add), &[(F32, &[2])], "takes 2 operands, 1 given"),
        case("compare", Op::Compare(CompareOp::Lt), &[(F32, &[2]), (I32, &[2])], "tensor<2xf32> and tensor<2xi32>"),
        case("select", Op::Select, &[(F32, &[2]), (F32, &[2]), (F32, &[2])], "condition is tensor<2xf32>, expected tensor<2xi1>"),
        case("clamp", Op::Clamp, &[(F32, &[2]), (F32, &[]), (F32, &[2])], "tensor<2xf32> and tensor<f32>"),
        case("broadcast", Op::Broadcast { shape: smallvec![2, 3], axes: smallvec![0] }, &[(F32, &[3])], "extent 3 cannot become 2"),
        case("reshape", Op::Reshape(smallvec![5]), &[(F32, &[2, 3])], "tensor<2x3xf32> has 6 elements, tensor<5xf32> 5"),
        case("transpose", Op::Transpose(smallvec![0, 0]), &[(F32, &[2, 3])], "no permutation"),
        case("slice", Op::Slice { starts: smallvec![1], sizes: smallvec![2], strides: smallvec![2] }, &[(F32, &[3])], "leaves 0..3"),
        case("slice", Op::Slice { starts: smallvec![0], sizes: smallvec![1], strides: smallvec![0] }, &[(F32, &[3])], "stride of axis 0 is zero"),
        case("pad", Op::Pad { low: smallvec![1], high: smallvec![1] }, &[(F32, &[3]), (F16, &[])], "expected rank 0"),
        case("concat", Op::Concat(0), &[(F32, &[2, 3]), (F32, &[2, 4])], "differ off axis 0"),
        case("concat", Op::Concat(0), &[], "takes at least one operand"),
        case("gather", Op::Gather { axis: 0 }, &[(F32, &[2]), (F32, &[2])], "expected i32"),
        case("scatter", Op::Scatter { axis: 0, kind: ScatterKind::Add }, &[(F32, &[4]), (I32, &[2]), (F32, &[3])], "tensor<3xf32>"),
        case("iota", Op::Iota { element: I32, shape: smallvec![2], axis: 1 }, &[], "axis 1 is not in the result shape"),
        case("reverse", Op::Reverse(smallvec![2]), &[(F32, &[2])], "axis 2 does not exist"),
        case("reduce", Op::Reduce { kind: ReduceKind::Sum, axes: smallvec![0, 0], keep: false }, &[(F32, &[2, 2])], "axis 0 is named twice"),
        case("reduce", Op::Reduce { kind: ReduceKind::Mean, axes: smallvec![0], keep: false }, &[(I32, &[2])], "needs a float type"),
        case("reduce", Op::Reduce { kind: ReduceKind::Sum, axes: smallvec![0], keep: false }, &[(I1, &[2])], "needs a number type"),
        case("argmax", Op::ArgReduce { largest: true, axis: 0, keep: false }, &[(F32, &[0])], "is empty"),
        case("cumsum", Op::CumSum { axis: 3, exclusive: false, reverse: false }, &[(F32, &[2])], "axis 3 does not exist"),
        case("topk", Op::TopK { axis: 0, k: 3, largest: true, indices: false }, &[(F32, &[2])], "k is 3, but axis 0 of tensor<2xf32> has 2 elements"),
        case("topk", Op::TopK { axis: 0, k: 1, largest: true, indices: true }, &[(I1, &[2])], "needs a number type"),
        case("dot", dot(1, 0), &[(F32, &[2, 3]), (F32, &[4, 5])], "different extents"),
        case("dot", dot(1, 0), &[(F32, &[2, 3]), (F16, &[3, 5])], "operand types differ"),
        case("conv", Op::Conv { window: window(2), groups: 1, accumulate: F32, result: F32 }, &[(F32, &[1, 2, 4, 4]), (F32, &[3, 5, 2, 2])], "needs extent 2 on axis 1"),
        case("conv", Op::Conv { window: window(1), groups: 1, accumulate: F32, result: F32 }, &[(F32, &[1, 2, 4, 4]), (F32, &[3, 2, 2, 2])], "one entry for each of the 2 spatial axes"),
        case("conv_transpose", Op::ConvTranspose { window: window(1), output_padding: smallvec![0], groups: 1, result: F32 }, &[(F32, &[1, 2, 4]), (F32, &[3, 2, 2])], "needs extent 2 on axis 0"),
        case("pool", Op::Pool { kind: PoolKind::Max, size: smallvec![0], window: window(1) }, &[(F32, &[1, 2, 4])], "the window is empty"),
        case("resize", Op::Resize { shape: smallvec![2, 2], mode: ResizeMode::Linear, coordinates: Coordinates::HalfPixel }, &[(F32, &[4])], "keeps its rank"),
        case("softmax", Op::Softmax(0), &[(I32, &[4])], "needs a float type"),
        case("layer_norm", Op::LayerNorm { epsilon: 0 }, &[(F32, &[2, 4]), (F32, &[4]), (F32, &[3])], "scale or bias is tensor<3xf32>, expected tensor<4xf32>"),
        case("rms_norm", Op::RmsNorm { epsilon: 0 }, &[(F32, &[]), (F32, &[])], "needs at least one axis"),
        case("gelu", Op::Gelu { tanh: false }, &[(I8, &[2])], "needs a float type"),
        case("quantize", Op::Quantize { to: I8, axis: None }, &[(F32, &[2]), (F32, &[2])], "scale"),
        case("dequantize", Op::Dequantize { axis: None }, &[(I8, &[2]), (F32, &[]), (I32, &[])], "zero"),
        case("attention", Op::Attention { scale: None, causal: false }, &[(F32, &[2, 3]), (F32, &[2, 4]), (F32, &[2, 4])], "tensor<2x3xf32>"),
        case("constant", Op::Constant { element: F32, shape: smallvec![3], data: vec![0; 8] }, &[], "8 bytes of data for tensor<3xf32>"),
        case("call", Op::Call { function: "f".into(), results: vec![] }, &[], "gives nothing back"),
        case("repeat", Op::Repeat { function: "f".into(), count: 3, carried: 1, sliced: 1 }, &[(F32, &[2]), (F32, &[4, 2])], "its first axis must have 3 elements"),
        case("repeat", Op::Repeat { function: "f".into(), count: 3, carried: 0, sliced: 0 }, &[(F32, &[2])], "carries nothing"),
    ]
}

#[test]
fn every_family_refuses_ill_typed_operands() {
    let mut faults = Vec::new();
    for case in cases() {
        let mut builder = Builder::new("main");
        let operands: Vec<Value> = case
            .operands
            .iter()
            .enumerate()
            .map(|(i, (element, shape))| {
                let ty = TensorType::new(*element, shape.iter().copied());
                builder.param(format!("x{i}"), ty)
            })
            .collect();
        match builder.op_all(case.op.clone(), &operands) {
            Ok(_) => faults.push(format!("{}: accepted {:?}", case.family, case.op)),
            Err(error) if !error.to_string().contains(case.message) => {
                faults.push(format!(
                    "{}: {error}\n  wanted: {}",
                    case.family, case.message
                ));
            }
            Err(error) => assert_eq!(error.op, case.op.name()),
        }
        assert!(builder.finish().body.is_empty(), "{}", case.family);
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// What the builder broadcasts by itself must fit too.
#[test]
fn helpers_refuse_what_does_not_broadcast() {
    let mut builder = Builder::new("main");
    let x = builder.param("x", TensorType::new(F32, [2, 3]));
    let y = builder.param("y", TensorType::new(F32, [2]));
    let i = builder.param("i", TensorType::new(I32, [3]));
    assert!(builder.binary(BinaryOp::Add, x, y).is_err());
    assert!(builder.compare(CompareOp::Eq, x, i).is_err());
    assert!(builder.broadcast_to(x, &[2]).is_err());
    assert!(builder.matmul(x, y).is_err());
    assert!(builder.matmul(x, x).is_err());
    assert!(builder.reduce(ReduceKind::Sum, x, &[2], false).is_err());
    assert!(builder.scalar(1.0, I32).is_err());
}
