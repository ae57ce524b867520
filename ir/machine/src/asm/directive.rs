//! Directives: sections, symbols, data, modes.

use super::expr::ParseError;
use super::lex::Tok;
use super::source::Stmt;
use super::state::{SectionBuild, Span};
use super::suggest::nearest;
use super::{Assembler, Severity};
use crate::Context;
use crate::object::SymbolKind;

/// All directives, for suggestions.
const ALL: &[&str] = &[
    ".2byte",
    ".4byte",
    ".8byte",
    ".align",
    ".allow_invalid_repeat",
    ".allow_optimizations",
    ".altmacro",
    ".ascii",
    ".asciz",
    ".balign",
    ".bss",
    ".byte",
    ".data",
    ".else",
    ".elseif",
    ".end",
    ".endif",
    ".endm",
    ".endr",
    ".equ",
    ".equiv",
    ".err",
    ".error",
    ".exitm",
    ".extern",
    ".file",
    ".fill",
    ".float",
    ".global",
    ".globl",
    ".half",
    ".hidden",
    ".hword",
    ".ident",
    ".if",
    ".ifb",
    ".ifc",
    ".ifdef",
    ".ifeq",
    ".ifeqs",
    ".ifge",
    ".ifgt",
    ".ifle",
    ".iflt",
    ".ifnb",
    ".ifnc",
    ".ifndef",
    ".ifne",
    ".ifnes",
    ".int",
    ".irp",
    ".irpc",
    ".loc",
    ".local",
    ".long",
    ".macro",
    ".noaltmacro",
    ".org",
    ".p2align",
    ".popsection",
    ".previous",
    ".protected",
    ".purgem",
    ".pushsection",
    ".quad",
    ".rept",
    ".rodata",
    ".section",
    ".set",
    ".sleb128",
    ".short",
    ".single",
    ".size",
    ".skip",
    ".space",
    ".string",
    ".supervisor",
    ".text",
    ".type",
    ".warning",
    ".weak",
    ".word",
    ".worker",
    ".zero",
];

/// Directives that say nothing about words: debugging information and layout of listings.
fn ignored(name: &str) -> bool {
    matches!(
        name,
        ".file"
            | ".loc"
            | ".ident"
            | ".line"
            | ".ln"
            | ".title"
            | ".sbttl"
            | ".list"
            | ".nolist"
            | ".eject"
            | ".psize"
            | ".version"
            | ".addrsig"
            | ".addrsig_sym"
            | ".print"
            | ".stabs"
            | ".stabn"
            | ".stabd"
            | ".arch"
            | ".cpu"
            | ".code32"
            | ".intel_syntax"
            | ".att_syntax"
            | ".desc"
            | ".lsym"
            | ".symver"
            | ".vtable_entry"
            | ".vtable_inherit"
            | ".gnu_attribute"
            | ".subsection"
    ) || name.starts_with(".cfi_")
}

impl Assembler<'_> {
    /// Handles the directive `name` (lower case) of `stmt`; its arguments start at byte `at`.
    pub(super) fn directive(&mut self, name: &str, stmt: &Stmt, at: usize, span: &Span) {
        let rest = stmt.text()[at..].to_string();
        let whole = Span::whole(stmt);
        match name {
            ".macro" | ".rept" | ".rep" | ".irp" | ".irpc" => self.block(name, &rest, &whole),
            ".endm" | ".endmacro" => self.error(span, "`.endm` without `.macro`"),
            ".endr" => self.error(span, "`.endr` without `.rept`, `.irp` or `.irpc`"),
            ".exitm" => self.exit_macro(span),
            ".purgem" => {
                let name = rest.trim();
                if self.macros.shift_remove(name).is_none() {
                    self.error(&whole, format!("there is no macro `{name}`"));
                }
            }
            ".altmacro" => self.alt = true,
            ".noaltmacro" => self.alt = false,
            ".worker" => self.mode(Context::Worker, span),
            ".supervisor" => self.mode(Context::Supervisor, span),
            ".allow_optimizations" => self.reorder = true,
            ".allow_invalid_repeat" => self.check_rpt = false,
            ".set" | ".equ" | ".equiv" | ".eqv" => {
                let lead = rest.len() - rest.trim_start().len();
                let body = rest.trim_start();
                match body.split_once(',') {
                    Some((symbol, value)) if is_symbol(symbol.trim()) => {
                        let skip = at + lead + body.len() - value.len();
                        let symbol = symbol.trim().to_string();
                        self.assign(&symbol, stmt, skip, name == ".equiv");
                    }
                    _ => self.error(&whole, format!("expected `{name} NAME, value`")),
                }
            }
            ".globl" | ".global" | ".weak" | ".extern" | ".local" | ".hidden" | ".protected"
            | ".internal" => self.visibility(name, &rest, &whole),
            ".type" => self.symbol_type(&rest, &whole),
            ".size" => self.symbol_size(stmt, at, &whole),
            ".comm" | ".lcomm" => self.error_with(
                span,
                format!("`{name}` is not supported"),
                None,
                Some("write a label and `.space` in `.data` or `.bss`".to_string()),
            ),
            ".text" | ".data" | ".bss" | ".rodata" => self.enter(name, None, &whole),
            ".section" | ".pushsection" => self.section(name, stmt, at, &whole),
            ".previous" => {
                self.leave_bundle_for(span);
                std::mem::swap(&mut self.current, &mut self.previous);
            }
            ".popsection" => match self.section_stack.pop() {
                Some((current, previous)) => {
                    self.leave_bundle_for(span);
                    (self.current, self.previous) = (current, previous);
                }
                None => self.error(span, "`.popsection` without `.pushsection`"),
            },
            ".byte" | ".1byte" | ".dc.b" => self.data(1, stmt, at),
            ".short" | ".half" | ".hword" | ".2byte" | ".value" | ".dc.w" => {
                self.data(2, stmt, at);
            }
            ".long" | ".word" | ".int" | ".4byte" | ".dc.l" => self.data(4, stmt, at),
            ".quad" | ".8byte" | ".xword" => self.data(8, stmt, at),
            ".uleb128" | ".sleb128" => self.leb(name == ".sleb128", stmt, at, &whole),
            ".float" | ".single" => self.floats(4, stmt, at),
            ".double" => self.floats(8, stmt, at),
            ".ascii" => self.strings(false, stmt, at),
            ".asciz" | ".string" => self.strings(true, stmt, at),
            ".space" | ".skip" | ".zero" => self.space(name, stmt, at, &whole),
            ".fill" => self.fill(stmt, at, &whole),
            ".align" | ".balign" | ".p2align" | ".balignw" | ".balignl" | ".p2alignw"
            | ".p2alignl" => self.align(name, stmt, at, &whole),
            ".org" => {
                let parsed = self.parse_tail(stmt, at, |cursor, names| {
                    let to = cursor.expr(names)?;
                    let fill = if cursor.eat(",") {
                        Some(cursor.expr(names)?)
                    } else {
                        None
                    };
                    cursor.finish()?;
                    Ok((to, fill))
                });
                if let Some((to, fill)) = parsed {
                    let fill = match fill {
                        Some(fill) => self.constant(&fill, &whole).unwrap_or(0),
                        None => 0,
                    };
                    self.org(to, fill as u8, &whole);
                }
            }
            ".error" => {
                let message = text_of(&rest).unwrap_or_else(|| "`.error` in the text".to_string());
                self.error(&whole, message);
            }
            ".err" | ".abort" | ".fail" => self.error(&whole, format!("`{name}` in the text")),
            ".warning" => {
                let message =
                    text_of(&rest).unwrap_or_else(|| "`.warning` in the text".to_string());
                self.report(Severity::Warning, &whole, message, None, None);
            }
            ".end" => self.ended = true,
            ".include" | ".incbin" => self.error_with(
                span,
                format!("`{name}` is not supported"),
                None,
                Some("run the C preprocessor first; its line markers are understood".to_string()),
            ),
            _ if ignored(name) => {}
            _ => {
                let help = nearest(name, ALL.iter().copied())
                    .map(|near| format!("did you mean `{near}`?"));
                self.error_with(span, format!("unknown directive `{name}`"), None, help);
            }
        }
    }

    pub(super) fn mode(&mut self, context: Context, span: &Span) {
        self.leave_bundle_for(span);
        self.context = context;
    }

    /// Reports an open bundle before something that cannot stand in one.
    pub(super) fn leave_bundle_for(&mut self, span: &Span) {
        if self.bundle.is_some() {
            self.in_bundle(span, "this directive cannot stand inside a bundle");
        }
    }

    // Symbols

    pub(super) fn visibility(&mut self, name: &str, rest: &str, span: &Span) {
        for symbol in rest.split(',').map(str::trim) {
            let symbol = symbol.trim_matches('"');
            if !is_symbol(symbol) {
                self.error(span, format!("expected `{name} NAME, ...`"));
                return;
            }
            let id = self.symbols.intern(symbol);
            let entry = self.symbols.get_mut(id);
            match name {
                ".globl" | ".global" | ".weak" => {
                    entry.global = true;
                    entry.external = true;
                }
                ".extern" => entry.external = true,
                ".local" => entry.global = false,
                _ => {}
            }
        }
    }

    pub(super) fn symbol_type(&mut self, rest: &str, span: &Span) {
        let mut parts = rest.splitn(2, ',').map(str::trim);
        let (Some(symbol), Some(kind)) = (parts.next(), parts.next()) else {
            // `.type name @function` without the comma is seen too.
            let mut words = rest.split_whitespace();
            match (words.next(), words.next()) {
                (Some(symbol), Some(kind)) if is_symbol(symbol) => {
                    self.set_type(symbol, kind, span);
                }
                _ => self.error(span, "expected `.type NAME, @function` or `@object`"),
            }
            return;
        };
        if !is_symbol(symbol) {
            self.error(span, "expected `.type NAME, @function` or `@object`");
            return;
        }
        self.set_type(symbol, kind, span);
    }

    pub(super) fn set_type(&mut self, symbol: &str, kind: &str, span: &Span) {
        let word = kind.trim_matches(['@', '%', '"', '#', ' ']);
        let kind = match word.to_ascii_lowercase().as_str() {
            "function" | "stt_func" | "gnu_indirect_function" => SymbolKind::Function,
            "object" | "stt_object" | "tls_object" | "common" => SymbolKind::Object,
            "notype" | "stt_notype" => SymbolKind::None,
            _ => {
                self.error(span, format!("unknown symbol type `{word}`"));
                return;
            }
        };
        let id = self.symbols.intern(symbol);
        self.symbols.get_mut(id).kind = kind;
    }

    pub(super) fn symbol_size(&mut self, stmt: &Stmt, at: usize, span: &Span) {
        let parsed = self.parse_tail(stmt, at, |cursor, names| {
            let token = cursor.next();
            let name = match &token.tok {
                Tok::Ident(name) => name.clone(),
                Tok::Str(name) => String::from_utf8_lossy(name).into_owned(),
                _ => return Err(ParseError::at(token, "expected `.size NAME, value`")),
            };
            cursor.expect(",")?;
            let size = cursor.expr(names)?;
            cursor.finish()?;
            Ok((name, size))
        });
        if let Some((name, size)) = parsed {
            let id = self.symbols.intern(&name);
            self.symbols.get_mut(id).size = Some((size, span.clone()));
        }
    }

    // Sections

    pub(super) fn section(&mut self, directive: &str, stmt: &Stmt, at: usize, span: &Span) {
        let rest = stmt.text()[at..].trim();
        let (name, after) = if let Some(quoted) = rest.strip_prefix('"') {
            match quoted.split_once('"') {
                Some((name, after)) => (name, after),
                None => ("", ""),
            }
        } else {
            let end = rest
                .find(|c: char| c == ',' || c.is_whitespace())
                .unwrap_or(rest.len());
            rest.split_at(end)
        };
        if name.is_empty() || name.chars().any(char::is_control) {
            self.error(span, format!("expected `{directive} NAME, \"flags\"`"));
            return;
        }
        let flags = after
            .trim_start()
            .strip_prefix(',')
            .and_then(|a| a.trim_start().strip_prefix('"'))
            .and_then(|a| a.split_once('"'))
            .map(|(flags, _)| flags.to_string());
        if directive == ".pushsection" {
            self.section_stack.push((self.current, self.previous));
        }
        let name = name.to_string();
        self.enter(&name, flags.as_deref(), span);
    }

    pub(super) fn enter(&mut self, name: &str, flags: Option<&str>, span: &Span) {
        self.leave_bundle_for(span);
        let index = match self.sections.iter().position(|s| s.name == name) {
            Some(index) => index,
            None => {
                let executable = match flags {
                    Some(flags) => flags.contains('x'),
                    None => name == ".text" || name.starts_with(".text."),
                };
                self.sections.push(SectionBuild::new(name, executable));
                self.sections.len() - 1
            }
        };
        let section = &mut self.sections[index];
        if section.span.is_none() {
            section.span = Some(span.clone());
        }
        if flags.is_some_and(|f| f.contains('x')) {
            section.executable = true;
        }
        if index != self.current {
            self.previous = self.current;
            self.current = index;
        }
    }
}

fn is_symbol(name: &str) -> bool {
    !name.is_empty()
        && name.starts_with(super::is_ident_start)
        && name.chars().all(super::is_ident)
        && name != "."
}

/// The string that is the argument of `.error`.
fn text_of(rest: &str) -> Option<String> {
    let inner = rest.trim().strip_prefix('"')?.strip_suffix('"')?;
    (!inner.is_empty()).then(|| inner.to_string())
}
