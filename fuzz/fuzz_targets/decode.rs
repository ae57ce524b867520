//! The decoder and the disassembler: no words panic them, every group that decodes encodes to its
//! words again, and the text of any words assembles to them.
//! Run: `cargo +nightly fuzz run decode -- -max_total_time=300`.
#![no_main]

use indexmap::IndexMap;
use ipucc_machine::asm::{Options, assemble};
use ipucc_machine::{Context, Group, Inst, disasm, row};
use libfuzzer_sys::fuzz_target;

const BASE: u32 = 0x4c000;

fuzz_target!(|data: &[u8]| {
    let words: Vec<u32> = data
        .chunks_exact(4)
        .map(|c| u32::from_le_bytes([c[0], c[1], c[2], c[3]]))
        .collect();
    for (at, &word) in words.iter().enumerate() {
        if let Ok((inst, coissue)) = Inst::decode(word) {
            assert_eq!(inst.encode(coissue), Ok(word));
            let _ = (inst.to_string(), inst.defs().count(), inst.uses().count());
        }
        for context in [Context::Worker, Context::Supervisor] {
            if let Ok((group, used)) = Group::decode(&words[at..], context) {
                let mut again = Vec::new();
                // A common destination decodes and does not encode.
                if group.encode(&mut again).is_ok() {
                    assert_eq!(again, words[at..at + used]);
                }
            }
        }
    }
    let _ = row::decode(&words);
    let options = disasm::Options {
        context: None,
        events: true,
    };
    let text = disasm::words(&words, BASE, &options);
    let assembly = assemble(&text, &Options::default())
        .unwrap_or_else(|e| panic!("the text does not assemble:\n{e}\n{text}"));
    let addresses = IndexMap::from([(".text".to_string(), BASE)]);
    if let Ok(placed) = assembly.object.place(&addresses) {
        assert_eq!(placed.sections[".text"].words(), words, "{text}");
    }
});
