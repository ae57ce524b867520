//! The end of a run: offsets, values, checks, bytes and relocations.

use indexmap::IndexMap;

use super::code::is_rpt;
use super::directive::{fits, out_of_range};
use super::expr::{self, BinaryOp, Expr, Node, PosId, SymId, UnaryOp};
use super::select::{self, Code, Filled, Pending, Refusal};
use super::state::{CodeItem, Def, Item, Pos, Span};
use super::{Assembler, Assembly, Diagnostics, ListingLine, MAX_SECTION};
use crate::object::{
    LineEntry, Object, Relocation, RelocationKind, Section, Step, Symbol, SymbolKind,
};
use crate::{EncodeError, Group, Inst, Op, OperandKind, check_rpt_body};

/// Word that pads code: `nop` (`isa/encoding.md` 1).
const NOP: u32 = 0x19e0_0000;

/// What an expression is worth when all offsets are known.
#[derive(Clone, PartialEq, Debug)]
enum Value {
    Absolute(i64),
    /// A place in a section.
    Section(usize, i64),
    /// A symbol of another object.
    Outside(SymId, i64),
    /// Something that only addresses decide, in postfix steps over the object's symbols.
    Steps(Vec<Leaf>),
}

#[derive(Clone, PartialEq, Debug)]
enum Leaf {
    Constant(i64),
    Section(usize, i64),
    Outside(SymId, i64),
    Unary(UnaryOp),
    Binary(BinaryOp),
}

impl Value {
    fn leaves(self) -> Vec<Leaf> {
        match self {
            Value::Absolute(v) => vec![Leaf::Constant(v)],
            Value::Section(s, v) => vec![Leaf::Section(s, v)],
            Value::Outside(s, v) => vec![Leaf::Outside(s, v)],
            Value::Steps(steps) => steps,
        }
    }
}

/// A relocation whose symbol is not numbered yet.
struct Need {
    section: usize,
    offset: u32,
    kind: RelocationKind,
    value: Value,
    span: Span,
}

struct Layout {
    /// Offset of every item and of the end, by section.
    offsets: Vec<Vec<u32>>,
}

impl Layout {
    fn place(&self, pos: Pos) -> i64 {
        let offsets = &self.offsets[pos.section];
        i64::from(offsets[pos.item.min(offsets.len() - 1)]) + i64::from(pos.within)
    }
}

impl Assembler<'_> {
    /// Lays everything out and writes the object, unless there are errors.
    pub(super) fn finish(mut self) -> Result<Assembly, Diagnostics> {
        if self.stop {
            return Err(Diagnostics(self.diagnostics));
        }
        self.check_near();
        self.check_undefined();
        let layout = self.lay_out();
        let mut needs = Vec::new();
        let mut sections = IndexMap::new();
        let mut listing = Vec::new();
        for index in 0..self.sections.len() {
            let (section, lines) = self.write_section(index, &layout, &mut needs);
            listing.extend(lines);
            sections.insert(self.sections[index].name.clone(), section);
        }
        let address_uses = needs
            .iter()
            .map(|n| (n.section, n.offset, self.location(&n.span)))
            .collect();
        let object = self.write_object(&layout, sections, needs);
        if self.has_errors() {
            return Err(Diagnostics(self.diagnostics));
        }
        Ok(Assembly {
            object,
            listing,
            warnings: Diagnostics(self.diagnostics),
            address_uses,
        })
    }

    fn check_near(&mut self) {
        for (number, index, span) in std::mem::take(&mut self.near_uses) {
            let count = self.near.get(&number).map_or(0, Vec::len);
            if index as usize >= count {
                self.error(
                    &span,
                    format!("there is no label `{number}:` behind this line"),
                );
            }
        }
    }

    fn check_undefined(&mut self) {
        let mut missing = Vec::new();
        for (name, symbol) in &self.symbols.0 {
            if matches!(symbol.def, Def::None)
                && !symbol.external
                && let Some(span) = &symbol.used_at
            {
                missing.push((name.clone(), symbol.uses, span.clone()));
            }
        }
        for (name, uses, span) in missing {
            let known = self
                .symbols
                .0
                .iter()
                .filter(|(_, s)| !matches!(s.def, Def::None))
                .map(|(n, _)| n.as_str());
            let help = match super::suggest::nearest(&name, known) {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("define it, or declare it with `.extern {name}`"),
            };
            let more = if uses > 1 {
                format!(" ({uses} uses)")
            } else {
                String::new()
            };
            self.error_with(
                &span,
                format!("symbol `{name}` is not defined{more}"),
                None,
                Some(help),
            );
        }
    }

    // Offsets

    fn lay_out(&mut self) -> Layout {
        loop {
            let layout = self.offsets();
            if !self.grow(&layout) {
                return layout;
            }
        }
    }

    fn offsets(&mut self) -> Layout {
        let mut layout = Layout {
            offsets: Vec::with_capacity(self.sections.len()),
        };
        for section in &self.sections {
            layout.offsets.push(vec![0; section.items.len() + 1]);
        }
        // `.org` may depend on places of earlier sections and earlier items of its own.
        for index in 0..self.sections.len() {
            let mut at: u32 = 0;
            for item in 0..self.sections[index].items.len() {
                layout.offsets[index][item] = at;
                let size = match &self.sections[index].items[item] {
                    Item::Bytes(bytes) => bytes.len() as u32,
                    Item::Data { width, .. } => u32::from(*width),
                    Item::Code(code) => code.size,
                    Item::Align { to, max, .. } => {
                        let padding = at.next_multiple_of(*to) - at;
                        if max.is_some_and(|max| padding > max) {
                            0
                        } else {
                            padding
                        }
                    }
                    Item::Org { to, .. } => {
                        let target = match self.value(to, &layout, 0) {
                            Ok(Value::Absolute(v)) => v,
                            Ok(Value::Section(s, v)) if s == index => v,
                            _ => i64::from(at),
                        };
                        u32::try_from(target - i64::from(at)).unwrap_or(0)
                    }
                };
                at = at.saturating_add(size.min(MAX_SECTION)).min(1 << 24);
            }
            if let Some(end) = layout.offsets[index].last_mut() {
                *end = at;
            }
        }
        layout
    }

    /// Makes room for second words of `ldconst`; true if something grew.
    fn grow(&mut self, layout: &Layout) -> bool {
        let mut grown = Vec::new();
        for (index, section) in self.sections.iter().enumerate() {
            for (number, item) in section.items.iter().enumerate() {
                if let Item::Code(code) = item
                    && code.size == 4
                    && let Code::LoadConst(_, _, expr, _) = &code.code
                    && expr.as_const().is_none()
                    && let Ok(Value::Absolute(value)) = self.value(expr, layout, 0)
                    && select::load_const_words(value) == Some(2)
                {
                    grown.push((index, number));
                }
            }
        }
        for &(index, number) in &grown {
            if let Item::Code(code) = &mut self.sections[index].items[number] {
                code.size = 8;
            }
        }
        !grown.is_empty()
    }

    // Values

    fn pos_value(&self, at: PosId, layout: &Layout) -> Value {
        let pos = self.positions[at as usize];
        Value::Section(pos.section, layout.place(pos))
    }

    fn value(&self, expr: &Expr, layout: &Layout, depth: u32) -> Result<Value, String> {
        if depth > 250 {
            return Err("this value is defined in terms of itself".to_string());
        }
        Ok(match expr.node() {
            Node::Const(value) => Value::Absolute(*value),
            Node::Place(at) => self.pos_value(*at, layout),
            Node::Near(number, index) => {
                match self.near.get(number).and_then(|n| n.get(*index as usize)) {
                    Some(at) => self.pos_value(*at, layout),
                    // `check_near` has reported it.
                    None => Value::Absolute(0),
                }
            }
            Node::Symbol(id) => match &self.symbols.get(*id).def {
                Def::Label(at) => self.pos_value(*at, layout),
                Def::Set(value) => self.value(value, layout, depth + 1)?,
                Def::None => Value::Outside(*id, 0),
            },
            Node::Unary(op, a) => match self.value(a, layout, depth + 1)? {
                Value::Absolute(a) => Value::Absolute(expr::unary(*op, a)),
                other => {
                    let mut steps = other.leaves();
                    steps.push(Leaf::Unary(*op));
                    Value::Steps(steps)
                }
            },
            Node::Binary(op, a, b) => {
                let a = self.value(a, layout, depth + 1)?;
                let b = self.value(b, layout, depth + 1)?;
                join(*op, a, b)?
            }
        })
    }

    // Bytes

    fn write_section(
        &mut self,
        index: usize,
        layout: &Layout,
        needs: &mut Vec<Need>,
    ) -> (Section, Vec<ListingLine>) {
        let items = std::mem::take(&mut self.sections[index].items);
        let offsets = &layout.offsets[index];
        let build = &self.sections[index];
        let mut section = Section {
            align: build.align,
            executable: build.executable,
            ..Section::default()
        };
        let mut lines = Vec::new();
        // What stands at an offset of code: index of the item and its group.
        let mut groups: Vec<(u32, usize, Group)> = Vec::new();
        for (number, item) in items.iter().enumerate() {
            let at = offsets[number];
            let end = offsets[number + 1];
            debug_assert_eq!(at as usize, section.bytes.len());
            match item {
                Item::Bytes(bytes) => section.bytes.extend_from_slice(bytes),
                Item::Data { width, expr, span } => {
                    let bytes = self.datum(index, at, *width, expr, span, layout, needs);
                    section.bytes.extend_from_slice(&bytes);
                    section.source.push(entry(self, span, at, end - at, false));
                }
                Item::Code(code) => {
                    if !at.is_multiple_of(4) {
                        self.error(
                            &code.span,
                            format!("code must stand at a multiple of 4, this is offset {at:#x}"),
                        );
                    }
                    let made = self.code(index, at, code, layout, needs);
                    let first = groups.len();
                    let mut words = Vec::new();
                    for group in made {
                        groups.push((at + 4 * words.len() as u32, number, group));
                        if let Err(e) = group.encode(&mut words) {
                            self.error(&code.span, e.to_string());
                        }
                    }
                    if groups.len() == first && !self.has_errors() {
                        self.error(&code.span, "this statement made no code");
                    }
                    words.resize(code.size as usize / 4, 0);
                    for word in &words {
                        section.bytes.extend_from_slice(&word.to_le_bytes());
                    }
                    section.source.push(LineEntry {
                        line: code.line,
                        ..entry(self, &code.span, at, code.size, true)
                    });
                    lines.push(listing(index, code, at));
                }
                Item::Align { fill, span, .. } => {
                    let count = (end - at) as usize;
                    pad(&mut section.bytes, count, *fill, section.executable);
                    if section.executable && count > 0 && fill.is_none() {
                        section.source.push(entry(self, span, at, end - at, true));
                        let first = at.next_multiple_of(4);
                        lines.push(ListingLine {
                            section: index,
                            offset: first.min(end),
                            size: end - first.min(end),
                            file: span.stmt.loc.file,
                            line: span.stmt.loc.line,
                            text: span.stmt.text().to_string(),
                        });
                        let mut word = first;
                        while word + 4 <= end {
                            if let Ok((nop, _)) = Inst::decode(NOP) {
                                groups.push((word, number, Group::Solo(nop)));
                            }
                            word += 4;
                        }
                    }
                }
                Item::Org { to, fill, span } => {
                    let target = match self.value(to, layout, 0) {
                        Ok(Value::Absolute(v)) => Some(v),
                        Ok(Value::Section(s, v)) if s == index => Some(v),
                        _ => None,
                    };
                    match target {
                        Some(target) if target == i64::from(end) => {}
                        Some(target) => self.error(
                            span,
                            format!(
                                "`.org` to {target:#x} goes backward: the section is at {at:#x}"
                            ),
                        ),
                        None => {
                            self.error(span, "`.org` needs an offset in this section that is known")
                        }
                    }
                    section.bytes.resize(end as usize, *fill);
                }
            }
        }
        if section.bytes.len() > MAX_SECTION as usize {
            let name = self.sections[index].name.clone();
            if let Some(span) = self.sections[index].span.clone() {
                self.error(
                    &span,
                    format!("section `{name}` is larger than the address space"),
                );
            }
        }
        self.check_repeats(&items, &groups, &mut section);
        section.size = section.bytes.len() as u32;
        (section, lines)
    }

    #[allow(clippy::too_many_arguments)]
    fn datum(
        &mut self,
        section: usize,
        at: u32,
        width: u8,
        expr: &Expr,
        span: &Span,
        layout: &Layout,
        needs: &mut Vec<Need>,
    ) -> Vec<u8> {
        let zero = vec![0; usize::from(width)];
        match self.value(expr, layout, 0) {
            Err(message) => {
                self.error(span, message);
                zero
            }
            Ok(Value::Absolute(value)) => {
                if !fits(value, width) {
                    self.error(span, out_of_range(value, width));
                }
                value.to_le_bytes()[..usize::from(width)].to_vec()
            }
            Ok(value) => {
                let kind = match width {
                    1 => RelocationKind::Abs8,
                    2 => RelocationKind::Abs16,
                    _ => RelocationKind::Abs32,
                };
                needs.push(Need {
                    section,
                    offset: at,
                    kind,
                    value,
                    span: span.clone(),
                });
                zero
            }
        }
    }

    /// The groups of a code item.
    fn code(
        &mut self,
        section: usize,
        at: u32,
        item: &CodeItem,
        layout: &Layout,
        needs: &mut Vec<Need>,
    ) -> Vec<Group> {
        match &item.code {
            Code::Bad => Vec::new(),
            Code::Solo(pending) => {
                let Some(inst) = self.member(section, at, pending, &item.tail, layout, needs)
                else {
                    return Vec::new();
                };
                if inst.op != Op::SendPicP {
                    return vec![Group::Solo(inst)];
                }
                if !at.is_multiple_of(8) {
                    self.error_with(
                        &item.span,
                        format!("`sendpicp` must stand at a multiple of 8, this is {at:#x}"),
                        None,
                        Some("put `.p2align 3` or another instruction before it".to_string()),
                    );
                }
                vec![Group::SendPicP(inst)]
            }
            Code::Bundle(main, aux) => {
                let aux_tail = item.aux_tail.as_ref().map_or(&item.tail, |(_, tail)| tail);
                let main = self.member(section, at, main, &item.tail, layout, needs);
                let aux = self.member(section, at + 4, aux, aux_tail, layout, needs);
                match (main, aux) {
                    (Some(main), Some(aux)) => vec![Group::Bundle { main, aux }],
                    _ => Vec::new(),
                }
            }
            Code::LoadConst(lane, register, expr, place) => {
                let span = item.tail.part(place.0, place.1);
                match self.value(expr, layout, 0) {
                    Err(message) => self.error(&span, message),
                    Ok(Value::Absolute(value)) => {
                        match select::load_const(*lane, *register, value, item.size / 4) {
                            Some(made) => return made.into_iter().map(Group::Solo).collect(),
                            None => self.error(
                                &span,
                                format!("{value} does not fit 32 bits: `ldconst` loads one word"),
                            ),
                        }
                    }
                    Ok(value) => {
                        // Every address of the tile fits 20 bits.
                        needs.push(Need {
                            section,
                            offset: at,
                            kind: RelocationKind::Abs20,
                            value,
                            span,
                        });
                        let made = select::load_const(*lane, *register, 0, 1);
                        return made.into_iter().flatten().map(Group::Solo).collect();
                    }
                }
                Vec::new()
            }
        }
    }

    /// The instruction of `pending`; reports what does not fit.
    fn member(
        &mut self,
        section: usize,
        at: u32,
        pending: &Pending,
        tail: &Span,
        layout: &Layout,
        needs: &mut Vec<Need>,
    ) -> Option<Inst> {
        if let Some(inst) = pending.ready {
            return Some(inst);
        }
        let mut values = Vec::with_capacity(pending.filled.len());
        let mut open = Vec::new();
        for (number, filled) in pending.filled.iter().enumerate() {
            values.push(match filled {
                Filled::Known(value) => i64::from(*value),
                Filled::Constant(value) => *value,
                Filled::Open(expr) => match self.value(expr, layout, 0) {
                    Ok(Value::Absolute(value)) => value,
                    Ok(value) => {
                        open.push((number, value));
                        0
                    }
                    Err(message) => {
                        let (start, end) = pending.places[number];
                        self.error(&tail.part(start, end), message);
                        return None;
                    }
                },
            });
        }
        let mut chosen = pending.clone();
        if !open.is_empty() {
            let fitting = pending.candidates.iter().find(|op| {
                open.iter()
                    .all(|(number, _)| relocation(**op, *number).is_some())
            });
            match fitting {
                Some(op) => chosen.candidates = vec![*op],
                None => {
                    let (number, _) = open[0];
                    let (start, end) = pending.places[number];
                    let mnemonic = pending.candidates[0].info().mnemonic;
                    self.error_with(
                        &tail.part(start, end),
                        format!("this operand of `{mnemonic}` must be a number, not an address"),
                        None,
                        Some("load the address with `setzi` first".to_string()),
                    );
                    return None;
                }
            }
        }
        match chosen.finish(&values) {
            Ok(inst) => {
                for (number, value) in open {
                    if let Some((kind, shift)) = relocation(inst.op, number) {
                        let (start, end) = pending.places[number];
                        needs.push(Need {
                            section,
                            offset: at + shift,
                            kind,
                            value,
                            span: tail.part(start, end),
                        });
                    }
                }
                Some(inst)
            }
            Err(refusal) => {
                self.refuse_late(tail, refusal);
                None
            }
        }
    }

    fn refuse_late(&mut self, tail: &Span, refusal: Refusal) {
        let span = match refusal.place {
            Some((start, end)) => tail.part(start, end),
            None => Span::whole(&tail.stmt),
        };
        self.error_with(&span, refusal.message, None, refusal.help);
    }

    // rpt

    /// Checks the body of every `rpt` (`isa/encoding.md` 6, `isa/ops_core.md` 5.3).
    fn check_repeats(
        &mut self,
        items: &[Item],
        groups: &[(u32, usize, Group)],
        section: &mut Section,
    ) {
        let size = section.bytes.len() as u32;
        for (position, &(at, number, group)) in groups.iter().enumerate() {
            let (rpt, words) = match group {
                Group::Solo(inst) => (inst, 1),
                Group::Bundle { main, .. } => (main, 2),
                Group::SendPicP(_) => continue,
            };
            let Item::Code(item) = &items[number] else {
                continue;
            };
            if !is_rpt(rpt.op) || !item.check_rpt {
                continue;
            }
            let first = at + 4 * words;
            let end = first + 8 * (rpt.operands[1] + 1);
            if first == size {
                // Nothing follows in this section: another one holds the body.
                continue;
            }
            section.repeat_ends.push(end);
            let span = item.span.clone();
            if !first.is_multiple_of(8) {
                let help = if words == 1 {
                    "a solo `rpt` stands at 4 mod 8: put `nop` before it, or write it as \
                     `{ rpt .. ; fnop }` behind `.p2align 3`"
                } else {
                    "a bundled `rpt` stands at 0 mod 8: put `.p2align 3` before it"
                };
                self.error_with(
                    &span,
                    format!(
                        "the body of this `rpt` starts at offset {first:#x}, but must start at a \
                         multiple of 8"
                    ),
                    None,
                    Some(help.to_string()),
                );
                continue;
            }
            if end > size {
                self.error(
                    &span,
                    format!(
                        "the body of this `rpt` has {} bytes, but the section ends {} bytes behind \
                         its start",
                        end - first,
                        size - first
                    ),
                );
                continue;
            }
            let mut expected = first;
            for &(offset, number, group) in groups[position + 1..]
                .iter()
                .take_while(|(offset, ..)| *offset < end)
            {
                let inner = match &items[number] {
                    Item::Code(item) => item.span.clone(),
                    Item::Align { span, .. } => span.clone(),
                    _ => span.clone(),
                };
                if offset != expected {
                    break;
                }
                expected = offset + 4 * group.words() as u32;
                if let Err(error) = check_rpt_body(&[group]) {
                    let message = match error {
                        EncodeError::RptBody { what } => format!(
                            "the body of a `rpt` holds bundles without control and system \
                             instructions only, not {what}"
                        ),
                        other => other.to_string(),
                    };
                    self.error_with(
                        &inner,
                        message,
                        Some(("the body belongs to this `rpt`".to_string(), span.clone())),
                        None,
                    );
                    expected = end;
                    break;
                }
            }
            if expected != end && !self.has_errors() {
                self.error(
                    &span,
                    format!(
                        "the body of this `rpt` ({:#x}..{end:#x}) does not end at the end of a \
                         bundle, or holds data",
                        first
                    ),
                );
            }
        }
    }

    // The object

    fn write_object(
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
                    if symbol.used_at.is_none() && !symbol.global {
                        continue;
                    }
                    // `.globl name` without a definition and a use says nothing.
                    if symbol.used_at.is_none() {
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
        for (name, leaves) in later {
            let steps = self.steps(&mut object, leaves);
            if let Some(symbol) = object.symbols.get_mut(&name) {
                symbol.expression = steps;
            }
        }
        for need in needs {
            self.relocate(&mut object, need);
        }
        object
    }

    fn relocate(&mut self, object: &mut Object, need: Need) {
        let (symbol, addend) = match need.value {
            Value::Section(section, offset) => (section_symbol(object, section), offset),
            Value::Outside(id, addend) => (self.outside(object, id), addend),
            Value::Absolute(_) => return,
            Value::Steps(leaves) => {
                let steps = self.steps(object, leaves);
                let known = object
                    .symbols
                    .values()
                    .position(|s| !s.expression.is_empty() && s.expression == steps);
                let index = known.unwrap_or_else(|| {
                    let mut number = object.symbols.len();
                    let name = loop {
                        let name = format!(".Lexpression{number}");
                        if !object.symbols.contains_key(&name) {
                            break name;
                        }
                        number += 1;
                    };
                    object
                        .symbols
                        .insert_full(
                            name,
                            Symbol {
                                defined: true,
                                expression: steps,
                                ..Symbol::default()
                            },
                        )
                        .0
                });
                (index, 0)
            }
        };
        let Ok(addend) = i32::try_from(addend) else {
            self.error(
                &need.span,
                format!("the offset {addend} does not fit 32 bits"),
            );
            return;
        };
        if let Some((_, section)) = object.sections.get_index_mut(need.section) {
            section.relocations.push(Relocation {
                offset: need.offset,
                kind: need.kind,
                symbol,
                addend,
            });
        }
    }

    fn steps(&self, object: &mut Object, leaves: Vec<Leaf>) -> Vec<Step> {
        leaves
            .into_iter()
            .map(|leaf| match leaf {
                Leaf::Constant(value) => Step::Constant(value),
                Leaf::Section(section, offset) => {
                    Step::Symbol(section_symbol(object, section), offset)
                }
                Leaf::Outside(id, addend) => Step::Symbol(self.outside(object, id), addend),
                Leaf::Unary(op) => Step::Unary(expr::unary_letter(op)),
                Leaf::Binary(op) => Step::Binary(expr::binary_letter(op)),
            })
            .collect()
    }

    fn outside(&self, object: &mut Object, id: SymId) -> usize {
        let name = self.symbols.name(id);
        if let Some(index) = object.symbols.get_index_of(name) {
            return index;
        }
        object
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

/// The symbol of a section, made when first needed.
fn section_symbol(object: &mut Object, section: usize) -> usize {
    let name = object
        .sections
        .get_index(section)
        .map_or(String::new(), |(name, _)| name.clone());
    let known = object
        .symbols
        .values()
        .position(|s| s.kind == SymbolKind::Section && s.section == Some(section));
    if let Some(index) = known {
        return index;
    }
    // A label may have the name of a section.
    let mut key = name;
    while object.symbols.contains_key(&key) {
        key.push('\'');
    }
    object
        .symbols
        .insert_full(
            key,
            Symbol {
                section: Some(section),
                defined: true,
                kind: SymbolKind::Section,
                ..Symbol::default()
            },
        )
        .0
}

/// The value of `a op b`.
fn join(op: BinaryOp, a: Value, b: Value) -> Result<Value, String> {
    use BinaryOp::{Add, Sub};
    Ok(match (op, a, b) {
        (op, Value::Absolute(a), Value::Absolute(b)) => {
            Value::Absolute(expr::binary(op, a, b).map_err(str::to_string)?)
        }
        (Add, Value::Section(s, a), Value::Absolute(b))
        | (Add, Value::Absolute(b), Value::Section(s, a)) => Value::Section(s, a.wrapping_add(b)),
        (Add, Value::Outside(s, a), Value::Absolute(b))
        | (Add, Value::Absolute(b), Value::Outside(s, a)) => Value::Outside(s, a.wrapping_add(b)),
        (Sub, Value::Section(s, a), Value::Absolute(b)) => Value::Section(s, a.wrapping_sub(b)),
        (Sub, Value::Outside(s, a), Value::Absolute(b)) => Value::Outside(s, a.wrapping_sub(b)),
        (op, Value::Section(s, a), Value::Section(t, b)) if s == t && op.compares_places() => {
            Value::Absolute(expr::binary(op, a, b).map_err(str::to_string)?)
        }
        (op, Value::Outside(s, a), Value::Outside(t, b)) if s == t && op.compares_places() => {
            Value::Absolute(expr::binary(op, a, b).map_err(str::to_string)?)
        }
        (op, a, b) => {
            let mut steps = a.leaves();
            steps.extend(b.leaves());
            steps.push(Leaf::Binary(op));
            if steps.len() > 10_000 {
                return Err("this expression is too large".to_string());
            }
            Value::Steps(steps)
        }
    })
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

fn entry(assembler: &Assembler<'_>, span: &Span, offset: u32, size: u32, code: bool) -> LineEntry {
    LineEntry {
        offset,
        size,
        file: span.stmt.loc.file,
        line: span.stmt.loc.line,
        column: assembler.column(span),
        code,
    }
}

fn listing(section: usize, item: &CodeItem, at: u32) -> ListingLine {
    let text = match &item.aux_tail {
        None => item.span.stmt.text().to_string(),
        Some((aux, _)) => format!("{{ {} ; {} }}", item.span.stmt.text(), aux.stmt.text()),
    };
    ListingLine {
        section,
        offset: at,
        size: item.size,
        file: item.span.stmt.loc.file,
        line: item.line,
        text,
    }
}

/// Appends `count` bytes of padding.
fn pad(bytes: &mut Vec<u8>, count: usize, fill: Option<(u64, u8)>, code: bool) {
    match fill {
        Some((value, width)) => {
            let pattern = value.to_le_bytes();
            let width = usize::from(width);
            bytes.extend(std::iter::repeat_n(0, count % width));
            bytes.extend(
                pattern[..width]
                    .iter()
                    .copied()
                    .cycle()
                    .take(count / width * width),
            );
        }
        None if code => {
            bytes.extend(std::iter::repeat_n(0, count % 4));
            bytes.extend(NOP.to_le_bytes().into_iter().cycle().take(count / 4 * 4));
        }
        None => bytes.extend(std::iter::repeat_n(0, count)),
    }
}
