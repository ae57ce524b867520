//! Cost interfaces: what the planner may ask about kernels and exchanges.
//!
//! The traits speak of cycles, bytes and layouts, never of code. `codegen` implements
//! [`KernelCatalog`], `schedule` implements [`ExchangeCost`]; the driver injects both.

use crate::kernel::Kernel;
use crate::program::MemoryClass;
use thiserror::Error;

/// What a kernel needs of one operand buffer.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct OperandNeed {
    /// Alignment in bytes.
    pub align_bytes: u32,
    /// Region.
    pub memory: MemoryClass,
    /// Bytes past the end that the kernel may read.
    pub tail_bytes: u32,
    /// Operands (by index) that must not share a memory element with this one.
    pub apart_from: u32,
}

/// Exact cost of one call on one tile.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct KernelCost {
    /// Tile cycles from the supervisor's first instruction of the call to the one after the join.
    pub cycles: u64,
    /// Bytes of code that the tile must hold (shared between calls of the same kernel).
    pub code_bytes: u32,
    /// Bytes of the argument record per call.
    pub record_bytes: u32,
    /// Bytes of scratch memory during the call.
    pub scratch_bytes: u32,
    /// Needs by operand, `apart_from` as a bit mask of operand indices.
    pub operands: Vec<OperandNeed>,
}

/// No kernel for this operation and shape.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[error("no kernel for {what}: {reason}")]
pub struct NoKernel {
    /// The kernel and its shape, in words.
    pub what: String,
    /// Why not, and what would work.
    pub reason: String,
}

/// The kernels there are.
pub trait KernelCatalog: Sync {
    /// Exact cost of a kernel, or why there is none.
    fn cost(&self, kernel: &Kernel) -> Result<KernelCost, NoKernel>;
}

/// Loads of an exchange phase, as far as a cost needs them.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct PhaseLoad {
    /// Most words that one tile receives.
    pub receive_words: u64,
    /// Most words that one tile sends (a multicast counts once).
    pub send_words: u64,
    /// Most messages at one tile, either side.
    pub messages: u64,
}

/// What an exchange phase costs before it is scheduled.
pub trait ExchangeCost: Sync {
    /// Estimated cycles from the last arrival at the barrier to the end of the longest row,
    /// barrier and set-up included.
    fn cycles(&self, load: PhaseLoad) -> u64;
}
