//! Quantization in single elementwise steps.

use super::constant;
use ipucc_chip::ScalarType;
use ipucc_tensor::{Axes, BinaryOp, Builder, Op, Shape, TypeError, UnaryOp, Value};

/// A scale or zero point at every element of `shape`, in f32.
fn spread(
    builder: &mut Builder,
    value: Value,
    axis: Option<u8>,
    shape: &Shape,
) -> Result<Value, TypeError> {
    let value = wide(builder, value)?;
    let spread = Op::Broadcast {
        shape: shape.clone(),
        axes: axis
            .map(|axis| Axes::from_elem(axis, 1))
            .unwrap_or_default(),
    };
    builder.op(spread, &[value])
}

fn wide(builder: &mut Builder, value: Value) -> Result<Value, TypeError> {
    match builder.ty(value).element {
        ScalarType::F32 => Ok(value),
        _ => builder.op(Op::Convert(ScalarType::F32), &[value]),
    }
}

/// `round(x / scale) + zero`, kept within the type.
pub(super) fn quantize(
    builder: &mut Builder,
    to: ScalarType,
    axis: Option<u8>,
    operands: &[Value],
) -> Result<Value, TypeError> {
    let shape = builder.ty(operands[0]).shape.clone();
    let x = wide(builder, operands[0])?;
    let scale = spread(builder, operands[1], axis, &shape)?;
    let scaled = builder.op(Op::Binary(BinaryOp::Div), &[x, scale])?;
    let mut value = builder.unary(UnaryOp::Round, scaled)?;
    if let Some(&zero) = operands.get(2) {
        let zero = spread(builder, zero, axis, &shape)?;
        value = builder.op(Op::Binary(BinaryOp::Add), &[value, zero])?;
    }
    let (least, most) = integer_range(to);
    for (op, limit) in [(BinaryOp::Max, least), (BinaryOp::Min, most)] {
        let limit = constant(builder, ScalarType::F32, limit)?;
        value = builder.binary(op, value, limit)?;
    }
    builder.op(Op::Convert(to), &[value])
}

/// `(q - zero) * scale`.
pub(super) fn dequantize(
    builder: &mut Builder,
    axis: Option<u8>,
    operands: &[Value],
) -> Result<Value, TypeError> {
    let shape = builder.ty(operands[0]).shape.clone();
    let element = builder.ty(operands[1]).element;
    let mut value = wide(builder, operands[0])?;
    if let Some(&zero) = operands.get(2) {
        let zero = spread(builder, zero, axis, &shape)?;
        value = builder.op(Op::Binary(BinaryOp::Sub), &[value, zero])?;
    }
    let scale = spread(builder, operands[1], axis, &shape)?;
    let value = builder.op(Op::Binary(BinaryOp::Mul), &[value, scale])?;
    match element {
        ScalarType::F32 => Ok(value),
        _ => builder.op(Op::Convert(element), &[value]),
    }
}

/// Least and greatest number of an integer type of at most 16 bits.
fn integer_range(element: ScalarType) -> (f32, f32) {
    let bits = 8 * element.bytes();
    let half = (1u32 << (bits - 1)) as f32;
    match element.is_signed_integer() {
        true => (-half, half - 1.0),
        false => (0.0, 2.0 * half - 1.0),
    }
}
