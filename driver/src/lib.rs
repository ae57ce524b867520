//! The ipucc command and library.
pub mod backend;
pub mod onnx;
