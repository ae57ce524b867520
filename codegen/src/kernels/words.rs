//! Halves to words and back, bit by bit: what exchanges need to move single halves.

use super::{Launch, Made, Word, anywhere, fits};
use crate::worker::{Worker, entry};
use ipucc_tile::cost::{NoKernel, OperandNeed};
use ipucc_tile::kernel::Words;

pub(super) fn generate(words: &Words) -> Result<Made, NoKernel> {
    let no = |reason: &str| NoKernel {
        what: format!("{words:?}"),
        reason: reason.into(),
    };
    if words.count == 0 || !words.count.is_multiple_of(4) {
        return Err(no("the number of halves must be a multiple of 4 and not 0"));
    }
    if !fits(u64::from(words.count) * 4) {
        return Err(no("the buffer does not fit a tile"));
    }
    let items = words.count / 4;
    // Four halves are 8 bytes, four words 16.
    let (from, to) = if words.narrow { (4, 3) } else { (3, 4) };
    let mut head = Worker::new();
    head.solo("ld32 $m0, $mvertex_base, $mzero, 0");
    head.solo("ld32 $m1, $mvertex_base, $mzero, 1");
    head.first_item(2, 3, 4, items);
    for (pointer, shift) in [(0, from), (1, to)] {
        head.solo(format!("shl $m4, $m3, {shift}"));
        head.solo(format!("add $m{pointer}, $m{pointer}, $m4"));
    }
    let path = if words.narrow { narrow } else { widen };
    let name = if words.narrow { "narrow" } else { "widen" };
    let (text, turns) = entry(name, head, 2, items, |count, _| path(count));
    let launch = Launch {
        entry: name,
        record: vec![Word::Operand(0, 0), Word::Operand(1, 0)],
        turns,
        ..Launch::default()
    };
    // The next item is loaded while the last one is finished.
    let source = OperandNeed {
        tail_bytes: 16,
        ..anywhere()
    };
    Ok((text, vec![launch], vec![source, anywhere()]))
}

/// `$a0:1` holds four halves; their words go through `$a2:3` and `$a4:5`.
fn widen(count: u32) -> Worker {
    let mut out = Worker::new();
    if count > 0 {
        out.bundle("ld64step $a0:1, $mzero, $m0+=, 1", "");
        let rest = |out: &mut Worker| {
            out.bundle("", "sort4x16hi $a3, $a0, $azero");
            out.bundle(
                "st64step $a2:3, $mzero, $m1+=, 1",
                "sort4x16lo $a4, $a1, $azero",
            );
            out.bundle(
                "ld64step $a0:1, $mzero, $m0+=, 1",
                "sort4x16hi $a5, $a1, $azero",
            );
        };
        out.bundle("", "sort4x16lo $a2, $a0, $azero");
        rest(&mut out);
        out.repeat(count - 1, |body| {
            body.bundle(
                "st64step $a4:5, $mzero, $m1+=, 1",
                "sort4x16lo $a2, $a0, $azero",
            );
            rest(body);
        });
        out.bundle("st64step $a4:5, $mzero, $m1+=, 1", "");
    }
    out.solo("exitz $mzero");
    out
}

/// Four words come in `$a0:1` and `$a2:3`, their low halves leave in `$a4:5`.
fn narrow(count: u32) -> Worker {
    let mut out = Worker::new();
    if count > 0 {
        out.bundle("ld64step $a0:1, $mzero, $m0+=, 1", "");
        let rest = |out: &mut Worker| {
            out.bundle(
                "ld64step $a0:1, $mzero, $m0+=, 1",
                "sort4x16lo $a5, $a2, $a3",
            );
        };
        out.bundle(
            "ld64step $a2:3, $mzero, $m0+=, 1",
            "sort4x16lo $a4, $a0, $a1",
        );
        rest(&mut out);
        out.repeat(count - 1, |body| {
            body.bundle("st64step $a4:5, $mzero, $m1+=, 1", "");
            body.bundle(
                "ld64step $a2:3, $mzero, $m0+=, 1",
                "sort4x16lo $a4, $a0, $a1",
            );
            rest(body);
        });
        out.bundle("st64step $a4:5, $mzero, $m1+=, 1", "");
    }
    out.solo("exitz $mzero");
    out
}
