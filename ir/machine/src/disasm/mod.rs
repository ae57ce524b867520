//! The disassembler: words to text that the assembler turns into the same words.
//!
//! Every line is assembled again before it is printed. What has no text of its own (bits that the
//! hardware ignores, an immediate form that the assembler would not choose, a `rpt` whose body is
//! none) is written as `.word`, with the meaning as a comment.

mod chunk;
mod events;
mod labels;
mod lines;
mod text;

pub use chunk::{Chunk, object_chunks};
pub use text::disassemble;

use crate::Context;

/// What the text shows.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Context of the first instructions if nothing tells; `None`: that of the first instruction
    /// which only one context has.
    pub context: Option<Context>,
    /// Event times beside the instructions of exchange rows.
    pub events: bool,
}

/// The text of `words` that stand at `address`, as a section `.text`.
pub fn words(words: &[u32], address: u32, options: &Options) -> String {
    disassemble(&[Chunk::words(".text", address, words)], options)
}
