//! The assembler: GNU-style text to an [`Object`].
//!
//! # The dialect
//!
//! A statement ends at a line end or `;`. Comments: `//`, `#` and `/* */`; `# 12 "file"` at the
//! start of a line is a preprocessor's line marker. A bundle is `{ main ; aux }` on one line or
//! over several; `.allow_optimizations` lets the members stand in the other order. Code starts in
//! the context of [`Options::context`]; `.worker` and `.supervisor` change it. Labels are global
//! names, `.L` names that stay in the file, and numbers (`1:`, used as `1b` and `1f`).
//!
//! `.` is the address of its statement, of the bundle inside one. A branch operand is a byte
//! address; a symbol on `run` means `(address - 0x4c000) / 4`. `.align n` aligns to n bytes,
//! `.p2align n` to `2^n`; code is padded with `nop`. A name set by `.set` or `=` may be set
//! again, a use takes the value of its place. Comparisons give 1 or 0.
//!
//! Of the immediate forms of a mnemonic the signed one is taken where the value fits, else the one
//! that holds the top 12 bits, else the zero-extended one. Values may depend on later labels;
//! they are chosen when all sizes are known.
//!
//! # Stages
//!
//! `source` strips comments and cuts statements, `input` expands macros, repetitions and
//! conditions, `directive` and `select` turn statements into items of sections, `layout` gives
//! items their offsets, checks `rpt` bodies and writes bytes and relocations. Errors are
//! collected; nothing stops at the first.

mod code;
mod data;
mod diag;
mod directive;
mod emit;
mod eval;
mod expr;
mod input;
mod layout;
mod lex;
mod line;
mod link;
mod macros;
mod named;
mod operand;
mod pseudo;
mod repeat;
mod report;
mod select;
mod source;
mod state;
mod suggest;

use std::collections::BTreeMap;
use std::rc::Rc;

use indexmap::IndexMap;

pub(crate) use code::is_rpt;
pub use diag::{Diagnostic, Diagnostics, Location, Severity};
pub(crate) use expr::{apply_binary, apply_unary};
pub(crate) use line::encode_line;
pub(crate) use link::relocation;

use crate::Context;
use crate::object::{LinkError, Object};
use expr::PosId;
use input::{Condition, Expansion, Frame};
use lex::{is_ident, is_ident_start};
use macros::Macro;
use select::Member;
use source::{Loc, Stmt};
use state::{Def, Item, Pos, SectionBuild, Span, Symbols};

/// Bytes that a section may have: the architectural address space of 21 bits.
const MAX_SECTION: u32 = 1 << 21;
/// Errors after which the rest is not reported one by one.
const MAX_ERRORS: usize = 200;
/// Errors of statements that have been reported already (in other expansions) after which the run
/// ends: a long repetition of a wrong statement is not worth its time.
const MAX_REPEATED: u32 = 2000;

/// What the command line decides.
#[derive(Clone, Debug)]
pub struct Options {
    /// Name of the input in messages.
    pub file: String,
    /// Context at the start of the text.
    pub context: Context,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            file: "<input>".to_string(),
            context: Context::Worker,
        }
    }
}

/// A line of a listing: bytes of a section and the statement that made them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ListingLine {
    /// Index of the section in the object.
    pub section: usize,
    /// First byte in the section.
    pub offset: u32,
    /// Bytes.
    pub size: u32,
    /// Index of the file in [`Object::files`].
    pub file: u32,
    /// Line, from 1; of the body for statements out of a macro.
    pub line: u32,
    /// The statement, macro arguments filled in.
    pub text: String,
}

/// The result of a run.
#[derive(Clone, PartialEq, Debug)]
pub struct Assembly {
    /// Sections, symbols, relocations.
    pub object: Object,
    /// What made which bytes, by section and offset.
    pub listing: Vec<ListingLine>,
    /// Messages that are no errors.
    pub warnings: Diagnostics,
    /// Text of the places that need an address: section, offset, place.
    pub address_uses: Vec<(usize, u32, Location)>,
}

impl Assembly {
    /// A link error as a message with its place in the text.
    pub fn diagnose(&self, error: &LinkError) -> Diagnostic {
        let found = error.place().and_then(|(section, offset)| {
            let index = self.object.sections.get_index_of(section)?;
            self.address_uses
                .iter()
                .find(|(s, o, _)| *s == index && *o == offset)
        });
        let location = match found {
            Some((_, _, location)) => location.clone(),
            None => Location {
                file: self.object.files.first().cloned().unwrap_or_default(),
                line: 0,
                column: 0,
                length: 0,
                text: String::new(),
            },
        };
        Diagnostic {
            severity: Severity::Error,
            message: error.to_string(),
            label: String::new(),
            location,
            notes: Vec::new(),
            help: match error {
                LinkError::Undefined { .. } => Some(
                    "it is declared as a symbol of another object; `-o` keeps it for the linker"
                        .to_string(),
                ),
                _ => None,
            },
        }
    }
}

/// Assembles `text`.
///
/// # Errors
/// All errors of the text, each with its place.
pub fn assemble(text: &str, options: &Options) -> Result<Assembly, Diagnostics> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let source = source::split(text, &options.file);
    let mut assembler = Assembler {
        lines: text.split('\n').collect(),
        ascii: text.is_ascii(),
        files: source.files,
        expansions: vec![Expansion {
            what: String::new(),
            call: Span {
                stmt: Stmt::expanded(
                    String::new(),
                    Loc {
                        file: 0,
                        line: 1,
                        physical: 0,
                        column: 0,
                        expansion: 0,
                    },
                    true,
                ),
                start: 0,
                end: 0,
            },
        }],
        diagnostics: Vec::new(),
        frames: vec![Frame::plain(source.stmts)],
        conditions: Vec::new(),
        macros: IndexMap::new(),
        macro_count: 0,
        alt: false,
        symbols: Symbols::default(),
        positions: Vec::new(),
        near: BTreeMap::new(),
        near_uses: Vec::new(),
        sections: vec![SectionBuild::new(".text", true)],
        current: 0,
        previous: 0,
        section_stack: Vec::new(),
        context: options.context,
        reorder: false,
        check_rpt: true,
        bundle: None,
        here: None,
        spent: 0,
        spent_bytes: 0,
        repeated: 0,
        stop: false,
        ended: false,
    };
    for (loc, message) in source.unclosed {
        let stmt = Stmt::expanded(String::new(), loc, true);
        assembler.error(&Span::whole(&stmt), message);
    }
    for loc in source.preprocessor {
        let stmt = Stmt::expanded(String::new(), loc, true);
        assembler.report(
            Severity::Warning,
            &Span::whole(&stmt),
            "this looks like a line for the C preprocessor, but is a comment here".to_string(),
            None,
            Some("run the preprocessor first; its line markers are understood".to_string()),
        );
    }
    assembler.run();
    assembler.finish()
}

/// A bundle that is open.
struct OpenBundle {
    span: Span,
    members: Vec<Member>,
    failed: bool,
}

struct Assembler<'t> {
    lines: Vec<&'t str>,
    /// The whole text is ASCII.
    ascii: bool,
    files: Vec<String>,
    expansions: Vec<Expansion>,
    diagnostics: Vec<Diagnostic>,
    frames: Vec<Frame>,
    conditions: Vec<Condition>,
    macros: IndexMap<String, Rc<Macro>>,
    macro_count: u32,
    alt: bool,
    symbols: Symbols,
    positions: Vec<Pos>,
    /// Definitions of numeric labels.
    near: BTreeMap<u32, Vec<PosId>>,
    /// Forward uses: number, index of the definition that is meant.
    near_uses: Vec<(u32, u32, Span)>,
    sections: Vec<SectionBuild>,
    current: usize,
    previous: usize,
    section_stack: Vec<(usize, usize)>,
    context: Context,
    /// `.allow_optimizations` was given.
    reorder: bool,
    check_rpt: bool,
    bundle: Option<OpenBundle>,
    /// Place of the current statement, made when asked for.
    here: Option<PosId>,
    /// Statements read so far.
    spent: u32,
    /// Bytes of expanded text so far.
    spent_bytes: usize,
    /// Errors that repeat one that was reported.
    repeated: u32,
    stop: bool,
    /// `.end` was seen.
    ended: bool,
}

impl Assembler<'_> {
    fn run(&mut self) {
        while let Some(stmt) = self.next_stmt() {
            self.statement(stmt);
            if self.stop || self.ended {
                break;
            }
        }
        if self.spent > 0 && self.stop && !self.has_errors() {
            let last = self.expansions.last().map(|e| e.call.clone());
            if let Some(span) = last {
                let message = if self.spent_bytes > input::MAX_TEXT {
                    "the text expands to more than 128 MiB"
                } else {
                    "the text expands to more than 2000000 statements"
                };
                self.error(&span, message);
            }
        }
        if !self.ended {
            self.check_open_conditions();
        }
        self.drop_open_bundle();
    }

    fn has_errors(&self) -> bool {
        self.diagnostics
            .iter()
            .any(|d| d.severity == Severity::Error)
    }

    /// Handles one statement: labels, then what follows them.
    fn statement(&mut self, mut stmt: Stmt) {
        self.here = None;
        loop {
            let text = stmt.text();
            if self.skipping() {
                let (name, at) = head(text);
                // A label may stand before the directive that ends the skipping.
                if let Some(after) = label_end(text, at) {
                    stmt = stmt.tail(after);
                    continue;
                }
                if name.starts_with('.') {
                    let name = name.to_ascii_lowercase();
                    let span = Span::whole(&stmt);
                    let rest = text[at..].to_string();
                    self.conditional(&name, &rest, &span);
                }
                return;
            }
            match text {
                "" => return,
                "{" => return self.open_bundle(&stmt),
                "}" => return self.close_bundle(&stmt),
                _ => {}
            }
            let (name, at) = head(text);
            if let Some(after) = label_end(text, at) {
                let name = name.to_string();
                let span = Span::whole(&stmt).part(0, at as u32);
                self.label(&name, &span);
                stmt = stmt.tail(after);
                self.here = None;
                continue;
            }
            return self.instruction_or_directive(&stmt);
        }
    }

    fn instruction_or_directive(&mut self, stmt: &Stmt) {
        let text = stmt.text();
        let (name, at) = head(text);
        let span = Span::whole(stmt);
        let name_span = span.part(0, at as u32);
        if name.is_empty() || !name.starts_with(is_ident_start) {
            let first = text.chars().next().map_or(0, char::len_utf8);
            self.error(
                &span.part(0, first.max(1) as u32),
                "expected a label, a directive or an instruction",
            );
            self.spoil_bundle();
            return;
        }
        let rest = &text[at..];
        if let Some(definition) = self.macros.get(name).cloned() {
            let arguments = rest.to_string();
            self.call_macro(&definition, &arguments, &span);
            return;
        }
        let trimmed = rest.trim_start();
        if let Some(value) = trimmed.strip_prefix('=') {
            let value = value.strip_prefix('=').unwrap_or(value);
            let skip = text.len() - value.len();
            self.assign(name, stmt, skip, false);
            return;
        }
        if name.starts_with('.') {
            let lower = name.to_ascii_lowercase();
            if !self.conditional(&lower, rest, &span) {
                self.directive(&lower, stmt, at, &name_span);
            }
            return;
        }
        self.instruction(stmt, name, at);
    }

    // Labels and symbols

    /// The place of the next byte.
    fn position(&mut self) -> PosId {
        let section = &self.sections[self.current];
        let (item, within) = match section.items.last() {
            Some(Item::Bytes(bytes)) => (section.items.len() - 1, bytes.len() as u32),
            _ => (section.items.len(), 0),
        };
        self.positions.push(Pos {
            section: self.current,
            item,
            within,
            epoch: section.epoch,
            offset: section.offset,
        });
        self.positions.len() as PosId - 1
    }

    fn label(&mut self, name: &str, span: &Span) {
        if let Some(bundle) = &mut self.bundle {
            // Most likely the closing brace is missing.
            if bundle.members.is_empty() {
                bundle.failed = true;
                self.error(span, "a label cannot stand inside a bundle");
                return;
            }
            self.drop_open_bundle();
        }
        let at = self.position();
        if name.starts_with(|c: char| c.is_ascii_digit()) {
            match name.parse::<u32>() {
                Ok(number) => self.near.entry(number).or_default().push(at),
                Err(_) => self.error(span, "expected a label: a name or a number before `:`"),
            }
            return;
        }
        let id = self.symbols.intern(name);
        let symbol = self.symbols.get_mut(id);
        if !matches!(symbol.def, Def::None) {
            let earlier = symbol.defined_at.clone();
            self.error_with(
                span,
                format!("symbol `{name}` is defined twice"),
                earlier.map(|s| ("it was defined here".to_string(), s)),
                None,
            );
            return;
        }
        symbol.def = Def::Label(at);
        symbol.fixed = true;
        symbol.defined_at = Some(span.clone());
    }

    /// `.set name, value` or `name = value`; the value starts at byte `at`.
    fn assign(&mut self, name: &str, stmt: &Stmt, at: usize, once: bool) {
        let name = name.to_string();
        let span = Span::whole(stmt);
        let Some(value) = self.parse_tail(stmt, at, |cursor, names| {
            let value = cursor.expr(names)?;
            cursor.finish()?;
            Ok(value)
        }) else {
            return;
        };
        if name == "." {
            self.org(value, 0, &span);
            return;
        }
        let id = self.symbols.intern(&name);
        let symbol = self.symbols.get_mut(id);
        if symbol.fixed || once && !matches!(symbol.def, Def::None) {
            let earlier = symbol.defined_at.clone();
            self.error_with(
                &span,
                format!("symbol `{name}` is defined already and cannot be set again"),
                earlier.map(|s| ("it was defined here".to_string(), s)),
                None,
            );
            return;
        }
        symbol.def = Def::Set(value);
        symbol.fixed = once;
        symbol.defined_at = Some(span);
    }

    fn is_defined(&self, name: &str) -> bool {
        self.symbols
            .0
            .get(name)
            .is_some_and(|s| !matches!(s.def, Def::None))
    }
}

/// The first word of `text` and its length in bytes.
fn head(text: &str) -> (&str, usize) {
    let len = text.find(|c| !is_ident(c)).unwrap_or(text.len());
    (&text[..len], len)
}

/// First byte behind the colon and blanks if the word of `len` bytes at the start of `text` is a label.
fn label_end(text: &str, len: usize) -> Option<usize> {
    if len == 0 {
        return None;
    }
    let after = text[len..].trim_start().strip_prefix(':')?;
    Some(text.len() - after.trim_start().len())
}
