//! The allocation problem of one tile, as data: what `codegen` asks for and `schedule` solves.

use crate::{Program, Step};
use indexmap::IndexMap;
use serde::{Deserialize, Serialize};

/// Where a request may stand.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum Region {
    /// Anywhere.
    Any,
    /// Region 0, the only executable one.
    Executable,
    /// Region 1, interleaved.
    Interleaved,
}

/// What a request is, for reports and for the rule that code and data share no element.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Kind {
    /// Supervisor program and kernels.
    Code,
    /// Exchange rows.
    Row,
    /// Argument records and other constants that code reads.
    Record,
    /// Weights: live for the whole program.
    Weight,
    /// Values.
    Data,
    /// Scratch of a kernel call.
    Scratch,
}

impl Kind {
    /// True for what is fetched rather than loaded.
    pub const fn is_code(self) -> bool {
        matches!(self, Kind::Code | Kind::Row)
    }
}

/// One buffer or section to be placed.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Request {
    /// Section or value name, unique within the problem.
    pub name: String,
    /// Size in bytes.
    pub bytes: u32,
    /// Alignment in bytes, a power of two.
    pub align_bytes: u32,
    /// Where it may stand.
    pub region: Region,
    /// Steps in which it must keep its content: half-open interval of step numbers.
    pub live: (u32, u32),
    /// Bytes past the end that are read: must be populated, may belong to anybody, but count as
    /// part of the request where elements must differ.
    pub tail_bytes: u32,
    /// What it is.
    pub kind: Kind,
    /// Source line or ONNX node.
    pub origin: Option<String>,
    /// Bytes among them that hold no element, for messages.
    #[serde(default)]
    pub padding_bytes: u32,
    /// Size of an element of a value, 0 for sections, for messages.
    #[serde(default)]
    pub element_bytes: u32,
}

/// The allocation problem of one tile.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Problem {
    /// Logical tile, for messages.
    pub tile: u16,
    /// First usable byte.
    pub base: u32,
    /// One past the last usable byte.
    pub end: u32,
    /// What is to be placed.
    pub requests: Vec<Request>,
    /// Pairs (indices) that must not touch one memory element (32-KiB pair in region 1), whether
    /// or not their lifetimes meet.
    pub apart: Vec<(u32, u32)>,
    /// Requests that stand one after the other with equal distance, in this order.
    pub sequences: Vec<Vec<u32>>,
}

/// Byte addresses, one per request.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Placement {
    /// By index of the request.
    pub addresses: Vec<u32>,
    /// Most bytes live in any step (lower bound of the peak).
    pub bound_bytes: u32,
    /// Bytes between the lowest and the highest used byte of both regions together, holes of a
    /// region included.
    pub peak_bytes: u32,
}

/// Version of the file form of [`Problems`].
pub const PROBLEMS_VERSION: u32 = 1;

/// The allocation problems of a program, as they are written to a file and replayed.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Problems {
    /// [`PROBLEMS_VERSION`].
    pub version: u32,
    /// What stands for the steps of the problems: loading, the steps of the program, and the host's
    /// reading at the end, in words for messages.
    pub steps: Vec<String>,
    /// The distinct problems.
    pub problems: Vec<TileProblem>,
}

/// A problem that several tiles have.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct TileProblem {
    /// The tiles.
    pub tiles: Vec<u16>,
    /// The problem, with the number of the first of them.
    pub problem: Problem,
}

impl Problems {
    /// The problems of a program's tiles; equal ones are kept once.
    pub fn of<'p>(program: &Program, all: impl IntoIterator<Item = &'p Problem>) -> Problems {
        let mut distinct: IndexMap<Problem, Vec<u16>> = IndexMap::new();
        for problem in all {
            let key = Problem {
                tile: 0,
                ..problem.clone()
            };
            distinct.entry(key).or_default().push(problem.tile);
        }
        let problems = distinct.into_iter().map(|(problem, tiles)| TileProblem {
            problem: Problem {
                tile: tiles.first().copied().unwrap_or(0),
                ..problem
            },
            tiles,
        });
        Problems {
            version: PROBLEMS_VERSION,
            steps: step_names(program),
            problems: problems.collect(),
        }
    }
}

/// What stands for the steps of a program's allocation problems, in words for messages.
pub fn step_names(program: &Program) -> Vec<String> {
    let mut names = vec!["while the program is loaded".to_owned()];
    for (index, step) in program.steps.iter().enumerate() {
        let label = match step {
            Step::Compute(step) => format!("compute `{}`", step.label),
            Step::Exchange(step) => format!("exchange `{}`", step.label),
            Step::Repeat(step) => format!("repeat `{}`", step.label),
            Step::Host(_) => "host".to_owned(),
        };
        names.push(format!("in step {index}, {label}"));
    }
    names.push("when the host reads the outputs".to_owned());
    names
}
