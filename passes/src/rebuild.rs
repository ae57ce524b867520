//! Writing a function again, instruction by instruction.

use indexmap::IndexMap;
use ipucc_tensor::{Builder, Function, InstData, Op, TensorType, TypeError, Value};

/// The function with every instruction replaced by what `each` builds for it: from the instruction
/// and its operands in the new function the new result. Parameters get the type that `param` gives;
/// names, spans and origins stay.
///
/// # Errors
/// What `each` says, with the result value of its instruction in the old function.
pub fn rebuild(
    function: &Function,
    param: impl Fn(&TensorType) -> TensorType,
    mut each: impl FnMut(&mut Builder, &InstData, &[Value]) -> Result<Value, TypeError>,
) -> Result<Function, (Value, TypeError)> {
    rebuild_with(function, param, |builder, data, operands, _| {
        each(builder, data, operands)
    })
}

/// As [`rebuild`]; `each` also sees the new value of every old one so far.
///
/// # Errors
/// As [`rebuild`].
pub fn rebuild_with(
    function: &Function,
    param: impl Fn(&TensorType) -> TensorType,
    mut each: impl FnMut(
        &mut Builder,
        &InstData,
        &[Value],
        &IndexMap<Value, Value>,
    ) -> Result<Value, TypeError>,
) -> Result<Function, (Value, TypeError)> {
    let mut builder = Builder::new(function.name.clone());
    let mut values: IndexMap<Value, Value> = IndexMap::new();
    for port in &function.params {
        let ty = param(function.ty(port.value));
        let value = builder.param_with_host(port.name.clone(), ty, port.host);
        values.insert(port.value, value);
    }
    for &inst in &function.body {
        let data = &function.insts[inst];
        let result = data.results[0];
        builder.at(data.span, data.origin.clone());
        let operands: Vec<Value> = data.operands.iter().map(|v| values[v]).collect();
        if matches!(data.op, Op::Call { .. } | Op::Repeat { .. }) {
            // Functions are rebuilt by themselves.
            let before = builder.function().values.len();
            let results = builder.op_all(data.op.clone(), &operands);
            let results = results.map_err(|error| (result, error))?;
            take_names(&mut builder, function, data, &results, &mut values, before);
            continue;
        }
        let value =
            each(&mut builder, data, &operands, &values).map_err(|error| (result, error))?;
        let unnamed = builder.function().values[value].name.is_none();
        if let (Some(name), true) = (&function.values[result].name, unnamed) {
            builder.name(value, name.clone());
        }
        values.insert(result, value);
    }
    for port in &function.results {
        builder.result_with_host(port.name.clone(), values[&port.value], port.host);
    }
    Ok(builder.finish())
}

/// The instruction as it is, on new operands.
///
/// # Errors
/// The operands' types do not fit.
pub fn same(
    builder: &mut Builder,
    function: &Function,
    data: &InstData,
    operands: &[Value],
) -> Result<Value, TypeError> {
    match &data.op {
        Op::Weight(name) => Ok(builder.weight(name.clone(), function.ty(data.results[0]).clone())),
        op => builder.op(op.clone(), operands),
    }
}

/// The function with instructions replaced by any number of others, as `each` builds them: from an
/// instruction and its new operands as many new results. Weights stay what they are.
///
/// # Errors
/// What `each` says.
pub fn expand_with<E: From<TypeError>>(
    function: &Function,
    mut each: impl FnMut(&mut Builder, &Function, &InstData, &[Value]) -> Result<Vec<Value>, E>,
) -> Result<Function, E> {
    let mut builder = Builder::new(function.name.clone());
    let mut values: IndexMap<Value, Value> = IndexMap::new();
    for port in &function.params {
        let ty = function.ty(port.value).clone();
        let value = builder.param_with_host(port.name.clone(), ty, port.host);
        values.insert(port.value, value);
    }
    for &inst in &function.body {
        let data = &function.insts[inst];
        builder.at(data.span, data.origin.clone());
        let operands: Vec<Value> = data.operands.iter().map(|v| values[v]).collect();
        let before = builder.function().values.len();
        let results = match &data.op {
            Op::Weight(name) => {
                let ty = function.ty(data.results[0]).clone();
                vec![builder.weight(name.clone(), ty)]
            }
            _ => each(&mut builder, function, data, &operands)?,
        };
        take_names(&mut builder, function, data, &results, &mut values, before);
    }
    for port in &function.results {
        builder.result_with_host(port.name.clone(), values[&port.value], port.host);
    }
    Ok(builder.finish())
}

/// Gives an instruction's new results, values from number `before` on, the names of the old ones, and
/// enters them.
fn take_names(
    builder: &mut Builder,
    function: &Function,
    data: &InstData,
    results: &[Value],
    values: &mut IndexMap<Value, Value>,
    before: usize,
) {
    for (&old, &new) in data.results.iter().zip(results) {
        let made_here = new.as_u32() as usize >= before;
        if let (Some(name), true) = (&function.values[old].name, made_here) {
            builder.name(new, name.clone());
        }
        values.insert(old, new);
    }
}

/// Names of an instruction's results, numbers for those without.
pub fn names_of(function: &Function, data: &InstData) -> Vec<String> {
    let results = data.results.iter();
    let name = |&value: &Value| match &function.values[value].name {
        Some(name) => name.clone(),
        None => value.to_string().trim_start_matches('%').to_owned(),
    };
    results.map(name).collect()
}
