//! What convolutions, pools, attention, scatter, running sums and quantization compute.

use super::ops::{flatten, for_each_index};
use super::scalar::binary_f32;
use super::tensor::Tensor;
use crate::op::{BinaryOp, Coordinates, PoolKind, ResizeMode, ScatterKind, Window};
use crate::ty::TensorType;
use ipucc_chip::ScalarType;
use rayon::prelude::*;

/// The operand's index under tap `tap` of the window at result index `at`, on every spatial axis;
/// `None` in the padding.
fn under(window: &Window, at: &[u32], tap: &[u32], extents: &[u32], out: &mut [u32]) -> bool {
    for i in 0..at.len() {
        let place = i64::from(at[i]) * i64::from(window.strides[i])
            + i64::from(tap[i]) * i64::from(window.dilation[i])
            - i64::from(window.low[i]);
        if !(0..i64::from(extents[i])).contains(&place) {
            return false;
        }
        out[i] = place as u32;
    }
    true
}

/// For every result position and tap, in row-major order: the flat operand position, if there is
/// one.
fn taps(window: &Window, result: &[u32], size: &[u32], extents: &[u32]) -> Vec<Vec<Option<usize>>> {
    let mut table = Vec::new();
    let mut place = vec![0u32; size.len()];
    for_each_index(result, |_, at| {
        let mut row = Vec::new();
        for_each_index(size, |_, tap| {
            let inside = under(window, at, tap, extents, &mut place);
            row.push(inside.then(|| flatten(extents, &place)));
        });
        table.push(row);
    });
    table
}

pub fn conv(window: &Window, groups: u32, x: &Tensor, w: &Tensor, ty: &TensorType) -> Tensor {
    let (size, extents) = (&w.ty.shape[2..], &x.ty.shape[2..]);
    let table = taps(window, &ty.shape[2..], size, extents);
    let product = |shape: &[u32]| shape.iter().map(|&e| e as usize).product::<usize>();
    let (plane, window_size) = (product(extents), product(size));
    let per_group = w.ty.shape[1] as usize;
    let outputs = ty.shape[1] as usize;
    let outputs_per_group = (outputs / (groups as usize).max(1)).max(1);
    let channels = x.ty.shape[1] as usize;
    // First operand and weight element of result channel `row` (batch and channel together).
    let starts = |row: usize| {
        let (n, o) = (row / outputs, row % outputs);
        let group = o / outputs_per_group;
        (
            (n * channels + group * per_group) * plane,
            o * per_group * window_size,
        )
    };
    let count = table.len();
    if ty.element.is_float() {
        let (a, b) = (x.to_floats(), w.to_floats());
        let mut values = vec![0.0f32; ty.elements()];
        if count > 0 {
            values
                .par_chunks_mut(count)
                .enumerate()
                .for_each(|(row, out)| {
                    let (from, weight) = starts(row);
                    for (value, row) in out.iter_mut().zip(&table) {
                        let mut sum = 0.0;
                        for c in 0..per_group {
                            let x = &a[from + c * plane..];
                            let w = &b[weight + c * window_size..];
                            for (tap, &w) in row.iter().zip(w) {
                                if let Some(at) = tap {
                                    sum += x[*at] * w;
                                }
                            }
                        }
                        *value = sum;
                    }
                });
        }
        return Tensor::from_floats(ty.clone(), &values);
    }
    let (a, b) = (x.to_ints(), w.to_ints());
    let mut values = Vec::with_capacity(ty.elements());
    for row in 0..ty.elements().checked_div(count).unwrap_or(0) {
        let (from, weight) = starts(row);
        for row in &table {
            let mut sum = 0i64;
            for c in 0..per_group {
                for (t, tap) in row.iter().enumerate() {
                    if let Some(at) = tap {
                        let w = b[weight + c * window_size + t];
                        sum = sum.wrapping_add(a[from + c * plane + at].wrapping_mul(w));
                    }
                }
            }
            values.push(sum);
        }
    }
    Tensor::from_ints(ty.clone(), &values)
}

pub fn conv_transpose(
    window: &Window,
    groups: u32,
    x: &Tensor,
    w: &Tensor,
    ty: &TensorType,
) -> Tensor {
    let (extents, size) = (&x.ty.shape[2..], &w.ty.shape[2..]);
    let result = &ty.shape[2..];
    let product = |shape: &[u32]| shape.iter().map(|&e| e as usize).product::<usize>();
    let (plane, taps, out_plane) = (product(extents), product(size), product(result));
    let channels = x.ty.shape[1] as usize;
    let per_group = w.ty.shape[1] as usize;
    let outputs = ty.shape[1] as usize;
    let inputs_per_group = (channels / (groups as usize).max(1)).max(1);
    let (a, b) = (x.to_floats(), w.to_floats());
    let mut values = vec![0.0f32; ty.elements()];
    // Where tap t of the window lands for operand position p.
    let mut places = vec![None; plane * taps];
    let mut to = vec![0u32; size.len()];
    for_each_index(extents, |p, at| {
        for_each_index(size, |t, tap| {
            for i in 0..at.len() {
                let place = i64::from(at[i]) * i64::from(window.strides[i])
                    + i64::from(tap[i]) * i64::from(window.dilation[i])
                    - i64::from(window.low[i]);
                if !(0..i64::from(result[i])).contains(&place) {
                    return;
                }
                to[i] = place as u32;
            }
            places[p * taps + t] = Some(flatten(result, &to));
        });
    });
    for n in 0..x.ty.shape[0] as usize {
        for c in 0..channels {
            let group = c / inputs_per_group;
            for o in 0..per_group {
                let first = (n * outputs + group * per_group + o) * out_plane;
                for p in 0..plane {
                    let value = a[(n * channels + c) * plane + p];
                    for t in 0..taps {
                        if let Some(place) = places[p * taps + t] {
                            values[first + place] += value * b[(c * per_group + o) * taps + t];
                        }
                    }
                }
            }
        }
    }
    Tensor::from_floats(ty.clone(), &values)
}

/// Per axis and result index the two operand indices and the weight of the second.
pub fn resize_axis(
    mode: ResizeMode,
    coordinates: Coordinates,
    from: u32,
    to: u32,
) -> Vec<(u32, u32, f32)> {
    let last = f64::from(from.max(1) - 1);
    let scale = f64::from(to) / f64::from(from.max(1));
    (0..to)
        .map(|i| {
            let i = f64::from(i);
            let half = (i + 0.5) / scale - 0.5;
            let place = match coordinates {
                Coordinates::HalfPixel => half,
                Coordinates::PytorchHalfPixel => {
                    if to > 1 {
                        half
                    } else {
                        0.0
                    }
                }
                Coordinates::AlignCorners => {
                    if to > 1 {
                        i * last / f64::from(to - 1)
                    } else {
                        0.0
                    }
                }
                Coordinates::Asymmetric => i / scale,
            };
            let nearest = |place: f64| {
                let at = place.clamp(0.0, last) as u32;
                (at, at, 0.0)
            };
            match mode {
                ResizeMode::Linear => {
                    let place = place.clamp(0.0, last);
                    let low = place.floor();
                    let high = (low + 1.0).min(last);
                    (low as u32, high as u32, (place - low) as f32)
                }
                ResizeMode::NearestPreferFloor => nearest((place - 0.5).ceil()),
                ResizeMode::NearestPreferCeil => nearest((place + 0.5).floor()),
                ResizeMode::NearestFloor => nearest(place.floor()),
                ResizeMode::NearestCeil => nearest(place.ceil()),
            }
        })
        .collect()
}

pub fn resize(mode: ResizeMode, coordinates: Coordinates, x: &Tensor, ty: &TensorType) -> Tensor {
    // One axis after the other: linear interpolation separates.
    let mut values = x.to_floats();
    let mut shape = x.ty.shape.clone();
    for axis in 0..ty.rank() {
        if shape[axis] == ty.shape[axis] {
            continue;
        }
        let table = resize_axis(mode, coordinates, shape[axis], ty.shape[axis]);
        let inner: usize = shape[axis + 1..].iter().map(|&e| e as usize).product();
        let outer: usize = shape[..axis].iter().map(|&e| e as usize).product();
        let extent = shape[axis] as usize;
        let mut next = Vec::with_capacity(outer * table.len() * inner);
        for o in 0..outer {
            for &(low, high, weight) in &table {
                for i in 0..inner {
                    let at = |index: u32| values[(o * extent + index as usize) * inner + i];
                    next.push(if weight == 0.0 {
                        at(low)
                    } else {
                        at(low) * (1.0 - weight) + at(high) * weight
                    });
                }
            }
        }
        values = next;
        shape[axis] = ty.shape[axis];
    }
    Tensor::from_floats(ty.clone(), &values)
}

pub fn pool(kind: PoolKind, size: &[u32], window: &Window, x: &Tensor, ty: &TensorType) -> Tensor {
    let extents = &x.ty.shape[2..];
    let table = taps(window, &ty.shape[2..], size, extents);
    let plane: usize = extents.iter().map(|&e| e as usize).product();
    let all: usize = size.iter().map(|&e| e as usize).product();
    let rows: usize = ty.shape[..2].iter().map(|&e| e as usize).product();
    if !ty.element.is_float() {
        let a = x.to_ints();
        let (least, _) = int_range(ty.element);
        let mut values = Vec::with_capacity(ty.elements());
        for row in 0..rows {
            for taps in &table {
                let seen = taps.iter().flatten().map(|at| a[row * plane + at]);
                values.push(seen.fold(least, i64::max));
            }
        }
        return Tensor::from_ints(ty.clone(), &values);
    }
    let a = x.to_floats();
    let mut values = Vec::with_capacity(ty.elements());
    for row in 0..rows {
        for taps in &table {
            let seen = taps.iter().flatten().map(|at| a[row * plane + at]);
            values.push(match kind {
                PoolKind::Max => {
                    seen.fold(f32::NEG_INFINITY, |m, v| binary_f32(BinaryOp::Max, m, v))
                }
                PoolKind::Average => {
                    let count = taps.iter().flatten().count();
                    seen.sum::<f32>() / count as f32
                }
                PoolKind::AverageWithPadding => seen.sum::<f32>() / all as f32,
            });
        }
    }
    Tensor::from_floats(ty.clone(), &values)
}

/// Least and greatest number of an integer type.
fn int_range(element: ScalarType) -> (i64, i64) {
    let bits = element.bytes() * 8;
    if element.is_signed_integer() {
        (-(1 << (bits - 1)), (1 << (bits - 1)) - 1)
    } else {
        (0, (1i64 << bits) - 1)
    }
}

pub fn scatter(axis: usize, kind: ScatterKind, operands: &[&Tensor], ty: &TensorType) -> Tensor {
    let (data, indices, updates) = (operands[0], operands[1], operands[2]);
    let extent = i64::from(data.ty.shape[axis]);
    let places = indices.to_ints();
    let inner = indices.ty.rank();
    // Where every update goes, in row-major order of the updates.
    let mut hits = Vec::with_capacity(updates.ty.elements());
    for_each_index(&updates.ty.shape, |_, index| {
        let mut place = places[flatten(&indices.ty.shape, &index[axis..axis + inner])];
        if place < 0 {
            place += extent;
        }
        hits.push((0..extent).contains(&place).then(|| {
            let mut to = index[..axis].to_vec();
            to.push(place as u32);
            to.extend_from_slice(&index[axis + inner..]);
            flatten(&data.ty.shape, &to)
        }));
    });
    let size = ty.element.bytes() as usize;
    if kind == ScatterKind::Update {
        let mut out = data.data.clone();
        for (from, to) in hits.iter().enumerate() {
            if let Some(to) = to {
                out[to * size..(to + 1) * size]
                    .copy_from_slice(&updates.data[from * size..(from + 1) * size]);
            }
        }
        return Tensor {
            ty: ty.clone(),
            data: out,
        };
    }
    if ty.element.is_float() {
        let mut values = data.to_floats();
        for (to, update) in hits.iter().zip(updates.to_floats()) {
            if let Some(to) = to {
                let op = match kind {
                    ScatterKind::Add | ScatterKind::Update => BinaryOp::Add,
                    ScatterKind::Mul => BinaryOp::Mul,
                    ScatterKind::Min => BinaryOp::Min,
                    ScatterKind::Max => BinaryOp::Max,
                };
                values[*to] = binary_f32(op, values[*to], update);
            }
        }
        return Tensor::from_floats(ty.clone(), &values);
    }
    let mut values = data.to_ints();
    for (to, update) in hits.iter().zip(updates.to_ints()) {
        if let Some(to) = to {
            let old = values[*to];
            values[*to] = match kind {
                ScatterKind::Add | ScatterKind::Update => old.wrapping_add(update),
                ScatterKind::Mul => old.wrapping_mul(update),
                ScatterKind::Min => old.min(update),
                ScatterKind::Max => old.max(update),
            };
        }
    }
    Tensor::from_ints(ty.clone(), &values)
}

pub fn cumsum(axis: usize, exclusive: bool, reverse: bool, x: &Tensor, ty: &TensorType) -> Tensor {
    let extent = ty.shape[axis] as usize;
    let step: usize = ty.shape[axis + 1..].iter().map(|&e| e as usize).product();
    let lines = ty.elements().checked_div(extent).unwrap_or(0);
    let line = move |line: usize| {
        let first = line / step * step * extent + line % step;
        (0..extent).map(move |i| first + step * if reverse { extent - 1 - i } else { i })
    };
    if ty.element.is_float() {
        let from = x.to_floats();
        let mut values = from.clone();
        for at in 0..lines {
            let mut sum = 0.0f32;
            for place in line(at) {
                let next = sum + from[place];
                values[place] = if exclusive { sum } else { next };
                sum = next;
            }
        }
        return Tensor::from_floats(ty.clone(), &values);
    }
    let from = x.to_ints();
    let mut values = from.clone();
    for at in 0..lines {
        let mut sum = 0i64;
        for place in line(at) {
            let next = sum.wrapping_add(from[place]);
            values[place] = if exclusive { sum } else { next };
            sum = next;
        }
    }
    Tensor::from_ints(ty.clone(), &values)
}

/// The element of scale and zero point for every element of `shape`.
pub(super) fn scale_slots(shape: &[u32], axis: Option<u8>) -> Vec<usize> {
    let mut slots = Vec::new();
    for_each_index(shape, |_, index| {
        slots.push(axis.map_or(0, |axis| index[axis as usize] as usize));
    });
    slots
}

pub fn quantize(axis: Option<u8>, operands: &[&Tensor], ty: &TensorType) -> Tensor {
    let scale = operands[1].to_floats();
    let zero = operands.get(2).map(|zero| zero.to_ints());
    let (least, most) = int_range(ty.element);
    let slots = scale_slots(&ty.shape, axis);
    let values: Vec<i64> = operands[0]
        .to_floats()
        .iter()
        .zip(slots)
        .map(|(x, slot)| {
            let zero = zero.as_ref().map_or(0, |zero| zero[slot]);
            let scaled = (x / scale[slot]).round_ties_even() as i64;
            scaled.saturating_add(zero).clamp(least, most)
        })
        .collect();
    Tensor::from_ints(ty.clone(), &values)
}

pub fn dequantize(axis: Option<u8>, operands: &[&Tensor], ty: &TensorType) -> Tensor {
    let scale = operands[1].to_floats();
    let zero = operands.get(2).map(|zero| zero.to_ints());
    let slots = scale_slots(&ty.shape, axis);
    let values: Vec<f32> = operands[0]
        .to_ints()
        .iter()
        .zip(slots)
        .map(|(q, slot)| {
            let zero = zero.as_ref().map_or(0, |zero| zero[slot]);
            (q - zero) as f32 * scale[slot]
        })
        .collect();
    Tensor::from_floats(ty.clone(), &values)
}

pub fn attention(
    scale: Option<u32>,
    causal: bool,
    operands: &[&Tensor],
    ty: &TensorType,
) -> Tensor {
    let rank = ty.rank();
    let (q, k, v) = (
        operands[0].to_floats(),
        operands[1].to_floats(),
        operands[2].to_floats(),
    );
    let extent = |tensor: &Tensor, back: usize| tensor.ty.shape[rank - back] as usize;
    let (sq, d) = (extent(operands[0], 2), extent(operands[0], 1));
    let (sk, dv) = (extent(operands[1], 2), extent(operands[2], 1));
    let scale = scale.map_or(1.0 / (d as f32).sqrt(), f32::from_bits);
    let mask = operands.get(3).map(|mask| {
        (
            mask.to_floats(),
            &mask.ty.shape,
            mask.ty.element == ScalarType::I1,
        )
    });
    let batch: Vec<u32> = ty.shape[..rank - 2].to_vec();
    let mut values = vec![0.0f32; ty.elements()];
    if dv == 0 {
        return Tensor::from_floats(ty.clone(), &values);
    }
    values
        .par_chunks_mut(dv)
        .enumerate()
        .for_each(|(row, out)| {
            let (stack, i) = (row / sq, row % sq);
            let query = &q[row * d..(row + 1) * d];
            let mut scores = vec![0.0f32; sk];
            let mut index = unflatten(&batch, stack);
            index.extend([i as u32, 0]);
            for (j, score) in scores.iter_mut().enumerate() {
                let key = &k[(stack * sk + j) * d..(stack * sk + j + 1) * d];
                let sum = query.iter().zip(key).fold(0.0, |sum, (a, b)| sum + a * b);
                *score = sum * scale;
                if let Some((mask, shape, truth)) = &mask {
                    index[rank - 1] = j as u32;
                    let at: Vec<u32> = index
                        .iter()
                        .zip(shape.iter())
                        .map(|(&i, &e)| if e == 1 { 0 } else { i })
                        .collect();
                    let value = mask[flatten(shape, &at)];
                    match (truth, value == 0.0) {
                        (true, true) => *score = f32::NEG_INFINITY,
                        (true, false) => {}
                        (false, _) => *score += value,
                    }
                }
                if causal && j + sq > i + sk {
                    *score = f32::NEG_INFINITY;
                }
            }
            let most = scores.iter().copied().fold(f32::NEG_INFINITY, f32::max);
            if most == f32::NEG_INFINITY && !scores.iter().any(|s| s.is_nan()) {
                return;
            }
            let mut sum = 0.0;
            for score in &mut scores {
                *score = (*score - most).exp();
                sum += *score;
            }
            for (j, score) in scores.iter().enumerate() {
                let weight = score / sum;
                let value = &v[(stack * sk + j) * dv..(stack * sk + j + 1) * dv];
                for (out, value) in out.iter_mut().zip(value) {
                    *out += weight * value;
                }
            }
        });
    Tensor::from_floats(ty.clone(), &values)
}

fn unflatten(shape: &[u32], mut flat: usize) -> Vec<u32> {
    let mut index = vec![0; shape.len()];
    for axis in (0..shape.len()).rev() {
        let extent = (shape[axis] as usize).max(1);
        index[axis] = (flat % extent) as u32;
        flat /= extent;
    }
    index
}
