//! Parsing modules. All faults of a text are reported: after one, parsing goes on at the next line
//! of the function or the next item of the module.

use super::Diagnostic;
use super::lex::{Token, tokens};
use super::ops::{self, Attributes};
use crate::builder::Builder;
use crate::infer::TypeError;
use crate::module::{Module, Span, Value, Weight, WeightSource};
use crate::op::Op;
use crate::ty::TensorType;
use crate::verify::signature;
use indexmap::IndexMap;
use ipucc_chip::HostType;
use std::ops::Range;

/// Parses a module.
///
/// # Errors
/// Every fault of the text, in its order.
pub fn parse(text: &str) -> Result<Module, Vec<Diagnostic>> {
    let mut parser = Parser {
        tokens: tokens(text),
        at: 0,
        text,
        faults: Vec::new(),
    };
    let module = parser.module();
    if parser.faults.is_empty() {
        Ok(module)
    } else {
        Err(parser.faults)
    }
}

pub(super) struct Parser<'t> {
    tokens: Vec<(Token, Range<usize>)>,
    pub(super) at: usize,
    pub(super) text: &'t str,
    faults: Vec<Diagnostic>,
}

/// A fault has been recorded; skip to where parsing can go on.
pub(super) struct Skip;

pub(super) type Parsed<T> = Result<T, Skip>;

/// A parameter or result: name, its place, type, host type.
type Binding = (String, Range<usize>, TensorType, HostType);

impl Parser<'_> {
    pub(super) fn peek(&self) -> &Token {
        &self.tokens[self.at.min(self.tokens.len() - 1)].0
    }

    pub(super) fn span(&self) -> Range<usize> {
        self.tokens[self.at.min(self.tokens.len() - 1)].1.clone()
    }

    pub(super) fn next(&mut self) -> Token {
        // Goes on past the end, where `peek` stays, so that taking a token back is always right.
        let token = self.peek().clone();
        self.at += 1;
        token
    }

    pub(super) fn fault(
        &mut self,
        code: &'static str,
        span: Range<usize>,
        message: impl Into<String>,
        hint: impl Into<String>,
    ) -> Skip {
        let (message, hint) = (message.into(), hint.into());
        self.faults.push(Diagnostic {
            code,
            span,
            message,
            hint,
        });
        Skip
    }

    pub(super) fn unexpected(&mut self, wanted: &str) -> Skip {
        let found = describe(self.peek());
        let span = self.span();
        self.fault(
            "T001",
            span,
            format!("expected {wanted}, found {found}"),
            "",
        )
    }

    pub(super) fn mark(&mut self, mark: &'static str) -> Parsed<()> {
        if *self.peek() == Token::Mark(mark) {
            self.next();
            Ok(())
        } else {
            Err(self.unexpected(&format!("`{mark}`")))
        }
    }

    pub(super) fn has(&mut self, mark: &'static str) -> bool {
        let found = *self.peek() == Token::Mark(mark);
        if found {
            self.next();
        }
        found
    }

    pub(super) fn word(&mut self, word: &str) -> Parsed<()> {
        if matches!(self.peek(), Token::Word(found) if found == word) {
            self.next();
            Ok(())
        } else {
            Err(self.unexpected(&format!("`{word}`")))
        }
    }

    fn symbol(&mut self, what: &str) -> Parsed<String> {
        match self.next() {
            Token::Symbol(name) if !name.is_empty() => Ok(name),
            _ => {
                self.at = self.at.saturating_sub(1);
                Err(self.unexpected(what))
            }
        }
    }

    pub(super) fn number<T: std::str::FromStr>(&mut self, what: &str) -> Parsed<T> {
        let span = self.span();
        match self.peek().clone() {
            Token::Number(text) => match text.parse() {
                Ok(value) => {
                    self.next();
                    Ok(value)
                }
                Err(_) => {
                    let message = format!("`{text}` is not {what}");
                    Err(self.fault("T001", span, message, ""))
                }
            },
            _ => Err(self.unexpected(what)),
        }
    }

    fn module(&mut self) -> Module {
        let mut module = Module::default();
        if self.word("module").is_err() || self.mark("{").is_err() {
            return module;
        }
        loop {
            match self.peek() {
                Token::Mark("}") => {
                    self.next();
                    if *self.peek() != Token::End {
                        self.unexpected("the end of the file");
                    }
                    return module;
                }
                Token::End => {
                    self.unexpected("`}` at the end of the module");
                    return module;
                }
                Token::Word(word) if word == "weight" => {
                    if self.weight(&mut module).is_err() {
                        self.skip_item();
                    }
                }
                Token::Word(word) if word == "func" => {
                    if self.function(&mut module).is_err() {
                        self.skip_item();
                    }
                }
                _ => {
                    self.unexpected("`weight`, `func` or `}`");
                    self.next();
                    self.skip_item();
                }
            }
        }
    }

    /// Skips to the next item of a module.
    fn skip_item(&mut self) {
        loop {
            match self.peek() {
                Token::End => return,
                Token::Word(word) if word == "func" => return,
                Token::Word(word) if word == "weight" => {
                    // Inside a function `weight` follows `=`.
                    let before = self.at.checked_sub(1).and_then(|at| self.tokens.get(at));
                    if before.is_none_or(|(token, _)| *token != Token::Mark("=")) {
                        return;
                    }
                    self.next();
                }
                Token::Mark("}")
                    if matches!(self.tokens.get(self.at + 1), Some((Token::End, _))) =>
                {
                    return;
                }
                _ => {
                    self.next();
                }
            }
        }
    }

    fn weight(&mut self, module: &mut Module) -> Parsed<()> {
        self.word("weight")?;
        let span = self.span();
        let name = self.symbol("the weight's name, like `@w`")?;
        self.mark(":")?;
        let ty = self.tensor_type()?;
        self.mark("=")?;
        let source_span = self.span();
        let Token::Word(kind) = self.next() else {
            self.at = self.at.saturating_sub(1);
            return Err(self.unexpected("a source: `random`, `splat`, `dense` or `file`"));
        };
        self.mark("(")?;
        let source = match kind.as_str() {
            "random" => {
                self.word("seed")?;
                self.mark("=")?;
                let seed = self.number("a seed")?;
                self.mark(",")?;
                self.word("scale")?;
                self.mark("=")?;
                let scale: f32 = self.number("a scale")?;
                WeightSource::Random {
                    seed,
                    scale: scale.to_bits(),
                }
            }
            "splat" => {
                let numbers = self.numbers(ty.element)?;
                WeightSource::Splat(numbers)
            }
            "dense" => {
                let span = self.span();
                let Token::Text(hex) = self.next() else {
                    self.at = self.at.saturating_sub(1);
                    return Err(self.unexpected("the data as hexadecimal text in quotes"));
                };
                let digits: Option<Vec<u8>> = hex
                    .as_bytes()
                    .chunks(2)
                    .map(|pair| {
                        let text = std::str::from_utf8(pair).ok()?;
                        u8::from_str_radix(text, 16)
                            .ok()
                            .filter(|_| pair.len() == 2)
                    })
                    .collect();
                match digits {
                    Some(data) if data.len() == ty.bytes() => WeightSource::Dense(data.into()),
                    _ => {
                        let message = format!(
                            "the data of {ty} needs {} hexadecimal digits",
                            2 * ty.bytes()
                        );
                        return Err(self.fault("T001", span, message, ""));
                    }
                }
            }
            "file" => {
                let mut texts = Vec::new();
                for what in ["a path in quotes", "a tensor's name in quotes"] {
                    if !texts.is_empty() {
                        self.mark(",")?;
                    }
                    match self.next() {
                        Token::Text(text) => texts.push(text),
                        _ => {
                            self.at = self.at.saturating_sub(1);
                            return Err(self.unexpected(what));
                        }
                    }
                }
                let key = texts.pop().unwrap_or_default();
                WeightSource::File {
                    path: texts.pop().unwrap_or_default(),
                    key,
                }
            }
            other => {
                let message = format!("`{other}` is no source of a weight");
                let hint =
                    "a weight is `random(...)`, `splat(...)`, `dense(\"..\")` or `file(...)`";
                return Err(self.fault("T001", source_span, message, hint));
            }
        };
        self.mark(")")?;
        if module
            .weights
            .insert(name.clone(), Weight { ty, source })
            .is_some()
        {
            self.fault(
                "T003",
                span,
                format!("weight `@{name}` is defined twice"),
                "",
            );
        }
        Ok(())
    }

    /// `%name: type [host type], ...` in parentheses.
    fn ports(&mut self) -> Parsed<Vec<Binding>> {
        self.mark("(")?;
        let mut ports = Vec::new();
        if self.has(")") {
            return Ok(ports);
        }
        loop {
            let span = self.span();
            let Token::Value(name) = self.next() else {
                self.at = self.at.saturating_sub(1);
                return Err(self.unexpected("a value like `%x`"));
            };
            self.mark(":")?;
            let ty = self.tensor_type()?;
            let host = self.host_type(ty.element)?;
            ports.push((name, span, ty, host));
            if !self.has(",") {
                self.mark(")")?;
                return Ok(ports);
            }
        }
    }

    fn function(&mut self, module: &mut Module) -> Parsed<()> {
        let base = self.span().start;
        self.word("func")?;
        let name_span = self.span();
        let name = self.symbol("the function's name, like `@main`")?;
        let params = self.ports()?;
        self.mark("->")?;
        let results = self.ports()?;
        self.mark("{")?;
        let mut builder = Builder::new(name.clone());
        let mut values: IndexMap<String, Option<Value>> = IndexMap::new();
        for (param, span, ty, host) in params {
            let value = builder.param_with_host(param.clone(), ty, host);
            if values.insert(param.clone(), Some(value)).is_some() {
                self.fault("T003", span, format!("`%{param}` is defined twice"), "");
            }
        }
        loop {
            match self.peek().clone() {
                Token::Mark("}") | Token::End => {
                    let span = self.span();
                    let message = format!("function `@{name}` ends without `return`");
                    return Err(self.fault("T001", span, message, "write `return %value` last"));
                }
                Token::Word(word) if word == "return" => {
                    self.next();
                    self.finish(&mut builder, &values, &results)?;
                    self.mark("}")?;
                    break;
                }
                Token::Value(_) => {
                    let start = self.at;
                    if self
                        .operation(&mut builder, &mut values, module, base)
                        .is_err()
                    {
                        self.skip_line(start);
                    }
                }
                _ => {
                    self.unexpected("`%name = operation`, `return` or `}`");
                    let start = self.at;
                    self.next();
                    self.skip_line(start);
                }
            }
        }
        if module
            .functions
            .insert(name.clone(), builder.finish())
            .is_some()
        {
            self.fault(
                "T003",
                name_span,
                format!("function `@{name}` is defined twice"),
                "",
            );
        }
        Ok(())
    }

    /// Skips to the first token of a later line than that of token `start`.
    fn skip_line(&mut self, start: usize) {
        let from = self.tokens[start].1.start;
        let end = self.text[from..]
            .find('\n')
            .map_or(self.text.len(), |n| from + n);
        while self.span().start < end && *self.peek() != Token::End {
            self.next();
        }
    }

    fn operand(&mut self, values: &IndexMap<String, Option<Value>>) -> Parsed<Option<Value>> {
        let span = self.span();
        let Token::Value(name) = self.next() else {
            self.at = self.at.saturating_sub(1);
            return Err(self.unexpected("a value like `%x`"));
        };
        match values.get(&name) {
            Some(value) => Ok(*value),
            None => {
                let message = format!("`%{name}` is not defined before this line");
                Err(self.fault(
                    "T002",
                    span,
                    message,
                    "values are defined once, before their use",
                ))
            }
        }
    }

    fn operands(
        &mut self,
        values: &IndexMap<String, Option<Value>>,
        operands: &mut Vec<Option<Value>>,
    ) -> Parsed<()> {
        loop {
            operands.push(self.operand(values)?);
            if !self.has(",") {
                return Ok(());
            }
        }
    }

    fn operation(
        &mut self,
        builder: &mut Builder,
        values: &mut IndexMap<String, Option<Value>>,
        module: &Module,
        base: usize,
    ) -> Parsed<()> {
        let span = self.span();
        let mut results: Vec<String> = Vec::new();
        loop {
            let span = self.span();
            let Token::Value(name) = self.next() else {
                self.at = self.at.saturating_sub(1);
                return Err(self.unexpected("a value like `%x`"));
            };
            if values.contains_key(&name) {
                let hint = "give it a name of its own";
                return Err(self.fault("T003", span, format!("`%{name}` is defined twice"), hint));
            }
            // Later uses of a line that fails are no faults of their own.
            values.insert(name.clone(), None);
            results.push(name);
            if !self.has(",") {
                break;
            }
        }
        self.mark("=")?;
        let op_span = self.span();
        let Token::Word(op) = self.next() else {
            self.at = self.at.saturating_sub(1);
            return Err(self.unexpected("an operation"));
        };
        if !ops::names().contains(&op.as_str()) {
            let near = nearest(&op);
            let hint = format!("did you mean `{near}`? `ipucc ops` lists all operations");
            return Err(self.fault(
                "T004",
                op_span,
                format!("there is no operation `{op}`"),
                hint,
            ));
        }
        let mut operands = Vec::new();
        let mut weight = None;
        let mut callee = None;
        let mut literal_at = None;
        let literal_span = self.span();
        if op == "weight" {
            let span = self.span();
            let found = self.symbol("the weight's name, like `@w`")?;
            match module.weights.get(&found) {
                Some(data) => weight = Some((found, data.ty.clone())),
                None => {
                    let message = format!("weight `@{found}` is not defined");
                    return Err(self.fault("T002", span, message, "define it before the function"));
                }
            }
        } else if op == "call" || op == "repeat" {
            let span = self.span();
            let found = self.symbol("the function's name, like `@layer`")?;
            if !module.functions.contains_key(&found) {
                let message = format!("function `@{found}` is not defined before this line");
                let hint = "a function stands before those that call it; none calls itself";
                return Err(self.fault("T002", span, message, hint));
            }
            callee = Some(found);
            if matches!(self.peek(), Token::Value(_)) {
                self.operands(values, &mut operands)?;
            }
        } else if op == "constant" {
            literal_at = Some(self.at);
            self.skip_literal();
        } else if matches!(self.peek(), Token::Value(_)) {
            self.operands(values, &mut operands)?;
        }
        let attributes = if *self.peek() == Token::Mark("{") {
            self.attributes()?
        } else {
            Attributes::new()
        };
        self.mark(":")?;
        let ty_span = self.span();
        let ty = self.tensor_type()?;
        let mut types = vec![(ty.clone(), ty_span.clone())];
        while self.has(",") {
            let span = self.span();
            types.push((self.tensor_type()?, span));
        }
        let end = self.tokens[self.at.clamp(1, self.tokens.len()) - 1].1.end;
        let line = Span {
            start: (span.start - base) as u32,
            end: (end.max(span.start) - base) as u32,
        };
        builder.at(line, None);
        let Some(operands) = operands.into_iter().collect::<Option<Vec<Value>>>() else {
            return Ok(());
        };
        if types.len() != results.len() || (callee.is_none() && types.len() != 1) {
            let message = match callee {
                None => format!("`{op}` has one result"),
                Some(_) => format!("{} results and {} types", results.len(), types.len()),
            };
            let hint = "write as many types behind `:` as names before `=`";
            return Err(self.fault("T005", op_span, message, hint));
        }
        if let Some(callee) = callee.and_then(|name| module.functions.get(&name)) {
            let given: Vec<TensorType> = operands.iter().map(|&v| builder.ty(v).clone()).collect();
            let built = ops::build_call(&op, &attributes, callee)
                .map_err(|reason| self.fault("T004", op_span.clone(), reason, ""))?;
            let wrong = |error: TypeError| (error.to_string(), op_span.clone());
            let made = signature(&built, callee, &given)
                .and_then(|()| builder.op_all(built, &operands))
                .map_err(wrong);
            let made = made.map_err(|(message, span)| self.fault("T005", span, message, ""))?;
            if made.len() != results.len() {
                let message = format!(
                    "`{op}` of `@{}` has {} results, {} are named",
                    callee.name,
                    made.len(),
                    results.len()
                );
                return Err(self.fault("T005", op_span, message, ""));
            }
            for ((value, name), (ty, span)) in made.into_iter().zip(results).zip(types) {
                let found = builder.ty(value).clone();
                if found != ty {
                    let message = format!("the result `%{name}` of `{op}` is {found}, not {ty}");
                    return Err(self.fault("T005", span, message, ""));
                }
                builder.name(value, name.clone());
                values.insert(name, Some(value));
            }
            return Ok(());
        }
        let name = results.swap_remove(0);
        let value = match (weight, literal_at) {
            (Some((weight, found)), _) => {
                if found != ty {
                    let message = format!("weight `@{weight}` is {found}, not {ty}");
                    return Err(self.fault("T005", ty_span, message, ""));
                }
                builder.weight(weight, ty)
            }
            (_, Some(at)) => {
                let after = std::mem::replace(&mut self.at, at);
                let data = self.numbers(ty.element)?;
                self.at = after;
                let op = Op::Constant {
                    element: ty.element,
                    shape: ty.shape.clone(),
                    data,
                };
                let built = builder.op(op, &[]);
                built.map_err(|error| self.fault("T005", literal_span, error.to_string(), ""))?
            }
            _ => {
                let types: Vec<TensorType> =
                    operands.iter().map(|&v| builder.ty(v).clone()).collect();
                let built = ops::build(&op, &attributes, &types, &ty);
                let built =
                    built.map_err(|reason| self.fault("T004", op_span.clone(), reason, ""))?;
                let inferred = built.infer(&types);
                let inferred = inferred
                    .map_err(|error| self.fault("T005", op_span.clone(), error.to_string(), ""))?;
                if inferred != ty {
                    let message = format!("the result of `{op}` is {inferred}, not {ty}");
                    return Err(self.fault("T005", ty_span, message, ""));
                }
                let made = builder.op(built, &operands);
                made.map_err(|error| self.fault("T005", op_span, error.to_string(), ""))?
            }
        };
        builder.name(value, name.clone());
        values.insert(name, Some(value));
        Ok(())
    }

    fn finish(
        &mut self,
        builder: &mut Builder,
        values: &IndexMap<String, Option<Value>>,
        results: &[Binding],
    ) -> Parsed<()> {
        let span = self.span();
        let mut returned = Vec::new();
        while matches!(self.peek(), Token::Value(_)) {
            let span = self.span();
            returned.push((self.operand(values)?, span));
            if !self.has(",") {
                break;
            }
        }
        if returned.len() != results.len() {
            let message = format!(
                "{} values are returned, {} declared",
                returned.len(),
                results.len()
            );
            return Err(self.fault("T005", span, message, ""));
        }
        for ((value, span), (name, _, ty, host)) in returned.into_iter().zip(results) {
            let Some(value) = value else { continue };
            let found = builder.ty(value).clone();
            if found != *ty {
                let message = format!("result `%{name}` is {found}, declared as {ty}");
                return Err(self.fault("T005", span, message, ""));
            }
            builder.result_with_host(name.clone(), value, *host);
        }
        Ok(())
    }
}

fn describe(token: &Token) -> String {
    match token {
        Token::Word(text) | Token::Number(text) => format!("`{text}`"),
        Token::Value(name) => format!("`%{name}`"),
        Token::Symbol(name) => format!("`@{name}`"),
        Token::Text(_) => "a quoted text".into(),
        Token::Mark(mark) => format!("`{mark}`"),
        Token::Bad(bad) => format!("`{bad}`"),
        Token::End => "the end of the file".into(),
    }
}

/// The known operation with the smallest edit distance.
fn nearest(word: &str) -> &'static str {
    ops::names()
        .into_iter()
        .min_by_key(|name| strsim::levenshtein(word, name))
        .unwrap_or("dot")
}
