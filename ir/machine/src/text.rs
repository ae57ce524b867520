//! Assembler text of instructions and groups.

use crate::{Group, Inst, Op, OperandInfo, OperandKind};
use std::fmt;

/// Writes one operand.
fn operand(f: &mut fmt::Formatter<'_>, info: &OperandInfo, value: u32) -> fmt::Result {
    match info.kind {
        OperandKind::M => write!(f, "$m{value}")?,
        OperandKind::A => write!(f, "$a{value}")?,
        OperandKind::MPair => write!(f, "$m{value}:{}", value + 1)?,
        OperandKind::APair => write!(f, "$a{value}:{}", value + 1)?,
        OperandKind::AQuad => write!(f, "$a{value}:{}", value + 3)?,
        OperandKind::ABroadcast => write!(f, "$a{value}:B")?,
        OperandKind::ABroadcastLower => write!(f, "$a{value}:BL")?,
        OperandKind::ABroadcastUpper => write!(f, "$a{value}:BU")?,
        OperandKind::Simm(_) => write!(f, "{}", value as i32)?,
        // Exchange addresses and mux values are read as hexadecimal numbers everywhere.
        OperandKind::Immz12
        | OperandKind::Target19
        | OperandKind::Target20
        | OperandKind::Zimm(13 | 14 | 18) => write!(f, "{value:#x}")?,
        OperandKind::Zimm(_)
        | OperandKind::Rel16
        | OperandKind::Rel20
        | OperandKind::RptBody
        | OperandKind::Run => write!(f, "{value}")?,
    }
    f.write_str(info.modifier.suffix())
}

impl fmt::Display for Inst {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let info = self.op.info();
        match (self.op, self.operands) {
            (Op::SetziMmmnZi, [14, 0, ..]) if self.ignored == 0 => return f.write_str("nop"),
            (Op::SetziAaanZi, [13, 0, ..]) if self.ignored == 0 => return f.write_str("fnop"),
            _ => {}
        }
        f.write_str(info.mnemonic)?;
        for (position, &number) in info.asm_order.iter().enumerate() {
            f.write_str(if position == 0 { " " } else { ", " })?;
            operand(
                f,
                &info.operands[usize::from(number)],
                self.operands[usize::from(number)],
            )?;
        }
        if self.ignored != 0 {
            write!(f, " /* ignored bits {:#010x} */", self.ignored)?;
        }
        Ok(())
    }
}

impl fmt::Display for Group {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Group::Solo(inst) | Group::SendPicP(inst) => inst.fmt(f),
            Group::Bundle { main, aux } => write!(f, "{{ {main} ; {aux} }}"),
        }
    }
}
