//! Elementwise kernels: one fused expression over f32 or f16 buffers.
//!
//! The iteration space is collapsed to rows of contiguous elements; what is left outside becomes
//! launches of its own. Workers take contiguous shares of the rows, or of the vectors of one row.
//! The expression is lowered to instructions on one vector (`lower`) and pipelined
//! ([`crate::pipeline`]): at best one vector of 8 bytes a turn, two loads and a store together.

mod functions;
mod lower;
mod operations;
mod scalar;

use self::lower::{Lowered, Source, lower};
use super::nest::{Dim, Nest};
use super::{Launch, Made, Word, anywhere, fits};
use crate::pipeline::{Access, Schedule, Walk};
use crate::worker::{Worker, entry};
use ipucc_chip::{Assumptions, ScalarType};
use ipucc_tile::MemoryClass;
use ipucc_tile::cost::{NoKernel, OperandNeed};
use ipucc_tile::kernel::{Expr, Map};

/// Most launches of one call.
const MAX_LAUNCHES: u32 = 256;
/// Most buffers: one MRF register each.
const MAX_BUFFERS: usize = 8;
/// Rows that are dealt to the workers row by row rather than each by its vectors.
const DEALT_ROWS: u32 = 6;

/// One collapsed axis: extent and the stride in elements of every buffer (inputs, then the result).
#[derive(Clone, PartialEq, Eq, Debug)]
struct Axis {
    extent: u32,
    strides: Vec<u32>,
}

pub(super) fn generate(
    map: &Map,
    relaxed: bool,
    assumptions: &Assumptions,
) -> Result<Made, NoKernel> {
    let no = |reason: String| NoKernel {
        what: format!(
            "elementwise kernel of {} nodes over {:?}",
            map.nodes.len(),
            map.extents
        ),
        reason,
    };
    if map.inputs.len() + 1 > MAX_BUFFERS {
        return Err(no(format!("{} inputs are more than 7", map.inputs.len())));
    }
    let (map, order) = vectors_first(map);
    let map = &map;
    let axes = collapse(map);
    let elements: u64 = axes.iter().map(|axis| u64::from(axis.extent)).product();
    if elements == 0 || !fits(elements * u64::from(map.output.element.bytes())) {
        return Err(no("it has no elements, or more than fit a tile".into()));
    }
    vectors(map, axes.clone(), &order, relaxed, assumptions)
        .or_else(|why| {
            let others = scalars_of(map, axes, &order, relaxed, assumptions);
            // Of floats alone the vector form is the one that counts.
            let floats = types(map)
                .iter()
                .all(|ty| matches!(ty, ScalarType::F32 | ScalarType::F16));
            others.map_err(|reason| match floats || reason.is_empty() {
                true => why,
                false => reason,
            })
        })
        .map_err(no)
}

/// Element by element; an empty reason says that this form is not for the buffers' types.
fn scalars_of(
    map: &Map,
    mut axes: Vec<Axis>,
    order: &[usize],
    relaxed: bool,
    assumptions: &Assumptions,
) -> Result<Made, String> {
    let elements: Vec<ScalarType> = types(map);
    if !scalar::supports(&elements) {
        return Err(String::new());
    }
    let columns = axes.pop().ok_or("it has no axes")?;
    if columns.strides.iter().any(|&stride| stride > 1) || columns.strides.last() != Some(&1) {
        return Err(String::new());
    }
    let group = scalar::group(&elements, &columns.strides);
    let whole = |axis: &Axis| {
        axis.strides
            .iter()
            .zip(&elements)
            .zip(&columns.strides)
            .all(|((stride, ty), inner)| {
                *inner == 0 || (stride * ty.bytes()).is_multiple_of(4.min(group * ty.bytes()))
            })
    };
    let words = columns.extent.is_multiple_of(group) && axes.iter().all(whole);
    if !axes.is_empty() && !words {
        return Err(format!(
            "rows of {} elements of {}; hint: pad rows to a multiple of 4 bytes",
            columns.extent, map.output.element
        ));
    }
    let dim = |extent: u32, strides: &[u32], elements_of: u32| {
        let bytes: Vec<i32> = strides
            .iter()
            .zip(&elements)
            .map(|(stride, ty)| (stride * ty.bytes() * elements_of) as i32)
            .collect();
        Dim::new(extent, &bytes)
    };
    let mut dims: Vec<Dim> = axes.iter().map(|a| dim(a.extent, &a.strides, 1)).collect();
    dims.push(dim(columns.extent.div_ceil(group), &columns.strides, group));
    let loops = super::nest::joined(&dims).len() as u32;
    let nest = Nest {
        name: "map",
        pointers: elements.len() as u32,
        dims,
        setup: Worker::new(),
        registers: 0,
    };
    let pointers: Vec<(usize, u32)> = order.iter().map(|&operand| (operand, 0)).collect();
    let launch = nest.launch([0; 6], &pointers);
    let strides = &columns.strides;
    let (text, turns) = scalar::generate(map, strides, group, nest, loops, relaxed, assumptions)?;
    let launch = Launch { turns, ..launch };
    Ok((text, vec![launch], vec![anywhere(); order.len()]))
}

/// Element types of the buffers: inputs, then the result.
fn types(map: &Map) -> Vec<ScalarType> {
    (map.inputs.iter().chain([&map.output]))
        .map(|access| access.element)
        .collect()
}

/// Vectors of 8 bytes.
fn vectors(
    map: &Map,
    mut axes: Vec<Axis>,
    order: &[usize],
    relaxed: bool,
    assumptions: &Assumptions,
) -> Result<Made, String> {
    let columns = axes.pop().ok_or("it has no axes")?;
    if columns.strides.iter().any(|&stride| stride > 1) || columns.strides.last() != Some(&1) {
        return Err(format!(
            "the innermost strides {:?} are not 0 or 1",
            columns.strides
        ));
    }
    // Rows that end within a vector of the narrowest type are walked as rows.
    let narrowest = types(map).iter().map(|ty| ty.bytes()).min().unwrap_or(4);
    let ragged = !columns.extent.is_multiple_of(8 / narrowest);
    // The longest of the other axes is dealt to the workers, the rest are launches.
    let longest = (0..axes.len()).max_by_key(|&index| (axes[index].extent, index));
    let rows = longest
        .filter(|&index| axes[index].extent >= DEALT_ROWS || ragged)
        .map(|index| axes.remove(index));
    let outer: u32 = axes.iter().map(|axis| axis.extent).product();
    if outer > MAX_LAUNCHES {
        return Err(format!(
            "{outer} separate rows are more than {MAX_LAUNCHES}"
        ));
    }
    let elements = types(map);
    let single = outer == 1 && rows.is_none();
    let outside: Vec<&Axis> = axes.iter().chain(&rows).collect();
    let place = Place {
        elements: &elements,
        columns: &columns,
        outside: &outside,
        single,
        rows: rows.is_some(),
    };
    let plan = plan(map, &place, relaxed, assumptions)?;
    let shape = Shape {
        rows: rows.as_ref(),
        columns: &columns,
        elements: &elements,
        vectors: columns.extent.div_ceil(plan.width),
    };
    let (text, turns) = code(&shape, &plan);

    let launches = (0..outer)
        .map(|point| {
            let mut offsets = vec![0u32; elements.len()];
            let mut rest = point;
            for axis in axes.iter().rev() {
                let index = rest % axis.extent;
                rest /= axis.extent;
                for ((offset, stride), ty) in offsets.iter_mut().zip(&axis.strides).zip(&elements) {
                    *offset += index * stride * ty.bytes();
                }
            }
            let constants = plan.lowered.constants.iter().map(|&c| Word::Constant(c));
            Launch {
                entry: "map",
                record: offsets
                    .iter()
                    .zip(order)
                    .map(|(&offset, &operand)| Word::Operand(operand, offset))
                    .chain(constants)
                    .collect(),
                turns,
                ..Launch::default()
            }
        })
        .collect();
    Ok((text, launches, needs(plan.access, order)))
}

/// What the operands need, in the caller's numbering.
fn needs(access: Access, order: &[usize]) -> Vec<OperandNeed> {
    let mut needs = vec![anywhere(); order.len()];
    let out = order.len() - 1;
    let together: &[usize] = match access {
        Access::Plain => &[],
        Access::LoadStore => &[0],
        Access::TwoLoadsStore => &[0, 1],
    };
    let group: Vec<usize> = together.iter().map(|&i| order[i]).chain([out]).collect();
    if group.len() > 1 {
        for &a in &group {
            for &b in group.iter().filter(|&&b| b != a) {
                needs[a].apart_from |= 1 << b;
            }
        }
    }
    if access == Access::TwoLoadsStore {
        needs[order[1]].memory = MemoryClass::Interleaved;
        needs[order[1]].align_bytes = 16;
    }
    needs
}

/// The same map with the inputs that are walked along the rows before those that are not, and the
/// caller's number of each buffer.
fn vectors_first(map: &Map) -> (Map, Vec<usize>) {
    let walked = |input: usize| {
        let strides = &map.inputs[input].strides;
        let inner = map.extents.iter().rposition(|&extent| extent > 1);
        inner.is_none_or(|axis| strides[axis] != 0)
    };
    let mut order: Vec<usize> = (0..map.inputs.len()).collect();
    order.sort_by_key(|&input| !walked(input));
    let mut new = map.clone();
    new.inputs = order.iter().map(|&i| map.inputs[i].clone()).collect();
    for node in &mut new.nodes {
        if let Expr::Input(input) = node
            && let Some(at) = order.iter().position(|&o| o == *input as usize)
        {
            *input = at as u16;
        }
    }
    order.push(map.inputs.len());
    (new, order)
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
                    .all(|(&o, &i)| u64::from(o) == u64::from(i) * u64::from(extent)) =>
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
    let strided = |axis: &Axis| {
        axis.strides.iter().any(|&stride| stride > 1) || axis.strides.last() != Some(&1)
    };
    if axes.last().is_some_and(strided) {
        // Rows of one element.
        let mut strides = vec![0; map.inputs.len() + 1];
        strides[map.inputs.len()] = 1;
        axes.push(Axis { extent: 1, strides });
    }
    axes
}

struct Shape<'s> {
    rows: Option<&'s Axis>,
    columns: &'s Axis,
    elements: &'s [ScalarType],
    /// Vectors of a row.
    vectors: u32,
}

/// A chosen vector width and schedule.
struct Plan {
    width: u32,
    lowered: Lowered,
    schedule: Schedule,
    access: Access,
}

/// The iteration space as far as it decides the vector width.
struct Place<'p> {
    elements: &'p [ScalarType],
    columns: &'p Axis,
    outside: &'p [&'p Axis],
    /// One run of elements, without rows.
    single: bool,
    /// Rows are dealt to the workers.
    rows: bool,
}

fn plan(
    map: &Map,
    place: &Place<'_>,
    relaxed: bool,
    assumptions: &Assumptions,
) -> Result<Plan, String> {
    let Place {
        elements,
        columns,
        outside,
        single,
        ..
    } = *place;
    if let Some(other) = elements
        .iter()
        .find(|ty| !matches!(ty, ScalarType::F32 | ScalarType::F16 | ScalarType::I32))
    {
        return Err(format!("{other} buffers have no elementwise kernel"));
    }
    let half = |ty: &ScalarType| *ty == ScalarType::F16;
    let (all, any) = (elements.iter().all(half), elements.iter().any(half));
    let widths: &[u32] = match (all, any) {
        (true, _) => &[4, 2],
        (false, true) => &[2],
        (false, false) => &[2, 1],
    };
    let mut reason = format!(
        "rows of {} elements of {}; hint: pad rows to a multiple of 4 bytes",
        columns.extent, map.output.element
    );
    for &width in widths {
        let vector = |ty: ScalarType| width * ty.bytes();
        let aligned =
            outside.iter().all(|axis| {
                axis.strides.iter().zip(elements).zip(&columns.strides).all(
                    |((stride, ty), inner)| {
                        *inner == 0 || (stride * ty.bytes()).is_multiple_of(vector(*ty))
                    },
                )
            });
        let whole = columns.extent.is_multiple_of(width) || place.rows;
        let fits = single || whole && aligned;
        if !fits {
            continue;
        }
        let mut best: Option<Plan> = None;
        for reload in [false, true] {
            let lowered = match lower(map, &columns.strides, width, reload, assumptions) {
                Ok(lowered) => lowered,
                Err(why) => {
                    reason = why;
                    continue;
                }
            };
            let wide = elements.iter().all(|ty| vector(*ty) == 8);
            let loaded = columns.strides[..map.inputs.len()]
                .iter()
                .filter(|&&stride| stride == 1)
                .count();
            let fused = match loaded {
                0 => Access::Plain,
                1 => Access::LoadStore,
                _ => Access::TwoLoadsStore,
            };
            for access in [Access::Plain, fused] {
                if access != Access::Plain && (relaxed || !wide) {
                    continue;
                }
                let Some(schedule) = Schedule::of(&lowered.body, access) else {
                    continue;
                };
                if best
                    .as_ref()
                    .is_none_or(|best| schedule.interval < best.schedule.interval)
                {
                    best = Some(Plan {
                        width,
                        lowered: lowered.clone(),
                        schedule,
                        access,
                    });
                }
            }
            reason = "the expression needs more registers than there are".into();
        }
        if let Some(plan) = best {
            return Ok(plan);
        }
    }
    Err(reason)
}

/// The whole kernel and the turns of its workers.
fn code(shape: &Shape<'_>, plan: &Plan) -> (String, [u64; 6]) {
    let buffers = shape.elements.len();
    let items = shape.rows.map_or(shape.vectors, |rows| rows.extent);
    let mut head = Worker::new();
    for buffer in 0..buffers {
        head.solo(format!("ld32 $m{buffer}, $mvertex_base, $mzero, {buffer}"));
    }
    for &(register, source) in &plan.lowered.residents {
        let at = plan.schedule.place(register);
        if let Source::Limits(low, high) = source {
            head.constant_a(at, low);
            head.constant_a(at + 1, high);
        }
        if let Source::Bits(bits) = source {
            head.constant_a(at, bits);
            if plan.lowered.body.sizes[register] == 2 {
                head.solo(format!("mov $a{}, $a{at}", at + 1));
            }
        }
    }
    // $m9 = first item of this worker.
    head.first_item(8, 9, 10, items);
    for buffer in 0..buffers {
        // Bytes from one item to the next in this buffer.
        let bytes = shape.elements[buffer].bytes();
        let step = match shape.rows {
            Some(rows) => rows.strides[buffer] * bytes,
            None => shape.columns.strides[buffer] * plan.width * bytes,
        };
        if step != 0 {
            head.times(10, 9, step);
            head.solo(format!("add $m{buffer}, $m{buffer}, $m10"));
        }
    }
    entry("map", head, 8, items, |count, label| {
        let mut out = Worker::new();
        if shape.rows.is_some() {
            row_loop(&mut out, shape, plan, count, label);
        } else if count > 0 {
            scalars(&mut out, shape, plan);
            inner(&mut out, shape, plan, count);
        }
        out.solo("exitz $mzero");
        out
    })
}

/// Loads the inputs that are one element per row into every lane.
fn scalars(out: &mut Worker, _shape: &Shape<'_>, plan: &Plan) {
    for &(register, source) in &plan.lowered.residents {
        let Source::Scalar(input, ty) = source else {
            continue;
        };
        let at = plan.schedule.place(register);
        let load = match ty {
            ScalarType::F16 => "ldb16",
            _ => "ld32",
        };
        out.bundle(format!("{load} $a{at}, $m{input}, $mzero, 0"), "");
        if plan.lowered.body.sizes[register] == 2 {
            out.bundle("", format!("mov $a{}, $a{at}", at + 1));
        }
    }
}

/// `count` vectors of one row; returns how far every pointer has moved, in bytes.
fn inner(out: &mut Worker, shape: &Shape<'_>, plan: &Plan, count: u32) -> Vec<u32> {
    let buffers = shape.elements.len() as u32;
    let pointers: Vec<u32> = (0..buffers).collect();
    let bytes: Vec<u32> = shape
        .elements
        .iter()
        .map(|ty| plan.width * ty.bytes())
        .collect();
    let walk = Walk {
        pointers: &pointers,
        bytes: &bytes,
        stored: buffers as usize - 1,
    };
    let moved = plan.schedule.emit(out, count, &walk);
    moved.iter().zip(&bytes).map(|(n, b)| n * b).collect()
}

/// The last `left` elements of a row, fewer than a vector: a whole vector is computed, then what was
/// behind the row in the result is put back.
fn tail(out: &mut Worker, shape: &Shape<'_>, plan: &Plan, left: u32, walked: &mut [u32]) {
    let result = shape.elements.len() - 1;
    let full = shape.columns.extent / plan.width;
    for (buffer, walked) in walked.iter_mut().enumerate() {
        let vector = plan.width * shape.elements[buffer].bytes();
        if shape.columns.strides[buffer] != 0 && *walked != full * vector {
            let more = full * vector - *walked;
            super::nest::add(out, buffer as u32, i64::from(more), 10);
            *walked = full * vector;
        }
    }
    let bytes = shape.elements[result].bytes();
    let vector = plan.width * bytes;
    // Words with elements behind the row are saved; the packed addresses are not needed any more.
    let words: Vec<(u32, u32)> = (0..vector / 4)
        .filter(|word| left * bytes < 4 * (word + 1))
        .map(|word| (word, 8 + word))
        .collect();
    for (word, saved) in &words {
        out.bundle(format!("ld32 $m{saved}, $m{result}, $mzero, {word}"), "");
    }
    let moved = inner(out, shape, plan, 1);
    for (walked, moved) in walked.iter_mut().zip(moved) {
        *walked += moved;
    }
    out.bundle(format!("add $m{result}, $m{result}, -{vector}"), "");
    walked[result] -= vector;
    for (word, saved) in &words {
        if left * bytes > 4 * word {
            // The low half is the row's.
            out.bundle(format!("ld32 $m10, $m{result}, $mzero, {word}"), "");
            out.bundle("roll16 $m10, $m10, $m10", "");
            out.bundle(format!("sort4x16hi $m{saved}, $m10, $m{saved}"), "");
        }
        out.bundle(format!("st32 $m{saved}, $m{result}, $mzero, {word}"), "");
    }
}

/// `count` rows.
fn row_loop(out: &mut Worker, shape: &Shape<'_>, plan: &Plan, count: u32, label: &str) {
    let Some(rows) = shape.rows else { return };
    if count == 0 {
        return;
    }
    let mut row = Worker::new();
    scalars(&mut row, shape, plan);
    let left = shape.columns.extent % plan.width;
    let mut walked = inner(&mut row, shape, plan, shape.columns.extent / plan.width);
    if left > 0 {
        tail(&mut row, shape, plan, left, &mut walked);
    }
    for (buffer, &stride) in rows.strides.iter().enumerate() {
        let bytes = shape.elements[buffer].bytes();
        let delta = (stride * bytes).wrapping_sub(walked[buffer]);
        if delta == 0 {
            continue;
        }
        if (-0x8000..0x8000).contains(&(delta as i32)) {
            row.solo(format!("add $m{buffer}, $m{buffer}, {}", delta as i32));
        } else {
            row.constant_m(10, delta);
            row.solo(format!("add $m{buffer}, $m{buffer}, $m10"));
        }
    }
    if count == 1 {
        out.append(&row);
        return;
    }
    out.constant_m(11, count - 1);
    row.solo(format!("brnzdec $m11, {label}"));
    out.looped(&row, count, label);
}
