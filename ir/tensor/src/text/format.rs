//! Program text in its one layout, with its comments.

use super::{Diagnostic, parse, print};
use indexmap::IndexMap;

/// The text laid out as the printer does, every comment kept beside the item it stood at.
///
/// # Errors
/// Every fault of the text.
pub fn format(text: &str) -> Result<String, Vec<Diagnostic>> {
    let module = parse(text)?;
    let printed = print(&module);
    let mut comments = Comments::default();
    comments.read(text);
    Ok(comments.weave(&printed))
}

/// Comments by the item they belong to.
#[derive(Default)]
struct Comments {
    /// Comment lines before an item; an empty string is an empty line.
    before: IndexMap<String, Vec<String>>,
    /// The comment behind an item.
    after: IndexMap<String, Vec<String>>,
    /// Behind the last item.
    end: Vec<String>,
}

impl Comments {
    fn read(&mut self, text: &str) {
        let mut keys = Keys::default();
        let mut last: Option<String> = None;
        let mut pending: Vec<String> = Vec::new();
        for line in text.lines() {
            let (code, comment) = split(line);
            match keys.of(code) {
                Some(key) => {
                    // An empty line before an item without comments is the printer's affair.
                    if pending.iter().any(|line| !line.is_empty()) {
                        let lines = self.before.entry(key.clone()).or_default();
                        lines.append(&mut pending);
                    }
                    pending.clear();
                    if let Some(comment) = comment {
                        let behind = self.after.entry(key.clone()).or_default();
                        behind.push(comment.to_owned());
                    }
                    last = Some(key);
                }
                None => match (comment, code.trim().is_empty(), &last) {
                    (Some(comment), true, _) => pending.push(comment.to_owned()),
                    // A further line of an item that spans several.
                    (Some(comment), false, Some(key)) => {
                        let behind = self.after.entry(key.clone()).or_default();
                        behind.push(comment.to_owned());
                    }
                    (Some(comment), false, None) => pending.push(comment.to_owned()),
                    (None, true, _) => {
                        if pending.last().is_some_and(|line| !line.is_empty()) {
                            pending.push(String::new());
                        }
                    }
                    (None, false, _) => {}
                },
            }
        }
        while pending.last().is_some_and(String::is_empty) {
            pending.pop();
        }
        self.end = pending;
    }

    fn weave(mut self, printed: &str) -> String {
        let mut keys = Keys::default();
        let mut out = String::new();
        for line in printed.lines() {
            let Some(key) = keys.of(line) else {
                out.push_str(line);
                out.push('\n');
                continue;
            };
            let mut indent = line.len() - line.trim_start().len();
            // Comments before a closing brace belong to what it closes.
            indent += if line.trim() == "}" { 2 } else { 0 };
            for comment in self.before.shift_remove(&key).unwrap_or_default() {
                if !comment.is_empty() {
                    out.push_str(&" ".repeat(indent));
                    out.push_str(&comment);
                }
                out.push('\n');
            }
            out.push_str(line);
            for comment in self.after.shift_remove(&key).unwrap_or_default() {
                out.push_str("  ");
                out.push_str(&comment);
            }
            out.push('\n');
        }
        // Nothing is lost, even if its item has no line of its own any more.
        let left = self.before.into_values().chain(self.after.into_values());
        for comment in left.flatten().chain(self.end) {
            out.push_str(&comment);
            out.push('\n');
        }
        out
    }
}

/// Names the items of a text line by line, the same way for any layout that starts items on lines
/// of their own.
#[derive(Default)]
struct Keys {
    function: Option<String>,
    module: bool,
}

impl Keys {
    fn of(&mut self, line: &str) -> Option<String> {
        let line = line.trim();
        let name = |rest: &str| {
            let end = rest
                .find(|c: char| c.is_whitespace() || "(:={,".contains(c))
                .unwrap_or(rest.len());
            rest[..end].to_owned()
        };
        if let Some(function) = &self.function {
            if line.starts_with('%') {
                return Some(format!("{function} {}", name(line)));
            }
            if line.starts_with("return") {
                return Some(format!("{function} return"));
            }
            if line.starts_with('}') {
                let key = format!("{function} }}");
                self.function = None;
                return Some(key);
            }
            return None;
        }
        if let Some(rest) = line.strip_prefix("func ") {
            let name = name(rest.trim_start());
            self.function = Some(name.clone());
            return Some(format!("func {name}"));
        }
        if let Some(rest) = line.strip_prefix("weight ") {
            return Some(format!("weight {}", name(rest.trim_start())));
        }
        if line.starts_with("module") && !self.module {
            self.module = true;
            return Some("module".to_owned());
        }
        line.starts_with('}').then(|| "}".to_owned())
    }
}

/// A line's code and its comment.
fn split(line: &str) -> (&str, Option<&str>) {
    let bytes = line.as_bytes();
    let mut quoted = false;
    let mut at = 0;
    while at < bytes.len() {
        match bytes[at] {
            b'\\' if quoted => at += 1,
            b'"' => quoted = !quoted,
            b'/' if !quoted && bytes.get(at + 1) == Some(&b'/') => {
                return (&line[..at], Some(line[at..].trim_end()));
            }
            _ => {}
        }
        at += 1;
    }
    (line, None)
}
