//! Messages: places in the text, expansions around them.

use super::state::Span;
use super::{Assembler, Diagnostic, Location, MAX_ERRORS, MAX_REPEATED, Severity};
impl Assembler<'_> {
    pub(super) fn error(&mut self, span: &Span, message: impl Into<String>) {
        self.error_with(span, message.into(), None, None);
    }

    pub(super) fn error_with(
        &mut self,
        span: &Span,
        message: String,
        note: Option<(String, Span)>,
        help: Option<String>,
    ) {
        self.report(Severity::Error, span, message, note, help);
    }

    pub(super) fn report(
        &mut self,
        severity: Severity,
        span: &Span,
        message: String,
        note: Option<(String, Span)>,
        help: Option<String>,
    ) {
        if self.diagnostics.len() >= MAX_ERRORS {
            if self.diagnostics.len() == MAX_ERRORS {
                let location = self.location(span);
                self.diagnostics.push(Diagnostic {
                    severity,
                    message: format!("more than {MAX_ERRORS} errors; the rest is not shown"),
                    label: String::new(),
                    location,
                    notes: Vec::new(),
                    help: None,
                });
                self.stop = true;
            }
            return;
        }
        // The same statement may be expanded many times.
        let location = self.location(span);
        let known = self
            .diagnostics
            .iter()
            .any(|d| d.message == message && d.location == location);
        if known {
            self.repeated += 1;
            if self.repeated == MAX_REPEATED {
                self.stop = true;
            }
            return;
        }
        let mut notes = Vec::new();
        if let Some((text, span)) = note {
            notes.push((text, Some(self.location(&span))));
        }
        let mut at = span.stmt.loc.expansion;
        let mut shown = 0;
        while at != 0 {
            let expansion = &self.expansions[at as usize];
            let outer = expansion.call.stmt.loc.expansion;
            // A recursive macro has hundreds of these; the ends tell enough.
            if shown < 4 || outer == 0 {
                notes.push((
                    format!("in the expansion of {}", expansion.what),
                    Some(self.location(&expansion.call)),
                ));
            }
            shown += 1;
            at = outer;
        }
        self.diagnostics.push(Diagnostic {
            severity,
            message,
            label: String::new(),
            location,
            notes,
            help,
        });
    }

    /// The line that is shown for a span, and the bytes of the span in it.
    pub(super) fn shown<'s>(&'s self, span: &'s Span) -> (&'s str, u32, u32) {
        let loc = span.stmt.loc;
        if span.stmt.is_made() && loc.expansion != 0 {
            let (text, at) = span.stmt.made_text();
            return (text, at + span.start, at + span.end);
        }
        let text = self.lines.get(loc.physical as usize).copied().unwrap_or("");
        let text = text.strip_suffix('\r').unwrap_or(text);
        (text, loc.column + span.start, loc.column + span.end)
    }

    /// Column of a span, from 1.
    pub(super) fn column(&self, span: &Span) -> u32 {
        let (text, start, _) = self.shown(span);
        // Bytes are characters in nearly every text; counting them in lines of megabytes, as C
        // macros can make them, would take minutes.
        if self.ascii || text.len() > 1 << 16 {
            return start + 1;
        }
        chars(text, start) + 1
    }

    pub(super) fn location(&self, span: &Span) -> Location {
        let (text, start, end) = self.shown(span);
        let column = chars(text, start);
        Location {
            file: self
                .files
                .get(span.stmt.loc.file as usize)
                .cloned()
                .unwrap_or_default(),
            line: span.stmt.loc.line,
            column: column + 1,
            length: chars(text, end).saturating_sub(column).max(1),
            text: text.to_string(),
        }
    }
}

/// Characters of the first `bytes` bytes of `text`.
fn chars(text: &str, bytes: u32) -> u32 {
    text.char_indices()
        .take_while(|(at, _)| *at < bytes as usize)
        .count() as u32
}
