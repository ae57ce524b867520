//! Directives that make bytes: data, strings, fills, alignments.

use super::eval::Now;
use super::expr::{Cursor, Expr, ParseError, describe};
use super::lex::Tok;
use super::source::Stmt;
use super::state::{Item, Span};
use super::{Assembler, MAX_SECTION};
impl Assembler<'_> {
    /// Appends an item of `size` bytes; reports a section that is too large.
    pub(super) fn push(&mut self, item: Item, size: u32, span: &Span) {
        let section = &mut self.sections[self.current];
        if size > MAX_SECTION || section.offset + size > MAX_SECTION {
            let name = section.name.clone();
            section.offset = 0;
            self.error(
                span,
                format!("section `{name}` is larger than the address space ({MAX_SECTION} bytes)"),
            );
            self.stop = true;
            return;
        }
        section.offset += size;
        section.items.push(item);
    }

    /// Appends known bytes.
    pub(super) fn push_bytes(&mut self, bytes: &[u8], span: &Span) {
        self.leave_bundle_for_data(span);
        let section = &mut self.sections[self.current];
        let size = bytes.len() as u32;
        if let Some(Item::Bytes(last)) = section.items.last_mut()
            && section.offset + size <= MAX_SECTION
        {
            last.extend_from_slice(bytes);
            section.offset += size;
            return;
        }
        self.push(Item::Bytes(bytes.to_vec()), size, span);
    }

    /// Reports something that cannot stand in the open bundle; after two members it is the brace
    /// that is missing.
    pub(super) fn in_bundle(&mut self, span: &Span, message: &str) {
        if self.bundle.as_ref().is_some_and(|b| b.members.len() == 2) {
            self.drop_open_bundle();
        } else {
            self.error(span, message);
            self.spoil_bundle();
        }
    }

    pub(super) fn leave_bundle_for_data(&mut self, span: &Span) {
        if self.bundle.is_some() {
            self.in_bundle(span, "data cannot stand inside a bundle");
        }
    }

    pub(super) fn data(&mut self, width: u8, stmt: &Stmt, at: usize) {
        let parsed = self.parse_tail(stmt, at, |cursor, names| {
            let mut values = Vec::new();
            loop {
                let start = cursor.peek().start;
                let value = cursor.expr(names)?;
                values.push((value, start, cursor.last_end()));
                if !cursor.eat(",") {
                    break;
                }
                if cursor.at_end() {
                    break;
                }
            }
            cursor.finish()?;
            Ok(values)
        });
        let tail = Span::whole(&stmt.tail(at));
        let Some(values) = parsed else {
            // Sizes of later differences stay right.
            let count = stmt.text()[at..].split(',').count();
            self.push_bytes(&vec![0; count * usize::from(width)], &tail);
            return;
        };
        for (value, start, end) in values {
            let span = tail.part(start, end);
            match value.as_const() {
                Some(number) => {
                    if !fits(number, width) {
                        self.error(&span, out_of_range(number, width));
                    }
                    self.push_bytes(&number.to_le_bytes()[..usize::from(width)], &span);
                }
                None => {
                    self.leave_bundle_for_data(&span);
                    self.used(&value, &span);
                    let item = Item::Data {
                        width,
                        expr: value,
                        span: span.clone(),
                    };
                    self.push(item, width.into(), &span);
                }
            }
        }
    }

    /// Numbers in the variable-length form of debugging sections.
    pub(super) fn leb(&mut self, signed: bool, stmt: &Stmt, at: usize, span: &Span) {
        let values = self.parse_tail(stmt, at, expressions).unwrap_or_default();
        for value in values.into_iter().flatten() {
            let Some(mut value) = self.constant(&value, span) else {
                return;
            };
            if value < 0 && !signed {
                return self.error(span, format!("`.uleb128` cannot hold {value}"));
            }
            let mut bytes = Vec::new();
            loop {
                let byte = (value & 0x7f) as u8;
                value >>= 7;
                let sign = byte & 0x40 != 0;
                let done = value == 0 && !(signed && sign) || value == -1 && signed && sign;
                bytes.push(if done { byte } else { byte | 0x80 });
                if done {
                    break;
                }
            }
            self.push_bytes(&bytes, span);
        }
    }

    pub(super) fn floats(&mut self, width: usize, stmt: &Stmt, at: usize) {
        let parsed = self.parse_tail(stmt, at, |cursor, names| {
            let mut values = Vec::new();
            loop {
                let negative = cursor.eat("-");
                let token = cursor.peek();
                let value = match token.tok {
                    Tok::Float(value) => value,
                    Tok::Single(bits) => f32::from_bits(bits).into(),
                    Tok::Num(value) => value as f64,
                    Tok::Ident(_) => {
                        let value = cursor.expr(names)?;
                        match value.as_const() {
                            Some(value) => {
                                values.push(if negative {
                                    -(value as f64)
                                } else {
                                    value as f64
                                });
                                if !cursor.eat(",") {
                                    break;
                                }
                                continue;
                            }
                            None => {
                                return Err(ParseError::at(token, "expected a number"));
                            }
                        }
                    }
                    _ => {
                        return Err(ParseError::at(
                            token,
                            format!("expected a number, found {}", describe(token)),
                        ));
                    }
                };
                cursor.next();
                values.push(if negative { -value } else { value });
                if !cursor.eat(",") {
                    break;
                }
            }
            cursor.finish()?;
            Ok(values)
        });
        let span = Span::whole(stmt);
        for value in parsed.unwrap_or_default() {
            if width == 4 {
                self.push_bytes(&(value as f32).to_le_bytes(), &span);
            } else {
                self.push_bytes(&value.to_le_bytes(), &span);
            }
        }
    }

    pub(super) fn strings(&mut self, terminated: bool, stmt: &Stmt, at: usize) {
        let parsed = self.parse_tail(stmt, at, |cursor, _| {
            let mut bytes = Vec::new();
            loop {
                let token = cursor.next();
                let Tok::Str(text) = &token.tok else {
                    return Err(ParseError::at(
                        token,
                        format!("expected a string, found {}", describe(token)),
                    ));
                };
                bytes.extend_from_slice(text);
                // Strings beside each other are one string, as in C.
                while let Tok::Str(more) = &cursor.peek().tok {
                    bytes.extend_from_slice(more);
                    cursor.next();
                }
                if terminated {
                    bytes.push(0);
                }
                if !cursor.eat(",") {
                    break;
                }
            }
            cursor.finish()?;
            Ok(bytes)
        });
        if let Some(bytes) = parsed {
            self.push_bytes(&bytes, &Span::whole(stmt));
        }
    }

    pub(super) fn space(&mut self, name: &str, stmt: &Stmt, at: usize, span: &Span) {
        let parsed = self.parse_tail(stmt, at, |cursor, names| {
            let count = cursor.expr(names)?;
            let fill = if cursor.eat(",") {
                Some(cursor.expr(names)?)
            } else {
                None
            };
            cursor.finish()?;
            Ok((count, fill))
        });
        let Some((count, fill)) = parsed else { return };
        let Some(count) = self.constant(&count, span) else {
            return;
        };
        let fill = match fill {
            Some(fill) => match self.constant(&fill, span) {
                Some(value) if fits(value, 1) => value as u8,
                Some(value) => return self.error(span, out_of_range(value, 1)),
                None => return,
            },
            None => 0,
        };
        match usize::try_from(count) {
            Ok(count) if count <= MAX_SECTION as usize => {
                self.push_bytes(&vec![fill; count], span);
            }
            _ => self.error(
                span,
                format!("the size of `{name}` is {count}, but must be 0..={MAX_SECTION}"),
            ),
        }
    }

    pub(super) fn fill(&mut self, stmt: &Stmt, at: usize, span: &Span) {
        let parsed = self.parse_tail(stmt, at, expressions);
        let Some(values) = parsed else { return };
        let mut numbers = Vec::new();
        for value in &values {
            let Some(Some(number)) = value.as_ref().map(|v| self.constant(v, span)) else {
                return;
            };
            numbers.push(number);
        }
        let (count, size, value) = match numbers[..] {
            [count] => (count, 1, 0),
            [count, size] => (count, size, 0),
            [count, size, value] => (count, size, value),
            _ => return self.error(span, "expected `.fill COUNT, SIZE, VALUE`"),
        };
        if !(0..=8).contains(&size) {
            return self.error(span, format!("the size is {size}, but must be 0..=8"));
        }
        match count.checked_mul(size) {
            Some(total) if (0..=i64::from(MAX_SECTION)).contains(&total) && count >= 0 => {
                let pattern = value.to_le_bytes();
                let one = &pattern[..size as usize];
                let bytes: Vec<u8> = if size == 0 {
                    Vec::new()
                } else {
                    one.iter().copied().cycle().take(total as usize).collect()
                };
                self.push_bytes(&bytes, span);
            }
            _ => self.error(
                span,
                format!("`.fill` of {count} times {size} bytes is no size of a section"),
            ),
        }
    }

    pub(super) fn align(&mut self, name: &str, stmt: &Stmt, at: usize, span: &Span) {
        let Some(values) = self.parse_tail(stmt, at, expressions) else {
            return;
        };
        let mut numbers: Vec<Option<i64>> = Vec::new();
        for value in &values {
            numbers.push(match value {
                Some(value) => match self.constant(value, span) {
                    Some(number) => Some(number),
                    None => return,
                },
                None => None,
            });
        }
        let (Some(Some(first)), true) = (numbers.first().copied(), numbers.len() <= 3) else {
            return self.error(span, format!("expected `{name} ALIGNMENT, FILL, MAX`"));
        };
        let to = if name.starts_with(".p2") {
            if (0..=20).contains(&first) {
                Some(1u32 << first)
            } else {
                None
            }
        } else {
            // As in GNU assemblers 0 means no alignment.
            match u32::try_from(first.max(i64::from(first == 0))) {
                Ok(to) if to.is_power_of_two() && to <= 1 << 20 => Some(to),
                _ => None,
            }
        };
        let Some(to) = to else {
            let range = if name.starts_with(".p2") {
                "an exponent in 0..=20"
            } else {
                "a power of two up to 0x100000"
            };
            return self.error(
                span,
                format!("the alignment of `{name}` is {first}, but must be {range}"),
            );
        };
        let width = match name.as_bytes().last() {
            Some(b'w') => 2,
            Some(b'l') => 4,
            _ => 1,
        };
        let fill = match numbers.get(1).copied().flatten() {
            Some(value) if fits(value, width) => Some((value as u64, width)),
            Some(value) => return self.error(span, out_of_range(value, width)),
            None => None,
        };
        let max = match numbers.get(2).copied().flatten() {
            Some(value) => match u32::try_from(value) {
                Ok(max) => Some(max),
                Err(_) => return self.error(span, "the most bytes to skip cannot be negative"),
            },
            None => None,
        };
        if self.bundle.is_some() {
            self.in_bundle(span, "an alignment cannot stand inside a bundle");
        }
        let section = &mut self.sections[self.current];
        section.align = section.align.max(to);
        if section.epoch > 0 {
            section.epoch += 1;
        }
        let padding = section.offset.next_multiple_of(to) - section.offset;
        let padding = if max.is_some_and(|max| padding > max) {
            0
        } else {
            padding
        };
        self.push(
            Item::Align {
                to,
                fill,
                max,
                span: span.clone(),
            },
            padding,
            span,
        );
    }

    /// Moves to an offset of the section.
    pub(super) fn org(&mut self, to: Expr, fill: u8, span: &Span) {
        self.leave_bundle_for_data(span);
        let now = self.now(&to, 0);
        let section = &mut self.sections[self.current];
        let offset = match now {
            Some(Now::Absolute(offset)) if section.epoch == 0 => Some(offset),
            Some(Now::Place((section, 0), offset)) if section == self.current => Some(offset),
            _ => None,
        };
        let growth = match offset {
            Some(offset) => match offset.checked_sub(section.offset.into()) {
                Some(growth) if (0..=i64::from(MAX_SECTION)).contains(&growth) => growth as u32,
                _ => {
                    let here = section.offset;
                    self.error(
                        span,
                        format!("`.org` to {offset:#x} goes backward: the section is at {here:#x}"),
                    );
                    return;
                }
            },
            None => {
                section.epoch += 1;
                0
            }
        };
        self.used(&to, span);
        self.push(
            Item::Org {
                to,
                fill,
                span: span.clone(),
            },
            growth,
            span,
        );
    }
}

/// Expressions separated by commas, some of them left out.
fn expressions(
    cursor: &mut Cursor<'_>,
    names: &mut Assembler<'_>,
) -> Result<Vec<Option<Expr>>, ParseError> {
    let mut values = Vec::new();
    loop {
        if cursor.is(",") || cursor.at_end() {
            values.push(None);
        } else {
            values.push(Some(cursor.expr(names)?));
        }
        if !cursor.eat(",") {
            break;
        }
    }
    cursor.finish()?;
    Ok(values)
}

/// True if `value` can be stored in `width` bytes, signed or unsigned.
pub(super) fn fits(value: i64, width: u8) -> bool {
    let bits = 8 * u32::from(width);
    bits >= 64 || (-(1i64 << (bits - 1))..1i64 << bits).contains(&value)
}

pub(super) fn out_of_range(value: i64, width: u8) -> String {
    let bits = 8 * u32::from(width.min(7));
    format!(
        "{value} does not fit {width} byte{}: it must be {}..={}",
        if width == 1 { "" } else { "s" },
        -(1i64 << (bits - 1)),
        (1i64 << bits) - 1
    )
}
