//! `ipucc disasm`: words, objects and tiles of packages to assembler text.

use std::path::PathBuf;

use ipucc_machine::Context;
use ipucc_machine::disasm::{Chunk, Options, disassemble, object_chunks, words};
use ipucc_machine::is_object;
use ipucc_machine::object::Object;
use ipucc_machine::package::{Package, SegmentKind};

use super::{Failure, Outcome, parse_number, print, read, sizes};

/// Disassemble an object, a tile of a package, or words.
#[derive(clap::Args)]
pub struct Args {
    /// Object (`ipucc asm -o`) or package; with `--hex` text with one word a line; `-` reads
    /// standard input.
    file: PathBuf,
    /// The file holds words as `ipucc asm --hex` prints them.
    #[arg(long)]
    hex: bool,
    /// Address of the first word of `--hex`.
    #[arg(long, value_name = "ADDR", value_parser = parse_number, default_value = "0x4c000", requires = "hex")]
    base: u32,
    /// Logical tile of a package.
    #[arg(long, value_name = "N", conflicts_with = "hex")]
    tile: Option<u16>,
    /// Report how many bytes of a package are what, instead of a listing.
    #[arg(long, conflicts_with_all = ["hex", "tile"])]
    sizes: bool,
    /// Show event times beside the instructions of exchange rows: start, end, effect.
    #[arg(long)]
    events: bool,
    /// The first instructions are a worker's.
    #[arg(long, conflicts_with = "supervisor")]
    worker: bool,
    /// The first instructions are the supervisor's.
    #[arg(long)]
    supervisor: bool,
}

/// Runs the subcommand.
pub fn run(args: Args) -> Outcome {
    let options = Options {
        context: match (args.worker, args.supervisor) {
            (true, _) => Some(Context::Worker),
            (_, true) => Some(Context::Supervisor),
            _ => None,
        },
        events: args.events,
    };
    let bytes = read(&args.file)?;
    let name = args.file.display().to_string();
    if args.hex {
        if !args.base.is_multiple_of(4) {
            return Err(Failure::user(format!(
                "--base must be a multiple of 4, not {:#x}",
                args.base
            )));
        }
        let list = hex_words(&name, &bytes)?;
        return print(words(&list, args.base, &options));
    }
    if is_object(&bytes) {
        let refused = [("--tile", args.tile.is_some()), ("--sizes", args.sizes)];
        if let Some((option, _)) = refused.iter().find(|(_, given)| *given) {
            return Err(Failure::user(format!(
                "{name} is an object; {option} is for packages"
            )));
        }
        let object =
            Object::from_bytes(&bytes).map_err(|e| Failure::user(format!("{name}: {e}")))?;
        return print(disassemble(&object_chunks(&object), &options));
    }
    let package = ipucc_runtime::file::from_bytes(&name, &bytes).map_err(|e| {
        let hint = if looks_like_hex(&bytes) {
            "; for words as text say --hex"
        } else {
            ""
        };
        Failure::user(format!("{e}{hint}"))
    })?;
    if args.sizes {
        return print(sizes::report(&package));
    }
    let tile = match args.tile {
        Some(tile) if usize::from(tile) < package.images.len() => tile,
        Some(tile) => {
            return Err(Failure::user(format!(
                "{name} has no tile {tile}: its tiles are 0..={}",
                package.images.len().saturating_sub(1)
            )));
        }
        None if package.images.len() == 1 => 0,
        None => {
            return Err(Failure::user(format!(
                "{name} has {} tiles; choose one with --tile",
                package.images.len()
            )));
        }
    };
    print(disassemble(&tile_chunks(&package, tile), &options))
}

/// The words of text with one word a line; blank lines and comments are passed over.
fn hex_words(name: &str, bytes: &[u8]) -> Outcome<Vec<u32>> {
    let text = std::str::from_utf8(bytes)
        .map_err(|_| Failure::user(format!("{name} is no text; leave --hex out")))?;
    let mut out = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let line = line.split(['#', '/']).next().unwrap_or("").trim();
        for word in line.split_whitespace() {
            let digits = word
                .strip_prefix("0x")
                .or_else(|| word.strip_prefix("0X"))
                .unwrap_or(word);
            let plain = digits.len() <= 8 && digits.bytes().all(|b| b.is_ascii_hexdigit());
            match u32::from_str_radix(digits, 16) {
                Ok(word) if plain => out.push(word),
                _ => {
                    return Err(Failure::user(format!(
                        "{name}:{}: `{word}` is no 32-bit word in hexadecimal",
                        number + 1
                    )));
                }
            }
        }
    }
    Ok(out)
}

fn looks_like_hex(bytes: &[u8]) -> bool {
    let line = bytes.split(|b| *b == b'\n').next().unwrap_or(&[]);
    std::str::from_utf8(line).is_ok_and(|l| {
        l.trim()
            .strip_prefix("0x")
            .is_some_and(|d| d.len() == 8 && u32::from_str_radix(d, 16).is_ok())
    })
}

/// The segments of a tile as chunks.
fn tile_chunks(package: &Package, tile: u16) -> Vec<Chunk> {
    let Some(image) = package.images.get(usize::from(tile)) else {
        return Vec::new();
    };
    let mut out: Vec<Chunk> = Vec::new();
    for segment in &image.segments {
        let Some(blob) = package.blobs.get(segment.blob as usize) else {
            continue;
        };
        let code = matches!(segment.kind, SegmentKind::Code | SegmentKind::Row);
        let name = format!(".s{:05x}", segment.address);
        let mut chunk = Chunk::bytes(&name, segment.address, blob.to_vec(), code);
        chunk.context = (segment.kind == SegmentKind::Row).then_some(Context::Supervisor);
        let kind = match segment.kind {
            SegmentKind::Code => "code",
            SegmentKind::Row => "exchange row",
            SegmentKind::Data => "data",
            SegmentKind::Weight => "weights",
        };
        chunk.notes.push(format!(
            "{kind}, {} bytes: assemble with --section-start {name}={:#x}",
            blob.len(),
            segment.address
        ));
        let end = segment.address.saturating_add(blob.len() as u32);
        if (segment.address..end).contains(&image.entry) {
            chunk
                .labels
                .entry(image.entry - segment.address)
                .or_default()
                .push("_start".to_string());
            if image.entry == segment.address {
                chunk.context = Some(Context::Supervisor);
            }
        }
        for symbol in &package.map.symbols {
            let here = (symbol.tiles.0..=symbol.tiles.1).contains(&tile)
                && (segment.address..end).contains(&symbol.address);
            if here {
                let name = label_name(&symbol.name);
                let taken = |name: &str| {
                    out.iter()
                        .chain([&chunk])
                        .any(|c| c.labels.values().flatten().any(|l| l == name))
                };
                let name = if taken(&name) {
                    format!("{name}_{:x}", symbol.address)
                } else {
                    name
                };
                if !taken(&name) {
                    chunk
                        .labels
                        .entry(symbol.address - segment.address)
                        .or_default()
                        .push(name);
                }
            }
        }
        // Code for other steps than what stands before it says which.
        for span in package.map.spans(tile) {
            if (segment.address..end).contains(&span.address) {
                let steps = span
                    .steps
                    .iter()
                    .map(|&step| package.map.describe_step(step));
                let comments = chunk
                    .comments
                    .entry(span.address - segment.address)
                    .or_default();
                comments.extend(steps.map(|text| text.escape_debug().to_string()));
            }
        }
        out.push(chunk);
    }
    if let Some(first) = out.first_mut() {
        first.notes.insert(
            0,
            format!(
                "package {}, tile {tile}, entry {:#x}",
                package.header.name.escape_debug(),
                image.entry
            ),
        );
    }
    out
}

/// A name of the source map as a label: other characters become `_`.
fn label_name(name: &str) -> String {
    let mut out: String = name
        .chars()
        .map(|c| {
            if c.is_ascii_alphanumeric() || c == '_' || c == '.' {
                c
            } else {
                '_'
            }
        })
        .collect();
    if out.is_empty() || out == "." || out.starts_with(|c: char| c.is_ascii_digit()) {
        out.insert(0, '_');
    }
    out
}
