//! Result types of operations, and what is wrong when there are none.

mod window;

use crate::op::{BinaryOp, Op, ReduceKind, UnaryOp};
use crate::ty::{MAX_RANK, Shape, TensorType};
use ipucc_chip::ScalarType;
use thiserror::Error;

/// An operation whose operands or attributes do not fit.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[error("`{op}`: {message}")]
pub struct TypeError {
    /// Name of the operation.
    pub op: &'static str,
    /// What is wrong, with the types involved.
    pub message: String,
}

impl Op {
    /// The operation's name in program text.
    pub fn name(&self) -> &'static str {
        match self {
            Op::Unary(op) => op.name(),
            Op::Binary(op) => op.name(),
            Op::Compare(op) => op.name(),
            Op::Select => "select",
            Op::Clamp => "clamp",
            Op::Convert(_) => "convert",
            Op::Broadcast { .. } => "broadcast",
            Op::Reshape(_) => "reshape",
            Op::Transpose(_) => "transpose",
            Op::Slice { .. } => "slice",
            Op::Windows { .. } => "windows",
            Op::Pad { .. } => "pad",
            Op::Concat(_) => "concat",
            Op::Gather { .. } => "gather",
            Op::Iota { .. } => "iota",
            Op::Reverse(_) => "reverse",
            Op::Reduce { .. } => "reduce",
            Op::ArgReduce { largest: true, .. } => "argmax",
            Op::ArgReduce { largest: false, .. } => "argmin",
            Op::Dot { .. } => "dot",
            Op::Softmax(_) => "softmax",
            Op::LayerNorm { .. } => "layer_norm",
            Op::RmsNorm { .. } => "rms_norm",
            Op::Gelu { .. } => "gelu",
            Op::Scatter { .. } => "scatter",
            Op::CumSum { .. } => "cumsum",
            Op::Conv { .. } => "conv",
            Op::ConvTranspose { .. } => "conv_transpose",
            Op::Resize { .. } => "resize",
            Op::Pool { .. } => "pool",
            Op::Quantize { .. } => "quantize",
            Op::Dequantize { .. } => "dequantize",
            Op::Attention { .. } => "attention",
            Op::TopK { indices: false, .. } => "topk",
            Op::TopK { indices: true, .. } => "topk_indices",
            Op::Call { .. } => "call",
            Op::Repeat { .. } => "repeat",
            Op::Weight(_) => "weight",
            Op::Constant { .. } => "constant",
        }
    }

    /// Number of operands; `None` if any number goes.
    pub fn arity(&self) -> Option<usize> {
        Some(match self {
            Op::Concat(_)
            | Op::Quantize { .. }
            | Op::Dequantize { .. }
            | Op::Attention { .. }
            | Op::Call { .. }
            | Op::Repeat { .. } => {
                return None;
            }
            Op::Iota { .. } | Op::Weight(_) | Op::Constant { .. } => 0,
            Op::Binary(_)
            | Op::Compare(_)
            | Op::Pad { .. }
            | Op::Gather { .. }
            | Op::Conv { .. }
            | Op::ConvTranspose { .. }
            | Op::Dot { .. }
            | Op::RmsNorm { .. } => 2,
            Op::Select | Op::Clamp | Op::Scatter { .. } | Op::LayerNorm { .. } => 3,
            _ => 1,
        })
    }

    /// The result types for operands of these types: one, but for `call` and `repeat`.
    ///
    /// # Errors
    /// As [`Op::infer`].
    pub fn infer_all(&self, operands: &[TensorType]) -> Result<Vec<TensorType>, TypeError> {
        match self {
            Op::Call { function, results } if results.is_empty() => Err(TypeError {
                op: self.name(),
                message: format!("`@{function}` gives nothing back"),
            }),
            Op::Call { results, .. } => Ok(results.clone()),
            Op::Repeat {
                count,
                carried,
                sliced,
                ..
            } => repeat(*count, *carried, *sliced, operands).map_err(|message| TypeError {
                op: self.name(),
                message,
            }),
            _ => Ok(vec![self.infer(operands)?]),
        }
    }

    /// The result type for operands of these types. Weights are typed by their module, not here, and
    /// so are the operands of `call` and `repeat` ([`crate::verify`]).
    ///
    /// # Errors
    /// What does not fit, with the types; also for a `call` or `repeat` without exactly one result.
    pub fn infer(&self, operands: &[TensorType]) -> Result<TensorType, TypeError> {
        let fail = |message: String| {
            Err(TypeError {
                op: self.name(),
                message,
            })
        };
        match self.arity() {
            Some(arity) if arity != operands.len() => {
                return fail(format!("takes {arity} operands, {} given", operands.len()));
            }
            None if operands.is_empty() && !matches!(self, Op::Call { .. }) => {
                return fail("takes at least one operand".into());
            }
            _ => {}
        }
        if let Some((least, most)) = window::optional_operands(self)
            && !(least..=most).contains(&operands.len())
        {
            return fail(format!(
                "takes {least} or {most} operands, {} given",
                operands.len()
            ));
        }
        let result = self.result(operands).map_err(|message| TypeError {
            op: self.name(),
            message,
        })?;
        if result.rank() > MAX_RANK {
            return fail(format!("result rank {} is above {MAX_RANK}", result.rank()));
        }
        let elements = result
            .shape
            .iter()
            .try_fold(1u64, |n, &extent| n.checked_mul(extent as u64));
        match elements {
            Some(n) if n < 1 << 32 => Ok(result),
            _ => fail(format!("result {result} has more than 2^32 elements")),
        }
    }

    fn result(&self, operands: &[TensorType]) -> Result<TensorType, String> {
        let axis_in = |axis: u8, ty: &TensorType| {
            if (axis as usize) < ty.rank() {
                Ok(axis as usize)
            } else {
                Err(format!("axis {axis} does not exist in {ty}"))
            }
        };
        let equal = |a: &TensorType, b: &TensorType| {
            if a == b {
                Ok(())
            } else {
                Err(format!("operand types differ: {a} and {b}"))
            }
        };
        let float = |ty: &TensorType| {
            if ty.element.is_float() {
                Ok(())
            } else {
                Err(format!("needs a float type, not {ty}"))
            }
        };
        match self {
            Op::Unary(op) => {
                let ty = &operands[0];
                match op {
                    UnaryOp::Neg | UnaryOp::Abs | UnaryOp::Sign => {
                        if ty.element == ScalarType::I1 {
                            return Err(format!("needs a number type, not {ty}"));
                        }
                    }
                    UnaryOp::Not => {
                        if ty.element.is_float() {
                            return Err(format!("needs an integer type or i1, not {ty}"));
                        }
                    }
                    UnaryOp::Popcount => {
                        if !ty.element.is_integer() {
                            return Err(format!("needs an integer type, not {ty}"));
                        }
                    }
                    _ => float(ty)?,
                }
                Ok(ty.clone())
            }
            Op::Binary(op) => {
                equal(&operands[0], &operands[1])?;
                let ty = &operands[0];
                match op {
                    BinaryOp::And | BinaryOp::Or | BinaryOp::Xor if ty.element.is_float() => {
                        return Err(format!("needs an integer type or i1, not {ty}"));
                    }
                    BinaryOp::Shl | BinaryOp::Shr if !ty.element.is_integer() => {
                        return Err(format!("needs an integer type, not {ty}"));
                    }
                    BinaryOp::Pow => float(ty)?,
                    _ => {}
                }
                Ok(ty.clone())
            }
            Op::Compare(_) => {
                equal(&operands[0], &operands[1])?;
                Ok(operands[0].with_element(ScalarType::I1))
            }
            Op::Select => {
                equal(&operands[1], &operands[2])?;
                let wanted = operands[1].with_element(ScalarType::I1);
                if operands[0] != wanted {
                    return Err(format!("condition is {}, expected {wanted}", operands[0]));
                }
                Ok(operands[1].clone())
            }
            Op::Clamp => {
                equal(&operands[0], &operands[1])?;
                equal(&operands[0], &operands[2])?;
                Ok(operands[0].clone())
            }
            Op::Convert(element) => Ok(operands[0].with_element(*element)),
            Op::Broadcast { shape, axes } => {
                let ty = &operands[0];
                if axes.len() != ty.rank() {
                    return Err(format!("{} axes are named for {ty}", axes.len()));
                }
                if axes.windows(2).any(|pair| pair[0] >= pair[1]) {
                    return Err("axes are not ascending".into());
                }
                for (&axis, &extent) in axes.iter().zip(&ty.shape) {
                    match shape.get(axis as usize) {
                        None => return Err(format!("axis {axis} is not in the result shape")),
                        Some(&to) if extent != 1 && extent != to => {
                            return Err(format!("extent {extent} cannot become {to}"));
                        }
                        _ => {}
                    }
                }
                Ok(TensorType {
                    element: ty.element,
                    shape: shape.clone(),
                })
            }
            Op::Reshape(shape) => {
                let ty = TensorType {
                    element: operands[0].element,
                    shape: shape.clone(),
                };
                if ty.elements() != operands[0].elements() {
                    return Err(format!(
                        "{} has {} elements, {ty} {}",
                        operands[0],
                        operands[0].elements(),
                        ty.elements()
                    ));
                }
                Ok(ty)
            }
            Op::Transpose(permutation) => {
                let ty = &operands[0];
                let mut sorted: Vec<u8> = permutation.to_vec();
                sorted.sort_unstable();
                if sorted.iter().map(|&a| a as usize).ne(0..ty.rank()) {
                    return Err(format!(
                        "{permutation:?} is no permutation of the axes of {ty}"
                    ));
                }
                let shape = permutation
                    .iter()
                    .map(|&axis| ty.shape[axis as usize])
                    .collect();
                Ok(TensorType {
                    element: ty.element,
                    shape,
                })
            }
            Op::Slice {
                starts,
                sizes,
                strides,
            } => {
                let ty = &operands[0];
                if [starts.len(), sizes.len(), strides.len()]
                    .iter()
                    .any(|&n| n != ty.rank())
                {
                    return Err(format!(
                        "starts, sizes and strides need {} entries each",
                        ty.rank()
                    ));
                }
                for axis in 0..ty.rank() {
                    let (start, size) = (starts[axis] as i64, sizes[axis] as i64);
                    let last = start + (size - 1) * strides[axis] as i64;
                    let extent = ty.shape[axis] as i64;
                    if strides[axis] == 0 {
                        return Err(format!("stride of axis {axis} is zero"));
                    }
                    if size > 0 && (start >= extent || last < 0 || last >= extent) {
                        return Err(format!("axis {axis}: {start}..{last} leaves 0..{extent}"));
                    }
                }
                Ok(TensorType {
                    element: ty.element,
                    shape: sizes.clone(),
                })
            }
            Op::Windows {
                first,
                size,
                strides,
                dilation,
            } => window::windows(usize::from(*first), size, strides, dilation, &operands[0]),
            Op::Pad { low, high } => {
                let ty = &operands[0];
                if operands[1] != TensorType::new(ty.element, []) {
                    return Err(format!("padding value is {}, expected rank 0", operands[1]));
                }
                if low.len() != ty.rank() || high.len() != ty.rank() {
                    return Err(format!("low and high need {} entries each", ty.rank()));
                }
                let shape = (0..ty.rank())
                    .map(|a| ty.shape[a].checked_add(low[a])?.checked_add(high[a]))
                    .collect::<Option<Shape>>()
                    .ok_or("extent overflows")?;
                Ok(TensorType {
                    element: ty.element,
                    shape,
                })
            }
            Op::Concat(axis) => {
                let axis = axis_in(*axis, &operands[0])?;
                let mut ty = operands[0].clone();
                for other in &operands[1..] {
                    let same = other.element == ty.element
                        && other.rank() == ty.rank()
                        && (0..ty.rank()).all(|a| a == axis || other.shape[a] == ty.shape[a]);
                    if !same {
                        return Err(format!(
                            "{} and {other} differ off axis {axis}",
                            operands[0]
                        ));
                    }
                    ty.shape[axis] = ty.shape[axis]
                        .checked_add(other.shape[axis])
                        .ok_or("extent overflows")?;
                }
                Ok(ty)
            }
            Op::Gather { axis } => {
                let axis = axis_in(*axis, &operands[0])?;
                if operands[1].element != ScalarType::I32 {
                    return Err(format!("indices are {}, expected i32", operands[1]));
                }
                let table = &operands[0].shape;
                let mut shape: Shape = table[..axis].into();
                shape.extend_from_slice(&operands[1].shape);
                shape.extend_from_slice(&table[axis + 1..]);
                Ok(TensorType {
                    element: operands[0].element,
                    shape,
                })
            }
            Op::Iota {
                element,
                shape,
                axis,
            } => {
                if *axis as usize >= shape.len() {
                    return Err(format!("axis {axis} is not in the result shape"));
                }
                Ok(TensorType {
                    element: *element,
                    shape: shape.clone(),
                })
            }
            Op::Reverse(axes) => {
                for &axis in axes {
                    axis_in(axis, &operands[0])?;
                }
                Ok(operands[0].clone())
            }
            Op::Reduce { kind, axes, keep } => {
                let ty = &operands[0];
                if ty.element == ScalarType::I1 {
                    return Err(format!("needs a number type, not {ty}"));
                }
                if *kind == ReduceKind::Mean {
                    float(ty)?;
                }
                for (i, &axis) in axes.iter().enumerate() {
                    axis_in(axis, ty)?;
                    if axes[..i].contains(&axis) {
                        return Err(format!("axis {axis} is named twice"));
                    }
                }
                Ok(TensorType {
                    element: ty.element,
                    shape: without(&ty.shape, axes, *keep),
                })
            }
            Op::ArgReduce { axis, keep, .. } => {
                let ty = &operands[0];
                let at = axis_in(*axis, ty)?;
                if ty.shape[at] == 0 {
                    return Err(format!("axis {axis} of {ty} is empty"));
                }
                Ok(TensorType {
                    element: ScalarType::I32,
                    shape: without(&ty.shape, &[*axis], *keep),
                })
            }
            Op::Dot {
                lhs_batch,
                rhs_batch,
                lhs_contract,
                rhs_contract,
                result,
                ..
            } => {
                let (a, b) = (&operands[0], &operands[1]);
                if a.element != b.element {
                    return Err(format!("operand types differ: {a} and {b}"));
                }
                if lhs_batch.len() != rhs_batch.len() || lhs_contract.len() != rhs_contract.len() {
                    return Err("batch and contracted axes must be pairs".into());
                }
                for (lefts, rights) in [(lhs_batch, rhs_batch), (lhs_contract, rhs_contract)] {
                    for (&left, &right) in lefts.iter().zip(rights) {
                        let (l, r) = (axis_in(left, a)?, axis_in(right, b)?);
                        if a.shape[l] != b.shape[r] {
                            return Err(format!(
                                "axis {left} of {a} and axis {right} of {b} have different extents"
                            ));
                        }
                    }
                }
                let mut shape: Shape = lhs_batch.iter().map(|&x| a.shape[x as usize]).collect();
                for (ty, batch, contract) in
                    [(a, lhs_batch, lhs_contract), (b, rhs_batch, rhs_contract)]
                {
                    for axis in 0..ty.rank() as u8 {
                        let named = batch.iter().chain(contract).filter(|&&x| x == axis).count();
                        match named {
                            0 => shape.push(ty.shape[axis as usize]),
                            1 => {}
                            _ => return Err(format!("axis {axis} of {ty} is named twice")),
                        }
                    }
                }
                Ok(TensorType {
                    element: *result,
                    shape,
                })
            }
            Op::Softmax(axis) => {
                float(&operands[0])?;
                axis_in(*axis, &operands[0])?;
                Ok(operands[0].clone())
            }
            Op::LayerNorm { .. } | Op::RmsNorm { .. } => {
                let ty = &operands[0];
                float(ty)?;
                let Some(&last) = ty.shape.last() else {
                    return Err("needs at least one axis".into());
                };
                let row = TensorType::new(ty.element, [last]);
                for other in &operands[1..] {
                    if *other != row {
                        return Err(format!("scale or bias is {other}, expected {row}"));
                    }
                }
                Ok(ty.clone())
            }
            Op::Gelu { .. } => {
                float(&operands[0])?;
                Ok(operands[0].clone())
            }
            Op::Scatter { axis, .. } => window::scatter(axis_in(*axis, &operands[0])?, operands),
            Op::CumSum { axis, .. } => {
                let ty = &operands[0];
                axis_in(*axis, ty)?;
                if ty.element == ScalarType::I1 {
                    return Err(format!("needs a number type, not {ty}"));
                }
                Ok(ty.clone())
            }
            Op::Conv {
                window,
                groups,
                accumulate,
                result,
            } => window::conv(
                window,
                *groups,
                *accumulate,
                *result,
                &operands[0],
                &operands[1],
            ),
            Op::ConvTranspose {
                window,
                output_padding,
                groups,
                result,
            } => window::conv_transpose(
                window,
                output_padding,
                *groups,
                *result,
                &operands[0],
                &operands[1],
            ),
            Op::Resize { shape, .. } => {
                let ty = &operands[0];
                float(ty)?;
                if shape.len() != ty.rank() {
                    return Err(format!("{ty} keeps its rank, not {:?}", &shape[..]));
                }
                if shape
                    .iter()
                    .zip(&ty.shape)
                    .any(|(&to, &from)| from == 0 && to != 0)
                {
                    return Err(format!("{ty} has no elements to look up"));
                }
                Ok(TensorType {
                    element: ty.element,
                    shape: shape.clone(),
                })
            }
            Op::Pool { kind, size, window } => window::pool(*kind, size, window, &operands[0]),
            Op::Quantize { to, axis } => {
                float(&operands[0])?;
                if operands[1].element != operands[0].element {
                    return Err(format!(
                        "scale is {}, expected the element type of {}",
                        operands[1], operands[0]
                    ));
                }
                let result = operands[0].with_element(*to);
                window::check_scale(&result, &operands[1..], *axis)?;
                Ok(result)
            }
            Op::Dequantize { axis } => {
                window::check_scale(&operands[0], &operands[1..], *axis)?;
                Ok(operands[0].with_element(operands[1].element))
            }
            Op::Attention { .. } => window::attention(operands),
            Op::TopK {
                axis, k, indices, ..
            } => {
                let ty = &operands[0];
                if ty.element == ScalarType::I1 {
                    return Err(format!("needs a number type, not {ty}"));
                }
                let at = axis_in(*axis, ty)?;
                if *k > ty.shape[at] {
                    return Err(format!(
                        "k is {k}, but axis {axis} of {ty} has {} elements",
                        ty.shape[at]
                    ));
                }
                let element = if *indices {
                    ScalarType::I32
                } else {
                    ty.element
                };
                let mut result = ty.with_element(element);
                result.shape[at] = *k;
                Ok(result)
            }
            Op::Call { .. } | Op::Repeat { .. } => {
                let mut all = self.infer_all(operands).map_err(|error| error.message)?;
                match (all.pop(), all.is_empty()) {
                    (Some(one), true) => Ok(one),
                    _ => Err("has not exactly one result".into()),
                }
            }
            Op::Weight(name) => Err(format!("the type of weight `{name}` stands in its module")),
            Op::Constant {
                element,
                shape,
                data,
            } => {
                let ty = TensorType {
                    element: *element,
                    shape: shape.clone(),
                };
                let one = element.bytes() as usize;
                if data.len() != ty.bytes() && data.len() != one {
                    return Err(format!("{} bytes of data for {ty}", data.len()));
                }
                Ok(ty)
            }
        }
    }
}

/// A shape without some axes, or with 1 in their place.
fn without(shape: &[u32], axes: &[u8], keep: bool) -> Shape {
    let named = |axis: usize| axes.contains(&(axis as u8));
    shape
        .iter()
        .enumerate()
        .filter(|&(axis, _)| keep || !named(axis))
        .map(|(axis, &extent)| if named(axis) { 1 } else { extent })
        .collect()
}

/// Result types of a repeat: the carried operands.
fn repeat(
    count: u32,
    carried: u32,
    sliced: u32,
    operands: &[TensorType],
) -> Result<Vec<TensorType>, String> {
    let (carried, sliced) = (carried as usize, sliced as usize);
    if carried == 0 {
        return Err("carries nothing from one iteration to the next".into());
    }
    if carried.saturating_add(sliced) > operands.len() {
        return Err(format!(
            "{carried} carried and {sliced} sliced operands are named, {} given",
            operands.len()
        ));
    }
    for ty in &operands[carried..carried + sliced] {
        if ty.shape.first() != Some(&count) {
            return Err(format!(
                "{ty} is sliced over {count} iterations: its first axis must have {count} elements"
            ));
        }
    }
    Ok(operands[..carried].to_vec())
}
