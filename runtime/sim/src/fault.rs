//! Why a simulation stopped before its end.

use ipucc_chip::exception::Exception;
use ipucc_chip::{LogicalTile, PhysicalTile};
use std::fmt;
use thiserror::Error;

/// Which context of a tile.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ContextId {
    /// The supervisor.
    Supervisor,
    /// Worker 0..6.
    Worker(u8),
}

impl fmt::Display for ContextId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ContextId::Supervisor => f.write_str("supervisor"),
            ContextId::Worker(index) => write!(f, "worker {index}"),
        }
    }
}

/// What went wrong.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum Cause {
    /// The context raised an exception of the machine.
    #[error("exception {} ({exception}): {detail}", .exception.code())]
    Exception {
        /// Which.
        exception: Exception,
        /// What it is about, in words.
        detail: String,
    },
    /// An exchange did what silicon is not known to tolerate.
    #[error("exchange: {0}")]
    Exchange(String),
    /// Something that the model does not have, or that a named assumption declares an error.
    #[error("not modelled: {0}")]
    Model(String),
    /// No tile can go on.
    #[error("deadlock:\n{0}")]
    Deadlock(String),
    /// The host's script asked for what is not there.
    #[error("host: {0}")]
    Host(String),
    /// A breakpoint (`Simulator::set_break`).
    #[error("breakpoint")]
    Break,
    /// The cycle limit was reached.
    #[error("cycle limit of {0} reached")]
    Limit(u64),
}

/// A simulation that stopped: where, when, why.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Failure {
    /// The tile, if one tile is at fault.
    pub tile: Option<LogicalTile>,
    /// The context.
    pub context: ContextId,
    /// Address of the instruction.
    pub pc: u32,
    /// Its text.
    pub instruction: String,
    /// Tile cycle.
    pub cycle: u64,
    /// Why.
    pub cause: Cause,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(tile) = self.tile {
            let PhysicalTile(physical) = tile.physical();
            write!(
                f,
                "tile {} (physical {physical}), {}, cycle {}, pc {:#x}",
                tile.0, self.context, self.cycle, self.pc
            )?;
            if !self.instruction.is_empty() {
                write!(f, " `{}`", self.instruction)?;
            }
            f.write_str(": ")?;
        }
        write!(f, "{}", self.cause)
    }
}

impl std::error::Error for Failure {}

/// A request to the simulator that makes no sense.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum SimError {
    /// The tile is not on this chip.
    #[error("tile {0} is not on this chip of {1} tiles")]
    NoTile(u16, u16),
    /// The span is not populated memory.
    #[error("{bytes} bytes at {address:#x} are not populated tile memory")]
    Unpopulated {
        /// First byte.
        address: u32,
        /// Length.
        bytes: usize,
    },
    /// A buffer of the host cannot be attached.
    #[error("host memory: {0}")]
    Host(String),
    /// The chip's memory could not be reserved.
    #[error("tile memory could not be reserved: {0}")]
    Memory(String),
}
