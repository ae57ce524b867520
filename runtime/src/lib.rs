//! Package files, sessions and backends: what runs a package.

pub mod file;
mod validate;

pub use validate::validate;
