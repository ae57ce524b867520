//! `exp(x - max) / sum` per row.

use super::split::Split;
use super::{Row, describe, faster, frame, gathered, lateral, lowest, made, mask_words};
use crate::kernels::Made;
use crate::worker::Worker;
use ipucc_chip::Assumptions;
use ipucc_tile::cost::NoKernel;
use ipucc_tile::kernel::Rows;

pub(in crate::kernels) fn softmax(rows: Rows, assumptions: &Assumptions) -> Result<Made, NoKernel> {
    let no = |reason: String| NoKernel {
        what: format!("softmax of {rows:?}"),
        reason,
    };
    let row = describe(rows, 2, assumptions).map_err(no)?;
    let constants = mask_words(rows.element, rows.columns, lowest(rows.element));
    let stride = rows.pitch * rows.element.bytes();
    let strides = [stride, stride];
    let result = (|| {
        let mut out = Worker::new();
        maximum(&mut out, &row)?;
        exponentials(&mut out, &row)?;
        scaled(&mut out, &row)?;
        let text = frame("softmax", rows.rows, &strides, &out);
        let whole = made("softmax", text, 2, &constants);
        let max = if row.half() { "f16v2max" } else { "f32max" };
        let split = Split::of(rows, &row, 2, &constants, 2).map(|split| {
            split.made(
                &row,
                &strides,
                vec![
                    (
                        "softmax_maximum",
                        Box::new(|split, out, row| {
                            maximum(out, row)?;
                            split.leave(out, 6, 0);
                            Ok(())
                        }),
                    ),
                    (
                        "softmax_exponentials",
                        Box::new(move |split, out, row| {
                            split.join(out, (6, [4, 5]), 0, max);
                            exponentials(out, row)?;
                            split.leave(out, 0, 1);
                            Ok(())
                        }),
                    ),
                    (
                        "softmax_scale",
                        Box::new(|split, out, row| {
                            split.join(out, (0, [1, 2]), 1, "f32add");
                            scaled(out, row)
                        }),
                    ),
                ],
            )
        });
        faster(whole, split, assumptions)
    })();
    result.map_err(no)
}

/// The maximum in `$a6`, both halves for f16.
fn maximum(out: &mut Worker, row: &Row) -> Result<(), String> {
    let least = lowest(row.element);
    out.bundle(
        "mov $m2, $m0",
        format!("setzi $a6, {:#x}", least & 0xf_ffff),
    );
    out.bundle("", format!("or $a6, $a6, {:#x}", least & 0xfff0_0000));
    out.bundle("", "mov $a7, $a6");
    row.pass(out, &[2], 0, |body, tail| {
        let acc = body.pin(6, 2);
        let x = body.load(0, 2);
        let x = row.fill(body, x, tail);
        body.write(acc, &row.op("max"), &format!("%{acc}, %{x}"), &[acc, x]);
    })?;
    lateral(out, row, "max");
    Ok(())
}

/// Exponentials of what is left behind the maximum in `$a6`, their sum in `$a0`.
fn exponentials(out: &mut Worker, row: &Row) -> Result<(), String> {
    // $a6 = -maximum in all lanes; $a4:5 the f32 sums.
    let negate = if row.half() {
        "f16v2sub $a6, $azero, $a6"
    } else {
        "f32sub $a6, $azero, $a6"
    };
    out.bundle("mov $m2, $m0", negate);
    out.bundle("mov $m3, $m1", "or64 $a4:5, $azeros, $azeros");
    row.pass(out, &[2, 3], 1, |body, tail| {
        let least = body.pin(6, 1);
        let x = body.load(0, 2);
        let x = row.fill(body, x, tail);
        let d = body.fresh(
            2,
            &row.op("add"),
            &format!("%{least}:{}, %{x}", row.all()),
            &[least, x],
        );
        let e = body.register(2);
        let exp = if row.half() { "f16v2exp" } else { "f32exp" };
        for word in 0..2 {
            body.aux(&format!("{exp} %{e}.{word}, %{d}.{word}"), Some(e), &[d]);
        }
        // The filler is so low that its exponential is 0.
        if row.half() {
            body.aux(&format!("f16v4acc %{e}"), None, &[e]);
        } else {
            let sum = body.pin(4, 2);
            body.write(sum, "f32v2add", &format!("%{sum}, %{e}"), &[sum, e]);
        }
        body.store(1, e);
    })?;
    if row.half() {
        gathered(out, true);
    } else {
        out.bundle("", "f32add $a0, $a4, $a5");
    }
    Ok(())
}

/// What is in the result over the sum in `$a0`.
fn scaled(out: &mut Worker, row: &Row) -> Result<(), String> {
    out.slow_bundle("mov $m2, $m1", "f32oox $a6, $a0", 3);
    if row.half() {
        out.bundle("", "f32tof16 $a6, $a6");
    }
    out.bundle("mov $m3, $m1", "");
    row.pass(out, &[2, 3], 1, |body, _| {
        let scale = body.pin(6, 1);
        let x = body.load(0, 2);
        let y = body.fresh(
            2,
            &row.op("mul"),
            &format!("%{scale}:{}, %{x}", row.all()),
            &[scale, x],
        );
        body.store(1, y);
    })
}
