//! What a worker holds between issue groups, and what the workers of a tile share.

use super::model::Model;
use crate::arith::prng::Prng;
use crate::memory::FetchWindow;
pub use ipucc_chip::exception::Exception;

/// A register file as the executor indexes it: 0..=15 are the architectural numbers, those
/// without storage always hold what they read as, and writes to them go to 16..=19.
pub type Registers = [u32; 32];

/// First scratch entry of a register file.
pub const SCRATCH: usize = 16;
/// MRF registers with storage.
pub const MRF_STORED: usize = 12;
/// ARF registers with storage.
pub const ARF_STORED: usize = 8;

/// The 32 accumulators, raw bits: unit u owns `sum[u]` = AACC\[2u\] and `stage[u]` =
/// AACC\[2u+1\] (`isa/amp.md` 1).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[repr(C, align(64))]
pub struct Accumulators {
    /// Running sums, the even accumulators.
    pub sum: [u32; 16],
    /// Shift stages, the odd accumulators.
    pub stage: [u32; 16],
}

impl Accumulators {
    /// AACC\[i\], i = 0..32.
    #[inline(always)]
    pub fn get(&self, i: usize) -> u32 {
        let u = i / 2 % 16;
        if i & 1 == 0 {
            self.sum[u]
        } else {
            self.stage[u]
        }
    }

    /// Replaces AACC\[i\].
    #[inline(always)]
    pub fn set(&mut self, i: usize, v: u32) {
        let u = i / 2 % 16;
        if i & 1 == 0 {
            self.sum[u] = v;
        } else {
            self.stage[u] = v;
        }
    }
}

/// An exception while a group executes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Raised {
    /// Which.
    pub exception: Exception,
    /// The data address, branch target or CSR number that it is about, if any.
    pub detail: Option<u32>,
    /// True if the results of the group were committed (overflow of `f32div`).
    pub imprecise: bool,
}

impl Raised {
    /// A precise exception without detail.
    pub const fn new(exception: Exception) -> Raised {
        Raised {
            exception,
            detail: None,
            imprecise: false,
        }
    }

    /// A precise exception about an address or number.
    pub const fn about(exception: Exception, detail: u32) -> Raised {
        Raised {
            exception,
            detail: Some(detail),
            imprecise: false,
        }
    }
}

/// Data that a load will put into the ARF when its group retires.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Pending {
    pub(crate) words: [u32; 4],
    /// First destination and count of `words[0..]`.
    pub(crate) at: u8,
    pub(crate) count: u8,
    /// Second destination, which takes the words from `count` on.
    pub(crate) at2: u8,
    pub(crate) count2: u8,
}

/// Everything a worker holds between issue groups.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkerState {
    /// Address of the next issue group.
    pub pc: u32,
    /// MRF; entries 12 and 13 are kept equal to WORKER_BASE and VERTEX_BASE.
    pub mrf: Registers,
    /// ARF.
    pub arf: Registers,
    /// Accumulators.
    pub acc: Accumulators,
    /// `$TAS`.
    pub tas: u32,
    /// `$PRNG_*`.
    pub prng: Prng,
    /// `$FP_STS`, flag bits 0..3.
    pub fp_sts: u32,
    /// `$FP_CTL`.
    pub fp_ctl: u32,
    /// `$FP_NFMT`.
    pub fp_nfmt: u32,
    /// `$FP_SCL`.
    pub fp_scl: u32,
    /// `$REPEAT_COUNT`; not 0 inside a `rpt` body.
    pub repeat_count: u32,
    /// `$REPEAT_FIRST`.
    pub repeat_first: u32,
    /// `$REPEAT_END`.
    pub repeat_end: u32,
    /// `$WSR` without the context number: ETYPE `[7:4]`, ERPT `[9]`.
    pub wsr: u32,
    /// `$DBG_BRK_ID`.
    pub dbg_brk_id: u32,
    /// Worker index 0..6.
    pub index: u8,
    /// Address of the group after the one that executes, as the group itself sets it.
    pub(crate) next: u32,
    /// Turns beyond the first that the executing group takes.
    pub(crate) extra_turns: u32,
    /// Cycles that a misaligned branch target costs, when counted in cycles.
    pub(crate) extra_cycles: u32,
    pub(crate) exit: Option<bool>,
    /// A write to `$FP_CLR` that has not acted yet, and the groups it still waits for.
    pub(crate) late_clear: Option<(u32, u8)>,
    pub(crate) pending: Pending,
}

/// `$FP_CTL` bit: stochastic rounding.
pub const ESR: u32 = 1 << 19;
/// `$FP_CTL` bit: half overflow becomes a NaN.
pub const NANOO: u32 = 1 << 20;
/// Writable bits of `$FP_CTL`.
pub const FP_CTL_MASK: u32 = 0x0018_0007;

impl WorkerState {
    /// Worker `index` as after reset: all zero, not running.
    pub fn new(index: u8) -> WorkerState {
        WorkerState {
            pc: ipucc_chip::memory::BASE,
            mrf: [0; 32],
            arf: [0; 32],
            acc: Accumulators::default(),
            tas: 0,
            prng: Prng::default(),
            fp_sts: 0,
            fp_ctl: 0,
            fp_nfmt: 0,
            fp_scl: 0,
            repeat_count: 0,
            repeat_first: 0,
            repeat_end: 0,
            wsr: 0,
            dbg_brk_id: 0,
            index,
            next: 0,
            extra_turns: 0,
            extra_cycles: 0,
            exit: None,
            late_clear: None,
            pending: Pending::default(),
        }
    }

    /// What `run` and `runall` set (`isa/system_and_limits.md` 3); everything else is kept
    /// (assumption `regs_retained`). `fp` = `$FP_ICTL`, `$FP_INFMT`, `$FP_ISCL`.
    pub fn launch(&mut self, entry: u32, vertex_base: u32, worker_base: u32, fp: [u32; 3]) {
        self.pc = entry;
        self.mrf[12] = worker_base & 0xf_ffff;
        self.mrf[13] = vertex_base & 0xf_fffc;
        self.fp_sts = 0;
        self.fp_ctl = fp[0] & FP_CTL_MASK;
        self.fp_nfmt = fp[1] & 3;
        self.fp_scl = fp[2] & 0x3f;
        self.exit = None;
    }

    /// Registers without storage as copies of those with the same low bits (`unbacked_read`).
    pub(crate) fn copy_unbacked(&mut self) {
        self.mrf[14] = self.mrf[6];
        for r in 8..14 {
            self.arf[r] = self.arf[r - 8];
        }
    }

    /// `$WSR` as read.
    pub fn wsr_value(&self) -> u32 {
        self.wsr & 0x2f0 | u32::from(self.index)
    }

    /// True if stochastic rounding is on.
    #[inline(always)]
    pub fn esr(&self) -> bool {
        self.fp_ctl & ESR != 0
    }

    /// True if half overflow becomes a NaN.
    #[inline(always)]
    pub fn nanoo(&self) -> bool {
        self.fp_ctl & NANOO != 0
    }

    /// Addresses that the fetch of the group at `self.pc` occupies.
    #[inline(always)]
    pub(crate) fn window(&self, model: &Model, bundled: bool) -> FetchWindow {
        fetch_window(
            self.pc,
            self.repeat_count,
            self.repeat_first,
            self.repeat_end,
            model,
            bundled,
        )
    }
}

/// The fetch window of a worker (`isa/system_and_limits.md` 11).
#[inline(always)]
pub(crate) fn fetch_window(
    pc: u32,
    count: u32,
    first: u32,
    end: u32,
    model: &Model,
    bundled: bool,
) -> FetchWindow {
    if count != 0 {
        FetchWindow {
            first,
            last: end.wrapping_sub(u32::from(!model.rpt_window_closed)),
        }
    } else {
        FetchWindow::worker(pc.wrapping_add(4 * u32::from(bundled && model.window_from_aux)))
    }
}

/// What the workers of one tile share besides memory.
#[derive(Clone, Debug)]
pub struct Shared {
    pub(crate) weights: [u64; 64],
    /// `$DBG_DATA`.
    pub dbg_data: u32,
    pub(crate) decoded: super::weights::Decoded,
}

impl Default for Shared {
    fn default() -> Self {
        Shared::new()
    }
}

impl Shared {
    /// Reset state: weights and debug word zero.
    pub fn new() -> Shared {
        Shared {
            weights: [0; 64],
            dbg_data: 0,
            decoded: super::weights::Decoded::default(),
        }
    }

    /// Weight register `4u + n`.
    #[inline(always)]
    pub fn weight(&self, index: usize) -> u64 {
        self.weights[index % 64]
    }

    /// All weight registers.
    pub fn weights(&self) -> &[u64; 64] {
        &self.weights
    }

    /// Loads weight register `index` (0..64), as `ld64putcs` does.
    #[inline]
    pub fn set_weight(&mut self, index: usize, value: u64) {
        self.weights[index % 64] = value;
        self.decoded.invalidate();
    }

    /// Zeroes the weight store, as the supervisor's clear does.
    pub fn clear_weights(&mut self) {
        self.weights = [0; 64];
        self.decoded.invalidate();
    }
}
