//! The machine language: instructions, issue groups, exchange rows, packages.
//!
//! One table ([`Op`], `table.rs`) describes every instruction of the IPU21 tile; encoder, decoder,
//! text and register lists are derived from it.

pub mod asm;
mod bundle;
mod decode;
pub mod disasm;
mod encode;
mod error;
mod info;
mod inst;
pub mod object;
mod object_file;
pub mod package;
mod place;
mod regs;
pub mod row;
mod source_map;
mod symbol;
mod table;
mod text;

pub use bundle::{Context, Group, check_rpt_body};
pub use error::{DecodeError, EncodeError};
pub use info::{
    Lane, Layout, Modifier, OpFlags, OpInfo, OperandInfo, OperandKind, Part, Role, Split, Table,
};
pub use inst::Inst;
pub use object_file::{ObjectFileError, is_object};
pub use regs::Reg;
pub use symbol::SymbolId;
pub use table::Op;
