//! A loaded program runs again with the same result: what a run leaves in memory is no input of the
//! next one.

use indexmap::IndexMap;
use ipucc::host;
use ipucc::model::{Options, compile};
use ipucc::stage::UNWATCHED;
use ipucc_chip::Chip;
use ipucc_runtime::Session;
use ipucc_tensor::text;
use tests::random_graph::{Operations, random_graph};

fn runs_twice(module: &ipucc_tensor::Module, tiles: u16, seed: u64) -> Option<bool> {
    let options = Options::new(Chip::first(tiles).expect("tiles"));
    let package = compile(module, &options, UNWATCHED).ok()?.compiled.package;
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
    let first = session.run(&inputs).expect("runs").outputs;
    let second = session.run(&inputs).expect("runs").outputs;
    Some(first == second)
}

/// Both operands of the product come from the host, and their rows are padded.
#[test]
fn padding_of_inputs_is_zero_in_every_run() {
    let source = "module {
  func @main(%x: tensor<5x33xf32>, %z: tensor<8x33xf32>) -> (%y: tensor<5x8xf32>) {
    %0 = dot %x, %z {lhs_contract = [1], rhs_contract = [1], accumulate = f32} : tensor<5x8xf32>
    %1 = exp %0 : tensor<5x8xf32>
    %2 = tanh %1 : tensor<5x8xf32>
    %3 = dot %2, %2 {lhs_contract = [1], rhs_contract = [1], accumulate = f32} : tensor<5x5xf32>
    %4 = dot %3, %2 {lhs_contract = [1], rhs_contract = [0], accumulate = f32} : tensor<5x8xf32>
    return %4
  }
}
";
    let module = text::parse(source).expect("parses");
    for tiles in [1, 2, 4] {
        assert_eq!(runs_twice(&module, tiles, 3), Some(true), "{tiles} tiles");
    }
}

#[test]
fn random_models_run_twice() {
    let mut done = 0;
    for seed in 0..40 {
        let module = random_graph(seed, Operations::Planned);
        match runs_twice(&module, [1, 4, 33][seed as usize % 3], seed) {
            Some(same) => {
                assert!(same, "seed {seed}\n{}", text::print(&module));
                done += 1;
            }
            None => continue,
        }
    }
    assert!(done > 20, "{done}");
}
