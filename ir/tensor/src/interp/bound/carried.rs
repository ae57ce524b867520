//! How far errors of operands move results.

use crate::interp::eval_op;
use crate::interp::tensor::Tensor;
use crate::op::Op;
use ipucc_chip::ScalarType;

/// How far errors of the operands move the result, per element: 0 where operands are exact.
/// `operand(i)` is the bound of operand `i`'s elements.
pub fn carried<'b>(
    op: &Op,
    operands: &[&Tensor],
    result: &Tensor,
    operand: impl Fn(usize) -> Option<&'b Vec<f32>>,
) -> Vec<f32> {
    let count = result.ty.elements();
    let bounds: Vec<Option<&Vec<f32>>> = (0..operands.len()).map(&operand).collect();
    if bounds
        .iter()
        .all(|bound| bound.is_none_or(|b| b.iter().all(|&v| v == 0.0)))
    {
        return vec![0.0; count];
    }
    let as_tensor = |index: usize| {
        let ty = operands[index].ty.with_element(ScalarType::F32);
        match bounds[index] {
            Some(bound) => Tensor::from_floats(ty, bound),
            None => Tensor::from_floats(ty.clone(), &vec![0.0; ty.elements()]),
        }
    };
    let f32_result = result.ty.with_element(ScalarType::F32);
    let magnitude =
        |tensor: &Tensor| -> Vec<f32> { tensor.to_floats().iter().map(|v| v.abs()).collect() };
    match op {
        Op::Dot {
            lhs_batch,
            rhs_batch,
            lhs_contract,
            rhs_contract,
            ..
        } => {
            // Errors of terms are independent: their squares add up.
            let op = Op::Dot {
                lhs_batch: lhs_batch.clone(),
                rhs_batch: rhs_batch.clone(),
                lhs_contract: lhs_contract.clone(),
                rhs_contract: rhs_contract.clone(),
                accumulate: ScalarType::F32,
                result: ScalarType::F32,
            };
            let square = |values: Vec<f32>, ty: &crate::TensorType| {
                let squares: Vec<f32> = values.iter().map(|v| v * v).collect();
                Tensor::from_floats(ty.with_element(ScalarType::F32), &squares)
            };
            let mut sum = vec![0.0f32; count];
            for (first, second) in [(0, 1), (1, 0)] {
                let error = square(as_tensor(first).to_floats(), &operands[first].ty);
                let other = square(operands[second].to_floats(), &operands[second].ty);
                let pair = if first == 0 {
                    [&error, &other]
                } else {
                    [&other, &error]
                };
                for (total, more) in sum
                    .iter_mut()
                    .zip(eval_op(&op, &pair, &f32_result).to_floats())
                {
                    *total += more;
                }
            }
            sum.iter().map(|v| v.sqrt()).collect()
        }
        Op::Binary(crate::BinaryOp::Mul) => {
            let (a, b) = (magnitude(operands[0]), magnitude(operands[1]));
            let (ea, eb) = (as_tensor(0).to_floats(), as_tensor(1).to_floats());
            (0..count).map(|i| a[i] * eb[i] + b[i] * ea[i]).collect()
        }
        Op::Binary(crate::BinaryOp::Div) => {
            let (a, b) = (magnitude(operands[0]), magnitude(operands[1]));
            let (ea, eb) = (as_tensor(0).to_floats(), as_tensor(1).to_floats());
            (0..count)
                .map(|i| ea[i] / b[i] + a[i] * eb[i] / (b[i] * b[i]))
                .collect()
        }
        Op::Binary(_) | Op::Clamp => {
            // Add, subtract, minimum, maximum: an error passes at most as it is.
            let mut sum = vec![0.0f32; count];
            for index in 0..operands.len() {
                for (total, more) in sum.iter_mut().zip(as_tensor(index).to_floats()) {
                    *total += more;
                }
            }
            sum
        }
        Op::Broadcast { .. }
        | Op::Reshape(_)
        | Op::Transpose(_)
        | Op::Slice { .. }
        | Op::Windows { .. }
        | Op::Reverse(_) => eval_op(op, &[&as_tensor(0)], &f32_result).to_floats(),
        Op::Concat(_) => {
            let parts: Vec<Tensor> = (0..operands.len()).map(as_tensor).collect();
            eval_op(op, &parts.iter().collect::<Vec<_>>(), &f32_result).to_floats()
        }
        Op::Softmax(axis) => softmax_carried(*axis, &as_tensor(0), result),
        Op::LayerNorm { epsilon } | Op::RmsNorm { epsilon } => {
            let errors: Vec<Vec<f32>> = (0..operands.len())
                .map(|index| as_tensor(index).to_floats())
                .collect();
            norm_carried(
                operands,
                &errors,
                *epsilon,
                matches!(op, Op::LayerNorm { .. }),
            )
        }
        Op::Quantize { axis, .. } => {
            // An error moves an element by as many steps, and by one more over a border.
            let scale = operands[1].to_floats();
            let errors = as_tensor(0).to_floats();
            let slots = crate::interp::window::scale_slots(&result.ty.shape, *axis);
            errors
                .iter()
                .zip(slots)
                .map(|(&error, slot)| match error > 0.0 {
                    true => (error / scale[slot].abs()).floor() + 1.0,
                    false => 0.0,
                })
                .collect()
        }
        Op::Dequantize { axis } => {
            let scale = operands[1].to_floats();
            let slots = crate::interp::window::scale_slots(&result.ty.shape, *axis);
            let steps = as_tensor(0).to_floats();
            steps
                .iter()
                .zip(slots)
                .map(|(steps, slot)| steps * scale[slot].abs())
                .collect()
        }
        _ => {
            // The operation itself, on operands shifted by their bounds either way.
            let mut most = vec![0.0f32; count];
            let values = result.to_floats();
            for sign in [1.0f32, -1.0] {
                let shifted: Vec<Tensor> = operands
                    .iter()
                    .enumerate()
                    .map(|(index, tensor)| {
                        if !tensor.ty.element.is_float() {
                            return (*tensor).clone();
                        }
                        let errors = as_tensor(index).to_floats();
                        let moved: Vec<f32> = tensor
                            .to_floats()
                            .iter()
                            .zip(errors)
                            .map(|(value, error)| value + sign * error)
                            .collect();
                        Tensor::from_floats(tensor.ty.with_element(ScalarType::F32), &moved)
                    })
                    .collect();
                let ty = if result.ty.element.is_float() {
                    &f32_result
                } else {
                    &result.ty
                };
                let other = eval_op(op, &shifted.iter().collect::<Vec<_>>(), ty).to_floats();
                for ((most, value), other) in most.iter_mut().zip(&values).zip(other) {
                    *most = most.max((value - other).abs());
                }
            }
            most
        }
    }
}

/// A share moves with its own score and against the mean of all: `dy = y (e - sum(y e))`. Shifting
/// all scores alike, which changes nothing, would miss it.
fn softmax_carried(axis: u8, errors: &Tensor, result: &Tensor) -> Vec<f32> {
    let axis = usize::from(axis);
    let shape = &result.ty.shape;
    let inner: usize = shape[axis + 1..].iter().map(|&e| e as usize).product();
    let extent = shape[axis] as usize;
    let (errors, values) = (errors.to_floats(), result.to_floats());
    (0..values.len())
        .map(|at| {
            let first = at / (inner * extent) * inner * extent + at % inner;
            let along = (0..extent).map(|k| first + k * inner);
            let mean: f32 = along.map(|k| values[k] * errors[k]).sum();
            values[at] * (errors[at] + mean)
        })
        .collect()
}

/// The same for normalised rows: an element moves with its own error, with the mean's and with the
/// deviation's. `errors` by operand: elements, scale [, bias].
fn norm_carried(
    operands: &[&Tensor],
    errors: &[Vec<f32>],
    epsilon: u32,
    centred: bool,
) -> Vec<f32> {
    let columns = operands[0]
        .ty
        .shape
        .last()
        .map_or(1, |&extent| extent as usize);
    let n = columns.max(1) as f32;
    let (x, scale) = (operands[0].to_floats(), operands[1].to_floats());
    let rows = x
        .chunks(columns.max(1))
        .zip(errors[0].chunks(columns.max(1)));
    let mut out = Vec::with_capacity(x.len());
    for (x, e) in rows {
        let mean = if centred {
            x.iter().sum::<f32>() / n
        } else {
            0.0
        };
        let spread = x.iter().map(|v| (v - mean) * (v - mean)).sum::<f32>() / n;
        let deviation = (spread + f32::from_bits(epsilon)).sqrt();
        let normal: Vec<f32> = x.iter().map(|v| (v - mean) / deviation).collect();
        let shift = if centred {
            e.iter().sum::<f32>() / n
        } else {
            0.0
        };
        let pairs = normal.iter().zip(e);
        let stretch = pairs.map(|(v, e)| v.abs() * e).sum::<f32>() / n;
        for (column, &v) in normal.iter().enumerate() {
            let own = (e[column] + shift + v.abs() * stretch) / deviation;
            let bias = errors.get(2).map_or(0.0, |bias| bias[column]);
            out.push(scale[column].abs() * own + v.abs() * errors[1][column] + bias);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TensorType;
    use crate::interp::eval_op;

    fn tensor(shape: &[u32], values: &[f32]) -> Tensor {
        Tensor::from_floats(
            TensorType::new(ScalarType::F32, shape.iter().copied()),
            values,
        )
    }

    /// Errors of either sign, element by element, stay within what is carried, also where the
    /// operation does not see a shift of all elements alike.
    #[test]
    fn carried_errors_cover_every_mixture_of_signs() {
        let x: Vec<f32> = (0..12).map(|i| ((i * 7 % 12) as f32) * 0.3 - 1.5).collect();
        let ones = vec![1.0; 4];
        let cases = [
            (Op::Softmax(1), 1),
            (Op::Softmax(0), 1),
            (
                Op::LayerNorm {
                    epsilon: 0x3a83_126f,
                },
                3,
            ),
            (
                Op::RmsNorm {
                    epsilon: 0x3a83_126f,
                },
                2,
            ),
        ];
        for (op, count) in cases {
            let rest = [tensor(&[4], &ones), tensor(&[4], &ones)];
            let all = |x: &Tensor| {
                let mut operands = vec![x.clone()];
                operands.extend(rest.iter().take(count - 1).cloned());
                operands
            };
            let exact = tensor(&[3, 4], &x);
            let errors: Vec<f32> = (0..12).map(|i| 1e-4 * (1.0 + (i % 5) as f32)).collect();
            let operands = all(&exact);
            let operands: Vec<&Tensor> = operands.iter().collect();
            let wanted = eval_op(&op, &operands, &exact.ty);
            let bound = carried(&op, &operands, &wanted, |i| (i == 0).then_some(&errors));
            let rounded = crate::interp::bound(&op, &operands, &wanted);
            // What is carried is of first order; the second is smaller by the size of the errors.
            let second = 1.0 + 10.0 * 5e-4;
            let mut largest = 0.0f32;
            for signs in 0..1u32 << 12 {
                let moved: Vec<f32> = (0..12)
                    .map(|i| {
                        x[i] + if signs >> i & 1 == 1 {
                            errors[i]
                        } else {
                            -errors[i]
                        }
                    })
                    .collect();
                let moved = all(&tensor(&[3, 4], &moved));
                let moved: Vec<&Tensor> = moved.iter().collect();
                let found = eval_op(&op, &moved, &exact.ty).to_floats();
                for (i, (a, b)) in found.iter().zip(wanted.to_floats()).enumerate() {
                    assert!(
                        (a - b).abs() <= second * bound[i] + rounded[i],
                        "{op:?} {i}"
                    );
                    largest = largest.max((a - b).abs() / bound[i]);
                }
            }
            assert!(largest > 0.5, "{op:?}: {largest} of what is carried");
        }
    }
}
