//! `ipucc fmt`: print a module in its standard form.

use super::{Failure, Outcome, complain, print, read_text};
use clap::Args as ClapArgs;
use ipucc_tensor::text;
use std::path::PathBuf;

/// Print a text module in its standard form.
///
/// Comments are not kept yet, so files that hold some are refused.
#[derive(ClapArgs)]
pub struct Args {
    /// The module.
    file: PathBuf,
}

/// Runs the command.
pub fn run(args: Args) -> Outcome {
    let source = read_text(&args.file)?;
    let name = args.file.display().to_string();
    let module = text::parse(&source).map_err(|faults| {
        complain(&text::render(&name, &source, &faults));
        Failure::Reported
    })?;
    if source.lines().any(|line| line.contains("//")) {
        return Err(Failure::user(format!(
            "{name}: holds comments, which formatting would drop; this is not supported yet"
        )));
    }
    print(text::print(&module))
}
