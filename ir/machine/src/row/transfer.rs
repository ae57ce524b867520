//! Transfers -> events: which events a placed transfer has on each tile.
//!
//! These are the relations of `facts/exchange.md` 1.2 and 1.6 as corrected by
//! `facts/exchange_findings.md` 2.1 to 2.4; when a transfer may start is for a scheduler to decide.

use super::{Event, Place, RowEvents, SendControl};
use ipucc_chip::PhysicalTile;
use ipucc_chip::csr::MUX_NEUTRAL;
use ipucc_chip::fabric::{self, limit};
use std::collections::BTreeMap;
use thiserror::Error;

/// Largest transfer, in items (assumption `exch_message_items`).
pub const MAX_ITEMS: u32 = 4148;
/// Least events of a row that is not empty (default of `sup_row_min`).
const ROW_MIN: u32 = 6;
/// Event at which every receiver of a point-to-point primitive selects its source: one past the
/// longest route (`facts/exchange.md` 1.3).
const POINT_TO_POINT_SELECT: i64 = 113;
/// Events from a pair select to the format control, without the row term (`exchange_findings.md`
/// 2.4, hardware).
const PAIR_FORMAT: u32 = 51;
/// Events from the format control to the pointer (hardware).
const PAIR_POINTER: u32 = 2;
/// Events between the last control of a paired receive and the end of its row (hardware).
const PAIR_GUARD: u32 = 7;

/// One message: consecutive items from one tile to one or more.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Transfer {
    /// Sender.
    pub source: PhysicalTile,
    /// Address of the first item on the sender.
    pub from: Place,
    /// Items of 4 bytes, or of 8 if `wide`.
    pub items: u32,
    /// Paired 64-bit transfer: the receivers are complete physical pairs.
    pub wide: bool,
    /// Receivers and the address on each (the value of the pointer control, so relative to
    /// `$INCOMING_BASE`).
    pub receivers: Vec<(PhysicalTile, Place)>,
}

/// A transfer and the local time at which its sender starts; the first item leaves one event later.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Placed<'a> {
    /// The transfer.
    pub transfer: &'a Transfer,
    /// Start on the sender, in events.
    pub start: u32,
}

/// How a stand-alone primitive row pair is placed (`facts/exchange.md` 1.3).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Placement {
    /// One receiver, which selects its source at event 113.
    PointToPoint,
    /// As early as the routes allow, plus an offset.
    Multicast {
        /// Events.
        offset: u32,
    },
}

/// Why a transfer cannot be made.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum TransferError {
    /// Too few or too many items.
    #[error("exchange count {items} is outside 1..={MAX_ITEMS}")]
    Count {
        /// Items.
        items: u32,
    },
    /// The receivers are not ones that one message can have.
    #[error("invalid multicast receiver set: {why}")]
    Receivers {
        /// What is wrong.
        why: &'static str,
    },
    /// The primitive starts later than its fields can say.
    #[error(
        "exchange schedule is not encodable: multicast start cycle {select} of {tile} is past {most}"
    )]
    StartCycle {
        /// The receiver.
        tile: PhysicalTile,
        /// Its select event.
        select: i64,
        /// Last one that a `delayxpic` reaches.
        most: u32,
    },
    /// A word would reach the mux before an event at which the mux can have been set.
    #[error("exchange schedule is not encodable: {tile} would have to select at event {select}")]
    TooEarly {
        /// The receiver.
        tile: PhysicalTile,
        /// Its select event.
        select: i64,
    },
    /// Two controls of a paired receive fall on one event.
    #[error(
        "exchange schedule is not encodable: paired receive coincident controls at event {at} of {tile}"
    )]
    Coincident {
        /// The receiver.
        tile: PhysicalTile,
        /// The event.
        at: u32,
    },
    /// The receive streams of a tile overlap or are given out of order.
    #[error("exchange schedule is not encodable: overlapping receive streams on {tile}")]
    ReceiveOverlap {
        /// The receiver.
        tile: PhysicalTile,
    },
}

impl Transfer {
    /// Checks items and receivers.
    ///
    /// # Errors
    /// [`TransferError::Count`] and [`TransferError::Receivers`].
    pub fn check(&self) -> Result<(), TransferError> {
        if self.items == 0 || self.items > MAX_ITEMS {
            return Err(TransferError::Count { items: self.items });
        }
        let wrong = |why| Err(TransferError::Receivers { why });
        if self.receivers.is_empty() {
            return wrong("there is none");
        }
        let mut tiles: Vec<PhysicalTile> = self.receivers.iter().map(|&(tile, _)| tile).collect();
        tiles.sort();
        if tiles
            .iter()
            .chain([&self.source])
            .any(|tile| tile.logical().is_none())
        {
            return wrong("a tile does not exist");
        }
        if tiles.windows(2).any(|pair| pair[0] == pair[1]) {
            return wrong("a tile stands in it twice");
        }
        if self.wide {
            if tiles
                .iter()
                .any(|tile| tiles.binary_search(&tile.partner()).is_err())
            {
                return wrong("a paired transfer needs complete pairs");
            }
        } else if tiles == [self.source] {
            return wrong("a tile cannot send to itself alone");
        }
        Ok(())
    }

    /// Direction bits and width of the send.
    pub fn control(&self) -> SendControl {
        let single = if self.wide { 2 } else { 1 };
        let own = self.receivers.iter().any(|&(tile, _)| tile == self.source);
        let directions = match self.receivers.first() {
            Some(&(tile, _)) if self.receivers.len() == single && !own => {
                fabric::route(self.source, tile).direction as u8
            }
            _ => 3,
        };
        SendControl {
            directions,
            wide: self.wide,
        }
    }

    /// Route times, in the order of the receivers.
    fn times(&self) -> impl Iterator<Item = (PhysicalTile, i64)> + '_ {
        self.receivers
            .iter()
            .map(|&(tile, _)| (tile, i64::from(fabric::route(self.source, tile).time)))
    }

    /// Earliest start: every receiver selects at event 1 or later.
    pub fn earliest_start(&self) -> u32 {
        self.times()
            .map(|(_, time)| -time)
            .max()
            .unwrap_or(0)
            .max(0) as u32
    }
}

/// Events of one receiver of one transfer.
struct Receive {
    /// Select event of an ordinary receive; the controls in full of a paired one.
    select: u32,
    items: u32,
    source: PhysicalTile,
    to: Place,
    wide: bool,
}

/// Events of all tiles of a phase in which these transfers are placed; per receiver the transfers
/// are given in the order of their select events.
///
/// A source that follows another without a gap replaces the neutral control; a pointer that the
/// writes before have left at the right place is dropped (ordinary transfers only). The tiles are
/// in physical order.
///
/// # Errors
/// A transfer that cannot be made as placed.
pub fn compose(placed: &[Placed<'_>]) -> Result<BTreeMap<PhysicalTile, RowEvents>, TransferError> {
    let mut rows: BTreeMap<PhysicalTile, RowEvents> = BTreeMap::new();
    let mut receives: BTreeMap<PhysicalTile, Vec<Receive>> = BTreeMap::new();
    for placed in placed {
        let transfer = placed.transfer;
        transfer.check()?;
        let row = rows.entry(transfer.source).or_default();
        row.events.push(Event::Send {
            at: placed.start,
            from: transfer.from,
            items: transfer.items,
            control: transfer.control(),
        });
        row.horizon = row.horizon.max(placed.start + transfer.items).max(ROW_MIN);
        for (index, (tile, time)) in transfer.times().enumerate() {
            let time = match transfer.wide {
                true => time.min(i64::from(
                    fabric::route(transfer.source, tile.partner()).time,
                )),
                false => time,
            };
            let select = fabric::select_event(i64::from(placed.start), time as i32);
            let select = u32::try_from(select)
                .ok()
                .filter(|&select| select >= 1)
                .ok_or(TransferError::TooEarly { tile, select })?;
            receives.entry(tile).or_default().push(Receive {
                select,
                items: transfer.items,
                source: transfer.source,
                to: transfer.receivers[index].1,
                wide: transfer.wide,
            });
        }
    }
    for (tile, receives) in receives {
        let row = rows.entry(tile).or_default();
        for (index, receive) in receives.iter().enumerate() {
            let end = receive.select + receive.items;
            let next = receives.get(index + 1);
            if next.is_some_and(|next| next.select < end) {
                return Err(TransferError::ReceiveOverlap { tile });
            }
            let cut_over = next.is_some_and(|next| next.select == end && next.wide == receive.wide);
            if receive.wide {
                paired(row, tile, receive, cut_over)?;
                continue;
            }
            row.events.push(Event::Select {
                at: receive.select,
                source: receive.source.0,
                pair: false,
            });
            if !cut_over {
                row.events.push(Event::Select {
                    at: end,
                    source: MUX_NEUTRAL,
                    pair: false,
                });
            }
            let contiguous = index > 0 && !receives[index - 1].wide && {
                let before = &receives[index - 1];
                before.to.plus(4 * before.items) == receive.to
            };
            let pointer = fabric::pointer_event(i64::from(receive.select), tile.row()) as u32;
            if !contiguous {
                row.events.push(Event::Pointer {
                    at: pointer,
                    to: receive.to,
                });
            }
            row.horizon = row
                .horizon
                .max(pointer + receive.items + fabric::WRITE_GUARD);
        }
    }
    for row in rows.values_mut() {
        row.events.sort_by_key(Event::key);
    }
    Ok(rows)
}

/// Events of one member of a receiving pair.
fn paired(
    row: &mut RowEvents,
    tile: PhysicalTile,
    receive: &Receive,
    cut_over: bool,
) -> Result<(), TransferError> {
    let route = fabric::route(receive.source, tile);
    let early = route.time < fabric::route(receive.source, tile.partner()).time;
    let end = receive.select + receive.items;
    let format = receive.select + PAIR_FORMAT + 2 * u32::from(tile.row());
    let pointer = format + PAIR_POINTER;
    let off = format + receive.items;
    let first = row.events.len();
    if early {
        row.events.push(Event::Select {
            at: receive.select,
            source: receive.source.0 ^ (tile.0 & 2),
            pair: true,
        });
        if !cut_over {
            row.events.push(Event::Select {
                at: end,
                source: MUX_NEUTRAL,
                pair: true,
            });
        }
    }
    row.events.push(Event::Format {
        at: format,
        value: route.direction as u8,
    });
    row.events.push(Event::Pointer {
        at: pointer,
        to: receive.to,
    });
    row.events.push(Event::Format { at: off, value: 0 });
    let mut times: Vec<u32> = row.events[first..].iter().map(Event::at).collect();
    times.sort_unstable();
    if let Some(same) = times.windows(2).find(|pair| pair[0] == pair[1]) {
        return Err(TransferError::Coincident { tile, at: same[0] });
    }
    row.horizon = row.horizon.max(times[times.len() - 1] + PAIR_GUARD);
    Ok(())
}

/// Events of the stand-alone rows of one transfer, sender and receivers, as `facts/exchange.md` 1.3
/// builds them. Messages of more than 52 items go back to neutral `2 * row` events later than in a
/// composed row.
///
/// # Errors
/// As [`compose`], and a start that the 12-bit field of the select cannot hold.
pub fn primitive(
    transfer: &Transfer,
    placement: Placement,
) -> Result<BTreeMap<PhysicalTile, RowEvents>, TransferError> {
    transfer.check()?;
    let start = match placement {
        Placement::PointToPoint => {
            if transfer.receivers.len() != 1 || transfer.wide {
                return Err(TransferError::Receivers {
                    why: "point to point means one receiver",
                });
            }
            let (_, time) = transfer.times().next().unwrap_or((transfer.source, 0));
            (POINT_TO_POINT_SELECT - 1 - time) as u32
        }
        Placement::Multicast { offset } => {
            let start = transfer.earliest_start().saturating_add(offset);
            for (tile, time) in transfer.times() {
                let select = fabric::select_event(i64::from(start), time as i32);
                if select > i64::from(limit::DELAY_XPIC) {
                    return Err(TransferError::StartCycle {
                        tile,
                        select,
                        most: limit::DELAY_XPIC,
                    });
                }
            }
            start
        }
    };
    let mut rows = compose(&[Placed { transfer, start }])?;
    if !transfer.wide && transfer.items > fabric::SELECT_TO_POINTER {
        for (tile, row) in &mut rows {
            let late = 2 * u32::from(tile.row());
            let mut moved = false;
            for event in &mut row.events {
                if let Event::Select {
                    at,
                    source: MUX_NEUTRAL,
                    ..
                } = event
                {
                    *at += late;
                    moved = true;
                }
            }
            if moved {
                row.events.sort_by_key(Event::key);
                let select = row.events.iter().filter_map(|event| match event {
                    Event::Select {
                        at,
                        source: MUX_NEUTRAL,
                        ..
                    } => Some(*at),
                    _ => None,
                });
                row.horizon = select.max().unwrap_or(0) + fabric::RECEIVE_TAIL;
            }
        }
    }
    Ok(rows)
}
