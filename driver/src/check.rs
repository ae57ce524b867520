//! Comparing a run with the reference interpreter, operation by operation.
//!
//! Every operation whose result the program holds is compared with the interpreter's, which is fed
//! with the values that the program itself computed, so that errors do not pile up into the bound
//! (`docs/contracts.md` 6). Operations that the compiler fused have no value of their own: they are
//! judged as one chain, and their bounds are carried through it.

use crate::host::{floats, to_tensor};
use indexmap::IndexMap;
use ipucc_runtime::HostTensor;
use ipucc_tensor::interp::{self, EvalError, Tensor};
use ipucc_tensor::text::value_names;
use ipucc_tensor::{Function, Inst, Module, Op, Value};

/// How one value of a run compares.
#[derive(Clone, PartialEq, Debug)]
pub struct Verdict {
    /// Name in the tensor program's text, or of the output.
    pub name: String,
    /// The operations behind it since the last compared values, in order.
    pub operations: Vec<&'static str>,
    /// Source line or ONNX node of the last of them.
    pub origin: Option<String>,
    /// The difference that is largest in relation to its bound.
    pub error: f64,
    /// The bound of that element.
    pub bound: f64,
    /// Row-major position of that element.
    pub element: usize,
    /// True if every element is within its bound.
    pub ok: bool,
}

/// Inputs by name as the interpreter takes them.
///
/// # Errors
/// The module has no entry function.
pub fn tensors(
    module: &Module,
    inputs: &IndexMap<String, HostTensor>,
) -> Result<IndexMap<String, Tensor>, EvalError> {
    let function = module.entry().ok_or(EvalError::NoEntry)?;
    let given = |port: &ipucc_tensor::Port| {
        let host = inputs.get(&port.name)?;
        Some((port.name.clone(), to_tensor(host, function.ty(port.value))))
    };
    Ok(function.params.iter().filter_map(given).collect())
}

/// Compares the observed values of a run, in program order. `inputs` are the run's own.
///
/// # Errors
/// Inputs or weights that the interpreter cannot have.
pub fn operations(
    module: &Module,
    inputs: &IndexMap<String, Tensor>,
    observed: &IndexMap<String, HostTensor>,
) -> Result<Vec<Verdict>, EvalError> {
    let mut walk = Walk::new(module, inputs)?;
    let names = value_names(walk.function);
    let mut verdicts = Vec::new();
    for &inst in &walk.function.body {
        let data = &walk.function.insts[inst];
        for (value, wanted, bound) in walk.evaluate(inst)? {
            let chain = walk.chain(inst);
            let seen = names
                .get(&value)
                .and_then(|name| observed.get_key_value(name));
            match seen {
                Some((name, found)) => {
                    let verdict = judge(name, found, &wanted.to_floats(), &bound);
                    verdicts.push(Verdict {
                        operations: chain
                            .iter()
                            .map(|&inst| walk.function.insts[inst].op.name())
                            .collect(),
                        origin: data.origin.clone(),
                        ..verdict
                    });
                    let tensor = Tensor {
                        ty: wanted.ty,
                        data: found.bytes.clone(),
                    };
                    walk.values.insert(value, tensor);
                }
                None => {
                    walk.values.insert(value, wanted);
                    walk.bounds.insert(value, bound);
                    walk.chains.insert(value, chain);
                }
            }
        }
    }
    Ok(verdicts)
}

/// Compares the outputs of a run with a whole evaluation of the model, bounds carried through the
/// graph: what is left to this comparison is that the tensor passes kept the meaning.
///
/// # Errors
/// Inputs or weights that the interpreter cannot have.
pub fn outputs(
    module: &Module,
    inputs: &IndexMap<String, Tensor>,
    outputs: &IndexMap<String, HostTensor>,
) -> Result<Vec<Verdict>, EvalError> {
    let mut walk = Walk::new(module, inputs)?;
    for &inst in &walk.function.body {
        for (value, wanted, bound) in walk.evaluate(inst)? {
            walk.values.insert(value, wanted);
            walk.bounds.insert(value, bound);
        }
    }
    let exact = Vec::new();
    Ok(walk
        .function
        .results
        .iter()
        .filter_map(|port| {
            let wanted = walk.values.get(&port.value)?.to_floats();
            let bound = walk.bounds.get(&port.value).unwrap_or(&exact);
            Some(judge(&port.name, outputs.get(&port.name)?, &wanted, bound))
        })
        .collect())
}

/// An evaluation with the error bounds of its values.
struct Walk<'m> {
    module: &'m Module,
    function: &'m Function,
    values: IndexMap<Value, Tensor>,
    /// Bounds of values that were not observed.
    bounds: IndexMap<Value, Vec<f32>>,
    /// Instructions behind values that were not observed, in order.
    chains: IndexMap<Value, Vec<Inst>>,
}

impl<'m> Walk<'m> {
    fn new(module: &'m Module, inputs: &IndexMap<String, Tensor>) -> Result<Walk<'m>, EvalError> {
        let function = module.entry().ok_or(EvalError::NoEntry)?;
        let mut values = IndexMap::new();
        for port in &function.params {
            let missing = || EvalError::Input(port.name.clone(), "is missing".into());
            let tensor = inputs.get(&port.name).ok_or_else(missing)?;
            values.insert(port.value, tensor.clone());
        }
        Ok(Walk {
            module,
            function,
            values,
            bounds: IndexMap::new(),
            chains: IndexMap::new(),
        })
    }

    /// Results of an instruction on the values so far, each with the bound per element: the
    /// instruction's own and what it carries on, which are independent.
    fn evaluate(&self, inst: Inst) -> Result<Vec<(Value, Tensor, Vec<f32>)>, EvalError> {
        let data = &self.function.insts[inst];
        let result = data.results[0];
        if let Op::Weight(name) = &data.op {
            let weight = interp::weight(self.module, name)?;
            let exact = vec![0.0; weight.ty.elements()];
            return Ok(vec![(result, weight, exact)]);
        }
        let operands: Vec<&Tensor> = data
            .operands
            .iter()
            .filter_map(|operand| self.values.get(operand))
            .collect();
        let value = interp::eval_op(&data.op, &operands, self.function.ty(result));
        let mut bound = interp::bound(&data.op, &operands, &value);
        let carried = interp::carried(&data.op, &operands, &value, |index| {
            let operand = data.operands.get(index)?;
            self.bounds.get(operand)
        });
        for (own, more) in bound.iter_mut().zip(carried) {
            *own = own.hypot(more);
        }
        Ok(vec![(result, value, bound)])
    }

    /// The instructions that lead from compared values to an instruction's result, in order.
    fn chain(&self, inst: Inst) -> Vec<Inst> {
        let data = &self.function.insts[inst];
        let before = data.operands.iter();
        let mut chain: Vec<Inst> = before
            .filter_map(|operand| self.chains.get(operand))
            .flatten()
            .copied()
            .collect();
        if !matches!(data.op, Op::Weight(_) | Op::Constant { .. }) {
            chain.push(inst);
        }
        chain.sort_unstable();
        chain.dedup();
        chain
    }
}

/// Compares a buffer with wanted values; a missing bound is 0.
fn judge(name: &str, found: &HostTensor, wanted: &[f32], bounds: &[f32]) -> Verdict {
    let found = floats(found);
    let mut verdict = Verdict {
        name: name.to_owned(),
        operations: Vec::new(),
        origin: None,
        error: 0.0,
        bound: 0.0,
        element: 0,
        ok: found.len() == wanted.len(),
    };
    let mut worst = -1.0;
    for (element, (&value, &want)) in found.iter().zip(wanted).enumerate() {
        let want = f64::from(want);
        let bound = bounds.get(element).map_or(0.0, |&bound| f64::from(bound));
        let same = value == want || value.is_nan() && want.is_nan();
        let error = if same { 0.0 } else { (value - want).abs() };
        // A NaN on one side only compares as false.
        verdict.ok &= error <= bound;
        let ratio = if error.is_nan() {
            f64::INFINITY
        } else if bound > 0.0 {
            error / bound
        } else {
            error
        };
        if ratio > worst {
            worst = ratio;
            (verdict.error, verdict.bound, verdict.element) = (error, bound, element);
        }
    }
    verdict
}

#[cfg(test)]
mod tests {
    use super::*;
    use ipucc_chip::{HostType, ScalarType};

    fn buffer(values: &[f32]) -> HostTensor {
        HostTensor {
            element: HostType::Device(ScalarType::F32),
            shape: vec![values.len() as u32],
            bytes: values.iter().flat_map(|v| v.to_le_bytes()).collect(),
        }
    }

    #[test]
    fn verdicts_see_errors_nans_and_lengths() {
        let bound = [0.1, 0.1];
        assert!(judge("y", &buffer(&[1.0, 2.05]), &[1.0, 2.0], &bound).ok);
        let wrong = judge("y", &buffer(&[1.0, 2.5]), &[1.0, 2.0], &bound);
        assert!(!wrong.ok && wrong.element == 1 && wrong.error == 0.5);
        assert!(!judge("y", &buffer(&[f32::NAN, 2.0]), &[1.0, 2.0], &bound).ok);
        assert!(judge("y", &buffer(&[f32::NAN, 2.0]), &[f32::NAN, 2.0], &bound).ok);
        assert!(!judge("y", &buffer(&[1.0]), &[1.0, 2.0], &bound).ok);
        let infinite = [f32::INFINITY, 2.0];
        assert!(judge("y", &buffer(&infinite), &infinite, &[]).ok);
    }

    #[test]
    fn the_first_wrong_value_is_where_the_error_is_made() {
        let text = "module {
  func @main(%x: tensor<2xf32>) -> (%z: tensor<2xf32>) {
    %a = add %x, %x : tensor<2xf32>
    %y = mul %a, %a : tensor<2xf32>
    %z = sub %y, %a : tensor<2xf32>
    return %z
  }
}
";
        let module = ipucc_tensor::text::parse(text).expect("parses");
        let inputs = IndexMap::from([("x".to_owned(), buffer(&[1.0, 2.0]))]);
        let inputs = tensors(&module, &inputs).expect("an entry");
        // The program fused the addition, made y wrong, and went on with it.
        let observed = IndexMap::from([
            ("y".to_owned(), buffer(&[4.0, 17.0])),
            ("z".to_owned(), buffer(&[2.0, 13.0])),
        ]);
        let verdicts = operations(&module, &inputs, &observed).expect("evaluates");
        let found: Vec<(&str, bool, Vec<&str>)> = verdicts
            .iter()
            .map(|v| (v.name.as_str(), v.ok, v.operations.clone()))
            .collect();
        assert_eq!(
            found,
            [
                ("y", false, vec!["add", "mul"]),
                ("z", true, vec!["add", "sub"])
            ]
        );
        let whole = IndexMap::from([("z".to_owned(), buffer(&[2.0, 13.0]))]);
        let verdicts = outputs(&module, &inputs, &whole).expect("evaluates");
        assert!(verdicts.len() == 1 && !verdicts[0].ok);
    }
}
