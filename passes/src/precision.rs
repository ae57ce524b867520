//! The precision in which a model is computed: float types of the module replaced by policy.
//!
//! Bindings keep their host types: what the host hands over in f32 becomes f16 at the binding.
//! Weights keep their stored type too; a conversion behind each becomes part of its weight program,
//! so that no pass reads a weight's bytes.

use crate::rebuild::rebuild;
use indexmap::IndexMap;
use ipucc_chip::ScalarType;
use ipucc_tensor::text::value_names;
use ipucc_tensor::{Builder, Function, InstData, Module, Op, TensorType, TypeError, Value};
use thiserror::Error;

/// What floats are computed in.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Precision {
    /// Type of every f32 and f16 value; `None`: as declared.
    pub element: Option<ScalarType>,
    /// Type in which products are summed; `None`: as declared.
    pub accumulate: Option<ScalarType>,
    /// Types of single operations, by the name of their result or of their ONNX node.
    pub overrides: Vec<(String, ScalarType)>,
}

impl Precision {
    /// True if every operation is computed as declared.
    pub fn is_declared(&self) -> bool {
        self.element.is_none() && self.accumulate.is_none() && self.overrides.is_empty()
    }

    /// The override for an operation of this name; the last one counts.
    fn of(&self, name: &str) -> Option<ScalarType> {
        let named = self.overrides.iter().rev();
        named
            .into_iter()
            .find(|(known, _)| known == name)
            .map(|(_, element)| *element)
    }
}

/// Why a module cannot be computed in a precision.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum PrecisionError {
    /// The policy names a type that values cannot have.
    #[error("{what} {element}: {hint}")]
    Type {
        /// Which part of the policy.
        what: String,
        /// The type.
        element: ScalarType,
        /// What can be had.
        hint: &'static str,
    },
    /// An override that fits no operation.
    #[error("no operation is called `{0}`; hint: the name of its result, or its ONNX node")]
    Unknown(String),
    /// An operation has no such form.
    #[error("`{name}`: {error}")]
    Operation {
        /// Name of its result.
        name: String,
        /// What stands against it.
        error: TypeError,
    },
}

/// The module computed by the policy.
///
/// # Errors
/// A policy with types or names that do not exist, or an operation without that form.
pub fn precision(module: &Module, policy: &Precision) -> Result<Module, PrecisionError> {
    if policy.is_declared() {
        return Ok(module.clone());
    }
    let named = policy.overrides.iter();
    let types = named
        .map(|(name, element)| (format!("precision of `{name}`"), *element))
        .chain(policy.element.map(|element| ("precision".into(), element)));
    for (what, element) in types {
        if !is_computed(element) {
            let hint = "values are computed in f32 or f16";
            return Err(PrecisionError::Type {
                what,
                element,
                hint,
            });
        }
    }
    if let Some(element) = policy.accumulate.filter(|&element| !is_computed(element)) {
        return Err(PrecisionError::Type {
            what: "accumulation in".into(),
            element,
            hint: "products are summed in f32 or f16",
        });
    }
    let mut unknown: Vec<&String> = policy.overrides.iter().map(|(name, _)| name).collect();
    let mut out = module.clone();
    for function in out.functions.values_mut() {
        let names = value_names(function);
        unknown.retain(|wanted| {
            !function.body.iter().any(|&inst| {
                let data = &function.insts[inst];
                data.origin.as_ref() == Some(*wanted)
                    || data
                        .results
                        .iter()
                        .any(|value| names.get(value) == Some(*wanted))
            })
        });
        *function = rewrite(function, policy, &names)?;
    }
    match unknown.first() {
        Some(name) => Err(PrecisionError::Unknown((*name).clone())),
        None => Ok(out),
    }
}

/// True for the types that every kernel of floats knows.
const fn is_computed(element: ScalarType) -> bool {
    matches!(element, ScalarType::F32 | ScalarType::F16)
}

fn rewrite(
    function: &Function,
    policy: &Precision,
    names: &IndexMap<Value, String>,
) -> Result<Function, PrecisionError> {
    // Conversions already made.
    let mut converted = IndexMap::new();
    let param = |ty: &TensorType| match policy.element {
        Some(element) if is_computed(ty.element) => ty.with_element(element),
        _ => ty.clone(),
    };
    let rebuilt = rebuild(function, param, |builder, data, operands| {
        let named = data.origin.as_ref().and_then(|origin| policy.of(origin));
        let wanted = named
            .or_else(|| policy.of(names.get(&data.results[0])?))
            .or(policy.element);
        let mut rewrite = Rewrite {
            function,
            builder,
            converted: &mut converted,
        };
        rewrite.instruction(data, operands, wanted, policy.accumulate)
    });
    rebuilt.map_err(|(result, error)| PrecisionError::Operation {
        name: names.get(&result).cloned().unwrap_or_default(),
        error,
    })
}

struct Rewrite<'f> {
    function: &'f Function,
    builder: &'f mut Builder,
    converted: &'f mut IndexMap<(Value, ScalarType), Value>,
}

impl Rewrite<'_> {
    /// The new result of an instruction; floats in `wanted` if it is given.
    fn instruction(
        &mut self,
        data: &InstData,
        given: &[Value],
        wanted: Option<ScalarType>,
        accumulate: Option<ScalarType>,
    ) -> Result<Value, TypeError> {
        let declared = self.function.ty(data.results[0]);
        let replaced = |element: ScalarType| match wanted {
            Some(wanted) if is_computed(element) => wanted,
            _ => element,
        };
        let mut operands = Vec::new();
        for (operand, &value) in data.operands.iter().zip(given) {
            let element = replaced(self.function.ty(*operand).element);
            operands.push(self.converted(value, element)?);
        }
        let op = match data.op.clone() {
            Op::Weight(name) => {
                let weight = self.builder.weight(name, declared.clone());
                return self.converted(weight, replaced(declared.element));
            }
            Op::Constant {
                element,
                shape,
                data,
            } if replaced(element) != element => {
                let constant = Op::Constant {
                    element,
                    shape,
                    data,
                };
                let value = self.builder.op(constant, &[])?;
                return self.converted(value, replaced(element));
            }
            Op::Convert(element) => {
                // What was converted between types that are one now stays as it is.
                return self.converted(operands[0], replaced(element));
            }
            Op::Iota {
                element,
                shape,
                axis,
            } => Op::Iota {
                element: replaced(element),
                shape,
                axis,
            },
            Op::Dot {
                lhs_batch,
                rhs_batch,
                lhs_contract,
                rhs_contract,
                accumulate: sum,
                result,
            } => Op::Dot {
                lhs_batch,
                rhs_batch,
                lhs_contract,
                rhs_contract,
                accumulate: summed(sum, accumulate, self.builder, &operands),
                result: replaced(result),
            },
            Op::Conv {
                window,
                groups,
                accumulate: sum,
                result,
            } => Op::Conv {
                window,
                groups,
                accumulate: summed(sum, accumulate, self.builder, &operands),
                result: replaced(result),
            },
            Op::ConvTranspose {
                window,
                output_padding,
                groups,
                result,
            } => Op::ConvTranspose {
                window,
                output_padding,
                groups,
                result: replaced(result),
            },
            other => other,
        };
        let value = self.builder.op(op, &operands)?;
        // An operation that has its declared type whatever its operands are keeps it.
        self.converted(value, replaced(self.builder.ty(value).element))
    }

    fn converted(&mut self, value: Value, element: ScalarType) -> Result<Value, TypeError> {
        if self.builder.ty(value).element == element {
            return Ok(value);
        }
        if let Some(&known) = self.converted.get(&(value, element)) {
            return Ok(known);
        }
        let made = self.builder.op(Op::Convert(element), &[value])?;
        self.converted.insert((value, element), made);
        Ok(made)
    }
}

/// The type in which a product is summed: the policy's for floats. Products of f32 have f32 sums
/// only.
fn summed(
    declared: ScalarType,
    policy: Option<ScalarType>,
    builder: &Builder,
    operands: &[Value],
) -> ScalarType {
    let wide = operands
        .iter()
        .any(|&value| builder.ty(value).element == ScalarType::F32);
    match policy {
        Some(ScalarType::F16) if wide => declared,
        Some(element) if declared.is_float() => element,
        _ => declared,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ipucc_tensor::text;

    const MODEL: &str = "module {
  weight @w : tensor<4x6xf32> = random(seed = 1, scale = 0.1)
  func @main(%x: tensor<2x4xf32>, %i: tensor<2x6xi32>) -> (%z: tensor<2x6xf32>, %j: tensor<2x6xi32>) {
    %w = weight @w : tensor<4x6xf32>
    %y = dot %x, %w {lhs_contract = [1], rhs_contract = [0]} : tensor<2x6xf32>
    %h = convert %y : tensor<2x6xf16>
    %g = exp %h : tensor<2x6xf16>
    %z = convert %g : tensor<2x6xf32>
    %j = add %i, %i : tensor<2x6xi32>
    return %z, %j
  }
}
";

    fn policy(element: ScalarType) -> Precision {
        Precision {
            element: Some(element),
            ..Precision::default()
        }
    }

    fn run(policy: &Precision) -> String {
        let module = text::parse(MODEL).expect("parses");
        text::print(&precision(&module, policy).expect("converts"))
    }

    #[test]
    fn everything_in_f16() {
        insta::assert_snapshot!(run(&policy(ScalarType::F16)));
    }

    #[test]
    fn one_operation_in_f32() {
        let mut policy = policy(ScalarType::F16);
        policy.overrides.push(("g".into(), ScalarType::F32));
        policy.accumulate = Some(ScalarType::F16);
        insta::assert_snapshot!(run(&policy));
    }

    #[test]
    fn what_does_not_exist_is_refused() {
        let module = text::parse(MODEL).expect("parses");
        let wrong = precision(&module, &policy(ScalarType::I32));
        assert!(matches!(wrong, Err(PrecisionError::Type { .. })));
        let mut named = policy(ScalarType::F16);
        named.overrides.push(("nothing".into(), ScalarType::F32));
        let wrong = precision(&module, &named);
        assert_eq!(wrong, Err(PrecisionError::Unknown("nothing".into())));
    }

    #[test]
    fn declared_changes_nothing() {
        let module = text::parse(MODEL).expect("parses");
        let same = precision(&module, &Precision::default());
        assert_eq!(same, Ok(module));
    }
}
