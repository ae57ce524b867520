//! The tensor language: typed SSA functions over statically shaped tensors, plus named weights.

mod builder;
pub mod docs;
mod infer;
pub mod interp;
mod module;
mod op;
pub mod text;
mod ty;
mod verify;

pub use builder::Builder;
pub use infer::TypeError;
pub use module::{
    Def, Function, Inst, InstData, Module, Port, Span, Value, ValueData, Weight, WeightSource,
};
pub use op::{
    Axes, BinaryOp, CompareOp, Coordinates, Op, PoolKind, ReduceKind, ResizeMode, ScatterKind,
    UnaryOp, Window,
};
pub use ty::{MAX_RANK, Shape, TensorType};
pub use verify::{Fault, signature, verify};
