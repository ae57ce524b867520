//! Products of integers: one element of the result after the other, on the main lane.

use super::nest::{Dim, Nest};
use super::{Made, anywhere, fits};
use crate::worker::Worker;
use ipucc_chip::ScalarType;
use ipucc_tile::cost::NoKernel;
use ipucc_tile::kernel::IntegerDot;

/// Rows of rhs whose products an item makes at once: a loaded element of lhs serves them all.
const TOGETHER: u32 = 2;

pub(super) fn dot(dot: &IntegerDot) -> Result<Made, NoKernel> {
    let no = |reason: &str| NoKernel {
        what: format!("{dot:?}"),
        reason: reason.into(),
    };
    let load = match dot.input {
        ScalarType::I32 => "ld32step",
        ScalarType::I8 => "lds8step",
        ScalarType::U8 => "ldz8step",
        _ => return Err(no("supported are i32, i8 and u8")),
    };
    if [dot.m, dot.n, dot.k].contains(&0) {
        return Err(no("an extent is zero"));
    }
    let zero_points = [dot.zeros.0, dot.zeros.1];
    if zero_points.iter().any(|z| !(-0x7fff..0x8000).contains(z)) {
        return Err(no("a zero point of more than 16 bits"));
    }
    let bytes = dot.input.bytes();
    let (a, b, c) = dot.pitches;
    let size = |rows: u32, pitch: u32, bytes: u32| {
        fits(u64::from(rows) * u64::from(pitch) * u64::from(bytes))
    };
    if !size(dot.m, a, bytes) || !size(dot.n, b, bytes) || !size(dot.m, c, 4) {
        return Err(no("an operand does not fit a tile"));
    }
    let (a, b, c) = ((a * bytes) as i32, (b * bytes) as i32, (c * 4) as i32);
    let mut text = String::new();
    let mut launches = vec![];
    // Pairs of columns, then the last one of an odd number.
    let parts = [
        ("integer_dot", TOGETHER, dot.n / TOGETHER, 0),
        (
            "integer_dot_last",
            1,
            dot.n % TOGETHER,
            dot.n / TOGETHER * TOGETHER,
        ),
    ];
    for (name, together, count, first) in parts.into_iter().filter(|part| part.2 > 0) {
        let columns = together as i32;
        let nest = Nest {
            name,
            pointers: 3,
            dims: vec![
                Dim::new(dot.m, &[a, 0, c]),
                Dim::new(count, &[0, columns * b, columns * 4]),
            ],
            setup: Worker::new(),
            registers: 8,
        };
        let mut body = Worker::new();
        // $m0 and $m1 walk themselves, $m3 the second row of rhs; $m4 and $m5 sum.
        const WALKERS: [u32; 2] = [1, 3];
        const SUMS: [u32; 2] = [4, 5];
        body.bundle("mov $m3, $m1", "");
        super::nest::add(&mut body, 3, i64::from(b), 6);
        for sum in SUMS {
            body.bundle(format!("setzi $m{sum}, 0"), "");
        }
        let element = |out: &mut Worker, register: u32, walker: u32, zero: i32| {
            out.bundle(format!("{load} $m{register}, $mzero, $m{walker}+=, 1"), "");
            super::nest::add(out, register, -i64::from(zero), register);
        };
        body.repeat(dot.k, |body| {
            element(body, 6, 0, dot.zeros.0);
            for (walker, sum) in WALKERS.into_iter().zip(SUMS).take(together as usize) {
                element(body, 7, walker, dot.zeros.1);
                body.bundle("mul $m7, $m7, $m6", "");
                body.bundle(format!("add $m{sum}, $m{sum}, $m7"), "");
            }
        });
        for (column, sum) in SUMS.into_iter().enumerate().take(together as usize) {
            body.bundle(format!("st32 $m{sum}, $m2, $mzero, {column}"), "");
        }
        for walker in [0, 1] {
            let back = -i64::from(dot.k) * i64::from(bytes);
            super::nest::add(&mut body, walker, back, 6);
        }
        let (code, turns) = nest.emit(&body).map_err(|reason| no(&reason))?;
        text.push_str(&code);
        let operands = [(0, 0), (1, first * b as u32), (2, first * 4)];
        launches.push(nest.launch(turns, &operands));
    }
    Ok((text, launches, vec![anywhere(); 3]))
}
