//! Instruction -> word, and the look-up of classes by name.

use crate::{EncodeError, Inst, Op};
use std::collections::BTreeMap;
use std::sync::LazyLock;

impl Inst {
    /// The word of this instruction; `coissue` sets bit 31 (both members of a bundle have it).
    ///
    /// # Errors
    /// An operand out of range, ignored bits that do not exist, the coissue bit on an instruction
    /// without it, or `sendpicp`, which has two words ([`crate::Group::encode`]).
    pub fn encode(&self, coissue: bool) -> Result<u32, EncodeError> {
        if self.op == Op::SendPicP {
            return Err(EncodeError::TwoWords);
        }
        self.check_operands()?;
        if !coissue {
            return Ok(self.first_word());
        }
        if !self.op.info().can_coissue {
            return Err(EncodeError::NotCoissuable { op: self.op });
        }
        Ok(self.first_word() | 1 << 31)
    }

    /// The (first) word of an instruction whose operands are in range, without coissue bit.
    pub(crate) fn first_word(&self) -> u32 {
        let info = self.op.info();
        let mut word = info.layout.fixed_value | self.ignored;
        for (operand, operand_info) in info.operands.iter().enumerate() {
            let field = operand_info.kind.field(self.operands[operand]);
            for part in &info.layout.parts[operand] {
                let mask = (1u64 << part.width) as u32 - 1;
                word |= ((field >> part.operand) & mask) << part.inst;
            }
        }
        word
    }
}

static BY_CLASS: LazyLock<BTreeMap<&'static str, Op>> =
    LazyLock::new(|| Op::ALL.iter().map(|&op| (op.info().name, op)).collect());

static BY_MNEMONIC: LazyLock<BTreeMap<&'static str, Vec<Op>>> = LazyLock::new(|| {
    let mut map: BTreeMap<&'static str, Vec<Op>> = BTreeMap::new();
    for op in Op::ALL {
        let info = op.info();
        map.entry(info.mnemonic).or_default().push(op);
        for alias in info.aliases {
            map.entry(alias).or_default().push(op);
        }
    }
    map
});

impl Op {
    /// The class with this name, for example `add_mmmn_si`.
    pub fn by_class(name: &str) -> Option<Op> {
        BY_CLASS.get(name).copied()
    }

    /// All classes that this mnemonic (or alias such as `adds`) can mean, in table order.
    pub fn by_mnemonic(mnemonic: &str) -> &'static [Op] {
        BY_MNEMONIC.get(mnemonic).map_or(&[], Vec::as_slice)
    }

    /// All mnemonics and aliases, sorted.
    pub fn mnemonics() -> impl Iterator<Item = &'static str> {
        BY_MNEMONIC.keys().copied()
    }
}
