//! Statements that make code: instructions and bundles.

use super::eval::symbols_of;
use super::expr::Expr;
use super::operand;
use super::select::{self, Code, Filled, Member, Refusal, select};
use super::source::Stmt;
use super::state::{CodeItem, Item, Span};
use super::{Assembler, OpenBundle, Severity};
use crate::{Context, Lane, Op};

impl Assembler<'_> {
    /// Handles an instruction statement; the operands start at byte `at`.
    pub(super) fn instruction(&mut self, stmt: &Stmt, name: &str, at: usize) {
        let span = Span::whole(stmt);
        let tail = Span::whole(&stmt.tail(at));
        if self.bundle.is_none() {
            self.align_check(&span);
        }
        let parsed = self.parse_tail(stmt, at, operand::operands);
        let Some(operands) = parsed else {
            return self.bad_code(&span);
        };
        match select(name, &operands, self.context) {
            Err(refusal) => {
                let place = match refusal.place {
                    Some((start, end)) => tail.part(start, end),
                    None => span.part(0, name.len() as u32),
                };
                self.refuse(&place, refusal);
                self.bad_code(&span);
            }
            Ok(code) => {
                self.use_symbols(&code, &tail);
                self.warn(&code, &span);
                self.add_code(code, &span, &tail);
            }
        }
    }

    /// Warns about what encodes but faults on IPU21 whenever it is executed.
    fn warn(&mut self, code: &Code, span: &Span) {
        let Code::Solo(pending) = code else { return };
        let info = pending.op().info();
        let message = if !info.on_ipu21 {
            format!("IPU21 does not have `{}`: it faults", info.mnemonic)
        } else if info.operands.iter().filter(|o| o.role.writes()).count() > 1
            && let Some(register) = pending.ready.and_then(|i| i.double_destination())
        {
            format!("`{}` writes {register} twice: it faults", info.mnemonic)
        } else {
            return;
        };
        self.report(Severity::Warning, span, message, None, None);
    }

    fn refuse(&mut self, span: &Span, refusal: Refusal) {
        self.error_with(span, refusal.message, None, refusal.help);
    }

    fn use_symbols(&mut self, code: &Code, tail: &Span) {
        match code {
            Code::Solo(pending) | Code::Bundle(pending, _) => {
                for (filled, place) in pending.filled.iter().zip(&pending.places) {
                    if let Filled::Open(expr) = filled {
                        let expr = expr.clone();
                        self.used(&expr, &tail.part(place.0, place.1));
                    }
                }
            }
            Code::LoadConst(_, _, expr, place) => {
                let expr = expr.clone();
                self.used(&expr, &tail.part(place.0, place.1));
            }
            Code::Bad => {}
        }
    }

    /// Notes the uses of symbols and forward labels of an expression.
    pub(super) fn used(&mut self, expr: &Expr, span: &Span) {
        let (mut symbols, mut nears) = (Vec::new(), Vec::new());
        symbols_of(expr, &mut symbols, &mut nears);
        for id in symbols {
            let symbol = self.symbols.get_mut(id);
            symbol.uses += 1;
            if symbol.used_at.is_none() {
                symbol.used_at = Some(span.clone());
            }
        }
        for (number, index) in nears {
            self.near_uses.push((number, index, span.clone()));
        }
    }

    fn add_code(&mut self, code: Code, span: &Span, tail: &Span) {
        if let Some(bundle) = &mut self.bundle {
            match code {
                Code::Solo(pending) => {
                    if bundle.members.len() == 2 {
                        bundle.failed = true;
                        return self
                            .error(span, "a bundle holds two instructions, this is the third");
                    }
                    bundle.members.push(Member {
                        pending,
                        span: span.clone(),
                        tail: tail.clone(),
                    });
                }
                _ => {
                    bundle.failed = true;
                    self.error(span, "`ldconst` cannot stand in a bundle");
                }
            }
            return;
        }
        if let Code::Solo(pending) = &code
            && pending.op() == Op::SendPicP
        {
            let section = &mut self.sections[self.current];
            section.align = section.align.max(8);
        }
        if let Code::Solo(pending) = &code {
            self.rpt_align(pending.op());
        }
        let size = match &code {
            Code::Solo(pending) if pending.op() == Op::SendPicP => 8,
            Code::LoadConst(_, _, expr, place) => match expr.as_const() {
                Some(value) => match select::load_const_words(value) {
                    Some(words) => 4 * words,
                    None => {
                        let message =
                            format!("{value} does not fit 32 bits: `ldconst` loads one word");
                        self.error(&tail.part(place.0, place.1), message);
                        return self.bad_code(span);
                    }
                },
                None => {
                    // Its size is known when its value is.
                    self.sections[self.current].epoch += 1;
                    4
                }
            },
            _ => 4,
        };
        self.push_code(code, size, span, tail);
    }

    /// A `rpt` needs a body at a multiple of 8, so its section does too.
    fn rpt_align(&mut self, op: Op) {
        if is_rpt(op) {
            let section = &mut self.sections[self.current];
            section.align = section.align.max(8);
        }
    }

    fn push_code(&mut self, code: Code, size: u32, span: &Span, tail: &Span) {
        let check_rpt = self.check_rpt;
        self.sections[self.current].executable = true;
        self.push(
            Item::Code(Box::new(CodeItem {
                code,
                span: span.clone(),
                tail: tail.clone(),
                line: span.stmt.loc.line,
                aux_tail: None,
                size,
                check_rpt,
            })),
            size,
            span,
        );
    }

    /// Keeps the place of a statement with an error.
    fn bad_code(&mut self, span: &Span) {
        if self.bundle.is_some() {
            return self.spoil_bundle();
        }
        self.push_code(Code::Bad, 4, span, span);
    }

    fn align_check(&mut self, span: &Span) {
        let section = &self.sections[self.current];
        if section.epoch == 0 && !section.offset.is_multiple_of(4) {
            let offset = section.offset;
            self.error_with(
                span,
                format!("code must stand at a multiple of 4, this is offset {offset:#x}"),
                None,
                Some("put `.p2align 2` before it".to_string()),
            );
            // One error for the run that follows.
            let rest = 4 - offset % 4;
            self.push(Item::Bytes(vec![0; rest as usize]), rest, span);
        }
    }

    pub(super) fn open_bundle(&mut self, stmt: &Stmt) {
        let span = Span::whole(stmt);
        if self.bundle.is_some() {
            self.drop_open_bundle();
        }
        self.align_check(&span);
        self.bundle = Some(OpenBundle {
            span,
            members: Vec::new(),
            failed: false,
        });
    }

    /// The open bundle, if any, holds an error that has been reported.
    pub(super) fn spoil_bundle(&mut self) {
        if let Some(bundle) = &mut self.bundle {
            bundle.failed = true;
        }
    }

    /// Reports a bundle that is never closed.
    pub(super) fn drop_open_bundle(&mut self) {
        if let Some(bundle) = self.bundle.take() {
            self.error(&bundle.span, "this bundle is never closed: `}` is missing");
            self.push_code(Code::Bad, 8, &bundle.span, &bundle.span);
        }
    }

    pub(super) fn close_bundle(&mut self, stmt: &Stmt) {
        let Some(bundle) = self.bundle.take() else {
            self.error(&Span::whole(stmt), "`}` without `{`");
            return;
        };
        let span = bundle.span;
        if bundle.failed {
            return self.push_code(Code::Bad, 8, &span, &span);
        }
        let mut members = bundle.members.into_iter();
        let (first, second) = match (members.next(), members.next()) {
            (Some(first), Some(second)) => (first, second),
            (only, _) => {
                let help = match only.map(|m| m.pending.op().info().lane) {
                    Some(Lane::Main) => "add `fnop` as the aux member, or leave the braces out",
                    Some(Lane::Aux) => "add `nop` as the main member, or leave the braces out",
                    None => "write `{ nop ; fnop }`",
                };
                self.error_with(
                    &span,
                    "a bundle holds two instructions, one of each lane".to_string(),
                    None,
                    Some(help.to_string()),
                );
                return self.push_code(Code::Bad, 8, &span, &span);
            }
        };
        if self.context == Context::Supervisor {
            self.error_with(
                &span,
                "the supervisor issues one instruction at a time; it has no bundles".to_string(),
                None,
                Some("put worker code behind `.worker`".to_string()),
            );
            return self.push_code(Code::Bad, 8, &span, &span);
        }
        let lanes = (
            first.pending.op().info().lane,
            second.pending.op().info().lane,
        );
        let (main, aux) = match lanes {
            (Lane::Main, Lane::Aux) => (first, second),
            (Lane::Aux, Lane::Main) if self.reorder => (second, first),
            (Lane::Aux, Lane::Main) => {
                self.error_with(
                    &first.span,
                    format!(
                        "`{}` is an aux-lane instruction and must be the second of its bundle",
                        first.pending.shown()
                    ),
                    None,
                    Some("swap the members, or put `.allow_optimizations` before it".to_string()),
                );
                return self.push_code(Code::Bad, 8, &span, &span);
            }
            (lane, _) => {
                let name = if lane == Lane::Main { "main" } else { "aux" };
                self.error(
                    &second.span,
                    format!(
                        "both members of the bundle are {name}-lane instructions: `{}` and `{}`",
                        first.pending.shown(),
                        second.pending.shown()
                    ),
                );
                return self.push_code(Code::Bad, 8, &span, &span);
            }
        };
        if let Err(refusal) = select::check_bundle(&main.pending, &aux.pending) {
            let at = match &refusal.message {
                m if m.contains(main.pending.op().info().mnemonic) => &main.span,
                m if m.contains(aux.pending.op().info().mnemonic) => &aux.span,
                _ => &aux.span,
            };
            let at = at.clone();
            self.refuse(&at, refusal);
            return self.push_code(Code::Bad, 8, &span, &span);
        }
        self.rpt_align(main.pending.op());
        let check_rpt = self.check_rpt;
        self.sections[self.current].executable = true;
        self.push(
            Item::Code(Box::new(CodeItem {
                code: Code::Bundle(main.pending, aux.pending),
                span: main.span,
                tail: main.tail,
                line: stmt.loc.line,
                aux_tail: Some((aux.span, aux.tail)),
                size: 8,
                check_rpt,
            })),
            8,
            &span,
        );
    }
}

/// True for both forms of `rpt`.
pub(crate) fn is_rpt(op: Op) -> bool {
    matches!(op, Op::RptMmmnZi | Op::RptMmmnZiZi)
}
