//! `ipucc build`, also `ipucc MODEL`: compile a model to a package file.

use super::compile::{CompileArgs, read_model};
use super::{Failure, Outcome, print};
use clap::Args as ClapArgs;
use ipucc::model;
use ipucc_runtime::file;
use std::path::PathBuf;

/// Compile a model (.ir, .onnx) to a package.
#[derive(ClapArgs)]
pub struct Args {
    /// The model.
    model: PathBuf,
    /// The package (default: the model's name with .ipupkg).
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Print which plan was taken for each operation, and the second best.
    #[arg(long)]
    explain_plan: bool,
    #[command(flatten)]
    compile: CompileArgs,
}

/// Runs the command.
pub fn run(args: Args) -> Outcome {
    let options = args.compile.options()?;
    let module = read_model(&args.model, &args.compile)?;
    let model = model::compile(&module, &options)
        .map_err(|error| Failure::user(format!("{}: {error}", args.model.display())))?;
    if args.explain_plan {
        for entry in &model.plan {
            let second = entry.second.as_deref().unwrap_or("there was no other");
            print(format!(
                "{}\n  taken:       {}\n  second best: {second}\n",
                entry.operation, entry.chosen
            ))?;
        }
    }
    let output = args
        .output
        .unwrap_or_else(|| args.model.with_extension("ipupkg"));
    file::write(&output, &model.compiled.package)
        .map_err(|error| Failure::user(error.to_string()))?;
    print(format!(
        "{}: {} tiles, {} cycles predicted\n",
        output.display(),
        model.compiled.package.tiles,
        model.compiled.package.predicted.cycles
    ))
}
