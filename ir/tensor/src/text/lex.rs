//! Tokens.

use std::ops::Range;

/// A token.
#[derive(Clone, PartialEq, Debug)]
pub enum Token {
    /// `name`, `f32`, `dot`.
    Word(String),
    /// `%name` without the sign.
    Value(String),
    /// `@name` without the sign.
    Symbol(String),
    /// A number as written.
    Number(String),
    /// A quoted string.
    Text(String),
    /// Punctuation: one of `{}()[]<>,:=` or `->`.
    Mark(&'static str),
    /// A byte that begins no token.
    Bad(char),
    /// End of the text.
    End,
}

/// Tokens with their byte ranges; the last is [`Token::End`]. Comments run from `//` to the line end.
pub fn tokens(text: &str) -> Vec<(Token, Range<usize>)> {
    let bytes = text.as_bytes();
    let mut list = Vec::new();
    let mut at = 0;
    let word = |mut i: usize| {
        while i < bytes.len() && (bytes[i].is_ascii_alphanumeric() || b"_.-/".contains(&bytes[i])) {
            i += 1;
        }
        i
    };
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
            b'%' | b'@' => {
                at = word(at + 1);
                let name = text[start + 1..at].to_owned();
                if byte == b'%' {
                    Token::Value(name)
                } else {
                    Token::Symbol(name)
                }
            }
            b'"' => {
                let end = text[at + 1..]
                    .find(['"', '\n'])
                    .map_or(bytes.len(), |n| at + 1 + n);
                if bytes.get(end) == Some(&b'"') {
                    at = end + 1;
                    Token::Text(text[start + 1..end].to_owned())
                } else {
                    at = end;
                    Token::Bad('"')
                }
            }
            b'-' if text[at..].starts_with("->") => {
                at += 2;
                Token::Mark("->")
            }
            b'0'..=b'9' | b'-' | b'+' => {
                at += 1;
                while at < bytes.len()
                    && (bytes[at].is_ascii_alphanumeric()
                        || bytes[at] == b'.'
                        || (b"+-".contains(&bytes[at]) && b"eE".contains(&bytes[at - 1])))
                {
                    at += 1;
                }
                Token::Number(text[start..at].to_owned())
            }
            b'a'..=b'z' | b'A'..=b'Z' | b'_' => {
                while at < bytes.len() && (bytes[at].is_ascii_alphanumeric() || bytes[at] == b'_') {
                    at += 1;
                }
                Token::Word(text[start..at].to_owned())
            }
            _ => {
                let marks = ["{", "}", "(", ")", "[", "]", "<", ">", ",", ":", "="];
                match marks.into_iter().find(|mark| mark.as_bytes()[0] == byte) {
                    Some(mark) => {
                        at += 1;
                        Token::Mark(mark)
                    }
                    None => {
                        let bad = text[at..].chars().next().unwrap_or('?');
                        at += bad.len_utf8();
                        Token::Bad(bad)
                    }
                }
            }
        };
        list.push((token, start..at));
    }
    list.push((Token::End, text.len()..text.len()));
    list
}
