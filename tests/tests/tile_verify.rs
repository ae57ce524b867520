//! The verifier of tile programs: one wrong program for every error, and what the error says.

use cranelift_entity::EntityRef as _;
use ipucc_tile::verify::{VerifyError, verify};
use ipucc_tile::{Program, Step, interp, text};

const RIGHT: &str = r#"tile "v" on 3 {
  value %v0 "x" : 4x6xf32 cuts [2/1, 1/1] copies 1 tiles [0, 2]
    layout amp_lhs(8) order [0, 1] memory any align 16 tail 8 padding zero input "x"
  value %v1 "moved" : 4x6xf32 cuts [2/1, 1/1] copies 1 tiles [0..2]
    layout amp_lhs(8) order [0, 1] memory any align 16 tail 8 padding zero temporary
  value %v2 "w" : 6x16xf32 cuts [1/1, 1/1] copies 2 tiles [0..2]
    layout amp_rhs(8) order [1, 0] memory any align 16 tail 8 padding anything weight "w"
  value %v3 "y" : 4x16xf32 cuts [2/1, 1/1] copies 1 tiles [0..2]
    layout amp_lhs(16) order [0, 1] memory any align 16 tail 8 padding anything output "y"
  value %v4 "sums" : 4x16xf32 cuts [2/1, 1/1] copies 1 tiles [0..2]
    layout amp_lhs(16) order [0, 1] memory any align 16 tail 8 padding anything temporary
  weight "w" {
    module {
      func @main() -> (%stored: tensor<6x16xf32>) {
        %0 = constant 0.5 : tensor<f32>
        %1 = broadcast %0 {axes = []} : tensor<6x16xf32>
        return %1
      }
    }
  }
  input "x" = %v0 : f32 [4, 6]
  output "y" = %v3 : f32 [4, 16]
  compute "clear" {
    tiles [0..2] Fill(words:16,word:0) (%v1)
  }
  exchange "move" {
    %v0 -> %v1 {
      6 words 2@0 -> 1@0 times [2: 8, 8, 0, 0]
    }
  }
  compute "local" {
    tiles [0] Copy(bytes:24,source_offset:0,destination_offset:0,dims:[(count:2,source_bytes:32,destination_bytes:32)]) (%v0, %v1)
  }
  compute "dot" {
    tiles [0..2] Dot(m:2,n:16,k:6,input:F32,partials:F32,accumulate:false) (%v1, %v2, %v4)
  }
  repeat "twice" times 2 {
    carried %v4 = %v3
    compute "double" {
      tiles [0..2] Map(extents:[32],inputs:[(element:F32,strides:[1])],output:(element:F32,strides:[1]),nodes:[Input(0),Binary(Add,0,0)]) (%v4, %v3)
    }
  }
}
"#;

fn parsed(text: &str) -> Program {
    text::parse(text).unwrap_or_else(|faults| {
        let rendered = ipucc_tensor::text::render("program", text, &faults);
        panic!("{rendered}")
    })
}

/// The name of an error's variant.
fn kind(error: &VerifyError) -> String {
    let shown = format!("{error:?}");
    let end = shown.find([' ', '(']).unwrap_or(shown.len());
    shown[..end].to_owned()
}

/// What is replaced, by what, and the first error.
const WRONG: &[(&str, &str, &str)] = &[
    (
        "padding zero input \"x\"",
        "padding zero temporary",
        "Definition",
    ),
    ("output \"y\" = %v3 : f32 [4, 16]", "", "Definition"),
    ("weight \"w\" {", "weight \"u\" {", "Definition"),
    ("w\" : 6x16xf32", "w\" : 5x16xf32", "Definition"),
    ("times [2: 8, 8, 0, 0]", "times [2: 8, 8, 1, 0]", "NoTile"),
    (
        "times [2: 8, 8, 0, 0]",
        "times [2: 8, 8, 0, -1; 2: 0, 0, 0, -1]",
        "NoTile",
    ),
    ("6 words 2@0", "6 words 1@0", "NotHeld"),
    ("tiles [0..2] Dot", "tiles [0..3] Dot", "NotHeld"),
    (
        "times [2: 8, 8, 0, 0]",
        "times [3: 8, 8, 0, 0]",
        "OutOfRange",
    ),
    (
        "times [2: 8, 8, 0, 0]",
        "times [2: 8, -8, 0, 0]",
        "OutOfRange",
    ),
    ("Fill(words:16", "Fill(words:17", "OutOfRange"),
    ("(%v1)", "(%v1+4)", "OutOfRange"),
    (
        "Fill(words:16,word:0) (%v1)",
        "Fill(words:15,word:0) (%v1+4)",
        "PartialWord",
    ),
    (
        "times [2: 8, 8, 0, 0]",
        "times [2: 8, 8, 0, 0; 4294967295: 0, 0, 0, 0]",
        "TooManyPieces",
    ),
    ("(%v1, %v2, %v4)", "(%v1, %v2, %v3)", "Unwritten"),
    (
        "Fill(words:16,word:0)",
        "Fill(words:8,word:0)",
        "UnwrittenPadding",
    ),
    (
        "padding zero temporary",
        "padding anything temporary",
        "NonzeroPadding",
    ),
    (
        "6 words 2@0 -> 1@0 times",
        "8 words 2@0 -> 1@0\n 6 words 2@0 -> 1@0 times",
        "TwoWriters",
    ),
    (
        "exchange \"move\" {",
        "exchange \"move\" { %v1 -> %v1 { 1 words 1@0 -> 0@0 }",
        "ReadWhileWritten",
    ),
    ("(%v1, %v2, %v4)", "(%v1, %v2)", "Kernel"),
    ("Binary(Add,0,0)", "Binary(Add,0,7)", "Kernel"),
    ("Dot(m:2", "Dot(m:4294967295", "Kernel"),
    (
        "input:F32,partials:F32",
        "input:F16,partials:F32",
        "OperandType",
    ),
    ("carried %v4 = %v3", "carried %v4 = %v0", "Repeat"),
    (
        "carried %v4 = %v3",
        "carried %v4 = %v3 strided %v4 = [%v3]",
        "Repeat",
    ),
    ("word:0) (%v1)", "word:0) (%v2)", "WeightWritten"),
];

#[test]
fn the_right_program_is_right_and_runs() {
    let program = parsed(RIGHT);
    assert_eq!(verify(&program), []);
    let ty = ipucc_tensor::TensorType::new(ipucc_chip::ScalarType::F32, [4, 6]);
    let x = ipucc_tensor::interp::Tensor::from_floats(
        ty,
        &(0..24).map(|i| i as f32).collect::<Vec<f32>>(),
    );
    let inputs = indexmap::IndexMap::from([("x".to_owned(), x)]);
    let outcome = interp::run(&program, &inputs).expect("runs");
    // Half the sum of each row, doubled twice: 2 * (6 * first + 15).
    let wanted: Vec<f32> = (0..4)
        .flat_map(|row| [2.0 * (36.0 * row as f32 + 15.0); 16])
        .collect();
    assert_eq!(outcome.outputs["y"].to_floats(), wanted);
}

#[test]
fn every_error_is_found_and_says_where() {
    let mut told = String::new();
    let mut seen = std::collections::BTreeSet::new();
    for (from, to, wanted) in WRONG {
        let wrong = RIGHT.replacen(from, to, 1);
        assert_ne!(wrong, RIGHT, "{from}");
        let errors = verify(&parsed(&wrong));
        let first = errors.first().unwrap_or_else(|| panic!("{from} -> {to}"));
        assert!(
            errors.iter().any(|error| kind(error) == *wanted),
            "{from} -> {to}: {errors:?}"
        );
        seen.insert((*wanted).to_owned());
        told.push_str(&format!("{from} -> {to}\n  {first}\n"));
        if kind(first) != *wanted {
            let other = errors.iter().find(|error| kind(error) == *wanted);
            told.push_str(&format!(
                "  {}\n",
                other.map_or(String::new(), ToString::to_string)
            ));
        }
    }
    // What the text cannot say.
    let mut program = parsed(RIGHT);
    for step in &mut program.steps {
        if let Step::Exchange(exchange) = step {
            exchange.transfers[0].runs[0].destinations.clear();
        }
    }
    let errors = verify(&program);
    assert_eq!(kind(&errors[0]), "EmptyRun");
    told.push_str(&format!("no destinations\n  {}\n", errors[0]));
    seen.insert("EmptyRun".into());
    let mut program = parsed(RIGHT);
    program.values[ipucc_tile::Value::new(1)].distribution.tiles[0].0 = 7;
    told.push_str(&format!("tile 7\n  {}\n", verify(&program)[0]));
    program.values[ipucc_tile::Value::new(1)].distribution.tiles[0].0 = 1;
    told.push_str(&format!("tile 1 twice\n  {}\n", verify(&program)[0]));
    let mut program = parsed(RIGHT);
    program.values[ipucc_tile::Value::new(4)].shape = [4, 1 << 20].into_iter().collect();
    told.push_str(&format!("a large shard\n  {}\n", verify(&program)[0]));
    assert_eq!(seen.len(), 16, "{seen:?}");
    insta::assert_snapshot!(told);
}

/// What the verifier refuses the interpreter refuses too, or computes; it never panics.
#[test]
fn the_interpreter_survives_wrong_programs() {
    let ty = ipucc_tensor::TensorType::new(ipucc_chip::ScalarType::F32, [4, 6]);
    let x = ipucc_tensor::interp::Tensor::from_floats(ty, &[1.0; 24]);
    let inputs = indexmap::IndexMap::from([("x".to_owned(), x)]);
    let mut refused = 0;
    for (from, to, _) in WRONG {
        let program = parsed(&RIGHT.replacen(from, to, 1));
        refused += usize::from(interp::run(&program, &inputs).is_err());
    }
    assert!(refused >= 15, "{refused} of {}", WRONG.len());
}
