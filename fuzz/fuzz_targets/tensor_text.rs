//! Text of tensor modules: nothing panics; what is read is valid, is printed and read again as the
//! same module, and keeps its comments when it is laid out. Run:
//! `cargo +nightly fuzz run tensor_text -- -max_total_time=300`.
#![no_main]

use ipucc_tensor::{text, verify};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Ok(source) = std::str::from_utf8(data) else {
        return;
    };
    let module = match text::parse(source) {
        Ok(module) => module,
        Err(faults) => {
            let _ = text::render("fuzz", source, &faults);
            return;
        }
    };
    assert_eq!(verify(&module), []);
    let printed = text::print(&module);
    let again = text::parse(&printed).expect("what is printed is read");
    assert_eq!(text::print(&again), printed);
    text::format(source).expect("what is read is laid out");
});
