//! `ipucc build`, also `ipucc MODEL`: compile a model to a package file.

use super::compile::{CompileArgs, conversions_text, model_text, read_model, read_program};
use super::{Failure, Outcome, print, progress};
use clap::Args as ClapArgs;
use ipucc::model;
use ipucc_runtime::file;
use std::path::PathBuf;

/// Compile a model (.ir, .onnx) or a tile program (.tile) to a package.
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
    /// Show no progress.
    #[arg(long, short)]
    quiet: bool,
    #[command(flatten)]
    compile: CompileArgs,
}

/// Runs the command.
pub fn run(args: Args) -> Outcome {
    let mut options = args.compile.options()?;
    let failed = |error| Failure::user(format!("{}: {error}", args.model.display()));
    let (package, plan) = if model::is_program(&args.model) {
        args.compile.refuse_for("a tile program", false)?;
        let program = read_program(&args.model)?;
        let compiled = progress::compile(args.quiet, |watch| {
            model::compile_program(program, &options, watch)
        })
        .map_err(failed)?;
        (compiled.package, Vec::new())
    } else {
        let module = read_model(&args.model, &args.compile)?;
        options.text = model_text(&args.model)?;
        let model = progress::compile(args.quiet, |watch| model::compile(&module, &options, watch))
            .map_err(failed)?;
        print(conversions_text(&model.conversions))?;
        (model.compiled.package, model.plan)
    };
    if args.explain_plan {
        for entry in &plan {
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
    file::write(&output, &package).map_err(|error| Failure::user(error.to_string()))?;
    print(format!(
        "{}: {} tiles, {} cycles predicted\n",
        output.display(),
        package.tiles,
        package.predicted.cycles
    ))
}
