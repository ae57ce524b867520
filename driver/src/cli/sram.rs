//! Allocation problems in files: written by `ipucc opt --write-sram`, solved again by
//! `ipucc opt --replay-sram`.

use super::{Failure, Outcome, complain, print, read};
use ipucc_schedule::sram::{Options, SramError, solve, verify};
use ipucc_tile::sram::{PROBLEMS_VERSION, Problems};
use std::fmt::Write as _;
use std::path::Path;

/// The file form of problems.
///
/// # Errors
/// None that is known: problems are plain data.
pub fn text(problems: &Problems) -> Result<String, String> {
    let mut text = serde_json::to_string_pretty(problems).map_err(|error| error.to_string())?;
    text.push('\n');
    Ok(text)
}

/// Solves the problems of a file and prints what became of them.
pub fn replay(path: &Path) -> Outcome {
    let name = path.display();
    let bytes = read(path)?;
    let problems: Problems = serde_json::from_slice(&bytes).map_err(|error| {
        Failure::user(format!("{name}: no file of allocation problems: {error}"))
    })?;
    if problems.version != PROBLEMS_VERSION {
        return Err(Failure::user(format!(
            "{name}: version {} of the file form, this is for version {PROBLEMS_VERSION}",
            problems.version
        )));
    }
    let mut failed = false;
    let mut out = String::new();
    for entry in &problems.problems {
        let like = match entry.tiles.len().saturating_sub(1) {
            0 => String::new(),
            more => format!(" and {more} like it"),
        };
        let first = entry.problem.tile;
        match solve(&entry.problem, Options::default()) {
            Ok(placement) => {
                verify(&entry.problem, &placement)
                    .map_err(|reason| Failure::Internal(format!("tile {first}: {reason}")))?;
                let _ = writeln!(
                    out,
                    "tile {first}{like}: {} requests, live bound {} bytes, peak {} bytes",
                    entry.problem.requests.len(),
                    placement.bound_bytes,
                    placement.peak_bytes
                );
            }
            Err(error) => {
                failed = true;
                let error = match error {
                    SramError::OutOfMemory(mut error) => {
                        error.name_step(&problems.steps);
                        SramError::OutOfMemory(error)
                    }
                    other => other,
                };
                complain(&format!("error: {error}\n"));
            }
        }
    }
    print(out)?;
    match failed {
        true => Err(Failure::Reported),
        false => Ok(()),
    }
}
