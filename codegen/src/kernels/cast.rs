//! Conversions between f16 and f8: one contiguous run, scale exponent 0.

use super::{Launch, Made, Word, anywhere, fits};
use crate::pipeline::{Access, Body, Schedule, Walk};
use crate::worker::{Worker, entry};
use ipucc_chip::{Assumptions, ScalarType};
use ipucc_tile::cost::NoKernel;
use ipucc_tile::kernel::{Expr, Map};

/// Bit of `$FP_NFMT` that says that aux registers hold f8 of the 1-4-3 format (`isa/csr.tsv`).
const ARF_E4M3: u32 = 2;

fn f8(ty: ScalarType) -> bool {
    matches!(ty, ScalarType::F8E4M3 | ScalarType::F8E5M2)
}

/// The conversion that a map is, if it is nothing else: (from, to).
pub(super) fn recognise(map: &Map) -> Option<(ScalarType, ScalarType)> {
    let &[Expr::Input(0), Expr::Convert(to, 0)] = &map.nodes[..] else {
        return None;
    };
    let from = map.inputs.first()?.element;
    (map.inputs.len() == 1 && (f8(from) || f8(to))).then_some((from, to))
}

pub(super) fn generate(
    map: &Map,
    from: ScalarType,
    to: ScalarType,
    relaxed: bool,
    assumptions: &Assumptions,
) -> Result<Made, NoKernel> {
    let no = |reason: &str| NoKernel {
        what: format!("conversion from {from} to {to} over {:?}", map.extents),
        reason: reason.into(),
    };
    let narrow = from == ScalarType::F16 && f8(to);
    let widening = f8(from) && to == ScalarType::F16;
    if !(narrow || widening) {
        return Err(no(
            "f8 is converted from and to f16 only; hint: go through f16",
        ));
    }
    // One run: every axis follows from the one inside it, in both buffers.
    let mut elements = 1;
    for (axis, &extent) in map.extents.iter().enumerate().rev() {
        let strides = [&map.inputs[0], &map.output].map(|access| access.strides[axis]);
        if extent > 1 && strides != [elements; 2] {
            return Err(no("the buffers are not walked in order without gaps"));
        }
        elements *= extent;
    }
    if elements == 0 || !fits(u64::from(elements) * 2) {
        return Err(no("it has no elements, or more than fit a tile"));
    }
    // Elements of a vector, and its bytes in the two buffers.
    let (width, read, written) = if narrow { (8, 16, 8) } else { (4, 4, 8) };
    let vectors = elements.div_ceil(width);
    let format = if from == ScalarType::F8E4M3 || to == ScalarType::F8E4M3 {
        ARF_E4M3
    } else {
        0
    };
    let mut head = Worker::new();
    head.bundle(
        "ld32 $m0, $mvertex_base, $mzero, 0",
        format!("setzi $a0, {format}"),
    );
    head.bundle("ld32 $m1, $mvertex_base, $mzero, 1", "uput $FP_NFMT, $a0");
    head.first_item(2, 3, 4, vectors);
    for (pointer, bytes) in [(0, read), (1, written)] {
        head.bundle(format!("mul $m4, $m3, {bytes}"), "");
        head.bundle(format!("add $m{pointer}, $m{pointer}, $m4"), "");
    }
    let schedule = if narrow {
        None
    } else {
        let mut body = Body::new(assumptions);
        let x = body.load(0, 1);
        let y = body.fresh(2, "f8v4tof16", &format!("%{x}"), &[x]);
        body.store(1, y);
        let schedule = Schedule::of(&body, Access::Plain);
        Some(schedule.ok_or_else(|| no("internal: more registers than there are"))?)
    };
    let (text, turns) = entry("cast", head, 2, vectors, |count, _| {
        let mut out = Worker::new();
        match &schedule {
            None => narrowing(&mut out, count, relaxed),
            Some(schedule) => {
                let walk = Walk {
                    pointers: &[0, 1],
                    bytes: &[read, written],
                    stored: 1,
                };
                schedule.emit(&mut out, count, &walk);
            }
        }
        out.solo("exitz $mzero");
        out
    });
    let launch = Launch {
        entry: "cast",
        record: vec![Word::Operand(0, 0), Word::Operand(1, 0)],
        turns,
        ..Launch::default()
    };
    let mut needs = vec![anywhere(); 2];
    needs[0].tail_bytes = 8;
    if narrow && !relaxed {
        needs[0].apart_from = 0b10;
        needs[1].apart_from = 0b01;
    }
    Ok((text, vec![launch], needs))
}

/// `count` vectors of eight halves, two groups each: the even double word is loaded while the
/// vector before is converted, the odd one while the result is stored.
fn narrowing(out: &mut Worker, count: u32, relaxed: bool) {
    if count == 0 {
        return;
    }
    const CONVERT: &str = "f16v8tof8 $a4:5, $a0:3";
    if relaxed {
        out.repeat(count, |body| {
            body.bundle("ld64step $a0:1, $mzero, $m0+=, 1", "");
            body.bundle("ld64step $a2:3, $mzero, $m0+=, 1", "");
            body.bundle("", CONVERT);
            body.bundle("st64step $a4:5, $mzero, $m1+=, 1", "");
        });
        return;
    }
    out.bundle("add $m3, $m0, 8", "");
    out.bundle("ld64step $a0:1, $mzero, $m0+=, 2", "");
    out.bundle("ld64step $a2:3, $mzero, $m3+=, 2", "");
    out.bundle("setzi $m10, 2", "");
    out.bundle("tapack $m8:9, $m3, $mzero, $m1", "");
    out.repeat(count - 1, |body| {
        body.bundle("ld64step $a0:1, $mzero, $m0+=, 2", CONVERT);
        // The odd double words are two apart, the results one.
        body.bundle("ldst64pace $a2:3, $a4:5, $m8:9+=, $m10, 1", "");
    });
    out.bundle("", CONVERT);
    out.bundle("st64pace $a4:5, $m8:9+=, $mzero, 0", "");
}
