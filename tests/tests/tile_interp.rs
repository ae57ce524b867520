//! What the planner makes, on the interpreter of tile programs: every value is within its bound of
//! the tensor interpreter's, and the verifier of tile programs finds nothing.

use indexmap::IndexMap;
use ipucc::model::{Options, Plan, plan};
use ipucc::{check, host};
use ipucc_chip::{Chip, HostType};
use ipucc_runtime::HostTensor;
use ipucc_tensor::interp::Tensor;
use ipucc_tensor::{Module, text};
use ipucc_tile::interp::{self, Outcome};
use ipucc_tile::verify::verify;
use rayon::prelude::*;
use tests::random_graph::{Operations, random_graph};

const TILES: &[u16] = &[1, 4, 64, 1472];

fn host_tensor(tensor: &Tensor) -> HostTensor {
    HostTensor {
        element: HostType::Device(tensor.ty.element),
        shape: tensor.ty.shape.to_vec(),
        bytes: tensor.data.clone(),
    }
}

fn host_tensors(tensors: &IndexMap<String, Tensor>) -> IndexMap<String, HostTensor> {
    let named = tensors.iter();
    named
        .map(|(name, tensor)| (name.clone(), host_tensor(tensor)))
        .collect()
}

fn inputs(module: &Module, seed: u64) -> IndexMap<String, HostTensor> {
    let function = module.entry().expect("main");
    let params = function.params.iter().enumerate();
    params
        .map(|(index, port)| {
            let shape = &function.ty(port.value).shape;
            let tensor = host::random(port.host, shape, seed + index as u64);
            (port.name.clone(), tensor)
        })
        .collect()
}

/// Verifies and executes a plan and compares every value that it holds.
fn judge(module: &Module, plan: &Plan, seed: u64) -> Result<Outcome, String> {
    let faults = verify(&plan.program);
    if let Some(fault) = faults.first() {
        return Err(format!("verifier: {fault}, {} in all", faults.len()));
    }
    let hosts = inputs(module, seed);
    let tensors = check::tensors(module, &hosts).expect("inputs");
    let outcome = interp::run(&plan.program, &tensors).map_err(|error| error.to_string())?;
    let observed = host_tensors(&outcome.values);
    let outputs = host_tensors(&outcome.outputs);
    let operations = check::operations(&plan.module, &tensors, &observed).expect("evaluates");
    let whole = check::outputs(module, &tensors, &outputs).expect("evaluates");
    if whole.len() != module.entry().map_or(0, |function| function.results.len()) {
        return Err("an output is missing".into());
    }
    match operations.iter().chain(&whole).find(|verdict| !verdict.ok) {
        Some(verdict) => Err(format!("{verdict:?}")),
        None => Ok(outcome),
    }
}

/// Runs the models of these seeds on all numbers of tiles.
fn run(seeds: impl IntoParallelIterator<Item = u64>, operations: Operations, least: usize) {
    let fates: Vec<(u64, u16, Result<bool, String>)> = seeds
        .into_par_iter()
        .flat_map_iter(|seed| TILES.iter().map(move |&tiles| (seed, tiles)))
        .map(|(seed, tiles)| {
            let module = random_graph(seed, operations);
            let options = Options::new(Chip::first(tiles).expect("tiles"));
            let fate = match plan(&module, &options) {
                // Named, counted, and printed below.
                Err(reason) => Err(reason),
                Ok(plan) => match judge(&module, &plan, seed) {
                    Ok(_) => Ok(true),
                    Err(wrong) => {
                        println!(
                            "seed {seed}, {tiles} tiles: {wrong}\n{}",
                            text::print(&module)
                        );
                        Ok(false)
                    }
                },
            };
            (seed, tiles, fate)
        })
        .collect();
    let mut refused: IndexMap<String, usize> = IndexMap::new();
    let (mut right, mut wrong) = (0, Vec::new());
    for (seed, tiles, fate) in fates {
        match fate {
            Ok(true) => right += 1,
            Ok(false) => wrong.push((seed, tiles)),
            Err(reason) => {
                let reason = reason.split(": ").last().unwrap_or(&reason).to_owned();
                *refused.entry(reason).or_insert(0) += 1;
            }
        }
    }
    println!(
        "{right} right, {} wrong; refused: {refused:#?}",
        wrong.len()
    );
    assert!(wrong.is_empty(), "seeds and tiles: {wrong:?}");
    assert!(right >= least, "only {right} right; refused: {refused:#?}");
}

/// Graphs that are drawn: `.ci/full` asks for more through the environment.
fn count() -> u64 {
    let wanted = std::env::var("IPUCC_TILE_MODELS").ok();
    wanted.map_or(600, |text| text.parse().expect("a number"))
}

#[test]
fn planned_graphs_compute_what_the_tensor_interpreter_computes() {
    let count = count();
    // 500 graphs on four numbers of tiles: nearly nine of ten that are drawn have a plan.
    run(0..count, Operations::Planned, count as usize * 10 / 3);
}

#[test]
fn graphs_of_all_operations_are_right_or_refused_by_name() {
    let count = count() / 7;
    run(
        1_000_000..1_000_000 + count,
        Operations::All,
        count as usize / 4,
    );
}

/// Models in files: the examples and everything in tests/models.
fn files() -> Vec<std::path::PathBuf> {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut files = vec![
        root.join("examples/mlp.ir"),
        root.join("examples/digits/digits.onnx"),
    ];
    let folder = std::fs::read_dir(root.join("tests/models")).expect("tests/models");
    for entry in folder {
        let path = entry.expect("an entry").path();
        if path
            .extension()
            .is_some_and(|ending| ending == "ir" || ending == "onnx")
        {
            files.push(path);
        }
    }
    files.sort();
    files
}

#[test]
fn test_models_compute_what_the_tensor_interpreter_computes() {
    let mut right = 0;
    let mut wrong = Vec::new();
    for path in files() {
        let bytes = std::fs::read(&path).expect("reads");
        let module = ipucc::model::read(&path, &bytes, &IndexMap::new()).expect("a model");
        for &tiles in TILES {
            let options = Options::new(Chip::first(tiles).expect("tiles"));
            let name = path.file_name().unwrap_or_default().display();
            match plan(&module, &options).map(|plan| judge(&module, &plan, 1)) {
                Ok(Ok(_)) => right += 1,
                Ok(Err(reason)) => wrong.push(format!("{name}, {tiles} tiles: {reason}")),
                Err(reason) => println!("{name}, {tiles} tiles: no plan: {reason}"),
            }
        }
    }
    println!("{right} right");
    assert!(wrong.is_empty(), "{wrong:#?}");
    // All but the convolution have plans on every number of tiles.
    assert!(right >= 44, "{right}");
}

/// Every run of words matters: without one of them the verifier finds a byte that nothing wrote.
#[test]
fn a_transfer_that_is_forgotten_is_found() {
    let (mut found, mut tried) = (0, 0);
    for seed in 0..60 {
        let module = random_graph(seed, Operations::Planned);
        let options = Options::new(Chip::first(64).expect("tiles"));
        let Ok(mut plan) = plan(&module, &options) else {
            continue;
        };
        for step in &mut plan.program.steps {
            let ipucc_tile::Step::Exchange(exchange) = step else {
                continue;
            };
            let Some(transfer) = exchange.transfers.first_mut() else {
                continue;
            };
            if transfer.runs.pop().is_some() {
                tried += 1;
                break;
            }
        }
        found += usize::from(judge(&module, &plan, seed).is_err());
    }
    assert!(tried > 10 && found == tried, "{found} of {tried}");
}

/// A word that goes astray: nothing is unwritten, but the numbers are wrong.
#[test]
fn words_that_come_from_the_wrong_place_are_found() {
    let (mut found, mut tried) = (0, 0);
    for seed in 0..60 {
        let module = random_graph(seed, Operations::Planned);
        let options = Options::new(Chip::first(64).expect("tiles"));
        let Ok(mut plan) = plan(&module, &options) else {
            continue;
        };
        let program = &mut plan.program;
        let exchanges = program.steps.iter_mut().filter_map(|step| match step {
            ipucc_tile::Step::Exchange(exchange) => Some(exchange),
            _ => None,
        });
        let runs = exchanges
            .flat_map(|e| &mut e.transfers)
            .flat_map(|t| &mut t.runs);
        // The next source word instead of the first one.
        let Some(run) = runs
            .into_iter()
            .find(|run| run.words > 1 && run.dims.is_empty())
        else {
            continue;
        };
        run.words -= 1;
        let half = ipucc_tile::Run {
            words: 1,
            destinations: run
                .destinations
                .iter()
                .map(|end| ipucc_tile::Endpoint {
                    tile: end.tile,
                    word: end.word + run.words,
                })
                .collect(),
            ..run.clone()
        };
        let copied = run.clone();
        for step in &mut program.steps {
            let ipucc_tile::Step::Exchange(exchange) = step else {
                continue;
            };
            for transfer in &mut exchange.transfers {
                if transfer.runs.contains(&copied) {
                    transfer.runs.push(half.clone());
                }
            }
        }
        tried += 1;
        let fate = judge(&module, &plan, seed);
        found += usize::from(fate.is_err());
    }
    assert!(tried > 10 && found * 10 >= tried * 9, "{found} of {tried}");
}
