//! Text of the disassembler assembles to the words that it was made from.

mod support;

use indexmap::IndexMap;
use ipucc_machine::Context;
use ipucc_machine::asm::{Options, assemble};
use ipucc_machine::disasm::{self, Chunk, disassemble, object_chunks};
use ipucc_machine::object::Object;
use support::Random;

const BASE: u32 = 0x4c000;

/// Assembles `text` and gives the words of `.text` at `BASE`.
fn words_of(text: &str) -> Vec<u32> {
    let assembly =
        assemble(text, &Options::default()).unwrap_or_else(|e| panic!("{e}\n--- text\n{text}"));
    let addresses = IndexMap::from([(".text".to_string(), BASE)]);
    let placed = assembly
        .object
        .place(&addresses)
        .unwrap_or_else(|e| panic!("{e:?}\n--- text\n{text}"));
    placed.sections[".text"].words()
}

fn round_trip(words: &[u32]) -> String {
    let text = disasm::words(words, BASE, &disasm::Options::default());
    assert_eq!(words_of(&text), words, "--- text\n{text}");
    text
}

#[test]
fn random_words() {
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let mut named = 0;
    for _ in 0..60 {
        let words: Vec<u32> = (0..300).map(|_| random.word()).collect();
        let text = round_trip(&words);
        named += text
            .lines()
            .filter(|l| !l.trim().starts_with(".word"))
            .count();
    }
    assert!(named > 1000, "hardly any random word was an instruction");
}

/// Words near instructions: a random class with random operand bits.
#[test]
fn random_instructions() {
    let mut random = Random(7);
    for _ in 0..60 {
        let mut words = Vec::new();
        while words.len() < 300 {
            let info =
                ipucc_machine::Op::ALL[random.word() as usize % ipucc_machine::Op::COUNT].info();
            let noise = random.word() & !info.layout.fixed_mask & 0x7fff_ffff;
            words.push(info.layout.fixed_value | noise);
            // Every fourth word is followed by one of its bundle.
            if info.can_coissue && random.word().is_multiple_of(4) {
                let last = words.len() - 1;
                words[last] |= 1 << 31;
                let aux = loop {
                    let other = ipucc_machine::Op::ALL
                        [random.word() as usize % ipucc_machine::Op::COUNT]
                        .info();
                    if other.lane == ipucc_machine::Lane::Aux {
                        break other;
                    }
                };
                let noise = random.word() & !aux.layout.fixed_mask & 0x7fff_ffff;
                words.push(aux.layout.fixed_value | noise | 1 << 31);
            }
        }
        round_trip(&words);
    }
}

#[test]
fn branches_have_labels() {
    let text = round_trip(&[0x2200_0001, 0x1101_3000 | 1 << 20, 0x4081_3001, 0x4080_0000]);
    assert!(text.contains("brnz $m1, .L4c000"), "{text}");
    assert!(text.contains("bri .L4c004"), "{text}");
    assert!(text.contains("bri 0x0"), "{text}");
}

#[test]
fn immediate_forms_keep_their_words() {
    let text = round_trip(&[
        0x2000_002a,
        0x2200_002a,
        0x2600_002a,
        0x4210_9000,
        0x4200_8000,
    ]);
    assert!(text.contains("addz $m0, $m0, 42"), "{text}");
    assert!(text.contains("cmpeqz $m0, $m0, 42"), "{text}");
    assert!(text.contains("mov $m0, $m1"), "{text}");
    let both = round_trip(&[0x5210_c000, 0x5210_8000]);
    assert!(both.contains("and $a0, $a1, 0x0"), "{both}");
    // The zero-extended form of `and` with 0 has no text of its own in the aux lane.
    assert!(both.contains(".word   0x52108000"), "{both}");
}

#[test]
fn ignored_bits_are_shown() {
    // Odd register numbers in pair fields, and bit 19 of `call`.
    let text = round_trip(&[0x5831_4013, 0x1808_0000]);
    assert!(text.contains("ignored bits"), "{text}");
}

#[test]
fn repeats_need_their_body() {
    let good = [
        0x19e0_0000,
        0x4390_a000,
        0x99e0_0000,
        0x9ad0_0000,
        0x43f0_4000,
    ];
    let text = round_trip(&good);
    assert!(text.contains("rpt $m9, 0"), "{text}");
    // Misaligned, a solo instruction as the body, a body that is not all there.
    for bad in [
        &[0x4390_a000, 0x99e0_0000, 0x9ad0_0000, 0x43f0_4000][..],
        &[0x19e0_0000, 0x4390_a000, 0x19e0_0000, 0x19e0_0000][..],
        &[0x19e0_0000, 0x4390_a001, 0x99e0_0000, 0x9ad0_0000][..],
    ] {
        let text = round_trip(bad);
        assert!(text.contains("without a body"), "{text}");
    }
}

#[test]
fn rows_show_event_times() {
    // delayxpic 3 tile 0; delayxpic 2 neutral; delaypic 48 pointer; delay 7; br $m10
    let words = [
        0x6400_0000 | 3 << 14,
        0x6400_0000 | 2 << 14 | 0x640,
        0x6000_0000 | 48 << 19 | 0x98000 >> 2,
        0x40a0_0007,
        0x43a0_0000,
    ];
    let options = disasm::Options {
        context: Some(Context::Supervisor),
        events: true,
    };
    let text = disasm::words(&words, BASE, &options);
    assert_eq!(words_of(&text), words);
    for wanted in [
        "start 0 end 4, effect 4 mux tile 0",
        "start 4 end 7, effect 7 mux neutral",
        "start 7 end 56, effect 56 pointer 0x98000",
        "start 56 end 64",
        "row ends at 64",
    ] {
        assert!(text.contains(wanted), "{wanted}\n{text}");
    }
}

fn sample(name: &str) -> String {
    let path = format!(
        "{}/../../../shared/examples/asm/{name}.S",
        env!("CARGO_MANIFEST_DIR")
    );
    std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{path}: {e}"))
}

#[test]
fn samples_as_words() {
    for name in [
        "amp_panel_f16",
        "copy_loop_supervisor",
        "row_sum_f16",
        "softmax_row_f16",
        "vector_add_f32",
    ] {
        round_trip(&words_of(&sample(name)));
    }
}

/// Object, text, object: both give the same bytes wherever they are placed.
fn object_round_trip(text: &str, addresses: &[(&str, u32)]) -> (Object, String) {
    let first = assemble(text, &Options::default()).unwrap_or_else(|e| panic!("{e}"));
    let bytes = first.object.to_bytes().expect("an object file");
    let read = Object::from_bytes(&bytes).expect("the object file");
    assert_eq!(read, first.object);
    let shown = disassemble(&object_chunks(&read), &disasm::Options::default());
    let second =
        assemble(&shown, &Options::default()).unwrap_or_else(|e| panic!("{e}\n--- text\n{shown}"));
    let addresses: IndexMap<String, u32> =
        addresses.iter().map(|(n, a)| (n.to_string(), *a)).collect();
    let a = read.place(&addresses).expect("placed");
    let b = second
        .object
        .place(&addresses)
        .unwrap_or_else(|e| panic!("{e:?}\n--- text\n{shown}"));
    assert_eq!(a.sections, b.sections, "--- text\n{shown}");
    for (name, value) in &a.symbols {
        if !name.starts_with(".L") {
            assert_eq!(
                b.symbols.get(name),
                Some(value),
                "{name}\n--- text\n{shown}"
            );
        }
    }
    (read, shown)
}

#[test]
fn sample_objects() {
    for name in [
        "amp_panel_f16",
        "copy_loop_supervisor",
        "row_sum_f16",
        "softmax_row_f16",
        "vector_add_f32",
    ] {
        object_round_trip(&sample(name), &[(".text", BASE)]);
    }
    for shift in [0, 0x10, 0x1000] {
        object_round_trip(
            &sample("dialect"),
            &[
                (".text", BASE + shift),
                (".data", 0x60000),
                (".rodata", 0x64000 + shift),
            ],
        );
    }
}

#[test]
fn object_relocations() {
    let (object, shown) = object_round_trip(
        "        .globl f
        .type f, @function
f:      setzi $m0, table + 4
        setzi $m1, (table - f) / 4 + 1
        setzi $m2, table >> 2
        { brnz $m0, 1f ; setzi $a0, table }
1:      call $m10, f
        ldconst $m3, table
        exitz $mzero
        .supervisor
        run $m0, $mzero, table
        runall $m0, $m1, 4
        send 3, table, 3
        .p2align 3
        sendpicp 0, 5, table, 1, 0x640, table + 8
        .data
        .word 7
table:  .byte 1, 2, 3
        .word f + 8, table - 1
        .short table - f
        .size table, . - table
        .set constant, 0x1234
        .globl constant",
        &[(".text", BASE), (".data", 0x50000)],
    );
    assert!(object.sections[".text"].relocations.len() >= 10);
    assert!(shown.contains(".globl  f"), "{shown}");
}

#[test]
fn damaged_object_files() {
    let assembly = assemble("nop\nsetzi $m0, x\nx:", &Options::default()).expect("object");
    let bytes = assembly.object.to_bytes().expect("bytes");
    for length in 0..bytes.len() {
        assert!(Object::from_bytes(&bytes[..length]).is_err(), "{length}");
    }
    for at in 0..bytes.len() {
        let mut changed = bytes.clone();
        changed[at] ^= 0x10;
        assert!(Object::from_bytes(&changed).is_err(), "{at}");
    }
    let mut longer = bytes.clone();
    longer.push(0);
    assert!(Object::from_bytes(&longer).is_err());
}

#[test]
fn data_and_labels() {
    let mut chunk = Chunk::bytes(".data", 0x60001, (0..50).collect(), false);
    chunk
        .labels
        .insert(5, vec!["five".to_string(), "also".to_string()]);
    let text = disassemble(&[chunk.clone()], &disasm::Options::default());
    let assembly = assemble(&text, &Options::default()).unwrap_or_else(|e| panic!("{e}\n{text}"));
    let data = &assembly.object.sections[".data"];
    assert_eq!(data.bytes, chunk.bytes, "{text}");
    assert_eq!(assembly.object.symbols["five"].value, 5);
    assert_eq!(assembly.object.symbols["also"].value, 5);
}

/// Every class has text of its own for random operands, and it assembles to the word.
#[test]
fn every_class_has_text() {
    use ipucc_machine::{Group, Inst, Op, OperandKind};
    let mut random = Random(99);
    for op in Op::ALL {
        for _ in 0..100 {
            let operands: Vec<u32> = op
                .info()
                .operands
                .iter()
                .map(|o| {
                    let bits = random.word();
                    match o.kind {
                        OperandKind::M
                        | OperandKind::A
                        | OperandKind::ABroadcast
                        | OperandKind::ABroadcastLower
                        | OperandKind::ABroadcastUpper => bits & 15,
                        OperandKind::MPair | OperandKind::APair => bits & 14,
                        OperandKind::AQuad => bits & 12,
                        OperandKind::Simm(n) => (((bits << (32 - n)) as i32) >> (32 - n)) as u32,
                        OperandKind::Zimm(n) => bits & ((1 << n) - 1),
                        OperandKind::Immz12 => bits & 0xfff0_0000,
                        OperandKind::Target19 | OperandKind::Target20 => bits & 0x1f_fffc,
                        OperandKind::Rel16 | OperandKind::Run => bits & 0xffff,
                        OperandKind::Rel20 => bits & 0xf_ffff,
                        OperandKind::RptBody => bits & 0xff,
                    }
                })
                .collect();
            let inst = Inst::new(op, &operands).expect("operands in range");
            let group = if op == Op::SendPicP {
                Group::SendPicP(inst)
            } else {
                Group::Solo(inst)
            };
            let mut words = Vec::new();
            group.encode(&mut words).expect("words");
            let text = round_trip(&words);
            // The one value that two forms share belongs to the high one.
            let shared = matches!(op, Op::AndAaanZi | Op::AndcAaanZi) && operands[2] == 0;
            assert!(shared || !text.contains(".word"), "{op:?}: {text}");
        }
    }
}
