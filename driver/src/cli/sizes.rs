//! How many bytes of a package are what: `ipucc disasm --sizes`.

use indexmap::{IndexMap, IndexSet};
use ipucc_machine::package::{Package, SegmentKind};
use std::fmt::Write as _;

/// Kernels that are listed.
const LISTED: usize = 24;

/// Bytes of one use.
#[derive(Default)]
struct Use {
    /// On all tiles.
    all: u64,
    /// By tile.
    tiles: IndexMap<u16, u64>,
    /// On all tiles, if every step had code of its own.
    apart: u64,
    /// Blobs, each once.
    blobs: IndexSet<u32>,
}

/// Code of one name on all tiles.
#[derive(Default)]
struct Code {
    all: u64,
    kernels: IndexSet<String>,
    tiles: u64,
    most: u32,
}

/// The report.
pub fn report(package: &Package) -> String {
    let mut uses: IndexMap<&str, Use> = IndexMap::new();
    for name in [
        "supervisor programs",
        "kernels",
        "exchange rows",
        "argument records",
        "weights",
    ] {
        uses.insert(name, Use::default());
    }
    for (tile, image) in package.images.iter().enumerate() {
        let tile = tile as u16;
        for segment in &image.segments {
            let bytes = package
                .blobs
                .get(segment.blob as usize)
                .map_or(0, |blob| blob.len() as u64);
            let (name, shared) = match segment.kind {
                SegmentKind::Code if segment.address == image.entry => ("supervisor programs", 1),
                SegmentKind::Code => {
                    let users = package.map.steps(tile, segment.address).len();
                    ("kernels", users.max(1))
                }
                SegmentKind::Row => ("exchange rows", 1),
                SegmentKind::Data => ("argument records", 1),
                SegmentKind::Weight => ("weights", 1),
            };
            let found = uses.entry(name).or_default();
            found.all += bytes;
            *found.tiles.entry(tile).or_default() += bytes;
            found.apart += bytes * shared as u64;
            found.blobs.insert(segment.blob);
        }
    }
    let mut text = format!(
        "{:<20} {:>12} {:>12} {:>12} {:>14} {:>12}\n",
        "bytes", "all tiles", "tile, mean", "tile, most", "step by step", "once each"
    );
    let count = package.images.len().max(1) as u64;
    for (name, found) in &uses {
        let once: u64 = found
            .blobs
            .iter()
            .filter_map(|&blob| package.blobs.get(blob as usize))
            .map(|blob| blob.len() as u64)
            .sum();
        let most = found.tiles.values().copied().max().unwrap_or(0);
        let _ = writeln!(
            text,
            "{name:<20} {:>12} {:>12} {most:>12} {:>14} {once:>12}",
            found.all,
            found.all / count,
            found.apart
        );
    }
    text.push_str(
        "step by step: if every step had a copy of the kernels that it calls; once each: equal \
         contents counted once, as in the file\n\n",
    );
    text.push_str(&kernels(package));
    text
}

/// Kernels by the name of their first entry, largest first.
fn kernels(package: &Package) -> String {
    let mut codes: IndexMap<&str, Code> = IndexMap::new();
    for symbol in &package.map.symbols {
        if symbol.kind != SegmentKind::Code || symbol.name == "program" {
            continue;
        }
        let name = symbol.name.split('.').next().unwrap_or(&symbol.name);
        let tiles = u64::from(symbol.tiles.1.saturating_sub(symbol.tiles.0)) + 1;
        let code = codes.entry(name).or_default();
        code.all += tiles * u64::from(symbol.bytes);
        code.tiles += tiles;
        code.most = code.most.max(symbol.bytes);
        code.kernels.insert(symbol.name.clone());
    }
    codes.sort_by(|a, x, b, y| y.all.cmp(&x.all).then(a.cmp(b)));
    let mut text = format!(
        "{:<20} {:>12} {:>12} {:>12} {:>14}\n",
        "kernel", "all tiles", "kernels", "copies", "most of one"
    );
    for (name, code) in codes.iter().take(LISTED) {
        let _ = writeln!(
            text,
            "{name:<20} {:>12} {:>12} {:>12} {:>14}",
            code.all,
            code.kernels.len(),
            code.tiles,
            code.most
        );
    }
    text
}
