//! The text of tile programs: what is printed is read again as the same program, and compiles to the
//! same package.

use ipucc::model::{Options, compile, compile_program};
use ipucc::stage::UNWATCHED;
use ipucc_chip::Chip;
use ipucc_tile::{Program, text};
use tests::random_graph::{Operations, random_graph};

/// Equal but for where the operations of weight programs stand in a text.
fn same(a: &Program, b: &Program) -> bool {
    let modules = |program: &Program| -> Vec<(String, String)> {
        let weights = program.weights.iter();
        weights
            .map(|(name, weight)| (name.clone(), ipucc_tensor::text::print(&weight.module)))
            .collect()
    };
    a.name == b.name
        && a.tiles == b.tiles
        && a.values == b.values
        && a.steps == b.steps
        && a.inputs == b.inputs
        && a.outputs == b.outputs
        && modules(a) == modules(b)
}

fn round_trip(module: &ipucc_tensor::Module, tiles: u16) -> bool {
    let options = Options::new(Chip::first(tiles).expect("tiles"));
    let Ok(model) = compile(module, &options, UNWATCHED) else {
        return false;
    };
    let program = &model.compiled.scheduled.program;
    let printed = text::print(program);
    let parsed = text::parse(&printed).unwrap_or_else(|faults| {
        let rendered = ipucc_tensor::text::render("program", &printed, &faults);
        panic!("{rendered}")
    });
    assert!(same(program, &parsed), "{printed}");
    assert_eq!(text::print(&parsed), printed);
    let again = compile_program(parsed, &options, UNWATCHED).expect("compiles");
    let (mut a, b) = (model.compiled.package, again.package);
    // The tensor program, its text and its operations, is all that a tile program does not know.
    a.map.tensor_text.clear();
    for step in &mut a.map.steps {
        step.nodes.clear();
    }
    assert_eq!(a, b);
    true
}

#[test]
fn planned_programs_round_trip() {
    let mut done = 0;
    for seed in 0..120 {
        let module = random_graph(seed, Operations::Planned);
        done += usize::from(round_trip(&module, [1, 4, 33][seed as usize % 3]));
    }
    assert!(done > 60, "{done}");
}

#[test]
fn the_perceptron_round_trips_on_64_tiles() {
    let source = include_str!("../../examples/mlp.ir");
    let module = ipucc_tensor::text::parse(source).expect("parses");
    assert!(round_trip(&module, 64));
}

const SMALL: &str = r#"tile "a \"b\"" on 3 {
  value %v0 "x.0" : 4x8xf32 cuts [2/1, 1/1] copies 1 tiles [0, 2]
    layout row(2) order [0, 1] memory any align 16 tail 8 padding zero input "x"
  value %v1 "y.1" : 4x8xf32 cuts [2/1, 1/1] copies 1 tiles [0..2]
    layout row(2) order [0, 1] memory interleaved align 16 tail 8 padding anything output "y" tensor "y" from "n\u{1}"
  value %v2 "z.2" : f16 cuts [] copies 3 tiles [0..3]
    layout row(2) order [] memory any align 8 tail 0 padding anything temporary
  input "x" = %v0 : f32 [4, 8]
  output "y" = %v1 : f32 [32]
  exchange "y" {
    %v0 -> %v1 {
      16 words 2@0 -> 1@0 0@4 times [2: 4, -4, 0, 1; 3: 0, 0, 0, 0]
      1 words 0@0 -> 1@0
    }
  }
  repeat "layer" times 4 {
    carried %v0 = %v1
    strided %v2 = [%v2, %v2]
    host in [%v0, %v1]
    compute "y" {
      tiles [0..3 by 2] Fill(words:16,word:0) (%v1+8)
    }
  }
}
"#;

#[test]
fn every_part_of_the_grammar_round_trips() {
    let program = text::parse(SMALL)
        .unwrap_or_else(|faults| panic!("{}", ipucc_tensor::text::render("small", SMALL, &faults)));
    let printed = text::print(&program);
    assert_eq!(text::parse(&printed).expect("parses"), program);
    assert_eq!(printed, SMALL.replace("[0..3 by 2]", "[0, 2]"));
}

/// Wrong texts: what is replaced in `SMALL`, by what, and the code of the error.
const WRONG: &[(&str, &str, &str)] = &[
    ("tile", "tiles", "L001"),
    ("on 3", "on 0", "L003"),
    ("on 3", "on 1473", "L003"),
    ("%v0 \"x.0\"", "%v1 \"x.0\"", "L002"),
    ("%v0 -> %v1", "%v7 -> %v1", "L002"),
    ("4x8xf32 cuts [2/1, 1/1]", "4x8xf33 cuts [2/1, 1/1]", "L001"),
    (
        "4x8xf32 cuts [2/1, 1/1]",
        "99999999x99999999xf32 cuts [2/1, 1/1]",
        "L003",
    ),
    ("cuts [2/1, 1/1]", "cuts [2/1]", "L003"),
    ("cuts [2/1, 1/1]", "cuts [2/0, 1/1]", "L003"),
    ("cuts [2/1, 1/1]", "cuts [3/1, 1/1]", "L003"),
    ("tiles [0, 2]", "tiles [0, 0]", "L003"),
    ("tiles [0, 2]", "tiles [0, 3]", "L003"),
    ("tiles [0, 2]", "tiles [0..4294967295]", "L003"),
    ("row(2) order [0, 1]", "row(0) order [0, 1]", "L003"),
    ("row(2) order [0, 1]", "row(2) order [0, 0]", "L003"),
    ("row(2) order [0, 1]", "column(2) order [0, 1]", "L001"),
    ("row(2) order []", "amp_lhs(8) order []", "L003"),
    ("align 16", "align 12", "L003"),
    ("padding zero", "padding none", "L001"),
    (": f32 [32]", ": f32 [31]", "L003"),
    (": f32 [32]", ": f99 [32]", "L001"),
    (
        ": f32 [32]",
        ": f32 [4294967295, 4294967295, 4294967295, 4294967295, 4294967295]",
        "L003",
    ),
    ("output \"y\" = %v1", "input \"x\" = %v1", "L003"),
    ("2@0 ->", "3@0 ->", "L003"),
    ("2@0 ->", "2 ->", "L001"),
    ("Fill(words:16,word:0)", "Fill(words:16)", "L004"),
    ("Fill(words:16,word:0)", "Full(words:16,word:0)", "L004"),
    ("Fill(words:16,word:0)", "Fill(words:16,word:0", "L001"),
    ("(%v1+8)", "(%v1+x)", "L001"),
    ("\"layer\"", "\"layer", "L001"),
    ("host in", "host up", "L001"),
];

#[test]
fn wrong_texts_are_refused_where_they_are_wrong() {
    let mut told = String::new();
    for (from, to, code) in WRONG {
        let wrong = SMALL.replacen(from, to, 1);
        assert_ne!(wrong, SMALL, "{from}");
        let faults = text::parse(&wrong).expect_err(to);
        assert_eq!(faults[0].code, *code, "{from} -> {to}: {faults:?}");
        told.push_str(&ipucc_tensor::text::render("small.tile", &wrong, &faults));
    }
    insta::assert_snapshot!(told);
}

#[test]
fn cut_off_and_altered_texts_never_panic() {
    for end in 0..SMALL.len() {
        if SMALL.is_char_boundary(end) {
            assert!(text::parse(&SMALL[..end]).is_err() || end + 1 == SMALL.len());
        }
    }
    let mut state = 7u64;
    let mut refused = 0;
    for _ in 0..20_000 {
        let mut bytes = SMALL.as_bytes().to_vec();
        for _ in 0..2 {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            let at = (state >> 33) as usize % bytes.len();
            bytes[at] = b"0123456789abx%\"{}[]()<>,:;=+@-. \n"[(state >> 20) as usize % 33];
        }
        let altered = String::from_utf8(bytes).expect("ASCII");
        refused += usize::from(text::parse(&altered).is_err());
    }
    assert!(refused > 10_000, "{refused}");
}
