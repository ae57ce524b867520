//! The tensor language: typed SSA functions over statically shaped tensors, plus named weights.
//!
//! A [`Module`] holds functions and weights. It is read from text ([`text::parse`]), put together
//! with a [`Builder`], or imported; [`verify`] says everything that is wrong with one, and
//! [`interp::eval`] computes what it means.
//!
//! ```
//! use indexmap::IndexMap;
//! use ipucc_chip::ScalarType::F32;
//! use ipucc_tensor::interp::{Tensor, eval};
//! use ipucc_tensor::{BinaryOp, Builder, Module, TensorType, verify};
//!
//! // max(x @ w + b, 0)
//! let mut f = Builder::new("main");
//! let x = f.param("x", TensorType::new(F32, [1, 2]));
//! let w = f.param("w", TensorType::new(F32, [2, 2]));
//! let b = f.param("b", TensorType::new(F32, [2]));
//! let product = f.matmul(x, w)?;
//! let sum = f.binary(BinaryOp::Add, product, b)?;
//! let zero = f.scalar(0.0, F32)?;
//! let y = f.binary(BinaryOp::Max, sum, zero)?;
//! f.result("y", y);
//!
//! let mut module = Module::default();
//! module.functions.insert("main".into(), f.finish());
//! assert_eq!(verify(&module), []);
//!
//! let tensor = |shape: &[u32], values: &[f32]| {
//!     Tensor::from_floats(TensorType::new(F32, shape.iter().copied()), values)
//! };
//! let inputs = IndexMap::from([
//!     ("x".to_owned(), tensor(&[1, 2], &[1.0, 2.0])),
//!     ("w".to_owned(), tensor(&[2, 2], &[1.0, -1.0, 0.5, -0.5])),
//!     ("b".to_owned(), tensor(&[2], &[0.25, 0.25])),
//! ]);
//! let outputs = eval(&module, &inputs)?;
//! assert_eq!(outputs["y"].to_floats(), [2.25, 0.0]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

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
