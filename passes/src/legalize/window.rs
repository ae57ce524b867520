//! Pools as reductions over the taps of their windows.

use super::{constant, framed, least, reshaped};
use ipucc_tensor::{BinaryOp, Builder, Op, PoolKind, ReduceKind, Shape, TypeError, Value, Window};

/// A pool over a framed operand.
pub(super) fn pool(
    builder: &mut Builder,
    kind: PoolKind,
    size: &[u32],
    window: &Window,
    x: Value,
) -> Result<Value, TypeError> {
    let ty = builder.ty(x).clone();
    let framed_by = match kind {
        PoolKind::Max => least(builder, ty.element)?,
        _ => super::zero(builder, ty.element)?,
    };
    let fold = match kind {
        PoolKind::Max => ReduceKind::Max,
        PoolKind::Average => ReduceKind::Sum,
        PoolKind::AverageWithPadding => ReduceKind::Mean,
    };
    let x = super::framed_by(builder, x, window, framed_by)?;
    let folded = folded(builder, x, size, window, fold)?;
    if kind != PoolKind::Average || window.low.iter().chain(&window.high).all(|&e| e == 0) {
        return match kind {
            PoolKind::Average => {
                let taps = size.iter().product::<u32>();
                let count = constant(builder, ty.element, taps as f32)?;
                builder.binary(BinaryOp::Div, folded, count)
            }
            _ => Ok(folded),
        };
    }
    // How many taps are inside the operand, for every position: ones instead of elements.
    let mut plane = ty.shape.clone();
    plane[0] = 1;
    plane[1] = 1;
    let one = constant(builder, ty.element, 1.0)?;
    let ones = builder.broadcast_to(one, &plane)?;
    let ones = framed(builder, ones, window, 0.0)?;
    let counts = self::folded(builder, ones, size, window, ReduceKind::Sum)?;
    let counts = {
        let shape: Shape = builder.ty(counts).shape[2..].into();
        reshaped(builder, counts, shape)?
    };
    let shape = builder.ty(folded).shape.clone();
    let counts = builder.broadcast_to(counts, &shape)?;
    builder.op(Op::Binary(BinaryOp::Div), &[folded, counts])
}

/// Every window of the axes from 2 on, folded.
fn folded(
    builder: &mut Builder,
    x: Value,
    size: &[u32],
    window: &Window,
    kind: ReduceKind,
) -> Result<Value, TypeError> {
    let rank = builder.ty(x).rank();
    let seen = Op::Windows {
        first: 2,
        size: size.into(),
        strides: window.strides.clone(),
        dilation: window.dilation.clone(),
    };
    let seen = builder.op(seen, &[x])?;
    let mut joined: Shape = builder.ty(seen).shape[..rank].into();
    joined.push(size.iter().product());
    let seen = reshaped(builder, seen, joined)?;
    builder.reduce(kind, seen, &[rank as u8], false)
}
