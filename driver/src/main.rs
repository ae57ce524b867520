//! The `ipucc` command.
//!
//! Exit codes: 0 done, 1 the user's input or request is at fault, 2 internal error.

mod cli;

use std::process::ExitCode;

use clap::{CommandFactory, Parser};

/// Compile tensor graphs for the Graphcore IPU21, and run them.
#[derive(Parser)]
#[command(
    name = "ipucc",
    version,
    propagate_version = true,
    max_term_width = 100
)]
struct Cli {
    #[command(subcommand)]
    command: cli::Command,
}

fn main() -> ExitCode {
    cli::install_panic_hook();
    match Cli::try_parse_from(arguments()) {
        Ok(cli) => cli::finish(cli.command.run()),
        Err(error) => {
            // Help and version are no errors; usage errors are the user's.
            if error.use_stderr() {
                // Nothing can be done if the terminal is gone.
                let _ = error.print();
                return ExitCode::from(1);
            }
            match error.print() {
                Err(e) if e.kind() != std::io::ErrorKind::BrokenPipe => {
                    eprintln!("error: cannot write to standard output: {e}");
                    ExitCode::from(1)
                }
                _ => ExitCode::SUCCESS,
            }
        }
    }
}

/// The arguments of the process; `ipucc MODEL` means `ipucc build MODEL`.
fn arguments() -> Vec<std::ffi::OsString> {
    let mut arguments: Vec<_> = std::env::args_os().collect();
    let command = Cli::command();
    let is_model = arguments.get(1).is_some_and(|first| {
        let text = first.to_string_lossy();
        let is_command = command
            .get_subcommands()
            .any(|known| *known.get_name() == *text);
        !is_command && !text.starts_with('-') && text.contains('.')
    });
    if is_model {
        arguments.insert(1, "build".into());
    }
    arguments
}
