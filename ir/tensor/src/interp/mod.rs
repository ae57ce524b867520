//! The reference interpreter: plain loops in f32, rounding exactly where a type says so.
//!
//! It is the judge of numbers. Floats are computed in f32 and rounded to the element type of each
//! result; sums accumulate in index order in f32, or in f16 where `accumulate` says
//! so; integers wrap in their own width.

mod bound;
mod ops;
mod scalar;
mod tensor;
mod window;

pub use bound::{bound, carried};
pub use ops::{eval_op, windows_index};
pub use tensor::Tensor;
pub use window::resize_axis;

use crate::module::{Function, Module, Value, WeightSource};
use crate::op::Op;
use crate::verify::signature;
use indexmap::IndexMap;
use ipucc_chip::ScalarType;
use thiserror::Error;

/// Why a program could not be evaluated.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum EvalError {
    /// The module has no entry function.
    #[error("the module has no entry function; hint: call it `main`")]
    NoEntry,
    /// An input is missing or has another type.
    #[error("input `{0}`: {1}")]
    Input(String, String),
    /// A called function cannot be evaluated.
    #[error("function `@{0}` {1}")]
    Function(String, String),
    /// A weight cannot be had.
    #[error("weight `{0}`: {1}")]
    Weight(String, String),
}

/// Every value of a function, by [`Value`].
pub type Values = IndexMap<Value, Tensor>;

/// Evaluates the entry function; results by name.
///
/// # Errors
/// Missing inputs or weights.
pub fn eval(
    module: &Module,
    inputs: &IndexMap<String, Tensor>,
) -> Result<IndexMap<String, Tensor>, EvalError> {
    let function = module.entry().ok_or(EvalError::NoEntry)?;
    let values = eval_all(module, function, inputs)?;
    Ok(function
        .results
        .iter()
        .filter_map(|port| Some((port.name.clone(), values.get(&port.value)?.clone())))
        .collect())
}

/// Evaluates a function and keeps every value.
///
/// # Errors
/// Missing inputs or weights.
pub fn eval_all(
    module: &Module,
    function: &Function,
    inputs: &IndexMap<String, Tensor>,
) -> Result<Values, EvalError> {
    let mut given = Vec::with_capacity(function.params.len());
    for port in &function.params {
        let ty = function.ty(port.value);
        let error = |reason: String| EvalError::Input(port.name.clone(), reason);
        let tensor = inputs
            .get(&port.name)
            .ok_or_else(|| error("is missing".into()))?;
        if tensor.ty != *ty {
            return Err(error(format!("is {}, expected {ty}", tensor.ty)));
        }
        given.push(tensor.clone());
    }
    function_values(module, function, given, &[])
}

/// Every value of a function on operands of the right types; `callers` are the functions that wait
/// for it.
fn function_values(
    module: &Module,
    function: &Function,
    operands: Vec<Tensor>,
    callers: &[&str],
) -> Result<Values, EvalError> {
    let params = function.params.iter().map(|port| port.value);
    let mut values: Values = params.zip(operands).collect();
    for &inst in &function.body {
        let data = &function.insts[inst];
        if let Op::Call { function: name, .. } | Op::Repeat { function: name, .. } = &data.op {
            let operands: Vec<Tensor> = data
                .operands
                .iter()
                .filter_map(|operand| values.get(operand).cloned())
                .collect();
            let callers = [callers, &[function.name.as_str()]].concat();
            let results = called(module, name, &data.op, operands, &callers)?;
            values.extend(data.results.iter().copied().zip(results));
            continue;
        }
        let result = data.results[0];
        let tensor = match &data.op {
            Op::Weight(name) => weight(module, name)?,
            op => {
                let operands: Vec<&Tensor> = data
                    .operands
                    .iter()
                    .filter_map(|operand| values.get(operand))
                    .collect();
                eval_op(op, &operands, function.ty(result))
            }
        };
        values.insert(result, tensor);
    }
    Ok(values)
}

/// Results of a `call` or `repeat`.
fn called(
    module: &Module,
    name: &str,
    op: &Op,
    operands: Vec<Tensor>,
    callers: &[&str],
) -> Result<Vec<Tensor>, EvalError> {
    let error = |reason: String| EvalError::Function(name.to_owned(), reason);
    let callee = module.functions.get(name);
    let callee = callee.ok_or_else(|| error("does not exist".into()))?;
    if callers.contains(&name) {
        return Err(error("calls itself".into()));
    }
    let types: Vec<crate::TensorType> = operands.iter().map(|o| o.ty.clone()).collect();
    signature(op, callee, &types).map_err(|wrong| error(format!("is misused: {wrong}")))?;
    let once = |operands: Vec<Tensor>| -> Result<Vec<Tensor>, EvalError> {
        let mut values = function_values(module, callee, operands, callers)?;
        let results = callee.results.iter().map(|port| {
            // One value can be returned twice.
            let value = values.get_mut(&port.value).map(|tensor| tensor.clone());
            value.ok_or_else(|| error("returns a value that it does not define".into()))
        });
        results.collect()
    };
    let Op::Repeat {
        count,
        carried,
        sliced,
        ..
    } = op
    else {
        return once(operands);
    };
    let (carried, sliced) = (*carried as usize, *sliced as usize);
    let mut state = operands[..carried].to_vec();
    for iteration in 0..*count as usize {
        let slices = operands[carried..carried + sliced].iter().map(|whole| {
            let shape = whole.ty.shape[1..].iter().copied();
            let ty = crate::TensorType::new(whole.ty.element, shape);
            let bytes = ty.bytes();
            let data = whole.data[iteration * bytes..(iteration + 1) * bytes].to_vec();
            Tensor { ty, data }
        });
        let mut all = std::mem::take(&mut state);
        all.extend(slices);
        all.extend_from_slice(&operands[carried + sliced..]);
        state = once(all)?;
    }
    Ok(state)
}

/// The data of a weight.
///
/// # Errors
/// The weight does not exist, or its file cannot be read.
pub fn weight(module: &Module, name: &str) -> Result<Tensor, EvalError> {
    let error = |reason: String| EvalError::Weight(name.to_owned(), reason);
    let weight = module
        .weights
        .get(name)
        .ok_or_else(|| error("does not exist".into()))?;
    let elements = weight.ty.elements();
    let data = match &weight.source {
        WeightSource::Dense(data) => data.to_vec(),
        WeightSource::Splat(element) => element.repeat(elements),
        WeightSource::Random { seed, scale } => {
            let scale = f32::from_bits(*scale);
            let values: Vec<f32> = (0..elements as u64)
                .map(|index| scale * (2.0 * unit(*seed, index) - 1.0))
                .collect();
            return Ok(Tensor::from_floats(weight.ty.clone(), &values));
        }
        WeightSource::File { path, key } => file_weight(path, key, &weight.ty).map_err(error)?,
    };
    if data.len() != weight.ty.bytes() {
        return Err(error(format!(
            "{} bytes of data for {}",
            data.len(),
            weight.ty
        )));
    }
    Ok(Tensor {
        ty: weight.ty.clone(),
        data,
    })
}

/// Number `index` of the stream of `seed`: splitmix64, the upper 24 bits as a fraction in [0, 1).
fn unit(seed: u64, index: u64) -> f32 {
    let mut z = seed
        .wrapping_mul(0x2545_f491_4f6c_dd1d)
        .wrapping_add(index.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^= z >> 31;
    (z >> 40) as f32 / (1u64 << 24) as f32
}

fn file_weight(path: &str, key: &str, ty: &crate::TensorType) -> Result<Vec<u8>, String> {
    use safetensors::{Dtype, SafeTensors};
    let file = std::fs::File::open(path).map_err(|error| format!("{path}: {error}"))?;
    // SAFETY: the mapping is read once, here; a file that changes under us gives wrong numbers,
    // not undefined structure, because safetensors validates offsets against the mapped length.
    let map = unsafe { memmap2::Mmap::map(&file) }.map_err(|error| format!("{path}: {error}"))?;
    let tensors = SafeTensors::deserialize(&map).map_err(|error| format!("{path}: {error}"))?;
    let view = tensors
        .tensor(key)
        .map_err(|error| format!("{path}: {error}"))?;
    let element = match view.dtype() {
        Dtype::F32 => ScalarType::F32,
        Dtype::F16 => ScalarType::F16,
        Dtype::I32 => ScalarType::I32,
        Dtype::U32 => ScalarType::U32,
        Dtype::I16 => ScalarType::I16,
        Dtype::I8 => ScalarType::I8,
        Dtype::U8 => ScalarType::U8,
        Dtype::BOOL => ScalarType::I1,
        other => {
            return Err(format!(
                "{path}: `{key}` has the unsupported type {other:?}"
            ));
        }
    };
    let shape: Vec<usize> = ty.shape.iter().map(|&extent| extent as usize).collect();
    if element != ty.element || view.shape() != shape {
        return Err(format!(
            "{path}: `{key}` is {element} {:?}, expected {ty}",
            view.shape()
        ));
    }
    Ok(view.data().to_vec())
}
