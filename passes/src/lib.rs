//! Passes: tensor modules to tensor modules, and tensor modules to tile programs.

mod cleanup;
mod fold;
mod inline;
mod legalize;
pub mod partition;
mod precision;
mod rebuild;
pub mod simplify;
mod unroll;

pub use cleanup::{canonicalize, cse, dce};
pub use fold::fold;
pub use inline::inline;
pub use legalize::legalize;
pub use partition::{Options, PlanEntry, PlanError, Planned, partition};
pub use precision::{Precision, PrecisionError, precision};
pub use unroll::{ExpandError, MOST_INSTRUCTIONS, unroll};

use ipucc_tensor::Module;
use simplify::Simplify;

/// The passes before all others, by name: everything behind them sees one function of operations
/// with one result.
pub const FIRST: &[(&str, &str)] = &[
    (
        "unroll",
        "Writes out every repeat as calls of its function.",
    ),
    (
        "inline",
        "Puts the body of a function in the place of every call of it.",
    ),
];

/// The module as one function without calls and repeats: [`unroll()`], then [`inline()`].
///
/// # Errors
/// A function that is not there or calls itself, or a program that gets too long.
pub fn expand(module: &Module) -> Result<Module, ExpandError> {
    inline(&unroll(module)?)
}

/// A pass over tensor modules.
pub struct Pass {
    /// Name on the command line and in dumps.
    pub name: &'static str,
    /// What it does, in one sentence.
    pub about: &'static str,
    /// The function; only `simplify` reads the options.
    pub run: fn(&Module, &Simplify) -> Module,
}

/// The tensor passes in the order of the default pipeline.
pub const PASSES: &[Pass] = &[
    Pass {
        name: "fold",
        about: "Computes what constants alone decide.",
        run: |module, _| fold(module),
    },
    Pass {
        name: "simplify",
        about: "Searches cheaper equal expressions by equality saturation.",
        run: |module, options| simplify::simplify_with(module, options).0,
    },
    Pass {
        name: "legalize",
        about: "Brings operations into the forms that plans and kernels know.",
        run: |module, _| legalize(module),
    },
    Pass {
        name: "canonicalize",
        about: "Drops operations that do nothing and folds chains of reshapes and transposes.",
        run: |module, _| canonicalize(module),
    },
    Pass {
        name: "cse",
        about: "Computes equal operations on equal operands once.",
        run: |module, _| cse(module),
    },
    Pass {
        name: "dce",
        about: "Drops operations and weights that no result needs.",
        run: |module, _| dce(module),
    },
];
