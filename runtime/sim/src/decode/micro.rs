//! The compact form of one instruction: an operation number, four 5-bit register numbers and a
//! 32-bit immediate in one 64-bit word.
//!
//! Register numbers are already what the executor indexes: 0..=15 for sources (those without
//! storage read as zero), and 16..=19, the scratch entries, for destinations without storage.

/// Defines an operation enum with a checked way back from its number.
macro_rules! ops {
    ($(#[$meta:meta])* $name:ident { $($(#[$vmeta:meta])* $variant:ident,)* }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
        #[repr(u8)]
        pub enum $name { $($(#[$vmeta])* $variant,)* }

        impl $name {
            const ALL: &'static [$name] = &[$($name::$variant,)*];

            /// The operation with this number; the first one if there is none.
            #[inline(always)]
            pub(crate) fn from_number(n: u8) -> $name {
                if (n as usize) < $name::ALL.len() {
                    // SAFETY: the enum is `repr(u8)`, its numbers are 0..ALL.len(), and `n` was
                    // tested against that.
                    unsafe { std::mem::transmute::<u8, $name>(n) }
                } else {
                    $name::ALL[0]
                }
            }
        }
    };
}

ops! {
    /// Operations of the main lane. Field meanings are those of `decode::lower`; a binary
    /// operation reads `m[b]` and `m[c]` (register form) or `m[b]` and the immediate, and
    /// writes `m[a]`.
    #[allow(missing_docs)]
    MainOp {
        None,
        Add, AddI, Sub, SubI, Mul, MulI, Max, MaxI, Min, MinI,
        CmpEq, CmpEqI, CmpNe, CmpSlt, CmpSltI, CmpUlt, CmpUltI,
        And, AndI, AndC, AndCI, Or, OrI, Xor, Xnor,
        Shl, ShlI, Shr, ShrI, Shrs, ShrsI,
        Roll16, Roll8L, Roll8R, Shuf8x8Hi, Shuf8x8Lo, Sort4x16Hi, Sort4x16Lo, Sort8x8Hi, Sort8x8Lo,
        Abs, BitRev8, Clz, Cms, Popc, Sort8, Swap8,
        MovZ, SetZi,
        Ld32, LdS16, LdZ16, LdS8, LdZ8,
        Ld32Step, LdS16Step, LdZ16Step, LdS8Step, LdZ8Step,
        St32, St32Step,
        // worker only
        LdA32, LdB16, LdB8, Ld64, Ld128,
        LdA32Step, LdB16Step, LdB8Step, Ld64Step, Ld128Step,
        StA32, St64, StA32Step, St64Step,
        LdSt64Pace, Ld2xSt64Pace, Ld2x64Pace, Ld64A32Pace, Ld64B16Pace, St64Pace,
        LdD16B16, LdD16A32, LdD16A64, LdD16V2A32, Ld64A32, LdB16B16,
        Atom, TaPack,
        // control and system: not allowed in a rpt body
        Br, Bri, BrNeg, BrPos, BrZ, BrNz, BrNzDec, Call,
        ExitZ, ExitNz, ExitNeg, ExitPos,
        Rpt, RptI,
        Get, Put, Trap,
        // faults found while decoding: immediate = exception code
        Fault,
        // a bundle whose second word lies in the next page: decode again at every issue
        Cross,
        // no code here: nothing populated or not executable
        NoCode,
        Supervisor,
    }
}

impl MainOp {
    /// True for operations that a `rpt` body may not hold.
    #[inline(always)]
    pub fn is_control(self) -> bool {
        self as u8 >= MainOp::Br as u8
    }

    /// True if the worker-only operations begin at or before this one.
    #[inline(always)]
    pub fn is_common(self) -> bool {
        (self as u8) < MainOp::LdA32 as u8
            || matches!(
                self,
                MainOp::Br
                    | MainOp::Bri
                    | MainOp::BrNeg
                    | MainOp::BrPos
                    | MainOp::BrZ
                    | MainOp::BrNz
                    | MainOp::BrNzDec
                    | MainOp::Call
            )
    }
}

ops! {
    /// Operations of the auxiliary lane. `a` = destination, `b` and `c` = first and second
    /// source as the fact pages name them, `d` = broadcast (0 none, 1 low half or word,
    /// 2 high half).
    #[allow(missing_docs)]
    AuxOp {
        None,
        And, AndI, AndC, AndCI, Or, OrI, Not, And64, AndC64, Or64, Not64, SetZi,
        Roll16, Roll8L, Roll8R, Roll32, Shuf8x8Hi, Shuf8x8Lo, Sort4x16Hi, Sort4x16Lo,
        Sort4x32Hi, Sort4x32Lo, Sort8, Sort8x8Hi, Sort8x8Lo, Swap8,
        // f32 scalar
        F32Add, F32Sub, F32Mul, F32AbsAdd, F32Max, F32Min, F32AbsMax, F32Clamp, F32Class,
        F32CmpEq, F32CmpNe, F32CmpLt, F32CmpLe, F32CmpGt, F32CmpGe, F32Mac, F32Int,
        F32Div, F32Sqrt, F32Oox, F32Oorx, F32Exp, F32Exp2, F32Ln, F32Log2, F32Tanh, F32Sigm,
        // f32 two and four lanes
        F32v2Add, F32v2Sub, F32v2Mul, F32v2AbsAdd, F32v2Max, F32v2Min, F32v2AbsMax, F32v2Clamp, F32v2Class,
        F32v2CmpEq, F32v2CmpNe, F32v2CmpLt, F32v2CmpLe, F32v2CmpGt, F32v2CmpGe,
        F32v2Mac, F32v2Axpy, F32v2Gina, F32v2Grand, F32v2RMask, F32v2Aop,
        F32v4Acc, F32v4AbsAcc, F32v4SqAcc,
        // f16
        F16v2Add, F16v2Sub, F16v2AbsAdd, F16v2Mul, F16v4Add, F16v4Sub, F16v4AbsAdd, F16v4Mul,
        F16v2CmpEq, F16v2CmpNe, F16v2CmpLt, F16v2CmpLe, F16v2CmpGt, F16v2CmpGe,
        F16v4CmpEq, F16v4CmpNe, F16v4CmpLt, F16v4CmpLe, F16v4CmpGt, F16v4CmpGe,
        F16v2Max, F16v2Min, F16v2AbsMax, F16v2MaxC, F16v2Clamp, F16v2Class,
        F16v4Max, F16v4Min, F16v4AbsMax, F16v4MaxC, F16v4Clamp, F16v4Class,
        F16v2Sum, F16v4Sum, F16v4Acc, F16v4AbsAcc, F16v2CMac, F16v4CMac,
        F16v4GAcc, F16v2Gina, F16v4Mix,
        F16v8Acc, F16v8AbsAcc, F16v8SqAcc,
        F16v2Exp, F16v2Exp2, F16v2Ln, F16v2Log2, F16v2Tanh, F16v2Sigm,
        F16v2Grand, F16v4RMask,
        // conversions
        F16ToF32, F16v2ToF32, F32ToF16, F32v2ToF16, F32v4ToF16, F16v2ToF8, F16v8ToF8,
        F8v2ToF16, F8v4ToF16, F32FromI32, F32FromUi32, F32ToI32, F32ToUi32,
        F16v2SuFromUi, F16v4SuFromUi, F32SuFromUi, F32v2SuFromUi, F8v4Class,
        Urand32, Urand64,
        // matrix unit: immediate = phase | weight column << 4 | last engine << 8
        F16v4HihoAmp, F16v4Hihov4Amp, F16v4SisoAmp, F8v8Hihov4Amp, F32SisoAmp, F32Sisov2Amp,
        F16v4HihoSlic, F16v4Hihov4Slic, F16v4SisoSlic, F8v8Hihov4Slic, F32SisoSlic, F32Sisov2Slic,
        F16v4IstAcc, F16v4StAcc,
        // system: not allowed in a rpt body
        UGet, UPut,
    }
}

impl AuxOp {
    /// True for operations that a `rpt` body may not hold.
    #[inline(always)]
    pub fn is_system(self) -> bool {
        self as u8 >= AuxOp::UGet as u8
    }
}

/// One instruction in compact form; `O` tells the lane.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Micro(u64);

impl Micro {
    /// Packs an operation. Register numbers are cut to 5 bits.
    pub fn new(op: u8, a: u32, b: u32, c: u32, d: u32, imm: u32) -> Micro {
        let r = |v: u32| u64::from(v & 31);
        Micro(
            u64::from(op) | r(a) << 8 | r(b) << 13 | r(c) << 18 | r(d) << 23 | u64::from(imm) << 32,
        )
    }

    /// No instruction in this lane.
    pub const NONE: Micro = Micro(0);

    /// The main-lane operation.
    #[inline(always)]
    pub fn main(self) -> MainOp {
        MainOp::from_number(self.0 as u8)
    }

    /// The aux-lane operation.
    #[inline(always)]
    pub fn aux(self) -> AuxOp {
        AuxOp::from_number(self.0 as u8)
    }

    /// First register field, 0..32.
    #[inline(always)]
    pub fn a(self) -> usize {
        (self.0 >> 8 & 31) as usize
    }

    /// Second register field.
    #[inline(always)]
    pub fn b(self) -> usize {
        (self.0 >> 13 & 31) as usize
    }

    /// Third register field.
    #[inline(always)]
    pub fn c(self) -> usize {
        (self.0 >> 18 & 31) as usize
    }

    /// Fourth register field.
    #[inline(always)]
    pub fn d(self) -> usize {
        (self.0 >> 23 & 31) as usize
    }

    /// Immediate.
    #[inline(always)]
    pub fn imm(self) -> u32 {
        (self.0 >> 32) as u32
    }

    /// True if there is no instruction in this lane.
    #[inline(always)]
    pub fn is_none(self) -> bool {
        self.0 as u8 == 0
    }
}

/// An issue group in compact form.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Slot {
    /// Main-lane member or solo.
    pub main: Micro,
    /// Aux-lane member or solo.
    pub aux: Micro,
}

impl Slot {
    /// A group that faults when it issues, with this exception code.
    pub fn fault(code: u32) -> Slot {
        Slot {
            main: Micro::new(MainOp::Fault as u8, 0, 0, 0, 0, code),
            aux: Micro::NONE,
        }
    }

    /// A marker without operands.
    pub fn marker(op: MainOp) -> Slot {
        Slot {
            main: Micro::new(op as u8, 0, 0, 0, 0, 0),
            aux: Micro::NONE,
        }
    }

    /// True for two members.
    #[inline(always)]
    pub fn is_bundle(self) -> bool {
        !self.main.is_none() && !self.aux.is_none()
    }
}
