//! `ipucc eval`: the reference interpreter on a model.

use super::arrays::read_named;
use super::compile::pair;
use super::{Failure, Outcome, complain, print, read, write_file};
use indexmap::IndexMap;
use ipucc::host::{from_tensor, random, to_tensor};
use ipucc::{model, npy, npz};
use ipucc_chip::HostType;
use ipucc_runtime::HostTensor;
use ipucc_tensor::TensorType;
use ipucc_tensor::interp::{self, Tensor};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// Evaluate a model (text or ONNX) with the reference interpreter, or a tile program with its own.
#[derive(clap::Args)]
pub struct Args {
    /// The model.
    model: PathBuf,
    /// Data of an input as .npy or .npz, or a .npz file with data of several; inputs that are not
    /// given are random.
    #[arg(long = "input", value_name = "[NAME=]FILE", value_parser = named)]
    input: Vec<(String, String)>,
    /// Where to write an output as .npy, or all of them as .npz; what is not written is printed.
    #[arg(long = "output", value_name = "[NAME=]FILE", value_parser = named)]
    output: Vec<(String, String)>,
    /// Value of a symbolic extent of an ONNX model.
    #[arg(long = "dim", value_name = "NAME=N", value_parser = super::check::extent)]
    dim: Vec<(String, u32)>,
    /// Seed of random inputs.
    #[arg(long, default_value_t = 0)]
    seed: u64,
}

/// `NAME=FILE`, or a `.npz` file, which has names of its own (an empty name here).
fn named(text: &str) -> Result<(String, String), String> {
    if text.ends_with(".npz") && !text.contains('=') {
        return Ok((String::new(), text.to_owned()));
    }
    pair(text).map_err(|_| "expected NAME=FILE or a .npz file".into())
}

/// What the host writes or reads: name, host type, and the type on the device.
type Port = (String, HostType, TensorType);

/// Runs the command.
pub fn run(args: Args) -> Outcome {
    if model::is_program(&args.model) {
        return run_program(args);
    }
    let bytes = read(&args.model)?;
    let dims = args.dim.iter().cloned().collect();
    let module = model::read(&args.model, &bytes, &dims).map_err(|message| {
        complain(&format!("{}\n", message.trim_end()));
        Failure::Reported
    })?;
    let Some(function) = module.entry() else {
        return Err(Failure::user(
            "the module has no entry function; hint: call it `main`",
        ));
    };
    let ports = |list: &[ipucc_tensor::Port]| -> Vec<Port> {
        list.iter()
            .map(|port| {
                let ty = function.ty(port.value).clone();
                (port.name.clone(), port.host, ty)
            })
            .collect()
    };
    let (params, results) = (ports(&function.params), ports(&function.results));
    evaluate(args, &params, &results, |inputs| {
        interp::eval(&module, inputs).map_err(|error| error.to_string())
    })
}

/// A tile program on the interpreter of tile programs.
fn run_program(args: Args) -> Outcome {
    let program = super::compile::read_program(&args.model)?;
    let ports = |list: &IndexMap<String, ipucc_tile::Binding>| -> Vec<Port> {
        list.iter()
            .map(|(name, binding)| {
                let element = program.values[binding.value].element;
                let ty = TensorType::new(element, binding.shape.iter().copied());
                (name.clone(), binding.host, ty)
            })
            .collect()
    };
    let (params, results) = (ports(&program.inputs), ports(&program.outputs));
    evaluate(args, &params, &results, |inputs| {
        let outcome = ipucc_tile::interp::run(&program, inputs);
        outcome
            .map(|outcome| outcome.outputs)
            .map_err(|error| error.to_string())
    })
}

/// Reads or draws the inputs, evaluates, and writes or prints the outputs.
fn evaluate(
    args: Args,
    params: &[Port],
    results: &[Port],
    evaluate: impl FnOnce(&IndexMap<String, Tensor>) -> Result<IndexMap<String, Tensor>, String>,
) -> Outcome {
    let known = |ports: &[Port]| -> String {
        let names: Vec<&str> = ports.iter().map(|(name, ..)| name.as_str()).collect();
        names.join(", ")
    };
    let mut given: IndexMap<String, HostTensor> = IndexMap::new();
    for (name, path) in &args.input {
        let arrays = if name.is_empty() {
            let bytes = read(Path::new(path))?;
            npz::read(&bytes).map_err(|reason| Failure::user(format!("{path}: {reason}")))?
        } else {
            IndexMap::from([(name.clone(), read_named(name, path)?)])
        };
        for (name, array) in arrays {
            if given.insert(name.clone(), array).is_some() {
                return Err(Failure::user(format!("--input {name} is given twice")));
            }
        }
    }
    let mut inputs = IndexMap::new();
    for (index, (name, element, ty)) in params.iter().enumerate() {
        let host = match given.shift_remove(name) {
            None => random(*element, &ty.shape, args.seed + index as u64),
            Some(host) => {
                if host.element != *element || host.shape[..] != ty.shape[..] {
                    return Err(Failure::user(format!(
                        "input `{name}` is {element} {:?}, the file holds {} {:?}",
                        &ty.shape[..],
                        host.element,
                        host.shape
                    )));
                }
                host
            }
        };
        check_range(name, &host)?;
        inputs.insert(name.clone(), to_tensor(&host, ty));
    }
    if let Some(name) = given.keys().next() {
        return Err(Failure::user(format!(
            "--input {name}: the model has no such input; it has {}",
            known(params)
        )));
    }
    for (name, _) in &args.output {
        if !name.is_empty() && !results.iter().any(|(result, ..)| result == name) {
            return Err(Failure::user(format!(
                "--output {name}: the model has no such output; it has {}",
                known(results)
            )));
        }
    }
    let outputs = evaluate(&inputs).map_err(Failure::user)?;
    let mut all: Vec<(&str, HostTensor)> = Vec::new();
    for (result, element, _) in results {
        let Some(tensor) = outputs.get(result) else {
            continue;
        };
        let host = from_tensor(tensor, *element);
        let mut written = false;
        for (_, path) in args.output.iter().filter(|(name, _)| name == result) {
            write_file(Path::new(path), &npy::write(&host))?;
            written = true;
        }
        if !written && !args.output.iter().any(|(name, _)| name.is_empty()) {
            print(show(result, tensor))?;
        }
        all.push((result, host));
    }
    for (_, path) in args.output.iter().filter(|(name, _)| name.is_empty()) {
        let bytes = npz::write(all.iter().map(|(name, array)| (*name, array)));
        let bytes = bytes.map_err(|reason| Failure::user(format!("{path}: {reason}")))?;
        write_file(Path::new(path), &bytes)?;
    }
    Ok(())
}

/// 64-bit integers become i32 at the binding.
fn check_range(name: &str, host: &HostTensor) -> Outcome {
    if host.element != HostType::I64 {
        return Ok(());
    }
    let (chunks, _) = host.bytes.as_chunks::<8>();
    for (index, chunk) in chunks.iter().enumerate() {
        let value = i64::from_le_bytes(*chunk);
        if i32::try_from(value).is_err() {
            return Err(Failure::user(format!(
                "input `{name}`: element {index} is {value}, which does not fit i32"
            )));
        }
    }
    Ok(())
}

fn show(name: &str, tensor: &Tensor) -> String {
    const MOST: usize = 16;
    let mut out = format!("{name}: {} = [", tensor.ty);
    let texts: Vec<String> = if tensor.ty.element.is_float() {
        let all = tensor.to_floats();
        all.iter().take(MOST).map(|v| format!("{v:?}")).collect()
    } else {
        let all = tensor.to_ints();
        all.iter().take(MOST).map(ToString::to_string).collect()
    };
    let rest = tensor.ty.elements().saturating_sub(MOST);
    let _ = write!(out, "{}", texts.join(", "));
    if rest > 0 {
        let _ = write!(out, ", .. {rest} more");
    }
    out.push_str("]\n");
    out
}
