//! Package files, sessions and backends: what runs a package.

pub mod file;
mod session;
mod validate;

pub use session::{HostTensor, Outcome, Session, SessionError};
pub use validate::validate;
