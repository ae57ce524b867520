//! The kernels: one type per family, each yielding what it needs, its code and its time.

mod arg;
mod attention;
mod cast;
mod columns;
mod copy;
mod dot;
mod extremes;
mod fill;
mod fold;
mod gather;
mod general;
mod integer;
mod lerp;
mod map;
mod nest;
mod rows;
mod scan;
mod scatter;
mod window;
mod words;

use crate::timeline::kernel_cycles;
use ipucc_chip::{Assumptions, ScalarType, memory};
use ipucc_machine::{Context, asm, object::Object};
use ipucc_tile::MemoryClass;
use ipucc_tile::cost::{KernelCatalog, KernelCost, NoKernel, OperandNeed};
use ipucc_tile::kernel::{Expr, Kernel};

/// A word of an argument record.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Word {
    /// Byte address of operand `0` plus `1` bytes.
    Operand(usize, u32),
    /// A constant.
    Constant(u32),
    /// A word in which workers leave something for the next launch of the same record.
    Shared,
}

/// One launch of the six workers.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Launch {
    /// Label of the entry.
    pub entry: &'static str,
    /// The argument record.
    pub record: Vec<Word>,
    /// Turns of each worker, from its first group to its exit.
    pub turns: [u64; 6],
    /// Weight panel that the supervisor loads before: operand and byte offset of the first panel of
    /// a contiguous run, or `Next` for the panel behind the one before.
    pub weights: Weights,
    /// Columns of its weight panel: 16 (512 bytes) or 8 (256 bytes).
    pub columns: u8,
    /// `$FP_INFMT` during the call; the same for all its launches.
    pub format: u32,
    /// `$FP_ISCL` during the call; the same for all its launches.
    pub scale: u32,
}

impl Default for Launch {
    /// A launch that keeps the weights and `$FP_INFMT` and needs no arguments.
    fn default() -> Launch {
        Launch {
            entry: "",
            record: Vec::new(),
            turns: [0; 6],
            weights: Weights::Keep,
            columns: 16,
            format: 0,
            scale: 0,
        }
    }
}

/// What the supervisor does to the weight store before a launch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Weights {
    /// Nothing.
    Keep,
    /// Sets the load pointer to operand `0` plus `1` bytes and loads a panel.
    From(usize, u32),
    /// Loads the panel behind the one before.
    Next,
}

/// A generated kernel.
#[derive(Clone, PartialEq, Debug)]
pub struct Generated {
    /// Worker code in one section `.text` with the entries as symbols.
    pub object: Object,
    /// Launches in order.
    pub launches: Vec<Launch>,
    /// What each operand needs.
    pub operands: Vec<OperandNeed>,
}

/// Generates a kernel; the assumptions decide its turns, never its code.
///
/// # Errors
/// There is no kernel for this computation and shape.
pub fn generate(kernel: &Kernel, assumptions: &Assumptions) -> Result<Generated, NoKernel> {
    generate_with(kernel, false, assumptions)
}

/// As [`generate`]; `relaxed` asks for code that lets operands share memory elements wherever the
/// family has such a form.
///
/// # Errors
/// There is no kernel for this computation and shape.
pub fn generate_with(
    kernel: &Kernel,
    relaxed: bool,
    assumptions: &Assumptions,
) -> Result<Generated, NoKernel> {
    if !plausible(kernel) {
        return Err(NoKernel {
            what: format!("{kernel:?}"),
            reason:
                "an extent or stride is larger than a tile's memory, or an input that is not there"
                    .into(),
        });
    }
    let (text, launches, operands) = match kernel {
        Kernel::Dot(dot) => dot::generate(dot)?,
        Kernel::Map(map) => match cast::recognise(map) {
            Some((from, to)) => cast::generate(map, from, to, relaxed, assumptions)?,
            None => map::generate(map, relaxed, assumptions)?,
        },
        Kernel::Fill(fill) => fill::generate(fill)?,
        Kernel::Reduce(reduce) => fold::reduce(reduce, assumptions)?,
        Kernel::Softmax(shape) => rows::softmax(*shape, assumptions)?,
        Kernel::LayerNorm(shape, epsilon) => rows::normalise(*shape, *epsilon, true, assumptions)?,
        Kernel::RmsNorm(shape, epsilon) => rows::normalise(*shape, *epsilon, false, assumptions)?,
        Kernel::Copy(copy) => copy::generate(copy, relaxed)?,
        Kernel::Gather(gather) => gather::generate(gather)?,
        Kernel::ArgReduce(arg) => arg::reduce(arg)?,
        Kernel::TopK(top) => arg::top_k(top)?,
        Kernel::Scan(scan) => scan::generate(scan)?,
        Kernel::Attention(attention) => attention::generate(attention, assumptions)?,
        Kernel::Window(window) => window::generate(window)?,
        Kernel::Lerp(lerp) => lerp::generate(lerp, assumptions)?,
        Kernel::IntegerDot(dot) => integer::dot(dot)?,
        Kernel::Scatter(scatter) => scatter::generate(scatter)?,
        Kernel::Words(words) => words::generate(words)?,
    };
    debug_assert!(
        (8..14).all(|register| !text.contains(&format!("$a{register}"))),
        "{kernel:?} names a register without storage (`isa/execution.md` 6)"
    );
    let options = asm::Options {
        file: "kernel".into(),
        context: Context::Worker,
    };
    let assembly = asm::assemble(&text, &options).map_err(|errors| NoKernel {
        what: format!("{kernel:?}"),
        reason: format!("internal: generated text does not assemble: {errors:?}"),
    })?;
    Ok(Generated {
        object: assembly.object,
        launches,
        operands,
    })
}

/// True if no extent, stride or offset is beyond the memory of a tile, so that the sizes that the
/// families compute from two of them stay far below 2^63.
fn plausible(kernel: &Kernel) -> bool {
    const MOST: u32 = 1 << 20;
    let small = |numbers: &[u32]| numbers.iter().all(|&number| number <= MOST);
    let near = |numbers: [i32; 2]| numbers.iter().all(|number| number.unsigned_abs() <= MOST);
    let points = |counts: &mut dyn Iterator<Item = u32>| {
        counts.fold(1u64, |all, count| all.saturating_mul(u64::from(count))) <= u64::from(MOST)
    };
    // Columns of an axis inside a memory.
    let reach = |ty: ScalarType, dims: &[(u32, u32)], inner: u32| {
        let elements: u64 = dims
            .iter()
            .map(|&(count, stride)| u64::from(count.max(1) - 1) * u64::from(stride))
            .sum();
        fits((elements + u64::from(inner)) * u64::from(ty.bytes()))
    };
    match kernel {
        Kernel::Dot(dot) => small(&[dot.m, dot.n, dot.k]),
        Kernel::Map(map) => {
            let accesses = || map.inputs.iter().chain([&map.output]);
            let inputs = map.nodes.iter().all(|node| match *node {
                Expr::Input(input) => (input as usize) < map.inputs.len(),
                _ => true,
            });
            inputs
                && small(&map.extents)
                && points(&mut map.extents.iter().copied())
                && accesses().all(|a| small(&a.strides) && a.strides.len() == map.extents.len())
        }
        Kernel::Reduce(r) => {
            let (outer, axis) = r.input_strides;
            small(&[r.outer, r.axis, r.inner, outer, axis, r.output_stride])
                && reach(r.input, &[(r.outer, outer), (r.axis, axis)], r.inner)
                && reach(r.output, &[(r.outer, r.output_stride)], r.inner)
        }
        Kernel::Softmax(rows) | Kernel::LayerNorm(rows, _) | Kernel::RmsNorm(rows, _) => {
            small(&[rows.rows, rows.columns, rows.pitch])
        }
        Kernel::Copy(copy) => {
            small(&[copy.bytes, copy.source_offset, copy.destination_offset])
                && points(&mut copy.dims.iter().map(|d| d.count))
                && (copy.dims.iter())
                    .all(|d| small(&[d.count]) && near([d.source_bytes, d.destination_bytes]))
        }
        Kernel::Fill(fill) => small(&[fill.words]),
        Kernel::Words(words) => small(&[words.count]),
        Kernel::Gather(g) => small(&[g.count, g.rows, g.row_bytes]),
        Kernel::Scatter(s) => small(&[s.count, s.rows, s.row_bytes]),
        Kernel::ArgReduce(a) => {
            let (outer, axis) = a.input_strides;
            small(&[a.outer, a.axis, a.inner, outer, axis, a.output_stride])
                && reach(a.input, &[(a.outer, outer), (a.axis, axis)], a.inner)
                && reach(ScalarType::I32, &[(a.outer, a.output_stride)], a.inner)
        }
        Kernel::Scan(s) => {
            let (outer, axis) = s.strides;
            small(&[s.outer, s.axis, s.inner, outer, axis])
                && reach(s.element, &[(s.outer, outer), (s.axis, axis)], s.inner)
        }
        Kernel::TopK(t) => small(&[t.rows, t.columns, t.pitch, t.k, t.result_pitch]),
        Kernel::Window(w) => {
            small(&[w.channels])
                && points(&mut w.positions.iter().map(|d| d.count))
                && points(&mut w.taps.iter().map(|d| d.count))
                && (w.positions.iter().chain(&w.taps)).all(|d| small(&[d.count, d.input, d.output]))
        }
        Kernel::Lerp(l) => {
            small(&[l.outer, l.axis, l.inner, l.pitch, l.points.len() as u32])
                && l.points.iter().all(|p| small(&[p.low, p.high]))
        }
        Kernel::Attention(a) => {
            small(&[a.queries, a.keys, a.head, a.values, a.block])
                && a.causal.is_none_or(|d| near([d, 0]))
                && small(&[a.mask.unwrap_or(0)])
        }
        Kernel::IntegerDot(d) => {
            let (a, b, c) = d.pitches;
            small(&[d.m, d.n, d.k, a, b, c])
        }
    }
}

/// Text, launches and needs: what a family makes.
type Made = (String, Vec<Launch>, Vec<OperandNeed>);

/// A plain need: 8-byte aligned, anywhere.
fn anywhere() -> OperandNeed {
    OperandNeed {
        align_bytes: 8,
        memory: MemoryClass::Any,
        tail_bytes: 0,
        apart_from: 0,
    }
}

/// The kernels that there are, with their cost under some assumptions.
#[derive(Clone, Debug, Default)]
pub struct Catalog {
    /// Timing assumptions behind the costs.
    pub assumptions: Assumptions,
}

impl KernelCatalog for Catalog {
    fn cost(&self, kernel: &Kernel) -> Result<KernelCost, NoKernel> {
        let generated = generate(kernel, &self.assumptions)?;
        let code = generated
            .object
            .sections
            .values()
            .map(|section| section.size)
            .sum();
        let record_bytes = generated
            .launches
            .iter()
            .map(|launch| 4 * launch.record.len() as u32)
            .sum();
        Ok(KernelCost {
            cycles: kernel_cycles(&generated.launches, &self.assumptions),
            code_bytes: code,
            record_bytes,
            scratch_bytes: 0,
            operands: generated.operands,
        })
    }
}

/// True if a buffer of this many bytes fits a tile at all.
fn fits(bytes: u64) -> bool {
    bytes <= u64::from(memory::SIZE)
}
