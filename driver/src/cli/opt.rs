//! `ipucc opt`: run passes on a model and print what they make.

use super::compile::{CompileArgs, read_model, read_program};
use super::{Failure, Outcome, print, write_file};
use clap::Args as ClapArgs;
use ipucc::stage::UNWATCHED;
use ipucc::{dump, model};
use ipucc_passes::{ExpandError, FIRST, PASSES, inline, precision, unroll};
use ipucc_tensor::{Module, text};
use ipucc_tile::Program;
use ipucc_tile::schedule::AbstainMode;
use ipucc_tile::sram::TileProblem;
use std::path::{Path, PathBuf};

/// Run passes on a model and print the result, or what each pass makes.
#[derive(ClapArgs)]
pub struct Args {
    /// The model, or a tile program for the passes behind the planner.
    #[arg(required_unless_present = "replay_sram")]
    model: Option<PathBuf>,
    /// Tensor passes to run, in this order (default: all).
    #[arg(long, value_name = "A,B,..", value_delimiter = ',')]
    passes: Vec<String>,
    /// Print after this pass, or after `all`: tensor passes, then partition, schedule,
    /// abstain, sram.
    #[arg(long, value_name = "PASS")]
    dump_after: Vec<String>,
    /// Write the allocation problems of all tiles to a file, whether or not they can be solved.
    #[arg(long, value_name = "FILE")]
    write_sram: Option<PathBuf>,
    /// Solve the allocation problems of such a file again.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["model", "passes", "dump_after", "write_sram"])]
    replay_sram: Option<PathBuf>,
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
    (
        "abstain",
        "Decides which tiles wait at the barrier of a phase and which post a credit.",
    ),
    ("sram", "Places sections and values in tile memory."),
    (
        "profile",
        "Not a pass: what the last tile did before each barrier, as predicted, and the shares of all cycles.",
    ),
];

/// The module after a tensor pass under a heading that says what the pass is for.
fn after((name, about): (&str, &str), changed: bool, text: &str) -> String {
    let change = if changed { "" } else { " Nothing changed." };
    format!("// after {name}\n// {about}{change}\n{text}\n")
}

/// The heading of a pass behind the planner.
fn heading(name: &str) -> String {
    let about = LATER.iter().find(|(later, _)| *later == name);
    let about = about.map_or("", |(_, about)| about);
    format!("\n// after {name}\n// {about}\n")
}

/// A pass that writes out functions.
type Expand = fn(&Module) -> Result<Module, ExpandError>;

/// Runs the command.
pub fn run(args: Args) -> Outcome {
    let path = match (&args.model, &args.replay_sram) {
        (_, Some(problems)) => return super::sram::replay(problems),
        (Some(model), None) => model.clone(),
        (None, None) => return Err(Failure::user("a model is needed")),
    };
    let known = |name: &str| {
        name == PRECISION.0
            || FIRST.iter().any(|(first, _)| *first == name)
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
    if model::is_program(&path) {
        return run_program(&args, &path, &options);
    }
    let declared = read_model(&path, &args.compile)?;
    let wanted = |name: &str| args.dump_after.iter().any(|d| d == name || d == "all");
    let asked = |name: &str| args.passes.is_empty() || args.passes.iter().any(|p| p == name);
    let mut text_out = String::new();
    let mut module = declared.clone();
    for (&about, pass) in FIRST.iter().zip([unroll as Expand, inline]) {
        if asked(about.0) {
            let next = pass(&module)
                .map_err(|error| Failure::user(format!("{}: {error}", path.display())))?;
            let changed = next != module;
            // Most models have no functions to write out: `all` says so only where there are.
            if wanted(about.0) && (changed || !args.dump_after.iter().any(|d| d == "all")) {
                text_out.push_str(&after(about, changed, &text::print(&next)));
            }
            module = next;
        }
    }
    let flat = module;
    let module = precision(&flat, &options.precision)
        .map_err(|error| Failure::user(format!("{}: {error}", path.display())))?;
    if wanted("precision") {
        let changed = module != flat;
        text_out.push_str(&after(PRECISION, changed, &text::print(&module)));
    }
    let mut current = module.clone();
    for pass in PASSES {
        if !asked(pass.name) {
            continue;
        }
        let next = (pass.run)(&current, &options.simplify);
        if wanted(pass.name) {
            let about = (pass.name, pass.about);
            text_out.push_str(&after(about, next != current, &text::print(&next)));
        }
        current = next;
    }
    if args.dump_after.is_empty() && args.write_sram.is_none() {
        return print(text::print(&current));
    }
    if LATER.iter().any(|(name, _)| wanted(name)) || args.write_sram.is_some() {
        let failed = |error: String| Failure::user(format!("{}: {error}", path.display()));
        let program = model::plan(&declared, &options).map_err(failed)?.program;
        text_out.push_str(&behind_the_planner(program, &args, &path, &options)?);
    }
    print(text_out)
}

/// The passes behind the planner on the text of a tile program.
fn run_program(args: &Args, path: &Path, options: &model::Options) -> Outcome {
    let program = read_program(path)?;
    if args.dump_after.is_empty() && args.write_sram.is_none() {
        return print(ipucc_tile::text::print(&program));
    }
    print(behind_the_planner(program, args, path, options)?)
}

/// What the passes behind the planner make of a tile program.
fn behind_the_planner(
    program: Program,
    args: &Args,
    path: &Path,
    options: &model::Options,
) -> Outcome<String> {
    let failed = |error: String| Failure::user(format!("{}: {error}", path.display()));
    let wanted = |name: &str| args.dump_after.iter().any(|d| d == name || d == "all");
    let mut out = String::new();
    if let Some(file) = &args.write_sram {
        let problems = model::problems(program.clone(), options).map_err(failed)?;
        let text = super::sram::text(&problems).map_err(Failure::Internal)?;
        write_file(file, text.as_bytes())?;
    }
    if wanted("partition") {
        out.push_str(&heading("partition"));
        out.push_str(dump::TILE_LEGEND);
        out.push_str(&ipucc_tile::text::print(&program));
    }
    if !["schedule", "abstain", "sram", "profile"]
        .into_iter()
        .any(wanted)
    {
        return Ok(out);
    }
    let compiled = model::compile_program(program.clone(), options, UNWATCHED).map_err(failed)?;
    let scheduled = &compiled.scheduled;
    // Names and sizes of what the addresses belong to.
    let problem = match dump::fullest(&compiled.placements).filter(|_| wanted("sram")) {
        None => None,
        Some(tile) => {
            let all = model::problems(program.clone(), options).map_err(failed)?;
            let of_tile = |entry: &&TileProblem| entry.tiles.contains(&(tile as u16));
            all.problems
                .iter()
                .find(of_tile)
                .map(|entry| entry.problem.clone())
        }
    };
    if wanted("schedule") {
        out.push_str(&heading("schedule"));
        out.push_str(&dump::phases(scheduled));
    }
    if wanted("abstain") {
        out.push_str(&heading("abstain"));
        out.push_str(&dump::abstention(scheduled));
        // What the other mode would take: the difference is what `advance` saves.
        let (here, other) = match options.abstain {
            AbstainMode::PerPhase => ("per-phase", AbstainMode::Advance),
            AbstainMode::Advance => ("advance", AbstainMode::PerPhase),
        };
        let cycles = compiled.package.predicted.cycles;
        out.push_str(&format!("  {here}: {cycles} cycles predicted\n"));
        let options = model::Options {
            abstain: other,
            ..options.clone()
        };
        out.push_str(
            &match model::compile_program(program, &options, UNWATCHED) {
                Ok(compiled) => format!(
                    "  the other mode: {} cycles predicted\n",
                    compiled.package.predicted.cycles
                ),
                Err(error) => format!("  the other mode: {error}\n"),
            },
        );
        let overlap = options.assumptions.sup_ans_overlap;
        out.push_str(&format!(
            "  advance rests on the assumption sup_ans_overlap ({})\n",
            if overlap { "yes" } else { "no" }
        ));
    }
    if wanted("sram") {
        out.push_str(&heading("sram"));
        out.push_str(&dump::placements(&compiled.placements, problem.as_ref()));
    }
    if wanted("profile") {
        out.push_str("// profile\n");
        out.push_str(&dump::profile(scheduled, &compiled.critical));
    }
    Ok(out)
}
