//! From the whole language to the forms that plans and kernels know.
//!
//! Products get one row, one column and one contracted axis; what works along an axis gets it as
//! the last one; several reduced axes become one; composites without a kernel become simpler
//! operations. Reshapes, transposes and windows that this adds only say where elements stand.

mod attention;
mod lookup;
mod product;
mod scalar;
mod window;

use crate::rebuild::{rebuild, same};
use attention::attention;
use ipucc_chip::ScalarType;
use ipucc_tensor::{
    Axes, BinaryOp, Builder, Function, InstData, Module, Op, Shape, TensorType, TypeError, Value,
    Window,
};
use lookup::{gather, scatter};
use product::{conv, conv_transpose, dot};

/// Brings every operation into a form that has plans, as far as there is one.
pub fn legalize(module: &Module) -> Module {
    let mut out = module.clone();
    for function in out.functions.values_mut() {
        // A function that cannot be rebuilt is not valid; whoever reads it next says so.
        if let Ok(legal) = rebuild(function, TensorType::clone, |builder, data, operands| {
            instruction(builder, function, data, operands)
        }) {
            *function = legal;
        }
    }
    out
}

fn instruction(
    builder: &mut Builder,
    function: &Function,
    data: &InstData,
    operands: &[Value],
) -> Result<Value, TypeError> {
    match &data.op {
        Op::Dot { .. } => dot(builder, &data.op, operands),
        Op::Softmax(axis) => along_last(builder, operands[0], *axis, Op::Softmax),
        Op::TopK {
            axis,
            k,
            largest,
            indices,
        } => along_last(builder, operands[0], *axis, |axis| Op::TopK {
            axis,
            k: *k,
            largest: *largest,
            indices: *indices,
        }),
        Op::CumSum {
            axis,
            exclusive,
            reverse,
        } => along_last(builder, operands[0], *axis, |axis| Op::CumSum {
            axis,
            exclusive: *exclusive,
            reverse: *reverse,
        }),
        Op::Reduce { kind, axes, keep } => {
            let ty = builder.ty(operands[0]).clone();
            let mut axes = axes.clone();
            axes.sort_unstable();
            let result = data.results[0];
            if axes.is_empty() {
                return same(builder, function, data, operands);
            }
            let joined = join_axes(builder, operands[0], &axes)?;
            let axis = axes[0];
            let op = Op::Reduce {
                kind: *kind,
                axes: Axes::from_elem(axis, 1),
                keep: false,
            };
            let reduced = builder.op(op, &[joined])?;
            let wanted = function.ty(result).shape.clone();
            debug_assert!(*keep || wanted.len() + axes.len() == ty.rank());
            reshaped(builder, reduced, wanted)
        }
        Op::ArgReduce {
            largest,
            axis,
            keep: true,
        } => {
            let op = Op::ArgReduce {
                largest: *largest,
                axis: *axis,
                keep: false,
            };
            let value = builder.op(op, operands)?;
            reshaped(builder, value, function.ty(data.results[0]).shape.clone())
        }
        Op::Clamp => {
            let [x, low, high] = operands[..] else {
                return same(builder, function, data, operands);
            };
            let shape = builder.ty(x).shape.clone();
            let low = builder.broadcast_to(low, &shape)?;
            let high = builder.broadcast_to(high, &shape)?;
            let x = builder.op(Op::Binary(BinaryOp::Max), &[x, low])?;
            builder.op(Op::Binary(BinaryOp::Min), &[x, high])
        }
        Op::Reverse(axes) => {
            let shape = builder.ty(operands[0]).shape.clone();
            let reversed = |axis: usize| axes.contains(&(axis as u8)) && shape[axis] > 0;
            let slice = Op::Slice {
                starts: (0..shape.len())
                    .map(|axis| if reversed(axis) { shape[axis] - 1 } else { 0 })
                    .collect(),
                sizes: shape.clone(),
                strides: (0..shape.len())
                    .map(|axis| if reversed(axis) { -1 } else { 1 })
                    .collect(),
            };
            builder.op(slice, operands)
        }
        Op::Gather { axis } => gather(builder, operands, *axis),
        Op::Scatter { axis, kind } => scatter(builder, operands, *axis, *kind),
        // Windows without an element have no plan; whoever reads the operation says so.
        _ if function.ty(data.results[0]).elements() == 0 => {
            same(builder, function, data, operands)
        }
        Op::Conv { .. } => conv(builder, &data.op, operands),
        Op::ConvTranspose { .. } => conv_transpose(builder, &data.op, operands),
        Op::Pool { kind, size, window } => window::pool(builder, *kind, size, window, operands[0]),
        Op::Resize {
            mode, coordinates, ..
        } => {
            // One axis after the other: interpolation separates.
            let shape = function.ty(data.results[0]).shape.clone();
            let mut x = operands[0];
            for axis in 0..shape.len() {
                let mut next = builder.ty(x).shape.clone();
                if next[axis] != shape[axis] {
                    next[axis] = shape[axis];
                    let op = Op::Resize {
                        shape: next,
                        mode: *mode,
                        coordinates: *coordinates,
                    };
                    x = builder.op(op, &[x])?;
                }
            }
            Ok(x)
        }
        Op::Quantize { to, axis } => scalar::quantize(builder, *to, *axis, operands),
        Op::Dequantize { axis } => scalar::dequantize(builder, *axis, operands),
        Op::Attention { scale, causal } => {
            attention(builder, operands, scale.map(f32::from_bits), *causal)
        }
        _ => same(builder, function, data, operands),
    }
}

fn reshaped(builder: &mut Builder, value: Value, shape: Shape) -> Result<Value, TypeError> {
    if builder.ty(value).shape == shape {
        return Ok(value);
    }
    builder.op(Op::Reshape(shape), &[value])
}

fn transposed(builder: &mut Builder, value: Value, axes: Axes) -> Result<Value, TypeError> {
    if axes
        .iter()
        .enumerate()
        .all(|(i, &axis)| i == usize::from(axis))
    {
        return Ok(value);
    }
    builder.op(Op::Transpose(axes), &[value])
}

/// An operation along `axis` as one along the last axis.
fn along_last(
    builder: &mut Builder,
    x: Value,
    axis: u8,
    op: impl Fn(u8) -> Op,
) -> Result<Value, TypeError> {
    let rank = builder.ty(x).rank() as u8;
    if axis + 1 == rank {
        return builder.op(op(axis), &[x]);
    }
    // Exchanging two axes is its own inverse.
    let mut swap: Axes = (0..rank).collect();
    swap.swap(axis.into(), usize::from(rank) - 1);
    let x = builder.op(Op::Transpose(swap.clone()), &[x])?;
    let y = builder.op(op(rank - 1), &[x])?;
    builder.op(Op::Transpose(swap), &[y])
}

/// The operand with `axes` (ascending) as one axis, at the place of the first.
fn join_axes(builder: &mut Builder, x: Value, axes: &[u8]) -> Result<Value, TypeError> {
    let shape = builder.ty(x).shape.clone();
    let (first, count) = (usize::from(axes[0]), axes.len());
    if count == 1 {
        return Ok(x);
    }
    let others = |axis: &u8| !axes.contains(axis);
    let rank = shape.len() as u8;
    let mut order: Axes = (0..axes[0]).collect();
    order.extend_from_slice(axes);
    order.extend((axes[0]..rank).filter(others));
    let moved = transposed(builder, x, order)?;
    let shape = builder.ty(moved).shape.clone();
    let mut joined: Shape = shape[..first].into();
    joined.push(shape[first..first + count].iter().product());
    joined.extend_from_slice(&shape[first + count..]);
    builder.op(Op::Reshape(joined), &[moved])
}

/// A number of any type, rank 0.
fn constant(builder: &mut Builder, element: ScalarType, value: f32) -> Result<Value, TypeError> {
    if element.is_float() && element.bytes() > 1 {
        return builder.scalar(value, element);
    }
    let bytes = (value as i64).to_le_bytes();
    let op = Op::Constant {
        element,
        shape: Shape::new(),
        data: bytes[..element.bytes() as usize].to_vec(),
    };
    builder.op(op, &[])
}

fn zero(builder: &mut Builder, element: ScalarType) -> Result<Value, TypeError> {
    constant(builder, element, 0.0)
}

/// What no element is below.
fn least(builder: &mut Builder, element: ScalarType) -> Result<Value, TypeError> {
    let bits = 8 * element.bytes();
    if element.is_float() {
        constant(builder, element, f32::NEG_INFINITY)
    } else if element.is_signed_integer() {
        constant(builder, element, -((1u64 << (bits - 1)) as f32))
    } else {
        constant(builder, element, 0.0)
    }
}

/// The operand in the frame of a window, which holds `value`.
fn framed(
    builder: &mut Builder,
    x: Value,
    window: &Window,
    value: f32,
) -> Result<Value, TypeError> {
    let value = constant(builder, builder.ty(x).element, value)?;
    framed_by(builder, x, window, value)
}

fn framed_by(
    builder: &mut Builder,
    x: Value,
    window: &Window,
    value: Value,
) -> Result<Value, TypeError> {
    if window
        .low
        .iter()
        .chain(&window.high)
        .all(|&extent| extent == 0)
    {
        return Ok(x);
    }
    let around = |extents: &Shape| {
        let mut all = Shape::from_slice(&[0, 0]);
        all.extend_from_slice(extents);
        all
    };
    let pad = Op::Pad {
        low: around(&window.low),
        high: around(&window.high),
    };
    builder.op(pad, &[x, value])
}
