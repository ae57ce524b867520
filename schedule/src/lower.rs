//! From a tile program to a scheduled one: exchange steps become phases with timed rows, and tiles
//! without work in a phase abstain.

use crate::abstain::{self, AbstainError, abstain};
use crate::greedy::{Message, Timed, schedule_messages};
use indexmap::IndexMap;
use ipucc_chip::{Assumptions, LogicalTile};
use ipucc_machine::SymbolId;
use ipucc_machine::row::{BaseValue, Event, Place, RowEvents};
use ipucc_tile::schedule::{AbstainMode, Phase, Scheduled, StepPath, symbol_of};
use ipucc_tile::{Exchange, Program, Step, Transfer, Value};
use rayon::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
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
    let mut exchanges: Vec<(StepPath, &Exchange)> = Vec::new();
    let mut apart = BTreeSet::new();
    walk(
        &program.steps,
        &mut StepPath::new(),
        &mut |path, exchange| {
            for transfer in &exchange.transfers {
                for other in &exchange.transfers {
                    let (a, b) = (transfer.source, other.destination);
                    if a != b {
                        apart.insert((a.min(b), a.max(b)));
                    }
                }
            }
            exchanges.push((path.clone(), exchange));
        },
    );
    // Equal phases of different values, as those of equal layers are, are timed once.
    let numbered: Vec<(Vec<Transfer>, Vec<Value>)> = exchanges
        .par_iter()
        .map(|(_, exchange)| numbered(exchange))
        .collect();
    let mut distinct: IndexMap<&[Transfer], usize> = IndexMap::new();
    for (index, (transfers, _)) in numbered.iter().enumerate() {
        distinct.entry(transfers).or_insert(index);
    }
    let keys: Vec<&[Transfer]> = distinct.keys().copied().collect();
    let timed: Vec<Result<Timed, String>> = keys
        .par_iter()
        .map(|transfers| schedule_messages(&messages(transfers), assumptions))
        .collect();
    let mut phases = Vec::with_capacity(exchanges.len());
    for ((path, exchange), (transfers, values)) in exchanges.iter().zip(&numbered) {
        let timed = distinct
            .get_index_of(transfers.as_slice())
            .map(|index| &timed[index]);
        let timed = match timed {
            Some(Ok(timed)) => timed,
            Some(Err(reason)) => {
                return Err(ScheduleError::Step {
                    step: format!("{path:?}"),
                    label: exchange.label.clone(),
                    reason: reason.clone(),
                });
            }
            None => continue,
        };
        phases.push(Phase {
            step: path.clone(),
            rows: renamed(&timed.rows, values),
            horizon: timed.horizon,
            bound_words: timed.bound_words,
            bound_route: timed.bound_route,
        });
    }
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

fn walk<'p>(
    steps: &'p [Step],
    path: &mut StepPath,
    visit: &mut impl FnMut(&StepPath, &'p Exchange),
) {
    for (index, step) in steps.iter().enumerate() {
        path.push(index as u32);
        match step {
            Step::Exchange(exchange) => visit(path, exchange),
            Step::Repeat(repeat) => walk(&repeat.body, path, visit),
            Step::Compute(_) | Step::Host(_) => {}
        }
        path.pop();
    }
}

/// The transfers of an exchange with its values numbered in order of appearance, and those values.
fn numbered(exchange: &Exchange) -> (Vec<Transfer>, Vec<Value>) {
    let mut values: Vec<Value> = Vec::new();
    let mut number = |value: Value| {
        let known = values.iter().position(|&other| other == value);
        Value::from_u32(known.unwrap_or_else(|| {
            values.push(value);
            values.len() - 1
        }) as u32)
    };
    let transfers = exchange
        .transfers
        .iter()
        .map(|transfer| Transfer {
            source: number(transfer.source),
            destination: number(transfer.destination),
            runs: transfer.runs.clone(),
        })
        .collect();
    (transfers, values)
}

/// Rows with the values that numbers stand for.
fn renamed(
    rows: &BTreeMap<LogicalTile, RowEvents>,
    values: &[Value],
) -> BTreeMap<LogicalTile, RowEvents> {
    let real = |place: Place| Place {
        symbol: place
            .symbol
            .map(|SymbolId(number)| symbol_of(values[number as usize])),
        ..place
    };
    let event = |event: &Event| match *event {
        Event::Send {
            at,
            from,
            items,
            control,
        } => Event::Send {
            at,
            from: real(from),
            items,
            control,
        },
        Event::Pointer { at, to } => Event::Pointer { at, to: real(to) },
        Event::Base {
            at,
            which,
            value: BaseValue::Place(place),
        } => Event::Base {
            at,
            which,
            value: BaseValue::Place(real(place)),
        },
        other @ (Event::Select { .. } | Event::Format { .. } | Event::Base { .. }) => other,
    };
    rows.iter()
        .map(|(tile, row)| {
            let row = RowEvents {
                events: row.events.iter().map(event).collect(),
                horizon: row.horizon,
            };
            (*tile, row)
        })
        .collect()
}

/// The messages of an exchange step: affine runs are enumerated here and not before.
fn messages(transfers: &[Transfer]) -> Vec<Message> {
    let mut messages = Vec::new();
    for transfer in transfers {
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
