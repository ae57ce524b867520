//! Recorded exchange rows on the simulator: every row of a phase runs, and the data must arrive.

use ipucc_chip::{Assumptions, Chip, LogicalTile, PhysicalTile, memory};
use ipucc_machine::row::decode;
use ipucc_machine::row::transfer::{Placement, Transfer, primitive};
use ipucc_machine::{Context, row::Place};
use ipucc_sim::{Options, Simulator};
use serde_json::Value;

/// What became of a line.
pub enum Verdict {
    /// Compared.
    Judged {
        /// What the line says.
        expected: String,
        /// What was found.
        found: String,
    },
    /// Not run, because this is not in force.
    #[allow(dead_code)]
    Skipped(String),
}

/// Where rows stand: an element of its own.
const ROW: u32 = 0x5c000;
/// Bases for vectors whose addresses are zero.
const SOURCE_BASE: u32 = 0x60000;
const TARGET_BASE: u32 = 0x98000;

/// A transfer: source tile, its address, bytes, destinations with their addresses.
type Move = (u16, u32, u32, Vec<(u16, u32)>);

fn number(value: &Value) -> Option<u32> {
    match value.as_str() {
        Some(text) => u32::from_str_radix(text.trim_start_matches("0x"), 16).ok(),
        None => u32::try_from(value.as_u64()?).ok(),
    }
}

fn words(value: &Value) -> Option<Vec<u32>> {
    value
        .as_array()?
        .iter()
        .map(|word| u32::from_str_radix(word.as_str()?, 16).ok())
        .collect()
}

/// Replays one line of an exchange_rows file.
pub fn replay(vector: &Value, assumptions: &Assumptions) -> Verdict {
    let kind = vector["kind"].as_str().unwrap_or_default();
    let superseded = vector["status"] == "superseded";
    let found = match kind {
        "p2p" | "multicast" | "paired64" | "sequence"
            if !superseded && !vector["phase"].is_null() =>
        {
            phase(vector, assumptions).unwrap_or_else(|reason| reason)
        }
        "multicast_error" | "paired64_error" | "p2p_error" if !superseded => {
            return match refusal(vector) {
                Some(error) => Verdict::Judged {
                    expected: vector["error"].as_str().unwrap_or_default().to_owned(),
                    found: error,
                },
                None => Verdict::Judged {
                    expected: "a refusal".into(),
                    found: "malformed line".into(),
                },
            };
        }
        _ => decodes(vector).unwrap_or_else(|reason| reason),
    };
    Verdict::Judged {
        expected: "as given".into(),
        found,
    }
}

/// The reason for which a transfer is refused, cut to the length of the recorded one.
fn refusal(vector: &Value) -> Option<String> {
    let wide = vector["kind"].as_str()?.starts_with("paired64");
    let receivers = vector["receivers"].as_array()?;
    let transfer = Transfer {
        source: PhysicalTile(number(&vector["source"]["physical"])? as u16),
        from: Place::absolute(
            vector["source"]
                .get("address")
                .and_then(number)
                .unwrap_or(0),
        ),
        items: number(&vector[if wide { "items" } else { "words" }])?,
        wide,
        receivers: receivers
            .iter()
            .map(|receiver| {
                let address = Place::absolute(number(&receiver["address"])?);
                Some((PhysicalTile(number(&receiver["physical"])? as u16), address))
            })
            .collect::<Option<_>>()?,
    };
    let offset = vector.get("schedule_offset").and_then(number).unwrap_or(0);
    Some(
        match primitive(&transfer, Placement::Multicast { offset }) {
            Ok(_) => "accepted".into(),
            Err(error) => {
                let text = error.to_string();
                let wanted = vector["error"].as_str()?;
                if text.starts_with(wanted) {
                    wanted.to_owned()
                } else {
                    text
                }
            }
        },
    )
}

/// Every list of row words in the line decodes, with the events it gives.
fn decodes(vector: &Value) -> Result<String, String> {
    let mut rows: Vec<(&Value, Option<u32>)> = Vec::new();
    if let Some(list) = vector["phase"]["rows"].as_array() {
        rows.extend(list.iter().map(|row| (&row["row"], number(&row["events"]))));
    }
    if vector.get("row").is_some() {
        rows.push((&vector["row"], None));
    }
    // Stand-alone rows begin with their barrier, which is no part of the row.
    let stand_alone = &vector["primitive"];
    let receivers = stand_alone["receivers"].as_array().into_iter().flatten();
    for row in receivers.chain(stand_alone.get("sender")) {
        let words = words(row).ok_or("a row is malformed")?;
        decode(words.get(1..).unwrap_or_default()).map_err(|error| error.to_string())?;
    }
    for (row, events) in rows {
        let words = words(row).ok_or("a row is malformed")?;
        let decoded = decode(&words).map_err(|error| error.to_string())?;
        if events.is_some_and(|events| events != decoded.horizon) {
            return Err(format!("{} events, {events:?} given", decoded.horizon));
        }
    }
    // Call sites and host programs: every word is a supervisor instruction.
    for list in ["call_site", "packet_words"] {
        if list == "call_site"
            && let Some(code) = words(&vector[list])
        {
            for word in code {
                ipucc_machine::Group::decode(&[word, 0], Context::Supervisor)
                    .map_err(|error| format!("{word:#010x}: {error}"))?;
            }
        }
    }
    Ok("as given".into())
}

/// Runs all rows of a phase; source words must be found at every destination.
fn phase(vector: &Value, assumptions: &Assumptions) -> Result<String, String> {
    let malformed = || "the line is malformed".to_owned();
    let mut moves: Vec<Move> = Vec::new();
    if let Some(list) = vector["transfers"].as_array() {
        for transfer in list {
            let destinations = transfer["destinations"].as_array().ok_or_else(malformed)?;
            moves.push((
                number(&transfer["source"]).ok_or_else(malformed)? as u16,
                number(&transfer["source_address"]).ok_or_else(malformed)?,
                4 * number(&transfer["words"]).ok_or_else(malformed)?,
                ends(destinations).ok_or_else(malformed)?,
            ));
        }
    } else {
        let wide = vector["kind"] == "paired64";
        let count = number(&vector[if wide { "items" } else { "words" }]).ok_or_else(malformed)?;
        let receivers = vector["receivers"].as_array().ok_or_else(malformed)?;
        moves.push((
            number(&vector["source"]["logical"]).ok_or_else(malformed)? as u16,
            vector["source"]
                .get("address")
                .and_then(number)
                .unwrap_or(0),
            count * if wide { 8 } else { 4 },
            ends(receivers).ok_or_else(malformed)?,
        ));
    }
    let given = vector.get("incoming_base").and_then(number).unwrap_or(0);
    let low = |address: u32| address < memory::BASE;
    let outgoing = if moves.iter().any(|m| low(m.1)) {
        SOURCE_BASE
    } else {
        0
    };
    let all_low = moves
        .iter()
        .flat_map(|m| &m.3)
        .any(|&(_, address)| low(address));
    let incoming = if all_low { TARGET_BASE } else { given };
    // What an address of the line means in tile memory: destinations already contain a given base.
    let target = |address: u32| {
        if all_low {
            address + TARGET_BASE
        } else {
            address
        }
    };

    let mut simulator = Simulator::new(Chip::c600(), assumptions.clone(), Options::default())
        .map_err(|error| error.to_string())?;
    let write = |simulator: &mut Simulator, tile, address, bytes: &[u8]| {
        simulator
            .write(LogicalTile(tile), address, bytes)
            .map_err(|error| error.to_string())
    };
    for (index, (tile, address, bytes, _)) in moves.iter().enumerate() {
        let data: Vec<u8> = (0..*bytes).map(|at| pattern(index, at)).collect();
        write(&mut simulator, *tile, address + outgoing, &data)?;
    }
    let rows = vector["phase"]["rows"].as_array().ok_or_else(malformed)?;
    let program = format!(
        ".supervisor\n setzi $m8, {incoming}\n put 0xa4, $m8\n setzi $m9, {outgoing}\n put 0xa7, $m9\n \
         setzi $m8, 1\n put 0xa6, $m8\n sync 3\n call $m10, {ROW}\n sync 3\n bri 0\n"
    );
    let code = super::supervisor_code(&program, memory::BASE)?;
    let mut entries = Vec::new();
    for row in rows {
        let tile = number(&row["logical"]).ok_or_else(malformed)? as u16;
        let words = words(&row["row"]).ok_or_else(malformed)?;
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        write(&mut simulator, tile, ROW, &bytes)?;
        write(&mut simulator, tile, memory::BASE, &code)?;
        entries.push((LogicalTile(tile), memory::BASE));
    }
    simulator.start(&entries);
    let report = simulator.run().map_err(|failure| failure.to_string())?;
    // The longest row: from its first word, one branch after the release, to its return.
    let span = match report.barriers[..] {
        [first, second] => second.last_arrival - first.release,
        _ => return Err("the phase did not pass two barriers".into()),
    };
    let events = rows
        .iter()
        .filter_map(|row| number(&row["events"]))
        .max()
        .unwrap_or(0);
    let branches = 2 * u64::from(assumptions.sup_branch);
    if span != u64::from(events) + branches {
        return Err(format!(
            "the longest row took {} events, {events} given",
            span - branches
        ));
    }
    for (index, (_, _, bytes, destinations)) in moves.iter().enumerate() {
        for &(tile, address) in destinations {
            let mut found = vec![0; *bytes as usize];
            simulator
                .read(LogicalTile(tile), target(address), &mut found)
                .map_err(|error| error.to_string())?;
            if let Some(at) = (0..*bytes).find(|&at| found[at as usize] != pattern(index, at)) {
                return Err(format!(
                    "tile {tile}: byte {at} of transfer {index} did not arrive"
                ));
            }
        }
    }
    Ok("as given".into())
}

fn ends(list: &[Value]) -> Option<Vec<(u16, u32)>> {
    list.iter()
        .map(|end| Some((number(&end["logical"])? as u16, number(&end["address"])?)))
        .collect()
}

/// Byte `at` of transfer `index`, never zero.
fn pattern(index: usize, at: u32) -> u8 {
    ((index as u32 * 37 + at * 11 + at / 251) % 255 + 1) as u8
}
