//! Allocation of tile memory: sections and values together, after code has been emitted.
//!
//! A [`Problem`] is data: lifetimes, alignments, regions, pairs that must not share a memory
//! element, sequences. It can be written to a file and replayed. The search is deterministic: a few
//! fixed orders of first fit, then first fit under orders repaired by what was in the way, bounded
//! by a count.
//!
//! Code and rows never share an element with anything that is loaded or stored: fetching from an
//! element that moving data touches is a conflict (`facts/exchange.md` 2, `isa/execution.md` 11).

use ipucc_chip::memory;
pub use ipucc_tile::sram::{Kind, Placement, Problem, Region, Request};
use thiserror::Error;

mod message;

pub use message::{OutOfMemory, Shortage};

/// How hard to search.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Options {
    /// Orders tried beyond the fixed ones.
    pub repairs: u32,
    /// Take the first placement that fits instead of looking for the lowest peak.
    pub first: bool,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            repairs: 200,
            first: false,
        }
    }
}

/// Tile memory does not suffice.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum SramError {
    /// A problem that no placement can solve or that the search did not solve.
    #[error("{0}")]
    OutOfMemory(Box<OutOfMemory>),
    /// A malformed problem.
    #[error("tile {tile}: request `{name}`: {reason}")]
    Malformed {
        /// Logical tile.
        tile: u16,
        /// The request.
        name: String,
        /// What is wrong with it.
        reason: String,
    },
}

/// Places every request.
///
/// # Errors
/// [`SramError::OutOfMemory`] names the step, what lives there and what would help.
pub fn solve(problem: &Problem, options: Options) -> Result<Placement, SramError> {
    let units = Units::of(problem)?;
    if let Some(shortage) = message::shortage(problem) {
        return Err(SramError::OutOfMemory(Box::new(shortage)));
    }
    let (live, peak_step) = most_live(problem, |_| true);
    // It is at most what memory holds.
    let bound_bytes = live as u32;
    let mut best: Option<(u32, Vec<u32>)> = None;
    let keep = |addresses: Vec<u32>, best: &mut Option<(u32, Vec<u32>)>| {
        let peak = peak(problem, &addresses);
        if best.as_ref().is_none_or(|(old, _)| peak < *old) {
            *best = Some((peak, addresses));
        }
    };
    let mut orders = fixed_orders(problem, &units);
    let mut worst = Vec::new();
    for order in &orders {
        match first_fit(problem, &units, order) {
            Ok(addresses) => keep(addresses, &mut best),
            Err(unit) => worst.push(unit),
        }
        let enough = |(peak, _): &(u32, Vec<u32>)| options.first || *peak <= bound_bytes;
        if best.as_ref().is_some_and(enough) {
            break;
        }
    }
    // A request that found no place, or that ends at the peak, goes earlier in the next order.
    let mut order = orders.swap_remove(0);
    let mut random = 0x9e37_79b9_7f4a_7c15u64;
    for _ in 0..options.repairs {
        let enough = |(peak, _): &(u32, Vec<u32>)| options.first || *peak <= bound_bytes;
        if best.as_ref().is_some_and(enough) {
            break;
        }
        let moved = match first_fit(problem, &units, &order) {
            Ok(addresses) => {
                let last = (0..units.members.len()).max_by_key(|&unit| {
                    let first = units.members[unit][0] as usize;
                    (addresses[first] + units.bytes[unit], unit)
                });
                keep(addresses, &mut best);
                last.unwrap_or(0)
            }
            Err(unit) => unit,
        };
        let at = order.iter().position(|&unit| unit == moved).unwrap_or(0);
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        let to = if at == 0 {
            (random % order.len() as u64) as usize
        } else {
            (random % at as u64) as usize
        };
        let unit = order.remove(at);
        order.insert(to.min(order.len()), unit);
    }
    match best {
        Some((peak_bytes, addresses)) => Ok(Placement {
            addresses,
            bound_bytes,
            peak_bytes,
        }),
        None => {
            let there = problem.end - problem.base;
            let shortage = Shortage::Placement;
            let error = message::described(problem, shortage, there, live, peak_step);
            Err(SramError::OutOfMemory(Box::new(error)))
        }
    }
}

/// Checks a placement against its problem: regions, alignment, overlap in time, elements,
/// sequences. Shares nothing with the search.
pub fn verify(problem: &Problem, placement: &Placement) -> Result<(), String> {
    let at = &placement.addresses;
    if at.len() != problem.requests.len() {
        return Err("a request has no address".into());
    }
    for (i, a) in problem.requests.iter().enumerate() {
        let end = at[i] as u64 + a.bytes as u64;
        if !at[i].is_multiple_of(a.align_bytes) || at[i] < problem.base || end > problem.end as u64
        {
            return Err(format!("`{}` at {:#x} is misplaced", a.name, at[i]));
        }
        if end + a.tail_bytes as u64 > memory::END as u64 {
            return Err(format!("the tail of `{}` leaves memory", a.name));
        }
        let low = at[i] < memory::INTERLEAVED_BASE;
        let high = end > memory::INTERLEAVED_BASE as u64;
        let wrong = match a.region {
            Region::Any => false,
            Region::Executable => high,
            Region::Interleaved => low,
        };
        if wrong || (a.bytes > 0 && low && high && a.region != Region::Any) {
            return Err(format!("`{}` is in the wrong region", a.name));
        }
        for (j, b) in problem.requests.iter().enumerate().skip(i + 1) {
            let apart = end <= at[j] as u64 || at[j] as u64 + b.bytes as u64 <= at[i] as u64;
            let live = a.live.0 < b.live.1 && b.live.0 < a.live.1;
            if live && !apart && a.bytes > 0 && b.bytes > 0 {
                return Err(format!("`{}` and `{}` overlap", a.name, b.name));
            }
            if a.kind.is_code() != b.kind.is_code()
                && a.bytes > 0
                && b.bytes > 0
                && touched(at[i], a).any(|x| touched(at[j], b).any(|y| x == y))
            {
                return Err(format!(
                    "`{}` and `{}`: code and data share an element",
                    a.name, b.name
                ));
            }
        }
    }
    for &(i, j) in &problem.apart {
        let (a, b) = (&problem.requests[i as usize], &problem.requests[j as usize]);
        if touched(at[i as usize], a).any(|x| touched(at[j as usize], b).any(|y| x == y)) {
            return Err(format!("`{}` and `{}` share an element", a.name, b.name));
        }
    }
    for sequence in &problem.sequences {
        for pair in sequence.windows(3) {
            let [a, b, c] = [0, 1, 2].map(|n| at[pair[n] as usize] as i64);
            if b - a != c - b {
                return Err("a sequence has unequal distances".into());
            }
        }
    }
    Ok(())
}

fn touched(address: u32, request: &Request) -> impl Iterator<Item = u32> + use<> {
    let last = (address + request.bytes + request.tail_bytes).min(memory::END) - 1;
    memory::exchange_unit(address)..=memory::exchange_unit(last.max(address))
}

/// Requests grouped into units that move together: single requests and sequences.
struct Units {
    members: Vec<Vec<u32>>,
    bytes: Vec<u32>,
    stride: Vec<u32>,
    align: Vec<u32>,
    tail: Vec<u32>,
    live: Vec<(u32, u32)>,
    region: Vec<Region>,
    code: Vec<bool>,
    apart: Vec<Vec<usize>>,
}

impl Units {
    fn of(problem: &Problem) -> Result<Units, SramError> {
        let (base, end) = (problem.base, problem.end);
        if base < memory::BASE || base > end || end > memory::END {
            return Err(SramError::Malformed {
                tile: problem.tile,
                name: "memory".into(),
                reason: format!("{base:#x}..{end:#x} is no part of a tile's memory"),
            });
        }
        let count = problem.requests.len();
        let malformed = |i: usize, reason: &str| SramError::Malformed {
            tile: problem.tile,
            name: problem.requests[i].name.clone(),
            reason: reason.into(),
        };
        let mut unit_of = vec![usize::MAX; count];
        let mut members: Vec<Vec<u32>> = Vec::new();
        for sequence in &problem.sequences {
            for &i in sequence {
                if i as usize >= count || unit_of[i as usize] != usize::MAX {
                    return Err(SramError::Malformed {
                        tile: problem.tile,
                        name: format!("#{i}"),
                        reason: "appears in two sequences or does not exist".into(),
                    });
                }
                unit_of[i as usize] = members.len();
            }
            if !sequence.is_empty() {
                members.push(sequence.clone());
            }
        }
        for (i, unit) in unit_of.iter_mut().enumerate() {
            if *unit == usize::MAX {
                *unit = members.len();
                members.push(vec![i as u32]);
            }
        }
        let mut units = Units {
            bytes: vec![],
            stride: vec![],
            align: vec![],
            tail: vec![],
            live: vec![],
            region: vec![],
            code: vec![],
            apart: vec![Vec::new(); members.len()],
            members,
        };
        for unit in &units.members {
            let of = |f: fn(&Request) -> u32| {
                unit.iter()
                    .map(|&i| f(&problem.requests[i as usize]))
                    .max()
                    .unwrap_or(0)
            };
            let first = &problem.requests[unit[0] as usize];
            for &i in unit {
                let request = &problem.requests[i as usize];
                if !request.align_bytes.is_power_of_two() {
                    return Err(malformed(i as usize, "alignment is not a power of two"));
                }
                let sizes = [request.bytes, request.align_bytes, request.tail_bytes];
                if sizes.iter().any(|&bytes| bytes > 1 << 24) {
                    return Err(malformed(i as usize, "it is larger than any memory"));
                }
                if request.live.0 >= request.live.1 {
                    return Err(malformed(i as usize, "its lifetime is empty"));
                }
            }
            let align = of(|r| r.align_bytes);
            let stride = of(|r| r.bytes).next_multiple_of(align);
            units.stride.push(stride);
            units.align.push(align);
            let bytes = u64::from(stride) * (unit.len() as u64 - 1) + u64::from(of(|r| r.bytes));
            match u32::try_from(bytes) {
                Ok(bytes) if bytes <= 1 << 28 => units.bytes.push(bytes),
                _ => return Err(malformed(unit[0] as usize, "its sequence is too long")),
            }
            units.tail.push(of(|r| r.tail_bytes));
            units.live.push((
                unit.iter()
                    .map(|&i| problem.requests[i as usize].live.0)
                    .min()
                    .unwrap_or(0),
                of(|r| r.live.1),
            ));
            units.region.push(first.region);
            units.code.push(first.kind.is_code());
        }
        for &(i, j) in &problem.apart {
            let (Some(&a), Some(&b)) = (unit_of.get(i as usize), unit_of.get(j as usize)) else {
                return Err(SramError::Malformed {
                    tile: problem.tile,
                    name: format!("#{i}, #{j}"),
                    reason: "an apart pair names a request that does not exist".into(),
                });
            };
            if a != b {
                units.apart[a].push(b);
                units.apart[b].push(a);
            }
        }
        Ok(units)
    }
}

/// Most live bytes of the requests that count, and the step where they are.
fn most_live(problem: &Problem, counts: impl Fn(&Request) -> bool) -> (u64, u32) {
    let mut changes: Vec<(u32, i64)> = Vec::new();
    for request in problem.requests.iter().filter(|request| counts(request)) {
        changes.push((request.live.0, request.bytes.into()));
        changes.push((request.live.1, -i64::from(request.bytes)));
    }
    changes.sort_unstable();
    let (mut now, mut most, mut step) = (0i64, 0i64, 0);
    for (at, change) in changes {
        now += change;
        if now > most {
            (most, step) = (now, at);
        }
    }
    (most as u64, step)
}

fn peak(problem: &Problem, addresses: &[u32]) -> u32 {
    let ends = |low: u32, high: u32| {
        problem
            .requests
            .iter()
            .zip(addresses)
            // A request may stand in both regions.
            .map(|(request, &at)| (request.bytes, at, (at + request.bytes).min(high)))
            .filter(|&(bytes, at, end)| bytes > 0 && at < high && end > low)
            .map(|(_, _, end)| end - low)
            .max()
            .unwrap_or(0)
    };
    if problem.base >= memory::INTERLEAVED_BASE {
        return ends(problem.base, problem.end);
    }
    ends(problem.base, memory::INTERLEAVED_BASE)
        + ends(
            memory::INTERLEAVED_BASE,
            problem.end.max(memory::INTERLEAVED_BASE),
        )
}

fn fixed_orders(problem: &Problem, units: &Units) -> Vec<Vec<usize>> {
    let _ = problem;
    let by = |key: &dyn Fn(usize) -> (i64, i64, i64)| {
        let mut order: Vec<usize> = (0..units.members.len()).collect();
        order.sort_by_key(|&unit| (!units.code[unit], key(unit), unit));
        order
    };
    let size = |u: usize| -(units.bytes[u] as i64);
    let start = |u: usize| units.live[u].0 as i64;
    let length = |u: usize| -((units.live[u].1 - units.live[u].0) as i64);
    let choice = |u: usize| match units.region[u] {
        Region::Any => 1i64,
        _ => 0,
    };
    vec![
        by(&|u| (choice(u), length(u), size(u))),
        by(&|u| (choice(u), size(u), start(u))),
        by(&|u| (choice(u), start(u), size(u))),
        by(&|u| (choice(u), size(u) * (-length(u)), start(u))),
        by(&|u| (-(units.align[u] as i64), size(u), start(u))),
    ]
}

/// Lowest legal address for every unit in this order; `Err(unit)` if one finds none.
fn first_fit(problem: &Problem, units: &Units, order: &[usize]) -> Result<Vec<u32>, usize> {
    let mut placed: Vec<Option<u32>> = vec![None; units.members.len()];
    let mut done: Vec<(usize, u32)> = Vec::with_capacity(order.len());
    let mut apart = vec![false; units.members.len()];
    let mut blocked: Vec<(u32, u32)> = Vec::new();
    for &unit in order {
        let (low, high) = match units.region[unit] {
            Region::Executable => (problem.base, memory::EXECUTABLE_END.min(problem.end)),
            Region::Interleaved => (memory::INTERLEAVED_BASE.max(problem.base), problem.end),
            Region::Any => (problem.base, problem.end),
        };
        units.apart[unit]
            .iter()
            .for_each(|&other| apart[other] = true);
        blocked.clear();
        for &(other, there) in &done {
            blocked.extend(blocked_starts(units, unit, other, there, apart[other]));
        }
        units.apart[unit]
            .iter()
            .for_each(|&other| apart[other] = false);
        blocked.sort_unstable();
        let align = units.align[unit];
        let mut at = low.next_multiple_of(align);
        for &(from, to) in &blocked {
            if at < from {
                break;
            }
            if at < to {
                at = to.next_multiple_of(align);
            }
        }
        let end = u64::from(at) + u64::from(units.bytes[unit]);
        if end > u64::from(high) || end + u64::from(units.tail[unit]) > u64::from(memory::END) {
            return Err(unit);
        }
        placed[unit] = Some(at);
        done.push((unit, at));
    }
    let mut addresses = vec![0; problem.requests.len()];
    for (unit, members) in units.members.iter().enumerate() {
        for (k, &i) in members.iter().enumerate() {
            addresses[i as usize] = placed[unit].unwrap_or(0) + k as u32 * units.stride[unit];
        }
    }
    Ok(addresses)
}

/// Addresses at which `unit` may not begin because `other` stands at `there`: half-open intervals,
/// one for their bytes and one for their elements.
fn blocked_starts(
    units: &Units,
    unit: usize,
    other: usize,
    there: u32,
    apart: bool,
) -> impl Iterator<Item = (u32, u32)> {
    let (bytes, others) = (units.bytes[unit], units.bytes[other]);
    let live = units.live[unit].0 < units.live[other].1 && units.live[other].0 < units.live[unit].1;
    let overlap = (live && bytes > 0).then(|| ((there + 1).saturating_sub(bytes), there + others));
    let elements = (apart || units.code[unit] != units.code[other]) && bytes > 0 && others > 0;
    let shared = elements.then(|| {
        let reach = bytes + units.tail[unit];
        let last = (there + others + units.tail[other]).min(memory::END);
        let first = (element_start(there) + 1).saturating_sub(reach);
        (first, element_end(last))
    });
    overlap.into_iter().chain(shared)
}

/// First byte of the element (or interleaved pair) of an address.
fn element_start(address: u32) -> u32 {
    if address < memory::INTERLEAVED_BASE {
        address - (address - memory::BASE) % memory::ELEMENT_BYTES
    } else {
        address - (address - memory::INTERLEAVED_BASE) % memory::PAIR_BYTES
    }
}

/// First byte behind the element that ends at or behind an address.
fn element_end(address: u32) -> u32 {
    let end = if address <= memory::INTERLEAVED_BASE {
        memory::BASE + (address - memory::BASE).next_multiple_of(memory::ELEMENT_BYTES)
    } else {
        memory::INTERLEAVED_BASE
            + (address - memory::INTERLEAVED_BASE).next_multiple_of(memory::PAIR_BYTES)
    };
    end.min(memory::END)
}
