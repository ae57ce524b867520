//! Control and status registers as workers reach them (`isa/execution.md` 8.1,
//! `system_and_limits.md` 12).

use super::state::{Exception, FP_CTL_MASK, Raised, Shared, WorkerState};
use crate::arith::flag;
use crate::arith::prng::Prng;

/// `get`: CSR numbers 0..256.
pub(crate) fn get(
    w: &WorkerState,
    shared: &Shared,
    number: u32,
    cycle: u64,
) -> Result<u32, Raised> {
    Ok(match number {
        0x00 => w.pc,
        0x01 => w.wsr_value(),
        0x02 => w.mrf[13],
        0x03 => w.mrf[12],
        0x04 => w.repeat_count & 0xffff,
        0x05 => w.repeat_first,
        0x06 => w.repeat_end,
        0x60 => cycle as u32,
        0x61 => (cycle >> 32) as u32,
        0x70 => shared.dbg_data,
        0x71 => w.dbg_brk_id & 1,
        _ => return Err(Raised::about(Exception::InvalidOperand, number)),
    })
}

/// `put`: only `$DBG_DATA` changes; the other registers of the set are read-only.
pub(crate) fn put(shared: &mut Shared, number: u32, value: u32) -> Result<(), Raised> {
    match number {
        0x70 => shared.dbg_data = value,
        0..=6 | 0x60 | 0x61 | 0x71 => {}
        _ => return Err(Raised::about(Exception::InvalidOperand, number)),
    }
    Ok(())
}

/// `uget`: `number` = CSR number - 256.
pub(crate) fn uget(w: &WorkerState, number: u32) -> Result<u32, Raised> {
    Ok(match number {
        0 => w.fp_sts,
        1 | 7 => 0,
        2 => w.fp_ctl,
        3..=6 => w.prng.word(number - 3),
        8 => w.tas,
        9 => w.fp_nfmt,
        10 => w.fp_scl,
        _ => return Err(Raised::about(Exception::InvalidOperand, 256 + number)),
    })
}

/// `uput`: `number` = CSR number - 256; `late`: a write to `$FP_CLR` acts one group later.
pub(crate) fn uput(w: &mut WorkerState, number: u32, value: u32, late: bool) -> Result<(), Raised> {
    match number {
        0 => {}
        1 if late => w.late_clear = Some((value, 1)),
        1 => clear(w, value),
        2 => w.fp_ctl = value & FP_CTL_MASK,
        3..=6 => w.prng.set_word(number - 3, value),
        7 => w.prng = Prng::seeded(value),
        8 => w.tas = value,
        // the format of weights is the supervisor's
        9 => w.fp_nfmt = w.fp_nfmt & 1 | value & 2,
        10 => w.fp_scl = value & 0x3f,
        _ => return Err(Raised::about(Exception::InvalidOperand, 256 + number)),
    }
    Ok(())
}

/// What a write to `$FP_CLR` does.
pub(crate) fn clear(w: &mut WorkerState, value: u32) {
    w.fp_sts &= !(value & flag::ALL);
    if value & 8 != 0 {
        w.acc = Default::default();
    }
}
