//! Names: labels of branch targets and symbols, text of relocations.

use std::collections::{BTreeMap, BTreeSet};

use super::chunk::Chunk;
use super::lines::Line;
use crate::object::{Step, Symbol, SymbolKind};
use crate::{Group, OperandKind};

/// Labels: names of symbols and of branch targets.
pub(super) struct Labels {
    /// By chunk and offset.
    pub names: Vec<BTreeMap<u32, String>>,
    /// Label of an absolute address: chunk and offset.
    pub addresses: BTreeMap<u32, (usize, u32)>,
}

impl Labels {
    pub fn collect(chunks: &[Chunk], decoded: &[Vec<Line>]) -> Labels {
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
    pub fn symbol(
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

    pub fn expression(&self, sections: &[(usize, usize)], chunk: &Chunk, entry: &Symbol) -> String {
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
