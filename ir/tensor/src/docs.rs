//! The operations in words: one table from which `docs/ops.md` and `ipucc ops` are made.

mod table;

pub use table::OPERATIONS;

use std::fmt::Write as _;

/// One operation, or a family of operations of one form.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Operation {
    /// Names in text.
    pub names: &'static [&'static str],
    /// Form of the text.
    pub syntax: &'static str,
    /// Which types it takes and gives.
    pub types: &'static str,
    /// What it computes.
    pub semantics: &'static str,
    /// Parameters, instructions and the returned value of an example function, as `parameters |
    /// instructions | result type`; functions that it calls stand behind a further `|`.
    pub example: &'static str,
    /// True: kernels need not know it, it can be written out in others.
    pub composite: bool,
}

impl Operation {
    /// Names of the attributes: what stands before `=` within the braces of the syntax.
    pub fn attributes(&self) -> Vec<&'static str> {
        let braces = self.syntax.split('{').skip(1);
        let lists = braces.filter_map(|rest| rest.split('}').next());
        let entries = lists.flat_map(|list| list.split(", "));
        let mut names: Vec<&str> = entries
            .filter_map(|entry| entry.split_once(" = "))
            .map(|(name, _)| name.trim())
            .collect();
        names.dedup();
        names
    }

    /// The example as a whole program.
    pub fn program(&self) -> String {
        let mut parts = self.example.split('|').map(str::trim);
        let params = parts.next().unwrap_or_default();
        let body = parts.next().unwrap_or_default();
        let ty = parts.next().unwrap_or_default();
        let weight = if body.contains("weight @") {
            "  weight @w : tensor<4x3xf32> = random(seed = 1, scale = 0.5)\n\n"
        } else {
            ""
        };
        let helper = match parts.next() {
            Some(helper) => format!("  {}\n\n", helper.replace("\\n", "\n  ")),
            None => String::new(),
        };
        let lines: String = body
            .split(';')
            .map(|line| format!("    {}\n", line.trim()))
            .collect();
        format!(
            "module {{\n{weight}{helper}  func @main({params}) -> (%result: {ty}) {{\n{lines}    return %y\n  }}\n}}\n"
        )
    }
}

/// The entry for an operation's name.
pub fn find(name: &str) -> Option<&'static Operation> {
    OPERATIONS
        .iter()
        .find(|operation| operation.names.contains(&name))
}

/// An entry as plain text.
pub fn describe(operation: &Operation) -> String {
    format!(
        "{}{}\n\n  {}\n\nTypes: {}\n\n{}\n\nExample:\n\n{}",
        operation.names.join(", "),
        if operation.composite {
            " (composite)"
        } else {
            ""
        },
        operation.syntax.replace('\n', "\n  "),
        operation.types,
        operation.semantics,
        operation.program()
    )
}

/// The page `docs/ops.md`.
pub fn markdown() -> String {
    let mut out = String::from(
        "# Operations of the tensor language\n\n\
         Made by `ipucc ops --markdown` from the table in `ir/tensor/src/docs`; a test keeps the two\n\
         equal and evaluates every example. The form of a line is\n\n\
         ```\n%result = operation %operand, .. {attribute = value, ..} : type\n```\n\n\
         and the type behind `:` is the result's. Axes are counted from 0, outermost first. Nothing is\n\
         broadcast or converted silently. Floats are computed in f32 and rounded (nearest, ties to even)\n\
         to the element type of the result; beyond its largest number f16 and f8 hold that number, as on\n\
         the chip. Integers wrap in their width. A *composite* can always be\n\
         written out in other operations.\n",
    );
    for operation in OPERATIONS {
        let names: Vec<String> = operation.names.iter().map(|n| format!("`{n}`")).collect();
        let _ = write!(
            out,
            "\n## {}\n\n{}```\n{}\n```\n\n* Types: {}\n* {}\n\n```mlir\n{}```\n",
            names.join(", "),
            if operation.composite {
                "Composite.\n\n"
            } else {
                ""
            },
            operation.syntax,
            operation.types,
            operation.semantics,
            operation.program()
        );
    }
    out
}
