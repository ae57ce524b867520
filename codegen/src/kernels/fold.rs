//! Reductions of the innermost axis, row by row; other shapes go to the column form or to the
//! general one.

use super::Made;
use super::rows::{constant, describe, frame, lateral, made, mask_words, row_sum};
use crate::worker::Worker;
use ipucc_chip::{Assumptions, ScalarType};
use ipucc_tile::cost::NoKernel;
use ipucc_tile::kernel::{Reduce, ReduceKind, Rows};

/// Bits of `$FP_CLR` that clear the flags (`isa/execution.md` 8).
const CLEAR_FLAGS: u32 = 7;

/// A reduction.
pub(super) fn reduce(reduce: &Reduce, assumptions: &Assumptions) -> Result<Made, NoKernel> {
    let fast = if reduce.inner == 1 {
        innermost(reduce, assumptions)
    } else {
        super::columns::reduce(reduce)
    };
    fast.or_else(|_| super::general::reduce(reduce))
}

/// A reduction of the innermost axis.
fn innermost(reduce: &Reduce, assumptions: &Assumptions) -> Result<Made, NoKernel> {
    let no = |reason: String| NoKernel {
        what: format!("{reduce:?}"),
        reason,
    };
    if reduce.input_strides.1 != 1 && reduce.axis > 1 {
        return Err(no("the reduced axis is not contiguous".into()));
    }
    let rows = Rows {
        rows: reduce.outer,
        columns: reduce.axis,
        pitch: reduce.input_strides.0,
        element: reduce.input,
    };
    let row = describe(rows, 3, assumptions).map_err(no)?;
    let half_out = reduce.output == ScalarType::F16;
    if !half_out && reduce.output != ScalarType::F32 {
        return Err(no(format!("a result of {}", reduce.output)));
    }
    if half_out
        && (reduce.outer > 1 && (!reduce.outer.is_multiple_of(2) || reduce.output_stride != 1))
    {
        return Err(no(
            "an odd number of f16 results, or results that are not contiguous; hint: f32 results"
                .into(),
        ));
    }
    let (name, filler) = match reduce.kind {
        ReduceKind::Sum | ReduceKind::Mean => ("sum", 0),
        ReduceKind::Max => ("max", if row.half() { 0xfc00_fc00 } else { 0xff80_0000 }),
        ReduceKind::Min => ("min", if row.half() { 0x7c00_7c00 } else { 0x7f80_0000 }),
        ReduceKind::Prod => return Err(no("a product has no kernel".into())),
    };
    let mut constants = vec![(reduce.axis as f32).to_bits()];
    constants.extend(mask_words(rows.element, rows.columns, filler));
    let once = |out: &mut Worker, result: u32| -> Result<(), String> {
        if name == "sum" {
            out.bundle("mov $m2, $m0", "or64 $a4:5, $azeros, $azeros");
            row_sum(out, &row, 2)?;
            if reduce.kind == ReduceKind::Mean {
                constant(out, 1, 2);
                out.slow_bundle("", "f32div $a0, $a0, $a1", 3);
            }
            let into = if half_out { "f32tof16" } else { "mov" };
            out.bundle("", format!("{into} $a{result}, $a0"));
            return Ok(());
        }
        out.bundle(
            "mov $m2, $m0",
            format!("setzi $a6, {:#x}", filler & 0xf_ffff),
        );
        out.bundle("", format!("or $a6, $a6, {:#x}", filler & 0xfff0_0000));
        out.bundle("", "mov $a7, $a6");
        if row.half() {
            // A NaN in a comparison leaves the flag of an invalid operation.
            out.bundle("", format!("setzi $a0, {CLEAR_FLAGS}"));
            out.bundle("", "uput $FP_CLR, $a0");
        }
        row.pass(out, &[2], 0, |body, tail| {
            let acc = body.pin(6, 2);
            let x = body.load(0, 2);
            let x = row.fill(body, x, tail);
            body.write(acc, &row.op(name), &format!("%{acc}, %{x}"), &[acc, x]);
            if row.half() {
                body.aux(&format!("f16v4cmpne $azeros, %{x}, %{x}"), None, &[x]);
            } else {
                body.aux(&format!("f32v2mac %{x}, %{x}"), None, &[x]);
            }
        })?;
        lateral(out, &row, name);
        // All ones where there was a NaN, which the maximum does not tell (`extremes`).
        if row.half() {
            out.bundle("", "uget $a0, $FP_STS");
            out.bundle("", "f32fromi32 $a0, $a0");
            out.bundle("", "f32cmplt $a0, $azero, $a0");
        } else {
            out.bundle("", "f32v2gina $a0:1, $azeros, 0");
            out.bundle("", "f32add $a0, $a0, $a1");
            out.bundle("", "f32cmpne $a0, $a0, $a0");
        }
        out.bundle("", "or $a6, $a6, $a0");
        let into = match (row.half(), half_out) {
            (true, false) => "f16tof32",
            (false, true) => "f32tof16",
            _ => "mov",
        };
        out.bundle("", format!("{into} $a{result}, $a6"));
        Ok(())
    };
    let mut out = Worker::new();
    let stride = reduce.input_strides.0 * reduce.input.bytes();
    let (items, strides) = if half_out && reduce.outer > 1 {
        // Two rows make one word.
        once(&mut out, 3).map_err(no)?;
        out.bundle("mov $m4, $m0", "");
        out.bundle(format!("setzi $m10, {stride}"), "");
        out.bundle("atom $m3, $a3", "");
        out.bundle("add $m0, $m0, $m10", "");
        once(&mut out, 2).map_err(no)?;
        out.bundle("mov $m0, $m4", "");
        out.bundle("st32 $m3, $m1, $mzero, 0", "");
        out.bundle("ld32 $a3, $m1, $mzero, 0", "");
        out.bundle("", "sort4x16lo $a2, $a3, $a2");
        out.bundle("st32 $a2, $m1, $mzero, 0", "");
        (reduce.outer / 2, [2 * stride, 4])
    } else {
        once(&mut out, 2).map_err(no)?;
        out.bundle("st32 $a2, $m1, $mzero, 0", "");
        (
            reduce.outer,
            [stride, reduce.output_stride * reduce.output.bytes()],
        )
    };
    let text = frame("reduce", items, &strides, &out);
    Ok(made("reduce", text, 2, &constants))
}
