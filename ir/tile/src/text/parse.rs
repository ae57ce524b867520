//! Parsing.

mod steps;

use super::Diagnostic;
use super::lex::{Token, tokens};
use crate::{
    AxisCut, Binding, Distribution, Layout, LayoutKind, MemoryClass, Padding, Program, Role, Shape,
    Value, ValueData, WeightProgram,
};
use indexmap::IndexMap;
use ipucc_chip::{Chip, HostType, LogicalTile, ScalarType};
use smallvec::SmallVec;
use std::ops::Range;

/// RON as kernels are written in it.
pub(super) fn ron_options() -> ron::Options {
    ron::Options::default()
        .with_default_extension(ron::extensions::Extensions::UNWRAP_VARIANT_NEWTYPES)
}

/// The program that a text describes.
///
/// # Errors
/// The first place that is no tile program, with what is expected there.
pub fn parse(text: &str) -> Result<Program, Vec<Diagnostic>> {
    let mut parser = Parser {
        text,
        tokens: tokens(text),
        at: 0,
        program: Program {
            name: String::new(),
            tiles: 0,
            values: Default::default(),
            steps: Vec::new(),
            inputs: IndexMap::new(),
            outputs: IndexMap::new(),
            weights: IndexMap::new(),
        },
    };
    match parser.program() {
        Ok(()) => Ok(parser.program),
        Err(diagnostics) => Err(diagnostics),
    }
}

type Parsed<T> = Result<T, Vec<Diagnostic>>;

struct Parser<'t> {
    text: &'t str,
    tokens: Vec<(Token, Range<usize>)>,
    at: usize,
    program: Program,
}

impl Parser<'_> {
    fn peek(&self) -> &Token {
        &self.tokens[self.at].0
    }

    fn span(&self) -> Range<usize> {
        self.tokens[self.at].1.clone()
    }

    fn next(&mut self) -> (Token, Range<usize>) {
        let token = self.tokens[self.at].clone();
        self.at = (self.at + 1).min(self.tokens.len() - 1);
        token
    }

    fn fault<T>(
        &self,
        code: &'static str,
        span: Range<usize>,
        message: impl Into<String>,
        hint: impl Into<String>,
    ) -> Parsed<T> {
        Err(vec![Diagnostic {
            code,
            span,
            message: message.into(),
            hint: hint.into(),
        }])
    }

    fn expected<T>(&self, what: &str) -> Parsed<T> {
        let found = match self.peek() {
            Token::Word(word) => format!("`{word}`"),
            Token::Value(number) => format!("`%v{number}`"),
            Token::Text(_) => "a string".into(),
            Token::Mark(mark) => format!("`{mark}`"),
            Token::Arrow => "`->`".into(),
            Token::Bad => "a character that begins nothing".into(),
            Token::End => "the end of the text".into(),
        };
        let message = format!("expected {what}, found {found}");
        self.fault("L001", self.span(), message, "")
    }

    fn mark(&mut self, mark: char) -> Parsed<()> {
        if self.take(mark) {
            Ok(())
        } else {
            self.expected(&format!("`{mark}`"))
        }
    }

    fn take(&mut self, mark: char) -> bool {
        let found = *self.peek() == Token::Mark(mark);
        if found {
            self.next();
        }
        found
    }

    /// True, and gone, if the next token is this word.
    fn takes(&mut self, word: &str) -> bool {
        let found = matches!(self.peek(), Token::Word(found) if found == word);
        if found {
            self.next();
        }
        found
    }

    fn keyword(&mut self, word: &str) -> Parsed<()> {
        if self.takes(word) {
            Ok(())
        } else {
            self.expected(&format!("`{word}`"))
        }
    }

    fn string(&mut self) -> Parsed<String> {
        match self.peek().clone() {
            Token::Text(text) => {
                self.next();
                Ok(text)
            }
            _ => self.expected("a name in quotes"),
        }
    }

    fn number<T: std::str::FromStr>(&mut self, what: &str) -> Parsed<T> {
        if let Token::Word(word) = self.peek()
            && let Ok(number) = word.parse()
        {
            self.next();
            return Ok(number);
        }
        self.expected(what)
    }

    /// A value that is defined already.
    fn value(&mut self) -> Parsed<Value> {
        let Token::Value(number) = *self.peek() else {
            return self.expected("a value like %v0");
        };
        if number as usize >= self.program.values.len() {
            let message = format!("%v{number} is not defined");
            let hint = format!("the program has {} values", self.program.values.len());
            return self.fault("L002", self.span(), message, hint);
        }
        self.next();
        Ok(Value::from_u32(number))
    }

    fn comma_or(&mut self, end: char) -> Parsed<bool> {
        if self.take(end) {
            return Ok(false);
        }
        self.mark(',')?;
        Ok(true)
    }

    /// `[a, b]`.
    fn list<T>(&mut self, mut item: impl FnMut(&mut Self) -> Parsed<T>) -> Parsed<Vec<T>> {
        self.mark('[')?;
        let mut list = Vec::new();
        if self.take(']') {
            return Ok(list);
        }
        loop {
            list.push(item(self)?);
            if !self.comma_or(']')? {
                return Ok(list);
            }
        }
    }

    fn program(&mut self) -> Parsed<()> {
        self.keyword("tile")?;
        self.program.name = self.string()?;
        self.keyword("on")?;
        let span = self.span();
        let tiles = self.number("a number of tiles")?;
        if Chip::first(tiles).is_none() {
            let message = format!("{tiles} tiles");
            let hint = format!("a C600 has 1 to {}", Chip::C600_TILES);
            return self.fault("L003", span, message, hint);
        }
        self.program.tiles = tiles;
        self.mark('{')?;
        loop {
            if self.takes("value") {
                self.define()?;
            } else if self.takes("weight") {
                self.weight()?;
            } else if self.takes("input") {
                let span = self.span();
                let (name, binding) = self.binding()?;
                self.once(span, self.program.inputs.contains_key(&name), &name)?;
                self.program.inputs.insert(name, binding);
            } else if self.takes("output") {
                let span = self.span();
                let (name, binding) = self.binding()?;
                self.once(span, self.program.outputs.contains_key(&name), &name)?;
                self.program.outputs.insert(name, binding);
            } else {
                break;
            }
        }
        self.program.steps = self.steps(0)?;
        self.mark('}')?;
        match self.peek() {
            Token::End => Ok(()),
            _ => self.expected("the end of the text"),
        }
    }

    /// An error if a name stands for something else already.
    fn once(&self, span: Range<usize>, there: bool, name: &str) -> Parsed<()> {
        if there {
            let message = format!("{name:?} is defined twice");
            return self.fault("L003", span, message, "one of the two must go");
        }
        Ok(())
    }

    fn define(&mut self) -> Parsed<()> {
        let next = self.program.values.len() as u32;
        if *self.peek() != Token::Value(next) {
            let message = format!("expected %v{next}");
            let hint = "values are numbered in the order of their definitions";
            return self.fault("L002", self.span(), message, hint);
        }
        self.next();
        let name = self.string()?;
        self.mark(':')?;
        let (shape, element) = self.ty()?;
        let distribution = self.distribution(&shape)?;
        self.keyword("layout")?;
        let layout = self.layout(shape.len())?;
        self.keyword("memory")?;
        let memory = match self.word_of(&["any", "interleaved"])? {
            0 => MemoryClass::Any,
            _ => MemoryClass::Interleaved,
        };
        self.keyword("align")?;
        let span = self.span();
        let align_bytes: u32 = self.number("an alignment in bytes")?;
        if !align_bytes.is_power_of_two() || align_bytes < 8 {
            let message = format!("alignment {align_bytes}");
            return self.fault("L003", span, message, "a power of two, at least 8");
        }
        self.keyword("tail")?;
        let tail_bytes = self.number("a number of bytes")?;
        self.keyword("padding")?;
        let padding = match self.word_of(&["zero", "anything"])? {
            0 => Padding::Zero,
            _ => Padding::Anything,
        };
        let role = match self.word_of(&["temporary", "input", "output", "weight"])? {
            0 => Role::Temporary,
            1 => Role::Input(self.string()?),
            2 => Role::Output(self.string()?),
            _ => Role::Weight(self.string()?),
        };
        let tensor = match self.takes("tensor") {
            true => Some(self.string()?),
            false => None,
        };
        let origin = match self.takes("from") {
            true => Some(self.string()?),
            false => None,
        };
        self.program.values.push(ValueData {
            name,
            element,
            shape,
            distribution,
            layout,
            memory,
            align_bytes,
            tail_bytes,
            padding,
            role,
            origin,
            tensor,
        });
        Ok(())
    }

    /// The index of the word that stands here.
    fn word_of(&mut self, words: &[&str]) -> Parsed<usize> {
        for (index, word) in words.iter().enumerate() {
            if self.takes(word) {
                return Ok(index);
            }
        }
        let list: Vec<String> = words.iter().map(|word| format!("`{word}`")).collect();
        self.expected(&list.join(", "))
    }

    /// `4x8xf32`.
    fn ty(&mut self) -> Parsed<(Shape, ScalarType)> {
        let Token::Word(word) = self.peek().clone() else {
            return self.expected("a type like 4x8xf32");
        };
        let mut shape = Shape::new();
        let mut parts = word.split('x').peekable();
        while let Some(part) = parts.next() {
            if parts.peek().is_none() {
                if let Ok(element) = part.parse() {
                    let elements = shape
                        .iter()
                        .try_fold(1u64, |n, &e: &u32| n.checked_mul(e.into()));
                    if elements.is_none_or(|n| n > 1 << 32) || shape.len() > ipucc_tensor::MAX_RANK
                    {
                        let message = format!("{word} is too large");
                        let hint = "at most 2^32 elements and 8 axes";
                        return self.fault("L003", self.span(), message, hint);
                    }
                    self.next();
                    return Ok((shape, element));
                }
                break;
            }
            match part.parse() {
                Ok(extent) => shape.push(extent),
                Err(_) => break,
            }
        }
        self.expected("a type like 4x8xf32")
    }

    fn distribution(&mut self, shape: &[u32]) -> Parsed<Distribution> {
        self.keyword("cuts")?;
        let span = self.span();
        let cuts: SmallVec<[AxisCut; 4]> = self
            .list(|this| {
                let parts = this.number("a number of parts")?;
                this.mark('/')?;
                let granule = this.number("a granule")?;
                Ok(AxisCut { parts, granule })
            })?
            .into();
        if cuts.len() != shape.len() || cuts.iter().any(|cut| cut.parts == 0 || cut.granule == 0) {
            let message = format!("{} cuts for {} axes", cuts.len(), shape.len());
            let hint = "one cut per axis, parts and granule at least 1";
            return self.fault("L003", span, message, hint);
        }
        self.keyword("copies")?;
        let replicas: u32 = self.number("a number of copies")?;
        self.keyword("tiles")?;
        let span = self.span();
        let tiles = self.tiles()?;
        let points = cuts.iter().try_fold(u64::from(replicas), |n, cut| {
            n.checked_mul(cut.parts.into())
        });
        if points != Some(tiles.len() as u64) || replicas == 0 {
            let message = format!("{} tiles", tiles.len());
            let hint = "as many as the product of the parts and the copies";
            return self.fault("L003", span, message, hint);
        }
        let mut sorted: Vec<u16> = tiles.iter().map(|tile| tile.0).collect();
        sorted.sort_unstable();
        if let Some(pair) = sorted.windows(2).find(|pair| pair[0] == pair[1]) {
            let message = format!("tile {} stands twice", pair[0]);
            return self.fault("L003", span, message, "a tile holds one shard of a value");
        }
        Ok(Distribution {
            cuts,
            replicas,
            tiles,
        })
    }

    /// `[0..8, 12, 16..64 by 4]`.
    fn tiles(&mut self) -> Parsed<Vec<LogicalTile>> {
        let limit = self.program.tiles;
        let ranges = self.list(|this| {
            let span = this.span();
            let Token::Word(word) = this.peek().clone() else {
                return this.expected("a tile or a range like 0..8");
            };
            let (first, end) = match word.split_once("..") {
                Some((first, end)) => (first.parse().ok(), end.parse().ok()),
                None => {
                    let first: Option<u32> = word.parse().ok();
                    (first, first.and_then(|tile| tile.checked_add(1)))
                }
            };
            let (Some(first), Some(end)) = (first, end) else {
                return this.expected("a tile or a range like 0..8");
            };
            this.next();
            let step: u32 = match this.takes("by") {
                true => this.number("a step")?,
                false => 1,
            };
            if end > u32::from(limit) || step == 0 {
                let message = format!("tiles {word} by {step}");
                let hint = format!("the program has tiles 0..{limit}");
                return this.fault("L003", span, message, hint);
            }
            Ok((first..end).step_by(step as usize))
        })?;
        Ok(ranges
            .into_iter()
            .flatten()
            .map(|tile| LogicalTile(tile as u16))
            .collect())
    }

    fn layout(&mut self, rank: usize) -> Parsed<Layout> {
        let kind = self.word_of(&["row", "amp_lhs", "amp_rhs"])?;
        self.mark('(')?;
        let span = self.span();
        let size: u32 = self.number("a pitch or panel in elements")?;
        self.mark(')')?;
        if size == 0 {
            let hint = "at least one element";
            return self.fault("L003", span, "a pitch or panel of 0", hint);
        }
        let kind = match kind {
            0 => LayoutKind::Row { pitch: size },
            1 => LayoutKind::AmpLhs { panel: size },
            _ => LayoutKind::AmpRhs { panel: size },
        };
        self.keyword("order")?;
        let span = self.span();
        let order: Vec<u8> = self.list(|this| this.number("an axis"))?;
        let mut axes = order.clone();
        axes.sort_unstable();
        let panelled = !matches!(kind, LayoutKind::Row { .. });
        if !axes
            .iter()
            .enumerate()
            .all(|(i, &axis)| i == usize::from(axis))
            || axes.len() != rank
            || (panelled && rank < 2)
        {
            let message = format!("order {order:?} of {rank} axes");
            let hint = "every axis once; panels need two axes";
            return self.fault("L003", span, message, hint);
        }
        Ok(Layout {
            kind,
            order: order.into_iter().collect(),
        })
    }

    fn weight(&mut self) -> Parsed<()> {
        let name_span = self.span();
        let name = self.string()?;
        self.once(name_span, self.program.weights.contains_key(&name), &name)?;
        let span = self.balanced('{', '}')?;
        let inside = &self.text[span.start + 1..span.end - 1];
        let module = ipucc_tensor::text::parse(inside).map_err(|diagnostics| {
            let moved = diagnostics.into_iter().map(|diagnostic| Diagnostic {
                span: diagnostic.span.start + span.start + 1..diagnostic.span.end + span.start + 1,
                ..diagnostic
            });
            moved.collect::<Vec<_>>()
        })?;
        let shaped = module
            .entry()
            .is_some_and(|main| main.params.is_empty() && main.results.len() == 1);
        if !shaped {
            let message = format!("the program of weight {name:?} does not return one tensor");
            let hint = "its `main` takes nothing and returns one";
            return self.fault("L005", span, message, hint);
        }
        self.program.weights.insert(name, WeightProgram { module });
        Ok(())
    }

    /// The range of a bracketed part, brackets included; everything inside is skipped.
    fn balanced(&mut self, open: char, close: char) -> Parsed<Range<usize>> {
        let start = self.span();
        self.mark(open)?;
        let mut depth = 1;
        loop {
            let (token, span) = self.next();
            match token {
                Token::Mark(mark) if mark == open => depth += 1,
                Token::Mark(mark) if mark == close => depth -= 1,
                Token::End => {
                    let message = format!("this `{open}` is not closed");
                    return self.fault("L001", start, message, "");
                }
                _ => {}
            }
            if depth == 0 {
                return Ok(start.start..span.end);
            }
        }
    }

    fn binding(&mut self) -> Parsed<(String, Binding)> {
        let name = self.string()?;
        self.mark('=')?;
        let span = self.span();
        let value = self.value()?;
        self.mark(':')?;
        let host = match self.peek().clone() {
            Token::Word(word) => match word.as_str() {
                "f64" => HostType::F64,
                "i64" => HostType::I64,
                "bool" => HostType::Bool,
                other => match other.parse() {
                    Ok(element) => HostType::Device(element),
                    Err(()) => return self.expected("a host type like f32"),
                },
            },
            _ => return self.expected("a host type like f32"),
        };
        self.next();
        let shape: Shape = self.list(|this| this.number("an extent"))?.into();
        let count = |shape: &[u32]| {
            let mut extents = shape.iter();
            extents.try_fold(1u64, |n, &extent| n.checked_mul(extent.into()))
        };
        let elements = count(&self.program.values[value].shape);
        if elements.is_none() || count(&shape) != elements {
            let message = format!("{shape:?} has another number of elements than %{value}");
            return self.fault("L003", span, message, "");
        }
        let binding = Binding { value, host, shape };
        Ok((name, binding))
    }
}
