//! Writing a function again, instruction by instruction.

use indexmap::IndexMap;
use ipucc_tensor::{Builder, Function, InstData, TensorType, TypeError, Value};

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
        ipucc_tensor::Op::Weight(name) => {
            Ok(builder.weight(name.clone(), function.ty(data.results[0]).clone()))
        }
        op => builder.op(op.clone(), operands),
    }
}
