//! When every word moves and where every byte stands: exchange phases with timed events, barrier
//! roles, and the allocation of tile memory.

pub mod abstain;
mod bits;
mod cost;
mod greedy;
mod lower;
pub mod sram;

pub use cost::Cost;
pub use greedy::{Message, Timed, schedule_messages};
pub use lower::{ScheduleError, schedule_program};
