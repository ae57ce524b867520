//! Interpolation between slices: one axis of a resize. Offsets and weights of every slice of the
//! result are a table in the argument record.

use super::nest::{Dim, Nest};
use super::{Launch, Made, Word, anywhere, fits};
use crate::pipeline::{Access, Body, Schedule, Walk};
use crate::worker::Worker;
use ipucc_chip::{Assumptions, ScalarType};
use ipucc_tile::cost::NoKernel;
use ipucc_tile::kernel::Lerp;

/// Record words before the table, and of an entry: offsets of both slices, both weights.
const TABLE: usize = 3;
const ENTRY: i32 = 16;

pub(super) fn generate(lerp: &Lerp, assumptions: &Assumptions) -> Result<Made, NoKernel> {
    let no = |reason: &str| NoKernel {
        what: format!(
            "interpolation of {} x {} slices of {} {} at {} points",
            lerp.outer,
            lerp.axis,
            lerp.inner,
            lerp.element,
            lerp.points.len()
        ),
        reason: reason.into(),
    };
    let half = match lerp.element {
        ScalarType::F16 => true,
        ScalarType::F32 => false,
        _ => return Err(no("supported are f32 and f16")),
    };
    let bytes = lerp.element.bytes();
    if lerp.outer == 0 || lerp.inner == 0 || lerp.points.is_empty() {
        return Err(no("it has no elements"));
    }
    if !(lerp.pitch * bytes).is_multiple_of(8) || lerp.pitch < lerp.inner {
        return Err(no("slices that do not begin at multiples of 8 bytes"));
    }
    let size = |slices: u32| u64::from(lerp.outer) * u64::from(slices) * u64::from(lerp.pitch);
    let points = lerp.points.len() as u32;
    if !fits(size(lerp.axis) * u64::from(bytes)) || !fits(size(points) * u64::from(bytes)) {
        return Err(no("a buffer does not fit a tile"));
    }
    let outside = |point: &&ipucc_tile::kernel::LerpPoint| point.low.max(point.high) >= lerp.axis;
    if lerp.points.iter().any(|point| outside(&point)) {
        return Err(no("a slice that the input does not have"));
    }
    let slice = (lerp.pitch * bytes) as i32;
    let mut body = Worker::new();
    for (register, word) in [(3, 0), (4, 1)] {
        body.bundle(
            format!("ld32 $m{register}, $mvertex_base, $m2, {}", TABLE + word),
            "",
        );
        body.bundle(format!("add $m{register}, $m{register}, $m0"), "");
    }
    for (register, word) in [(6, 2), (7, 3)] {
        body.bundle(
            format!("ld32 $a{register}, $mvertex_base, $m2, {}", TABLE + word),
            "",
        );
    }
    body.bundle("mov $m5, $m1", "");
    // low * $a6 + high * $a7.
    let mut pass = Body::new(assumptions);
    let weights = [pass.pin(6, 1), pass.pin(7, 1)];
    // Two elements a pass: halves become as much f32 as the registers hold.
    let access = 2 * bytes;
    let scaled: Vec<_> = (0..2)
        .map(|which| {
            let x = pass.load(which, access / 4);
            let x = if half {
                pass.fresh(2, "f16v2tof32", &format!("%{x}"), &[x])
            } else {
                x
            };
            let w = weights[which];
            pass.fresh(2, "f32v2mul", &format!("%{w}:B, %{x}"), &[w, x])
        })
        .collect();
    let sum = format!("%{}, %{}", scaled[0], scaled[1]);
    let mut y = pass.fresh(2, "f32v2add", &sum, &scaled);
    if half {
        y = pass.fresh(1, "f32v2tof16", &format!("%{y}"), &[y]);
    }
    pass.store(2, y);
    let schedule = Schedule::of(&pass, Access::Plain)
        .ok_or_else(|| no("internal: more registers than there are"))?;
    let walk = Walk {
        pointers: &[3, 4, 5],
        bytes: &[access; 3],
        stored: 2,
    };
    schedule.emit(
        &mut body,
        (lerp.inner * bytes).next_multiple_of(8) / access,
        &walk,
    );
    let nest = Nest {
        name: "lerp",
        pointers: 3,
        dims: vec![
            Dim::new(
                lerp.outer,
                &[lerp.axis as i32 * slice, points as i32 * slice, 0],
            ),
            Dim::new(points, &[0, slice, ENTRY]),
        ],
        setup: Worker::new(),
        registers: 6,
    };
    let (text, turns) = nest.emit(&body).map_err(|reason| no(&reason))?;
    let mut record = vec![Word::Operand(0, 0), Word::Operand(1, 0), Word::Constant(0)];
    for point in &lerp.points {
        let t = f32::from_bits(point.t);
        let offset = |slices: u32| slices * slice as u32;
        record.extend(
            [
                offset(point.low),
                offset(point.high),
                (1.0 - t).to_bits(),
                point.t,
            ]
            .map(Word::Constant),
        );
    }
    let launch = Launch {
        entry: "lerp",
        record,
        turns,
        ..Launch::default()
    };
    Ok((text, vec![launch], vec![anywhere(); 2]))
}
