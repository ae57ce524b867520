//! The numbers of the auxiliary lane, bit for bit (`isa/float.md`, `ops_f16.md`,
//! `ops_f32_int.md`, `amp.md` 4): formats, rounding, flags, special operands, random bits.
//!
//! Functions here are pure: bits in, bits and flags out. Which register holds what, which flag
//! traps and when the generator advances is the executor's business (`crate::worker`).

pub mod bits;
pub mod dot;
mod double;
pub mod f32ops;
pub mod half;
pub mod prng;
pub mod quarter;
pub mod stochastic;
pub mod transcendental;

/// Flag bits as in `$FP_STS` and the enables of `$FP_CTL`.
pub mod flag {
    /// Invalid operation.
    pub const INV: u32 = 1;
    /// Division by zero.
    pub const DIV0: u32 = 2;
    /// Overflow.
    pub const OFLO: u32 = 4;
    /// All flags.
    pub const ALL: u32 = 7;
}
