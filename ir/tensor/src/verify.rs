//! What must hold of a module, however it was made.

use crate::infer::TypeError;
use crate::module::{Def, Function, Inst, Module, Port, Span, Value, WeightSource};
use crate::op::Op;
use crate::text::value_names;
use crate::ty::{MAX_RANK, TensorType};
use indexmap::{IndexMap, IndexSet};
use std::fmt;

/// Something that must not be in a module.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Fault {
    /// The function that it is in; `None`: the module itself.
    pub function: Option<String>,
    /// The value it is about, by its name in text.
    pub value: Option<String>,
    /// Source text of the instruction, relative to the function.
    pub span: Span,
    /// ONNX node or other source that the instruction stems from.
    pub origin: Option<String>,
    /// What is wrong.
    pub message: String,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(function) = &self.function {
            write!(f, "function `@{function}`: ")?;
        }
        if let Some(value) = &self.value {
            write!(f, "`%{value}`: ")?;
        }
        if let Some(origin) = &self.origin {
            write!(f, "(from {origin}) ")?;
        }
        f.write_str(&self.message)
    }
}

/// What is wrong with a `call` or `repeat` of a function on operands of these types.
///
/// # Errors
/// Operands or results that are not the function's.
pub fn signature(op: &Op, callee: &Function, operands: &[TensorType]) -> Result<(), TypeError> {
    let fail = |message: String| {
        Err(TypeError {
            op: op.name(),
            message,
        })
    };
    let results = op.infer_all(operands)?;
    let mut given = operands.to_vec();
    if let Op::Repeat {
        carried, sliced, ..
    } = op
    {
        let (carried, sliced) = (*carried as usize, *sliced as usize);
        for ty in &mut given[carried..carried + sliced] {
            ty.shape.remove(0);
        }
    }
    let name = &callee.name;
    let (params, returned) = (callee.param_types(), callee.result_types());
    for (what, wanted, found) in [
        ("takes", &params, &given),
        ("gives back", &returned, &results),
    ] {
        if wanted.len() != found.len() {
            return fail(format!(
                "`@{name}` {what} {} values, not {}",
                wanted.len(),
                found.len()
            ));
        }
        for (index, (wanted, found)) in wanted.iter().zip(found).enumerate() {
            if wanted != found {
                return fail(format!(
                    "`@{name}` {what} {wanted} as value {}, not {found}",
                    index + 1
                ));
            }
        }
    }
    Ok(())
}

/// Every fault of a module; empty if it is valid. A module from [`crate::text::parse`] always is.
pub fn verify(module: &Module) -> Vec<Fault> {
    let mut faults = Vec::new();
    let of_module = |message: String| Fault {
        function: None,
        value: None,
        span: Span::default(),
        origin: None,
        message,
    };
    for (name, weight) in &module.weights {
        if let Some(message) = extents(&weight.ty) {
            faults.push(of_module(format!("weight `@{name}`: {message}")));
        }
        let size = weight.ty.element.bytes() as usize;
        let wrong = match &weight.source {
            WeightSource::Dense(data) if data.len() != weight.ty.bytes() => Some(data.len()),
            WeightSource::Splat(data) if data.len() != size => Some(data.len()),
            _ => None,
        };
        if let Some(bytes) = wrong {
            let message = format!("weight `@{name}`: {bytes} bytes of data for {}", weight.ty);
            faults.push(of_module(message));
        }
    }
    for (key, function) in &module.functions {
        if *key != function.name {
            let message = format!("function `@{}` is entered as `@{key}`", function.name);
            faults.push(of_module(message));
        }
        Checker::new(module, function).run(&mut faults);
    }
    for name in module.functions.keys() {
        if let Some(path) = cycle(module, name) {
            let message = format!("functions call one another in a circle: {path}");
            let fault = of_module(message);
            if !faults.contains(&fault) {
                faults.push(fault);
            }
        }
    }
    faults
}

/// The names of a circle of calls that begins and ends at `start`, if `start` is the first of its
/// functions in the module.
fn cycle(module: &Module, start: &str) -> Option<String> {
    let first = module.functions.get_index_of(start)?;
    let mut reached: IndexMap<&str, Option<&str>> = IndexMap::from([(start, None)]);
    let mut at = 0;
    while let Some((&name, _)) = reached.get_index(at) {
        at += 1;
        let Some(function) = module.functions.get(name) else {
            continue;
        };
        for callee in callees(function) {
            if callee == start {
                let mut path = vec![start, name];
                let mut last = name;
                while let Some(Some(before)) = reached.get(last) {
                    path.push(before);
                    last = before;
                }
                path.reverse();
                if name == start {
                    path.pop();
                    path.push(start);
                }
                let path: Vec<String> = path.iter().map(|name| format!("@{name}")).collect();
                return Some(path.join(" -> "));
            }
            let later = module.functions.get_index_of(callee) > Some(first);
            if later && !reached.contains_key(callee) {
                reached.insert(callee, Some(name));
            }
        }
    }
    None
}

/// The functions that a function calls or repeats.
fn callees(function: &Function) -> impl Iterator<Item = &str> {
    let insts = function
        .body
        .iter()
        .filter_map(|&inst| function.insts.get(inst));
    insts.filter_map(|data| match &data.op {
        Op::Call { function, .. } | Op::Repeat { function, .. } => Some(function.as_str()),
        _ => None,
    })
}

/// What is wrong with a type.
fn extents(ty: &TensorType) -> Option<String> {
    if ty.rank() > MAX_RANK {
        return Some(format!("{ty} has more than {MAX_RANK} axes"));
    }
    let mut extents = ty.shape.iter();
    let count = extents.try_fold(1u64, |n, &extent| n.checked_mul(u64::from(extent)));
    (count.is_none_or(|n| n >= 1 << 32)).then(|| format!("{ty} has more than 2^32 elements"))
}

/// Checks one function.
struct Checker<'m> {
    module: &'m Module,
    function: &'m Function,
    names: IndexMap<Value, String>,
}

impl<'m> Checker<'m> {
    fn new(module: &'m Module, function: &'m Function) -> Checker<'m> {
        Checker {
            module,
            function,
            names: value_names(function),
        }
    }

    fn fault(&self, inst: Option<Inst>, value: Option<Value>, message: String) -> Fault {
        let data = inst.and_then(|inst| self.function.insts.get(inst));
        Fault {
            function: Some(self.function.name.clone()),
            value: value.map(|value| match self.names.get(&value) {
                Some(name) => name.clone(),
                None => format!("{}", value.as_u32()),
            }),
            span: data.map(|data| data.span).unwrap_or_default(),
            origin: data.and_then(|data| data.origin.clone()),
            message,
        }
    }

    fn run(&self, faults: &mut Vec<Fault>) {
        let function = self.function;
        let mut defined: IndexSet<Value> = IndexSet::new();
        for (index, port) in function.params.iter().enumerate() {
            let value = Some(port.value);
            match function.values.get(port.value) {
                None => faults.push(self.fault(None, value, "does not exist".into())),
                Some(data) if data.def != Def::Param(index as u32) => {
                    faults.push(self.fault(None, value, "is no parameter".into()));
                }
                Some(_) if !defined.insert(port.value) => {
                    faults.push(self.fault(None, value, "is a parameter twice".into()));
                }
                Some(data) => {
                    if let Some(message) = extents(&data.ty) {
                        faults.push(self.fault(None, value, message));
                    }
                    self.port(port, faults);
                }
            }
        }
        for &inst in &function.body {
            self.instruction(inst, &mut defined, faults);
        }
        let mut names: IndexSet<&str> = IndexSet::new();
        for port in &function.results {
            if !defined.contains(&port.value) {
                let message = "is returned and not defined".into();
                faults.push(self.fault(None, Some(port.value), message));
            } else {
                self.port(port, faults);
            }
            if !names.insert(&port.name) {
                let message = format!("two results are called `%{}`", port.name);
                faults.push(self.fault(None, None, message));
            }
        }
    }

    /// The host type of a binding.
    fn port(&self, port: &Port, faults: &mut Vec<Fault>) {
        let element = self.function.ty(port.value).element;
        if !crate::module::host_fits(port.host, element) {
            let message = format!("a host type of {} cannot be bound to {element}", port.host);
            faults.push(self.fault(None, Some(port.value), message));
        }
    }

    fn instruction(&self, inst: Inst, defined: &mut IndexSet<Value>, faults: &mut Vec<Fault>) {
        let function = self.function;
        let Some(data) = function.insts.get(inst) else {
            let message = format!("instruction {} does not exist", inst.as_u32());
            faults.push(self.fault(None, None, message));
            return;
        };
        let name = data.op.name();
        let first = data.results.first().copied();
        let mut say = |message: String| faults.push(self.fault(Some(inst), first, message));
        let mut types = Vec::new();
        for operand in &data.operands {
            if defined.contains(operand) {
                types.push(function.ty(*operand).clone());
            } else {
                let shown = self.names.get(operand).cloned();
                let shown = shown.unwrap_or_else(|| operand.as_u32().to_string());
                say(format!(
                    "`{name}` uses `%{shown}`, which nothing before defines"
                ));
            }
        }
        if types.len() == data.operands.len() {
            match self.types(&data.op, &types) {
                Err(message) => say(message),
                Ok(types) if types.len() != data.results.len() => say(format!(
                    "`{name}` has {} results, {} are defined",
                    types.len(),
                    data.results.len()
                )),
                Ok(types) => {
                    for (result, ty) in data.results.iter().zip(types) {
                        let declared = function.values.get(*result).map(|data| &data.ty);
                        if let Some(declared) = declared.filter(|declared| **declared != ty) {
                            say(format!("the result of `{name}` is {ty}, not {declared}"));
                        }
                    }
                }
            }
        }
        for (index, &result) in data.results.iter().enumerate() {
            match function.values.get(result) {
                None => say("does not exist".into()),
                Some(value) if value.def != Def::Result(inst, index as u32) => {
                    say(format!("is not result {index} of `{name}`"));
                }
                Some(_) if !defined.insert(result) => say("is defined twice".into()),
                Some(_) => {}
            }
        }
    }

    /// Result types of an operation in this module.
    fn types(&self, op: &Op, operands: &[TensorType]) -> Result<Vec<TensorType>, String> {
        match op {
            Op::Weight(name) => match self.module.weights.get(name) {
                None => Err(format!("weight `@{name}` is not defined")),
                Some(_) if !operands.is_empty() => Err("a weight takes no operands".into()),
                Some(weight) => Ok(vec![weight.ty.clone()]),
            },
            Op::Call { function, .. } | Op::Repeat { function, .. } => {
                let callee = self.module.functions.get(function);
                let callee = callee.ok_or_else(|| format!("there is no function `@{function}`"))?;
                let sound = |port: &Port| callee.values.get(port.value).is_some();
                if !callee.params.iter().chain(&callee.results).all(sound) {
                    return Err(format!("function `@{function}` is malformed"));
                }
                signature(op, callee, operands).map_err(|error| error.to_string())?;
                op.infer_all(operands).map_err(|error| error.to_string())
            }
            _ => op.infer_all(operands).map_err(|error| error.to_string()),
        }
    }
}
