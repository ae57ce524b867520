//! Which bytes of its operands a kernel reads and writes, from the kernel's fields alone.
//!
//! The verifier and the interpreter of tile programs both stand on this page; planners and code
//! generators never use it.

use crate::kernel::{Attention, Copy, Dot, Expr, Kernel, Lerp, Map, Window, WindowKind};
use ipucc_chip::{ScalarType, memory};
use ipucc_tensor::{Op, TensorType};
use panels::{lhs, rhs};
use thiserror::Error;

mod panels;

/// Half-open intervals of bytes, relative to the operand's first byte; ascending and disjoint.
pub type Ranges = Vec<(i64, i64)>;

/// What a kernel does with one operand.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Access {
    /// Bytes whose content matters.
    pub read: Ranges,
    /// Padding along a contraction: multiplied with the padding of the other operand, so that one
    /// of the two must be zero and the other finite.
    pub multiplied: Ranges,
    /// Bytes that hold a result afterwards.
    pub written: Ranges,
    /// Element type, where the kernel has one for this operand.
    pub element: Option<ScalarType>,
}

/// Why a kernel computes nothing.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum KernelFault {
    /// Another number of operands.
    #[error("{0} operands, the kernel has {1}")]
    Operands(usize, usize),
    /// Sizes beyond what any tile could hold or do.
    #[error("more work or data than one tile can hold")]
    TooLarge,
    /// Fields that contradict one another.
    #[error("{0}")]
    Malformed(String),
}

/// Most pieces of one operand, and most elements of a result: a tile has fewer bytes.
const MOST_PIECES: u64 = 1 << 21;
/// Most multiplications or taps of one call: more than three operands that fill a tile can ask for.
const MOST_WORK: u64 = 1 << 29;

fn malformed<T>(reason: impl Into<String>) -> Result<T, KernelFault> {
    Err(KernelFault::Malformed(reason.into()))
}

/// A strided nest: repetitions and the step of each in bytes.
type Nest<'n> = &'n [(u32, i64)];

/// Runs of `bytes` bytes at every point of a nest, from byte `base` on.
fn nest(dims: Nest<'_>, base: i64, bytes: i64) -> Result<Ranges, KernelFault> {
    if bytes == 0 || dims.iter().any(|&(count, _)| count == 0) {
        return Ok(Ranges::new());
    }
    let mut low = base;
    let mut steps: Vec<(i64, i64)> = Vec::new();
    for &(count, step) in dims {
        let more = i64::from(count) - 1;
        if more == 0 || step == 0 {
            continue;
        }
        if step < 0 {
            low = low.saturating_add(step.saturating_mul(more));
        }
        steps.push((step.saturating_abs(), more));
    }
    steps.sort_unstable();
    // Inner dimensions without gaps grow the piece.
    let mut piece = bytes;
    let mut outer = Vec::new();
    for (step, more) in steps {
        if outer.is_empty() && step <= piece {
            piece = piece.saturating_add(step.saturating_mul(more));
        } else {
            outer.push((step, more));
        }
    }
    let pieces = outer
        .iter()
        .try_fold(1u64, |n, &(_, more)| n.checked_mul(more as u64 + 1));
    if pieces.is_none_or(|n| n > MOST_PIECES) || piece > i64::from(memory::SIZE) {
        return Err(KernelFault::TooLarge);
    }
    let mut starts = vec![low];
    for &(step, more) in outer.iter().rev() {
        starts = starts
            .iter()
            .flat_map(|&start| {
                (0..=more).map(move |i| start.saturating_add(step.saturating_mul(i)))
            })
            .collect();
    }
    let ranges = starts
        .into_iter()
        .map(|start| (start, start.saturating_add(piece)))
        .collect();
    Ok(merged(ranges))
}

/// Ascending and disjoint.
fn merged(mut ranges: Ranges) -> Ranges {
    ranges.sort_unstable();
    let mut out = Ranges::new();
    for (low, high) in ranges {
        match out.last_mut() {
            Some(last) if low <= last.1 => last.1 = last.1.max(high),
            _ => out.push((low, high)),
        }
    }
    out
}

/// What of `0..end` is not in `ranges`.
fn rest(ranges: &Ranges, end: i64) -> Ranges {
    let mut out = Ranges::new();
    let mut next = 0;
    for &(low, high) in ranges {
        if next < low {
            out.push((next, low));
        }
        next = next.max(high);
    }
    if next < end {
        out.push((next, end));
    }
    out
}

fn size(element: ScalarType) -> i64 {
    i64::from(element.bytes())
}

/// Bytes of every strided element of a buffer: counts and element strides.
fn elements(
    dims: impl IntoIterator<Item = (u32, u32)>,
    element: ScalarType,
) -> Result<Ranges, KernelFault> {
    let size = size(element);
    let dims: Vec<(u32, i64)> = dims
        .into_iter()
        .map(|(count, stride)| (count, i64::from(stride).saturating_mul(size)))
        .collect();
    nest(&dims, 0, size)
}

fn read(read: Ranges, element: ScalarType) -> Access {
    Access {
        read,
        element: Some(element),
        ..Access::default()
    }
}

fn written(written: Ranges, element: ScalarType) -> Access {
    Access {
        written,
        element: Some(element),
        ..Access::default()
    }
}

fn dot(dot: &Dot) -> Result<Vec<Access>, KernelFault> {
    if !dot.input.is_float() || !dot.partials.is_float() {
        return malformed("a matrix product takes floats");
    }
    let quarter = matches!(dot.input, ScalarType::F8E4M3 | ScalarType::F8E5M2);
    if dot.scale != 0 && !quarter || !(-32..=31).contains(&dot.scale) {
        return malformed("products of f8 have a scale of -32 to 31, others none");
    }
    work([dot.m, dot.n, dot.k])?;
    let panel = Dot::input_panel(dot.input);
    let (a, a_padding) = lhs(dot.m, dot.k, panel, dot.input)?;
    let (b, b_padding) = rhs(dot.n, dot.k, panel, dot.input)?;
    let columns = Dot::result_panel(dot.input, dot.partials);
    let (c, c_padding) = lhs(dot.m, dot.n, columns, dot.partials)?;
    let mut all = c.clone();
    all.extend(c_padding);
    Ok(vec![
        Access {
            multiplied: a_padding,
            ..read(a, dot.input)
        },
        Access {
            multiplied: b_padding,
            ..read(b, dot.input)
        },
        Access {
            read: if dot.accumulate { c } else { Ranges::new() },
            ..written(merged(all), dot.partials)
        },
    ])
}

/// An error if the product of these counts is more than a call may do.
fn work(counts: impl IntoIterator<Item = u32>) -> Result<u64, KernelFault> {
    let total = counts
        .into_iter()
        .try_fold(1u64, |n, count| n.checked_mul(count.into()));
    match total {
        Some(total) if total <= MOST_WORK => Ok(total),
        _ => Err(KernelFault::TooLarge),
    }
}

/// As [`work`], for what must be held at once.
fn area(counts: impl IntoIterator<Item = u32>) -> Result<(), KernelFault> {
    match work(counts)? {
        total if total <= MOST_PIECES => Ok(()),
        _ => Err(KernelFault::TooLarge),
    }
}

/// The operation and the operands of a node, for [`Op::infer`] and the interpreter.
pub(crate) fn node(expr: &Expr) -> (Option<Op>, Vec<u16>) {
    match *expr {
        Expr::Input(_) | Expr::Constant(..) => (None, Vec::new()),
        Expr::Unary(op, a) => (Some(Op::Unary(op)), vec![a]),
        Expr::Binary(op, a, b) => (Some(Op::Binary(op)), vec![a, b]),
        Expr::Compare(op, a, b) => (Some(Op::Compare(op)), vec![a, b]),
        Expr::Select(c, a, b) => (Some(Op::Select), vec![c, a, b]),
        Expr::Convert(to, a) => (Some(Op::Convert(to)), vec![a]),
        Expr::Gelu(tanh, a) => (Some(Op::Gelu { tanh }), vec![a]),
    }
}

/// The type of every node over the map's points, flattened.
pub(crate) fn node_types(map: &Map) -> Result<Vec<TensorType>, KernelFault> {
    let points = work(map.extents.iter().copied())?;
    if points > MOST_PIECES {
        return Err(KernelFault::TooLarge);
    }
    let of = |element| TensorType::new(element, [points as u32]);
    let mut types: Vec<TensorType> = Vec::new();
    for (index, expr) in map.nodes.iter().enumerate() {
        let (op, operands) = node(expr);
        let mut given = Vec::new();
        for operand in operands {
            match types.get(usize::from(operand)) {
                Some(ty) => given.push(ty.clone()),
                None => {
                    return malformed(format!("node {index} reads node {operand}, a later one"));
                }
            }
        }
        types.push(match (op, expr) {
            (Some(op), _) => match op.infer(&given) {
                Ok(ty) => ty,
                Err(error) => return malformed(format!("node {index}: {error}")),
            },
            (None, Expr::Input(input)) => match map.inputs.get(usize::from(*input)) {
                Some(access) => of(access.element),
                None => return malformed(format!("node {index} reads input {input}")),
            },
            (None, Expr::Constant(_, element)) => of(*element),
            (None, _) => return malformed("a node without an operation"),
        });
    }
    match types.last() {
        Some(ty) if ty.element == map.output.element => Ok(types),
        Some(ty) => malformed(format!(
            "the last node is {}, the result {}",
            ty.element, map.output.element
        )),
        None => malformed("an expression without nodes"),
    }
}

fn map(map: &Map) -> Result<Vec<Access>, KernelFault> {
    node_types(map)?;
    let accesses = map.inputs.iter().chain([&map.output]);
    if accesses
        .clone()
        .any(|access| access.strides.len() != map.extents.len())
    {
        return malformed("one stride per extent is needed");
    }
    let mut list = Vec::new();
    for (index, access) in accesses.enumerate() {
        let dims = map
            .extents
            .iter()
            .copied()
            .zip(access.strides.iter().copied());
        let ranges = elements(dims, access.element)?;
        list.push(if index < map.inputs.len() {
            read(ranges, access.element)
        } else {
            written(ranges, access.element)
        });
    }
    Ok(list)
}

fn copy(copy: &Copy) -> Result<Vec<Access>, KernelFault> {
    let source: Vec<(u32, i64)> = copy
        .dims
        .iter()
        .map(|dim| (dim.count, dim.source_bytes.into()))
        .collect();
    let destination: Vec<(u32, i64)> = copy
        .dims
        .iter()
        .map(|dim| (dim.count, dim.destination_bytes.into()))
        .collect();
    area(copy.dims.iter().map(|dim| dim.count))?;
    let bytes = i64::from(copy.bytes);
    Ok(vec![
        Access {
            read: nest(&source, copy.source_offset.into(), bytes)?,
            ..Access::default()
        },
        Access {
            written: nest(&destination, copy.destination_offset.into(), bytes)?,
            ..Access::default()
        },
    ])
}

/// Elements from one tap's weights to the next: the channels, to a multiple of 8 bytes.
pub(crate) fn tap_pitch(window: &Window) -> u32 {
    let granule = 8 / window.element.bytes().clamp(1, 8);
    window.channels.div_ceil(granule).saturating_mul(granule)
}

fn window(window: &Window) -> Result<Vec<Access>, KernelFault> {
    let counts = |dims: &[crate::kernel::WindowDim]| -> Vec<u32> {
        dims.iter().map(|dim| dim.count).collect()
    };
    let taps = counts(&window.taps);
    let all = counts(&window.positions).into_iter().chain(taps.clone());
    work(all.chain([window.channels]))?;
    area(
        counts(&window.positions)
            .into_iter()
            .chain([window.channels]),
    )?;
    let inner = [(window.channels, 1)];
    let both = window.positions.iter().chain(&window.taps);
    let input = both.map(|dim| (dim.count, dim.input)).chain(inner);
    let output = window.positions.iter().map(|dim| (dim.count, dim.output));
    let mut list = vec![read(elements(input, window.element)?, window.element)];
    if window.kind == WindowKind::Conv {
        // A tap's channels are padded to double words.
        let pitch = tap_pitch(window);
        let count = work(taps)? as u32;
        let ranges = elements([(count, pitch), (window.channels, 1)], window.element)?;
        list.push(read(ranges, window.element));
    }
    let result = elements(output.chain(inner), window.element)?;
    list.push(written(result, window.element));
    Ok(list)
}

fn lerp(lerp: &Lerp) -> Result<Vec<Access>, KernelFault> {
    let points = lerp.points.len() as u32;
    if let Some(point) = lerp
        .points
        .iter()
        .find(|point| point.low.max(point.high) >= lerp.axis)
    {
        return malformed(format!(
            "slices {} and {} of {}",
            point.low, point.high, lerp.axis
        ));
    }
    area([lerp.outer, points, lerp.inner])?;
    let reach = lerp.axis.saturating_mul(lerp.pitch);
    let mut slices = Ranges::new();
    let step = i64::from(reach) * size(lerp.element);
    let pitch = i64::from(lerp.pitch) * size(lerp.element);
    for point in &lerp.points {
        for slice in [point.low, point.high] {
            let bytes = i64::from(lerp.inner) * size(lerp.element);
            slices.extend(nest(
                &[(lerp.outer, step)],
                i64::from(slice) * pitch,
                bytes,
            )?);
        }
    }
    let outer = (lerp.outer, points.saturating_mul(lerp.pitch));
    let result = [outer, (points, lerp.pitch), (lerp.inner, 1)];
    Ok(vec![
        read(merged(slices), lerp.element),
        written(elements(result, lerp.element)?, lerp.element),
    ])
}

fn attention(a: &Attention) -> Result<Vec<Access>, KernelFault> {
    if !matches!(a.element, ScalarType::F16 | ScalarType::F32) {
        return malformed("attention takes f16 or f32");
    }
    work([a.queries, a.keys, a.head.max(a.values)])?;
    if let Some(d) = a.causal
        && d < 0
    {
        return malformed("every query must see a key");
    }
    let panel = Dot::input_panel(a.element);
    let (q, q_padding) = lhs(a.queries, a.head, panel, a.element)?;
    let (k, k_padding) = rhs(a.keys, a.head, panel, a.element)?;
    let (v, v_padding) = rhs(a.values, a.keys, panel, a.element)?;
    let (c, c_padding) = lhs(a.queries, a.values, 16, a.element)?;
    let mut all = c;
    all.extend(c_padding);
    let operand = |ranges, multiplied| Access {
        multiplied,
        ..read(ranges, a.element)
    };
    let mut list = vec![
        operand(q, q_padding),
        operand(k, k_padding),
        operand(v, v_padding),
    ];
    if let Some(pitch) = a.mask {
        let mask = elements([(a.queries, pitch), (a.keys, 1)], a.element)?;
        list.push(read(mask, a.element));
    }
    list.extend([
        // Scratch: nothing of it matters before or after.
        Access {
            written: vec![(0, a.scratch_bytes().into())],
            ..Access::default()
        },
        written(merged(all), a.element),
    ]);
    Ok(list)
}

/// What a kernel does with each of its operands.
///
/// # Errors
/// Fields that contradict one another, or that no tile has room for.
pub fn accesses(kernel: &Kernel) -> Result<Vec<Access>, KernelFault> {
    let i32 = ScalarType::I32;
    let list = match kernel {
        Kernel::Dot(kernel) => return dot(kernel),
        Kernel::Map(kernel) => return map(kernel),
        Kernel::Copy(kernel) => return copy(kernel),
        Kernel::Window(kernel) => return window(kernel),
        Kernel::Lerp(kernel) => return lerp(kernel),
        Kernel::Attention(kernel) => return attention(kernel),
        Kernel::Reduce(k) => {
            area([k.outer, k.axis, k.inner])?;
            let input = [
                (k.outer, k.input_strides.0),
                (k.axis, k.input_strides.1),
                (k.inner, 1),
            ];
            let output = [(k.outer, k.output_stride), (k.inner, 1)];
            vec![
                read(elements(input, k.input)?, k.input),
                written(elements(output, k.output)?, k.output),
            ]
        }
        Kernel::Softmax(rows) | Kernel::LayerNorm(rows, _) | Kernel::RmsNorm(rows, _) => {
            if !rows.element.is_float() {
                return malformed("rows are normalised in floats");
            }
            area([rows.rows, rows.columns])?;
            let dims = [(rows.rows, rows.pitch), (rows.columns, 1)];
            let all = elements(dims, rows.element)?;
            let row = read(elements([(rows.columns, 1)], rows.element)?, rows.element);
            let mut list = vec![read(all.clone(), rows.element)];
            let more = match kernel {
                Kernel::LayerNorm(..) => 2,
                Kernel::RmsNorm(..) => 1,
                _ => 0,
            };
            list.extend(std::iter::repeat_n(row, more));
            list.push(written(all, rows.element));
            list
        }
        Kernel::Fill(fill) => {
            let written = nest(&[], 0, i64::from(fill.words) * 4)?;
            vec![Access {
                written,
                ..Access::default()
            }]
        }
        Kernel::Words(words) => {
            let (half, word) = (i64::from(words.count) * 2, i64::from(words.count) * 4);
            let (from, to) = if words.narrow {
                (word, half)
            } else {
                (half, word)
            };
            vec![
                Access {
                    read: nest(&[], 0, from)?,
                    ..Access::default()
                },
                Access {
                    written: nest(&[], 0, to)?,
                    ..Access::default()
                },
            ]
        }
        Kernel::Gather(k) => {
            area([k.count, k.row_bytes])?;
            vec![
                Access {
                    read: nest(&[(k.rows, k.row_bytes.into())], 0, k.row_bytes.into())?,
                    ..Access::default()
                },
                read(elements([(k.count, 1)], i32)?, i32),
                Access {
                    written: nest(&[(k.count, k.row_bytes.into())], 0, k.row_bytes.into())?,
                    ..Access::default()
                },
            ]
        }
        Kernel::Scatter(k) => {
            area([k.count, k.row_bytes])?;
            let table = nest(&[(k.rows, k.row_bytes.into())], 0, k.row_bytes.into())?;
            vec![
                Access {
                    read: nest(&[(k.count, k.row_bytes.into())], 0, k.row_bytes.into())?,
                    ..Access::default()
                },
                read(elements([(k.count, 1)], i32)?, i32),
                // Rows that no index hits keep their content, so it counts as read.
                Access {
                    read: table.clone(),
                    written: table,
                    ..Access::default()
                },
            ]
        }
        Kernel::ArgReduce(k) => {
            area([k.outer, k.axis, k.inner])?;
            let input = [
                (k.outer, k.input_strides.0),
                (k.axis, k.input_strides.1),
                (k.inner, 1),
            ];
            let output = [(k.outer, k.output_stride), (k.inner, 1)];
            vec![
                read(elements(input, k.input)?, k.input),
                written(elements(output, i32)?, i32),
            ]
        }
        Kernel::Scan(k) => {
            area([k.outer, k.axis, k.inner])?;
            let dims = [(k.outer, k.strides.0), (k.axis, k.strides.1), (k.inner, 1)];
            let all = elements(dims, k.element)?;
            vec![read(all.clone(), k.element), written(all, k.element)]
        }
        Kernel::TopK(k) => {
            if k.k > k.columns {
                return malformed(format!("{} of {} elements", k.k, k.columns));
            }
            area([k.rows, k.columns])?;
            let found = [(k.rows, k.result_pitch), (k.k, 1)];
            let input = [(k.rows, k.pitch), (k.columns, 1)];
            vec![
                read(elements(input, k.element)?, k.element),
                written(elements(found, k.element)?, k.element),
                written(elements(found, i32)?, i32),
            ]
        }
        Kernel::IntegerDot(k) => {
            if k.input.is_float() {
                return malformed("an integer product takes integers");
            }
            work([k.m, k.n, k.k])?;
            area([k.m, k.n])?;
            area([k.m.max(k.n), k.k])?;
            let matrix =
                |rows, columns, pitch, element| elements([(rows, pitch), (columns, 1)], element);
            vec![
                read(matrix(k.m, k.k, k.pitches.0, k.input)?, k.input),
                read(matrix(k.n, k.k, k.pitches.1, k.input)?, k.input),
                written(matrix(k.m, k.n, k.pitches.2, i32)?, i32),
            ]
        }
    };
    Ok(list)
}

/// As [`accesses`], checked against the number of operands of a call.
///
/// # Errors
/// As [`accesses`], and another number of operands.
pub fn call_accesses(kernel: &Kernel, operands: usize) -> Result<Vec<Access>, KernelFault> {
    let list = accesses(kernel)?;
    if list.len() != operands {
        return Err(KernelFault::Operands(operands, list.len()));
    }
    Ok(list)
}

#[cfg(test)]
mod tests;
