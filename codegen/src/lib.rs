//! From a scheduled tile program to machine words: kernels, supervisor programs, linking.

mod emit;
mod kernels;
mod link;
mod predict;
mod program;
mod timeline;
mod worker;

pub use emit::{EmitError, Emitted, Patch, Section, TileCode, emit};
pub use kernels::{Catalog, Generated, Launch, Weights, Word, generate};
pub use link::{LinkError, link};
pub use predict::Predicted;
pub use program::{SupOp, Target};
