//! Tokens of one statement.

use half::f16;

/// A token; the payload borrows nothing so that tokens can be kept.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Tok {
    /// Name, directive or `.`: letters, digits, `_`, `.`, `$`.
    Ident(String),
    /// Integer literal, two's complement in 64 bits.
    Num(i64),
    /// Half literal `1.5h`: its bits.
    Half(u16),
    /// Literal with a decimal point and no suffix.
    Float(f64),
    /// Literal with a decimal point and suffix `f`: the bits of the f32.
    Single(u32),
    /// String with its escapes resolved.
    Str(Vec<u8>),
    /// Register or CSR name behind `$`, with a suffix such as `:1` or `:BL`.
    Dollar(String),
    /// Numeric label reference `1f` or `1b`.
    Near(u32, bool),
    /// Operator or punctuation.
    Punct(&'static str),
    /// End of the statement.
    End,
}

/// A token and its bytes in the statement.
#[derive(Clone, Debug)]
pub(super) struct Token {
    pub tok: Tok,
    pub start: u32,
    pub end: u32,
}

/// What the lexer cannot read.
#[derive(Debug)]
pub(super) struct LexError {
    pub start: u32,
    pub end: u32,
    pub message: String,
}

const PUNCT: [&str; 36] = [
    "<<", ">>", "==", "!=", "<>", "<=", ">=", "&&", "||", "+=", "++", "+", "-", "*", "/", "%", "(",
    ")", ",", ":", "=", "<", ">", "&", "|", "^", "~", "!", "@", "{", "}", "[", "]", "\\", "?", "#",
];

pub(super) fn is_ident_start(c: char) -> bool {
    c.is_ascii_alphabetic() || c == '_' || c == '.' || (!c.is_ascii() && c.is_alphanumeric())
}

pub(super) fn is_ident(c: char) -> bool {
    is_ident_start(c) || c.is_ascii_digit() || c == '$'
}

/// All tokens of `text`, the last one [`Tok::End`].
pub(super) fn tokens(text: &str) -> Result<Vec<Token>, LexError> {
    let mut out = Vec::with_capacity(text.len() / 3 + 2);
    let mut at = 0;
    while at < text.len() {
        let rest = &text[at..];
        let Some(c) = rest.chars().next() else { break };
        if c.is_whitespace() {
            at += c.len_utf8();
            continue;
        }
        let (tok, len) = if c.is_ascii_digit() {
            number(rest).map_err(|(len, message)| error(at, len, message))?
        } else if is_ident_start(c) {
            let len = rest.find(|c| !is_ident(c)).unwrap_or(rest.len());
            (Tok::Ident(rest[..len].to_string()), len)
        } else if c == '$' {
            dollar(rest).map_err(|(len, message)| error(at, len, message))?
        } else if c == '"' {
            string(rest).map_err(|(len, message)| error(at, len, message))?
        } else if c == '\'' {
            character(rest).map_err(|(len, message)| error(at, len, message))?
        } else if let Some(p) = PUNCT.iter().find(|p| rest.starts_with(**p)) {
            (Tok::Punct(p), p.len())
        } else {
            return Err(error(
                at,
                c.len_utf8(),
                format!("unexpected character `{}`", c.escape_debug()),
            ));
        };
        out.push(Token {
            tok,
            start: at as u32,
            end: (at + len) as u32,
        });
        at += len;
    }
    out.push(Token {
        tok: Tok::End,
        start: text.len() as u32,
        end: text.len() as u32,
    });
    Ok(out)
}

fn error(at: usize, len: usize, message: String) -> LexError {
    LexError {
        start: at as u32,
        end: (at + len) as u32,
        message,
    }
}

type Part = Result<(Tok, usize), (usize, String)>;

fn number(text: &str) -> Part {
    let word = text
        .find(|c: char| !(c.is_ascii_alphanumeric() || c == '_'))
        .unwrap_or(text.len());
    let bytes = text.as_bytes();
    let (radix, prefix) = match bytes.get(1) {
        Some(b'x' | b'X') if bytes[0] == b'0' => (16, 2),
        // `0b` alone is the label reference.
        Some(b'b' | b'B') if bytes[0] == b'0' && word > 2 => (2, 2),
        _ => (10, 0),
    };
    if prefix == 0 {
        let digits = bytes.iter().take_while(|b| b.is_ascii_digit()).count();
        let mut end = digits;
        let mut decimal = false;
        if bytes.get(end) == Some(&b'.') && bytes.get(end + 1).is_some_and(u8::is_ascii_digit) {
            decimal = true;
            end += 1;
            end += bytes[end..]
                .iter()
                .take_while(|b| b.is_ascii_digit())
                .count();
        }
        if matches!(bytes.get(end), Some(b'e' | b'E')) {
            let mut exponent = end + 1;
            if matches!(bytes.get(exponent), Some(b'+' | b'-')) {
                exponent += 1;
            }
            if bytes.get(exponent).is_some_and(u8::is_ascii_digit) {
                decimal = true;
                end = exponent;
                end += bytes[end..]
                    .iter()
                    .take_while(|b| b.is_ascii_digit())
                    .count();
            }
        }
        let suffix_end = end
            + bytes[end..]
                .iter()
                .take_while(|b| b.is_ascii_alphanumeric() || **b == b'_')
                .count();
        let suffix = &text[end..suffix_end];
        let value: f64 = text[..end].parse().unwrap_or(0.0);
        if decimal || suffix == "h" {
            return match suffix {
                "h" | "H" => Ok((Tok::Half(f16::from_f64(value).to_bits()), suffix_end)),
                "f" | "F" => Ok((Tok::Single((value as f32).to_bits()), suffix_end)),
                "" => Ok((Tok::Float(value), end)),
                _ => Err((suffix_end, format!("unknown suffix `{suffix}` on a number"))),
            };
        }
        if matches!(suffix, "f" | "b") {
            return match text[..digits].parse() {
                Ok(label) => Ok((Tok::Near(label, suffix == "f"), suffix_end)),
                Err(_) => Err((suffix_end, "label number is too large".to_string())),
            };
        }
    }
    let digits = &text[prefix..word];
    let (radix, digits) = if radix == 10 && digits.len() > 1 && digits.starts_with('0') {
        (8, &digits[1..])
    } else {
        (radix, digits)
    };
    match u64::from_str_radix(digits, radix) {
        Ok(value) => Ok((Tok::Num(value as i64), word)),
        Err(e) if *e.kind() == std::num::IntErrorKind::PosOverflow => {
            Err((word, "number does not fit 64 bits".to_string()))
        }
        Err(_) => Err((word, format!("`{}` is not a number", &text[..word]))),
    }
}

fn dollar(text: &str) -> Part {
    // A preprocessor may leave blanks between `$` and the name it has put in.
    let rest = text[1..].trim_start_matches([' ', '\t']);
    let mut at = text.len() - rest.len();
    let name = rest
        .find(|c: char| !(c.is_ascii_alphanumeric() || c == '_'))
        .unwrap_or(rest.len());
    if name == 0 {
        return Err((1, "a register name must follow `$`".to_string()));
    }
    let mut full = rest[..name].to_string();
    at += name;
    if text[at..].starts_with(':') {
        let suffix = &text[at + 1..];
        let len = suffix
            .find(|c: char| !c.is_ascii_alphanumeric())
            .unwrap_or(suffix.len());
        full.push(':');
        full.push_str(&suffix[..len]);
        at += 1 + len;
    }
    Ok((Tok::Dollar(full), at))
}

/// Resolves the escape at the start of `text` (behind the backslash): value and bytes read.
fn escape(text: &str) -> (u8, usize) {
    let bytes = text.as_bytes();
    match bytes.first() {
        Some(b'n') => (b'\n', 1),
        Some(b't') => (b'\t', 1),
        Some(b'r') => (b'\r', 1),
        Some(b'b') => (8, 1),
        Some(b'f') => (12, 1),
        Some(b'v') => (11, 1),
        Some(b'a') => (7, 1),
        Some(b'0'..=b'7') => {
            let len = bytes
                .iter()
                .take(3)
                .take_while(|b| (b'0'..=b'7').contains(b))
                .count();
            let value = bytes[..len]
                .iter()
                .fold(0u32, |v, b| v * 8 + u32::from(b - b'0'));
            (value as u8, len)
        }
        Some(b'x' | b'X') => {
            let len = bytes[1..]
                .iter()
                .take_while(|b| b.is_ascii_hexdigit())
                .count();
            let value = text[1..1 + len]
                .chars()
                .fold(0u32, |v, c| (v << 4) & 0xff0 | c.to_digit(16).unwrap_or(0));
            (value as u8, 1 + len)
        }
        Some(&other) => (other, 1),
        None => (b'\\', 0),
    }
}

fn string(text: &str) -> Part {
    let mut out = Vec::new();
    let bytes = text.as_bytes();
    let mut at = 1;
    while at < bytes.len() {
        match bytes[at] {
            b'"' => return Ok((Tok::Str(out), at + 1)),
            b'\\' if bytes.get(at + 1).is_some_and(u8::is_ascii) => {
                let (value, len) = escape(&text[at + 1..]);
                out.push(value);
                at += 1 + len;
            }
            other => {
                out.push(other);
                at += 1;
            }
        }
    }
    Err((text.len(), "this string is never closed".to_string()))
}

fn character(text: &str) -> Part {
    let rest = &text[1..];
    let Some(c) = rest.chars().next() else {
        return Err((1, "a character must follow `'`".to_string()));
    };
    let (value, mut at) = match c {
        '\\' if rest[1..].starts_with(|c: char| c.is_ascii()) => {
            let (value, len) = escape(&rest[1..]);
            (i64::from(value), 2 + len)
        }
        _ => (i64::from(u32::from(c)), 1 + c.len_utf8()),
    };
    if text[at..].starts_with('\'') {
        at += 1;
    }
    Ok((Tok::Num(value), at))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(text: &str) -> Vec<Tok> {
        tokens(text)
            .map(|t| t.into_iter().map(|t| t.tok).collect())
            .unwrap_or_default()
    }

    #[test]
    fn literals() {
        assert_eq!(
            all("10 0x0fF 0b1011 017 'z' 1.5h 1f 0b 2b '\\n' '\\'' 0 1e2h 1.0f"),
            [
                Tok::Num(10),
                Tok::Num(255),
                Tok::Num(11),
                Tok::Num(15),
                Tok::Num(122),
                Tok::Half(0x3e00),
                Tok::Near(1, true),
                Tok::Near(0, false),
                Tok::Near(2, false),
                Tok::Num(10),
                Tok::Num(39),
                Tok::Num(0),
                Tok::Half(0x5640),
                Tok::Single(0x3f80_0000),
                Tok::End
            ]
        );
    }

    #[test]
    fn registers() {
        assert_eq!(
            all("$m2:3+=, $a1:BL $ m0"),
            [
                Tok::Dollar("m2:3".into()),
                Tok::Punct("+="),
                Tok::Punct(","),
                Tok::Dollar("a1:BL".into()),
                Tok::Dollar("m0".into()),
                Tok::End
            ]
        );
    }
}
