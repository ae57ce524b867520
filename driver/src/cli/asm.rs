//! `ipucc asm`: assembler text to an object, words or a listing.

use std::fmt::Write;
use std::path::PathBuf;

use indexmap::IndexMap;
use ipucc_machine::Context;
use ipucc_machine::asm::{Assembly, Diagnostics, Options, Severity, assemble};
use ipucc_machine::object::Placed;

use super::{Failure, Outcome, color, complain, parse_number, print, read_text, write_file};

/// Assemble a file.
#[derive(clap::Args)]
pub struct Args {
    /// Assembler text (after the C preprocessor, if it needs one); `-` reads standard input.
    file: PathBuf,
    /// Write a relocatable object.
    #[arg(short, value_name = "OBJ", conflicts_with_all = ["hex", "listing"])]
    output: Option<PathBuf>,
    /// Print the words of a section, one a line.
    #[arg(long, conflicts_with = "listing")]
    hex: bool,
    /// Print addresses, words and statements of all sections (what happens if nothing is said).
    #[arg(long)]
    listing: bool,
    /// Start in worker context (the default).
    #[arg(long, conflicts_with = "supervisor")]
    worker: bool,
    /// Start in supervisor context.
    #[arg(long)]
    supervisor: bool,
    /// Address of a section; `.text` starts at 0x4c000 and the others follow if nothing is said.
    #[arg(long, value_name = "NAME=ADDR", value_parser = section_start)]
    section_start: Vec<(String, u32)>,
    /// Section whose words `--hex` prints.
    #[arg(long, value_name = "NAME", requires = "hex")]
    section: Option<String>,
}

fn section_start(text: &str) -> Result<(String, u32), String> {
    let (name, address) = text
        .rsplit_once('=')
        .ok_or_else(|| "expected NAME=ADDR".to_string())?;
    if name.is_empty() {
        return Err("expected NAME=ADDR".to_string());
    }
    Ok((name.to_string(), parse_number(address)?))
}

/// Runs the subcommand.
pub fn run(args: Args) -> Outcome {
    let text = read_text(&args.file)?;
    let name = if args.file.as_os_str() == "-" {
        "<stdin>".to_string()
    } else {
        args.file.display().to_string()
    };
    let options = Options {
        file: name,
        context: if args.supervisor {
            Context::Supervisor
        } else {
            Context::Worker
        },
    };
    let assembly = assemble(&text, &options).map_err(|errors| report(&errors))?;
    complain(&assembly.warnings.render(color()));

    if let Some(path) = &args.output {
        for (section, _) in &args.section_start {
            if !assembly.object.sections.contains_key(section) {
                return Err(Failure::user(format!("there is no section `{section}`")));
            }
        }
        let bytes = assembly
            .object
            .to_bytes()
            .map_err(|e| Failure::Internal(e.to_string()))?;
        return write_file(path, &bytes);
    }
    let mut given = IndexMap::new();
    for (section, address) in args.section_start {
        if given.insert(section.clone(), address).is_some() {
            return Err(Failure::user(format!(
                "--section-start gives `{section}` two addresses"
            )));
        }
    }
    let mut addresses = assembly.object.default_addresses(&given);
    for (section, address) in given {
        addresses.entry(section).or_insert(address);
    }
    let placed = assembly.object.place(&addresses).map_err(|errors| {
        report(&Diagnostics(
            errors.iter().map(|e| assembly.diagnose(e)).collect(),
        ))
    })?;
    if args.hex {
        print(hex(&assembly, &placed, args.section.as_deref())?)
    } else {
        print(listing(&assembly, &placed))
    }
}

fn report(diagnostics: &Diagnostics) -> Failure {
    complain(&diagnostics.render(color()));
    let count = diagnostics
        .0
        .iter()
        .filter(|d| d.severity == Severity::Error)
        .count();
    let plural = if count == 1 { "" } else { "s" };
    complain(&format!("{count} error{plural}; nothing was written\n"));
    Failure::Reported
}

fn hex(assembly: &Assembly, placed: &Placed, section: Option<&str>) -> Outcome<String> {
    let name = match section {
        Some(name) => name,
        None => only_code(assembly),
    };
    let Some(section) = placed.sections.get(name) else {
        let known: Vec<&str> = placed.sections.keys().map(String::as_str).collect();
        return Err(Failure::user(format!(
            "there is no section `{name}`; the file has {}",
            known.join(", ")
        )));
    };
    let mut out = String::with_capacity(section.bytes.len() * 3);
    for word in section.words() {
        // Writing to a string cannot fail.
        let _ = writeln!(out, "{word:#010x}");
    }
    Ok(out)
}

/// `.text`; a file that leaves it empty and has code in one other section means that one.
fn only_code(assembly: &Assembly) -> &str {
    let sections = &assembly.object.sections;
    if sections.get(".text").is_some_and(|s| s.size > 0) {
        return ".text";
    }
    let mut code = sections.iter().filter(|(_, s)| s.executable && s.size > 0);
    match (code.next(), code.next()) {
        (Some((name, _)), None) => {
            complain(&format!(
                "note: `.text` is empty; these are the words of `{name}`\n"
            ));
            name
        }
        (Some(_), Some(_)) => {
            complain("note: `.text` is empty; choose another section with --section\n");
            ".text"
        }
        _ => ".text",
    }
}

fn listing(assembly: &Assembly, placed: &Placed) -> String {
    let mut out = String::new();
    for (index, (name, section)) in placed.sections.iter().enumerate() {
        if section.bytes.is_empty() {
            continue;
        }
        let _ = writeln!(
            out,
            "section {name} at {:#x}, {} bytes",
            section.address,
            section.bytes.len()
        );
        let mut labels: Vec<(u32, &str)> = assembly
            .object
            .symbols
            .iter()
            .filter(|(n, s)| s.section == Some(index) && *n != name)
            .map(|(n, s)| (s.value, n.as_str()))
            .collect();
        labels.sort_by_key(|(at, _)| *at);
        let mut labels = labels.into_iter().peekable();
        let mut at = 0u32;
        let lines: Vec<_> = assembly
            .listing
            .iter()
            .filter(|l| l.section == index)
            .collect();
        let mut lines = lines.into_iter().peekable();
        let size = section.bytes.len() as u32;
        while at < size {
            while let Some((_, label)) = labels.next_if(|(label, _)| *label <= at) {
                let _ = writeln!(out, "{label}:");
            }
            let line = lines.next_if(|l| l.offset == at && l.size > 0);
            let end = match (&line, lines.peek()) {
                (Some(line), _) => at + line.size,
                (None, Some(next)) => next.offset,
                (None, None) => size,
            };
            // Data has no lines of its own: eight bytes a line, cut at labels.
            let end = match line {
                Some(_) => end,
                None => labels
                    .peek()
                    .map_or(end, |(label, _)| end.min(*label))
                    .min(at + 8)
                    .max(at + 1),
            };
            let bytes = &section.bytes[at as usize..(end.min(size)) as usize];
            let mut cell = String::new();
            if line.is_some() {
                for word in bytes.chunks(4) {
                    let mut full = [0; 4];
                    full[..word.len()].copy_from_slice(word);
                    let _ = write!(cell, "{:#010x} ", u32::from_le_bytes(full));
                }
            } else {
                for byte in bytes {
                    let _ = write!(cell, "{byte:02x} ");
                }
            }
            let address = section.address + at;
            match line {
                Some(line) => {
                    let file = assembly
                        .object
                        .files
                        .get(line.file as usize)
                        .map_or("", String::as_str);
                    let _ = writeln!(
                        out,
                        "{address:#07x}  {cell:<24}{file}:{}  {}",
                        line.line, line.text
                    );
                }
                None => {
                    let _ = writeln!(out, "{address:#07x}  {}", cell.trim_end());
                }
            }
            at = end;
        }
        for (_, label) in labels {
            let _ = writeln!(out, "{label}:");
        }
    }
    out
}
