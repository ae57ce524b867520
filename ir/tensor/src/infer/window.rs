//! Result types of convolutions, pools, attention, scatter and quantization.

use crate::op::{Op, PoolKind, Window};
use crate::ty::{Shape, TensorType};
use ipucc_chip::ScalarType;

fn floats(ty: &TensorType) -> Result<(), String> {
    if ty.element.is_float() {
        Ok(())
    } else {
        Err(format!("needs a float type, not {ty}"))
    }
}

fn check_window(window: &Window, spatial: usize) -> Result<(), String> {
    for (what, entries) in [
        ("strides", &window.strides),
        ("low", &window.low),
        ("high", &window.high),
        ("dilation", &window.dilation),
    ] {
        if entries.len() != spatial {
            return Err(format!(
                "`{what}` needs one entry for each of the {spatial} spatial axes, found {}",
                entries.len()
            ));
        }
    }
    if window.strides.contains(&0) || window.dilation.contains(&0) {
        return Err("strides and dilations must be at least 1".into());
    }
    Ok(())
}

/// Extent of the result of a window of `size` taps that slides over `extent` elements.
fn slide(window: &Window, i: usize, extent: u32, size: u32) -> Result<u32, String> {
    if size == 0 {
        return Err(format!("the window is empty along spatial axis {i}"));
    }
    let reach = u64::from(size - 1) * u64::from(window.dilation[i]) + 1;
    let padded = u64::from(extent) + u64::from(window.low[i]) + u64::from(window.high[i]);
    if padded < reach {
        return Ok(0);
    }
    u32::try_from((padded - reach) / u64::from(window.strides[i]) + 1)
        .map_err(|_| format!("the result is too large along spatial axis {i}"))
}

fn spatial_rank(x: &TensorType) -> Result<usize, String> {
    match x.rank() {
        3..=5 => Ok(x.rank() - 2),
        _ => Err(format!(
            "{x} needs two axes and 1 to 3 spatial ones: rank 3, 4 or 5"
        )),
    }
}

pub(super) fn windows(
    first: usize,
    size: &[u32],
    strides: &[u32],
    dilation: &[u32],
    x: &TensorType,
) -> Result<TensorType, String> {
    if first + size.len() > x.rank() {
        return Err(format!(
            "windows of {} axes from axis {first} on leave {x}",
            size.len()
        ));
    }
    let window = Window {
        strides: strides.into(),
        low: Shape::from_elem(0, size.len()),
        high: Shape::from_elem(0, size.len()),
        dilation: dilation.into(),
    };
    check_window(&window, size.len())?;
    let mut shape = x.shape.clone();
    for (i, &taps) in size.iter().enumerate() {
        shape[first + i] = slide(&window, i, x.shape[first + i], taps)?;
    }
    shape.extend_from_slice(size);
    Ok(TensorType {
        element: x.element,
        shape,
    })
}

pub(super) fn conv(
    window: &Window,
    groups: u32,
    accumulate: ScalarType,
    result: ScalarType,
    x: &TensorType,
    w: &TensorType,
) -> Result<TensorType, String> {
    if x.element != w.element || x.element == ScalarType::I1 {
        return Err(format!("operand types do not fit: {x} and {w}"));
    }
    if x.element.is_float() {
        if accumulate != ScalarType::F32 {
            return Err(format!("floats are summed in f32, not {accumulate}"));
        }
        if !result.is_float() {
            return Err(format!("the result is {result}, expected a float type"));
        }
    } else if !matches!(accumulate, ScalarType::I32 | ScalarType::U32) || result != accumulate {
        return Err(format!(
            "integers are summed in i32 or u32, which is also the result: not {accumulate} and {result}"
        ));
    }
    let spatial = spatial_rank(x)?;
    if w.rank() != x.rank() {
        return Err(format!("operands of different rank: {x} and {w}"));
    }
    check_window(window, spatial)?;
    let (channels, outputs) = (x.shape[1], w.shape[0]);
    if groups == 0 || !channels.is_multiple_of(groups) || !outputs.is_multiple_of(groups) {
        return Err(format!(
            "{channels} input and {outputs} output channels do not divide into {groups} groups"
        ));
    }
    if w.shape[1] != channels / groups {
        return Err(format!(
            "{w} needs extent {} on axis 1 for {x} and {groups} groups",
            channels / groups
        ));
    }
    let mut shape = Shape::from_slice(&[x.shape[0], outputs]);
    for i in 0..spatial {
        shape.push(slide(window, i, x.shape[i + 2], w.shape[i + 2])?);
    }
    Ok(TensorType {
        element: result,
        shape,
    })
}

pub(super) fn conv_transpose(
    window: &Window,
    output_padding: &[u32],
    groups: u32,
    result: ScalarType,
    x: &TensorType,
    w: &TensorType,
) -> Result<TensorType, String> {
    floats(x)?;
    if x.element != w.element || !result.is_float() {
        return Err(format!(
            "operand types do not fit: {x} and {w}, result {result}"
        ));
    }
    let spatial = spatial_rank(x)?;
    if w.rank() != x.rank() {
        return Err(format!("operands of different rank: {x} and {w}"));
    }
    check_window(window, spatial)?;
    if output_padding.len() != spatial {
        return Err(format!(
            "`output_padding` needs one entry for each of the {spatial} spatial axes, found {}",
            output_padding.len()
        ));
    }
    let channels = x.shape[1];
    if groups == 0 || !channels.is_multiple_of(groups) {
        return Err(format!(
            "{channels} channels do not divide into {groups} groups"
        ));
    }
    if w.shape[0] != channels {
        return Err(format!("{w} needs extent {channels} on axis 0 for {x}"));
    }
    let outputs = w.shape[1]
        .checked_mul(groups)
        .ok_or("too many result channels")?;
    let mut shape = Shape::from_slice(&[x.shape[0], outputs]);
    for (i, &extra) in output_padding.iter().enumerate() {
        let (extent, size) = (i64::from(x.shape[i + 2]), i64::from(w.shape[i + 2]));
        if size == 0 {
            return Err(format!("the window is empty along spatial axis {i}"));
        }
        if extra >= window.strides[i].max(window.dilation[i]) {
            return Err(format!(
                "`output_padding` of spatial axis {i} must be less than its stride or dilation"
            ));
        }
        let full = if extent == 0 {
            0
        } else {
            (extent - 1) * i64::from(window.strides[i])
                + (size - 1) * i64::from(window.dilation[i])
                + 1
                + i64::from(extra)
        };
        let cut = i64::from(window.low[i]) + i64::from(window.high[i]);
        let extent = u32::try_from((full - cut).max(0));
        shape.push(extent.map_err(|_| format!("the result is too large along spatial axis {i}"))?);
    }
    Ok(TensorType {
        element: result,
        shape,
    })
}

pub(super) fn pool(
    kind: PoolKind,
    size: &[u32],
    window: &Window,
    x: &TensorType,
) -> Result<TensorType, String> {
    if x.element == ScalarType::I1 {
        return Err(format!("needs a number type, not {x}"));
    }
    if kind != PoolKind::Max {
        floats(x)?;
    }
    let spatial = spatial_rank(x)?;
    check_window(window, spatial)?;
    if size.len() != spatial {
        return Err(format!(
            "`size` needs one entry for each of the {spatial} spatial axes, found {}",
            size.len()
        ));
    }
    let mut shape = Shape::from_slice(&x.shape[..2]);
    for (i, &taps) in size.iter().enumerate() {
        shape.push(slide(window, i, x.shape[i + 2], taps)?);
    }
    Ok(TensorType {
        element: x.element,
        shape,
    })
}

pub(super) fn scatter(axis: usize, operands: &[TensorType]) -> Result<TensorType, String> {
    let (data, indices, updates) = (&operands[0], &operands[1], &operands[2]);
    if indices.element != ScalarType::I32 {
        return Err(format!("indices are {indices}, expected i32"));
    }
    let mut shape = Shape::from_slice(&data.shape[..axis]);
    shape.extend_from_slice(&indices.shape);
    shape.extend_from_slice(&data.shape[axis + 1..]);
    let wanted = TensorType {
        element: data.element,
        shape,
    };
    if *updates != wanted {
        return Err(format!("updates are {updates}, expected {wanted}"));
    }
    Ok(data.clone())
}

/// Checks scale and zero point of `quantize` and `dequantize` against the integer type `q`.
pub(super) fn check_scale(
    q: &TensorType,
    operands: &[TensorType],
    axis: Option<u8>,
) -> Result<(), String> {
    if !q.element.is_integer() {
        return Err(format!("{q} is not of an integer type"));
    }
    let scale = &operands[0];
    floats(scale)?;
    let shape: Shape = match axis {
        None => Shape::new(),
        Some(axis) => match q.shape.get(axis as usize) {
            Some(&extent) => Shape::from_elem(extent, 1),
            None => return Err(format!("axis {axis} does not exist in {q}")),
        },
    };
    if scale.shape != shape {
        return Err(format!("scale is {scale}, expected shape {:?}", &shape[..]));
    }
    match operands.get(1) {
        Some(zero) if zero.element != q.element || zero.shape != shape => Err(format!(
            "zero point is {zero}, expected {}",
            TensorType::new(q.element, shape)
        )),
        _ => Ok(()),
    }
}

pub(super) fn attention(operands: &[TensorType]) -> Result<TensorType, String> {
    let (q, k, v) = (&operands[0], &operands[1], &operands[2]);
    floats(q)?;
    let rank = q.rank();
    let agree = rank >= 2
        && [k, v].iter().all(|x| {
            x.element == q.element && x.rank() == rank && x.shape[..rank - 2] == q.shape[..rank - 2]
        })
        && k.shape[rank - 1] == q.shape[rank - 1]
        && k.shape[rank - 2] == v.shape[rank - 2];
    if !agree {
        return Err(format!(
            "{q}, {k} and {v} are not [.., sq, d], [.., sk, d] and [.., sk, dv] of one element type"
        ));
    }
    if let Some(mask) = operands.get(3) {
        let mut scores = q.shape.clone();
        scores[rank - 1] = k.shape[rank - 2];
        let fits = mask.rank() == rank
            && mask
                .shape
                .iter()
                .zip(&scores)
                .all(|(&m, &s)| m == 1 || m == s);
        if !fits || (mask.element != ScalarType::I1 && mask.element != q.element) {
            return Err(format!(
                "mask is {mask}, expected i1 or {} of shape {:?} or extent 1 along some axes",
                q.element,
                &scores[..]
            ));
        }
    }
    let mut shape = q.shape.clone();
    shape[rank - 1] = v.shape[rank - 1];
    Ok(TensorType {
        element: q.element,
        shape,
    })
}

/// How many operands an operation with optional ones takes.
pub(super) fn optional_operands(op: &Op) -> Option<(usize, usize)> {
    match op {
        Op::Quantize { .. } | Op::Dequantize { .. } => Some((2, 3)),
        Op::Attention { .. } => Some((3, 4)),
        _ => None,
    }
}
