//! Positions of extremes: argmax and argmin along any axis, the k largest of a row.
//!
//! Positions are counted in f32 beside the values, exact up to 2^24. Time does not depend on data:
//! a step always does the same, chosen by masks.

use super::nest::{Dim, Nest};
use super::{Made, anywhere, fits};
use crate::worker::Worker;
use ipucc_chip::ScalarType;
use ipucc_tile::cost::NoKernel;
use ipucc_tile::kernel::{ArgReduce, TopK};

const INFINITY: u32 = 0x7f80_0000;
const ONE: u32 = 0x3f80_0000;
const SIGN: u32 = 0x8000_0000;

/// An aux register from 12 high bits.
fn high(out: &mut Worker, register: u32, bits: u32) {
    out.bundle("", format!("or $a{register}, $azero, {bits:#x}"));
}

pub(super) fn reduce(arg: &ArgReduce) -> Result<Made, NoKernel> {
    let no = |reason: &str| NoKernel {
        what: format!("{arg:?}"),
        reason: reason.into(),
    };
    let bytes = arg.input.bytes();
    let size = u64::from(arg.outer) * u64::from(arg.input_strides.0) * u64::from(bytes);
    let column = u64::from(arg.axis) * u64::from(arg.input_strides.1) * u64::from(bytes);
    if arg.outer == 0 || arg.axis == 0 || arg.inner == 0 || !fits(size) || !fits(column) {
        return Err(no("it has no elements, or more than fit a tile"));
    }
    let mut body = Worker::new();
    body.bundle("mov $m2, $m0", "");
    match arg.input {
        ScalarType::F32 | ScalarType::F16 => floats(&mut body, arg),
        ScalarType::I32 => integers(&mut body, arg),
        _ => return Err(no("supported are f32, f16 and i32")),
    }
    let mut setup = Worker::new();
    setup.constant_m(4, arg.input_strides.1);
    high(&mut setup, 7, ONE);
    let from = bytes as i32;
    let strides = [
        arg.input_strides.0 as i32 * from,
        arg.output_stride as i32 * 4,
    ];
    let nest = Nest {
        name: "arg",
        pointers: 2,
        dims: vec![
            Dim::new(arg.outer, &strides),
            Dim::new(arg.inner, &[from, 4]),
        ],
        setup,
        registers: 9,
    };
    let (text, turns) = nest.emit(&body).map_err(|reason| no(&reason))?;
    let launch = nest.launch(turns, &[(0, 0), (1, 0)]);
    Ok((text, vec![launch], vec![anywhere(); 2]))
}

/// `$a4` best value, `$a5` its position, `$a6` the position now, `$a7` one.
fn floats(out: &mut Worker, arg: &ArgReduce) {
    let half = arg.input == ScalarType::F16;
    let load = if half {
        "ldb16step $a0, $mzero, $m2+=, $m4"
    } else {
        "ld32step $a0, $mzero, $m2+=, $m4"
    };
    let (worst, better, best) = if arg.largest {
        (INFINITY | SIGN, "f32cmplt", "f32max")
    } else {
        (INFINITY, "f32cmpgt", "f32min")
    };
    out.bundle(load, format!("or $a4, $azero, {worst:#x}"));
    out.bundle("", "or $a5, $azero, $azero");
    out.bundle("", "or $a6, $azero, $azero");
    let step = |out: &mut Worker, load: &str| {
        if half {
            out.bundle("", "f16tof32 $a0, $a0");
        }
        out.bundle("", format!("{better} $a1, $a4, $a0"));
        out.bundle(load, format!("{best} $a4, $a4, $a0"));
        out.bundle("", "and $a2, $a6, $a1");
        out.bundle("", "andc $a5, $a5, $a1");
        out.bundle("", "or $a5, $a5, $a2");
        out.bundle("", "f32add $a6, $a6, $a7");
    };
    out.repeat(arg.axis - 1, |body| step(body, load));
    step(out, "");
    // Nothing is larger than a NaN in the first place.
    if half {
        out.bundle("ldb16 $a0, $m0, $mzero, 0", "");
        out.bundle("", "f16tof32 $a0, $a0");
    } else {
        out.bundle("ld32 $a0, $m0, $mzero, 0", "");
    }
    out.bundle("", "f32cmpeq $a0, $a0, $a0");
    out.bundle("", "and $a5, $a5, $a0");
    out.bundle("", "f32toi32 $a5, $a5");
    out.bundle("st32 $a5, $m1, $mzero, 0", "");
}

fn integers(out: &mut Worker, arg: &ArgReduce) {
    // $m5 best value, $m6 its position, $m7 the position now.
    let (worst, compare) = if arg.largest {
        (SIGN, "cmpslt $m3, $m5, $m8")
    } else {
        (!SIGN, "cmpslt $m3, $m8, $m5")
    };
    out.constant_m(5, worst);
    out.bundle("setzi $m6, 0", "");
    out.bundle("setzi $m7, 0", "");
    out.repeat(arg.axis, |body| {
        body.bundle("ld32step $m8, $mzero, $m2+=, $m4", "");
        body.bundle(compare, "");
        body.bundle("movz $m5, $m3, $m8", "");
        body.bundle("movz $m6, $m3, $m7", "");
        body.bundle("add $m7, $m7, 1", "");
    });
    out.bundle("st32 $m6, $m1, $mzero, 0", "");
}

/// The k largest of each row: k searches for what comes next behind the last one found.
///
/// Elements before the last one's position count if they are strictly behind it, later ones also
/// if they are equal; so a search is two loops of together `columns` steps.
pub(super) fn top_k(top: &TopK) -> Result<Made, NoKernel> {
    let no = |reason: &str| NoKernel {
        what: format!("{top:?}"),
        reason: reason.into(),
    };
    let bytes = top.element.bytes();
    if !matches!(top.element, ScalarType::F32 | ScalarType::F16) {
        return Err(no("supported are f32 and f16"));
    }
    if top.rows == 0 || top.k == 0 || top.k > top.columns || top.columns > 0xffff {
        return Err(no(
            "it finds none, or more than there are, or rows are longer than 65535",
        ));
    }
    if !fits(u64::from(top.rows) * u64::from(top.pitch) * u64::from(bytes))
        || !fits(u64::from(top.rows) * u64::from(top.result_pitch) * 4)
    {
        return Err(no("the rows do not fit a tile"));
    }
    let half = top.element == ScalarType::F16;
    if half && top.rows > 1 && !top.result_pitch.is_multiple_of(2) {
        return Err(no("rows of results that begin at odd halves"));
    }
    let mut setup = Worker::new();
    high(&mut setup, 6, ONE);
    let last = if top.largest {
        INFINITY
    } else {
        INFINITY | SIGN
    };
    let mut body = Worker::new();
    // $m4, $m5 walk the results; $m6 = position of the last one found.
    body.bundle("mov $m4, $m1", format!("or $a4, $azero, {last:#x}"));
    body.bundle("mov $m5, $m2", "");
    body.bundle("add $m6, $mzero, -1", "");
    let together = if half { 2 } else { 1 };
    let rounds = top.k / together;
    if rounds > 0 {
        body.bundle(format!("setzi $m9, {}", rounds - 1), "");
        let mut round = Worker::new();
        for first in (0..together).map(|n| n == 0) {
            if half && !first {
                // The value found first goes down to the pair's low place.
                round.bundle("", "mov $a4, $a5");
            }
            search(&mut round, top);
            if half && !first {
                round.bundle("", "f32v2tof16 $a2, $a4:5");
                round.bundle("st32step $a2, $mzero, $m4+=, 1", "");
            }
            if !half {
                round.bundle("st32step $a5, $mzero, $m4+=, 1", "");
            }
            found(&mut round);
        }
        round.bundle("", "mov $a4, $a5");
        round.bundle("brnzdec $m9, .Ltop_round", "");
        body.looped(&round, rounds, ".Ltop_round");
    }
    if half && top.k % 2 == 1 {
        search(&mut body, top);
        body.bundle("", "f32tof16 $a2, $a5");
        body.bundle("", "sort4x16lo $a2, $a2, $azero");
        body.bundle("st32step $a2, $mzero, $m4+=, 1", "");
        found(&mut body);
    }
    let strides = [
        (top.pitch * bytes) as i32,
        (top.result_pitch * bytes) as i32,
        (top.result_pitch * 4) as i32,
    ];
    let nest = Nest {
        name: "top",
        pointers: 3,
        dims: vec![Dim::new(top.rows, &strides)],
        setup,
        registers: 10,
    };
    let (text, turns) = nest.emit(&body).map_err(|reason| no(&reason))?;
    let launch = nest.launch(turns, &[(0, 0), (1, 0), (2, 0)]);
    Ok((text, vec![launch], vec![anywhere(); 3]))
}

/// The best element behind (`$a4`, `$m6`): its value in `$a5`, its position in `$a7`.
fn search(out: &mut Worker, top: &TopK) {
    let half = top.element == ScalarType::F16;
    let (worst, better, best, strict, loose) = if top.largest {
        (
            INFINITY | SIGN,
            "f32cmplt",
            "f32max",
            "f32cmpge",
            "f32cmpgt",
        )
    } else {
        (INFINITY, "f32cmpgt", "f32min", "f32cmple", "f32cmplt")
    };
    out.bundle("mov $m3, $m0", format!("or $a5, $azero, {worst:#x}"));
    out.bundle("add $m7, $m6, 1", "or $a7, $azero, $azero");
    out.bundle(
        format!("setzi $m8, {}", top.columns),
        format!("or $a3, $azero, {:#x}", ONE | SIGN),
    );
    out.bundle("sub $m8, $m8, $m7", "");
    let mut turns = 0;
    for (register, out_of_reach) in [(7, strict), (8, loose)] {
        let mut body = Worker::new();
        let load = if half { "ldb16step" } else { "ld32step" };
        body.bundle(
            format!("{load} $a0, $mzero, $m3+=, 1"),
            "f32add $a3, $a3, $a6",
        );
        if half {
            body.bundle("", "f16tof32 $a0, $a0");
        }
        body.bundle("", format!("{out_of_reach} $a1, $a0, $a4"));
        // All ones are a NaN, which is never better.
        body.bundle("", "or $a0, $a0, $a1");
        body.bundle("", format!("{better} $a1, $a5, $a0"));
        body.bundle("", format!("{best} $a5, $a5, $a0"));
        body.bundle("", "and $a2, $a3, $a1");
        body.bundle("", "andc $a7, $a7, $a1");
        body.bundle("", "or $a7, $a7, $a2");
        turns = body.turns();
        out.repeat_by(register, &body);
    }
    // Both loops together make `columns` passes of equal length.
    out.pass_time(u64::from(top.columns) * turns);
}

/// Stores the position found and keeps it.
fn found(out: &mut Worker) {
    out.bundle("", "f32toi32 $a2, $a7");
    out.bundle("atom $m6, $a2", "");
    out.bundle("st32step $a2, $mzero, $m5+=, 1", "");
}
