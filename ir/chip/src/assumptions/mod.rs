//! The named assumptions: everything about the chip that no source settles.
//!
//! Names, defaults and meanings are those of `isa/README.md` 4; the `exch_*` rows are the lines
//! marked M and I of `facts/exchange.md` as corrected by `facts/exchange_findings.md`. Whoever
//! predicts and whoever simulates gets a value of [`Assumptions`] of its own.
//!
//! Marks in the evidence column: A = measured and published, or two sources agree; B = one direct
//! source; C = inference or first-generation constant (C1); M = somebody's model.

mod values;

pub use values::*;

use serde::{Deserialize, Serialize};
use thiserror::Error;
use values::Value;

/// Whether an assumption decides times or results.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum AssumptionKind {
    /// Changes cycle counts.
    Timing,
    /// Changes results, faults or which programs are legal.
    Semantics,
}

/// What is known about one assumption.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct AssumptionInfo {
    /// Name, also of the field of [`Assumptions`].
    pub name: &'static str,
    /// Timing or semantics.
    pub kind: AssumptionKind,
    /// What it decides.
    pub decides: &'static str,
    /// Other values it might have; `-` if there is no other.
    pub alternatives: &'static str,
    /// What speaks for the default.
    pub evidence: &'static str,
}

/// A name or a value that is none.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum AssumptionError {
    /// No assumption has this name.
    #[error("there is no assumption `{name}`{}", .near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default())]
    UnknownName {
        /// The name given.
        name: String,
        /// The nearest known name.
        near: Option<&'static str>,
    },
    /// The assumption cannot have this value.
    #[error(
        "`{value}` is no value of the assumption `{name}` (default {default}; alternatives: {alternatives})"
    )]
    BadValue {
        /// The assumption.
        name: &'static str,
        /// The value given.
        value: String,
        /// The default in text form.
        default: String,
        /// Known alternatives.
        alternatives: &'static str,
    },
    /// Not of the form `NAME=VALUE`.
    #[error("`{text}` is not of the form NAME=VALUE")]
    NoPair {
        /// The text given.
        text: String,
    },
}

macro_rules! assumptions {
    ($($(#[$doc:meta])* $name:ident: $type:ty = $default:expr, $kind:ident, $decides:literal, $alternatives:literal, $evidence:literal;)*) => {
        /// The values in force; see the module and [`Assumptions::TABLE`].
        #[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
        pub struct Assumptions {
            $($(#[$doc])* pub $name: $type,)*
        }

        impl Default for Assumptions {
            fn default() -> Assumptions {
                Assumptions { $($name: $default,)* }
            }
        }

        impl Assumptions {
            /// All assumptions, in the order of the documentation.
            pub const TABLE: &'static [AssumptionInfo] = &[$(AssumptionInfo {
                name: stringify!($name),
                kind: AssumptionKind::$kind,
                decides: $decides,
                alternatives: $alternatives,
                evidence: $evidence,
            },)*];

            /// The value of an assumption in text form; `None` if there is no such name.
            pub fn get(&self, name: &str) -> Option<String> {
                match name {
                    $(stringify!($name) => Some(self.$name.print()),)*
                    _ => None,
                }
            }

            /// Sets one assumption from text.
            ///
            /// # Errors
            /// An unknown name (with the nearest one) or a value that it cannot have.
            pub fn set(&mut self, name: &str, value: &str) -> Result<(), AssumptionError> {
                match name {
                    $(stringify!($name) => match <$type as Value>::parse(value.trim()) {
                        Some(parsed) => self.$name = parsed,
                        None => return Err(AssumptionError::BadValue {
                            name: stringify!($name),
                            value: value.to_owned(),
                            default: Assumptions::default().$name.print(),
                            alternatives: $alternatives,
                        }),
                    },)*
                    _ => return Err(AssumptionError::UnknownName {
                        name: name.to_owned(),
                        near: nearest(name),
                    }),
                }
                Ok(())
            }
        }
    };
}

assumptions! {
    /// Memory write of a store or load-store whose group raises.
    store_on_exception: StoreOnException = StoreOnException::Happens, Semantics, "memory write of a store or load-store whose group raises", "nothing", "text conflict: three statements of chapter 2 for it, the formal order of chapter 3 against";
    /// Order of the phases of the two members of a bundle and which exception wins.
    bundle_exception_order: BundleExceptionOrder = BundleExceptionOrder::MainFirst, Semantics, "order of the phases of the two members of a bundle and which exception wins", "aux_first", "text silent";
    /// Several independent tests of one instruction fail.
    first_raise_wins: FirstRaise = FirstRaise::Listed, Semantics, "several independent tests of one instruction fail", "highest_code", "text silent";
    /// An exit whose retirement also raises.
    exit_with_event: ExitWithEvent = ExitWithEvent::Pending, Semantics, "an exit whose retirement also raises", "lost", "text silent";
    /// Whether registers without storage count when a register is named twice as destination.
    dst_clash_zero: bool = true, Semantics, "whether registers without storage count when a register is named twice as destination", "no", "assembler tests reject it (B), public kernels avoid it (A)";
    /// A bundle whose second word is not in executable memory.
    bundle_at_code_end: BundleAtCodeEnd = BundleAtCodeEnd::InvalidPc, Semantics, "a bundle whose second word is not in executable memory", "-", "text silent";
    /// Effects of words that are fetched but never issued.
    fetch_ahead: FetchAhead = FetchAhead::NoEffect, Semantics, "effects of words that are fetched but never issued", "raises", "text silent";
    /// The PC from which the fetch window of a bundle counts.
    fetch_window_pc: FetchWindowPc = FetchWindowPc::Main, Semantics, "the PC from which the fetch window of a bundle counts", "aux", "text silent";
    /// Whether `$REPEAT_END` belongs to the fetch window of a body.
    rpt_window_end: RptWindowEnd = RptWindowEnd::Inclusive, Semantics, "whether `$REPEAT_END` belongs to the fetch window of a body", "exclusive", "printed with a closed end in both editions (B)";
    /// The step at the end of a `rpt` body.
    rpt_loopback: RptLoopback = RptLoopback::AtEnd, Semantics, "the step at the end of a `rpt` body", "-", "derived from the tests inside bodies";
    /// The register after a `brnzdec` that is not taken.
    brnzdec_fallthrough: BrnzdecFallthrough = BrnzdecFallthrough::Decremented, Semantics, "the register after a `brnzdec` that is not taken", "kept", "text conflict: formula against prose and older help (B)";
    /// Extra time of a control transfer to a bundle at 4 mod 8.
    branch_misaligned_turn: MisalignedTarget = MisalignedTarget::BundleTurn, Timing, "extra time of a control transfer to a bundle at 4 mod 8", "cycle, none, every_target", "text: one cycle more, unit and extent silent; aligned targets cost nothing (A)";
    /// Turns of a worker's `get`.
    get_slots: u32 = 1, Timing, "turns of a worker's `get`", "2", "text: a constant of its own, not printed";
    /// Turns of the sixteen functions with operand-dependent latency.
    transc_slots: TranscendentalTurns = TranscendentalTurns::Measured, Timing, "turns of the sixteen functions with operand-dependent latency", "worst", "text gives worst cases; f16v2exp 1 and f16v2tanh 1 measured (A)";
    /// Result bits inside the published error bound.
    transc_bits: TranscendentalBits = TranscendentalBits::CorrectlyRounded, Semantics, "result bits inside the published error bound", "-", "text silent";
    /// Malign overflow of `f32div`: is the infinity committed.
    div_oflo_commit: DivOverflow = DivOverflow::Commit, Semantics, "malign overflow of `f32div`: is the infinity committed", "no_commit", "text conflict: imprecise class against the entry's trap line";
    /// `$PRNG_*` advance of an instruction (or bundle partner) that traps.
    prng_after_trap: PrngAfterTrap = PrngAfterTrap::Kept, Semantics, "`$PRNG_*` advance of an instruction (or bundle partner) that traps", "restored", "the draw stands before the trap test (B)";
    /// Bits of the NaN that the machine makes.
    qnan32: Pattern = Pattern(0x7fd9_c000), Semantics, "bits of the NaN that the machine makes", "any of 0x7fd9b000..0x7fd9d000", "only its half 0x7ece is printed";
    /// Min or max of two quiet NaNs.
    minmax_two_qnan: MinMaxTwoNan = MinMaxTwoNan::First, Semantics, "min or max of two quiet NaNs", "fixed", "text conflict: function against prose";
    /// Numbers of the ten classes, in the order SNAN QNAN -INF +INF -ZERO +ZERO -DENORM +DENORM -NORM +NORM.
    class_codes: ClassCodes = ClassCodes([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]), Semantics, "numbers of the ten classes, in the order SNAN QNAN -INF +INF -ZERO +ZERO -DENORM +DENORM -NORM +NORM", "any order with QNAN 2 and -ZERO 5", "2 and 5 from public kernels (A), the rest C";
    /// F8 to f16 of values between 2^-25 and 2^-24.
    f8_to_f16_tiny: F8Tiny = F8Tiny::NearestEven, Semantics, "f8 to f16 of values between 2^-25 and 2^-24", "zero", "text conflict: formula against prose";
    /// Half ln and log2 of zero with the trap off.
    ln_pole: LnPole = LnPole::Div0, Semantics, "half ln and log2 of zero with the trap off", "div0_oflo", "derived from the helper order";
    /// Additions inside a dot product.
    dot_inner: DotInner = DotInner::Window33, Semantics, "additions inside a dot product", "exact, seq", "text withheld; a 33-bit window fits first-generation adders (C)";
    /// Sign of a zero dot product.
    dot_zero_sign: DotZeroSign = DotZeroSign::ByProducts, Semantics, "sign of a zero dot product", "positive", "text silent";
    /// A NaN element in a dot product.
    dot_nan: DotNan = DotNan::Quiet, Semantics, "a NaN element in a dot product", "-", "general NaN rule only";
    /// Stochastic rounding of AMP and SLIC half results when ESR = 1.
    amp_sr: bool = false, Semantics, "stochastic rounding of AMP and SLIC half results when ESR = 1", "yes", "text conflict: list and operation text against a drawing (C)";
    /// Bit positions in AMP and SLIC immediates.
    amp_imm_layout: AmpImmLayout = AmpImmLayout::PhaseLow, Semantics, "bit positions in AMP and SLIC immediates", "engine_low", "drawings only (C); immediate 0 certain";
    /// Bit positions in the gina immediate.
    gina_imm_layout: GinaImmLayout = GinaImmLayout::SetBit1, Semantics, "bit positions in the gina immediate", "set_bit2", "library code reads the two columns with 0 and 1 (B), SET C";
    /// What an accumulator holds.
    acc_raw: AccRaw = AccRaw::Raw, Semantics, "what an accumulator holds", "flush_on_write", "istacc moves raw bits (B)";
    /// MRF, ARF, accumulators and TAS across exit and launch.
    regs_retained: RegsRetained = RegsRetained::Kept, Semantics, "MRF, ARF, accumulators and TAS across exit and launch", "zeroed", "no operation touches them; public kernels rely on it (A; TAS: C)";
    /// Reads of `$m14` and `$a8`..`$a13`.
    unbacked_read: UnbackedRead = UnbackedRead::Zero, Semantics, "reads of `$m14` and `$a8`..`$a13`", "copy", "text: implementation dependent";
    /// Groups that contain registers 14 and 15.
    zero_reg_groups: ZeroRegGroups = ZeroRegGroups::Every, Semantics, "groups that contain registers 14 and 15", "named", "text names the predicate only";
    /// The cycle counter value that is read.
    count_sampling: CountSampling = CountSampling::Issue, Semantics, "the cycle counter value that is read", "retirement", "text silent";
    /// When a write to `$FP_CLR` has acted.
    fp_clr_immediate: FpClr = FpClr::NextGroup, Semantics, "when a write to `$FP_CLR` has acted", "one_turn", "text silent; library code relies on it (A)";
    /// A weight load while workers run.
    cwei_race: CweiRace = CweiRace::AfterRetire, Semantics, "a weight load while workers run", "fault", "text silent";
    /// ETYPE of an instruction break.
    ibrk_code: u32 = 15, Semantics, "ETYPE of an instruction break", "12", "not in the IPU21 list; device page (C1)";
    /// Slot that worker w takes.
    sup_slot_map: SlotMap = SlotMap::Worker, Timing, "slot that worker w takes", "launch", "nothing known";
    /// `run`, `runall`: issue to next issue, and to the earliest worker group (cycles).
    sup_launch: u32 = 6, Timing, "`run`, `runall`: issue to next issue, and to the earliest worker group (cycles)", "4..12", "B";
    /// First group of a launched worker.
    sup_start: Start = Start::OwnSlot, Timing, "first group of a launched worker", "fixed", "nothing known";
    /// Issue of an exit to the slot serving the supervisor again (cycles).
    sup_slot_return: u32 = 6, Timing, "issue of an exit to the slot serving the supervisor again (cycles)", "0", "C, one rotation";
    /// Last exit to the issue after `sync 2` (cycles).
    sup_join: u32 = 6, Timing, "last exit to the issue after `sync 2` (cycles)", "up to 12", "nothing known; launch + join at most 12 plus skew";
    /// Distance of independent instructions (cycles).
    sup_issue: u32 = 1, Timing, "distance of independent instructions (cycles)", "-", "A";
    /// Result used as ALU operand or store data (cycles).
    sup_use_exec: u32 = 6, Timing, "result used as ALU operand or store data (cycles)", "6..8; the set 8, 8, 4", "B";
    /// Result used as address, branch condition or target (cycles).
    sup_use_early: u32 = 8, Timing, "result used as address, branch condition or target (cycles)", "6", "derived from two measured loops, C";
    /// Taken branch or call to the next issue (cycles).
    sup_branch: u32 = 6, Timing, "taken branch or call to the next issue (cycles)", "4..6", "B";
    /// Branch not taken (cycles).
    sup_not_taken: u32 = 1, Timing, "branch not taken (cycles)", "-", "B";
    /// `get` to use (cycles).
    sup_get: u32 = 6, Timing, "`get` to use (cycles)", "8", "nothing known";
    /// Any store (cycles).
    sup_store: u32 = 1, Timing, "any store (cycles)", "-", "A";
    /// `put` to a CSR below 0xa0 (cycles).
    sup_put: u32 = 6, Timing, "`put` to a CSR below 0xa0 (cycles)", "1", "B";
    /// `put` to 0xa0..0xab (cycles).
    sup_put_exch: u32 = 13, Timing, "`put` to 0xa0..0xab (cycles)", "-", "A for 0xa4 and 0xa7, the rest unknown";
    /// `ld64putcs`, `ld128putcs` (cycles).
    sup_putcs: u32 = 1, Timing, "`ld64putcs`, `ld128putcs` (cycles)", "-", "A";
    /// `sync` that need not wait (cycles).
    sup_sync: u32 = 6, Timing, "`sync` that need not wait (cycles)", "1", "B";
    /// Last arrival to release of `sync 3` (cycles).
    sup_barrier: u32 = 118, Timing, "last arrival to release of `sync 3` (cycles)", "up to 600", "M, C";
    /// Release differences between tiles beyond the route time (cycles per row).
    sup_release_skew: u32 = 0, Timing, "release differences between tiles beyond the route time (cycles per row)", "2", "C";
    /// Credit reaching 0 to the issue after `sync 1` (cycles).
    sup_ans_wake: u32 = 6, Timing, "credit reaching 0 to the issue after `sync 1` (cycles)", "0..12", "nothing known";
    /// Last word stored to the issue after `sync 0` (cycles).
    sup_recv_wake: u32 = 6, Timing, "last word stored to the issue after `sync 0` (cycles)", "0..12", "nothing known";
    /// Meaning of zones 4, 6, 12, 14 and the fold of 12..15.
    sup_zones: Zones = Zones::Folded, Semantics, "meaning of zones 4, 6, 12, 14 and the fold of 12..15", "-", "C; 5, 7, 13, 15 A";
    /// Errors of `sync`.
    sup_sync_e7: SyncCheck = SyncCheck::Checked, Semantics, "errors of `sync`", "unchecked", "C1";
    /// `sans` (cycles).
    sup_sans: u32 = 1, Timing, "`sans` (cycles)", "6", "nothing known";
    /// Supervisor work between `sans` and `sync 1` is allowed.
    sup_ans_overlap: bool = true, Semantics, "supervisor work between `sans` and `sync 1` is allowed", "no", "C";
    /// Largest credit; more is an error.
    sup_ans_limit: u32 = 524287, Semantics, "largest credit; more is an error", "-", "field width, C1";
    /// Least events of a row before its `br`.
    sup_row_min: u32 = 6, Timing, "least events of a row before its `br`", "1", "B";
    /// Supervisor memory clash or misalignment.
    sup_clash: SupervisorClash = SupervisorClash::Exception, Semantics, "supervisor memory clash or misalignment", "-", "A";
    /// Worker that `run` takes.
    sup_run_pick: RunPick = RunPick::Lowest, Semantics, "worker that `run` takes", "highest", "nothing known";
    /// `run` with no free worker.
    sup_run_full: RunFull = RunFull::Error, Semantics, "`run` with no free worker", "wait", "nothing known";
    /// Effect of `$SSR.LC` and GC on barriers.
    sup_lc_effect: LcEffect = LcEffect::NoEffect, Semantics, "effect of `$SSR.LC` and GC on barriers", "-", "nothing known";
    /// Wait between the last weight load and `runall` (cycles).
    sup_cwei_ready: u32 = 0, Timing, "wait between the last weight load and `runall` (cycles)", "6", "C";
    /// CSRs that are valid in the supervisor.
    sup_csr_set: CsrSet = CsrSet::Table, Semantics, "CSRs that are valid in the supervisor", "-", "C1";
    /// Cycle counter 0x60, 0x61 in the supervisor.
    sup_scount: Scount = Scount::Invalid, Semantics, "cycle counter 0x60, 0x61 in the supervisor", "readable", "B against C1";
    /// E7 on `put` to INCOMING_MUX or MUXPAIR while the pair or a packet is active.
    sup_mux_clash: MuxClash = MuxClash::Never, Semantics, "E7 on `put` to INCOMING_MUX or MUXPAIR while the pair or a packet is active", "-", "text names the tests, not their span";
    /// Element unit of exchange against memory in region 1.
    exch_clash_unit: ClashUnit = ClashUnit::Pair, Semantics, "element unit of exchange against memory in region 1", "element", "M; kept as effective pair size by later hardware work";
    /// Receive controls of a tile at the two first events of its own send.
    exch_send_start_controls: SendStartControls = SendStartControls::Strict, Semantics, "receive controls of a tile at the two first events of its own send", "first_event_open", "M; later findings give the reason for S + 1 (the first `send` opens the stream)";
    /// Events from the pointer event to the write of the first word.
    exch_write_offset: u32 = 0, Semantics, "events from the pointer event to the write of the first word", "small numbers", "M";
    /// Largest message of one transfer that a schedule makes (items).
    exch_message_items: u32 = 4148, Semantics, "largest message of one transfer that a schedule makes (items)", "no limit of its own (`sendoff` can be repeated)", "I: origin is a 12-bit field of a primitive receiver row";
    /// Value of the item format control of a paired receive.
    exch_format_value: FormatValue = FormatValue::Direction, Semantics, "value of the item format control of a paired receive", "half", "unresolved; writing the direction works on hardware";
    /// What a write to a host mark register does with marks that are left.
    host_mark: HostMark = HostMark::Replaces, Semantics, "what a write to a host mark register does with marks that are left", "adds", "the reference driver only ever writes over 0";
    /// Order in which an exchange block serves the tiles of a request.
    host_order: HostOrder = HostOrder::OnDemand, Semantics, "order in which an exchange block serves the tiles of a request", "ascending", "the loader excludes every other fixed order (C)";
    /// When words from a tile can be seen in host memory.
    host_data: HostData = HostData::Prompt, Semantics, "when words from a tile can be seen in host memory", "late", "completion barrier guarantees the latest moment (B)";
    /// Dummy word of a zero-length read.
    host_zero_read: Pattern = Pattern(0), Semantics, "dummy word of a zero-length read", "0xffffffff", "nothing known";
    /// Least events from the start of a payload to the tile's next packet.
    host_payload_events: u32 = 18, Semantics, "least events from the start of a payload to the tile's next packet", "0", "reference driver; that it is the exact minimum is inferred";
    /// Request or end of a turn to the next tile's first word (cycles).
    host_grant: u32 = 6, Timing, "request or end of a turn to the next tile's first word (cycles)", "0..100000", "nothing known";
    /// End of a read packet to its first word at the tile (cycles).
    host_read_latency: u32 = 1500, Timing, "end of a read packet to its first word at the tile (cycles)", "0..100000", "nothing known; a microsecond is usual for PCIe";
    /// A host mark used up to the host's next action (cycles).
    host_poll: u32 = 1500, Timing, "a host mark used up to the host's next action (cycles)", "0..100000", "nothing known; depends on the host";
}

impl Assumptions {
    /// Names and values in force, in the order of [`Assumptions::TABLE`].
    pub fn iter(&self) -> impl Iterator<Item = (&'static AssumptionInfo, String)> + '_ {
        Assumptions::TABLE
            .iter()
            .filter_map(|info| self.get(info.name).map(|value| (info, value)))
    }

    /// Sets one assumption from `NAME=VALUE`, the form of the command line.
    ///
    /// # Errors
    /// As [`Assumptions::set`], and text without `=`.
    pub fn set_pair(&mut self, text: &str) -> Result<(), AssumptionError> {
        match text.split_once('=') {
            Some((name, value)) => self.set(name.trim(), value),
            None => Err(AssumptionError::NoPair {
                text: text.to_owned(),
            }),
        }
    }

    /// The assumptions whose values differ from the defaults: name and value.
    pub fn changed(&self) -> Vec<(&'static str, String)> {
        let default = Assumptions::default();
        self.iter()
            .filter(|(info, value)| default.get(info.name).as_ref() != Some(value))
            .map(|(info, value)| (info.name, value))
            .collect()
    }
}

/// The known name with the smallest edit distance, if it is near.
fn nearest(name: &str) -> Option<&'static str> {
    Assumptions::TABLE
        .iter()
        .map(|info| (edit_distance(name, info.name), info.name))
        .min()
        .filter(|&(distance, known)| distance <= known.len() / 3)
        .map(|(_, known)| known)
}

fn edit_distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, ca) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, &cb) in b.iter().enumerate() {
            let substituted = diagonal + usize::from(ca != cb);
            diagonal = row[j + 1];
            row[j + 1] = substituted.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_prints_and_parses_back() {
        let mut assumptions = Assumptions::default();
        for info in Assumptions::TABLE {
            let text = assumptions.get(info.name).unwrap();
            assumptions.set(info.name, &text).unwrap();
            // The first alternative of a switch is a value too.
            let first = info.alternatives.split([',', ';']).next().unwrap();
            if first != "-" && !first.contains(' ') && !first.contains("..") {
                assumptions.set(info.name, first).unwrap();
                assert_eq!(
                    assumptions.get(info.name).as_deref(),
                    Some(first),
                    "{}",
                    info.name
                );
                assert!(
                    assumptions
                        .changed()
                        .iter()
                        .any(|(name, _)| *name == info.name)
                );
            }
            assumptions.set(info.name, &text).unwrap();
        }
        assert_eq!(assumptions, Assumptions::default());
    }

    #[test]
    fn defaults_are_those_of_the_collected_facts() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/isa/README.md");
        let text = std::fs::read_to_string(path)
            .unwrap_or_else(|error| panic!("the shared facts are needed: {path}: {error}"));
        let section = text.split("## 4. Named assumptions").nth(1).unwrap();
        let section = section.split("\n## 5.").next().unwrap();
        let names: Vec<&str> = section
            .lines()
            .filter_map(|line| line.strip_prefix("| `"))
            .map(|line| line.split('`').next().unwrap())
            .collect();
        let known: Vec<&str> = Assumptions::TABLE.iter().map(|info| info.name).collect();
        assert_eq!(known[..names.len()], names[..]);
        // Numbers stand in the table as they are.
        for line in section.lines().filter(|line| line.starts_with("| `sup_")) {
            let cells: Vec<&str> = line.split('|').map(str::trim).collect();
            let name = cells[1].trim_matches('`');
            if let Ok(number) = cells[3].parse::<u32>() {
                assert_eq!(Assumptions::default().get(name), Some(number.to_string()));
            }
        }
    }

    #[test]
    fn errors_help() {
        let mut assumptions = Assumptions::default();
        let error = assumptions.set("sup_barier", "1").unwrap_err();
        assert_eq!(
            error.to_string(),
            "there is no assumption `sup_barier`; did you mean `sup_barrier`?"
        );
        assert!(assumptions.set("sup_barrier", "-1").is_err());
        assert!(assumptions.set("class_codes", "1,2,3").is_err());
        assert!(assumptions.set_pair("sup_barrier").is_err());
        assumptions.set_pair("sup_barrier=200").unwrap();
        assert_eq!(assumptions.changed(), [("sup_barrier", "200".to_owned())]);
    }
}
