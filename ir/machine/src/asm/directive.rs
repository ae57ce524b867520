//! Directives: sections, symbols, data, modes.

use super::expr::{Cursor, Expr, ParseError, describe};
use super::lex::Tok;
use super::source::Stmt;
use super::state::{Item, SectionBuild, Span};
use super::suggest::nearest;
use super::{Assembler, MAX_SECTION, Now, Severity};
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

    fn mode(&mut self, context: Context, span: &Span) {
        self.leave_bundle_for(span);
        self.context = context;
    }

    /// Reports an open bundle before something that cannot stand in one.
    fn leave_bundle_for(&mut self, span: &Span) {
        if self.bundle.is_some() {
            self.in_bundle(span, "this directive cannot stand inside a bundle");
        }
    }

    // Symbols

    fn visibility(&mut self, name: &str, rest: &str, span: &Span) {
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

    fn symbol_type(&mut self, rest: &str, span: &Span) {
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

    fn set_type(&mut self, symbol: &str, kind: &str, span: &Span) {
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

    fn symbol_size(&mut self, stmt: &Stmt, at: usize, span: &Span) {
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

    fn section(&mut self, directive: &str, stmt: &Stmt, at: usize, span: &Span) {
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

    fn enter(&mut self, name: &str, flags: Option<&str>, span: &Span) {
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

    // Data

    /// Appends an item of `size` bytes; reports a section that is too large.
    pub(super) fn push(&mut self, item: Item, size: u32, span: &Span) {
        let section = &mut self.sections[self.current];
        if size > MAX_SECTION || section.offset + size > MAX_SECTION {
            let name = section.name.clone();
            section.offset = 0;
            self.error(
                span,
                format!("section `{name}` is larger than the address space ({MAX_SECTION} bytes)"),
            );
            self.stop = true;
            return;
        }
        section.offset += size;
        section.items.push(item);
    }

    /// Appends known bytes.
    fn push_bytes(&mut self, bytes: &[u8], span: &Span) {
        self.leave_bundle_for_data(span);
        let section = &mut self.sections[self.current];
        let size = bytes.len() as u32;
        if let Some(Item::Bytes(last)) = section.items.last_mut()
            && section.offset + size <= MAX_SECTION
        {
            last.extend_from_slice(bytes);
            section.offset += size;
            return;
        }
        self.push(Item::Bytes(bytes.to_vec()), size, span);
    }

    /// Reports something that cannot stand in the open bundle; after two members it is the brace
    /// that is missing.
    fn in_bundle(&mut self, span: &Span, message: &str) {
        if self.bundle.as_ref().is_some_and(|b| b.members.len() == 2) {
            self.drop_open_bundle();
        } else {
            self.error(span, message);
            self.spoil_bundle();
        }
    }

    fn leave_bundle_for_data(&mut self, span: &Span) {
        if self.bundle.is_some() {
            self.in_bundle(span, "data cannot stand inside a bundle");
        }
    }

    fn data(&mut self, width: u8, stmt: &Stmt, at: usize) {
        let parsed = self.parse_tail(stmt, at, |cursor, names| {
            let mut values = Vec::new();
            loop {
                let start = cursor.peek().start;
                let value = cursor.expr(names)?;
                values.push((value, start, cursor.last_end()));
                if !cursor.eat(",") {
                    break;
                }
                if cursor.at_end() {
                    break;
                }
            }
            cursor.finish()?;
            Ok(values)
        });
        let tail = Span::whole(&stmt.tail(at));
        let Some(values) = parsed else {
            // Sizes of later differences stay right.
            let count = stmt.text()[at..].split(',').count();
            self.push_bytes(&vec![0; count * usize::from(width)], &tail);
            return;
        };
        for (value, start, end) in values {
            let span = tail.part(start, end);
            match value.as_const() {
                Some(number) => {
                    if !fits(number, width) {
                        self.error(&span, out_of_range(number, width));
                    }
                    self.push_bytes(&number.to_le_bytes()[..usize::from(width)], &span);
                }
                None => {
                    self.leave_bundle_for_data(&span);
                    self.used(&value, &span);
                    let item = Item::Data {
                        width,
                        expr: value,
                        span: span.clone(),
                    };
                    self.push(item, width.into(), &span);
                }
            }
        }
    }

    /// Numbers in the variable-length form of debugging sections.
    fn leb(&mut self, signed: bool, stmt: &Stmt, at: usize, span: &Span) {
        let values = self.parse_tail(stmt, at, expressions).unwrap_or_default();
        for value in values.into_iter().flatten() {
            let Some(mut value) = self.constant(&value, span) else {
                return;
            };
            if value < 0 && !signed {
                return self.error(span, format!("`.uleb128` cannot hold {value}"));
            }
            let mut bytes = Vec::new();
            loop {
                let byte = (value & 0x7f) as u8;
                value >>= 7;
                let sign = byte & 0x40 != 0;
                let done = value == 0 && !(signed && sign) || value == -1 && signed && sign;
                bytes.push(if done { byte } else { byte | 0x80 });
                if done {
                    break;
                }
            }
            self.push_bytes(&bytes, span);
        }
    }

    fn floats(&mut self, width: usize, stmt: &Stmt, at: usize) {
        let parsed = self.parse_tail(stmt, at, |cursor, names| {
            let mut values = Vec::new();
            loop {
                let negative = cursor.eat("-");
                let token = cursor.peek();
                let value = match token.tok {
                    Tok::Float(value) => value,
                    Tok::Single(bits) => f32::from_bits(bits).into(),
                    Tok::Num(value) => value as f64,
                    Tok::Ident(_) => {
                        let value = cursor.expr(names)?;
                        match value.as_const() {
                            Some(value) => {
                                values.push(if negative {
                                    -(value as f64)
                                } else {
                                    value as f64
                                });
                                if !cursor.eat(",") {
                                    break;
                                }
                                continue;
                            }
                            None => {
                                return Err(ParseError::at(token, "expected a number"));
                            }
                        }
                    }
                    _ => {
                        return Err(ParseError::at(
                            token,
                            format!("expected a number, found {}", describe(token)),
                        ));
                    }
                };
                cursor.next();
                values.push(if negative { -value } else { value });
                if !cursor.eat(",") {
                    break;
                }
            }
            cursor.finish()?;
            Ok(values)
        });
        let span = Span::whole(stmt);
        for value in parsed.unwrap_or_default() {
            if width == 4 {
                self.push_bytes(&(value as f32).to_le_bytes(), &span);
            } else {
                self.push_bytes(&value.to_le_bytes(), &span);
            }
        }
    }

    fn strings(&mut self, terminated: bool, stmt: &Stmt, at: usize) {
        let parsed = self.parse_tail(stmt, at, |cursor, _| {
            let mut bytes = Vec::new();
            loop {
                let token = cursor.next();
                let Tok::Str(text) = &token.tok else {
                    return Err(ParseError::at(
                        token,
                        format!("expected a string, found {}", describe(token)),
                    ));
                };
                bytes.extend_from_slice(text);
                // Strings beside each other are one string, as in C.
                while let Tok::Str(more) = &cursor.peek().tok {
                    bytes.extend_from_slice(more);
                    cursor.next();
                }
                if terminated {
                    bytes.push(0);
                }
                if !cursor.eat(",") {
                    break;
                }
            }
            cursor.finish()?;
            Ok(bytes)
        });
        if let Some(bytes) = parsed {
            self.push_bytes(&bytes, &Span::whole(stmt));
        }
    }

    fn space(&mut self, name: &str, stmt: &Stmt, at: usize, span: &Span) {
        let parsed = self.parse_tail(stmt, at, |cursor, names| {
            let count = cursor.expr(names)?;
            let fill = if cursor.eat(",") {
                Some(cursor.expr(names)?)
            } else {
                None
            };
            cursor.finish()?;
            Ok((count, fill))
        });
        let Some((count, fill)) = parsed else { return };
        let Some(count) = self.constant(&count, span) else {
            return;
        };
        let fill = match fill {
            Some(fill) => match self.constant(&fill, span) {
                Some(value) if fits(value, 1) => value as u8,
                Some(value) => return self.error(span, out_of_range(value, 1)),
                None => return,
            },
            None => 0,
        };
        match usize::try_from(count) {
            Ok(count) if count <= MAX_SECTION as usize => {
                self.push_bytes(&vec![fill; count], span);
            }
            _ => self.error(
                span,
                format!("the size of `{name}` is {count}, but must be 0..={MAX_SECTION}"),
            ),
        }
    }

    fn fill(&mut self, stmt: &Stmt, at: usize, span: &Span) {
        let parsed = self.parse_tail(stmt, at, expressions);
        let Some(values) = parsed else { return };
        let mut numbers = Vec::new();
        for value in &values {
            let Some(Some(number)) = value.as_ref().map(|v| self.constant(v, span)) else {
                return;
            };
            numbers.push(number);
        }
        let (count, size, value) = match numbers[..] {
            [count] => (count, 1, 0),
            [count, size] => (count, size, 0),
            [count, size, value] => (count, size, value),
            _ => return self.error(span, "expected `.fill COUNT, SIZE, VALUE`"),
        };
        if !(0..=8).contains(&size) {
            return self.error(span, format!("the size is {size}, but must be 0..=8"));
        }
        match count.checked_mul(size) {
            Some(total) if (0..=i64::from(MAX_SECTION)).contains(&total) && count >= 0 => {
                let pattern = value.to_le_bytes();
                let one = &pattern[..size as usize];
                let bytes: Vec<u8> = if size == 0 {
                    Vec::new()
                } else {
                    one.iter().copied().cycle().take(total as usize).collect()
                };
                self.push_bytes(&bytes, span);
            }
            _ => self.error(
                span,
                format!("`.fill` of {count} times {size} bytes is no size of a section"),
            ),
        }
    }

    fn align(&mut self, name: &str, stmt: &Stmt, at: usize, span: &Span) {
        let Some(values) = self.parse_tail(stmt, at, expressions) else {
            return;
        };
        let mut numbers: Vec<Option<i64>> = Vec::new();
        for value in &values {
            numbers.push(match value {
                Some(value) => match self.constant(value, span) {
                    Some(number) => Some(number),
                    None => return,
                },
                None => None,
            });
        }
        let (Some(Some(first)), true) = (numbers.first().copied(), numbers.len() <= 3) else {
            return self.error(span, format!("expected `{name} ALIGNMENT, FILL, MAX`"));
        };
        let to = if name.starts_with(".p2") {
            if (0..=20).contains(&first) {
                Some(1u32 << first)
            } else {
                None
            }
        } else {
            // As in GNU assemblers 0 means no alignment.
            match u32::try_from(first.max(i64::from(first == 0))) {
                Ok(to) if to.is_power_of_two() && to <= 1 << 20 => Some(to),
                _ => None,
            }
        };
        let Some(to) = to else {
            let range = if name.starts_with(".p2") {
                "an exponent in 0..=20"
            } else {
                "a power of two up to 0x100000"
            };
            return self.error(
                span,
                format!("the alignment of `{name}` is {first}, but must be {range}"),
            );
        };
        let width = match name.as_bytes().last() {
            Some(b'w') => 2,
            Some(b'l') => 4,
            _ => 1,
        };
        let fill = match numbers.get(1).copied().flatten() {
            Some(value) if fits(value, width) => Some((value as u64, width)),
            Some(value) => return self.error(span, out_of_range(value, width)),
            None => None,
        };
        let max = match numbers.get(2).copied().flatten() {
            Some(value) => match u32::try_from(value) {
                Ok(max) => Some(max),
                Err(_) => return self.error(span, "the most bytes to skip cannot be negative"),
            },
            None => None,
        };
        if self.bundle.is_some() {
            self.in_bundle(span, "an alignment cannot stand inside a bundle");
        }
        let section = &mut self.sections[self.current];
        section.align = section.align.max(to);
        if section.epoch > 0 {
            section.epoch += 1;
        }
        let padding = section.offset.next_multiple_of(to) - section.offset;
        let padding = if max.is_some_and(|max| padding > max) {
            0
        } else {
            padding
        };
        self.push(
            Item::Align {
                to,
                fill,
                max,
                span: span.clone(),
            },
            padding,
            span,
        );
    }

    /// Moves to an offset of the section.
    pub(super) fn org(&mut self, to: Expr, fill: u8, span: &Span) {
        self.leave_bundle_for_data(span);
        let now = self.now(&to, 0);
        let section = &mut self.sections[self.current];
        let offset = match now {
            Some(Now::Absolute(offset)) if section.epoch == 0 => Some(offset),
            Some(Now::Place((section, 0), offset)) if section == self.current => Some(offset),
            _ => None,
        };
        let growth = match offset {
            Some(offset) => match offset.checked_sub(section.offset.into()) {
                Some(growth) if (0..=i64::from(MAX_SECTION)).contains(&growth) => growth as u32,
                _ => {
                    let here = section.offset;
                    self.error(
                        span,
                        format!("`.org` to {offset:#x} goes backward: the section is at {here:#x}"),
                    );
                    return;
                }
            },
            None => {
                section.epoch += 1;
                0
            }
        };
        self.used(&to, span);
        self.push(
            Item::Org {
                to,
                fill,
                span: span.clone(),
            },
            growth,
            span,
        );
    }
}

/// Expressions separated by commas, some of them left out.
fn expressions(
    cursor: &mut Cursor<'_>,
    names: &mut Assembler<'_>,
) -> Result<Vec<Option<Expr>>, ParseError> {
    let mut values = Vec::new();
    loop {
        if cursor.is(",") || cursor.at_end() {
            values.push(None);
        } else {
            values.push(Some(cursor.expr(names)?));
        }
        if !cursor.eat(",") {
            break;
        }
    }
    cursor.finish()?;
    Ok(values)
}

fn is_symbol(name: &str) -> bool {
    !name.is_empty()
        && name.starts_with(super::is_ident_start)
        && name.chars().all(super::is_ident)
        && name != "."
}

/// True if `value` can be stored in `width` bytes, signed or unsigned.
pub(super) fn fits(value: i64, width: u8) -> bool {
    let bits = 8 * u32::from(width);
    bits >= 64 || (-(1i64 << (bits - 1))..1i64 << bits).contains(&value)
}

pub(super) fn out_of_range(value: i64, width: u8) -> String {
    let bits = 8 * u32::from(width.min(7));
    format!(
        "{value} does not fit {width} byte{}: it must be {}..={}",
        if width == 1 { "" } else { "s" },
        -(1i64 << (bits - 1)),
        (1i64 << bits) - 1
    )
}

/// The string that is the argument of `.error`.
fn text_of(rest: &str) -> Option<String> {
    let inner = rest.trim().strip_prefix('"')?.strip_suffix('"')?;
    (!inner.is_empty()).then(|| inner.to_string())
}
