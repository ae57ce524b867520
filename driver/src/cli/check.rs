//! `ipucc check`: reads models and says everything that is wrong with them; nothing else.

use super::{Failure, Outcome, complain, read};
use indexmap::IndexMap;
use ipucc::model;
use std::path::PathBuf;

/// Check models (text or ONNX) and tile programs and report every error.
#[derive(clap::Args)]
pub struct Args {
    /// The models.
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Value of a symbolic extent of an ONNX model.
    #[arg(long = "dim", value_name = "NAME=N", value_parser = extent)]
    dim: Vec<(String, u32)>,
}

/// `NAME=N`.
pub fn extent(text: &str) -> Result<(String, u32), String> {
    let (name, value) = super::compile::pair(text)?;
    let value = value
        .parse()
        .map_err(|error| format!("`{value}` is no extent: {error}"))?;
    Ok((name, value))
}

/// Runs the command.
pub fn run(args: Args) -> Outcome {
    let dims: IndexMap<String, u32> = args.dim.into_iter().collect();
    let mut failed = false;
    for path in &args.files {
        let result = match read(path) {
            Ok(bytes) if model::is_program(path) => model::read_program(path, &bytes).map(|_| ()),
            Ok(bytes) => model::read(path, &bytes, &dims).map(|_| ()),
            Err(Failure::User(message)) => Err(format!("error: {message}")),
            Err(other) => return Err(other),
        };
        if let Err(message) = result {
            complain(&format!("{}\n", message.trim_end()));
            failed = true;
        }
    }
    if failed {
        return Err(Failure::Reported);
    }
    Ok(())
}
