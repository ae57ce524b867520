//! Tile memory as a user meets it: what does not fit says why, and its problem can be kept and
//! solved again.

use assert_cmd::Command;

fn ipucc() -> Command {
    Command::cargo_bin("ipucc").expect("the binary is built")
}

fn error(command: &mut Command) -> String {
    let output = command.output().expect("runs");
    assert_eq!(output.status.code(), Some(1));
    String::from_utf8(output.stderr).expect("text")
}

/// Three copies of 240,000 bytes on one tile, or fewer.
fn copies(columns: u32) -> String {
    let value = |number: u32, role: &str| {
        format!(
            "value %v{number} \"v{number}\" : 1x{columns}xf32 cuts [1/1, 1/1] copies 1 tiles [0] \
             layout row(2) order [0, 1] memory any align 16 tail 8 padding anything {role} from \"line {number}\"\n"
        )
    };
    let bytes = 4 * columns;
    let copy = format!("Copy(bytes:{bytes},source_offset:0,destination_offset:0,dims:[])");
    format!(
        "tile \"copies\" on 1 {{\n{}{}{}\
         input \"x\" = %v0 : f32 [{columns}]\n\
         output \"y\" = %v1 : f32 [{columns}]\n\
         output \"z\" = %v2 : f32 [{columns}]\n\
         compute \"copy\" {{ tiles [0] {copy} (%v0, %v1) tiles [0] {copy} (%v0, %v2) }}\n}}\n",
        value(0, "input \"x\""),
        value(1, "output \"y\""),
        value(2, "output \"z\"")
    )
}

#[test]
fn what_does_not_fit_is_told_and_can_be_replayed() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("copies.tile");
    let problems = folder.path().join("copies.json");
    std::fs::write(&path, copies(60_000)).expect("writes");
    let told = error(ipucc().arg("build").arg(&path));
    for part in [
        "tile 0 is out of memory in step 0, compute `copy`",
        "bytes are live, 638960 are there",
        "240000 data `v0` from line 0",
        "code",
        "what would make it fit:",
        "--precision f16",
    ] {
        assert!(told.contains(part), "{part}: {told}");
    }
    assert!(!path.with_extension("ipupkg").exists());
    ipucc()
        .args(["opt", "--write-sram"])
        .arg(&problems)
        .arg(&path)
        .assert()
        .success();
    let again = error(ipucc().args(["opt", "--replay-sram"]).arg(&problems));
    let from = |text: &str| {
        text[text.find("tile 0").expect("a message")..]
            .trim_end()
            .to_owned()
    };
    assert_eq!(from(&told), from(&again));
}

#[test]
fn what_fits_is_replayed_with_its_peak() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("copies.tile");
    let problems = folder.path().join("copies.json");
    std::fs::write(&path, copies(4_000)).expect("writes");
    ipucc()
        .args(["opt", "--write-sram"])
        .arg(&problems)
        .arg(&path)
        .assert()
        .success();
    let output = ipucc()
        .args(["opt", "--replay-sram"])
        .arg(&problems)
        .output()
        .expect("runs");
    let replayed = String::from_utf8(output.stdout).expect("text");
    assert!(
        output.status.success() && replayed.contains("live bound"),
        "{replayed}"
    );
    // A damaged file is an error of the user.
    let text = std::fs::read_to_string(&problems).expect("reads");
    for (from, to) in [
        ("\"version\": 1", "\"version\": 2"),
        ("\"requests\"", "\"request\""),
    ] {
        std::fs::write(&problems, text.replace(from, to)).expect("writes");
        let told = error(ipucc().args(["opt", "--replay-sram"]).arg(&problems));
        assert!(told.contains("copies.json"), "{told}");
    }
    std::fs::write(
        &problems,
        text.replace("\"align_bytes\": 16", "\"align_bytes\": 0"),
    )
    .expect("writes");
    let told = error(ipucc().args(["opt", "--replay-sram"]).arg(&problems));
    assert!(told.contains("alignment"), "{told}");
}

#[test]
fn dumps_show_every_tile_and_both_modes() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("copies.tile");
    std::fs::write(&path, copies(4_000)).expect("writes");
    let output = ipucc()
        .args(["opt", "--dump-after", "all"])
        .arg(&path)
        .output()
        .expect("runs");
    let dump = String::from_utf8(output.stdout).expect("text");
    for part in [
        "// after partition",
        "tile 0: peak",
        "per-phase:",
        "sup_ans_overlap",
    ] {
        assert!(dump.contains(part), "{part}: {dump}");
    }
}

/// A tile program on its own interpreter, through files.
#[test]
fn a_tile_program_is_evaluated() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("copies.tile");
    std::fs::write(&path, copies(8)).expect("writes");
    let output = ipucc().arg("eval").arg(&path).output().expect("runs");
    let told = String::from_utf8(output.stdout).expect("text");
    let data = |name: &str| {
        let line = told
            .lines()
            .find(|line| line.starts_with(name))
            .expect("an output");
        line[line.find('=').expect("data")..].to_owned()
    };
    assert_eq!(data("y"), data("z"));
    std::fs::write(
        &path,
        copies(8).replace("compute", "compute \"none\" {} // "),
    )
    .expect("writes");
    let told = error(ipucc().arg("check").arg(&path));
    assert!(told.contains("nothing has written it"), "{told}");
}
