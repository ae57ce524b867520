//! Expressions: trees over constants, symbols and places, their precedence, folding and values.
//!
//! Precedence is that of GNU assemblers: `* / % << >>` bind tightest, then `| & ^ !` (or-not),
//! then `+ -`, comparisons, `&&`, `||`. Arithmetic is two's complement in 64 bits, `>>` shifts
//! zeros in, a comparison that holds is 1.

use std::rc::Rc;

use super::lex::{Tok, Token};

/// Index of an interned symbol.
pub(super) type SymId = u32;
/// Index of a recorded place in a section.
pub(super) type PosId = u32;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum UnaryOp {
    Neg,
    Not,
    LogicalNot,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum BinaryOp {
    Add,
    Sub,
    Mul,
    Div,
    Rem,
    Shl,
    Shr,
    And,
    Or,
    Xor,
    OrNot,
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
    LogicalAnd,
    LogicalOr,
}

#[derive(Debug)]
pub(super) enum Node {
    Const(i64),
    Symbol(SymId),
    /// A place in a section, also `.`.
    Place(PosId),
    /// Numeric label: number and which definition of it, from 0.
    Near(u32, u32),
    Unary(UnaryOp, Expr),
    Binary(BinaryOp, Expr, Expr),
}

/// A shared expression. `weight` counts nodes with repetition and `depth` levels, so that both
/// recursion and work stay bounded however often `.set` doubles a value.
#[derive(Clone, Debug)]
pub(super) struct Expr {
    node: Rc<Node>,
    weight: u32,
    depth: u32,
}

/// Largest depth and weight of an expression.
const MAX_DEPTH: u32 = 200;
const MAX_WEIGHT: u32 = 10_000;

impl Expr {
    pub fn new(node: Node) -> Expr {
        let (weight, depth) = match &node {
            Node::Unary(_, a) => (a.weight.saturating_add(1), a.depth + 1),
            Node::Binary(_, a, b) => (
                a.weight.saturating_add(b.weight).saturating_add(1),
                a.depth.max(b.depth) + 1,
            ),
            _ => (1, 1),
        };
        Expr {
            node: Rc::new(node),
            weight,
            depth,
        }
    }

    pub fn constant(value: i64) -> Expr {
        Expr::new(Node::Const(value))
    }

    pub fn node(&self) -> &Node {
        &self.node
    }

    /// The value if the expression is a literal constant after folding.
    pub fn as_const(&self) -> Option<i64> {
        match *self.node {
            Node::Const(value) => Some(value),
            _ => None,
        }
    }

    fn check(self, token: &Token) -> Result<Expr, ParseError> {
        if self.depth > MAX_DEPTH || self.weight > MAX_WEIGHT {
            return Err(ParseError::at(token, "this expression is too large"));
        }
        Ok(self)
    }
}

/// Applies a binary operator to constants.
pub(super) fn binary(op: BinaryOp, a: i64, b: i64) -> Result<i64, &'static str> {
    use BinaryOp::*;
    Ok(match op {
        Add => a.wrapping_add(b),
        Sub => a.wrapping_sub(b),
        Mul => a.wrapping_mul(b),
        Div if b == 0 => return Err("division by zero"),
        Div => a.wrapping_div(b),
        Rem if b == 0 => return Err("division by zero"),
        Rem => a.wrapping_rem(b),
        Shl | Shr if b < 0 => return Err("shift by a negative amount"),
        Shl if b > 63 => 0,
        Shr if b > 63 => 0,
        Shl => a << b,
        Shr => ((a as u64) >> b) as i64,
        And => a & b,
        Or => a | b,
        Xor => a ^ b,
        OrNot => a | !b,
        Eq => (a == b).into(),
        Ne => (a != b).into(),
        Lt => (a < b).into(),
        Le => (a <= b).into(),
        Gt => (a > b).into(),
        Ge => (a >= b).into(),
        LogicalAnd => (a != 0 && b != 0).into(),
        LogicalOr => (a != 0 || b != 0).into(),
    })
}

/// Applies a unary operator to a constant.
pub(super) fn unary(op: UnaryOp, a: i64) -> i64 {
    match op {
        UnaryOp::Neg => a.wrapping_neg(),
        UnaryOp::Not => !a,
        UnaryOp::LogicalNot => (a == 0).into(),
    }
}

/// A syntax error at bytes `start..end` of the statement.
#[derive(Debug)]
pub(super) struct ParseError {
    pub start: u32,
    pub end: u32,
    pub message: String,
}

impl ParseError {
    pub fn at(token: &Token, message: impl Into<String>) -> ParseError {
        ParseError {
            start: token.start,
            end: token.end,
            message: message.into(),
        }
    }
}

/// How an expression gets at the assembler's names.
pub(super) trait Names {
    /// The expression that a name stands for at this place.
    fn symbol(&mut self, name: &str) -> Expr;
    /// The place of the current statement.
    fn here(&mut self) -> Expr;
    /// `1f` (`forward`) or `1b`; `None` if there is no such label before.
    fn near(&mut self, number: u32, forward: bool) -> Option<Expr>;
    /// True if an integer can be known now; used to fold label differences early.
    fn fold(&mut self, expr: &Expr) -> Option<i64>;
}

/// A cursor over the tokens of a statement.
pub(super) struct Cursor<'a> {
    tokens: &'a [Token],
    at: usize,
    depth: u32,
}

impl<'a> Cursor<'a> {
    /// `tokens` must end with [`Tok::End`].
    pub fn new(tokens: &'a [Token]) -> Cursor<'a> {
        Cursor {
            tokens,
            at: 0,
            depth: 0,
        }
    }

    pub fn peek(&self) -> &'a Token {
        &self.tokens[self.at]
    }

    pub fn next(&mut self) -> &'a Token {
        let token = &self.tokens[self.at];
        if self.at + 1 < self.tokens.len() {
            self.at += 1;
        }
        token
    }

    pub fn at_end(&self) -> bool {
        self.peek().tok == Tok::End
    }

    pub fn is(&self, punct: &str) -> bool {
        matches!(self.peek().tok, Tok::Punct(p) if p == punct)
    }

    pub fn eat(&mut self, punct: &str) -> bool {
        let found = self.is(punct);
        if found {
            self.next();
        }
        found
    }

    /// End of the token before the cursor.
    pub fn last_end(&self) -> u32 {
        self.tokens[self.at.saturating_sub(1)].end
    }

    pub fn expect(&mut self, punct: &'static str) -> Result<(), ParseError> {
        if self.eat(punct) {
            return Ok(());
        }
        Err(ParseError::at(
            self.peek(),
            format!("expected `{punct}`, found {}", describe(self.peek())),
        ))
    }

    /// Fails if anything is left.
    pub fn finish(&self) -> Result<(), ParseError> {
        if self.at_end() {
            return Ok(());
        }
        Err(ParseError::at(
            self.peek(),
            format!(
                "unexpected {} at the end of the statement",
                describe(self.peek())
            ),
        ))
    }

    /// Reads an expression.
    pub fn expr(&mut self, names: &mut impl Names) -> Result<Expr, ParseError> {
        let left = self.primary(names)?;
        self.binary_rest(left, 1, names)
    }

    fn operator(&self) -> Option<(BinaryOp, u8)> {
        use BinaryOp::*;
        let Tok::Punct(p) = self.peek().tok else {
            return None;
        };
        Some(match p {
            "||" => (LogicalOr, 1),
            "&&" => (LogicalAnd, 2),
            "==" => (Eq, 3),
            "!=" | "<>" => (Ne, 3),
            "<" => (Lt, 3),
            "<=" => (Le, 3),
            ">" => (Gt, 3),
            ">=" => (Ge, 3),
            "+" => (Add, 4),
            "-" => (Sub, 4),
            "|" => (Or, 5),
            "^" => (Xor, 5),
            "&" => (And, 5),
            "!" => (OrNot, 5),
            "*" => (Mul, 6),
            "/" => (Div, 6),
            "%" => (Rem, 6),
            "<<" => (Shl, 6),
            ">>" => (Shr, 6),
            _ => return None,
        })
    }

    fn binary_rest(
        &mut self,
        mut left: Expr,
        min: u8,
        names: &mut impl Names,
    ) -> Result<Expr, ParseError> {
        while let Some((op, level)) = self.operator() {
            if level < min {
                break;
            }
            let token = self.next();
            let mut right = self.primary(names)?;
            while let Some((_, next)) = self.operator() {
                if next <= level {
                    break;
                }
                right = self.binary_rest(right, level + 1, names)?;
            }
            left = match (left.as_const(), right.as_const()) {
                (Some(a), Some(b)) => Expr::constant(
                    binary(op, a, b).map_err(|message| ParseError::at(token, message))?,
                ),
                _ => {
                    let joined = Expr::new(Node::Binary(op, left, right)).check(token)?;
                    match names.fold(&joined) {
                        Some(value) => Expr::constant(value),
                        None => joined,
                    }
                }
            };
        }
        Ok(left)
    }

    fn primary(&mut self, names: &mut impl Names) -> Result<Expr, ParseError> {
        let token = self.next();
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(ParseError::at(
                token,
                "this expression is nested too deeply",
            ));
        }
        let result = match &token.tok {
            Tok::Num(value) => Ok(Expr::constant(*value)),
            Tok::Half(bits) => Ok(Expr::constant((*bits).into())),
            Tok::Single(bits) => Ok(Expr::constant((*bits).into())),
            Tok::Float(_) => Err(ParseError::at(
                token,
                "a literal with a decimal point needs the suffix `h` (half) or `f` (single)",
            )),
            Tok::Near(number, forward) => names.near(*number, *forward).ok_or_else(|| {
                ParseError::at(
                    token,
                    format!("there is no label `{number}:` before this line"),
                )
            }),
            Tok::Ident(name) if name == "." => Ok(names.here()),
            Tok::Ident(name) => Ok(names.symbol(name)),
            Tok::Punct("(") => {
                let inner = self.expr(names)?;
                self.expect(")")?;
                Ok(inner)
            }
            Tok::Punct("+") => self.primary(names),
            Tok::Punct("++") => self.primary(names),
            Tok::Punct(p @ ("-" | "~" | "!")) => {
                // The sign of a floating-point literal is part of it.
                let literal = match (&self.peek().tok, *p) {
                    (Tok::Half(bits), "-") => Some(i64::from(bits ^ 0x8000)),
                    (Tok::Single(bits), "-") => Some(i64::from(bits ^ 0x8000_0000)),
                    _ => None,
                };
                if let Some(bits) = literal {
                    self.next();
                    Ok(Expr::constant(bits))
                } else {
                    let op = match *p {
                        "-" => UnaryOp::Neg,
                        "~" => UnaryOp::Not,
                        _ => UnaryOp::LogicalNot,
                    };
                    let inner = self.primary(names)?;
                    match inner.as_const() {
                        Some(value) => Ok(Expr::constant(unary(op, value))),
                        None => Expr::new(Node::Unary(op, inner)).check(token),
                    }
                }
            }
            _ => Err(ParseError::at(
                token,
                format!("expected an expression, found {}", describe(token)),
            )),
        };
        self.depth -= 1;
        result
    }
}

/// A token in words for messages.
pub(super) fn describe(token: &Token) -> String {
    match &token.tok {
        Tok::Ident(name) => format!("`{name}`"),
        Tok::Num(value) => format!("number {value}"),
        Tok::Half(_) | Tok::Float(_) | Tok::Single(_) => "a floating-point literal".to_string(),
        Tok::Str(_) => "a string".to_string(),
        Tok::Dollar(name) => format!("`${name}`"),
        Tok::Near(number, true) => format!("`{number}f`"),
        Tok::Near(number, false) => format!("`{number}b`"),
        Tok::Punct(p) => format!("`{p}`"),
        Tok::End => "the end of the statement".to_string(),
    }
}

/// Letter of a unary operator in [`crate::object::Step`].
pub(super) fn unary_letter(op: UnaryOp) -> char {
    match op {
        UnaryOp::Neg => '-',
        UnaryOp::Not => '~',
        UnaryOp::LogicalNot => '!',
    }
}

const LETTERS: [(BinaryOp, char); 19] = [
    (BinaryOp::Add, '+'),
    (BinaryOp::Sub, '-'),
    (BinaryOp::Mul, '*'),
    (BinaryOp::Div, '/'),
    (BinaryOp::Rem, '%'),
    (BinaryOp::Shl, 'l'),
    (BinaryOp::Shr, 'r'),
    (BinaryOp::And, '&'),
    (BinaryOp::Or, '|'),
    (BinaryOp::Xor, '^'),
    (BinaryOp::OrNot, 'n'),
    (BinaryOp::Eq, '='),
    (BinaryOp::Ne, '#'),
    (BinaryOp::Lt, '<'),
    (BinaryOp::Le, '['),
    (BinaryOp::Gt, '>'),
    (BinaryOp::Ge, ']'),
    (BinaryOp::LogicalAnd, 'a'),
    (BinaryOp::LogicalOr, 'o'),
];

/// Letter of a binary operator in [`crate::object::Step`].
pub(super) fn binary_letter(op: BinaryOp) -> char {
    LETTERS
        .iter()
        .find(|(o, _)| *o == op)
        .map_or('+', |(_, letter)| *letter)
}

/// Applies the unary operator with this letter.
pub(crate) fn apply_unary(letter: char, a: i64) -> Option<i64> {
    let op = match letter {
        '-' => UnaryOp::Neg,
        '~' => UnaryOp::Not,
        '!' => UnaryOp::LogicalNot,
        _ => return None,
    };
    Some(unary(op, a))
}

/// Applies the binary operator with this letter.
pub(crate) fn apply_binary(letter: char, a: i64, b: i64) -> Result<i64, &'static str> {
    match LETTERS.iter().find(|(_, l)| *l == letter) {
        Some((op, _)) => binary(*op, a, b),
        None => Err("an unknown operator"),
    }
}
