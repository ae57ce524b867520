//! Operands in text: registers, control registers, expressions.

use super::expr::{Cursor, Expr, Names, ParseError, describe};
use super::lex::Tok;
use super::suggest::nearest;
use crate::{Modifier, OperandKind};
use ipucc_chip::csr::{self, Csr};

/// What an operand is.
#[derive(Clone, Debug)]
pub(super) enum Arg {
    /// Register, pair, quad or broadcast register: kind, first register, suffix.
    Register(OperandKind, u32, Modifier),
    /// A control register.
    Csr(&'static Csr),
    /// A weight register `$CWEI_n_m`: its index.
    Weight(u32),
    /// An immediate.
    Value(Expr),
}

/// An operand and its bytes in the statement.
#[derive(Clone, Debug)]
pub(super) struct Operand {
    pub arg: Arg,
    pub start: u32,
    pub end: u32,
}

/// Number of `prefix` followed by a decimal number below `limit`.
fn numbered(name: &str, prefix: &str, limit: u32) -> Option<u32> {
    let digits = name.strip_prefix(prefix)?;
    if digits.is_empty() || digits.len() > 1 && digits.starts_with('0') {
        return None;
    }
    if !digits.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let number: u32 = digits.parse().ok()?;
    (number < limit).then_some(number)
}

/// The register that `name` (without `$`) means (`isa/encoding.md` 2).
pub(super) fn register(name: &str) -> Option<(OperandKind, u32)> {
    use OperandKind::*;
    let (base, suffix) = match name.split_once(':') {
        Some((base, suffix)) => (base, Some(suffix)),
        None => (name, None),
    };
    let single = |base: &str| -> Option<(OperandKind, u32)> {
        let fixed = match base {
            "bp" => (M, 8),
            "fp" => (M, 9),
            "lr" => (M, 10),
            "sp" => (M, 11),
            "mworker_base" => (M, 12),
            "mvertex_base" => (M, 13),
            "mzero" => (M, 15),
            "azero" => (A, 15),
            "azeros" => (APair, 14),
            _ => {
                return numbered(base, "m", 16)
                    .map(|n| (M, n))
                    .or_else(|| numbered(base, "a", 16).map(|n| (A, n)))
                    .or_else(|| numbered(base, "ap", 16).map(|n| (APair, 2 * n.min(7))))
                    .or_else(|| numbered(base, "aq", 16).map(|n| (AQuad, 4 * n.min(3))));
            }
        };
        Some(fixed)
    };
    let (kind, first) = single(base)?;
    let Some(suffix) = suffix else {
        return Some((kind, first));
    };
    match (kind, suffix) {
        (A, "B") => return Some((ABroadcast, first)),
        (A, "BL") => return Some((ABroadcastLower, first)),
        (A, "BU") => return Some((ABroadcastUpper, first)),
        _ => {}
    }
    // Only the numbered names have the range form.
    numbered(base, "m", 16).or_else(|| numbered(base, "a", 16))?;
    let last = numbered(suffix, "", 16)?;
    match (kind, first, last.checked_sub(first)?) {
        (M, _, 1) if first % 2 == 0 => Some((MPair, first)),
        (A, _, 1) if first % 2 == 0 => Some((APair, first)),
        (A, _, 3) if first % 4 == 0 => Some((AQuad, first)),
        _ => None,
    }
}

/// Reads the operands up to the end of the statement.
pub(super) fn operands(
    cursor: &mut Cursor<'_>,
    names: &mut impl Names,
) -> Result<Vec<Operand>, ParseError> {
    let mut out = Vec::with_capacity(4);
    if cursor.at_end() {
        return Ok(out);
    }
    loop {
        out.push(operand(cursor, names)?);
        if cursor.at_end() {
            return Ok(out);
        }
        if !cursor.eat(",") {
            return Err(ParseError::at(
                cursor.peek(),
                format!(
                    "expected `,` or the end of the instruction, found {}",
                    describe(cursor.peek())
                ),
            ));
        }
    }
}

fn operand(cursor: &mut Cursor<'_>, names: &mut impl Names) -> Result<Operand, ParseError> {
    let token = cursor.peek();
    let start = token.start;
    let Tok::Dollar(name) = &token.tok else {
        let value = cursor.expr(names)?;
        return Ok(Operand {
            arg: Arg::Value(value),
            start,
            end: cursor.last_end(),
        });
    };
    cursor.next();
    let found = register(name).or_else(|| {
        // Names of registers may be written in capitals; `:BL` always is.
        let (base, suffix) = name.split_once(':').unwrap_or((name, ""));
        let colon = if suffix.is_empty() { "" } else { ":" };
        register(&format!("{}{colon}{suffix}", base.to_ascii_lowercase()))
    });
    let arg = if let Some((kind, number)) = found {
        let modifier = if cursor.eat("++") {
            Modifier::Inc
        } else if cursor.eat("+=") {
            Modifier::Add
        } else if cursor.eat(">>") {
            Modifier::Shift
        } else if cursor.eat("@") {
            Modifier::At
        } else {
            Modifier::None
        };
        Arg::Register(kind, number, modifier)
    } else {
        let upper = name.to_ascii_uppercase();
        match (csr::by_name(&upper), csr::weight_index(&upper)) {
            (Some(csr), _) => Arg::Csr(csr),
            (None, Some(index)) => Arg::Weight(index),
            (None, None) => return Err(ParseError::at(token, unknown_name(name))),
        }
    };
    Ok(Operand {
        arg,
        start,
        end: cursor.last_end(),
    })
}

fn unknown_name(name: &str) -> String {
    if let Some((base, range)) = name.split_once(':')
        && register(base).is_some()
    {
        return format!(
            "`${base}:{range}` is no register: pairs start at an even register, quads at a \
             multiple of 4, broadcasts are `:B`, `:BL` and `:BU` of `$a` registers"
        );
    }
    if name[1..].bytes().all(|b| b.is_ascii_digit()) && name.starts_with(['m', 'a']) {
        return format!("`${name}` is no register: they are `$m0`..`$m15` and `$a0`..`$a15`");
    }
    let known = csr::TABLE.iter().map(|csr| csr.name).chain([
        "mzero",
        "azero",
        "azeros",
        "mvertex_base",
        "mworker_base",
        "m0",
        "a0",
    ]);
    match nearest(name, known) {
        Some(near) => format!("`${name}` is no register; did you mean `${near}`?"),
        None => format!("`${name}` is no register"),
    }
}

/// An operand in words for messages.
pub(super) fn show(arg: &Arg) -> String {
    match arg {
        Arg::Register(kind, number, modifier) => {
            use OperandKind::*;
            let name = match kind {
                M => format!("$m{number}"),
                MPair => format!("$m{number}:{}", number + 1),
                A => format!("$a{number}"),
                APair => format!("$a{number}:{}", number + 1),
                AQuad => format!("$a{number}:{}", number + 3),
                ABroadcast => format!("$a{number}:B"),
                ABroadcastLower => format!("$a{number}:BL"),
                _ => format!("$a{number}:BU"),
            };
            format!("{name}{}", modifier.suffix())
        }
        Arg::Csr(csr) => format!("${}", csr.name),
        Arg::Weight(index) => format!("$CWEI_{}_{}", index / 4, index % 4),
        Arg::Value(expr) => match expr.as_const() {
            Some(value) => value.to_string(),
            None => "an expression".to_string(),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use OperandKind::*;

    #[test]
    fn register_names() {
        assert_eq!(register("m0"), Some((M, 0)));
        assert_eq!(register("m15"), Some((M, 15)));
        assert_eq!(register("m16"), None);
        assert_eq!(register("m01"), None);
        assert_eq!(register("a14:15"), Some((APair, 14)));
        assert_eq!(register("a12:15"), Some((AQuad, 12)));
        assert_eq!(register("a1:2"), None);
        assert_eq!(register("a2:5"), None);
        assert_eq!(register("m2:3"), Some((MPair, 2)));
        assert_eq!(register("m0:3"), None);
        assert_eq!(register("ap6"), Some((APair, 12)));
        assert_eq!(register("ap8"), Some((APair, 14)));
        assert_eq!(register("aq3"), Some((AQuad, 12)));
        assert_eq!(register("a1:BU"), Some((ABroadcastUpper, 1)));
        assert_eq!(register("m1:B"), None);
        assert_eq!(register("sp"), Some((M, 11)));
    }
}
