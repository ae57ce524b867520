//! `ipucc ops`: the operations of the tensor language.

use super::{Failure, Outcome, print};
use ipucc_tensor::docs;
use std::fmt::Write as _;

/// List the operations of the tensor language, or describe one.
#[derive(clap::Args)]
pub struct Args {
    /// The operation.
    name: Option<String>,
    /// Print the page docs/ops.md.
    #[arg(long, conflicts_with = "name")]
    markdown: bool,
}

/// Runs the command.
pub fn run(args: Args) -> Outcome {
    if args.markdown {
        return print(docs::markdown());
    }
    let Some(name) = args.name else {
        let mut out = String::new();
        for operation in docs::OPERATIONS {
            let first = operation.semantics.split(". ").next().unwrap_or("");
            let _ = writeln!(
                out,
                "{:16} {}.",
                operation.names.join(" "),
                first.trim_end_matches('.')
            );
        }
        return print(out);
    };
    match docs::find(&name) {
        Some(operation) => print(docs::describe(operation)),
        None => Err(Failure::user(format!(
            "there is no operation `{name}`; hint: `ipucc ops` lists all"
        ))),
    }
}
