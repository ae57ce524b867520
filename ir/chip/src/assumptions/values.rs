//! Types of assumption values and their text form.

use serde::{Deserialize, Serialize};

/// A type that can be the value of an assumption.
pub(super) trait Value: Sized {
    fn parse(text: &str) -> Option<Self>;
    fn print(&self) -> String;
}

/// Largest accepted number of cycles, events or items; keeps sums far from overflow.
const MAX_NUMBER: u32 = 1 << 24;

impl Value for u32 {
    fn parse(text: &str) -> Option<u32> {
        text.parse().ok().filter(|&number| number <= MAX_NUMBER)
    }

    fn print(&self) -> String {
        self.to_string()
    }
}

impl Value for bool {
    fn parse(text: &str) -> Option<bool> {
        match text {
            "yes" | "true" | "on" => Some(true),
            "no" | "false" | "off" => Some(false),
            _ => None,
        }
    }

    fn print(&self) -> String {
        if *self { "yes" } else { "no" }.to_owned()
    }
}

/// A word that is a bit pattern, written `0x..`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Pattern(pub u32);

impl Value for Pattern {
    fn parse(text: &str) -> Option<Pattern> {
        u32::from_str_radix(text.strip_prefix("0x")?, 16)
            .ok()
            .map(Pattern)
    }

    fn print(&self) -> String {
        format!("{:#010x}", self.0)
    }
}

/// Result codes of the `class` instructions in the order SNAN, QNAN, -INF, +INF, -ZERO, +ZERO,
/// -DENORM, +DENORM, -NORM, +NORM; written as ten numbers with commas, a permutation of 1..=10.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct ClassCodes(pub [u8; 10]);

impl Value for ClassCodes {
    fn parse(text: &str) -> Option<ClassCodes> {
        let codes: Vec<u8> = text
            .split(',')
            .map(|code| code.trim().parse().ok())
            .collect::<Option<_>>()?;
        let codes: [u8; 10] = codes.try_into().ok()?;
        let mut seen = 0u32;
        for code in codes {
            if code == 0 || code > 10 {
                return None;
            }
            seen |= 1 << code;
        }
        (seen == 0x7fe).then_some(ClassCodes(codes))
    }

    fn print(&self) -> String {
        self.0.map(|code| code.to_string()).join(",")
    }
}

macro_rules! choices {
    ($($(#[$about:meta])* $name:ident { $($(#[$doc:meta])* $variant:ident = $text:literal,)* })*) => {$(
        $(#[$about])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
        pub enum $name {
            $($(#[$doc])* $variant,)*
        }

        impl Value for $name {
            fn parse(text: &str) -> Option<$name> {
                match text {
                    $($text => Some($name::$variant),)*
                    _ => None,
                }
            }

            fn print(&self) -> String {
                match self {
                    $($name::$variant => $text,)*
                }
                .to_owned()
            }
        }
    )*};
}

choices! {
    /// `store_on_exception`.
    StoreOnException {
        /// The store happens iff the group decoded and its own address is valid and aligned.
        Happens = "happens",
        /// Nothing is written.
        Nothing = "nothing",
    }
    /// `bundle_exception_order`.
    BundleExceptionOrder {
        /// Main before aux in every phase.
        MainFirst = "main_first",
        /// Aux before main in every phase.
        AuxFirst = "aux_first",
    }
    /// `first_raise_wins`.
    FirstRaise {
        /// The first test in the listed order is reported.
        Listed = "listed",
        /// The highest exception code is reported.
        HighestCode = "highest_code",
    }
    /// `exit_with_event`.
    ExitWithEvent {
        /// The event is taken; the exit stays pending until it is cleared.
        Pending = "pending",
        /// The exit is lost.
        Lost = "lost",
    }
    /// `bundle_at_code_end`.
    BundleAtCodeEnd {
        /// Exception 10.
        InvalidPc = "invalid_pc",
    }
    /// `fetch_ahead`.
    FetchAhead {
        /// Words that never issue have no effect but the clash windows.
        NoEffect = "none",
        /// Fetching ahead may raise INVALID_PC.
        Raises = "raises",
    }
    /// `fetch_window_pc`.
    FetchWindowPc {
        /// Address of the main word.
        Main = "main",
        /// Address of the aux word.
        Aux = "aux",
    }
    /// `rpt_window_end`.
    RptWindowEnd {
        /// `$REPEAT_END` belongs to the window.
        Inclusive = "inclusive",
        /// It does not.
        Exclusive = "exclusive",
    }
    /// `rpt_loopback`.
    RptLoopback {
        /// When the next PC is REPEAT_END and the count is not 0: count - 1, then back to
        /// REPEAT_FIRST unless it is 0.
        AtEnd = "at_end",
    }
    /// `brnzdec_fallthrough`.
    BrnzdecFallthrough {
        /// The register becomes the old value - 1.
        Decremented = "decremented",
        /// The register stays 0.
        Kept = "kept",
    }
    /// `branch_misaligned_turn`: extra time of a control transfer to 4 mod 8.
    MisalignedTarget {
        /// One turn if a bundle stands there.
        BundleTurn = "turn",
        /// One cycle if a bundle stands there.
        BundleCycle = "cycle",
        /// Nothing.
        Free = "none",
        /// One turn for every target at 4 mod 8.
        EveryTurn = "every_target",
    }
    /// `transc_slots`: turns of the sixteen functions (`timing::transcendental_turns`).
    TranscendentalTurns {
        /// f16v2exp, f16v2exp2 and f16v2tanh 1, the others their worst case.
        Measured = "measured",
        /// All sixteen their worst case.
        Worst = "worst",
    }
    /// `transc_bits`.
    TranscendentalBits {
        /// Correctly rounded.
        CorrectlyRounded = "correctly_rounded",
    }
    /// `div_oflo_commit`.
    DivOverflow {
        /// The infinity is committed, then the trap is taken.
        Commit = "commit",
        /// Nothing is committed.
        NoCommit = "no_commit",
    }
    /// `prng_after_trap`.
    PrngAfterTrap {
        /// The advance is kept.
        Kept = "kept",
        /// The old state is restored.
        Restored = "restored",
    }
    /// `minmax_two_qnan`.
    MinMaxTwoNan {
        /// The first operand as it is (half results become 0x7ece in the packer).
        First = "first",
        /// The fixed NaN.
        Fixed = "fixed",
    }
    /// `f8_to_f16_tiny`.
    F8Tiny {
        /// Ordinary nearest even.
        NearestEven = "nearest_even",
        /// A zero of the same sign.
        Zero = "zero",
    }
    /// `ln_pole`.
    LnPole {
        /// DIV0 only.
        Div0 = "div0",
        /// DIV0 and OFLO.
        Div0Oflo = "div0_oflo",
    }
    /// `dot_inner`: additions inside a dot product.
    DotInner {
        /// A window of 33 bits below the largest product.
        Window33 = "window33",
        /// Exact sum, rounded once.
        Exact = "exact",
        /// One rounding per addition, in order.
        Seq = "seq",
    }
    /// `dot_zero_sign`.
    DotZeroSign {
        /// -0 if every product is -0, else +0.
        ByProducts = "by_products",
        /// Always +0.
        Positive = "positive",
    }
    /// `dot_nan`.
    DotNan {
        /// The fixed quiet NaN, also against zero.
        Quiet = "quiet",
    }
    /// `amp_imm_layout`.
    AmpImmLayout {
        /// AMP: phase low, engines above; SLIC: width or phase low, engines above.
        PhaseLow = "phase_low",
        /// Engines low, phase above.
        EngineLow = "engine_low",
    }
    /// `gina_imm_layout`.
    GinaImmLayout {
        /// ODD = bit 0, SET = bit 1.
        SetBit1 = "set_bit1",
        /// ODD = bit 0, SET = bit 2.
        SetBit2 = "set_bit2",
    }
    /// `acc_raw`.
    AccRaw {
        /// Raw bits, flushed on arithmetic read and on f32 output.
        Raw = "raw",
        /// Flushed when written.
        FlushOnWrite = "flush_on_write",
    }
    /// `regs_retained`.
    RegsRetained {
        /// Kept across exit and launch.
        Kept = "kept",
        /// Zeroed by a launch.
        Zeroed = "zeroed",
    }
    /// `unbacked_read`.
    UnbackedRead {
        /// 0.
        Zero = "zero",
        /// A copy of the populated register with the same low bits.
        Copy = "copy",
    }
    /// `zero_reg_groups`.
    ZeroRegGroups {
        /// Registers 14 and 15 read 0 in every grouping.
        Every = "every",
        /// Only `$a15`, the pair 14:15 and the quad 12:15 named as zero groups.
        Named = "named",
    }
    /// `count_sampling`.
    CountSampling {
        /// The tile cycle in which the group issues.
        Issue = "issue",
        /// The tile cycle in which it retires.
        Retirement = "retirement",
    }
    /// `fp_clr_immediate`.
    FpClr {
        /// Before the worker's next group.
        NextGroup = "next_group",
        /// One turn later.
        OneTurn = "one_turn",
    }
    /// `cwei_race`.
    CweiRace {
        /// Visible to groups issued after the load retires.
        AfterRetire = "after_retire",
        /// A simulation error.
        Fault = "fault",
    }
    /// `sup_slot_map`.
    SlotMap {
        /// Worker w takes slot w.
        Worker = "worker",
        /// In launch order from the slot after the launch.
        Launch = "launch",
    }
    /// `sup_start`.
    Start {
        /// First cycle of its slot at or after launch + `sup_launch`.
        OwnSlot = "own_slot",
        /// All workers at launch + `sup_launch` + 5, the latest slot.
        Fixed = "fixed",
    }
    /// `sup_zones`.
    Zones {
        /// 4, 6 = GS1, GS2 without host; 12..15 act as 4..7.
        Folded = "folded",
    }
    /// `sup_sync_e7`.
    SyncCheck {
        /// E7 for z = 8..11, for z >= 3 under own credit, for z >= 4 with the mux not at the host.
        Checked = "checked",
        /// No check.
        Unchecked = "unchecked",
    }
    /// `sup_clash`.
    SupervisorClash {
        /// An exception, never a stall.
        Exception = "exception",
    }
    /// `sup_run_pick`.
    RunPick {
        /// The free worker with the lowest number.
        Lowest = "lowest",
        /// The free worker with the highest number.
        Highest = "highest",
    }
    /// `sup_run_full`.
    RunFull {
        /// A simulation error.
        Error = "error",
        /// The supervisor waits.
        Wait = "wait",
    }
    /// `sup_lc_effect`.
    LcEffect {
        /// None.
        NoEffect = "none",
    }
    /// `sup_csr_set`.
    CsrSet {
        /// The rows "supervisor" of the CSR table; others raise E9.
        Table = "table",
    }
    /// `sup_scount`.
    Scount {
        /// E9.
        Invalid = "e9",
        /// Readable, the tile cycle counter.
        Readable = "readable",
    }
    /// `sup_mux_clash`.
    MuxClash {
        /// Never raised.
        Never = "never",
    }
    /// `exch_clash_unit`: element unit of exchange accesses in region 1.
    ClashUnit {
        /// The 32-KiB pair.
        Pair = "pair",
        /// The 16-KiB element by address bit 3.
        Element = "element",
    }
    /// `exch_send_start_controls`: receive controls of a tile at the start of its own send.
    SendStartControls {
        /// None at the events `S` and `S + 1` of a send that starts at `S`.
        Strict = "strict",
        /// Where the words allow it: at `S` in the interval before, at `S + 1` in a leading
        /// `sendpicp`.
        FirstEventOpen = "first_event_open",
    }
    /// `host_mark`.
    HostMark {
        /// The new value holds.
        Replaces = "replaces",
        /// The new value is added.
        Adds = "adds",
    }
    /// `host_order`.
    HostOrder {
        /// Whichever listed tile came first with a packet.
        OnDemand = "on_demand",
        /// By index in the request, waiting for each in turn.
        Ascending = "ascending",
    }
    /// `host_data`.
    HostData {
        /// At once.
        Prompt = "prompt",
        /// When the next barrier fires.
        Late = "late",
    }
    /// `exch_format_value`: what the item formats 1 and 2 of a paired receive mean.
    FormatValue {
        /// The receiver's route direction.
        Direction = "direction",
        /// 1 = early member, 2 = waiting member.
        Half = "half",
    }
}
