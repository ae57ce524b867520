//! The sample programs beside the repository assemble to the words, bytes, symbols and lines of
//! their sidecars.

use std::collections::BTreeMap;
use std::path::PathBuf;

use indexmap::IndexMap;
use ipucc_machine::Context;
use ipucc_machine::asm::{Options, assemble};
use serde_json::Value;

fn samples() -> PathBuf {
    let path = PathBuf::from(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../../shared/examples/asm"
    ));
    assert!(
        path.is_dir(),
        "the shared samples are missing: {} must stand beside the repository",
        path.display()
    );
    path
}

fn number(value: &Value) -> u32 {
    let text = value.as_str().expect("a hexadecimal string");
    u32::from_str_radix(text.trim_start_matches("0x"), 16).expect("a hexadecimal number")
}

fn check(name: &str) {
    let text = std::fs::read_to_string(samples().join(format!("{name}.S"))).expect("sample");
    let expected: Value = serde_json::from_str(
        &std::fs::read_to_string(samples().join(format!("{name}.expect.json"))).expect("sidecar"),
    )
    .expect("JSON");
    let options = Options {
        file: format!("{name}.S"),
        context: Context::Worker,
    };
    let assembly = assemble(&text, &options).unwrap_or_else(|e| panic!("{name}:\n{e}"));
    let load: IndexMap<String, u32> = expected["load"]
        .as_object()
        .expect("load")
        .iter()
        .map(|(section, address)| (section.clone(), number(address)))
        .collect();
    let placed = assembly
        .object
        .place(&load)
        .unwrap_or_else(|e| panic!("{name}: {e:?}"));

    let words: Vec<u32> = expected["words"]
        .as_array()
        .expect("words")
        .iter()
        .map(number)
        .collect();
    let made = placed.sections[".text"].words();
    for line in expected["lines"].as_array().expect("lines") {
        let at = ((number(&line["address"]) - load[".text"]) / 4) as usize;
        let wanted: Vec<u32> = line["words"]
            .as_array()
            .expect("words")
            .iter()
            .map(number)
            .collect();
        assert_eq!(
            made.get(at..at + wanted.len()),
            Some(&wanted[..]),
            "{name}: {line}"
        );
    }
    assert_eq!(made, words, "{name}: words of .text");

    if let Some(sections) = expected.get("bytes").and_then(Value::as_object) {
        for (section, lines) in sections {
            let wanted: String = lines
                .as_array()
                .expect("bytes")
                .iter()
                .map(|l| l.as_str().expect("hex"))
                .collect();
            let made: String = placed.sections[section]
                .bytes
                .iter()
                .map(|b| format!("{b:02x}"))
                .collect();
            assert_eq!(made, wanted, "{name}: {section}");
        }
    }
    for (symbol, address) in expected["symbols"].as_object().expect("symbols") {
        assert_eq!(
            placed.symbols.get(symbol).copied(),
            Some(number(address)),
            "{name}: symbol {symbol}"
        );
    }

    // Every word has its source line; `ldconst` is two lines of the sidecar and one statement.
    let mut lines: BTreeMap<u32, u32> = BTreeMap::new();
    for line in &assembly.listing {
        if assembly
            .object
            .sections
            .get_index(line.section)
            .map(|(n, _)| n.as_str())
            == Some(".text")
        {
            for offset in (line.offset..line.offset + line.size).step_by(4) {
                lines.insert(load[".text"] + offset, line.line);
            }
        }
    }
    for line in expected["lines"].as_array().expect("lines") {
        let at = number(&line["address"]);
        assert_eq!(
            lines.get(&at).copied().map(u64::from),
            line["line"].as_u64(),
            "{name}: source line of {at:#x}: {line}"
        );
    }
}

/// All samples, so that a new one cannot be forgotten.
#[test]
fn every_sample_has_a_test() {
    let mut found: Vec<String> = std::fs::read_dir(samples())
        .expect("samples")
        .filter_map(|e| e.ok()?.file_name().into_string().ok())
        .filter_map(|n| n.strip_suffix(".S").map(str::to_string))
        .collect();
    found.sort();
    assert_eq!(
        found,
        [
            "amp_panel_f16",
            "copy_loop_supervisor",
            "dialect",
            "patch_loop_supervisor",
            "row_sum_f16",
            "softmax_row_f16",
            "vector_add_f32",
        ]
    );
}

#[test]
fn amp_panel() {
    check("amp_panel_f16");
}

#[test]
fn copy_loop() {
    check("copy_loop_supervisor");
}

#[test]
fn dialect() {
    check("dialect");
}

#[test]
fn patch_loop() {
    check("patch_loop_supervisor");
}

#[test]
fn row_sum() {
    check("row_sum_f16");
}

#[test]
fn softmax_row() {
    check("softmax_row_f16");
}

#[test]
fn vector_add() {
    check("vector_add_f32");
}
