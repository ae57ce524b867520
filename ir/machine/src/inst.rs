//! A single instruction.

use crate::info::MAX_OPERANDS;
use crate::{EncodeError, Op};

/// One instruction.
///
/// `operands[i]` is operand number `i` of the table: a register number (pair: even first register,
/// quad: first register) or an immediate as the value it stands for (`Simm` sign-extended into
/// `u32`, `Immz12` the whole 32-bit value, targets the byte address). Entries that the class does
/// not use are 0. For `sendpicp` operands 4 and 5 are the second word.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Inst {
    /// The class.
    pub op: Op,
    /// Operands by number.
    pub operands: [u32; MAX_OPERANDS],
    /// Instruction bits that the hardware ignores, in their places, as found by the decoder; 0 in
    /// compiler output.
    pub ignored: u32,
}

impl Inst {
    /// Makes an instruction after checking number and ranges of its operands.
    pub fn new(op: Op, operands: &[u32]) -> Result<Inst, EncodeError> {
        let info = op.info();
        if operands.len() != info.operands.len() {
            return Err(EncodeError::OperandCount {
                op,
                expected: info.operands.len(),
                found: operands.len(),
            });
        }
        let mut inst = Inst {
            op,
            operands: [0; MAX_OPERANDS],
            ignored: 0,
        };
        inst.operands[..operands.len()].copy_from_slice(operands);
        inst.check_operands()?;
        Ok(inst)
    }

    /// Checks that every operand can be encoded.
    pub(crate) fn check_operands(&self) -> Result<(), EncodeError> {
        for (operand, info) in self.op.info().operands.iter().enumerate() {
            let value = self.operands[operand];
            if !info.kind.accepts(value) {
                return Err(EncodeError::OperandRange {
                    op: self.op,
                    operand: operand as u8,
                    kind: info.kind,
                    value,
                });
            }
        }
        let bits = self.ignored & !self.op.info().layout.ignored_mask;
        if bits != 0 {
            return Err(EncodeError::IgnoredBits { op: self.op, bits });
        }
        Ok(())
    }
}
