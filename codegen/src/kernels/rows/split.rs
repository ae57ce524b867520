//! Few rows: every worker takes a segment of a row.
//!
//! With fewer rows than workers whole rows would leave workers idle. Each of up to three rows is cut
//! into as many segments as there are workers for it. What the segments find out together (maximum,
//! sums) goes through words of the argument record, one launch after the other: a launch ends when
//! all workers have, so that the next one sees all of them.

use super::{CLEAR_ACCUMULATORS, Row};
use crate::kernels::{Launch, Made, Word, anywhere};
use crate::worker::Worker;
use ipucc_tile::kernel::Rows;
use std::fmt::Write as _;

const WORKERS: u32 = 6;

/// How rows are cut.
pub(super) struct Split {
    rows: u32,
    /// Segments of a row.
    parts: u32,
    /// Vectors of every segment, and how many segments have one more.
    each: u32,
    more: u32,
    /// First word of the record that workers leave results in.
    shared: usize,
    /// Words of the record.
    words: Vec<Word>,
}

impl Split {
    /// A cut, if there are few enough rows and they are long enough. `constants` follow the operands
    /// in the record, `results` words of every worker follow those.
    pub(super) fn of(
        rows: Rows,
        row: &Row,
        operands: usize,
        constants: &[u32],
        results: usize,
    ) -> Option<Split> {
        let vectors = rows.columns.div_ceil(row.width);
        let parts = match rows.rows {
            1..=3 => WORKERS / rows.rows,
            _ => return None,
        };
        // A segment of a single masked vector would have no full one.
        if vectors < 2 * parts {
            return None;
        }
        let mut words: Vec<Word> = (0..operands).map(|n| Word::Operand(n, 0)).collect();
        words.extend(constants.iter().map(|&c| Word::Constant(c)));
        let shared = words.len();
        words.extend(vec![Word::Shared; results * WORKERS as usize]);
        Some(Split {
            rows: rows.rows,
            parts,
            each: vectors / parts,
            more: vectors % parts,
            shared,
            words,
        })
    }

    /// Stores `$a(register)` as a worker's result `number`.
    pub(super) fn leave(&self, out: &mut Worker, register: u32, number: usize) {
        let word = self.shared + number * WORKERS as usize;
        out.bundle("shl $m11, $m8, 2", "");
        out.bundle(
            format!("st32 $a{register}, $mvertex_base, $m11, {word}"),
            "",
        );
    }

    /// Loads the worker's own result `number` into `$a(register)`.
    pub(super) fn own(&self, out: &mut Worker, register: u32, number: usize) {
        let word = self.shared + number * WORKERS as usize;
        out.bundle("shl $m11, $m8, 2", "");
        out.bundle(
            format!("ld32 $a{register}, $mvertex_base, $m11, {word}"),
            "",
        );
    }

    /// Folds results `number` of all segments of the row into `$a(register)`, by way of two others.
    pub(super) fn join(
        &self,
        out: &mut Worker,
        (register, others): (u32, [u32; 2]),
        number: usize,
        fold: &str,
    ) {
        let word = self.shared + number * WORKERS as usize;
        let load = |into: u32, part: u32| {
            format!(
                "ld32 $a{into}, $mvertex_base, $m11, {}",
                word + part as usize
            )
        };
        out.bundle(format!("mul $m11, $m9, {}", 4 * self.parts), "");
        out.bundle(load(register, 0), "");
        let other = |part: u32| others[part as usize % 2];
        out.bundle(load(other(1), 1), "");
        for part in 1..self.parts {
            let fold = format!("{fold} $a{register}, $a{register}, $a{}", other(part));
            let next = match part + 1 < self.parts {
                true => load(other(part + 1), part + 1),
                false => String::new(),
            };
            out.bundle(next, fold);
        }
    }

    /// A launch: `strides` are the bytes from row to row of each operand (0: the same for all rows),
    /// pointers in `$m0..` stand at the worker's segment, its number is in `$m8`, the row's in
    /// `$m9`. `body` makes the code of one segment, which is a row of its own.
    fn entry(
        &self,
        name: &str,
        row: &Row,
        strides: &[u32],
        body: impl Fn(&mut Worker, &Row) -> Result<(), String>,
    ) -> Result<(String, [u64; 6]), String> {
        let mut head = Worker::new();
        head.bundle(
            "ld32 $m0, $mvertex_base, $mzero, 0",
            format!("setzi $a0, {CLEAR_ACCUMULATORS}"),
        );
        head.bundle("get $m8, $WSR", "uput $FP_CLR, $a0");
        for operand in 1..strides.len() {
            head.bundle(
                format!("ld32 $m{operand}, $mvertex_base, $mzero, {operand}"),
                "",
            );
        }
        head.bundle("and $m8, $m8, 7", "");
        // Row $m9 and segment $m10: the quotient of small numbers by 6, 3 or 2.
        match self.rows {
            1 => {
                head.bundle("mov $m9, $mzero", "");
                head.bundle("mov $m10, $m8", "");
            }
            rows => {
                let (factor, shift) = if rows == 2 { (11, 5) } else { (1, 1) };
                head.bundle(format!("mul $m9, $m8, {factor}"), "");
                head.bundle(format!("shr $m9, $m9, {shift}"), "");
                head.bundle(format!("mul $m10, $m9, {}", self.parts), "");
                head.bundle("sub $m10, $m8, $m10", "");
            }
        }
        // Vectors are 8 bytes.
        let bytes = 8 * self.each;
        if bytes < 0x8000 {
            head.bundle(format!("mul $m7, $m10, {bytes}"), "");
        } else {
            head.bundle(format!("setzi $m7, {bytes}"), "");
            head.bundle("mul $m7, $m10, $m7", "");
        }
        if self.more > 0 {
            head.bundle(format!("min $m11, $m10, {}", self.more), "");
            head.bundle("shl $m11, $m11, 3", "");
            head.bundle("add $m7, $m7, $m11", "");
        }
        for (operand, &stride) in strides.iter().enumerate() {
            head.bundle(format!("add $m{operand}, $m{operand}, $m7"), "");
            if stride != 0 && self.rows > 1 {
                head.bundle(format!("setzi $m11, {stride}"), "");
                head.bundle("mul $m11, $m9, $m11", "");
                head.bundle(format!("add $m{operand}, $m{operand}, $m11"), "");
            }
        }
        // Segments with one vector more branch away, then the last one if it is masked.
        let segment = |vectors: u32, masked: bool| Row {
            columns: match masked {
                true => (vectors - 1) * row.width + row.columns % row.width,
                false => vectors * row.width,
            },
            mask: row.mask.filter(|_| masked),
            element: row.element,
            width: row.width,
            assumptions: row.assumptions.clone(),
        };
        let masked = row.mask.is_some();
        let mut kinds = Vec::new();
        if self.more > 0 {
            head.bundle(format!("cmpult $m11, $m10, {}", self.more), "");
            head.bundle("brnz $m11, .Llong", "");
            kinds.push((".Llong", head.turns(), segment(self.each + 1, false)));
        }
        if masked {
            head.bundle(format!("cmpeq $m11, $m10, {}", self.parts - 1), "");
            head.bundle("brnz $m11, .Llast", "");
            kinds.push((".Llast", head.turns(), segment(self.each, true)));
        }
        kinds.push((".Lplain", head.turns(), segment(self.each, false)));
        let mut text =
            format!("        .text\n        .globl {name}\n        .p2align 3\n{name}:\n");
        let _ = write!(text, "{}", head.text());
        let mut times = Vec::new();
        // The plain segment follows the head.
        for (label, before, segment) in kinds.iter().rev() {
            let mut path = Worker::new();
            body(&mut path, segment)?;
            path.solo("exitz $mzero");
            let _ = write!(text, "        .p2align 3\n{label}:\n{}", path.text());
            times.push((*label, before + path.turns()));
        }
        let time = |label: &str| {
            let found = times.iter().find(|(known, _)| *known == label);
            found.map_or(0, |&(_, turns)| turns)
        };
        let turns = std::array::from_fn(|worker| {
            let segment = worker as u32 % self.parts;
            if segment < self.more {
                time(".Llong")
            } else if masked && segment + 1 == self.parts {
                time(".Llast")
            } else {
                time(".Lplain")
            }
        });
        Ok((text, turns))
    }

    /// A kernel of several launches, one for each body.
    pub(super) fn made(
        self,
        row: &Row,
        strides: &[u32],
        bodies: Vec<(&'static str, Body<'_>)>,
    ) -> Result<Made, String> {
        let mut text = String::new();
        let mut launches = Vec::new();
        for (number, (name, body)) in bodies.into_iter().enumerate() {
            let (code, turns) = self.entry(name, row, strides, |out, row| body(&self, out, row))?;
            // Labels of one launch are its own.
            text.push_str(&code.replace(".L", &format!(".L{number}")));
            launches.push(Launch {
                entry: name,
                record: self.words.clone(),
                turns,
                ..Launch::default()
            });
        }
        Ok((text, launches, vec![anywhere(); strides.len()]))
    }
}

/// Makes the code of one segment.
pub(super) type Body<'b> = Box<dyn Fn(&Split, &mut Worker, &Row) -> Result<(), String> + 'b>;
