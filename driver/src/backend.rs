//! From a tile program to a package: schedule, emit, allocate, link.

use crate::stage::{Stage, Watch};
use indexmap::IndexMap;
use ipucc_chip::Assumptions;
use ipucc_codegen::{EmitError, Interval, LinkError, emit_with, link, observe};
use ipucc_machine::package::{Observation, Package};
use ipucc_schedule::sram::{self, SramError};
use ipucc_schedule::{ScheduleError, schedule_program};
use ipucc_tile::Program;
use ipucc_tile::schedule::{AbstainMode, Scheduled};
use ipucc_tile::sram::{Placement, Problem, Problems, step_names};
use rayon::prelude::*;
use thiserror::Error;

/// Why a tile program has no package.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum BackendError {
    /// Scheduling.
    #[error(transparent)]
    Schedule(#[from] ScheduleError),
    /// Code generation.
    #[error(transparent)]
    Emit(#[from] EmitError),
    /// Allocation.
    #[error(transparent)]
    Sram(#[from] SramError),
    /// Linking.
    #[error(transparent)]
    Link(#[from] LinkError),
}

/// Options of the back end.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Options {
    /// How idle tiles pass barriers.
    pub abstain: AbstainMode,
    /// Assumptions behind the prediction.
    pub assumptions: Assumptions,
    /// Say where the values inside the program can be read. The package is the same.
    pub observe: bool,
}

/// A compiled program and what the passes decided.
#[derive(Clone, PartialEq, Debug)]
pub struct Compiled {
    /// The package.
    pub package: Package,
    /// The scheduled program.
    pub scheduled: Scheduled,
    /// Addresses by tile.
    pub placements: Vec<Placement>,
    /// Values inside the program and when they can be read; empty unless asked for.
    pub observations: Vec<Observation>,
    /// What the last tile did before each barrier, as predicted.
    pub critical: Vec<Interval>,
}

/// Compiles a tile program. `weights` holds the row-major device data of every stored weight;
/// `watch` is told of each stage.
///
/// # Errors
/// What stands against it; of several tiles the lowest is reported.
pub fn compile(
    program: Program,
    weights: &IndexMap<String, Vec<u8>>,
    options: &Options,
    watch: Watch,
) -> Result<Compiled, BackendError> {
    watch(Stage::Schedule);
    let scheduled = schedule_program(program, options.abstain, &options.assumptions)?;
    watch(Stage::Emit);
    let mut emitted = emit_with(&scheduled, &options.assumptions, false)?;
    watch(Stage::Place);
    let mut placements = place(emitted.tiles.iter().map(|tile| &tile.problem));
    if placements.is_err() {
        // Kernels that let their operands share elements are slower, but may fit.
        watch(Stage::Emit);
        emitted = emit_with(&scheduled, &options.assumptions, true)?;
        watch(Stage::Place);
        placements = place(emitted.tiles.iter().map(|tile| &tile.problem));
    }
    let placements = placements.map_err(|error| match error {
        SramError::OutOfMemory(mut error) => {
            error.name_step(&step_names(&scheduled.program));
            SramError::OutOfMemory(error)
        }
        other => other,
    })?;
    watch(Stage::Link);
    let package = link(
        &scheduled,
        &emitted,
        &placements,
        weights,
        &options.assumptions,
    )?;
    let observations = if options.observe {
        observe(&scheduled, &emitted, &placements)
    } else {
        Vec::new()
    };
    Ok(Compiled {
        package,
        scheduled,
        placements,
        observations,
        critical: emitted.predicted.critical,
    })
}

/// What fits is good enough; a lower peak buys nothing.
const FIRST_FIT: sram::Options = sram::Options {
    repairs: 20,
    first: true,
};

/// The allocation problems of a tile program, whether or not they can be solved.
///
/// # Errors
/// What stands against scheduling or emitting it.
pub fn problems(program: Program, options: &Options) -> Result<Problems, BackendError> {
    let scheduled = schedule_program(program, options.abstain, &options.assumptions)?;
    let mut emitted = emit_with(&scheduled, &options.assumptions, false)?;
    // The same forms of kernels as `compile` ends up with.
    if place(emitted.tiles.iter().map(|tile| &tile.problem)).is_err() {
        emitted = emit_with(&scheduled, &options.assumptions, true)?;
    }
    let all = emitted.tiles.iter().map(|tile| &tile.problem);
    Ok(Problems::of(&scheduled.program, all))
}

/// Solves the allocation of all tiles; tiles with equal problems are solved once.
fn place<'p>(problems: impl Iterator<Item = &'p Problem>) -> Result<Vec<Placement>, SramError> {
    let problems: Vec<&Problem> = problems.collect();
    let mut distinct: IndexMap<Problem, usize> = IndexMap::new();
    let mut index = Vec::with_capacity(problems.len());
    for problem in &problems {
        // The tile's number is for messages only.
        let key = Problem {
            tile: 0,
            ..(*problem).clone()
        };
        let next = distinct.len();
        index.push(*distinct.entry(key).or_insert(next));
    }
    let keys: Vec<&Problem> = distinct.keys().collect();
    let solved: Vec<Result<Placement, SramError>> = keys
        .par_iter()
        .map(|problem| sram::solve(problem, FIRST_FIT))
        .collect();
    index
        .iter()
        .zip(&problems)
        .map(|(&at, problem)| match &solved[at] {
            Ok(placement) => Ok(placement.clone()),
            // Solve again for a message with the right tile.
            Err(_) => sram::solve(problem, FIRST_FIT),
        })
        .collect()
}
