//! Writing out calls: the body of the function takes the place of each.

use crate::rebuild::{expand_with, names_of};
use crate::unroll::{ExpandError, length};
use indexmap::IndexMap;
use ipucc_tensor::{Builder, Function, Module, Op, Value};

/// The module with the entry function only, every call in it replaced by what it calls. Values get
/// the name of the call's result before their own; repeats stay ([`crate::unroll()`] makes calls of
/// them).
///
/// # Errors
/// A function that is not there or calls itself, or a program that gets too long.
pub fn inline(module: &Module) -> Result<Module, ExpandError> {
    let Some(entry) = module.entry() else {
        return Ok(module.clone());
    };
    let calls = |op: &Op| matches!(op, Op::Call { .. } | Op::Repeat { .. });
    let ops = |function: &Function| -> bool {
        let mut insts = function.body.iter();
        insts.any(|&inst| calls(&function.insts[inst].op))
    };
    if module.functions.len() == 1 && !ops(entry) {
        return Ok(module.clone());
    }
    length(module, &entry.name, &mut Vec::new())?;
    let flat = expand_with(entry, |builder, function, data, operands| match &data.op {
        Op::Call { function: name, .. } => {
            let label = names_of(function, data).join("_");
            body(
                builder,
                module,
                name,
                operands,
                &label,
                data.origin.as_ref(),
            )
        }
        op => Ok(builder.op_all(op.clone(), operands)?),
    })?;
    let mut out = Module {
        functions: IndexMap::from([(flat.name.clone(), flat)]),
        weights: module.weights.clone(),
    };
    // Repeats that stay need their functions.
    if out.functions.values().any(ops) {
        for (name, function) in &module.functions {
            let entry = out.functions.entry(name.clone());
            entry.or_insert_with(|| function.clone());
        }
    }
    Ok(out)
}

/// Adds what a function computes on these operands; its results.
fn body(
    builder: &mut Builder,
    module: &Module,
    name: &str,
    operands: &[Value],
    label: &str,
    origin: Option<&String>,
) -> Result<Vec<Value>, ExpandError> {
    let missing = || ExpandError::Missing(name.to_owned());
    let function = module.functions.get(name).ok_or_else(missing)?;
    let params = function.params.iter().map(|port| port.value);
    let mut values: IndexMap<Value, Value> = params.zip(operands.iter().copied()).collect();
    for &inst in &function.body {
        let data = &function.insts[inst];
        // Spans are relative to the function that is left behind: only the origin still holds.
        let from = data.origin.as_ref().or(origin);
        builder.at(ipucc_tensor::Span::default(), from.cloned());
        let operands: Vec<Value> = data
            .operands
            .iter()
            .filter_map(|operand| values.get(operand).copied())
            .collect();
        let results = match &data.op {
            Op::Call {
                function: inner, ..
            } => {
                let label = format!("{label}.{}", names_of(function, data).join("_"));
                body(builder, module, inner, &operands, &label, from)?
            }
            Op::Weight(weight) => {
                let ty = function.ty(data.results[0]).clone();
                vec![builder.weight(weight.clone(), ty)]
            }
            op => builder.op_all(op.clone(), &operands)?,
        };
        for (&old, &new) in data.results.iter().zip(&results) {
            let unnamed = builder.function().values[new].name.is_none();
            if let (Some(own), true) = (&function.values[old].name, unnamed) {
                builder.name(new, format!("{label}.{own}"));
            }
            values.insert(old, new);
        }
    }
    let results = function.results.iter();
    let results = results.map(|port| values.get(&port.value).copied());
    results.collect::<Option<_>>().ok_or_else(missing)
}
