//! Supervisor programs: what a tile's supervisor does, as operations with words and times.

use crate::kernels::{Launch, Weights};
use ipucc_chip::csr::number;
use ipucc_machine::{EncodeError, Inst, Op};
use ipucc_tile::Value;

/// What an address refers to.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Target {
    /// A byte offset into a section of the tile.
    Section(u32, u32),
    /// A byte offset into the tile's shard of a value.
    Value(Value, u32),
    /// An address or constant.
    Absolute(u32),
}

/// An address in a word: whose, its right shift (log2 of the unit), the left shift of the field.
pub type Field = (Target, u8, u8);

/// An operation of the supervisor.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum SupOp {
    /// `setzi`: a register becomes an address below 2^20.
    Setzi {
        /// MRF register.
        register: u8,
        /// The value.
        target: Target,
    },
    /// `put`.
    Put {
        /// CSR number.
        csr: u16,
        /// MRF register.
        register: u8,
    },
    /// `ld128putcs` of this entry.
    LoadWeights(u8),
    /// `call $m10`.
    Call {
        /// The routine.
        target: Target,
        /// Columns of the panel that it loads.
        columns: u8,
    },
    /// `br $m10`.
    Return,
    /// `runall $m0, $m1, 0`.
    Launch {
        /// Turns of the workers.
        turns: [u64; 6],
    },
    /// `sync 2`.
    Join,
    /// `sync 3`.
    Barrier,
    /// `sans`: posts so many credits.
    Sans {
        /// Credits, at least 1.
        credits: u32,
    },
    /// `sync 1`.
    AwaitCredit,
    /// `call $m10` of an exchange row of so many events.
    Row {
        /// The row.
        target: Target,
        /// Its events before the return.
        events: u32,
    },
    /// `bri 0`.
    End,
}

impl SupOp {
    /// The instruction with the address field zero, the address, and how it goes into the word:
    /// (right shift of the address, left shift of the field).
    ///
    /// # Errors
    /// An operand out of range.
    pub fn encode(&self) -> Result<(u32, Option<Field>), EncodeError> {
        let word = |op: Op, operands: &[u32]| Inst::new(op, operands)?.encode(false);
        Ok(match *self {
            SupOp::Setzi { register, target } => (
                word(Op::SetziMmmnZi, &[register.into(), 0])?,
                Some((target, 0, 0)),
            ),
            SupOp::Put { csr, register } => {
                (word(Op::PutMmmnZi, &[register.into(), csr.into()])?, None)
            }
            SupOp::LoadWeights(entry) => (word(Op::Ld128putcsMmmnZi, &[entry.into()])?, None),
            SupOp::Call { target, .. } | SupOp::Row { target, .. } => {
                (word(Op::CallMmmnZi, &[10, 0])?, Some((target, 2, 0)))
            }
            SupOp::Return => (word(Op::BrMmmn, &[10])?, None),
            SupOp::Launch { .. } => (word(Op::RunallMmmnZi, &[0, 1, 0])?, None),
            SupOp::Join => (word(Op::SyncMmmnZi, &[2])?, None),
            SupOp::Barrier => (word(Op::SyncMmmnZi, &[3])?, None),
            SupOp::Sans { credits } => (word(Op::SansMmmnZi, &[credits - 1])?, None),
            SupOp::AwaitCredit => (word(Op::SyncMmmnZi, &[1])?, None),
            SupOp::End => (word(Op::BriMmmnZi, &[0])?, None),
        })
    }
}

/// The routine that fills the weight store with the panel of 16 or 8 columns at `$CCCSLOAD`, in
/// natural channel order (`isa/amp.md` 10), and returns.
pub fn panel_loader(columns: u8) -> Vec<SupOp> {
    let blocks: &[u8] = if columns == 8 {
        &[0, 8, 16, 24]
    } else {
        &[0, 32, 8, 40, 16, 48, 24, 56]
    };
    let mut ops: Vec<SupOp> = blocks
        .iter()
        .flat_map(|block| [0, 2, 4, 6].map(|part| SupOp::LoadWeights(block + part)))
        .collect();
    ops.push(SupOp::Return);
    ops
}

/// Appends a kernel call. `record` gives the address of launch `n`'s record and, with
/// `Some(operand, offset)`, of an operand; `loader` is the section of the panel loader.
pub fn call(
    ops: &mut Vec<SupOp>,
    launches: &[Launch],
    address: impl Fn(Place, usize) -> Target,
    loader: u32,
) {
    let mut entry = None;
    // The f8 formats of the workers and the scale of f8 products, set for the call and cleared
    // after it.
    let first = launches.first();
    let settings = [
        (number::FP_INFMT, first.map_or(0, |launch| launch.format)),
        (number::FP_ISCL, first.map_or(0, |launch| launch.scale)),
    ];
    let set = || settings.iter().filter(|(_, value)| *value != 0);
    for &(csr, value) in set() {
        ops.push(SupOp::Setzi {
            register: 2,
            target: Target::Absolute(value),
        });
        ops.push(SupOp::Put { csr, register: 2 });
    }
    for (index, launch) in launches.iter().enumerate() {
        // Registers of addresses are set early: a launch waits for them.
        if entry != Some(launch.entry) {
            entry = Some(launch.entry);
            ops.push(SupOp::Setzi {
                register: 0,
                target: address(Place::Entry, index),
            });
        }
        // Launches of one record share it: what one leaves there the next one finds.
        let same = index > 0 && launches[index - 1].record == launch.record;
        if !same {
            ops.push(SupOp::Setzi {
                register: 1,
                target: address(Place::Record, index),
            });
        }
        match launch.weights {
            Weights::Keep => {}
            Weights::From(operand, offset) => {
                let target = address(Place::Operand(operand, offset), index);
                ops.push(SupOp::Setzi {
                    register: 2,
                    target,
                });
                ops.push(SupOp::Put {
                    csr: number::CCCSLOAD,
                    register: 2,
                });
                ops.push(SupOp::Call {
                    target: Target::Section(loader, 0),
                    columns: launch.columns,
                });
            }
            Weights::Next => ops.push(SupOp::Call {
                target: Target::Section(loader, 0),
                columns: launch.columns,
            }),
        }
        ops.push(SupOp::Launch {
            turns: launch.turns,
        });
        ops.push(SupOp::Join);
    }
    for &(csr, _) in set() {
        ops.push(SupOp::Put { csr, register: 15 });
    }
}

/// What a kernel call needs an address of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Place {
    /// The entry of the launch.
    Entry,
    /// The record of the launch.
    Record,
    /// An operand and a byte offset into it.
    Operand(usize, u32),
}
