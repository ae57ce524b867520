//! `ipucc eval`: the reference interpreter on a model.

use super::compile::pair;
use super::{Failure, Outcome, complain, print, read, write_file};
use indexmap::IndexMap;
use ipucc::host::{from_tensor, random, to_tensor};
use ipucc::{model, npy};
use ipucc_chip::HostType;
use ipucc_runtime::HostTensor;
use ipucc_tensor::interp::{self, Tensor};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// Evaluate a model (text or ONNX) with the reference interpreter.
#[derive(clap::Args)]
pub struct Args {
    /// The model.
    model: PathBuf,
    /// Data of an input as .npy; inputs that are not given are random.
    #[arg(long = "input", value_name = "NAME=FILE", value_parser = pair)]
    input: Vec<(String, String)>,
    /// Where to write an output as .npy; without any, outputs are printed.
    #[arg(long = "output", value_name = "NAME=FILE", value_parser = pair)]
    output: Vec<(String, String)>,
    /// Value of a symbolic extent of an ONNX model.
    #[arg(long = "dim", value_name = "NAME=N", value_parser = super::check::extent)]
    dim: Vec<(String, u32)>,
    /// Seed of random inputs.
    #[arg(long, default_value_t = 0)]
    seed: u64,
}

/// Runs the command.
pub fn run(args: Args) -> Outcome {
    let bytes = read(&args.model)?;
    let dims = args.dim.into_iter().collect();
    let module = model::read(&args.model, &bytes, &dims).map_err(|message| {
        complain(&format!("{}\n", message.trim_end()));
        Failure::Reported
    })?;
    let Some(function) = module.entry() else {
        return Err(Failure::user(
            "the module has no entry function; hint: call it `main`",
        ));
    };
    let mut given: IndexMap<String, String> = args.input.into_iter().collect();
    let mut inputs = IndexMap::new();
    for (index, port) in function.params.iter().enumerate() {
        let ty = function.ty(port.value);
        let host = match given.shift_remove(&port.name) {
            None => random(port.host, &ty.shape, args.seed + index as u64),
            Some(path) => {
                let bytes = read(Path::new(&path))?;
                let host = npy::read(&bytes)
                    .map_err(|reason| Failure::user(format!("{path}: {reason}")))?;
                if host.element != port.host || host.shape[..] != ty.shape[..] {
                    return Err(Failure::user(format!(
                        "{path}: input `{}` is {} {:?}, the file holds {} {:?}",
                        port.name,
                        port.host,
                        &ty.shape[..],
                        host.element,
                        host.shape
                    )));
                }
                host
            }
        };
        check_range(&port.name, &host)?;
        inputs.insert(port.name.clone(), to_tensor(&host, ty));
    }
    if let Some(name) = given.keys().next() {
        let known: Vec<&str> = function.params.iter().map(|p| p.name.as_str()).collect();
        return Err(Failure::user(format!(
            "--input {name}: the model has no such input; it has {}",
            known.join(", ")
        )));
    }
    for (name, _) in &args.output {
        if !function.results.iter().any(|port| port.name == *name) {
            let known: Vec<&str> = function.results.iter().map(|p| p.name.as_str()).collect();
            return Err(Failure::user(format!(
                "--output {name}: the model has no such output; it has {}",
                known.join(", ")
            )));
        }
    }
    let outputs =
        interp::eval(&module, &inputs).map_err(|error| Failure::user(error.to_string()))?;
    for port in &function.results {
        let Some(tensor) = outputs.get(&port.name) else {
            continue;
        };
        let host = from_tensor(tensor, port.host);
        let mut written = false;
        for (_, path) in args.output.iter().filter(|(name, _)| *name == port.name) {
            write_file(Path::new(path), &npy::write(&host))?;
            written = true;
        }
        if !written {
            print(show(&port.name, tensor))?;
        }
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
