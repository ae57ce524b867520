//! Physical text to statements: comments out, line markers applied, lines cut at `;`, `{` and `}`.

use std::rc::Rc;

/// Index of a macro or repetition expansion in the assembler's list; 0 means "no expansion".
pub(super) type ExpansionId = u32;

/// Where a statement comes from.
#[derive(Clone, Copy, Debug)]
pub(super) struct Loc {
    /// Index in the assembler's list of file names.
    pub file: u32,
    /// Line by the markers, from 1.
    pub line: u32,
    /// Line of the physical input, from 0.
    pub physical: u32,
    /// Byte column of the statement's text in that line.
    pub column: u32,
    /// Expansion that made the statement.
    pub expansion: ExpansionId,
}

/// A piece of a line: text between separators. Cheap to clone.
#[derive(Clone, Debug)]
pub(super) struct Stmt {
    buffer: Rc<str>,
    start: u32,
    end: u32,
    made: bool,
    /// Where it stands.
    pub loc: Loc,
    /// True if a line end follows (and not `;`).
    pub ends_line: bool,
}

impl Stmt {
    /// A statement of its own text (an expansion).
    pub fn expanded(text: String, loc: Loc, ends_line: bool) -> Stmt {
        let end = text.len() as u32;
        Stmt {
            buffer: text.into(),
            start: 0,
            end,
            made: true,
            loc,
            ends_line,
        }
    }

    /// The text without separators.
    pub fn text(&self) -> &str {
        &self.buffer[self.start as usize..self.end as usize]
    }

    /// True if the text is no piece of the input but was made by an expansion.
    pub fn is_made(&self) -> bool {
        self.made
    }

    /// The whole text of a statement of an expansion, and where this part of it starts.
    pub fn made_text(&self) -> (&str, u32) {
        (&self.buffer, self.start)
    }

    /// The part of the statement from byte `at` on.
    pub fn tail(&self, at: usize) -> Stmt {
        let mut tail = self.clone();
        tail.start = (self.start + at as u32).min(self.end);
        tail.loc.column += tail.start - self.start;
        tail
    }
}

/// The input split up.
pub(super) struct Source {
    /// Statements in order, without empty ones.
    pub stmts: Vec<Stmt>,
    /// Names of line markers, after those given to [`split`].
    pub files: Vec<String>,
    /// Places of comments and strings that are never closed: statement location and message.
    pub unclosed: Vec<(Loc, &'static str)>,
    /// Lines that the C preprocessor should have taken out.
    pub preprocessor: Vec<Loc>,
}

/// Splits `text` into statements. `file` is the name of the input.
pub(super) fn split(text: &str, file: &str) -> Source {
    let (clean, comment_open_at) = strip_comments(text);
    let buffer: Rc<str> = clean.into();
    let mut out = Source {
        stmts: Vec::new(),
        files: vec![file.to_string()],
        unclosed: Vec::new(),
        preprocessor: Vec::new(),
    };
    let mut file = 0u32;
    let mut line = 1u32;
    let mut start = 0usize;
    let mut original = text.split('\n');
    for (physical, piece) in buffer.split('\n').enumerate() {
        let physical = physical as u32;
        let source_line = original.next().unwrap_or("");
        if let Some((number, name)) = line_marker(source_line).filter(|_| {
            // Inside a block comment the cleaned line is blank and the marker is no marker.
            piece.trim_start().starts_with('#')
        }) {
            if let Some(name) = name {
                file = match out.files.iter().position(|f| *f == name) {
                    Some(at) => at as u32,
                    None => {
                        out.files.push(name);
                        out.files.len() as u32 - 1
                    }
                };
            }
            line = number;
            start += piece.len() + 1;
            continue;
        }
        let piece_end = if piece.ends_with('\r') {
            piece.len() - 1
        } else {
            piece.len()
        };
        if comment_open_at.is_some_and(|at| at >= start && at <= start + piece.len()) {
            out.unclosed.push((
                Loc {
                    file,
                    line,
                    physical,
                    column: (comment_open_at.unwrap_or(start) - start) as u32,
                    expansion: 0,
                },
                "this comment is never closed",
            ));
        }
        if source_line.starts_with('#') && piece.trim().is_empty() && is_directive(source_line) {
            out.preprocessor.push(Loc {
                file,
                line,
                physical,
                column: 0,
                expansion: 0,
            });
        }
        let first = out.stmts.len();
        cut(&piece[..piece_end], |from, to| {
            out.stmts.push(Stmt {
                buffer: buffer.clone(),
                start: (start + from) as u32,
                end: (start + to) as u32,
                made: false,
                loc: Loc {
                    file,
                    line,
                    physical,
                    column: from as u32,
                    expansion: 0,
                },
                ends_line: false,
            });
        });
        if out.stmts.len() > first
            && let Some(last) = out.stmts.last_mut()
        {
            last.ends_line = true;
        }
        start += piece.len() + 1;
        line = line.saturating_add(1);
    }
    out
}

/// Calls `emit(from, to)` for each non-blank piece of `line` between top-level `;`; braces are
/// pieces of their own.
pub(super) fn cut(line: &str, mut emit: impl FnMut(usize, usize)) {
    let bytes = line.as_bytes();
    let mut from = 0;
    let mut at = 0;
    let mut piece = |from: usize, to: usize| {
        let text = &line[from..to];
        let trimmed = text.trim();
        if !trimmed.is_empty() {
            let lead = text.len() - text.trim_start().len();
            emit(from + lead, from + lead + trimmed.len());
        }
    };
    while at < bytes.len() {
        match bytes[at] {
            b'"' => at = skip_string(bytes, at),
            b'\'' => at = skip_char(bytes, at),
            b';' => {
                piece(from, at);
                at += 1;
                from = at;
            }
            b'{' | b'}' => {
                piece(from, at);
                piece(at, at + 1);
                at += 1;
                from = at;
            }
            _ => at += 1,
        }
    }
    piece(from, line.len());
}

/// Index after the string that opens at `at`; the line end closes an open string.
fn skip_string(bytes: &[u8], mut at: usize) -> usize {
    at += 1;
    while at < bytes.len() {
        match bytes[at] {
            b'\\' => at += 2,
            b'"' => return at + 1,
            b'\n' => return at,
            _ => at += 1,
        }
    }
    bytes.len()
}

/// Index after the character literal that opens at `at` (`'x'`, `'\n'`, or `'x` as GNU allows).
fn skip_char(bytes: &[u8], at: usize) -> usize {
    let mut end = at + 1;
    match bytes.get(end) {
        None | Some(b'\n') => return end,
        Some(b'\\') => end += 2,
        Some(_) => end += 1,
    }
    while end < bytes.len() && bytes[end] & 0xc0 == 0x80 {
        end += 1;
    }
    if bytes.get(end) == Some(&b'\'') {
        end += 1;
    }
    end.min(bytes.len())
}

/// `text` with every comment blanked out (line ends stay), and the offset of a block comment that
/// is never closed.
fn strip_comments(text: &str) -> (String, Option<usize>) {
    let mut out = text.as_bytes().to_vec();
    let bytes = text.as_bytes();
    let mut unclosed = None;
    let mut at = 0;
    let mut line_start = true;
    while at < bytes.len() {
        let c = bytes[at];
        let next = bytes.get(at + 1).copied();
        match c {
            b'"' => at = skip_string(bytes, at),
            b'\'' => at = skip_char(bytes, at),
            b'/' if next == Some(b'*') => {
                let end = text[at + 2..].find("*/").map(|e| at + 2 + e + 2);
                if end.is_none() {
                    unclosed = Some(at);
                }
                let end = end.unwrap_or(bytes.len());
                blank(&mut out[at..end]);
                at = end;
            }
            b'/' if next == Some(b'/') => {
                let end = line_end(bytes, at);
                blank(&mut out[at..end]);
                at = end;
            }
            b'#' => {
                let end = line_end(bytes, at);
                if !(line_start && line_marker(&text[at..end]).is_some()) {
                    blank(&mut out[at..end]);
                }
                at = end;
            }
            _ => {
                if c == b'\n' {
                    line_start = true;
                    at += 1;
                    continue;
                }
                at += 1;
            }
        }
        // Only a `#` in the first column opens a line marker.
        line_start = false;
    }
    // Only whole ASCII or whole multi-byte characters were overwritten by blanks.
    (String::from_utf8(out).unwrap_or_default(), unclosed)
}

/// True for `#include <..>`, `#define NAME` and the like.
fn is_directive(line: &str) -> bool {
    let Some((word, rest)) = line[1..].split_once([' ', '\t']) else {
        return line.trim_end() == "#endif";
    };
    let rest = rest.trim_start();
    match word {
        "include" => rest.starts_with(['<', '"']),
        "define" | "undef" | "ifdef" | "ifndef" => {
            rest.starts_with(|c: char| c.is_ascii_uppercase() || c == '_')
        }
        _ => false,
    }
}

fn line_end(bytes: &[u8], at: usize) -> usize {
    bytes[at..]
        .iter()
        .position(|&b| b == b'\n')
        .map_or(bytes.len(), |e| at + e)
}

fn blank(bytes: &mut [u8]) {
    for b in bytes {
        if *b != b'\n' && *b != b'\r' {
            *b = b' ';
        }
    }
}

/// `# 12 "file" flags` or `#line 12 "file"`: the number of the next line, and the file.
fn line_marker(line: &str) -> Option<(u32, Option<String>)> {
    let rest = line.strip_prefix('#')?;
    let (rest, keyword) = match rest.trim_start().strip_prefix("line") {
        Some(rest) => (rest, true),
        None => (rest, false),
    };
    let rest = rest.trim();
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    let number: u32 = rest[..digits].parse().ok()?;
    let rest = rest[digits..].trim();
    if rest.is_empty() {
        return keyword.then_some((number, None));
    }
    let body = rest.strip_prefix('"')?;
    let end = body.find('"')?;
    if !body[end + 1..]
        .bytes()
        .all(|b| b.is_ascii_digit() || b.is_ascii_whitespace())
    {
        return None;
    }
    Some((number, Some(body[..end].to_string())))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(text: &str) -> Vec<String> {
        split(text, "t.S")
            .stmts
            .iter()
            .map(|s| s.text().to_string())
            .collect()
    }

    #[test]
    fn separators_and_comments() {
        assert_eq!(
            texts("a; b // c ; d\n{ e ; f /* ; */ }\n.ascii \"x;//#y\" # z\n'\\'' ; ';'"),
            [
                "a",
                "b",
                "{",
                "e",
                "f",
                "}",
                ".ascii \"x;//#y\"",
                "'\\''",
                "';'"
            ]
        );
    }

    #[test]
    fn markers() {
        let source = split("# 7 \"x.S\" 1 2\na\n# 7 apples\nb\n  # 3 \"y\"\nc\n", "t.S");
        let at: Vec<_> = source
            .stmts
            .iter()
            .map(|s| (source.files[s.loc.file as usize].as_str(), s.loc.line))
            .collect();
        assert_eq!(at, [("x.S", 7), ("x.S", 9), ("x.S", 11)]);
    }
}
