//! `ipucc fmt`: program text in its one layout; comments are kept.

use super::{Failure, Outcome, complain, print, read_text, write_file};
use ipucc_tensor::text;
use std::path::{Path, PathBuf};

/// Print program text in its one layout; comments are kept.
#[derive(clap::Args)]
pub struct Args {
    /// The files; `-` reads standard input.
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Write the files instead of printing them.
    #[arg(long, conflicts_with = "check")]
    write: bool,
    /// Print nothing; exit code 1 if a file is laid out otherwise.
    #[arg(long)]
    check: bool,
}

/// Runs the command.
pub fn run(args: Args) -> Outcome {
    let mut failed = false;
    for path in &args.files {
        if ipucc::model::is_program(path) {
            return Err(super::Failure::user(format!(
                "{}: tile programs have no comments to keep; hint: `ipucc opt {} \
                 --dump-after=partition` prints them in their one layout",
                path.display(),
                path.display()
            )));
        }
        let source = read_text(path)?;
        let name = path.display().to_string();
        match text::format(&source) {
            Err(faults) => {
                complain(&text::render(&name, &source, &faults));
                failed = true;
            }
            Ok(formatted) if args.check => {
                if formatted != source {
                    complain(&format!("{name}: is laid out otherwise\n"));
                    failed = true;
                }
            }
            Ok(formatted) if !args.write || path == Path::new("-") => print(formatted)?,
            Ok(formatted) if formatted != source => write_file(path, formatted.as_bytes())?,
            Ok(_) => {}
        }
    }
    if failed {
        return Err(Failure::Reported);
    }
    Ok(())
}
