//! Layer and root-mean-square normalisation per row.

use super::split::{Body as Segment, Split};
use super::{Row, constant, describe, faster, frame, gathered, made, mask_words, row_sum};
use crate::kernels::Made;
use crate::pipeline::{Body, Reg};
use crate::worker::Worker;
use ipucc_chip::Assumptions;
use ipucc_tile::cost::NoKernel;
use ipucc_tile::kernel::Rows;

/// Loads the next vector of `buffer` as pairs of f32.
fn widened(body: &mut Body, row: &Row, buffer: usize, tail: bool) -> Vec<Reg> {
    let x = body.load(buffer, 2);
    let x = row.keep(body, x, tail);
    if !row.half() {
        return vec![x];
    }
    (0..2)
        .map(|word| body.fresh(2, "f16v2tof32", &format!("%{x}.{word}"), &[x]))
        .collect()
}

/// The opposite of [`widened`]: one vector from pairs of f32.
fn narrowed(body: &mut Body, row: &Row, parts: &[Reg]) -> Reg {
    if !row.half() {
        return parts[0];
    }
    let y = body.register(2);
    for (word, &part) in parts.iter().enumerate() {
        body.aux(
            &format!("f32v2tof16 %{y}.{word}, %{part}"),
            Some(y),
            &[part],
        );
    }
    y
}

/// What the steps of a normalisation have in common.
struct Norm {
    /// Of the mean: subtracted, and a bias added.
    mean: bool,
    /// Operands: elements, scale [, bias], result.
    operands: usize,
}

/// `(x - mean) / sqrt(variance + epsilon) * scale + bias` per row, or without mean and bias.
pub(in crate::kernels) fn normalise(
    rows: Rows,
    epsilon: u32,
    mean: bool,
    assumptions: &Assumptions,
) -> Result<Made, NoKernel> {
    let name = if mean { "layer_norm" } else { "rms_norm" };
    let no = |reason: String| NoKernel {
        what: format!("{name} of {rows:?}"),
        reason,
    };
    let norm = Norm {
        mean,
        operands: if mean { 4 } else { 3 },
    };
    let operands = norm.operands;
    let row = describe(rows, operands + 2, assumptions).map_err(no)?;
    let mut constants = vec![(rows.columns as f32).to_bits(), epsilon];
    constants.extend(mask_words(rows.element, rows.columns, 0));
    let stride = rows.pitch * rows.element.bytes();
    let mut strides = vec![0; operands];
    strides[0] = stride;
    strides[operands - 1] = stride;
    let result = (|| {
        let mut out = Worker::new();
        if mean {
            norm.sum(&mut out, &row)?;
            norm.centre(&mut out);
        }
        norm.squares(&mut out, &row)?;
        norm.scale(&mut out);
        norm.results(&mut out, &row)?;
        let text = frame(name, rows.rows, &strides, &out);
        let whole = made(name, text, operands, &constants);
        let split = Split::of(rows, &row, operands, &constants, if mean { 3 } else { 1 })
            .map(|split| split.made(&row, &strides, norm.segments()));
        faster(whole, split, assumptions)
    })();
    result.map_err(no)
}

impl Norm {
    /// The launches of rows that workers share. Results: sums, sums of squares, the mean.
    fn segments(&self) -> Vec<(&'static str, Segment<'_>)> {
        let mut launches: Vec<(&'static str, Segment<'_>)> = Vec::new();
        let squares = usize::from(self.mean);
        if self.mean {
            launches.push((
                "norm_sum",
                Box::new(|split, out, row| {
                    self.sum(out, row)?;
                    split.leave(out, 0, 0);
                    Ok(())
                }),
            ));
        }
        launches.push((
            "norm_squares",
            Box::new(move |split, out, row| {
                if self.mean {
                    split.join(out, (0, [1, 2]), 0, "f32add");
                    self.centre(out);
                    split.leave(out, 6, 2);
                }
                self.squares(out, row)?;
                split.leave(out, 0, squares);
                Ok(())
            }),
        ));
        launches.push((
            "norm_results",
            Box::new(move |split, out, row| {
                if self.mean {
                    split.own(out, 6, 2);
                }
                split.join(out, (0, [1, 2]), squares, "f32add");
                self.scale(out);
                self.results(out, row)
            }),
        ));
        launches
    }

    /// Sum of the row in `$a0`.
    fn sum(&self, out: &mut Worker, row: &Row) -> Result<(), String> {
        out.bundle("mov $m4, $m0", "or64 $a4:5, $azeros, $azeros");
        row_sum(out, row, 4)
    }

    /// `$a6` = minus the mean, from the sum in `$a0`; `$m4` walks the row again.
    fn centre(&self, out: &mut Worker) {
        constant(out, 1, self.operands);
        out.slow_bundle("", "f32div $a0, $a0, $a1", 3);
        out.bundle("mov $m4, $m0", "f32sub $a6, $azero, $a0");
    }

    /// Sum of the squares of x - mean in `$a0`; the accumulators are empty.
    fn squares(&self, out: &mut Worker, row: &Row) -> Result<(), String> {
        if self.mean {
            row.pass(out, &[4], 0, |body, tail| {
                let least = body.pin(6, 1);
                let valid = if tail {
                    row.columns % row.width
                } else {
                    row.width
                };
                for (part, x) in (0..).zip(widened(body, row, 0, false)) {
                    if 2 * part >= valid {
                        break;
                    }
                    let d = body.fresh(2, "f32v2add", &format!("%{least}:B, %{x}"), &[least, x]);
                    if 2 * part + 1 < valid {
                        body.aux(&format!("f32v2mac %{d}, %{d}"), None, &[d]);
                    } else {
                        body.aux(&format!("f32mac %{d}.0, %{d}.0"), None, &[d]);
                    }
                }
            })?;
        } else {
            out.bundle("mov $m4, $m0", "");
            row.pass(out, &[4], 0, |body, tail| {
                let x = body.load(0, 2);
                let x = row.keep(body, x, tail);
                let mac = if row.half() { "f16v4cmac" } else { "f32v2mac" };
                body.aux(&format!("{mac} %{x}, %{x}"), None, &[x]);
            })?;
        }
        gathered(out, false);
        Ok(())
    }

    /// `$a7` = 1 / root of (the mean of the sum of squares in `$a0`, and epsilon); `$m4` and
    /// `$m5` walk elements and scale.
    fn scale(&self, out: &mut Worker) {
        constant(out, 1, self.operands);
        out.slow_bundle(
            format!("ld32 $a2, $mvertex_base, $mzero, {}", self.operands + 1),
            "f32div $a0, $a0, $a1",
            3,
        );
        out.bundle("mov $m4, $m0", "f32add $a0, $a0, $a2");
        out.slow_bundle("mov $m5, $m1", "f32oorx $a7, $a0", 4);
    }

    /// The row with `$a6` added and times `$a7`, scaled and shifted.
    fn results(&self, out: &mut Worker, row: &Row) -> Result<(), String> {
        let result = self.operands - 1;
        if self.mean {
            out.bundle("mov $m6, $m2", "");
        }
        out.bundle(format!("mov $m7, $m{result}"), "");
        let pointers: &[u32] = if self.mean { &[4, 5, 6, 7] } else { &[4, 5, 7] };
        row.pass(out, pointers, result, |body, tail| {
            let scale = body.pin(7, 1);
            let least = body.pin(6, 1);
            let parts: Vec<Reg> = widened(body, row, 0, false)
                .into_iter()
                .map(|x| {
                    let x = if self.mean {
                        body.fresh(2, "f32v2add", &format!("%{least}:B, %{x}"), &[least, x])
                    } else {
                        x
                    };
                    body.fresh(2, "f32v2mul", &format!("%{scale}:B, %{x}"), &[scale, x])
                })
                .collect();
            let x = narrowed(body, row, &parts);
            let g = body.load(1, 2);
            let mut y = body.fresh(2, &row.op("mul"), &format!("%{g}, %{x}"), &[g, x]);
            if self.mean {
                let b = body.load(2, 2);
                y = body.fresh(2, &row.op("add"), &format!("%{b}, %{y}"), &[b, y]);
            }
            let y = row.keep(body, y, tail);
            body.store(result, y);
        })
    }
}
