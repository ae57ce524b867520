//! `ipucc exchange`: schedule one exchange phase from a file.

use super::{Failure, Outcome, print, read};
use clap::Args as ClapArgs;
use flate2::read::GzDecoder;
use ipucc_chip::{Assumptions, Chip, LogicalTile, memory};
use ipucc_machine::row::{Place, encode};
use ipucc_schedule::{Message, schedule_messages};
use ipucc_sim::{Options, Simulator};
use serde::Deserialize;
use serde_json::json;
use std::collections::BTreeMap;
use std::io::Read as _;
use std::path::PathBuf;
use std::time::Instant;

/// Schedule one exchange phase (JSON, may be gzipped) and print its horizon, bounds and words.
///
/// Messages are sent whole, as 32-bit items, and fan out as multicasts. A transfer waits for the
/// earlier ones of the file whose words it meets.
#[derive(ClapArgs)]
pub struct Args {
    /// The phase: `{"name", "transfers": [{"source", "source_address", "words", "destinations": [[tile, address]]}]}`.
    file: PathBuf,
    /// Execute the rows on the simulator and compare every word of memory.
    #[arg(long)]
    run: bool,
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
}

#[derive(Deserialize)]
struct Phase {
    #[serde(default)]
    name: String,
    transfers: Vec<Transfer>,
}

#[derive(Deserialize)]
struct Transfer {
    source: u16,
    source_address: u32,
    words: u32,
    destinations: Vec<(u16, u32)>,
}

/// Runs the command.
pub fn run(args: Args) -> Outcome {
    let mut bytes = read(&args.file)?;
    let bad = |reason: String| Failure::user(format!("{}: {reason}", args.file.display()));
    if bytes.starts_with(&[0x1f, 0x8b]) {
        let mut plain = Vec::new();
        let mut decoder = GzDecoder::new(&bytes[..]).take(1 << 32);
        decoder
            .read_to_end(&mut plain)
            .map_err(|error| bad(error.to_string()))?;
        bytes = plain;
    }
    let phase: Phase = serde_json::from_slice(&bytes).map_err(|error| bad(error.to_string()))?;
    check(&phase).map_err(bad)?;
    let assumptions = Assumptions::default();
    let messages: Vec<Message> = phase.transfers.iter().flat_map(messages).collect();
    let started = Instant::now();
    let timed = schedule_messages(&messages, &assumptions).map_err(bad)?;
    let seconds = started.elapsed().as_secs_f64();
    let mut rows = Vec::new();
    for (tile, events) in &timed.rows {
        let row = encode(events).map_err(|error| bad(format!("tile {}: {error}", tile.0)))?;
        let mut words = row.words;
        for site in &row.sites {
            words[site.word as usize] |= (site.place.offset >> site.unit_shift) << site.field_shift;
        }
        rows.push((*tile, words));
    }
    let mut object = json!({
        "name": phase.name,
        "horizon": timed.horizon,
        "bound_words": timed.bound_words,
        "bound_route": timed.bound_route,
        "row_words_total": rows.iter().map(|(_, words)| words.len()).sum::<usize>(),
        "row_words_max": rows.iter().map(|(_, words)| words.len()).max().unwrap_or(0),
        "seconds": seconds,
    });
    let mut ok = true;
    if args.run {
        let (events, data) = simulate(&phase, &rows, &assumptions).map_err(Failure::Internal)?;
        object["simulated_events"] = json!(events);
        object["data_ok"] = json!(data);
        ok = data && events == u64::from(timed.horizon);
    }
    if args.json {
        print(format!("{object:#}\n"))?;
    } else if let Some(fields) = object.as_object() {
        for (key, value) in fields {
            print(format!("{key:<18}{value}\n"))?;
        }
    }
    if ok {
        Ok(())
    } else {
        Err(Failure::Internal(
            "the simulation does not confirm the schedule".into(),
        ))
    }
}

/// A transfer as messages: one, or several where a tile is named more than once, because a tile
/// stores what comes in one place.
fn messages(transfer: &Transfer) -> Vec<Message> {
    let mut rounds: Vec<Vec<(LogicalTile, Place)>> = Vec::new();
    for &(tile, address) in &transfer.destinations {
        let tile = LogicalTile(tile);
        let free = |round: &&mut Vec<(LogicalTile, Place)>| round.iter().all(|&(t, _)| t != tile);
        let destination = (tile, Place::absolute(address));
        match rounds.iter_mut().find(free) {
            Some(round) => round.push(destination),
            None => rounds.push(vec![destination]),
        }
    }
    let message = |destinations| Message {
        source: LogicalTile(transfer.source),
        from: Place::absolute(transfer.source_address),
        words: transfer.words,
        destinations,
    };
    rounds.into_iter().map(message).collect()
}

/// What a scheduler may rely on: tiles and addresses.
fn check(phase: &Phase) -> Result<(), String> {
    for (index, transfer) in phase.transfers.iter().enumerate() {
        let place = |what: String| format!("transfer {index}: {what}");
        if transfer.words == 0 || transfer.destinations.is_empty() {
            return Err(place("it moves nothing".into()));
        }
        let bytes = transfer
            .words
            .checked_mul(4)
            .filter(|&bytes| bytes <= memory::SIZE)
            .ok_or_else(|| {
                place(format!(
                    "{} words are more than a tile holds",
                    transfer.words
                ))
            })?;
        let ends = transfer.destinations.iter().copied();
        for (tile, address) in ends.chain([(transfer.source, transfer.source_address)]) {
            if !Chip::c600().contains(LogicalTile(tile)) {
                return Err(place(format!("tile {tile} does not exist")));
            }
            if address % 4 != 0 || !memory::is_populated(address, bytes) {
                return Err(place(format!(
                    "{bytes} bytes at {address:#x} are not tile memory"
                )));
            }
        }
    }
    Ok(())
}

/// Runs the rows; returns the events of the longest and whether memory is as it must be.
fn simulate(
    phase: &Phase,
    rows: &[(LogicalTile, Vec<u32>)],
    assumptions: &Assumptions,
) -> Result<(u64, bool), String> {
    let mut simulator = Simulator::new(Chip::c600(), assumptions.clone(), Options::default())
        .map_err(|error| error.to_string())?;
    // Code and row stand in one element that no transfer touches.
    let mut used = vec![[false; 26]; 1472];
    let mut touch = |tile: u16, address: u32, bytes: u32| {
        for unit in memory::exchange_unit(address)..=memory::exchange_unit(address + bytes - 1) {
            used[tile as usize][unit as usize] = true;
        }
    };
    for transfer in &phase.transfers {
        touch(transfer.source, transfer.source_address, transfer.words * 4);
        for &(tile, address) in &transfer.destinations {
            touch(tile, address, transfer.words * 4);
        }
    }
    let mut entries = Vec::new();
    let mut images: Vec<(LogicalTile, u32, Vec<u8>)> = Vec::new();
    for (tile, words) in rows {
        let bytes = words.len() as u32 * 4 + 128;
        let units = bytes.div_ceil(memory::ELEMENT_BYTES) as usize;
        // Code runs below the interleaved region, which has the first 13 elements.
        let free = (0..(13usize + 1).saturating_sub(units))
            .rev()
            .find(|&first| (first..first + units).all(|unit| !used[tile.index()][unit]))
            .ok_or_else(|| {
                format!(
                    "tile {}: no {units} elements are left for a row of {} words, which must not share \
                     one with what moves; hint: leave them free below {:#x}",
                    tile.0,
                    words.len(),
                    memory::INTERLEAVED_BASE
                )
            })?;
        let base = memory::BASE + free as u32 * memory::ELEMENT_BYTES;
        let row = base + 64;
        let program = format!(
            ".supervisor\n put 0xa4, $m15\n put 0xa7, $m15\n setzi $m8, 1\n put 0xa6, $m8\n sync 3\n \
             call $m10, {row}\n sync 3\n bri 0\n"
        );
        let code = super::supervisor_code(&program, base)?;
        images.push((*tile, base, code));
        images.push((
            *tile,
            row,
            words.iter().flat_map(|word| word.to_le_bytes()).collect(),
        ));
        entries.push((*tile, base));
    }
    let word = |tile: u16, address: u32| {
        (u32::from(tile) << 20 | address)
            .wrapping_mul(0x9e37_79b1)
            .wrapping_add(0x7f4a_7c15)
    };
    let write = |simulator: &mut Simulator, tile, address, bytes: &[u8]| {
        simulator
            .write(tile, address, bytes)
            .map_err(|error| error.to_string())
    };
    // What stands where before the phase, and what must stand there afterwards: the transfers in the
    // order of the file.
    let mut before: BTreeMap<(u16, u32), u32> = BTreeMap::new();
    for transfer in &phase.transfers {
        for i in 0..transfer.words {
            let at = (transfer.source, transfer.source_address + 4 * i);
            before.insert(at, word(at.0, at.1));
        }
    }
    let mut wanted = before.clone();
    for transfer in &phase.transfers {
        let sent: Vec<u32> = (0..transfer.words)
            .map(|i| wanted[&(transfer.source, transfer.source_address + 4 * i)])
            .collect();
        for &(tile, address) in &transfer.destinations {
            for (i, &value) in (0..).zip(&sent) {
                wanted.insert((tile, address + 4 * i), value);
            }
        }
    }
    for (&(tile, address), value) in &before {
        let bytes = value.to_le_bytes();
        write(&mut simulator, LogicalTile(tile), address, &bytes)?;
    }
    for (tile, address, bytes) in &images {
        write(&mut simulator, *tile, *address, bytes)?;
        let words = bytes.as_chunks::<4>().0;
        for (i, value) in (0..).zip(words) {
            wanted.insert((tile.0, address + 4 * i), u32::from_le_bytes(*value));
        }
    }
    simulator.start(&entries);
    let report = simulator.run().map_err(|failure| failure.to_string())?;
    let events = match report.barriers[..] {
        [first, second] => {
            second.last_arrival - first.release - 2 * u64::from(assumptions.sup_branch)
        }
        _ => return Err("the phase did not pass two barriers".into()),
    };
    // Every word of every tile.
    let mut same = true;
    let mut found = vec![0; memory::SIZE as usize];
    let mut expected = vec![0; memory::SIZE as usize];
    for tile in 0..Chip::c600().tiles() {
        simulator
            .read(LogicalTile(tile), memory::BASE, &mut found)
            .map_err(|error| error.to_string())?;
        expected.fill(0);
        for (&(_, address), value) in wanted.range((tile, 0)..(tile + 1, 0)) {
            let at = (address - memory::BASE) as usize;
            expected[at..at + 4].copy_from_slice(&value.to_le_bytes());
        }
        same &= found == expected;
    }
    Ok((events, same))
}
