//! `ipucc asm` and `ipucc disasm` as commands: exit codes, output forms, files.

use std::path::Path;
use std::sync::Arc;

use assert_cmd::Command;
use indexmap::IndexMap;
use ipucc_machine::package::{
    FORMAT_VERSION, Header, MapSymbol, Package, Prediction, Segment, SegmentKind, SourceMap,
    TileImage,
};

fn ipucc(arguments: &[&str]) -> Command {
    let mut command = Command::cargo_bin("ipucc").expect("the command is built");
    command.args(arguments);
    command
}

/// Standard output and error of a run that must end with `code`.
fn run(arguments: &[&str], stdin: &str, code: i32) -> (String, String) {
    let output = ipucc(arguments)
        .write_stdin(stdin)
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

fn path(path: &Path) -> &str {
    path.to_str().expect("a path in UTF-8")
}

#[test]
fn words_of_sections() {
    let text = "setzi $m0, x\n.data\n.word 7\nx: .byte 1\n.section .more, \"ax\"\nnop\n";
    let (out, _) = run(&["asm", "-", "--hex"], text, 0);
    assert_eq!(out, "0x1904c00c\n");
    let (out, _) = run(
        &["asm", "-", "--hex", "--section-start", ".data=0x50000"],
        text,
        0,
    );
    assert_eq!(out, "0x19050004\n");
    let (out, _) = run(&["asm", "-", "--hex", "--section", ".data"], text, 0);
    assert_eq!(out, "0x00000007\n0x00000001\n");
    let (_, err) = run(&["asm", "-", "--hex", "--section", ".none"], text, 1);
    assert!(err.contains("there is no section `.none`"), "{err}");
    let (_, err) = run(
        &["asm", "-", "--hex", "--section-start", ".none=4"],
        text,
        1,
    );
    assert!(err.contains("there is no section `.none`"), "{err}");
    let (_, err) = run(&["asm", "-", "--hex", "--section-start", ".text"], text, 1);
    assert!(err.contains("NAME=ADDR"), "{err}");
    // Code in one other section only.
    let (out, err) = run(&["asm", "-", "--hex"], ".section .text.f, \"ax\"\nnop\n", 0);
    assert_eq!(out, "0x19e00000\n");
    assert!(err.contains(".text.f"), "{err}");
}

#[test]
fn modes() {
    let (out, _) = run(&["asm", "-", "--hex", "--supervisor"], "sync 2", 0);
    assert_eq!(out, "0x41800002\n");
    let (_, err) = run(&["asm", "-", "--hex"], "sync 2", 1);
    assert!(err.contains("a worker cannot execute `sync`"), "{err}");
    let (_, err) = run(&["asm", "-", "--worker", "--supervisor"], "nop", 1);
    assert!(err.contains("cannot be used with"), "{err}");
}

#[test]
fn errors_are_one_and_all() {
    let (out, err) = run(
        &["asm", "-", "--hex"],
        "adx $m0, $m1, 1\nnop\nbri nowhere\n{ nop ; nop }\n",
        1,
    );
    assert!(out.is_empty());
    assert_eq!(err.matches("error: ").count(), 3, "{err}");
    assert!(err.contains("<stdin>:1:1"), "{err}");
    assert!(err.contains("did you mean `add`?"), "{err}");
    let (_, err) = run(&["asm", "/nonexistent/file.S"], "", 1);
    assert!(err.contains("cannot read /nonexistent/file.S"), "{err}");
    run(&["asm"], "", 1);
    run(&["no-such-command"], "", 1);
    run(&["--help"], "", 0);
    run(&["--version"], "", 0);
}

#[test]
fn not_text() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("bad.S");
    std::fs::write(&file, b"nop\n\xff\xfe\n").expect("written");
    let (_, err) = run(&["asm", path(&file)], "", 1);
    assert!(err.contains("bad.S:2: the file is not UTF-8"), "{err}");
}

#[test]
fn objects() {
    let folder = tempfile::tempdir().expect("a folder");
    let object = folder.path().join("a.o");
    let text =
        ".globl f\nf: setzi $m0, x\n{ brnz $m0, f ; fnop }\nexitz $mzero\n.data\nx: .word f\n";
    run(&["asm", "-", "-o", path(&object)], text, 0);
    let (shown, _) = run(&["disasm", path(&object)], "", 0);
    assert!(shown.contains(".globl  f"), "{shown}");
    let (first, _) = run(&["asm", "-", "--hex"], text, 0);
    let (second, _) = run(&["asm", "-", "--hex"], &shown, 0);
    assert_eq!(first, second);
    // A failed run leaves the old file alone and no temporary file behind.
    let before = std::fs::read(&object).expect("the object");
    run(&["asm", "-", "-o", path(&object)], "bogus", 1);
    assert_eq!(std::fs::read(&object).expect("the object"), before);
    assert_eq!(
        std::fs::read_dir(folder.path()).expect("a folder").count(),
        1
    );
    // Cut, altered, foreign.
    for (bytes, wanted) in [
        (before[..before.len() - 1].to_vec(), "truncated"),
        (
            {
                let mut b = before.clone();
                let last = b.len() - 1;
                b[last] ^= 1;
                b
            },
            "damaged",
        ),
        (
            {
                let mut b = before.clone();
                b[8] = 99;
                b
            },
            "version",
        ),
        (b"something else".to_vec(), "not an ipucc package"),
    ] {
        std::fs::write(&object, bytes).expect("written");
        let (_, err) = run(&["disasm", path(&object)], "", 1);
        assert!(err.contains(wanted), "{wanted}: {err}");
    }
    let (_, err) = run(&["asm", "-", "-o", "/nonexistent/folder/a.o"], "nop", 1);
    assert!(err.contains("cannot write"), "{err}");
}

#[test]
fn words_back_to_text() {
    let hex = "0x19e00000\n0x22000001\n0x11013000\n";
    let (text, _) = run(&["disasm", "--hex", "-"], hex, 0);
    assert!(text.contains(".L4c000:"), "{text}");
    let (again, _) = run(&["asm", "-", "--hex"], &text, 0);
    assert_eq!(again, hex);
    let (_, err) = run(&["disasm", "--hex", "-"], "0x19e00000\nwords\n", 1);
    assert!(err.contains("-:2: `words`"), "{err}");
    let (_, err) = run(&["disasm", "-"], hex, 1);
    assert!(err.contains("--hex"), "{err}");
}

#[test]
fn a_closed_pipe_is_quiet() {
    let mut text = String::new();
    for _ in 0..50_000 {
        text.push_str("nop\n");
    }
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("long.S");
    std::fs::write(&file, text).expect("written");
    let binary = ipucc(&[]).get_program().to_os_string();
    let mut child = std::process::Command::new(binary)
        .args(["asm", path(&file), "--listing"])
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .expect("the command runs");
    drop(child.stdout.take());
    let output = child.wait_with_output().expect("it ends");
    assert_eq!(output.status.code(), Some(0));
    assert!(output.stderr.is_empty());
}

#[test]
fn tiles_of_packages() {
    let code: Vec<u8> = [0x1904_c100u32, 0x4180_0003, 0x18a1_3040, 0x4080_0000]
        .iter()
        .flat_map(|w| w.to_le_bytes())
        .collect();
    let row: Vec<u8> = [
        0x6400_c000u32,
        0x6400_8640,
        0x6182_6000,
        0x40a0_0007,
        0x43a0_0000,
    ]
    .iter()
    .flat_map(|w| w.to_le_bytes())
    .collect();
    let segment = |address, blob, kind| Segment {
        address,
        blob,
        kind,
    };
    let package = Package {
        header: Header {
            format_version: FORMAT_VERSION,
            producer: "test".to_string(),
            name: "model".to_string(),
        },
        tiles: 2,
        blobs: vec![Arc::from(code), Arc::from(row), Arc::from([1u8; 24])],
        images: vec![
            TileImage {
                entry: 0x4c010,
                segments: vec![
                    segment(0x4c010, 0, SegmentKind::Code),
                    segment(0x4c100, 1, SegmentKind::Row),
                    segment(0x50000, 2, SegmentKind::Data),
                ],
            },
            TileImage {
                entry: 0x4c010,
                segments: vec![segment(0x4c010, 0, SegmentKind::Code)],
            },
        ],
        inputs: IndexMap::new(),
        outputs: IndexMap::new(),
        predicted: Prediction::default(),
        map: SourceMap {
            symbols: vec![MapSymbol {
                name: "phase 0/row".to_string(),
                tiles: (0, 0),
                address: 0x4c100,
                bytes: 20,
                kind: SegmentKind::Row,
            }],
            ..SourceMap::default()
        },
    };
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("model.ipu");
    ipucc_runtime::file::write(&file, &package).expect("a package file");
    let (text, _) = run(&["disasm", path(&file), "--tile", "0", "--events"], "", 0);
    for wanted in [
        "_start:",
        "call $m10, phase_0_row",
        "phase_0_row:",
        "start 0 end 4, effect 4 mux tile 0",
        "row ends at 64",
        "--section-start .s4c100=0x4c100",
    ] {
        assert!(text.contains(wanted), "{wanted}\n{text}");
    }
    let (words, _) = run(
        &[
            "asm",
            "-",
            "--hex",
            "--section",
            ".s4c100",
            "--section-start",
            ".s4c010=0x4c010",
            "--section-start",
            ".s4c100=0x4c100",
            "--section-start",
            ".s50000=0x50000",
        ],
        &text,
        0,
    );
    assert_eq!(
        words,
        "0x6400c000\n0x64008640\n0x61826000\n0x40a00007\n0x43a00000\n"
    );
    let (_, err) = run(&["disasm", path(&file), "--tile", "2"], "", 1);
    assert!(err.contains("no tile 2"), "{err}");
    let (_, err) = run(&["disasm", path(&file)], "", 1);
    assert!(err.contains("choose one with --tile"), "{err}");
}
