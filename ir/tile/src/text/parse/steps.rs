//! Steps: calls, transfers, repeats.

use super::super::lex::Token;
use super::{Parsed, Parser, ron_options};
use crate::{
    Call, Compute, Dim, Endpoint, Exchange, Host, HostDirection, Operand, Repeat, Run, Step,
    Strided, TileSet, Transfer,
};
use ipucc_chip::LogicalTile;
use smallvec::SmallVec;

/// Deepest nesting of repeats.
const MOST_DEPTH: usize = 16;

impl Parser<'_> {
    pub(super) fn steps(&mut self, depth: usize) -> Parsed<Vec<Step>> {
        let mut list = Vec::new();
        loop {
            if self.takes("compute") {
                let label = self.string()?;
                self.mark('{')?;
                let mut calls = Vec::new();
                while !self.take('}') {
                    calls.push(self.call()?);
                }
                list.push(Step::Compute(Compute { label, calls }));
            } else if self.takes("exchange") {
                let label = self.string()?;
                self.mark('{')?;
                let mut transfers = Vec::new();
                while !self.take('}') {
                    transfers.push(self.transfer()?);
                }
                list.push(Step::Exchange(Exchange { label, transfers }));
            } else if self.takes("host") {
                let direction = match self.word_of(&["in", "out"])? {
                    0 => HostDirection::In,
                    _ => HostDirection::Out,
                };
                let values = self.list(Self::value)?;
                list.push(Step::Host(Host { direction, values }));
            } else if self.takes("repeat") {
                if depth == MOST_DEPTH {
                    let message = format!("repeats stand more than {MOST_DEPTH} deep");
                    return self.fault("L003", self.span(), message, "");
                }
                list.push(self.repeat(depth)?);
            } else {
                return match self.peek() {
                    Token::Mark('}') => Ok(list),
                    _ => self.expected("a step (`compute`, `exchange`, `host`, `repeat`) or `}`"),
                };
            }
        }
    }

    fn repeat(&mut self, depth: usize) -> Parsed<Step> {
        let label = self.string()?;
        self.keyword("times")?;
        let count = self.number("a number of iterations")?;
        self.mark('{')?;
        let mut carried = Vec::new();
        while self.takes("carried") {
            let before = self.value()?;
            self.mark('=')?;
            carried.push((before, self.value()?));
        }
        let mut strided = Vec::new();
        while self.takes("strided") {
            let body = self.value()?;
            self.mark('=')?;
            let iterations = self.list(Self::value)?;
            strided.push(Strided { body, iterations });
        }
        let body = self.steps(depth + 1)?;
        self.mark('}')?;
        Ok(Step::Repeat(Repeat {
            label,
            count,
            body,
            carried,
            strided,
        }))
    }

    fn call(&mut self) -> Parsed<Call> {
        self.keyword("tiles")?;
        let tiles = TileSet::from_tiles(self.tiles()?);
        let start = self.span();
        let Token::Word(_) = self.peek() else {
            return self.expected("a kernel");
        };
        self.next();
        let span = start.start..self.balanced('(', ')')?.end;
        let kernel = match ron_options().from_str(&self.text[span.clone()]) {
            Ok(kernel) => kernel,
            Err(error) => {
                let at = error.span.start;
                let line_start = self.text[span.clone()]
                    .split_inclusive('\n')
                    .take(at.line.saturating_sub(1))
                    .map(str::len)
                    .sum::<usize>();
                let from = (span.start + line_start + at.col.saturating_sub(1)).min(span.end - 1);
                // A column counts characters; kernels are ASCII unless they are wrong anyway.
                let from = (span.start..=from)
                    .rev()
                    .find(|&byte| self.text.is_char_boundary(byte))
                    .unwrap_or(span.start);
                return self.fault(
                    "L004",
                    from..span.end,
                    format!("no such kernel: {}", error.code),
                    "",
                );
            }
        };
        let mut operands: SmallVec<[Operand; 4]> = SmallVec::new();
        self.mark('(')?;
        while !self.take(')') {
            if !operands.is_empty() {
                self.mark(',')?;
            }
            let value = self.value()?;
            let offset_bytes = match self.take('+') {
                true => self.number("an offset in bytes")?,
                false => 0,
            };
            operands.push(Operand {
                value,
                offset_bytes,
            });
        }
        Ok(Call {
            tiles,
            kernel,
            operands,
        })
    }

    fn transfer(&mut self) -> Parsed<Transfer> {
        let source = self.value()?;
        self.arrow()?;
        let destination = self.value()?;
        self.mark('{')?;
        let mut runs = Vec::new();
        while !self.take('}') {
            runs.push(self.run()?);
        }
        Ok(Transfer {
            source,
            destination,
            runs,
        })
    }

    fn arrow(&mut self) -> Parsed<()> {
        if *self.peek() != Token::Arrow {
            return self.expected("`->`");
        }
        self.next();
        Ok(())
    }

    fn endpoint(&mut self) -> Parsed<Endpoint> {
        let span = self.span();
        let tile: u16 = self.number("a tile")?;
        if tile >= self.program.tiles {
            let hint = format!("the program has tiles 0..{}", self.program.tiles);
            return self.fault("L003", span, format!("tile {tile}"), hint);
        }
        self.mark('@')?;
        let word = self.number("a word offset")?;
        Ok(Endpoint {
            tile: LogicalTile(tile),
            word,
        })
    }

    fn run(&mut self) -> Parsed<Run> {
        let words = self.number("a number of words")?;
        self.keyword("words")?;
        let source = self.endpoint()?;
        self.arrow()?;
        let mut destinations: SmallVec<[Endpoint; 2]> = SmallVec::new();
        // A word behind `@` ends an endpoint: the next run begins with a number and `words`.
        loop {
            destinations.push(self.endpoint()?);
            let another = matches!(self.peek(), Token::Word(_))
                && self.tokens.get(self.at + 1).map(|t| &t.0) == Some(&Token::Mark('@'));
            if !another {
                break;
            }
        }
        let mut dims: SmallVec<[Dim; 2]> = SmallVec::new();
        if self.takes("times") {
            self.mark('[')?;
            loop {
                let count = self.number("a number of repetitions")?;
                self.mark(':')?;
                let mut steps = [0i32; 4];
                for (index, step) in steps.iter_mut().enumerate() {
                    if index > 0 {
                        self.mark(',')?;
                    }
                    *step = self.number("a step")?;
                }
                dims.push(Dim {
                    count,
                    source_words: steps[0],
                    destination_words: steps[1],
                    source_tiles: steps[2],
                    destination_tiles: steps[3],
                });
                if self.take(']') {
                    break;
                }
                self.mark(';')?;
            }
        }
        Ok(Run {
            words,
            source,
            destinations,
            dims,
        })
    }
}
