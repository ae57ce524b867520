//! From an address of a tile back to what it was made for: symbol, step, operation, source.

use crate::package::SegmentKind;
use serde::{Deserialize, Serialize};
use std::fmt::Write as _;

/// Names for reports: what stands where, and which steps the program has.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
pub struct SourceMap {
    /// Named address ranges of tiles.
    pub symbols: Vec<MapSymbol>,
    /// Which code works for which step, by tiles in ascending order.
    pub lines: Vec<MapLines>,
    /// Steps in program order.
    pub steps: Vec<MapStep>,
    /// The tile program's text, empty if left out.
    pub tile_text: String,
    /// The tensor program's text, empty if left out; `run --check` evaluates it.
    pub tensor_text: String,
}

/// A named range on a set of tiles.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct MapSymbol {
    /// Name.
    pub name: String,
    /// First and last logical tile (inclusive) on which it stands at this address.
    pub tiles: (u16, u16),
    /// Byte address.
    pub address: u32,
    /// Size in bytes.
    pub bytes: u32,
    /// What it is.
    pub kind: SegmentKind,
}

/// Code of neighbouring tiles that have it at the same addresses for the same steps.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct MapLines {
    /// First and last logical tile (inclusive).
    pub tiles: (u16, u16),
    /// Stretches of code, by address, disjoint.
    pub spans: Vec<MapSpan>,
}

/// A stretch of code.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct MapSpan {
    /// Byte address.
    pub address: u32,
    /// Size in bytes.
    pub bytes: u32,
    /// Indices of the steps that execute it, ascending: one in a supervisor's program and for an
    /// exchange row, several for a kernel that several steps call.
    pub steps: Vec<u32>,
}

/// A step of the program.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct MapStep {
    /// Name as the tile program gives it.
    pub name: String,
    /// Operations of the tensor program that it works for, with their ONNX node or source line.
    pub nodes: Vec<String>,
    /// Predicted cycles of the step on its slowest tile.
    pub predicted_cycles: u64,
}

impl SourceMap {
    /// The symbol that holds an address of a tile.
    pub fn symbol(&self, tile: u16, address: u32) -> Option<&MapSymbol> {
        self.symbols.iter().find(|symbol| {
            (symbol.tiles.0..=symbol.tiles.1).contains(&tile)
                && address
                    .checked_sub(symbol.address)
                    .is_some_and(|offset| offset < symbol.bytes)
        })
    }

    /// The code of a tile by steps.
    pub fn spans(&self, tile: u16) -> &[MapSpan] {
        let after = self.lines.partition_point(|lines| lines.tiles.0 <= tile);
        match after.checked_sub(1).map(|at| &self.lines[at]) {
            Some(lines) if tile <= lines.tiles.1 => &lines.spans,
            _ => &[],
        }
    }

    /// The steps that execute an address of a tile.
    pub fn steps(&self, tile: u16, address: u32) -> &[u32] {
        let spans = self.spans(tile);
        let after = spans.partition_point(|span| span.address <= address);
        match after.checked_sub(1).map(|at| &spans[at]) {
            Some(span)
                if address
                    .checked_sub(span.address)
                    .is_some_and(|offset| offset < span.bytes) =>
            {
                &span.steps
            }
            _ => &[],
        }
    }

    /// A step in words: number, name, operations and where they come from.
    pub fn describe_step(&self, step: u32) -> String {
        let mut text = format!("step {step}");
        if let Some(found) = self.steps.get(step as usize) {
            let _ = write!(text, " ({})", found.name);
            if !found.nodes.is_empty() {
                let _ = write!(text, ": {}", found.nodes.join(", "));
            }
        }
        text
    }

    /// Where an address of a tile belongs, in words; empty if the map says nothing of it.
    pub fn describe(&self, tile: u16, address: u32) -> String {
        /// More steps than these are counted only.
        const SHOWN: usize = 3;
        let mut parts = Vec::new();
        if let Some(symbol) = self.symbol(tile, address) {
            parts.push(format!("{}+{:#x}", symbol.name, address - symbol.address));
        }
        let steps = self.steps(tile, address);
        let shown = steps.iter().take(SHOWN);
        parts.extend(shown.map(|&step| self.describe_step(step)));
        if steps.len() > SHOWN {
            parts.push(format!("{} more steps", steps.len() - SHOWN));
        }
        parts.join("; ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map() -> SourceMap {
        let span = |address, bytes, steps: &[u32]| MapSpan {
            address,
            bytes,
            steps: steps.to_vec(),
        };
        let step = |name: &str, nodes: &[&str]| MapStep {
            name: name.into(),
            nodes: nodes.iter().map(|&n| n.into()).collect(),
            predicted_cycles: 0,
        };
        SourceMap {
            symbols: vec![MapSymbol {
                name: "program".into(),
                tiles: (1, 2),
                address: 0x100,
                bytes: 0x20,
                kind: SegmentKind::Code,
            }],
            lines: vec![
                MapLines {
                    tiles: (1, 2),
                    spans: vec![
                        span(0x100, 0x10, &[0]),
                        span(0x110, 0x10, &[1]),
                        span(0x200, 8, &[0, 1]),
                    ],
                },
                MapLines {
                    tiles: (5, 5),
                    spans: vec![span(0x100, 4, &[1])],
                },
            ],
            steps: vec![
                step("compute 3", &["`add` %3 from node `sum`"]),
                step("exchange 4", &[]),
            ],
            ..SourceMap::default()
        }
    }

    #[test]
    fn addresses_lead_to_steps() {
        let map = map();
        assert_eq!(map.steps(1, 0x10c), [0]);
        assert_eq!(map.steps(2, 0x110), [1]);
        assert_eq!(map.steps(2, 0x204), [0, 1]);
        assert_eq!(map.steps(5, 0x100), [1]);
        for (tile, address) in [
            (0, 0x100),
            (3, 0x100),
            (1, 0x120),
            (1, 0xfc),
            (5, 0x104),
            (6, 0x100),
        ] {
            assert!(map.steps(tile, address).is_empty(), "{tile} {address:#x}");
        }
    }

    #[test]
    fn descriptions_name_symbol_step_and_source() {
        let map = map();
        assert_eq!(
            map.describe(1, 0x104),
            "program+0x4; step 0 (compute 3): `add` %3 from node `sum`"
        );
        assert_eq!(
            map.describe(1, 0x200),
            "step 0 (compute 3): `add` %3 from node `sum`; step 1 (exchange 4)"
        );
        assert_eq!(map.describe(3, 0x104), "");
    }
}
