//! The ipucc command and library.
pub mod backend;
pub mod dump;
pub mod model;
pub mod npy;
pub mod onnx;
