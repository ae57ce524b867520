//! Matrix products on the matrix unit (`isa/amp.md` 11, 12).
//!
//! The weight operand is stored panel by panel in load order, so one `put $CCCSLOAD` serves a
//! whole call. Each worker streams a contiguous share of the rows through each panel.

use super::{Launch, Made, Weights, Word, anywhere, fits};
use crate::worker::{STAY, Worker, share};
use ipucc_chip::ScalarType;
use ipucc_tile::MemoryClass;
use ipucc_tile::cost::{NoKernel, OperandNeed};
use ipucc_tile::kernel::Dot;
use std::fmt::Write as _;

/// Engines field of an AMP immediate: all four engines of a set (`isa/amp.md` 3).
const ENGINES: u32 = 3;

/// What differs between the formats of the matrix unit.
#[derive(Clone, Copy)]
struct Format {
    mnemonic: &'static str,
    /// Steps of one row, and their phases.
    steps: u32,
    /// Bytes of one result row in its panel.
    row_bytes: u32,
    /// Steps that use one input atom.
    per_atom: u32,
    /// Shift of the engines field.
    engine_shift: u32,
    /// Columns of one pass.
    columns: u8,
}

impl Format {
    fn of(input: ScalarType, partials: ScalarType) -> Option<Format> {
        let four = |mnemonic, columns| Format {
            columns,
            mnemonic,
            steps: 4,
            row_bytes: 32,
            per_atom: 1,
            engine_shift: 2,
        };
        Some(match (input, partials) {
            (ScalarType::F32, ScalarType::F32) => Format {
                mnemonic: "f32sisov2amp",
                steps: 8,
                row_bytes: 64,
                per_atom: 2,
                engine_shift: 3,
                columns: 16,
            },
            (ScalarType::F16, ScalarType::F16) => four("f16v4hihov4amp", 16),
            (ScalarType::F16, ScalarType::F32) => four("f16v4sisoamp", 8),
            (ScalarType::F8E4M3 | ScalarType::F8E5M2, ScalarType::F16) => four("f8v8hihov4amp", 16),
            _ => return None,
        })
    }

    /// The input operand of step `n`, zero behind the last row.
    fn input(&self, n: u32, live: bool) -> &'static str {
        match (live, self.per_atom) {
            (false, 2) => "$azero",
            (false, _) => "$azeros",
            (true, 2) if n % 2 == 1 => "$a1",
            (true, 2) => "$a0",
            (true, _) => "$a0:1",
        }
    }

    fn immediate(&self, phase: u32) -> u32 {
        phase | ENGINES << self.engine_shift
    }
}

pub(super) fn generate(dot: &Dot) -> Result<Made, NoKernel> {
    let no = |reason: &str| NoKernel {
        what: format!(
            "dot {}x{}x{} {} with {} partials",
            dot.m, dot.k, dot.n, dot.input, dot.partials
        ),
        reason: reason.into(),
    };
    let Some(format) = Format::of(dot.input, dot.partials) else {
        return Err(no(
            "supported are f32 with f32, f16 with f16 or f32, and f8 with f16 partials",
        ));
    };
    let quarter = matches!(dot.input, ScalarType::F8E4M3 | ScalarType::F8E5M2);
    if dot.scale != 0 && !quarter || !(-32..=31).contains(&dot.scale) {
        return Err(no("a scale of -32 to 31 for f8, none for other types"));
    }
    if dot.m == 0 || dot.n == 0 || dot.k == 0 {
        return Err(no("an extent is zero"));
    }
    let panel = Dot::input_panel(dot.input);
    let (k_panels, n_panels) = (dot.k.div_ceil(panel), dot.n.div_ceil(16));
    let a_panel = u64::from(dot.m) * 32;
    let c_panel = u64::from(dot.m) * u64::from(format.row_bytes);
    let c_panels = dot.n.div_ceil(u32::from(format.columns));
    let sizes = [
        u64::from(k_panels) * a_panel,
        u64::from(k_panels) * u64::from(n_panels) * 512,
        u64::from(c_panels) * c_panel,
    ];
    if !sizes.iter().all(|&bytes| fits(bytes)) {
        return Err(no(
            "an operand does not fit a tile; hint: cut it over more tiles",
        ));
    }

    let needed = [!dot.accumulate, dot.accumulate || k_panels > 1];
    let streams = Streams::new(dot.m, format, needed);

    let columns = u32::from(format.columns);
    let passes = 16 / columns;
    let mut launches: Vec<Launch> = Vec::new();
    let mut next = None;
    for n in 0..n_panels {
        for k in 0..k_panels {
            for pass in 0..passes {
                let panel = n * passes + pass;
                if panel * columns >= dot.n {
                    continue;
                }
                let first = k == 0 && !dot.accumulate;
                let offset = (n * k_panels + k) * 512 + pass * 512 / passes;
                let weights = if next == Some(offset) {
                    Weights::Next
                } else {
                    Weights::From(1, offset)
                };
                let operands = [
                    (0, (u64::from(k) * a_panel) as u32),
                    (2, (u64::from(panel) * c_panel) as u32),
                ];
                launches.push(Launch {
                    format: match dot.input {
                        // Formats of weights and inputs (`isa/amp.md` 12.1).
                        ScalarType::F8E4M3 => 3,
                        _ => 0,
                    },
                    // Two's complement in the six bits of the register.
                    scale: u32::from(dot.scale as u8 & 0x3f),
                    ..streams.launch(first, launches.is_empty(), operands, weights)
                });
                next = Some(offset + 512 / passes);
            }
        }
    }
    let interleaved = |apart_from| OperandNeed {
        align_bytes: 16,
        memory: MemoryClass::Interleaved,
        tail_bytes: 0,
        apart_from,
    };
    let needs = vec![
        OperandNeed {
            apart_from: 0b100,
            ..anywhere()
        },
        interleaved(0),
        OperandNeed {
            tail_bytes: 8,
            ..interleaved(0b001)
        },
    ];
    Ok((streams.text, launches, needs))
}

/// The code of a product's launches for some number of rows: one entry for panels that overwrite,
/// one for panels that accumulate, each with a start before it for the first launch of a sequence.
pub(super) struct Streams {
    pub(super) text: String,
    columns: u8,
    start: u64,
    turns: [[u64; 6]; 2],
}

impl Streams {
    /// Streams of a type with its own partials, if the matrix unit has it.
    pub(super) fn of(rows: u32, element: ScalarType) -> Option<Streams> {
        Some(Streams::new(rows, Format::of(element, element)?, [true; 2]))
    }

    /// `needed`: the overwriting entry, the accumulating one.
    fn new(rows: u32, format: Format, needed: [bool; 2]) -> Streams {
        let mut text = String::from("        .text\n");
        let mut turns = [[0; 6]; 2];
        let mut start = 0;
        let mut started = false;
        for first in [true, false] {
            let index = usize::from(!first);
            if !needed[index] {
                continue;
            }
            // A start falls into the entry behind it.
            if !started || needed == [true; 2] {
                start = start_code(&mut text, STARTS[index], rows, &format);
                started = true;
            }
            let entry = ENTRIES[index];
            let _ = write!(
                text,
                "        .globl {entry}\n        .p2align 3\n{entry}:\n"
            );
            turns[index] = entry_code(&mut text, rows, first, index, &format);
        }
        Streams {
            text,
            columns: format.columns,
            start,
            turns,
        }
    }

    /// One launch: of the overwriting entry or not, the first of a sequence or not, with the input
    /// and result panels.
    pub(super) fn launch(
        &self,
        first: bool,
        start: bool,
        operands: [(usize, u32); 2],
        weights: Weights,
    ) -> Launch {
        let index = usize::from(!first);
        let more = if start { self.start } else { 0 };
        Launch {
            entry: if start { STARTS[index] } else { ENTRIES[index] },
            record: operands
                .iter()
                .map(|&(operand, offset)| Word::Operand(operand, offset))
                .collect(),
            turns: self.turns[index].map(|turns| turns + more),
            weights,
            columns: self.columns,
            format: 0,
            scale: 0,
        }
    }
}

const STARTS: [&str; 2] = ["dot_start", "dot_start_add"];
const ENTRIES: [&str; 2] = ["dot_first", "dot_add"];

/// Code of the first launch of a call, before its entry: what the workers keep between launches.
/// Returns its turns.
///
/// `$m6`, `$m7`: bytes of the rows before the worker's in the A and the C panel; `$m8`: whether its
/// share is a long one. The accumulators and `$TAS` are cleared here; every stream leaves them zero
/// (`isa/amp.md` 11).
fn start_code(text: &mut String, name: &str, rows: u32, format: &Format) -> u64 {
    let (each, more) = (rows / 6, rows % 6);
    let mut head = Worker::new();
    head.bundle("get $m2, $WSR", "setzi $a0, 8");
    head.bundle("and $m2, $m2, 7", "uput $FP_CLR, $a0");
    head.bundle(format!("mul $m3, $m2, {each}"), "uput $TAS, $azero");
    if more != 0 {
        // The first `more` workers have one row more.
        head.bundle(format!("min $m4, $m2, {more}"), "");
        head.bundle("add $m3, $m3, $m4", "");
        head.bundle(format!("cmpult $m8, $m2, {more}"), "");
    }
    head.bundle("shl $m6, $m3, 5", "");
    head.bundle(
        format!("shl $m7, $m3, {}", format.row_bytes.trailing_zeros()),
        "",
    );
    let _ = write!(
        text,
        "        .globl {name}\n        .p2align 3\n{name}:\n{}",
        head.text()
    );
    head.turns()
}

/// Code of one entry; returns the turns of the six workers.
///
/// Two row counts occur at most: the longer share of the first workers and the shorter one.
fn entry_code(
    text: &mut String,
    rows: u32,
    first: bool,
    index: usize,
    format: &Format,
) -> [u64; 6] {
    let (each, more) = (rows / 6, rows % 6);
    let mut head = Worker::new();
    // $m0 = A panel, $m1 = C panel, both moved to the worker's first row.
    head.bundle("ld32 $m0, $mvertex_base, $mzero, 0", "");
    head.bundle("ld32 $m1, $mvertex_base, $mzero, 1", "");
    head.bundle("add $m0, $m0, $m6", "");
    head.bundle("add $m1, $m1, $m7", "");
    let two = more != 0;
    if two {
        head.bundle(format!("brz $m8, .Lshort{index}"), "");
    }
    text.push_str(head.text());
    let mut long = Worker::new();
    let longer = each + u32::from(two);
    stream(&mut long, format, first, longer);
    text.push_str(long.text());
    let mut turns = [head.turns() + long.turns(); 6];
    if two {
        let _ = write!(text, "        .p2align 3\n.Lshort{index}:\n");
        let mut short = Worker::new();
        stream(&mut short, format, first, each);
        text.push_str(short.text());
        for (w, slot) in turns.iter_mut().enumerate() {
            if share(rows, w as u32).1 == each {
                *slot = head.turns() + short.turns();
            }
        }
    }
    turns
}

/// Streams `rows` rows through the loaded panel: C += A * panel, or C = A * panel if `first`.
fn stream(out: &mut Worker, format: &Format, first: bool, rows: u32) {
    if rows > 0 && first {
        first_stream(out, format, rows);
    } else if rows > 0 {
        prime(out, format, rows);
        steps(out, format, rows);
    }
    out.solo("exitz $mzero");
}

/// The first panel (`isa/amp.md` 12.3): no partials go in, so there is nothing to prime.
///
/// Step `n` loads the atom of step n + 1 if that begins one, and stores the result of step n - 1,
/// which is atom n - 1 - steps.
fn first_stream(out: &mut Worker, format: &Format, rows: u32) {
    let (g, total) = (format.steps, rows * format.steps);
    let begins = |n: u32| n < total && n.is_multiple_of(format.per_atom);
    let step = |out: &mut Worker, n: u32| {
        let main = match (begins(n + 1), n > g) {
            (true, false) => "ld64step $a0:1, $mzero, $m0+=, 1",
            (true, true) => "ldst64pace $a0:1, $a6:7, $m4:5+=, $mzero, 0",
            (false, true) => "st64pace $a6:7, $m4:5+=, $mzero, 0",
            (false, false) => "",
        };
        let x = format.input(n, n < total);
        if n < total + g {
            out.bundle(main, amp(format, "$a6:7", x, "$azeros", n % g));
        } else {
            out.bundle(main, "");
        }
    };
    out.bundle("ld64step $a0:1, $mzero, $m0+=, 1", "");
    for n in 0..=g {
        step(out, n);
    }
    // The chain does not move here.
    out.bundle("tapack $m4:5, $m0, $mzero, $m1", "");
    let loops = rows.saturating_sub(2);
    out.repeat(loops, |body| {
        for n in g + 1..2 * g + 1 {
            step(body, n);
        }
    });
    for n in g + 1 + loops * g..=total + g {
        step(out, n);
    }
}

fn amp(format: &Format, result: &str, x: &str, partial: &str, phase: u32) -> String {
    format!(
        "{} {result}, {x}, {partial}, {:#x}",
        format.mnemonic,
        format.immediate(phase)
    )
}

/// Puts the partials of the first row into the chain and loads the first input atom.
fn prime(out: &mut Worker, format: &Format, rows: u32) {
    out.bundle("mov $m3, $m1", "");
    let zero = if format.steps == 8 {
        "$azero"
    } else {
        "$azeros"
    };
    let step = |partial: &str, phase: u32| amp(format, "$azeros", zero, partial, phase);
    if format.steps == 8 {
        out.bundle("ld128step $a0:3, $mzero, $m1+=, 1", "");
        out.bundle("ld128step $a4:7, $mzero, $m1+=, 1", step("$a0:1", 0));
        out.bundle("ld128step $a0:3, $mzero, $m1+=, 1", step("$a2:3", 1));
        out.bundle("", step("$a4:5", 2));
        out.bundle("ld128step $a4:7, $mzero, $m1+=, 1", step("$a6:7", 3));
        out.bundle("tapack $m4:5, $m0, $m1, $m3", step("$a0:1", 4));
        out.bundle("", step("$a2:3", 5));
        out.bundle("", step("$a4:5", 6));
    } else {
        out.bundle("ld128step $a0:3, $mzero, $m1+=, 1", "");
        out.bundle("ld128step $a4:7, $mzero, $m1+=, 1", step("$a0:1", 1));
        out.bundle("tapack $m4:5, $m0, $m1, $m3", step("$a2:3", 1));
        out.bundle("", step("$a4:5", 1));
    }
    // The last priming slot loads A atom 0 and, if there is one, the first C atom of row 1.
    let a_stays = if format.per_atom == 2 { STAY } else { 0 };
    let c_stays = if rows >= 2 { 0 } else { STAY };
    out.bundle(
        format!(
            "ld2x64pace $a0:1, $a2:3, $m4:5+=, $mzero, {:#x}",
            a_stays | c_stays << 2
        ),
        step("$a6:7", if format.steps == 8 { 7 } else { 1 }),
    );
}

/// One step: loads for later steps, the store of an earlier result, and the AMP.
///
/// Step `n` of `rows * steps`: loads the input atom of step n + 1 while there is one, the C atom of
/// step n + steps + 1 while there is one, stores the result of step n - 2, which is atom
/// n - steps - 2, from the first such atom on (`isa/amp.md` 12.2, 12.5).
fn step(out: &mut Worker, format: &Format, rows: u32, n: u32) {
    let (g, total) = (format.steps, rows * format.steps);
    let result = if n.is_multiple_of(2) {
        "$a4:5"
    } else {
        "$a6:7"
    };
    let load_a = n + 1 < total;
    let load_c = n + g + 1 < total;
    let store = n >= g + 2;
    // With two steps an atom, the pointer moves in even steps only.
    let a_stays = if format.per_atom == 2 && n % 2 == 1 {
        STAY
    } else {
        0
    };
    let main = match (load_a, load_c, store) {
        (true, true, true) => {
            format!("ld2xst64pace $a0:3, {result}, $m4:5+=, $mzero, {a_stays:#x}")
        }
        (true, true, false) => {
            format!("ld2x64pace $a0:1, $a2:3, $m4:5+=, $mzero, {a_stays:#x}")
        }
        (true, false, false) => {
            let imm = a_stays | STAY << 2;
            format!("ld2x64pace $a0:1, $a2:3, $m4:5+=, $mzero, {imm:#x}")
        }
        (true, false, true) => format!("ldst64pace $a0:1, {result}, $m4:5+=, $mzero, {a_stays:#x}"),
        (false, _, true) => format!("st64pace {result}, $m4:5+=, $mzero, 0"),
        (false, _, false) => String::new(),
    };
    let x = format.input(n, n < total);
    let partial = if n + g < total { "$a2:3" } else { "$azeros" };
    if n < total + g {
        out.bundle(main, amp(format, result, x, partial, n % g));
    } else {
        out.bundle(main, "");
    }
}

fn steps(out: &mut Worker, format: &Format, rows: u32) {
    let g = format.steps;
    let last = rows * g + g + 2;
    if rows < 3 {
        for n in 0..last {
            step(out, format, rows, n);
        }
        return;
    }
    for n in 0..g + 2 {
        step(out, format, rows, n);
    }
    out.repeat(rows - 3, |body| {
        for n in g + 2..2 * g + 2 {
            step(body, format, rows, n);
        }
    });
    for n in g + 2 + (rows - 3) * g..last {
        step(out, format, rows, n);
    }
}
