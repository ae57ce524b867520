//! `ipucc eval`: run a model with the reference interpreter.

use super::run::{CompileArgs, pair, random, read_model, to_tensor};
use super::{Failure, Outcome, print, read, write_file};
use clap::Args as ClapArgs;
use indexmap::IndexMap;
use ipucc::npy;
use ipucc_chip::HostType;
use ipucc_runtime::HostTensor;
use ipucc_tensor::interp;
use std::path::{Path, PathBuf};

/// Run a model with the reference interpreter.
#[derive(ClapArgs)]
pub struct Args {
    /// The model.
    model: PathBuf,
    /// An input from a .npy file; inputs that are not given are random.
    #[arg(long = "input", value_name = "NAME=FILE", value_parser = pair)]
    input: Vec<(String, String)>,
    /// Where to write an output as .npy; without any, shapes are printed.
    #[arg(long = "output", value_name = "NAME=FILE", value_parser = pair)]
    output: Vec<(String, String)>,
    /// Seed of random inputs.
    #[arg(long, default_value_t = 0)]
    seed: u64,
    #[command(flatten)]
    compile: CompileArgs,
}

/// Runs the command.
pub fn run(args: Args) -> Outcome {
    let module = read_model(&args.model, &args.compile)?;
    let Some(function) = module.entry() else {
        return Err(Failure::user(
            "the module has no entry function; hint: call it `main`",
        ));
    };
    let mut given: IndexMap<String, HostTensor> = IndexMap::new();
    for (name, path) in &args.input {
        let bytes = read(Path::new(path))?;
        let array =
            npy::read(&bytes).map_err(|reason| Failure::user(format!("{path}: {reason}")))?;
        given.insert(name.clone(), array);
    }
    let mut inputs = IndexMap::new();
    for (index, port) in function.params.iter().enumerate() {
        let ty = function.ty(port.value);
        let array = match given.shift_remove(&port.name) {
            Some(array) => array,
            None => random(port.host, &ty.shape, args.seed + index as u64),
        };
        if array.element != port.host || array.shape[..] != ty.shape[..] {
            return Err(Failure::user(format!(
                "input `{}` is {} {:?}, expected {} {:?}",
                port.name,
                array.element,
                array.shape,
                port.host,
                &ty.shape[..]
            )));
        }
        inputs.insert(port.name.clone(), to_tensor(&array, ty)?);
    }
    if let Some(name) = given.keys().next() {
        return Err(Failure::user(format!(
            "--input {name}: the model has no such input"
        )));
    }
    let results =
        interp::eval(&module, &inputs).map_err(|error| Failure::user(error.to_string()))?;
    let mut arrays = IndexMap::new();
    for port in &function.results {
        let Some(tensor) = results.get(&port.name) else {
            continue;
        };
        let bytes = match port.host {
            HostType::I64 => tensor
                .to_ints()
                .iter()
                .flat_map(|v| v.to_le_bytes())
                .collect(),
            HostType::F64 => tensor
                .to_floats()
                .iter()
                .flat_map(|&v| f64::from(v).to_le_bytes())
                .collect(),
            _ => tensor.data.clone(),
        };
        let shape = tensor.ty.shape.to_vec();
        arrays.insert(
            port.name.clone(),
            HostTensor {
                element: port.host,
                shape,
                bytes,
            },
        );
    }
    for (name, path) in &args.output {
        let Some(array) = arrays.get(name) else {
            return Err(Failure::user(format!(
                "--output {name}: the model has no such output"
            )));
        };
        write_file(Path::new(path), &npy::write(array))?;
    }
    if args.output.is_empty() {
        for (name, array) in &arrays {
            print(format!("{name}: {} {:?}\n", array.element, array.shape))?;
        }
    }
    Ok(())
}
