//! `ipucc sim`: run a hand-assembled program on one simulated tile.

use super::compile::pair;
use super::{Failure, Outcome, complain, parse_number, print, read_text};
use clap::Args as ClapArgs;
use ipucc_chip::{Chip, LogicalTile};
use ipucc_machine::{Context, asm};
use ipucc_sim::{Options, Simulator};
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
    /// Print so many bytes at an address after the run.
    #[arg(long, value_name = "ADDRESS,BYTES")]
    dump: Vec<String>,
    /// Print the supervisor's registers after the run.
    #[arg(long)]
    regs: bool,
    /// Stop after so many cycles.
    #[arg(long, value_name = "CYCLES", default_value_t = 1_000_000_000)]
    limit: u64,
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
    let mut dumps = Vec::new();
    for text in &args.dump {
        let (address, bytes) = text
            .split_once(',')
            .ok_or_else(|| Failure::user(format!("--dump {text}: expected ADDRESS,BYTES")))?;
        let number = |text: &str| {
            parse_number(text).map_err(|reason| Failure::user(format!("--dump {text}: {reason}")))
        };
        dumps.push((number(address)?, number(bytes)?));
    }
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
    let tile = LogicalTile(0);
    let chip = Chip::first(1).unwrap_or(Chip::c600());
    let options = Options {
        cycle_limit: args.limit,
        ..Options::default()
    };
    let internal = |error: ipucc_sim::SimError| Failure::user(error.to_string());
    let mut simulator = Simulator::new(chip, assumptions, options).map_err(internal)?;
    let mut entry = ipucc_chip::memory::BASE;
    for (name, section) in &placed.sections {
        simulator
            .write(tile, section.address, &section.bytes)
            .map_err(internal)?;
        if name == ".text" {
            entry = section.address;
        }
    }
    simulator.start(&[(tile, entry)]);
    let report = simulator
        .run()
        .map_err(|failure| Failure::user(failure.to_string()))?;
    let split = report.tiles[0].breakdown;
    print(format!(
        "ended in cycle {}: workers {}, exchange {}, waiting {}, supervisor {}\n",
        report.cycles, split.compute, split.exchange, split.barrier, split.supervisor
    ))?;
    if args.regs {
        for (index, value) in simulator
            .registers(tile)
            .unwrap_or_default()
            .iter()
            .enumerate()
        {
            print(format!("$m{index} = {value:#010x}\n"))?;
        }
    }
    for (address, bytes) in dumps {
        let mut data = vec![0; bytes as usize];
        simulator.read(tile, address, &mut data).map_err(internal)?;
        for (line, chunk) in data.chunks(16).enumerate() {
            let hex: Vec<String> = chunk.iter().map(|byte| format!("{byte:02x}")).collect();
            print(format!(
                "{:#07x}: {}\n",
                address as usize + 16 * line,
                hex.join(" ")
            ))?;
        }
    }
    Ok(())
}
