//! Reductions of any axis, shape and type, element by element: what the fast forms do not take.
//!
//! An item is one element of the result, or two neighbours that share a word. Halves are folded as
//! f32; a single half is put into a word that keeps its other half, and no two items share a word.

use super::nest::{Dim, Nest};
use super::{Launch, Made, anywhere, fits};
use crate::worker::Worker;
use ipucc_chip::ScalarType;
use ipucc_tile::cost::NoKernel;
use ipucc_tile::kernel::{Reduce, ReduceKind};

/// Bit of `$FP_CLR` that clears the accumulators (`isa/amp.md` 11).
const CLEAR_ACCUMULATORS: u32 = 8;

fn extreme(kind: ReduceKind) -> bool {
    matches!(kind, ReduceKind::Max | ReduceKind::Min)
}

/// Entries of the parts of a reduction.
const NAMES: [&str; 2] = ["reduce", "reduce_last"];

/// Results that are made alike.
struct Part {
    dims: Vec<Dim>,
    /// Bytes into input and result.
    offsets: (u32, u32),
    /// Bytes from the element to the other one of the pair.
    pair: Option<i32>,
}

pub(super) fn reduce(reduce: &Reduce) -> Result<Made, NoKernel> {
    let no = |reason: String| NoKernel {
        what: format!("{reduce:?}"),
        reason,
    };
    let (input, output) = (reduce.input, reduce.output);
    let float = |ty| matches!(ty, ScalarType::F32 | ScalarType::F16);
    let integer = input == ScalarType::I32 && output == ScalarType::I32;
    if !(float(input) && float(output) || integer && reduce.kind != ReduceKind::Mean) {
        return Err(no(format!("a reduction of {input} to {output}")));
    }
    let (from, to) = (input.bytes() as i32, output.bytes() as i32);
    let size = |outer: u32| u64::from(reduce.outer) * u64::from(outer) * u64::from(input.bytes());
    if reduce.outer == 0
        || reduce.axis == 0
        || reduce.inner == 0
        || !fits(size(reduce.input_strides.0))
        || !fits(u64::from(reduce.axis) * u64::from(reduce.input_strides.1) * from as u64)
    {
        return Err(no("it has no elements, or more than fit a tile".into()));
    }
    let strides = [
        reduce.input_strides.0 as i32 * from,
        reduce.output_stride as i32 * to,
    ];
    let outer = Dim::new(reduce.outer, &strides);
    let inner = Dim::new(reduce.inner, &[from, to]);
    let parts = if to == 4 {
        vec![Part {
            dims: vec![outer, inner],
            offsets: (0, 0),
            pair: None,
        }]
    } else if reduce.outer == 1 || reduce.output_stride.is_multiple_of(2) {
        pairs(&inner, &[outer])
    } else if reduce.inner == 1 && reduce.output_stride == 1 {
        pairs(&outer, &[])
    } else {
        return Err(no(
            "rows of f16 results that begin at odd elements; hint: pad them to an even pitch"
                .into(),
        ));
    };
    let mut text = String::new();
    let mut launches: Vec<Launch> = Vec::new();
    for (part, &name) in parts.iter().zip(&NAMES) {
        let mut setup = Worker::new();
        setup.constant_m(4, reduce.input_strides.1 * input.bytes() / from as u32);
        if reduce.kind == ReduceKind::Mean {
            let count = (reduce.axis as f32).to_bits();
            setup.constant_a(7, count);
        }
        if input == ScalarType::F32 && extreme(reduce.kind) {
            setup.bundle("", format!("setzi $a0, {CLEAR_ACCUMULATORS}"));
            setup.bundle("", "uput $FP_CLR, $a0");
        }
        let mut body = Worker::new();
        if integer {
            integers(&mut body, reduce);
        } else if input == ScalarType::F16 && extreme(reduce.kind) {
            halves(&mut body, reduce, part.pair);
        } else {
            floats(&mut body, reduce, part.pair);
        }
        let nest = Nest {
            name,
            pointers: 2,
            dims: part.dims.clone(),
            setup,
            registers: 6,
        };
        let (code, turns) = nest.emit(&body).map_err(no)?;
        text.push_str(&code);
        launches.push(nest.launch(turns, &[(0, part.offsets.0), (1, part.offsets.1)]));
    }
    Ok((text, launches, vec![anywhere(); 2]))
}

/// Results along `dim`, two to a word, and what is left alone.
fn pairs(dim: &Dim, outside: &[Dim]) -> Vec<Part> {
    let mut parts = vec![];
    let [from, to] = [dim.strides[0], dim.strides[1]];
    if dim.count > 1 {
        let mut dims = outside.to_vec();
        dims.push(Dim::new(dim.count / 2, &[2 * from, 2 * to]));
        parts.push(Part {
            dims,
            offsets: (0, 0),
            pair: Some(from),
        });
    }
    if dim.count % 2 == 1 {
        let at = |stride: i32| ((dim.count - 1) as i32 * stride) as u32;
        parts.push(Part {
            dims: outside.to_vec(),
            offsets: (at(from), at(to)),
            pair: None,
        });
    }
    parts
}

/// The fold of one or two columns of floats; the first step is the first element itself.
fn floats(out: &mut Worker, reduce: &Reduce, pair: Option<i32>) {
    let half = reduce.input == ScalarType::F16;
    let name = match reduce.kind {
        ReduceKind::Sum | ReduceKind::Mean => "add",
        ReduceKind::Prod => "mul",
        ReduceKind::Max => "max",
        ReduceKind::Min => "min",
    };
    let load = if half { "ldb16step" } else { "ld32step" };
    out.bundle("mov $m2, $m0", "");
    if let Some(bytes) = pair {
        out.constant_m(3, bytes as u32);
        out.bundle("add $m3, $m0, $m3", "");
    }
    // One element (or one of each column) into $a0 (and $a1), beside `aux`.
    let element = |out: &mut Worker, aux: &str| {
        out.bundle(format!("{load} $a0, $mzero, $m2+=, $m4"), aux);
        if pair.is_some() {
            out.bundle(format!("{load} $a1, $mzero, $m3+=, $m4"), "");
        }
        match (half, pair.is_some()) {
            (true, true) => {
                out.bundle("", "sort4x16lo $a0, $a0, $a1");
                out.bundle("", "f16v2tof32 $a0:1, $a0");
            }
            (true, false) => out.bundle("", "f16tof32 $a0, $a0"),
            _ => {}
        }
    };
    // Squares show a NaN, which maxima and minima do not keep (`extremes`).
    let look = |out: &mut Worker| match (extreme(reduce.kind), pair.is_some()) {
        (true, true) => out.bundle("", "f32v2mac $a0:1, $a0:1"),
        (true, false) => out.bundle("", "f32mac $a0, $a0"),
        (false, _) => {}
    };
    element(out, "");
    look(out);
    let (fold, copy) = if pair.is_some() {
        (
            format!("f32v2{name} $a4:5, $a4:5, $a0:1"),
            "or64 $a4:5, $a0:1, $azeros",
        )
    } else {
        (format!("f32{name} $a4, $a4, $a0"), "mov $a4, $a0")
    };
    out.bundle("", copy);
    if reduce.axis > 1 {
        element(out, "");
        out.repeat(reduce.axis - 2, |body| {
            look(body);
            element(body, &fold);
        });
        look(out);
        out.bundle("", &fold);
    }
    if extreme(reduce.kind) {
        out.bundle("", "f32v2gina $a0:1, $azeros, 0");
        if pair.is_some() {
            out.bundle("", "f32v2cmpne $a0:1, $a0:1, $a0:1");
            out.bundle("", "or64 $a4:5, $a4:5, $a0:1");
        } else {
            out.bundle("", "f32cmpne $a0, $a0, $a0");
            out.bundle("", "or $a4, $a4, $a0");
        }
    }
    if reduce.kind == ReduceKind::Mean {
        for lane in 4..4 + 1 + u32::from(pair.is_some()) {
            out.slow_bundle("", format!("f32div $a{lane}, $a{lane}, $a7"), 3);
        }
    }
    match (reduce.output == ScalarType::F16, pair.is_some()) {
        (true, true) => out.bundle("", "f32v2tof16 $a4, $a4:5"),
        (true, false) => {
            // The other half of the word stays.
            out.bundle("ld32 $a1, $m1, $mzero, 0", "f32tof16 $a4, $a4");
            out.bundle("", "sort4x16hi $a4, $a4, $a1");
        }
        _ => {}
    }
    out.bundle("st32 $a4, $m1, $mzero, 0", "");
}

/// The extreme of one or two columns of halves, as halves: infinities would not come back from f32.
fn halves(out: &mut Worker, reduce: &Reduce, pair: Option<i32>) {
    let name = match reduce.kind {
        ReduceKind::Max => "max",
        _ => "min",
    };
    out.bundle("mov $m2, $m0", "or $a6, $azero, $azero");
    if let Some(bytes) = pair {
        out.constant_m(3, bytes as u32);
        out.bundle("add $m3, $m0, $m3", "");
    }
    let element = |out: &mut Worker| {
        out.bundle("ldb16step $a0, $mzero, $m2+=, $m4", "");
        if pair.is_some() {
            out.bundle("ldb16step $a1, $mzero, $m3+=, $m4", "");
            out.bundle("", "sort4x16lo $a0, $a0, $a1");
        }
        out.bundle("", "f16v2cmpne $a1, $a0, $a0");
        out.bundle("", "or $a6, $a6, $a1");
    };
    element(out);
    out.bundle("", "mov $a4, $a0");
    out.repeat(reduce.axis - 1, |body| {
        element(body);
        body.bundle("", format!("f16v2{name} $a4, $a4, $a0"));
    });
    out.bundle("", "or $a4, $a4, $a6");
    if reduce.output == ScalarType::F32 {
        out.bundle("", "f16tof32 $a4, $a4");
    } else if pair.is_none() {
        // The other half of the word stays.
        out.bundle("ld32 $a1, $m1, $mzero, 0", "");
        out.bundle("", "sort4x16hi $a4, $a4, $a1");
    }
    out.bundle("st32 $a4, $m1, $mzero, 0", "");
}

/// The fold of one column of i32.
fn integers(out: &mut Worker, reduce: &Reduce) {
    let name = match reduce.kind {
        ReduceKind::Prod => "mul",
        ReduceKind::Max => "max",
        ReduceKind::Min => "min",
        ReduceKind::Sum | ReduceKind::Mean => "add",
    };
    out.bundle("mov $m2, $m0", "");
    out.bundle("ld32step $m5, $mzero, $m2+=, $m4", "");
    out.repeat(reduce.axis - 1, |body| {
        body.bundle("ld32step $m3, $mzero, $m2+=, $m4", "");
        body.bundle(format!("{name} $m5, $m5, $m3"), "");
    });
    out.bundle("st32 $m5, $m1, $mzero, 0", "");
}
