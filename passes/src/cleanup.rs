//! Small clean-ups of tensor modules: identities, common subexpressions, dead code.

use indexmap::{IndexMap, IndexSet};
use ipucc_tensor::{Function, Module, Op, Value};

/// Drops operations that give back their operand and joins reshapes of reshapes and transposes of
/// transposes.
pub fn canonicalize(module: &Module) -> Module {
    per_function(module, |function| {
        let mut same: IndexMap<Value, Value> = IndexMap::new();
        for index in 0..function.body.len() {
            let inst = function.body[index];
            replace_operands(function, inst, &same);
            let data = &function.insts[inst];
            let Some(&x) = data.operands.first() else {
                continue;
            };
            let result = data.results[0];
            let identity = match &data.op {
                Op::Reshape(_) | Op::Broadcast { .. } | Op::Convert(_) | Op::Slice { .. } => {
                    let keeps_order = match &data.op {
                        Op::Slice { strides, .. } => strides.iter().all(|&s| s == 1),
                        _ => true,
                    };
                    keeps_order && function.ty(x) == function.ty(result)
                }
                Op::Transpose(axes) => axes.iter().enumerate().all(|(i, &a)| i == a as usize),
                Op::Concat(_) => data.operands.len() == 1,
                _ => false,
            };
            if identity {
                same.insert(result, x);
                continue;
            }
            let inner = function.def(x).map(|inner| function.insts[inner].clone());
            let joined = match (&data.op, inner) {
                (Op::Reshape(shape), Some(inner)) => match inner.op {
                    Op::Reshape(_) => Some((Op::Reshape(shape.clone()), inner.operands[0])),
                    _ => None,
                },
                (Op::Transpose(outer), Some(inner)) => match &inner.op {
                    Op::Transpose(first) => {
                        let axes = outer.iter().map(|&axis| first[axis as usize]).collect();
                        Some((Op::Transpose(axes), inner.operands[0]))
                    }
                    _ => None,
                },
                _ => None,
            };
            if let Some((op, operand)) = joined {
                let data = &mut function.insts[inst];
                data.op = op;
                data.operands[0] = operand;
            }
        }
        replace_results(function, &same);
    })
}

/// Computes equal operations on equal operands once.
pub fn cse(module: &Module) -> Module {
    per_function(module, |function| {
        let mut same: IndexMap<Value, Value> = IndexMap::new();
        let mut seen: IndexMap<(Op, Vec<Value>), Value> = IndexMap::new();
        for index in 0..function.body.len() {
            let inst = function.body[index];
            replace_operands(function, inst, &same);
            let data = &function.insts[inst];
            let result = data.results[0];
            let key = (data.op.clone(), data.operands.to_vec());
            match seen.get(&key) {
                Some(&first) => {
                    same.insert(result, first);
                }
                None => {
                    seen.insert(key, result);
                }
            }
        }
        replace_results(function, &same);
    })
}

/// Drops operations and weights that no result needs.
pub fn dce(module: &Module) -> Module {
    let mut out = per_function(module, |function| {
        let mut live: IndexSet<Value> = function.results.iter().map(|port| port.value).collect();
        let mut kept = Vec::new();
        for &inst in function.body.iter().rev() {
            let data = &function.insts[inst];
            if data.results.iter().any(|result| live.contains(result)) {
                live.extend(data.operands.iter().copied());
                kept.push(inst);
            }
        }
        kept.reverse();
        function.body = kept;
    });
    let used: IndexSet<String> = out
        .functions
        .values()
        .flat_map(|function| function.body.iter().map(|&inst| &function.insts[inst].op))
        .filter_map(|op| {
            if let Op::Weight(name) = op {
                Some(name.clone())
            } else {
                None
            }
        })
        .collect();
    out.weights.retain(|name, _| used.contains(name));
    out
}

fn per_function(module: &Module, change: impl Fn(&mut Function)) -> Module {
    let mut out = module.clone();
    out.functions.values_mut().for_each(change);
    out
}

fn replace_operands(
    function: &mut Function,
    inst: ipucc_tensor::Inst,
    same: &IndexMap<Value, Value>,
) {
    for operand in &mut function.insts[inst].operands {
        if let Some(&other) = same.get(operand) {
            *operand = other;
        }
    }
}

fn replace_results(function: &mut Function, same: &IndexMap<Value, Value>) {
    for port in &mut function.results {
        if let Some(&other) = same.get(&port.value) {
            port.value = other;
        }
    }
}
