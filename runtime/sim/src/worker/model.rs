//! The assumptions of `isa/README.md` 4 that touch workers, in the form that the executor tests.

use crate::arith::dot::Inner;
use crate::arith::f32ops::Nan;
use crate::decode::DecodeModel;
use ipucc_chip::Assumptions;
use ipucc_chip::assumptions as a;

/// How AMP and SLIC compute.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum AmpMode {
    /// Bit-exact by the assumptions in force: the judge.
    #[default]
    Exact,
    /// Dot products of the f16 and f8 AMP and SLIC forms in plain f32, one multiply and one add
    /// after the other. Not equal to the exact mode, which cuts products at a window and rounds once:
    /// for rates, never for results.
    Fast,
}

/// Every switch that the executor looks at.
#[derive(Clone, Debug, PartialEq)]
pub struct Model {
    /// `qnan32`.
    pub nan: Nan,
    /// `minmax_two_qnan`: the fixed NaN instead of the first operand.
    pub two_qnan_fixed: bool,
    /// `class_codes`: code of each class in the order of the tests.
    pub classes: [u8; 10],
    /// `dot_inner`.
    pub inner: Inner,
    /// `dot_zero_sign`: -0 possible.
    pub dot_minus_zero: bool,
    /// `amp_sr`.
    pub amp_sr: bool,
    /// AMP and SLIC arithmetic.
    pub amp: AmpMode,
    /// `acc_raw`: subnormal patterns are kept on write.
    pub acc_raw: bool,
    /// `prng_after_trap`: the advance of a trapping instruction is kept.
    pub prng_kept: bool,
    /// `store_on_exception`: the store of a faulting group happens.
    pub store_commits: bool,
    /// `bundle_exception_order`: aux before main.
    pub aux_first: bool,
    /// `brnzdec_fallthrough`: the counter stays 0 when not taken.
    pub brnzdec_stays: bool,
    /// `branch_misaligned_turn`.
    pub misaligned: a::MisalignedTarget,
    /// `get_slots`.
    pub get_turns: u32,
    /// `transc_slots`: all sixteen functions take their worst case.
    pub worst_turns: bool,
    /// `gina_imm_layout`: bit number of SET.
    pub gina_set_bit: u32,
    /// `rpt_window_end`: REPEAT_END belongs to the window.
    pub rpt_window_closed: bool,
    /// `fetch_window_pc`: the window of a bundle counts from its aux word.
    pub window_from_aux: bool,
    /// `div_oflo_commit`: commit the infinity, then trap.
    pub div_commits: bool,
    /// `f8_to_f16_tiny`: zero instead of the least denormal.
    pub f8_tiny_zero: bool,
    /// `ln_pole`: overflow flag as well.
    pub ln_pole_oflo: bool,
    /// `count_sampling`: the counter is that of retirement.
    pub count_at_retirement: bool,
    /// `fp_clr_immediate`: a write to `$FP_CLR` acts one turn late.
    pub fp_clr_late: bool,
    /// `unbacked_read`: registers without storage read as copies.
    pub unbacked_copy: bool,
    /// The processor and the model allow the vector code of the matrix unit; no assumption.
    pub(crate) simd: bool,
}

impl Model {
    /// The model that the assumptions describe.
    pub fn new(s: &Assumptions, amp: AmpMode) -> Model {
        Model {
            nan: Nan(s.qnan32.0),
            two_qnan_fixed: s.minmax_two_qnan == a::MinMaxTwoNan::Fixed,
            classes: s.class_codes.0,
            inner: match s.dot_inner {
                a::DotInner::Window33 => Inner::Window33,
                a::DotInner::Exact => Inner::Exact,
                a::DotInner::Seq => Inner::Sequential,
            },
            dot_minus_zero: s.dot_zero_sign == a::DotZeroSign::ByProducts,
            amp_sr: s.amp_sr,
            amp,
            acc_raw: s.acc_raw == a::AccRaw::Raw,
            prng_kept: s.prng_after_trap == a::PrngAfterTrap::Kept,
            store_commits: s.store_on_exception == a::StoreOnException::Happens,
            aux_first: s.bundle_exception_order == a::BundleExceptionOrder::AuxFirst,
            brnzdec_stays: s.brnzdec_fallthrough == a::BrnzdecFallthrough::Kept,
            misaligned: s.branch_misaligned_turn,
            get_turns: s.get_slots,
            worst_turns: s.transc_slots == a::TranscendentalTurns::Worst,
            gina_set_bit: match s.gina_imm_layout {
                a::GinaImmLayout::SetBit1 => 1,
                a::GinaImmLayout::SetBit2 => 2,
            },
            rpt_window_closed: s.rpt_window_end == a::RptWindowEnd::Inclusive,
            window_from_aux: s.fetch_window_pc == a::FetchWindowPc::Aux,
            div_commits: s.div_oflo_commit == a::DivOverflow::Commit,
            f8_tiny_zero: s.f8_to_f16_tiny == a::F8Tiny::Zero,
            ln_pole_oflo: s.ln_pole == a::LnPole::Div0Oflo,
            count_at_retirement: s.count_sampling == a::CountSampling::Retirement,
            fp_clr_late: s.fp_clr_immediate == a::FpClr::OneTurn,
            unbacked_copy: s.unbacked_read == a::UnbackedRead::Copy,
            // the vector code knows the default additions and no stochastic rounding
            simd: simd_available()
                && (amp == AmpMode::Fast || s.dot_inner == a::DotInner::Window33)
                && !s.amp_sr,
        }
    }

    /// Class number `n` (1..=10 in the order of the tests) as this model numbers it.
    #[inline(always)]
    pub fn class(&self, n: u32) -> u32 {
        self.classes[(n as usize).wrapping_sub(1) % 10].into()
    }
}

#[cfg(target_arch = "x86_64")]
fn simd_available() -> bool {
    super::simd::available()
}

#[cfg(not(target_arch = "x86_64"))]
fn simd_available() -> bool {
    false
}

impl Default for Model {
    fn default() -> Self {
        Model::new(&Assumptions::default(), AmpMode::Exact)
    }
}

impl DecodeModel {
    /// The decode switches that the assumptions describe.
    pub fn new(s: &Assumptions) -> DecodeModel {
        DecodeModel {
            clash_zero: s.dst_clash_zero,
            amp_engine_low: s.amp_imm_layout == a::AmpImmLayout::EngineLow,
            a14_copy: s.zero_reg_groups == a::ZeroRegGroups::Named
                && s.unbacked_read == a::UnbackedRead::Copy,
        }
    }
}
