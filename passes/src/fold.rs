//! Operations on constants, computed by the reference interpreter.
//!
//! Weights are left alone: what only weights decide becomes a weight program of the planner, and no
//! pass reads a weight's bytes.

use crate::rebuild::{rebuild, same};
use ipucc_tensor::interp::{Tensor, eval_op};
use ipucc_tensor::{Builder, Function, InstData, Module, Op, Shape, TensorType, TypeError, Value};

/// Most elements of a literal whose elements differ.
const LITERAL_ELEMENTS: usize = 64;

/// Most elements of an operand that is looked at.
const OPERAND_ELEMENTS: usize = 4096;

/// Computes operations whose operands are all constants and whose result is a literal again: at most
/// 64 elements, or all elements equal.
pub fn fold(module: &Module) -> Module {
    let mut out = module.clone();
    for function in out.functions.values_mut() {
        // A function that cannot be rebuilt is not valid; whoever reads it next says so.
        if let Ok(folded) = rebuild(function, TensorType::clone, |builder, data, operands| {
            instruction(builder, function, data, operands)
        }) {
            *function = folded;
        }
    }
    out
}

fn instruction(
    builder: &mut Builder,
    function: &Function,
    data: &InstData,
    operands: &[Value],
) -> Result<Value, TypeError> {
    let constants: Option<Vec<&Op>> = operands.iter().map(|&v| literal(builder, v)).collect();
    let folded = match constants {
        Some(constants) if !constants.is_empty() => {
            evaluate(&data.op, &constants, function.ty(data.results[0]))
        }
        _ => None,
    };
    match folded {
        Some(constant) => builder.op(constant, &[]),
        None => same(builder, function, data, operands),
    }
}

fn literal(builder: &Builder, value: Value) -> Option<&Op> {
    let function = builder.function();
    let op = &function.insts[function.def(value)?].op;
    matches!(op, Op::Constant { .. } | Op::Iota { .. }).then_some(op)
}

/// True for operations that work on each element alone.
pub(crate) fn is_elementwise(op: &Op) -> bool {
    matches!(
        op,
        Op::Unary(_)
            | Op::Binary(_)
            | Op::Compare(_)
            | Op::Select
            | Op::Clamp
            | Op::Convert(_)
            | Op::Gelu { .. }
    )
}

/// The constant that the operation gives on these constants, if it can be a literal.
pub(crate) fn evaluate(op: &Op, constants: &[&Op], ty: &TensorType) -> Option<Op> {
    let splats: Option<Vec<Tensor>> = constants.iter().map(|op| splat(op)).collect();
    if let Some(splats) = splats {
        let operands: Vec<&Tensor> = splats.iter().collect();
        let scalar = TensorType::new(ty.element, []);
        if is_elementwise(op) {
            return Some(constant(ty, eval_op(op, &operands, &scalar).data));
        }
        if matches!(
            op,
            Op::Broadcast { .. } | Op::Reshape(_) | Op::Transpose(_) | Op::Slice { .. }
        ) {
            return Some(constant(ty, splats[0].data.clone()));
        }
    }
    if ty.elements() > OPERAND_ELEMENTS {
        return None;
    }
    let operands: Vec<Tensor> = constants
        .iter()
        .map(|op| tensor(op))
        .collect::<Option<_>>()?;
    let references: Vec<&Tensor> = operands.iter().collect();
    let result = eval_op(op, &references, ty);
    let size = ty.element.bytes() as usize;
    let uniform = result
        .data
        .chunks_exact(size)
        .all(|element| Some(element) == result.data.get(..size));
    if uniform && !result.data.is_empty() {
        return Some(constant(ty, result.data[..size].to_vec()));
    }
    (ty.elements() <= LITERAL_ELEMENTS).then(|| constant(ty, result.data))
}

fn constant(ty: &TensorType, data: Vec<u8>) -> Op {
    Op::Constant {
        element: ty.element,
        shape: ty.shape.clone(),
        data,
    }
}

/// The one element of a uniform constant, as a tensor of rank 0.
pub(crate) fn splat(op: &Op) -> Option<Tensor> {
    let Op::Constant { element, data, .. } = op else {
        return None;
    };
    let size = element.bytes() as usize;
    let first = data.get(..size)?;
    data.chunks_exact(size)
        .all(|other| other == first)
        .then(|| Tensor {
            ty: TensorType::new(*element, []),
            data: first.to_vec(),
        })
}

fn tensor(op: &Op) -> Option<Tensor> {
    let (element, shape): (_, &Shape) = match op {
        Op::Constant { element, shape, .. } | Op::Iota { element, shape, .. } => (*element, shape),
        _ => return None,
    };
    let ty = TensorType::new(element, shape.iter().copied());
    if ty.elements() > OPERAND_ELEMENTS {
        return None;
    }
    match op {
        Op::Constant { data, .. } => {
            let whole = data.len() == ty.bytes();
            let count = ty.elements();
            let data = if whole {
                data.clone()
            } else {
                data.repeat(count)
            };
            Some(Tensor { ty, data })
        }
        other => Some(eval_op(other, &[], &ty)),
    }
}
