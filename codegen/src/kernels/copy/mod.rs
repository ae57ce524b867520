//! Strided copies inside a tile: a copy is cut into parts, each moved in the widest unit that its
//! strides allow.
//!
//! Everything begins as halves. Runs of halves become words, runs of words become double words;
//! where the source runs along one axis and the destination along another, blocks are transposed
//! (`transpose`). What is left are pairs of halves that come to stand side by side, and single
//! halves that are put into a word that keeps its other half. Two workers never write one word.

mod lines;
mod transpose;

use self::lines::{Line, Paced, pairs, single};
use self::transpose::Walk;
use super::nest::{Dim, Nest, joined};
use super::{Made, anywhere, fits};
use crate::worker::Worker;
use ipucc_tile::cost::NoKernel;
use ipucc_tile::kernel::Copy;

/// Entries of the parts of a copy.
const NAMES: [&str; 24] = [
    "copy", "copy_b", "copy_c", "copy_d", "copy_e", "copy_f", "copy_g", "copy_h", "copy_i",
    "copy_j", "copy_k", "copy_l", "copy_m", "copy_n", "copy_o", "copy_p", "copy_q", "copy_r",
    "copy_s", "copy_t", "copy_u", "copy_v", "copy_w", "copy_x",
];

/// Most launches of one part.
const MAX_LAUNCHES: u32 = 256;
/// Most dimensions of a part that are loops; the others are launches.
const MAX_LOOPS: usize = 4;

/// Most blocks of a group of a transposing walk: they are written out.
const MAX_GROUP: u32 = 16;

/// What a part moves, of dimensions (source, destination) in bytes.
#[derive(Clone, Debug)]
struct Part {
    dims: Vec<Dim>,
    from: u32,
    to: u32,
    kind: Kind,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    /// Units of 4 or 8 bytes.
    Words(u32),
    /// Blocks of this side: first dimension along the source's rows, second along the
    /// destination's, in elements.
    Transpose(u32),
    /// Halves; the first dimension puts an even number of them side by side.
    Pairs,
    /// Halves one by one into the low or high half of a word.
    Single(bool),
}

pub(super) fn generate(copy: &Copy, relaxed: bool) -> Result<Made, NoKernel> {
    let no = |reason: String| NoKernel {
        what: format!("copy of {} bytes over {:?}", copy.bytes, copy.dims),
        reason,
    };
    let total = copy
        .dims
        .iter()
        .map(|dim| u64::from(dim.count))
        .product::<u64>()
        * u64::from(copy.bytes);
    if total == 0 || !fits(total) {
        return Err(no("it has no bytes, or more than fit a tile".into()));
    }
    let odd = |bytes: i32| bytes % 2 != 0;
    let offsets = [copy.source_offset, copy.destination_offset];
    if ![copy.bytes, offsets[0], offsets[1]]
        .iter()
        .all(|bytes| bytes.is_multiple_of(2))
        || (copy.dims.iter()).any(|d| odd(d.source_bytes) || odd(d.destination_bytes))
    {
        return Err(no(
            "pieces or strides of an odd number of bytes; hint: pad rows of bytes to an even extent"
                .into(),
        ));
    }
    let mut dims: Vec<Dim> = copy
        .dims
        .iter()
        .map(|d| Dim::new(d.count, &[d.source_bytes, d.destination_bytes]))
        .collect();
    dims.push(Dim::new(copy.bytes / 2, &[2, 2]));
    let mut parts = Vec::new();
    let (from, to) = (copy.source_offset, copy.destination_offset);
    halves(joined(&dims), from, to, &mut parts);
    if parts.len() > NAMES.len() {
        return Err(no(
            "rows of halves that begin at too many different offsets".into(),
        ));
    }
    let mut text = String::new();
    let mut launches = Vec::new();
    let mut apart = false;
    for (part, &name) in parts.iter_mut().zip(&NAMES) {
        let outside = part.outside();
        let outer: u64 = outside.iter().map(|dim| u64::from(dim.count)).product();
        if outer > u64::from(MAX_LAUNCHES) {
            return Err(no(format!(
                "more than {MAX_LAUNCHES} launches; hint: fewer, longer dimensions"
            )));
        }
        let (code, turns, fast) = part.generate(name, relaxed).map_err(no)?;
        text.push_str(&code);
        apart |= fast;
        let nest = Nest {
            name,
            pointers: 2,
            dims: vec![],
            setup: Worker::new(),
            registers: 8,
        };
        for point in 0..outer as u32 {
            let (mut from, mut to, mut rest) = (part.from, part.to, point);
            for dim in &outside {
                let index = rest % dim.count;
                rest /= dim.count;
                (from, to) = (moved(from, dim, 0, index), moved(to, dim, 1, index));
            }
            launches.push(nest.launch(turns, &[(0, from), (1, to)]));
        }
    }
    let mut needs = vec![anywhere(); 2];
    if apart {
        needs[0].apart_from = 0b10;
        needs[1].apart_from = 0b01;
    }
    Ok((text, launches, needs))
}

/// True if the offsets and the strides of all but the excepted dimensions are multiples of `unit`.
fn even(dims: &[Dim], except: &[usize], from: u32, to: u32, unit: i32) -> bool {
    from.is_multiple_of(unit as u32)
        && to.is_multiple_of(unit as u32)
        && dims
            .iter()
            .enumerate()
            .filter(|(index, _)| !except.contains(index))
            .all(|(_, dim)| dim.strides.iter().all(|stride| stride % unit == 0))
}

/// The dimension that both sides walk in units of `unit` bytes, in whole pairs of them, and no
/// stride against pairs.
fn run(dims: &[Dim], from: u32, to: u32, unit: i32) -> Option<usize> {
    (0..dims.len()).find(|&index| {
        dims[index].strides[..] == [unit; 2]
            && dims[index].count.is_multiple_of(2)
            && even(dims, &[index], from, to, 2 * unit)
    })
}

/// `dims` with the pairs of dimension `index` as one unit.
fn paired(mut dims: Vec<Dim>, index: usize) -> Vec<Dim> {
    dims[index].count /= 2;
    for stride in &mut dims[index].strides {
        *stride *= 2;
    }
    joined(&dims)
}

/// Part `from..from + count` of dimension `index`.
fn range(dims: &[Dim], index: usize, count: u32) -> Vec<Dim> {
    let mut dims = dims.to_vec();
    dims[index].count = count;
    joined(&dims)
}

fn moved(at: u32, dim: &Dim, side: usize, passes: u32) -> u32 {
    at.wrapping_add_signed(dim.strides[side] * passes as i32)
}

/// Blocks of `side` elements of `bytes`: the dimension along the source's rows and the one along
/// the destination's.
fn blocks(dims: &[Dim], from: u32, to: u32, side: u32, bytes: i32) -> Option<(usize, usize)> {
    let along = |which: usize| {
        (0..dims.len())
            .find(|&index| dims[index].strides[which] == bytes && dims[index].count >= side)
    };
    let (a, b) = (along(0)?, along(1)?);
    let rows = dims[a].strides[1] % 8 == 0 && dims[b].strides[0] % 8 == 0;
    (a != b && rows && even(dims, &[a, b], from, to, 8)).then_some((a, b))
}

/// Transposes whole blocks and hands the strips beside them to `rest`.
fn transpose(
    dims: &[Dim],
    (a, b): (usize, usize),
    (from, to): (u32, u32),
    side: u32,
    parts: &mut Vec<Part>,
    rest: fn(Vec<Dim>, u32, u32, &mut Vec<Part>),
) {
    let whole = |index: usize| dims[index].count / side * side;
    let mut block = vec![dims[a].clone(), dims[b].clone()];
    block[0].count = whole(a);
    block[1].count = whole(b);
    let others = (0..dims.len()).filter(|i| ![a, b].contains(i));
    block.extend(others.map(|i| dims[i].clone()));
    parts.push(Part {
        dims: block,
        from,
        to,
        kind: Kind::Transpose(side),
    });
    let left = |index: usize| dims[index].count - whole(index);
    if left(a) > 0 {
        let at = |side: usize, at: u32| moved(at, &dims[a], side, whole(a));
        rest(range(dims, a, left(a)), at(0, from), at(1, to), parts);
    }
    if left(b) > 0 {
        let at = |side: usize, at: u32| moved(at, &dims[b], side, whole(b));
        let mut strip = dims.to_vec();
        strip[a].count = whole(a);
        rest(range(&strip, b, left(b)), at(0, from), at(1, to), parts);
    }
}

/// Cuts a copy of halves into parts.
fn halves(dims: Vec<Dim>, from: u32, to: u32, parts: &mut Vec<Part>) {
    if let Some(index) = run(&dims, from, to, 2) {
        return words(paired(dims, index), from, to, parts);
    }
    if let Some(sides) = blocks(&dims, from, to, 4, 2) {
        return transpose(&dims, sides, (from, to), 4, parts, halves);
    }
    // Halves side by side in the destination, all else in whole words there.
    let side = (0..dims.len()).find(|&index| {
        dims[index].strides[1] == 2
            && (dims.iter().enumerate()).all(|(i, dim)| i == index || dim.strides[1] % 4 == 0)
    });
    if let Some(index) = side {
        let dim = dims[index].clone();
        if to % 4 == 2 {
            halves(range(&dims, index, 1), from, to, parts);
            let (from, to) = (moved(from, &dim, 0, 1), moved(to, &dim, 1, 1));
            return halves(range(&dims, index, dim.count - 1), from, to, parts);
        }
        if dim.count % 2 == 1 {
            let last = dim.count - 1;
            halves(range(&dims, index, last), from, to, parts);
            let (from, to) = (moved(from, &dim, 0, last), moved(to, &dim, 1, last));
            return halves(range(&dims, index, 1), from, to, parts);
        }
        let mut dims = dims;
        let inner = dims.remove(index);
        dims.insert(0, inner);
        parts.push(Part {
            dims,
            from,
            to,
            kind: Kind::Pairs,
        });
        return;
    }
    // Rows that begin at odd halves: the even ones, then the odd ones.
    let crooked = (0..dims.len())
        .filter(|&index| dims[index].strides[1] % 4 != 0)
        .max_by_key(|&index| (dims[index].strides[1].abs(), index));
    if let Some(index) = crooked {
        let dim = dims[index].clone();
        for (first, count) in [(0, dim.count.div_ceil(2)), (1, dim.count / 2)] {
            let mut every = dims.clone();
            every[index].count = count;
            for stride in &mut every[index].strides {
                *stride *= 2;
            }
            let (from, to) = (moved(from, &dim, 0, first), moved(to, &dim, 1, first));
            halves(joined(&every), from, to, parts);
        }
        return;
    }
    parts.push(Part {
        dims,
        from,
        to: to & !2,
        kind: Kind::Single(to % 4 == 2),
    });
}

/// Cuts a copy of words into parts.
fn words(dims: Vec<Dim>, from: u32, to: u32, parts: &mut Vec<Part>) {
    if let Some(index) = run(&dims, from, to, 4) {
        let dims = paired(dims, index);
        return parts.push(Part {
            dims,
            from,
            to,
            kind: Kind::Words(8),
        });
    }
    if let Some(sides) = blocks(&dims, from, to, 2, 4) {
        return transpose(&dims, sides, (from, to), 2, parts, words);
    }
    parts.push(Part {
        dims,
        from,
        to,
        kind: Kind::Words(4),
    });
}

/// Text, turns, and whether source and destination must be apart.
type Coded = (String, [u64; 6], bool);

impl Part {
    /// Takes out the shortest dimensions until the others can be loops.
    fn outside(&mut self) -> Vec<Dim> {
        let fixed = match self.kind {
            Kind::Transpose(_) => 2,
            Kind::Pairs => 1,
            Kind::Words(_) | Kind::Single(_) => 0,
        };
        let mut outside = vec![];
        while self.dims.len() > MAX_LOOPS {
            let shortest = (fixed..self.dims.len()).min_by_key(|&i| self.dims[i].count);
            outside.extend(shortest.map(|index| self.dims.remove(index)));
        }
        outside
    }

    fn generate(&self, name: &'static str, relaxed: bool) -> Result<Coded, String> {
        let nest = |dims: Vec<Dim>, setup: Worker| Nest {
            name,
            pointers: 2,
            dims,
            setup,
            registers: 8,
        };
        match self.kind {
            Kind::Single(high) => {
                let mut body = Worker::new();
                single(&mut body, high);
                let (text, turns) = nest(self.dims.clone(), Worker::new()).emit(&body)?;
                Ok((text, turns, false))
            }
            Kind::Pairs => {
                let (inner, rest) = (&self.dims[0], &self.dims[1..]);
                let mut setup = Worker::new();
                setup.constant_m(4, (inner.strides[0] / 2) as u32);
                let dim = Dim::new(inner.count / 2, &[2 * inner.strides[0], 4]);
                let (text, turns) = nest(rest.to_vec(), setup).emit_walk(&dim, |count| {
                    let mut body = Worker::new();
                    pairs(&mut body, 2 * count);
                    Ok(body)
                })?;
                Ok((text, turns, false))
            }
            Kind::Transpose(side) => {
                let plain = [true, false].map(|along| (along, None));
                let grouped = (2..self.dims.len())
                    .flat_map(|group| [true, false].map(|along| (along, Some(group))));
                let ways = plain.into_iter().chain(grouped);
                best(ways.filter_map(|(along, group)| {
                    self.transposed(name, side, along, group, relaxed)
                }))
            }
            Kind::Words(unit) => {
                let mut dims = self.dims.clone();
                if dims.is_empty() {
                    dims.push(Dim::new(1, &[unit as i32; 2]));
                }
                // Every loop may be the line; a short run may be unrolled inside another loop.
                let lines = (0..dims.len()).map(|index| line(name, &dims, index, unit, relaxed));
                let run = (0..dims.len()).find(|&i| dims[i].strides[..] == [8; 2]);
                let paced = (0..dims.len())
                    .filter(|_| unit == 8 && !relaxed)
                    .filter_map(|index| paced(name, &dims, index, run));
                best(lines.chain(paced).collect::<Vec<_>>())
            }
        }
    }

    /// Transposed blocks, walked along the source's or the destination's rows; `group` is the
    /// dimension that continues the walk.
    fn transposed(
        &self,
        name: &'static str,
        side: u32,
        along_source: bool,
        group: Option<usize>,
        relaxed: bool,
    ) -> Option<Result<Coded, String>> {
        let (a, b) = (&self.dims[0], &self.dims[1]);
        let rows = [b.strides[0] / 8, a.strides[1] / 8];
        let block = |dim: &Dim| {
            let strides: Vec<i32> = dim.strides.iter().map(|s| s * side as i32).collect();
            Dim::new(dim.count / side, &strides)
        };
        let (walked, other) = if along_source {
            (block(a), block(b))
        } else {
            (block(b), block(a))
        };
        let groups = group.map(|group| {
            let strides = &self.dims[group].strides;
            (walked.count, [strides[0] / 8, strides[1] / 8])
        });
        let walk = |blocks: u32| Walk::new(side, blocks, rows, along_source, groups);
        let fast = !relaxed && walk(walked.count).paced();
        let unrolled = groups.is_none_or(|(blocks, _)| (2..=MAX_GROUP).contains(&blocks));
        if !unrolled || (group.is_some() && !fast) {
            return None;
        }
        let mut setup = Worker::new();
        walk(walked.count).setup(&mut setup, fast);
        let mut dims = vec![other];
        let rest = (2..self.dims.len()).filter(|&index| Some(index) != group);
        dims.extend(rest.map(|index| self.dims[index].clone()));
        let nest = Nest {
            name,
            pointers: 2,
            dims,
            setup,
            registers: 8,
        };
        let dim = group.map_or(&walked, |group| &self.dims[group]);
        let each = group.map_or(1, |_| walked.count);
        let code = nest.emit_walk(dim, |count| {
            let mut body = Worker::new();
            walk(count * each).emit(&mut body, fast);
            Ok(body)
        });
        Some(code.map(|(text, turns)| (text, turns, fast)))
    }
}

/// The fastest of several ways; of equal ones the first.
fn best(ways: impl IntoIterator<Item = Result<Coded, String>>) -> Result<Coded, String> {
    let mut best: Option<Coded> = None;
    let mut reason = String::from("internal: no way to copy");
    for way in ways {
        match way {
            Ok(way) => {
                let most = |coded: &Coded| coded.1.iter().copied().max();
                if best.as_ref().is_none_or(|best| most(&way) < most(best)) {
                    best = Some(way);
                }
            }
            Err(why) => reason = why,
        }
    }
    best.ok_or(reason)
}

fn without(dims: &[Dim], index: &[usize]) -> Vec<Dim> {
    (0..dims.len())
        .filter(|i| !index.contains(i))
        .map(|i| dims[i].clone())
        .collect()
}

/// The words with dimension `index` as the innermost loop.
fn line(
    name: &'static str,
    dims: &[Dim],
    index: usize,
    unit: u32,
    relaxed: bool,
) -> Result<Coded, String> {
    let dim = &dims[index];
    let line = |count: u32| Line {
        count,
        unit,
        strides: [0, 1].map(|side| dim.strides[side] / unit as i32),
        // The packed addresses of the pipelined loop are `$m8:9`.
        fast: unit == 8 && !relaxed && dims.len() < 3,
    };
    let mut setup = Worker::new();
    line(dim.count).setup(&mut setup);
    let nest = Nest {
        name,
        pointers: 2,
        dims: without(dims, &[index]),
        setup,
        registers: 8,
    };
    let fast = line(1).fast && dim.strides[..] == [unit as i32; 2];
    let (text, turns) = nest.emit_walk(dim, |count| {
        let mut body = Worker::new();
        line(count).emit(&mut body)?;
        Ok(body)
    })?;
    Ok((text, turns, fast))
}

/// Double words with dimension `index` as the innermost loop and `run` unrolled inside it.
fn paced(
    name: &'static str,
    dims: &[Dim],
    index: usize,
    run: Option<usize>,
) -> Option<Result<Coded, String>> {
    let run = run.filter(|&run| run != index);
    let length = run.map_or(1, |run| dims[run].count);
    let dim = &dims[index];
    let whole = Paced::of(dim, length)?;
    let mut setup = Worker::new();
    whole.setup(&mut setup);
    let mut taken = vec![index];
    taken.extend(run);
    let nest = Nest {
        name,
        pointers: 2,
        dims: without(dims, &taken),
        setup,
        registers: 8,
    };
    let code = nest.emit_walk(dim, |rows| {
        let mut body = Worker::new();
        Paced { rows, ..whole }.emit(&mut body);
        Ok(body)
    });
    Some(code.map(|(text, turns)| (text, turns, true)))
}
