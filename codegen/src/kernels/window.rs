//! Sliding windows over channels that are contiguous: pooling and depth-wise convolution.
//!
//! An item is one vector of channels of one position: it goes through the taps, one loop for the
//! innermost axis of the window, the others written out, the load of a tap beside the arithmetic
//! of the tap before. Sums and products of halves are f32.

use super::extremes;
use super::nest::{Dim, Nest};
use super::{Made, anywhere, fits};
use crate::worker::Worker;
use ipucc_chip::ScalarType;
use ipucc_tile::cost::NoKernel;
use ipucc_tile::kernel::{Window, WindowKind};

/// Most rows of taps that are written out.
const MAX_ROWS: u32 = 128;
/// Most taps that are written out one by one.
const UNROLLED: usize = 32;
/// Largest immediate offset of an access.
const MOST_OFFSET: u32 = 4095;
/// Bit of `$FP_CLR` that clears the accumulators (`isa/amp.md` 11).
const CLEAR_ACCUMULATORS: u32 = 8;

/// Walkers and stride registers of an item.
struct Registers {
    /// Walks the input; its stride follows two registers later.
    input: u32,
    /// Walks the weights; its stride follows two registers later.
    weights: u32,
}

pub(super) fn generate(window: &Window) -> Result<Made, NoKernel> {
    let no = |reason: &str| NoKernel {
        what: format!("{window:?}"),
        reason: reason.into(),
    };
    let half = match window.element {
        ScalarType::F16 => true,
        ScalarType::F32 => false,
        _ => return Err(no("supported are f32 and f16")),
    };
    let bytes = window.element.bytes();
    let positions: u64 = window
        .positions
        .iter()
        .map(|d| u64::from(d.count))
        .product();
    let taps: u64 = window.taps.iter().map(|d| u64::from(d.count)).product();
    if positions == 0 || taps == 0 || window.channels == 0 {
        return Err(no("it has no elements"));
    }
    let dims = || window.positions.iter().chain(&window.taps);
    let reach: u64 = dims()
        .map(|d| u64::from(d.count - 1) * u64::from(d.input) * u64::from(bytes))
        .sum();
    if !fits(reach) || !fits(positions * u64::from(window.channels * bytes)) {
        return Err(no("the image does not fit a tile"));
    }
    let aligned = |elements: u32| (elements * bytes).is_multiple_of(8);
    if !dims().all(|d| aligned(d.input) && aligned(d.output)) {
        return Err(no(
            "positions or taps that are not multiples of 8 bytes apart; hint: pad the channels",
        ));
    }
    let convolution = window.kind == WindowKind::Conv;
    // Two channels where the products are f32, else as many as 8 bytes hold.
    let access = if convolution && half { 4 } else { 8 };
    let pointers = if convolution { 3 } else { 2 };
    let at = |elements: u32| (elements * bytes) as i32;
    let mut loops: Vec<Dim> = window
        .positions
        .iter()
        .map(|d| {
            let (from, to) = (at(d.input), at(d.output));
            if convolution {
                Dim::new(d.count, &[from, 0, to])
            } else {
                Dim::new(d.count, &[from, to])
            }
        })
        .collect();
    let vectors = (window.channels * bytes).next_multiple_of(8) / access;
    loops.push(Dim::new(vectors, &vec![access as i32; pointers as usize]));

    let registers = Registers {
        input: pointers,
        weights: pointers + 1,
    };
    let (inner, rows) = window.taps.split_last().ok_or_else(|| no("no taps"))?;
    let mut offsets = vec![0i64];
    for dim in rows {
        let step = i64::from(dim.input * bytes);
        offsets = offsets
            .iter()
            .flat_map(|&o| (0..i64::from(dim.count)).map(move |n| o + n * step))
            .collect();
        if offsets.len() > MAX_ROWS as usize {
            return Err(no("more than 128 rows of taps"));
        }
    }
    let mut setup = Worker::new();
    setup.bundle("", format!("setzi $a0, {CLEAR_ACCUMULATORS}"));
    setup.bundle("", "uput $FP_CLR, $a0");
    let mut body = Worker::new();
    let item = Item {
        kind: window.kind,
        half,
        registers,
    };
    let tap_bytes = (window.channels * bytes).next_multiple_of(8);
    // Offsets of all taps from the window's first, in accesses.
    let step = i64::from(inner.input * bytes);
    let every: Vec<u32> = offsets
        .iter()
        .flat_map(|&o| (0..i64::from(inner.count)).map(move |n| o + n * step))
        .map(|offset| offset as u32 / access)
        .collect();
    let weights = |tap: u32| tap * tap_bytes / access;
    let near = every.iter().all(|&offset| offset <= MOST_OFFSET)
        && weights(every.len() as u32) <= MOST_OFFSET;
    if every.len() <= UNROLLED && near && window.kind == WindowKind::Max {
        extremes::fold(
            &mut body,
            half,
            "max",
            (every.len() as u32, false),
            |register, n| {
                let (next, offset) = (register + 1, every[n as usize]);
                format!("ld64 $a{register}:{next}, $m0, $mzero, {offset}")
            },
        );
        extremes::marked(&mut body, half);
        body.bundle("st64 $a4:5, $m1, $mzero, 0", "");
    } else if every.len() <= UNROLLED && near {
        item.begin(&mut body, false);
        for (&offset, tap) in every.iter().zip(0..) {
            item.tap(&mut body, Some([offset, weights(tap)]));
        }
        item.end(&mut body);
    } else {
        setup.constant_m(item.registers.input + 2, inner.input * bytes / access);
        if convolution {
            setup.constant_m(item.registers.weights + 2, weights(1));
        }
        item.begin(&mut body, true);
        let mut moved = 0;
        for &offset in &offsets {
            super::nest::add(&mut body, item.registers.input, offset - moved, 7);
            body.repeat(inner.count, |body| item.tap(body, None));
            moved = offset + i64::from(inner.count) * step;
        }
        item.end(&mut body);
    }
    let nest = Nest {
        name: "window",
        pointers,
        dims: loops,
        setup,
        registers: 8,
    };
    let (text, turns) = nest.emit(&body).map_err(|reason| no(&reason))?;
    let operands: Vec<(usize, u32)> = (0..pointers as usize).map(|n| (n, 0)).collect();
    let launch = nest.launch(turns, &operands);
    Ok((text, vec![launch], vec![anywhere(); pointers as usize]))
}

struct Item {
    kind: WindowKind,
    half: bool,
    registers: Registers,
}

impl Item {
    /// Neutral values for the taps before the first, and the walkers if taps are walked.
    fn begin(&self, out: &mut Worker, walks: bool) {
        let Registers { input, weights } = self.registers;
        if walks {
            out.bundle(format!("mov $m{input}, $m0"), "");
            if self.kind == WindowKind::Conv {
                out.bundle(format!("mov $m{weights}, $m1"), "");
            }
        }
        if self.kind == WindowKind::Max {
            let infinity = if self.half {
                0xfc00_fc00u32
            } else {
                0xff80_0000
            };
            out.bundle("", format!("setzi $a4, {:#x}", infinity & 0xf_ffff));
            out.bundle("", format!("or $a4, $a4, {:#x}", infinity & 0xfff0_0000));
            out.bundle("", "mov $a5, $a4");
            out.bundle("", "or64 $a0:1, $a4:5, $azeros");
            out.bundle("", "or64 $a6:7, $azeros, $azeros");
            return;
        }
        for pair in ["$a0:1", "$a2:3", "$a4:5"] {
            out.bundle("", format!("or64 {pair}, $azeros, $azeros"));
        }
    }

    /// Arithmetic of a tap whose values are loaded (for products of halves: and widened).
    fn fold(&self) -> &'static str {
        match (self.kind, self.half) {
            (WindowKind::Max, true) => "f16v4max $a4:5, $a4:5, $a0:1",
            (WindowKind::Max, false) => "f32v2max $a4:5, $a4:5, $a0:1",
            (WindowKind::Sum(_), true) => "f16v4acc $a0:1",
            (WindowKind::Sum(_), false) => "f32v2add $a4:5, $a4:5, $a0:1",
            (WindowKind::Conv, true) => "f32v2mac $a2:3, $a4:5",
            (WindowKind::Conv, false) => "f32v2mac $a0:1, $a2:3",
        }
    }

    /// Loads a tap and folds the one before; `offsets` in input and weights, or by the walkers.
    fn tap(&self, out: &mut Worker, offsets: Option<[u32; 2]>) {
        let Registers { input, weights } = self.registers;
        let load = |what: &str, walker: u32| {
            let (bits, stride) = (if what.len() > 3 { 64 } else { 32 }, walker + 2);
            match offsets {
                None => format!("ld{bits}step {what}, $mzero, $m{walker}+=, $m{stride}"),
                Some(offsets) => {
                    let which = usize::from(walker == weights);
                    let at = offsets[which];
                    format!("ld{bits} {what}, $m{which}, $mzero, {at}")
                }
            }
        };
        match (self.kind, self.half) {
            (WindowKind::Conv, true) => {
                out.bundle(load("$a0", input), self.fold());
                out.bundle(load("$a1", weights), "f16v2tof32 $a2:3, $a0");
                out.bundle("", "f16v2tof32 $a4:5, $a1");
            }
            (WindowKind::Conv, false) => {
                out.bundle(load("$a0:1", input), self.fold());
                out.bundle(load("$a2:3", weights), "");
            }
            (WindowKind::Max, _) => {
                self.look(out);
                out.bundle(load("$a0:1", input), self.fold());
            }
            _ => out.bundle(load("$a0:1", input), self.fold()),
        }
    }

    /// Keeps which lanes of the tap in `$a0:1` are NaN, all ones in `$a6:7`.
    fn look(&self, out: &mut Worker) {
        let compare = if self.half {
            "f16v4cmpne"
        } else {
            "f32v2cmpne"
        };
        out.bundle("", format!("{compare} $a2:3, $a0:1, $a0:1"));
        out.bundle("", "or64 $a6:7, $a6:7, $a2:3");
    }

    /// Folds the last tap and stores.
    fn end(&self, out: &mut Worker) {
        if self.kind == WindowKind::Max {
            self.look(out);
        }
        out.bundle("", self.fold());
        const GATHER: &str = "f32v2gina $a0:1, $azeros, 0";
        let result = if self.kind == WindowKind::Conv { 2 } else { 1 };
        let store = |out: &mut Worker, what: &str| {
            let bits = if what.len() > 3 { 64 } else { 32 };
            out.bundle(format!("st{bits} {what}, $m{result}, $mzero, 0"), "");
        };
        match (self.kind, self.half) {
            (WindowKind::Max, _) => {
                out.bundle("", "or64 $a4:5, $a4:5, $a6:7");
                store(out, "$a4:5");
            }
            (WindowKind::Conv, true) => {
                out.bundle("", GATHER);
                out.bundle("", "f32v2tof16 $a0, $a0:1");
                store(out, "$a0");
            }
            (WindowKind::Conv, false) => {
                out.bundle("", GATHER);
                store(out, "$a0:1");
            }
            (WindowKind::Sum(factor), half) => {
                out.constant_a(7, factor);
                if half {
                    out.bundle("", GATHER);
                    out.bundle("", "f32v2mul $a0:1, $a7:B, $a0:1");
                    out.bundle("", "f32v2gina $a2:3, $azeros, 0");
                    out.bundle("", "f32v2mul $a2:3, $a7:B, $a2:3");
                    out.bundle("", "f32v2tof16 $a0, $a0:1");
                    out.bundle("", "f32v2tof16 $a1, $a2:3");
                } else {
                    out.bundle("", "f32v2mul $a0:1, $a7:B, $a4:5");
                }
                store(out, "$a0:1");
            }
        }
    }
}
