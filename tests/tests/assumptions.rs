//! The prediction is computed, not observed: with any timing assumption changed in the simulator
//! alone, predicted and simulated cycles differ.

use indexmap::IndexMap;
use ipucc::model::{Options, compile};
use ipucc::stage::UNWATCHED;
use ipucc_chip::assumptions::AssumptionKind;
use ipucc_chip::{Assumptions, Chip};
use ipucc_machine::package::Package;
use ipucc_runtime::{HostTensor, Session};
use ipucc_tile::schedule::AbstainMode;

const MLP: &str = include_str!("../../examples/mlp.ir");

/// Equal shares for all workers, and the f16 exponential.
const EVEN: &str = "module {
  weight @w : tensor<64x32xf32> = random(seed = 1, scale = 0.1)
  func @main(%x: tensor<48x64xf32>, %z: tensor<96x64xf16>) -> (%y: tensor<48x32xf32>, %e: tensor<96x64xf16>) {
    %w = weight @w : tensor<64x32xf32>
    %y = dot %x, %w {lhs_contract = [1], rhs_contract = [0]} : tensor<48x32xf32>
    %e = exp %z : tensor<96x64xf16>
    return %y, %e
  }
}
";

fn package(text: &str, tiles: u16, abstain: AbstainMode) -> Package {
    let module = ipucc_tensor::text::parse(text).expect("parses");
    let options = Options {
        abstain,
        ..Options::new(Chip::first(tiles).expect("tiles"))
    };
    compile(&module, &options, UNWATCHED)
        .expect("compiles")
        .compiled
        .package
}

/// True if a run under these assumptions is what the package predicts.
fn as_predicted(package: &Package, assumptions: Assumptions) -> bool {
    let mut session =
        Session::new(package.clone(), assumptions, Default::default()).expect("loads");
    let inputs: IndexMap<String, HostTensor> = package
        .inputs
        .iter()
        .map(|(name, binding)| {
            let bytes = vec![0; (binding.elements() * u64::from(binding.host.bytes())) as usize];
            let tensor = HostTensor {
                element: binding.host,
                shape: binding.shape.clone(),
                bytes,
            };
            (name.clone(), tensor)
        })
        .collect();
    session
        .run(&inputs)
        .is_ok_and(|outcome| outcome.misprediction(package).is_none())
}

/// Timing assumptions that no compiled program touches yet, and why; `runtime/sim/tests/timing.rs` and
/// `host.rs` change each of them under a program by hand.
const UNTOUCHED: &[(&str, &str)] = &[
    ("sup_get", "supervisor programs read no CSR"),
    (
        "sup_not_taken",
        "supervisor programs have no conditional branches",
    ),
    ("sup_store", "supervisor programs store nothing"),
    ("sup_recv_wake", "no host phases are compiled"),
    ("host_grant", "no host phases are compiled"),
    ("host_read_latency", "no host phases are compiled"),
    ("host_poll", "no host phases are compiled"),
    (
        "branch_misaligned_turn",
        "generated code aligns every branch target",
    ),
];

/// Other values of a timing assumption: a little more, and so much more that no wait hides it.
fn changed(name: &str, value: &str) -> Vec<Assumptions> {
    let candidates: Vec<String> = match value.parse::<u32>() {
        Ok(number) => vec![(number + 3).to_string(), (number + 20_000).to_string()],
        Err(_) => Assumptions::TABLE
            .iter()
            .filter(|info| info.name == name)
            .flat_map(|info| info.alternatives.split([',', ';']))
            .map(|text| text.trim().to_owned())
            .collect(),
    };
    candidates
        .iter()
        .filter(|candidate| *candidate != value)
        .filter_map(|candidate| {
            let mut assumptions = Assumptions::default();
            assumptions
                .set(name, candidate)
                .is_ok()
                .then_some(assumptions)
        })
        .collect()
}

#[test]
fn every_timing_assumption_of_the_simulator_matters() {
    let packages = [
        package(MLP, 64, AbstainMode::PerPhase),
        package(MLP, 900, AbstainMode::PerPhase),
        package(EVEN, 8, AbstainMode::PerPhase),
        package(EVEN, 1, AbstainMode::PerPhase),
    ];
    for package in &packages {
        assert!(as_predicted(package, Assumptions::default()));
    }
    let mut silent = Vec::new();
    for (info, value) in Assumptions::default().iter() {
        if info.kind != AssumptionKind::Timing
            || UNTOUCHED.iter().any(|(name, _)| *name == info.name)
        {
            continue;
        }
        let noticed = changed(info.name, &value).iter().any(|assumptions| {
            packages
                .iter()
                .any(|package| !as_predicted(package, assumptions.clone()))
        });
        if !noticed {
            silent.push(info.name.to_owned());
        }
    }
    assert!(
        silent.is_empty(),
        "changing these changes nothing: {silent:?}"
    );
}
