//! The exchange fabric: how long a word travels, and the event relations of a transfer.
//!
//! One *event* is one tile cycle. A tile counts events from its own release from the phase
//! barrier; all relations below are between such local clocks and already contain their skew
//! (`facts/exchange.md` 1.1).

use crate::PhysicalTile;

/// Events from the source select at the receiver's mux to the pointer event, without the row term
/// (`facts/exchange_findings.md` 2.1, hardware).
pub const SELECT_TO_POINTER: u32 = 52;
/// Guard events between the last write of a receive and the end of its row
/// (`facts/exchange.md` 1.2, kept by every generated row).
pub const WRITE_GUARD: u32 = 5;
/// Events between the end of a receive's select window and the receive horizon, without the row
/// term: [`SELECT_TO_POINTER`] + [`WRITE_GUARD`].
pub const RECEIVE_TAIL: u32 = SELECT_TO_POINTER + WRITE_GUARD;

/// Field limits of the exchange instructions: the most events or items of one word
/// (`facts/exchange.md` 1.4, reproduced from a public planner and confirmed on hardware).
pub mod limit {
    /// Events of a `delay`.
    pub const DELAY: u32 = 1 << 19;
    /// Events of a `delaypic`.
    pub const DELAY_PIC: u32 = 1 << 7;
    /// Events of a `delayxpic`.
    pub const DELAY_XPIC: u32 = 1 << 12;
    /// Items of a `send`, `sendpic` or `sendpicp`.
    pub const SEND: u32 = 1 << 6;
    /// Items of a `sendoff`.
    pub const SEND_OFF: u32 = 1 << 12;
    /// Bits of an address field (word addresses, or 8-byte units for 64-bit items).
    pub const ADDRESS_BITS: u32 = 18;
    /// Bits of a mux value.
    pub const SOURCE_BITS: u32 = 13;
}

/// Which of the two fabric directions reaches the receiver; the value is the send-control bit
/// (`facts/exchange.md` 1.1).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
#[repr(u8)]
pub enum Direction {
    /// Send-control bit 0.
    One = 1,
    /// Send-control bit 1.
    Two = 2,
}

/// A route from a sender to a receiver.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Route {
    /// Events from the send event of a word to its arrival at the receiver's mux, in local clocks;
    /// -78..=112 between different tiles.
    pub time: i32,
    /// Direction in which the word has to be sent.
    pub direction: Direction,
}

/// The route between two tiles (`facts/exchange.md` 1.1, exact: no mismatch over all pairs of a
/// public planner).
pub const fn route(sender: PhysicalTile, receiver: PhysicalTile) -> Route {
    let (hs, xs) = fold(sender.column() as i32);
    let (hd, xd) = fold(receiver.column() as i32);
    let ls = sender.lane() as i32;
    let ld = receiver.lane() as i32;
    let same_side = hd == (ld & 1);
    let port = match (ld >= 2, same_side) {
        (true, true) => 2,
        (true, false) => 4,
        (false, true) => 1,
        (false, false) => 5,
    };
    let displacement = 6 * (xd - xs - (hs ^ (ls & 1))) + port;
    let direction = if displacement >= 1 {
        Direction::One
    } else {
        Direction::Two
    };
    let slope = if hd == 0 { 5 } else { 3 };
    let constant = if hs == 1 && hd == 0 { -14 } else { -30 };
    let rows = sender.row() as i32 - receiver.row() as i32;
    let time = slope * (xs - xd) + constant + 2 * rows + displacement.abs();
    Route { time, direction }
}

/// Half of the chip (0 west, 1 east) and folded column of a raw column.
const fn fold(column: i32) -> (i32, i32) {
    let half = column >> 3;
    (half, if half == 1 { 15 - column } else { column })
}

/// Select event `E` of a receive whose sender starts at local time `start` (first word in send
/// event `start + 1`); must come out at least 1 (`facts/exchange.md` 1.2).
pub const fn select_event(start: i64, route_time: i32) -> i64 {
    start + route_time as i64 + 1
}

/// Pointer event `P` of a receive selected at event `select` on a tile of physical row `row`
/// (`facts/exchange.md` 1.2). Word `k` is written at `P + k` (assumed for "at P").
pub const fn pointer_event(select: i64, row: u16) -> i64 {
    select + SELECT_TO_POINTER as i64 + 2 * row as i64
}

/// Events a row must last for a receive of `items` items selected at event `select`
/// (`facts/exchange.md` 1.2).
pub const fn receive_horizon(select: i64, items: i64, row: u16) -> i64 {
    select + items + RECEIVE_TAIL as i64 + 2 * row as i64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extremes_of_the_route_time() {
        // facts/exchange.md 1.1 gives these two pairs.
        assert_eq!(route(PhysicalTile(1), PhysicalTile(1412)).time, -78);
        assert_eq!(route(PhysicalTile(1440), PhysicalTile(0)).time, 112);
    }

    #[test]
    fn routes_equal_the_recorded_ones() {
        let path = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../../../shared/vectors/time_to_mux.csv"
        );
        let text = std::fs::read_to_string(path)
            .unwrap_or_else(|error| panic!("the shared facts are needed: {path}: {error}"));
        let mut pairs = 0;
        for line in text.lines().skip(1).filter(|line| !line.is_empty()) {
            let columns: Vec<i32> = line
                .split(',')
                .map(|column| column.trim().parse().expect("a number"))
                .collect();
            let (sender, receiver) = (columns[0] as u16, columns[1] as u16);
            let route = route(PhysicalTile(sender), PhysicalTile(receiver));
            assert_eq!(route.time, columns[2], "{sender} -> {receiver}");
            assert_eq!(route.direction as i32, columns[3], "{sender} -> {receiver}");
            pairs += 1;
        }
        assert!(pairs > 7000, "{pairs}");
    }

    #[test]
    fn half_of_all_ordered_pairs_use_direction_one() {
        let (mut one, mut negative, mut pairs) = (0u32, 0u32, 0u32);
        for s in 0..1472 {
            for d in 0..1472 {
                if s != d {
                    let route = route(PhysicalTile(s), PhysicalTile(d));
                    pairs += 1;
                    one += u32::from(route.direction == Direction::One);
                    negative += u32::from(route.time < 0);
                }
            }
        }
        assert_eq!(pairs, 2_165_312);
        assert_eq!(one * 2, pairs);
        assert_eq!(negative, 1_438_112);
    }
}
