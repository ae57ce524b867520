//! Products and convolutions as products of matrices, a batch of them.

use super::{framed, reshaped, transposed};
use ipucc_tensor::{Axes, Builder, Op, ReduceKind, Shape, TypeError, Value, Window};

/// A product with one free axis a side and one contracted axis, free axes first.
pub(super) fn dot(builder: &mut Builder, op: &Op, operands: &[Value]) -> Result<Value, TypeError> {
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

/// A convolution as a product of its windows with the weights, group by group.
pub(super) fn conv(builder: &mut Builder, op: &Op, operands: &[Value]) -> Result<Value, TypeError> {
    let (
        Op::Conv {
            window,
            groups,
            accumulate,
            result,
        },
        &[x, w],
    ) = (op, operands)
    else {
        return builder.op(op.clone(), operands);
    };
    let (x_shape, w_shape) = (builder.ty(x).shape.clone(), builder.ty(w).shape.clone());
    let (size, spatial) = (w_shape[2..].to_vec(), w_shape.len() - 2);
    let per_group = w_shape[1];
    let (groups, outputs) = (*groups, w_shape[0] / groups);
    let x = framed(builder, x, window, 0.0)?;
    let seen = Op::Windows {
        first: 2,
        size: size.as_slice().into(),
        strides: window.strides.clone(),
        dilation: window.dilation.clone(),
    };
    let seen = builder.op(seen, &[x])?;
    let positions: Shape = builder.ty(seen).shape[2..2 + spatial].into();
    let product = |shape: &[u32]| shape.iter().product::<u32>();
    let (places, taps) = (product(&positions), product(&size));
    // [n, groups, channels, positions, taps] and [groups, outputs, channels, taps]
    let parts = [x_shape[0], groups, per_group, places, taps];
    let seen = reshaped(builder, seen, Shape::from_slice(&parts))?;
    let weights = [groups, outputs, per_group, taps];
    let w = reshaped(builder, w, Shape::from_slice(&weights))?;
    let found = if per_group == 1 && outputs == 1 && builder.ty(seen).element.is_float() {
        depthwise(builder, seen, w, *result)?
    } else {
        let product = Op::Dot {
            lhs_batch: Axes::from_slice(&[1]),
            rhs_batch: Axes::from_slice(&[0]),
            lhs_contract: Axes::from_slice(&[2, 4]),
            rhs_contract: Axes::from_slice(&[2, 3]),
            accumulate: *accumulate,
            result: *result,
        };
        // [groups, n, positions, outputs] to [n, groups, outputs, positions]
        let found = dot(builder, &product, &[seen, w])?;
        transposed(builder, found, Axes::from_slice(&[1, 0, 3, 2]))?
    };
    let mut shape = Shape::from_slice(&[x_shape[0], groups * outputs]);
    shape.extend_from_slice(&positions);
    reshaped(builder, found, shape)
}

/// One channel by its own taps: too thin for the matrix unit. Windows are
/// `[n, channels, 1, positions, taps]`, weights `[channels, 1, 1, taps]`; the sum is in f32.
fn depthwise(
    builder: &mut Builder,
    seen: Value,
    w: Value,
    result: ipucc_chip::ScalarType,
) -> Result<Value, TypeError> {
    let f32 = ipucc_chip::ScalarType::F32;
    let wide = |builder: &mut Builder, value: Value| match builder.ty(value).element == f32 {
        true => Ok(value),
        false => builder.op(Op::Convert(f32), &[value]),
    };
    let shape = builder.ty(seen).shape.clone();
    let (seen, w) = (wide(builder, seen)?, wide(builder, w)?);
    let flat = Shape::from_slice(&[shape[1], shape[4]]);
    let w = reshaped(builder, w, flat)?;
    let spread = Op::Broadcast {
        shape,
        axes: Axes::from_slice(&[1, 4]),
    };
    let w = builder.op(spread, &[w])?;
    let terms = builder.op(Op::Binary(ipucc_tensor::BinaryOp::Mul), &[seen, w])?;
    let sum = builder.reduce(ReduceKind::Sum, terms, &[4], false)?;
    match result == f32 {
        true => Ok(sum),
        false => builder.op(Op::Convert(result), &[sum]),
    }
}

/// A transposed convolution as a convolution of the operand with zeros between its elements, by the
/// reversed window.
pub(super) fn conv_transpose(
    builder: &mut Builder,
    op: &Op,
    operands: &[Value],
) -> Result<Value, TypeError> {
    let (
        Op::ConvTranspose {
            window,
            output_padding,
            groups,
            result,
        },
        &[x, w],
    ) = (op, operands)
    else {
        return builder.op(op.clone(), operands);
    };
    let (x_shape, w_shape) = (builder.ty(x).shape.clone(), builder.ty(w).shape.clone());
    let spatial = w_shape.len() - 2;
    if x_shape[2..].contains(&0) {
        return builder.op(op.clone(), operands);
    }
    let spaced = spaced(builder, x, &window.strides)?;
    // What the frame of the stride-1 convolution has too much of is cut off.
    let reach = |i: usize| (w_shape[i + 2] - 1) * window.dilation[i];
    let frame: Vec<(i64, i64)> = (0..spatial)
        .map(|i| {
            let full = i64::from(reach(i));
            let behind = full + i64::from(output_padding[i]) - i64::from(window.high[i]);
            (full - i64::from(window.low[i]), behind)
        })
        .collect();
    let at_least_zero = |side: i64| side.max(0) as u32;
    let cut = |side: i64| (-side).max(0) as u32;
    let around = Window {
        low: frame.iter().map(|f| at_least_zero(f.0)).collect(),
        high: frame.iter().map(|f| at_least_zero(f.1)).collect(),
        ..Window::default()
    };
    let framed = framed(builder, spaced, &around, 0.0)?;
    let shape = builder.ty(framed).shape.clone();
    let mut starts = Shape::from_elem(0, shape.len());
    let mut sizes = shape.clone();
    for (i, &(low, high)) in frame.iter().enumerate() {
        starts[i + 2] = cut(low);
        sizes[i + 2] = shape[i + 2].saturating_sub(cut(low) + cut(high));
    }
    let slice = Op::Slice {
        starts,
        strides: shape.iter().map(|_| 1).collect(),
        sizes,
    };
    let x = builder.op(slice, &[framed])?;
    // [channels, outputs, window..] to [groups * outputs, channels of a group, window..]
    let (per_group, outputs) = (w_shape[0] / groups, w_shape[1]);
    let mut grouped = Shape::from_slice(&[*groups, per_group, outputs]);
    grouped.extend_from_slice(&w_shape[2..]);
    let w = reshaped(builder, w, grouped)?;
    let mut order: Axes = Axes::from_slice(&[0, 2, 1]);
    order.extend((0..spatial as u8).map(|axis| axis + 3));
    let w = transposed(builder, w, order)?;
    let mut whole = Shape::from_slice(&[groups * outputs, per_group]);
    whole.extend_from_slice(&w_shape[2..]);
    let w = reshaped(builder, w, whole.clone())?;
    let reversed = Op::Slice {
        starts: (0..whole.len())
            .map(|axis| if axis < 2 { 0 } else { whole[axis] - 1 })
            .collect(),
        strides: (0..whole.len())
            .map(|axis| if axis < 2 { 1 } else { -1 })
            .collect(),
        sizes: whole,
    };
    let w = builder.op(reversed, &[w])?;
    let plain = Op::Conv {
        window: Window {
            strides: Shape::from_elem(1, spatial),
            low: Shape::from_elem(0, spatial),
            high: Shape::from_elem(0, spatial),
            dilation: window.dilation.clone(),
        },
        groups: *groups,
        accumulate: ipucc_chip::ScalarType::F32,
        result: *result,
    };
    conv(builder, &plain, &[x, w])
}

/// The operand with `stride - 1` zeros between neighbours along every axis from 2 on.
fn spaced(builder: &mut Builder, x: Value, strides: &[u32]) -> Result<Value, TypeError> {
    let mut x = x;
    for (i, &stride) in strides.iter().enumerate() {
        let shape = builder.ty(x).shape.clone();
        let axis = i + 2;
        if stride == 1 {
            continue;
        }
        // A new axis behind it takes the zeros.
        let mut pairs = shape.clone();
        pairs.insert(axis + 1, 1);
        let pairs = reshaped(builder, x, pairs)?;
        let rank = shape.len() + 1;
        let mut high = Shape::from_elem(0, rank);
        high[axis + 1] = stride - 1;
        let zero = super::zero(builder, builder.ty(x).element)?;
        let pad = Op::Pad {
            low: Shape::from_elem(0, rank),
            high,
        };
        let wide = builder.op(pad, &[pairs, zero])?;
        let mut joined = shape.clone();
        joined[axis] = shape[axis] * stride;
        let joined = reshaped(builder, wide, joined)?;
        let mut sizes = shape.clone();
        sizes[axis] = (shape[axis] - 1) * stride + 1;
        let slice = Op::Slice {
            starts: Shape::from_elem(0, shape.len()),
            strides: shape.iter().map(|_| 1).collect(),
            sizes,
        };
        x = builder.op(slice, &[joined])?;
    }
    Ok(x)
}
