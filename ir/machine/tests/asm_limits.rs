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
