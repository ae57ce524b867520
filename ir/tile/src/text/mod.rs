//! The text form of tile programs: everything that a [`Program`](crate::Program) holds, and nothing
//! else. [`parse`] of what [`print()`] made is the same program.
//!
//! ```text
//! tile "main" on 2 {
//!   value %v0 "x.0" : 4x8xf32 cuts [2/1, 1/1] copies 1 tiles [0..2]
//!     layout row(2) order [0, 1] memory any align 16 tail 8 padding zero input "x"
//!   value %v1 "y.1" : 4x8xf32 cuts [2/1, 1/1] copies 1 tiles [0..2]
//!     layout row(2) order [0, 1] memory any align 16 tail 8 padding anything output "y" tensor "y"
//!   input "x" = %v0 : f32 [4, 8]
//!   output "y" = %v1 : f32 [4, 8]
//!   compute "y" {
//!     tiles [0..2] Copy(bytes:64,dims:[]) (%v0, %v1)
//!   }
//! }
//! ```
//!
//! Kernels are written in RON, field by field as `ipucc_tile::kernel` names them. A run of a
//! transfer reads `4 words 0@12 -> 1@0 2@0 times [8: 4, 4, 0, 0]`: tile and word of the source, of
//! the destinations, and per dimension the repetitions and the steps of source words, destination
//! words, source tiles and destination tiles. Weight programs are modules of the tensor language.

mod lex;
mod parse;
mod print;

pub use ipucc_tensor::text::Diagnostic;
pub use parse::parse;
pub use print::print;

/// Error codes with their explanation, for `ipucc explain`.
pub const CODES: &[(&str, &str)] = &[
    (
        "L001",
        "The text does not follow the grammar of tile programs at this place. \
         docs/tile_language.md shows it; `ipucc opt MODEL --dump-after=partition` prints an \
         example.",
    ),
    (
        "L002",
        "A value or weight is used that the program does not define, or defined out of order: \
         values are numbered %v0, %v1, .. in the order of their definitions.",
    ),
    (
        "L003",
        "A number, list or name does not fit: tiles lie below the number of tiles of the program, \
         a value has one cut per axis and as many tiles as its grid has points times its copies, \
         and no tile twice.",
    ),
    (
        "L004",
        "The kernel is not one of the catalogue, or its fields are not those of that kernel. \
         Kernels are written in RON as the rustdoc of `ipucc_tile::kernel` names their fields.",
    ),
    (
        "L005",
        "The weight program is not a module of the tensor language whose `main` takes nothing and \
         returns one tensor of the weight's type.",
    ),
];
