//! Malformed texts: the documented examples, each spoilt in several ways. Every one is refused with
//! a message at a place, none makes the parser panic.

use ipucc_tensor::docs::OPERATIONS;
use ipucc_tensor::text::{parse, render};
use std::fmt::Write as _;

type Spoil = fn(&str) -> Option<String>;

/// Ways to spoil an example; `None` when it has nothing to spoil there.
const FAULTS: &[(&str, Spoil)] = &[
    ("misspelt operation", |text| {
        let at = text.find("%y = ")? + 5;
        Some(format!("{}q{}", &text[..at], &text[at..]))
    }),
    ("another result type", |text| {
        let line = text.find("%y = ")?;
        let at = line + text[line..].find(": tensor<")? + 9;
        Some(format!("{}7x{}", &text[..at], &text[at..]))
    }),
    ("a dynamic extent", |text| {
        let line = text.find("%y = ")?;
        let at = line + text[line..].find(": tensor<")? + 9;
        Some(format!("{}?x{}", &text[..at], &text[at..]))
    }),
    ("an operand that is not there", |text| {
        let line = text.find("%y = ")? + 5;
        let at = line + text[line..].find(" %")? + 2;
        Some(format!("{}nowhere_{}", &text[..at], &text[at..]))
    }),
    ("a missing attribute value", |text| {
        let from = text.find("{").and_then(|_| text.find(" = ["))?;
        let to = from + text[from..].find(']')? + 1;
        Some(format!("{} = {}", &text[..from], &text[to..]))
    }),
    ("a missing type", |text| {
        let line = text.find("%y = ")?;
        let at = line + text[line..].find(" : tensor<")?;
        let end = at + text[at..].find('\n')?;
        Some(format!("{}{}", &text[..at], &text[end..]))
    }),
    ("a definition twice", |text| {
        let line = text.find("    %y = ")?;
        let end = line + text[line..].find('\n')? + 1;
        let (head, tail) = text.split_at(end);
        Some(format!("{head}{}{tail}", &text[line..end]))
    }),
];

#[test]
fn malformed_texts_are_refused_with_a_message() {
    let mut out = String::new();
    let mut count = 0;
    for operation in OPERATIONS {
        for (fault, spoil) in FAULTS {
            let Some(text) = spoil(&operation.program()) else {
                continue;
            };
            count += 1;
            let faults = parse(&text).expect_err(&text);
            assert!(!faults.is_empty(), "{text}");
            let _ = writeln!(
                out,
                "== {}: {fault}\n{}",
                operation.names[0],
                render("bad.ir", &text, &faults).trim_end()
            );
        }
    }
    assert!(count >= 200, "only {count} malformed texts");
    insta::assert_snapshot!(out);
}

#[test]
fn no_mutated_text_panics() {
    // splitmix64: every run sees the same texts.
    let mut state = 1u64;
    let mut next = move || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) as usize
    };
    let programs: Vec<String> = OPERATIONS.iter().map(|o| o.program()).collect();
    let pieces = [
        "{",
        "}",
        "[",
        "]",
        "<",
        ">",
        "\"",
        "%",
        "@",
        "=",
        ":",
        ",",
        "//",
        "0",
        "-1",
        "4294967296",
        "99999999999999999999",
        "tensor<",
        "x",
        "é",
        "\u{0}",
        "\n",
        "->",
        "1e999",
        "0x",
    ];
    for _ in 0..20_000 {
        let mut text: Vec<char> = programs[next() % programs.len()].chars().collect();
        for _ in 0..1 + next() % 4 {
            let at = next() % text.len().max(1);
            let to = (at + next() % 6).min(text.len());
            match next() % 3 {
                0 => drop(text.drain(at..to)),
                1 => drop(text.splice(at..at, pieces[next() % pieces.len()].chars())),
                _ => drop(text.splice(at..to, pieces[next() % pieces.len()].chars())),
            }
        }
        let text: String = text.into_iter().collect();
        if let Err(faults) = parse(&text) {
            assert!(!faults.is_empty());
            let _ = render("bad.ir", &text, &faults);
        }
    }
}
