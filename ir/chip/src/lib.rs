//! The chip: facts about the Graphcore IPU21 (C600 card) and nothing that decides.
//!
//! Every constant stands here once, with its unit, the page of the fact collection it comes from
//! and how surely it is known. Everything above (compiler and simulator alike) reads these
//! constants, but each does its own arithmetic with them.
//!
//! Certainty words used in the doc comments: *ISA* = stated by the instruction-set text,
//! *hardware* = confirmed by a published run on a C600, *inferred*, *assumed*.

pub mod assumptions;
pub mod csr;
pub mod exception;
pub mod fabric;
pub mod format;
pub mod loader;
pub mod memory;
mod scalar;
pub mod sync;
pub mod timing;
mod topology;

pub use assumptions::{AssumptionError, AssumptionInfo, AssumptionKind, Assumptions};
pub use scalar::{HostType, ScalarType};
pub use topology::{Chip, LogicalTile, PhysicalTile};
