//! Halves to words and back, bit by bit: what exchanges need to move single halves.

use super::{Launch, Made, Word, anywhere, fits};
use crate::worker::{Worker, entry};
use ipucc_tile::cost::{NoKernel, OperandNeed};
use ipucc_tile::kernel::Words;

/// The code of a worker for its number of items.
type Path = fn(u32) -> Worker;

pub(super) fn generate(words: &Words) -> Result<Made, NoKernel> {
    let no = |reason: &str| NoKernel {
        what: format!("{words:?}"),
        reason: reason.into(),
    };
    if words.count == 0 {
        return Err(no("there are none"));
    }
    if !fits(u64::from(words.count) * 4) {
        return Err(no("the buffer does not fit a tile"));
    }
    let (name, last, path, single): (_, _, Path, Path) = match words.narrow {
        true => ("narrow", "narrow_last", narrow, narrow_last),
        false => ("widen", "widen_last", widen, widen_last),
    };
    // Four halves are 8 bytes, four words 16.
    let (from, to) = if words.narrow { (4, 3) } else { (3, 4) };
    let (items, rest) = (words.count / 4, words.count % 4);
    let mut text = String::new();
    let mut launches = Vec::new();
    if items > 0 {
        let mut head = Worker::new();
        head.solo("ld32 $m0, $mvertex_base, $mzero, 0");
        head.solo("ld32 $m1, $mvertex_base, $mzero, 1");
        head.first_item(2, 3, 4, items);
        for (pointer, shift) in [(0, from), (1, to)] {
            head.solo(format!("shl $m4, $m3, {shift}"));
            head.solo(format!("add $m{pointer}, $m{pointer}, $m4"));
        }
        let (code, turns) = entry(name, head, 2, items, |count, _| path(count));
        text.push_str(&code);
        launches.push(Launch {
            entry: name,
            record: vec![Word::Operand(0, 0), Word::Operand(1, 0)],
            turns,
            ..Launch::default()
        });
    }
    if rest > 0 {
        // One worker moves what is left.
        let mut head = Worker::new();
        head.solo("ld32 $m0, $mvertex_base, $mzero, 0");
        head.solo("ld32 $m1, $mvertex_base, $mzero, 1");
        head.solo("get $m2, $WSR");
        head.solo("and $m2, $m2, 7");
        let (code, turns) = entry(last, head, 2, 1, |count, _| match count {
            0 => {
                let mut out = Worker::new();
                out.solo("exitz $mzero");
                out
            }
            _ => single(rest),
        });
        // Labels of one launch are its own.
        text.push_str(&code.replace(".L", ".Llast_"));
        launches.push(Launch {
            entry: last,
            record: vec![
                Word::Operand(0, items << from),
                Word::Operand(1, items << to),
            ],
            turns,
            ..Launch::default()
        });
    }
    // The next item is loaded while the last one is finished.
    let source = OperandNeed {
        tail_bytes: 16,
        ..anywhere()
    };
    Ok((text, launches, vec![source, anywhere()]))
}

/// Up to three halves, one by one.
fn widen_last(count: u32) -> Worker {
    let mut out = Worker::new();
    for half in 0..count {
        out.solo(format!("ldz16 $m3, $m0, $mzero, {half}"));
        out.solo(format!("st32 $m3, $m1, $mzero, {half}"));
    }
    out.solo("exitz $mzero");
    out
}

/// Up to three halves: two side by side in a word, one beside what is there.
fn narrow_last(count: u32) -> Worker {
    let mut out = Worker::new();
    for word in 0..count / 2 {
        out.solo(format!("ld32 $a0, $m0, $mzero, {}", 2 * word));
        out.solo(format!("ld32 $a1, $m0, $mzero, {}", 2 * word + 1));
        out.solo("sort4x16lo $a0, $a0, $a1");
        out.solo(format!("st32 $a0, $m1, $mzero, {word}"));
    }
    if count % 2 == 1 {
        out.solo(format!("ld32 $a0, $m0, $mzero, {}", count - 1));
        out.solo(format!("ld32 $a1, $m1, $mzero, {}", count / 2));
        out.solo("sort4x16hi $a0, $a0:BL, $a1");
        out.solo(format!("st32 $a0, $m1, $mzero, {}", count / 2));
    }
    out.solo("exitz $mzero");
    out
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
