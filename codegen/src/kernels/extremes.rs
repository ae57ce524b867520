//! What maxima and minima need besides the chip's own: those return the other operand where one is
//! NaN (`isa/float.md` 7), the language's return NaN.
//!
//! NaN is followed beside the fold, two vectors of 8 bytes at a time: squares of f32 summed in the
//! accumulators are NaN only if an element is. Infinite halves are no operands of f16 arithmetic,
//! so it is their comparisons with themselves that are summed, 0 or NaN.

use crate::worker::Worker;

/// Folds `count` vectors into `$a4:5`: `load(register, n)` loads vector `n` into `$a(register)` and
/// the next, with the same text for every n if it `walks`. Accumulators are zero before and hold what [`marked`] reads afterwards.
pub(super) fn fold(
    out: &mut Worker,
    half: bool,
    name: &str,
    (count, walks): (u32, bool),
    load: impl Fn(u32, u32) -> String,
) {
    let pair = |out: &mut Worker, second: &str, copy: &str, next: &str| {
        let op = if half { "f16v4" } else { "f32v2" };
        if !copy.is_empty() {
            out.bundle("", copy);
        }
        out.bundle(second, format!("{op}{name} $a4:5, $a4:5, $a0:1"));
        out.bundle("", format!("{op}{name} $a4:5, $a4:5, $a2:3"));
        if half {
            out.bundle("", "f16v4cmpne $a0:1, $a0:1, $a0:1");
            out.bundle("", "f16v4cmpne $a2:3, $a2:3, $a2:3");
            out.bundle(next, "f16v8acc $a0:3");
        } else {
            out.bundle(next, "f32v4sqacc $a0:3");
        }
    };
    out.bundle(load(0, 0), "");
    out.bundle("", "or64 $a4:5, $a0:1, $azeros");
    let loops = (count - 1) / 2;
    if walks {
        out.repeat(loops, |body| pair(body, &load(2, 1), "", &load(0, 2)));
    } else {
        for n in 0..loops {
            pair(out, &load(2, 2 * n + 1), "", &load(0, 2 * n + 2));
        }
    }
    if count.is_multiple_of(2) {
        pair(out, &load(2, count - 1), "", "");
    } else {
        pair(out, "", "or64 $a2:3, $a0:1, $azeros", "");
    }
}

/// Lanes of `$a4:5` whose accumulators are NaN become NaN; the accumulators are zero afterwards.
pub(super) fn marked(out: &mut Worker, half: bool) {
    const GATHER: &str = "f32v2gina";
    let gather =
        |out: &mut Worker, pair: &str| out.bundle("", format!("{GATHER} {pair}, $azeros, 0"));
    gather(out, "$a0:1");
    gather(out, "$a2:3");
    if half {
        gather(out, "$a6:7");
        out.bundle("", "f32v2add $a0:1, $a0:1, $a6:7");
        gather(out, "$a6:7");
        out.bundle("", "f32v2add $a2:3, $a2:3, $a6:7");
        // Zero or NaN.
        out.bundle("", "f32v2tof16 $a0, $a0:1");
        out.bundle("", "f32v2tof16 $a1, $a2:3");
    } else {
        out.bundle("", "f32v2add $a0:1, $a0:1, $a2:3");
        out.bundle("", "f32v2cmpne $a0:1, $a0:1, $a0:1");
    }
    out.bundle("", "or64 $a4:5, $a4:5, $a0:1");
}
