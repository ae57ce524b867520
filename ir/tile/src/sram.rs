//! The allocation problem of one tile, as data: what `codegen` asks for and `schedule` solves.

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
