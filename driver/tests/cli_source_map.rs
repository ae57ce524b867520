//! From words of a package to the line of the model: the map itself, `ipucc disasm`, and the
//! message of a program that fails.

use assert_cmd::Command;
use ipucc_machine::package::{Package, SegmentKind};
use std::path::{Path, PathBuf};

const MODEL: &str = "module {
  func @main(%x: tensor<32x64xf32>, %w: tensor<64x48xf32>) -> (%y: tensor<32x48xf32>) {
    %a = dot %x, %w {lhs_contract = [1], rhs_contract = [0]} : tensor<32x48xf32>
    %b = tanh %a : tensor<32x48xf32>
    %c = add %b, %a : tensor<32x48xf32>
    %d = softmax %c {axis = 1} : tensor<32x48xf32>
    return %d
  }
}
";

/// Standard output and error of a command that must end with `code`.
fn run(arguments: &[&str], code: i32) -> (String, String) {
    let output = Command::cargo_bin("ipucc")
        .expect("the command is built")
        .args(arguments)
        .output()
        .expect("the command runs");
    let (out, err) = (
        String::from_utf8_lossy(&output.stdout).into_owned(),
        String::from_utf8_lossy(&output.stderr).into_owned(),
    );
    assert_eq!(
        output.status.code(),
        Some(code),
        "{arguments:?}\n{out}\n{err}"
    );
    (out, err)
}

fn text(path: &Path) -> &str {
    path.to_str().expect("a path in UTF-8")
}

fn build(folder: &Path, model: &Path, tiles: &str) -> (PathBuf, Package) {
    let file = folder.join("out.ipupkg");
    run(
        &["build", text(model), "--tiles", tiles, "-o", text(&file)],
        0,
    );
    let package = ipucc_runtime::file::read(&file).expect("a package");
    (file, package)
}

/// Every word of kernels and rows, and of programs between their first and last step, is somebody's.
fn complete(package: &Package) {
    let map = &package.map;
    for (tile, image) in package.images.iter().enumerate() {
        let tile = tile as u16;
        for segment in &image.segments {
            let bytes = package.blobs[segment.blob as usize].len() as u32;
            let code = matches!(segment.kind, SegmentKind::Code | SegmentKind::Row);
            if !code {
                continue;
            }
            let words = (segment.address..segment.address + bytes).step_by(4);
            let known: Vec<bool> = words.map(|at| !map.steps(tile, at).is_empty()).collect();
            if segment.address == image.entry {
                let first = known.iter().position(|&known| known);
                let last = known.iter().rposition(|&known| known);
                if let (Some(first), Some(last)) = (first, last) {
                    assert!(
                        known[first..=last].iter().all(|&known| known),
                        "tile {tile}"
                    );
                }
            } else {
                assert!(
                    known.iter().all(|&known| known),
                    "tile {tile}, {:#x}",
                    segment.address
                );
            }
        }
        for span in map.spans(tile) {
            for &step in &span.steps {
                assert!((step as usize) < map.steps.len());
            }
        }
    }
}

#[test]
fn words_lead_to_lines() {
    let folder = tempfile::tempdir().expect("a folder");
    let model = folder.path().join("model.ir");
    std::fs::write(&model, MODEL).expect("a model");
    let (file, package) = build(folder.path(), &model, "4");
    complete(&package);
    let (listing, _) = run(&["disasm", text(&file), "--tile", "1"], 0);
    for wanted in [
        "(compute a): `dot` in line 3",
        "(compute c): `tanh` in line 4, `add` in line 5",
        "(compute d): `softmax` in line 6",
    ] {
        // In the kernel and in the supervisor's program.
        assert!(listing.matches(wanted).count() >= 2, "{wanted}\n{listing}");
    }
}

#[test]
fn a_fault_names_the_line() {
    let folder = tempfile::tempdir().expect("a folder");
    let model = folder.path().join("model.ir");
    std::fs::write(&model, MODEL).expect("a model");
    let (file, mut package) = build(folder.path(), &model, "4");
    let symbol = (package.map.symbols.iter())
        .find(|symbol| symbol.name.starts_with("softmax"))
        .expect("the kernel")
        .clone();
    let tile = usize::from(symbol.tiles.0);
    let segment = *(package.images[tile].segments.iter())
        .find(|segment| segment.address == symbol.address)
        .expect("its code");
    let mut bytes = package.blobs[segment.blob as usize].to_vec();
    bytes[..4].fill(0xff);
    package.blobs[segment.blob as usize] = bytes.into();
    ipucc_runtime::file::write(&file, &package).expect("a package file");
    let (_, err) = run(&["run", text(&file)], 2);
    let wanted = format!("(at {}+0x0; step ", symbol.name);
    assert!(err.contains(&wanted), "{err}");
    assert!(err.contains("`softmax` in line 6"), "{err}");
}

#[test]
fn words_lead_to_nodes() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let folder = tempfile::tempdir().expect("a folder");
    let model = root.join("examples/digits/digits.onnx");
    let (_, package) = build(folder.path(), &model, "64");
    complete(&package);
    let computes = package
        .map
        .steps
        .iter()
        .filter(|s| s.name.starts_with("compute"));
    for step in computes {
        assert!(
            step.nodes.iter().any(|node| node.contains("from node `")),
            "{step:?}"
        );
    }
}

#[test]
fn sizes_add_up() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let folder = tempfile::tempdir().expect("a folder");
    let model = root.join("examples/digits/digits.onnx");
    let (file, package) = build(folder.path(), &model, "64");
    let (report, _) = run(&["disasm", text(&file), "--sizes"], 0);
    let all: u64 = (package.images.iter())
        .flat_map(|image| &image.segments)
        .map(|segment| package.blobs[segment.blob as usize].len() as u64)
        .sum();
    let numbers = |line: &str| -> Vec<u64> {
        let columns = line.split_whitespace();
        columns.filter_map(|column| column.parse().ok()).collect()
    };
    let lines: Vec<Vec<u64>> = report.lines().skip(1).take(5).map(numbers).collect();
    assert_eq!(
        lines.iter().map(|line| line[0]).sum::<u64>(),
        all,
        "{report}"
    );
    // Kernels that several steps call are there once.
    assert!(lines[1][3] > lines[1][0], "{report}");
    assert!(lines.iter().all(|line| line[4] <= line[0]), "{report}");
    let (_, err) = run(&["disasm", text(&file), "--sizes", "--tile", "1"], 1);
    assert!(err.contains("cannot be used with"), "{err}");
}
