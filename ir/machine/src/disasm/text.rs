//! Lines of text.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use super::chunk::Chunk;
use super::{Options, events};
use crate::asm::{encode_line, is_rpt, relocation};
use crate::object::{Relocation, RelocationKind, Step, Symbol, SymbolKind};
use crate::{Context, Group, Inst, Lane, Op, OperandKind, Table, check_rpt_body};
use ipucc_chip::csr;
use ipucc_chip::memory::EXECUTABLE_END;

/// Bytes of a chunk that make one line.
#[derive(Clone, Debug)]
struct Line {
    offset: u32,
    size: u32,
    /// The instruction group; `None` for data.
    group: Option<Group>,
    /// Meaning of data that is nearly an instruction.
    comment: Option<String>,
}

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

/// Cuts a chunk into lines.
fn lines(chunk: &Chunk) -> Vec<Line> {
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

fn data_width(kind: RelocationKind) -> u32 {
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
fn member_at(group: &Group, delta: u32) -> (&Inst, u32) {
    match group {
        Group::Solo(inst) | Group::SendPicP(inst) => (inst, delta),
        Group::Bundle { main, .. } if delta < 4 => (main, delta),
        Group::Bundle { aux, .. } => (aux, delta - 4),
    }
}

/// The operand that a relocation fills.
fn operand_of(inst: &Inst, shift: u32, found: &Relocation) -> Option<usize> {
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

/// Labels: names of symbols and of branch targets.
struct Labels {
    /// By chunk and offset.
    names: Vec<BTreeMap<u32, String>>,
    /// Label of an absolute address: chunk and offset.
    addresses: BTreeMap<u32, (usize, u32)>,
}

impl Labels {
    fn collect(chunks: &[Chunk], decoded: &[Vec<Line>]) -> Labels {
        let mut out = Labels {
            names: vec![BTreeMap::new(); chunks.len()],
            addresses: BTreeMap::new(),
        };
        let mut used: BTreeSet<String> = BTreeSet::new();
        for chunk in chunks {
            used.extend(chunk.labels.values().flatten().cloned());
            used.extend(chunk.symbols.iter().map(|(n, _)| n.clone()));
        }
        let mut line_starts: Vec<BTreeSet<u32>> = Vec::new();
        for (index, (chunk, lines)) in chunks.iter().zip(decoded).enumerate() {
            let starts: BTreeSet<u32> = lines
                .iter()
                .map(|l| l.offset)
                .chain([chunk.bytes.len() as u32])
                .collect();
            for (offset, names) in &chunk.labels {
                if let (true, Some(name)) = (starts.contains(offset), names.first()) {
                    out.names[index].insert(*offset, name.clone());
                }
            }
            line_starts.push(starts);
            if let Some(address) = chunk.address {
                for &offset in &line_starts[index] {
                    out.addresses
                        .entry(address.wrapping_add(offset))
                        .or_insert((index, offset));
                }
            }
        }
        let mut wanted: BTreeSet<(usize, u32)> = BTreeSet::new();
        for (chunk, lines) in chunks.iter().zip(decoded) {
            if chunk.address.is_some() {
                for line in lines {
                    if let Some(group) = &line.group {
                        wanted.extend(targets(group).filter_map(|t| out.addresses.get(&t)));
                    }
                }
            }
            for found in chunk.relocations.values() {
                out.want_symbol(
                    chunks,
                    chunk,
                    found.symbol,
                    found.addend,
                    &line_starts,
                    &mut wanted,
                );
                if let Some((_, symbol)) = chunk.symbols.get(found.symbol) {
                    for step in &symbol.expression {
                        if let Step::Symbol(inner, addend) = step {
                            let addend = i32::try_from(*addend).unwrap_or(0);
                            out.want_symbol(
                                chunks,
                                chunk,
                                *inner,
                                addend,
                                &line_starts,
                                &mut wanted,
                            );
                        }
                    }
                }
            }
        }
        for (index, offset) in wanted {
            if out.names[index].contains_key(&offset) {
                continue;
            }
            let chunk = &chunks[index];
            let mut name = match chunk.address {
                Some(_) => format!(".L{:x}", chunk.at(offset)),
                None => format!(".L{index}_{offset:x}"),
            };
            while !used.insert(name.clone()) {
                name.push('_');
            }
            out.names[index].insert(offset, name);
        }
        out
    }

    /// Asks for the label that a reference to a section symbol needs.
    fn want_symbol(
        &self,
        chunks: &[Chunk],
        chunk: &Chunk,
        symbol: usize,
        addend: i32,
        starts: &[BTreeSet<u32>],
        wanted: &mut BTreeSet<(usize, u32)>,
    ) {
        let Some((_, symbol)) = chunk.symbols.get(symbol) else {
            return;
        };
        if symbol.kind != SymbolKind::Section {
            return;
        }
        let Some(index) = chunks
            .iter()
            .position(|c| Some(c.section) == symbol.section)
        else {
            return;
        };
        let offset = u32::try_from(addend)
            .ok()
            .filter(|o| starts[index].contains(o));
        wanted.insert((index, offset.unwrap_or(0)));
    }

    /// Text of a symbol of the chunk's object plus an addend.
    fn symbol(
        &self,
        chunks_section: &[(usize, usize)],
        chunk: &Chunk,
        symbol: usize,
        addend: i64,
    ) -> String {
        let Some((name, entry)) = chunk.symbols.get(symbol) else {
            return "0".to_string();
        };
        if !entry.expression.is_empty() && name.starts_with(".L") {
            return plus(&self.expression(chunks_section, chunk, entry), addend);
        }
        if entry.kind == SymbolKind::Section
            && let Some((_, index)) = chunks_section
                .iter()
                .find(|(s, _)| Some(*s) == entry.section)
        {
            let exact = u32::try_from(addend)
                .ok()
                .and_then(|offset| self.names[*index].get(&offset));
            if let Some(name) = exact {
                return name.clone();
            }
            if let Some(name) = self.names[*index].get(&0) {
                return plus(name, addend);
            }
        }
        plus(name, addend)
    }

    fn expression(&self, sections: &[(usize, usize)], chunk: &Chunk, entry: &Symbol) -> String {
        let mut stack: Vec<String> = Vec::new();
        for step in &entry.expression {
            match step {
                Step::Constant(value) => stack.push(format!("({value})")),
                Step::Symbol(symbol, addend) => {
                    stack.push(format!(
                        "({})",
                        self.symbol(sections, chunk, *symbol, *addend)
                    ));
                }
                Step::Unary(op) => {
                    let a = stack.pop().unwrap_or_default();
                    stack.push(format!("({op}{a})"));
                }
                Step::Binary(op) => {
                    let b = stack.pop().unwrap_or_default();
                    let a = stack.pop().unwrap_or_default();
                    let op = match op {
                        'l' => "<<",
                        'r' => ">>",
                        'n' => "!",
                        '=' => "==",
                        '#' => "!=",
                        '[' => "<=",
                        ']' => ">=",
                        'a' => "&&",
                        'o' => "||",
                        '+' => "+",
                        '-' => "-",
                        '*' => "*",
                        '/' => "/",
                        '%' => "%",
                        '&' => "&",
                        '|' => "|",
                        '^' => "^",
                        '<' => "<",
                        _ => ">",
                    };
                    stack.push(format!("({a} {op} {b})"));
                }
            }
        }
        stack.pop().unwrap_or_default()
    }
}

fn plus(name: &str, addend: i64) -> String {
    match addend {
        0 => name.to_string(),
        addend if addend < 0 => format!("{name} - {}", addend.unsigned_abs()),
        addend => format!("{name} + {addend}"),
    }
}

/// Branch targets of a group.
fn targets(group: &Group) -> impl Iterator<Item = u32> + use<> {
    let inst = match group {
        Group::Solo(inst) | Group::SendPicP(inst) => *inst,
        Group::Bundle { main, .. } => *main,
    };
    inst.op
        .info()
        .operands
        .iter()
        .enumerate()
        .filter(|(_, o)| matches!(o.kind, OperandKind::Target19 | OperandKind::Target20))
        .map(move |(number, _)| inst.operands[number])
}

/// Text of a group; `names` replaces operands: (member, operand number) to text.
fn group_text(group: &Group, context: Context, names: &BTreeMap<(usize, usize), String>) -> String {
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
        let _ = writeln!(out, "        {text:<48}// {comment}");
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
        let _ = writeln!(out, "        {text:<48}// {at:05x}:");
        return position + 1;
    }
    let bytes = &chunk.bytes[line.offset as usize..(line.offset + line.size) as usize];
    if line.size < 4 {
        let list: Vec<String> = bytes.iter().map(|b| format!("{b:#04x}")).collect();
        let text = format!(".byte   {}", list.join(", "));
        let _ = writeln!(out, "        {text:<48}// {at:05x}:");
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
        let _ = writeln!(out, "        {text:<48}// {at:05x}: {comment}");
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
        let _ = writeln!(out, "        {text:<48}// {at:05x}:");
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
    let _ = writeln!(out, "        {text:<48}// {at:05x}:");
    end.max(position + 1)
}
