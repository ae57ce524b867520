//! The tile language: a bulk-synchronous program over the tiles of one chip.
//!
//! A [`Program`] is a list of [`Step`]s over [`Value`]s. A value is a tensor cut over tiles: every
//! tile in its [`Distribution`] holds one *shard*, a box of the tensor, in one contiguous buffer
//! whose element order is the value's [`Layout`]. Nothing else is shared between tiles.
//!
//! What evaluates when: steps run in order; all calls of one `compute` step may run at the same
//! time on different tiles; all transfers of one `exchange` step read what was there before the
//! step, unless the step says that they are ordered. A tile that has no part in a step goes on.
//!
//! `passes` makes programs without times and addresses; `schedule` adds both in side tables that
//! are keyed by step and value, so that the program itself never changes again.

mod access;
pub mod cost;
mod holdings;
pub mod interp;
pub mod kernel;
mod layout;
mod program;
pub mod schedule;
pub mod sram;
pub mod text;
pub mod transfers;
pub mod verify;

pub use layout::{AxisCut, Distribution, Layout, LayoutKind, Shard};
pub use program::{
    Binding, Call, Compute, Dim, Endpoint, Exchange, Host, HostDirection, MemoryClass, Operand,
    Padding, Program, Repeat, Role, Run, Shape, Step, Strided, TileSet, Transfer, Value, ValueData,
    WeightProgram,
};
