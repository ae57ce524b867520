//! Lines of text.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::chunk::Chunk;
use super::labels::Labels;
use super::lines::{Line, data_width, lines, member_at, operand_of};
use super::{Options, events};
use crate::asm::encode_line;
use crate::object::SymbolKind;
use crate::{Context, Group, Inst, Lane, Op, OperandKind, Table};
use ipucc_chip::csr;

/// The text of chunks; assembling it, with the sections at their addresses, gives their bytes.
pub fn disassemble(chunks: &[Chunk], options: &Options) -> String {
    let decoded: Vec<Vec<Line>> = chunks.iter().map(lines).collect();
    let labels = Labels::collect(chunks, &decoded);
    let mut out = String::new();
    symbols(&mut out, chunks);
    for (index, (chunk, lines)) in chunks.iter().zip(&decoded).enumerate() {
        section(&mut out, index, chunk, lines, &labels, options);
    }
    out
}

/// Text of a group; `names` replaces operands: (member, operand number) to text.
pub(super) fn group_text(
    group: &Group,
    context: Context,
    names: &BTreeMap<(usize, usize), String>,
) -> String {
    let one = |index: usize, inst: &Inst| {
        inst_text(inst, context, |number| names.get(&(index, number)).cloned())
    };
    match group {
        Group::Solo(inst) | Group::SendPicP(inst) => one(0, inst),
        Group::Bundle { main, aux } => {
            format!("{{ {} ; {} }}", one(0, main), one(1, aux))
        }
    }
}

/// Text of an instruction with the mnemonic that the assembler takes for this class.
fn inst_text(inst: &Inst, context: Context, name: impl Fn(usize) -> Option<String>) -> String {
    let plain = inst.to_string();
    if matches!(plain.as_str(), "nop" | "fnop") {
        return plain;
    }
    if matches!(inst.op, Op::OrMmmnZi | Op::OrAaanZi) && inst.operands[2] == 0 && inst.ignored == 0
    {
        let file = if inst.op == Op::OrMmmnZi { 'm' } else { 'a' };
        return format!(
            "mov ${file}{}, ${file}{}",
            inst.operands[0], inst.operands[1]
        );
    }
    let info = inst.op.info();
    let mut mnemonic = info.mnemonic;
    // The immediate form may need the mnemonic that names it.
    if let Some(alias) = info.aliases.first() {
        let text = operands_text(inst, mnemonic, context, |_| None);
        let word = inst.encode(false).ok();
        if encode_line(&text, context).map(|w| w[0]) != word {
            mnemonic = alias;
        }
    }
    operands_text(inst, mnemonic, context, name)
}

fn operands_text(
    inst: &Inst,
    mnemonic: &str,
    context: Context,
    name: impl Fn(usize) -> Option<String>,
) -> String {
    let info = inst.op.info();
    let plain = inst.to_string();
    let shown = plain.strip_prefix(info.mnemonic).unwrap_or("").trim();
    // Ignored bits are a comment behind the operands.
    let (shown, rest) = match shown.split_once(" /*") {
        Some((shown, rest)) => (shown, format!(" /*{rest}")),
        None => (shown, String::new()),
    };
    let mut parts: Vec<String> = shown.split(", ").map(str::to_string).collect();
    for (position, &number) in info.asm_order.iter().enumerate() {
        let number = usize::from(number);
        let Some(part) = parts.get_mut(position) else {
            break;
        };
        if let Some(name) = name(number) {
            *part = name;
        } else if let Some(csr) = csr_name(inst, number, context) {
            *part = format!("${csr}");
        }
    }
    let list = parts.join(", ");
    if list.is_empty() {
        format!("{mnemonic}{rest}")
    } else {
        format!("{mnemonic} {list}{rest}")
    }
}

/// Name of the control register that an operand numbers.
fn csr_name(inst: &Inst, number: usize, context: Context) -> Option<&'static str> {
    let bank = match inst.op {
        Op::GetMmmnZi | Op::PutMmmnZi => 0,
        Op::UgetAaanZi | Op::UputAaanZi => csr::UPPER_BANK,
        _ => return None,
    };
    if number != 1 {
        return None;
    }
    let full = bank + u16::try_from(inst.operands[1]).ok()?;
    let found = match context {
        Context::Worker => csr::in_worker(full),
        Context::Supervisor => csr::in_supervisor(full),
    };
    found.map(|csr| csr.name)
}

/// The only context that can execute a group, if there is only one.
fn needs(group: &Group) -> Option<Context> {
    match group {
        Group::Bundle { .. } => Some(Context::Worker),
        Group::SendPicP(_) => Some(Context::Supervisor),
        Group::Solo(inst) => match (inst.op.info().table, inst.op.info().lane) {
            (Table::Supervisor, _) => Some(Context::Supervisor),
            (Table::Worker, _) | (_, Lane::Aux) => Some(Context::Worker),
            (Table::Common, _) => None,
        },
    }
}

/// Directives for the symbols of an object.
fn symbols(out: &mut String, chunks: &[Chunk]) {
    let Some(chunk) = chunks.first() else { return };
    let sections: Vec<(usize, usize)> = Vec::new();
    let nowhere = Labels {
        names: Vec::new(),
        addresses: BTreeMap::new(),
    };
    for (name, symbol) in &chunk.symbols {
        if symbol.kind == SymbolKind::Section || name.starts_with(".L") {
            continue;
        }
        if !symbol.defined {
            let _ = writeln!(out, "        .extern {name}");
            continue;
        }
        if symbol.global {
            let _ = writeln!(out, "        .globl  {name}");
        }
        match symbol.kind {
            SymbolKind::Function => {
                let _ = writeln!(out, "        .type   {name}, @function");
            }
            SymbolKind::Object => {
                let _ = writeln!(out, "        .type   {name}, @object");
            }
            _ => {}
        }
        if symbol.size > 0 {
            let _ = writeln!(out, "        .size   {name}, {}", symbol.size);
        }
        if symbol.section.is_none() {
            let value = if symbol.expression.is_empty() {
                format!("{:#x}", symbol.value)
            } else {
                nowhere.expression(&sections, chunk, symbol)
            };
            let _ = writeln!(out, "        .set    {name}, {value}");
        }
    }
}

fn section(
    out: &mut String,
    index: usize,
    chunk: &Chunk,
    lines: &[Line],
    labels: &Labels,
    options: &Options,
) {
    for note in &chunk.notes {
        let _ = writeln!(out, "// {note}");
    }
    let flags = if chunk.code { "ax" } else { "aw" };
    let _ = writeln!(out, "        .section {}, \"{flags}\"", chunk.name);
    if chunk.align > 4 {
        let _ = writeln!(out, "        .p2align {}", chunk.align.trailing_zeros());
    }
    // Which chunk shows which section of the object.
    let sections: Vec<(usize, usize)> = if chunk.address.is_none() {
        (0..labels.names.len()).map(|i| (i, i)).collect()
    } else {
        Vec::new()
    };
    let contexts = contexts(chunk, lines, options);
    let groups: Vec<Option<Group>> = lines.iter().map(|l| l.group).collect();
    let starts: Vec<bool> = lines
        .iter()
        .map(|l| labels.names[index].contains_key(&l.offset))
        .collect();
    let events = if options.events {
        events::comments(&groups, &starts)
    } else {
        vec![None; lines.len()]
    };
    let mut mode = None;
    let mut position = 0;
    while position < lines.len() {
        let line = &lines[position];
        write_labels(out, index, chunk, line.offset, labels);
        // A comment may stand inside the group.
        for (_, comments) in chunk
            .comments
            .range(line.offset..line.offset + line.size.max(1))
        {
            for comment in comments {
                let _ = writeln!(out, "        // {comment}");
            }
        }
        let Some(group) = &line.group else {
            position = data(out, chunk, lines, position, labels, index, &sections);
            continue;
        };
        let context = contexts[position];
        if mode != Some(context) {
            let _ = writeln!(out, "        .{context}");
            mode = Some(context);
        }
        let names = operand_names(chunk, line, group, labels, &sections);
        let text = group_text(group, context, &names);
        let mut comment = format!("{:05x}:", chunk.at(line.offset));
        for offset in (0..line.size).step_by(4) {
            if let Some(word) = chunk.word(line.offset + offset) {
                let _ = write!(comment, " {word:08x}");
            }
        }
        if let Some(times) = &events[position] {
            let _ = write!(comment, "  {times}");
        }
        let _ = writeln!(out, "        {text:<47} // {comment}");
        position += 1;
    }
    write_labels(out, index, chunk, chunk.bytes.len() as u32, labels);
}

fn write_labels(out: &mut String, index: usize, chunk: &Chunk, offset: u32, labels: &Labels) {
    let first = labels.names[index].get(&offset);
    if let Some(name) = first {
        let _ = writeln!(out, "{name}:");
    }
    for name in chunk.labels.get(&offset).into_iter().flatten() {
        if Some(name) != first {
            let _ = writeln!(out, "{name}:");
        }
    }
}

/// True for a group behind which straight-line code cannot go on.
fn ends_flow(group: &Group) -> bool {
    let inst = match group {
        Group::Solo(inst) | Group::SendPicP(inst) => inst,
        Group::Bundle { main, .. } => main,
    };
    matches!(
        inst.op,
        Op::BrMmmn
            | Op::BriMmmnZi
            | Op::ExitzMmmn
            | Op::ExitnzMmmn
            | Op::ExitnegMmmn
            | Op::ExitposMmmn
    )
}

/// The context of each line: the one it needs. Lines that both contexts have belong to the code
/// around them; between code of two contexts the change is behind the last jump.
fn contexts(chunk: &Chunk, lines: &[Line], options: &Options) -> Vec<Context> {
    let needed: Vec<Option<Context>> = lines
        .iter()
        .map(|l| l.group.as_ref().and_then(needs))
        .collect();
    let start = chunk.context.or(options.context);
    let mut out = Vec::with_capacity(lines.len());
    let mut before = start;
    while out.len() < lines.len() {
        let first = out.len();
        let end = (first..lines.len())
            .find(|&i| needed[i].is_some())
            .unwrap_or(lines.len());
        let after = needed.get(end).copied().flatten();
        let change = match (before, after) {
            (Some(a), Some(b)) if a != b => (first..end)
                .rev()
                .find(|&i| lines[i].group.as_ref().is_some_and(ends_flow))
                .map_or(first, |i| i + 1),
            (Some(_), _) => end,
            _ => first,
        };
        let earlier = before.or(after).unwrap_or(Context::Worker);
        out.extend(std::iter::repeat_n(earlier, change - first));
        out.extend(std::iter::repeat_n(after.unwrap_or(earlier), end - change));
        if let Some(context) = after {
            out.push(context);
            before = after;
        }
    }
    out
}

/// Operands that are shown as names.
fn operand_names(
    chunk: &Chunk,
    line: &Line,
    group: &Group,
    labels: &Labels,
    sections: &[(usize, usize)],
) -> BTreeMap<(usize, usize), String> {
    let mut out = BTreeMap::new();
    let members: Vec<&Inst> = match group {
        Group::Solo(inst) | Group::SendPicP(inst) => vec![inst],
        Group::Bundle { main, aux } => vec![main, aux],
    };
    for (member, inst) in members.iter().enumerate() {
        for (number, operand) in inst.op.info().operands.iter().enumerate() {
            if chunk.address.is_some()
                && matches!(operand.kind, OperandKind::Target19 | OperandKind::Target20)
                && let Some(&(index, offset)) = labels.addresses.get(&inst.operands[number])
                && let Some(name) = labels.names[index].get(&offset)
            {
                out.insert((member, number), name.clone());
            }
        }
    }
    for (offset, found) in chunk
        .relocations
        .range(line.offset..line.offset + line.size)
    {
        let delta = offset - line.offset;
        let (inst, shift) = member_at(group, delta);
        let member = usize::from(matches!(group, Group::Bundle { .. }) && delta >= 4);
        if let Some(number) = operand_of(inst, shift, found) {
            let text = labels.symbol(sections, chunk, found.symbol, found.addend.into());
            out.insert((member, number), text);
        }
    }
    out
}

/// Writes data from line `position` on; returns the next line that is not written.
fn data(
    out: &mut String,
    chunk: &Chunk,
    lines: &[Line],
    position: usize,
    labels: &Labels,
    index: usize,
    sections: &[(usize, usize)],
) -> usize {
    let line = &lines[position];
    let at = chunk.at(line.offset);
    if let Some(found) = chunk.relocations.get(&line.offset) {
        let text = labels.symbol(sections, chunk, found.symbol, found.addend.into());
        let directive = match data_width(found.kind) {
            1 => ".byte",
            2 => ".short",
            _ => ".word",
        };
        let text = format!("{directive:<8}{text}");
        let _ = writeln!(out, "        {text:<47} // {at:05x}:");
        return position + 1;
    }
    let bytes = &chunk.bytes[line.offset as usize..(line.offset + line.size) as usize];
    if line.size < 4 {
        let list: Vec<String> = bytes.iter().map(|b| format!("{b:#04x}")).collect();
        let text = format!(".byte   {}", list.join(", "));
        let _ = writeln!(out, "        {text:<47} // {at:05x}:");
        return position + 1;
    }
    if let Some(comment) = &line.comment {
        let mut list = Vec::new();
        for word in (0..line.size).step_by(4) {
            list.push(format!(
                "{:#010x}",
                chunk.word(line.offset + word).unwrap_or(0)
            ));
        }
        let text = format!(".word   {}", list.join(", "));
        let _ = writeln!(out, "        {text:<47} // {at:05x}: {comment}");
        return position + 1;
    }
    // A run of plain words.
    let plain = |p: usize| {
        lines.get(p).filter(|l| {
            l.group.is_none()
                && l.comment.is_none()
                && l.size == 4
                && !chunk.relocations.contains_key(&l.offset)
                && (p == position
                    || !labels.names[index].contains_key(&l.offset)
                        && !chunk.labels.contains_key(&l.offset))
        })
    };
    let mut end = position;
    while let Some(line) = plain(end) {
        if chunk.word(line.offset) != Some(0) {
            break;
        }
        end += 1;
    }
    if end - position >= 4 {
        let text = format!(".zero   {}", 4 * (end - position));
        let _ = writeln!(out, "        {text:<47} // {at:05x}:");
        return end;
    }
    let mut list = Vec::new();
    let mut end = position;
    while let Some(line) = plain(end) {
        if list.len() == 4 {
            break;
        }
        list.push(format!("{:#010x}", chunk.word(line.offset).unwrap_or(0)));
        end += 1;
    }
    let text = format!(".word   {}", list.join(", "));
    let _ = writeln!(out, "        {text:<47} // {at:05x}:");
    end.max(position + 1)
}
