//! The exchange fabric: what every receiver stores, from what all tiles did in one phase.
//!
//! All clocks are local clocks released in the same cycle; route times contain the skew
//! (`isa/supervisor.md` 9). Item `k` of a send that leaves at cycle `c` passes the receiver's mux at
//! `c + t + k` of the receiver's clock and is stored `52 + 2 * row` later (53 for paired items),
//! where pointer and format of that cycle say (`facts/exchange.md` 1.2, 1.6).

use super::log::{ExchangeLog, SelectEvent, SendSpan, StoreEvent};
use ipucc_chip::{Assumptions, PhysicalTile, csr, fabric, memory};

/// Events from a format control to the first store that it governs.
const FORMAT_LEAD: u64 = 2;

/// Exchange state of a tile that outlives a phase.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PortState {
    /// Selected source.
    pub mux: u16,
    /// Receive pointer, byte address.
    pub pointer: Option<u32>,
    /// Item format.
    pub format: u8,
}

/// One tile's part in a phase.
pub struct Party<'p> {
    /// Logical number.
    pub tile: u16,
    /// Its log.
    pub log: &'p ExchangeLog,
    /// State before the phase; after it on return.
    pub state: PortState,
}

/// A stretch of items that goes from one tile's memory to another's.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Delivery {
    /// Index of the sending party.
    pub source: usize,
    /// Byte address of the first item there.
    pub from: u32,
    /// Cycle (sender's clock) in which the first item is read.
    pub read: u64,
    /// Index of the receiving party.
    pub target: usize,
    /// Byte address of the first item there.
    pub to: u32,
    /// Cycle (receiver's clock) in which the first item is written.
    pub write: u64,
    /// Items.
    pub items: u32,
    /// Bytes of an item, 4 or 8.
    pub size: u32,
}

/// A fault of the fabric: the party it is about, its cycle, and the reason.
pub type Fault = (usize, u64, String);

/// Everything that is delivered in a phase.
///
/// # Errors
/// What silicon is not known to tolerate.
pub fn deliveries(parties: &mut [Party<'_>], a: &Assumptions) -> Result<Vec<Delivery>, Fault> {
    let mut index = vec![usize::MAX; 1472];
    for (i, party) in parties.iter().enumerate() {
        let physical = ipucc_chip::LogicalTile(party.tile).physical().0;
        index[physical as usize] = i;
    }
    let mut arrivals: Vec<Vec<Arrival>> = parties.iter().map(|_| Vec::new()).collect();
    for target in 0..parties.len() {
        receive(parties, &index, target, &mut arrivals)?;
    }
    let mut all = Vec::new();
    for (target, mut list) in arrivals.into_iter().enumerate() {
        list.sort_by_key(|arrival| arrival.write);
        store(parties, target, &list, a, &mut all)?;
    }
    clashes(parties, &all, a)?;
    Ok(all)
}

/// Items on their way into a tile, before pointers are looked at.
#[derive(Clone, Copy)]
struct Arrival {
    source: usize,
    from: u32,
    read: u64,
    write: u64,
    items: u32,
    wide: bool,
}

fn physical(party: &Party<'_>) -> PhysicalTile {
    ipucc_chip::LogicalTile(party.tile).physical()
}

/// Collects what the mux of `target` lets through, for it and, with the pair mux, its partner.
fn receive(
    parties: &mut [Party<'_>],
    index: &[usize],
    target: usize,
    arrivals: &mut [Vec<Arrival>],
) -> Result<(), Fault> {
    let own = physical(&parties[target]);
    for pair in [false, true] {
        let mut selects: Vec<SelectEvent> = parties[target]
            .log
            .selects
            .iter()
            .copied()
            .filter(|s| s.pair == pair)
            .collect();
        if selects.is_empty() {
            continue;
        }
        selects.sort_by_key(|select| select.at);
        if let Some(two) = selects.windows(2).find(|two| two[0].at == two[1].at) {
            let reason = "two source selects take effect in one event".to_owned();
            return Err((target, two[0].at, reason));
        }
        for (i, select) in selects.iter().enumerate() {
            if select.source == csr::MUX_NEUTRAL {
                continue;
            }
            let Some(end) = selects.get(i + 1).map(|next| next.at) else {
                let reason = format!("source {} stays selected when the row ends", select.source);
                return Err((target, select.at, reason));
            };
            let number = if pair {
                select.source ^ (own.0 & 2)
            } else {
                select.source
            };
            let source = index.get(number as usize).copied().unwrap_or(usize::MAX);
            if source == usize::MAX {
                let reason =
                    format!("the selected source {number} is no tile that sends in this phase");
                return Err((target, select.at, reason));
            }
            let members = if pair {
                let partner = index[own.partner().0 as usize];
                if partner == usize::MAX {
                    let reason = "the other tile of the pair takes no part in the phase".to_owned();
                    return Err((target, select.at, reason));
                }
                vec![target, partner]
            } else {
                vec![target]
            };
            window(
                parties,
                (source, target),
                &members,
                (select.at, end),
                pair,
                arrivals,
            )?;
        }
    }
    let last = parties[target]
        .log
        .selects
        .iter()
        .filter(|s| !s.pair)
        .max_by_key(|s| s.at);
    if let Some(last) = last {
        parties[target].state.mux = last.source;
    }
    Ok(())
}

/// The items of `source` that pass the mux of `target` in `[from, until)`.
fn window(
    parties: &[Party<'_>],
    (source, target): (usize, usize),
    members: &[usize],
    (from, until): (u64, u64),
    pair: bool,
    arrivals: &mut [Vec<Arrival>],
) -> Result<(), Fault> {
    let own = physical(&parties[target]);
    let route = fabric::route(physical(&parties[source]), own);
    let mut next = from;
    let at_mux = |span: &SendSpan| span.first as i64 + route.time as i64;
    let spans = &parties[source].log.sends;
    let first = spans.partition_point(|span| at_mux(span) + span.items as i64 <= from as i64);
    for span in &spans[first..] {
        let start = at_mux(span);
        if start >= until as i64 {
            break;
        }
        let low = (start).max(from as i64);
        let high = (start + span.items as i64).min(until as i64);
        if low as u64 != next {
            break;
        }
        if span.directions & route.direction as u8 == 0 {
            let reason = format!(
                "tile {} sends in direction {} only, tile {} lies in direction {}",
                parties[source].tile, span.directions, parties[target].tile, route.direction as u8
            );
            return Err((target, next, reason));
        }
        if span.wide != pair {
            let reason = if pair {
                "32-bit items arrive at a pair mux"
            } else {
                "64-bit items arrive at an ordinary mux"
            };
            return Err((target, next, reason.into()));
        }
        let size = if span.wide { 8 } else { 4 };
        let skip = (low - start) as u32;
        let delay = fabric::SELECT_TO_POINTER as u64 + u64::from(pair) + 2 * own.row() as u64;
        for &member in members {
            arrivals[member].push(Arrival {
                source,
                from: span.address.wrapping_add(skip * size),
                read: span.first + skip as u64,
                write: low as u64 + delay,
                items: (high - low) as u32,
                wide: span.wide,
            });
        }
        next = high as u64;
    }
    if next != until {
        let reason = format!(
            "tile {} is selected from event {from} to {until}, but sends nothing that arrives at {next}",
            parties[source].tile
        );
        return Err((target, next, reason));
    }
    Ok(())
}

/// Where the arrivals of a tile are stored.
fn store(
    parties: &mut [Party<'_>],
    target: usize,
    arrivals: &[Arrival],
    a: &Assumptions,
    all: &mut Vec<Delivery>,
) -> Result<(), Fault> {
    let log = parties[target].log;
    let mut state = parties[target].state;
    let mut events: Vec<StoreEvent> = log.stores.clone();
    // A format control acts two events before the store that it is about: on = pointer - 2,
    // off = on + items (`facts/exchange_findings.md` 2.4).
    let time = |event: &StoreEvent| match *event {
        StoreEvent::Pointer { at, .. } => at,
        StoreEvent::Format { at, .. } => at + FORMAT_LEAD,
    };
    events.sort_by_key(time);
    let offset = u64::from(a.exch_write_offset);
    let mut waiting = events.into_iter().peekable();
    let mut apply = |state: &mut PortState, until: u64| -> Option<u64> {
        while let Some(event) = waiting.next_if(|event| time(event) <= until) {
            match event {
                StoreEvent::Pointer { address, .. } => state.pointer = Some(address),
                StoreEvent::Format { value, .. } => state.format = value,
            }
        }
        waiting.peek().map(time)
    };
    let mut free = 0;
    for arrival in arrivals {
        if arrival.write < free {
            let reason = "items of two sources arrive at the same time".to_owned();
            return Err((target, arrival.write, reason));
        }
        free = arrival.write + arrival.items as u64;
        let mut done = 0;
        while done < arrival.items {
            let now = arrival.write + done as u64;
            let next = apply(&mut state, now);
            if (state.format != 0) != arrival.wide {
                let reason = format!(
                    "{}-bit items arrive while the item format is {}",
                    if arrival.wide { 64 } else { 32 },
                    state.format
                );
                return Err((target, now, reason));
            }
            let left = arrival.items - done;
            let items = next.map_or(left, |next| {
                left.min((next - now).min(u32::MAX as u64) as u32)
            });
            let size = if arrival.wide { 8 } else { 4 };
            let to = state.pointer.unwrap_or(0);
            if !memory::is_populated(to, items * size) || !to.is_multiple_of(size) {
                let reason = format!("{items} items are stored at {to:#x} (receive error 3)");
                return Err((target, now, reason));
            }
            let from = arrival.from.wrapping_add(done * size);
            if !memory::is_populated(from, items * size) || !from.is_multiple_of(size) {
                let reason = format!("{items} items are sent from {from:#x}");
                return Err((arrival.source, arrival.read, reason));
            }
            all.push(Delivery {
                source: arrival.source,
                from,
                read: arrival.read + done as u64,
                target,
                to,
                write: now + offset,
                items,
                size,
            });
            state.pointer = Some(to + items * size);
            done += items;
        }
        if free + offset > log.end {
            let reason = format!(
                "items arrive until event {free}, after the end of the row at {}",
                log.end
            );
            return Err((target, free, reason));
        }
    }
    apply(&mut state, u64::MAX);
    parties[target].state.pointer = state.pointer;
    parties[target].state.format = state.format;
    Ok(())
}

fn units(address: u32, bytes: u32, a: &Assumptions) -> std::ops::RangeInclusive<u32> {
    let last = address + bytes.max(1) - 1;
    match a.exch_clash_unit {
        ipucc_chip::assumptions::ClashUnit::Pair => {
            memory::exchange_unit(address)..=memory::exchange_unit(last)
        }
        ipucc_chip::assumptions::ClashUnit::Element
            if bytes > 8 || address < memory::INTERLEAVED_BASE =>
        {
            let pair = |element: u32| {
                if element < 13 {
                    element
                } else {
                    (element - 13) & !1 | 13
                }
            };
            let (low, high) = (memory::element(address), memory::element(last));
            pair(low).min(low)..=high.max(pair(high) + u32::from(high >= 13))
        }
        ipucc_chip::assumptions::ClashUnit::Element => {
            memory::element(address)..=memory::element(address)
        }
    }
}

fn meet(a: &std::ops::RangeInclusive<u32>, b: &std::ops::RangeInclusive<u32>) -> bool {
    a.start() <= b.end() && b.start() <= a.end()
}

/// Memory rules of a phase: reads of sends against writes of receives, and both against the row's
/// own code (`facts/exchange.md` 2).
fn clashes(parties: &[Party<'_>], all: &[Delivery], a: &Assumptions) -> Result<(), Fault> {
    let mut writes: Vec<Vec<&Delivery>> = parties.iter().map(|_| Vec::new()).collect();
    for delivery in all {
        writes[delivery.target].push(delivery);
    }
    for (index, party) in parties.iter().enumerate() {
        let code = party
            .log
            .code
            .map(|(low, high)| units(low, high - low + 1, a));
        for delivery in &writes[index] {
            let span = units(delivery.to, delivery.items * delivery.size, a);
            if code.as_ref().is_some_and(|code| meet(code, &span)) {
                let reason = "received items meet the element of the running row (conflict)";
                return Err((index, delivery.write, reason.into()));
            }
        }
        for send in &party.log.sends {
            let size = if send.wide { 8 } else { 4 };
            let bytes = send.items * size;
            if !memory::is_populated(send.address, bytes) || !send.address.is_multiple_of(size) {
                let reason = format!("{} items are sent from {:#x}", send.items, send.address);
                return Err((index, send.first, reason));
            }
            let span = units(send.address, bytes, a);
            if code.as_ref().is_some_and(|code| meet(code, &span)) {
                let reason =
                    "the source of a send lies in the element of the running row (conflict)";
                return Err((index, send.first, reason.into()));
            }
            let (from, until) = (send.first - 1, send.first + send.items as u64 - 1);
            for delivery in &writes[index] {
                let low = delivery.write;
                let high = low + delivery.items as u64 + fabric::WRITE_GUARD as u64;
                let together = low < until && from < high;
                if together
                    && meet(
                        &span,
                        &units(delivery.to, delivery.items * delivery.size, a),
                    )
                {
                    let reason = "a send reads an element that a receive writes (conflict)";
                    return Err((index, send.first, reason.into()));
                }
            }
        }
    }
    Ok(())
}
