//! Which words move when a value changes distribution or layout.

use crate::kernel::{Copy, CopyDim, Kernel};
use crate::program::{Endpoint, Operand, Program, Run, Shape, Transfer, Value};
use indexmap::IndexMap;
use ipucc_chip::LogicalTile;
use smallvec::SmallVec;
use thiserror::Error;

/// Why a value cannot be moved.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum TransferError {
    /// The element types differ.
    #[error("`{from}` to `{to}`: the element types differ")]
    Types {
        /// Value that is read.
        from: String,
        /// Value that is written.
        to: String,
    },
    /// A piece begins or ends inside a word.
    #[error(
        "`{from}` to `{to}`: a piece of {elements} elements is not whole words; hint: cut along \
         multiples of {per_word} elements"
    )]
    HalfWords {
        /// Value that is read.
        from: String,
        /// Value that is written.
        to: String,
        /// Elements of the piece.
        elements: u64,
        /// Elements of a word.
        per_word: u64,
    },
}

/// A stretch of bytes between two shards of one tile: what no exchange can do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LocalCopy {
    /// The tile.
    pub tile: LogicalTile,
    /// Byte offset in the source shard, even.
    pub source: u32,
    /// Byte offset in the destination shard, even.
    pub destination: u32,
    /// Bytes, even.
    pub bytes: u32,
}

/// The words that bring every shard of `destination` what `source` holds of it: transfers between
/// tiles and copies within tiles. `map` gives the source's index of a destination's index, so that
/// reshapes, transposes and slices are movements of data like any other; `None` where something
/// else fills the destination.
///
/// Destinations with equal boxes share multicasts. Of several replicas of a source, the one on the
/// receiving tile is taken if there is one, else they take turns.
///
/// # Errors
/// The values differ in type, or a piece is not whole words.
pub fn transfer(
    program: &Program,
    source: Value,
    destination: Value,
    map: &dyn Fn(&[u32]) -> Option<Shape>,
) -> Result<(Transfer, Vec<LocalCopy>), TransferError> {
    let (from, to) = (&program.values[source], &program.values[destination]);
    if from.element != to.element {
        return Err(TransferError::Types {
            from: from.name.clone(),
            to: to.name.clone(),
        });
    }
    let replicas = from.distribution.replicas as usize;
    let boxes: Vec<(Shape, Shape)> = (0..from.distribution.points())
        .map(|point| from.distribution.box_of(&from.shape, point))
        .collect();
    // Part of every element of every axis of the source.
    let parts: Vec<Vec<u32>> = from
        .shape
        .iter()
        .zip(&from.distribution.cuts)
        .map(|(&extent, cut)| {
            (0..cut.parts)
                .flat_map(|part| {
                    let (low, high) = cut.interval(extent, part);
                    (low..high).map(move |_| part)
                })
                .collect()
        })
        .collect();
    let copies = to.distribution.replicas as usize;
    let per_word = u64::from(4 / from.element.bytes().min(4));
    let mut runs = Vec::new();
    let mut local = Vec::new();
    let mut turn = 0usize;
    for point in 0..to.distribution.points() {
        let (low, high) = to.distribution.box_of(&to.shape, point);
        if low.iter().zip(&high).any(|(l, h)| l >= h) {
            continue;
        }
        let extents: Shape = low.iter().zip(&high).map(|(l, h)| h - l).collect();
        let tiles = &to.distribution.tiles[point * copies..(point + 1) * copies];
        // Element pairs (destination, source) by source point, in order of first use.
        let mut groups: IndexMap<usize, Vec<(u64, u64)>> = IndexMap::new();
        for_each(&extents, |relative| {
            let index: Shape = relative.iter().zip(&low).map(|(i, l)| i + l).collect();
            let Some(wanted) = map(&index) else { return };
            let owner = wanted
                .iter()
                .zip(&parts)
                .zip(&from.distribution.cuts)
                .fold(0usize, |sum, ((&i, part), cut)| {
                    sum * cut.parts as usize + part[i as usize] as usize
                });
            let (source_low, source_high) = &boxes[owner];
            let size: Shape = source_low
                .iter()
                .zip(source_high)
                .map(|(l, h)| h - l)
                .collect();
            let at: Shape = wanted.iter().zip(source_low).map(|(i, l)| i - l).collect();
            groups.entry(owner).or_default().push((
                to.layout.offset(&extents, relative),
                from.layout.offset(&size, &at),
            ));
        });
        for (owner, elements) in groups {
            let half_words = |elements| TransferError::HalfWords {
                from: from.name.clone(),
                to: to.name.clone(),
                elements,
                per_word,
            };
            let stretches = stretches(elements);
            let owners = &from.distribution.tiles[owner * replicas..(owner + 1) * replicas];
            let (own, others): (Vec<LogicalTile>, Vec<LogicalTile>) =
                tiles.iter().partition(|tile| owners.contains(tile));
            if !own.is_empty() {
                // Copies move halves, if not bytes.
                let size = u64::from(from.element.bytes());
                let per_half = per_word.div_ceil(2);
                let pieces = in_units(&stretches, per_half).map_err(half_words)?;
                let unit = (size * per_half) as u32;
                for tile in own {
                    local.extend(
                        pieces
                            .iter()
                            .map(|&(source, destination, count)| LocalCopy {
                                tile,
                                source: source * unit,
                                destination: destination * unit,
                                bytes: count * unit,
                            }),
                    );
                }
            }
            if others.is_empty() {
                continue;
            }
            let pieces = in_units(&stretches, per_word).map_err(half_words)?;
            let sender = owners[turn % owners.len()];
            turn += 1;
            runs.extend(pieces.iter().map(|&(source, destination, words)| {
                Run {
                    words,
                    source: Endpoint {
                        tile: sender,
                        word: source,
                    },
                    destinations: others
                        .iter()
                        .map(|&tile| Endpoint {
                            tile,
                            word: destination,
                        })
                        .collect(),
                    dims: SmallVec::new(),
                }
            }));
        }
    }
    Ok((
        Transfer {
            source,
            destination,
            runs,
        },
        local,
    ))
}

/// Calls with every index of a box, last axis fastest.
fn for_each(extents: &[u32], mut visit: impl FnMut(&[u32])) {
    let mut index: Shape = Shape::from_elem(0, extents.len());
    loop {
        visit(&index);
        let mut axis = extents.len();
        loop {
            if axis == 0 {
                return;
            }
            axis -= 1;
            index[axis] += 1;
            if index[axis] < extents[axis] {
                break;
            }
            index[axis] = 0;
        }
    }
}

/// A stretch that is contiguous on both sides: source, destination, length.
type Piece = (u32, u32, u32);

/// Element pairs (destination, source) as maximal stretches of elements, in order of the
/// destination.
fn stretches(mut elements: Vec<(u64, u64)>) -> Vec<[u64; 3]> {
    elements.sort_unstable();
    let mut found: Vec<[u64; 3]> = Vec::new();
    for (to, from) in elements {
        match found.last_mut() {
            Some([source, destination, count])
                if *source + *count == from && *destination + *count == to =>
            {
                *count += 1;
            }
            _ => found.push([from, to, 1]),
        }
    }
    found
}

/// Stretches of elements in units of several; the length of the first that is not whole units
/// otherwise.
fn in_units(stretches: &[[u64; 3]], per_unit: u64) -> Result<Vec<Piece>, u64> {
    stretches
        .iter()
        .map(|stretch| {
            if stretch.iter().any(|n| n % per_unit != 0) {
                return Err(stretch[2]);
            }
            let [source, destination, count] = stretch.map(|n| (n / per_unit) as u32);
            Ok((source, destination, count))
        })
        .collect()
}

/// Copies that are nested loops over equal stretches; dimensions innermost first.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Nest {
    source: u32,
    destination: u32,
    bytes: u32,
    dims: Vec<CopyDim>,
}

impl Nest {
    /// A stretch as stretches of `unit` bytes, which divides its length.
    fn split(&self, unit: u32) -> impl Iterator<Item = Nest> + '_ {
        (0..self.bytes / unit).map(move |n| Nest {
            source: self.source + n * unit,
            destination: self.destination + n * unit,
            bytes: unit,
            dims: Vec::new(),
        })
    }
}

fn gcd(a: u32, b: u32) -> u32 {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// Most dimensions of a copy.
const MOST_DIMS: usize = 4;

/// Equal nests at regular distances as one nest with one more dimension.
fn folded(nests: &[Nest]) -> Vec<Nest> {
    let mut out = Vec::new();
    let mut at = 0;
    while at < nests.len() {
        let first = &nests[at];
        let mut count = 1;
        let mut steps = None;
        while let Some(next) = nests.get(at + count) {
            let before = &nests[at + count - 1];
            let step = (
                i64::from(next.source) - i64::from(before.source),
                i64::from(next.destination) - i64::from(before.destination),
            );
            let alike = next.bytes == first.bytes && next.dims == first.dims;
            if !alike || steps.is_some_and(|s| s != step) || step.0 < 0 || step.1 < 0 {
                break;
            }
            steps = Some(step);
            count += 1;
        }
        let mut nest = first.clone();
        if let Some((from, to)) = steps {
            nest.dims.push(CopyDim {
                count: count as u32,
                source_bytes: from as i32,
                destination_bytes: to as i32,
            });
        }
        out.push(nest);
        at += count;
    }
    out
}

/// Local copies as kernel calls: per tile stretches of equal length and regular distances become
/// one copy.
pub fn local_calls(
    copies: &[LocalCopy],
    source: Value,
    destination: Value,
) -> Vec<(LogicalTile, Kernel, [Operand; 2])> {
    let mut by_tile: IndexMap<LogicalTile, Vec<Nest>> = IndexMap::new();
    for copy in copies {
        by_tile.entry(copy.tile).or_default().push(Nest {
            source: copy.source,
            destination: copy.destination,
            bytes: copy.bytes,
            dims: Vec::new(),
        });
    }
    let mut calls = Vec::new();
    for (tile, stretches) in by_tile {
        let nested = |mut nests: Vec<Nest>| {
            for _ in 0..MOST_DIMS {
                nests = folded(&nests);
            }
            nests
        };
        // Where stretches happen to touch, their ends hide what is regular.
        let unit = stretches.iter().fold(0, |unit, s| gcd(unit, s.bytes));
        let mut nests = nested(stretches.clone());
        if nests.len() > 1 && stretches.iter().any(|s| s.bytes != unit) {
            let split = nested(stretches.iter().flat_map(|s| s.split(unit)).collect());
            if split.len() < nests.len() {
                nests = split;
            }
        }
        for nest in nests {
            // Buffers begin at double words; what is left of the offset is the kernel's.
            let (source_at, destination_at) = (nest.source & !7, nest.destination & !7);
            let mut dims: SmallVec<[CopyDim; 4]> = nest.dims.into_iter().rev().collect();
            if dims.is_empty() {
                dims.push(CopyDim {
                    count: 1,
                    source_bytes: 0,
                    destination_bytes: 0,
                });
            }
            let kernel = Kernel::Copy(Copy {
                bytes: nest.bytes,
                source_offset: nest.source - source_at,
                destination_offset: nest.destination - destination_at,
                dims,
            });
            let operand = |value, offset_bytes| Operand {
                value,
                offset_bytes,
            };
            let operands = [
                operand(source, source_at),
                operand(destination, destination_at),
            ];
            calls.push((tile, kernel, operands));
        }
    }
    calls
}
