//! `ipucc check`: read a model and report every fault.

use super::Outcome;
use super::run::{CompileArgs, read_model};
use clap::Args as ClapArgs;
use std::path::PathBuf;

/// Read a model and report every fault; does nothing else.
#[derive(ClapArgs)]
pub struct Args {
    /// The model.
    model: PathBuf,
    #[command(flatten)]
    compile: CompileArgs,
}

/// Runs the command.
pub fn run(args: Args) -> Outcome {
    read_model(&args.model, &args.compile).map(|_| ())
}
