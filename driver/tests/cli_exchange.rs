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

/// Transfers in one small part of the memory of a few tiles: many of them wait for others, and
/// sources share elements with targets.
fn entangled(seed: u64) -> Value {
    let mut random = Random(seed);
    let tiles: Vec<u64> = (0..2 + random.below(6))
        .map(|_| random.below(1472))
        .collect();
    let mut transfers = Vec::new();
    for _ in 0..2 + random.below(24) {
        let words = 1 + random.below(40);
        let address = |random: &mut Random| 0x60000 + 4 * random.below(120);
        let source = tiles[random.below(tiles.len() as u64) as usize];
        let mut destinations: Vec<(u64, u64)> = Vec::new();
        for _ in 0..1 + random.below(2) {
            let tile = tiles[random.below(tiles.len() as u64) as usize];
            if tile != source && destinations.iter().all(|&(other, _)| other != tile) {
                destinations.push((tile, address(&mut random)));
            }
        }
        if !destinations.is_empty() {
            transfers.push(json!({
                "source": source, "source_address": address(&mut random), "words": words,
                "destinations": destinations,
            }));
        }
    }
    json!({ "name": format!("entangled {seed}"), "transfers": transfers })
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
fn transfers_wait_for_those_whose_words_they_meet() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("phase.json");
    for seed in 0..40 {
        let phase = entangled(seed);
        if phase["transfers"].as_array().is_none_or(Vec::is_empty) {
            continue;
        }
        std::fs::write(&path, phase.to_string()).expect("writes");
        let output = exchange(&path);
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{seed}: {told}");
        let found: Value = serde_json::from_slice(&output.stdout).expect("json");
        assert_eq!(found["data_ok"], true, "{seed}");
        assert_eq!(found["simulated_events"], found["horizon"], "{seed}");
        assert!(
            found["bound_route"].as_u64() <= found["horizon"].as_u64(),
            "{seed}"
        );
    }
}

#[test]
fn a_tile_may_be_named_twice() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("phase.json");
    let phase = json!({ "transfers": [{
        "source": 3, "source_address": 0x60000, "words": 20,
        "destinations": [[5, 0x98000], [5, 0x99000], [7, 0x98000]],
    }] });
    std::fs::write(&path, phase.to_string()).expect("writes");
    let found: Value = serde_json::from_slice(&exchange(&path).stdout).expect("json");
    assert_eq!(found["data_ok"], true);
    assert_eq!(found["simulated_events"], found["horizon"]);
}

/// Sixteen tiles hand on 64 words in turn: the chain's own length, to the event.
#[test]
fn a_relay_takes_as_long_as_its_chain() {
    let folder = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../shared/vectors/exchange_phases"
    );
    let file = std::fs::read_dir(folder)
        .unwrap_or_else(|error| panic!("{folder}: {error}"))
        .filter_map(|entry| Some(entry.ok()?.path()))
        .find(|path| {
            path.file_name()
                .is_some_and(|name| name.to_string_lossy().starts_with('h'))
        })
        .expect("the phase of relays");
    let found: Value = serde_json::from_slice(&exchange(&file).stdout).expect("json");
    assert_eq!(
        (&found["horizon"], &found["bound_route"]),
        (&json!(1773), &json!(1773))
    );
    assert_eq!(found["data_ok"], true);
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
