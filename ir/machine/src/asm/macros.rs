//! Macros as text: definitions, arguments, substitution.

use std::rc::Rc;

use super::lex::{is_ident, is_ident_start};
use super::source::Stmt;

/// A formal parameter of a macro.
#[derive(Clone, Debug)]
pub(super) struct Parameter {
    pub name: String,
    pub default: Option<String>,
    pub required: bool,
    pub vararg: bool,
}

/// A macro.
#[derive(Clone, Debug)]
pub(super) struct Macro {
    pub name: String,
    pub parameters: Vec<Parameter>,
    pub body: Rc<[Stmt]>,
}

/// Reads the text behind `.macro`: name and parameters, separated by commas or blanks.
pub(super) fn parse_header(text: &str) -> Result<(String, Vec<Parameter>), String> {
    let text = text.trim();
    let end = text
        .find(|c: char| c == ',' || c == '(' || c.is_whitespace())
        .unwrap_or(text.len());
    let name = &text[..end];
    if !name.starts_with(is_ident_start) || !name.chars().all(is_ident) {
        return Err("expected `.macro NAME parameter, ...`".to_string());
    }
    let mut parameters: Vec<Parameter> = Vec::new();
    let mut rest = text[end..].trim_start_matches(|c: char| c == ',' || c.is_whitespace());
    // `.macro name(a, b)` is written by some.
    if let Some(inner) = rest.strip_prefix('(').and_then(|r| r.strip_suffix(')')) {
        rest = inner.trim();
    }
    while !rest.is_empty() {
        let len = rest.find(|c| !is_ident(c)).unwrap_or(rest.len());
        if len == 0 || !rest.starts_with(is_ident_start) {
            return Err(format!(
                "expected a parameter name at `{}`",
                first_word(rest)
            ));
        }
        let mut parameter = Parameter {
            name: rest[..len].to_string(),
            default: None,
            required: false,
            vararg: false,
        };
        if parameters.iter().any(|p| p.name == parameter.name) {
            return Err(format!("parameter `{}` is declared twice", parameter.name));
        }
        if parameters.last().is_some_and(|p| p.vararg) {
            return Err("a `:vararg` parameter must be the last".to_string());
        }
        rest = rest[len..].trim_start();
        if let Some(after) = rest.strip_prefix(':') {
            let after = after.trim_start();
            let len = after.find(|c| !is_ident(c)).unwrap_or(after.len());
            match &after[..len] {
                "req" => parameter.required = true,
                "vararg" => parameter.vararg = true,
                other => {
                    return Err(format!(
                        "unknown qualifier `:{other}`; `:req` and `:vararg` exist"
                    ));
                }
            }
            rest = after[len..].trim_start();
        }
        if let Some(after) = rest.strip_prefix('=') {
            let (value, len) = argument(after)?;
            parameter.default = Some(value);
            rest = &after[len..];
        }
        rest = rest.trim_start();
        rest = rest.strip_prefix(',').unwrap_or(rest).trim_start();
        parameters.push(parameter);
    }
    Ok((name.to_string(), parameters))
}

fn first_word(text: &str) -> &str {
    text.split_whitespace().next().unwrap_or("")
}

/// Reads one argument from the start of `text`: its value and the bytes read. A comma or, unless
/// an operator stands beside it, a blank at depth 0 ends it. Strings lose their quotes.
fn argument(text: &str) -> Result<(String, usize), String> {
    let bytes = text.as_bytes();
    let mut at = bytes.iter().take_while(|b| b.is_ascii_whitespace()).count();
    let start = at;
    if bytes.get(at) == Some(&b'"') {
        let end = string_end(bytes, at);
        let after = text[end..].trim_start();
        if after.is_empty() || after.starts_with(',') || text[end..].starts_with([' ', '\t']) {
            let inner = text[at + 1..end]
                .strip_suffix('"')
                .unwrap_or(&text[at + 1..end]);
            return Ok((inner.to_string(), end));
        }
    }
    let mut depth = 0usize;
    while at < bytes.len() {
        match bytes[at] {
            b'"' => {
                at = string_end(bytes, at);
                continue;
            }
            b'\'' => {
                at += 1;
                if bytes.get(at) == Some(&b'\\') {
                    at += 1;
                }
                at += 1;
                if bytes.get(at) == Some(&b'\'') {
                    at += 1;
                }
                continue;
            }
            b'(' | b'[' => depth += 1,
            b')' | b']' => {
                if depth == 0 && bytes[at] == b')' {
                    return Err("unbalanced `)` in a macro argument".to_string());
                }
                depth = depth.saturating_sub(1);
            }
            b',' if depth == 0 => break,
            b' ' | b'\t' if depth == 0 => {
                let after = bytes[at..]
                    .iter()
                    .take_while(|b| b.is_ascii_whitespace())
                    .count();
                let next = bytes.get(at + after).copied();
                let previous = if at > start {
                    Some(bytes[at - 1])
                } else {
                    None
                };
                let joins = next.is_some_and(is_operator)
                    || previous.is_some_and(is_operator) && !is_suffix(&bytes[start..at]);
                if !joins || next.is_none() {
                    break;
                }
                at += after;
                continue;
            }
            _ => {}
        }
        at += 1;
    }
    if depth > 0 {
        return Err("unbalanced `(` in a macro argument".to_string());
    }
    let at = at.min(bytes.len());
    let at = (at..=text.len())
        .find(|&a| text.is_char_boundary(a))
        .unwrap_or(text.len());
    Ok((text[start..at].trim_end().to_string(), at))
}

fn is_operator(b: u8) -> bool {
    matches!(
        b,
        b'+' | b'-' | b'*' | b'/' | b'%' | b'&' | b'|' | b'^' | b'<' | b'>' | b'=' | b'!' | b'~'
    )
}

/// True if the argument so far ends in a register suffix and not in an operator.
fn is_suffix(text: &[u8]) -> bool {
    text.first() == Some(&b'$')
        && (text.ends_with(b"+=") || text.ends_with(b"++") || text.ends_with(b">>"))
}

fn string_end(bytes: &[u8], mut at: usize) -> usize {
    at += 1;
    while at < bytes.len() {
        match bytes[at] {
            b'\\' => at += 2,
            b'"' => return at + 1,
            _ => at += 1,
        }
    }
    bytes.len()
}

/// The arguments of a call, one value per parameter of `definition`.
pub(super) fn bind(definition: &Macro, text: &str) -> Result<Vec<String>, String> {
    let parameters = &definition.parameters;
    let mut values: Vec<Option<String>> = vec![None; parameters.len()];
    let mut rest = text.trim();
    let mut position = 0;
    let mut named_seen = false;
    while !rest.is_empty() {
        if let Some((name, after)) = named(rest, parameters) {
            named_seen = true;
            let Some(index) = parameters.iter().position(|p| p.name == name) else {
                return Err(format!(
                    "macro `{}` has no parameter `{name}`",
                    definition.name
                ));
            };
            let (value, len) = if parameters[index].vararg {
                (after.trim().to_string(), after.len())
            } else {
                argument(after)?
            };
            values[index] = Some(value);
            rest = after[len..].trim_start();
        } else {
            if named_seen {
                return Err("a positional argument follows a named one".to_string());
            }
            let Some(parameter) = parameters.get(position) else {
                return Err(format!(
                    "too many arguments: macro `{}` takes {}",
                    definition.name,
                    parameters.len()
                ));
            };
            let (value, len) = if parameter.vararg {
                (rest.to_string(), rest.len())
            } else {
                argument(rest)?
            };
            if !value.is_empty() {
                values[position] = Some(value);
            }
            position += 1;
            if len == 0 && !rest.starts_with(',') {
                return Err(format!(
                    "cannot read the argument at `{}`",
                    first_word(rest)
                ));
            }
            rest = rest[len..].trim_start();
        }
        if let Some(after) = rest.strip_prefix(',') {
            rest = after.trim_start();
        }
    }
    parameters
        .iter()
        .zip(values)
        .map(|(parameter, value)| match value {
            Some(value) => Ok(value),
            None if parameter.required => Err(format!(
                "macro `{}` needs a value for `{}`",
                definition.name, parameter.name
            )),
            None => Ok(parameter.default.clone().unwrap_or_default()),
        })
        .collect()
}

/// `name=value` at the start of `text`, where the name looks like a parameter.
fn named<'a>(text: &'a str, parameters: &[Parameter]) -> Option<(&'a str, &'a str)> {
    let len = text.find(|c| !is_ident(c)).unwrap_or(text.len());
    if len == 0 || !text.starts_with(is_ident_start) {
        return None;
    }
    let name = &text[..len];
    let after = text[len..].trim_start();
    let value = after.strip_prefix('=')?;
    // `a == b` is an expression.
    if value.starts_with('=') {
        return None;
    }
    let known = parameters.iter().any(|p| p.name == name);
    (known || after.len() == text.len() - len).then_some((name, value))
}

/// Replaces `\name`, `\@` and `\()` in a body statement. With `alt` (`.altmacro`), bare names of
/// parameters are replaced too.
pub(super) fn substitute(text: &str, names: &[(&str, &str)], counter: u32, alt: bool) -> String {
    let mut out = String::with_capacity(text.len() + 16);
    let mut rest = text;
    let mut previous_is_ident = false;
    let mut in_string = false;
    while let Some(c) = rest.chars().next() {
        if c == '\\' {
            let after = &rest[1..];
            if let Some(after) = after.strip_prefix("()") {
                rest = after;
                previous_is_ident = false;
                continue;
            }
            if let Some(after) = after.strip_prefix('@') {
                out.push_str(&counter.to_string());
                rest = after;
                previous_is_ident = true;
                continue;
            }
            let len = after.find(|c: char| !is_name(c)).unwrap_or(after.len());
            // The longest parameter name that the text starts with.
            let found = names
                .iter()
                .find(|(name, _)| *name == &after[..len])
                .or_else(|| {
                    // `\reg.x`: names may hold dots and dollars, or be followed by them.
                    let len = after.find(|c: char| !is_ident(c)).unwrap_or(after.len());
                    names.iter().find(|(name, _)| *name == &after[..len])
                });
            if let Some((name, value)) = found {
                out.push_str(value);
                rest = &after[name.len()..];
                previous_is_ident = true;
                continue;
            }
            // An escape of a string, or a name of an inner macro.
            out.push('\\');
            let skip = after.chars().next().map_or(0, char::len_utf8);
            if in_string && skip > 0 {
                out.push_str(&after[..skip]);
                rest = &after[skip..];
            } else {
                rest = after;
            }
            previous_is_ident = false;
            continue;
        }
        if c == '"' {
            in_string = !in_string;
        }
        if alt && !in_string && !previous_is_ident && is_ident_start(c) && !out.ends_with('$') {
            let len = rest.find(|c| !is_ident(c)).unwrap_or(rest.len());
            if let Some((_, value)) = names.iter().find(|(name, _)| *name == &rest[..len]) {
                out.push_str(value);
            } else {
                out.push_str(&rest[..len]);
            }
            rest = &rest[len..];
            previous_is_ident = true;
            continue;
        }
        out.push(c);
        previous_is_ident = is_ident(c);
        rest = &rest[c.len_utf8()..];
    }
    out
}

fn is_name(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// The values of `.irp NAME, values`: separated by commas or blanks.
pub(super) fn values(text: &str) -> Result<Vec<String>, String> {
    let mut out = Vec::new();
    let mut rest = text.trim();
    while !rest.is_empty() {
        let (value, len) = argument(rest)?;
        if len == 0 && !rest.starts_with(',') {
            return Err(format!("cannot read the value at `{}`", first_word(rest)));
        }
        out.push(value);
        rest = rest[len..].trim_start();
        rest = rest.strip_prefix(',').map_or(rest, str::trim_start);
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bound(header: &str, call: &str) -> Result<Vec<String>, String> {
        let (name, parameters) = parse_header(header)?;
        bind(
            &Macro {
                name,
                parameters,
                body: Rc::new([]),
            },
            call,
        )
    }

    #[test]
    fn arguments() {
        assert_eq!(
            bound("m a, b=1 c:req d:vararg", "x, , (1, 2) + 3, p, q r").unwrap(),
            ["x", "1", "(1, 2) + 3", "p, q r"]
        );
        assert_eq!(
            bound("m a b=$m1 c", "$m0 c=2*8").unwrap(),
            ["$m0", "$m1", "2*8"]
        );
        assert_eq!(bound("m a,b", "1 + 2, x").unwrap(), ["1 + 2", "x"]);
        assert_eq!(bound("m a b", "$m0+= $m1").unwrap(), ["$m0+=", "$m1"]);
        assert_eq!(bound("m a b", "\"x, y\", z").unwrap(), ["x, y", "z"]);
        assert!(bound("m a:req", "").is_err());
        assert!(bound("m a", "1, 2").is_err());
        assert!(bound("m a", "b=2").is_err());
    }

    #[test]
    fn substitution() {
        let names = [("reg", "$m0"), ("r", "7")];
        assert_eq!(
            substitute(
                "add \\reg, \\r\\()_x, .L\\@ \\other \"\\n\"",
                &names,
                3,
                false
            ),
            "add $m0, 7_x, .L3 \\other \"\\n\""
        );
        assert_eq!(
            substitute("add reg, regs, 1", &names, 0, true),
            "add $m0, regs, 1"
        );
    }
}
