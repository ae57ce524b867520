//! Register lists of instructions.

use crate::{Inst, OperandKind};
use std::fmt;

/// A single register of one of the two files.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Reg {
    /// MRF register, 0..=15.
    M(u8),
    /// ARF register, 0..=15.
    A(u8),
}

impl fmt::Display for Reg {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reg::M(number) => write!(f, "$m{number}"),
            Reg::A(number) => write!(f, "$a{number}"),
        }
    }
}

/// The registers that an operand names.
fn registers(kind: OperandKind, first: u32) -> impl Iterator<Item = Reg> {
    let m = matches!(kind, OperandKind::M | OperandKind::MPair);
    (0..kind.registers()).map(move |k| {
        let number = ((first + k) & 15) as u8;
        if m { Reg::M(number) } else { Reg::A(number) }
    })
}

impl Inst {
    /// Registers that are written, operand by operand (a pair counts as its two registers);
    /// accumulators, `$TAS` and other CSRs are not registers.
    pub fn defs(&self) -> impl Iterator<Item = Reg> + use<> {
        let operands = self.operands;
        let infos = self.op.info().operands.iter().enumerate();
        infos
            .filter(|(_, info)| info.role.writes())
            .flat_map(move |(number, info)| registers(info.kind, operands[number]))
    }

    /// Registers that are read, operand by operand.
    pub fn uses(&self) -> impl Iterator<Item = Reg> + use<> {
        let operands = self.operands;
        let infos = self.op.info().operands.iter().enumerate();
        infos
            .filter(|(_, info)| info.role.reads())
            .flat_map(move |(number, info)| registers(info.kind, operands[number]))
    }

    /// A register that the instruction names twice as destination (INVALID_OP when executed, also
    /// for registers without storage under the default of `dst_clash_zero`).
    pub fn double_destination(&self) -> Option<Reg> {
        let mut seen = RegSet::default();
        self.defs().find(|&register| !seen.insert(register))
    }

    /// The registers written, as a set.
    pub(crate) fn def_set(&self) -> RegSet {
        let mut set = RegSet::default();
        for register in self.defs() {
            set.insert(register);
        }
        set
    }
}

/// A set of registers: MRF in bits 0..16, ARF in bits 16..32.
#[derive(Clone, Copy, Default)]
pub(crate) struct RegSet(u32);

impl RegSet {
    /// Adds a register; false if it was in the set.
    fn insert(&mut self, register: Reg) -> bool {
        let bit = match register {
            Reg::M(number) => 1u32 << number,
            Reg::A(number) => 1u32 << (16 + number),
        };
        let new = self.0 & bit == 0;
        self.0 |= bit;
        new
    }

    /// The lowest common register.
    pub(crate) fn common(self, other: RegSet) -> Option<Reg> {
        let both = self.0 & other.0;
        (both != 0).then(|| match both.trailing_zeros() as u8 {
            number @ 0..16 => Reg::M(number),
            number => Reg::A(number - 16),
        })
    }
}
