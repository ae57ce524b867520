//! What every operation computes.

use super::scalar::{binary_f32, gelu, unary_f32};
use super::tensor::{Tensor, rounded_to_half};
use super::window;
use crate::op::{BinaryOp, CompareOp, Op, ReduceKind, UnaryOp};
use crate::ty::TensorType;
use ipucc_chip::ScalarType;
use rayon::prelude::*;

/// The result of one operation, whose type has been inferred. Weights are not operations here.
pub fn eval_op(op: &Op, operands: &[&Tensor], ty: &TensorType) -> Tensor {
    match op {
        Op::Unary(op) => unary(*op, operands[0], ty),
        Op::Binary(op) => binary(*op, operands[0], operands[1], ty),
        Op::Compare(op) => compare(*op, operands[0], operands[1], ty),
        Op::Select => {
            let size = ty.element.bytes() as usize;
            let data = (0..ty.elements())
                .flat_map(|i| {
                    let from = if operands[0].data[i] != 0 {
                        operands[1]
                    } else {
                        operands[2]
                    };
                    from.data[i * size..(i + 1) * size].to_vec()
                })
                .collect();
            Tensor {
                ty: ty.clone(),
                data,
            }
        }
        Op::Clamp => {
            let low = binary(BinaryOp::Max, operands[0], operands[1], ty);
            binary(BinaryOp::Min, &low, operands[2], ty)
        }
        Op::Convert(_) => convert(operands[0], ty),
        Op::Broadcast { axes, .. } => {
            let shape = &operands[0].ty.shape;
            gather_elements(operands[0], ty, |index| {
                let from = axes.iter().zip(shape);
                from.map(|(&a, &e)| if e == 1 { 0 } else { index[a as usize] })
                    .collect()
            })
        }
        Op::Reshape(_) => Tensor {
            ty: ty.clone(),
            data: operands[0].data.clone(),
        },
        Op::Transpose(permutation) => gather_elements(operands[0], ty, |index| {
            let mut from = vec![0; index.len()];
            for (to, &axis) in permutation.iter().enumerate() {
                from[axis as usize] = index[to];
            }
            from
        }),
        Op::Slice {
            starts, strides, ..
        } => gather_elements(operands[0], ty, |index| {
            let steps = starts.iter().zip(strides);
            let at = index.iter().zip(steps);
            at.map(|(&i, (&start, &stride))| (start as i64 + i as i64 * stride as i64) as u32)
                .collect()
        }),
        Op::Windows {
            first,
            size,
            strides,
            dilation,
        } => gather_elements(operands[0], ty, |index| {
            windows_index(*first, size, strides, dilation, index)
        }),
        Op::Pad { low, .. } => {
            let size = ty.element.bytes() as usize;
            let mut data = operands[1].data.repeat(ty.elements());
            let shape = &operands[0].ty.shape;
            for_each_index(shape, |flat, index| {
                let to: Vec<u32> = index.iter().zip(low).map(|(i, l)| i + l).collect();
                let at = flatten(&ty.shape, &to) * size;
                data[at..at + size]
                    .copy_from_slice(&operands[0].data[flat * size..(flat + 1) * size]);
            });
            Tensor {
                ty: ty.clone(),
                data,
            }
        }
        Op::Concat(axis) => {
            let axis = *axis as usize;
            let outer: usize = ty.shape[..axis].iter().map(|&e| e as usize).product();
            let mut data = Vec::with_capacity(ty.bytes());
            for row in 0..outer {
                for part in operands {
                    let length = part.data.len() / outer.max(1);
                    data.extend_from_slice(&part.data[row * length..(row + 1) * length]);
                }
            }
            Tensor {
                ty: ty.clone(),
                data,
            }
        }
        Op::Gather { axis } => {
            let axis = *axis as usize;
            let table = &operands[0].ty.shape;
            let extent = i64::from(table[axis]);
            let indices = operands[1].to_ints();
            let inner = operands[1].ty.rank();
            let shape = &operands[1].ty.shape;
            gather_elements(operands[0], ty, |index| {
                let at = flatten(shape, &index[axis..axis + inner]);
                let mut wanted = indices[at];
                if wanted < 0 {
                    wanted += extent;
                }
                let mut from = index[..axis].to_vec();
                from.push(wanted.clamp(0, extent - 1) as u32);
                from.extend_from_slice(&index[axis + inner..]);
                from
            })
        }
        Op::Iota { axis, .. } => {
            let mut values = vec![0i64; ty.elements()];
            for_each_index(&ty.shape, |flat, index| {
                values[flat] = index[*axis as usize].into()
            });
            if ty.element.is_float() {
                let floats: Vec<f32> = values.iter().map(|&v| v as f32).collect();
                Tensor::from_floats(ty.clone(), &floats)
            } else {
                Tensor::from_ints(ty.clone(), &values)
            }
        }
        Op::Reverse(axes) => {
            let shape = &operands[0].ty.shape;
            gather_elements(operands[0], ty, |index| {
                let flip = |(a, &i): (usize, &u32)| {
                    if axes.contains(&(a as u8)) {
                        shape[a] - 1 - i
                    } else {
                        i
                    }
                };
                index.iter().enumerate().map(flip).collect()
            })
        }
        Op::Reduce { kind, axes, .. } => reduce(*kind, axes, operands[0], ty),
        Op::ArgReduce { largest, axis, .. } => arg_reduce(*largest, *axis, operands[0], ty),
        Op::Dot {
            lhs_batch,
            rhs_batch,
            lhs_contract,
            rhs_contract,
            accumulate,
            ..
        } => dot(
            operands[0],
            operands[1],
            [lhs_batch, rhs_batch, lhs_contract, rhs_contract],
            *accumulate,
            ty,
        ),
        Op::Softmax(axis) => along(operands[0], *axis as usize, ty, |row| {
            let most = row.iter().copied().fold(f32::NEG_INFINITY, f32::max);
            let mut sum = 0.0;
            for value in row.iter_mut() {
                *value = (*value - most).exp();
                sum += *value;
            }
            row.iter_mut().for_each(|value| *value /= sum);
        }),
        Op::LayerNorm { epsilon } => {
            let (scale, bias) = (operands[1].to_floats(), operands[2].to_floats());
            along(operands[0], ty.rank() - 1, ty, |row| {
                let n = row.len() as f32;
                let mean = row.iter().sum::<f32>() / n;
                let variance = row.iter().map(|v| (v - mean) * (v - mean)).sum::<f32>() / n;
                let factor = 1.0 / (variance + f32::from_bits(*epsilon)).sqrt();
                for (i, value) in row.iter_mut().enumerate() {
                    *value = (*value - mean) * factor * scale[i] + bias[i];
                }
            })
        }
        Op::RmsNorm { epsilon } => {
            let scale = operands[1].to_floats();
            along(operands[0], ty.rank() - 1, ty, |row| {
                let square = row.iter().map(|v| v * v).sum::<f32>() / row.len() as f32;
                let factor = 1.0 / (square + f32::from_bits(*epsilon)).sqrt();
                for (i, value) in row.iter_mut().enumerate() {
                    *value = *value * factor * scale[i];
                }
            })
        }
        Op::Gelu { tanh } => {
            let values: Vec<f32> = operands[0]
                .to_floats()
                .iter()
                .map(|&x| gelu(x, *tanh))
                .collect();
            Tensor::from_floats(ty.clone(), &values)
        }
        Op::Constant { data, .. } => {
            let repeats = if data.len() == ty.bytes() {
                1
            } else {
                ty.elements()
            };
            Tensor {
                ty: ty.clone(),
                data: data.repeat(repeats),
            }
        }
        Op::Scatter { axis, kind } => window::scatter(*axis as usize, *kind, operands, ty),
        Op::CumSum {
            axis,
            exclusive,
            reverse,
        } => window::cumsum(*axis as usize, *exclusive, *reverse, operands[0], ty),
        Op::Conv { window, groups, .. } => {
            window::conv(window, *groups, operands[0], operands[1], ty)
        }
        Op::ConvTranspose { window, groups, .. } => {
            window::conv_transpose(window, *groups, operands[0], operands[1], ty)
        }
        Op::Resize {
            mode, coordinates, ..
        } => window::resize(*mode, *coordinates, operands[0], ty),
        Op::Pool { kind, size, window } => window::pool(*kind, size, window, operands[0], ty),
        Op::Quantize { axis, .. } => window::quantize(*axis, operands, ty),
        Op::Dequantize { axis } => window::dequantize(*axis, operands, ty),
        Op::Attention { scale, causal } => window::attention(*scale, *causal, operands, ty),
        Op::TopK {
            axis,
            largest,
            indices,
            ..
        } => top_k(*axis as usize, *largest, *indices, operands[0], ty),
        // Typed and evaluated by the module that holds them.
        Op::Call { .. } | Op::Repeat { .. } | Op::Weight(_) => Tensor {
            ty: ty.clone(),
            data: vec![0; ty.bytes()],
        },
    }
}

fn unary(op: UnaryOp, x: &Tensor, ty: &TensorType) -> Tensor {
    if ty.element.is_float() {
        let values: Vec<f32> = x
            .to_floats()
            .par_iter()
            .map(|&v| unary_f32(op, v))
            .collect();
        return Tensor::from_floats(ty.clone(), &values);
    }
    let bits = ty.element.bytes() * 8;
    let values: Vec<i64> = x
        .to_ints()
        .iter()
        .map(|&v| match op {
            UnaryOp::Neg => v.wrapping_neg(),
            UnaryOp::Abs => v.wrapping_abs(),
            UnaryOp::Sign => v.signum(),
            UnaryOp::Not if ty.element == ScalarType::I1 => i64::from(v == 0),
            UnaryOp::Not => !v,
            UnaryOp::Popcount => i64::from((v as u64 & (u64::MAX >> (64 - bits))).count_ones()),
            _ => v,
        })
        .collect();
    Tensor::from_ints(ty.clone(), &values)
}

fn binary(op: BinaryOp, x: &Tensor, y: &Tensor, ty: &TensorType) -> Tensor {
    if ty.element.is_float() {
        let (a, b) = (x.to_floats(), y.to_floats());
        let values: Vec<f32> = a
            .par_iter()
            .zip(&b)
            .map(|(&p, &q)| binary_f32(op, p, q))
            .collect();
        return Tensor::from_floats(ty.clone(), &values);
    }
    let bits = i64::from(ty.element.bytes() * 8);
    let values: Vec<i64> = x
        .to_ints()
        .iter()
        .zip(y.to_ints())
        .map(|(&p, q)| match op {
            BinaryOp::Add => p.wrapping_add(q),
            BinaryOp::Sub => p.wrapping_sub(q),
            BinaryOp::Mul => p.wrapping_mul(q),
            BinaryOp::Div => p.checked_div(q).unwrap_or(0),
            BinaryOp::FloorRem if q == 0 => 0,
            BinaryOp::FloorRem => ((p % q) + q) % q,
            BinaryOp::Rem => p.checked_rem(q).unwrap_or(0),
            BinaryOp::Min => p.min(q),
            BinaryOp::Max => p.max(q),
            BinaryOp::And => p & q,
            BinaryOp::Or => p | q,
            BinaryOp::Xor => p ^ q,
            BinaryOp::Shl if !(0..bits).contains(&q) => 0,
            BinaryOp::Shl => p << q,
            BinaryOp::Shr if !(0..bits).contains(&q) => {
                if p < 0 {
                    -1
                } else {
                    0
                }
            }
            BinaryOp::Shr => p >> q,
            BinaryOp::Pow => 0,
        })
        .collect();
    Tensor::from_ints(ty.clone(), &values)
}

fn compare(op: CompareOp, x: &Tensor, y: &Tensor, ty: &TensorType) -> Tensor {
    fn holds<T: PartialOrd>(op: CompareOp, p: &T, q: &T) -> bool {
        match op {
            CompareOp::Eq => p == q,
            CompareOp::Ne => p != q,
            CompareOp::Lt => p < q,
            CompareOp::Le => p <= q,
            CompareOp::Gt => p > q,
            CompareOp::Ge => p >= q,
        }
    }
    let data = if x.ty.element.is_float() {
        let (a, b) = (x.to_floats(), y.to_floats());
        a.iter()
            .zip(&b)
            .map(|(p, q)| u8::from(holds(op, p, q)))
            .collect()
    } else {
        let (a, b) = (x.to_ints(), y.to_ints());
        a.iter()
            .zip(&b)
            .map(|(p, q)| u8::from(holds(op, p, q)))
            .collect()
    };
    Tensor {
        ty: ty.clone(),
        data,
    }
}

fn convert(x: &Tensor, ty: &TensorType) -> Tensor {
    let (from, to) = (x.ty.element, ty.element);
    if to == ScalarType::I1 {
        let data = x.to_floats().iter().map(|&v| u8::from(v != 0.0)).collect();
        return Tensor {
            ty: ty.clone(),
            data,
        };
    }
    if from.is_float() || to.is_float() {
        let floats = x.to_floats();
        if to.is_float() {
            return Tensor::from_floats(ty.clone(), &floats);
        }
        // Truncation towards zero, saturating at the limits of the type.
        let bits = to.bytes() * 8;
        let (low, high) = if to.is_signed_integer() {
            (-(1i64 << (bits - 1)), (1i64 << (bits - 1)) - 1)
        } else {
            (0, (1i64 << bits) - 1)
        };
        let ints: Vec<i64> = floats
            .iter()
            .map(|&v| (v as i64).clamp(low, high))
            .collect();
        return Tensor::from_ints(ty.clone(), &ints);
    }
    Tensor::from_ints(ty.clone(), &x.to_ints())
}

pub(super) fn flatten(shape: &[u32], index: &[u32]) -> usize {
    shape
        .iter()
        .zip(index)
        .fold(0, |sum, (&e, &i)| sum * e as usize + i as usize)
}

/// Calls with the flat position and the index of every element, last axis fastest.
pub(super) fn for_each_index(shape: &[u32], mut visit: impl FnMut(usize, &[u32])) {
    let count: usize = shape.iter().map(|&e| e as usize).product();
    let mut index = vec![0u32; shape.len()];
    for flat in 0..count {
        visit(flat, &index);
        for axis in (0..shape.len()).rev() {
            index[axis] += 1;
            if index[axis] < shape[axis] {
                break;
            }
            index[axis] = 0;
        }
    }
}

/// A result whose element at `index` is the operand's element at `from(index)`.
fn gather_elements(x: &Tensor, ty: &TensorType, from: impl Fn(&[u32]) -> Vec<u32>) -> Tensor {
    let size = ty.element.bytes() as usize;
    let mut data = Vec::with_capacity(ty.bytes());
    for_each_index(&ty.shape, |_, index| {
        let at = flatten(&x.ty.shape, &from(index)) * size;
        data.extend_from_slice(&x.data[at..at + size]);
    });
    Tensor {
        ty: ty.clone(),
        data,
    }
}

fn reduce(kind: ReduceKind, axes: &[u8], x: &Tensor, ty: &TensorType) -> Tensor {
    let shape = &x.ty.shape;
    let count: u64 = axes.iter().map(|&a| u64::from(shape[a as usize])).product();
    // Position in the result of every operand element: kept axes only.
    let mut slots = Vec::with_capacity(x.ty.elements());
    let kept: Vec<usize> = (0..shape.len())
        .filter(|a| !axes.contains(&(*a as u8)))
        .collect();
    for_each_index(shape, |_, index| {
        slots.push(
            kept.iter()
                .fold(0, |sum, &a| sum * shape[a] as usize + index[a] as usize),
        );
    });
    if ty.element.is_float() {
        let start = match kind {
            ReduceKind::Sum | ReduceKind::Mean => 0.0,
            ReduceKind::Prod => 1.0,
            ReduceKind::Max => f32::NEG_INFINITY,
            ReduceKind::Min => f32::INFINITY,
        };
        let mut values = vec![start; ty.elements()];
        for (&slot, value) in slots.iter().zip(x.to_floats()) {
            let old = values[slot];
            values[slot] = match kind {
                ReduceKind::Sum | ReduceKind::Mean => old + value,
                ReduceKind::Prod => old * value,
                ReduceKind::Max => binary_f32(BinaryOp::Max, old, value),
                ReduceKind::Min => binary_f32(BinaryOp::Min, old, value),
            };
        }
        if kind == ReduceKind::Mean {
            values.iter_mut().for_each(|value| *value /= count as f32);
        }
        return Tensor::from_floats(ty.clone(), &values);
    }
    let bits = ty.element.bytes() * 8;
    let signed = ty.element.is_signed_integer();
    let start = match kind {
        ReduceKind::Sum | ReduceKind::Mean => 0,
        ReduceKind::Prod => 1,
        ReduceKind::Max => {
            if signed {
                -(1i64 << (bits - 1))
            } else {
                0
            }
        }
        ReduceKind::Min => (1i64 << (bits - u32::from(signed))) - 1,
    };
    let mut values = vec![start; ty.elements()];
    for (&slot, value) in slots.iter().zip(x.to_ints()) {
        let old = values[slot];
        values[slot] = match kind {
            ReduceKind::Sum | ReduceKind::Mean => old.wrapping_add(value),
            ReduceKind::Prod => old.wrapping_mul(value),
            ReduceKind::Max => old.max(value),
            ReduceKind::Min => old.min(value),
        };
    }
    Tensor::from_ints(ty.clone(), &values)
}

/// The sorted start of every line along an axis, by element or by position.
fn top_k(axis: usize, largest: bool, indices: bool, x: &Tensor, ty: &TensorType) -> Tensor {
    let shape = &x.ty.shape;
    let product = |extents: &[u32]| extents.iter().map(|&e| e as usize).product::<usize>();
    let (outer, inner) = (product(&shape[..axis]), product(&shape[axis + 1..]));
    let (extent, k) = (shape[axis] as usize, ty.shape[axis] as usize);
    let order = ordered(x);
    let size = x.ty.element.bytes() as usize;
    let mut positions = vec![0i64; ty.elements()];
    let mut data = vec![0u8; if indices { 0 } else { ty.bytes() }];
    for line in 0..outer * inner {
        let (block, column) = (line / inner, line % inner);
        let at = |i: usize| (block * extent + i) * inner + column;
        let mut line: Vec<usize> = (0..extent).collect();
        // Stable: of equal elements the earlier stays ahead.
        line.sort_by(|&i, &j| {
            let ascending = order[at(i)].cmp(&order[at(j)]);
            if largest {
                ascending.reverse()
            } else {
                ascending
            }
        });
        for (rank, &i) in line[..k].iter().enumerate() {
            let to = (block * k + rank) * inner + column;
            positions[to] = i as i64;
            if !indices {
                let from = at(i) * size;
                data[to * size..(to + 1) * size].copy_from_slice(&x.data[from..from + size]);
            }
        }
    }
    if indices {
        return Tensor::from_ints(ty.clone(), &positions);
    }
    Tensor {
        ty: ty.clone(),
        data,
    }
}

/// Numbers in the order of the elements: equal elements (also the two zeros) get equal numbers, NaN
/// the greatest.
fn ordered(x: &Tensor) -> Vec<i64> {
    if !x.ty.element.is_float() {
        return x.to_ints();
    }
    let key = |value: f32| {
        if value.is_nan() {
            return i64::MAX;
        }
        let magnitude = i64::from(value.abs().to_bits());
        if value < 0.0 { -magnitude } else { magnitude }
    };
    x.to_floats().into_iter().map(key).collect()
}

fn arg_reduce(largest: bool, axis: u8, x: &Tensor, ty: &TensorType) -> Tensor {
    let shape = &x.ty.shape;
    let axis = axis as usize;
    // f64 holds every integer of the language. A NaN is neither larger nor smaller: it is the answer
    // only in the first place.
    let values: Vec<f64> = if x.ty.element.is_float() {
        x.to_floats().into_iter().map(f64::from).collect()
    } else {
        x.to_ints().into_iter().map(|value| value as f64).collect()
    };
    let mut best: Vec<Option<(f64, i64)>> = vec![None; ty.elements()];
    for_each_index(shape, |flat, index| {
        let slot = (0..shape.len())
            .filter(|&a| a != axis)
            .fold(0, |sum, a| sum * shape[a] as usize + index[a] as usize);
        let value = values[flat];
        let better =
            best[slot].is_none_or(|(old, _)| if largest { value > old } else { value < old });
        if better {
            best[slot] = Some((value, i64::from(index[axis])));
        }
    });
    let ints: Vec<i64> = best
        .iter()
        .map(|entry| entry.map_or(0, |(_, at)| at))
        .collect();
    Tensor::from_ints(ty.clone(), &ints)
}

/// Axes in the order batch, free, contracted: the operand as a stack of matrices.
fn stacked(x: &Tensor, batch: &[u8], contract: &[u8]) -> (Vec<usize>, [usize; 3]) {
    let shape = &x.ty.shape;
    let free: Vec<u8> = (0..shape.len() as u8)
        .filter(|axis| !batch.contains(axis) && !contract.contains(axis))
        .collect();
    let extent = |axes: &[u8]| axes.iter().map(|&a| shape[a as usize] as usize).product();
    let order: Vec<u8> = batch.iter().chain(&free).chain(contract).copied().collect();
    let ordered: Vec<u32> = order.iter().map(|&a| shape[a as usize]).collect();
    let mut positions = Vec::with_capacity(x.ty.elements());
    let mut from = vec![0u32; shape.len()];
    for_each_index(&ordered, |_, index| {
        for (&axis, &i) in order.iter().zip(index) {
            from[axis as usize] = i;
        }
        positions.push(flatten(shape, &from));
    });
    (positions, [extent(batch), extent(&free), extent(contract)])
}

fn dot(
    x: &Tensor,
    y: &Tensor,
    axes: [&crate::Axes; 4],
    accumulate: ScalarType,
    ty: &TensorType,
) -> Tensor {
    let [lhs_batch, rhs_batch, lhs_contract, rhs_contract] = axes;
    let (left, [batch, m, k]) = stacked(x, lhs_batch, lhs_contract);
    let (right, [_, n, _]) = stacked(y, rhs_batch, rhs_contract);
    if ty.element.is_float() {
        let (a, b) = (x.to_floats(), y.to_floats());
        let a: Vec<f32> = left.iter().map(|&at| a[at]).collect();
        let b: Vec<f32> = right.iter().map(|&at| b[at]).collect();
        let mut values = vec![0.0f32; batch * m * n];
        if n > 0 {
            values.par_chunks_mut(n).enumerate().for_each(|(row, out)| {
                let left = &a[row * k..(row + 1) * k];
                let first = row / m.max(1) * n;
                for (j, value) in out.iter_mut().enumerate() {
                    let right = &b[(first + j) * k..(first + j + 1) * k];
                    let terms = left.iter().zip(right);
                    *value = if accumulate == ScalarType::F16 {
                        terms.fold(0.0, |sum, (p, q)| rounded_to_half(sum + p * q))
                    } else {
                        terms.fold(0.0, |sum, (p, q)| sum + p * q)
                    };
                }
            });
        }
        return Tensor::from_floats(ty.clone(), &values);
    }
    let (a, b) = (x.to_ints(), y.to_ints());
    let mut values = vec![0i64; batch * m * n];
    for (flat, value) in values.iter_mut().enumerate() {
        let (row, j) = (flat / n, flat % n);
        let first = row / m.max(1) * n;
        *value = (0..k).fold(0i64, |sum, l| {
            let product = a[left[row * k + l]].wrapping_mul(b[right[(first + j) * k + l]]);
            sum.wrapping_add(product)
        });
    }
    Tensor::from_ints(ty.clone(), &values)
}

/// Applies a function to every line of a float tensor along one axis.
fn along(x: &Tensor, axis: usize, ty: &TensorType, apply: impl Fn(&mut [f32]) + Sync) -> Tensor {
    let shape = &x.ty.shape;
    let length = shape[axis] as usize;
    let inner: usize = shape[axis + 1..].iter().map(|&e| e as usize).product();
    let mut values = x.to_floats();
    if length == 0 || inner == 0 {
        return Tensor::from_floats(ty.clone(), &values);
    }
    values.par_chunks_mut(length * inner).for_each(|block| {
        let mut line = vec![0.0; length];
        for column in 0..inner {
            for (i, value) in line.iter_mut().enumerate() {
                *value = block[i * inner + column];
            }
            apply(&mut line);
            for (i, value) in line.iter().enumerate() {
                block[i * inner + column] = *value;
            }
        }
    });
    Tensor::from_floats(ty.clone(), &values)
}

/// The operand's index of an index of a `windows` result.
pub fn windows_index(
    first: u8,
    size: &[u32],
    strides: &[u32],
    dilation: &[u32],
    index: &[u32],
) -> Vec<u32> {
    let rank = index.len() - size.len();
    let mut from = index[..rank].to_vec();
    for (i, &tap) in index[rank..].iter().enumerate() {
        let at = &mut from[usize::from(first) + i];
        *at = *at * strides[i] + tap * dilation[i];
    }
    from
}
