//! Where simulated cycles went: tables, JSON and the trace file.

use super::Outcome;
use clap::Args as ClapArgs;
use ipucc_machine::package::SourceMap;
use ipucc_sim::{Breakdown, RunReport, TileReport};
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::path::PathBuf;

/// What to report about a simulation besides its result.
#[derive(ClapArgs)]
pub struct ProfileArgs {
    /// Write the timeline of every context in Chrome's trace format (chrome://tracing, Perfetto).
    #[arg(long, value_name = "FILE")]
    trace: Option<PathBuf>,
    /// Tiles in the trace, `FIRST-LAST` or one number; all without it.
    #[arg(long, value_name = "TILES", value_parser = tiles, requires = "trace")]
    trace_tiles: Option<(u16, u16)>,
    /// Report cycles by use: tiles and the six workers.
    #[arg(long)]
    breakdown: bool,
}

fn tiles(text: &str) -> Result<(u16, u16), String> {
    let number = |text: &str| {
        text.trim()
            .parse::<u16>()
            .map_err(|error| format!("`{text}`: {error}"))
    };
    let (first, last) = match text.split_once('-') {
        Some((first, last)) => (number(first)?, number(last)?),
        None => (number(text)?, number(text)?),
    };
    if first > last {
        return Err(format!("{first} is behind {last}"));
    }
    Ok((first, last))
}

impl ProfileArgs {
    /// Simulator options that the reports need.
    pub fn options(&self) -> ipucc_sim::Options {
        ipucc_sim::Options {
            trace: self.trace.is_some(),
            ..Default::default()
        }
    }

    /// Writes the trace file, if one was asked for.
    pub fn write_trace(
        &self,
        report: &RunReport,
        name: &dyn Fn(u16, u32) -> Option<String>,
    ) -> Outcome {
        let Some(path) = &self.trace else {
            return Ok(());
        };
        let (first, last) = self.trace_tiles.unwrap_or((0, u16::MAX));
        super::write_file_with(path, |out| {
            report.write_trace(out, &|tile| (first..=last).contains(&tile), name)
        })
    }

    /// The breakdown as text, if it was asked for.
    pub fn text(&self, report: &RunReport) -> String {
        if self.breakdown {
            table(report)
        } else {
            String::new()
        }
    }

    /// The breakdown for a JSON report; null if it was not asked for.
    pub fn json(&self, report: Option<&RunReport>) -> Value {
        match report {
            Some(report) if self.breakdown => tiles_json(report),
            _ => Value::Null,
        }
    }
}

/// Names of the addresses in a package.
pub fn names(map: &SourceMap) -> impl Fn(u16, u32) -> Option<String> + use<> {
    let symbols: std::collections::BTreeMap<(u32, u16), (u16, u32, String)> = map
        .symbols
        .iter()
        .map(|symbol| {
            let key = (symbol.address, symbol.tiles.0);
            (key, (symbol.tiles.1, symbol.bytes, symbol.name.clone()))
        })
        .collect();
    move |tile, pc| {
        let (&(address, _), (_, bytes, name)) = symbols
            .range(..=(pc, tile))
            .rev()
            .take(4096)
            .find(|((_, first), (last, _, _))| (*first..=*last).contains(&tile))?;
        (pc - address < (*bytes).max(1)).then(|| name.clone())
    }
}

/// Cycles by use of one tile; workers in order of their number.
pub fn tile_json(tile: &TileReport) -> Value {
    let Breakdown {
        compute,
        exchange,
        barrier,
        supervisor,
    } = tile.breakdown;
    json!({
        "end_cycle": tile.end_cycle,
        "compute": compute, "exchange": exchange, "barrier": barrier, "supervisor": supervisor,
        "workers": tile.workers.iter().map(|w| json!({"turns": w.turns, "cycles": w.cycles})).collect::<Vec<_>>(),
    })
}

fn tiles_json(report: &RunReport) -> Value {
    let started = report
        .tiles
        .iter()
        .enumerate()
        .filter(|(_, t)| t.end_cycle.is_some());
    started
        .map(|(number, tile)| {
            let mut value = tile_json(tile);
            value["tile"] = json!(number);
            value
        })
        .collect()
}

/// Tiles with equal figures share a line.
fn table(report: &RunReport) -> String {
    let mut text = format!(
        "{:>11} {:>11} {:>11} {:>11} {:>11}  tiles\n",
        "compute", "exchange", "barrier", "supervisor", "end"
    );
    let started: Vec<(usize, &TileReport)> = report
        .tiles
        .iter()
        .enumerate()
        .filter(|(_, tile)| tile.end_cycle.is_some())
        .collect();
    let mut at = 0;
    while at < started.len() {
        let (first, tile) = started[at];
        let same = |other: &TileReport| {
            (other.breakdown, other.end_cycle) == (tile.breakdown, tile.end_cycle)
        };
        let run = started[at..]
            .iter()
            .take_while(|(_, other)| same(other))
            .count();
        let split = tile.breakdown;
        let _ = write!(
            text,
            "{:>11} {:>11} {:>11} {:>11} {:>11}  {first}",
            split.compute,
            split.exchange,
            split.barrier,
            split.supervisor,
            tile.end_cycle.unwrap_or(0)
        );
        if run > 1 {
            let _ = write!(text, "-{}", started[at + run - 1].0);
        }
        text.push('\n');
        at += run;
    }
    for worker in 0..6 {
        let sum = |f: fn(&ipucc_sim::WorkerUse) -> u64| -> u64 {
            started
                .iter()
                .map(|(_, tile)| f(&tile.workers[worker]))
                .sum()
        };
        let (turns, cycles) = (sum(|w| w.turns), sum(|w| w.cycles));
        if turns > 0 {
            let _ = writeln!(
                text,
                "worker {worker}: {turns} turns, {cycles} cycles on all tiles"
            );
        }
    }
    text
}
