//! `ipucc opt`: run passes on a model and print what they make.

use super::compile::{CompileArgs, read_model};
use super::{Failure, Outcome, print};
use clap::Args as ClapArgs;
use ipucc::{dump, model};
use ipucc_passes::{PASSES, precision};
use ipucc_tensor::text;
use std::path::PathBuf;

/// Run passes on a model and print the result, or what each pass makes.
#[derive(ClapArgs)]
pub struct Args {
    /// The model.
    model: PathBuf,
    /// Tensor passes to run, in this order (default: all).
    #[arg(long, value_name = "A,B,..", value_delimiter = ',')]
    passes: Vec<String>,
    /// Print after this pass, or after `all`: tensor passes, then partition, schedule, sram.
    #[arg(long, value_name = "PASS")]
    dump_after: Vec<String>,
    #[command(flatten)]
    compile: CompileArgs,
}

/// The pass before all others; it needs the policy of `--precision` and `--accumulate`.
pub const PRECISION: (&str, &str) = (
    "precision",
    "Replaces float types as --precision and --accumulate say.",
);

/// Passes behind the tensor ones, by name.
pub const LATER: &[(&str, &str)] = &[
    (
        "partition",
        "Cuts operations over tiles and decides which words move: the tile program.",
    ),
    (
        "schedule",
        "Times every send, select and pointer of every exchange.",
    ),
    ("sram", "Places sections and values in tile memory."),
];

/// Runs the command.
pub fn run(args: Args) -> Outcome {
    let known = |name: &str| {
        name == PRECISION.0
            || PASSES.iter().any(|pass| pass.name == name)
            || LATER.iter().any(|(later, _)| *later == name)
    };
    for name in args.passes.iter().chain(&args.dump_after) {
        if name != "all" && !known(name) {
            return Err(Failure::user(format!(
                "there is no pass `{name}`; hint: `ipucc passes`"
            )));
        }
    }
    let options = args.compile.options()?;
    let declared = read_model(&args.model, &args.compile)?;
    let module = precision(&declared, &options.precision)
        .map_err(|error| Failure::user(format!("{}: {error}", args.model.display())))?;
    let wanted = |name: &str| args.dump_after.iter().any(|d| d == name || d == "all");
    let mut text_out = String::new();
    if wanted("precision") && !options.precision.is_declared() {
        text_out.push_str(&format!("// after precision\n{}\n", text::print(&module)));
    }
    let mut current = module.clone();
    for pass in PASSES {
        if !args.passes.is_empty() && !args.passes.iter().any(|name| name == pass.name) {
            continue;
        }
        current = (pass.run)(&current);
        if wanted(pass.name) {
            text_out.push_str(&format!(
                "// after {}\n{}\n",
                pass.name,
                text::print(&current)
            ));
        }
    }
    if args.dump_after.is_empty() {
        return print(text::print(&current));
    }
    if LATER.iter().any(|(name, _)| wanted(name)) {
        let model = model::compile(&declared, &options)
            .map_err(|error| Failure::user(format!("{}: {error}", args.model.display())))?;
        let scheduled = &model.compiled.scheduled;
        if wanted("partition") {
            text_out.push_str("// after partition\n");
            text_out.push_str(&ipucc_tile::text::print(&scheduled.program));
        }
        if wanted("schedule") {
            text_out.push_str("// after schedule\n");
            text_out.push_str(&dump::phases(scheduled));
        }
        if wanted("sram") {
            text_out.push_str("// after sram\n");
            text_out.push_str(&dump::placements(scheduled, &model.compiled.placements));
        }
    }
    print(text_out)
}
