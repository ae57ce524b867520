//! Which words move when a value changes distribution or layout.

use crate::kernel::{Access, Expr, Kernel, Map};
use crate::program::{Endpoint, Operand, Program, Run, Shape, Transfer, Value, ValueData};
use indexmap::IndexMap;
use ipucc_chip::{LogicalTile, ScalarType};
use smallvec::SmallVec;
use thiserror::Error;

/// Why a value cannot be moved.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[error("`{source_name}` to `{destination_name}`: {reason}")]
pub struct TransferError {
    /// Value that is read.
    pub source_name: String,
    /// Value that is written.
    pub destination_name: String,
    /// What stands against it.
    pub reason: String,
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
/// tiles and copies within tiles. Both values have the same shape and element type.
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
) -> Result<(Transfer, Vec<LocalCopy>), TransferError> {
    let (from, to) = (&program.values[source], &program.values[destination]);
    let fail = |reason: String| TransferError {
        source_name: from.name.clone(),
        destination_name: to.name.clone(),
        reason,
    };
    if from.element != to.element || from.shape != to.shape {
        return Err(fail("the types differ".into()));
    }
    let replicas = from.distribution.replicas as usize;
    let sources: Vec<(Shape, Shape, &[LogicalTile])> = (0..from.distribution.points())
        .map(|point| {
            let (low, high) = from.distribution.box_of(&from.shape, point);
            let tiles = &from.distribution.tiles[point * replicas..(point + 1) * replicas];
            (low, high, tiles)
        })
        .collect();
    let copies = to.distribution.replicas as usize;
    let mut runs = Vec::new();
    let mut local = Vec::new();
    let mut turn = 0usize;
    for point in 0..to.distribution.points() {
        let (low, high) = to.distribution.box_of(&to.shape, point);
        let tiles = &to.distribution.tiles[point * copies..(point + 1) * copies];
        for (source_low, source_high, owners) in &sources {
            let box_low: Shape = low.iter().zip(source_low).map(|(a, b)| *a.max(b)).collect();
            let box_high: Shape = high
                .iter()
                .zip(source_high)
                .map(|(a, b)| *a.min(b))
                .collect();
            if box_low.iter().zip(&box_high).any(|(l, h)| l >= h) {
                continue;
            }
            let pieces = pieces(
                from,
                to,
                (source_low, source_high),
                (&low, &high),
                (&box_low, &box_high),
            )
            .map_err(&fail)?;
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
            let owner = owners[turn % owners.len()];
            turn += 1;
            runs.extend(pieces.iter().map(|&(source, destination, words)| {
                Run {
                    words,
                    source: Endpoint {
                        tile: owner,
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

/// Maximal stretches of words that are contiguous on both sides: (source word, destination word,
/// words), in order of the destination.
type Piece = (u32, u32, u32);

fn pieces(
    from: &ValueData,
    to: &ValueData,
    source: (&Shape, &Shape),
    destination: (&Shape, &Shape),
    common: (&Shape, &Shape),
) -> Result<Vec<Piece>, String> {
    let rank = from.shape.len();
    let extents = |(low, high): (&Shape, &Shape)| -> Shape {
        low.iter().zip(high).map(|(l, h)| h - l).collect()
    };
    let (source_extents, destination_extents) = (extents(source), extents(destination));
    let per_word = 4 / from.element.bytes().min(4);
    // Elements in the destination's order: its innermost axis last.
    let order: SmallVec<[usize; 4]> = to.layout.order.iter().map(|&axis| axis as usize).collect();
    let mut elements: Vec<(u64, u64)> = Vec::new();
    let mut index: Shape = common.0.clone();
    loop {
        let at = |low: &Shape| -> Shape { index.iter().zip(low).map(|(i, l)| i - l).collect() };
        elements.push((
            to.layout.offset(&destination_extents, &at(destination.0)),
            from.layout.offset(&source_extents, &at(source.0)),
        ));
        let mut position = rank;
        loop {
            if position == 0 {
                return words(elements, u64::from(per_word));
            }
            position -= 1;
            let axis = order[position];
            index[axis] += 1;
            if index[axis] < common.1[axis] {
                break;
            }
            index[axis] = common.0[axis];
        }
    }
}

/// Element pairs (destination, source) to word pieces.
fn words(mut elements: Vec<(u64, u64)>, per_word: u64) -> Result<Vec<Piece>, String> {
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
            return Err(format!(
                "a piece of {count} elements is not whole words; hint: cut along multiples of \
                 {per_word} elements"
            ));
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
            let access = |stride: i64| Access {
                element: ScalarType::F32,
                strides: [stride as u32, 1].into_iter().collect(),
            };
            let kernel = Kernel::Map(Map {
                extents: [count as u32, first.words].into_iter().collect(),
                inputs: [access(from)].into_iter().collect(),
                output: access(to),
                nodes: vec![Expr::Input(0)],
            });
            let operand = |value, word: u32| Operand {
                value,
                offset_bytes: word * 4,
            };
            calls.push((
                tile,
                kernel,
                [
                    operand(source, first.source),
                    operand(destination, first.destination),
                ],
            ));
            at += count;
        }
    }
    calls
}
