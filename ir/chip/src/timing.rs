//! Rates, clock and instruction times that are facts; assumed times are in [`crate::Assumptions`].

use crate::Assumptions;
use crate::assumptions::TranscendentalTurns;

/// Tile clock of a C600 in hertz (`facts/limits.md` D1; `facts/calibration.md`, hardware).
pub const CLOCK_HZ: u64 = 1_500_000_000;
/// Worker contexts of a tile (`isa/system_and_limits.md` 8, ISA).
pub const WORKERS: u32 = 6;
/// Issue slots, visited round-robin: one turn of a worker is so many tile cycles (ISA).
pub const SLOTS: u32 = 6;
/// Multiply-adds per tile and cycle, f16 inputs and f16 partials (`facts/calibration.md`, ISA).
pub const MACS_F16: u32 = 64;
/// The same with f32 partials (ISA).
pub const MACS_F16_F32: u32 = 32;
/// The same for f8 inputs (ISA).
pub const MACS_F8: u32 = 128;
/// The same for f32 (ISA).
pub const MACS_F32: u32 = 16;
/// Bytes loaded per tile and cycle at most (ISA).
pub const LOAD_BYTES: u32 = 16;
/// Bytes stored per tile and cycle at most (ISA).
pub const STORE_BYTES: u32 = 8;
/// Bytes that a tile receives per event; also what it sends (hardware).
pub const EXCHANGE_BYTES: u32 = 4;
/// Bytes per event of a paired transfer, on the sender and on each of the two receivers (hardware).
pub const EXCHANGE_PAIR_BYTES: u32 = 8;
/// Bytes of weights that one `ld64putcs` loads, in `sup_putcs` cycles (ISA).
pub const WEIGHT_LOAD_BYTES: u32 = 8;
/// Bytes of weights that one `ld128putcs` loads, from region 1 only (ISA).
pub const WEIGHT_LOAD_WIDE_BYTES: u32 = 16;
/// Bytes behind PC that the supervisor's fetch may touch (`isa/supervisor.md` 2, ISA).
pub const SUPERVISOR_FETCH_BYTES: u32 = 64;
/// Bytes behind PC that a worker's fetch may touch outside `rpt` bodies (ISA).
pub const WORKER_FETCH_BYTES: u32 = 16;
/// Cycles of a `setzi` in an exchange row (`isa/supervisor.md` 4, hardware).
pub const ROW_SETZI: u32 = 1;

/// Worst-case turns of the functions whose time depends on their operands
/// (`isa/system_and_limits.md` 6, ISA).
const WORST_TURNS: &[(&str, u32)] = &[
    ("f32div", 3),
    ("f32sqrt", 5),
    ("f32oox", 3),
    ("f32oorx", 4),
    ("f32log2", 6),
    ("f32ln", 6),
    ("f32exp2", 3),
    ("f32exp", 3),
    ("f32sigm", 5),
    ("f32tanh", 5),
    ("f16v2log2", 2),
    ("f16v2ln", 2),
    ("f16v2exp2", 2),
    ("f16v2exp", 2),
    ("f16v2sigm", 2),
    ("f16v2tanh", 1),
];

/// Turns of one of the sixteen functions with operand-dependent time, by mnemonic, under
/// `transc_slots`; `None` for every other instruction.
pub fn transcendental_turns(mnemonic: &str, assumptions: &Assumptions) -> Option<u32> {
    let &(_, worst) = WORST_TURNS.iter().find(|(name, _)| *name == mnemonic)?;
    Some(match assumptions.transc_slots {
        TranscendentalTurns::Worst => worst,
        // f16v2exp and f16v2tanh are measured, f16v2exp2 goes by analogy.
        TranscendentalTurns::Measured => match mnemonic {
            "f16v2exp" | "f16v2exp2" | "f16v2tanh" => 1,
            _ => worst,
        },
    })
}

/// Seconds of a number of tile cycles on a C600.
pub fn seconds(cycles: u64) -> f64 {
    cycles as f64 / CLOCK_HZ as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn turns_follow_the_assumption() {
        let mut assumptions = Assumptions::default();
        assert_eq!(transcendental_turns("f16v2exp", &assumptions), Some(1));
        assert_eq!(transcendental_turns("f32ln", &assumptions), Some(6));
        assert_eq!(transcendental_turns("f32add", &assumptions), None);
        assumptions.set("transc_slots", "worst").unwrap();
        assert_eq!(transcendental_turns("f16v2exp", &assumptions), Some(2));
    }

    #[test]
    fn whole_chip_peak_is_the_published_one() {
        // 282.6 TFLOP/s (facts/limits.md D1), two operations per multiply-add.
        let peak = u64::from(MACS_F16) * 2 * 1472 * CLOCK_HZ;
        assert_eq!(peak / 100_000_000_000, 2826);
    }
}
