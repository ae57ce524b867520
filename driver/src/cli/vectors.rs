//! `ipucc vectors`: replay files of recorded or derived results through the assembler, the decoder
//! and the simulator.

use super::compile::pair;
use super::{Failure, Outcome, print, read_text};
use clap::Args as ClapArgs;
use indexmap::IndexMap;
use ipucc_chip::{Assumptions, Chip, LogicalTile, PhysicalTile, fabric};
use ipucc_machine::{Context, asm, disasm};
use ipucc_sim::{Options, Simulator, replay};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// Replay vector files: float, integer, addresses, amp, instruction_words, time_to_mux,
/// exchange_rows, or NAME.expect.json with NAME.S beside it.
#[derive(ClapArgs)]
pub struct Args {
    /// The files.
    #[arg(required = true)]
    files: Vec<PathBuf>,
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
    /// Change a named assumption.
    #[arg(long = "assume", value_name = "NAME=VALUE", value_parser = pair)]
    assume: Vec<(String, String)>,
}

#[derive(Default)]
struct Total {
    cases: usize,
    passed: usize,
    /// Id, expected, found.
    failed: Vec<(String, String, String)>,
    /// Id, assumption.
    skipped: Vec<(String, String)>,
}

impl Total {
    fn case(&mut self, id: &str, expected: String, found: String) {
        self.cases += 1;
        if expected == found {
            self.passed += 1;
        } else {
            self.failed.push((id.to_owned(), expected, found));
        }
    }
}

/// Runs the command.
pub fn run(args: Args) -> Outcome {
    let assumptions = super::assumptions(&args.assume)?;
    let mut total = Total::default();
    for file in &args.files {
        replay_file(file, &assumptions, &mut total)?;
    }
    if args.json {
        let object = json!({
            "cases": total.cases,
            "passed": total.passed,
            "skipped": total.skipped.len(),
            "failed": total.failed.iter().map(|(id, ..)| id).collect::<Vec<_>>(),
        });
        print(format!("{object:#}\n"))?;
    } else {
        for (id, expected, found) in &total.failed {
            print(format!(
                "FAILED {id}\n  expected {expected}\n  found    {found}\n"
            ))?;
        }
        for (id, assumption) in &total.skipped {
            print(format!("skipped {id}: {assumption} is not in force\n"))?;
        }
        print(format!(
            "{} passed, {} failed, {} skipped\n",
            total.passed,
            total.failed.len(),
            total.skipped.len()
        ))?;
    }
    if total.failed.is_empty() {
        Ok(())
    } else {
        Err(Failure::Reported)
    }
}

fn replay_file(file: &Path, assumptions: &Assumptions, total: &mut Total) -> Outcome {
    let name = file
        .file_name()
        .map(|name| name.to_string_lossy().into_owned())
        .unwrap_or_default();
    let text = read_text(file)?;
    let bad =
        |line: usize, reason: String| Failure::user(format!("{}:{line}: {reason}", file.display()));
    let first = text.lines().next().unwrap_or_default();
    if name.ends_with(".expect.json") {
        return program(file, &text, assumptions, total);
    }
    if name.ends_with(".tsv") || first.starts_with("asm\t") {
        return instruction_words(file, &text, total);
    }
    if first.starts_with("sender_phys") {
        return routes(file, &text, total);
    }
    // The kind of a .jsonl file is told by its lines.
    let mut kind = None;
    for (number, line) in text
        .lines()
        .enumerate()
        .filter(|(_, line)| !line.trim().is_empty())
    {
        let value: Value =
            serde_json::from_str(line).map_err(|error| bad(number + 1, error.to_string()))?;
        kind = kind.or(match &value {
            v if v.get("kind").is_some() && v.get("status").is_some() => Some("exchange_rows"),
            v if v.get("steps").is_some_and(Value::is_array) => Some("amp"),
            v if v.get("touch").is_some_and(Value::is_array)
                || v.get("fault").is_some()
                    && v.get("pc")
                        .is_some_and(|pc| pc.as_str().is_some_and(|t| !t.contains(' '))) =>
            {
                Some("addresses")
            }
            v if v.get("lane").is_some_and(|lane| lane == "m" || lane == "a") => Some("integer"),
            v if v.get("op").is_some() && v.get("in").is_some_and(Value::is_array) => Some("float"),
            _ => None,
        });
        if kind.is_some() {
            break;
        }
    }
    let report = match kind {
        Some("amp") => replay::amp::replay(&text, assumptions),
        Some("addresses") => replay::addresses::replay(&text, assumptions),
        Some("integer") => replay::integer::replay(&text, assumptions),
        Some("float") => replay::float::replay(&text, assumptions),
        Some(_) => return exchange_rows(file, &text, assumptions, total),
        None => return Err(bad(1, "no known kind of vector file".into())),
    };
    let report = report.map_err(|error| bad(error.line, error.message.clone()))?;
    total.cases += report.cases;
    total.passed += report.passed;
    total.failed.extend(
        report
            .failed
            .into_iter()
            .map(|f| (f.id, f.expected, f.found)),
    );
    total
        .skipped
        .extend(report.skipped.into_iter().map(|s| (s.id, s.assumption)));
    Ok(())
}

fn hex(word: &str) -> Option<u32> {
    u32::from_str_radix(word.trim().trim_start_matches("0x"), 16).ok()
}

/// Lines of assembler text with their words: assembled, and disassembled and assembled again.
fn instruction_words(file: &Path, text: &str, total: &mut Total) -> Outcome {
    for (number, line) in text
        .lines()
        .enumerate()
        .skip(1)
        .filter(|(_, line)| !line.is_empty())
    {
        let fields: Vec<&str> = line.split('\t').collect();
        let id = format!("line {}", number + 1);
        let words: Option<Vec<u32>> = fields
            .get(1)
            .map(|words| {
                words
                    .split([' ', ','])
                    .filter(|w| !w.is_empty())
                    .map(hex)
                    .collect::<Option<_>>()
            })
            .unwrap_or(None);
        let Some(wanted) = words else {
            return Err(Failure::user(format!(
                "{}:{}: no words",
                file.display(),
                number + 1
            )));
        };
        let show = |words: &[u32]| {
            words
                .iter()
                .map(|word| format!("{word:#010x}"))
                .collect::<Vec<_>>()
                .join(" ")
        };
        let assemble = |source: &str| -> Result<Vec<u32>, String> {
            // A line that only the other context knows is assembled there.
            let mut last = String::new();
            for context in [Context::Worker, Context::Supervisor] {
                let options = asm::Options {
                    file: id.clone(),
                    context,
                };
                match asm::assemble(&format!("{source}\n"), &options) {
                    Ok(assembly) => {
                        let addresses = assembly.object.default_addresses(&IndexMap::new());
                        let placed = assembly.object.place(&addresses);
                        match placed {
                            Ok(placed) => {
                                return Ok(placed
                                    .sections
                                    .get(".text")
                                    .map(|s| s.words())
                                    .unwrap_or_default());
                            }
                            Err(errors) => {
                                last = errors
                                    .iter()
                                    .map(ToString::to_string)
                                    .collect::<Vec<_>>()
                                    .join("; ");
                            }
                        }
                    }
                    Err(diagnostics) => last = diagnostics.to_string(),
                }
            }
            Err(last)
        };
        let found = match assemble(fields[0]) {
            Err(error) => error,
            Ok(words) => {
                // Back through the disassembler: its text must give the same words.
                let text = disasm::words(
                    &words,
                    ipucc_chip::memory::BASE,
                    &disasm::Options::default(),
                );
                match assemble(&text) {
                    Ok(again) if again == words && !text.contains(".word") => show(&words),
                    Ok(again) => format!("{} as `{}`", show(&again), text.trim()),
                    Err(error) => format!("`{}`: {error}", text.trim()),
                }
            }
        };
        total.case(&format!("{id} `{}`", fields[0]), show(&wanted), found);
    }
    Ok(())
}

/// Route times: words sent on the simulator arrive when the table says, or the run fails.
fn routes(file: &Path, text: &str, total: &mut Total) -> Outcome {
    for (number, line) in text
        .lines()
        .enumerate()
        .skip(1)
        .filter(|(_, line)| !line.is_empty())
    {
        let fields: Vec<i64> = line
            .split(',')
            .filter_map(|field| field.trim().parse().ok())
            .collect();
        let [sender, receiver, time, direction] = fields[..] else {
            return Err(Failure::user(format!(
                "{}:{}: four numbers expected",
                file.display(),
                number + 1
            )));
        };
        let in_range = |tile: i64| (0..1472).contains(&tile);
        if !in_range(sender) || !in_range(receiver) {
            return Err(Failure::user(format!(
                "{}:{}: no such tile",
                file.display(),
                number + 1
            )));
        }
        let route = fabric::route(PhysicalTile(sender as u16), PhysicalTile(receiver as u16));
        total.case(
            &format!("{sender} to {receiver}"),
            format!("{time} direction {direction}"),
            format!("{} direction {}", route.time, route.direction as u8),
        );
    }
    Ok(())
}

/// A sample program with its sidecar.
fn program(file: &Path, text: &str, assumptions: &Assumptions, total: &mut Total) -> Outcome {
    let bad = |what: &str| Failure::user(format!("{}: {what}", file.display()));
    let expect: Value = serde_json::from_str(text).map_err(|error| bad(&error.to_string()))?;
    let source = file.display().to_string();
    let source = PathBuf::from(
        source
            .strip_suffix(".expect.json")
            .unwrap_or_default()
            .to_owned()
            + ".S",
    );
    let options = asm::Options {
        file: source.display().to_string(),
        context: Context::Supervisor,
    };
    let assembly = asm::assemble(&read_text(&source)?, &options)
        .map_err(|diagnostics| bad(&diagnostics.to_string()))?;
    let address = |value: &Value| {
        value
            .as_str()
            .and_then(hex)
            .ok_or_else(|| bad("an address is malformed"))
    };
    let mut load = IndexMap::new();
    for (section, at) in expect["load"].as_object().ok_or_else(|| bad("no `load`"))? {
        load.insert(section.clone(), address(at)?);
    }
    let placed = assembly.object.place(&load).map_err(|errors| {
        bad(&errors
            .iter()
            .map(ToString::to_string)
            .collect::<Vec<_>>()
            .join("; "))
    })?;
    let stem = source
        .file_stem()
        .map(|stem| stem.to_string_lossy().into_owned())
        .unwrap_or_default();
    let words: Vec<String> = expect["words"]
        .as_array()
        .map(|w| {
            w.iter()
                .filter_map(|w| w.as_str().map(str::to_owned))
                .collect()
        })
        .unwrap_or_default();
    let found: Vec<u32> = placed
        .sections
        .get(".text")
        .map(|s| s.words())
        .unwrap_or_default();
    let wanted: Vec<u32> = words.iter().filter_map(|word| hex(word)).collect();
    let show = |words: &[u32]| {
        let at = found
            .iter()
            .zip(&wanted)
            .position(|(a, b)| a != b)
            .unwrap_or(0);
        format!(
            "{} words, at {at}: {:#010x}",
            words.len(),
            words.get(at).copied().unwrap_or(0)
        )
    };
    total.case(&format!("{stem} words"), show(&wanted), show(&found));
    if expect["run"] == json!(false) {
        return Ok(());
    }
    let bytes = |value: &Value| -> Option<Vec<u8>> {
        let digits: String = value.as_array()?.iter().filter_map(Value::as_str).collect();
        digits
            .as_bytes()
            .chunks(2)
            .map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok())
            .collect()
    };
    for case in expect["cases"].as_array().unwrap_or(&vec![]) {
        let id = format!("{stem} {}", case["name"].as_str().unwrap_or_default());
        let tile = LogicalTile(0);
        let options = Options {
            record_launches: true,
            cycle_limit: 100_000_000,
            ..Options::default()
        };
        let chip = Chip::first(1).unwrap_or(Chip::c600());
        let internal = |error: ipucc_sim::SimError| bad(&error.to_string());
        let mut simulator = Simulator::new(chip, assumptions.clone(), options).map_err(internal)?;
        for section in placed.sections.values() {
            simulator
                .write(tile, section.address, &section.bytes)
                .map_err(internal)?;
        }
        let regions = |key: &str| case[key].as_array().cloned().unwrap_or_default();
        for region in regions("memory_in") {
            let data = bytes(&region["hex"]).ok_or_else(|| bad("hex is malformed"))?;
            simulator
                .write(tile, address(&region["address"])?, &data)
                .map_err(internal)?;
        }
        let (base, size) = (ipucc_chip::memory::BASE, ipucc_chip::memory::SIZE as usize);
        let mut wanted = vec![0; size];
        simulator.read(tile, base, &mut wanted).map_err(internal)?;
        for region in regions("memory_out") {
            let data = bytes(&region["hex"]).ok_or_else(|| bad("hex is malformed"))?;
            let at = (address(&region["address"])?).wrapping_sub(base) as usize;
            let target = wanted
                .get_mut(at..at + data.len())
                .ok_or_else(|| bad("a region leaves memory"))?;
            target.copy_from_slice(&data);
        }
        simulator.start(&[(tile, address(&expect["entry"]["address"])?)]);
        let report = match simulator.run() {
            Ok(report) => report,
            Err(failure) => {
                total.case(&id, "a normal end".into(), failure.to_string());
                continue;
            }
        };
        let mut found = vec![0; size];
        simulator.read(tile, base, &mut found).map_err(internal)?;
        let difference = (0..size).find(|&at| wanted[at] != found[at]);
        let mut expected = vec!["memory as given".to_owned()];
        let mut got = vec![match difference {
            None => "memory as given".to_owned(),
            Some(at) => format!(
                "byte {:#x} is {:02x}, not {:02x}",
                base as usize + at,
                found[at],
                wanted[at]
            ),
        }];
        if let Some(turns) = case.get("worker_turns") {
            expected.push(turns.to_string());
            got.push(json!(report.tiles[0].launches).to_string());
        }
        if let Some(stop) = case["supervisor_stop_cycle"].as_u64() {
            expected.push(format!("stop in cycle {stop}"));
            got.push(format!(
                "stop in cycle {}",
                report.tiles[0].end_cycle.unwrap_or(0)
            ));
        }
        total.case(&id, expected.join("; "), got.join("; "));
    }
    Ok(())
}

/// Rows of a transfer, all run in one phase on the simulator: the data must arrive.
fn exchange_rows(file: &Path, text: &str, assumptions: &Assumptions, total: &mut Total) -> Outcome {
    for (number, line) in text
        .lines()
        .enumerate()
        .filter(|(_, line)| !line.trim().is_empty())
    {
        let vector: Value = serde_json::from_str(line).map_err(|error| {
            Failure::user(format!("{}:{}: {error}", file.display(), number + 1))
        })?;
        let id = vector["id"].as_str().unwrap_or("?").to_owned();
        if vector["kind"].as_str().is_none() {
            continue;
        }
        match super::rows::replay(&vector, assumptions) {
            super::rows::Verdict::Judged { expected, found } => total.case(&id, expected, found),
            super::rows::Verdict::Skipped(assumption) => {
                total.cases += 1;
                total.skipped.push((id, assumption));
            }
        }
    }
    Ok(())
}
