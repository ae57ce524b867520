//! The simulator of the chip.

pub mod arith;
pub mod decode;
pub mod memory;
pub mod replay;
pub mod worker;
