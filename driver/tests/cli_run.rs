//! `ipucc run` and its neighbours, as a user calls them.

use assert_cmd::Command;
use serde_json::Value;

fn root() -> std::path::PathBuf {
    std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn ipucc() -> Command {
    let mut command = Command::cargo_bin("ipucc").expect("the binary is built");
    command.current_dir(root());
    command
}

fn json(arguments: &[&str]) -> Value {
    let output = ipucc().args(arguments).output().expect("runs");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    serde_json::from_slice(&output.stdout).expect("one JSON object")
}

/// The perceptron as a package for 16 tiles, and the folder that holds it.
fn perceptron_package() -> (tempfile::TempDir, std::path::PathBuf) {
    let folder = tempfile::tempdir().expect("a folder");
    let package = folder.path().join("mlp.ipupkg");
    ipucc()
        .args(["build", "examples/mlp.ir", "--tiles", "16", "-o"])
        .arg(&package)
        .assert()
        .success();
    (folder, package)
}

#[test]
fn the_perceptron_runs_on_64_tiles_as_predicted() {
    let report = json(&[
        "run",
        "examples/mlp.ir",
        "--tiles",
        "64",
        "--check",
        "--json",
    ]);
    assert!(report["tiles_computing"].as_u64() >= Some(60), "{report}");
    assert_eq!(report["predicted_cycles"], report["simulated_cycles"]);
    assert_eq!(report["outputs"][0]["ok"], true);
    assert_eq!(report["outputs"][0]["shape"], serde_json::json!([64, 128]));
    let checked = report["checked"]["operations"].as_array().expect("a list");
    let operations: Vec<&str> = checked
        .iter()
        .flat_map(|value| value["operations"].as_array().expect("a list"))
        .filter_map(Value::as_str)
        .collect();
    // Both products and what follows them are compared on their own.
    assert_eq!(operations.iter().filter(|name| **name == "dot").count(), 2);
    assert!(checked.len() >= 4, "{checked:?}");
    assert!(
        checked
            .iter()
            .all(|value| value["ok"] == true && value["bound"].as_f64() > Some(0.0))
    );
}

#[test]
fn the_perceptron_runs_on_a_whole_chip() {
    let report = json(&["run", "examples/mlp.ir", "--check", "--json"]);
    assert_eq!(report["predicted_cycles"], report["simulated_cycles"]);
    assert_eq!(report["outputs"][0]["ok"], true);
}

#[test]
fn a_dumped_tile_program_is_compiled_from_there() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("mlp.tile");
    let tiles = ["--tiles", "32"];
    let dump = ipucc()
        .args(["opt", "examples/mlp.ir", "--dump-after=partition"])
        .args(tiles)
        .output()
        .expect("runs");
    std::fs::write(&path, &dump.stdout).expect("writes");
    ipucc().arg("check").arg(&path).assert().success();
    let text = path.display().to_string();
    let from_text = json(&["run", &text, "--json"]);
    let from_model = json(&["run", "examples/mlp.ir", "--tiles", "32", "--json"]);
    assert_eq!(from_text["predicted_cycles"], from_text["simulated_cycles"]);
    assert_eq!(
        from_text["simulated_cycles"],
        from_model["simulated_cycles"]
    );
    assert_eq!(from_text["outputs"], from_model["outputs"]);
    // What was planned is not planned again: options that come too late are refused.
    ipucc()
        .args(["run", &text, "--precision", "f16"])
        .assert()
        .code(1);
    ipucc()
        .args(["build", &text, "--tiles", "4"])
        .assert()
        .code(1);
}

#[test]
fn the_perceptron_runs_in_f16_within_its_bounds() {
    let precision = ["--precision", "f16", "--tiles", "64", "--check", "--json"];
    let mut arguments = vec!["run", "examples/mlp.ir"];
    arguments.extend(precision);
    let report = json(&arguments);
    assert_eq!(report["outputs"][0]["ok"], true, "{report}");
    // The host still sees what the model declares.
    assert_eq!(report["outputs"][0]["type"], "f32");
    assert_eq!(report["predicted_cycles"], report["simulated_cycles"]);
    let converted = report["weights_converted"].as_array().expect("a list");
    assert_eq!(converted.len(), 4);
    assert!(converted.iter().all(|weight| weight["type"] == "f16"
        && weight["saturated"] == 0
        && weight["largest_error"].as_f64() > Some(0.0)));
    let declared = json(&["run", "examples/mlp.ir", "--tiles", "64", "--json"]);
    assert!(report["simulated_cycles"].as_u64() < declared["simulated_cycles"].as_u64());
}

#[test]
fn inputs_beyond_f16_are_told() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("x.npy");
    let big: Vec<u8> = (0..64 * 256)
        .flat_map(|i| if i == 5 { 1e6f32 } else { 0.5 }.to_le_bytes())
        .collect();
    let tensor = ipucc_runtime::HostTensor {
        element: ipucc_chip::HostType::Device(ipucc_chip::ScalarType::F32),
        shape: vec![64, 256],
        bytes: big,
    };
    std::fs::write(&path, ipucc::npy::write(&tensor)).expect("writes");
    let input = format!("x={}", path.display());
    let model = [
        "run",
        "examples/mlp.ir",
        "--tiles",
        "16",
        "--precision",
        "f16",
    ];
    let mut arguments = model.to_vec();
    arguments.extend(["--json", "--input", &input]);
    assert_eq!(json(&arguments)["inputs_saturated"]["x"], 1);
}

#[test]
fn padding_of_a_contraction_adds_nothing() {
    for tiles in ["1", "4", "64"] {
        let model = "driver/tests/models/odd_contraction.ir";
        let report = json(&["run", model, "--tiles", tiles, "--check", "--json"]);
        assert_eq!(report["outputs"][0]["ok"], true, "{tiles} tiles: {report}");
        assert_eq!(report["predicted_cycles"], report["simulated_cycles"]);
    }
}

#[test]
fn both_ways_of_abstaining_give_the_same_numbers() {
    for mode in ["per-phase", "advance"] {
        let report = json(&[
            "run",
            "examples/mlp.ir",
            "--tiles",
            "200",
            "--abstain",
            mode,
            "--check",
            "--json",
        ]);
        assert_eq!(report["outputs"][0]["ok"], true, "{mode}");
    }
}

#[test]
fn digits_are_classified_as_onnxruntime_does() {
    let report = json(&[
        "run",
        "examples/digits/digits.onnx",
        "--tiles",
        "40",
        "--inputs",
        "image=examples/digits/images.npy",
        "--labels",
        "examples/digits/labels.npy",
        "--answers",
        "examples/digits/answers.npy",
        "--json",
    ]);
    assert!(report["accuracy"].as_f64() >= Some(0.97), "{report}");
    assert_eq!(report["accuracy"], report["reference_accuracy"]);
}

#[test]
fn a_package_runs_without_its_model() {
    let (folder, package) = perceptron_package();
    let (a, b) = (folder.path().join("a.npy"), folder.path().join("b.npy"));
    ipucc()
        .arg("run")
        .arg(&package)
        .arg("--output")
        .arg(format!("y={}", a.display()))
        .assert()
        .success();
    ipucc()
        .args(["run", "examples/mlp.ir", "--tiles", "16", "--output"])
        .arg(format!("y={}", b.display()))
        .assert()
        .success();
    assert_eq!(
        std::fs::read(a).expect("written"),
        std::fs::read(b).expect("written")
    );
}

#[test]
fn errors_say_what_to_do_and_exit_with_1() {
    for (arguments, words) in [
        (vec!["run", "examples/nothing.ir"], "nothing.ir"),
        (vec!["run", "examples/mlp.ir", "--tiles", "0"], "1 to 1472"),
        (
            vec!["run", "examples/mlp.ir", "--tiles", "1"],
            "out of memory",
        ),
        (
            vec!["run", "examples/mlp.ir", "--assume", "sup_nothing=1"],
            "sup_nothing",
        ),
        (
            vec![
                "run",
                "examples/mlp.ir",
                "--input",
                "z=examples/digits/labels.npy",
            ],
            "no such input",
        ),
        (vec!["check", "examples/digits/train.py"], "module"),
        (vec!["explain", "T999"], "T001"),
        (
            vec!["opt", "examples/mlp.ir", "--dump-after", "nothing"],
            "no pass",
        ),
    ] {
        let output = ipucc().args(&arguments).output().expect("runs");
        let text = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{arguments:?}: {text}");
        assert!(text.contains(words), "{arguments:?}: {text}");
    }
}

#[test]
fn a_changed_assumption_in_a_package_run_is_noticed() {
    let (_folder, package) = perceptron_package();
    ipucc()
        .arg("run")
        .arg(&package)
        .args(["--assume", "sup_barrier=150"])
        .assert()
        .code(2);
}

#[test]
fn every_pass_is_dumped() {
    let output = ipucc()
        .args([
            "opt",
            "examples/mlp.ir",
            "--tiles",
            "64",
            "--dump-after=all",
        ])
        .output()
        .expect("runs");
    let text = String::from_utf8_lossy(&output.stdout);
    for pass in [
        "canonicalize",
        "cse",
        "dce",
        "partition",
        "schedule",
        "sram",
    ] {
        assert!(
            text.contains(&format!("// after {pass}\n")),
            "{pass} is missing"
        );
    }
    // Steps, tiles and values by the names of the tile program, not by our own data structures.
    assert!(
        text.contains("phase 0 (in step 1, exchange `p1.shares`): horizon"),
        "{text}"
    );
    assert!(text.contains("select tile ") && text.contains("pointer %v3+"));
    for inner in ["SymbolId", "Some(", "PhysicalTile", "Select {"] {
        assert!(!text.contains(inner), "{inner} is printed");
    }
    // Every pass says what it is for, and everything in the fullest tile has its name.
    for about in [
        "Computes what constants alone decide. Nothing changed.",
        "Places sections",
    ] {
        assert!(text.contains(about), "{about} is missing");
    }
    let fullest = text.split("fullest tile").nth(1).expect("there is one");
    assert!(fullest.contains(" code    dot_") && fullest.contains(" weight  w1.1 "));
}

#[test]
fn an_encoder_block_runs_and_agrees_with_onnxruntime() {
    let report = json(&[
        "run",
        "tests/models/encoder.onnx",
        "--tiles",
        "64",
        "--input",
        "x=tests/models/encoder.x.npy",
        "--check",
        "--json",
    ]);
    assert_eq!(report["predicted_cycles"], report["simulated_cycles"]);
    assert_eq!(report["outputs"][0]["ok"], true, "{report}");

    // The interpreter that judged it is itself judged by onnxruntime's stored answer: both round
    // every operation of the block in f32, so they differ by rounding alone.
    let folder = tempfile::tempdir().expect("a folder");
    let ours = folder.path().join("y.npy");
    ipucc()
        .args([
            "eval",
            "tests/models/encoder.onnx",
            "--input",
            "x=tests/models/encoder.x.npy",
        ])
        .arg("--output")
        .arg(format!("y={}", ours.display()))
        .assert()
        .success();
    let read = |path: &std::path::Path| -> Vec<f64> {
        let bytes = std::fs::read(path).expect("a file");
        let array = ipucc::npy::read(&bytes).expect("an array");
        let chunks = array.bytes.as_chunks::<4>().0.iter();
        chunks
            .map(|chunk| f64::from(f32::from_le_bytes(*chunk)))
            .collect()
    };
    let (a, b) = (
        read(&ours),
        read(&root().join("tests/models/encoder.y.npy")),
    );
    let dot = |p: &[f64], q: &[f64]| p.iter().zip(q).map(|(x, y)| x * y).sum::<f64>();
    let cosine = dot(&a, &b) / (dot(&a, &a) * dot(&b, &b)).sqrt();
    assert!(1.0 - cosine < 1e-12, "cosine {cosine}");
}
