//! Writing out repeats: one call of the body for every iteration.

use crate::rebuild::{expand_with, names_of};
use ipucc_tensor::{Builder, Function, InstData, Module, Op, Shape, TypeError, Value};
use thiserror::Error;

/// Most instructions that a program may have when all calls and repeats are written out.
pub const MOST_INSTRUCTIONS: u64 = 1 << 20;

/// Why calls and repeats cannot be written out.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum ExpandError {
    /// The program would be too long.
    #[error(
        "function `@{0}` has {1} instructions with its calls and repeats written out, more than \
         {MOST_INSTRUCTIONS}; hint: fewer iterations"
    )]
    TooLong(String, u64),
    /// A function calls itself.
    #[error("function `@{0}` calls itself")]
    Recursion(String),
    /// A function that is not there.
    #[error("there is no function `@{0}`")]
    Missing(String),
    /// A call that does not fit its function.
    #[error(transparent)]
    Type(#[from] TypeError),
}

/// The module with every `repeat` as calls of its function, one an iteration; what it slices becomes
/// slices.
///
/// # Errors
/// See [`ExpandError`].
pub fn unroll(module: &Module) -> Result<Module, ExpandError> {
    let mut out = module.clone();
    for (name, function) in &mut out.functions {
        let repeats = |data: &InstData| matches!(data.op, Op::Repeat { .. });
        if !function
            .body
            .iter()
            .any(|&inst| repeats(&function.insts[inst]))
        {
            continue;
        }
        length(module, name, &mut Vec::new())?;
        *function = expand_with(function, |builder, function, data, operands| {
            match &data.op {
                Op::Repeat {
                    function: body,
                    count,
                    carried,
                    sliced,
                } => {
                    let callee = module.functions.get(body);
                    let callee = callee.ok_or_else(|| ExpandError::Missing(body.clone()))?;
                    let parts = operands.split_at_checked(*carried as usize);
                    let parts = parts.and_then(|(carried, rest)| {
                        Some((carried, rest.split_at_checked(*sliced as usize)?))
                    });
                    let Some((carried, (sliced, fixed))) = parts else {
                        return Err(ExpandError::Type(TypeError {
                            op: "repeat",
                            message: "lacks operands".into(),
                        }));
                    };
                    let label = names_of(function, data).join("_");
                    let mut state = carried.to_vec();
                    for iteration in 0..*count {
                        let mut all = state;
                        for &whole in sliced {
                            all.push(slice_of(builder, whole, iteration)?);
                        }
                        all.extend_from_slice(fixed);
                        state = builder.call(callee, &all)?;
                        for (index, &value) in state.iter().enumerate() {
                            builder.name(value, format!("{label}.{iteration}.{index}"));
                        }
                    }
                    Ok(state)
                }
                op => Ok(builder.op_all(op.clone(), operands)?),
            }
        })?;
    }
    Ok(out)
}

/// Slice `index` of the outermost axis, without that axis.
fn slice_of(builder: &mut Builder, whole: Value, index: u32) -> Result<Value, TypeError> {
    let shape = builder.ty(whole).shape.clone();
    let mut starts = Shape::from_elem(0, shape.len());
    let mut sizes = shape.clone();
    let (Some(start), Some(size)) = (starts.first_mut(), sizes.first_mut()) else {
        return Err(TypeError {
            op: "repeat",
            message: "a sliced operand needs an axis".into(),
        });
    };
    (*start, *size) = (index, 1);
    let slice = Op::Slice {
        starts,
        sizes,
        strides: smallvec::SmallVec::from_elem(1, shape.len()),
    };
    let slice = builder.op(slice, &[whole])?;
    builder.op(Op::Reshape(shape[1..].into()), &[slice])
}

/// Instructions of a function with all its calls and repeats written out.
///
/// # Errors
/// There are too many, or they never end.
pub fn length<'m>(
    module: &'m Module,
    name: &'m str,
    callers: &mut Vec<&'m str>,
) -> Result<u64, ExpandError> {
    if callers.contains(&name) {
        return Err(ExpandError::Recursion(name.to_owned()));
    }
    let function: &Function = module
        .functions
        .get(name)
        .ok_or_else(|| ExpandError::Missing(name.to_owned()))?;
    callers.push(name);
    let mut sum = 0u64;
    for &inst in &function.body {
        let data = &function.insts[inst];
        sum = sum.saturating_add(match &data.op {
            Op::Call { function, .. } => length(module, function, callers)?,
            Op::Repeat {
                function,
                count,
                sliced,
                ..
            } => {
                let body = length(module, function, callers)?;
                let each = body
                    .saturating_add(1)
                    .saturating_add(2 * u64::from(*sliced));
                each.saturating_mul(u64::from(*count))
            }
            _ => 1,
        });
    }
    callers.pop();
    if sum > MOST_INSTRUCTIONS {
        return Err(ExpandError::TooLong(name.to_owned(), sum));
    }
    Ok(sum)
}
