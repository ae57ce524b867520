//! Elementwise kernels: one fused expression over f32 buffers.
//!
//! The iteration space is collapsed to rows of contiguous elements; what is left outside becomes
//! launches of its own. Workers take contiguous shares of the rows, or of the pairs of one row.

use super::{Launch, Made, Weights, Word, anywhere, fits};
use crate::worker::{Worker, share};
use ipucc_chip::{Assumptions, ScalarType, timing};
use ipucc_tile::cost::NoKernel;
use ipucc_tile::kernel::{BinaryOp, Expr, Map, UnaryOp};
use std::fmt::Write as _;

/// Most launches of one call.
const MAX_LAUNCHES: u32 = 256;
/// Pairs of ARF registers.
const PAIRS: usize = 4;

/// One collapsed axis: extent and the stride of every buffer (inputs, then the result).
#[derive(Clone, PartialEq, Eq, Debug)]
struct Axis {
    extent: u32,
    strides: Vec<u32>,
}

pub(super) fn generate(map: &Map) -> Result<Made, NoKernel> {
    let no = |reason: String| NoKernel {
        what: format!(
            "elementwise kernel of {} nodes over {:?}",
            map.nodes.len(),
            map.extents
        ),
        reason,
    };
    let buffers = map.inputs.iter().chain([&map.output]);
    if let Some(other) = buffers
        .clone()
        .find(|access| access.element != ScalarType::F32)
    {
        return Err(no(format!(
            "{} buffers have no elementwise kernel yet",
            other.element
        )));
    }
    let mut axes = collapse(map);
    let elements: u64 = axes.iter().map(|axis| u64::from(axis.extent)).product();
    if elements == 0 || !fits(elements * 4) {
        return Err(no("it has no elements, or more than fit a tile".into()));
    }
    let Some(columns) = axes.pop() else {
        return Err(no("it has no axes".into()));
    };
    if columns.strides.iter().any(|&stride| stride > 1) || columns.strides.last() != Some(&1) {
        return Err(no(format!(
            "the innermost strides {:?} are not 0 or 1",
            columns.strides
        )));
    }
    // Few rows: each is a launch and its pairs are dealt; many: the rows are dealt.
    let rows = match axes.last() {
        Some(axis) if axis.extent >= 6 => axes.pop(),
        _ => None,
    };
    let outer: u32 = axes.iter().map(|axis| axis.extent).product();
    if outer > MAX_LAUNCHES {
        return Err(no(format!(
            "{outer} separate rows are more than {MAX_LAUNCHES}"
        )));
    }
    if columns.extent % 2 != 0 && (outer > 1 || rows.is_some()) {
        return Err(no(format!(
            "rows of {} elements; they must be even",
            columns.extent
        )));
    }
    let pairs = columns.extent.div_ceil(2);
    let body = Body::of(map, &columns.strides).map_err(no)?;
    let shape = Shape {
        rows: rows.as_ref(),
        columns: &columns,
        pairs,
    };
    let (text, turns) = code(&shape, &body);

    let launches = (0..outer)
        .map(|point| {
            let mut offsets = vec![0u32; map.inputs.len() + 1];
            let mut rest = point;
            for axis in axes.iter().rev() {
                let index = rest % axis.extent;
                rest /= axis.extent;
                for (offset, stride) in offsets.iter_mut().zip(&axis.strides) {
                    *offset += index * stride * 4;
                }
            }
            Launch {
                entry: "map",
                record: offsets
                    .iter()
                    .enumerate()
                    .map(|(operand, &offset)| Word::Operand(operand, offset))
                    .collect(),
                turns,
                weights: Weights::Keep,
            }
        })
        .collect();
    let needs = vec![anywhere(); map.inputs.len() + 1];
    Ok((text, launches, needs))
}

/// Drops axes of extent 1 and joins neighbours that every buffer walks as one.
fn collapse(map: &Map) -> Vec<Axis> {
    let mut axes: Vec<Axis> = Vec::new();
    for (index, &extent) in map.extents.iter().enumerate() {
        let strides: Vec<u32> = map
            .inputs
            .iter()
            .chain([&map.output])
            .map(|access| access.strides[index])
            .collect();
        if extent == 1 {
            continue;
        }
        match axes.last_mut() {
            Some(last)
                if last
                    .strides
                    .iter()
                    .zip(&strides)
                    .all(|(&o, &i)| o == i * extent) =>
            {
                last.extent *= extent;
                last.strides = strides;
            }
            _ => axes.push(Axis { extent, strides }),
        }
    }
    if axes.is_empty() {
        axes.push(Axis {
            extent: 1,
            strides: vec![1; map.inputs.len() + 1],
        });
    }
    axes
}

struct Shape<'s> {
    rows: Option<&'s Axis>,
    columns: &'s Axis,
    pairs: u32,
}

/// The expression as instructions on one pair of elements.
struct Body {
    /// Main and aux member of each group, and its turns.
    groups: Vec<(String, String, u32)>,
    /// Constants to load before: (first register, bits), both lanes.
    constants: Vec<(u32, u32)>,
    /// Inputs that are read once per row because they are broadcast along it: (input, register).
    scalars: Vec<(usize, u32)>,
}

/// MRF register of the pointer of a buffer.
fn pointer(buffer: usize) -> u32 {
    // $m10 is free in workers; $m8, $m9, $m11 are counters and scratch.
    [0, 1, 2, 3, 4, 5, 6, 7][buffer]
}

impl Body {
    fn of(map: &Map, strides: &[u32]) -> Result<Body, String> {
        if map.inputs.len() > 7 {
            return Err(format!("{} inputs are more than 7", map.inputs.len()));
        }
        let mut body = Body {
            groups: Vec::new(),
            constants: Vec::new(),
            scalars: Vec::new(),
        };
        let mut free: Vec<u32> = (0..PAIRS as u32).rev().map(|pair| 2 * pair).collect();
        let mut uses = vec![0u32; map.nodes.len()];
        for node in &map.nodes {
            for operand in operands(node) {
                uses[operand as usize] += 1;
            }
        }
        if let Some(last) = uses.last_mut() {
            *last += 1;
        }
        let out_of_registers = "the expression needs more registers than there are";
        // Constants and per-row scalars keep their registers throughout.
        let mut place: Vec<Option<u32>> = vec![None; map.nodes.len()];
        let mut fixed = vec![false; map.nodes.len()];
        for (index, node) in map.nodes.iter().enumerate() {
            match *node {
                Expr::Constant(bits, ScalarType::F32) => {
                    fixed[index] = true;
                    place[index] = Some(if bits == 0 {
                        14
                    } else if let Some(&(register, _)) =
                        body.constants.iter().find(|(_, b)| *b == bits)
                    {
                        register
                    } else {
                        let register = free.remove(0);
                        body.constants.push((register, bits));
                        register
                    });
                }
                Expr::Constant(_, other) => return Err(format!("a constant of type {other}")),
                Expr::Input(input) if strides[input as usize] == 0 => {
                    fixed[index] = true;
                    if free.is_empty() {
                        return Err(out_of_registers.into());
                    }
                    let register = free.remove(0);
                    body.scalars.push((input as usize, register));
                    place[index] = Some(register);
                }
                _ => {}
            }
            if free.is_empty() {
                return Err(out_of_registers.into());
            }
        }
        for (index, node) in map.nodes.iter().enumerate() {
            if fixed[index] {
                continue;
            }
            let args: Vec<u32> = operands(node)
                .filter_map(|operand| place[operand as usize])
                .collect();
            let release = |free: &mut Vec<u32>, uses: &mut Vec<u32>, place: &[Option<u32>]| {
                for operand in operands(node) {
                    let operand = operand as usize;
                    uses[operand] -= 1;
                    if uses[operand] == 0
                        && !fixed[operand]
                        && let Some(register) = place[operand]
                        && !free.contains(&register)
                    {
                        free.push(register);
                    }
                }
            };
            // A result may take the register of an operand that dies here.
            release(&mut free, &mut uses, &place);
            let register = free.pop().ok_or(out_of_registers)?;
            place[index] = Some(register);
            body.emit(node, register, &args)?;
        }
        let result = place.last().copied().flatten().ok_or("it has no nodes")?;
        let store = format!(
            "st64step {}, $mzero, $m{}+=, 1",
            pair(result),
            pointer(map.inputs.len())
        );
        body.groups.push((store, String::new(), 1));
        Ok(body)
    }

    fn emit(&mut self, node: &Expr, register: u32, args: &[u32]) -> Result<(), String> {
        let d = pair(register);
        let mut aux = |text: String, turns: u32| self.groups.push((String::new(), text, turns));
        let turns = |mnemonic: &str| {
            timing::transcendental_turns(mnemonic, &Assumptions::default()).unwrap_or(1)
        };
        match *node {
            Expr::Input(input) => {
                let load = format!("ld64step {d}, $mzero, $m{}+=, 1", pointer(input as usize));
                self.groups.push((load, String::new(), 1));
            }
            Expr::Binary(op, ..) => {
                let (x, y) = (args[0], args[1]);
                let vector = match op {
                    BinaryOp::Add => "f32v2add",
                    BinaryOp::Sub => "f32v2sub",
                    BinaryOp::Mul => "f32v2mul",
                    BinaryOp::Min => "f32v2min",
                    BinaryOp::Max => "f32v2max",
                    BinaryOp::Div => {
                        for lane in 0..2 {
                            let text = format!(
                                "f32div $a{}, $a{}, $a{}",
                                register + lane,
                                x + lane,
                                y + lane
                            );
                            // The first lane must not overwrite what the second still reads.
                            aux(text, turns("f32div"));
                        }
                        return Ok(());
                    }
                    other => return Err(format!("`{}` has no f32 instruction", other.name())),
                };
                aux(format!("{vector} {d}, {}, {}", pair(x), pair(y)), 1);
            }
            Expr::Unary(op, _) => {
                let mnemonic = match op {
                    UnaryOp::Exp => "f32exp",
                    UnaryOp::Exp2 => "f32exp2",
                    UnaryOp::Log => "f32ln",
                    UnaryOp::Log2 => "f32log2",
                    UnaryOp::Sqrt => "f32sqrt",
                    UnaryOp::Rsqrt => "f32oorx",
                    UnaryOp::Reciprocal => "f32oox",
                    UnaryOp::Tanh => "f32tanh",
                    UnaryOp::Sigmoid => "f32sigm",
                    other => return Err(format!("`{}` has no f32 instruction", other.name())),
                };
                for lane in 0..2 {
                    let text = format!("{mnemonic} $a{}, $a{}", register + lane, args[0] + lane);
                    aux(text, turns(mnemonic));
                }
            }
            _ => return Err(format!("{node:?} has no f32 instruction")),
        }
        Ok(())
    }
}

/// The nodes that a node reads.
fn operands(node: &Expr) -> impl Iterator<Item = u16> + use<> {
    let list: Vec<u16> = match *node {
        Expr::Input(_) | Expr::Constant(..) => vec![],
        Expr::Unary(_, x) | Expr::Convert(_, x) | Expr::Gelu(_, x) => vec![x],
        Expr::Binary(_, x, y) | Expr::Compare(_, x, y) => vec![x, y],
        Expr::Select(c, x, y) => vec![c, x, y],
    };
    list.into_iter()
}

fn pair(register: u32) -> String {
    format!("$a{}:{}", register, register + 1)
}

/// The whole kernel and the turns of its workers.
fn code(shape: &Shape<'_>, body: &Body) -> (String, [u64; 6]) {
    let buffers = shape.columns.strides.len();
    let (items, dealt) = match shape.rows {
        Some(rows) => (rows.extent, true),
        None => (shape.pairs, false),
    };
    let (each, more) = (items / 6, items % 6);
    let mut head = Worker::new();
    for buffer in 0..buffers {
        head.solo(format!(
            "ld32 $m{}, $mvertex_base, $mzero, {buffer}",
            pointer(buffer)
        ));
    }
    for &(register, bits) in &body.constants {
        head.constant_a(register, bits);
        head.solo(format!("mov $a{}, $a{register}", register + 1));
    }
    // $m9 = first item of this worker.
    head.solo("get $m8, $WSR");
    head.solo("and $m8, $m8, 7");
    head.constant_m(9, each);
    head.solo("mul $m9, $m8, $m9");
    head.solo(format!("min $m10, $m8, {more}"));
    head.solo("add $m9, $m9, $m10");
    for buffer in 0..buffers {
        // Bytes from one item to the next in this buffer.
        let step = match shape.rows {
            Some(rows) => rows.strides[buffer] * 4,
            None => shape.columns.strides[buffer] * 8,
        };
        head.constant_m(10, step);
        head.solo("mul $m10, $m9, $m10");
        head.solo(format!("add $m{0}, $m{0}, $m10", pointer(buffer)));
    }
    head.solo(format!("cmpult $m8, $m8, {more}"));
    head.solo("brz $m8, .Lshort");
    let pad = u64::from(head.words() % 2 == 1);
    let mut text = String::from("        .text\n        .globl map\n        .p2align 3\nmap:\n");
    text.push_str(head.text());
    if pad == 1 {
        text.push_str("        nop\n");
    }
    let run = |count: u32, label: &str| {
        let mut out = Worker::new();
        if dealt {
            row_loop(&mut out, shape, body, count, label);
        } else {
            scalars(&mut out, body);
            inner(&mut out, body, count);
        }
        out.solo("exitz $mzero");
        out
    };
    let (long, short) = (run(each + 1, ".Llong_row"), run(each, ".Lshort_row"));
    let _ = write!(
        text,
        "{}        .p2align 3\n.Lshort:\n{}",
        long.text(),
        short.text()
    );
    let turns = std::array::from_fn(|w| {
        head.turns()
            + if share(items, w as u32).1 > each {
                pad + long.turns()
            } else {
                short.turns()
            }
    });
    (text, turns)
}

/// Loads the inputs that are one element per row into both lanes.
fn scalars(out: &mut Worker, body: &Body) {
    for &(input, register) in &body.scalars {
        out.solo(format!(
            "ld32 $a{register}, $m{}, $mzero, 0",
            pointer(input)
        ));
        out.solo(format!("mov $a{}, $a{register}", register + 1));
    }
}

/// `count` pairs of one row.
fn inner(out: &mut Worker, body: &Body, count: u32) {
    if count > 1 && out.words() % 2 == 1 {
        out.solo("nop");
    }
    out.repeat(count, |group| {
        for (main, aux, turns) in &body.groups {
            group.slow_bundle(main, aux, *turns);
        }
    });
}

/// `count` rows, one after the other.
fn row_loop(out: &mut Worker, shape: &Shape<'_>, body: &Body, count: u32, label: &str) {
    let Some(rows) = shape.rows else { return };
    if count == 0 {
        return;
    }
    let mut row = Worker::new();
    scalars(&mut row, body);
    inner(&mut row, body, shape.pairs);
    for (buffer, &stride) in rows.strides.iter().enumerate() {
        let walked = shape.columns.strides[buffer] * shape.pairs * 8;
        let delta = (stride * 4).wrapping_sub(walked);
        if delta == 0 {
            continue;
        }
        if (-0x8000..0x8000).contains(&(delta as i32)) {
            row.solo(format!(
                "add $m{0}, $m{0}, {1}",
                pointer(buffer),
                delta as i32
            ));
        } else {
            row.constant_m(10, delta);
            row.solo(format!("add $m{0}, $m{0}, $m10", pointer(buffer)));
        }
    }
    if count == 1 {
        out.append(&row);
        return;
    }
    out.constant_m(9, count - 1);
    // The loop's target is aligned without a nop that would be executed.
    if out.words() % 2 == 1 {
        out.solo("nop");
    }
    let mut text = Worker::new();
    text.append(&row);
    text.solo(format!("brnzdec $m9, {label}"));
    out.looped(&text, count, label);
}
