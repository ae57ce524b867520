//! The instruction table against the collected facts, and encoder against decoder.

mod support;

use ipucc_machine::{Context, DecodeError, EncodeError, Group, Inst, Lane, Op, OperandKind, Table};
use std::collections::BTreeSet;
use support::Random;

/// A random legal value; the extremes of the range are chosen often.
fn value(random: &mut Random, kind: OperandKind) -> u32 {
    let edge = random.below(4);
    let pick = |random: &mut Random, bits: u8| match edge {
        0 => 0,
        1 => (1u32 << bits) - 1,
        _ => random.below(1 << bits),
    };
    match kind {
        OperandKind::M
        | OperandKind::A
        | OperandKind::ABroadcast
        | OperandKind::ABroadcastLower
        | OperandKind::ABroadcastUpper => random.below(16),
        OperandKind::MPair | OperandKind::APair => random.below(8) * 2,
        OperandKind::AQuad => random.below(4) * 4,
        OperandKind::Simm(bits) => (pick(random, bits) as i32 - (1 << (bits - 1))) as u32,
        OperandKind::Zimm(bits) => pick(random, bits),
        OperandKind::Immz12 => pick(random, 12) << 20,
        OperandKind::Target19 | OperandKind::Target20 => pick(random, 19) << 2,
        OperandKind::Rel16 | OperandKind::Run => pick(random, 16),
        OperandKind::Rel20 => pick(random, 20),
        OperandKind::RptBody => pick(random, 8),
    }
}

fn random_inst(random: &mut Random, op: Op) -> Inst {
    let operands: Vec<u32> = op
        .info()
        .operands
        .iter()
        .map(|operand| value(random, operand.kind))
        .collect();
    Inst::new(op, &operands).expect("operands are in range")
}

#[test]
fn the_table_holds_every_class_of_the_collected_facts() {
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../../shared/isa/instructions.tsv"
    );
    let text = std::fs::read_to_string(path)
        .unwrap_or_else(|error| panic!("the shared facts are needed: {path}: {error}"));
    let mut classes = BTreeSet::new();
    for line in text.lines().skip(1) {
        let columns: Vec<&str> = line.split('\t').collect();
        let op = Op::by_class(columns[0]).unwrap_or_else(|| panic!("{} is missing", columns[0]));
        let info = op.info();
        assert_eq!(info.encoding, columns[6], "{}", info.name);
        assert_eq!(
            info.mnemonic,
            columns[1].split(' ').next().unwrap(),
            "{}",
            info.name
        );
        assert_eq!(
            info.lane,
            if columns[4] == "0" {
                Lane::Main
            } else {
                Lane::Aux
            }
        );
        let flags: BTreeSet<&str> = columns[5].split(',').filter(|f| !f.is_empty()).collect();
        assert_eq!(info.can_coissue, flags.contains("coissue"), "{}", info.name);
        assert_eq!(
            info.flags.control,
            flags.contains("control"),
            "{}",
            info.name
        );
        assert_eq!(info.flags.system, flags.contains("system"), "{}", info.name);
        assert_eq!(info.flags.load, flags.contains("load"), "{}", info.name);
        assert_eq!(info.flags.store, flags.contains("store"), "{}", info.name);
        let table = match columns[8] {
            "common" => Table::Common,
            "worker" => Table::Worker,
            "supervisor" => Table::Supervisor,
            other => panic!("unknown table {other}"),
        };
        assert_eq!(info.table, table, "{}", info.name);
        let order: Vec<u8> = columns[1]
            .split("$op")
            .skip(1)
            .map(|rest| rest.as_bytes()[0] - b'0')
            .collect();
        assert_eq!(info.asm_order, order, "{}", info.name);
        for (number, operand) in info.operands.iter().enumerate() {
            let named = |column: &str| {
                column.split(',').any(|item| {
                    let name = item.trim().rsplit('$').next().unwrap_or("");
                    name == format!("op{number}") || name == format!("op{number}_in")
                })
            };
            assert_eq!(
                operand.role.writes(),
                named(columns[2]),
                "{} op{number}",
                info.name
            );
            assert_eq!(
                operand.role.reads(),
                named(columns[3]),
                "{} op{number}",
                info.name
            );
        }
        classes.insert(columns[0].to_owned());
    }
    assert_eq!(classes.len(), 363);
    let extra: Vec<&str> = Op::ALL
        .iter()
        .map(|op| op.info().name)
        .filter(|name| !classes.contains(*name))
        .collect();
    assert_eq!(
        extra,
        ["delaypic", "delayxpic", "sendoff", "sendpic", "sendpicp"]
    );
}

#[test]
fn every_class_encodes_and_decodes_random_operands() {
    let mut random = Random(1);
    for op in Op::ALL {
        for _ in 0..1000 {
            let inst = random_inst(&mut random, op);
            if op == Op::SendPicP {
                let group = Group::SendPicP(inst);
                let mut words = Vec::new();
                group.encode(&mut words).unwrap();
                assert_eq!(Group::decode(&words, Context::Supervisor), Ok((group, 2)));
                continue;
            }
            let word = inst.encode(false).unwrap();
            assert_eq!(Inst::decode(word), Ok((inst, false)), "{inst} {word:#010x}");
            match inst.encode(true) {
                Ok(word) => {
                    assert!(op.info().can_coissue);
                    assert_eq!(Inst::decode(word), Ok((inst, true)), "{inst} {word:#010x}");
                }
                Err(error) => {
                    assert!(!op.info().can_coissue);
                    assert_eq!(error, EncodeError::NotCoissuable { op });
                    assert_eq!(
                        Inst::decode(word | 1 << 31),
                        if word >> 28 == 7 {
                            Err(DecodeError::SendPicP {
                                word: word | 1 << 31,
                            })
                        } else {
                            Err(DecodeError::Coissue {
                                word: word | 1 << 31,
                                op,
                            })
                        }
                    );
                }
            }
        }
    }
}

/// 50 million random words: none panics, each that decodes encodes to itself, with the bits that
/// the hardware ignores.
#[test]
fn random_words_encode_to_themselves() {
    let mut random = Random(2);
    let (mut decoded, mut ignored) = (0u32, 0u32);
    for _ in 0..25_000_000 {
        let bits = random.next();
        for word in [bits as u32, (bits >> 32) as u32] {
            if let Ok((inst, coissue)) = Inst::decode(word) {
                assert_eq!(inst.encode(coissue), Ok(word));
                decoded += 1;
                ignored += u32::from(inst.ignored != 0);
            }
        }
    }
    assert!(
        decoded > 10_000_000 && ignored > 100_000,
        "{decoded} {ignored}"
    );
}

#[test]
fn ignored_bits_are_kept_and_shown() {
    // st64 $a0:1 with the low bit of the pair field set.
    let (inst, _) = Inst::decode(0x5f20_f010).unwrap();
    assert_eq!(inst.operands[3], 0);
    assert_eq!(inst.ignored, 0x10);
    assert_eq!(inst.encode(false), Ok(0x5f20_f010));
    assert_eq!(
        inst.to_string(),
        "st64 $a0:1, $m2, $m15, 0 /* ignored bits 0x00000010 */"
    );
    // call with bit 19 of its field set.
    let (call, _) = Inst::decode(0x18a8_0001).unwrap();
    assert_eq!((call.operands[1], call.ignored), (4, 0x8_0000));
}

#[test]
fn errors_name_the_operand_and_its_range() {
    let error = Inst::new(Op::AddMmmnSi, &[1, 2, 40_000]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "operand 3 of `add` is 40000, but must be -32768..=32767"
    );
    // Positions are those of the text, where `put` names the CSR first.
    let error = Inst::new(Op::PutMmmnZi, &[1, 256]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "operand 1 of `put` is 256, but must be 0..=255"
    );
    let error = Inst::new(Op::BriMmmnZi, &[2]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "operand 1 of `bri` is 0x2, but must be a byte address that is a multiple of 4 in 0..=0x1ffffc"
    );
    assert!(Inst::new(Op::AddMmmn, &[1, 2]).is_err());
}

#[test]
fn bundles_check_lanes_and_common_destinations() {
    let load = Inst::new(Op::Ld64MmanZi, &[0, 15, 0, 2]).unwrap();
    let add = |to| Inst::new(Op::F32addAaan, &[to, 0, 1]).unwrap();
    let mut words = Vec::new();
    let group = Group::Bundle {
        main: load,
        aux: add(4),
    };
    group.encode(&mut words).unwrap();
    assert!(words.iter().all(|word| word >> 31 == 1));
    assert_eq!(Group::decode(&words, Context::Worker), Ok((group, 2)));
    assert!(matches!(
        Group::decode(&words, Context::Supervisor),
        Err(DecodeError::Context { .. })
    ));
    let clash = Group::Bundle {
        main: load,
        aux: add(3),
    };
    assert_eq!(
        clash.check().unwrap_err().to_string(),
        "both members of the bundle write $a3"
    );
    assert!(
        Group::Bundle {
            main: add(1),
            aux: add(2)
        }
        .check()
        .is_err()
    );
    assert!(
        Group::Bundle {
            main: load,
            aux: load
        }
        .check()
        .is_err()
    );
    let words_before = words.len();
    assert!(clash.encode(&mut words).is_err());
    assert_eq!(words.len(), words_before);
}
