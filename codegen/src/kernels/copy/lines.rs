//! Straight copies of words and double words, and of single halves.

use super::super::nest::Dim;
use crate::pipeline::{Access, Body, Schedule, Walk};
use crate::worker::Worker;

/// Longest run of double words whose copy is unrolled between strided steps.
const UNROLLED: u32 = 16;
/// Stride fields of a pace access hold 10 signed bits of 8-byte units.
const FIELD: std::ops::RangeInclusive<i32> = -512..=511;

/// Rows of short runs of double words: `rows` times `run` units, one load and one store a turn.
#[derive(Clone, Copy, Debug)]
pub(super) struct Paced {
    pub rows: u32,
    pub run: u32,
    /// Units from the last of a run to the first of the next, in source and destination.
    pub skips: [i32; 2],
}

impl Paced {
    /// The inner two loops as a paced copy, if strides and run allow it.
    pub(super) fn of(rows: &Dim, run: u32) -> Option<Paced> {
        let skip = |side: usize| rows.strides[side] / 8 - (run as i32 - 1);
        let skips = [skip(0), skip(1)];
        let fits = run <= UNROLLED && skips.iter().all(|s| FIELD.contains(s));
        fits.then_some(Paced {
            rows: rows.count,
            run,
            skips,
        })
    }

    /// The stride register, `$m4`.
    pub(super) fn setup(&self, out: &mut Worker) {
        let [from, to] = self.skips.map(|skip| skip as u32 & 0x3ff);
        out.constant_m(4, from | to << 10);
    }

    /// The copy, from `$m0` to `$m1`.
    pub(super) fn emit(&self, out: &mut Worker) {
        // Load n + 1 goes with store n; the pointer of the loads moves after load n + 1.
        let selectors = |n: u32| {
            let ends = |n: u32, selector: u32| {
                if (n + 1).is_multiple_of(self.run) {
                    selector
                } else {
                    0
                }
            };
            ends(n + 1, 1) | ends(n, 2) << 2
        };
        // Selector of a load of its own: the next unit, or the skip behind a run of one.
        let first = if self.run == 1 { self.skips[0] } else { 1 };
        out.bundle("mov $m2, $m0", "");
        out.constant_m(3, first as u32);
        out.bundle("ld64step $a0:1, $mzero, $m2+=, $m3", "");
        out.bundle("tapack $m2:3, $m2, $mzero, $m1", "");
        let step = |out: &mut Worker, n: u32| {
            out.bundle(
                format!("ldst64pace $a0:1, $a0:1, $m2:3+=, $m4, {:#x}", selectors(n)),
                "",
            );
        };
        out.repeat(self.rows - 1, |body| {
            (0..self.run).for_each(|n| step(body, n));
        });
        (0..self.run - 1).for_each(|n| step(out, n));
        out.bundle("st64pace $a0:1, $m2:3+=, $mzero, 0", "");
    }
}

/// One strided line of `count` units of 4 or 8 bytes.
pub(super) struct Line {
    pub count: u32,
    pub unit: u32,
    /// Units from one to the next, in source and destination.
    pub strides: [i32; 2],
    /// Loads and stores may meet in one group.
    pub fast: bool,
}

impl Line {
    fn contiguous(&self) -> bool {
        self.strides == [1, 1]
    }

    /// The stride registers, `$m4` and `$m5`, unless the line is contiguous.
    pub(super) fn setup(&self, out: &mut Worker) {
        if !self.contiguous() {
            out.constant_m(4, self.strides[0] as u32);
            out.constant_m(5, self.strides[1] as u32);
        }
    }

    /// The copy, from `$m0` to `$m1`.
    pub(super) fn emit(&self, out: &mut Worker) -> Result<(), String> {
        out.bundle("mov $m2, $m0", "");
        out.bundle("mov $m3, $m1", "");
        if self.contiguous() {
            let mut body = Body::default();
            let x = body.load(0, self.unit / 4);
            body.store(1, x);
            let access = if self.fast {
                Access::LoadStore
            } else {
                Access::Plain
            };
            let schedule =
                Schedule::of(&body, access).ok_or("internal: a copy without a schedule")?;
            let walk = Walk {
                pointers: &[2, 3],
                bytes: &[self.unit; 2],
                stored: 1,
            };
            schedule.emit(out, self.count, &walk);
            return Ok(());
        }
        let (bits, register) = if self.unit == 8 {
            (64, "$a0:1")
        } else {
            (32, "$a0")
        };
        out.repeat(self.count, |body| {
            body.bundle(format!("ld{bits}step {register}, $mzero, $m2+=, $m4"), "");
            body.bundle(format!("st{bits}step {register}, $mzero, $m3+=, $m5"), "");
        });
        Ok(())
    }
}

/// Pairs of halves `$m4` halves apart, joined to words: three turns a pair. From `$m0` to `$m1`.
pub(super) fn pairs(out: &mut Worker, count: u32) {
    const LOAD: [&str; 2] = [
        "ldb16step $a0, $mzero, $m2+=, $m4",
        "ldb16step $a1, $mzero, $m2+=, $m4",
    ];
    const STORE: &str = "st32step $a2, $mzero, $m3+=, 1";
    const JOIN: &str = "sort4x16lo $a2, $a0, $a1";
    out.bundle("mov $m2, $m0", "");
    out.bundle("mov $m3, $m1", "");
    out.bundle(LOAD[0], "");
    out.bundle(LOAD[1], "");
    out.repeat(count / 2 - 1, |body| {
        body.bundle(LOAD[0], JOIN);
        body.bundle(LOAD[1], "");
        body.bundle(STORE, "");
    });
    out.bundle("", JOIN);
    out.bundle(STORE, "");
}

/// One half into the low or high half of a word that keeps its other half. From `$m0` to the word
/// at `$m1`.
pub(super) fn single(out: &mut Worker, high: bool) {
    out.bundle("ldb16 $a0, $m0, $mzero, 0", "");
    out.bundle("ld32 $a1, $m1, $mzero, 0", "");
    let join = if high {
        "sort4x16lo $a2, $a1, $a0"
    } else {
        "sort4x16hi $a2, $a0, $a1"
    };
    out.bundle("", join);
    out.bundle("st32 $a2, $m1, $mzero, 0", "");
}
