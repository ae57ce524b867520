//! Reductions of an axis that is not the innermost: each vector of columns is folded on its own.

use super::extremes;
use super::rows::frame;
use super::{Launch, Made, Word, anywhere, fits};
use crate::worker::Worker;
use ipucc_chip::ScalarType;
use ipucc_tile::MemoryClass;
use ipucc_tile::cost::NoKernel;
use ipucc_tile::kernel::{Reduce, ReduceKind};

/// Most launches of one call: one per point of the outer axis.
const MAX_LAUNCHES: u32 = 256;

pub(super) fn reduce(reduce: &Reduce) -> Result<Made, NoKernel> {
    let no = |reason: String| NoKernel {
        what: format!("{reduce:?}"),
        reason,
    };
    let (input, output) = (reduce.input, reduce.output);
    let float = |ty| matches!(ty, ScalarType::F32 | ScalarType::F16);
    if !float(input) || !float(output) {
        return Err(no(format!("a reduction of {input} to {output}")));
    }
    let half = input == ScalarType::F16;
    let bytes = input.bytes();
    let size = u64::from(reduce.outer) * u64::from(reduce.input_strides.0) * u64::from(bytes);
    if reduce.outer == 0 || reduce.axis == 0 || reduce.inner == 0 || !fits(size) {
        return Err(no("it has no elements, or more than fit a tile".into()));
    }
    if reduce.outer > MAX_LAUNCHES {
        return Err(no(format!("more than {MAX_LAUNCHES} outer points")));
    }
    let sum = matches!(reduce.kind, ReduceKind::Sum | ReduceKind::Mean);
    // Bytes of a vector of columns: 16 where the accumulators take it, else 8.
    let aligned = |bytes_of: u32| {
        (reduce.input_strides.1 * bytes).is_multiple_of(bytes_of)
            && (reduce.outer == 1 || (reduce.input_strides.0 * bytes).is_multiple_of(bytes_of))
    };
    let writable = |lanes: u32| {
        reduce.inner.is_multiple_of(lanes)
            && (reduce.outer == 1 || (reduce.output_stride * output.bytes()).is_multiple_of(8))
    };
    let vector = if sum && aligned(16) && writable(16 / bytes) {
        16
    } else if aligned(8) && (writable(8 / bytes) || reduce.outer == 1) {
        8
    } else {
        return Err(no(
            "columns that do not begin at multiples of 8 bytes; hint: pad the inner axis".into(),
        ));
    };
    let lanes = vector / bytes;
    let out_vector = lanes * output.bytes();
    if out_vector < 8 && !reduce.inner.is_multiple_of(lanes) {
        return Err(no(
            "an odd number of columns; hint: pad the inner axis".into()
        ));
    }
    let vectors = reduce.inner.div_ceil(lanes);
    let mut row = Worker::new();
    let stride = reduce.input_strides.1 * bytes / vector;
    row.bundle(format!("setzi $m5, {stride}"), "");
    row.bundle("mov $m2, $m0", "");
    let (quad, load) = if vector == 16 {
        ("$a0:3", "ld128step $a0:3, $mzero, $m2+=, $m5")
    } else {
        ("$a0:1", "ld64step $a0:1, $mzero, $m2+=, $m5")
    };
    if sum {
        let acc = match (half, vector) {
            (true, 16) => "f16v8acc",
            (true, _) => "f16v4acc",
            (false, 16) => "f32v4acc",
            (false, _) => "f32v2add",
        };
        let acc = if acc == "f32v2add" {
            "f32v2add $a4:5, $a4:5, $a0:1".to_owned()
        } else {
            format!("{acc} {quad}")
        };
        let first = if !half && vector == 8 {
            "or64 $a4:5, $azeros, $azeros"
        } else {
            ""
        };
        row.bundle(load, first);
        row.repeat(reduce.axis - 1, |body| body.bundle(load, &acc));
        row.bundle("", &acc);
        if reduce.kind == ReduceKind::Mean {
            row.bundle("ld32 $a6, $mvertex_base, $mzero, 2", "");
        }
        for part in 0..lanes / 2 {
            let register = if !half && vector == 8 {
                4
            } else {
                row.bundle("", "f32v2gina $a0:1, $azeros, 0");
                0
            };
            if reduce.kind == ReduceKind::Mean {
                for lane in register..register + 2 {
                    row.slow_bundle("", format!("f32div $a{lane}, $a{lane}, $a6"), 3);
                }
            }
            store(&mut row, output, part, register);
        }
        if output == ScalarType::F16 && lanes == 2 {
            row.bundle("st32step $a2, $mzero, $m7+=, 1", "");
        }
    } else {
        let name = match reduce.kind {
            ReduceKind::Max => "max",
            ReduceKind::Min => "min",
            _ if half => return Err(no("an f16 product has no kernel".into())),
            _ => "mul",
        };
        let op = "f32v2mul $a4:5, $a4:5, $a0:1";
        if name == "mul" {
            row.bundle("ld64step $a4:5, $mzero, $m2+=, $m5", "");
            if reduce.axis > 1 {
                row.bundle(load, "");
                row.repeat(reduce.axis - 2, |body| body.bundle(load, op));
                row.bundle("", op);
            }
        } else {
            extremes::fold(&mut row, half, name, (reduce.axis, true), |register, _| {
                let next = register + 1;
                format!("ld64step $a{register}:{next}, $mzero, $m2+=, $m5")
            });
            extremes::marked(&mut row, half);
        }
        match (half, output == ScalarType::F16) {
            (true, true) | (false, false) => row.bundle("st64step $a4:5, $mzero, $m7+=, 1", ""),
            (true, false) => {
                for word in 4..6 {
                    row.bundle("", format!("f16v2tof32 $a0:1, $a{word}"));
                    row.bundle("st64step $a0:1, $mzero, $m7+=, 1", "");
                }
            }
            (false, true) => {
                row.bundle("", "f32v2tof16 $a2, $a4:5");
                row.bundle("st32step $a2, $mzero, $m7+=, 1", "");
            }
        }
    }
    // $m7 walks the result of one vector.
    let mut whole = Worker::new();
    whole.bundle("mov $m7, $m1", "");
    whole.append(&row);
    let (text, turns) = frame("reduce", vectors, &[vector, out_vector], &whole);
    let launches = (0..reduce.outer)
        .map(|point| Launch {
            entry: "reduce",
            record: vec![
                Word::Operand(0, point * reduce.input_strides.0 * bytes),
                Word::Operand(1, point * reduce.output_stride * output.bytes()),
                Word::Constant((reduce.axis as f32).to_bits()),
            ],
            turns,
            ..Launch::default()
        })
        .collect();
    let mut needs = vec![anywhere(); 2];
    if vector == 16 {
        needs[0].memory = MemoryClass::Interleaved;
        needs[0].align_bytes = 16;
    }
    needs[0].tail_bytes = 8;
    Ok((text, launches, needs))
}

/// Stores a pair of f32 results, as halves together with the next pair.
fn store(row: &mut Worker, output: ScalarType, part: u32, register: u32) {
    let pair = format!("$a{register}:{}", register + 1);
    if output == ScalarType::F32 {
        row.bundle(format!("st64step {pair}, $mzero, $m7+=, 1"), "");
        return;
    }
    row.bundle("", format!("f32v2tof16 $a{}, {pair}", 2 + part % 2));
    if part % 2 == 1 {
        row.bundle("st64step $a2:3, $mzero, $m7+=, 1", "");
    }
}
