//! Event times of exchange rows in a listing (`facts/exchange.md` 0 and 1.4, `isa/supervisor.md`
//! 4 and 9). A reading aid: it follows straight-line code and knows nothing of transfers.

use crate::{Group, Inst, Op};

/// What an instruction of a row does in time.
pub(super) enum Step {
    /// Part of a row: events it takes, and what takes effect how many events after its start.
    Row {
        events: u32,
        effects: Vec<(u32, String)>,
    },
    /// Register set-up that may belong to a row: events.
    Setup(u32),
    /// Ends a row (`br`, padding).
    End,
    /// No part of a row.
    Other,
}

fn select(field: u32) -> String {
    let mux = if field >> 13 & 1 == 1 {
        "pair mux"
    } else {
        "mux"
    };
    match field & 0x1fff {
        0x640 => format!("{mux} neutral"),
        value if value & 0x600 == 0x600 => format!("{mux} host {value:#x}"),
        value => format!("{mux} tile {value}"),
    }
}

fn pic(selector: u32, value: u32) -> String {
    if selector == 0 {
        format!("pointer {:#x}", value << 2)
    } else {
        format!("format {value}")
    }
}

fn stream(address: u32, control: u32) -> String {
    let unit = if control & 4 != 0 { 8 } else { 4 };
    format!("from {:#x}, control {control}", u64::from(address) * unit)
}

/// The step of a group.
pub(super) fn step(group: &Group) -> Step {
    let inst: &Inst = match group {
        Group::Solo(inst) | Group::SendPicP(inst) => inst,
        Group::Bundle { .. } => return Step::Other,
    };
    let o = &inst.operands;
    match inst.op {
        Op::DelayMmmnZi => Step::Row {
            events: o[0] + 1,
            effects: Vec::new(),
        },
        Op::DelayPic => Step::Row {
            events: o[0] + 1,
            effects: vec![(o[0] + 1, pic(o[1], o[2]))],
        },
        Op::DelayXpic => Step::Row {
            events: o[0] + 1,
            effects: vec![(o[0] + 1, select(o[1] << 13 | o[2]))],
        },
        Op::SendMmmnZi => Step::Row {
            events: o[0] + 1,
            effects: vec![(1, format!("first word {}", stream(o[1], o[2])))],
        },
        Op::SendOff => Step::Row {
            events: o[0] + 1,
            effects: vec![(1, "stream continues".to_string())],
        },
        Op::SendPic => Step::Row {
            events: o[0] + 1,
            effects: vec![(
                1,
                match o[1] {
                    0 | 1 => select(o[1] << 13 | o[2]),
                    other => pic(other & 1, o[2]),
                },
            )],
        },
        Op::SendPicP => {
            let mut effects = vec![(1, select(o[4])), (1, pic(o[0], o[5]))];
            if o[3] & 3 != 0 {
                effects.insert(0, (1, format!("first word {}", stream(o[2], o[3]))));
            }
            Step::Row {
                events: o[1] + 1,
                effects,
            }
        }
        Op::SetziMmmnZi if o[0] == 14 => Step::End,
        Op::SetziMmmnZi => Step::Setup(1),
        Op::PutMmmnZi if ipucc_chip::csr::EXCHANGE.contains(&(o[1] as u16)) => {
            // Named assumption `sup_put_exch`, at its default.
            Step::Setup(13)
        }
        Op::BrMmmn => Step::End,
        _ => Step::Other,
    }
}

/// Comments with event times for each of `groups` (in order, gaps as `None`).
pub(super) fn comments(groups: &[Option<Group>], starts: &[bool]) -> Vec<Option<String>> {
    let mut out = vec![None; groups.len()];
    let mut index = 0;
    // A run after an end or a label may begin with set-up.
    let mut fresh = true;
    while index < groups.len() {
        let is_row = |i: usize| match &groups[i] {
            Some(group) => matches!(step(group), Step::Row { .. } | Step::Setup(_)),
            None => false,
        };
        let begins = fresh || starts[index];
        let mut end = index;
        while end < groups.len() && is_row(end) && (end == index || !starts[end]) {
            end += 1;
        }
        let first_row = (index..end).find(|&i| {
            groups[i]
                .as_ref()
                .is_some_and(|g| matches!(step(g), Step::Row { .. }))
        });
        if let Some(first_row) = first_row {
            let first = if begins { index } else { first_row };
            let mut now = 0u32;
            for position in first..end {
                let Some(group) = &groups[position] else {
                    continue;
                };
                let (events, effects) = match step(group) {
                    Step::Row { events, effects } => (events, effects),
                    Step::Setup(events) => (events, Vec::new()),
                    Step::End | Step::Other => (0, Vec::new()),
                };
                let mut text = format!("start {now} end {}", now.saturating_add(events));
                for (offset, what) in effects {
                    text.push_str(&format!(", effect {} {what}", now.saturating_add(offset)));
                }
                out[position] = Some(text);
                now = now.saturating_add(events);
            }
            if end < groups.len()
                && let Some(group) = &groups[end]
                && matches!(step(group), Step::End)
            {
                out[end] = Some(format!("row ends at {now}"));
            }
        }
        if end == index {
            fresh = groups[index]
                .as_ref()
                .is_none_or(|g| matches!(step(g), Step::End));
            end += 1;
        } else {
            fresh = false;
        }
        index = end;
    }
    out
}
