//! What a new user does wrong: every mistake is told with exit code 1, and no file that was there
//! is harmed.

use assert_cmd::Command;
use std::fs;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn ipucc() -> Command {
    let mut command = Command::cargo_bin("ipucc").expect("the binary is built");
    command
        .current_dir(root())
        .timeout(std::time::Duration::from_secs(120));
    command
}

/// Runs a command that must fail as the user's fault, and gives what it says.
fn refused(arguments: &[&str]) -> String {
    let output = ipucc().args(arguments).output().expect("runs");
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{arguments:?}: {text}");
    assert!(!text.contains("panicked"), "{arguments:?}: {text}");
    text
}

/// A `.npy` file of f32 zeros with this shape in its header and so many elements behind it.
fn array(folder: &Path, name: &str, shape: &str, elements: usize) -> String {
    let mut header = format!("{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}, }}");
    while (header.len() + 11) % 64 != 0 {
        header.push(' ');
    }
    header.push('\n');
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((header.len() as u16).to_le_bytes());
    bytes.extend(header.bytes());
    bytes.resize(bytes.len() + 4 * elements, 0);
    let path = folder.join(name);
    fs::write(&path, bytes).expect("writes");
    path.display().to_string()
}

#[test]
fn wrong_files_are_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let place = |name: &str, bytes: &[u8]| {
        let path = folder.path().join(name);
        fs::write(&path, bytes).expect("writes");
        path.display().to_string()
    };
    for name in ["none.ir", "none.onnx", "none.tile", "none.ipupkg"] {
        let path = folder.path().join(name).display().to_string();
        assert!(refused(&["run", &path]).contains("No such file"), "{name}");
        fs::create_dir(&path).expect("a folder");
        assert!(refused(&["run", &path]).contains("directory"), "{name}");
    }
    for name in ["empty.ir", "empty.onnx", "empty.tile", "empty.ipupkg"] {
        let text = refused(&["run", &place(name, b"")]);
        assert!(text.contains(name), "{text}");
    }
    for name in ["text.ir", "text.onnx", "text.tile", "text.ipupkg"] {
        let text = refused(&["run", &place(name, b"hello, this is text\n")]);
        assert!(text.contains(name), "{text}");
    }
    let bytes = place("bytes.ir", b"module \xff\xfe");
    assert!(refused(&["run", &bytes]).contains("not text at byte 7"));
}

#[test]
fn wrong_options_are_refused() {
    for (arguments, words) in [
        (vec!["--tiles", "0"], "1 to 1472"),
        (vec!["--tiles", "1473"], "1 to 1472"),
        (vec!["--tiles", "99999999999"], "--tiles"),
        (vec!["-j", "0"], "1 to 1024 threads"),
        (vec!["-j", "99999"], "1 to 1024 threads"),
        (vec!["--dim", "N=3"], "no ONNX model"),
        (vec!["--assume", "sup_barier=1"], "no assumption"),
        (vec!["--precision", "zz=f16"], "no operation is called"),
        (vec!["--output", "q=q.npy"], "no such output"),
        (
            vec!["--output", "y=/nonexistent/y.npy"],
            "no folder /nonexistent",
        ),
    ] {
        let mut all = vec!["run", "examples/mlp.ir"];
        if !arguments.contains(&"--tiles") {
            all.extend(["--tiles", "16"]);
        }
        all.extend(arguments);
        let text = refused(&all);
        assert!(text.contains(words), "{all:?}: {text}");
    }
}

#[test]
fn wrong_arrays_are_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let make = |name: &str, shape: &str, elements| array(folder.path(), name, shape, elements);
    let whole = make("whole.npy", "(64, 256)", 64 * 256);
    let rows = make("rows.npy", "(2, 64, 256)", 2 * 64 * 256);
    let none = make("none.npy", "(0, 64, 256)", 0);
    let scalar = make("scalar.npy", "()", 1);
    let other = make("other.npy", "(64, 255)", 64 * 255);
    let short = make("short.npy", "(64, 256)", 7);
    let huge = make("huge.npy", "(99999999999, 2)", 0);
    let negative = make("negative.npy", "(-1, 2)", 0);
    for (option, file, words) in [
        ("--inputs", &whole, "hint: --input x="),
        ("--inputs", &none, "no rows"),
        ("--inputs", &scalar, "no rows"),
        ("--inputs", &other, "each of the 64 rows"),
        ("--input", &rows, "expected [64, 256]"),
        ("--input", &other, "expected [64, 256]"),
        ("--input", &short, "cut off"),
        ("--input", &huge, "not in 0..2^32"),
        ("--input", &negative, "not in 0..2^32"),
    ] {
        let given = format!("x={file}");
        let text = refused(&["run", "examples/mlp.ir", "--tiles", "16", option, &given]);
        assert!(text.contains(words), "{option} {file}: {text}");
    }
    let given = format!("x={whole}");
    for (option, file) in [("--input", &whole), ("--inputs", &rows)] {
        let unknown = format!("z={file}");
        let x = format!("x={file}");
        let model = ["run", "examples/mlp.ir", "--tiles", "16", option];
        let with = |more: &[&str]| refused(&[&model[..], more].concat());
        assert!(with(&[&x, option, &unknown]).contains("no such input; it has x"));
        assert!(with(&[&x, option, &x]).contains("given twice"));
    }
    let both = ["--input", &given, "--inputs", &given];
    let model = ["run", "examples/mlp.ir", "--tiles", "16"];
    assert!(refused(&[&model[..], &both].concat()).contains("cannot be used with"));
}

#[cfg(target_os = "linux")]
#[test]
fn what_is_no_file_is_written_to_and_not_replaced() {
    use std::os::unix::fs::FileTypeExt;
    let folder = tempfile::tempdir().expect("a folder");
    // A device of our own would need rights; a link to one that is always there does not, and a
    // replaced link is seen without harm to the device.
    let device = folder.path().join("full.ipupkg");
    std::os::unix::fs::symlink("/dev/full", &device).expect("a link");
    let out = device.display().to_string();
    let text = refused(&["build", "examples/mlp.ir", "--tiles", "16", "-o", &out]);
    assert!(text.contains("No space left"), "{text}");
    let kind = fs::metadata(&device).expect("is there").file_type();
    assert!(kind.is_char_device(), "the device was replaced");

    // A link to a file stays a link, and the file is what it points to.
    let file = folder.path().join("real.ipupkg");
    let link = folder.path().join("link.ipupkg");
    fs::write(&file, "old").expect("writes");
    std::os::unix::fs::symlink(&file, &link).expect("a link");
    let build = |out: &Path| {
        let mut command = ipucc();
        command.args(["build", "examples/mlp.ir", "--tiles", "16", "-o"]);
        command.arg(out).assert()
    };
    build(&link).success();
    assert!(fs::symlink_metadata(&link).expect("is there").is_symlink());
    assert!(fs::metadata(&file).expect("is there").len() > 1000);

    // What cannot be written leaves nothing behind.
    let text = String::from_utf8_lossy(
        &build(&folder.path().join("none/x.ipupkg"))
            .code(1)
            .get_output()
            .stderr,
    )
    .into_owned();
    assert!(text.contains("there is no folder"), "{text}");
    assert!(!text.contains(".ipucc-"), "{text}");
    let left: Vec<_> = fs::read_dir(folder.path()).expect("lists").collect();
    assert_eq!(left.len(), 3, "{left:?}");
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_or_closed_output_is_told_or_borne() {
    for arguments in [
        vec!["--help"],
        vec!["--version"],
        vec!["passes"],
        vec!["ops"],
        vec!["sim", "--assumptions"],
        vec![
            "opt",
            "examples/mlp.ir",
            "--tiles",
            "16",
            "--dump-after=all",
        ],
    ] {
        // Of the process itself: `assert_cmd` always reads the output.
        let binary = assert_cmd::cargo::cargo_bin("ipucc");
        let full = fs::File::options()
            .write(true)
            .open("/dev/full")
            .expect("opens");
        let output = std::process::Command::new(&binary)
            .current_dir(root())
            .args(&arguments)
            .stdout(full)
            .stderr(std::process::Stdio::piped())
            .output()
            .expect("runs");
        let text = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{arguments:?}: {text}");
        assert!(text.contains("cannot write to standard output"), "{text}");

        let mut child = std::process::Command::new(&binary)
            .current_dir(root())
            .args(&arguments)
            .stdout(std::process::Stdio::piped())
            .stderr(std::process::Stdio::piped())
            .spawn()
            .expect("starts");
        drop(child.stdout.take());
        let output = child.wait_with_output().expect("ends");
        let text = String::from_utf8_lossy(&output.stderr);
        assert!(!text.contains("panicked"), "{arguments:?}: {text}");
        assert!(matches!(output.status.code(), Some(0 | 1)), "{arguments:?}");
    }
}

#[cfg(unix)]
#[test]
fn names_that_are_no_text_are_files_like_others() {
    use std::os::unix::ffi::OsStrExt;
    let folder = tempfile::tempdir().expect("a folder");
    let name = std::ffi::OsStr::from_bytes(b"m\xff\xfe.ir");
    let model = folder.path().join(name);
    fs::copy(root().join("examples/mlp.ir"), &model).expect("copies");
    ipucc()
        .arg("build")
        .arg(&model)
        .args(["--tiles", "16"])
        .assert()
        .success();
    ipucc()
        .arg("run")
        .arg(model.with_extension("ipupkg"))
        .assert()
        .success();
}
