//! Attention in blocks of keys with a running maximum.
//!
//! For every block the matrix unit makes the scores of all queries, the workers turn them into
//! exponentials against the largest score so far, and the matrix unit adds the weighted values to
//! the result. When the maximum of a row grows, its sum and its result so far are scaled down; at
//! the end every row is divided by its sum. Scores stay in their panels: they are the left operand
//! of the second product (f32: panels of another width, so the exponentials are written apart).

mod row;

use self::row::{mask, scale_row, update};
use super::dot::Streams;
use super::nest::{Dim, Nest};
use super::{Launch, Made, Weights, Word, anywhere, fits};
use crate::worker::Worker;
use ipucc_chip::timing::transcendental_turns;
use ipucc_chip::{Assumptions, ScalarType};
use ipucc_tile::MemoryClass;
use ipucc_tile::cost::{NoKernel, OperandNeed};
use ipucc_tile::kernel::{Attention, Dot};

/// Operands by number.
const Q: usize = 0;
const K: usize = 1;
const V: usize = 2;

/// Record words behind the pointers of an update ([`Shape::word`]).
const SCALE: u32 = 0;
const SCALE_F32: u32 = 1;
const MASK: u32 = 2;
/// Record words behind the pointers of a mask launch.
const LOWEST: u32 = 3;
const STEP: u32 = 4;
const IOTA: u32 = 5;

/// Bytes of a weight panel.
const PANEL: u32 = 512;
/// Columns of a panel of scores or of the result.
const COLUMNS: u32 = 16;

/// Words of a row's statistics.
const MAXIMUM: u32 = 0;
const SUM: u32 = 1;
const FACTOR: u32 = 2;
const LIMIT: u32 = 3;

/// A block of keys.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Block {
    first: bool,
    /// Keys that count.
    keys: u32,
}

impl Block {
    fn panels(self) -> u32 {
        self.keys.div_ceil(COLUMNS)
    }
}

struct Shape<'a> {
    of: &'a Attention,
    half: bool,
    bytes: u32,
    /// Elements of 8 bytes.
    width: u32,
    /// Bytes of a row in a panel of 16 columns.
    row: u32,
    assumptions: &'a Assumptions,
}

pub(super) fn generate(attention: &Attention, assumptions: &Assumptions) -> Result<Made, NoKernel> {
    let no = |reason: &str| NoKernel {
        what: format!("{attention:?}"),
        reason: reason.into(),
    };
    let &Attention {
        queries,
        keys,
        head,
        values,
        block,
        ..
    } = attention;
    let element = attention.element;
    let Some(streams) = (matches!(element, ScalarType::F16 | ScalarType::F32))
        .then(|| Streams::of(queries, element))
        .flatten()
    else {
        return Err(no("supported are f16 and f32"));
    };
    if [queries, keys, head, values].contains(&0) {
        return Err(no("an extent is zero"));
    }
    if block == 0 || !block.is_multiple_of(COLUMNS) {
        return Err(no("blocks of keys are multiples of 16"));
    }
    let scale = f32::from_bits(attention.scale);
    if !(2f32.powi(-8)..=256.0).contains(&scale) {
        return Err(no("the scale is not between 1/256 and 256"));
    }
    let bytes = element.bytes();
    if let Some(pitch) = attention.mask {
        if attention.causal.is_some() {
            return Err(no(
                "a mask and a diagonal; hint: put the diagonal into the mask",
            ));
        }
        if !(pitch * bytes).is_multiple_of(8) || (pitch < keys && pitch != 0) {
            return Err(no(
                "rows of the mask overlap, or do not begin at multiples of 8 bytes",
            ));
        }
    }
    if attention.causal.is_some_and(|diagonal| diagonal < 0) {
        return Err(no("a query that sees no key"));
    }
    let shape = Shape {
        of: attention,
        half: element == ScalarType::F16,
        bytes,
        width: 8 / bytes,
        row: COLUMNS * bytes,
        assumptions,
    };
    let panel = Dot::input_panel(element);
    let size = |rows: u32, columns: u32| u64::from(rows) * u64::from(columns) * u64::from(bytes);
    let sizes = [
        size(queries, head.next_multiple_of(panel)),
        size(keys.next_multiple_of(16), head.next_multiple_of(panel)),
        size(values.next_multiple_of(16), keys.next_multiple_of(panel)),
        size(queries, values.next_multiple_of(16)),
        size(queries, 2 * block.min(keys.next_multiple_of(16))),
        size(queries, attention.mask.unwrap_or(0)),
    ];
    if !sizes.iter().all(|&size| fits(size)) {
        return Err(no(
            "an operand does not fit a tile; hint: smaller blocks, more tiles",
        ));
    }
    let mut made = Maker {
        shape: &shape,
        streams: &streams,
        text: streams.text.clone(),
        launches: vec![],
        known: vec![],
    };
    made.all().map_err(|reason| no(&reason))?;
    let interleaved = |apart_from| OperandNeed {
        align_bytes: 16,
        memory: MemoryClass::Interleaved,
        tail_bytes: 8,
        apart_from,
    };
    let (scratch, result) = (shape.scratch(), shape.result());
    let mut needs = vec![
        OperandNeed {
            apart_from: 1 << scratch,
            ..anywhere()
        },
        interleaved(0),
        interleaved(0),
    ];
    if attention.mask.is_some() {
        // The last vector of the last row.
        needs.push(OperandNeed {
            tail_bytes: 8,
            ..anywhere()
        });
    }
    needs.push(interleaved(1 << Q | 1 << result));
    needs.push(interleaved(1 << scratch));
    Ok((made.text, made.launches, needs))
}

struct Maker<'a> {
    shape: &'a Shape<'a>,
    streams: &'a Streams,
    text: String,
    launches: Vec<Launch>,
    /// Entries that have code.
    known: Vec<(&'static str, [u64; 6])>,
}

impl Maker<'_> {
    fn all(&mut self) -> Result<(), String> {
        let of = self.shape.of;
        let (m, panel) = (of.queries, Dot::input_panel(of.element));
        let head_panels = of.head.div_ceil(panel);
        let key_panels = of.keys.div_ceil(panel);
        let probabilities = self.shape.probabilities();
        let (scratch, result) = (self.shape.scratch(), self.shape.result());
        for begin in (0..of.keys).step_by(of.block as usize) {
            // The last query sees the most.
            let seen = of
                .causal
                .map_or(i64::MAX, |d| i64::from(m - 1) + i64::from(d));
            if i64::from(begin) > seen {
                break;
            }
            let block = Block {
                first: begin == 0,
                keys: of.block.min(of.keys - begin),
            };
            let last = begin + of.block >= of.keys;
            let mut start = true;
            for n in 0..block.panels() {
                for k in 0..head_panels {
                    let weights = ((begin / COLUMNS + n) * head_panels + k) * PANEL;
                    let weights = if n == 0 && k == 0 {
                        Weights::From(K, weights)
                    } else {
                        Weights::Next
                    };
                    let operands = [(Q, k * m * 32), (scratch, n * m * self.shape.row)];
                    let launch = self.streams.launch(k == 0, start, operands, weights);
                    self.launches.push(launch);
                    start = false;
                }
            }
            // Blocks that some query sees in part only.
            if of
                .causal
                .is_some_and(|d| i64::from(begin) + i64::from(block.keys) - 1 > i64::from(d))
            {
                self.mask(begin, block, last)?;
            }
            self.update(begin, block, last)?;
            let mut start = true;
            for n in 0..of.values.div_ceil(COLUMNS) {
                for k in 0..block.keys.div_ceil(panel) {
                    let weights = (n * key_panels + begin / panel + k) * PANEL;
                    let weights = if k == 0 {
                        Weights::From(V, weights)
                    } else {
                        Weights::Next
                    };
                    let operands = [
                        (scratch, probabilities + k * m * 32),
                        (result, n * m * self.shape.row),
                    ];
                    let first = block.first && k == 0;
                    let launch = self.streams.launch(first, start, operands, weights);
                    self.launches.push(launch);
                    start = false;
                }
            }
        }
        self.divide()
    }

    /// Adds the code of an entry unless it is there; its turns.
    fn code(&mut self, nest: &Nest, body: impl FnOnce() -> Worker) -> Result<[u64; 6], String> {
        if let Some(&(_, turns)) = self.known.iter().find(|known| known.0 == nest.name) {
            return Ok(turns);
        }
        let (text, turns) = nest.emit(&body())?;
        self.text.push_str(&text);
        self.known.push((nest.name, turns));
        Ok(turns)
    }

    fn nest(&self, name: &'static str, strides: &[i32], setup: Worker) -> Nest {
        Nest {
            name,
            pointers: strides.len() as u32,
            dims: vec![Dim::new(self.shape.of.queries, strides)],
            setup,
            registers: 10,
        }
    }

    /// Lowers scores behind the diagonal to the lowest number.
    fn mask(&mut self, begin: u32, block: Block, last: bool) -> Result<(), String> {
        let shape = self.shape;
        let scratch = shape.scratch();
        let name = if last {
            "attention_mask_last"
        } else {
            "attention_mask"
        };
        let mut setup = Worker::new();
        setup.constant_m(5, shape.jump(shape.row));
        // The second pointer is no address: it counts the keys that the row sees.
        let nest = self.nest(name, &[shape.row as i32, 1, 16], setup);
        let turns = self.code(&nest, || mask(shape, block))?;
        let diagonal = shape.of.causal.unwrap_or(0);
        let (lowest, step) = if shape.half {
            (0xfbff_fbff, 0x4400_4400)
        } else {
            (f32::MIN.to_bits(), 2f32.to_bits())
        };
        let iota = if shape.half {
            [0x3c00_0000, 0x4200_4000]
        } else {
            [0, 1f32.to_bits()]
        };
        let mut record = vec![
            Word::Operand(scratch, 0),
            Word::Constant((diagonal as u32).wrapping_sub(begin)),
            Word::Operand(scratch, shape.statistics()),
        ];
        record.extend([lowest, step, iota[0], iota[1]].map(Word::Constant));
        self.launches.push(Launch {
            entry: name,
            record,
            turns,
            ..Launch::default()
        });
        Ok(())
    }

    /// Scores to exponentials, statistics, and the result so far scaled down.
    fn update(&mut self, begin: u32, block: Block, last: bool) -> Result<(), String> {
        let shape = self.shape;
        let name = match (last, block.first) {
            (true, _) => "attention_last",
            (false, true) => "attention_first",
            (false, false) => "attention_next",
        };
        let mut strides = vec![shape.row as i32, 32, shape.row as i32, 16];
        strides.extend(shape.of.mask.map(|pitch| (pitch * shape.bytes) as i32));
        let mut setup = Worker::new();
        setup.constant_m(7, shape.jump(shape.row));
        setup.constant_m(8, shape.jump(32));
        let nest = self.nest(name, &strides, setup);
        let turns = self.code(&nest, || update(shape, block))?;
        let scale = f32::from_bits(shape.of.scale);
        let every = if shape.half {
            let half = u32::from(half::f16::from_f32(scale).to_bits());
            half | half << 16
        } else {
            scale.to_bits()
        };
        let mut record = self.pointers();
        if shape.of.mask.is_some() {
            record.push(Word::Operand(V + 1, begin * shape.bytes));
        }
        record.extend([every, scale.to_bits()].map(Word::Constant));
        let used = block.keys % shape.width;
        if used > 0 {
            let mask = (1u64 << (used * 8 * shape.bytes)) - 1;
            let lowest = if shape.half {
                0xfbff_fbff_fbff_fbff
            } else {
                u64::from(f32::MIN.to_bits()) * 0x1_0000_0001
            };
            let filler = lowest & !mask;
            let words = [mask, mask >> 32, filler, filler >> 32];
            record.extend(words.map(|word| Word::Constant(word as u32)));
        }
        self.launches.push(Launch {
            entry: name,
            record,
            turns,
            ..Launch::default()
        });
        Ok(())
    }

    fn divide(&mut self) -> Result<(), String> {
        let shape = self.shape;
        let strides = [shape.row as i32, 32, shape.row as i32, 16];
        let mut setup = Worker::new();
        setup.constant_m(7, shape.jump(shape.row));
        let nest = self.nest("attention_end", &strides, setup);
        let turns = self.code(&nest, || {
            let mut out = Worker::new();
            out.bundle(format!("ld32 $a0, $m3, $mzero, {SUM}"), "");
            if shape.of.mask.is_some() {
                // At least 1 unless every score is minus infinity.
                out.bundle("", format!("setzi $a1, {:#x}", 0.5f32.to_bits() & 0xf_ffff));
                let high = 0.5f32.to_bits() & 0xfff0_0000;
                out.bundle("", format!("or $a1, $a1, {high:#x}"));
                out.bundle("", "f32max $a0, $a0, $a1");
            }
            shape.slow(&mut out, "f32oox", "$a6, $a0");
            scale_row(&mut out, shape);
            out
        })?;
        self.launches.push(Launch {
            entry: "attention_end",
            record: self.pointers(),
            turns,
            ..Launch::default()
        });
        Ok(())
    }

    /// Scores, exponentials, result, statistics.
    fn pointers(&self) -> Vec<Word> {
        let scratch = self.shape.scratch();
        vec![
            Word::Operand(scratch, 0),
            Word::Operand(scratch, self.shape.probabilities()),
            Word::Operand(self.shape.result(), 0),
            Word::Operand(scratch, self.shape.statistics()),
        ]
    }
}

impl Shape<'_> {
    /// Operand number of the scratch buffer.
    fn scratch(&self) -> usize {
        V + 1 + usize::from(self.of.mask.is_some())
    }

    /// Operand number of the result.
    fn result(&self) -> usize {
        self.scratch() + 1
    }

    /// Number of a record word behind the pointers of an update.
    fn word(&self, word: u32) -> u32 {
        4 + u32::from(self.of.mask.is_some()) + word
    }

    fn block(&self) -> u32 {
        self.of.block.min(self.of.keys.next_multiple_of(16))
    }

    /// Byte offset of the exponentials in the scratch buffer.
    fn probabilities(&self) -> u32 {
        if self.half {
            0
        } else {
            self.of.queries * self.block() * self.bytes
        }
    }

    /// Byte offset of the statistics in the scratch buffer.
    fn statistics(&self) -> u32 {
        self.probabilities() + self.of.queries * self.block() * self.bytes
    }

    /// Units of 8 bytes from the last of a row in a panel to its first in the next panel.
    fn jump(&self, row: u32) -> u32 {
        (self.of.queries * row - row) / 8 + 1
    }

    fn op(&self, name: &str) -> String {
        if self.half {
            format!("f16v4{name}")
        } else {
            format!("f32v2{name}")
        }
    }

    /// Broadcast of a register.
    fn all(&self, register: u32) -> String {
        format!("$a{register}:{}", if self.half { "BL" } else { "B" })
    }

    /// An instruction with operand-dependent time.
    fn slow(&self, out: &mut Worker, mnemonic: &str, operands: &str) {
        let turns = transcendental_turns(mnemonic, self.assumptions).unwrap_or(1);
        out.slow_bundle("", format!("{mnemonic} {operands}"), turns);
    }

    /// Double words of a row in a panel of 16 columns.
    fn atoms(&self) -> u32 {
        self.row / 8
    }
}
