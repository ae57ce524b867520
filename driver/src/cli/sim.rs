//! `ipucc sim`: run a hand-assembled program on one simulated tile.

use super::compile::pair;
use super::profile::{self, ProfileArgs};
use super::{Failure, Outcome, complain, parse_number, print, read_text};
use clap::Args as ClapArgs;
use indexmap::IndexMap;
use ipucc_chip::{Chip, LogicalTile, csr};
use ipucc_machine::{Context, asm};
use ipucc_sim::{Cause, Options, Simulator};
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::path::PathBuf;

/// Run an assembler program on one simulated tile, or list the assumptions.
#[derive(ClapArgs)]
pub struct Args {
    /// The program, in supervisor context from its first word.
    file: Option<PathBuf>,
    /// List every named assumption with the value in force.
    #[arg(long)]
    assumptions: bool,
    /// Change a named assumption.
    #[arg(long = "assume", value_name = "NAME=VALUE", value_parser = pair)]
    assume: Vec<(String, String)>,
    /// Stop when a context is about to execute the instruction at an address or label; the n-th time
    /// with `@N`.
    #[arg(long = "break", value_name = "ADDRESS|LABEL[@N]")]
    breaks: Vec<String>,
    /// Print so many bytes at an address or label after the run.
    #[arg(long, value_name = "ADDRESS|LABEL,BYTES")]
    dump: Vec<String>,
    /// Print the registers of the supervisor and of the workers that ran, after the run.
    #[arg(long)]
    regs: bool,
    #[command(flatten)]
    profile: ProfileArgs,
    /// Print one JSON object instead of text.
    #[arg(long)]
    json: bool,
    /// Stop after so many cycles.
    #[arg(long, value_name = "CYCLES", default_value_t = 1_000_000_000)]
    limit: u64,
}

const TILE: LogicalTile = LogicalTile(0);

fn internal(error: ipucc_sim::SimError) -> Failure {
    Failure::user(error.to_string())
}

/// Runs the command.
pub fn run(args: Args) -> Outcome {
    let assumptions = super::assumptions(&args.assume)?;
    if args.assumptions {
        let mut out = String::new();
        for (info, value) in assumptions.iter() {
            out.push_str(&format!(
                "{} = {value}\n    {} (alternatives: {}; evidence: {})\n",
                info.name, info.decides, info.alternatives, info.evidence
            ));
        }
        print(out)?;
    }
    let Some(file) = &args.file else {
        return if args.assumptions {
            Ok(())
        } else {
            Err(Failure::user("name a program, or --assumptions"))
        };
    };
    let source = read_text(file)?;
    let options = asm::Options {
        file: file.display().to_string(),
        context: Context::Supervisor,
    };
    let assembly = asm::assemble(&source, &options).map_err(|diagnostics| {
        complain(&diagnostics.to_string());
        Failure::Reported
    })?;
    let addresses = assembly.object.default_addresses(&Default::default());
    let placed = assembly.object.place(&addresses).map_err(|errors| {
        let lines: Vec<String> = errors.iter().map(ToString::to_string).collect();
        Failure::user(lines.join("\n"))
    })?;
    let dumps = dumps(&args.dump, &placed.symbols)?;
    let options = Options {
        cycle_limit: args.limit,
        ..args.profile.options()
    };
    let chip = Chip::first(1).unwrap_or(Chip::c600());
    let mut simulator = Simulator::new(chip, assumptions, options).map_err(internal)?;
    let mut entry = ipucc_chip::memory::BASE;
    for (name, section) in &placed.sections {
        simulator
            .write(TILE, section.address, &section.bytes)
            .map_err(internal)?;
        if name == ".text" {
            entry = section.address;
        }
    }
    for text in &args.breaks {
        let (place, hits) = match text.split_once('@') {
            Some((place, hits)) => (place, u64::from(number("--break", text, hits)?)),
            None => (text.as_str(), 1),
        };
        if hits == 0 {
            let message = format!("--break {text}: the count begins with 1");
            return Err(Failure::user(message));
        }
        let pc = address("--break", place, &placed.symbols)?;
        simulator.set_break(TILE, pc, hits).map_err(internal)?;
    }
    simulator.start(&[(TILE, entry)]);
    let outcome = simulator.run();
    // A program that stopped early is dumped, too: that is when one wants to look.
    let mut text = String::new();
    let mut object = json!({});
    let mut failed = false;
    match &outcome {
        Ok(report) => {
            let split = report.tiles[0].breakdown;
            let _ = writeln!(
                text,
                "ended in cycle {}: workers {}, exchange {}, waiting {}, supervisor {}",
                report.cycles, split.compute, split.exchange, split.barrier, split.supervisor
            );
            text.push_str(&args.profile.text(report));
            object = json!({
                "cycles": report.cycles, "breakdown": profile::tile_json(&report.tiles[0]),
            });
            let label = |_: u16, pc: u32| label(pc, &placed.symbols);
            args.profile.write_trace(report, &label)?;
        }
        Err(stop) => {
            failed = stop.cause != Cause::Break;
            let stopped = if failed { "fault" } else { "break" };
            object[stopped] = json!({
                "context": stop.context.to_string(), "cycle": stop.cycle, "pc": stop.pc,
                "label": label(stop.pc, &placed.symbols),
                "instruction": stop.instruction, "cause": stop.cause.to_string(),
            });
            if !failed {
                let place = label(stop.pc, &placed.symbols).unwrap_or_default();
                let _ = writeln!(
                    text,
                    "break at {:#x} {place}: {}, cycle {}, next is `{}`",
                    stop.pc, stop.context, stop.cycle, stop.instruction
                );
            }
        }
    }
    if args.regs {
        let (registers, lines) = registers(&simulator);
        text.push_str(&lines);
        object["registers"] = registers;
    }
    let mut memory = Vec::new();
    for (address, bytes) in dumps {
        let mut data = vec![0; bytes as usize];
        simulator.read(TILE, address, &mut data).map_err(internal)?;
        for (line, chunk) in data.chunks(16).enumerate() {
            let hex: Vec<String> = chunk.iter().map(|byte| format!("{byte:02x}")).collect();
            let at = address as usize + 16 * line;
            let _ = writeln!(text, "{at:#07x}: {}", hex.join(" "));
        }
        memory.push(json!({"address": address, "bytes": data}));
    }
    object["memory"] = Value::from(memory);
    if args.json {
        print(format!("{object:#}\n"))?;
    } else {
        print(text)?;
    }
    match outcome {
        Err(failure) if failed => Err(Failure::user(failure.to_string())),
        _ => Ok(()),
    }
}

fn number(option: &str, whole: &str, text: &str) -> Outcome<u32> {
    parse_number(text).map_err(|reason| Failure::user(format!("{option} {whole}: {reason}")))
}

/// An address given as a number or label.
fn address(option: &str, text: &str, symbols: &IndexMap<String, u32>) -> Outcome<u32> {
    if let Some(&address) = symbols.get(text) {
        return Ok(address);
    }
    if text.starts_with(|c: char| c.is_ascii_digit()) {
        return number(option, text, text);
    }
    let known: Vec<&str> = symbols.keys().map(String::as_str).take(20).collect();
    Err(Failure::user(format!(
        "{option} {text}: the program has no such label; it has {}",
        known.join(", ")
    )))
}

fn dumps(texts: &[String], symbols: &IndexMap<String, u32>) -> Outcome<Vec<(u32, u32)>> {
    let mut dumps = Vec::new();
    for text in texts {
        let (place, bytes) = text.split_once(',').ok_or_else(|| {
            Failure::user(format!(
                "--dump {text}: expected ADDRESS,BYTES or LABEL,BYTES"
            ))
        })?;
        let bytes = number("--dump", text, bytes)?;
        if bytes > ipucc_chip::memory::SIZE {
            let message = format!(
                "--dump {text}: a tile has {} bytes",
                ipucc_chip::memory::SIZE
            );
            return Err(Failure::user(message));
        }
        dumps.push((address("--dump", place, symbols)?, bytes));
    }
    Ok(dumps)
}

/// The last label at or before `pc`, with the distance.
fn label(pc: u32, symbols: &IndexMap<String, u32>) -> Option<String> {
    let executable = ipucc_chip::memory::BASE..ipucc_chip::memory::EXECUTABLE_END;
    let (name, at) = symbols
        .iter()
        .filter(|&(_, &at)| at <= pc && executable.contains(&at))
        .max_by_key(|&(_, &at)| at)?;
    Some(if *at == pc {
        name.clone()
    } else {
        format!("{name}+{:#x}", pc - at)
    })
}

/// Registers of the supervisor and of all workers that have run.
fn registers(simulator: &Simulator) -> (Value, String) {
    let mut text = String::new();
    let mut object = json!({});
    let supervisor = simulator.registers(TILE).unwrap_or_default();
    for (index, value) in supervisor.iter().enumerate() {
        let _ = writeln!(text, "$m{index} = {value:#010x}");
    }
    object["supervisor"] = json!({"m": supervisor});
    for (name, number) in [
        ("CCCSLOAD", csr::number::CCCSLOAD),
        ("INCOMING_MUX", csr::number::INCOMING_MUX),
        ("INCOMING_DCOUNT", csr::number::INCOMING_DCOUNT),
        ("INCOMING_BASE", csr::number::INCOMING_BASE),
        ("OUTGOING_BASE", csr::number::OUTGOING_BASE),
    ] {
        let value = simulator.csr(TILE, number as u8).unwrap_or(0);
        let _ = writeln!(text, "${name} = {value:#010x}");
        object["supervisor"][name] = json!(value);
    }
    let ran = |index: usize| {
        simulator
            .worker(TILE, index)
            .filter(|worker| worker.pc != ipucc_chip::memory::BASE)
    };
    for (index, worker) in (0..6).filter_map(|index| Some((index, ran(index)?))) {
        let _ = writeln!(text, "worker {index}: pc {:#x}", worker.pc);
        let file = |name: &str, values: &[u32]| {
            let mut line = String::new();
            for (number, value) in values.iter().enumerate() {
                let end = if number % 4 == 3 { '\n' } else { ' ' };
                let _ = write!(line, "  ${name}{number:<2} = {value:#010x}{end}");
            }
            line
        };
        text.push_str(&file("m", &worker.mrf[..16]));
        text.push_str(&file("a", &worker.arf[..8]));
        let _ = writeln!(
            text,
            "  $FP_STS = {:#x} $FP_CTL = {:#x} $WSR = {:#x}",
            worker.fp_sts,
            worker.fp_ctl,
            worker.wsr_value()
        );
        let accumulators: Vec<u32> = (0..32).map(|i| worker.acc.get(i)).collect();
        if accumulators.iter().any(|&bits| bits != 0) {
            text.push_str(&file("aacc", &accumulators));
        }
        object["workers"][index.to_string()] = json!({
            "pc": worker.pc, "m": worker.mrf[..16], "a": worker.arf[..8], "aacc": accumulators,
            "FP_STS": worker.fp_sts, "FP_CTL": worker.fp_ctl,
        });
    }
    (object, text)
}
