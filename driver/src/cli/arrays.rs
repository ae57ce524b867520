//! Arrays from `.npy` files, row by row.

use super::{Failure, Outcome, read};
use indexmap::IndexMap;
use ipucc::host::floats;
use ipucc::{npy, npz};
use ipucc_machine::package::Package;
use ipucc_runtime::HostTensor;
use std::path::Path;

/// The array of a `.npy` file.
pub fn read_array(path: &str) -> Outcome<HostTensor> {
    let bytes = read(Path::new(path))?;
    npy::read(&bytes).map_err(|reason| Failure::user(format!("{path}: {reason}")))
}

/// The array of `NAME=FILE`: a `.npy` file, or the array called NAME (or the only one) of a `.npz`
/// file.
pub fn read_named(name: &str, path: &str) -> Outcome<HostTensor> {
    if !path.ends_with(".npz") {
        return read_array(path);
    }
    let bytes = read(Path::new(path))?;
    npz::read_one(&bytes, name).map_err(|reason| Failure::user(format!("{path}: {reason}")))
}

/// The error for an input that the package does not have.
pub fn no_such_input(package: &Package, option: &str, name: &str) -> Failure {
    let known = package.inputs.keys();
    let known: Vec<&str> = known.map(String::as_str).collect();
    Failure::user(format!(
        "{option} {name}: the model has no such input; it has {}",
        known.join(", ")
    ))
}

/// The arrays of `--inputs`, and how many rows they all have.
pub fn by_name(
    package: &Package,
    inputs: &[(String, String)],
) -> Outcome<(IndexMap<String, HostTensor>, usize)> {
    let mut arrays: IndexMap<String, HostTensor> = IndexMap::new();
    let mut rows = None;
    for (name, path) in inputs {
        let Some(binding) = package.inputs.get(name) else {
            return Err(no_such_input(package, "--inputs", name));
        };
        let array = read_named(name, path)?;
        let count = array.shape.first().map_or(0, |&count| count as usize);
        if count == 0 {
            return Err(Failure::user(format!(
                "--inputs {name}: an array of shape {:?} has no rows",
                array.shape
            )));
        }
        let rows = *rows.get_or_insert(count);
        if count != rows {
            return Err(Failure::user(format!(
                "--inputs {name}: {count} rows where the arrays before have {rows}"
            )));
        }
        let row: u64 = array.shape[1..].iter().map(|&n| u64::from(n)).product();
        if row != binding.elements() {
            let hint = match array.shape == binding.shape {
                true => format!("; hint: --input {name}={path} gives one array as a whole"),
                false => String::new(),
            };
            return Err(Failure::user(format!(
                "--inputs {name}: each of the {count} rows of its first axis is one input, of \
                 {row} elements; the model's {:?} has {}{hint}",
                binding.shape,
                binding.elements()
            )));
        }
        if arrays.insert(name.clone(), array).is_some() {
            return Err(Failure::user(format!("--inputs {name} is given twice")));
        }
    }
    Ok((arrays, rows.unwrap_or(0)))
}

/// The rows of an array as numbers.
pub fn by_row(array: &HostTensor, rows: usize, option: &str) -> Outcome<Vec<Vec<f64>>> {
    if array
        .shape
        .first()
        .is_none_or(|&count| count as usize != rows)
    {
        let shape = &array.shape;
        return Err(Failure::user(format!(
            "{option}: an array of shape {shape:?} for {rows} rows"
        )));
    }
    let values = floats(array);
    let width = (values.len() / rows.max(1)).max(1);
    Ok(values.chunks(width).map(<[f64]>::to_vec).collect())
}

/// Cosine of the angle between two rows.
pub fn cosine(a: &[f64], b: &[f64]) -> f64 {
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    dot(a, b) / (dot(a, a) * dot(b, b)).sqrt()
}

/// Index of the first largest value.
pub fn argmax(row: &[f64]) -> usize {
    let mut best = 0;
    for (index, value) in row.iter().enumerate() {
        if *value > row[best] {
            best = index;
        }
    }
    best
}
