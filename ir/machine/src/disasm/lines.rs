//! Bytes to lines: instructions where their text assembles to them, data elsewhere.

use std::collections::BTreeMap;

use super::chunk::Chunk;
use super::text::group_text;
use crate::asm::{encode_line, is_rpt, relocation};
use crate::object::{Relocation, RelocationKind};
use crate::{Context, Group, Inst, check_rpt_body};
use ipucc_chip::memory::EXECUTABLE_END;

/// Bytes of a chunk that make one line.
#[derive(Clone, Debug)]
pub(super) struct Line {
    pub offset: u32,
    pub size: u32,
    /// The instruction group; `None` for data.
    pub group: Option<Group>,
    /// Meaning of data that is nearly an instruction.
    pub comment: Option<String>,
}

/// Cuts a chunk into lines.
pub(super) fn lines(chunk: &Chunk) -> Vec<Line> {
    let size = chunk.bytes.len() as u32;
    let mut out = Vec::new();
    let mut at = 0;
    // Words of code stand at multiples of 4.
    if chunk.code && chunk.at(0).is_multiple_of(4) {
        while at + 4 <= size {
            let line = code_line(chunk, at);
            let end = at + line.size;
            if line.group.is_none() && is_cut(chunk, at, end) {
                data_lines(chunk, at, end, &mut out);
            } else {
                out.push(line);
            }
            at = end;
        }
        check_repeats(chunk, &mut out);
    }
    data_lines(chunk, at, size, &mut out);
    out
}

/// True if a label or relocation stands inside `at..end` or a narrow relocation at its start.
fn is_cut(chunk: &Chunk, at: u32, end: u32) -> bool {
    chunk.labels.range(at + 1..end).next().is_some()
        || chunk.relocations.range(at + 1..end).next().is_some()
        || chunk
            .relocations
            .get(&at)
            .is_some_and(|r| data_width(r.kind) < end - at)
}

/// Cuts `at..size` into lines of data.
fn data_lines(chunk: &Chunk, mut at: u32, size: u32, out: &mut Vec<Line>) {
    while at < size {
        let mut take = (size - at).min(4);
        // A line ends before the next label or relocation.
        let next_label = chunk.labels.range(at + 1..).next().map(|(l, _)| *l);
        let next_relocation = chunk.relocations.range(at + 1..).next().map(|(r, _)| *r);
        for next in [next_label, next_relocation].into_iter().flatten() {
            take = take.min(next - at);
        }
        if let Some(relocation) = chunk.relocations.get(&at) {
            take = take.min(data_width(relocation.kind));
        }
        out.push(Line {
            offset: at,
            size: take,
            group: None,
            comment: None,
        });
        at += take;
    }
}

pub(super) fn data_width(kind: RelocationKind) -> u32 {
    match kind {
        RelocationKind::Abs8 => 1,
        RelocationKind::Abs16 | RelocationKind::Rel16S2 => 2,
        _ => 4,
    }
}

/// The line of the word at `at`.
fn code_line(chunk: &Chunk, at: u32) -> Line {
    let mut line = Line {
        offset: at,
        size: 4,
        group: None,
        comment: None,
    };
    let Some(word) = chunk.word(at) else {
        return line;
    };
    let mut words = vec![word];
    words.extend(chunk.word(at + 4));
    let mut failed = None;
    for context in [Context::Worker, Context::Supervisor] {
        match Group::decode(&words, context) {
            Ok((group, used)) => {
                let text = accepted(&group, &words[..used], context).err();
                let aligned =
                    !matches!(group, Group::SendPicP(_)) || chunk.at(at).is_multiple_of(8);
                // A label inside the group must be the start of a line.
                let split = used == 2 && chunk.labels.contains_key(&(at + 4));
                match text {
                    None if aligned && !split && relocations_fit(chunk, at, &group) => {
                        line.group = Some(group);
                        line.size = 4 * used as u32;
                        return line;
                    }
                    None => failed = Some(group.to_string()),
                    Some(text) => failed = Some(text),
                }
            }
            Err(_) => continue,
        }
    }
    line.comment = failed;
    line
}

/// True if every relocation of the group's bytes belongs to an operand.
fn relocations_fit(chunk: &Chunk, at: u32, group: &Group) -> bool {
    let size = 4 * group.words() as u32;
    chunk
        .relocations
        .range(at..at + size)
        .all(|(offset, found)| {
            let (inst, shift) = member_at(group, offset - at);
            operand_of(inst, shift, found).is_some()
        })
}

/// The member whose word is at byte `delta`, and the byte in its own words.
pub(super) fn member_at(group: &Group, delta: u32) -> (&Inst, u32) {
    match group {
        Group::Solo(inst) | Group::SendPicP(inst) => (inst, delta),
        Group::Bundle { main, .. } if delta < 4 => (main, delta),
        Group::Bundle { aux, .. } => (aux, delta - 4),
    }
}

/// The operand that a relocation fills.
pub(super) fn operand_of(inst: &Inst, shift: u32, found: &Relocation) -> Option<usize> {
    (0..inst.op.info().operands.len())
        .find(|&number| relocation(inst.op, number) == Some((found.kind, shift)))
}

/// Checks that the text of a group assembles to its words; the text if not.
fn accepted(group: &Group, words: &[u32], context: Context) -> Result<(), String> {
    let text = group_text(group, context, &BTreeMap::new());
    if encode_line(&text, context).as_deref() == Some(words) {
        Ok(())
    } else {
        Err(group.to_string())
    }
}

/// Turns `rpt` lines whose body is none into data.
fn check_repeats(chunk: &Chunk, lines: &mut [Line]) {
    let size = chunk.bytes.len() as u32;
    let starts: BTreeMap<u32, usize> = lines
        .iter()
        .enumerate()
        .map(|(index, line)| (line.offset, index))
        .collect();
    let mut bad = Vec::new();
    for (index, line) in lines.iter().enumerate() {
        let rpt = match &line.group {
            Some(Group::Solo(inst)) => inst,
            Some(Group::Bundle { main, .. }) => main,
            _ => continue,
        };
        if !is_rpt(rpt.op) {
            continue;
        }
        let first = line.offset + line.size;
        let end = first + 8 * (rpt.operands[1] + 1);
        if first == size {
            continue;
        }
        let mut good = chunk.at(first).is_multiple_of(8)
            && end <= size
            && chunk.address.is_none_or(|a| a + end < EXECUTABLE_END);
        let mut at = first;
        while good && at < end {
            let group = starts.get(&at).and_then(|&i| lines[i].group);
            good = group.is_some_and(|g| check_rpt_body(&[g]).is_ok());
            at += 8;
        }
        if !good {
            bad.push(index);
        }
    }
    for index in bad {
        let line = &mut lines[index];
        let text = line.group.map(|g| g.to_string()).unwrap_or_default();
        line.comment = Some(format!("{text} without a body that it may repeat"));
        line.group = None;
    }
}
