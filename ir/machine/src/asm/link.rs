//! Symbols and relocations of the object.

use indexmap::IndexMap;

use super::Assembler;
use super::expr::{self, SymId};
use super::layout::{Layout, Leaf, Need, Value};
use super::state::Def;
use crate::object::{Object, Relocation, RelocationKind, Section, Step, Symbol, SymbolKind};
use crate::{Op, OperandKind};
impl Assembler<'_> {
    pub(super) fn write_object(
        &mut self,
        layout: &Layout,
        sections: IndexMap<String, Section>,
        needs: Vec<Need>,
    ) -> Object {
        let mut object = Object {
            sections,
            symbols: IndexMap::new(),
            files: self.files.clone(),
        };
        let names: Vec<String> = self.symbols.0.keys().cloned().collect();
        let mut later: Vec<(String, Vec<Leaf>)> = Vec::new();
        for (id, name) in names.iter().enumerate() {
            let symbol = self.symbols.get(id as SymId).clone();
            let size = match &symbol.size {
                None => 0,
                Some((expr, span)) => match self.value(expr, layout, 0) {
                    Ok(Value::Absolute(size)) if u32::try_from(size).is_ok() => size as u32,
                    Ok(_) => {
                        let span = span.clone();
                        self.error(
                            &span,
                            format!("the size of `{name}` must be a number of bytes"),
                        );
                        0
                    }
                    Err(message) => {
                        let span = span.clone();
                        self.error(&span, message);
                        0
                    }
                },
            };
            let local = name.starts_with(".L");
            if local {
                continue;
            }
            let mut made = Symbol {
                size,
                global: symbol.global,
                kind: symbol.kind,
                ..Symbol::default()
            };
            match &symbol.def {
                Def::None => {
                    // `.globl name` without a definition and a use says nothing.
                    let section = self.sections.iter().any(|s| s.name == *name);
                    if symbol.used_at.is_none() || section {
                        continue;
                    }
                    made.global = true;
                }
                Def::Label(at) => {
                    let pos = self.positions[*at as usize];
                    made.section = Some(pos.section);
                    made.value = layout.place(pos) as u32;
                    made.defined = true;
                }
                Def::Set(expr) => {
                    made.defined = true;
                    match self.value(expr, layout, 0) {
                        Ok(Value::Absolute(value)) => made.value = value as u32,
                        Ok(Value::Section(section, value)) => {
                            made.section = Some(section);
                            made.value = value as u32;
                        }
                        // An alias of something outside, or an expression over addresses.
                        Ok(other) => later.push((name.clone(), other.leaves())),
                        Err(message) => {
                            // A use has reported it.
                            if !self.has_errors()
                                && let Some(span) = symbol.defined_at.clone()
                            {
                                self.error(&span, message);
                            }
                            continue;
                        }
                    }
                }
            }
            object.symbols.insert(name.clone(), made);
        }
        let mut writer = Writer {
            section_symbols: vec![None; object.sections.len()],
            object,
            expressions: Vec::new(),
        };
        for (name, leaves) in later {
            let steps = self.steps(&mut writer, leaves);
            if let Some(symbol) = writer.object.symbols.get_mut(&name) {
                symbol.expression = steps;
            }
        }
        for need in needs {
            self.relocate(&mut writer, need);
        }
        writer.object
    }

    fn relocate(&mut self, writer: &mut Writer, need: Need) {
        let (symbol, addend) = match need.value {
            Value::Section(section, offset) => (writer.section_symbol(section), offset),
            Value::Outside(id, addend) => (self.outside(writer, id), addend),
            Value::Absolute(_) => return,
            Value::Steps(leaves) => {
                let steps = self.steps(writer, leaves);
                (writer.expression_symbol(steps), 0)
            }
        };
        let Ok(addend) = i32::try_from(addend) else {
            self.error(
                &need.span,
                format!("the offset {addend} does not fit 32 bits"),
            );
            return;
        };
        if let Some((_, section)) = writer.object.sections.get_index_mut(need.section) {
            section.relocations.push(Relocation {
                offset: need.offset,
                kind: need.kind,
                symbol,
                addend,
            });
        }
    }

    fn steps(&self, writer: &mut Writer, leaves: Vec<Leaf>) -> Vec<Step> {
        leaves
            .into_iter()
            .map(|leaf| match leaf {
                Leaf::Constant(value) => Step::Constant(value),
                Leaf::Section(section, offset) => {
                    Step::Symbol(writer.section_symbol(section), offset)
                }
                Leaf::Outside(id, addend) => Step::Symbol(self.outside(writer, id), addend),
                Leaf::Unary(op) => Step::Unary(expr::unary_letter(op)),
                Leaf::Binary(op) => Step::Binary(expr::binary_letter(op)),
            })
            .collect()
    }

    fn outside(&self, writer: &mut Writer, id: SymId) -> usize {
        let name = self.symbols.name(id);
        if let Some(index) = writer.object.symbols.get_index_of(name) {
            return index;
        }
        writer
            .object
            .symbols
            .insert_full(
                name.to_string(),
                Symbol {
                    global: true,
                    ..Symbol::default()
                },
            )
            .0
    }
}

/// The object while relocations are written, with what has been looked up before.
struct Writer {
    object: Object,
    /// Index of the symbol of each section.
    section_symbols: Vec<Option<usize>>,
    /// Indices of the symbols that stand for expressions.
    expressions: Vec<usize>,
}

impl Writer {
    /// The symbol of a section, made when first needed.
    fn section_symbol(&mut self, section: usize) -> usize {
        if let Some(index) = self.section_symbols[section] {
            return index;
        }
        let mut key = self
            .object
            .sections
            .get_index(section)
            .map_or(String::new(), |(name, _)| name.clone());
        // A label may have the name of a section.
        while self.object.symbols.contains_key(&key) {
            key.push('\'');
        }
        let symbol = Symbol {
            section: Some(section),
            defined: true,
            kind: SymbolKind::Section,
            ..Symbol::default()
        };
        let (index, _) = self.object.symbols.insert_full(key, symbol);
        self.section_symbols[section] = Some(index);
        index
    }

    /// The symbol that stands for an expression.
    fn expression_symbol(&mut self, steps: Vec<Step>) -> usize {
        let known = self
            .expressions
            .iter()
            .find(|index| self.object.symbols[**index].expression == steps);
        if let Some(index) = known {
            return *index;
        }
        let mut number = self.object.symbols.len();
        let name = loop {
            let name = format!(".Lexpression{number}");
            if !self.object.symbols.contains_key(&name) {
                break name;
            }
            number += 1;
        };
        let symbol = Symbol {
            defined: true,
            expression: steps,
            ..Symbol::default()
        };
        let (index, _) = self.object.symbols.insert_full(name, symbol);
        // A file with more different ones than this keeps doubles.
        if self.expressions.len() < 1000 {
            self.expressions.push(index);
        }
        index
    }
}

/// How an address goes into operand `number` of a class, and in which word (byte offset).
pub(crate) fn relocation(op: Op, number: usize) -> Option<(RelocationKind, u32)> {
    let info = op.info();
    if op == Op::SendPicP && number == 5 {
        return Some((
            RelocationKind::Field {
                shift: 0,
                width: 18,
                unit_shift: 2,
            },
            4,
        ));
    }
    let kind = match info.operands[number].kind {
        OperandKind::Target19 => RelocationKind::Word19,
        OperandKind::Target20 => RelocationKind::Word20,
        OperandKind::Rel20 => RelocationKind::Abs20,
        OperandKind::Run => RelocationKind::Run,
        OperandKind::Rel16 => RelocationKind::Field {
            shift: 0,
            width: 16,
            unit_shift: 0,
        },
        OperandKind::Zimm(width) if width >= 12 => {
            let mut parts = info.layout.parts[number].iter().filter(|p| p.width > 0);
            let part = parts.next()?;
            if parts.next().is_some() {
                return None;
            }
            RelocationKind::Field {
                shift: part.inst,
                width,
                // Exchange addresses count words.
                unit_shift: if width == 18 { 2 } else { 0 },
            }
        }
        _ => return None,
    };
    Some((kind, 0))
}
