//! How far a result computed with other roundings may lie from the interpreter's.
//!
//! Roundings are taken as independent, each of at most unit `u` times its magnitude: the bound is
//! `6 * sqrt(n) * u * r` with n roundings and r the root of the sum of squares of the rounded
//! magnitudes, taken from the data. Never n * u times the sum of magnitudes, which lets anything
//! pass.

mod carried;

pub use carried::carried;

use super::tensor::Tensor;
use crate::op::{BinaryOp, Op, PoolKind, ReduceKind, ResizeMode, ScatterKind, UnaryOp};
use ipucc_chip::ScalarType;

/// Unit roundoff of a float type; 0 for integers.
pub fn unit(element: ScalarType) -> f32 {
    match element {
        ScalarType::F32 => f32::EPSILON / 2.0,
        ScalarType::F16 => 1.0 / 2048.0,
        ScalarType::F8E4M3 => 1.0 / 16.0,
        ScalarType::F8E5M2 => 1.0 / 8.0,
        _ => 0.0,
    }
}

/// Bound per element on the difference between two honest evaluations of one operation on the same
/// operands. Zero (exact) for integers and data movement.
///
/// Below the smallest normal number of the result's type a rounding is as large as it is there.
pub fn bound(op: &Op, operands: &[&Tensor], result: &Tensor) -> Vec<f32> {
    let mut bounds = relative(op, operands, result);
    if rounds(op) {
        let least = 6.0 * unit(result.ty.element) * smallest_normal(result.ty.element);
        for bound in &mut bounds {
            *bound = bound.hypot(least);
        }
    }
    bounds
}

/// Smallest normal number of a float type (`isa/float.md` 1).
fn smallest_normal(element: ScalarType) -> f32 {
    match element {
        ScalarType::F16 => 2f32.powi(-14),
        ScalarType::F8E4M3 => 2f32.powi(-7),
        ScalarType::F8E5M2 => 2f32.powi(-15),
        _ => f32::MIN_POSITIVE,
    }
}

/// True for operations that round what they make, if it is a float.
fn rounds(op: &Op) -> bool {
    match op {
        Op::Unary(op) => !matches!(
            op,
            UnaryOp::Neg
                | UnaryOp::Abs
                | UnaryOp::Sign
                | UnaryOp::Floor
                | UnaryOp::Ceil
                | UnaryOp::Round
        ),
        Op::Binary(op) => !matches!(op, BinaryOp::Min | BinaryOp::Max),
        Op::Reduce { kind, .. } => !matches!(kind, ReduceKind::Min | ReduceKind::Max),
        Op::Pool { kind, .. } => *kind != PoolKind::Max,
        Op::Convert(_)
        | Op::Dot { .. }
        | Op::Conv { .. }
        | Op::ConvTranspose { .. }
        | Op::CumSum { .. }
        | Op::Resize { .. }
        | Op::Dequantize { .. }
        | Op::Attention { .. }
        | Op::Gelu { .. }
        | Op::Softmax(_)
        | Op::LayerNorm { .. }
        | Op::RmsNorm { .. } => true,
        _ => false,
    }
}

/// The bound by units relative to what is rounded.
fn relative(op: &Op, operands: &[&Tensor], result: &Tensor) -> Vec<f32> {
    // A sum is rounded in the type that it is kept in, the result once more in its own.
    let u = match op {
        Op::Dot { accumulate, .. } => unit(*accumulate).max(unit(result.ty.element)),
        _ => unit(result.ty.element),
    };
    let values = result.to_floats();
    let own = |roundings: f32| -> Vec<f32> {
        values
            .iter()
            .map(|v| 6.0 * roundings.sqrt() * u * v.abs())
            .collect()
    };
    match op {
        Op::Dot {
            lhs_batch,
            rhs_batch,
            lhs_contract,
            rhs_contract,
            ..
        } if u > 0.0 => {
            let terms: usize = lhs_contract
                .iter()
                .map(|&axis| operands[0].ty.shape[axis as usize] as usize)
                .product();
            // Every partial sum and product is rounded; a partial sum of independent terms is at
            // most about as large as the root of the sum of squares of all terms.
            let square = |tensor: &Tensor| {
                let squares: Vec<f32> = tensor.to_floats().iter().map(|v| v * v).collect();
                Tensor::from_floats(tensor.ty.with_element(ScalarType::F32), &squares)
            };
            let (a, b) = (square(operands[0]), square(operands[1]));
            let ty = result.ty.with_element(ScalarType::F32);
            let op = Op::Dot {
                lhs_batch: lhs_batch.clone(),
                rhs_batch: rhs_batch.clone(),
                lhs_contract: lhs_contract.clone(),
                rhs_contract: rhs_contract.clone(),
                accumulate: ScalarType::F32,
                result: ScalarType::F32,
            };
            let sums = super::eval_op(&op, &[&a, &b], &ty).to_floats();
            let n = terms.max(1) as f32;
            let magnitudes = sums.iter().zip(&values);
            magnitudes
                .map(|(sum, value)| 6.0 * n.sqrt() * u * (sum + value * value).sqrt())
                .collect()
        }
        Op::Reduce {
            kind: ReduceKind::Sum | ReduceKind::Mean,
            axes,
            ..
        } if u > 0.0 => {
            let n: f32 = axes
                .iter()
                .map(|&axis| operands[0].ty.shape[axis as usize] as f32)
                .product();
            let squares: Vec<f32> = operands[0].to_floats().iter().map(|v| v * v).collect();
            let ty = operands[0].ty.with_element(ScalarType::F32);
            let squares = Tensor::from_floats(ty, &squares);
            let sums = super::eval_op(op, &[&squares], &result.ty.with_element(ScalarType::F32));
            let scale = if matches!(
                op,
                Op::Reduce {
                    kind: ReduceKind::Mean,
                    ..
                }
            ) {
                n
            } else {
                1.0
            };
            sums.to_floats()
                .iter()
                .zip(&values)
                .map(|(sum, v)| 6.0 * n.sqrt() * u * (sum / scale + v * v).sqrt())
                .collect()
        }
        Op::Conv { .. } | Op::ConvTranspose { .. } | Op::CumSum { .. } if u > 0.0 => {
            let square = |tensor: &Tensor| {
                let squares: Vec<f32> = tensor.to_floats().iter().map(|v| v * v).collect();
                Tensor::from_floats(tensor.ty.with_element(ScalarType::F32), &squares)
            };
            let squares: Vec<Tensor> = operands.iter().map(|tensor| square(tensor)).collect();
            let squares: Vec<&Tensor> = squares.iter().collect();
            let ty = result.ty.with_element(ScalarType::F32);
            let sums = super::eval_op(op, &squares, &ty).to_floats();
            // Terms of one sum: the taps of a window, or the elements of the axis.
            let n: f32 = match op {
                Op::CumSum { axis, .. } => operands[0].ty.shape[*axis as usize] as f32,
                // Here the second axis counts results.
                Op::ConvTranspose { groups, .. } => {
                    let w = &operands[1].ty.shape;
                    let taps: f32 = w[2..].iter().map(|&e| e as f32).product();
                    w[0] as f32 / (*groups).max(1) as f32 * taps
                }
                _ => operands[1].ty.shape[1..]
                    .iter()
                    .map(|&e| e as f32)
                    .product(),
            };
            let magnitudes = sums.iter().zip(&values);
            magnitudes
                .map(|(sum, v)| 6.0 * n.max(1.0).sqrt() * u * (sum + v * v).sqrt())
                .collect()
        }
        Op::Pool { kind, size, .. } if *kind != PoolKind::Max => {
            let n: f32 = size.iter().map(|&e| e as f32).product();
            let squares: Vec<f32> = operands[0].to_floats().iter().map(|v| v * v).collect();
            let ty = operands[0].ty.with_element(ScalarType::F32);
            let squares = Tensor::from_floats(ty, &squares);
            let means = super::eval_op(op, &[&squares], &result.ty.with_element(ScalarType::F32));
            // The mean of squares is at least the sum of squares over n: of the terms divided by
            // their number it is the sum of squares at the smallest number, 1.
            means
                .to_floats()
                .iter()
                .zip(&values)
                .map(|(mean, v)| 6.0 * n.sqrt() * u * (mean + v * v).sqrt())
                .collect()
        }
        Op::Scatter { axis, kind } if u > 0.0 => match kind {
            ScatterKind::Add | ScatterKind::Mul => {
                // The updates that one element can meet: one per index.
                let n = operands[1].ty.elements() as f32 + 1.0;
                if *kind == ScatterKind::Mul {
                    return own(n);
                }
                let square = |tensor: &Tensor| {
                    let squares: Vec<f32> = tensor.to_floats().iter().map(|v| v * v).collect();
                    Tensor::from_floats(tensor.ty.with_element(ScalarType::F32), &squares)
                };
                let (data, updates) = (square(operands[0]), square(operands[2]));
                let add = Op::Scatter {
                    axis: *axis,
                    kind: ScatterKind::Add,
                };
                let ty = result.ty.with_element(ScalarType::F32);
                let sums = super::eval_op(&add, &[&data, operands[1], &updates], &ty);
                sums.to_floats()
                    .iter()
                    .map(|sum| 6.0 * n.sqrt() * u * sum.sqrt())
                    .collect()
            }
            _ => vec![0.0; values.len()],
        },
        Op::Resize {
            mode: ResizeMode::Linear,
            shape,
            coordinates,
        } if u > 0.0 => {
            // Three roundings an axis, of magnitudes that are weighted means.
            let moved = shape.iter().zip(&operands[0].ty.shape);
            let n = 3.0 * moved.filter(|(to, from)| to != from).count() as f32;
            let squares: Vec<f32> = operands[0].to_floats().iter().map(|v| v * v).collect();
            let ty = operands[0].ty.with_element(ScalarType::F32);
            let squares = Tensor::from_floats(ty, &squares);
            let op = Op::Resize {
                mode: ResizeMode::Linear,
                shape: shape.clone(),
                coordinates: *coordinates,
            };
            super::eval_op(&op, &[&squares], &result.ty.with_element(ScalarType::F32))
                .to_floats()
                .iter()
                .map(|mean| 6.0 * n.sqrt() * u * mean.sqrt())
                .collect()
        }
        Op::Dequantize { .. } => own(2.0),
        Op::Attention { scale, .. } if u > 0.0 => attention(*scale, operands, result, u),
        Op::Unary(_) => own(4.0),
        Op::Binary(_) | Op::Clamp | Op::Convert(_) => own(1.0),
        Op::Gelu { .. } => {
            // `x / 2 + x / 2 * f(x)`: what is rounded is as large as x / 2, also where the sum is
            // small because f is near -1.
            let x = operands[0].to_floats();
            x.iter()
                .zip(&values)
                .map(|(x, y)| 6.0 * 3.0 * u * (x * x / 2.0 + y * y).sqrt())
                .collect()
        }
        Op::Softmax(_) => own(16.0),
        Op::LayerNorm { epsilon } => norm(operands, result, *epsilon, true),
        Op::RmsNorm { epsilon } => norm(operands, result, *epsilon, false),
        Op::Reduce {
            kind: ReduceKind::Prod,
            axes,
            ..
        } => {
            let n: f32 = axes
                .iter()
                .map(|&axis| operands[0].ty.shape[axis as usize] as f32)
                .product();
            own(n)
        }
        _ => vec![0.0; values.len()],
    }
}

/// Normalisation over rows of n elements. The mean's roundings are of the size of the elements
/// (root of their mean square) and are divided by the deviation like the elements themselves: a row
/// of nearly equal elements loses what they have in common. The sum of squares, its root, the
/// products and the bias round what they make.
fn norm(operands: &[&Tensor], result: &Tensor, epsilon: u32, centred: bool) -> Vec<f32> {
    let u = unit(result.ty.element);
    let columns = result.ty.shape.last().map_or(1, |&extent| extent as usize);
    let n = columns.max(1) as f32;
    let (x, scale) = (operands[0].to_floats(), operands[1].to_floats());
    let bias = operands.get(2).map(|bias| bias.to_floats());
    let values = result.to_floats();
    let mut out = Vec::with_capacity(values.len());
    for (row, x) in x.chunks(columns.max(1)).enumerate() {
        let mean = if centred {
            x.iter().sum::<f32>() / n
        } else {
            0.0
        };
        let square = x.iter().map(|v| v * v).sum::<f32>() / n;
        let spread = x.iter().map(|v| (v - mean) * (v - mean)).sum::<f32>() / n;
        let deviation = (spread + f32::from_bits(epsilon)).sqrt();
        for column in 0..x.len() {
            let shift = bias.as_ref().map_or(0.0, |bias| bias[column]);
            let value = values[row * columns + column];
            let common = if centred {
                scale[column] / deviation * square.sqrt()
            } else {
                0.0
            };
            let scaled = value - shift;
            let magnitudes = common * common + scaled * scaled + shift * shift + value * value;
            out.push(6.0 * n.sqrt() * u * magnitudes.sqrt());
        }
    }
    out
}

/// Attention: a rounding of a score moves its weight by as much relative to it as the score moves,
/// so the magnitudes are those of the scores' products, times the largest value that is weighted.
fn attention(scale: Option<u32>, operands: &[&Tensor], result: &Tensor, u: f32) -> Vec<f32> {
    let rank = result.ty.rank();
    let extent = |tensor: &Tensor, back: usize| tensor.ty.shape[rank - back] as usize;
    let (sq, d) = (extent(operands[0], 2), extent(operands[0], 1));
    let (sk, dv) = (extent(operands[1], 2), extent(operands[2], 1));
    let (q, k, v) = (
        operands[0].to_floats(),
        operands[1].to_floats(),
        operands[2].to_floats(),
    );
    let scale = scale.map_or(1.0 / (d as f32).sqrt(), f32::from_bits).abs();
    let n = (d + sk + 4) as f32;
    let mut out = Vec::with_capacity(result.ty.elements());
    for row in 0..q.len().checked_div(d).unwrap_or(0) {
        let stack = row / sq;
        let score = (0..sk)
            .map(|j| {
                let key = &k[(stack * sk + j) * d..(stack * sk + j + 1) * d];
                let query = &q[row * d..(row + 1) * d];
                let sum: f32 = query.iter().zip(key).map(|(a, b)| a * a * b * b).sum();
                scale * sum.sqrt()
            })
            .fold(0.0, f32::max);
        for column in 0..dv {
            let most = (0..sk)
                .map(|j| v[(stack * sk + j) * dv + column].abs())
                .fold(0.0, f32::max);
            out.push(6.0 * n.sqrt() * u * most * (1.0 + score * score).sqrt());
        }
    }
    out.resize(result.ty.elements(), 0.0);
    out
}
