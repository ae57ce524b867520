//! What the passes behind the tensor language decided, as text.

use ipucc_tile::schedule::Scheduled;
use ipucc_tile::sram::Placement;
use ipucc_tile::{LayoutKind, Program, Step, TileSet, ValueData};
use std::fmt::Write as _;

fn layout(data: &ValueData) -> String {
    let order: Vec<String> = data.layout.order.iter().map(ToString::to_string).collect();
    let order = order.join(", ");
    match data.layout.kind {
        LayoutKind::Row { pitch } => format!("row(order [{order}], pitch {pitch})"),
        LayoutKind::AmpLhs { panel } => format!("amp_lhs(order [{order}], panel {panel})"),
        LayoutKind::AmpRhs { panel } => format!("amp_rhs(order [{order}], panel {panel})"),
    }
}

fn tiles(set: &TileSet) -> String {
    let ranges: Vec<String> = set
        .ranges()
        .iter()
        .map(|&(first, end)| {
            if end == first + 1 {
                first.to_string()
            } else {
                format!("{first}..{end}")
            }
        })
        .collect();
    match ranges.len() {
        0..=6 => ranges.join(" "),
        more => format!(
            "{} .. ({more} ranges, {} tiles)",
            ranges[..3].join(" "),
            set.len()
        ),
    }
}

/// The tile program: values with their cuts and layouts, steps with their calls and transfers.
pub fn program(program: &Program) -> String {
    let mut out = format!("tile program {} on {} tiles\n", program.name, program.tiles);
    for (value, data) in &program.values {
        let cuts: Vec<String> = data
            .distribution
            .cuts
            .iter()
            .map(|cut| format!("{}/{}", cut.parts, cut.granule))
            .collect();
        let extents: Vec<String> = data.shape.iter().map(ToString::to_string).collect();
        let _ = writeln!(
            out,
            "  {value} {} : {}x{} = cut [{}] x {} copies, {}, {:?}, {:?}",
            data.name,
            extents.join("x"),
            data.element,
            cuts.join(", "),
            data.distribution.replicas,
            layout(data),
            data.memory,
            data.role
        );
    }
    for (index, step) in program.steps.iter().enumerate() {
        match step {
            Step::Compute(compute) => {
                let _ = writeln!(out, "  step {index} compute {}", compute.label);
                for call in &compute.calls {
                    let operands: Vec<String> = call
                        .operands
                        .iter()
                        .map(|operand| match operand.offset_bytes {
                            0 => operand.value.to_string(),
                            offset => format!("{}+{offset}", operand.value),
                        })
                        .collect();
                    let _ = writeln!(
                        out,
                        "    tiles {}: {:?} ({})",
                        tiles(&call.tiles),
                        call.kernel,
                        operands.join(", ")
                    );
                }
            }
            Step::Exchange(exchange) => {
                let _ = writeln!(out, "  step {index} exchange {}", exchange.label);
                for transfer in &exchange.transfers {
                    let words: u64 = transfer.runs.iter().map(|run| u64::from(run.words)).sum();
                    let _ = writeln!(
                        out,
                        "    {} -> {}: {} runs, {words} words",
                        transfer.source,
                        transfer.destination,
                        transfer.runs.len()
                    );
                }
            }
            Step::Host(_) => {
                let _ = writeln!(out, "  step {index} host");
            }
            Step::Repeat(repeat) => {
                let _ = writeln!(
                    out,
                    "  step {index} repeat {} x {}",
                    repeat.label, repeat.count
                );
            }
        }
    }
    out
}

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
