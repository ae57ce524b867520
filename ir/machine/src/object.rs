//! Relocatable objects: what the assembler makes and the linker places.

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// A relocatable object.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Object {
    /// Sections by name, in the order of the text.
    pub sections: IndexMap<String, Section>,
    /// Symbols by name, in the order of the text. Every section that a relocation refers to has a
    /// symbol of its own name and kind [`SymbolKind::Section`].
    pub symbols: IndexMap<String, Symbol>,
    /// Source files that [`LineEntry::file`] counts.
    pub files: Vec<String>,
}

/// A run of bytes that is placed as a whole.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Section {
    /// Alignment of its address in bytes, a power of two.
    pub align: u32,
    /// Holds code, so it must lie below the end of executable memory.
    pub executable: bool,
    /// Its first bytes.
    pub bytes: Vec<u8>,
    /// Bytes in memory, at least those of `bytes`; the rest is zero.
    pub size: u32,
    /// Places that depend on addresses, by offset.
    pub relocations: Vec<Relocation>,
    /// Statements that made bytes, by offset.
    pub source: Vec<LineEntry>,
    /// Offsets behind the `rpt` bodies that end there: the word at the address must be executable
    /// (`isa/ops_core.md` 5.3).
    pub repeat_ends: Vec<u32>,
}

/// Source of some bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct LineEntry {
    /// First byte in the section.
    pub offset: u32,
    /// Bytes.
    pub size: u32,
    /// Index in [`Object::files`].
    pub file: u32,
    /// Line, from 1.
    pub line: u32,
    /// Column, from 1.
    pub column: u32,
    /// True if the bytes are instructions.
    pub code: bool,
}

/// What a symbol names.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub enum SymbolKind {
    /// Nothing was said.
    #[default]
    None,
    /// Code.
    Function,
    /// Data.
    Object,
    /// The section of the same name.
    Section,
}

/// A symbol.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Symbol {
    /// Index of its section; `None`: absolute or undefined.
    pub section: Option<usize>,
    /// Offset in the section, or the absolute value.
    pub value: u32,
    /// Bytes, 0 if unknown.
    pub size: u32,
    /// Seen by other objects.
    pub global: bool,
    /// False for a symbol of another object.
    pub defined: bool,
    /// What it names.
    pub kind: SymbolKind,
    /// An expression over other symbols that only addresses decide, in postfix order; empty for
    /// all others. Such a symbol has no section.
    pub expression: Vec<Step>,
}

/// A step of a postfix expression over 64-bit integers, with the assembler's operators.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Step {
    /// A constant.
    Constant(i64),
    /// The address of the symbol with this index, plus a constant.
    Symbol(usize, i64),
    /// `-`, `~`, `!`.
    Unary(char),
    /// `+ - * / % & | ^ n` (or-not), `l` (`<<`), `r` (`>>`), `=`, `#` (`!=`), `<`, `>`, `[`
    /// (`<=`), `]` (`>=`), `a` (`&&`), `o` (`||`).
    Binary(char),
}

/// A place in a section that depends on an address.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Relocation {
    /// Byte offset of the value or instruction word.
    pub offset: u32,
    /// How the address goes into the bytes.
    pub kind: RelocationKind,
    /// Index in [`Object::symbols`].
    pub symbol: usize,
    /// Added to the symbol's address.
    pub addend: i32,
}

/// How an address `v` goes into bytes (`isa/encoding.md` 5).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum RelocationKind {
    /// A byte, `v` in -128..=255.
    Abs8,
    /// Two bytes, `v` in -32768..=65535; also the low field of an instruction.
    Abs16,
    /// Low 20 bits of an instruction, `v` below 2^20.
    Abs20,
    /// Four bytes.
    Abs32,
    /// Low 18 bits of an instruction: `v >> 2`.
    Word18,
    /// Low 19 bits of an instruction: `v >> 2`, a branch target.
    Word19,
    /// The target of `call`: `v >> 2` in 19 bits.
    Word20,
    /// The offset of `run`: `(v - 0x4c000) >> 2` in bits 11:0 and 19:16.
    Run,
    /// Two bytes: `(v - place) >> 2`, signed.
    Rel16S2,
    /// `(v >> unit_shift)` in `width` bits from bit `shift` on.
    Field {
        /// Lowest bit of the field.
        shift: u8,
        /// Bits.
        width: u8,
        /// Bits of `v` below the unit; they must be 0.
        unit_shift: u8,
    },
}

/// An object with addresses.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Placed {
    /// Address and bytes of each section, in the order of the object.
    pub sections: IndexMap<String, PlacedSection>,
    /// Addresses of the defined symbols; absolute symbols have their value.
    pub symbols: IndexMap<String, u32>,
}

/// A section at its address.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct PlacedSection {
    /// First byte.
    pub address: u32,
    /// All bytes.
    pub bytes: Vec<u8>,
}

impl PlacedSection {
    /// The bytes as little-endian words; a last partial word is filled with zeros.
    pub fn words(&self) -> Vec<u32> {
        self.bytes
            .chunks(4)
            .map(|chunk| {
                let mut word = [0; 4];
                word[..chunk.len()].copy_from_slice(chunk);
                u32::from_le_bytes(word)
            })
            .collect()
    }
}

/// Why an object cannot be placed.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum LinkError {
    /// An address was given for a section that the object does not have.
    #[error("there is no section `{0}`")]
    NoSection(String),
    /// A section has no address.
    #[error("section `{0}` has no address")]
    NoAddress(String),
    /// The address does not suit the section.
    #[error("section `{section}` must be placed at a multiple of {align}, not at {address:#x}")]
    Alignment {
        /// Section.
        section: String,
        /// Its alignment.
        align: u32,
        /// The address.
        address: u32,
    },
    /// The section lies outside the memory that it needs.
    #[error(
        "section `{section}` at {address:#x}..{end:#x} does not lie in {memory} ({from:#x}..{to:#x})"
    )]
    Outside {
        /// Section.
        section: String,
        /// First byte.
        address: u32,
        /// Byte behind the last.
        end: u64,
        /// Name of the memory.
        memory: &'static str,
        /// First byte of the memory.
        from: u32,
        /// Byte behind the last.
        to: u32,
    },
    /// Two sections share bytes.
    #[error("sections `{0}` and `{1}` overlap")]
    Overlap(String, String),
    /// A `rpt` body ends where no code can follow.
    #[error(
        "section `{section}`: the `rpt` body that ends at {address:#x} must be followed by an \
         executable word"
    )]
    RepeatEnd {
        /// Section.
        section: String,
        /// End of the body.
        address: u32,
    },
    /// A symbol that no object defines.
    #[error("symbol `{symbol}` is not defined")]
    Undefined {
        /// Name.
        symbol: String,
        /// Section and offset of the first place that needs it.
        place: Option<(String, u32)>,
    },
    /// A value does not fit its place.
    #[error("{what} is {value:#x}, but must be {range}")]
    Range {
        /// The symbol and addend.
        what: String,
        /// The value.
        value: i64,
        /// The values that fit.
        range: String,
        /// Section and offset.
        place: (String, u32),
    },
    /// An expression divides by zero or refers to itself.
    #[error("the value of an expression cannot be computed: {0}")]
    Expression(String),
    /// An index points nowhere: the object was not made by the assembler.
    #[error("the object is inconsistent: {0}")]
    Inconsistent(&'static str),
}

impl LinkError {
    /// Section and offset of the bytes concerned.
    pub fn place(&self) -> Option<(&str, u32)> {
        match self {
            LinkError::Undefined {
                place: Some((section, offset)),
                ..
            }
            | LinkError::Range {
                place: (section, offset),
                ..
            } => Some((section, *offset)),
            _ => None,
        }
    }
}
