//! Parsing the parts of items: types, literals, attributes.

use super::lex::Token;
use super::ops::{Attribute, Attributes};
use super::parse::{Parsed, Parser};
use crate::interp::Tensor;
use crate::module::host_fits;
use crate::ty::{MAX_RANK, TensorType};
use ipucc_chip::{HostType, ScalarType};

impl Parser<'_> {
    pub(super) fn tensor_type(&mut self) -> Parsed<TensorType> {
        let start = self.span().start;
        self.word("tensor")?;
        self.mark("<")?;
        let from = self.span().start;
        let mut to = from;
        // The lexer cuts `16x128xf16` into numbers and words; the text between the marks counts.
        while !matches!(self.peek(), Token::Mark(_) | Token::End) {
            to = self.span().end;
            self.next();
        }
        self.mark(">")?;
        let inner = &self.text[from..to.max(from)];
        let mut parts: Vec<&str> = inner.split('x').map(str::trim).collect();
        let element = parts.pop().unwrap_or_default().parse::<ScalarType>();
        let shape: Result<smallvec::SmallVec<[u32; 4]>, _> =
            parts.iter().map(|part| part.parse::<u32>()).collect();
        match (element, shape) {
            (Ok(element), Ok(shape)) if shape.len() <= MAX_RANK => {
                let count = shape
                    .iter()
                    .try_fold(1u64, |n, &e| n.checked_mul(u64::from(e)));
                if count.is_some_and(|n| n < 1 << 32) {
                    return Ok(TensorType { element, shape });
                }
                let message = format!("tensor<{inner}> has more than 2^32 elements");
                Err(self.fault("T006", start..to, message, ""))
            }
            _ => {
                let message = format!("`tensor<{inner}>` is no type");
                let hint = if inner.contains('?') {
                    "shapes are static: give every axis a number"
                } else {
                    "write it like `tensor<16x128xf16>`, with at most 8 axes"
                };
                Err(self.fault("T006", start..to.max(start + 1), message, hint))
            }
        }
    }

    pub(super) fn host_type(&mut self, element: ScalarType) -> Parsed<HostType> {
        if !matches!(self.peek(), Token::Word(word) if word == "host") {
            return Ok(element.host());
        }
        self.next();
        let span = self.span();
        let Token::Word(word) = self.next() else {
            self.at = self.at.saturating_sub(1);
            return Err(self.unexpected("a host type like `i64`"));
        };
        let host = match word.as_str() {
            "i64" => HostType::I64,
            "f64" => HostType::F64,
            "bool" => HostType::Bool,
            name => match name.parse() {
                Ok(scalar) => HostType::Device(scalar),
                Err(()) => {
                    let message = format!("`{name}` is no host type");
                    return Err(self.fault(
                        "T006",
                        span,
                        message,
                        "i64, f64, bool or an element type",
                    ));
                }
            },
        };
        if host_fits(host, element) {
            Ok(host)
        } else {
            let message = format!("a host type of {host} cannot be bound to {element}");
            Err(self.fault(
                "T005",
                span,
                message,
                "i64 goes with i32, f64 with f32, bool with i1",
            ))
        }
    }

    pub(super) fn skip_literal(&mut self) {
        if self.has("[") {
            while !matches!(self.peek(), Token::Mark("]") | Token::End) {
                self.next();
            }
            self.has("]");
        } else if matches!(self.peek(), Token::Number(_)) {
            self.next();
        }
    }

    /// A number or a list of numbers as data of an element type.
    pub(super) fn numbers(&mut self, element: ScalarType) -> Parsed<Vec<u8>> {
        let mut data = Vec::new();
        if !self.has("[") {
            return self.one_number(element);
        }
        if self.has("]") {
            return Ok(data);
        }
        loop {
            data.extend(self.one_number(element)?);
            if !self.has(",") {
                self.mark("]")?;
                return Ok(data);
            }
        }
    }

    fn one_number(&mut self, element: ScalarType) -> Parsed<Vec<u8>> {
        let span = self.span();
        let Token::Number(text) = self.peek().clone() else {
            return Err(self.unexpected("a number"));
        };
        let size = element.bytes() as usize;
        let ty = TensorType::new(element, []);
        let data = if let Some(hex) = text.strip_prefix("0x") {
            u64::from_str_radix(hex, 16)
                .ok()
                .filter(|bits| size == 8 || bits >> (8 * size) == 0)
                .map(|bits| bits.to_le_bytes()[..size].to_vec())
        } else if element.is_float() {
            text.parse::<f32>()
                .ok()
                .map(|value| Tensor::from_floats(ty, &[value]).data)
        } else {
            text.parse::<i64>()
                .ok()
                .map(|value| Tensor::from_ints(ty.clone(), &[value]))
                .filter(|tensor| {
                    tensor.to_ints().first().map(ToString::to_string) == Some(text.clone())
                })
                .map(|tensor| tensor.data)
        };
        match data {
            Some(data) => {
                self.next();
                Ok(data)
            }
            None => {
                let message = format!("`{text}` is no number of type {element}");
                Err(self.fault("T001", span, message, ""))
            }
        }
    }

    pub(super) fn attributes(&mut self) -> Parsed<Attributes> {
        self.mark("{")?;
        let mut attributes = Attributes::new();
        loop {
            let span = self.span();
            let Token::Word(key) = self.next() else {
                self.at = self.at.saturating_sub(1);
                return Err(self.unexpected("an attribute's name"));
            };
            self.mark("=")?;
            let value = match self.peek().clone() {
                Token::Number(text) => {
                    self.next();
                    Attribute::Number(text)
                }
                Token::Word(word) => {
                    self.next();
                    Attribute::Word(word)
                }
                Token::Mark("[") => {
                    self.next();
                    let mut list = Vec::new();
                    while !self.has("]") {
                        list.push(self.number("an integer")?);
                        if !self.has(",") {
                            self.mark("]")?;
                            break;
                        }
                    }
                    Attribute::List(list)
                }
                _ => return Err(self.unexpected("an attribute's value")),
            };
            if attributes.insert(key.clone(), value).is_some() {
                return Err(self.fault("T003", span, format!("`{key}` is given twice"), ""));
            }
            if !self.has(",") {
                self.mark("}")?;
                return Ok(attributes);
            }
        }
    }
}
