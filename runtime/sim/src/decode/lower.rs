//! From decoded instructions to the compact form.

mod shape;

use self::shape::{AUX, AuxShape, Fields, MAIN, Shape};
use super::micro::{AuxOp, MainOp, Micro, Slot};
use crate::worker::{ARF_STORED, Exception, MRF_STORED, SCRATCH};
use ipucc_machine::{Context, DecodeError, Group, Inst, Lane, OperandKind, Reg};

/// How decoding depends on assumptions.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub struct DecodeModel {
    /// `dst_clash_zero`: registers without storage count when a register is named twice.
    pub clash_zero: bool,
    /// `amp_imm_layout`: engines below phase instead of above.
    pub amp_engine_low: bool,
    /// `unbacked_read` and `zero_reg_groups`: `$a14` alone reads as a copy of `$a6`.
    pub a14_copy: bool,
}

impl Default for DecodeModel {
    fn default() -> Self {
        DecodeModel::new(&ipucc_chip::Assumptions::default())
    }
}

fn m_dst(r: u32) -> u32 {
    if (r as usize) < MRF_STORED {
        r
    } else {
        SCRATCH as u32
    }
}

fn a_dst(r: u32) -> u32 {
    if (r as usize) < ARF_STORED {
        r
    } else {
        SCRATCH as u32
    }
}

/// `$mzero` as the register of an operand that an immediate form does not have.
const ZERO: u32 = 15;

/// Lowers a main-lane instruction. Supervisor instructions become [`MainOp::Supervisor`].
pub fn lower_main(inst: &Inst) -> Option<Micro> {
    let o = &inst.operands;
    let shape = (*MAIN.get(inst.op as usize)?)?;
    let info = inst.op.info();
    let register = |n: usize| info.operands.get(n).is_some_and(|i| i.kind.is_register());
    let arf = |n: usize| {
        info.operands.get(n).is_some_and(|i| {
            matches!(
                i.kind,
                OperandKind::A | OperandKind::APair | OperandKind::AQuad
            )
        })
    };
    let new = |op: MainOp, a: u32, b: u32, c: u32, d: u32, imm: u32| {
        Some(Micro::new(op as u8, a, b, c, d, imm))
    };
    match shape {
        // `sub` names the minuend first, as operand 2
        Shape::Binary(MainOp::Sub, immediate) => {
            if register(2) {
                new(MainOp::Sub, m_dst(o[0]), o[2], o[1], 0, 0)
            } else {
                new(immediate, m_dst(o[0]), o[1], 0, 0, o[2])
            }
        }
        Shape::Binary(reg, immediate) => {
            if register(2) {
                new(reg, m_dst(o[0]), o[1], o[2], 0, 0)
            } else {
                new(immediate, m_dst(o[0]), o[1], 0, 0, o[2])
            }
        }
        Shape::Unary(op) if register(1) => new(op, m_dst(o[0]), o[1], 0, 0, 0),
        Shape::Unary(op) => new(op, m_dst(o[0]), 0, 0, 0, o[1]),
        Shape::MovZ => new(MainOp::MovZ, m_dst(o[1]), o[0], o[2], 0, 0),
        Shape::Load(op, k) => {
            let dst = if arf(3) { a_dst(o[3]) } else { m_dst(o[3]) };
            let (offset, imm) = if register(2) {
                (o[2], 0)
            } else {
                (ZERO, o[2] << k)
            };
            new(op, dst, o[0], o[1], offset, imm)
        }
        Shape::Store(op, k) => {
            let (offset, imm) = if register(2) {
                (o[2], 0)
            } else {
                (ZERO, o[2] << k)
            };
            new(op, o[3], o[0], o[1], offset, imm)
        }
        Shape::Stm32 => new(MainOp::St32, o[2], o[0], ZERO, o[1], 0),
        Shape::Stm32Step => new(MainOp::St32Step, o[2], ZERO, o[1], o[0], 0),
        Shape::Pace(op) => {
            // operand 3 is the second destination or the data to store
            let second = match op {
                MainOp::LdSt64Pace | MainOp::Ld2xSt64Pace => o[3],
                _ => a_dst(o[3]),
            };
            new(op, a_dst(o[2]), o[1], o[0], second, o[4])
        }
        Shape::St64Pace => new(MainOp::St64Pace, 0, o[1], o[0], o[3], o[2]),
        Shape::Delta(op) => new(op, a_dst(o[3]), o[0], o[1], o[2], 0),
        Shape::TaPack => new(MainOp::TaPack, m_dst(o[3]), o[0], o[1], o[2], 0),
        Shape::BranchRegister(op) => new(op, 0, o[0], 0, 0, 0),
        Shape::BranchAlways(op) => new(op, 0, 0, 0, 0, o[0]),
        Shape::Branch(op) => new(op, 0, o[0], 0, 0, o[1]),
        Shape::Call => new(MainOp::Call, m_dst(o[0]), 0, 0, 0, o[1]),
        Shape::Exit(op) => new(op, 0, o[0], 0, 0, 0),
        Shape::Rpt if register(0) => new(MainOp::Rpt, 0, o[0], 0, 0, o[1]),
        Shape::Rpt => new(MainOp::RptI, 0, 0, 0, 0, o[0] | o[1] << 16),
        Shape::Get => new(MainOp::Get, m_dst(o[0]), 0, 0, 0, o[1]),
        Shape::Put => new(MainOp::Put, 0, o[0], 0, 0, o[1]),
        Shape::Trap => new(MainOp::Trap, 0, 0, 0, 0, o[0]),
        Shape::Supervisor => new(MainOp::Supervisor, 0, 0, 0, 0, 0),
    }
}

/// Phase, weight column and last engine of a matrix immediate, packed as the executor reads
/// them: phase | column << 4 | engine << 8 (assumption `amp_imm_layout`).
fn matrix_fields(kind: Fields, imm: u32, model: DecodeModel) -> u32 {
    let (phase, column, engine) = match kind {
        Fields::Amp16 if model.amp_engine_low => (imm >> 2 & 3, 0, imm & 3),
        Fields::Amp32 if model.amp_engine_low => (imm >> 2 & 7, 0, imm & 3),
        Fields::Slic16 if model.amp_engine_low => (0, imm >> 2 & 3, imm & 3),
        Fields::Slic32 if model.amp_engine_low => (imm >> 2 & 1, imm >> 3 & 3, imm & 3),
        Fields::Amp16 => (imm & 3, 0, imm >> 2 & 3),
        Fields::Amp32 => (imm & 7, 0, imm >> 3 & 3),
        Fields::Slic16 => (0, imm & 3, imm >> 2 & 3),
        Fields::Slic32 => (imm & 1, imm >> 1 & 3, imm >> 3 & 3),
        Fields::Phase => (imm & 1, 0, 0),
    };
    phase | column << 4 | engine << 8
}

/// Lowers an aux-lane instruction; `None` if IPU21 does not have it.
pub fn lower_aux(inst: &Inst, model: DecodeModel) -> Option<Micro> {
    let mut o = inst.operands;
    if model.a14_copy {
        for (value, operand) in o.iter_mut().zip(inst.op.info().operands) {
            if operand.kind == OperandKind::A && operand.role.reads() && *value == 14 {
                *value = 6;
            }
        }
    }
    let shape = (*AUX.get(inst.op as usize)?)?;
    let info = inst.op.info();
    let kind = |n: usize| info.operands.get(n).map(|i| i.kind);
    let register = |n: usize| kind(n).is_some_and(|k| k.is_register());
    let new = |op: AuxOp, a: u32, b: u32, c: u32, d: u32, imm: u32| {
        Some(Micro::new(op as u8, a, b, c, d, imm))
    };
    let broadcast = match kind(1) {
        Some(OperandKind::ABroadcast | OperandKind::ABroadcastLower) => 1,
        Some(OperandKind::ABroadcastUpper) => 2,
        _ => 0,
    };
    match shape {
        AuxShape::Immediate(reg, immediate) => {
            if register(2) {
                new(reg, a_dst(o[0]), o[1], o[2], 0, 0)
            } else {
                new(immediate, a_dst(o[0]), o[1], 0, 0, o[2])
            }
        }
        AuxShape::Plain(op) => {
            let (c, imm) = if register(2) { (o[2], 0) } else { (ZERO, o[2]) };
            new(op, a_dst(o[0]), o[1], c, broadcast, imm)
        }
        AuxShape::Swapped(op) => new(op, a_dst(o[0]), o[2], o[1], 0, 0),
        AuxShape::Sources(op) => {
            let c = if register(1) { o[1] } else { ZERO };
            new(op, SCRATCH as u32, o[0], c, 0, 0)
        }
        AuxShape::Constant(op) => new(op, a_dst(o[0]), ZERO, ZERO, 0, o[1]),
        AuxShape::Matrix(op, fields) => {
            let imm = matrix_fields(fields, o[3], model);
            new(op, a_dst(o[0]), o[1], o[2], 0, imm)
        }
        AuxShape::UPut => new(AuxOp::UPut, SCRATCH as u32, o[0], ZERO, 0, o[1]),
    }
}

fn stored(r: Reg) -> bool {
    match r {
        Reg::M(n) => (n as usize) < MRF_STORED,
        Reg::A(n) => (n as usize) < ARF_STORED,
    }
}

/// True if one instruction names a register twice as destination.
fn double_destination(inst: &Inst, model: DecodeModel) -> bool {
    if model.clash_zero {
        return inst.double_destination().is_some();
    }
    let defs: Vec<Reg> = inst.defs().filter(|&r| stored(r)).collect();
    (1..defs.len()).any(|i| defs[..i].contains(&defs[i]))
}

fn common_destination(main: &Inst, aux: &Inst, model: DecodeModel) -> bool {
    main.defs()
        .filter(|&r| model.clash_zero || stored(r))
        .any(|r| aux.defs().any(|a| a == r))
}

/// Decodes the group that starts with the first of `words` (one or two) for a worker. A second
/// word that is missing means that it is not executable (`bundle_at_code_end`).
pub fn lower_group(words: &[u32], model: DecodeModel) -> Slot {
    let invalid = || Slot::fault(Exception::InvalidInstruction.code().into());
    let group = match Group::decode(words, Context::Worker) {
        Ok((group, _)) => group,
        Err(DecodeError::Truncated { .. }) => {
            return Slot::fault(Exception::InvalidPc.code().into());
        }
        Err(_) => return invalid(),
    };
    let lower = |inst: &Inst| -> Option<(Micro, bool)> {
        if !inst.op.info().on_ipu21 {
            return None;
        }
        match inst.op.info().lane {
            Lane::Main => Some((lower_main(inst)?, true)),
            Lane::Aux => Some((lower_aux(inst, model)?, false)),
        }
    };
    match group {
        Group::Solo(inst) => {
            let Some((micro, is_main)) = lower(&inst) else {
                return invalid();
            };
            if double_destination(&inst, model) {
                return Slot::fault(Exception::InvalidOperand.code().into());
            }
            if is_main {
                Slot {
                    main: micro,
                    aux: Micro::NONE,
                }
            } else {
                Slot {
                    main: Micro::NONE,
                    aux: micro,
                }
            }
        }
        Group::Bundle { main, aux } => {
            let (Some((m, true)), Some((a, false))) = (lower(&main), lower(&aux)) else {
                return invalid();
            };
            if common_destination(&main, &aux, model) {
                return invalid();
            }
            if double_destination(&main, model) || double_destination(&aux, model) {
                return Slot::fault(Exception::InvalidOperand.code().into());
            }
            Slot { main: m, aux: a }
        }
        Group::SendPicP(_) => invalid(),
    }
}
