//! `ipucc run`: compile a model, or load a package, and run it on the simulator.

use super::arrays::{self, argmax, by_row, cosine, read_array};
use super::compile::{
    CompileArgs, conversions_json, conversions_text, model_text, pair, read_model, read_program,
};
use super::profile::{self, ProfileArgs};
use super::{Failure, Outcome, print, progress};
use clap::Args as ClapArgs;
use indexmap::IndexMap;
use ipucc::check::{self, Verdict};
use ipucc::host::{floats, preview, random};
use ipucc::model;
use ipucc::npy;
use ipucc_chip::timing;
use ipucc_machine::package::{Observation, Package};
use ipucc_runtime::{HostTensor, Session, SessionError, file};
use ipucc_sim::RunReport;
use ipucc_tensor::Module;
use serde_json::json;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Compile a model (.ir, .onnx) or tile program (.tile), or load a package (.ipupkg), and run it on
/// the simulator.
#[derive(ClapArgs)]
pub struct Args {
    /// The model, tile program or package.
    model: PathBuf,
    #[command(flatten)]
    compile: CompileArgs,
    /// An input from a .npy or .npz file; inputs that are not given are random.
    #[arg(long = "input", value_name = "NAME=FILE", value_parser = pair)]
    input: Vec<(String, String)>,
    /// Where to write an output as .npy.
    #[arg(long = "output", value_name = "NAME=FILE", value_parser = pair)]
    output: Vec<(String, String)>,
    /// Run every row of the first axis of these arrays through one loaded program.
    #[arg(long = "inputs", value_name = "NAME=FILE", value_parser = pair, conflicts_with_all = ["input", "output"])]
    inputs: Vec<(String, String)>,
    /// True class of every row; the accuracy of the first output's argmax is reported.
    #[arg(long, value_name = "FILE", requires = "inputs")]
    labels: Option<PathBuf>,
    /// Another system's first outputs for every row, to compare with.
    #[arg(long, value_name = "FILE", requires = "inputs")]
    answers: Option<PathBuf>,
    /// Compare the results with the reference interpreter.
    #[arg(long)]
    check: bool,
    /// Seed of random inputs.
    #[arg(long, default_value_t = 0)]
    seed: u64,
    #[command(flatten)]
    profile: ProfileArgs,
    /// Print one JSON object instead of text.
    #[arg(long)]
    json: bool,
    /// Print results only, no progress.
    #[arg(long, short)]
    quiet: bool,
}

/// Runs the command.
pub fn run(args: Args) -> Outcome {
    let mut options = args.compile.options()?;
    options.observe = args.check;
    let quiet = args.quiet;
    let started = Instant::now();
    let is_package = args
        .model
        .extension()
        .is_some_and(|extension| extension == "ipupkg");
    let mut conversions = Vec::new();
    let (package, judge) = if is_package {
        if args.check {
            return Err(Failure::user(
                "--check needs the model; a package holds no weights' sources",
            ));
        }
        args.compile.refuse_for("a package", true)?;
        let package = file::read(&args.model).map_err(|error| Failure::user(error.to_string()))?;
        (package, None)
    } else if model::is_program(&args.model) {
        if args.check {
            return Err(Failure::user(
                "--check needs the model; a tile program does not say what it was planned from",
            ));
        }
        args.compile.refuse_for("a tile program", false)?;
        let program = read_program(&args.model)?;
        let compiled = progress::compile(quiet, |watch| {
            model::compile_program(program, &options, watch)
        })
        .map_err(|error| Failure::user(format!("{}: {error}", args.model.display())))?;
        (compiled.package, None)
    } else {
        let module = read_model(&args.model, &args.compile)?;
        options.text = model_text(&args.model)?;
        let model = progress::compile(quiet, |watch| model::compile(&module, &options, watch))
            .map_err(|error| Failure::user(format!("{}: {error}", args.model.display())))?;
        let judge = args.check.then_some(Judge {
            source: model.source,
            planned: model.module,
            observations: model.compiled.observations,
        });
        conversions = model.conversions;
        (model.compiled.package, judge)
    };
    let compile_seconds = started.elapsed().as_secs_f64();
    let predicted = package.predicted.cycles;
    let peak = sram_peak(&package);
    let mut session = Session::new(package, options.assumptions, args.profile.options())
        .map_err(|error| Failure::Internal(error.to_string()))?;
    let mut run = Runner {
        args: &args,
        session: &mut session,
        judge: judge.as_ref(),
    };
    let started = Instant::now();
    let mut summary = if args.inputs.is_empty() {
        run.once()?
    } else {
        run.rows()?
    };
    let simulate_seconds = started.elapsed().as_secs_f64();
    if let Some(report) = &summary.report {
        let name = profile::names(&session.package().map);
        args.profile.write_trace(report, &name)?;
    }

    let simulated = summary.cycles.iter().copied().max().unwrap_or(0);
    if args.json {
        let object = json!({
            "predicted_cycles": predicted,
            "simulated_cycles": simulated,
            "tiles_computing": summary.tiles_computing,
            "sram_peak_bytes": peak,
            "weights_converted": conversions_json(&conversions),
            "inputs_saturated": summary.saturated,
            "compile_seconds": compile_seconds,
            "simulate_seconds": simulate_seconds,
            "outputs": summary.outputs,
            "breakdown": args.profile.json(summary.report.as_ref()),
            "checked": summary.checked.as_ref().map(Checked::json),
            "accuracy": summary.accuracy,
            "reference_accuracy": summary.reference_accuracy,
            "least_cosine": summary.least_cosine,
        });
        print(format!("{object:#}\n"))?;
    } else {
        let _ = writeln!(
            summary.text,
            "{}{}{simulated} cycles per inference ({predicted} predicted), {:.2} us modelled at {:.1} GHz\n\
             {} tiles compute, fullest tile {peak} bytes, compiled in {compile_seconds:.2} s, \
             simulated in {simulate_seconds:.2} s",
            conversions_text(&conversions),
            summary
                .checked
                .as_ref()
                .map_or(String::new(), Checked::text),
            timing::seconds(simulated) * 1e6,
            timing::CLOCK_HZ as f64 / 1e9,
            summary.tiles_computing,
        );
        if let Some(report) = &summary.report {
            summary.text.push_str(&args.profile.text(report));
        }
        print(&summary.text)?;
    }
    if let Some(wrong) = summary.wrong {
        return Err(Failure::Internal(format!(
            "{wrong}; this is a fault of ipucc, please report it with the model"
        )));
    }
    if summary.checked.is_some_and(|checked| !checked.ok()) {
        Err(Failure::Reported)
    } else {
        Ok(())
    }
}

/// Bytes of the fullest tile's image and bindings.
fn sram_peak(package: &Package) -> u32 {
    package
        .images
        .iter()
        .map(|image| {
            let blob = |index: u32| {
                package
                    .blobs
                    .get(index as usize)
                    .map_or(0, |b| b.len() as u32)
            };
            image
                .segments
                .iter()
                .map(|segment| blob(segment.blob))
                .sum()
        })
        .max()
        .unwrap_or(0)
}

#[derive(Default)]
struct Summary {
    text: String,
    cycles: Vec<u64>,
    /// Of the last run.
    report: Option<RunReport>,
    /// How the first run differed from the prediction.
    wrong: Option<String>,
    outputs: Vec<serde_json::Value>,
    /// Inputs with elements beyond their device type, and how many.
    saturated: IndexMap<String, usize>,
    tiles_computing: usize,
    accuracy: Option<f64>,
    reference_accuracy: Option<f64>,
    /// Of the first output's rows with the answers'.
    least_cosine: Option<f64>,
    checked: Option<Checked>,
}

/// What a checked run is compared with.
struct Judge {
    /// The model in the precision that was asked for.
    source: Module,
    /// The module that was planned.
    planned: Module,
    observations: Vec<Observation>,
}

/// What the comparisons of all runs found.
#[derive(Default)]
struct Checked {
    /// Of the first run that has a wrong value, else of the last one; in program order.
    operations: Vec<Verdict>,
    /// Outputs against a whole evaluation of the model, of the same run.
    outputs: Vec<Verdict>,
}

impl Checked {
    fn ok(&self) -> bool {
        self.operations.iter().chain(&self.outputs).all(|v| v.ok)
    }

    fn json(&self) -> serde_json::Value {
        let entry = |v: &Verdict| {
            json!({
                "name": v.name, "operations": v.operations, "origin": v.origin,
                "error": v.error, "bound": v.bound, "element": v.element, "ok": v.ok,
            })
        };
        let list = |all: &[Verdict]| all.iter().map(entry).collect::<Vec<_>>();
        json!({"operations": list(&self.operations), "whole_model": list(&self.outputs)})
    }

    fn text(&self) -> String {
        let mut text = String::new();
        let wrong: Vec<&Verdict> = self.operations.iter().filter(|v| !v.ok).collect();
        if let Some(first) = wrong.first() {
            let node = match &first.origin {
                Some(origin) => format!(", from node `{origin}`"),
                None => String::new(),
            };
            let _ = writeln!(
                text,
                "WRONG: `%{}` ({}{node}) is the first value that diverges: element {} is off by \
                 {:.3e}, bound there {:.3e}; {} of {} compared values are wrong",
                first.name,
                first.operations.join(", "),
                first.element,
                first.error,
                first.bound,
                wrong.len(),
                self.operations.len()
            );
        } else {
            let ratio = |v: &Verdict| {
                if v.bound > 0.0 {
                    v.error / v.bound
                } else {
                    0.0
                }
            };
            let closest = self.operations.iter().map(ratio).fold(0.0, f64::max);
            let _ = writeln!(
                text,
                "checked operation by operation: {} values within their bounds, the closest at \
                 {closest:.2} of its bound",
                self.operations.len()
            );
        }
        for verdict in self.outputs.iter().filter(|v| !v.ok) {
            let _ = writeln!(
                text,
                "WRONG: {} differs from the whole model's by {:.3e}, bound there {:.3e}",
                verdict.name, verdict.error, verdict.bound
            );
        }
        text
    }
}

struct Runner<'r> {
    args: &'r Args,
    session: &'r mut Session,
    judge: Option<&'r Judge>,
}

impl Runner<'_> {
    fn execute(
        &mut self,
        inputs: &IndexMap<String, HostTensor>,
        summary: &mut Summary,
    ) -> Outcome<IndexMap<String, HostTensor>> {
        let observations = self.judge.map_or(&[][..], |judge| &judge.observations);
        let outcome = self.session.run_observed(inputs, observations);
        let outcome = outcome.map_err(|error| match error {
            SessionError::Failed(failure) => {
                let tile = failure.tile.map_or(u16::MAX, |tile| tile.0);
                let place = self.session.package().map.describe(tile, failure.pc);
                let place = match place.as_str() {
                    "" => String::new(),
                    place => format!(" (at {place})"),
                };
                Failure::Internal(format!("the program failed: {failure}{place}"))
            }
            other => Failure::user(other.to_string()),
        })?;
        summary.cycles.push(outcome.cycles);
        if summary.wrong.is_none() {
            summary.wrong = outcome.misprediction(self.session.package());
        }
        // Tiles that do at least a quarter of the mean work.
        let turns: Vec<u64> = outcome
            .report
            .tiles
            .iter()
            .map(|tile| tile.worker_turns)
            .collect();
        let mean = turns.iter().sum::<u64>() as f64 / turns.len().max(1) as f64;
        summary.tiles_computing = turns
            .iter()
            .filter(|&&turns| turns > 0 && turns as f64 >= mean / 4.0)
            .count();
        for (name, count) in &outcome.saturated {
            if summary.saturated.insert(name.clone(), *count).is_none() {
                let device = self.session.package().inputs[name].device;
                let _ = writeln!(
                    summary.text,
                    "input {name}: {count} elements are beyond the largest {device} and became it"
                );
            }
        }
        if let Some(judge) = self.judge {
            let checked = self.check(judge, inputs, &outcome)?;
            // The first run that is wrong is the one to look at.
            if summary.checked.as_ref().is_none_or(Checked::ok) {
                summary.checked = Some(checked);
            }
        }
        summary.report = Some(outcome.report);
        Ok(outcome.outputs)
    }

    fn check(
        &self,
        judge: &Judge,
        inputs: &IndexMap<String, HostTensor>,
        outcome: &ipucc_runtime::Outcome,
    ) -> Outcome<Checked> {
        let failed = |error: ipucc_tensor::interp::EvalError| Failure::user(error.to_string());
        let tensors = check::tensors(&judge.source, inputs).map_err(failed)?;
        Ok(Checked {
            operations: check::operations(&judge.planned, &tensors, &outcome.observed)
                .map_err(failed)?,
            outputs: check::outputs(&judge.source, &tensors, &outcome.outputs).map_err(failed)?,
        })
    }

    fn once(&mut self) -> Outcome<Summary> {
        let mut given: IndexMap<String, HostTensor> = IndexMap::new();
        for (name, path) in &self.args.input {
            if given
                .insert(name.clone(), arrays::read_named(name, path)?)
                .is_some()
            {
                return Err(Failure::user(format!("--input {name} is given twice")));
            }
        }
        let mut inputs = IndexMap::new();
        for (index, (name, binding)) in self.session.package().inputs.iter().enumerate() {
            let tensor = match given.shift_remove(name) {
                Some(tensor) => tensor,
                None => random(binding.host, &binding.shape, self.args.seed + index as u64),
            };
            inputs.insert(name.clone(), tensor);
        }
        if let Some(name) = given.keys().next() {
            return Err(arrays::no_such_input(
                self.session.package(),
                "--input",
                name,
            ));
        }
        let mut summary = Summary::default();
        let bar = progress::work("simulating", self.args.quiet);
        let outputs = self.execute(&inputs, &mut summary);
        bar.finish_and_clear();
        let outputs = outputs?;
        for (name, tensor) in &outputs {
            let mut entry = json!({
                "name": name, "shape": tensor.shape, "type": tensor.element.to_string(),
            });
            let _ = write!(
                summary.text,
                "{name}: {} {:?}",
                tensor.element, tensor.shape
            );
            let verdict = summary.checked.as_ref().and_then(|checked| {
                let wrong = checked.operations.iter().find(|v| !v.ok);
                let whole = checked.outputs.iter().find(|v| v.name == *name)?;
                Some((whole, wrong.is_none() && whole.ok))
            });
            if let Some((whole, ok)) = verdict {
                entry["error"] = json!(whole.error);
                entry["bound"] = json!(whole.bound);
                entry["ok"] = json!(ok);
                let _ = write!(
                    summary.text,
                    ": largest error {:.3e}, bound there {:.3e}, {}",
                    whole.error,
                    whole.bound,
                    if ok { "ok" } else { "WRONG" }
                );
            } else {
                let _ = write!(summary.text, " = {}", preview(tensor));
            }
            summary.text.push('\n');
            summary.outputs.push(entry);
        }
        for (name, path) in &self.args.output {
            let Some(tensor) = outputs.get(name) else {
                return Err(Failure::user(format!(
                    "--output {name}: the model has no such output"
                )));
            };
            super::write_file(Path::new(path), &npy::write(tensor))?;
        }
        Ok(summary)
    }

    fn rows(&mut self) -> Outcome<Summary> {
        let (arrays, rows) = arrays::by_name(self.session.package(), &self.args.inputs)?;
        let labels = match &self.args.labels {
            Some(path) => Some(read_array(&path.display().to_string())?),
            None => None,
        };
        let answers = match &self.args.answers {
            Some(path) => Some(read_array(&path.display().to_string())?),
            None => None,
        };
        let bar = progress::rows(rows, self.args.quiet);
        let mut summary = Summary::default();
        let mut found = Vec::new();
        for row in 0..rows {
            let mut inputs = IndexMap::new();
            for (name, binding) in &self.session.package().inputs {
                let Some(array) = arrays.get(name) else {
                    return Err(Failure::user(format!(
                        "input `{name}` is not given; hint: --inputs {name}=FILE"
                    )));
                };
                let size = array.bytes.len() / rows.max(1);
                let tensor = HostTensor {
                    element: array.element,
                    shape: binding.shape.clone(),
                    bytes: array.bytes[row * size..(row + 1) * size].to_vec(),
                };
                inputs.insert(name.clone(), tensor);
            }
            let outputs = self.execute(&inputs, &mut summary)?;
            if let Some((_, tensor)) = outputs.first() {
                found.push(floats(tensor));
            }
            bar.inc(1);
        }
        bar.finish_and_clear();
        let _ = writeln!(summary.text, "{rows} rows through one loaded program");
        let theirs = match answers {
            Some(answers) => Some(by_row(&answers, rows, "--answers")?),
            None => None,
        };
        if let Some(labels) = labels {
            let labels = by_row(&labels, rows, "--labels")?;
            let right = |all: &[Vec<f64>]| {
                let pairs = all.iter().zip(&labels);
                pairs
                    .filter(|(row, label)| label.first() == Some(&(argmax(row) as f64)))
                    .count()
            };
            let share = |count: usize| count as f64 / rows.max(1) as f64;
            let ours = right(&found);
            summary.accuracy = Some(share(ours));
            let percent = 100.0 * share(ours);
            let _ = write!(summary.text, "accuracy {percent:.2} % ({ours} of {rows})");
            if let Some(theirs) = &theirs {
                let count = right(theirs);
                summary.reference_accuracy = Some(share(count));
                let percent = 100.0 * share(count);
                let _ = write!(
                    summary.text,
                    ", onnxruntime {percent:.2} % ({count} of {rows})"
                );
            }
            summary.text.push('\n');
        }
        if let Some(theirs) = &theirs {
            if theirs.first().map(Vec::len) != found.first().map(Vec::len) {
                return Err(Failure::user(
                    "--answers: rows of another length than the first output's",
                ));
            }
            let pairs = || found.iter().zip(theirs);
            let worst = pairs()
                .flat_map(|(a, b)| a.iter().zip(b).map(|(a, b)| (a - b).abs()))
                .fold(0.0, f64::max);
            let least = pairs().map(|(a, b)| cosine(a, b)).fold(1.0, f64::min);
            summary.least_cosine = Some(least);
            let _ = writeln!(
                summary.text,
                "against the answers: largest difference {worst:.2e}, least cosine {least:.7}"
            );
        }
        Ok(summary)
    }
}
