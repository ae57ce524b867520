//! Errors of the encoder and the decoder.

use crate::{Context, Op, OperandKind, Reg};
use thiserror::Error;

/// Why an instruction or an issue group has no words.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum EncodeError {
    /// Wrong number of operands.
    #[error("`{}` takes {expected} operands, {found} given", .op.info().mnemonic)]
    OperandCount {
        /// The instruction.
        op: Op,
        /// Operands it takes.
        expected: usize,
        /// Operands given.
        found: usize,
    },
    /// An operand has no encoding.
    #[error(
        "operand {} of `{}` is {}, but must be {}",
        operand_position(*.op, *.operand),
        .op.info().mnemonic,
        show_value(*.kind, *.value),
        .kind.range()
    )]
    OperandRange {
        /// The instruction.
        op: Op,
        /// Operand number (op0, op1, ..), not the position in text.
        operand: u8,
        /// Its form.
        kind: OperandKind,
        /// The value given.
        value: u32,
    },
    /// `ignored` holds bits that the hardware does not ignore.
    #[error("`{}` has no ignored bits {bits:#010x}", .op.info().mnemonic)]
    IgnoredBits {
        /// The instruction.
        op: Op,
        /// The bits in excess.
        bits: u32,
    },
    /// The instruction cannot stand in a bundle.
    #[error("`{}` cannot stand in a bundle", .op.info().mnemonic)]
    NotCoissuable {
        /// The instruction.
        op: Op,
    },
    /// `sendpicp` has two words; only `Group::SendPicP` encodes it.
    #[error("`sendpicp` has two words and must be encoded as a group")]
    TwoWords,
    /// A group member stands in the wrong place.
    #[error("`{}` cannot be the {place} of a group", .op.info().mnemonic)]
    Place {
        /// The instruction.
        op: Op,
        /// "main member", "aux member", ..
        place: &'static str,
    },
    /// Both members of a bundle write one register.
    #[error("both members of the bundle write {register}")]
    CommonDestination {
        /// The register.
        register: Reg,
    },
    /// A `rpt` body holds something that it may not.
    #[error(
        "a `rpt` body may hold only bundles without control and system instructions, not {what}"
    )]
    RptBody {
        /// What it holds.
        what: String,
    },
}

/// 1-based position in assembler text of operand number `operand`.
fn operand_position(op: Op, operand: u8) -> usize {
    let order = op.info().asm_order;
    1 + order
        .iter()
        .position(|&number| number == operand)
        .unwrap_or(usize::from(operand))
}

fn show_value(kind: OperandKind, value: u32) -> String {
    match kind {
        OperandKind::Simm(_) => (value as i32).to_string(),
        OperandKind::Immz12 | OperandKind::Target19 | OperandKind::Target20 => {
            format!("{value:#x}")
        }
        _ => value.to_string(),
    }
}

/// Why words are no instruction.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum DecodeError {
    /// No row of the table matches.
    #[error("{word:#010x} is no instruction")]
    Unknown {
        /// The word.
        word: u32,
    },
    /// Bit 31 is set on an instruction that cannot coissue.
    #[error("{word:#010x}: `{}` cannot have the coissue bit", .op.info().mnemonic)]
    Coissue {
        /// The word.
        word: u32,
        /// The instruction without the bit.
        op: Op,
    },
    /// First word of a `sendpicp`: decode it as a group.
    #[error("{word:#010x} is the first of the two words of a `sendpicp`")]
    SendPicP {
        /// The word.
        word: u32,
    },
    /// A second word is needed and missing.
    #[error("{word:#010x} needs a second word")]
    Truncated {
        /// The first word.
        word: u32,
    },
    /// The instruction is not known in this context.
    #[error("{word:#010x}: a {context} cannot execute `{}`", .op.info().mnemonic)]
    Context {
        /// The word.
        word: u32,
        /// The instruction.
        op: Op,
        /// The context.
        context: Context,
    },
    /// A word with the coissue bit that forms no bundle with its neighbour.
    #[error("{first:#010x} {second:#010x} is no bundle: {why}")]
    Bundle {
        /// First word.
        first: u32,
        /// Second word.
        second: u32,
        /// The rule that is broken.
        why: &'static str,
    },
}
