//! Assembler text: nothing panics or hangs, and what assembles survives the way through an object
//! file and the disassembler. Run: `cargo +nightly fuzz run asm_text -- -max_total_time=300`.
#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../../ir/machine/examples/asm_mutate/property.rs"]
mod property;

fuzz_target!(|data: &[u8]| {
    if let Ok(text) = std::str::from_utf8(data) {
        property::check(text);
    }
});
