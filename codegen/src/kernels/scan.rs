//! Running sums along an axis: every column (or pair of columns) is walked by one worker.

use super::nest::{Dim, Nest};
use super::{Made, anywhere, fits};
use crate::worker::Worker;
use ipucc_chip::ScalarType;
use ipucc_tile::cost::NoKernel;
use ipucc_tile::kernel::Scan;

/// What an item is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Item {
    /// A column of words.
    Word,
    /// Two columns of f32.
    Pair,
    /// Two columns of halves.
    Halves,
    /// A row of halves, walked by words.
    Row,
}

pub(super) fn generate(scan: &Scan) -> Result<Made, NoKernel> {
    let no = |reason: &str| NoKernel {
        what: format!("{scan:?}"),
        reason: reason.into(),
    };
    let bytes = scan.element.bytes();
    let size = u64::from(scan.outer) * u64::from(scan.strides.0) * u64::from(bytes);
    let row = u64::from(scan.axis) * u64::from(scan.strides.1) * u64::from(bytes);
    if scan.outer == 0 || scan.axis == 0 || scan.inner == 0 || !fits(size) || !fits(row) {
        return Err(no("it has no elements, or more than fit a tile"));
    }
    let (outer, along) = scan.strides;
    let even =
        (scan.outer == 1 || outer % 2 == 0) && along % 2 == 0 && scan.inner.is_multiple_of(2);
    let item = match scan.element {
        ScalarType::F32 if even => Item::Pair,
        ScalarType::F32 | ScalarType::I32 => Item::Word,
        ScalarType::F16 if even => Item::Halves,
        ScalarType::F16 if scan.inner == 1 && along == 1 && (scan.outer == 1 || outer % 2 == 0) => {
            Item::Row
        }
        ScalarType::F16 => {
            return Err(no(
                "f16 columns that begin at odd elements; hint: pad the inner axis to an even extent",
            ));
        }
        _ => return Err(no("supported are f32, f16 and i32")),
    };
    let lanes = if matches!(item, Item::Pair | Item::Halves) {
        2
    } else {
        1
    };
    let dim = |count: u32, elements: u32| {
        let stride = (elements * bytes) as i32;
        Dim::new(count, &[stride, stride])
    };
    let dims = vec![dim(scan.outer, outer), dim(scan.inner / lanes, lanes)];
    let steps = if item == Item::Row {
        scan.axis.div_ceil(2)
    } else {
        scan.axis
    };
    // Bytes of an access and from one to the next.
    let access = if item == Item::Pair { 8 } else { 4 };
    let step = if item == Item::Row { 4 } else { along * bytes } as i32;
    let (first, step) = if scan.reverse {
        ((steps - 1) * step as u32, -step)
    } else {
        (0, step)
    };
    let mut setup = Worker::new();
    setup.constant_m(4, (step / access) as u32);
    if scan.element == ScalarType::I32 {
        setup.constant_m(5, step as u32);
    }
    let mut body = Worker::new();
    body.bundle("mov $m2, $m0", "");
    body.bundle("mov $m3, $m1", "or64 $a4:5, $azeros, $azeros");
    match (item, scan.element) {
        (Item::Word, ScalarType::I32) => integers(&mut body, scan, steps),
        (Item::Row, _) => row_of_halves(&mut body, scan, steps),
        (Item::Halves, _) => halves(&mut body, scan, steps),
        _ => words(&mut body, scan, steps, item == Item::Pair),
    }
    let nest = Nest {
        name: "scan",
        pointers: 2,
        dims,
        setup,
        registers: 8,
    };
    let (text, turns) = nest.emit(&body).map_err(|reason| no(&reason))?;
    let launch = nest.launch(turns, &[(0, first), (1, first)]);
    Ok((text, vec![launch], vec![anywhere(); 2]))
}

fn integers(out: &mut Worker, scan: &Scan, steps: u32) {
    out.bundle("setzi $m6, 0", "");
    out.repeat(steps, |body| {
        body.bundle("ld32step $m7, $mzero, $m2+=, $m4", "");
        if scan.exclusive {
            body.bundle("st32 $m6, $m3, $mzero, 0", "");
            body.bundle("add $m6, $m6, $m7", "");
        } else {
            body.bundle("add $m6, $m6, $m7", "");
            body.bundle("st32 $m6, $m3, $mzero, 0", "");
        }
        body.bundle("add $m3, $m3, $m5", "");
    });
}

/// One or two columns of f32: two turns a step. The load runs one step ahead.
fn words(out: &mut Worker, scan: &Scan, steps: u32, pair: bool) {
    let (bits, x, sum, add) = if pair {
        (64, "$a0:1", "$a4:5", "f32v2add")
    } else {
        (32, "$a0", "$a4", "f32add")
    };
    let load = format!("ld{bits}step {x}, $mzero, $m2+=, $m4");
    let store = format!("st{bits}step {sum}, $mzero, $m3+=, $m4");
    let add = format!("{add} {sum}, {sum}, {x}");
    out.bundle(&load, "");
    let next = |out: &mut Worker, load: &str| {
        if scan.exclusive {
            out.bundle(&store, &add);
            out.bundle(load, "");
        } else {
            out.bundle(load, &add);
            out.bundle(&store, "");
        }
    };
    out.repeat(steps - 1, |body| next(body, &load));
    next(out, "");
}

/// Two columns of halves.
fn halves(out: &mut Worker, scan: &Scan, steps: u32) {
    out.repeat(steps, |body| {
        body.bundle("ld32step $a0, $mzero, $m2+=, $m4", "");
        body.bundle("", "f16v2tof32 $a2:3, $a0");
        if scan.exclusive {
            body.bundle("", "f32v2tof16 $a6, $a4:5");
            body.bundle(
                "st32step $a6, $mzero, $m3+=, $m4",
                "f32v2add $a4:5, $a4:5, $a2:3",
            );
        } else {
            body.bundle("", "f32v2add $a4:5, $a4:5, $a2:3");
            body.bundle("", "f32v2tof16 $a6, $a4:5");
            body.bundle("st32step $a6, $mzero, $m3+=, $m4", "");
        }
    });
}

/// A row of halves: both halves of a word one after the other. What lies behind an odd end of the
/// row counts as zero and becomes zero.
fn row_of_halves(out: &mut Worker, scan: &Scan, steps: u32) {
    let (first, second) = if scan.reverse { (1, 0) } else { (0, 1) };
    let word = |out: &mut Worker, partial: bool| {
        out.bundle("ld32step $a0, $mzero, $m2+=, $m4", "");
        if partial {
            out.bundle("", "sort4x16lo $a0, $a0, $azero");
        }
        out.bundle("", "f16v2tof32 $a2:3, $a0");
        let (x, y) = (2 + first, 2 + second);
        let (a, b) = (6 + first, 6 + second);
        if scan.exclusive {
            out.bundle("", format!("mov $a{a}, $a4"));
            out.bundle("", format!("f32add $a{b}, $a4, $a{x}"));
            out.bundle("", format!("f32add $a4, $a{b}, $a{y}"));
        } else {
            out.bundle("", format!("f32add $a{a}, $a4, $a{x}"));
            out.bundle("", format!("f32add $a{b}, $a{a}, $a{y}"));
            out.bundle("", format!("mov $a4, $a{b}"));
        }
        out.bundle("", "f32v2tof16 $a1, $a6:7");
        if partial {
            out.bundle("", "sort4x16lo $a1, $a1, $azero");
        }
        out.bundle("st32step $a1, $mzero, $m3+=, $m4", "");
    };
    let partial = scan.axis % 2 == 1;
    if partial && scan.reverse {
        word(out, true);
    }
    out.repeat(steps - u32::from(partial), |body| word(body, false));
    if partial && !scan.reverse {
        word(out, true);
    }
}
