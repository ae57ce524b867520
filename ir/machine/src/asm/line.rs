//! One line of text without symbols to words: the disassembler's check of what it prints.

use super::expr::{Cursor, Expr, Names, Node};
use super::lex;
use super::operand;
use super::select::{Code, select};
use crate::{Context, Group, Inst, Op};

/// Names that are all unknown: a line that may hold constants only.
struct NoNames;

impl Names for NoNames {
    fn symbol(&mut self, _: &str) -> Expr {
        Expr::new(Node::Near(0, 0))
    }

    fn here(&mut self) -> Expr {
        Expr::new(Node::Near(0, 0))
    }

    fn near(&mut self, _: u32, _: bool) -> Option<Expr> {
        None
    }

    fn fold(&mut self, _: &Expr) -> Option<i64> {
        None
    }
}

fn inst_of(text: &str, context: Context) -> Option<Inst> {
    let text = text.trim();
    let len = text.find(|c: char| c.is_whitespace()).unwrap_or(text.len());
    let tokens = lex::tokens(&text[len..]).ok()?;
    let operands = operand::operands(&mut Cursor::new(&tokens), &mut NoNames).ok()?;
    match select(&text[..len], &operands, context).ok()? {
        Code::Solo(pending) => pending.ready,
        _ => None,
    }
}

/// The words of one line that names no symbol: an instruction or `{ main ; aux }`.
pub(crate) fn encode_line(text: &str, context: Context) -> Option<Vec<u32>> {
    let mut words = Vec::with_capacity(2);
    let inner = text
        .trim()
        .strip_prefix('{')
        .and_then(|t| t.strip_suffix('}'));
    let group = match inner {
        Some(inner) => {
            let (main, aux) = inner.split_once(';')?;
            Group::Bundle {
                main: inst_of(main, context)?,
                aux: inst_of(aux, context)?,
            }
        }
        None => {
            let inst = inst_of(text, context)?;
            if inst.op == Op::SendPicP {
                Group::SendPicP(inst)
            } else {
                Group::Solo(inst)
            }
        }
    };
    group.encode(&mut words).ok()?;
    Some(words)
}
