//! Pseudo instructions (`isa/encoding.md` 7).

use super::expr::{Expr, Node, UnaryOp};
use super::operand::{Arg, Operand, show};
use super::select::{Code, Pending, Refusal, choose, wrong_context, wrong_count};
use crate::{Context, Inst, Lane, Modifier, Op, OperandKind};
fn is_file(operand: Option<&Operand>, kind: OperandKind) -> bool {
    matches!(operand, Some(Operand { arg: Arg::Register(k, ..), .. }) if *k == kind)
}

/// Rewrites pseudo instructions (`isa/encoding.md` 7); `None` if `mnemonic` is a real one here.
pub(super) fn pseudo(
    mnemonic: &str,
    operands: &[Operand],
    context: Context,
) -> Result<Option<Code>, Refusal> {
    use OperandKind::{A, APair, M};
    let count = |n: usize| {
        if operands.len() == n {
            return Ok(());
        }
        Err(wrong_count(mnemonic, n, operands))
    };
    let register = |index: usize| match &operands[index].arg {
        Arg::Register(kind, number, Modifier::None) => Some((*kind, *number)),
        _ => None,
    };
    let place = |index: usize| (operands[index].start, operands[index].end);
    let ready = |op: Op, values: &[u32]| {
        if !context.knows(op) {
            return Err(wrong_context(mnemonic, op, context));
        }
        let inst = Inst::new(op, values).map_err(|e| Refusal::new(e.to_string()))?;
        Ok(Some(Code::Solo(Pending {
            candidates: vec![op],
            filled: Vec::new(),
            places: Vec::new(),
            ready: Some(inst),
        })))
    };
    match mnemonic {
        "nop" => {
            count(0)?;
            ready(Op::SetziMmmnZi, &[14, 0])
        }
        "fnop" => {
            count(0)?;
            ready(Op::SetziAaanZi, &[13, 0])
        }
        "strap" => {
            count(0)?;
            ready(Op::PutMmmnZi, &[15, 255])
        }
        "zero" => {
            count(1)?;
            match register(0) {
                Some((M, d)) => ready(Op::OrMmmn, &[d, 15, 15]),
                Some((A, d)) => ready(Op::OrAaan, &[d, 15, 15]),
                Some((APair, d)) => ready(Op::Or64Aaan, &[d, 14, 14]),
                _ => Err(Refusal::at(
                    place(0),
                    "`zero` takes an `$m` register, an `$a` register or an `$a` pair",
                )),
            }
        }
        "mov" => {
            count(2)?;
            match (register(0), register(1)) {
                (Some((M, d)), Some((M, s))) => ready(Op::OrMmmnZi, &[d, s, 0]),
                (Some((A, d)), Some((A, s))) => ready(Op::OrAaanZi, &[d, s, 0]),
                (Some((APair, d)), Some((APair, s))) => ready(Op::Or64Aaan, &[d, s, 14]),
                (Some((M, d)), Some((A, s))) => ready(Op::AtomMamn, &[d, s]),
                (Some((A, _)), Some((M, _))) => Err(Refusal::new(
                    "no instruction moves an `$m` register to an `$a` register",
                )
                .help("store the register and load it again")),
                (Some(_), None) => Err(Refusal::at(
                    place(1),
                    format!("`mov` copies registers, found {}", show(&operands[1].arg)),
                )
                .help("`setzi` and `ldconst` load constants")),
                _ => Err(Refusal::new(format!(
                    "`mov` cannot copy {} to {}",
                    show(&operands[1].arg),
                    show(&operands[0].arg)
                ))),
            }
        }
        "swap16" => {
            count(2)?;
            match (register(0), register(1)) {
                (Some((M, d)), Some((M, s))) => ready(Op::Roll16Mmmn, &[d, s, s]),
                (Some((A, d)), Some((A, s))) => ready(Op::Roll16Aaan, &[d, s, s]),
                _ => Err(Refusal::new(
                    "`swap16` takes two `$m` registers or two `$a` registers",
                )),
            }
        }
        "ldconst" => {
            count(2)?;
            let (lane, number) = match register(0) {
                Some((M, d)) => (Lane::Main, d),
                Some((A, d)) => (Lane::Aux, d),
                _ => {
                    return Err(Refusal::at(
                        place(0),
                        "`ldconst` takes an `$m` or `$a` register",
                    ));
                }
            };
            if lane == Lane::Aux && context == Context::Supervisor {
                return Err(wrong_context(mnemonic, Op::SetziAaanZi, context));
            }
            match &operands[1].arg {
                Arg::Value(value) => {
                    Ok(Some(Code::LoadConst(lane, number, value.clone(), place(1))))
                }
                other => Err(Refusal::at(
                    place(1),
                    format!("`ldconst` takes a constant, found {}", show(other)),
                )),
            }
        }
        "sub" => {
            let (Some(Arg::Value(value)), true) = (
                operands.get(2).map(|o| &o.arg),
                operands.len() == 3 && is_file(operands.get(1), M),
            ) else {
                return Ok(None);
            };
            // The real immediate form is immediate - register.
            let negated = match value.as_const() {
                Some(value) => Expr::constant(value.wrapping_neg()),
                None => Expr::new(Node::Unary(UnaryOp::Neg, value.clone())),
            };
            let mut changed = operands.to_vec();
            changed[2].arg = Arg::Value(negated);
            choose("sub", &[Op::AddMmmnSi], &changed, context)
                .map(|p| Some(Code::Solo(p)))
                .map_err(|refusal| match (refusal.place, value.as_const()) {
                    (Some(at), Some(value)) if at == place(2) => Refusal::at(
                        at,
                        format!("operand 3 of `sub` is {value}, but must be -32767..=32768"),
                    ),
                    _ => refusal,
                })
        }
        "get" if is_file(operands.first(), A) => {
            choose(mnemonic, &[Op::UgetAaanZi], operands, context).map(|p| Some(Code::Solo(p)))
        }
        "put" if is_file(operands.get(1), A) => {
            choose(mnemonic, &[Op::UputAaanZi], operands, context).map(|p| Some(Code::Solo(p)))
        }
        _ => Ok(None),
    }
}
