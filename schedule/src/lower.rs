//! From a tile program to a scheduled one: exchange steps become phases with timed rows, and tiles
//! without work in a phase abstain.

use crate::abstain::{self, AbstainError, abstain};
use crate::greedy::{Message, schedule_messages};
use ipucc_chip::{Assumptions, LogicalTile};
use ipucc_machine::row::Place;
use ipucc_tile::schedule::{AbstainMode, Phase, Scheduled, StepPath, symbol_of};
use ipucc_tile::{Exchange, Program, Step, Value};
use std::collections::BTreeSet;
use thiserror::Error;

/// Why a program cannot be scheduled.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum ScheduleError {
    /// A step that scheduling does not handle.
    #[error("step {step} ({label}): {reason}")]
    Step {
        /// Position of the step.
        step: String,
        /// Its label.
        label: String,
        /// What is the matter, and what to do.
        reason: String,
    },
    /// Tiles cannot abstain as they should.
    #[error(transparent)]
    Abstain(#[from] AbstainError),
}

/// Schedules every exchange of a program.
///
/// # Errors
/// The first step that cannot be scheduled.
pub fn schedule_program(
    program: Program,
    mode: AbstainMode,
    assumptions: &Assumptions,
) -> Result<Scheduled, ScheduleError> {
    let mut phases = Vec::new();
    let mut apart = BTreeSet::new();
    walk(
        &program.steps,
        &mut StepPath::new(),
        &mut |path, exchange| {
            let messages = messages(exchange);
            for transfer in &exchange.transfers {
                for other in &exchange.transfers {
                    let (a, b) = (transfer.source, other.destination);
                    if a != b {
                        apart.insert((a.min(b), a.max(b)));
                    }
                }
            }
            let timed = schedule_messages(&messages, assumptions).map_err(|reason| {
                ScheduleError::Step {
                    step: format!("{path:?}"),
                    label: exchange.label.clone(),
                    reason,
                }
            })?;
            phases.push(Phase {
                step: path.clone(),
                rows: timed.rows,
                horizon: timed.horizon,
                bound_words: timed.bound_words,
                bound_route: timed.bound_route,
            });
            Ok(())
        },
    )?;
    let absences = abstain(&phases, program.tiles, mode, assumptions)?;
    let scheduled = Scheduled {
        program,
        phases,
        abstain: mode,
        absences,
        apart: apart.into_iter().collect(),
    };
    abstain::verify(&scheduled, assumptions)?;
    Ok(scheduled)
}

fn walk(
    steps: &[Step],
    path: &mut StepPath,
    visit: &mut impl FnMut(&StepPath, &Exchange) -> Result<(), ScheduleError>,
) -> Result<(), ScheduleError> {
    for (index, step) in steps.iter().enumerate() {
        path.push(index as u32);
        match step {
            Step::Exchange(exchange) => visit(path, exchange)?,
            Step::Repeat(repeat) => walk(&repeat.body, path, visit)?,
            Step::Compute(_) | Step::Host(_) => {}
        }
        path.pop();
    }
    Ok(())
}

/// The messages of an exchange step: affine runs are enumerated here and not before.
fn messages(exchange: &Exchange) -> Vec<Message> {
    let mut messages = Vec::new();
    for transfer in &exchange.transfers {
        for run in &transfer.runs {
            let counts: Vec<u32> = run.dims.iter().map(|dim| dim.count).collect();
            let total: u64 = counts.iter().map(|&n| n as u64).product();
            for index in 0..total {
                let mut rest = index;
                let (mut source, mut destination) = ((0i64, 0i64), (0i64, 0i64));
                for dim in run.dims.iter().rev() {
                    let i = (rest % dim.count as u64) as i64;
                    rest /= dim.count as u64;
                    source.0 += i * dim.source_words as i64;
                    source.1 += i * dim.source_tiles as i64;
                    destination.0 += i * dim.destination_words as i64;
                    destination.1 += i * dim.destination_tiles as i64;
                }
                let tile =
                    |base: LogicalTile, steps: i64| LogicalTile((base.0 as i64 + steps) as u16);
                let place = |value: Value, word: u32, steps: i64| {
                    Place::of(symbol_of(value), ((word as i64 + steps) * 4) as u32)
                };
                messages.push(Message {
                    source: tile(run.source.tile, source.1),
                    from: place(transfer.source, run.source.word, source.0),
                    words: run.words,
                    destinations: run
                        .destinations
                        .iter()
                        .map(|end| {
                            let to = place(transfer.destination, end.word, destination.0);
                            (tile(end.tile, destination.1), to)
                        })
                        .collect(),
                });
            }
        }
    }
    messages
}
