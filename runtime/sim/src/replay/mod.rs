//! Replays vector files of single instructions: every line becomes an assembled instruction in
//! the memory of a simulated tile, decoded and executed as programs are.
//!
//! A line is skipped only if it names an assumption that does not have the value the line was
//! made with. The NaN word `qnan32` accepts any f32 NaN.

pub mod addresses;
pub mod amp;
pub(crate) mod bench;
pub mod float;
pub mod integer;

use ipucc_chip::Assumptions;
use serde_json::Value;
use thiserror::Error;

/// A line whose outcome differs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Failure {
    /// The line's id.
    pub id: String,
    /// What the line says.
    pub expected: String,
    /// What the simulator did.
    pub found: String,
}

/// A line that was not run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Skip {
    /// The line's id.
    pub id: String,
    /// The assumption that is not in force.
    pub assumption: String,
}

/// Outcome of a file.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Report {
    /// Lines, the header not counted.
    pub cases: usize,
    /// Lines that agree.
    pub passed: usize,
    /// Lines that do not.
    pub failed: Vec<Failure>,
    /// Lines not run.
    pub skipped: Vec<Skip>,
}

/// A file that is no vector file of its kind.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[error("line {line}: {message}")]
pub struct ReplayError {
    /// Line of the file, from 1.
    pub line: usize,
    /// What is wrong with it.
    pub message: String,
}

/// What became of one line.
pub(crate) enum Outcome {
    Passed,
    Failed { expected: String, found: String },
    Skipped(String),
}

/// A list of differences: one `name: word` per thing compared.
#[derive(Default)]
pub(crate) struct Differences {
    expected: Vec<String>,
    found: Vec<String>,
}

impl Differences {
    /// Compares two words; `None` accepts any f32 NaN.
    pub(crate) fn word(&mut self, what: &str, expected: Option<u32>, found: u32) {
        self.word_within(what, expected, found, 0);
    }

    /// The same, up to `codes` numbers of the same sign away.
    pub(crate) fn word_within(
        &mut self,
        what: &str,
        expected: Option<u32>,
        found: u32,
        codes: u32,
    ) {
        let equal = match expected {
            Some(e) => e == found || (e ^ found) >> 31 == 0 && e.abs_diff(found) <= codes,
            None => f32::from_bits(found).is_nan(),
        };
        if !equal {
            let text = expected.map_or("a NaN".to_owned(), |e| format!("{e:08x}"));
            self.text(what, &text, &format!("{found:08x}"));
        }
    }

    /// Compares two texts.
    pub(crate) fn text(&mut self, what: &str, expected: &str, found: &str) {
        if expected != found {
            self.expected.push(format!("{what} {expected}"));
            self.found.push(format!("{what} {found}"));
        }
    }

    pub(crate) fn outcome(self) -> Outcome {
        if self.expected.is_empty() {
            Outcome::Passed
        } else {
            Outcome::Failed {
                expected: self.expected.join(", "),
                found: self.found.join(", "),
            }
        }
    }
}

/// Runs `case` on every line of `text` but the header and empty lines.
pub(crate) fn lines(
    text: &str,
    assumptions: &Assumptions,
    mut case: impl FnMut(&Value) -> Result<Outcome, String>,
) -> Result<Report, ReplayError> {
    let mut report = Report::default();
    for (number, line) in text.lines().enumerate() {
        if line.trim().is_empty() {
            continue;
        }
        let error = |message: String| ReplayError {
            line: number + 1,
            message,
        };
        let value: Value = serde_json::from_str(line).map_err(|e| error(e.to_string()))?;
        let id = text_of(&value, "id").map_err(error)?.to_owned();
        if id == "header" {
            continue;
        }
        report.cases += 1;
        let outcome = match not_in_force(&value, assumptions).map_err(error)? {
            Some(name) => Outcome::Skipped(name),
            None => case(&value).map_err(error)?,
        };
        match outcome {
            Outcome::Passed => report.passed += 1,
            Outcome::Failed { expected, found } => report.failed.push(Failure {
                id,
                expected,
                found,
            }),
            Outcome::Skipped(assumption) => report.skipped.push(Skip { id, assumption }),
        }
    }
    Ok(report)
}

/// The assumption that keeps a line from being run, if one does.
fn not_in_force(line: &Value, assumptions: &Assumptions) -> Result<Option<String>, String> {
    let Some(name) = line.get("assume") else {
        return Ok(None);
    };
    let name = name.as_str().ok_or("`assume` is not a string")?;
    let defaults = Assumptions::default();
    let default = defaults
        .get(name)
        .ok_or_else(|| format!("there is no assumption `{name}`"))?;
    Ok((assumptions.get(name) != Some(default)).then(|| name.to_owned()))
}

pub(crate) fn text_of<'v>(value: &'v Value, field: &str) -> Result<&'v str, String> {
    value
        .get(field)
        .and_then(Value::as_str)
        .ok_or_else(|| format!("no string `{field}`"))
}

pub(crate) fn number_of(value: &Value, field: &str) -> Result<i64, String> {
    match value.get(field) {
        None => Ok(0),
        Some(v) => v
            .as_i64()
            .ok_or_else(|| format!("`{field}` is not an integer")),
    }
}

/// A hexadecimal word.
pub(crate) fn hex(value: &Value) -> Result<u32, String> {
    let text = value.as_str().ok_or("a word is not a string")?;
    u32::from_str_radix(text, 16).map_err(|_| format!("`{text}` is not a hexadecimal word"))
}

/// A word, `None` for `qnan32`.
pub(crate) fn hex_or_nan(value: &Value) -> Result<Option<u32>, String> {
    if value.as_str() == Some("qnan32") {
        return Ok(None);
    }
    hex(value).map(Some)
}

/// A list of words; an absent field is an empty list.
pub(crate) fn words(value: &Value, field: &str) -> Result<Vec<u32>, String> {
    list(value, field)?.iter().map(hex).collect()
}

pub(crate) fn list<'v>(value: &'v Value, field: &str) -> Result<&'v [Value], String> {
    match value.get(field) {
        None | Some(Value::Null) => Ok(&[]),
        Some(v) => v
            .as_array()
            .map(Vec::as_slice)
            .ok_or_else(|| format!("`{field}` is not a list")),
    }
}

/// A map from small numbers, in file order.
pub(crate) fn numbered<'v>(
    value: &'v Value,
    field: &str,
) -> Result<Vec<(usize, &'v Value)>, String> {
    match value.get(field) {
        None => Ok(Vec::new()),
        Some(v) => v
            .as_object()
            .ok_or_else(|| format!("`{field}` is not an object"))?
            .iter()
            .map(|(k, v)| {
                k.parse()
                    .map(|k| (k, v))
                    .map_err(|_| format!("`{k}` is not a number"))
            })
            .collect(),
    }
}

/// Flag bits of a list of names.
pub(crate) fn flags(value: &Value, field: &str) -> Result<u32, String> {
    use crate::arith::flag::{DIV0, INV, OFLO};
    list(value, field)?.iter().try_fold(0, |bits, name| {
        Ok(bits
            | match name.as_str() {
                Some("INV") => INV,
                Some("DIV0") => DIV0,
                Some("OFLO") => OFLO,
                _ => return Err(format!("{name} is not a flag")),
            })
    })
}

/// Name of an exception as vector files spell it.
pub(crate) fn exception_name(e: ipucc_chip::exception::Exception) -> &'static str {
    use ipucc_chip::exception::Exception as E;
    match e {
        E::FloatingPoint => "TEXCPT_FP",
        E::Conflict => "TEXCPT_CONFLICT",
        E::InvalidAddress => "TEXCPT_INVALID_ADDR",
        E::InvalidOperand => "TEXCPT_INVALID_OP",
        E::InvalidPc => "TEXCPT_INVALID_PC",
        E::InvalidInstruction => "TEXCPT_INVALID_INSTR",
        E::Trap0 => "TEXCPT_PBRK0",
        E::Trap1 => "TEXCPT_PBRK1",
        other => other.name(),
    }
}
