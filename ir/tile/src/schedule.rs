//! What scheduling adds to a program, as plain data between `schedule` and `codegen`.
//!
//! The program itself is never changed: everything here is keyed by step, tile and value.

use ipucc_chip::LogicalTile;
use ipucc_machine::SymbolId;
use ipucc_machine::row::RowEvents;
use serde::{Deserialize, Serialize};
use smallvec::SmallVec;
use std::collections::BTreeMap;

use crate::program::{Program, Value};

/// Position of a step: its index in `Program::steps`, then, inside repeats, in each body.
pub type StepPath = SmallVec<[u32; 2]>;

/// The symbol that stands for a tile's shard of a value in addresses of rows.
pub fn symbol_of(value: Value) -> SymbolId {
    SymbolId(value.as_u32())
}

/// An exchange step with every event timed.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Phase {
    /// The exchange step.
    pub step: StepPath,
    /// Rows of the tiles that send or receive. Symbols of places are values ([`symbol_of`]).
    pub rows: BTreeMap<LogicalTile, RowEvents>,
    /// Events of the longest row.
    pub horizon: u32,
    /// Bound by words: the busiest endpoint.
    pub bound_words: u32,
    /// Bound by words and routes.
    pub bound_route: u32,
}

/// How tiles without work in a phase pass its barrier.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
pub enum AbstainMode {
    /// `sans 0; sync 1` at every phase they are not needed for.
    #[default]
    PerPhase,
    /// One `sans n` for the longest run of such phases, computing across, `sync 1` before the next
    /// phase they take part in (assumption `sup_ans_overlap`).
    Advance,
}

/// A run of consecutive phases of one list of steps that a tile takes no part in.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Absence {
    /// Index into [`Scheduled::phases`] of the first.
    pub first: u32,
    /// Number of phases, at least 1.
    pub count: u32,
}

/// A program with its exchanges timed and its barriers settled.
#[derive(Clone, PartialEq, Debug)]
pub struct Scheduled {
    /// The program.
    pub program: Program,
    /// Its exchange steps in program order.
    pub phases: Vec<Phase>,
    /// How absences are posted.
    pub abstain: AbstainMode,
    /// Absences by logical tile, ascending. In `PerPhase` mode every absence counts one phase.
    pub absences: Vec<Vec<Absence>>,
    /// Pairs of values whose shards on a tile must not share a memory element (32-KiB pair in
    /// region 1), because one is sent while the other is received into.
    pub apart: Vec<(Value, Value)>,
}
