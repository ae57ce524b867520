//! The dialect in the ways that hand-written kernels use it. Each text must give the bytes of a
//! plain one in which everything is written out.

use indexmap::IndexMap;
use ipucc_machine::Context;
use ipucc_machine::asm::{Assembly, Options, assemble};

fn assembly(text: &str, context: Context) -> Assembly {
    let options = Options {
        file: "dialect.S".to_string(),
        context,
    };
    assemble(text, &options).unwrap_or_else(|e| panic!("{e}\n--- text\n{text}"))
}

/// Bytes of all sections that have some, placed one behind the other.
fn bytes(text: &str, context: Context) -> IndexMap<String, Vec<u8>> {
    let assembly = assembly(text, context);
    let addresses = assembly.object.default_addresses(&IndexMap::new());
    let placed = assembly
        .object
        .place(&addresses)
        .unwrap_or_else(|e| panic!("{e:?}\n--- text\n{text}"));
    placed
        .sections
        .into_iter()
        .filter(|(_, s)| !s.bytes.is_empty())
        .map(|(n, s)| (n, s.bytes))
        .collect()
}

#[track_caller]
fn same(text: &str, plain: &str) {
    same_in(Context::Worker, text, plain);
}

#[track_caller]
fn same_in(context: Context, text: &str, plain: &str) {
    assert_eq!(
        bytes(text, context),
        bytes(plain, context),
        "--- text\n{text}"
    );
}

#[test]
fn macro_arguments() {
    same(
        ".macro FOUR op, d=$m0, a:req, rest:vararg\n\
         \\op \\d, \\a, \\rest\n\
         .endm\n\
         FOUR add, $m3, $m1, 5\n\
         FOUR op=sub a=$m2 rest=$m4\n\
         FOUR ld32, , $m5, $mzero, (1 + 2) * 3\n",
        "add $m3, $m1, 5\nsub $m0, $m2, $m4\nld32 $m0, $m5, $mzero, 9",
    );
    // Blanks separate arguments where no operator stands beside them.
    same(
        ".macro two a b\nsetzi \\a, \\b\n.endm\ntwo $m1 3\ntwo $m2, 1 + 2\ntwo $m3 4 +5",
        "setzi $m1, 3\nsetzi $m2, 3\nsetzi $m3, 9",
    );
    // Registers put together from parts, and names from parameters.
    same(
        ".macro pair n, m\nmov $a\\n:\\m, $azeros\n.endm\n\
         .macro fn name\n\\name\\()_tail: bri \\name\\()_tail\n.endm\n\
         pair 2, 3\nfn loop",
        "mov $a2:3, $azeros\nloop_tail: bri loop_tail",
    );
    // A string keeps its blanks and commas together; a macro may take an empty value.
    same(
        ".macro emit text\n\\text\n.endm\nemit \"add $m0, $m1, 1\"\nemit\n",
        "add $m0, $m1, 1",
    );
    same(
        ".macro maybe x\n.ifb \\x\nnop\n.else\nsetzi $m0, \\x\n.endif\n.endm\nmaybe\nmaybe 3",
        "nop\nsetzi $m0, 3",
    );
}

#[test]
fn macros_that_define_and_recurse() {
    same(
        ".macro outer n\n.macro inner x\nsetzi $m\\n, \\x\n.endm\ninner 1\ninner 2\n.purgem inner\n.endm\n\
         outer 3\nouter 4",
        "setzi $m3, 1\nsetzi $m3, 2\nsetzi $m4, 1\nsetzi $m4, 2",
    );
    same(
        ".macro count n\n.if \\n\nsetzi $m0, \\n\ncount (\\n - 1)\n.endif\n.endm\ncount 3",
        "setzi $m0, 3\nsetzi $m0, 2\nsetzi $m0, 1",
    );
    same(
        ".macro first a b\nsetzi $m0, \\a\n.ifb \\b\n.exitm\n.endif\nsetzi $m1, \\b\n.endm\nfirst 1\nfirst 2 3",
        "setzi $m0, 1\nsetzi $m0, 2\nsetzi $m1, 3",
    );
    same(
        ".macro l\n.Lx\\@: brnzdec $m0, .Lx\\@\n.endm\nl\nl",
        "a: brnzdec $m0, a\nb: brnzdec $m0, b",
    );
}

#[test]
fn repetitions() {
    same(
        ".irp r, $m0, $m1,$m2\nzero \\r\n.endr\n.irp n 3 4\nzero $m\\n\n.endr\n.irpc c, 567\nzero $m\\c\n.endr",
        "zero $m0\nzero $m1\nzero $m2\nzero $m3\nzero $m4\nzero $m5\nzero $m6\nzero $m7",
    );
    // Everything on one line, as a C macro leaves it.
    same(
        ".set n, 0 ; .rept 3 ; setzi $m0, n ; .set n, n + 1 ; .endr ; nop",
        "setzi $m0, 0\nsetzi $m0, 1\nsetzi $m0, 2\nnop",
    );
    same(
        ".macro m x; { nop ; setzi $a0, \\x }; .endm; m 1; m 2",
        "{ nop ; setzi $a0, 1 }\n{ nop ; setzi $a0, 2 }",
    );
    same(
        ".rept 2\n.rept 2\nnop\n.endr\nzero $m0\n.endr\n.rept 0\nbogus\n.endr",
        "nop\nnop\nzero $m0\nnop\nnop\nzero $m0",
    );
}

#[test]
fn conditions() {
    same(
        ".set A, 3\n.if A == 2\nbogus\n.elseif A == 3\nnop\n.elseif 1\nbogus\n.else\nbogus\n.endif\n\
         .ifdef A\nnop\n.endif\n.ifndef A\nbogus\n.else\nnop\n.endif\n.ifdef B\nbogus\n.if bogus\n.else\n.endif\n.endif\n\
         .ifc a b, a b\nnop\n.endif\n.ifnc x,y\nnop\n.endif\n.ifeqs \"p\", \"p\"\nnop\n.endif\n\
         .ifgt A - 2\nnop\n.endif\n.ifeq A\nbogus\n.endif\n.if (A > 1) && !(A > 5) || 0\nnop\n.endif",
        "nop\nnop\nnop\nnop\nnop\nnop\nnop\nnop",
    );
    // The size of code so far is known.
    same(
        "1: nop\nnop\n2:\n.if (2b - 1b) == 8\nzero $m0\n.else\nbogus\n.endif",
        "nop\nnop\nzero $m0",
    );
}

#[test]
fn bundles_over_lines_and_macros() {
    same(
        "{\n  ld32 $a0, $m0, $mzero, 0\n  f32add $a1, $a2, $a3\n}\n{ nop\nfnop }\n{nop;fnop}\nx:{nop ; fnop;}\n",
        "{ ld32 $a0, $m0, $mzero, 0 ; f32add $a1, $a2, $a3 }\n{ nop ; fnop }\n{ nop ; fnop }\n{ nop ; fnop }",
    );
    same(
        ".macro load r\nld32 \\r, $m0, $mzero, 0\n.endm\n.macro math\nf32add $a1, $a2, $a3\n.endm\n\
         { load $a0 ; math }\n{\n load $a4\n .if 1\n math\n .endif\n}",
        "{ ld32 $a0, $m0, $mzero, 0 ; f32add $a1, $a2, $a3 }\n{ ld32 $a4, $m0, $mzero, 0 ; f32add $a1, $a2, $a3 }",
    );
    same(
        ".allow_optimizations\n{ fnop ; nop }\n{ nop ; fnop }",
        "{ nop ; fnop }\n{ nop ; fnop }",
    );
}

#[test]
fn symbols_and_sections() {
    same(
        "# 1 \"k.S\"\n# 1 \"<built-in>\" 1\n# 1 \"<command-line>\" 2\n# 12 \"k.S\"\n\
         .globl __runCodelet_Add\n.type __runCodelet_Add, @function\n.weak other\n\
         .section .text.__runCodelet_Add, \"ax\"\n.align 8\n__runCodelet_Add:\n\
         .cfi_startproc\n.cfi_def_cfa_offset 0\n.file 1 \"k.S\"\n.loc 1 3 0\n.ident \"x\"\n\
         ld32 $m0, $mvertex_base, $mzero, 0\nbrz $m0, .Lend$x\nmul $m1, $m0, .Lone\n.Lend$x:\nexitz $mzero\n\
         .cfi_endproc\n.size __runCodelet_Add, .-__runCodelet_Add\n.equ .Lone, 1",
        ".section .text.__runCodelet_Add, \"ax\"\n.p2align 3\n\
         ld32 $m0, $m13, $m15, 0\nbrz $m0, end\nmul $m1, $m0, 1\nend: exitz $m15",
    );
    same(
        ".pushsection .rodata\n.word 1\n.popsection\nnop\n.section .rodata\n.word 2\n.previous\nnop\n.data\n.byte 3\n.text\nnop",
        "nop\nnop\nnop\n.section .rodata\n.word 1, 2\n.data\n.byte 3",
    );
    same(
        "x = 4\ny == x + 1\nsetzi $m0, x\nx = 7\nsetzi $m1, x\nsetzi $m2, y\nsetzi $m3, late\nlate = 9",
        "setzi $m0, 4\nsetzi $m1, 7\nsetzi $m2, 5\nsetzi $m3, 9",
    );
}

#[test]
fn data() {
    same(
        ".data\n.long 1\n.int 2\n.4byte 3\n.word 'A', '\\n'\n.short 1.5h, -1.0h\n.hword 0x7fff\n.2byte -1\n\
         .byte 1, -1, 'x'\n.quad 0x123456789abcdef0\n.float 1.0, -2, 3.5e-1\n.double 0.5\n\
         .ascii \"ab\", \"c\\101\\x42\\0\"\n.asciz \"d\"\n.string \"e\"\n.skip 3\n.space 2, 0xff\n.zero 1\n\
         .fill 2, 2, 0x1234\n.fill 3\n.balign 16\n.org 112\n.byte 9",
        ".data\n.word 1, 2, 3, 65, 10\n.short 0x3e00, 0xbc00, 0x7fff, 0xffff\n.byte 1, 255, 120\n\
         .word 0x9abcdef0, 0x12345678\n.word 0x3f800000, 0xc0000000, 0x3eb33333, 0, 0x3fe00000\n\
         .byte 97, 98, 99, 65, 66, 0, 100, 0, 101, 0\n.byte 0, 0, 0, 255, 255, 0\n\
         .byte 0x34, 0x12, 0x34, 0x12, 0, 0, 0\n.p2align 4\n.zero 16\n.byte 9",
    );
}

#[test]
fn padding() {
    // Code is padded with nop behind count % 4 zero bytes; a fill value and a limit are obeyed.
    assert_eq!(
        bytes(".byte 1\n.p2align 3\nnop", Context::Worker)[".text"],
        [1, 0, 0, 0, 0, 0, 0xe0, 0x19, 0, 0, 0xe0, 0x19]
    );
    assert_eq!(
        bytes(
            ".byte 1\n.p2align 2, 0xcc\n.p2align 4, , 4\n.byte 2",
            Context::Worker
        )[".text"],
        [1, 0xcc, 0xcc, 0xcc, 2]
    );
}

#[test]
fn expressions() {
    same(
        "setzi $m0, 2 + 3 * 4 - 1\nsetzi $m0, (2 + 3) * 4\nsetzi $m0, 1 << 4 | 1\nsetzi $m0, ~0xf & 0xff\n\
         setzi $m0, -(-5)\nsetzi $m0, 7 / 2 % 2\nsetzi $m0, 0x10 >> 2\nsetzi $m0, (5 > 3) + (5 < 3) + (5 == 5)\n\
         setzi $m0, 'a' + 0b11 + 010\nsetzi $m0, (e - s) / 4 - 1\nsetzi $m0, 6 ^ 3\nsetzi $m0, !0 + !5\ns: nop\nnop\nnop\ne:",
        "setzi $m0, 13\nsetzi $m0, 20\nsetzi $m0, 17\nsetzi $m0, 0xf0\nsetzi $m0, 5\nsetzi $m0, 1\nsetzi $m0, 4\n\
         setzi $m0, 2\nsetzi $m0, 108\nsetzi $m0, 2\nsetzi $m0, 5\nsetzi $m0, 1\nnop\nnop\nnop",
    );
    // Forms that depend on a later value are chosen when it is known.
    same(
        "add $m0, $m1, b - a\nadd $m0, $m1, late\nldconst $m2, late2\nbri a\na: nop\nb:\n.set late, 40000\n.set late2, 0x12345678",
        "add $m0, $m1, 4\naddz $m0, $m1, 40000\nsetzi $m2, 0x45678\nor $m2, $m2, 0x12300000\nbri a\na: nop",
    );
    // Expressions that only addresses decide.
    same(
        "setzi $m0, x >> 2\nsetzi $m1, (x - 0x4c000) * 2\n.word (x + 4) & ~7\nx: nop",
        "setzi $m0, 0x13003\nsetzi $m1, 24\n.word 0x4c010\nnop",
    );
}

#[test]
fn registers_and_case() {
    same("ADD $m0, $M1, 1", "add $m0, $m1, 1");
}

#[test]
fn supervisor_code() {
    same_in(
        Context::Supervisor,
        "get $m0, $SSR\nput $INCOMING_BASE, $m0\nld64putcs $CWEI_1_2\nrunall $m1, $m2, 4\nsync 2\nsans 1\nsync 1\n\
         .worker\nget $m0, $WSR\nget $a0, $FP_CTL\nput $TAS, $a0\nuput 1, $a0\n.supervisor\ntrap 1\n\
         stm32step $m0, $m1+=, $m2\nrun $m1, $m2, x\nx: bri 0",
        "get $m0, 1\nput 164, $m0\nld64putcs 6\nrunall $m1, $m2, 4\nsync 2\nsans 1\nsync 1\n\
         .worker\nget $m0, 1\nuget $a0, 2\nuput 8, $a0\nuput 1, $a0\n.supervisor\ntrap 1\n\
         stm32step $m0, $m1, $m2\nrun $m1, $m2, 14\nbri 0",
    );
}

#[test]
fn alternate_macro_syntax() {
    same(
        ".altmacro\n.macro m a, b\nadd $m0, $m1, a + b\n.endm\nm %(1 + 2), <4>\n.noaltmacro",
        "add $m0, $m1, 7",
    );
}

/// A kernel in the manner of vendor libraries: preprocessor output, size macros, loops with
/// numeric labels, `rpt` with a label difference, common tail.
#[test]
fn library_style_kernel() {
    let text = "\
# 1 \"AddInPlace.S\"
# 1 \"<built-in>\" 1
# 1 \"include/common.h.S\" 1
# 20 \"include/common.h.S\"
.macro FN_HEADER NAME:req
.section .text.\\NAME, \"ax\"
.globl \\NAME
.type \\NAME, @function
.align 8
.endm
.macro FN_SIZE NAME
.size \\NAME, .-\\NAME
.endm
.macro DIV_BY_6 dst src scratch=$m9
setzi \\scratch, 0xaaab
mul \\dst, \\src, \\scratch
shr \\dst, \\dst, 18
.endm
# 5 \"AddInPlace.S\" 2
.set VBASE_OUT, 0
.equ VBASE_SIZE, 1
.allow_optimizations
FN_HEADER __runCodelet_AddInPlace___float
__runCodelet_AddInPlace___float:
  ld32 $m0, $mvertex_base, $mzero, VBASE_OUT
  ld32 $m1, $mvertex_base, $mzero, VBASE_SIZE; get $m2, $WSR
  and $m2, $m2, 7
  DIV_BY_6 $m3, $m1
  brz $m3, 3f
  add $m3, $m3, -1
  .align 8
  { rpt $m3, (2f-1f)/8-1; fnop }
1:
  { ld64step $a0:1, $mzero, $m0+=, 1; f32v2add $a2:3, $a0:B, $a2:3 }
  { f32v2mul $a4:5, $a2:3, $a2:3
    nop }
2:
  { st64 $a4:5, $m0, $mzero, 0; zero $a0 }
3:
  exitz $mzero
FN_SIZE __runCodelet_AddInPlace___float
";
    let plain = "\
        .section .text.__runCodelet_AddInPlace___float, \"ax\"
        .p2align 3
        ld32 $m0, $m13, $m15, 0
        ld32 $m1, $m13, $m15, 1
        get $m2, 1
        and $m2, $m2, 7
        setzi $m9, 43691
        mul $m3, $m1, $m9
        shr $m3, $m3, 18
        brz $m3, end
        add $m3, $m3, -1
        nop
        { rpt $m3, 1 ; fnop }
        { ld64step $a0:1, $m15, $m0+=, 1 ; f32v2add $a2:3, $a0:B, $a2:3 }
        { nop ; f32v2mul $a4:5, $a2:3, $a2:3 }
        { st64 $a4:5, $m0, $m15, 0 ; or $a0, $a15, $a15 }
end:    exitz $m15
";
    same(text, plain);
    let object = assembly(text, Context::Worker).object;
    let symbol = &object.symbols["__runCodelet_AddInPlace___float"];
    assert_eq!(symbol.size, 19 * 4);
    assert!(symbol.global);
}

#[test]
fn named_immediates() {
    same(
        "f16v4sisoamp $a0:1, $a2:3, $a4:5, TAMP_F16V4_E4_P2\nf32sisoamp $a0:1, $a2, $a4:5, TAMP_F32_E4_P5\n\
         f16v4stacc $a0:1, TSTACC_P1\n.set TAMP_F16V4_E4_P0, 1\nsetzi $m0, TAMP_F16V4_E4_P0",
        "f16v4sisoamp $a0:1, $a2:3, $a4:5, 14\nf32sisoamp $a0:1, $a2, $a4:5, 29\nf16v4stacc $a0:1, 1\nsetzi $m0, 1",
    );
}

#[test]
fn compiler_output() {
    // Directives of compilers that say nothing about words, or little.
    same(
        "\t.text\n\t.file\t\"a.c\"\n\t.globl\tf\n\t.p2align\t3,,7\n\t.type\tf,@function\nf:\n.Lfunc_begin0:\n\
         \t.cfi_startproc\n# %bb.0:\n\t{\n\t\tadd $m0, $m0, 1\n\t\tfnop\n\t}\n\tbr $m10  # return\n.Lfunc_end0:\n\
         \t.size\tf, .Lfunc_end0-f\n\t.cfi_endproc\n\t.section\t.stack_sizes,\"o\",@progbits,.text\n\
         \t.long\t.Lfunc_begin0\n\t.uleb128 300\n\t.sleb128 -2\n\t.section\t\".note.GNU-stack\",\"\",@progbits\n\t.ident\t\"x\"\n\t.addrsig\n",
        "f: { add $m0, $m0, 1 ; fnop }\nbr $m10\n.section .stack_sizes\n.word f\n.byte 0xac, 2, 0x7e",
    );
}

/// Lines of the preprocessor are comments, with a warning.
#[test]
fn preprocessor_lines_warn() {
    let made = assembly(
        "#include <x.h>\n#define A 1\n# define the loop\n#endif\nnop\n",
        Context::Worker,
    );
    assert_eq!(made.warnings.0.len(), 3, "{}", made.warnings);
    assert!(!made.warnings.has_errors());
}

/// Differences of labels are known behind a `ldconst` whose value comes later.
#[test]
fn differences_behind_late_values() {
    same(
        "ldconst $m0, late\n1: nop\nnop\n2:\n.if (2b - 1b) != 8\nbogus\n.endif\n.space 16 - (. - 1b)\n\
         .p2align 3\n3: nop\n.rept (. - 3b) / 4\nzero $m0\n.endr\n.set late, 0x12345678",
        "setzi $m0, 0x45678\nor $m0, $m0, 0x12300000\nnop\nnop\n.word 0, 0\nnop\nzero $m0",
    );
}

/// The name of a section is its start.
#[test]
fn section_names() {
    same(
        "setzi $m0, .data + 4\nsetzi $m1, .text\nnop\n.data\n.word 1, 2",
        "start: setzi $m0, d + 4\nsetzi $m1, start\nnop\n.data\nd: .word 1, 2",
    );
}

/// Sections without an address take the first free one behind `.text`, code before data.
#[test]
fn default_places() {
    let object = assembly(
        ".data\n.space 64\n.section .more, \"ax\"\nnop\n.rodata\n.word 1\n.text\nnop\nnop\n.bss\n.zero 8",
        Context::Worker,
    )
    .object;
    let at = |given: &[(&str, u32)]| -> Vec<(String, u32)> {
        let given = given.iter().map(|(n, a)| (n.to_string(), *a)).collect();
        let addresses = object.default_addresses(&given);
        object.place(&addresses).expect("placed");
        addresses.into_iter().collect()
    };
    let named = |list: &[(&str, u32)]| -> Vec<(String, u32)> {
        list.iter().map(|(n, a)| (n.to_string(), *a)).collect()
    };
    assert_eq!(
        at(&[]),
        named(&[
            (".text", 0x4c000),
            (".data", 0x4c00c),
            (".more", 0x4c008),
            (".rodata", 0x4c04c),
            (".bss", 0x4c050)
        ])
    );
    assert_eq!(
        at(&[(".text", 0x50000), (".data", 0x50010)]),
        named(&[
            (".text", 0x50000),
            (".data", 0x50010),
            (".more", 0x50008),
            (".rodata", 0x5000c),
            (".bss", 0x50050)
        ])
    );
    assert_eq!(
        at(&[(".data", 0xe7f00)])[3..],
        named(&[(".rodata", 0x4c00c), (".bss", 0x4c010)])
    );
}

/// What always faults assembles, with a warning.
#[test]
fn faults_warn() {
    let made = assembly(
        "ld2x64pace $a0:1, $a0:1, $m0:1+=, $m2, 0\nf16v4sihoamp $a0, $a2:3, $a4:5, 0\nnop",
        Context::Worker,
    );
    let text = made.warnings.to_string();
    assert!(text.contains("writes $a0 twice"), "{text}");
    assert!(
        text.contains("IPU21 does not have `f16v4sihoamp`"),
        "{text}"
    );
    assert_eq!(made.warnings.0.len(), 2, "{text}");
}
