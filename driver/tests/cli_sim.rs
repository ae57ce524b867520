//! `ipucc sim` as a user calls it: breakpoints, dumps, breakdowns, traces.

use assert_cmd::Command;
use serde_json::Value;
use std::path::{Path, PathBuf};

fn ipucc() -> Command {
    let mut command = Command::cargo_bin("ipucc").expect("the binary is built");
    command.current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join(".."));
    command
}

/// A file with this program, and the folder that holds it.
fn program(text: &str) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("program.S");
    std::fs::write(&file, text).expect("written");
    (folder, file)
}

fn json(file: &Path, arguments: &[&str]) -> Value {
    let output = ipucc()
        .arg("sim")
        .arg(file)
        .arg("--json")
        .args(arguments)
        .output()
        .expect("runs");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    serde_json::from_slice(&output.stdout).expect("one JSON object")
}

/// Six workers store their numbers; the supervisor counts to 3 before it launches them.
const COUNT: &str = "
        .text
        .supervisor
_start: setzi   $m0, worker
        setzi   $m1, table
        setzi   $m2, 3
loop:   add     $m2, $m2, -1
        brnz    $m2, loop
        runall  $m0, $m1, 0
        sync    2
done:   bri     0
        .worker
        .p2align 3
worker: get     $m4, $WSR
        and     $m4, $m4, 7
store:  stm32   $m4, $mvertex_base, $m4
        exitz   $mzero
        .data
        .p2align 14
table:  .long   -1, -1, -1, -1, -1, -1
";

#[test]
fn a_breakpoint_stops_before_the_instruction() {
    let (_folder, file) = program(COUNT);
    let first = json(&file, &["--break", "loop", "--regs"]);
    assert_eq!(first["break"]["label"], "loop");
    assert_eq!(first["break"]["context"], "supervisor");
    assert_eq!(first["break"]["pc"], 0x4c00c);
    // Three `setzi` have issued, one a cycle.
    assert_eq!(first["break"]["cycle"], 3);
    assert_eq!(first["registers"]["supervisor"]["m"][2], 3);
    let third = json(&file, &["--break", "loop@3", "--regs"]);
    assert_eq!(third["registers"]["supervisor"]["m"][2], 1);
    // An iteration is 8 + 6 cycles (isa/supervisor.md 11), the first begins when `setzi` is done.
    let second = json(&file, &["--break", "loop@2"]);
    let cycle = |report: &Value| report["break"]["cycle"].as_u64().expect("a cycle");
    assert_eq!(cycle(&third) - cycle(&second), 14);
    // By address, in a worker: it is number 4 of six at the same instruction.
    let address = format!(
        "{:#x}@5",
        json(&file, &["--break", "store"])["break"]["pc"]
            .as_u64()
            .expect("an address")
    );
    let worker = json(
        &file,
        &["--break", &address, "--dump", "table,24", "--regs"],
    );
    assert_eq!(worker["break"]["context"], "worker 4");
    assert!(
        worker["break"]["instruction"]
            .as_str()
            .expect("text")
            .starts_with("stm32")
    );
    assert_eq!(worker["registers"]["workers"]["4"]["m"][4], 4);
    let bytes = worker["memory"][0]["bytes"].as_array().expect("bytes");
    assert_eq!(bytes[12], 3, "worker 3 has stored");
    assert_eq!(bytes[16], 255, "worker 4 has not");
}

#[test]
fn dumps_take_labels_and_show_what_the_program_left() {
    let (_folder, file) = program(COUNT);
    let report = json(&file, &["--dump", "table,24", "--dump", "0x4c000,4"]);
    let bytes = report["memory"][0]["bytes"].as_array().expect("bytes");
    let words: Vec<u64> = bytes
        .chunks(4)
        .map(|word| word[0].as_u64().expect("a byte"))
        .collect();
    assert_eq!(words, [0, 1, 2, 3, 4, 5]);
    let text = ipucc()
        .arg("sim")
        .arg(&file)
        .args(["--regs", "--dump", "table,24", "--breakdown"])
        .assert()
        .success();
    let text = String::from_utf8_lossy(&text.get_output().stdout).into_owned();
    assert!(
        text.contains("00 00 00 00 01 00 00 00 02 00 00 00 03 00 00 00"),
        "{text}"
    );
    assert!(text.contains("worker 5: 4 turns, 24 cycles"), "{text}");
    assert!(text.contains("worker 5: pc "), "{text}");
}

#[test]
fn every_cycle_is_in_one_use_and_one_span() {
    let (folder, file) = program(COUNT);
    let trace = folder.path().join("trace.json");
    let report = json(&file, &["--trace", trace.to_str().expect("text")]);
    let split = &report["breakdown"];
    let part = |name: &str| split[name].as_u64().expect("cycles");
    let cycles = report["cycles"].as_u64().expect("cycles");
    let sum = part("compute") + part("exchange") + part("barrier") + part("supervisor");
    assert_eq!(sum, cycles);
    assert_eq!(split["workers"][2]["turns"], 4);
    assert_eq!(split["workers"][2]["cycles"], 24);
    let text = std::fs::read_to_string(&trace).expect("the trace");
    let trace: Value = serde_json::from_str(&text).expect("JSON");
    let events = trace["traceEvents"].as_array().expect("events");
    let mut supervisor: Vec<(u64, u64)> = Vec::new();
    let mut workers = 0;
    for event in events.iter().filter(|event| event["ph"] == "X") {
        let start = event["args"]["cycle"].as_u64().expect("a cycle");
        let length = event["args"]["cycles"].as_u64().expect("cycles");
        let micros = event["dur"].as_f64().expect("microseconds");
        assert!((micros * 1500.0 - length as f64).abs() < 1e-6);
        if event["tid"] == 0 {
            supervisor.push((start, start + length));
        } else {
            workers += 1;
            assert_eq!(event["name"], "worker");
            assert_eq!(length, 24);
        }
    }
    assert_eq!(workers, 6);
    let mut at = 0;
    for (start, end) in supervisor {
        assert_eq!(start, at);
        at = end;
    }
    assert_eq!(at, cycles);
}

#[test]
fn the_trace_of_a_model_has_its_exchanges_and_barriers() {
    let folder = tempfile::tempdir().expect("a folder");
    let trace = folder.path().join("trace.json");
    let output = ipucc()
        .args([
            "run",
            "examples/mlp.ir",
            "--tiles",
            "16",
            "--json",
            "--breakdown",
        ])
        .args(["--trace-tiles", "3-4", "--trace"])
        .arg(&trace)
        .output()
        .expect("runs");
    assert!(output.status.success());
    let report: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let tiles = report["breakdown"].as_array().expect("tiles");
    assert_eq!(tiles.len(), 16);
    for tile in tiles {
        let part = |name: &str| tile[name].as_u64().expect("cycles");
        let sum = part("compute") + part("exchange") + part("barrier") + part("supervisor");
        assert_eq!(sum, part("end_cycle"), "{tile}");
        let most = part("compute") + part("exchange");
        for worker in tile["workers"].as_array().expect("workers") {
            assert!(worker["cycles"].as_u64() <= Some(most), "{tile}");
        }
    }
    let text = std::fs::read_to_string(&trace).expect("the trace");
    let trace: Value = serde_json::from_str(&text).expect("JSON");
    let events = trace["traceEvents"].as_array().expect("events");
    let of = |category: &str| {
        let found = events.iter().filter(|event| event["cat"] == category);
        found.map(|event| event["pid"].as_u64()).collect::<Vec<_>>()
    };
    for category in [
        "worker",
        "exchange",
        "barrier, zone 3",
        "join",
        "supervisor",
    ] {
        let tiles = of(category);
        assert!(tiles.contains(&Some(3)), "{category}");
        assert!(tiles.iter().all(|tile| (Some(3)..=Some(4)).contains(tile)));
    }
    // Workers and rows are named after the sections of the package.
    let named = events
        .iter()
        .filter(|event| event["cat"] == "worker" && event["name"] != "worker")
        .count();
    assert!(named > 0);
}

#[test]
fn bad_requests_are_refused_with_the_reason() {
    let (_folder, file) = program(COUNT);
    for (arguments, reason) in [
        (
            &["--break", "nowhere"][..],
            "no such label; it has _start, worker",
        ),
        (&["--break", "loop@0"], "begins with 1"),
        (&["--break", "0xzz"], "no number"),
        (&["--dump", "table"], "expected ADDRESS,BYTES"),
        (&["--dump", "table,9999999"], "a tile has"),
        (&["--dump", "0x10,4"], "not populated"),
        (&["--trace-tiles", "1"], "--trace"),
        (&["--trace", "/no/such/folder/t.json"], "cannot write"),
    ] {
        let assert = ipucc().arg("sim").arg(&file).args(arguments).assert();
        let output = assert.failure().get_output().clone();
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(text.contains(reason), "{arguments:?}: {text}");
        assert_eq!(output.status.code(), Some(1), "{arguments:?}");
    }
}

#[test]
fn a_fault_is_dumped_too() {
    let (_folder, file) = program(
        "
        setzi   $m0, 0x60000
        setzi   $m1, 77
        st32    $m1, $m0, $mzero, 0
        ld32    $m2, $mzero, $mzero, 3
        bri     0
",
    );
    let output = ipucc()
        .arg("sim")
        .arg(&file)
        .args(["--json", "--dump", "0x60000,4", "--regs"])
        .output()
        .expect("runs");
    assert_eq!(output.status.code(), Some(1));
    let report: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(
        report["memory"][0]["bytes"],
        serde_json::json!([77, 0, 0, 0])
    );
    assert_eq!(report["fault"]["pc"], 0x4c00c);
    assert!(
        report["fault"]["instruction"]
            .as_str()
            .expect("text")
            .starts_with("ld32")
    );
}

#[test]
fn any_number_of_threads_gives_the_same_run() {
    let run = |threads: &str| {
        let output = ipucc()
            .args([
                "run",
                "examples/mlp.ir",
                "--tiles",
                "64",
                "--json",
                "--breakdown",
            ])
            .args(["-j", threads])
            .output()
            .expect("runs");
        assert!(output.status.success());
        let mut report: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        for seconds in ["compile_seconds", "simulate_seconds"] {
            report[seconds] = Value::Null;
        }
        report
    };
    let one = run("1");
    assert_eq!(one["breakdown"].as_array().map(Vec::len), Some(64));
    assert_eq!(one, run("2"));
    assert_eq!(one, run("7"));
}
