//! Kernels that work row by row: softmax, layer and root-mean-square normalisation; what
//! reductions of the innermost axis (`fold`) share with them. Where there are fewer rows than
//! workers, several workers share a row (`split`).
//!
//! Workers take contiguous shares of the rows. A row is walked in vectors of 8 bytes, several
//! passes over it, each pass a pipelined loop; the last vector is masked where a row does not fill
//! it, and what is written beyond the columns is zero. Sums, means and variances are f32.

mod normalise;
mod softmax;
mod split;

pub(super) use normalise::normalise;
pub(super) use softmax::softmax;

use super::{Launch, Made, Word, anywhere, fits};
use crate::pipeline::{Access, Body, Reg, Schedule, Walk};
use crate::worker::{Worker, entry};
use ipucc_chip::{Assumptions, ScalarType};
use ipucc_tile::kernel::Rows;

/// Bit of `$FP_CLR` that clears the accumulators (`isa/amp.md` 11).
const CLEAR_ACCUMULATORS: u32 = 8;

/// What a pass needs to know of a row.
pub(super) struct Row {
    pub(super) element: ScalarType,
    columns: u32,
    /// Elements of a vector.
    width: u32,
    /// First record word of the mask of the last vector; `None` if it is full.
    mask: Option<usize>,
    assumptions: Assumptions,
}

impl Row {
    pub(super) fn half(&self) -> bool {
        self.element == ScalarType::F16
    }

    pub(super) fn op(&self, name: &str) -> String {
        if self.half() {
            format!("f16v4{name}")
        } else {
            format!("f32v2{name}")
        }
    }

    /// Broadcast suffix.
    fn all(&self) -> &'static str {
        if self.half() { "BL" } else { "B" }
    }

    /// Keeps the columns of a last vector, zero elsewhere.
    pub(super) fn keep(&self, body: &mut Body, x: Reg, tail: bool) -> Reg {
        match self.mask {
            Some(at) if tail => {
                let mask = body.constant(at, 2);
                body.fresh(2, "and64", &format!("%{x}, %{mask}"), &[x, mask])
            }
            _ => x,
        }
    }

    /// As [`Row::keep`], with the filler behind the mask in the record instead of zero.
    pub(super) fn fill(&self, body: &mut Body, x: Reg, tail: bool) -> Reg {
        match self.mask {
            Some(at) if tail => {
                let kept = self.keep(body, x, tail);
                let filler = body.constant(at + 2, 2);
                body.fresh(2, "or64", &format!("%{kept}, %{filler}"), &[kept, filler])
            }
            _ => x,
        }
    }

    /// One pass over the row: the full vectors, then the masked one.
    pub(super) fn pass(
        &self,
        out: &mut Worker,
        pointers: &[u32],
        stored: usize,
        body: impl Fn(&mut Body, bool),
    ) -> Result<(), String> {
        let bytes = vec![8; pointers.len()];
        let walk = Walk {
            pointers,
            bytes: &bytes,
            stored,
        };
        let full = self.columns / self.width;
        for (tail, passes) in [(false, full), (true, u32::from(self.mask.is_some()))] {
            if passes == 0 {
                continue;
            }
            let mut made = Body::new(&self.assumptions);
            body(&mut made, tail);
            let schedule = Schedule::of(&made, Access::Plain)
                .ok_or("internal: a pass needs more registers than there are")?;
            schedule.emit(out, passes, &walk);
        }
        Ok(())
    }
}

/// Mask and filler words of the last vector of a row, empty if it is full.
pub(super) fn mask_words(element: ScalarType, columns: u32, filler: u32) -> Vec<u32> {
    let width = 8 / element.bytes();
    let used = columns % width;
    if used == 0 {
        return vec![];
    }
    let bits = 8 * element.bytes();
    let mask = (1u64 << (used * bits)) - 1;
    let every = if bits == 16 {
        u64::from(filler & 0xffff) * 0x0001_0001_0001_0001
    } else {
        u64::from(filler) | u64::from(filler) << 32
    };
    let filler = every & !mask;
    vec![
        mask as u32,
        (mask >> 32) as u32,
        filler as u32,
        (filler >> 32) as u32,
    ]
}

/// Frame of a row kernel: `strides` are the bytes from row to row of each operand (0: the same for
/// all rows), pointers in `$m0..`; `row` emits one row with bundles only and leaves the pointers.
pub(super) fn frame(name: &str, rows: u32, strides: &[u32], row: &Worker) -> (String, [u64; 6]) {
    let (each, more) = (rows / 6, rows % 6);
    let mut head = Worker::new();
    head.bundle(
        "ld32 $m0, $mvertex_base, $mzero, 0",
        format!("setzi $a0, {CLEAR_ACCUMULATORS}"),
    );
    head.bundle("get $m8, $WSR", "uput $FP_CLR, $a0");
    for operand in 1..strides.len() {
        head.bundle(
            format!("ld32 $m{operand}, $mvertex_base, $mzero, {operand}"),
            "",
        );
    }
    head.bundle("and $m8, $m8, 7", "");
    head.bundle(format!("mul $m9, $m8, {each}"), "");
    head.bundle(format!("min $m10, $m8, {more}"), "");
    head.bundle("add $m9, $m9, $m10", "");
    for (operand, &stride) in strides.iter().enumerate() {
        if stride == 0 {
            continue;
        }
        head.bundle(format!("setzi $m10, {stride}"), "");
        head.bundle("mul $m10, $m9, $m10", "");
        head.bundle(format!("add $m{operand}, $m{operand}, $m10"), "");
    }
    entry(name, head, 8, rows, |count, label| {
        let mut out = Worker::new();
        if count > 0 {
            out.bundle(format!("setzi $m11, {}", count - 1), "");
            let mut body = Worker::new();
            body.append(row);
            for (operand, &stride) in strides.iter().enumerate() {
                if stride != 0 {
                    // The stride is below 2^20; `add` takes 16 bits.
                    if stride < 0x8000 {
                        body.bundle(format!("add $m{operand}, $m{operand}, {stride}"), "");
                    } else {
                        body.bundle(format!("setzi $m10, {stride}"), "");
                        body.bundle(format!("add $m{operand}, $m{operand}, $m10"), "");
                    }
                }
            }
            body.bundle(format!("brnzdec $m11, {label}"), "");
            out.looped(&body, count, label);
        }
        out.solo("exitz $mzero");
        out
    })
}

/// Checks the shape and builds the description of a row.
pub(super) fn describe(rows: Rows, mask: usize, assumptions: &Assumptions) -> Result<Row, String> {
    if !matches!(rows.element, ScalarType::F32 | ScalarType::F16) {
        return Err(format!(
            "rows of {}; supported are f32 and f16",
            rows.element
        ));
    }
    let bytes = rows.element.bytes();
    if rows.rows == 0 || rows.columns == 0 {
        return Err("it has no elements".into());
    }
    if rows.rows > 1 && !(rows.pitch * bytes).is_multiple_of(8) {
        return Err(format!(
            "rows begin every {} bytes; hint: pad rows to a multiple of 8 bytes",
            rows.pitch * bytes
        ));
    }
    if !fits(u64::from(rows.rows) * u64::from(rows.pitch) * u64::from(bytes))
        || rows.rows / 6 >= 0x8000
    {
        return Err("the rows do not fit a tile".into());
    }
    let width = 8 / bytes;
    Ok(Row {
        element: rows.element,
        columns: rows.columns,
        width,
        mask: (!rows.columns.is_multiple_of(width)).then_some(mask),
        assumptions: assumptions.clone(),
    })
}

pub(super) fn made(
    entry: &'static str,
    text: (String, [u64; 6]),
    operands: usize,
    constants: &[u32],
) -> Made {
    let record = (0..operands)
        .map(|operand| Word::Operand(operand, 0))
        .chain(constants.iter().map(|&c| Word::Constant(c)))
        .collect();
    let launch = Launch {
        entry,
        record,
        turns: text.1,
        ..Launch::default()
    };
    (text.0, vec![launch], vec![anywhere(); operands])
}

/// The f32 sum of what the lanes have gathered, in `$a0`.
fn gathered(out: &mut Worker, four: bool) {
    out.bundle("", "f32v2gina $a0:1, $azeros, 0");
    if four {
        out.bundle("", "f32v2gina $a2:3, $azeros, 0");
        out.bundle("", "f32v2add $a0:1, $a0:1, $a2:3");
    }
    out.bundle("", "f32add $a0, $a0, $a1");
}

/// Folds the four or two lanes of `$a6:7` with a maximum or minimum; result in `$a6`, both halves
/// for f16.
pub(super) fn lateral(out: &mut Worker, row: &Row, name: &str) {
    if row.half() {
        out.bundle("", format!("f16v2{name} $a6, $a6, $a7"));
        out.bundle("", "roll16 $a7, $a6, $a6");
        out.bundle("", format!("f16v2{name} $a6, $a6, $a7"));
    } else {
        out.bundle("", format!("f32{name} $a6, $a6, $a7"));
    }
}

/// Lowest finite value of a type, in every lane of a word.
pub(super) fn lowest(element: ScalarType) -> u32 {
    match element {
        ScalarType::F16 => 0xfbff_fbff,
        _ => f32::MIN.to_bits(),
    }
}

pub(super) fn constant(out: &mut Worker, register: u32, word: usize) {
    out.bundle(
        format!("ld32 $a{register}, $mvertex_base, $mzero, {word}"),
        "",
    );
}

/// Sum of the row into `$a0`, f32; `$m(pointer)` walks, `$a4:5` must be zero.
pub(super) fn row_sum(out: &mut Worker, row: &Row, pointer: u32) -> Result<(), String> {
    row.pass(out, &[pointer], 0, |body, tail| {
        let x = body.load(0, 2);
        let x = row.keep(body, x, tail);
        if row.half() {
            body.aux(&format!("f16v4acc %{x}"), None, &[x]);
        } else {
            let sum = body.pin(4, 2);
            body.write(sum, "f32v2add", &format!("%{sum}, %{x}"), &[sum, x]);
        }
    })?;
    if row.half() {
        gathered(out, true);
    } else {
        out.bundle("", "f32add $a0, $a4, $a5");
    }
    Ok(())
}

/// The faster of two forms of a kernel.
fn faster(
    whole: Made,
    split: Option<Result<Made, String>>,
    assumptions: &Assumptions,
) -> Result<Made, String> {
    let cycles = |made: &Made| crate::timeline::kernel_cycles(&made.1, assumptions);
    Ok(match split.transpose()? {
        Some(split) if cycles(&split) < cycles(&whole) => split,
        _ => whole,
    })
}
