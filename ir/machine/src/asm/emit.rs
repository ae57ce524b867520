//! Items to bytes: data, code, padding.

use super::Assembler;
use super::data::{fits, out_of_range};
use super::expr::Expr;
use super::layout::{Layout, Need, Value};
use super::link::relocation;
use super::select::{self, Code, Filled, Pending, Refusal};
use super::state::{CodeItem, Item, Span};
use super::{ListingLine, MAX_SECTION};
use crate::object::{LineEntry, RelocationKind, Section};
use crate::{Group, Inst, Op};

/// Word that pads code: `nop` (`isa/encoding.md` 1).
const NOP: u32 = 0x19e0_0000;
impl Assembler<'_> {
    pub(super) fn write_section(
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
    pub(super) fn datum(
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
    pub(super) fn code(
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
    pub(super) fn member(
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

    pub(super) fn refuse_late(&mut self, tail: &Span, refusal: Refusal) {
        let span = match refusal.place {
            Some((start, end)) => tail.part(start, end),
            None => Span::whole(&tail.stmt),
        };
        self.error_with(&span, refusal.message, None, refusal.help);
    }
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
