//! From a scheduled tile program to machine words: kernels, supervisor programs, linking.

mod emit;
mod kernels;
mod link;
mod observe;
mod pipeline;
mod predict;
mod program;
mod runs;
mod timeline;
mod worker;

pub use emit::{EmitError, Emitted, Patch, Section, TileCode, emit, emit_with};
pub use kernels::{Catalog, Generated, Launch, Weights, Word, generate, generate_with};
pub use link::{LinkError, link};
pub use observe::observe;
pub use predict::{Interval, Predicted};
pub use program::{SupOp, Target};
