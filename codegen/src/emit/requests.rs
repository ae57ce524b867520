//! What a tile's memory has to hold, and when: the allocation problem.

use super::Emitter;
use indexmap::IndexMap;
use ipucc_chip::{memory, timing};
use ipucc_tile::schedule::Scheduled;
use ipucc_tile::sram::{Kind, Problem, Region, Request};
use ipucc_tile::{MemoryClass, Padding, Role, Step, Value, ValueData};

/// Bytes that a context may fetch behind its last instruction.
const FETCH_AHEAD: u32 = timing::SUPERVISOR_FETCH_BYTES;

/// Steps in which every value must keep its content, half-open; step numbers start at 1, so that 0
/// is the time of loading and of the host's writes.
pub(super) fn lives(scheduled: &Scheduled) -> Vec<(u32, u32)> {
    let program = &scheduled.program;
    let end = program.steps.len() as u32 + 2;
    let mut lives: Vec<(u32, u32)> = program
        .values
        .values()
        .map(|data| match data.role {
            Role::Temporary => (u32::MAX, 0),
            // The host writes elements only: zeros around them must outlive every run.
            Role::Input(_) if data.padding == Padding::Zero && is_padded(data) => (0, end),
            Role::Input(_) => (0, 1),
            Role::Output(_) => (end - 1, end),
            Role::Weight(_) => (0, end),
        })
        .collect();
    for (step, item) in program.steps.iter().enumerate() {
        let step = step as u32 + 1;
        let mut touch = |value: Value| {
            let live = &mut lives[value.as_u32() as usize];
            live.0 = live.0.min(step);
            live.1 = live.1.max(step + 1);
        };
        match item {
            Step::Compute(compute) => {
                let operands = compute.calls.iter().flat_map(|call| &call.operands);
                operands.for_each(|operand| touch(operand.value));
            }
            Step::Exchange(exchange) => {
                for transfer in &exchange.transfers {
                    touch(transfer.source);
                    touch(transfer.destination);
                }
            }
            Step::Host(_) | Step::Repeat(_) => {}
        }
    }
    for live in &mut lives {
        if live.0 >= live.1 {
            *live = (0, 1);
        }
    }
    lives
}

/// True if a shard has bytes that hold no element.
fn is_padded(data: &ValueData) -> bool {
    data.shards()
        .filter(|shard| !shard.is_empty())
        .any(|shard| {
            let extents = shard.extents();
            let elements: u32 = extents.iter().product();
            data.shard_bytes(&extents) != elements * data.element.bytes()
        })
}

impl Emitter<'_> {
    /// The tile's values with their sizes, and the problem: sections in order, then those values.
    pub(super) fn problem(&self) -> (Vec<(Value, u32)>, Problem) {
        let program = &self.scheduled.program;
        let end = program.steps.len() as u32 + 2;
        let mut requests: Vec<Request> = self
            .sections
            .iter()
            .map(|section| Request {
                name: section.name.clone(),
                bytes: section.bytes.len() as u32,
                align_bytes: 8,
                region: if section.kind.is_code() {
                    Region::Executable
                } else {
                    Region::Any
                },
                live: (0, end),
                // Fetching runs ahead of the last instruction, into the next element if it is near.
                tail_bytes: if section.kind.is_code() {
                    FETCH_AHEAD
                } else {
                    0
                },
                kind: section.kind,
                origin: None,
                padding_bytes: 0,
                element_bytes: 0,
            })
            .collect();
        let mut values = Vec::new();
        let mut index_of: IndexMap<Value, u32> = IndexMap::new();
        for (value, data) in &program.values {
            let Some(shard) = data.distribution.shard_on(&data.shape, self.tile) else {
                continue;
            };
            if shard.is_empty() {
                continue;
            }
            let extents = shard.extents();
            let bytes = data.shard_bytes(&extents);
            let elements: u32 = extents.iter().product();
            let need = self.needs.get(&value).copied().unwrap_or_default();
            index_of.insert(value, requests.len() as u32);
            values.push((value, bytes));
            requests.push(Request {
                name: data.name.clone(),
                bytes,
                align_bytes: data.align_bytes.max(8).max(need.0),
                region: if need.1 || data.memory == MemoryClass::Interleaved {
                    Region::Interleaved
                } else {
                    Region::Any
                },
                live: self.lives[value.as_u32() as usize],
                tail_bytes: data.tail_bytes.max(need.2),
                kind: match data.role {
                    Role::Weight(_) => Kind::Weight,
                    _ => Kind::Data,
                },
                origin: data.origin.clone(),
                padding_bytes: bytes - elements * data.element.bytes(),
                element_bytes: data.element.bytes(),
            });
        }
        let mut pairs: Vec<(Value, Value)> = self.apart.clone();
        let here = |value: Value| {
            self.scheduled
                .phases
                .iter()
                .any(|phase| phase.rows.contains_key(&self.tile))
                && index_of.contains_key(&value)
        };
        pairs.extend(
            self.scheduled
                .apart
                .iter()
                .filter(|(a, b)| here(*a) && here(*b)),
        );
        pairs.sort_unstable();
        pairs.dedup();
        let apart = pairs
            .iter()
            .filter_map(|(a, b)| Some((*index_of.get(a)?, *index_of.get(b)?)))
            .collect();
        let problem = Problem {
            tile: self.tile.0,
            base: memory::APPLICATION_BASE,
            end: memory::END,
            requests,
            apart,
            sequences: Vec::new(),
        };
        (values, problem)
    }
}
