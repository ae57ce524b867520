//! Filling a buffer with one 32-bit pattern.

use super::{Launch, Made, Weights, Word, anywhere, fits};
use crate::worker::{Worker, share};
use ipucc_tile::cost::NoKernel;
use ipucc_tile::kernel::Fill;
use std::fmt::Write as _;

pub(super) fn generate(fill: &Fill) -> Result<Made, NoKernel> {
    let no = |reason: &str| NoKernel {
        what: format!("fill of {} words", fill.words),
        reason: reason.into(),
    };
    if fill.words == 0 || !fill.words.is_multiple_of(2) {
        return Err(no("the number of words must be even and not 0"));
    }
    if !fits(u64::from(fill.words) * 4) {
        return Err(no("the buffer does not fit a tile"));
    }
    let atoms = fill.words / 2;
    let mut text = String::from("        .text\n        .globl fill\n        .p2align 3\nfill:\n");
    let (each, more) = (atoms / 6, atoms % 6);
    let mut head = Worker::new();
    head.solo("ld32 $m0, $mvertex_base, $mzero, 0");
    head.constant_a(0, fill.word);
    head.solo("mov $a1, $a0");
    head.solo("get $m2, $WSR");
    head.solo("and $m2, $m2, 7");
    head.constant_m(5, each);
    head.solo("mul $m3, $m2, $m5");
    head.solo(format!("min $m4, $m2, {more}"));
    head.solo("add $m3, $m3, $m4");
    head.solo("shl $m3, $m3, 3");
    head.solo("add $m0, $m0, $m3");
    head.solo(format!("cmpult $m5, $m2, {more}"));
    head.solo("brz $m5, .Lshort");
    if head.words() % 2 == 1 {
        head.solo("nop");
    }
    text.push_str(head.text());
    let body = |count: u32| {
        let mut out = Worker::new();
        out.repeat(count, |body| {
            body.bundle("st64step $a0:1, $mzero, $m0+=, 1", "")
        });
        out.solo("exitz $mzero");
        out
    };
    let (long, short) = (body(each + 1), body(each));
    let _ = write!(
        text,
        "{}        .p2align 3\n.Lshort:\n{}",
        long.text(),
        short.text()
    );
    // The nop before the long path is not executed by those who branch.
    let mut straight = Worker::new();
    straight.append(&head);
    let nop = u64::from(head.text().trim_end().ends_with("nop"));
    let turns = std::array::from_fn(|w| {
        if share(atoms, w as u32).1 > each {
            head.turns() + long.turns()
        } else {
            head.turns() - nop + short.turns()
        }
    });
    let launch = Launch {
        entry: "fill",
        record: vec![Word::Operand(0, 0)],
        turns,
        weights: Weights::Keep,
        columns: 16,
        format: 0,
    };
    Ok((text, vec![launch], vec![anywhere()]))
}
