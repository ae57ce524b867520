//! The floors of the house: no crate imports upward, nothing that predicts cycles can reach the
//! simulator, and the simulator knows nothing but the chip and its machine language.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

/// Crates by floor, lowest first; a crate may import what is listed and nothing else of ours.
const ALLOWED: &[(&str, &[&str])] = &[
    ("ipucc-chip", &[]),
    ("ipucc-machine", &["ipucc-chip"]),
    ("ipucc-tensor", &["ipucc-chip"]),
    (
        "ipucc-tile",
        &["ipucc-chip", "ipucc-machine", "ipucc-tensor"],
    ),
    (
        "ipucc-passes",
        &["ipucc-chip", "ipucc-tensor", "ipucc-tile"],
    ),
    (
        "ipucc-schedule",
        &["ipucc-chip", "ipucc-machine", "ipucc-tile"],
    ),
    (
        "ipucc-codegen",
        &["ipucc-chip", "ipucc-machine", "ipucc-tensor", "ipucc-tile"],
    ),
    ("ipucc-sim", &["ipucc-chip", "ipucc-machine"]),
    (
        "ipucc-runtime",
        &["ipucc-chip", "ipucc-machine", "ipucc-sim"],
    ),
    (
        "ipucc",
        &[
            "ipucc-chip",
            "ipucc-machine",
            "ipucc-tensor",
            "ipucc-tile",
            "ipucc-passes",
            "ipucc-schedule",
            "ipucc-codegen",
            "ipucc-runtime",
            "ipucc-sim",
        ],
    ),
];

/// Crates on the path that predicts cycles.
const PREDICTORS: &[&str] = &[
    "ipucc-tile",
    "ipucc-passes",
    "ipucc-schedule",
    "ipucc-codegen",
];

/// Direct dependencies among the crates of this workspace, dev and build dependencies included.
fn graph() -> BTreeMap<String, BTreeSet<String>> {
    let output = Command::new(env!("CARGO"))
        .args([
            "metadata",
            "--format-version",
            "1",
            "--no-deps",
            "--offline",
        ])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .expect("cargo metadata runs");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let metadata: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let packages = metadata["packages"].as_array().expect("packages");
    let name = |value: &serde_json::Value| value["name"].as_str().expect("name").to_owned();
    let names: BTreeSet<String> = packages.iter().map(name).collect();
    packages
        .iter()
        .map(|package| {
            let dependencies = package["dependencies"].as_array().expect("dependencies");
            let imports = dependencies
                .iter()
                .map(name)
                .filter(|n| names.contains(n))
                .collect();
            (name(package), imports)
        })
        .collect()
}

#[test]
fn no_crate_imports_upward() {
    let graph = graph();
    for (name, allowed) in ALLOWED {
        let imports = graph
            .get(*name)
            .unwrap_or_else(|| panic!("crate {name} is missing"));
        for import in imports {
            assert!(
                allowed.contains(&import.as_str()),
                "{name} must not import {import}"
            );
        }
    }
    let known: BTreeSet<&str> = ALLOWED
        .iter()
        .map(|(name, _)| *name)
        .chain(["tests", "benches"])
        .collect();
    for name in graph.keys() {
        assert!(
            known.contains(name.as_str()),
            "crate {name} has no floor: add it to this test"
        );
    }
}

#[test]
fn what_predicts_cycles_cannot_reach_the_simulator() {
    let graph = graph();
    for predictor in PREDICTORS {
        let mut reached = BTreeSet::from([(*predictor).to_owned()]);
        let mut open = vec![(*predictor).to_owned()];
        while let Some(name) = open.pop() {
            for import in &graph[&name] {
                if reached.insert(import.clone()) {
                    open.push(import.clone());
                }
            }
        }
        assert!(
            !reached.contains("ipucc-sim"),
            "{predictor} reaches the simulator"
        );
        assert!(
            !reached.contains("ipucc-runtime"),
            "{predictor} reaches the runtime"
        );
    }
}
