//! Word -> instruction, through an index over the table's fixed bits.

use crate::info::MAX_OPERANDS;
use crate::{DecodeError, Inst, Op};
use std::sync::LazyLock;

/// The most fixed bits that one index level looks at: tables of at most 4096 entries.
const MAX_KEY_BITS: u32 = 12;

/// What an index entry leads to.
#[derive(Clone, Copy)]
enum Entry {
    /// No row.
    None,
    /// One row is left; its remaining fixed bits are still to be compared.
    Row(Op),
    /// Another level.
    Node(u16),
}

/// One level: gathers the bits of `mask` from the word (as at most four runs) into an index.
struct Node {
    runs: [(u32, u32, u32); 4],
    table: Vec<Entry>,
}

struct Index {
    nodes: Vec<Node>,
}

/// Splits a mask into runs (mask of the run, right shift, left shift into the key).
fn runs_of(mask: u32) -> ([(u32, u32, u32); 4], u32) {
    let (mut runs, mut used, mut left, mut key) = ([(0, 0, 0); 4], 0, mask, 0);
    for run in &mut runs {
        if left == 0 {
            break;
        }
        let low = left.trailing_zeros();
        let width = (left >> low).trailing_ones().min(MAX_KEY_BITS - key);
        if width == 0 {
            break;
        }
        let bits = ((1u32 << width) - 1) << low;
        *run = (bits, low, key);
        used |= bits;
        left &= !bits;
        key += width;
    }
    (runs, used)
}

fn gather(runs: &[(u32, u32, u32); 4], word: u32) -> usize {
    let mut key = 0;
    for &(mask, right, left) in runs {
        key |= ((word & mask) >> right) << left;
    }
    key as usize
}

impl Index {
    fn build() -> Index {
        let mut index = Index { nodes: Vec::new() };
        let rows: Vec<Op> = Op::ALL
            .into_iter()
            .filter(|&op| op != Op::SendPicP)
            .collect();
        // The first level looks at the opcode byte without the coissue bit.
        index.add(&rows, 0x7f00_0000, 0);
        index
    }

    /// Adds a node that tells `rows` apart by `mask`; returns its number. Rows that do not fix all
    /// bits of the mask are entered under every key they match.
    fn add(&mut self, rows: &[Op], mask: u32, seen: u32) -> u16 {
        let (runs, used) = runs_of(mask);
        let number = self.nodes.len();
        let size = 1usize << used.count_ones();
        self.nodes.push(Node {
            runs,
            table: Vec::new(),
        });
        let mut table = Vec::with_capacity(size);
        for key in 0..size {
            // The word bits of this key.
            let mut bits = 0;
            for &(run, right, left) in &runs {
                bits |= (((key as u32) >> left) << right) & run;
            }
            let matching: Vec<Op> = rows
                .iter()
                .copied()
                .filter(|op| {
                    let layout = &op.info().layout;
                    (layout.fixed_value ^ bits) & layout.fixed_mask & used == 0
                })
                .collect();
            table.push(match matching.as_slice() {
                [] => Entry::None,
                [op] => Entry::Row(*op),
                several => {
                    let common = several
                        .iter()
                        .fold(u32::MAX, |mask, op| mask & op.info().layout.fixed_mask);
                    let next = common & !(seen | used | 1 << 31);
                    assert!(
                        next != 0,
                        "two rows cannot be told apart by common fixed bits"
                    );
                    Entry::Node(self.add(several, next, seen | used))
                }
            });
        }
        self.nodes[number].table = table;
        number as u16
    }

    #[inline]
    fn find(&self, word: u32) -> Option<Op> {
        let mut node = &self.nodes[0];
        loop {
            match node.table[gather(&node.runs, word)] {
                Entry::None => return None,
                Entry::Node(next) => node = &self.nodes[usize::from(next)],
                Entry::Row(op) => {
                    let layout = &op.info().layout;
                    // The coissue bit is judged by the caller.
                    let differs = (word ^ layout.fixed_value) & layout.fixed_mask & !(1 << 31);
                    return (differs == 0).then_some(op);
                }
            }
        }
    }
}

static INDEX: LazyLock<Index> = LazyLock::new(Index::build);

/// Top four bits of the first word of `sendpicp` (`facts/exchange.md` 1.4).
const SENDPICP: u32 = 0xf;

impl Inst {
    /// Decodes one word; the flag is the coissue bit.
    ///
    /// # Errors
    /// Words of no row, the coissue bit where the row has none, and the first word of `sendpicp`
    /// ([`crate::Group::decode`] decodes that one).
    pub fn decode(word: u32) -> Result<(Inst, bool), DecodeError> {
        if word >> 28 == SENDPICP {
            return Err(DecodeError::SendPicP { word });
        }
        let op = INDEX.find(word).ok_or(DecodeError::Unknown { word })?;
        let coissue = word >> 31 != 0;
        if coissue && !op.info().can_coissue {
            return Err(DecodeError::Coissue { word, op });
        }
        Ok((Inst::from_first_word(op, word), coissue))
    }

    /// Takes the operands of `op` out of its (first) word.
    pub(crate) fn from_first_word(op: Op, word: u32) -> Inst {
        let info = op.info();
        let layout = &info.layout;
        let kept = word & !layout.ignored_mask;
        let mut operands = [0; MAX_OPERANDS];
        for (operand, operand_info) in info.operands.iter().enumerate() {
            let mut field = 0;
            for part in &layout.parts[operand] {
                let mask = (1u64 << part.width) as u32 - 1;
                field |= ((kept >> part.inst) & mask) << part.operand;
            }
            operands[operand] = operand_info.kind.value(field);
        }
        Inst {
            op,
            operands,
            ignored: word & layout.ignored_mask,
        }
    }
}
