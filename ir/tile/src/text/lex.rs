//! Tokens.

use std::ops::Range;

/// A token.
#[derive(Clone, PartialEq, Debug)]
pub enum Token {
    /// Letters, digits, `_`, `.` and `-` inside: keywords, numbers, types, ranges.
    Word(String),
    /// `%v12`: its number.
    Value(u32),
    /// A quoted string, unescaped.
    Text(String),
    /// One of `{}()[]<>,:;=+@/`.
    Mark(char),
    /// `->`.
    Arrow,
    /// A character that begins no token, or a string without an end.
    Bad,
    /// End of the text.
    End,
}

/// Tokens with their byte ranges; the last is [`Token::End`]. Comments run from `//` to the line end.
pub fn tokens(text: &str) -> Vec<(Token, Range<usize>)> {
    let bytes = text.as_bytes();
    let mut list = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let start = at;
        let byte = bytes[at];
        if byte.is_ascii_whitespace() {
            at += 1;
            continue;
        }
        if text[at..].starts_with("//") {
            at = text[at..].find('\n').map_or(bytes.len(), |n| at + n);
            continue;
        }
        let token = match byte {
            b'"' => {
                let (token, end) = string(text, at);
                at = end;
                token
            }
            b'%' => {
                at += 1;
                while at < bytes.len() && bytes[at].is_ascii_alphanumeric() {
                    at += 1;
                }
                let number = text[start + 1..at].strip_prefix('v');
                match number.and_then(|digits| digits.parse().ok()) {
                    Some(number) => Token::Value(number),
                    None => Token::Bad,
                }
            }
            b'-' if bytes.get(at + 1) == Some(&b'>') => {
                at += 2;
                Token::Arrow
            }
            _ if byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-' => {
                at += 1;
                while at < bytes.len()
                    && (bytes[at].is_ascii_alphanumeric() || b"_.".contains(&bytes[at]))
                {
                    at += 1;
                }
                Token::Word(text[start..at].to_owned())
            }
            _ if b"{}()[]<>,:;=+@/".contains(&byte) => {
                at += 1;
                Token::Mark(char::from(byte))
            }
            _ => {
                at += text[at..].chars().next().map_or(1, char::len_utf8);
                Token::Bad
            }
        };
        list.push((token, start..at));
    }
    list.push((Token::End, text.len()..text.len()));
    list
}

/// The string that begins at byte `at`, and where it ends. Escapes are `\"`, `\\`, `\n` and
/// `\u{hex}`.
fn string(text: &str, at: usize) -> (Token, usize) {
    let mut out = String::new();
    let mut rest = text[at + 1..].char_indices();
    while let Some((index, c)) = rest.next() {
        match c {
            '"' => return (Token::Text(out), at + 1 + index + 1),
            '\n' => return (Token::Bad, at + 1 + index),
            '\\' => match rest.next() {
                Some((_, 'n')) => out.push('\n'),
                Some((_, 'u')) => {
                    let digits: String = rest
                        .by_ref()
                        .map(|(_, c)| c)
                        .skip_while(|&c| c == '{')
                        .take_while(|&c| c != '}' && c != '"' && c != '\n')
                        .collect();
                    match u32::from_str_radix(&digits, 16)
                        .ok()
                        .and_then(char::from_u32)
                    {
                        Some(c) => out.push(c),
                        None => return (Token::Bad, at + 1),
                    }
                }
                Some((_, c @ ('"' | '\\'))) => out.push(c),
                _ => return (Token::Bad, at + 1),
            },
            c => out.push(c),
        }
    }
    (Token::Bad, text.len())
}

/// A string as [`tokens`] reads it.
pub fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            c if c.is_control() => out.push_str(&format!("\\u{{{:x}}}", u32::from(c))),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}
