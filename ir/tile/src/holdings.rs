//! Who holds which shard, and the pieces that runs of a transfer move: what the verifier and the
//! interpreter walk over.

use crate::{Program, Run, Shape, Value};
use cranelift_entity::SecondaryMap;
use ipucc_chip::LogicalTile;

/// The shards of one value that hold elements, by tile.
#[derive(Clone, Default)]
pub struct Holdings(SecondaryMap<Value, Vec<Holding>>);

/// One shard.
#[derive(Clone, Default)]
pub struct Holding {
    /// Its tile.
    pub tile: u16,
    /// Extents of its box.
    pub extents: Shape,
    /// Its buffer.
    pub bytes: u32,
}

impl Holdings {
    /// The shards of a program whose values are well formed.
    pub fn of(program: &Program) -> Holdings {
        let mut all = SecondaryMap::new();
        for (value, data) in &program.values {
            let mut list: Vec<Holding> = data
                .shards()
                .filter(|shard| !shard.is_empty())
                .map(|shard| Holding {
                    tile: shard.tile.0,
                    bytes: data.shard_bytes(&shard.extents()),
                    extents: shard.extents(),
                })
                .collect();
            list.sort_by_key(|holding| holding.tile);
            all[value] = list;
        }
        Holdings(all)
    }

    /// The shards of a value by tile.
    pub fn of_value(&self, value: Value) -> &[Holding] {
        &self.0[value]
    }

    /// Index of a tile's shard among those of a value.
    pub fn index(&self, value: Value, tile: LogicalTile) -> Option<usize> {
        self.0[value]
            .binary_search_by_key(&tile.0, |holding| holding.tile)
            .ok()
    }
}

/// A place in a shard, which may lie outside.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct At {
    /// Tile number.
    pub tile: i64,
    /// First byte in the shard.
    pub byte: i64,
}

/// Most pieces of one run: more than there are words in the chip.
const MOST_PIECES: u64 = 1 << 28;

/// Calls `visit` with source, destinations and bytes of every piece of a run; `false` if the run
/// has more pieces than the chip has words.
pub fn pieces(run: &Run, mut visit: impl FnMut(At, &[At], i64)) -> bool {
    let total = run
        .dims
        .iter()
        .try_fold(1u64, |n, dim| n.checked_mul(dim.count.into()));
    let Some(total) = total.filter(|&n| n <= MOST_PIECES) else {
        return false;
    };
    let bytes = i64::from(run.words) * 4;
    let mut ends = Vec::with_capacity(run.destinations.len());
    for index in 0..total {
        let mut rest = index;
        let (mut from, mut to) = ((0i64, 0i64), (0i64, 0i64));
        for dim in run.dims.iter().rev() {
            let i = (rest % u64::from(dim.count)) as i64;
            rest /= u64::from(dim.count);
            from.0 += i * i64::from(dim.source_tiles);
            from.1 += i * i64::from(dim.source_words);
            to.0 += i * i64::from(dim.destination_tiles);
            to.1 += i * i64::from(dim.destination_words);
        }
        let at = |end: &crate::Endpoint, step: (i64, i64)| At {
            tile: i64::from(end.tile.0) + step.0,
            byte: (i64::from(end.word) + step.1) * 4,
        };
        ends.clear();
        ends.extend(run.destinations.iter().map(|end| at(end, to)));
        visit(at(&run.source, from), &ends, bytes);
    }
    true
}
