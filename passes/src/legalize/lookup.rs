//! Lookups and updates at run-time indices: rows of a matrix at indices in one axis.

use super::{reshaped, transposed};
use ipucc_chip::ScalarType;
use ipucc_tensor::{Axes, BinaryOp, Builder, CompareOp, Op, ScatterKind, Shape, TypeError, Value};

/// A lookup of rows of a matrix at indices in one axis. Negative indices count from the end, others
/// are kept within the table.
pub(super) fn gather(
    builder: &mut Builder,
    operands: &[Value],
    axis: u8,
) -> Result<Value, TypeError> {
    let (table, indices) = (operands[0], operands[1]);
    let (ty, at) = (builder.ty(table).clone(), builder.ty(indices).clone());
    let rank = ty.rank() as u8;
    let rows = ty.shape[usize::from(axis)];
    if ty.elements() == 0 || at.elements() == 0 {
        return builder.op(Op::Gather { axis }, operands);
    }
    // The axis goes to the front, the others become one.
    let (matrix, rest) = rows_of(builder, table, axis)?;
    let count = at.elements() as u32;
    let flat = reshaped(builder, indices, Shape::from_slice(&[count]))?;
    let flat = wrapped(builder, flat, rows)?;
    let (zero, last) = (
        every(builder, count, 0)?,
        every(builder, count, rows as i32 - 1)?,
    );
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

/// An i32 number `count` times.
fn every(builder: &mut Builder, count: u32, value: i32) -> Result<Value, TypeError> {
    let op = Op::Constant {
        element: ScalarType::I32,
        shape: Shape::from_slice(&[count]),
        data: value.to_le_bytes().to_vec(),
    };
    builder.op(op, &[])
}

/// Negative indices counted from the end of `rows`.
fn wrapped(builder: &mut Builder, indices: Value, rows: u32) -> Result<Value, TypeError> {
    let count = builder.ty(indices).elements() as u32;
    let zero = every(builder, count, 0)?;
    let extent = every(builder, count, rows as i32)?;
    let negative = builder.op(Op::Compare(CompareOp::Lt), &[indices, zero])?;
    let wrapped = builder.op(Op::Binary(BinaryOp::Add), &[indices, extent])?;
    builder.op(Op::Select, &[negative, wrapped, indices])
}

/// A value as a matrix whose rows are the slices along `axis`, and the shape of a slice.
fn rows_of(builder: &mut Builder, value: Value, axis: u8) -> Result<(Value, Shape), TypeError> {
    let shape = builder.ty(value).shape.clone();
    let mut order: Axes = Axes::from_elem(axis, 1);
    order.extend((0..shape.len() as u8).filter(|&other| other != axis));
    let front = transposed(builder, value, order)?;
    let rest: Shape = builder.ty(front).shape[1..].into();
    let matrix = [shape[usize::from(axis)], rest.iter().product()];
    Ok((reshaped(builder, front, Shape::from_slice(&matrix))?, rest))
}

/// Updates of rows of a matrix at indices in one axis; sums as a product with what the indices
/// select. Other kinds stay as they are.
pub(super) fn scatter(
    builder: &mut Builder,
    operands: &[Value],
    axis: u8,
    kind: ScatterKind,
) -> Result<Value, TypeError> {
    let (data, indices, updates) = (operands[0], operands[1], operands[2]);
    let (ty, at) = (builder.ty(data).clone(), builder.ty(indices).clone());
    let sums = kind == ScatterKind::Add && ty.element.is_float();
    if ty.elements() == 0 || at.elements() == 0 || !(sums || kind == ScatterKind::Update) {
        return builder.op(Op::Scatter { axis, kind }, operands);
    }
    let rows = ty.shape[usize::from(axis)];
    let count = at.elements() as u32;
    let (matrix, rest) = rows_of(builder, data, axis)?;
    let flat = reshaped(builder, indices, Shape::from_slice(&[count]))?;
    let flat = wrapped(builder, flat, rows)?;
    // Updates are [axes before.., indices.., axes behind..]: indices go to the front.
    let inner = at.rank() as u8;
    let rank = builder.ty(updates).rank() as u8;
    let mut order: Axes = (axis..axis + inner).collect();
    order.extend(0..axis);
    order.extend(axis + inner..rank);
    let updates = transposed(builder, updates, order)?;
    let columns = rest.iter().product();
    let updates = reshaped(builder, updates, Shape::from_slice(&[count, columns]))?;
    let updated = if sums {
        let selected = Shape::from_slice(&[rows, count]);
        let row = Op::Iota {
            element: ScalarType::I32,
            shape: selected.clone(),
            axis: 0,
        };
        let row = builder.op(row, &[])?;
        let hit = builder.broadcast_to(flat, &selected)?;
        let hit = builder.op(Op::Compare(CompareOp::Eq), &[row, hit])?;
        let hit = builder.op(Op::Convert(ty.element), &[hit])?;
        let sum = builder.matmul(hit, updates)?;
        builder.op(Op::Binary(BinaryOp::Add), &[matrix, sum])?
    } else {
        let op = Op::Scatter {
            axis: 0,
            kind: ScatterKind::Update,
        };
        builder.op(op, &[matrix, flat, updates])?
    };
    let mut shape = Shape::from_slice(&[rows]);
    shape.extend_from_slice(&rest);
    let updated = reshaped(builder, updated, shape)?;
    // The axis goes back to its place.
    let mut order: Axes = (1..=axis).collect();
    order.push(0);
    order.extend(axis + 1..ty.rank() as u8);
    transposed(builder, updated, order)
}
