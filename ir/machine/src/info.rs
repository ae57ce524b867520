//! What the table says about an instruction, and the bit layout derived from its encoding string.

use crate::Op;

/// Issue lane of an instruction (`isa/encoding.md` 1).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Lane {
    /// Control, addresses, integers in MRF registers, loads and stores.
    Main,
    /// Floating point and everything else that computes in ARF registers.
    Aux,
}

/// Which contexts know an instruction.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Table {
    /// Supervisor and workers.
    Common,
    /// Workers only.
    Worker,
    /// The supervisor only.
    Supervisor,
}

/// Properties that decide where an instruction may stand.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct OpFlags {
    /// Sets the PC: branches, calls, exits, `rpt`.
    pub control: bool,
    /// System instruction (`get`, `put`, `run`, `sync`, exchange, ..).
    pub system: bool,
    /// Reads tile memory.
    pub load: bool,
    /// Writes tile memory.
    pub store: bool,
}

/// How an operand is used.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Role {
    /// Written.
    Def,
    /// Read (every immediate too).
    Use,
    /// Read and written.
    DefUse,
}

impl Role {
    /// True if the operand is written.
    pub const fn writes(self) -> bool {
        matches!(self, Role::Def | Role::DefUse)
    }

    /// True if the operand is read.
    pub const fn reads(self) -> bool {
        matches!(self, Role::Use | Role::DefUse)
    }
}

/// A suffix that assembler text requires on an operand; it has no bits.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Modifier {
    /// No suffix.
    None,
    /// `++`: incremented by the access size.
    Inc,
    /// `+=`: incremented by another operand.
    Add,
    /// `>>`: consumed by shifting.
    Shift,
    /// `@`: updated by the instruction's own rule.
    At,
}

impl Modifier {
    /// The suffix as written.
    pub const fn suffix(self) -> &'static str {
        match self {
            Modifier::None => "",
            Modifier::Inc => "++",
            Modifier::Add => "+=",
            Modifier::Shift => ">>",
            Modifier::At => "@",
        }
    }
}

/// The form of an operand: a register class or an immediate (`isa/encoding.md` 2, 4, 5).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum OperandKind {
    /// MRF register, 0..=15.
    M,
    /// MRF pair, named by its even register.
    MPair,
    /// ARF register, 0..=15.
    A,
    /// ARF pair, named by its even register; 14 is the zero pair.
    APair,
    /// ARF quad, named by its first register: 0, 4, 8, 12.
    AQuad,
    /// ARF register used for both lanes of a 2-vector (`:B`).
    ABroadcast,
    /// Low half of an ARF register used for all lanes (`:BL`).
    ABroadcastLower,
    /// High half of an ARF register used for all lanes (`:BU`).
    ABroadcastUpper,
    /// Signed immediate of so many bits, sign-extended to 32 bits.
    Simm(u8),
    /// Unsigned immediate of so many bits.
    Zimm(u8),
    /// 12-bit immediate that stands in the top bits of the word: a multiple of 2^20.
    Immz12,
    /// Absolute branch target: byte address, a multiple of 4 below 0x200000.
    Target19,
    /// As [`OperandKind::Target19`], in the 20-bit field of `call` whose top bit is ignored.
    Target20,
    /// 16-bit value that may be a symbol (`cmpult`).
    Rel16,
    /// 20-bit value that may be a symbol (`setzi`).
    Rel20,
    /// Body size of `rpt` in bundles, minus one.
    RptBody,
    /// Word offset of a vertex base from the start of tile memory (`run`).
    Run,
}

impl OperandKind {
    /// True for every register kind.
    pub const fn is_register(self) -> bool {
        matches!(
            self,
            OperandKind::M
                | OperandKind::MPair
                | OperandKind::A
                | OperandKind::APair
                | OperandKind::AQuad
                | OperandKind::ABroadcast
                | OperandKind::ABroadcastLower
                | OperandKind::ABroadcastUpper
        )
    }

    /// Number of consecutive registers that the operand names; 0 for an immediate.
    pub const fn registers(self) -> u32 {
        match self {
            OperandKind::M
            | OperandKind::A
            | OperandKind::ABroadcast
            | OperandKind::ABroadcastLower
            | OperandKind::ABroadcastUpper => 1,
            OperandKind::MPair | OperandKind::APair => 2,
            OperandKind::AQuad => 4,
            _ => 0,
        }
    }

    /// True if the value can be encoded.
    pub const fn accepts(self, value: u32) -> bool {
        match self {
            OperandKind::M
            | OperandKind::A
            | OperandKind::ABroadcast
            | OperandKind::ABroadcastLower
            | OperandKind::ABroadcastUpper => value < 16,
            OperandKind::MPair | OperandKind::APair => value < 16 && value & 1 == 0,
            OperandKind::AQuad => value < 16 && value & 3 == 0,
            OperandKind::Simm(bits) => {
                let value = value as i32;
                value >= -(1 << (bits - 1)) && value < 1 << (bits - 1)
            }
            OperandKind::Zimm(bits) => value < 1 << bits,
            OperandKind::Immz12 => value & 0xf_ffff == 0,
            OperandKind::Target19 | OperandKind::Target20 => value & 3 == 0 && value < 0x20_0000,
            OperandKind::Rel16 | OperandKind::Run => value < 1 << 16,
            OperandKind::Rel20 => value < 1 << 20,
            OperandKind::RptBody => value < 256,
        }
    }

    /// The accepted values, in words for an error message.
    pub fn range(self) -> String {
        match self {
            OperandKind::M => "an MRF register $m0..$m15".into(),
            OperandKind::A => "an ARF register $a0..$a15".into(),
            OperandKind::ABroadcast
            | OperandKind::ABroadcastLower
            | OperandKind::ABroadcastUpper => "a broadcast ARF register $a0..$a15".into(),
            OperandKind::MPair => "an MRF pair $m0:1..$m14:15".into(),
            OperandKind::APair => "an ARF pair $a0:1..$a14:15".into(),
            OperandKind::AQuad => "an ARF quad $a0:3, $a4:7, $a8:11 or $a12:15".into(),
            OperandKind::Simm(bits) => {
                format!("{}..={}", -(1i32 << (bits - 1)), (1i32 << (bits - 1)) - 1)
            }
            OperandKind::Zimm(bits) => format!("0..={}", (1u32 << bits) - 1),
            OperandKind::Immz12 => "a multiple of 0x100000 in 32 bits".into(),
            OperandKind::Target19 | OperandKind::Target20 => {
                "a byte address that is a multiple of 4 in 0..=0x1ffffc".into()
            }
            OperandKind::Rel16 | OperandKind::Run => "0..=65535".into(),
            OperandKind::Rel20 => "0..=1048575".into(),
            OperandKind::RptBody => "0..=255".into(),
        }
    }

    /// Field bits of an accepted value.
    pub(crate) const fn field(self, value: u32) -> u32 {
        match self {
            OperandKind::Immz12 => value >> 20,
            OperandKind::Target19 | OperandKind::Target20 => value >> 2,
            OperandKind::Simm(bits) => value & ((1 << bits) - 1),
            _ => value,
        }
    }

    /// Value of a field whose ignored bits are cleared.
    pub(crate) const fn value(self, field: u32) -> u32 {
        match self {
            OperandKind::Immz12 => field << 20,
            OperandKind::Target19 | OperandKind::Target20 => field << 2,
            OperandKind::Simm(bits) => {
                let shift = 32 - bits as u32;
                (((field << shift) as i32) >> shift) as u32
            }
            _ => field,
        }
    }

    /// Operand bits that the hardware does not look at.
    const fn ignored(self) -> u32 {
        match self {
            OperandKind::MPair | OperandKind::APair => 1,
            OperandKind::AQuad => 3,
            OperandKind::Target20 => 1 << 19,
            _ => 0,
        }
    }
}

/// One operand of an instruction.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct OperandInfo {
    /// Register class or immediate form.
    pub kind: OperandKind,
    /// Read, written or both.
    pub role: Role,
    /// Suffix in assembler text.
    pub modifier: Modifier,
}

/// A run of operand bits in the instruction word.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Part {
    /// Lowest bit in the instruction.
    pub inst: u8,
    /// Lowest bit in the operand.
    pub operand: u8,
    /// Number of bits; 0 for an unused entry.
    pub width: u8,
}

/// The most pieces that one operand is split into.
pub(crate) const MAX_PARTS: usize = 3;
/// The most operands of one instruction.
pub(crate) const MAX_OPERANDS: usize = 6;

/// Where an operand stands whose bits do not run down from its top bit in the encoding string.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Split {
    /// Operand number.
    pub operand: u8,
    /// Its pieces.
    pub parts: &'static [Part],
}

/// Bit layout of the (first) word of an instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Layout {
    /// Bits with a fixed value; bit 31 only where the row cannot coissue.
    pub fixed_mask: u32,
    /// Their values.
    pub fixed_value: u32,
    /// Operand bits that the hardware ignores.
    pub ignored_mask: u32,
    /// The pieces of each operand.
    pub parts: [[Part; MAX_PARTS]; MAX_OPERANDS],
}

impl Layout {
    /// Derives the layout from an encoding string; a bad string stops the build.
    pub(crate) const fn parse(
        encoding: &str,
        operands: &[OperandInfo],
        splits: &[Split],
    ) -> Layout {
        let text = encoding.as_bytes();
        assert!(text.len() == 32, "an encoding has 32 characters");
        let none = Part {
            inst: 0,
            operand: 0,
            width: 0,
        };
        let mut layout = Layout {
            fixed_mask: 0,
            fixed_value: 0,
            ignored_mask: 0,
            parts: [[none; MAX_PARTS]; MAX_OPERANDS],
        };
        let mut letters = [0u32; MAX_OPERANDS];
        let mut position = 0;
        while position < 32 {
            let bit = 31 - position;
            match text[position] {
                b'0' => layout.fixed_mask |= 1 << bit,
                b'1' => {
                    layout.fixed_mask |= 1 << bit;
                    layout.fixed_value |= 1 << bit;
                }
                b'C' => assert!(bit == 31, "only bit 31 is the coissue bit"),
                letter => letters[(letter - b'a') as usize] |= 1 << bit,
            }
            position += 1;
        }
        let mut operand = 0;
        while operand < operands.len() {
            let mut split = 0;
            while split < splits.len() && splits[split].operand as usize != operand {
                split += 1;
            }
            if split < splits.len() {
                let parts = splits[split].parts;
                let mut covered = 0u32;
                let mut index = 0;
                while index < parts.len() {
                    let part = parts[index];
                    covered |= ((1 << part.width) - 1) << part.inst;
                    layout.parts[operand][index] = part;
                    index += 1;
                }
                assert!(
                    covered == letters[operand],
                    "a split must cover the operand's letters"
                );
            } else {
                // Contiguous runs of the letter, top bits first in the string.
                let mut left = letters[operand];
                let mut done = 0;
                let mut index = 0;
                while left != 0 {
                    let low = left.trailing_zeros();
                    let width = (left >> low).trailing_ones();
                    layout.parts[operand][index] = Part {
                        inst: low as u8,
                        operand: done as u8,
                        width: width as u8,
                    };
                    left &= !((((1u64 << width) - 1) as u32) << low);
                    done += width;
                    index += 1;
                }
            }
            let ignored = operands[operand].kind.ignored();
            let mut index = 0;
            while index < MAX_PARTS {
                let part = layout.parts[operand][index];
                let bits = (ignored >> part.operand) & (((1u64 << part.width) - 1) as u32);
                layout.ignored_mask |= bits << part.inst;
                index += 1;
            }
            operand += 1;
        }
        layout
    }
}

/// A row of the instruction table.
#[derive(Debug)]
pub struct OpInfo {
    /// The row's instruction.
    pub op: Op,
    /// Class name, unique, for example `add_mmmn_si`.
    pub name: &'static str,
    /// Mnemonic, shared by the classes that assembler text tells apart by their operands.
    pub mnemonic: &'static str,
    /// Further mnemonics that name this class and no other.
    pub aliases: &'static [&'static str],
    /// Issue lane.
    pub lane: Lane,
    /// Contexts that know it.
    pub table: Table,
    /// May stand in a bundle.
    pub can_coissue: bool,
    /// Properties.
    pub flags: OpFlags,
    /// False for the two classes that IPU21 does not have: they encode and decode, and fault when
    /// executed.
    pub on_ipu21: bool,
    /// Operands by number (op0, op1, ..).
    pub operands: &'static [OperandInfo],
    /// Operand numbers in the order of assembler text.
    pub asm_order: &'static [u8],
    /// The 32 instruction bits from bit 31 down.
    pub encoding: &'static str,
    /// Layout derived from `encoding`.
    pub layout: Layout,
}

/// The bracketed words of a table row.
#[derive(Clone, Copy)]
pub(crate) struct RowFlags {
    pub(crate) coissue: bool,
    pub(crate) control: bool,
    pub(crate) system: bool,
    pub(crate) load: bool,
    pub(crate) store: bool,
    pub(crate) absent: bool,
}

impl RowFlags {
    pub(crate) const NONE: RowFlags = RowFlags {
        coissue: false,
        control: false,
        system: false,
        load: false,
        store: false,
        absent: false,
    };
}

macro_rules! modifier {
    () => {
        $crate::info::Modifier::None
    };
    ($name:ident) => {
        $crate::info::Modifier::$name
    };
}

macro_rules! rows {
    ($($variant:ident $class:literal $mnemonic:literal [$($alias:literal),*] $lane:ident $table:ident
        [$($flag:ident)*]
        ($($role:ident $kind:ident $(($width:literal))? $($modifier:ident)?),*) [$($order:literal),*]
        $encoding:literal
        {$($split:literal : [$(($inst:literal, $operand:literal, $bits:literal)),*]);*};)*) => {
        /// An instruction class: one variant per row of the table.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        #[repr(u16)]
        pub enum Op {
            $(#[doc = concat!("Class `", $class, "`.")] $variant,)*
        }

        impl Op {
            /// Number of classes.
            pub const COUNT: usize = [$($class,)*].len();
            /// All classes, in table order; `ALL[op as usize] == op`.
            pub const ALL: [Op; Op::COUNT] = [$(Op::$variant,)*];

            /// The row of this class.
            #[inline]
            pub fn info(self) -> &'static $crate::info::OpInfo {
                &INFO[self as usize]
            }
        }

        static INFO: [$crate::info::OpInfo; Op::COUNT] = [$({
            const OPERANDS: &[$crate::info::OperandInfo] = &[$($crate::info::OperandInfo {
                kind: $crate::info::OperandKind::$kind $(($width))?,
                role: $crate::info::Role::$role,
                modifier: $crate::info::modifier!($($modifier)?),
            },)*];
            #[allow(clippy::needless_update)]
            const FLAGS: $crate::info::RowFlags = $crate::info::RowFlags {
                $($flag: true,)* ..$crate::info::RowFlags::NONE
            };
            const SPLITS: &[$crate::info::Split] = &[$($crate::info::Split {
                operand: $split,
                parts: &[$($crate::info::Part { inst: $inst, operand: $operand, width: $bits },)*],
            },)*];
            $crate::info::OpInfo {
                op: Op::$variant,
                name: $class,
                mnemonic: $mnemonic,
                aliases: &[$($alias),*],
                lane: $crate::info::Lane::$lane,
                table: $crate::info::Table::$table,
                can_coissue: FLAGS.coissue,
                flags: $crate::info::OpFlags {
                    control: FLAGS.control,
                    system: FLAGS.system,
                    load: FLAGS.load,
                    store: FLAGS.store,
                },
                on_ipu21: !FLAGS.absent,
                operands: OPERANDS,
                asm_order: &[$($order),*],
                encoding: $encoding,
                layout: $crate::info::Layout::parse($encoding, OPERANDS, SPLITS),
            }
        },)*];
    };
}

pub(crate) use {modifier, rows};
