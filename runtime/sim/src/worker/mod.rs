//! Workers: state, instruction semantics, the run loop.
//!
//! [`run`] executes one worker from where it stands to its exit in one go; [`step`] executes one
//! issue group. A group's main member is executed first, then its aux member; loads into the ARF
//! wait until the aux member has read its operands, so both see the state before the group
//! (`isa/execution.md` 3).

mod amp;
mod aux_lane;
mod common;
mod convert;
mod csr;
mod float32;
mod half_lanes;
mod main_lane;
mod model;
mod products;
mod run;
#[cfg(target_arch = "x86_64")]
mod simd;
mod state;
mod weights;

pub use common::{CommonContext, Flow, exec_common};
pub use main_lane::misaligned_entry;
pub use model::{AmpMode, Model};
pub use run::{ExceptionInfo, Stop, StopReason, run, step};
pub use state::{
    ARF_STORED, Accumulators, ESR, Exception, MRF_STORED, NANOO, Raised, Registers, SCRATCH,
    Shared, WorkerState,
};
