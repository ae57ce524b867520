//! `ipucc run`: compile a model, or load a package, and run it on the simulator.

use super::{Failure, Outcome, print, read};
use clap::Args as ClapArgs;
use indexmap::IndexMap;
use indicatif::{ProgressBar, ProgressStyle};
use ipucc::model::{self, Options};
use ipucc::npy;
use ipucc_chip::{Assumptions, Chip, HostType, ScalarType, timing};
use ipucc_machine::package::Package;
use ipucc_runtime::{HostTensor, Session, SessionError, file};
use ipucc_tensor::interp::{self, Tensor};
use ipucc_tensor::{Module, TensorType};
use ipucc_tile::schedule::AbstainMode;
use serde_json::json;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Compile a model (.ir, .onnx) or load a package (.ipupkg), and run it on the simulator.
#[derive(ClapArgs)]
pub struct Args {
    /// The model or package.
    model: PathBuf,
    #[command(flatten)]
    compile: CompileArgs,
    /// An input from a .npy file; inputs that are not given are random.
    #[arg(long = "input", value_name = "NAME=FILE", value_parser = pair)]
    input: Vec<(String, String)>,
    /// Where to write an output as .npy.
    #[arg(long = "output", value_name = "NAME=FILE", value_parser = pair)]
    output: Vec<(String, String)>,
    /// Run every row of the first axis of these arrays through one loaded program.
    #[arg(long = "inputs", value_name = "NAME=FILE", value_parser = pair)]
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
    /// Print one JSON object instead of text.
    #[arg(long)]
    json: bool,
    /// Print results only, no progress.
    #[arg(long, short)]
    quiet: bool,
}

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
    /// How tiles without work in a phase pass its barrier.
    #[arg(long, value_name = "MODE", default_value = "per-phase", value_parser = ["per-phase", "advance"])]
    pub abstain: String,
    /// Threads (default: all cores).
    #[arg(short = 'j', long = "jobs", value_name = "N")]
    pub jobs: Option<usize>,
}

impl CompileArgs {
    /// The options, checked.
    pub fn options(&self) -> Outcome<Options> {
        if let Some(jobs) = self.jobs {
            if jobs == 0 {
                return Err(Failure::user("-j takes at least 1"));
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
        Ok(Options {
            chip,
            abstain,
            assumptions: self.assumptions()?,
        })
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

/// `NAME=VALUE`.
pub fn pair(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() && !value.is_empty() => {
            Ok((name.to_owned(), value.to_owned()))
        }
        _ => Err("expected NAME=VALUE".into()),
    }
}

/// Reads a model file into a module; faults are printed as they are.
pub fn read_model(path: &Path, compile: &CompileArgs) -> Outcome<Module> {
    let bytes = read(path)?;
    model::read(path, &bytes, &compile.dims()?).map_err(|message| {
        super::complain(&format!("{}\n", message.trim_end()));
        Failure::Reported
    })
}

fn read_array(path: &str) -> Outcome<HostTensor> {
    let bytes = read(Path::new(path))?;
    npy::read(&bytes).map_err(|reason| Failure::user(format!("{path}: {reason}")))
}

/// Runs the command.
pub fn run(args: Args) -> Outcome {
    let options = args.compile.options()?;
    let started = Instant::now();
    let is_package = args
        .model
        .extension()
        .is_some_and(|extension| extension == "ipupkg");
    let (package, module) = if is_package {
        let package = file::read(&args.model).map_err(|error| Failure::user(error.to_string()))?;
        (package, None)
    } else {
        let module = read_model(&args.model, &args.compile)?;
        let model = model::compile(&module, &options)
            .map_err(|error| Failure::user(format!("{}: {error}", args.model.display())))?;
        (model.compiled.package, Some(model.module))
    };
    let compile_seconds = started.elapsed().as_secs_f64();
    let predicted = package.predicted.cycles;
    let peak = sram_peak(&package);
    if args.check && module.is_none() {
        return Err(Failure::user(
            "--check needs the model; a package holds no weights' sources",
        ));
    }
    let mut session = Session::new(package, options.assumptions, Default::default())
        .map_err(|error| Failure::Internal(error.to_string()))?;
    let mut run = Runner {
        args: &args,
        session: &mut session,
        module: module.as_ref(),
    };
    let started = Instant::now();
    let mut summary = if args.inputs.is_empty() {
        run.once()?
    } else {
        run.rows()?
    };
    let simulate_seconds = started.elapsed().as_secs_f64();

    let simulated = summary.cycles.iter().copied().max().unwrap_or(0);
    if args.json {
        let object = json!({
            "predicted_cycles": predicted,
            "simulated_cycles": simulated,
            "tiles_computing": summary.tiles_computing,
            "sram_peak_bytes": peak,
            "compile_seconds": compile_seconds,
            "simulate_seconds": simulate_seconds,
            "outputs": summary.outputs,
            "accuracy": summary.accuracy,
            "reference_accuracy": summary.reference_accuracy,
        });
        print(format!("{object:#}\n"))?;
    } else {
        let _ = writeln!(
            summary.text,
            "{simulated} cycles per inference ({predicted} predicted), {:.2} us modelled at {:.1} GHz\n\
             {} tiles compute, fullest tile {peak} bytes, compiled in {compile_seconds:.2} s, \
             simulated in {simulate_seconds:.2} s",
            timing::seconds(simulated) * 1e6,
            timing::CLOCK_HZ as f64 / 1e9,
            summary.tiles_computing,
        );
        print(&summary.text)?;
    }
    if let Some(wrong) = summary.wrong {
        return Err(Failure::Internal(format!(
            "{wrong}; this is a fault of ipucc, please report it with the model"
        )));
    }
    if summary.failed {
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
    /// How the first run differed from the prediction.
    wrong: Option<String>,
    outputs: Vec<serde_json::Value>,
    tiles_computing: usize,
    accuracy: Option<f64>,
    reference_accuracy: Option<f64>,
    failed: bool,
}

struct Runner<'r> {
    args: &'r Args,
    session: &'r mut Session,
    module: Option<&'r Module>,
}

impl Runner<'_> {
    fn execute(
        &mut self,
        inputs: &IndexMap<String, HostTensor>,
        summary: &mut Summary,
    ) -> Outcome<IndexMap<String, HostTensor>> {
        let outcome = self.session.run(inputs).map_err(|error| match error {
            SessionError::Failed(failure) => {
                Failure::Internal(format!("the program failed: {failure}"))
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
        Ok(outcome.outputs)
    }

    fn once(&mut self) -> Outcome<Summary> {
        let mut given: IndexMap<String, HostTensor> = IndexMap::new();
        for (name, path) in &self.args.input {
            given.insert(name.clone(), read_array(path)?);
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
            let known: Vec<&str> = self
                .session
                .package()
                .inputs
                .keys()
                .map(String::as_str)
                .collect();
            return Err(Failure::user(format!(
                "--input {name}: the model has no such input; it has {}",
                known.join(", ")
            )));
        }
        let mut summary = Summary::default();
        let outputs = self.execute(&inputs, &mut summary)?;
        let references = match (self.args.check, self.module) {
            (true, Some(module)) => Some(reference(module, &inputs)?),
            _ => None,
        };
        for (name, tensor) in &outputs {
            let mut entry = json!({
                "name": name, "shape": tensor.shape, "type": tensor.element.to_string(),
            });
            let _ = write!(
                summary.text,
                "{name}: {} {:?}",
                tensor.element, tensor.shape
            );
            if let Some((value, bound)) = references.as_ref().and_then(|all| all.get(name)) {
                let (error, limit, ok) = compare(tensor, value, bound);
                entry["error"] = json!(error);
                entry["bound"] = json!(limit);
                entry["ok"] = json!(ok);
                summary.failed |= !ok;
                let _ = write!(
                    summary.text,
                    ": largest error {error:.3e}, bound there {limit:.3e}, {}",
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
        let mut arrays = IndexMap::new();
        for (name, path) in &self.args.inputs {
            arrays.insert(name.clone(), read_array(path)?);
        }
        let rows = arrays
            .values()
            .next()
            .and_then(|array| array.shape.first())
            .copied();
        let rows = rows.unwrap_or(0) as usize;
        let labels = match &self.args.labels {
            Some(path) => Some(read_array(&path.display().to_string())?),
            None => None,
        };
        let answers = match &self.args.answers {
            Some(path) => Some(read_array(&path.display().to_string())?),
            None => None,
        };
        let bar = if self.args.quiet || self.args.json {
            ProgressBar::hidden()
        } else {
            let style = ProgressStyle::with_template("{bar:40} {pos}/{len} rows")
                .unwrap_or_else(|_| ProgressStyle::default_bar());
            ProgressBar::new(rows as u64).with_style(style)
        };
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
        if let Some(labels) = labels {
            let labels = floats(&labels);
            if labels.len() != rows {
                return Err(Failure::user(format!(
                    "{} labels for {rows} rows",
                    labels.len()
                )));
            }
            let right = |all: &[Vec<f64>]| {
                all.iter()
                    .zip(&labels)
                    .filter(|(row, label)| argmax(row) as f64 == **label)
                    .count()
            };
            let ours = right(&found);
            let share = |count: usize| count as f64 / rows.max(1) as f64;
            summary.accuracy = Some(share(ours));
            let _ = write!(
                summary.text,
                "accuracy {:.2} % ({ours} of {rows})",
                100.0 * share(ours)
            );
            if let Some(answers) = answers {
                let values = floats(&answers);
                let width = values.len() / rows.max(1);
                let theirs: Vec<Vec<f64>> =
                    values.chunks(width.max(1)).map(<[f64]>::to_vec).collect();
                let count = right(&theirs);
                summary.reference_accuracy = Some(share(count));
                let worst = found
                    .iter()
                    .flatten()
                    .zip(theirs.iter().flatten())
                    .map(|(a, b)| (a - b).abs())
                    .fold(0.0, f64::max);
                let _ = write!(
                    summary.text,
                    ", onnxruntime {:.2} % ({count} of {rows}), largest difference {worst:.2e}",
                    100.0 * share(count)
                );
            }
            summary.text.push('\n');
        }
        Ok(summary)
    }
}

fn argmax(row: &[f64]) -> usize {
    let mut best = 0;
    for (index, value) in row.iter().enumerate() {
        if *value > row[best] {
            best = index;
        }
    }
    best
}

/// A tensor of the interpreter from a host buffer; 64-bit types narrow.
pub fn to_tensor(host: &HostTensor, ty: &TensorType) -> Outcome<Tensor> {
    Ok(match host.element {
        HostType::I64 => {
            let values: Vec<i64> = host
                .bytes
                .as_chunks::<8>()
                .0
                .iter()
                .map(|chunk| i64::from_le_bytes(*chunk))
                .collect();
            Tensor::from_ints(ty.clone(), &values)
        }
        HostType::F64 => {
            let values: Vec<f32> = floats(host).iter().map(|&v| v as f32).collect();
            Tensor::from_floats(ty.clone(), &values)
        }
        _ => Tensor {
            ty: ty.clone(),
            data: host.bytes.clone(),
        },
    })
}

/// Reference values of an output with the bound of every element.
type Judged = (Vec<f32>, Vec<f32>);

/// Reference results with the bound of every element, by output.
fn reference(
    module: &Module,
    inputs: &IndexMap<String, HostTensor>,
) -> Outcome<IndexMap<String, Judged>> {
    let Some(function) = module.entry() else {
        return Err(Failure::user("the module has no entry function"));
    };
    let mut tensors = IndexMap::new();
    for port in &function.params {
        if let Some(host) = inputs.get(&port.name) {
            tensors.insert(port.name.clone(), to_tensor(host, function.ty(port.value))?);
        }
    }
    let values = interp::eval_all(module, function, &tensors)
        .map_err(|error| Failure::user(error.to_string()))?;
    // Bounds of operations are carried to their readers: an error of an operand reaches the result
    // at most through the operation itself, which the interpreter evaluates on shifted operands.
    let mut bounds: IndexMap<ipucc_tensor::Value, Vec<f32>> = IndexMap::new();
    for &inst in &function.body {
        let data = &function.insts[inst];
        let result = data.results[0];
        let Some(value) = values.get(&result) else {
            continue;
        };
        let operands: Vec<&Tensor> = data
            .operands
            .iter()
            .filter_map(|operand| values.get(operand))
            .collect();
        let mut bound = interp::bound(&data.op, &operands, value);
        let carried = interp::carried(&data.op, &operands, value, |index| {
            data.operands
                .get(index)
                .and_then(|operand| bounds.get(operand))
        });
        for (own, more) in bound.iter_mut().zip(carried) {
            *own = (*own * *own + more * more).sqrt();
        }
        bounds.insert(result, bound);
    }
    Ok(function
        .results
        .iter()
        .filter_map(|port| {
            let value = values.get(&port.value)?.to_floats();
            let bound = bounds
                .get(&port.value)
                .cloned()
                .unwrap_or_else(|| vec![0.0; value.len()]);
            Some((port.name.clone(), (value, bound)))
        })
        .collect())
}

/// Largest error relative to its bound: (error, bound there, all within).
fn compare(found: &HostTensor, wanted: &[f32], bounds: &[f32]) -> (f64, f64, bool) {
    let mut worst = (0.0, 0.0, -1.0);
    let mut ok = true;
    for ((value, &want), &bound) in floats(found).into_iter().zip(wanted).zip(bounds) {
        let (want, bound) = (f64::from(want), f64::from(bound));
        let error = if value == want || value.is_nan() && want.is_nan() {
            0.0
        } else {
            (value - want).abs()
        };
        ok &= error <= bound;
        let ratio = if bound > 0.0 { error / bound } else { error };
        if ratio > worst.2 || error.is_nan() {
            worst = (error, bound, ratio);
        }
    }
    (worst.0, worst.1, ok && floats(found).len() == wanted.len())
}

/// The elements of a host buffer as f64.
pub fn floats(tensor: &HostTensor) -> Vec<f64> {
    let bytes = &tensor.bytes;
    match tensor.element {
        HostType::F64 => bytes
            .as_chunks::<8>()
            .0
            .iter()
            .map(|c| f64::from_le_bytes(*c))
            .collect(),
        HostType::I64 => bytes
            .as_chunks::<8>()
            .0
            .iter()
            .map(|c| i64::from_le_bytes(*c) as f64)
            .collect(),
        HostType::Bool => bytes.iter().map(|&byte| f64::from(byte)).collect(),
        HostType::Device(element) => {
            let count = bytes.len() / element.bytes() as usize;
            let ty = TensorType::new(element, [count as u32]);
            let tensor = Tensor {
                ty,
                data: bytes.clone(),
            };
            if element.is_float() {
                tensor.to_floats().iter().map(|&v| f64::from(v)).collect()
            } else {
                tensor.to_ints().iter().map(|&v| v as f64).collect()
            }
        }
    }
}

fn preview(tensor: &HostTensor) -> String {
    let values = floats(tensor);
    let shown: Vec<String> = values
        .iter()
        .take(6)
        .map(|value| format!("{value:.5}"))
        .collect();
    format!(
        "[{}{}]",
        shown.join(", "),
        if values.len() > 6 { ", ..." } else { "" }
    )
}

/// Seeded random data: uniform in [-1, 1) for floats, 0 or 1 for truth values, 0..100 for integers.
pub fn random(host: HostType, shape: &[u32], seed: u64) -> HostTensor {
    let count: u64 = shape.iter().map(|&extent| u64::from(extent)).product();
    let mut bytes = Vec::new();
    for index in 0..count {
        let mut z = seed
            .wrapping_mul(0xd134_2543_de82_ef95)
            .wrapping_add((index + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^= z >> 31;
        let unit = (z >> 40) as f32 / (1u64 << 23) as f32 - 1.0;
        let whole = (z >> 33) % 100;
        match host {
            HostType::F64 => bytes.extend(f64::from(unit).to_le_bytes()),
            HostType::I64 => bytes.extend((whole as i64).to_le_bytes()),
            HostType::Bool | HostType::Device(ScalarType::I1) => bytes.push((z >> 63) as u8),
            HostType::Device(element) if element.is_float() => {
                let ty = TensorType::new(element, []);
                bytes.extend(Tensor::from_floats(ty, &[unit]).data);
            }
            HostType::Device(element) => {
                bytes.extend(&whole.to_le_bytes()[..element.bytes() as usize]);
            }
        }
    }
    HostTensor {
        element: host,
        shape: shape.to_vec(),
        bytes,
    }
}
