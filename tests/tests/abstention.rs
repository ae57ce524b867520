//! Abstention on the simulator: subgraphs on disjoint tiles overlap in `advance` mode.

use indexmap::IndexMap;
use ipucc::host;
use ipucc::model::{Options, compile_program};
use ipucc::stage::UNWATCHED;
use ipucc_chip::Chip;
use ipucc_runtime::Session;
use ipucc_tile::schedule::AbstainMode;
use ipucc_tile::{text, verify::verify};
use std::fmt::Write as _;

const HALF: u16 = 8;
const TILES: u16 = 2 * HALF;

/// A program by its text: values of one row per tile of a half, and steps.
#[derive(Default)]
struct Draft {
    values: String,
    bindings: String,
    steps: String,
    count: usize,
}

impl Draft {
    /// A value of `columns` columns, one row on each tile from `first` on.
    fn value(&mut self, first: u16, columns: u32, role: &str) -> usize {
        let at = self.count;
        self.count += 1;
        let name = match role {
            "temporary" => "temporary".to_owned(),
            _ => format!("{role} \"v{at}\""),
        };
        let _ = writeln!(
            self.values,
            "value %v{at} \"v{at}\" : {HALF}x{columns}xf32 cuts [{HALF}/1, 1/1] copies 1 tiles [{first}..{}] \
             layout row(2) order [0, 1] memory any align 16 tail 8 padding anything {name}",
            first + HALF
        );
        if role != "temporary" {
            let _ = writeln!(
                self.bindings,
                "{role} \"v{at}\" = %v{at} : f32 [{HALF}, {columns}]"
            );
        }
        at
    }

    /// The rows of `from` go to `to`, each to the next tile of the half that `to` stands on.
    fn rotate(&mut self, from: (usize, u16), to: (usize, u16), words: u32) {
        let _ = writeln!(
            self.steps,
            "exchange \"rotate\" {{ %v{} -> %v{} {{",
            from.0, to.0
        );
        for row in 0..HALF {
            let next = (row + 1) % HALF;
            let _ = writeln!(
                self.steps,
                "{words} words {}@0 -> {}@0",
                from.1 + row,
                to.1 + next
            );
        }
        self.steps.push_str("} }\n");
    }

    /// `to = gelu(from)`.
    fn gelu(&mut self, first: u16, from: usize, to: usize, columns: u32) {
        let _ = writeln!(
            self.steps,
            "compute \"gelu\" {{ tiles [{first}..{}] Map(extents:[{columns}],inputs:[(element:F32,strides:[1])],\
             output:(element:F32,strides:[1]),nodes:[Input(0),Gelu(false,0)]) (%v{from}, %v{to}) }}",
            first + HALF
        );
    }

    fn text(&self) -> String {
        format!(
            "tile \"t\" on {TILES} {{\n{}{}{}}}\n",
            self.values, self.bindings, self.steps
        )
    }
}

/// Simulated cycles, which must be the predicted ones, and the outputs.
fn run(draft: &Draft, abstain: AbstainMode) -> (u64, Vec<Vec<u8>>) {
    let source = draft.text();
    let program = text::parse(&source).unwrap_or_else(|faults| {
        let rendered = ipucc_tensor::text::render("program", &source, &faults);
        panic!("{rendered}")
    });
    assert_eq!(verify(&program), []);
    let options = Options {
        abstain,
        ..Options::new(Chip::first(TILES).expect("tiles"))
    };
    let package = compile_program(program, &options, UNWATCHED)
        .expect("compiles")
        .package;
    let inputs: IndexMap<String, _> = package
        .inputs
        .iter()
        .map(|(name, binding)| (name.clone(), host::random(binding.host, &binding.shape, 3)))
        .collect();
    let mut session =
        Session::new(package, options.assumptions.clone(), Default::default()).expect("loads");
    let outcome = session.run(&inputs).expect("runs");
    assert_eq!(outcome.misprediction(session.package()), None);
    let outputs = outcome.outputs.values().map(|tensor| tensor.bytes.clone());
    (outcome.cycles, outputs.collect())
}

/// Eight short phases on the first half.
fn short_phases(draft: &mut Draft) {
    let mut now = draft.value(0, 8, "input");
    for phase in 0..8 {
        let role = if phase == 7 { "output" } else { "temporary" };
        let next = draft.value(0, 8, role);
        draft.rotate((now, 0), (next, 0), 8);
        now = next;
    }
}

/// A long computation on the second half.
fn long_computation(draft: &mut Draft) {
    let columns = 4096;
    let mut now = draft.value(HALF, columns, "input");
    for part in 0..4 {
        let role = if part == 3 { "output" } else { "temporary" };
        let next = draft.value(HALF, columns, role);
        draft.gelu(HALF, now, next, columns);
        now = next;
    }
}

#[test]
fn a_long_computation_beside_eight_short_phases() {
    let mut long = Draft::default();
    long_computation(&mut long);
    let (alone, _) = run(&long, AbstainMode::PerPhase);
    let mut short = Draft::default();
    short_phases(&mut short);
    let (phases, _) = run(&short, AbstainMode::PerPhase);
    for long_first in [false, true] {
        let mut both = Draft::default();
        if long_first {
            long_computation(&mut both);
            short_phases(&mut both);
        } else {
            short_phases(&mut both);
            long_computation(&mut both);
        }
        let (advance, outputs) = run(&both, AbstainMode::Advance);
        let (each, same) = run(&both, AbstainMode::PerPhase);
        println!(
            "long computation {alone}, eight phases {phases}; together, long one {}: advance {advance}, per-phase {each}",
            if long_first { "first" } else { "last" }
        );
        assert_eq!(outputs, same);
        // The barrier: `sync 3`, its skew and the wait for credit, at most.
        let barrier = 60;
        assert!(advance <= alone + alone / 50 + barrier, "{advance} {alone}");
        // One after the other, but for the phase that the long computation meets.
        assert!(each >= alone + phases * 7 / 8, "{each} {alone} {phases}");
    }
}

/// Four parts of a main path with a phase after each, and a branch that computes beside them what
/// joins at the end: a down-sampling branch.
#[test]
fn a_branch_of_another_length_saves_a_tenth() {
    let columns = 512;
    let mut draft = Draft::default();
    let branch = draft.value(HALF, 2048, "input");
    let sampled = draft.value(HALF, 2048, "temporary");
    let mut now = draft.value(0, columns, "input");
    // The planner lets a branch stand where its operations stand in the graph: first.
    draft.gelu(HALF, branch, sampled, 2048);
    for _ in 0..4 {
        let moved = draft.value(0, columns, "temporary");
        let next = draft.value(0, columns, "temporary");
        draft.rotate((now, 0), (moved, 0), 64);
        fill_rest(&mut draft, moved, columns);
        draft.gelu(0, moved, next, columns);
        now = next;
    }
    let joined = draft.value(0, 2048, "output");
    draft.rotate((sampled, HALF), (joined, 0), 2048);
    let end = draft.value(0, columns, "output");
    draft.gelu(0, now, end, columns);
    let (advance, outputs) = run(&draft, AbstainMode::Advance);
    let (each, same) = run(&draft, AbstainMode::PerPhase);
    println!("advance {advance}, per-phase {each}");
    assert_eq!(outputs, same);
    assert!(advance * 10 <= each * 9, "{advance} {each}");
}

/// Zeros before a rotation that moves only the first words of each row.
fn fill_rest(draft: &mut Draft, value: usize, columns: u32) {
    let fill = format!(
        "compute \"fill\" {{ tiles [0..{HALF}] Fill(words:{columns},word:0) (%v{value}) }}\n"
    );
    // The rotation was the last step: the zeros come before it.
    let at = draft.steps.rfind("exchange").expect("a rotation");
    draft.steps.insert_str(at, &fill);
}
