//! How a value is cut over tiles, and in which order a shard's elements stand in memory.

use crate::program::Shape;
use ipucc_chip::LogicalTile;
use serde::{Deserialize, Serialize};
use smallvec::SmallVec;

/// How one axis is cut: into `parts` intervals whose borders are multiples of `granule` elements.
///
/// The `ceil(extent / granule)` granules are dealt as evenly as possible, the first parts getting
/// one more; a part may be empty. The last part ends at the extent.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct AxisCut {
    /// Number of intervals, at least 1.
    pub parts: u32,
    /// Elements that stay together, at least 1.
    pub granule: u32,
}

impl AxisCut {
    /// An axis that is not cut.
    pub const WHOLE: AxisCut = AxisCut {
        parts: 1,
        granule: 1,
    };

    /// The half-open interval of elements of part `index` of an axis of `extent` elements.
    pub const fn interval(self, extent: u32, index: u32) -> (u32, u32) {
        let granules = extent.div_ceil(self.granule);
        let (each, more) = (granules / self.parts, granules % self.parts);
        let first = each * index + if index < more { index } else { more };
        let count = each + if index < more { 1 } else { 0 };
        let low = first * self.granule;
        let high = (first + count) * self.granule;
        (
            if low < extent { low } else { extent },
            if high < extent { high } else { extent },
        )
    }
}

/// Which box of a value stands on which tiles.
///
/// The grid is the product of the axis cuts, its points ordered row-major (last axis fastest).
/// `tiles` lists, for each grid point, its `replicas` tiles: entry `point * replicas + replica`.
/// A tile appears at most once: it holds at most one shard of a value.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Distribution {
    /// One cut per axis of the value.
    pub cuts: SmallVec<[AxisCut; 4]>,
    /// Copies of each box, at least 1.
    pub replicas: u32,
    /// Owner tiles; length = grid points * `replicas`.
    pub tiles: Vec<LogicalTile>,
}

/// The box of a value that one tile holds: per axis a half-open interval of elements.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Shard {
    /// The tile that holds it.
    pub tile: LogicalTile,
    /// First element per axis.
    pub low: Shape,
    /// One past the last element per axis.
    pub high: Shape,
}

impl Shard {
    /// Extents per axis.
    pub fn extents(&self) -> Shape {
        self.low
            .iter()
            .zip(&self.high)
            .map(|(l, h)| h - l)
            .collect()
    }

    /// True if the box holds no element.
    pub fn is_empty(&self) -> bool {
        self.low.iter().zip(&self.high).any(|(l, h)| l >= h)
    }
}

impl Distribution {
    /// The whole value on one tile.
    pub fn single(rank: usize, tile: LogicalTile) -> Distribution {
        Distribution {
            cuts: SmallVec::from_elem(AxisCut::WHOLE, rank),
            replicas: 1,
            tiles: vec![tile],
        }
    }

    /// Number of grid points.
    pub fn points(&self) -> usize {
        self.cuts.iter().map(|cut| cut.parts as usize).product()
    }

    /// The box of grid point `point` of a value of shape `shape`: (low, high).
    pub fn box_of(&self, shape: &[u32], point: usize) -> (Shape, Shape) {
        let rank = shape.len();
        let (mut low, mut high) = (Shape::from_elem(0, rank), Shape::from_elem(0, rank));
        let mut rest = point;
        for axis in (0..rank).rev() {
            let parts = self.cuts[axis].parts as usize;
            let (l, h) = self.cuts[axis].interval(shape[axis], (rest % parts) as u32);
            low[axis] = l;
            high[axis] = h;
            rest /= parts;
        }
        (low, high)
    }

    /// All shards of a value of shape `shape`, in order of `tiles`; empty boxes included.
    pub fn shards<'a>(&'a self, shape: &'a [u32]) -> impl Iterator<Item = Shard> + 'a {
        let replicas = self.replicas as usize;
        (0..self.points()).flat_map(move |point| {
            let (low, high) = self.box_of(shape, point);
            self.tiles[point * replicas..(point + 1) * replicas]
                .iter()
                .map(move |&tile| Shard {
                    tile,
                    low: low.clone(),
                    high: high.clone(),
                })
        })
    }

    /// The shard on `tile`, if the tile holds one.
    pub fn shard_on(&self, shape: &[u32], tile: LogicalTile) -> Option<Shard> {
        let at = self.tiles.iter().position(|&owner| owner == tile)?;
        let (low, high) = self.box_of(shape, at / self.replicas as usize);
        Some(Shard { tile, low, high })
    }
}

/// Order of a shard's elements in memory.
///
/// `order` lists the axes from outermost to innermost, so a transposed operand is an order, not
/// another kind. The innermost axes are what the kinds speak of.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Layout {
    /// The element order within the innermost axes.
    pub kind: LayoutKind,
    /// Axes, outermost first; a permutation.
    pub order: SmallVec<[u8; 4]>,
}

/// Element order of the innermost one (`Row`) or two axes; axes further out are row-major.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum LayoutKind {
    /// Row-major; the innermost extent is padded to a multiple of `pitch` elements.
    Row {
        /// Granule of the innermost extent in elements, at least 1.
        pitch: u32,
    },
    /// `[k / panel][m][panel]` for the innermost axes (m, k): the left operand and the result of a
    /// matrix product (`isa/amp.md` 12.1). k is padded to a multiple of `panel`.
    AmpLhs {
        /// Elements of k in one panel: 16 (f16), 32 (f8), 8 (f32 operand), 16 or 8 for results.
        panel: u32,
    },
    /// `[n / 16][k / panel][16][panel]` for the innermost axes (n, k): the weight-store operand
    /// (`isa/amp.md` 12.1). n is padded to a multiple of 16, k to one of `panel`.
    AmpRhs {
        /// Elements of k in one panel: 16 (f16), 32 (f8), 8 (f32).
        panel: u32,
    },
}

/// Columns of one weight panel (`isa/amp.md` 12.1).
pub const RHS_COLUMNS: u32 = 16;

impl Layout {
    /// Row-major in axis order without padding.
    pub fn row(rank: usize) -> Layout {
        Layout {
            kind: LayoutKind::Row { pitch: 1 },
            order: (0..rank as u8).collect(),
        }
    }

    /// Elements that a shard of these extents takes in memory, padding included.
    pub fn elements(&self, extents: &[u32]) -> u64 {
        let ordered: SmallVec<[u64; 4]> = self
            .order
            .iter()
            .map(|&axis| extents[axis as usize] as u64)
            .collect();
        let round = |n: u64, to: u32| n.div_ceil(to as u64) * to as u64;
        let rank = ordered.len();
        match self.kind {
            LayoutKind::Row { pitch } => match ordered.split_last() {
                None => 1,
                Some((&inner, outer)) => outer.iter().product::<u64>() * round(inner, pitch),
            },
            LayoutKind::AmpLhs { panel } => {
                let outer: u64 = ordered[..rank - 2].iter().product();
                outer * ordered[rank - 2] * round(ordered[rank - 1], panel)
            }
            LayoutKind::AmpRhs { panel } => {
                let outer: u64 = ordered[..rank - 2].iter().product();
                outer * round(ordered[rank - 2], RHS_COLUMNS) * round(ordered[rank - 1], panel)
            }
        }
    }

    /// Element offset in the shard's buffer of the element at `index` (relative to the shard's
    /// low corner) of a shard of these extents.
    pub fn offset(&self, extents: &[u32], index: &[u32]) -> u64 {
        let rank = self.order.len();
        let at = |i: usize| index[self.order[i] as usize] as u64;
        let extent = |i: usize| extents[self.order[i] as usize] as u64;
        let round = |n: u64, to: u32| n.div_ceil(to as u64) * to as u64;
        let outer = |axes: usize| (0..axes).fold(0, |sum, i| sum * extent(i) + at(i));
        match self.kind {
            LayoutKind::Row { pitch } => {
                if rank == 0 {
                    return 0;
                }
                outer(rank - 1) * round(extent(rank - 1), pitch) + at(rank - 1)
            }
            LayoutKind::AmpLhs { panel } => {
                let (m, k) = (extent(rank - 2), round(extent(rank - 1), panel));
                let (row, column, panel) = (at(rank - 2), at(rank - 1), panel as u64);
                outer(rank - 2) * m * k + (column / panel * m + row) * panel + column % panel
            }
            LayoutKind::AmpRhs { panel } => {
                let columns = RHS_COLUMNS as u64;
                let (n, k) = (
                    round(extent(rank - 2), RHS_COLUMNS),
                    round(extent(rank - 1), panel),
                );
                let (row, column, panel) = (at(rank - 2), at(rank - 1), panel as u64);
                outer(rank - 2) * n * k
                    + ((row / columns * (k / panel) + column / panel) * columns + row % columns)
                        * panel
                    + column % panel
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uneven_cuts_cover_the_axis() {
        for (extent, parts, granule) in [(729, 46, 1), (4304, 13, 16), (3, 5, 1), (0, 4, 2)] {
            let cut = AxisCut { parts, granule };
            let mut next = 0;
            for part in 0..parts {
                let (low, high) = cut.interval(extent, part);
                assert_eq!(low, next);
                assert!(low == extent || low % granule == 0);
                next = high;
            }
            assert_eq!(next, extent);
        }
    }

    #[test]
    fn offsets_are_distinct_and_inside_the_buffer() {
        let extents = [3u32, 18, 37];
        for kind in [
            LayoutKind::Row { pitch: 4 },
            LayoutKind::AmpLhs { panel: 16 },
            LayoutKind::AmpRhs { panel: 8 },
        ] {
            for order in [[0u8, 1, 2], [0, 2, 1], [2, 0, 1]] {
                let layout = Layout {
                    kind,
                    order: order.into_iter().collect(),
                };
                let size = layout.elements(&extents);
                let mut seen = vec![false; size as usize];
                for i in 0..extents[0] {
                    for j in 0..extents[1] {
                        for k in 0..extents[2] {
                            let at = layout.offset(&extents, &[i, j, k]) as usize;
                            assert!(!std::mem::replace(&mut seen[at], true));
                        }
                    }
                }
            }
        }
    }
}
