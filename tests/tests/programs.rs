//! The hand-written programs of the fact collection: words, results, worker turns and supervisor
//! cycles as their sidecars give them.

use indexmap::IndexMap;
use ipucc_chip::{Assumptions, Chip, LogicalTile};
use ipucc_machine::asm;
use ipucc_sim::{Options, Simulator};
use serde_json::Value;
use std::path::PathBuf;

fn folder() -> PathBuf {
    let folder = PathBuf::from(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../shared/examples/asm"
    ));
    assert!(
        folder.is_dir(),
        "the shared facts must lie beside the checkout: {}",
        folder.display()
    );
    folder
}

fn number(value: &Value) -> u32 {
    let text = value.as_str().expect("hex string");
    u32::from_str_radix(text.trim_start_matches("0x"), 16).expect("hex number")
}

fn bytes(value: &Value) -> Vec<u8> {
    let lines = value.as_array().expect("hex lines");
    let text: String = lines
        .iter()
        .map(|line| line.as_str().expect("hex"))
        .collect();
    (0..text.len() / 2)
        .map(|i| u8::from_str_radix(&text[2 * i..2 * i + 2], 16).expect("hex byte"))
        .collect()
}

fn run(name: &str) {
    let read = |file: String| std::fs::read_to_string(folder().join(file)).expect("sample");
    let expect: Value = serde_json::from_str(&read(format!("{name}.expect.json"))).expect("JSON");
    let options = asm::Options {
        file: format!("{name}.S"),
        context: ipucc_machine::Context::Supervisor,
    };
    let assembly = asm::assemble(&read(format!("{name}.S")), &options).expect("assembles");
    let load: IndexMap<String, u32> = expect["load"]
        .as_object()
        .expect("load")
        .iter()
        .map(|(section, address)| (section.clone(), number(address)))
        .collect();
    let placed = assembly.object.place(&load).expect("places");
    let cases = expect["cases"].as_array().expect("cases");
    assert!(!cases.is_empty());
    for case in cases {
        let tile = LogicalTile(0);
        let options = Options {
            record_launches: true,
            ..Options::default()
        };
        let chip = Chip::first(1).expect("one tile");
        let mut simulator = Simulator::new(chip, Assumptions::default(), options).expect("memory");
        for section in placed.sections.values() {
            simulator
                .write(tile, section.address, &section.bytes)
                .expect("loads");
        }
        for region in case["memory_in"].as_array().expect("memory_in") {
            simulator
                .write(tile, number(&region["address"]), &bytes(&region["hex"]))
                .expect("in");
        }
        let size = ipucc_chip::memory::SIZE as usize;
        let mut before = vec![0; size];
        simulator
            .read(tile, ipucc_chip::memory::BASE, &mut before)
            .expect("reads");
        simulator.start(&[(tile, number(&expect["entry"]["address"]))]);
        let report = simulator
            .run()
            .unwrap_or_else(|failure| panic!("{name} {}: {failure}", case["name"]));
        for region in case["memory_out"].as_array().expect("memory_out") {
            let at = (number(&region["address"]) - ipucc_chip::memory::BASE) as usize;
            let wanted = bytes(&region["hex"]);
            before[at..at + wanted.len()].copy_from_slice(&wanted);
        }
        let mut after = vec![0; size];
        simulator
            .read(tile, ipucc_chip::memory::BASE, &mut after)
            .expect("reads");
        if let Some(at) = (0..size).find(|&i| before[i] != after[i]) {
            panic!(
                "{name} {}: byte {:#x}",
                case["name"],
                at + ipucc_chip::memory::BASE as usize
            );
        }
        if let Some(turns) = case["worker_turns"].as_array() {
            let wanted: Vec<Vec<u64>> = turns
                .iter()
                .map(|launch| {
                    launch
                        .as_array()
                        .expect("six")
                        .iter()
                        .map(|n| n.as_u64().expect("n"))
                        .collect()
                })
                .collect();
            let found: Vec<Vec<u64>> = report.tiles[0]
                .launches
                .iter()
                .map(|launch| launch.to_vec())
                .collect();
            assert_eq!(found, wanted, "{name} {}", case["name"]);
        }
        if let Some(stop) = case["supervisor_stop_cycle"].as_u64() {
            assert_eq!(
                report.tiles[0].end_cycle,
                Some(stop),
                "{name} {}",
                case["name"]
            );
        }
    }
}

#[test]
fn copy_loop() {
    run("copy_loop_supervisor");
}

#[test]
fn patch_loop() {
    run("patch_loop_supervisor");
}

#[test]
fn vector_add() {
    run("vector_add_f32");
}

#[test]
fn row_sum() {
    run("row_sum_f16");
}

#[test]
fn amp_panel() {
    run("amp_panel_f16");
}

#[test]
fn softmax_row() {
    run("softmax_row_f16");
}
