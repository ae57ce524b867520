//! Filling a buffer with one 32-bit pattern.

use super::{Launch, Made, Word, anywhere, fits};
use crate::worker::{Worker, entry};
use ipucc_tile::cost::NoKernel;
use ipucc_tile::kernel::Fill;

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
    let mut head = Worker::new();
    head.solo("ld32 $m0, $mvertex_base, $mzero, 0");
    head.constant_a(0, fill.word);
    head.solo("mov $a1, $a0");
    head.first_item(2, 3, 4, atoms);
    head.solo("shl $m3, $m3, 3");
    head.solo("add $m0, $m0, $m3");
    let (text, turns) = entry("fill", head, 2, atoms, |count, _| {
        let mut out = Worker::new();
        out.repeat(count, |body| {
            body.bundle("st64step $a0:1, $mzero, $m0+=, 1", "")
        });
        out.solo("exitz $mzero");
        out
    });
    let launch = Launch {
        entry: "fill",
        record: vec![Word::Operand(0, 0)],
        turns,
        ..Launch::default()
    };
    Ok((text, vec![launch], vec![anywhere()]))
}
