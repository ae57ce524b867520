//! When every word moves and where every byte stands.
pub mod sram;
