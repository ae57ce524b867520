//! Aux registers for the values of one interval.

use super::{Access, Body, REGISTERS, Reg, Unit};

/// First-fit over the groups of one interval in which each register is held.
pub(super) fn allocate(
    body: &Body,
    access: Access,
    interval: u32,
    times: &[u32],
) -> Option<Vec<u32>> {
    let slots = interval as usize;
    let mut held = vec![vec![false; slots]; REGISTERS as usize];
    let mut places: Vec<Option<u32>> = vec![None; body.sizes.len()];
    // Residents from the top, so that quads keep the bottom.
    let mut resident = body.resident.clone();
    let pinned = |r: Reg| body.pins.iter().any(|pin| pin.0 == r);
    resident.sort_by_key(|&r| (!pinned(r), std::cmp::Reverse(body.sizes[r])));
    for &register in &resident {
        let size = body.sizes[register];
        let pinned = body.pins.iter().find(|(r, _)| *r == register);
        let place = match pinned {
            Some(&(_, place)) => place,
            None => (0..REGISTERS / size)
                .rev()
                .map(|n| n * size)
                .find(|&p| (p..p + size).all(|word| !held[word as usize].iter().any(|&h| h)))?,
        };
        (place..place + size).for_each(|word| held[word as usize].fill(true));
        places[register] = Some(place);
    }
    let mut spans: Vec<(Reg, u32, u32)> = Vec::new();
    for (register, place) in places.iter_mut().enumerate() {
        if body.resident.contains(&register) {
            continue;
        }
        let mut from = u32::MAX;
        let mut to = 0;
        for (ins, &time) in body.ins.iter().zip(times) {
            if ins.def == Some(register) {
                from = from.min(time);
                to = to.max(time + 1);
            }
            if ins.uses.contains(&register) {
                to = to.max(time);
            }
        }
        if from == u32::MAX {
            *place = Some(0);
            continue;
        }
        if to - from > interval {
            return None;
        }
        spans.push((register, from, to));
    }
    let groups = |from: u32, to: u32| (from + 1..=to).map(move |t| (t % interval) as usize);
    let quad: Vec<Reg> = if access == Access::TwoLoadsStore {
        let mut list: Vec<(usize, Reg)> = body
            .ins
            .iter()
            .filter_map(|ins| match ins.unit {
                Unit::Load(b) if b <= 1 => Some((b, ins.def?)),
                _ => None,
            })
            .collect();
        list.sort_unstable();
        list.into_iter().map(|(_, r)| r).collect()
    } else {
        Vec::new()
    };
    if !quad.is_empty() {
        if quad.len() != 2 {
            return None;
        }
        let both: Vec<(Reg, u32, u32)> = quad
            .iter()
            .filter_map(|r| spans.iter().copied().find(|span| span.0 == *r))
            .collect();
        let base = [0, 4].into_iter().find(|&base: &u32| {
            both.iter().enumerate().all(|(i, &(_, from, to))| {
                let at = base + 2 * i as u32;
                (at..at + 2).all(|w| groups(from, to).all(|g| !held[w as usize][g]))
            })
        })?;
        for (i, &(register, from, to)) in both.iter().enumerate() {
            let at = base + 2 * i as u32;
            places[register] = Some(at);
            for word in at..at + 2 {
                groups(from, to).for_each(|g| held[word as usize][g] = true);
            }
        }
        spans.retain(|span| !quad.contains(&span.0));
    }
    spans.sort_by_key(|&(r, from, to)| {
        (
            std::cmp::Reverse(body.sizes[r]),
            std::cmp::Reverse(to - from),
            from,
        )
    });
    for (register, from, to) in spans {
        let size = body.sizes[register];
        let place = (0..REGISTERS / size)
            .map(|n| n * size)
            .find(|&p| (p..p + size).all(|w| groups(from, to).all(|g| !held[w as usize][g])))?;
        for word in place..place + size {
            groups(from, to).for_each(|g| held[word as usize][g] = true);
        }
        places[register] = Some(place);
    }
    places.into_iter().collect()
}
