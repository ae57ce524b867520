//! Options of the commands that compile, and reading what they compile.

use super::{Failure, Outcome, read};
use clap::Args as ClapArgs;
use indexmap::IndexMap;
use ipucc::model::{self, Conversion, Options};
use ipucc_chip::{Assumptions, Chip, ScalarType};
use ipucc_passes::Precision;
use ipucc_passes::simplify::{Group, Simplify};
use ipucc_tensor::Module;
use ipucc_tile::schedule::AbstainMode;
use std::path::Path;

/// Options of whatever compiles.
#[derive(ClapArgs, Clone)]
pub struct CompileArgs {
    /// Use the first N logical tiles of a C600 (default: all 1,472).
    #[arg(long, value_name = "N")]
    pub tiles: Option<u16>,
    /// Value of a symbolic dimension.
    #[arg(long = "dim", value_name = "NAME=N", value_parser = pair)]
    pub dim: Vec<(String, String)>,
    /// Change a named assumption (`ipucc sim --assumptions` lists them).
    #[arg(long = "assume", value_name = "NAME=VALUE", value_parser = pair)]
    pub assume: Vec<(String, String)>,
    /// Compute floats in this type (f32 or f16); NAME=TYPE does so for one operation, by the name of
    /// its result or of its ONNX node. Without it every operation runs in its declared type.
    #[arg(long, value_name = "[NAME=]TYPE", value_parser = precision)]
    pub precision: Vec<(Option<String>, ScalarType)>,
    /// Sum products in this type (f32 or f16).
    #[arg(long, value_name = "TYPE", value_parser = element)]
    pub accumulate: Option<ScalarType>,
    /// What rewriting may do to floats: `exact` keeps every bit, `fast` may round differently.
    #[arg(long, value_name = "MODE", default_value = "exact", value_parser = ["exact", "fast"])]
    pub fp: String,
    /// Groups of rewriting rules to leave out: algebra, layout, reductions, products, idioms.
    #[arg(long, value_name = "GROUP,..", value_delimiter = ',', value_parser = group)]
    pub without_rules: Vec<Group>,
    /// How tiles without work in a phase pass its barrier.
    #[arg(long, value_name = "MODE", default_value = "per-phase", value_parser = ["per-phase", "advance"])]
    pub abstain: String,
    /// Threads (default: all cores).
    #[arg(short = 'j', long = "jobs", value_name = "N")]
    pub jobs: Option<usize>,
}

/// Most threads that may be asked for: more than any machine has cores.
const MOST_JOBS: usize = 1024;

impl CompileArgs {
    /// The options, checked.
    pub fn options(&self) -> Outcome<Options> {
        if let Some(jobs) = self.jobs {
            if !(1..=MOST_JOBS).contains(&jobs) {
                return Err(Failure::user(format!(
                    "-j {jobs}: expected 1 to {MOST_JOBS} threads"
                )));
            }
            // Fails only if a pool exists already, which then is used.
            let _ = rayon::ThreadPoolBuilder::new()
                .num_threads(jobs)
                .build_global();
        }
        let chip = match self.tiles {
            None => Chip::c600(),
            Some(tiles) => Chip::first(tiles).ok_or_else(|| {
                Failure::user(format!(
                    "--tiles {tiles}: a C600 has 1 to {} tiles",
                    Chip::C600_TILES
                ))
            })?,
        };
        let abstain = match self.abstain.as_str() {
            "advance" => AbstainMode::Advance,
            _ => AbstainMode::PerPhase,
        };
        let mut precision = Precision {
            accumulate: self.accumulate,
            ..Precision::default()
        };
        for (name, element) in &self.precision {
            match name {
                Some(name) => precision.overrides.push((name.clone(), *element)),
                None => precision.element = Some(*element),
            }
        }
        let defaults = Options::new(chip);
        Ok(Options {
            abstain,
            precision,
            simplify: Simplify {
                fast: self.fp == "fast",
                without: self.without_rules.clone(),
                ..defaults.simplify.clone()
            },
            assumptions: self.assumptions()?,
            ..defaults
        })
    }

    /// Refuses options that come too late for `what`, which is planned already; of a package also
    /// those of scheduling.
    pub fn refuse_for(&self, what: &str, package: bool) -> Outcome {
        let given = [
            ("--tiles", self.tiles.is_some()),
            ("--dim", !self.dim.is_empty()),
            ("--precision", !self.precision.is_empty()),
            ("--accumulate", self.accumulate.is_some()),
            ("--fp", self.fp != "exact"),
            ("--without-rules", !self.without_rules.is_empty()),
            ("--abstain", package && self.abstain != "per-phase"),
        ];
        match given.iter().find(|(_, given)| *given) {
            Some((option, _)) => Err(Failure::user(format!(
                "{option} cannot change {what}, which is planned already; hint: give it where the \
                 model is compiled"
            ))),
            None => Ok(()),
        }
    }

    /// The assumptions, checked.
    pub fn assumptions(&self) -> Outcome<Assumptions> {
        super::assumptions(&self.assume)
    }

    /// The symbolic dimensions, checked.
    pub fn dims(&self) -> Outcome<IndexMap<String, u32>> {
        self.dim
            .iter()
            .map(|(name, value)| match value.parse() {
                Ok(extent) => Ok((name.clone(), extent)),
                Err(_) => Err(Failure::user(format!("--dim {name}={value}: not a number"))),
            })
            .collect()
    }
}

/// A group of rewriting rules.
fn group(text: &str) -> Result<Group, String> {
    let found = Group::ALL.into_iter().find(|group| group.name() == text);
    found.ok_or_else(|| {
        let known: Vec<&str> = Group::ALL.iter().map(|group| group.name()).collect();
        format!("expected a group of rules: {}", known.join(", "))
    })
}

/// An element type.
fn element(text: &str) -> Result<ScalarType, String> {
    text.parse().map_err(|()| {
        let known: Vec<&str> = ScalarType::ALL.iter().map(|e| e.name()).collect();
        format!("expected an element type: {}", known.join(", "))
    })
}

/// `TYPE` or `NAME=TYPE`.
fn precision(text: &str) -> Result<(Option<String>, ScalarType), String> {
    match text.rsplit_once('=') {
        Some((name, ty)) => Ok((Some(name.to_owned()), element(ty)?)),
        None => Ok((None, element(text)?)),
    }
}

/// What a precision did to the weights, for people.
pub fn conversions_text(conversions: &[Conversion]) -> String {
    let Some(worst) = conversions
        .iter()
        .max_by(|a, b| a.largest_error.total_cmp(&b.largest_error))
    else {
        return String::new();
    };
    let saturated: Vec<&Conversion> = conversions.iter().filter(|c| c.saturated > 0).collect();
    let mut text = format!(
        "{} weights converted to {}: largest error {:.2e} (`{}`)",
        conversions.len(),
        worst.element,
        worst.largest_error,
        worst.weight
    );
    if saturated.is_empty() {
        text.push_str(", nothing saturated\n");
    } else {
        text.push('\n');
    }
    for conversion in saturated {
        text.push_str(&format!(
            "  `{}`: {} of {} elements are beyond the largest {}\n",
            conversion.weight, conversion.saturated, conversion.elements, conversion.element
        ));
    }
    text
}

/// As [`conversions_text`], every weight, for programs.
pub fn conversions_json(conversions: &[Conversion]) -> serde_json::Value {
    let one = |c: &Conversion| {
        serde_json::json!({
            "weight": c.weight, "type": c.element.to_string(), "elements": c.elements,
            "largest_error": c.largest_error, "saturated": c.saturated,
        })
    };
    conversions.iter().map(one).collect()
}

/// `NAME=VALUE`.
pub fn pair(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() && !value.is_empty() => {
            Ok((name.to_owned(), value.to_owned()))
        }
        _ => Err("expected NAME=VALUE".into()),
    }
}

/// Reads the text of a tile program; faults are printed as they are.
pub fn read_program(path: &Path) -> Outcome<ipucc_tile::Program> {
    let bytes = read(path)?;
    model::read_program(path, &bytes).map_err(reported)
}

/// Prints a message that is complete.
fn reported(message: String) -> Failure {
    super::complain(&format!("{}\n", message.trim_end()));
    Failure::Reported
}

/// The text of a model's file, if it is text.
pub fn model_text(path: &Path) -> Outcome<Option<String>> {
    if path.extension().is_some_and(|ending| ending == "onnx") {
        return Ok(None);
    }
    Ok(String::from_utf8(read(path)?).ok())
}

/// Reads a model file into a module; faults are printed as they are.
pub fn read_model(path: &Path, compile: &CompileArgs) -> Outcome<Module> {
    let bytes = read(path)?;
    let dims = compile.dims()?;
    if let Some(name) = dims.keys().next()
        && path.extension().is_none_or(|extension| extension != "onnx")
    {
        return Err(Failure::user(format!(
            "--dim {name}: {} is no ONNX model, so its shapes have no names",
            path.display()
        )));
    }
    model::read(path, &bytes, &dims).map_err(reported)
}
