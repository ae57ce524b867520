//! The simulator of the chip: executes the machine words of tile images and knows no tensor, no
//! schedule and no kernel.

pub mod arith;
mod chip;
pub mod decode;
mod fault;
pub mod memory;
pub mod replay;
mod store;
pub mod worker;

pub use chip::{
    Activity, BarrierReport, Breakdown, HostStep, Options, RunReport, Simulator, Span, SyncGroup,
    TileReport, WorkerUse,
};
pub use fault::{Cause, ContextId, Failure, SimError};
pub use worker::AmpMode;
