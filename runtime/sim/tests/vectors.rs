//! Every line of the shared vector files of single instructions, through assembler, decoder and
//! executor.

use ipucc_chip::Assumptions;
use ipucc_sim::replay::{self, Report};

fn shared(name: &str) -> String {
    let path = format!(
        "{}/../../../shared/vectors/{name}",
        env!("CARGO_MANIFEST_DIR")
    );
    std::fs::read_to_string(&path)
        .unwrap_or_else(|e| panic!("the shared vectors are needed: {path}: {e}"))
}

fn check(report: &Report, cases: usize, skipped: usize) {
    for f in report.failed.iter().take(20) {
        eprintln!("{}: expected {}; found {}", f.id, f.expected, f.found);
    }
    assert_eq!(report.failed.len(), 0, "of {} cases", report.cases);
    assert_eq!(report.cases, cases);
    assert_eq!(report.skipped.len(), skipped, "{:?}", report.skipped);
    assert_eq!(report.passed, cases - skipped);
}

#[test]
fn float() {
    let report = replay::float::replay(&shared("float.jsonl"), &Assumptions::default());
    check(&report.unwrap(), 1084, 0);
}

#[test]
fn integer() {
    let report = replay::integer::replay(&shared("integer.jsonl"), &Assumptions::default());
    check(&report.unwrap(), 278, 0);
}

#[test]
fn addresses() {
    let report = replay::addresses::replay(&shared("addresses.jsonl"), &Assumptions::default());
    check(&report.unwrap(), 133, 0);
}

/// The file has lines for each model of the additions inside a dot product: with every one of
/// them, the lines that list it must hold and only the others may be left out.
#[test]
fn amp() {
    let text = shared("amp.jsonl");
    for model in ["window33", "exact", "seq"] {
        let mut assumptions = Assumptions::default();
        assumptions.set("dot_inner", model).unwrap();
        let others = text
            .lines()
            .skip(1)
            .filter(|l| {
                let line: serde_json::Value = serde_json::from_str(l).unwrap();
                let models = line["dot_inner"].as_array().unwrap();
                !models.iter().any(|m| m == model)
            })
            .count();
        let report = replay::amp::replay(&text, &assumptions).unwrap();
        check(&report, 257, others);
        assert!(report.skipped.iter().all(|s| s.assumption == "dot_inner"));
    }
}

/// Flips bit 12 of the first result word of a line; `None` if it has no digits to flip.
fn spoiled(line: &str) -> Option<String> {
    let mut line: serde_json::Value = serde_json::from_str(line).unwrap();
    let flip = |v: &mut serde_json::Value| {
        let word = u32::from_str_radix(v.as_str()?, 16).ok()?;
        *v = format!("{:08x}", word ^ 0x1000).into();
        Some(())
    };
    let first = line["steps"].as_array().map_or(0, |_| 1);
    let done = if first == 1 {
        line["aacc_out"]
            .as_array_mut()
            .and_then(|a| flip(&mut a[0]))
    } else if line["out"].is_array() {
        line["out"].as_array_mut().and_then(|a| flip(&mut a[0]))
    } else {
        ["m_after", "a_after"].iter().find_map(|field| {
            let map = line.get_mut(*field)?.as_object_mut()?;
            map.values_mut().next().and_then(flip)
        })
    };
    done.map(|()| line.to_string())
}

/// The replay notices a wrong expectation in every line that has one to spoil.
#[test]
fn spoiled_lines_fail() {
    type Replay = fn(&str, &Assumptions) -> Result<Report, replay::ReplayError>;
    let files: [(&str, Replay); 4] = [
        ("float.jsonl", replay::float::replay),
        ("integer.jsonl", replay::integer::replay),
        ("addresses.jsonl", replay::addresses::replay),
        ("amp.jsonl", replay::amp::replay),
    ];
    for (name, run) in files {
        let text: Vec<String> = shared(name).lines().skip(1).filter_map(spoiled).collect();
        let report = run(&text.join("\n"), &Assumptions::default()).unwrap();
        assert!(report.cases >= 79, "{name}: {}", report.cases);
        assert_eq!(report.passed, 0, "{name}");
    }
}
