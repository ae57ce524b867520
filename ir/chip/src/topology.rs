//! Tile numbering: the compiler's logical ids and the hardware's physical ids.

use serde::{Deserialize, Serialize};
use std::fmt;

/// Tiles of a C600 (`facts/limits.md` D1, hardware).
const C600_TILES: u16 = 1472;
/// Physical rows, 0..23 (`facts/exchange.md` 0, reproduced from a public planner).
const ROWS: u16 = 23;

/// A tile in the compiler's numbering, 0..1472. Tiles `2k` and `2k + 1` are a physical pair.
#[derive(
    Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize,
)]
pub struct LogicalTile(pub u16);

/// A tile in the hardware's numbering, as XPIC values, host packets and TDI addresses use it.
///
/// Bits: row `p >> 6` (0..22), raw column `(p >> 2) & 15`, lane `p & 3`
/// (`facts/exchange.md` 0).
#[derive(
    Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize,
)]
pub struct PhysicalTile(pub u16);

/// A chip: the first `tiles` logical tiles of a C600.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Chip {
    tiles: u16,
}

impl Chip {
    /// The number of tiles of a whole C600.
    pub const C600_TILES: u16 = C600_TILES;

    /// A whole C600: 1,472 tiles.
    pub const fn c600() -> Chip {
        Chip { tiles: C600_TILES }
    }

    /// The first `tiles` logical tiles of a C600; `None` unless `1 <= tiles <= 1472`.
    pub const fn first(tiles: u16) -> Option<Chip> {
        if tiles >= 1 && tiles <= C600_TILES {
            Some(Chip { tiles })
        } else {
            None
        }
    }

    /// Number of tiles.
    pub const fn tiles(self) -> u16 {
        self.tiles
    }

    /// All tiles in logical order.
    pub fn logical_tiles(self) -> impl ExactSizeIterator<Item = LogicalTile> + Clone {
        (0..self.tiles).map(LogicalTile)
    }

    /// True if the tile exists on this chip.
    pub const fn contains(self, tile: LogicalTile) -> bool {
        tile.0 < self.tiles
    }
}

impl LogicalTile {
    /// The hardware's id of this tile (`facts/exchange.md` 0, reproduced from a public planner).
    pub const fn physical(self) -> PhysicalTile {
        let pair = self.0 / 2;
        let lane = self.0 % 2;
        let block = pair / ROWS;
        let k = pair % ROWS;
        let row = if block % 2 == 1 { ROWS - 1 - k } else { k };
        let column = (block / 2) * 4 + (block & 1);
        PhysicalTile(row * 64 + column + 2 * lane)
    }

    /// The other tile of this tile's physical pair.
    pub const fn partner(self) -> LogicalTile {
        LogicalTile(self.0 ^ 1)
    }

    /// Index as `usize`.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

impl PhysicalTile {
    /// The compiler's id of this tile; `None` if no tile has this number.
    pub const fn logical(self) -> Option<LogicalTile> {
        if self.0 >= C600_TILES {
            return None;
        }
        let row = self.0 >> 6;
        let within = self.0 & 63;
        let lane = (within >> 1) & 1;
        let column = within & !2;
        let block = (column / 4) * 2 + (column & 1);
        let k = if block % 2 == 1 { ROWS - 1 - row } else { row };
        Some(LogicalTile((block * ROWS + k) * 2 + lane))
    }

    /// Physical row, 0..22. The release of a barrier reaches row `r` so much later that routes
    /// contain `2 * r` cycles (`facts/exchange.md` 1.1).
    pub const fn row(self) -> u16 {
        self.0 >> 6
    }

    /// Raw column, 0..15.
    pub const fn column(self) -> u16 {
        (self.0 >> 2) & 15
    }

    /// Lane within the column, 0..3.
    pub const fn lane(self) -> u16 {
        self.0 & 3
    }

    /// The other tile of the physical pair: the one that differs in bit 1.
    pub const fn partner(self) -> PhysicalTile {
        PhysicalTile(self.0 ^ 2)
    }

    /// Key of the exchange-block context that serves this tile: the id without row and bit 1, one
    /// of 32 values (`facts/hardware.md` 0.3, inferred from 32 distinct host mux values).
    pub const fn exchange_context(self) -> u16 {
        self.0 & 0x3d
    }

    /// Host value of this tile's mux (`facts/hardware.md` 4.5, hardware).
    pub const fn host_mux(self) -> u16 {
        crate::csr::MUX_HOST | self.exchange_context()
    }

    /// The tile that sends the exchange requests of this tile's context
    /// (`facts/hardware.md` 4.5, reference driver).
    pub const fn request_owner(self) -> PhysicalTile {
        PhysicalTile(self.exchange_context())
    }

    /// Index of this tile among the 46 of its context: its bit in a request bitmap.
    pub const fn request_index(self) -> u16 {
        2 * (self.0 / 64) + ((self.0 >> 1) & 1)
    }

    /// The two words of the exchange request for this tile alone: indices 0..24 in the first.
    pub const fn request_words(self) -> [u32; 2] {
        let index = self.request_index();
        if index < 24 {
            [1 << index, 0]
        } else {
            [0, 1 << (index - 24)]
        }
    }

    /// True for the tile of the pair whose bit 1 is clear.
    pub const fn is_primary(self) -> bool {
        self.0 & 2 == 0
    }
}

impl fmt::Display for LogicalTile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "t{}", self.0)
    }
}

impl fmt::Display for PhysicalTile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "p{}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbering_is_a_bijection_and_pairs_stay_pairs() {
        let mut seen = vec![false; C600_TILES as usize];
        for tile in Chip::c600().logical_tiles() {
            let physical = tile.physical();
            assert!(!std::mem::replace(&mut seen[physical.0 as usize], true));
            assert_eq!(physical.logical(), Some(tile));
            assert_eq!(tile.partner().physical(), physical.partner());
        }
        assert_eq!(PhysicalTile(C600_TILES).logical(), None);
    }

    #[test]
    fn exchange_blocks_agree_with_the_recorded_values() {
        // facts/hardware.md 4.5.
        for (tile, mux) in [(116, 0x634), (582, 0x604), (1173, 0x615)] {
            assert_eq!(PhysicalTile(tile).host_mux(), mux);
        }
        for (tile, words) in [
            (31, [2, 0]),
            (81, [4, 0]),
            (260, [0x100, 0]),
            (768, [0, 1]),
            (785, [0, 1]),
            (1471, [0, 0x20_0000]),
        ] {
            assert_eq!(PhysicalTile(tile).request_words(), words, "{tile}");
        }
        for (tile, owner) in [(31, 29), (260, 4), (81, 17), (1471, 61)] {
            assert_eq!(PhysicalTile(tile).request_owner(), PhysicalTile(owner));
        }
        let contexts: std::collections::BTreeSet<u16> = (0..C600_TILES)
            .map(|tile| PhysicalTile(tile).exchange_context())
            .collect();
        assert_eq!(contexts.len(), 32);
    }

    #[test]
    fn known_pairs_of_ids() {
        // exchange_rows.jsonl: logical 1286 is physical 53, 736 is 32, 100 is 260.
        assert_eq!(LogicalTile(1286).physical(), PhysicalTile(53));
        assert_eq!(LogicalTile(736).physical(), PhysicalTile(32));
        assert_eq!(LogicalTile(100).physical(), PhysicalTile(260));
        // exchange_findings.md 2.4: receiver 46 is physical 1409.
        assert_eq!(LogicalTile(46).physical(), PhysicalTile(1409));
    }
}
