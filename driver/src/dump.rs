//! What the passes behind the tensor language decided, as text.

use ipucc_chip::PhysicalTile;
use ipucc_codegen::Interval;
use ipucc_machine::row::{BaseValue, Event, Place};
use ipucc_tile::Step;
use ipucc_tile::schedule::{AbstainMode, Scheduled};
use ipucc_tile::sram::{Placement, Problem, step_names};
use std::fmt::Write as _;

/// What the words of a tile program mean, for who reads one for the first time.
pub const TILE_LEGEND: &str = "\
// value %vN: a tensor cut over tiles. cuts [parts/granule, ..] by axis; copies of each part; tiles in
//   the order of the parts (copies of a part stand together; the last axis runs fastest). layout: order of the
//   elements in a tile's buffer, axes outermost first. align, tail: bytes; tail may be read behind the
//   buffer. memory interleaved: from 0x80000 on.
// exchange: N words FROM-TILE@WORD -> TO-TILE@WORD, words (4 bytes) counted from the start of the
//   tile's buffer. compute: tiles KERNEL(shape on one tile) (operands, results last).
// The grammar is in docs/tile_language.md, the meaning in docs/contracts.md 4.
";

const PHASE_LEGEND: &str = "\
// A phase is one exchange step. Events are tile cycles from the first word of a tile's row, which all
// tiles reach together. horizon: events of the longest row. Its lower bounds: words = the most words that
// one tile sends or receives; routes = the same with the time that words travel.
// select T: the tile listens to tile T (none: to nobody). pointer: where received words go from then on.
// send: N items (4 bytes) leave from that event + 1 on, in fabric direction 1, 2 or 3 (both).
// Places are bytes from the start of the value's buffer on that tile.
";

const ABSTAIN_LEGEND: &str = "\
// A tile without work in a phase posts a credit, which stands for it at the phase's barrier: in mode
// per-phase when it comes to the phase, in mode advance as early as it can, for runs of phases.
";

const SRAM_LEGEND: &str = "\
// All sizes in bytes. peak: from the lowest to the highest used byte of both memory regions together,
// holes included. live bound: the most bytes that are live in any step, which no placement goes below.
// live FIRST..END: when the content must last, END excluded: 0 is loading, N + 1 is step N of the tile
// program. Ranges of tiles exclude their end.
";

const PROFILE_LEGEND: &str = "\
// Predicted cycles. Each interval runs from a barrier's release to the last arrival at the next one, on
// the tile that arrives last; steps are those of the tile program, with their cycles on that tile.
";

/// An event with tiles and values by their names in the tile program.
fn event_text(event: &Event) -> String {
    let place = |place: &Place| match place.symbol {
        Some(symbol) => format!("%v{}+{}", symbol.0, place.offset),
        None => format!("{:#x}", place.offset),
    };
    match *event {
        Event::Send {
            at,
            ref from,
            items,
            control,
        } => {
            let width = if control.wide { "64-bit " } else { "" };
            let from = place(from);
            let direction = control.directions;
            format!("{at:>7}  send {items} {width}items from {from}, direction {direction}")
        }
        Event::Select { at, source, pair } => {
            let pair = if pair { "pair " } else { "" };
            match PhysicalTile(source).logical() {
                Some(tile) => format!("{at:>7}  {pair}select tile {}", tile.0),
                None => format!("{at:>7}  {pair}select none"),
            }
        }
        Event::Pointer { at, ref to } => format!("{at:>7}  pointer {}", place(to)),
        Event::Format { at, value } => format!("{at:>7}  item format {value}"),
        Event::Base {
            at,
            which,
            ref value,
        } => {
            let value = match value {
                BaseValue::Register(number) => format!("$m{number}"),
                BaseValue::Place(to) => place(to),
            };
            format!("{at:>7}  {which:?} base := {value}")
        }
    }
}

/// The phases: horizon beside its bounds, tiles that take part, events of the longest row.
pub fn phases(scheduled: &Scheduled) -> String {
    let mut out = PHASE_LEGEND.to_owned();
    let names = step_names(&scheduled.program);
    for (index, phase) in scheduled.phases.iter().enumerate() {
        let events: usize = phase.rows.values().map(|row| row.events.len()).sum();
        let _ = writeln!(
            out,
            "phase {index} ({}): horizon {} events, lower bounds {} by words, {} by routes; \
             {} tiles, {events} events",
            step_text(&phase.step, &names),
            phase.horizon,
            phase.bound_words,
            phase.bound_route,
            phase.rows.len()
        );
        let longest = phase
            .rows
            .iter()
            .max_by_key(|(tile, row)| (row.horizon, tile.0));
        if let Some((tile, row)) = longest {
            let _ = writeln!(out, "  the longest row, of tile {}:", tile.0);
            for event in row.events.iter().take(16) {
                let _ = writeln!(out, "  {}", event_text(event));
            }
            if row.events.len() > 16 {
                let _ = writeln!(out, "           and {} more", row.events.len() - 16);
            }
        }
    }
    out
}

/// Number and name of a step, and its numbers inside repeats.
fn step_text(path: &[u32], names: &[String]) -> String {
    let inner: String = path.iter().skip(1).map(|step| format!(".{step}")).collect();
    // The first name is that of loading.
    let name = path
        .first()
        .and_then(|&first| names.get(first as usize + 1));
    format!("{}{inner}", name.map_or("", String::as_str))
}

/// The tile with the highest peak, the first of several.
pub fn fullest(placements: &[Placement]) -> Option<usize> {
    let tiles = placements.iter().enumerate();
    tiles
        .max_by_key(|(tile, p)| (p.peak_bytes, usize::MAX - tile))
        .map(|(tile, _)| tile)
}

/// Peak and bound of tile memory of every tile, and where everything of the fullest tile stands;
/// `problem` is that tile's.
pub fn placements(placements: &[Placement], problem: Option<&Problem>) -> String {
    let mut out = SRAM_LEGEND.to_owned();
    let mean = placements
        .iter()
        .map(|p| u64::from(p.peak_bytes))
        .sum::<u64>()
        / placements.len().max(1) as u64;
    if let Some((tile, placement)) = fullest(placements).map(|tile| (tile, &placements[tile])) {
        let _ = writeln!(
            out,
            "fullest tile {tile}: peak {} bytes, live bound {} bytes; mean peak {mean} bytes over {} tiles",
            placement.peak_bytes,
            placement.bound_bytes,
            placements.len()
        );
        let requests = problem.map_or(&[][..], |problem| &problem.requests);
        let mut rows: Vec<_> = placement.addresses.iter().zip(requests).collect();
        rows.sort_by_key(|(address, request)| (**address, request.live));
        for (address, request) in rows {
            let _ = writeln!(
                out,
                "  {address:#x} {:>7} {:<7} {:<24} live {}..{}",
                request.bytes,
                format!("{:?}", request.kind).to_lowercase(),
                request.name,
                request.live.0,
                request.live.1
            );
        }
    }
    let bytes = |p: &Placement| (p.peak_bytes, p.bound_bytes);
    for (first, end) in ranges(placements, |a, b| bytes(a) == bytes(b)) {
        let (peak, bound) = bytes(&placements[first]);
        let tiles = tile_range(first, end);
        let _ = writeln!(
            out,
            "  {tiles}: peak {peak} bytes, live bound {bound} bytes"
        );
    }
    out
}

/// Who abstains from which phases.
pub fn abstention(scheduled: &Scheduled) -> String {
    let mut out = ABSTAIN_LEGEND.to_owned();
    let mode = match scheduled.abstain {
        AbstainMode::PerPhase => "per-phase",
        AbstainMode::Advance => "advance",
    };
    let posts: usize = scheduled.absences.iter().map(Vec::len).sum();
    let credits: u64 = scheduled
        .absences
        .iter()
        .flatten()
        .map(|absence| u64::from(absence.count))
        .sum();
    let _ = writeln!(
        out,
        "mode {mode}: {} phases, {credits} absences posted {posts} times",
        scheduled.phases.len()
    );
    for (first, end) in ranges(&scheduled.absences, |a, b| a == b) {
        let list: Vec<String> = scheduled.absences[first]
            .iter()
            .map(|absence| match absence.count {
                1 => absence.first.to_string(),
                count => format!("{}..{}", absence.first, absence.first + count),
            })
            .collect();
        let phases = match list.is_empty() {
            true => "none".to_owned(),
            false => list.join(", "),
        };
        let tiles = tile_range(first, end);
        let _ = writeln!(out, "  {tiles} abstain from: {phases}");
    }
    out
}

/// Ranges of neighbours that are the same.
fn ranges<T>(list: &[T], same: impl Fn(&T, &T) -> bool) -> Vec<(usize, usize)> {
    let mut ranges: Vec<(usize, usize)> = Vec::new();
    for (index, item) in list.iter().enumerate() {
        match ranges.last_mut() {
            Some(range) if same(&list[range.0], item) => range.1 = index + 1,
            _ => ranges.push((index, index + 1)),
        }
    }
    ranges
}

fn tile_range(first: usize, end: usize) -> String {
    match end - first {
        1 => format!("tile {first}"),
        _ => format!("tiles {first}..{end}"),
    }
}

/// Cycles from barrier to barrier on the tile that arrives last, by step, and what kind of work all
/// cycles go to.
pub fn profile(scheduled: &Scheduled, critical: &[Interval]) -> String {
    let mut out = PROFILE_LEGEND.to_owned();
    let program = &scheduled.program;
    let (mut computing, mut exchanging) = (0, 0);
    for (index, interval) in critical.iter().enumerate() {
        let total = interval.to - interval.from;
        let wait = index.checked_sub(1).map_or(0, |before| {
            interval.from.saturating_sub(critical[before].to)
        });
        let _ = writeln!(
            out,
            "barrier {index}: {wait} cycles until tile {} went on, {total} until the next arrival",
            interval.tile
        );
        for &(step, cycles) in &interval.steps {
            let (kind, label) = match program.steps.get(step as usize) {
                Some(Step::Compute(compute)) => {
                    computing += cycles;
                    ("compute", compute.label.as_str())
                }
                Some(Step::Exchange(exchange)) => {
                    exchanging += cycles;
                    ("exchange", exchange.label.as_str())
                }
                _ => ("other", ""),
            };
            let _ = writeln!(out, "  {cycles:>7} {kind:<8} step {step:<4} {label}");
        }
    }
    let (first, last) = match (critical.get(1), critical.last()) {
        (Some(first), Some(last)) => (first.from, last.to),
        _ => (0, 0),
    };
    let all = last - first;
    let _ = writeln!(
        out,
        "{all} cycles behind the first barrier: {computing} in compute steps, {exchanging} in exchange \
         steps, {} at barriers and between steps",
        all.saturating_sub(computing + exchanging)
    );
    out
}
