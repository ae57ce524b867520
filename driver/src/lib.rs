//! The ipucc command and library.
pub mod onnx;
