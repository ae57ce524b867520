//! `ipucc explain`, `ipucc passes`: what there is, in words.

use super::opt::{LATER, PRECISION};
use super::{Failure, Outcome, print};
use clap::Args as ClapArgs;
use ipucc_passes::{FIRST, PASSES};
use ipucc_tensor::text::CODES;

/// Explain an error code.
#[derive(ClapArgs)]
pub struct ExplainArgs {
    /// The code, like T005.
    code: String,
}

/// Explains a code.
pub fn explain(args: ExplainArgs) -> Outcome {
    let code = args.code.to_uppercase();
    let codes = || CODES.iter().chain(ipucc_tile::text::CODES);
    match codes().find(|(known, _)| *known == code) {
        Some((code, text)) => print(format!("{code}: {text}\n")),
        None => {
            let known: Vec<&str> = codes().map(|(code, _)| *code).collect();
            Err(Failure::user(format!(
                "there is no code {code}; known are {}",
                known.join(", ")
            )))
        }
    }
}

/// List the passes.
#[derive(ClapArgs)]
pub struct PassesArgs {}

/// Lists the passes.
pub fn passes(_: PassesArgs) -> Outcome {
    let mut out = String::new();
    for (name, about) in FIRST
        .iter()
        .copied()
        .chain(std::iter::once(PRECISION))
        .chain(PASSES.iter().map(|pass| (pass.name, pass.about)))
        .chain(LATER.iter().copied())
    {
        out.push_str(&format!("{name:<14}{about}\n"));
    }
    print(out)
}
