//! The stream of statements: expansions, captured blocks, conditions.

use std::collections::VecDeque;
use std::rc::Rc;

use super::Assembler;
use super::lex::{is_ident, is_ident_start};
use super::macros::{self, Macro};
use super::source::{Loc, Stmt, cut};
use super::state::Span;

/// Statements that one input may expand to.
const BUDGET: u32 = 2_000_000;
/// Bytes of text that one input may expand to.
pub(super) const MAX_TEXT: usize = 128 << 20;
/// Expansions that may be open at a time.
const MAX_NESTING: usize = 200;

/// Where an expansion was asked for.
pub(super) struct Expansion {
    pub what: String,
    pub call: Span,
}

/// A source of statements.
pub(super) struct Frame {
    body: Rc<[Stmt]>,
    at: usize,
    /// Statements that an expanded one was cut into.
    pending: VecDeque<Stmt>,
    kind: Kind,
}

enum Kind {
    Plain,
    Expansion {
        id: u32,
        names: Rc<[String]>,
        /// Remaining rounds, the current one first: values of the names.
        rounds: Rounds,
        counter: u32,
        alt: bool,
        /// Open conditions outside, restored by `.exitm`.
        conditions: usize,
        is_macro: bool,
    },
}

enum Rounds {
    Same(u64, Vec<String>),
    List(VecDeque<Vec<String>>),
}

impl Rounds {
    fn values(&self) -> Option<&[String]> {
        match self {
            Rounds::Same(0, _) => None,
            Rounds::Same(_, values) => Some(values),
            Rounds::List(list) => list.front().map(Vec::as_slice),
        }
    }

    fn advance(&mut self) -> bool {
        match self {
            Rounds::Same(left, _) => {
                *left = left.saturating_sub(1);
                *left > 0
            }
            Rounds::List(list) => {
                list.pop_front();
                !list.is_empty()
            }
        }
    }
}

/// State of an `.if`.
pub(super) struct Condition {
    /// Statements of this branch are assembled.
    pub active: bool,
    /// A branch was taken already, or everything around is skipped.
    done: bool,
    seen_else: bool,
    span: Span,
}

impl Frame {
    pub fn plain(stmts: Vec<Stmt>) -> Frame {
        Frame {
            body: stmts.into(),
            at: 0,
            pending: VecDeque::new(),
            kind: Kind::Plain,
        }
    }
}

impl Assembler<'_> {
    /// The next statement of the innermost expansion, or of what is around it.
    pub(super) fn next_stmt(&mut self) -> Option<Stmt> {
        loop {
            if let Some(stmt) = self.next_in_frame() {
                return Some(stmt);
            }
            self.frames.pop()?;
        }
    }

    /// The next statement of the innermost expansion only.
    fn next_in_frame(&mut self) -> Option<Stmt> {
        let frame = self.frames.last_mut()?;
        loop {
            if let Some(stmt) = frame.pending.pop_front() {
                return Some(stmt);
            }
            if frame.at == frame.body.len() {
                match &mut frame.kind {
                    Kind::Plain => return None,
                    Kind::Expansion { rounds, .. } => {
                        if frame.body.is_empty() || !rounds.advance() {
                            return None;
                        }
                        frame.at = 0;
                    }
                }
            }
            self.spent += 1;
            if self.spent > BUDGET {
                self.stop = true;
                return None;
            }
            let stmt = &frame.body[frame.at];
            frame.at += 1;
            match &frame.kind {
                Kind::Plain => return Some(stmt.clone()),
                Kind::Expansion {
                    id,
                    names,
                    rounds,
                    counter,
                    alt,
                    ..
                } => {
                    let values = rounds.values()?;
                    let loc = Loc {
                        expansion: *id,
                        ..stmt.loc
                    };
                    if !*alt && !stmt.text().contains('\\') {
                        let mut copy = stmt.clone();
                        copy.loc = loc;
                        return Some(copy);
                    }
                    let pairs: Vec<(&str, &str)> = names
                        .iter()
                        .map(String::as_str)
                        .zip(values.iter().map(String::as_str))
                        .collect();
                    let text = macros::substitute(stmt.text(), &pairs, *counter, *alt);
                    self.spent_bytes += text.len();
                    if self.spent_bytes > MAX_TEXT {
                        self.stop = true;
                        return None;
                    }
                    let mut pieces = Vec::new();
                    cut(&text, |from, to| pieces.push((from, to)));
                    if let [(from, to)] = pieces[..] {
                        let text = if (from, to) == (0, text.len()) {
                            text
                        } else {
                            text[from..to].to_string()
                        };
                        return Some(Stmt::expanded(text, loc, stmt.ends_line));
                    }
                    let last = pieces.len();
                    for (index, (from, to)) in pieces.into_iter().enumerate() {
                        frame.pending.push_back(Stmt::expanded(
                            text[from..to].to_string(),
                            loc,
                            stmt.ends_line && index + 1 == last,
                        ));
                    }
                }
            }
        }
    }

    /// Reads the statements up to the matching end of a block that has been opened by `opener`.
    pub(super) fn capture(&mut self, opener: &Span, is_macro: bool) -> Option<Vec<Stmt>> {
        let mut depth = 1;
        let mut body = Vec::new();
        while let Some(stmt) = self.next_in_frame() {
            let head = head(stmt.text()).to_ascii_lowercase();
            match head.as_str() {
                ".macro" if is_macro => depth += 1,
                ".endm" | ".endmacro" if is_macro => depth -= 1,
                ".rept" | ".rep" | ".irp" | ".irpc" | ".irep" if !is_macro => depth += 1,
                ".endr" | ".endrep" if !is_macro => depth -= 1,
                _ => {}
            }
            if depth == 0 {
                return Some(body);
            }
            body.push(stmt);
        }
        if !self.stop {
            let end = if is_macro { ".endm" } else { ".endr" };
            self.error(opener, format!("this block has no `{end}`"));
        }
        None
    }

    fn expand(
        &mut self,
        what: String,
        call: &Span,
        body: Rc<[Stmt]>,
        names: Vec<String>,
        rounds: Rounds,
        is_macro: bool,
    ) {
        if self.frames.len() >= MAX_NESTING {
            self.error(
                call,
                format!("{what} is expanded inside itself too deeply ({MAX_NESTING} levels)"),
            );
            self.stop = true;
            return;
        }
        if body.is_empty() || rounds.values().is_none() {
            return;
        }
        let id = self.expansions.len() as u32;
        self.expansions.push(Expansion {
            what,
            call: call.clone(),
        });
        let counter = self.macro_count;
        self.frames.push(Frame {
            body,
            at: 0,
            pending: VecDeque::new(),
            kind: Kind::Expansion {
                id,
                names: names.into(),
                rounds,
                counter,
                alt: self.alt && is_macro,
                conditions: self.conditions.len(),
                is_macro,
            },
        });
    }

    /// Expands a macro call.
    pub(super) fn call_macro(&mut self, definition: &Rc<Macro>, arguments: &str, call: &Span) {
        let counter = self.macro_count;
        match macros::bind(definition, arguments) {
            Err(message) => self.error(call, message),
            Ok(mut values) => {
                if self.alt {
                    for value in &mut values {
                        if let Some(text) = value.strip_prefix('%') {
                            if let Some(number) = self.constant_text(text, call) {
                                *value = number.to_string();
                            }
                        } else if let Some(inner) =
                            value.strip_prefix('<').and_then(|v| v.strip_suffix('>'))
                        {
                            *value = inner.to_string();
                        }
                    }
                }
                let names = definition
                    .parameters
                    .iter()
                    .map(|p| p.name.clone())
                    .collect();
                self.expand(
                    format!("macro `{}`", definition.name),
                    call,
                    definition.body.clone(),
                    names,
                    Rounds::Same(1, values),
                    true,
                );
                self.macro_count = counter + 1;
            }
        }
    }

    /// `.macro`, `.rept`, `.irp`, `.irpc` behind their name.
    pub(super) fn block(&mut self, name: &str, rest: &str, span: &Span) {
        if name == ".macro" {
            let header = macros::parse_header(rest);
            let Some(body) = self.capture(span, true) else {
                return;
            };
            match header {
                Err(message) => self.error(span, message),
                Ok((name, parameters)) => {
                    let body = body.into();
                    self.macros.insert(
                        name.clone(),
                        Rc::new(Macro {
                            name,
                            parameters,
                            body,
                        }),
                    );
                }
            }
            return;
        }
        let Some(body) = self.capture(span, false) else {
            return;
        };
        let body: Rc<[Stmt]> = body.into();
        if matches!(name, ".rept" | ".rep") {
            let Some(count) = self.constant_text(rest, span) else {
                return;
            };
            if count < 0 {
                self.error(span, format!("the count of `.rept` is negative ({count})"));
                return;
            }
            let rounds = Rounds::Same(count as u64, Vec::new());
            self.expand("`.rept`".into(), span, body, Vec::new(), rounds, false);
            return;
        }
        let rest = rest.trim();
        let len = rest.find(|c| !is_ident(c)).unwrap_or(rest.len());
        if len == 0 || !rest.starts_with(is_ident_start) {
            self.error(span, format!("expected `{name} NAME, values`"));
            return;
        }
        let list = rest[len..].trim_start();
        let list = list.strip_prefix(',').unwrap_or(list);
        let values = if name == ".irpc" {
            let text = list.trim();
            let text = text
                .strip_prefix('"')
                .and_then(|t| t.strip_suffix('"'))
                .unwrap_or(text);
            Ok(text.chars().map(String::from).collect())
        } else {
            macros::values(list)
        };
        match values {
            Err(message) => self.error(span, message),
            Ok(values) => {
                let values = if values.is_empty() {
                    vec![String::new()]
                } else {
                    values
                };
                let rounds = Rounds::List(values.into_iter().map(|v| vec![v]).collect());
                let names = vec![rest[..len].to_string()];
                self.expand(format!("`{name}`"), span, body, names, rounds, false);
            }
        }
    }

    /// `.exitm`: leaves the innermost macro.
    pub(super) fn exit_macro(&mut self, span: &Span) {
        let found = self
            .frames
            .iter()
            .rposition(|f| matches!(f.kind, Kind::Expansion { is_macro: true, .. }));
        let Some(index) = found else {
            self.error(span, "`.exitm` outside a macro");
            return;
        };
        if let Kind::Expansion { conditions, .. } = self.frames[index].kind {
            self.conditions.truncate(conditions);
        }
        self.frames.truncate(index);
    }

    /// True if statements are being skipped.
    pub(super) fn skipping(&self) -> bool {
        self.conditions.last().is_some_and(|c| !c.active)
    }

    /// Handles conditional directives; false if `name` is none.
    pub(super) fn conditional(&mut self, name: &str, rest: &str, span: &Span) -> bool {
        let rest = rest.trim();
        match name {
            ".if" | ".ifne" | ".ifeq" | ".ifgt" | ".ifge" | ".iflt" | ".ifle" | ".ifdef"
            | ".ifndef" | ".ifnotdef" | ".ifb" | ".ifnb" | ".ifc" | ".ifnc" | ".ifeqs"
            | ".ifnes" => {
                let outside = self.skipping();
                let value = !outside && self.condition(name, rest, span).unwrap_or(false);
                self.conditions.push(Condition {
                    active: value,
                    done: outside || value,
                    seen_else: false,
                    span: span.clone(),
                });
            }
            ".else" | ".elseif" | ".elif" => {
                let Some(last) = self.conditions.last() else {
                    self.error(span, format!("`{name}` without `.if`"));
                    return true;
                };
                if last.seen_else {
                    self.error(span, format!("`{name}` after `.else`"));
                    return true;
                }
                let value = if last.done {
                    false
                } else {
                    name == ".else" || self.condition(".if", rest, span).unwrap_or(false)
                };
                if let Some(last) = self.conditions.last_mut() {
                    last.active = value;
                    last.done |= value;
                    last.seen_else = name == ".else";
                }
            }
            ".endif" => {
                if self.conditions.pop().is_none() {
                    self.error(span, "`.endif` without `.if`");
                }
            }
            _ => return false,
        }
        true
    }

    fn condition(&mut self, name: &str, rest: &str, span: &Span) -> Option<bool> {
        Some(match name {
            ".ifdef" | ".ifndef" | ".ifnotdef" => {
                if rest.is_empty() || !rest.chars().all(is_ident) {
                    self.error(span, format!("expected `{name} SYMBOL`"));
                    return None;
                }
                self.is_defined(rest) == (name == ".ifdef")
            }
            ".ifb" => rest.is_empty(),
            ".ifnb" => !rest.is_empty(),
            ".ifc" | ".ifnc" | ".ifeqs" | ".ifnes" => {
                let Some((a, b)) = two_strings(rest) else {
                    self.error(span, format!("expected `{name} TEXT, TEXT`"));
                    return None;
                };
                (a == b) == matches!(name, ".ifc" | ".ifeqs")
            }
            _ => {
                let value = self.constant_text(rest, span)?;
                match name {
                    ".ifeq" => value == 0,
                    ".ifgt" => value > 0,
                    ".ifge" => value >= 0,
                    ".iflt" => value < 0,
                    ".ifle" => value <= 0,
                    _ => value != 0,
                }
            }
        })
    }

    /// Reports conditions that are still open at the end of the input.
    pub(super) fn check_open_conditions(&mut self) {
        for condition in std::mem::take(&mut self.conditions) {
            self.error(&condition.span, "this `.if` has no `.endif`");
        }
    }
}

/// Two arguments of `.ifc`, compared as text.
fn two_strings(text: &str) -> Option<(&str, &str)> {
    let mut depth_quote = false;
    let at = text.bytes().position(|b| {
        if b == b'"' {
            depth_quote = !depth_quote;
        }
        b == b',' && !depth_quote
    })?;
    let clean = |t: &'_ str| -> (usize, usize) {
        let trimmed = t.trim();
        let lead = t.len() - t.trim_start().len();
        if trimmed.len() >= 2 && trimmed.starts_with('"') && trimmed.ends_with('"') {
            (lead + 1, lead + trimmed.len() - 1)
        } else {
            (lead, lead + trimmed.len())
        }
    };
    let (a, b) = (&text[..at], &text[at + 1..]);
    let ((a0, a1), (b0, b1)) = (clean(a), clean(b));
    Some((&a[a0..a1], &b[b0..b1]))
}

/// The first word of a statement behind its labels.
fn head(text: &str) -> &str {
    let mut text = text.trim_start();
    loop {
        let len = text.find(|c| !is_ident(c)).unwrap_or(text.len());
        let after = text[len..].trim_start();
        match after.strip_prefix(':') {
            Some(rest) if len > 0 => text = rest.trim_start(),
            _ => return &text[..len],
        }
    }
}
