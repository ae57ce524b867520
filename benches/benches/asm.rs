//! Assembler and disassembler speed: lines of text and words a second.

use std::fmt::Write;
use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use indexmap::IndexMap;
use ipucc_machine::asm::{Options, assemble};
use ipucc_machine::disasm;

/// A file of many kernels: macros, bundles, loops, expressions.
fn text(kernels: usize) -> String {
    let mut out = String::from(
        ".macro body r, x\n{ ld64step \\r, $mzero, $m0+=, 1 ; f32v2add $a2:3, \\x, $a2:3 }\n.endm\n",
    );
    for kernel in 0..kernels {
        let _ = write!(
            out,
            "// kernel {kernel}\n.globl k{kernel}\n.p2align 3\nk{kernel}:\n\
             ld32 $m0, $mvertex_base, $mzero, 0\nld32 $m1, $mvertex_base, $mzero, 4 * 2 - 1\n\
             get $m2, $WSR\nand $m2, $m2, 7\nsetzi $m3, 0xaaab\nmul $m4, $m1, $m3\nshr $m4, $m4, 18\n\
             brz $m4, .Lend{kernel}\n.p2align 3\n{{ rpt $m4, ((2f - 1f) / 8) - 1 ; fnop }}\n1:\n\
             body $a0:1, $a4:5\n{{ nop ; f32v2mul $a4:5, $a0:1, $a2:3 }}\n2:\n\
             .Lend{kernel}: exitz $mzero\n.size k{kernel}, . - k{kernel}\n"
        );
    }
    out
}

fn bench(c: &mut Criterion) {
    let source = text(500);
    let lines = source.lines().count() as u64;
    let options = Options::default();
    let assembly = assemble(&source, &options).expect("the benchmark text assembles");
    let addresses = assembly.object.default_addresses(&IndexMap::new());
    let placed = assembly.object.place(&addresses).expect("it can be placed");
    let words = placed.sections[".text"].words();

    let mut group = c.benchmark_group("asm");
    group.throughput(Throughput::Elements(lines));
    group.bench_function("assemble_lines", |b| {
        b.iter(|| assemble(black_box(&source), &options).map(|a| a.object.sections.len()));
    });
    group.throughput(Throughput::Elements(words.len() as u64));
    group.bench_function("disassemble_words", |b| {
        b.iter(|| disasm::words(black_box(&words), 0x4c000, &disasm::Options::default()).len());
    });
    group.throughput(Throughput::Elements(words.len() as u64));
    group.bench_function("place_words", |b| {
        b.iter(|| {
            assembly
                .object
                .place(black_box(&addresses))
                .map(|p| p.sections.len())
        });
    });
    group.finish();
}

criterion_group!(benches, bench);
criterion_main!(benches);
