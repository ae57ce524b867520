//! Diagnostics of the assembler: what is wrong, where, and what to do about it.

use std::fmt;

use annotate_snippets::{AnnotationKind, Group, Level, Origin, Renderer, Snippet};

/// A place in source text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Location {
    /// File name as the input or its line markers give it.
    pub file: String,
    /// Line, from 1, as the line markers count; 0 if the message is about the whole file.
    pub line: u32,
    /// Column, from 1, in characters of [`Location::text`].
    pub column: u32,
    /// Length of the marked part in characters, at least 1.
    pub length: u32,
    /// The line of text that is shown: the source line, or the expanded line of a macro.
    pub text: String,
}

/// How bad a diagnostic is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Severity {
    /// Nothing is produced.
    Error,
    /// The output is valid, the text is suspicious.
    Warning,
}

/// One message about the source.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Diagnostic {
    /// Error or warning.
    pub severity: Severity,
    /// What is wrong, in one sentence.
    pub message: String,
    /// Words beside the caret; empty if the message says it all.
    pub label: String,
    /// Where.
    pub location: Location,
    /// Further places: macro call sites, earlier definitions.
    pub notes: Vec<(String, Option<Location>)>,
    /// What to do.
    pub help: Option<String>,
}

impl Diagnostic {
    /// The message as a block with the source line and a caret under the place, without colour.
    pub fn render(&self, renderer: &Renderer) -> String {
        let level = match self.severity {
            Severity::Error => Level::ERROR,
            Severity::Warning => Level::WARNING,
        };
        let title = level.primary_title(printable(&self.message));
        let main = if self.location.line == 0 {
            Group::with_title(title).element(Origin::path(self.location.file.as_str()))
        } else {
            Group::with_title(title).element(snippet(
                &self.location,
                AnnotationKind::Primary,
                &self.label,
            ))
        };
        let mut groups = Vec::new();
        let mut last = main;
        for (text, location) in &self.notes {
            match location {
                None => last = last.element(Level::NOTE.message(printable(text))),
                Some(location) => {
                    groups.push(last);
                    last = Group::with_title(Level::NOTE.secondary_title(printable(text)))
                        .element(snippet(location, AnnotationKind::Primary, ""));
                }
            }
        }
        if let Some(help) = &self.help {
            last = last.element(Level::HELP.message(printable(help)));
        }
        groups.push(last);
        renderer.render(&groups)
    }
}

/// `text` without control characters, which would disturb a terminal.
fn printable(text: &str) -> String {
    text.chars()
        .map(|c| if c.is_control() { '\u{fffd}' } else { c })
        .collect()
}

fn snippet<'a>(
    location: &'a Location,
    kind: AnnotationKind,
    label: &str,
) -> Snippet<'a, annotate_snippets::Annotation<'a>> {
    // Tabs become single blanks so that columns count characters.
    let text: String = location
        .text
        .chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect();
    let byte_of = |column: usize| {
        text.char_indices()
            .nth(column)
            .map_or(text.len(), |(at, _)| at)
    };
    let start = byte_of(location.column.saturating_sub(1) as usize);
    let end = byte_of((location.column.saturating_sub(1) + location.length) as usize).max(start);
    let annotation = kind.span(start..end);
    let annotation = if label.is_empty() {
        annotation
    } else {
        annotation.label(printable(label))
    };
    Snippet::source(text)
        .line_start(location.line as usize)
        .path(location.file.as_str())
        .annotation(annotation)
}

/// All messages about one input, in source order of discovery.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Diagnostics(pub Vec<Diagnostic>);

impl Diagnostics {
    /// True if at least one message is an error.
    pub fn has_errors(&self) -> bool {
        self.0.iter().any(|d| d.severity == Severity::Error)
    }

    /// All messages as text, with colour escapes if `color`.
    pub fn render(&self, color: bool) -> String {
        let renderer = if color {
            Renderer::styled()
        } else {
            Renderer::plain()
        };
        let mut out = String::new();
        for diagnostic in &self.0 {
            out.push_str(&diagnostic.render(&renderer));
            out.push('\n');
        }
        out
    }
}

impl fmt::Display for Diagnostics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.render(false))
    }
}

impl std::error::Error for Diagnostics {}
