//! The ipucc command and library.
pub mod backend;
pub mod check;
pub mod dump;
pub mod host;
pub mod model;
mod names;
pub mod npy;
pub mod npz;
pub mod onnx;
pub mod stage;
