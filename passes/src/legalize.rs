//! From the whole language to the forms that plans and kernels know.
//!
//! Products get one row, one column and one contracted axis; what works along an axis gets it as
//! the last one; several reduced axes become one; composites without a kernel become simpler
//! operations. Reshapes and transposes that this adds only say where elements stand.

use crate::rebuild::{rebuild, same};
use ipucc_tensor::{
    Axes, BinaryOp, Builder, CompareOp, Function, InstData, Module, Op, Shape, TensorType,
    TypeError, Value,
};

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

/// A product with one free axis a side and one contracted axis, free axes first.
fn dot(builder: &mut Builder, op: &Op, operands: &[Value]) -> Result<Value, TypeError> {
    let Op::Dot {
        lhs_batch,
        rhs_batch,
        lhs_contract,
        rhs_contract,
        accumulate,
        result,
    } = op
    else {
        return builder.op(op.clone(), operands);
    };
    let sides = [
        (operands[0], lhs_batch, lhs_contract),
        (operands[1], rhs_batch, rhs_contract),
    ];
    let plain = sides.iter().all(|(value, batch, contract)| {
        let shape = &builder.ty(*value).shape;
        let free: Vec<u32> = (0..shape.len() as u8)
            .filter(|axis| !batch.contains(axis) && !contract.contains(axis))
            .map(|axis| shape[usize::from(axis)])
            .collect();
        contract.len() == 1 && !free.is_empty() && free.iter().filter(|&&e| e > 1).count() <= 1
    });
    if plain {
        return builder.op(op.clone(), operands);
    }
    let mut matrices = Vec::new();
    let mut free_shapes: Vec<Shape> = Vec::new();
    let mut batch_shape = Shape::new();
    for (value, batch, contract) in sides {
        let shape = builder.ty(value).shape.clone();
        let free: Axes = (0..shape.len() as u8)
            .filter(|axis| !batch.contains(axis) && !contract.contains(axis))
            .collect();
        let extents =
            |axes: &[u8]| -> Shape { axes.iter().map(|&a| shape[usize::from(a)]).collect() };
        let order: Axes = batch.iter().chain(&free).chain(contract).copied().collect();
        let moved = transposed(builder, value, order)?;
        batch_shape = extents(batch);
        let mut matrix = batch_shape.clone();
        matrix.push(extents(&free).iter().product());
        matrix.push(extents(contract).iter().product());
        matrices.push(reshaped(builder, moved, matrix)?);
        free_shapes.push(extents(&free));
    }
    let batch: Axes = (0..batch_shape.len() as u8).collect();
    let contract = Axes::from_elem(batch.len() as u8 + 1, 1);
    let product = Op::Dot {
        lhs_batch: batch.clone(),
        rhs_batch: batch,
        lhs_contract: contract.clone(),
        rhs_contract: contract,
        accumulate: *accumulate,
        result: *result,
    };
    let value = builder.op(product, &matrices)?;
    let mut shape = batch_shape;
    free_shapes
        .iter()
        .for_each(|free| shape.extend_from_slice(free));
    reshaped(builder, value, shape)
}

/// A lookup of rows of a matrix at indices in one axis. Negative indices count from the end, others
/// are kept within the table.
fn gather(builder: &mut Builder, operands: &[Value], axis: u8) -> Result<Value, TypeError> {
    let (table, indices) = (operands[0], operands[1]);
    let (ty, at) = (builder.ty(table).clone(), builder.ty(indices).clone());
    let rank = ty.rank() as u8;
    let rows = ty.shape[usize::from(axis)];
    if ty.elements() == 0 || at.elements() == 0 {
        return builder.op(Op::Gather { axis }, operands);
    }
    // The axis goes to the front, the others become one.
    let mut order: Axes = Axes::from_elem(axis, 1);
    order.extend((0..rank).filter(|&other| other != axis));
    let front = transposed(builder, table, order)?;
    let rest: Shape = builder.ty(front).shape[1..].into();
    let matrix = Shape::from_slice(&[rows, rest.iter().product()]);
    let matrix = reshaped(builder, front, matrix)?;
    let count = at.elements() as u32;
    let flat = reshaped(builder, indices, Shape::from_slice(&[count]))?;
    let constant = |builder: &mut Builder, value: i32| {
        let op = Op::Constant {
            element: at.element,
            shape: Shape::from_slice(&[count]),
            data: value.to_le_bytes().to_vec(),
        };
        builder.op(op, &[])
    };
    let (zero, extent) = (constant(builder, 0)?, constant(builder, rows as i32)?);
    let last = constant(builder, rows as i32 - 1)?;
    let negative = builder.op(Op::Compare(CompareOp::Lt), &[flat, zero])?;
    let wrapped = builder.op(Op::Binary(BinaryOp::Add), &[flat, extent])?;
    let flat = builder.op(Op::Select, &[negative, wrapped, flat])?;
    let flat = builder.op(Op::Binary(BinaryOp::Max), &[flat, zero])?;
    let flat = builder.op(Op::Binary(BinaryOp::Min), &[flat, last])?;
    let found = builder.op(Op::Gather { axis: 0 }, &[matrix, flat])?;
    // [indices.., other axes..], and the axes before the looked-up one to the front again.
    let mut shape = at.shape.clone();
    shape.extend_from_slice(&rest);
    let found = reshaped(builder, found, shape)?;
    let (inner, before) = (at.rank() as u8, axis);
    let mut order: Axes = (inner..inner + before).collect();
    order.extend(0..inner);
    order.extend(inner + before..inner + rank - 1);
    transposed(builder, found, order)
}

/// `softmax(q k^T * scale + mask) v` in single steps.
fn attention(
    builder: &mut Builder,
    operands: &[Value],
    scale: Option<f32>,
    causal: bool,
) -> Result<Value, TypeError> {
    let (q, k, v) = (operands[0], operands[1], operands[2]);
    let ty = builder.ty(q).clone();
    let rank = ty.rank() as u8;
    let batch: Vec<u8> = (0..rank - 2).collect();
    let (rows, columns) = (rank - 2, rank - 1);
    let width = ty.shape[usize::from(columns)];
    let scores = builder.dot(q, k, &batch, &batch, &[columns], &[columns])?;
    let scale = scale.unwrap_or_else(|| 1.0 / (width as f32).sqrt());
    let factor = builder.scalar(scale, builder.ty(scores).element)?;
    let mut scores = builder.binary(BinaryOp::Mul, scores, factor)?;
    if let Some(&mask) = operands.get(3) {
        scores = builder.binary(BinaryOp::Add, scores, mask)?;
    }
    if causal {
        scores = causal_mask(builder, scores)?;
    }
    let shares = builder.op(Op::Softmax(columns), &[scores])?;
    builder.dot(shares, v, &batch, &batch, &[columns], &[rows])
}

/// Scores with what a query must not see at the least number.
fn causal_mask(builder: &mut Builder, scores: Value) -> Result<Value, TypeError> {
    let ty = builder.ty(scores).clone();
    let rank = ty.rank();
    let (queries, keys) = (ty.shape[rank - 2], ty.shape[rank - 1]);
    let shape = Shape::from_slice(&[queries, keys]);
    let count = |builder: &mut Builder, axis: u8| {
        let iota = Op::Iota {
            element: ipucc_chip::ScalarType::I32,
            shape: shape.clone(),
            axis,
        };
        builder.op(iota, &[])
    };
    let (row, column) = (count(builder, 0)?, count(builder, 1)?);
    let shift = builder.op(
        Op::Constant {
            element: ipucc_chip::ScalarType::I32,
            shape: shape.clone(),
            data: (keys as i32 - queries as i32).to_le_bytes().to_vec(),
        },
        &[],
    )?;
    let last = builder.op(Op::Binary(BinaryOp::Add), &[row, shift])?;
    let seen = builder.op(Op::Compare(CompareOp::Le), &[column, last])?;
    let seen = builder.broadcast_to(seen, &ty.shape)?;
    let least = builder.scalar(-ty.element.largest(), ty.element)?;
    let least = builder.broadcast_to(least, &ty.shape)?;
    builder.op(Op::Select, &[seen, scores, least])
}
