//! What the assembler collects: sections of items, symbols, places.

use indexmap::IndexMap;

use super::expr::{Expr, PosId, SymId};
use super::select::Code;
use super::source::Stmt;
use crate::object::SymbolKind;

/// A part of a statement.
#[derive(Clone, Debug)]
pub(super) struct Span {
    pub stmt: Stmt,
    /// Bytes of the statement's text.
    pub start: u32,
    pub end: u32,
}

impl Span {
    pub fn whole(stmt: &Stmt) -> Span {
        Span {
            stmt: stmt.clone(),
            start: 0,
            end: stmt.text().len() as u32,
        }
    }

    pub fn part(&self, start: u32, end: u32) -> Span {
        Span {
            stmt: self.stmt.clone(),
            start,
            end: end.max(start),
        }
    }
}

/// A place: byte `within` of an item.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pos {
    pub section: usize,
    pub item: usize,
    pub within: u32,
    /// Epoch of the section, and the offset as counted while reading.
    pub epoch: u32,
    pub offset: u32,
}

/// What a name stands for.
#[derive(Clone, Debug)]
pub(super) enum Def {
    None,
    Label(PosId),
    Set(Expr),
}

#[derive(Clone, Debug)]
pub(super) struct Sym {
    pub def: Def,
    /// Where it was defined last.
    pub defined_at: Option<Span>,
    /// First use in an expression.
    pub used_at: Option<Span>,
    pub uses: u32,
    /// `.globl`, `.weak`, `.extern`: may stay undefined.
    pub global: bool,
    pub external: bool,
    /// `.equiv` and labels cannot be set again.
    pub fixed: bool,
    pub kind: SymbolKind,
    pub size: Option<(Expr, Span)>,
}

/// Bytes of a section in the order of the text.
#[derive(Debug)]
pub(super) enum Item {
    Bytes(Vec<u8>),
    Data {
        width: u8,
        expr: Expr,
        span: Span,
    },
    Code(Box<CodeItem>),
    Align {
        to: u32,
        /// Pattern and its width, `None`: nop in code, zero elsewhere.
        fill: Option<(u64, u8)>,
        max: Option<u32>,
        span: Span,
    },
    Org {
        to: Expr,
        fill: u8,
        span: Span,
    },
}

#[derive(Debug)]
pub(super) struct CodeItem {
    pub code: Code,
    /// The statement (of the main member).
    pub span: Span,
    /// Its operands.
    pub tail: Span,
    /// Line that listings give: of the statement, of the closing brace of a bundle.
    pub line: u32,
    /// Statement and operands of the aux member.
    pub aux_tail: Option<(Span, Span)>,
    /// Bytes; grows from 4 to 8 for a `ldconst` of a large value that is known late.
    pub size: u32,
    /// `rpt` bodies are checked.
    pub check_rpt: bool,
}

#[derive(Debug)]
pub(super) struct SectionBuild {
    pub name: String,
    pub executable: bool,
    pub align: u32,
    pub items: Vec<Item>,
    /// Offset of the next byte as far as sizes are known.
    pub offset: u32,
    /// Counts the items before whose size is not known yet: differences of places of one epoch are
    /// exact, and offsets of epoch 0.
    pub epoch: u32,
    /// Place where the section was opened first.
    pub span: Option<Span>,
}

impl SectionBuild {
    pub fn new(name: &str, executable: bool) -> SectionBuild {
        SectionBuild {
            name: name.to_string(),
            executable,
            align: 4,
            items: Vec::new(),
            offset: 0,
            epoch: 0,
            span: None,
        }
    }
}

/// Interned symbols in order of first mention.
#[derive(Default)]
pub(super) struct Symbols(pub IndexMap<String, Sym>);

impl Symbols {
    pub fn intern(&mut self, name: &str) -> SymId {
        if let Some(index) = self.0.get_index_of(name) {
            return index as SymId;
        }
        let (index, _) = self.0.insert_full(
            name.to_string(),
            Sym {
                def: Def::None,
                defined_at: None,
                used_at: None,
                uses: 0,
                global: false,
                external: false,
                fixed: false,
                kind: SymbolKind::None,
                size: None,
            },
        );
        index as SymId
    }

    pub fn get(&self, id: SymId) -> &Sym {
        &self.0[id as usize]
    }

    pub fn get_mut(&mut self, id: SymId) -> &mut Sym {
        &mut self.0[id as usize]
    }

    pub fn name(&self, id: SymId) -> &str {
        self.0.get_index(id as usize).map_or("", |(name, _)| name)
    }
}
