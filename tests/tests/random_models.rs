//! Random models, compiled and run on the simulator: every value within its bound of the
//! interpreter's, and every cycle as predicted.

use indexmap::IndexMap;
use ipucc::model::{Options, compile};
use ipucc::stage::UNWATCHED;
use ipucc::{check, host};
use ipucc_chip::Chip;
use ipucc_runtime::Session;
use ipucc_tensor::{Module, text};
use rayon::prelude::*;
use tests::random_graph::{Operations, random_graph};

/// Numbers of tiles: one, few, more than most values have rows.
const TILES: &[u16] = &[1, 3, 16, 64, 200];

/// What became of one model.
enum Fate {
    Right,
    /// The compiler says that it cannot.
    Refused(String),
    Wrong(String),
}

fn fate(seed: u64, operations: Operations) -> Fate {
    let tiles = TILES[seed as usize % TILES.len()];
    judge(&random_graph(seed, operations), tiles, seed)
}

fn judge(module: &Module, tiles: u16, seed: u64) -> Fate {
    let options = Options {
        observe: true,
        ..Options::new(Chip::first(tiles).expect("tiles"))
    };
    let model = match compile(module, &options, UNWATCHED) {
        Ok(model) => model,
        Err(reason) => return Fate::Refused(reason),
    };
    let observations = &model.compiled.observations;
    let package = model.compiled.package.clone();
    let inputs: IndexMap<String, _> = package
        .inputs
        .iter()
        .enumerate()
        .map(|(index, (name, binding))| {
            let tensor = host::random(binding.host, &binding.shape, seed + index as u64);
            (name.clone(), tensor)
        })
        .collect();
    let mut session =
        Session::new(package, options.assumptions.clone(), Default::default()).expect("loads");
    let outcome = match session.run_observed(&inputs, observations) {
        Ok(outcome) => outcome,
        Err(error) => return Fate::Wrong(error.to_string()),
    };
    if let Some(wrong) = outcome.misprediction(session.package()) {
        return Fate::Wrong(wrong);
    }
    // Inputs that nothing reads are not in the package, but the interpreter asks for them.
    let mut all = inputs.clone();
    let function = module.entry().expect("main");
    for port in &function.params {
        let shape = &function.ty(port.value).shape;
        all.entry(port.name.clone())
            .or_insert_with(|| host::random(port.host, shape, seed));
    }
    let tensors = check::tensors(module, &all).expect("inputs");
    let operations =
        check::operations(&model.module, &tensors, &outcome.observed).expect("evaluates");
    let outputs = check::outputs(module, &tensors, &outcome.outputs).expect("evaluates");
    match operations.iter().chain(&outputs).find(|v| !v.ok) {
        Some(verdict) => Fate::Wrong(format!("{verdict:?}")),
        None => Fate::Right,
    }
}

/// Runs the models of these seeds; the number of right ones.
fn run(seeds: impl IntoParallelIterator<Item = u64>, operations: Operations, least: usize) {
    let fates: Vec<(u64, Fate)> = seeds
        .into_par_iter()
        .map(|seed| (seed, fate(seed, operations)))
        .collect();
    let mut right = 0;
    let mut refused: IndexMap<String, usize> = IndexMap::new();
    let mut wrong = String::new();
    for (seed, fate) in &fates {
        match fate {
            Fate::Right => right += 1,
            Fate::Refused(reason) => {
                // Which operation it is does not matter, what stands against it does.
                let reason = reason.split(": ").last().unwrap_or(reason);
                *refused.entry(reason.to_owned()).or_insert(0) += 1;
            }
            Fate::Wrong(reason) => {
                let tiles = TILES[*seed as usize % TILES.len()];
                let model = text::print(&random_graph(*seed, operations));
                wrong.push_str(&format!("seed {seed}, {tiles} tiles: {reason}\n{model}"));
            }
        }
    }
    println!("{right} right; refused: {refused:#?}");
    assert!(wrong.is_empty(), "{wrong}");
    assert!(right >= least, "only {right} right; refused: {refused:#?}");
}

/// Models of each kind: `.ci/full` asks for more through the environment.
fn count() -> u64 {
    let wanted = std::env::var("IPUCC_RANDOM_MODELS").ok();
    wanted.map_or(100, |text| text.parse().expect("a number"))
}

#[test]
fn random_models_run_as_the_interpreter_says() {
    let count = count();
    run(0..count, Operations::Planned, count as usize * 6 / 10);
}

/// Models that were wrong once: copies that begin at odd words, transposes of squares, errors
/// carried through softmax.
#[test]
fn models_that_were_wrong_stay_right() {
    let seeds = [
        25, 56, 60, 64, 97, 577, 814, 1254, 1336, 1510, 2200, 2865, 2909,
    ];
    run(seeds.to_vec(), Operations::Planned, seeds.len());
    let seeds = [1_002_958, 1_002_980];
    run(seeds.to_vec(), Operations::All, seeds.len());
}

#[test]
fn results_may_be_parameters_and_may_be_returned_twice() {
    let text = "module {
  func @main(%x: tensor<5x6xf32>, %z: tensor<8xf16>) -> (%a: tensor<5x6xf32>, %b: tensor<5x6xf32>, %c: tensor<5x6xf32>, %d: tensor<8xf16>) {
    %y = neg %x : tensor<5x6xf32>
    return %y, %y, %x, %z
  }
}
";
    let module = text::parse(text).expect("parses");
    for tiles in [1, 4, 64] {
        match judge(&module, tiles, 1) {
            Fate::Right => {}
            Fate::Refused(reason) | Fate::Wrong(reason) => panic!("{tiles} tiles: {reason}"),
        }
    }
}

#[test]
fn what_has_no_plan_is_refused_and_never_wrong() {
    let count = count();
    run(
        1_000_000..1_000_000 + count,
        Operations::All,
        count as usize / 10,
    );
}

#[test]
fn windows_lookups_and_updates_run_as_the_interpreter_says() {
    let count = count();
    run(
        2_000_000..2_000_000 + count,
        Operations::Wide,
        count as usize * 8 / 10,
    );
}
