//! The end of a run: offsets, values, checks, bytes and relocations.

use indexmap::IndexMap;

use super::expr::{self, BinaryOp, Expr, Node, PosId, SymId, UnaryOp};
use super::select::{self, Code};
use super::state::{Def, Item, Pos, Span};
use super::{Assembler, Assembly, Diagnostics, MAX_ERRORS, MAX_SECTION};
use crate::object::RelocationKind;

/// What an expression is worth when all offsets are known.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Value {
    Absolute(i64),
    /// A place in a section.
    Section(usize, i64),
    /// A symbol of another object.
    Outside(SymId, i64),
    /// Something that only addresses decide, in postfix steps over the object's symbols.
    Steps(Vec<Leaf>),
}

#[derive(Clone, PartialEq, Debug)]
pub(super) enum Leaf {
    Constant(i64),
    Section(usize, i64),
    Outside(SymId, i64),
    Unary(UnaryOp),
    Binary(BinaryOp),
}

impl Value {
    pub(super) fn leaves(self) -> Vec<Leaf> {
        match self {
            Value::Absolute(v) => vec![Leaf::Constant(v)],
            Value::Section(s, v) => vec![Leaf::Section(s, v)],
            Value::Outside(s, v) => vec![Leaf::Outside(s, v)],
            Value::Steps(steps) => steps,
        }
    }
}

/// A relocation whose symbol is not numbered yet.
pub(super) struct Need {
    pub section: usize,
    pub offset: u32,
    pub kind: RelocationKind,
    pub value: Value,
    pub span: Span,
}

pub(super) struct Layout {
    /// Offset of every item and of the end, by section.
    pub offsets: Vec<Vec<u32>>,
}

impl Layout {
    pub(super) fn place(&self, pos: Pos) -> i64 {
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

    /// The section of that name, which stands for its start where no symbol has the name.
    fn section_named(&self, name: &str) -> Option<usize> {
        self.sections.iter().position(|s| s.name == name)
    }

    fn check_undefined(&mut self) {
        let mut missing = Vec::new();
        for (name, symbol) in &self.symbols.0 {
            if matches!(symbol.def, Def::None)
                && !symbol.external
                && self.section_named(name).is_none()
                && let Some(span) = &symbol.used_at
            {
                missing.push((name.clone(), symbol.uses, span.clone()));
            }
        }
        for (name, uses, span) in missing {
            if self.diagnostics.len() > MAX_ERRORS {
                break;
            }
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
                        u32::try_from(target.saturating_sub(at.into())).unwrap_or(0)
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

    pub(super) fn value(&self, expr: &Expr, layout: &Layout, depth: u32) -> Result<Value, String> {
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
                Def::None => match self.section_named(self.symbols.name(*id)) {
                    Some(section) => Value::Section(section, 0),
                    None => Value::Outside(*id, 0),
                },
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
