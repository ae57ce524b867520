//! `ipucc exchange`: random phases are scheduled, run on the simulator, and every word arrives.

use assert_cmd::Command;
use serde_json::{Value, json};

struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % n
    }
}

/// Transfers between random tiles: sources in one part of memory, targets in another.
fn phase(seed: u64) -> Value {
    let mut random = Random(seed);
    let tiles = 2 + random.below(1470);
    let mut from = vec![0x60000u64; 1472];
    let mut to = vec![0x98000u64; 1472];
    let mut transfers = Vec::new();
    for _ in 0..1 + random.below(60) {
        let most = [4, 60, 60, 300][random.below(4) as usize];
        let words = 1 + random.below(most);
        let source = random.below(tiles);
        let receivers = if random.below(3) == 0 {
            1 + random.below(8)
        } else {
            1
        };
        let mut destinations: Vec<(u64, u64)> = Vec::new();
        for _ in 0..receivers {
            let tile = random.below(tiles);
            let full = to[tile as usize] + 4 * words > 0xe0000;
            if tile != source && !full && destinations.iter().all(|&(other, _)| other != tile) {
                destinations.push((tile, to[tile as usize]));
                to[tile as usize] += 4 * words;
            }
        }
        if destinations.is_empty() || from[source as usize] + 4 * words > 0x78000 {
            continue;
        }
        transfers.push(json!({
            "source": source, "source_address": from[source as usize], "words": words,
            "destinations": destinations,
        }));
        from[source as usize] += 4 * words;
    }
    json!({ "name": format!("random {seed}"), "transfers": transfers })
}

fn exchange(path: &std::path::Path) -> std::process::Output {
    let mut command = Command::cargo_bin("ipucc").expect("the binary is built");
    command
        .arg("exchange")
        .arg(path)
        .args(["--run", "--json"])
        .output()
        .expect("runs")
}

#[test]
fn random_phases_arrive_in_the_predicted_time() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("phase.json");
    let count = if std::env::var_os("IPUCC_FULL").is_some() {
        200
    } else {
        40
    };
    for seed in 0..count {
        std::fs::write(&path, phase(seed).to_string()).expect("written");
        let output = exchange(&path);
        assert!(
            output.status.success(),
            "seed {seed}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        let report: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        assert_eq!(report["data_ok"], true, "seed {seed}");
        assert_eq!(report["horizon"], report["simulated_events"], "seed {seed}");
        assert!(
            report["horizon"].as_u64() >= report["bound_route"].as_u64(),
            "seed {seed}"
        );
    }
}

#[test]
fn bad_phases_are_refused_with_a_reason() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("phase.json");
    let transfer = |source: u64, address: u64, words: u64, to: Value| json!({ "transfers": [{ "source": source, "source_address": address, "words": words, "destinations": to }] });
    for (phase, words) in [
        (json!({ "transfers": 3 }), "invalid type"),
        (
            transfer(1472, 0x60000, 4, json!([[1, 0x98000]])),
            "does not exist",
        ),
        (
            transfer(0, 0x60002, 4, json!([[1, 0x98000]])),
            "not tile memory",
        ),
        (
            transfer(0, 0x60000, 4, json!([[1, 0x1000]])),
            "not tile memory",
        ),
        (
            transfer(0, 0x60000, 0, json!([[1, 0x98000]])),
            "moves nothing",
        ),
        (transfer(0, 0x60000, 4, json!([])), "moves nothing"),
        (
            transfer(0, 0x60000, 4_000_000_000, json!([[1, 0x98000]])),
            "more than a tile holds",
        ),
        (transfer(0, 0x60000, 4, json!([[0, 0x98000]])), "itself"),
    ] {
        std::fs::write(&path, phase.to_string()).expect("written");
        let output = exchange(&path);
        let text = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{phase}: {text}");
        assert!(text.contains(words), "{phase}: {text}");
    }
}
