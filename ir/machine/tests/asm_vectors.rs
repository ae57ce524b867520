//! Every line of the public word vectors assembles to its words, and the words disassemble to a
//! line that assembles to them again.

use ipucc_machine::Context;
use ipucc_machine::asm::{Options, assemble};
use ipucc_machine::disasm;

/// Lines that cannot hold, by text, and why.
///
/// * Accumulator access (`f32getacc`, `f32putacc`, `f32v2getacc`, `f32v2putacc`): first-generation
///   instructions. They are in none of the IPU21 pipeline lists and not in `isa/instructions.tsv`;
///   two of them have words of other instructions there (0x50000000 is `urand32 $a0`, 0x50000100
///   is `urand64 $a0:1`). The assembler refuses them by name.
/// * Bundles of two main-lane instructions: a test of bundle syntax in another disassembler. An
///   IPU21 bundle has one instruction of each lane (`isa/encoding.md` 1); the second member's word
///   is no aux-lane instruction and raises INVALID_INSTR.
const CANNOT_HOLD: [&str; 22] = [
    "f32getacc $a0, 0",
    "f32getacc $a0, 1",
    "f32getacc $a0, 2",
    "f32getacc $a0, 3",
    "f32getacc $a0, 6",
    "f32getacc $a0, 7",
    "f32putacc 1, $a0",
    "f32putacc 3, $a0",
    "f32putacc 4, $a0",
    "f32putacc 7, $a0",
    "f32v2getacc $a0:1, 0",
    "f32v2getacc $a0:1, 2",
    "f32v2getacc $a0:1, 4",
    "f32v2getacc $a0:1, 6",
    "f32v2putacc 0, $a0:1",
    "f32v2putacc 4, $a0:1",
    "f32v2putacc 4, $a0:1",
    "f32v2putacc 6, $a0:1",
    "f32v2putacc 6, $a0:1",
    "{ add $m1, $m2, $m3 ; add $m4, $m5, $m6 }",
    "{ sub $m0, $m2, $m1 ; sub $m3, $m5, $m4 }",
    "{ add $m6, $m7, $m1 ; add $m4, $m5, $m6 }",
];

fn vectors() -> Vec<(String, Vec<u32>)> {
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../../shared/vectors/instruction_words.tsv"
    );
    let text = std::fs::read_to_string(path)
        .unwrap_or_else(|e| panic!("the shared vectors are missing: {path}: {e}"));
    text.lines()
        .skip(1)
        .map(|line| {
            let mut columns = line.split('\t');
            let text = columns.next().expect("asm").to_string();
            let words = columns
                .next()
                .expect("words")
                .split_whitespace()
                .map(|w| u32::from_str_radix(w.trim_start_matches("0x"), 16).expect("a word"))
                .collect();
            (text, words)
        })
        .collect()
}

/// The words of a text whose only section is `.text`, in the context that accepts it.
fn words_of(text: &str) -> Result<Vec<u32>, String> {
    let mut first = None;
    for context in [Context::Worker, Context::Supervisor] {
        let options = Options {
            file: "vector".to_string(),
            context,
        };
        match assemble(text, &options) {
            Ok(assembly) => {
                let addresses = assembly.object.default_addresses(&Default::default());
                let placed = assembly
                    .object
                    .place(&addresses)
                    .map_err(|e| format!("{e:?}"))?;
                return Ok(placed.sections[".text"].words());
            }
            Err(errors) => first = first.or(Some(errors.to_string())),
        }
    }
    Err(first.unwrap_or_default())
}

#[test]
fn every_vector() {
    let vectors = vectors();
    assert_eq!(vectors.len(), 300);
    let mut refused: Vec<&str> = Vec::new();
    let mut wrong = Vec::new();
    for (text, words) in &vectors {
        match words_of(text) {
            Ok(made) if made == *words => {
                let shown = disasm::words(words, 0x4c000, &disasm::Options::default());
                assert!(!shown.contains(".word"), "{text}: {shown}");
                assert_eq!(words_of(&shown).as_ref(), Ok(words), "{text}: {shown}");
            }
            Ok(made) => wrong.push(format!("{text}: {made:#x?} instead of {words:#x?}")),
            Err(_) => refused.push(text),
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    refused.sort_unstable();
    let mut expected = CANNOT_HOLD;
    expected.sort_unstable();
    assert_eq!(refused, expected);
}

/// What cannot hold is refused with a reason, not passed over.
#[test]
fn refusals_say_why() {
    for text in CANNOT_HOLD {
        let message = words_of(text).expect_err(text);
        assert!(
            message.contains("unknown instruction") || message.contains("main-lane"),
            "{text}: {message}"
        );
    }
}
