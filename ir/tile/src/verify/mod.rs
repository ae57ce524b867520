//! The verifier of tile programs: every byte that is read was written, every word that moves has a
//! place at both ends, and no two pieces of an exchange meet.
//!
//! It walks the program once and keeps, for every byte of every shard, whether it was written. What
//! holds no element (padding) has to be written only where the value says that it is zero, or where
//! a kernel multiplies it. Host and loader write whole buffers, zeros where there is no element.
//! It stands on what kernels read and write (`access`), on layouts and distributions, and
//! on nothing of the planner.

mod bits;
mod definitions;
mod walk;

pub use definitions::well_formed;
use thiserror::Error;
pub use walk::verify;

/// Where in a program: `step 3 (h), tile 5` or a definition.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Place {
    /// Position of the step: its index, then those inside repeats.
    pub step: String,
    /// The step's label.
    pub label: String,
    /// The tile; `None` where it is none in particular.
    pub tile: Option<i64>,
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "step {}", self.step)?;
        if !self.label.is_empty() {
            write!(f, " ({})", self.label)?;
        }
        match self.tile {
            Some(tile) => write!(f, ", tile {tile}"),
            None => Ok(()),
        }
    }
}

/// What is wrong with a program.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Error)]
pub enum VerifyError {
    /// A definition that contradicts itself: distribution, layout, size, binding or weight.
    #[error("`{value}`: {reason}")]
    Definition {
        /// Name of the value, binding or weight.
        value: String,
        /// What is wrong with it.
        reason: String,
    },
    /// A tile that the program does not have.
    #[error("{place}: the program has tiles 0..{tiles}")]
    NoTile {
        /// Where, with the tile.
        place: Place,
        /// Tiles of the program.
        tiles: u16,
    },
    /// A tile that holds no part of a value that it should read or write.
    #[error("{place}: the tile holds nothing of `{value}`")]
    NotHeld {
        /// Where.
        place: Place,
        /// The value.
        value: String,
    },
    /// A call or transfer that leaves a shard.
    #[error("{place}: bytes {low}..{high} of the {bytes} that it holds of `{value}`")]
    OutOfRange {
        /// Where.
        place: Place,
        /// The value.
        value: String,
        /// First byte.
        low: i64,
        /// One past the last byte.
        high: i64,
        /// Size of the shard.
        bytes: u32,
    },
    /// An operand that does not begin at a double word.
    #[error("{place}: `{value}` at byte {offset}, which is no multiple of 8")]
    PartialWord {
        /// Where.
        place: Place,
        /// The value.
        value: String,
        /// Offset in the shard.
        offset: u32,
    },
    /// A run of no words or to nobody.
    #[error("{place}: `{value}`: a run moves at least one word to at least one tile")]
    EmptyRun {
        /// Where.
        place: Place,
        /// The value that is read.
        value: String,
    },
    /// A run with more pieces than the chip has words.
    #[error("{place}: `{value}`: a run has more pieces than the chip has words")]
    TooManyPieces {
        /// Where.
        place: Place,
        /// The value that is read.
        value: String,
    },
    /// An element that is read before anybody writes it.
    #[error("{place}: byte {byte} of `{value}` is read, but nothing has written it")]
    Unwritten {
        /// Where.
        place: Place,
        /// The value.
        value: String,
        /// Byte of the shard.
        byte: i64,
    },
    /// Padding that is read as zero, or multiplied, before anybody writes it.
    #[error("{place}: the padding at byte {byte} of `{value}` is read, but nothing has written it")]
    UnwrittenPadding {
        /// Where.
        place: Place,
        /// The value.
        value: String,
        /// Byte of the shard.
        byte: i64,
    },
    /// A contraction over padding that is zero in neither operand.
    #[error("{place}: the padding of `{lhs}` and of `{rhs}` is multiplied, and neither is zero")]
    NonzeroPadding {
        /// Where.
        place: Place,
        /// Left operand.
        lhs: String,
        /// Right operand.
        rhs: String,
    },
    /// Two pieces of one exchange that write the same byte.
    #[error("{place}: byte {byte} of `{value}` is written twice in this step")]
    TwoWriters {
        /// Where.
        place: Place,
        /// The value.
        value: String,
        /// Byte of the shard.
        byte: i64,
    },
    /// A piece of an exchange that reads what another writes.
    #[error("{place}: byte {byte} of `{value}` is sent and received into in the same step")]
    ReadWhileWritten {
        /// Where.
        place: Place,
        /// The value.
        value: String,
        /// Byte of the shard.
        byte: i64,
    },
    /// A kernel that does not fit its operands.
    #[error("{place}: {reason}")]
    Kernel {
        /// Where.
        place: Place,
        /// What is the matter.
        reason: String,
    },
    /// An operand of another element type than the kernel's.
    #[error("{place}: `{value}` is {found}, the kernel takes {wanted}")]
    OperandType {
        /// Where.
        place: Place,
        /// The value.
        value: String,
        /// Its element type.
        found: String,
        /// The kernel's.
        wanted: String,
    },
    /// A repeat whose values do not fit.
    #[error("{place}: `{first}` and `{second}`: {reason}")]
    Repeat {
        /// Where.
        place: Place,
        /// Value of the body.
        first: String,
        /// What it stands for.
        second: String,
        /// What is the matter.
        reason: String,
    },
    /// A step that writes a weight.
    #[error("{place}: `{value}` is a weight and is written")]
    WeightWritten {
        /// Where.
        place: Place,
        /// The value.
        value: String,
    },
}

/// `3`, or `3.0.2` inside repeats.
pub(crate) fn path_text(path: &[usize]) -> String {
    let parts: Vec<String> = path.iter().map(ToString::to_string).collect();
    parts.join(".")
}
