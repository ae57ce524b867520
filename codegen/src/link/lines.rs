//! Which code of a tile works for which step.

use crate::emit::TileCode;
use ipucc_machine::package::MapSpan;
use std::collections::BTreeMap;

/// The stretches of a tile's code by address; `addresses` are those of its sections.
pub(super) fn spans(code: &TileCode, addresses: &[u32]) -> Vec<MapSpan> {
    let mut spans = Vec::new();
    // The program: a step's part ends where the mark says.
    let mut start = 0;
    for &(step, end) in &code.marks {
        if end > start {
            spans.push(MapSpan {
                address: addresses[0] + start,
                bytes: end - start,
                steps: vec![step],
            });
        }
        start = end;
    }
    let mut users: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    for &(section, step) in &code.uses {
        let steps = users.entry(section).or_default();
        if steps.last() != Some(&step) {
            steps.push(step);
        }
    }
    for (section, steps) in users {
        let bytes = code.sections[section as usize].bytes.len() as u32;
        if bytes > 0 {
            spans.push(MapSpan {
                address: addresses[section as usize],
                bytes,
                steps,
            });
        }
    }
    spans.sort_by_key(|span| span.address);
    spans
}
