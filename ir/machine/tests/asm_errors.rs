//! Malformed input: each text gives clear errors with place, caret and help, all of them at once.
//! The rendered messages are snapshots, one per subject.

use std::fmt::Write;

use indexmap::IndexMap;
use ipucc_machine::Context;
use ipucc_machine::asm::{Diagnostics, Options, assemble};

/// The messages that `text` gives, at assembly or when `.text` is placed at 0x4c000.
fn messages(text: &str, context: Context) -> String {
    let options = Options {
        file: "bad.S".to_string(),
        context,
    };
    match assemble(text, &options) {
        Err(errors) => {
            assert!(errors.has_errors(), "no error in {text}");
            errors.to_string()
        }
        Ok(assembly) => {
            let addresses = assembly.object.default_addresses(&IndexMap::new());
            match assembly.object.place(&addresses) {
                Ok(_) => panic!("this should not assemble:\n{text}"),
                Err(errors) => {
                    Diagnostics(errors.iter().map(|e| assembly.diagnose(e)).collect()).to_string()
                }
            }
        }
    }
}

fn report(cases: &[&str], context: Context) -> String {
    let mut out = String::new();
    for text in cases {
        let _ = writeln!(
            out,
            "================ {}",
            text.replace('\n', "\n                 ")
        );
        out.push_str(&messages(text, context));
    }
    out
}

fn worker(cases: &[&str]) -> String {
    report(cases, Context::Worker)
}

#[test]
fn mnemonics() {
    insta::assert_snapshot!(worker(&[
        "adx $m0, $m1, $m2",
        "f32v2ad $a0:1, $a2:3, $a4:5",
        "ldd32 $m0, $m1, 0",
        "zzzzzzzzzzzzz",
        "  ADDD $m0, $m1, 1   // comment",
        ".wordd 1",
        ".sectoin .text",
        "= 3",
        "12 + 3",
        "@foo",
        "f32getacc $a0, 1",
    ]));
}

#[test]
fn operands() {
    insta::assert_snapshot!(worker(&[
        "add $m0, $m1",
        "add $m0, $m1, $m2, $m3",
        "add $m0, $a1, $m2",
        "add $m0, $m16, 1",
        "f32add $a0, $m1, $a2",
        "f32v2add $a0:1, $a1:2, $a4:5",
        "f32v2add $a0, $a2:3, $a4:5",
        "ld128 $a0:1, $m0, $m1, 0",
        "f16v4add $a0:1, $m0:B, $a2:3",
        "ld32step $a0, $m0, $m1, 1",
        "ld32step $a0, $m0, $m1++, 1",
        "ld2x64pace $a0:1, $a2:3, $m4:5, $m6, 0",
        "add $m0 $m1, $m2",
        "add $m0,, $m2",
        "add $, $m1, $m2",
        "mov $a0, $m0",
        "mov $m0, 5",
        "zero $a0:3",
        "ldconst $a0:1, 3",
        "nop 1",
        "f16v2add $a0, $a1:BX, $a2",
    ]));
}

#[test]
fn ranges() {
    insta::assert_snapshot!(worker(&[
        "add $m0, $m1, 65536",
        "add $m0, $m1, -32769",
        "adds $m0, $m1, 40000",
        "and $m0, $m1, 4096",
        "or $a0, $a1, 0x12345",
        "ld32 $m0, $m1, $m2, 4096",
        "ld32 $m0, $m1, 4096",
        "st32step $m0, $m1, $m2+=, 128",
        "setzi $m0, 0x100000",
        "setzi $m0, -1",
        "ldconst $m0, 0x100000000",
        "shl $m0, $m1, -1",
        "bri 2",
        "bri 0x200000",
        "f32int $a0, $a1, 16",
        "sub $m0, $m1, 40000",
        "cmpult $m0, $m1, 65536",
        ".byte 256",
        ".short -32769",
        ".word 0x100000000",
        "rpt $m0, 256\n{ nop ; fnop }",
        "setzi $m0, 99999999999999999999",
    ]));
}

#[test]
fn contexts() {
    let mut out = report(
        &[
            "f32add $a0, $a1, $a2",
            "{ nop ; fnop }",
            "ld32 $a0, $m0, $m1, 0",
            "exitz $m0",
            "rpt $m0, 0",
            "st32 $m0, $m1, $m2, $m3",
            "tapack $m0:1, $m2, $m3, $m4",
            "get $m0, $WSR",
            "put $FP_CLR, $m0",
            "fnop",
            "ldconst $a0, 1",
            "zero $a0",
        ],
        Context::Supervisor,
    );
    out += &worker(&[
        "sync 2",
        "runall $m0, $m1, 0",
        "ld64putcs 0",
        "delaypic 0, 0, 0",
        "get $m0, $SSR",
        "put $CCCSLOAD, $m0",
        "get $m0, $FP_STS",
        "put $WSR, $a0",
        "get $m0, $NOSUCH",
        ".supervisor\nsync 2\n.worker\nsync 3",
    ]);
    insta::assert_snapshot!(out);
}

#[test]
fn bundles() {
    insta::assert_snapshot!(worker(&[
        "{ nop ; nop }",
        "{ fnop ; fnop }",
        "{ fnop ; nop }",
        "{ add $m0, $m1, 1 }",
        "{ fnop }",
        "{ }",
        "{ nop ; fnop ; nop }",
        "{ ld32 $a0, $m0, $m1, 0 ; f32add $a0, $a1, $a2 }",
        "{ ld64 $a0:1, $m0, $m1, 0 ; f32add $a1, $a2, $a3 }",
        "{ ld128 $a0:3, $m0, $m1, 0 ; f32v2add $a2:3, $a4:5, $a6:7 }",
        "{ exitz $m0 ; fnop }",
        "{ ldconst $m0, 1 ; fnop }",
        "{ nop ; fnop\nadd $m0, $m1, 1",
        "{ nop ; fnop\nlabel: add $m0, $m1, 1\n{ nop ; fnop }",
        "nop }",
        "{ nop ; .word 1 }",
        "{ nop ; bogus }",
        "{ nop\n.text\nfnop }",
    ]));
}

#[test]
fn repeats() {
    insta::assert_snapshot!(worker(&[
        "rpt $m0, 0\n{ nop ; fnop }\nexitz $m0",
        "{ rpt $m0, 0 ; fnop }\n{ nop ; fnop }\n.p2align 3\nnop\n{ rpt $m0, 0 ; fnop }\n{ nop ; fnop }",
        "nop\nrpt $m0, 0\nnop\nnop\nexitz $m0",
        "nop\nrpt $m0, 1\n{ nop ; fnop }\nexitz $m0\nnop",
        "nop\nrpt $m0, 0\n{ brnz $m0, 0 ; fnop }\nexitz $m0",
        "nop\nrpt $m0, 0\n{ get $m0, $WSR ; fnop }\nexitz $m0",
        "nop\nrpt $m0, 0\n{ nop ; uput $TAS, $a0 }\nexitz $m0",
        "nop\nrpt $m0, 0\n{ rpt $m1, 0 ; fnop }\n{ nop ; fnop }\nexitz $m0",
        "nop\nrpt $m0, 3\n{ nop ; fnop }",
        "nop\nrpt $m0, 0\n.word 1, 2\nexitz $m0",
        "rpt 4096, 0",
    ]));
}

#[test]
fn symbols() {
    insta::assert_snapshot!(worker(&[
        "bri nowhere",
        "here: bri hera",
        "setzi $m0, x\nsetzi $m1, x + 4\nsetzi $m2, x",
        "bri 1f",
        "bri 1b\n1: nop",
        "a: nop\na: nop",
        "a: nop\n.set a, 1",
        ".equiv a, 1\n.equiv a, 2",
        ".set a, b\n.set b, a\n.word a",
        ".extern outside\nbri outside",
        ".globl outside\nsetzi $m0, outside",
        "add $m0, $m1, x\nx: nop",
        "f32int $a0, $a1, x\nx: nop",
        "bri x + 2\nx: nop",
        ".size f, x\nf: nop\nx:",
    ]));
}

#[test]
fn expressions() {
    insta::assert_snapshot!(worker(&[
        "setzi $m0, 1 +",
        "setzi $m0, (1 + 2",
        "setzi $m0, 1 / 0",
        "setzi $m0, 1 % (3 - 3)",
        "setzi $m0, 1 << -1",
        "setzi $m0, 0x",
        "setzi $m0, 0xfg",
        "setzi $m0, 089",
        "setzi $m0, 1.5",
        "setzi $m0, 1.5q",
        "setzi $m0, $m1 + 1",
        "setzi $m0, \"text\"",
        "setzi $m0, `",
        "setzi $m0, é€",
        ".word (a - b) / 0\na: nop\nb: nop",
    ]));
}

#[test]
fn directives() {
    insta::assert_snapshot!(worker(&[
        ".align 3",
        ".p2align 33",
        ".align",
        ".p2align x\nx:",
        ".space -1",
        ".space 0x7fffffff",
        ".fill 1, 9, 0",
        ".org 8\nnop\n.org 4",
        ".ascii nope",
        ".ascii \"open",
        ".set 5, 4",
        ".set x",
        ".globl",
        ".type f, @banana",
        ".size f",
        ".section",
        ".popsection",
        ".comm x, 4",
        ".include \"x.S\"",
        ".error \"on purpose\"",
        ".err",
        ".byte 1\nnop\nnop",
        ".data\n.byte 1\n.text\n.byte 1\n{ nop ; fnop }",
        ".float x",
        "nop /* never closed",
    ]));
}

#[test]
fn macros() {
    insta::assert_snapshot!(worker(&[
        ".macro m a\nadd $m0, \\a, 70000\n.endm\nm $m1",
        ".macro inner x\nsetzi $m0, \\x\n.endm\n.macro outer y\nnop\ninner \\y\n.endm\nouter 0x100000",
        ".macro m a:req\nnop\n.endm\nm",
        ".macro m a\nnop\n.endm\nm 1, 2",
        ".macro m a\nnop\n.endm\nm b=2",
        ".macro m a\nnop",
        ".endm",
        ".rept 2\nnop",
        ".endr",
        ".rept -1\nnop\n.endr",
        ".rept x\nnop\n.endr\nx:",
        ".rept 3\nbogus\n.endr",
        ".irp\nnop\n.endr",
        ".macro 1x\n.endm",
        ".macro m a:wrong\n.endm",
        ".macro m a, a\n.endm",
        ".purgem nope",
        ".exitm",
        ".macro loop\nloop\n.endm\nloop",
        ".rept 3000000\n.set x, 1\n.endr",
    ]));
}

#[test]
fn conditions() {
    insta::assert_snapshot!(worker(&[
        ".if 1\nnop",
        ".endif",
        ".else",
        ".elseif 1",
        ".if 1\n.else\n.else\n.endif",
        ".if\n.endif",
        ".if undefined_symbol\n.endif",
        ".ifdef\n.endif",
        ".if 0\n.else\nbogus\n.endif",
        ".ifc a\n.endif",
    ]));
}

#[test]
fn places() {
    // A section that does not fit, and one that is no code memory.
    let text = ".data\n.space 0x100000";
    insta::assert_snapshot!(worker(&[
        text,
        ".space 0x34004\nnop",
        "setzi $m0, (x - 0x4c000) << 20\nx: nop",
    ]));
}

/// All errors of a file come at once, with file and line of the preprocessor's markers.
#[test]
fn all_at_once() {
    let text = "# 1 \"kernel.S\"\n# 1 \"<built-in>\"\n# 7 \"include/macros.inc\" 1\n\
        .macro two a\n\tadd \\a, \\a, 1\n\tadd \\a, \\a, bogus bogus\n.endm\n\
        # 3 \"kernel.S\" 2\n\ttwo $m0\n\tbri nowhere\n\tadd $m0, $m1, 99999 ; f32add $a0, $a1\n\
        \t{ nop ; nop }\n\tsync 1\n";
    insta::assert_snapshot!(messages(text, Context::Worker));
}
