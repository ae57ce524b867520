//! What a worker does with one row of scores.

use super::{
    Block, COLUMNS, FACTOR, IOTA, LIMIT, LOWEST, MASK, MAXIMUM, SCALE, SCALE_F32, STEP, SUM, Shape,
};
use crate::worker::Worker;

/// A step of `$m(pointer)` over an access to atom `atom` of a row of `atoms`: to the next atom, or
/// to the next panel by the stride in `$m(jump)`.
fn stride(atom: u32, atoms: u32, jump: u32) -> String {
    if (atom + 1).is_multiple_of(atoms) {
        format!("$m{jump}")
    } else {
        "1".into()
    }
}

/// `panels` times the atoms of a panel.
fn walk(out: &mut Worker, panels: u32, atoms: u32, atom: impl Fn(&mut Worker, u32)) {
    out.repeat(panels, |body| (0..atoms).for_each(|n| atom(body, n)));
}

/// One row: keys behind the row's limit become the lowest number.
pub(super) fn mask(shape: &Shape<'_>, block: Block) -> Worker {
    let mut out = Worker::new();
    // The limit goes to the aux registers through memory.
    out.bundle("mov $m4, $m0", "");
    out.bundle(format!("st32 $m1, $m2, $mzero, {LIMIT}"), "");
    out.bundle(format!("ld32 $a4, $m2, $mzero, {LIMIT}"), "");
    let constant = |out: &mut Worker, register: u32, word: u32, aux: &str| {
        out.bundle(
            format!("ld32 $a{register}, $mvertex_base, $mzero, {word}"),
            aux,
        );
    };
    constant(&mut out, 5, LOWEST, "f32fromi32 $a4, $a4");
    let convert = if shape.half { "f32tof16 $a4, $a4" } else { "" };
    constant(&mut out, 6, IOTA, convert);
    constant(&mut out, 7, IOTA + 1, "");
    let atoms = shape.atoms();
    walk(&mut out, block.panels(), atoms, |body, atom| {
        let compare = format!("{} $a2:3, {}, $a6:7", shape.op("cmplt"), shape.all(4));
        body.bundle("ld64 $a0:1, $m4, $mzero, 0", "");
        body.bundle("", compare);
        body.bundle("", "andc64 $a0:1, $a0:1, $a2:3");
        body.bundle("", "and $a2, $a2, $a5");
        body.bundle("", "and $a3, $a3, $a5");
        body.bundle("", "or64 $a0:1, $a0:1, $a2:3");
        let next = stride(atom, atoms, 5);
        body.bundle(format!("st64step $a0:1, $mzero, $m4+=, {next}"), "");
        constant(body, 0, STEP, "");
        let add = format!("{} $a6:7, {}, $a6:7", shape.op("add"), shape.all(0));
        body.bundle("", add);
    });
    out
}

/// One row of scores: `$m0` scores, `$m1` exponentials, `$m2` result, `$m3` statistics, `$m4` the
/// mask.
pub(super) fn update(shape: &Shape<'_>, block: Block) -> Worker {
    let mut out = Worker::new();
    let full = block.keys / COLUMNS;
    let rest = block.keys % COLUMNS;
    let lowest = if shape.half {
        0xfbff_fbff
    } else {
        f32::MIN.to_bits()
    };
    // The maximum in $a6:7, its first operand the atom loaded before.
    for register in [6, 7, 0, 1] {
        let low = format!("setzi $a{register}, {:#x}", lowest & 0xf_ffff);
        let high = format!("or $a{register}, $a{register}, {:#x}", lowest & 0xfff0_0000);
        out.bundle("", low);
        out.bundle("", high);
    }
    if shape.of.mask.is_some() {
        masked_scores(&mut out, shape, full, rest);
    } else {
        largest(&mut out, shape, full, rest);
    }
    if shape.half {
        out.bundle("", "f16v2max $a6, $a6, $a7");
        out.bundle("", "roll16 $a7, $a6, $a6");
        out.bundle("", "f16v2max $a6, $a6, $a7");
    } else {
        out.bundle("", "f32max $a6, $a6, $a7");
    }
    if !block.first {
        // The factor of what was summed before: exp(scale * (old maximum - new)).
        out.bundle(format!("ld32 $a4, $m3, $mzero, {MAXIMUM}"), "");
        if shape.half {
            out.bundle("", "f16v2max $a6, $a6, $a4");
            out.bundle("", "f16tof32 $a0, $a4");
            out.bundle("", "f16tof32 $a1, $a6");
        } else {
            out.bundle("", "f32max $a6, $a6, $a4");
            out.bundle("", "or $a0, $a4, $azero");
            out.bundle("", "or $a1, $a6, $azero");
        }
        record(&mut out, shape, 1, SCALE_F32, "f32sub $a0, $a0, $a1");
        if shape.of.mask.is_none() {
            out.bundle("", "f32mul $a0, $a0, $a1");
        }
        shape.slow(&mut out, "f32exp", "$a0, $a0");
        out.bundle(format!("st32 $a0, $m3, $mzero, {FACTOR}"), "");
    }
    let minus = if shape.half { "f16v2sub" } else { "f32sub" };
    out.bundle(
        format!("st32 $a6, $m3, $mzero, {MAXIMUM}"),
        format!("{minus} $a6, $azero, $a6"),
    );
    record(&mut out, shape, 7, SCALE, "or64 $a4:5, $azeros, $azeros");
    out.bundle("mov $m5, $m0", "");
    out.bundle("mov $m6, $m1", "");
    exponentials(&mut out, shape, full, rest);
    // The sum in $a0.
    if shape.half {
        out.bundle("", "f32v2gina $a0:1, $azeros, 0");
        out.bundle("", "f32v2gina $a2:3, $azeros, 0");
        out.bundle("", "f32v2add $a0:1, $a0:1, $a2:3");
        out.bundle("", "f32add $a0, $a0, $a1");
    } else {
        out.bundle("", "f32add $a0, $a4, $a5");
    }
    if block.first {
        out.bundle(format!("st32 $a0, $m3, $mzero, {SUM}"), "");
        return out;
    }
    out.bundle(format!("ld32 $a1, $m3, $mzero, {SUM}"), "");
    out.bundle(format!("ld32 $a6, $m3, $mzero, {FACTOR}"), "");
    out.bundle("", "f32mul $a1, $a1, $a6");
    out.bundle("", "f32add $a0, $a0, $a1");
    out.bundle(format!("st32 $a0, $m3, $mzero, {SUM}"), "");
    scale_row(&mut out, shape);
    out
}

/// A word behind the pointers of the record.
fn record(out: &mut Worker, shape: &Shape<'_>, register: u32, word: u32, aux: &str) {
    let word = shape.word(word);
    out.bundle(
        format!("ld32 $a{register}, $mvertex_base, $mzero, {word}"),
        aux,
    );
}

/// The atom in `$a0:1` with the lowest number behind the keys; overwrites `$a2:5`.
fn filled(out: &mut Worker, shape: &Shape<'_>) {
    record(out, shape, 2, MASK, "");
    record(out, shape, 3, MASK + 1, "");
    record(out, shape, 4, MASK + 2, "and64 $a0:1, $a0:1, $a2:3");
    record(out, shape, 5, MASK + 3, "");
    out.bundle("", "or64 $a0:1, $a0:1, $a4:5");
}

/// The largest score, by lanes, in `$a6:7`; before it the lowest number is in `$a6:7` and `$a0:1`.
fn largest(out: &mut Worker, shape: &Shape<'_>, full: u32, rest: u32) {
    let atoms = shape.atoms();
    let max = format!("{} $a6:7, $a6:7, $a0:1", shape.op("max"));
    out.bundle("mov $m5, $m0", "");
    let load = |n: u32| format!("ld64step $a0:1, $mzero, $m5+=, {}", stride(n, atoms, 7));
    walk(out, full, atoms, |body, atom| {
        body.bundle(load(atom), &max);
    });
    for atom in 0..rest / shape.width {
        out.bundle(load(atom), &max);
    }
    out.bundle("", &max);
    if !rest.is_multiple_of(shape.width) {
        out.bundle("ld64 $a0:1, $m5, $mzero, 0", "");
        filled(out, shape);
        out.bundle("", &max);
    }
}

/// Scores become `score * scale + mask`, the lowest number behind the keys; the largest, by lanes,
/// in `$a6:7`, which holds the lowest number before.
fn masked_scores(out: &mut Worker, shape: &Shape<'_>, full: u32, rest: u32) {
    let atoms = shape.atoms();
    out.bundle("mov $m5, $m0", "");
    out.bundle("mov $m6, $m0", "");
    // Limits of the mask: minus infinity is no operand of f16 arithmetic.
    let limits =
        u32::from(half::f16::MIN.to_bits()) | u32::from(half::f16::INFINITY.to_bits()) << 16;
    let set = |out: &mut Worker| {
        record(
            out,
            shape,
            4,
            SCALE,
            &format!("setzi $a5, {:#x}", limits & 0xf_ffff),
        );
        out.bundle("", format!("or $a5, $a5, {:#x}", limits & 0xfff0_0000));
    };
    set(out);
    out.bundle("mov $m9, $m4", "");
    let scaled = format!("{} $a0:1, {}, $a0:1", shape.op("mul"), shape.all(4));
    let added = format!("{} $a2:3, $a0:1, $a2:3", shape.op("add"));
    let max = format!("{} $a6:7, $a6:7, $a2:3", shape.op("max"));
    let used = rest.div_ceil(shape.width);
    stream(out, full, used, atoms, 7, |out, n, load| {
        let partial = n >= full * atoms && (n - full * atoms + 1) * shape.width > rest;
        out.bundle("ld64step $a2:3, $mzero, $m9+=, 1", &scaled);
        if shape.half {
            out.bundle("", "f16v4clamp $a2:3, $a2:3, $a5");
        }
        out.bundle(load, &added);
        if partial {
            // The last atom of all.
            out.bundle("", "or64 $a0:1, $a2:3, $azeros");
            filled(out, shape);
            out.bundle("", "or64 $a2:3, $a0:1, $azeros");
        }
        let next = stride(n, atoms, 7);
        out.bundle(format!("st64step $a2:3, $mzero, $m6+=, {next}"), &max);
    });
}

/// `exp(scale * (x - maximum))` of a row from `$m5` to `$m6`, zero behind the keys; the minus
/// maximum is in `$a6`, the scale in `$a7`, f32 sums gather in `$a4:5`, sums of halves in the
/// accumulators.
fn exponentials(out: &mut Worker, shape: &Shape<'_>, full: u32, rest: u32) {
    let atoms = shape.atoms();
    // The exponentials' own panels are 32 bytes wide.
    let store = |n: u32, register: &str| {
        let next = stride(n, 4, 8);
        format!("st64step {register}, $mzero, $m6+=, {next}")
    };
    let all = [6, 7].map(|register| shape.all(register));
    let difference = format!("{} $a2:3, {}, $a0:1", shape.op("add"), all[0]);
    let scaled = format!("{} $a2:3, {}, $a2:3", shape.op("mul"), all[1]);
    let sum = if shape.half {
        "f16v4acc $a2:3"
    } else {
        "f32v2add $a4:5, $a4:5, $a2:3"
    };
    let used = rest.div_ceil(shape.width);
    stream(out, full, used, atoms, 7, |out, n, load| {
        let partial = n >= full * atoms && (n - full * atoms + 1) * shape.width > rest;
        if shape.of.mask.is_some() {
            out.bundle(load, &difference);
        } else {
            out.bundle("", &difference);
            out.bundle(load, &scaled);
        }
        for register in [2, 3] {
            let exp = if shape.half { "f16v2exp" } else { "f32exp" };
            shape.slow(out, exp, &format!("$a{register}, $a{register}"));
        }
        if partial {
            for (register, word) in [(0, MASK), (1, MASK + 1)] {
                out.bundle(
                    format!(
                        "ld32 $a{register}, $mvertex_base, $mzero, {}",
                        shape.word(word)
                    ),
                    "",
                );
            }
            out.bundle("", "and64 $a2:3, $a2:3, $a0:1");
        }
        out.bundle(store(n, "$a2:3"), sum);
    });
    if rest > 0 {
        (used..atoms).for_each(|n| out.bundle(store(n, "$azeros"), ""));
    }
}

/// All atoms of `full` panels and `rest` atoms of one more, loaded into `$a0:1` through `$m5` one
/// atom ahead of its use: `atom(out, number, load of the next)`. Numbers in the loop are those of
/// one panel.
fn stream(
    out: &mut Worker,
    full: u32,
    rest: u32,
    atoms: u32,
    jump: u32,
    atom: impl Fn(&mut Worker, u32, &str),
) {
    let total = full * atoms + rest;
    let load = |n: u32| format!("ld64step $a0:1, $mzero, $m5+=, {}", stride(n, atoms, jump));
    out.bundle(load(0), "");
    // The last atom of all has no next.
    let loops = if rest > 0 {
        full
    } else {
        full.saturating_sub(1)
    };
    out.repeat(loops, |body| {
        (0..atoms).for_each(|n| atom(body, n, &load(n + 1)));
    });
    for n in loops * atoms..total {
        let next = if n + 1 < total {
            load(n + 1)
        } else {
            String::new()
        };
        atom(out, n, &next);
    }
}

/// Multiplies the row of the result at `$m2` by the f32 factor in `$a6`.
pub(super) fn scale_row(out: &mut Worker, shape: &Shape<'_>) {
    let convert = if shape.half { "f32tof16 $a6, $a6" } else { "" };
    out.bundle("mov $m5, $m2", convert);
    out.bundle("mov $m6, $m2", "");
    let atoms = shape.atoms();
    let panels = shape.of.values.div_ceil(COLUMNS);
    let multiply = format!("{} $a2:3, {}, $a0:1", shape.op("mul"), shape.all(6));
    stream(out, panels, 0, atoms, 7, |out, n, load| {
        out.bundle(load, &multiply);
        let next = stride(n, atoms, 7);
        out.bundle(format!("st64step $a2:3, $mzero, $m6+=, {next}"), "");
    });
}
