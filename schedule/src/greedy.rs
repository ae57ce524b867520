//! A plain list scheduler for one phase: longest endpoint first, earliest legal start.
//!
//! It handles point-to-point messages and multicasts of 32-bit items. Where addresses are known
//! already, a message waits for the earlier ones of the list whose words it meets, and a tile does
//! not read and write one memory element at a time (`facts/exchange.md` 2); where they are not,
//! messages of one phase must not depend on each other, and elements are the business of `sram`.

use crate::bits::Bits;
use ipucc_chip::{Assumptions, LogicalTile, fabric, memory};
use ipucc_machine::row::{Event, Place, RowEvents, SendControl};
use std::collections::BTreeMap;

/// XPIC value of no source (`facts/exchange.md` 1.4).
const NEUTRAL: u16 = 0x640;

/// No send starts later: a row cannot be longer (`facts/exchange.md` 1.4 counts events in 20 bits).
const LAST_START: i64 = 1 << 20;

/// Words that go from one tile to one or several.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Message {
    /// Sender.
    pub source: LogicalTile,
    /// Address of the first word at the sender.
    pub from: Place,
    /// Number of words, at least 1.
    pub words: u32,
    /// Receivers with their addresses.
    pub destinations: Vec<(LogicalTile, Place)>,
}

/// Rows of a phase.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Timed {
    /// Rows by tile.
    pub rows: BTreeMap<LogicalTile, RowEvents>,
    /// Events of the longest row.
    pub horizon: u32,
    /// Most words at one endpoint.
    pub bound_words: u32,
    /// Bound that knows the routes.
    pub bound_route: u32,
}

#[derive(Default)]
struct Tile {
    /// Sends (start, end), in the order in which they were placed.
    sends: Vec<(i64, i64, Place, u8)>,
    /// Source selects: event -> source; a neutral at the end of a window that nothing follows.
    selects: BTreeMap<i64, u16>,
    /// Pointer events, with the words that follow.
    pointers: BTreeMap<i64, (Place, u32)>,
    /// Events of own sends.
    sending: Bits,
    /// The first two events of own sends: no receive control may fall on them.
    starts: Bits,
    /// Events in which a source is selected; holes are filled by later messages.
    receiving: Bits,
    /// Events of selects.
    select_at: Bits,
    /// Events of pointers.
    pointer_at: Bits,
    horizon: i64,
    /// Windows in which elements are read and written: (start, end, elements as bits).
    reads: Vec<(i64, i64, u32)>,
    writes: Vec<(i64, i64, u32)>,
}

/// Schedules the messages of a phase.
///
/// # Errors
/// A message that no start suits, in words.
pub fn schedule_messages(
    messages: &[Message],
    _assumptions: &Assumptions,
) -> Result<Timed, String> {
    let mut sent: BTreeMap<LogicalTile, i64> = BTreeMap::new();
    let mut received: BTreeMap<LogicalTile, i64> = BTreeMap::new();
    for message in messages {
        *sent.entry(message.source).or_default() += message.words as i64;
        for (tile, _) in &message.destinations {
            *received.entry(*tile).or_default() += message.words as i64;
        }
    }
    let load = |message: &Message| {
        let most = message
            .destinations
            .iter()
            .map(|(tile, _)| received[tile])
            .max();
        sent[&message.source].max(most.unwrap_or(0))
    };
    let mut order: Vec<usize> = (0..messages.len()).collect();
    order.sort_by_key(|&i| (-load(&messages[i]), i));

    let mut tiles: BTreeMap<LogicalTile, Tile> = BTreeMap::new();
    let waits = dependencies(messages);
    if waits.iter().all(Vec::is_empty) {
        for &index in &order {
            place(&mut tiles, &messages[index], 0)?;
        }
    } else {
        in_waves(&mut tiles, messages, &order, &waits)?;
    }
    let bound = |words: &BTreeMap<LogicalTile, i64>| words.values().copied().max().unwrap_or(0);
    let rows: BTreeMap<LogicalTile, RowEvents> = tiles
        .into_iter()
        .map(|(tile, state)| (tile, row(state)))
        .collect();
    Ok(Timed {
        horizon: rows.values().map(|row| row.horizon).max().unwrap_or(0),
        rows,
        bound_words: bound(&sent).max(bound(&received)) as u32,
        bound_route: route_bound(messages, &received).max(chain_bound(messages, &waits)) as u32,
    })
}

/// Places messages of which some wait for others: of those that wait for none that is not placed
/// yet, in the order given.
fn in_waves(
    tiles: &mut BTreeMap<LogicalTile, Tile>,
    messages: &[Message],
    order: &[usize],
    waits: &[Vec<usize>],
) -> Result<(), String> {
    let mut ends: Vec<Option<i64>> = vec![None; messages.len()];
    let mut left: Vec<usize> = order.to_vec();
    while !left.is_empty() {
        let ready = |index: usize| waits[index].iter().all(|&before| ends[before].is_some());
        let (now, later): (Vec<usize>, Vec<usize>) = left.iter().partition(|&&index| ready(index));
        for index in now {
            let earliest = waits[index].iter().filter_map(|&before| ends[before]).max();
            let end = place(tiles, &messages[index], earliest.unwrap_or(0))?;
            ends[index] = Some(end);
        }
        left = later;
    }
    Ok(())
}

/// For every message the earlier ones whose words it meets on a tile, one of the two writing.
/// Places without an address meet nothing.
fn dependencies(messages: &[Message]) -> Vec<Vec<usize>> {
    // (tile, start, end, message, is write).
    let mut spans: Vec<(LogicalTile, u32, u32, usize, bool)> = Vec::new();
    for (index, message) in messages.iter().enumerate() {
        let ends = message
            .destinations
            .iter()
            .map(|(tile, to)| (*tile, to, true));
        for (tile, place, write) in ends.chain([(message.source, &message.from, false)]) {
            if place.symbol.is_none() {
                let end = place.offset.saturating_add(message.words * 4);
                spans.push((tile, place.offset, end, index, write));
            }
        }
    }
    spans.sort_unstable();
    let mut waits = vec![Vec::new(); messages.len()];
    // Spans of the tile that reach behind the start of the next one.
    let mut open: Vec<(LogicalTile, u32, usize, bool)> = Vec::new();
    for (tile, start, end, index, write) in spans {
        open.retain(|&(on, reach, ..)| on == tile && reach > start);
        for &(_, _, other, wrote) in &open {
            if (write || wrote) && other != index {
                waits[index.max(other)].push(index.min(other));
            }
        }
        open.push((tile, end, index, write));
    }
    for list in &mut waits {
        list.sort_unstable();
        list.dedup();
    }
    waits
}

/// Memory elements of words at a known address, as bits.
fn elements(place: &Place, words: u32) -> u32 {
    if place.symbol.is_some() {
        return 0;
    }
    let last = place.offset.saturating_add(words * 4 - 1);
    let units = memory::exchange_unit(place.offset)..=memory::exchange_unit(last);
    units.fold(0, |bits, unit| bits | 1u32.checked_shl(unit).unwrap_or(0))
}

/// The end of a window that one from `start` to `end` must not meet, if there is one.
fn clash(windows: &[(i64, i64, u32)], start: i64, end: i64, elements: u32) -> Option<i64> {
    let meets = windows
        .iter()
        .filter(|&&(from, to, others)| others & elements != 0 && from < end && start < to);
    meets.map(|&(_, to, _)| to).max()
}

/// Places a message not before `earliest`; the event in which it is complete.
fn place(
    tiles: &mut BTreeMap<LogicalTile, Tile>,
    message: &Message,
    earliest: i64,
) -> Result<i64, String> {
    let words = message.words as i64;
    let sender = message.source.physical();
    if message
        .destinations
        .iter()
        .any(|(tile, _)| *tile == message.source)
    {
        return Err(format!(
            "{} sends to itself; local data is copied by a kernel",
            message.source
        ));
    }
    let routes: Vec<fabric::Route> = message
        .destinations
        .iter()
        .map(|(tile, _)| fabric::route(sender, tile.physical()))
        .collect();
    let mut earliest = routes
        .iter()
        .map(|route| -(route.time as i64))
        .max()
        .unwrap_or(0)
        .max(earliest);
    tiles.entry(message.source).or_default();
    for (tile, _) in &message.destinations {
        tiles.entry(*tile).or_default();
    }
    let receivers: Vec<(&Tile, i64, i64)> = message
        .destinations
        .iter()
        .zip(&routes)
        .map(|((tile, _), route)| {
            let select = fabric::select_event(0, route.time);
            let pointer = fabric::pointer_event(select, tile.physical().row());
            (&tiles[tile], select, pointer)
        })
        .collect();
    let read = elements(&message.from, message.words);
    let written: Vec<u32> = message
        .destinations
        .iter()
        .map(|(_, to)| elements(to, message.words))
        .collect();
    let start = loop {
        let start = first_start(&tiles[&message.source], &receivers, words, earliest);
        let start = start.ok_or_else(|| {
            format!(
                "no legal start for a message of {words} words from {}",
                message.source
            )
        })?;
        // Behind what holds an element that the message needs.
        let source = &tiles[&message.source];
        let mut next = clash(&source.writes, start, start + words, read);
        for (&(state, _, pointer), &elements) in receivers.iter().zip(&written) {
            let from = start + pointer;
            let to = from + words + fabric::WRITE_GUARD as i64;
            let end = clash(&state.reads, from, to, elements).map(|end| end - pointer);
            next = next.max(end);
        }
        match next {
            Some(next) => earliest = next,
            None => break start,
        }
    };
    let directions = routes
        .iter()
        .fold(0u8, |bits, route| bits | route.direction as u8);
    let directions = if message.destinations.len() > 1 {
        3
    } else {
        directions
    };
    if let Some(source) = tiles.get_mut(&message.source) {
        let end = start + words;
        source.sends.push((start, end, message.from, directions));
        source.sending.insert(start, end);
        source.starts.insert(start, start + 2);
        source.horizon = source.horizon.max(end);
        source.reads.push((start, end, read));
    }
    let mut complete = start + words;
    for (((tile, to), route), &elements) in message.destinations.iter().zip(&routes).zip(&written) {
        let row = tile.physical().row();
        let select = fabric::select_event(start, route.time);
        let pointer = fabric::pointer_event(select, row);
        if let Some(state) = tiles.get_mut(tile) {
            state.selects.insert(select, sender.0);
            // A window that follows at once takes over without a neutral between.
            state.selects.entry(select + words).or_insert(NEUTRAL);
            state.select_at.insert(select, select + 1);
            state.select_at.insert(select + words, select + words + 1);
            state.pointers.insert(pointer, (*to, message.words));
            state.pointer_at.insert(pointer, pointer + 1);
            state.receiving.insert(select, select + words);
            state.horizon = state
                .horizon
                .max(fabric::receive_horizon(select, words, row));
            let guard = fabric::WRITE_GUARD as i64;
            state
                .writes
                .push((pointer, pointer + words + guard, elements));
            complete = complete.max(pointer + words);
        }
    }
    Ok(complete)
}

/// The first start from `earliest` on that no rule forbids; select and pointer events of receivers
/// are given for a start at 0.
fn first_start(
    source: &Tile,
    receivers: &[(&Tile, i64, i64)],
    words: i64,
    earliest: i64,
) -> Option<i64> {
    let mut start = earliest;
    while start < LAST_START {
        // Starts from here on that single events forbid, as bits.
        let mut forbidden = source.sending.block(start);
        for offset in 0..2 {
            forbidden |= source.select_at.block(start + offset);
            forbidden |= source.pointer_at.block(start + offset);
        }
        for &(state, select, pointer) in receivers {
            forbidden |= state.receiving.block(start + select);
            for control in [select, select + words, pointer] {
                forbidden |= state.starts.block(start + control);
            }
            // Both controls in one event need a two-word instruction at an even place, which rows
            // of short messages cannot always give.
            for other in [select, select + words, pointer] {
                forbidden |= state.pointer_at.block(start + other);
            }
            forbidden |= state.select_at.block(start + pointer);
        }
        let skip = i64::from(forbidden.trailing_ones());
        start += skip;
        if skip == 64 {
            continue;
        }
        // The rest of the message must be free too; behind the last event that is not is the next
        // start that can be.
        let sending = source.sending.last_in(start, start + words);
        let blocked = receivers.iter().filter_map(|&(state, select, _)| {
            let from = start + select;
            let last = state.receiving.last_in(from, from + words)?;
            Some(last - select)
        });
        match blocked.chain(sending).max() {
            Some(last) => start = last + 1,
            None => return Some(start),
        }
    }
    None
}

/// The events of a tile. What follows by itself is left out: a send that continues the one before,
/// a select of the source that is selected, a pointer to where the pointer already stands.
fn row(mut state: Tile) -> RowEvents {
    state.sends.sort_unstable_by_key(|send| send.0);
    let mut events: Vec<Event> = Vec::new();
    let mut sends: Vec<(i64, i64, Place, u8)> = Vec::new();
    for (start, end, from, directions) in state.sends {
        match sends.last_mut() {
            Some((first, last, place, same))
                if *last == start
                    && *same == directions
                    && place.plus((*last - *first) as u32 * 4) == from =>
            {
                *last = end;
            }
            _ => sends.push((start, end, from, directions)),
        }
    }
    for (start, end, from, directions) in sends {
        events.push(Event::Send {
            at: start as u32,
            from,
            items: (end - start) as u32,
            control: SendControl {
                directions,
                wide: false,
            },
        });
    }
    let mut selected = NEUTRAL;
    for (at, source) in state.selects {
        if source != selected {
            events.push(Event::Select {
                at: at as u32,
                source,
                pair: false,
            });
            selected = source;
        }
    }
    let mut next = None;
    for (at, (to, words)) in state.pointers {
        if next != Some(to) {
            events.push(Event::Pointer { at: at as u32, to });
        }
        next = Some(to.plus(words * 4));
    }
    let key = |event: &Event| match *event {
        Event::Send { at, .. } => (at, 0),
        Event::Select { at, .. } => (at, 1),
        Event::Pointer { at, .. } => (at, 2),
        Event::Format { at, .. } => (at, 3),
        Event::Base { at, .. } => (at, 4),
    };
    events.sort_by_key(key);
    RowEvents {
        events,
        horizon: state.horizon.max(6) as u32,
    }
}

/// The longest chain of messages that wait for one another, each sent whole: a message begins when
/// those before it are complete, and reads what one of them wrote behind the write's guard, because
/// that stands in the same element.
fn chain_bound(messages: &[Message], waits: &[Vec<usize>]) -> i64 {
    if waits.iter().all(Vec::is_empty) {
        return 0;
    }
    // By message: when it is complete, and when each destination has its last word.
    let mut ends: Vec<(i64, Vec<i64>)> = Vec::with_capacity(messages.len());
    let mut bound = 0;
    for (message, before) in messages.iter().zip(waits) {
        let words = message.words as i64;
        let sender = message.source.physical();
        let routes: Vec<(i64, u16)> = message
            .destinations
            .iter()
            .map(|(tile, _)| {
                let physical = tile.physical();
                let time = fabric::route(sender, physical).time as i64;
                (time, physical.row())
            })
            .collect();
        let mut start = routes.iter().map(|&(time, _)| -time).fold(0, i64::max);
        for &other in before {
            let earlier = &messages[other];
            start = start.max(ends[other].0);
            for ((tile, to), &last) in earlier.destinations.iter().zip(&ends[other].1) {
                let (read, written) = (message.from.offset, to.offset);
                let relay = *tile == message.source
                    && read < written + 4 * earlier.words
                    && written < read + 4 * message.words;
                if relay {
                    start = start.max(last + fabric::WRITE_GUARD as i64);
                }
            }
        }
        let mut arrivals = Vec::with_capacity(routes.len());
        for (time, row) in routes {
            let select = start + time + 1;
            arrivals.push(fabric::pointer_event(select, row) + words);
            bound = bound.max(fabric::receive_horizon(select, words, row));
        }
        let complete = arrivals.iter().copied().fold(start + words, i64::max);
        ends.push((complete, arrivals));
    }
    bound
}

/// Both sides of `scheduling_notes`' simple route-aware bound.
fn route_bound(messages: &[Message], received: &BTreeMap<LogicalTile, i64>) -> i64 {
    let mut first: BTreeMap<LogicalTile, i64> = BTreeMap::new();
    let mut senders: BTreeMap<LogicalTile, (i64, i64, i64)> = BTreeMap::new();
    for message in messages {
        let sender = message.source.physical();
        let times = message.destinations.iter().map(|(tile, _)| {
            let physical = tile.physical();
            (
                *tile,
                fabric::route(sender, physical).time as i64,
                physical.row() as i64,
            )
        });
        let start = times.clone().map(|(_, t, _)| -t).max().unwrap_or(0).max(0);
        let mut tail = i64::MIN;
        for (tile, t, row) in times {
            let select = start + t + 1;
            let entry = first.entry(tile).or_insert(select);
            *entry = (*entry).min(select);
            tail = tail.max(t + 2 * row);
        }
        let entry = senders.entry(message.source).or_insert((start, 0, tail));
        entry.0 = entry.0.min(start);
        entry.1 += message.words as i64;
        entry.2 = entry.2.min(tail);
    }
    let receivers = first.iter().map(|(tile, select)| {
        fabric::receive_horizon(*select, received[tile], tile.physical().row())
    });
    let senders = senders
        .values()
        .map(|(start, words, tail)| start + words + tail + 58);
    receivers.chain(senders).max().unwrap_or(0)
}
