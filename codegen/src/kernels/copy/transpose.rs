//! Transposes of blocks: 4 x 4 halves through the accumulators (`isa/amp.md` 8) or 2 x 2 words by
//! sorting, one load and one store of 8 bytes a turn.
//!
//! A worker walks blocks along the source's rows or along the destination's. Step (b, s) of a walk
//! computes; the loads run one block ahead, a store follows its computation by one step.

use crate::worker::Worker;

/// Stride fields of a pace access hold 10 signed bits of 8-byte units.
const FIELD: std::ops::RangeInclusive<i32> = -512..=511;

/// One walk over `blocks` blocks, in groups that follow one another at a distance of their own.
#[derive(Clone, Copy, Debug)]
pub(super) struct Walk {
    /// Side of a block: 4 halves or 2 words, 8 bytes.
    pub side: u32,
    /// Blocks of the walk.
    pub blocks: u32,
    /// Blocks of a group; 0: they are all one.
    pub group: u32,
    /// Units of 8 bytes from one row to the next in the source and the destination.
    pub rows: [i32; 2],
    /// Units from the last row of a block to the first of the next, in both.
    pub turns: [i32; 2],
    /// Units from the last row of a group to the first of the next, in both.
    pub jumps: [i32; 2],
}

/// The stride registers of a paced walk and the fields in each.
#[derive(Clone, Debug, Default)]
struct Fields([Vec<i32>; 2]);

impl Fields {
    /// Register and selectors of a load and a store with these strides.
    fn find(&self, strides: [i32; 2]) -> Option<(u32, u32)> {
        self.0.iter().enumerate().find_map(|(register, fields)| {
            let selector = |stride: i32| {
                let at = fields.iter().position(|&f| f == stride);
                if stride == 1 {
                    Some(0)
                } else {
                    at.map(|at| at as u32 + 1)
                }
            };
            let [load, store] = strides;
            Some((6 + register as u32, selector(load)? | selector(store)? << 2))
        })
    }

    fn add(&mut self, register: usize, strides: [i32; 2]) {
        for stride in strides {
            if stride != 1 && !self.0[register].contains(&stride) {
                self.0[register].push(stride);
            }
        }
    }

    fn word(&self, register: usize) -> u32 {
        self.0[register]
            .iter()
            .enumerate()
            .fold(0, |word, (at, &f)| word | (f as u32 & 0x3ff) << (10 * at))
    }
}

impl Walk {
    /// A walk along the rows of the source (`true`) or of the destination; `groups`: blocks of a
    /// group and the units from one to the next.
    pub(super) fn new(
        side: u32,
        blocks: u32,
        rows: [i32; 2],
        along_source: bool,
        groups: Option<(u32, [i32; 2])>,
    ) -> Walk {
        let last = side as i32 - 1;
        let back = |row: i32| 1 - last * row;
        let turns = if along_source {
            [back(rows[0]), rows[1]]
        } else {
            [rows[0], back(rows[1])]
        };
        let (group, jumps) = match groups {
            None => (0, turns),
            Some((group, strides)) => {
                let jump = |which: usize| {
                    let walked = (group as i32 - 1) * (last * rows[which] + turns[which]);
                    strides[which] - walked - last * rows[which]
                };
                (group, [jump(0), jump(1)])
            }
        };
        Walk {
            side,
            blocks,
            group,
            rows,
            turns,
            jumps,
        }
    }

    /// Units from row `row` of block `block` to the next that is touched.
    fn stride(&self, which: usize, block: u32, row: u32) -> i32 {
        if row + 1 < self.side {
            self.rows[which]
        } else if self.group > 0 && (block + 1).is_multiple_of(self.group) {
            self.jumps[which]
        } else {
            self.turns[which]
        }
    }

    /// Strides of the load and the store of a step in the steady state.
    fn strides(&self, block: u32, step: u32) -> [i32; 2] {
        let (ahead, row) = self.loads(block, step).unwrap_or((block + 1, 0));
        let (behind, column) = self.stores(block, step).unwrap_or((block, 0));
        [self.stride(0, ahead, row), self.stride(1, behind, column)]
    }

    /// Blocks after which the steady state repeats: words alternate registers.
    fn period(&self) -> u32 {
        let group = self.group.max(1);
        if self.side == 2 && group % 2 == 1 {
            2 * group
        } else {
            group
        }
    }

    /// The stride fields, if two registers of three suffice.
    fn fields(&self) -> Option<Fields> {
        let endless = self.endless();
        let steps =
            || (1..=self.period()).flat_map(|block| (0..self.side).map(move |step| (block, step)));
        let mut fields = Fields::default();
        // Steps without a jump in one register, those with one in the other.
        fields.add(0, [self.rows[0], self.rows[1]]);
        for (block, step) in steps() {
            let strides = endless.strides(block, step);
            let mut more = fields.clone();
            more.add(0, strides);
            if more.0[0].len() <= 3 {
                fields = more;
            } else {
                fields.add(1, strides);
            }
        }
        let good = fields
            .0
            .iter()
            .all(|list| list.len() <= 3 && list.iter().all(|f| FIELD.contains(f)));
        good.then_some(fields)
    }

    /// True if loads and stores can be paired.
    pub(super) fn paced(&self) -> bool {
        self.group != 1 && self.fields().is_some()
    }

    /// Registers that hold the strides: run once, before the loops. `$m2..$m7` are the walk's.
    pub(super) fn setup(&self, out: &mut Worker, fast: bool) {
        out.constant_m(4, self.rows[0] as u32);
        out.constant_m(5, self.turns[0] as u32);
        // Paced stores need no stride registers of their own.
        let last = match self.fields() {
            Some(fields) if fast => [fields.word(0), fields.word(1)],
            _ => [self.rows[1] as u32, self.turns[1] as u32],
        };
        out.constant_m(6, last[0]);
        out.constant_m(7, last[1]);
    }

    /// Register pair that row `row` of block `block` is loaded into.
    fn source(&self, block: u32, row: u32) -> &'static str {
        match (self.side, row, block % 2) {
            (4, 0 | 3, _) | (2, 0, 0) => "$a0:1",
            (4, 1, _) | (2, 1, _) => "$a2:3",
            _ => "$a4:5",
        }
    }

    fn compute(&self, block: u32, step: u32) -> String {
        if self.side == 2 {
            let which = if step == 0 { "lo" } else { "hi" };
            let (a, b) = (self.source(block, 0), self.source(block, 1));
            return format!("sort4x32{which} $a6:7, {a}, {b}");
        }
        match step {
            0 => "f16v4istacc $a6:7, $a0:1, $a2:3, 0".into(),
            1 => "f16v4istacc $a6:7, $a4:5, $a0:1, 1".into(),
            2 => "f16v4stacc $a6:7, 0".into(),
            _ => "f16v4stacc $a6:7, 1".into(),
        }
    }

    /// What step (block, step) loads: (block, row).
    fn loads(&self, block: u32, step: u32) -> Option<(u32, u32)> {
        let (ahead, row) = match (self.side, step) {
            (4, 0) => (block, 3),
            (4, s) => (block + 1, s - 1),
            (_, s) => (block + 1, s),
        };
        (ahead < self.blocks).then_some((ahead, row))
    }

    /// What step (block, step) stores: (block, row).
    fn stores(&self, block: u32, step: u32) -> Option<(u32, u32)> {
        if step + 1 == self.side {
            (block < self.blocks).then_some((block, 0))
        } else {
            block.checked_sub(1).map(|behind| (behind, step + 1))
        }
    }

    fn step(&self, out: &mut Worker, block: u32, step: u32, fast: Option<&Fields>) {
        let load = self.loads(block, step);
        let store = self.stores(block, step);
        // Steps behind the last block only bring out what is left; sorted words leave nothing.
        let aux = if block < self.blocks || (self.side == 4 && step < 2) {
            self.compute(block, step)
        } else {
            String::new()
        };
        if let Some(fields) = fast {
            // A stride that leads nowhere need not be the right one.
            let (register, selectors) = fields.find(self.strides(block, step)).unwrap_or((6, 0));
            let main = match (load, store) {
                (Some((ahead, row)), Some(_)) => format!(
                    "ldst64pace {}, $a6:7, $m2:3+=, $m{register}, {selectors:#x}",
                    self.source(ahead, row),
                ),
                (None, Some(_)) => {
                    format!("st64pace $a6:7, $m2:3+=, $m{register}, {}", selectors >> 2)
                }
                _ => String::new(),
            };
            out.bundle(main, aux);
            return;
        }
        if let Some((_, row)) = store {
            let stride = if row + 1 == self.side { 7 } else { 6 };
            out.bundle(format!("st64step $a6:7, $mzero, $m3+=, $m{stride}"), "");
        }
        match load {
            Some((ahead, row)) => self.load(out, ahead, row, aux),
            None => out.bundle("", aux),
        }
    }

    fn load(&self, out: &mut Worker, block: u32, row: u32, aux: impl AsRef<str>) {
        let stride = if row + 1 == self.side { 5 } else { 4 };
        out.bundle(
            format!(
                "ld64step {}, $mzero, $m2+=, $m{stride}",
                self.source(block, row)
            ),
            aux,
        );
    }

    /// The walk, from `$m0` to `$m1`.
    pub(super) fn emit(&self, out: &mut Worker, fast: bool) {
        out.bundle("mov $m2, $m0", "");
        out.bundle("mov $m3, $m1", "");
        let rows = if self.side == 4 { 3 } else { 2 };
        for row in 0..rows {
            self.load(out, 0, row, "");
        }
        let side = self.side;
        // The first store is in the last step of block 0.
        for step in 0..side - 1 {
            self.step(out, 0, step, None);
        }
        let fields = self.fields().filter(|_| fast);
        if fast {
            out.bundle("tapack $m2:3, $m2, $mzero, $m3", "");
        }
        self.step(out, 0, side - 1, fields.as_ref());
        let period = if fast {
            self.period()
        } else if side == 2 {
            2
        } else {
            1
        };
        let passes = self.blocks.saturating_sub(2) / period;
        let endless = self.endless();
        out.repeat(passes, |body| {
            for block in 1..=period {
                for step in 0..side {
                    endless.step(body, block, step, fields.as_ref());
                }
            }
        });
        for block in 1 + passes * period..=self.blocks {
            for step in 0..side {
                if block < self.blocks || step + 1 < side {
                    self.step(out, block, step, fields.as_ref());
                }
            }
        }
    }

    /// The same walk without an end: its steady state.
    fn endless(&self) -> Walk {
        Walk {
            blocks: u32::MAX,
            ..*self
        }
    }
}
