//! Where and when the values of a program can be seen: for `run --check`.

use crate::emit::Emitted;
use crate::runs::host_runs;
use indexmap::IndexMap;
use ipucc_chip::HostType;
use ipucc_machine::package::{Binding, Observation};
use ipucc_tile::schedule::Scheduled;
use ipucc_tile::sram::Placement;
use ipucc_tile::{Role, Step, Value};
use std::collections::BTreeMap;

/// The values that hold a whole value of the tensor function and that steps of the program make,
/// in program order. One replica of each is shown.
pub fn observe(
    scheduled: &Scheduled,
    emitted: &Emitted,
    placements: &[Placement],
) -> Vec<Observation> {
    let program = &scheduled.program;
    let writers = writers(&program.steps);
    let mut found: Vec<(u32, Observation)> = Vec::new();
    for (value, data) in &program.values {
        let (Some(name), Some(steps)) = (&data.tensor, writers.get(&value)) else {
            continue;
        };
        if matches!(data.role, Role::Input(_) | Role::Weight(_)) {
            continue;
        }
        let place = |tile: usize| {
            let code = &emitted.tiles[tile];
            let index = code.values.iter().position(|(other, _)| *other == value)?;
            Some(placements[tile].addresses[code.sections.len() + index])
        };
        let mut complete = BTreeMap::new();
        for &tile in &data.distribution.tiles {
            let code = &emitted.tiles[tile.index()];
            let mark = code
                .marks
                .iter()
                .rev()
                .find(|(step, _)| steps.contains(step));
            if let Some((_, offset)) = mark {
                complete.insert(tile.0, placements[tile.index()].addresses[0] + offset);
            }
        }
        let binding = Binding {
            host: HostType::Device(data.element),
            device: data.element,
            shape: data.shape.to_vec(),
            runs: host_runs(data, false, |tile| place(tile.index())),
        };
        let observation = Observation {
            name: name.clone(),
            value: binding,
            complete,
        };
        found.push((steps.last().copied().unwrap_or(0), observation));
    }
    found.sort_by_key(|(step, _)| *step);
    found.into_iter().map(|(_, seen)| seen).collect()
}

/// Steps that write each value, ascending.
fn writers(steps: &[Step]) -> IndexMap<Value, Vec<u32>> {
    let mut writers: IndexMap<Value, Vec<u32>> = IndexMap::new();
    for (number, step) in steps.iter().enumerate() {
        let written: Vec<Value> = match step {
            Step::Compute(compute) => {
                let results = compute.calls.iter().flat_map(|call| call.results());
                results.map(|operand| operand.value).collect()
            }
            Step::Exchange(exchange) => exchange.transfers.iter().map(|t| t.destination).collect(),
            Step::Host(_) | Step::Repeat(_) => Vec::new(),
        };
        for value in written {
            let list = writers.entry(value).or_default();
            if list.last() != Some(&(number as u32)) {
                list.push(number as u32);
            }
        }
    }
    writers
}
