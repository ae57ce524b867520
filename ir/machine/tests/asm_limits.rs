//! Texts that would run for ever or fill memory end in an error, and soon.

use std::time::{Duration, Instant};

use ipucc_machine::asm::{Options, assemble};

fn fails(text: &str, wanted: &str) {
    let begin = Instant::now();
    let errors = assemble(text, &Options::default())
        .expect_err(text)
        .to_string();
    assert!(errors.contains(wanted), "{wanted}\n{errors}");
    // Generous for a slow machine; without the limits these take minutes or never end.
    assert!(begin.elapsed() < Duration::from_secs(60), "{text}");
}

#[test]
fn endless_expansions() {
    fails(".macro m\nm\nm\n.endm\nm", "too deeply");
    fails(
        ".rept 1000000000\n.rept 1000000000\n.set x, 1\n.endr\n.endr",
        "statements",
    );
    fails(".rept 1000000000\nbogus $m0\n.endr", "unknown instruction");
    // The argument doubles with every level.
    fails(".macro m a\n.set x, 1\nm \\a+\\a\n.endm\nm 1", "128 MiB");
    fails(
        ".macro m a, n\n.rept 1000\n.rept 1000\nm \\a, \\n\n.endr\n.endr\n.endm\nm 1, 2",
        "too deeply",
    );
}

#[test]
fn large_sections() {
    fails(".rept 100\n.space 0x100000\n.endr", "address space");
    fails(".rept 2000000\nnop\n.endr", "address space");
    fails(
        ".p2align 20\n.byte 1\n.p2align 20\n.byte 1\n.p2align 20\n.byte 1",
        "address space",
    );
    fails(".org 0x7fffffff", "backward");
}

#[test]
fn large_expressions() {
    let nested = format!("setzi $m0, {}1{}", "(".repeat(5000), ")".repeat(5000));
    fails(&nested, "nested too deeply");
    let signs = format!("setzi $m0, {}1", "-".repeat(5000));
    fails(&signs, "nested too deeply");
    let chain = format!("setzi $m0, x{}\nx:", " * x".repeat(50_000));
    fails(&chain, "too large");
    // Doubles 100 times.
    fails(
        ".set a, late\n.rept 100\n.set a, a + a\n.endr\n.word a\nlate:",
        "too large",
    );
}

/// Large texts take time in proportion: these took minutes when something was searched from the
/// start for every statement.
#[test]
fn large_texts() {
    let begin = Instant::now();
    let one_line = "setzi $m0, 1 ; ".repeat(100_000);
    assert!(assemble(&one_line, &Options::default()).is_ok());
    let mut labels = String::new();
    for i in 0..50_000 {
        labels.push_str(&format!("l{i}: bri l{}\n", i * 7 % 50_000));
    }
    let object = assemble(&labels, &Options::default())
        .expect("labels")
        .object;
    assert_eq!(object.sections[".text"].relocations.len(), 50_000);
    let undefined: String = (0..50_000).map(|i| format!("bri u{i}\n")).collect();
    assert!(assemble(&undefined, &Options::default()).is_err());
    let expressions: String = (0..5_000)
        .map(|i| format!("setzi $m0, (x + {i}) >> 4\n"))
        .collect();
    assert!(assemble(&format!("x:\n{expressions}"), &Options::default()).is_ok());
    assert!(
        begin.elapsed() < Duration::from_secs(60),
        "{:?}",
        begin.elapsed()
    );
}
