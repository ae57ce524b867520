//! Attention in single steps.

use ipucc_tensor::{BinaryOp, Builder, CompareOp, Op, Shape, TypeError, Value};

/// `softmax(q k^T * scale + mask) v` in single steps.
pub(super) fn attention(
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
