//! Printing modules.

use super::ops;
use crate::interp::Tensor;
use crate::module::{Function, Module, Value, WeightSource};
use crate::op::Op;
use crate::ty::TensorType;
use indexmap::{IndexMap, IndexSet};
use ipucc_chip::ScalarType;
use std::fmt::Write as _;

/// The text of a module; parsing it gives the same module, up to names of unnamed values.
pub fn print(module: &Module) -> String {
    let mut out = String::from("module {\n");
    for (name, weight) in &module.weights {
        let source = match &weight.source {
            WeightSource::Dense(data) => {
                let hex: String = data.iter().map(|byte| format!("{byte:02x}")).collect();
                format!("dense(\"{hex}\")")
            }
            WeightSource::Splat(element) => {
                let ty = TensorType::new(weight.ty.element, []);
                format!(
                    "splat({})",
                    literal(&Tensor {
                        ty,
                        data: element.clone()
                    })
                )
            }
            WeightSource::File { path, key } => format!("file(\"{path}\", \"{key}\")"),
            WeightSource::Random { seed, scale } => {
                format!(
                    "random(seed = {seed}, scale = {:?})",
                    f32::from_bits(*scale)
                )
            }
        };
        let _ = writeln!(out, "  weight @{name} : {} = {source}", weight.ty);
    }
    for function in module.functions.values() {
        print_function(function, &mut out);
    }
    out.push_str("}\n");
    out
}

/// The name of every value in the function's text, without the sigil: the user's where it is free,
/// else a number. All are different.
pub fn value_names(function: &Function) -> IndexMap<Value, String> {
    let mut taken: IndexSet<String> = IndexSet::new();
    let mut names = IndexMap::new();
    let mut number = 0;
    for (value, data) in &function.values {
        let wanted = data
            .name
            .as_ref()
            .filter(|name| is_name(name) && !taken.contains(*name));
        let name = match wanted {
            Some(name) => name.clone(),
            None => loop {
                let name = number.to_string();
                number += 1;
                if !taken.contains(&name) {
                    break name;
                }
            },
        };
        taken.insert(name.clone());
        names.insert(value, name);
    }
    names
}

fn is_name(name: &str) -> bool {
    !name.is_empty()
        && name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"_.-/".contains(&byte))
}

fn print_function(function: &Function, out: &mut String) {
    let names = value_names(function);
    let name = |value: Value| names.get(&value).map_or("?", String::as_str);
    let host = |port: &crate::Port| {
        let ty = function.ty(port.value);
        if port.host == ty.element.host() {
            String::new()
        } else {
            format!(" host {}", port.host)
        }
    };
    let params: Vec<String> = function
        .params
        .iter()
        .map(|port| {
            format!(
                "%{}: {}{}",
                name(port.value),
                function.ty(port.value),
                host(port)
            )
        })
        .collect();
    let results: Vec<String> = function
        .results
        .iter()
        .map(|port| format!("%{}: {}{}", port.name, function.ty(port.value), host(port)))
        .collect();
    let _ = writeln!(
        out,
        "  func @{}({}) -> ({}) {{",
        function.name,
        params.join(", "),
        results.join(", ")
    );
    for &inst in &function.body {
        let data = &function.insts[inst];
        let Some(&result) = data.results.first() else {
            continue;
        };
        let ty = function.ty(result);
        let named = |value: &Value| format!("%{}", name(*value));
        let results: Vec<String> = data.results.iter().map(named).collect();
        let _ = write!(out, "    {} = {}", results.join(", "), ops::name(&data.op));
        match &data.op {
            Op::Call { function, .. } | Op::Repeat { function, .. } => {
                let _ = write!(out, " @{function}");
            }
            Op::Weight(weight) => {
                let _ = write!(out, " @{weight}");
            }
            Op::Constant { data, .. } => {
                let count = data.len() / ty.element.bytes() as usize;
                let shape = if count == 1 {
                    vec![]
                } else {
                    vec![count as u32]
                };
                let tensor = Tensor {
                    ty: TensorType::new(ty.element, shape),
                    data: data.clone(),
                };
                let _ = write!(out, " {}", literal(&tensor));
            }
            _ => {}
        }
        let operands: Vec<String> = data
            .operands
            .iter()
            .map(|&operand| format!("%{}", name(operand)))
            .collect();
        if !operands.is_empty() {
            let _ = write!(out, " {}", operands.join(", "));
        }
        let attributes = ops::attributes(&data.op);
        if !attributes.is_empty() {
            let _ = write!(out, " {{{attributes}}}");
        }
        let types = data.results.iter().map(|&value| function.ty(value));
        let types: Vec<String> = types.map(ToString::to_string).collect();
        let _ = writeln!(out, " : {}", types.join(", "));
    }
    let values: Vec<String> = function
        .results
        .iter()
        .map(|port| format!("%{}", name(port.value)))
        .collect();
    let _ = writeln!(out, "    return {}\n  }}", values.join(", "));
}

/// A literal: one number, or a list in brackets. Floats that decimal text cannot give back (NaN,
/// infinities) are written as bits.
fn literal(tensor: &Tensor) -> String {
    let numbers: Vec<String> = if tensor.ty.element.is_float() {
        let size = tensor.ty.element.bytes() as usize;
        tensor
            .to_floats()
            .iter()
            .zip(tensor.data.chunks_exact(size))
            .map(|(value, bytes)| {
                if value.is_finite() {
                    format!("{value:?}")
                } else {
                    let hex: String = bytes.iter().rev().map(|b| format!("{b:02x}")).collect();
                    format!("0x{hex}")
                }
            })
            .collect()
    } else if tensor.ty.element == ScalarType::I1 {
        tensor.data.iter().map(|byte| byte.to_string()).collect()
    } else {
        tensor.to_ints().iter().map(ToString::to_string).collect()
    };
    if tensor.ty.rank() == 0 {
        numbers.first().cloned().unwrap_or_default()
    } else {
        format!("[{}]", numbers.join(", "))
    }
}
