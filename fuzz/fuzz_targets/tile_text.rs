//! Text of tile programs: nothing panics, what is read is printed and read again as the same
//! program, and the verifier gets through it. Run: `cargo +nightly fuzz run tile_text -- -max_total_time=300`.
#![no_main]

use ipucc_tile::{text, verify};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Ok(source) = std::str::from_utf8(data) else {
        return;
    };
    let program = match text::parse(source) {
        Ok(program) => program,
        Err(faults) => {
            let _ = ipucc_tensor::text::render("fuzz", source, &faults);
            return;
        }
    };
    let printed = text::print(&program);
    let again = text::parse(&printed).expect("what is printed is read");
    assert_eq!(text::print(&again), printed);
    let _ = verify::verify(&program);
});
