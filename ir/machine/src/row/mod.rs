//! Exchange rows: the straight-line program of one tile in one exchange phase.
//!
//! A row is called after the phase barrier and left with `br $m10`. Event 0 is the issue of its
//! first word and one event is one tile cycle (`facts/exchange.md` 0). [`encode`] turns typed
//! [`Event`]s into the shortest legal words, [`decode`] turns words back into events, and
//! [`steps`] shows when each word starts, ends and acts.

pub mod call_site;
mod decode;
mod encode;
pub mod host;
mod steps;
pub mod transfer;
mod words;

pub use decode::decode;
pub use encode::{encode, encode_with};
pub use steps::{Step, steps};

use crate::SymbolId;
use serde::{Deserialize, Serialize};
use std::fmt;
use thiserror::Error;

/// A byte address: `symbol` + `offset`, or absolute when `symbol` is `None`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Place {
    /// What the offset counts from.
    pub symbol: Option<SymbolId>,
    /// Bytes.
    pub offset: u32,
}

impl Place {
    /// An absolute byte address.
    pub const fn absolute(address: u32) -> Place {
        Place {
            symbol: None,
            offset: address,
        }
    }

    /// `symbol` + `offset` bytes.
    pub const fn of(symbol: SymbolId, offset: u32) -> Place {
        Place {
            symbol: Some(symbol),
            offset,
        }
    }

    /// The place `bytes` further on.
    pub const fn plus(self, bytes: u32) -> Place {
        Place {
            symbol: self.symbol,
            offset: self.offset.wrapping_add(bytes),
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.symbol {
            None => write!(f, "{:#x}", self.offset),
            Some(SymbolId(number)) => write!(f, "s{number}+{:#x}", self.offset),
        }
    }
}

/// Direction and width of a send.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct SendControl {
    /// Fabric directions: bit 0, bit 1, or both.
    pub directions: u8,
    /// 64-bit items: counts are of 8 bytes, addresses must be multiples of 8.
    pub wide: bool,
}

impl SendControl {
    /// The three control bits of the send words.
    pub const fn bits(self) -> u32 {
        self.directions as u32 | (self.wide as u32) << 2
    }

    /// From the three control bits.
    pub const fn from_bits(bits: u32) -> SendControl {
        SendControl {
            directions: (bits & 3) as u8,
            wide: bits & 4 != 0,
        }
    }

    /// Bytes of one item: 4 or 8.
    pub const fn item_bytes(self) -> u32 {
        if self.wide { 8 } else { 4 }
    }
}

/// A base register of the exchange.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum BaseRegister {
    /// `$INCOMING_BASE`, added to receive pointers.
    Incoming,
    /// `$OUTGOING_BASE`, added to send addresses.
    Outgoing,
}

/// The value of a base switch.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum BaseValue {
    /// An MRF register that holds it already; `$m15` is 0. One `put`.
    Register(u8),
    /// A byte address: `setzi $m8, address` and the `put`; if `$m8` holds the same place from the
    /// base switch before, only the `put`.
    Place(Place),
}

/// What happens on a tile at an event of its local clock.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum Event {
    /// A send starts: its first item leaves at `at + 1`, the last at `at + items`.
    Send {
        /// Start.
        at: u32,
        /// Address of the first item.
        from: Place,
        /// Items of 4 bytes (8 if `control.wide`).
        items: u32,
        /// Direction and width.
        control: SendControl,
    },
    /// XPIC effect: the own mux (or, with `pair`, the pair mux) selects `source` at `at`.
    Select {
        /// Event of the effect, at least 1.
        at: u32,
        /// Physical tile, `0x640` neutral, or `0x600 | x` for the host.
        source: u16,
        /// The pair mux instead of the own one.
        pair: bool,
    },
    /// PIC effect: the receive pointer becomes `to` at `at`.
    Pointer {
        /// Event of the effect, at least 1.
        at: u32,
        /// New receive address.
        to: Place,
    },
    /// PIC effect: the item format becomes `value` (0, 1 or 2) at `at`.
    Format {
        /// Event of the effect, at least 1.
        at: u32,
        /// 0 = 32-bit items; 1, 2 = halves of 64-bit items.
        value: u8,
    },
    /// A base register is written from `at` on: 13 events if the value is in a register, 14 if not
    /// (`facts/exchange_findings.md` 2.9). No send may run and no control act meanwhile.
    Base {
        /// First event of the instructions.
        at: u32,
        /// Which register.
        which: BaseRegister,
        /// New value.
        value: BaseValue,
    },
}

impl Event {
    /// The event's time.
    pub const fn at(&self) -> u32 {
        match *self {
            Event::Send { at, .. }
            | Event::Select { at, .. }
            | Event::Pointer { at, .. }
            | Event::Format { at, .. }
            | Event::Base { at, .. } => at,
        }
    }

    /// Order of events: by time, then Send < Select < Pointer < Format < Base.
    pub const fn key(&self) -> (u32, u8) {
        let rank = match self {
            Event::Send { .. } => 0,
            Event::Select { .. } => 1,
            Event::Pointer { .. } => 2,
            Event::Format { .. } => 3,
            Event::Base { .. } => 4,
        };
        (self.at(), rank)
    }
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Event::Send {
                at,
                from,
                items,
                control,
            } => {
                let width = if control.wide { "64-bit " } else { "" };
                write!(
                    f,
                    "{at}: send {items} {width}items from {from} in {}",
                    control.directions
                )
            }
            Event::Select { at, source, pair } => {
                write!(
                    f,
                    "{at}: {}select {source:#x}",
                    if *pair { "pair " } else { "" }
                )
            }
            Event::Pointer { at, to } => write!(f, "{at}: pointer {to}"),
            Event::Format { at, value } => write!(f, "{at}: format {value}"),
            Event::Base { at, which, value } => {
                let name = match which {
                    BaseRegister::Incoming => "incoming",
                    BaseRegister::Outgoing => "outgoing",
                };
                match value {
                    BaseValue::Register(number) => write!(f, "{at}: {name} base := $m{number}"),
                    BaseValue::Place(place) => write!(f, "{at}: {name} base := {place}"),
                }
            }
        }
    }
}

/// The events of one row.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
pub struct RowEvents {
    /// By [`Event::key`].
    pub events: Vec<Event>,
    /// Events before `br`. The hardware wants at least `sup_row_min` in a row that is not empty;
    /// whoever makes the events sees to that.
    pub horizon: u32,
}

impl RowEvents {
    /// The canonical form, which [`decode`] returns: events in order, and sends that continue one
    /// another without a gap (next event, next address of the same symbol, same control) as one.
    pub fn normalized(&self) -> RowEvents {
        let mut events = self.events.clone();
        events.sort_by_key(Event::key);
        let mut result: Vec<Event> = Vec::with_capacity(events.len());
        let mut last_send = None;
        for event in events {
            if let Some(index) = last_send
                && let Some(merged) = continued(&result[index], &event)
            {
                result[index] = merged;
                continue;
            }
            if matches!(event, Event::Send { .. }) {
                last_send = Some(result.len());
            }
            result.push(event);
        }
        RowEvents {
            events: result,
            horizon: self.horizon,
        }
    }
}

/// The one send that `first` and `second` are together, if they continue one another.
fn continued(first: &Event, second: &Event) -> Option<Event> {
    match (*first, *second) {
        (
            Event::Send {
                at,
                from,
                items,
                control,
            },
            Event::Send {
                at: next,
                from: more,
                items: count,
                control: same,
            },
        ) if control == same
            && at.checked_add(items) == Some(next)
            && items
                .checked_mul(control.item_bytes())
                .and_then(|bytes| from.offset.checked_add(bytes))
                == Some(more.offset)
            && from.symbol == more.symbol =>
        {
            Some(Event::Send {
                at,
                from,
                items: items.checked_add(count)?,
                control,
            })
        }
        _ => None,
    }
}

/// A row in words.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
pub struct Row {
    /// Instruction words, `br $m10` last. A row stands at a multiple of 8.
    pub words: Vec<u32>,
    /// Where symbolic addresses stand, by word.
    pub sites: Vec<AddressSite>,
    /// Events from the issue of the first word to that of `br`.
    pub events: u32,
}

/// Where an address stands: OR `(address >> unit_shift) << field_shift` into `words[word]`, where
/// the field is 0. Only places with a symbol have sites; absolute ones are in the words.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct AddressSite {
    /// Index of the word in the row.
    pub word: u32,
    /// Lowest bit of the field.
    pub field_shift: u8,
    /// Address bits that are cut off and must be 0.
    pub unit_shift: u8,
    /// Bits of the field.
    pub width: u8,
    /// What stands there.
    pub place: Place,
}

/// Why a row cannot be encoded or decoded.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum RowError {
    /// An event stands past the horizon.
    #[error("event {event} lies past the horizon {horizon}")]
    PastHorizon {
        /// The event.
        event: Event,
        /// Events of the row.
        horizon: u32,
    },
    /// A control cannot act at event 0.
    #[error("no control can act at event 0 ({event})")]
    AtZero {
        /// The event.
        event: Event,
    },
    /// Two sends overlap.
    #[error("the send at {second} starts before the send at {first} has ended")]
    SendsOverlap {
        /// Start of the earlier send.
        first: u32,
        /// Start of the later one.
        second: u32,
    },
    /// A control at the first event of a send.
    #[error(
        "{event} falls on the first event of the send at {send}, which can carry controls only as \
         a pointer together with a source"
    )]
    SendStart {
        /// The control.
        event: Event,
        /// Start of the send.
        send: u32,
    },
    /// Two controls at one event that may not be combined.
    #[error(
        "{first} and {second} coincide; only an ordinary pointer and an ordinary source can share \
         one instruction"
    )]
    Coincident {
        /// One control.
        first: Event,
        /// The other.
        second: Event,
    },
    /// A two-word instruction cannot be brought to an even word.
    #[error(
        "the combined controls at event {at} cannot be aligned: no word before them can be split"
    )]
    Parity {
        /// Event of the controls.
        at: u32,
    },
    /// A base switch overlaps something.
    #[error("the base switch at {at} needs {events} events without sends and controls")]
    BaseBlocked {
        /// Its start.
        at: u32,
        /// Its length.
        events: u32,
    },
    /// A value does not fit its field.
    #[error("{event}: {what}")]
    Field {
        /// The event.
        event: Event,
        /// What is wrong.
        what: &'static str,
    },
    /// A word that no row holds.
    #[error("word {index} ({word:#010x}): {why}")]
    BadWord {
        /// Index in the row.
        index: usize,
        /// The word.
        word: u32,
        /// What is wrong.
        why: String,
    },
    /// A row does not end with `br $m10`.
    #[error("the row does not end with `br $m10`")]
    NoEnd,
}
