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

/// A stretch of words between two shards of one tile: what no exchange can do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LocalCopy {
    /// The tile.
    pub tile: LogicalTile,
    /// Word offset in the source shard.
    pub source: u32,
    /// Word offset in the destination shard.
    pub destination: u32,
    /// Words.
    pub words: u32,
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
            let pieces =
                words(elements, per_word).map_err(|elements| TransferError::HalfWords {
                    from: from.name.clone(),
                    to: to.name.clone(),
                    elements,
                    per_word,
                })?;
            let owners = &from.distribution.tiles[owner * replicas..(owner + 1) * replicas];
            let (own, others): (Vec<LogicalTile>, Vec<LogicalTile>) =
                tiles.iter().partition(|tile| owners.contains(tile));
            for tile in own {
                local.extend(
                    pieces
                        .iter()
                        .map(|&(source, destination, words)| LocalCopy {
                            tile,
                            source,
                            destination,
                            words,
                        }),
                );
            }
            if others.is_empty() {
                continue;
            }
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

/// Maximal stretches of words that are contiguous on both sides: (source word, destination word,
/// words), in order of the destination.
type Piece = (u32, u32, u32);

/// Element pairs (destination, source) to word pieces; the length of a piece that is not whole words
/// otherwise.
fn words(mut elements: Vec<(u64, u64)>, per_word: u64) -> Result<Vec<Piece>, u64> {
    elements.sort_unstable();
    let mut pieces = Vec::new();
    let mut start = 0;
    while start < elements.len() {
        let mut end = start + 1;
        while end < elements.len()
            && elements[end].0 == elements[end - 1].0 + 1
            && elements[end].1 == elements[end - 1].1 + 1
        {
            end += 1;
        }
        let (to, from) = elements[start];
        let count = (end - start) as u64;
        if [to, from, count].iter().any(|n| n % per_word != 0) {
            return Err(count);
        }
        let piece = [from, to, count].map(|n| (n / per_word) as u32);
        pieces.push((piece[0], piece[1], piece[2]));
        start = end;
    }
    Ok(pieces)
}

/// Local copies as kernel calls: per tile runs of equal length and regular distance become one
/// copy. Copies move 32-bit words, whatever the element type.
pub fn local_calls(
    copies: &[LocalCopy],
    source: Value,
    destination: Value,
) -> Vec<(LogicalTile, Kernel, [Operand; 2])> {
    let mut by_tile: IndexMap<LogicalTile, Vec<LocalCopy>> = IndexMap::new();
    for copy in copies {
        by_tile.entry(copy.tile).or_default().push(*copy);
    }
    let mut calls = Vec::new();
    for (tile, list) in by_tile {
        let mut at = 0;
        while at < list.len() {
            let first = list[at];
            let mut count = 1;
            let mut steps = None;
            while let Some(next) = list.get(at + count) {
                let before = list[at + count - 1];
                let step = (
                    i64::from(next.source) - i64::from(before.source),
                    i64::from(next.destination) - i64::from(before.destination),
                );
                let regular = next.words == first.words && steps.is_none_or(|s| s == step);
                if !regular || step.0 < 0 || step.1 < 0 {
                    break;
                }
                steps = Some(step);
                count += 1;
            }
            let (from, to) = steps.unwrap_or((0, 0));
            // Buffers begin at double words; what is left of the offset is the kernel's.
            let (source_at, destination_at) = (first.source & !1, first.destination & !1);
            let kernel = Kernel::Copy(Copy {
                bytes: first.words * 4,
                source_offset: (first.source - source_at) * 4,
                destination_offset: (first.destination - destination_at) * 4,
                dims: [CopyDim {
                    count: count as u32,
                    source_bytes: from as i32 * 4,
                    destination_bytes: to as i32 * 4,
                }]
                .into_iter()
                .collect(),
            });
            let operand = |value, word: u32| Operand {
                value,
                offset_bytes: word * 4,
            };
            calls.push((
                tile,
                kernel,
                [
                    operand(source, source_at),
                    operand(destination, destination_at),
                ],
            ));
            at += count;
        }
    }
    calls
}
