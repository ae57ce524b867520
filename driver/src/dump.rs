//! What the passes behind the tensor language decided, as text.

use ipucc_tile::schedule::Scheduled;
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

/// Peak and bound of tile memory, and the addresses of the fullest tile's values.
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
    out
}
