//! What the passes behind the tensor language decided, as text.

use ipucc_codegen::Interval;
use ipucc_tile::Step;
use ipucc_tile::schedule::{AbstainMode, Scheduled};
use ipucc_tile::sram::Placement;
use std::fmt::Write as _;

/// The phases: horizon beside its bounds, tiles that take part, events of the longest row.
pub fn phases(scheduled: &Scheduled) -> String {
    let mut out = String::new();
    for (index, phase) in scheduled.phases.iter().enumerate() {
        let events: usize = phase.rows.values().map(|row| row.events.len()).sum();
        let _ = writeln!(
            out,
            "phase {index} (step {:?}): horizon {} events, bound by words {}, by routes {}; {} tiles, {events} events",
            &phase.step[..],
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
            let _ = writeln!(out, "  longest row, tile {}:", tile.0);
            for event in row.events.iter().take(16) {
                let _ = writeln!(out, "    {event:?}");
            }
            if row.events.len() > 16 {
                let _ = writeln!(out, "    and {} more", row.events.len() - 16);
            }
        }
    }
    out
}

/// Peak and bound of tile memory of every tile, and the addresses of the fullest tile's values.
pub fn placements(scheduled: &Scheduled, placements: &[Placement]) -> String {
    let mut out = String::new();
    let fullest = placements
        .iter()
        .enumerate()
        .max_by_key(|(tile, p)| (p.peak_bytes, usize::MAX - tile));
    let mean = placements
        .iter()
        .map(|p| u64::from(p.peak_bytes))
        .sum::<u64>()
        / placements.len().max(1) as u64;
    if let Some((tile, placement)) = fullest {
        let _ = writeln!(
            out,
            "fullest tile {tile}: peak {} bytes, live bound {} bytes; mean peak {mean} bytes over {} tiles",
            placement.peak_bytes,
            placement.bound_bytes,
            placements.len()
        );
        let _ = writeln!(out, "  addresses: {:x?}", placement.addresses);
    }
    let _ = writeln!(
        out,
        "  {} values in the program",
        scheduled.program.values.len()
    );
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
    let mut out = String::new();
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
    let mut out = String::new();
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
