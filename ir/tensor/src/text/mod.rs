//! The text form of modules, in the manner of MLIR.
//!
//! ```text
//! module {
//!   weight @w : tensor<256x128xf32> = random(seed = 1, scale = 0.05)
//!   func @main(%x: tensor<64x256xf32>) -> (%y: tensor<64x128xf32>) {
//!     %w = weight @w : tensor<256x128xf32>
//!     %h = dot %x, %w {lhs_contract = [1], rhs_contract = [0]} : tensor<64x128xf32>
//!     return %h
//!   }
//! }
//! ```

mod format;
mod lex;
mod ops;
mod parse;
mod parts;
mod print;

pub use format::format;
pub use parse::parse;
pub use print::{print, value_names};

/// The names of all operations in text.
pub fn operation_names() -> Vec<&'static str> {
    ops::names()
}

/// The name of an operation in text.
pub fn operation_name(op: &crate::Op) -> &'static str {
    ops::name(op)
}

use annotate_snippets::{AnnotationKind, Level, Renderer, Snippet};

/// A fault of a text, with its place.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Diagnostic {
    /// Code for `ipucc explain`.
    pub code: &'static str,
    /// First and one past the last byte.
    pub span: std::ops::Range<usize>,
    /// What is wrong.
    pub message: String,
    /// What to do.
    pub hint: String,
}

/// Error codes with their explanation, for `ipucc explain`.
pub const CODES: &[(&str, &str)] = &[
    (
        "T001",
        "The text does not follow the grammar at this place. docs/language.md shows the grammar: a \
         module holds weights and functions, a function holds one operation a line and ends with \
         `return`.",
    ),
    (
        "T002",
        "A value or weight is used that nothing before defines. Values are defined once, before \
         their use: by a parameter or by `%name = ...`; weights by `weight @name : type = ...`.",
    ),
    (
        "T003",
        "The name is defined twice in this function or module. Every value has one definition.",
    ),
    (
        "T004",
        "The operation is not known, or lacks an attribute that it needs. `ipucc ops` lists all \
         operations with their attributes and an example.",
    ),
    (
        "T005",
        "The types do not fit the operation, or the type written behind `:` is not the one that \
         the operation has. Nothing is broadcast or converted silently: write `broadcast` and \
         `convert`.",
    ),
    (
        "T006",
        "The type is not one of the language: `tensor<16x128xf16>` with static extents, at most 8 \
         axes, and an element type of f32, f16, f8e4m3fnuz, f8e5m2fnuz, i32, u32, i16, i8, u8, i1. \
         64-bit integers exist only at bindings (`host i64`).",
    ),
];

/// Renders diagnostics as the compiler shows them.
pub fn render(file: &str, text: &str, diagnostics: &[Diagnostic]) -> String {
    let mut out = String::new();
    for diagnostic in diagnostics {
        let end = diagnostic
            .span
            .end
            .min(text.len())
            .max(diagnostic.span.start.min(text.len()));
        let start = diagnostic.span.start.min(end);
        let snippet = Snippet::source(text)
            .path(file)
            .annotation(AnnotationKind::Primary.span(start..end));
        let mut group = Level::ERROR
            .primary_title(&diagnostic.message)
            .id(diagnostic.code)
            .element(snippet);
        if !diagnostic.hint.is_empty() {
            group = group.element(Level::HELP.message(&diagnostic.hint));
        }
        out.push_str(&Renderer::plain().render(&[group]));
        out.push_str("\n\n");
    }
    out
}
