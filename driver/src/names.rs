//! What the steps of a program work for: operations, their ONNX nodes or source lines.

use ipucc_machine::package::SourceMap;
use ipucc_tensor::{Function, Inst, Module, Op, Value};
use std::collections::{BTreeMap, BTreeSet};

/// Names the steps of a package. Labels of steps begin with the name of the value that they make
/// (`7`, `7.sum`, `7 (to words)`); what a step makes on the way to it and no other step is named
/// after is named with it. `text` is the text of the model's file, if it is text.
pub fn name_steps(map: &mut SourceMap, module: &Module, text: Option<&str>) {
    let Some(function) = module.entry() else {
        return;
    };
    // As the planner names them: by their number where the model has no name.
    let values: BTreeMap<String, Value> = (function.values.iter())
        .map(|(value, data)| {
            let number = || value.to_string().trim_start_matches('%').to_owned();
            (data.name.clone().unwrap_or_else(number), value)
        })
        .collect();
    let made: Vec<Option<Inst>> = (map.steps.iter())
        .map(|step| {
            let (_, label) = step.name.split_once(' ')?;
            function.def(value_of(&values, label)?)
        })
        .collect();
    let named: BTreeSet<Inst> = made.iter().flatten().copied().collect();
    let start = text.and_then(|text| {
        let head = format!("@{}", function.name);
        let at = text.find(&head)?;
        text[..at].rfind("func")
    });
    let lines = text.zip(start);
    for (step, made) in map.steps.iter_mut().zip(made) {
        if let Some(inst) = made {
            step.nodes = chain(function, inst, &named)
                .into_iter()
                .map(|inst| source(function, inst, lines))
                .collect();
        }
    }
}

/// The value that a label begins with: the longest name before its end, a space or a point.
fn value_of(values: &BTreeMap<String, Value>, label: &str) -> Option<Value> {
    let ends = label
        .char_indices()
        .filter(|(_, c)| matches!(c, ' ' | '.'))
        .map(|(at, _)| at)
        .chain([label.len()]);
    let mut ends: Vec<usize> = ends.collect();
    ends.reverse();
    ends.into_iter()
        .find_map(|end| values.get(&label[..end]).copied())
}

/// An operation and those before it that no step is named after, in the order of the function.
fn chain(function: &Function, inst: Inst, named: &BTreeSet<Inst>) -> Vec<Inst> {
    let mut found = BTreeSet::from([inst]);
    let mut open = vec![inst];
    while let Some(inst) = open.pop() {
        for &operand in &function.insts[inst].operands {
            let Some(before) = function.def(operand) else {
                continue;
            };
            let silent = matches!(
                function.insts[before].op,
                Op::Weight(_) | Op::Constant { .. }
            );
            if !silent && !named.contains(&before) && found.insert(before) {
                open.push(before);
            }
        }
    }
    function
        .body
        .iter()
        .copied()
        .filter(|inst| found.contains(inst))
        .collect()
}

/// An operation with its ONNX node or source line.
fn source(function: &Function, inst: Inst, lines: Option<(&str, usize)>) -> String {
    let data = &function.insts[inst];
    let name = data.op.name();
    if let Some(origin) = &data.origin {
        return format!("`{name}` from node `{origin}`");
    }
    // What rewriting made has no place in the text.
    let line = lines
        .filter(|_| data.span.end > 0)
        .and_then(|(text, start)| text.get(..start + data.span.start as usize));
    match line {
        Some(before) => format!("`{name}` in line {}", before.matches('\n').count() + 1),
        None => format!("`{name}`"),
    }
}
