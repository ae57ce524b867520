//! Expressions while reading: names, places, values that are known at once.

use super::expr::{self, BinaryOp, Cursor, Expr, Names, Node, ParseError, PosId, SymId};
use super::source::Stmt;
use super::state::{Def, Span};
use super::{Assembler, lex, named};
/// A value while reading: a number or a place in a section.
#[derive(Clone, Copy)]
pub(super) enum Now {
    Absolute(i64),
    /// Section, its epoch, and the offset counted in it.
    Place((usize, u32), i64),
}

impl BinaryOp {
    /// Operators that mean something between two places of one section.
    pub(super) fn compares_places(self) -> bool {
        use BinaryOp::*;
        matches!(self, Sub | Eq | Ne | Lt | Le | Gt | Ge)
    }
}

impl Names for Assembler<'_> {
    fn symbol(&mut self, name: &str) -> Expr {
        let id = self.symbols.intern(name);
        match &self.symbols.get(id).def {
            Def::Set(value) => value.clone(),
            Def::None => match named::value(name) {
                Some(value) => Expr::constant(value),
                None => Expr::new(Node::Symbol(id)),
            },
            Def::Label(_) => Expr::new(Node::Symbol(id)),
        }
    }

    fn here(&mut self) -> Expr {
        let at = match self.here {
            Some(at) => at,
            None => self.position(),
        };
        self.here = Some(at);
        Expr::new(Node::Place(at))
    }

    fn near(&mut self, number: u32, forward: bool) -> Option<Expr> {
        let count = self.near.get(&number).map_or(0, Vec::len) as u32;
        let index = if forward {
            count
        } else {
            count.checked_sub(1)?
        };
        Some(Expr::new(Node::Near(number, index)))
    }

    fn fold(&mut self, expr: &Expr) -> Option<i64> {
        match self.now(expr, 0)? {
            Now::Absolute(value) => Some(value),
            Now::Place(..) => None,
        }
    }
}

impl Assembler<'_> {
    /// Parses the bytes of `stmt` from `at` on; reports errors.
    pub(super) fn parse_tail<T>(
        &mut self,
        stmt: &Stmt,
        at: usize,
        parse: impl FnOnce(&mut Cursor<'_>, &mut Self) -> Result<T, ParseError>,
    ) -> Option<T> {
        let tail = stmt.tail(at);
        let span = Span::whole(&tail);
        let tokens = match lex::tokens(tail.text()) {
            Ok(tokens) => tokens,
            Err(e) => {
                self.error(&span.part(e.start, e.end), e.message);
                return None;
            }
        };
        let mut cursor = Cursor::new(&tokens);
        // Uses of names inside the expression are placed at the whole tail.
        match parse(&mut cursor, self) {
            Ok(value) => Some(value),
            Err(e) => {
                self.error(&span.part(e.start, e.end), e.message);
                None
            }
        }
    }

    /// The value of the expression `text` if it is known at this place; reports errors at `span`.
    pub(super) fn constant_text(&mut self, text: &str, span: &Span) -> Option<i64> {
        if text.trim().is_empty() {
            self.error(span, "expected an expression");
            return None;
        }
        let inner = Stmt::expanded(text.trim().to_string(), span.stmt.loc, true);
        let tokens = match lex::tokens(inner.text()) {
            Ok(tokens) => tokens,
            Err(e) => {
                self.error(span, e.message);
                return None;
            }
        };
        let mut cursor = Cursor::new(&tokens);
        let parsed = cursor.expr(self).and_then(|e| cursor.finish().map(|()| e));
        match parsed {
            Ok(value) => self.constant(&value, span),
            Err(e) => {
                self.error(span, e.message);
                None
            }
        }
    }

    /// The value of `expr` if it is known at this place; reports an error at `span` if not.
    pub(super) fn constant(&mut self, expr: &Expr, span: &Span) -> Option<i64> {
        match self.now(expr, 0) {
            Some(Now::Absolute(value)) => Some(value),
            _ => {
                let unknown = self.first_undefined(expr, 0);
                let help = match unknown {
                    Some(name) => format!("`{name}` is not defined before this line"),
                    None => "only constants and differences of labels before this line are known \
                             here"
                        .to_string(),
                };
                self.error_with(
                    span,
                    "this value must be known at this place".to_string(),
                    None,
                    Some(help),
                );
                None
            }
        }
    }

    pub(super) fn first_undefined(&self, expr: &Expr, depth: u32) -> Option<String> {
        if depth > 250 {
            return None;
        }
        match expr.node() {
            Node::Symbol(id) => match &self.symbols.get(*id).def {
                Def::None => Some(self.symbols.name(*id).to_string()),
                Def::Set(inner) => self.first_undefined(inner, depth + 1),
                Def::Label(_) => None,
            },
            Node::Unary(_, a) => self.first_undefined(a, depth + 1),
            Node::Binary(_, a, b) => self
                .first_undefined(a, depth + 1)
                .or_else(|| self.first_undefined(b, depth + 1)),
            _ => None,
        }
    }

    pub(super) fn now(&self, expr: &Expr, depth: u32) -> Option<Now> {
        if depth > 250 {
            return None;
        }
        match expr.node() {
            Node::Const(value) => Some(Now::Absolute(*value)),
            Node::Place(at) => self.place_now(*at),
            Node::Near(number, index) => {
                let at = *self.near.get(number)?.get(*index as usize)?;
                self.place_now(at)
            }
            Node::Symbol(id) => match &self.symbols.get(*id).def {
                Def::Label(at) => self.place_now(*at),
                // Snapshots are taken at the use; only an earlier use sees this.
                Def::Set(_) | Def::None => None,
            },
            Node::Unary(op, a) => match self.now(a, depth + 1)? {
                Now::Absolute(a) => Some(Now::Absolute(expr::unary(*op, a))),
                Now::Place(..) => None,
            },
            Node::Binary(op, a, b) => {
                let (a, b) = (self.now(a, depth + 1)?, self.now(b, depth + 1)?);
                match (op, a, b) {
                    (op, Now::Absolute(a), Now::Absolute(b)) => {
                        expr::binary(*op, a, b).ok().map(Now::Absolute)
                    }
                    (BinaryOp::Add, Now::Place(s, a), Now::Absolute(b))
                    | (BinaryOp::Add, Now::Absolute(b), Now::Place(s, a)) => {
                        Some(Now::Place(s, a.wrapping_add(b)))
                    }
                    (BinaryOp::Sub, Now::Place(s, a), Now::Absolute(b)) => {
                        Some(Now::Place(s, a.wrapping_sub(b)))
                    }
                    (op, Now::Place(s, a), Now::Place(t, b)) if s == t && op.compares_places() => {
                        expr::binary(*op, a, b).ok().map(Now::Absolute)
                    }
                    _ => None,
                }
            }
        }
    }

    pub(super) fn place_now(&self, at: PosId) -> Option<Now> {
        let pos = self.positions[at as usize];
        Some(Now::Place((pos.section, pos.epoch), pos.offset.into()))
    }
}

/// Symbols that an expression names.
pub(super) fn symbols_of(expr: &Expr, out: &mut Vec<SymId>, nears: &mut Vec<(u32, u32)>) {
    match expr.node() {
        Node::Symbol(id) => out.push(*id),
        Node::Near(number, index) => nears.push((*number, *index)),
        Node::Unary(_, a) => symbols_of(a, out, nears),
        Node::Binary(_, a, b) => {
            symbols_of(a, out, nears);
            symbols_of(b, out, nears);
        }
        _ => {}
    }
}
