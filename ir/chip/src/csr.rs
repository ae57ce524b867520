//! Control and status registers: numbers, contexts, fields, reset values.
//!
//! Numbers 0..=255 are reached with `get`/`put`, 256..=511 with `uget`/`uput` whose operand is
//! number - 256 (`isa/execution.md` 7, 8; `isa/csr.tsv`).

use std::collections::BTreeMap;
use std::sync::LazyLock;

/// Which contexts have a register.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Contexts {
    /// Workers only.
    Worker,
    /// The supervisor only.
    Supervisor,
    /// Both; the worker's and the supervisor's are the same or each its own, see the meaning.
    Both,
}

impl Contexts {
    /// True if the supervisor has it.
    pub const fn supervisor(self) -> bool {
        matches!(self, Contexts::Supervisor | Contexts::Both)
    }

    /// True if a worker has it.
    pub const fn worker(self) -> bool {
        matches!(self, Contexts::Worker | Contexts::Both)
    }
}

/// How surely a register is known.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Certainty {
    /// Stated by the instruction-set text.
    Isa,
    /// Number and use confirmed on a card; the field widths are inferred.
    Hardware,
    /// From the first generation's list only.
    FirstGeneration,
}

/// A bit field.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Field {
    /// Name.
    pub name: &'static str,
    /// Lowest bit.
    pub low: u8,
    /// Number of bits.
    pub width: u8,
}

impl Field {
    /// The field's bits in place.
    pub const fn mask(&self) -> u32 {
        (((1u64 << self.width) - 1) as u32) << self.low
    }
}

/// A register.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Csr {
    /// Name without `$`.
    pub name: &'static str,
    /// Number, 0..=511.
    pub number: u16,
    /// Contexts that have it.
    pub contexts: Contexts,
    /// Value after reset (`WSR`: plus the worker index).
    pub reset: u32,
    /// Bits that can read non-zero.
    pub readable: u32,
    /// Bits that a write changes (or, for write-one-to-act registers, that act).
    pub writable: u32,
    /// How surely it is known.
    pub certainty: Certainty,
    /// Fields.
    pub fields: &'static [Field],
    /// Meaning in a few words.
    pub meaning: &'static str,
}

impl Csr {
    /// The operand of `get`/`put` (`uget`/`uput` for the upper bank).
    pub const fn operand(&self) -> u32 {
        (self.number & 0xff) as u32
    }

    /// True if it is reached with `uget`/`uput`.
    pub const fn is_upper(&self) -> bool {
        self.number >= UPPER_BANK
    }

    /// The field with this name.
    pub fn field(&self, name: &str) -> Option<&'static Field> {
        self.fields.iter().find(|field| field.name == name)
    }
}

/// First number of the bank of `uget`/`uput` (`isa/execution.md` 7, ISA).
pub const UPPER_BANK: u16 = 256;

/// Register numbers by name.
pub mod number {
    /// `$PC`: program counter.
    pub const PC: u16 = 0x000;
    /// `$SSR`: supervisor status.
    pub const SSR: u16 = 0x001;
    /// `$WSR`: worker status; reset is the worker index.
    pub const WSR: u16 = 0x001;
    /// `$CR`: control: clear or set LC, zero the weights.
    pub const CR: u16 = 0x002;
    /// `$VERTEX_BASE`: vertex base, also $m13.
    pub const VERTEX_BASE: u16 = 0x002;
    /// `$TILE_ID`: physical tile id.
    pub const TILE_ID: u16 = 0x003;
    /// `$WORKER_BASE`: worker base, also $m12.
    pub const WORKER_BASE: u16 = 0x003;
    /// `$REPEAT_COUNT`: repetitions of the rpt body still to come.
    pub const REPEAT_COUNT: u16 = 0x004;
    /// `$REPEAT_FIRST`: first bundle of the latest rpt body.
    pub const REPEAT_FIRST: u16 = 0x005;
    /// `$REPEAT_END`: first address after the latest rpt body.
    pub const REPEAT_END: u16 = 0x006;
    /// `$FP_ICTL`: FP_CTL of launched workers.
    pub const FP_ICTL: u16 = 0x020;
    /// `$WORKER0_BASE`: WORKER_BASE of worker 0.
    pub const WORKER0_BASE: u16 = 0x021;
    /// `$WORKER1_BASE`: WORKER_BASE of worker 1.
    pub const WORKER1_BASE: u16 = 0x022;
    /// `$WORKER2_BASE`: WORKER_BASE of worker 2.
    pub const WORKER2_BASE: u16 = 0x023;
    /// `$WORKER3_BASE`: WORKER_BASE of worker 3.
    pub const WORKER3_BASE: u16 = 0x024;
    /// `$WORKER4_BASE`: WORKER_BASE of worker 4.
    pub const WORKER4_BASE: u16 = 0x025;
    /// `$WORKER5_BASE`: WORKER_BASE of worker 5.
    pub const WORKER5_BASE: u16 = 0x026;
    /// `$FP_INFMT`: FP_NFMT of launched workers.
    pub const FP_INFMT: u16 = 0x031;
    /// `$FP_ISCL`: FP_SCL of launched workers.
    pub const FP_ISCL: u16 = 0x033;
    /// `$CCCSLOAD`: address of the next weight load.
    pub const CCCSLOAD: u16 = 0x050;
    /// `$COUNT_L`: tile cycle counter, low word.
    pub const COUNT_L: u16 = 0x060;
    /// `$SCOUNT_L`: supervisor cycle counter, low word (assumption sup_scount).
    pub const SCOUNT_L: u16 = 0x060;
    /// `$COUNT_U`: tile cycle counter, high word.
    pub const COUNT_U: u16 = 0x061;
    /// `$SCOUNT_U`: supervisor cycle counter, high word (assumption sup_scount).
    pub const SCOUNT_U: u16 = 0x061;
    /// `$DBG_DATA`: debug data mailbox, one per tile.
    pub const DBG_DATA: u16 = 0x070;
    /// `$DBG_BRK_ID`: channel of the last break.
    pub const DBG_BRK_ID: u16 = 0x071;
    /// `$CTXT_STS`: status of all contexts and exchange errors.
    pub const CTXT_STS: u16 = 0x072;
    /// `$DBG_CTL`: break channels.
    pub const DBG_CTL: u16 = 0x073;
    /// `$DBG_ECSR`: debug control.
    pub const DBG_ECSR: u16 = 0x074;
    /// `$DBG_ECLR`: clears exceptions.
    pub const DBG_ECLR: u16 = 0x075;
    /// `$DBG_IBRK0_CTL`: instruction break control.
    pub const DBG_IBRK0_CTL: u16 = 0x080;
    /// `$DBG_IBRK0_PC`: instruction break address.
    pub const DBG_IBRK0_PC: u16 = 0x081;
    /// `$DBG_IBRK0_VERT`: instruction break vertex.
    pub const DBG_IBRK0_VERT: u16 = 0x082;
    /// `$DBG_DBRK0_CTL`: data break control.
    pub const DBG_DBRK0_CTL: u16 = 0x090;
    /// `$DBG_DBRK0_BASE`: data break address.
    pub const DBG_DBRK0_BASE: u16 = 0x091;
    /// `$DBG_DBRK0_SIDA`: data break size and data.
    pub const DBG_DBRK0_SIDA: u16 = 0x092;
    /// `$INCOMING_MUX`: source of received words: a physical tile, host value or neutral.
    pub const INCOMING_MUX: u16 = 0x0a0;
    /// `$INCOMING_MUXPAIR`: source of the paired tile.
    pub const INCOMING_MUXPAIR: u16 = 0x0a1;
    /// `$INCOMING_DELTA`: receive cursor.
    pub const INCOMING_DELTA: u16 = 0x0a2;
    /// `$INCOMING_FORMAT`: item format: 0 = 32-bit, 1, 2 = halves of 64-bit items.
    pub const INCOMING_FORMAT: u16 = 0x0a3;
    /// `$INCOMING_BASE`: added to receive pointers.
    pub const INCOMING_BASE: u16 = 0x0a4;
    /// `$INCOMING_SINIT`: not known in detail.
    pub const INCOMING_SINIT: u16 = 0x0a5;
    /// `$INCOMING_DCOUNT`: words still expected, `sync 0` waits for 0.
    pub const INCOMING_DCOUNT: u16 = 0x0a6;
    /// `$OUTGOING_BASE`: added to send addresses.
    pub const OUTGOING_BASE: u16 = 0x0a7;
    /// `$OUTGOING_DELTA`: send cursor.
    pub const OUTGOING_DELTA: u16 = 0x0a8;
    /// `$EXCHANGE_CTL`: exchange state, 7 when the application starts.
    pub const EXCHANGE_CTL: u16 = 0x0a9;
    /// `$ANS_DCOUNT`: abstention credits left.
    pub const ANS_DCOUNT: u16 = 0x0aa;
    /// `$EXCHANGE_ADJ`: exchange adjustment.
    pub const EXCHANGE_ADJ: u16 = 0x0ab;
    /// `$FP_STS`: sticky floating-point flags.
    pub const FP_STS: u16 = 0x100;
    /// `$FP_CLR`: clears flags and accumulators.
    pub const FP_CLR: u16 = 0x101;
    /// `$FP_CTL`: floating-point control, from FP_ICTL at launch.
    pub const FP_CTL: u16 = 0x102;
    /// `$PRNG_0_0`: random state, PRNG_0 low word.
    pub const PRNG_0_0: u16 = 0x103;
    /// `$PRNG_0_1`: random state, PRNG_0 high word.
    pub const PRNG_0_1: u16 = 0x104;
    /// `$PRNG_1_0`: random state, PRNG_1 low word.
    pub const PRNG_1_0: u16 = 0x105;
    /// `$PRNG_1_1`: random state, PRNG_1 high word.
    pub const PRNG_1_1: u16 = 0x106;
    /// `$PRNG_SEED`: seeds the random state.
    pub const PRNG_SEED: u16 = 0x107;
    /// `$TAS`: scales of axpy and mix, scratch of f32 AMP and SLIC.
    pub const TAS: u16 = 0x108;
    /// `$FP_NFMT`: f8 formats, from FP_INFMT at launch: 0 = 1-5-2, 1 = 1-4-3.
    pub const FP_NFMT: u16 = 0x109;
    /// `$FP_SCL`: scale exponent, from FP_ISCL at launch.
    pub const FP_SCL: u16 = 0x10a;
}

use Certainty::{FirstGeneration, Hardware, Isa};
use Contexts::{Both, Supervisor, Worker};

/// All registers, by number.
#[rustfmt::skip]
pub static TABLE: &[Csr] = &[
    Csr { name: "PC", number: 0x000, contexts: Both, reset: 0x4c000, readable: 0xffffc, writable: 0x0, certainty: Isa, fields: &[Field { name: "ADDR", low: 2, width: 18 }], meaning: "program counter" },
    Csr { name: "WSR", number: 0x001, contexts: Worker, reset: 0x0, readable: 0x2f7, writable: 0x0, certainty: Isa, fields: &[Field { name: "CTXTID_M1", low: 0, width: 3 }, Field { name: "ETYPE", low: 4, width: 4 }, Field { name: "ERPT", low: 9, width: 1 }], meaning: "worker status; reset is the worker index" },
    Csr { name: "SSR", number: 0x001, contexts: Supervisor, reset: 0x0, readable: 0x2ff, writable: 0x0, certainty: FirstGeneration, fields: &[Field { name: "LC", low: 0, width: 1 }, Field { name: "GC", low: 1, width: 1 }, Field { name: "ANS", low: 2, width: 1 }, Field { name: "RAERR", low: 3, width: 1 }, Field { name: "ETYPE", low: 4, width: 4 }, Field { name: "PERR", low: 9, width: 1 }], meaning: "supervisor status" },
    Csr { name: "VERTEX_BASE", number: 0x002, contexts: Worker, reset: 0x0, readable: 0xffffc, writable: 0x0, certainty: Isa, fields: &[Field { name: "ADDR", low: 2, width: 18 }], meaning: "vertex base, also $m13" },
    Csr { name: "CR", number: 0x002, contexts: Supervisor, reset: 0x0, readable: 0x0, writable: 0x7, certainty: FirstGeneration, fields: &[Field { name: "LC_CLR", low: 0, width: 1 }, Field { name: "LC_SET", low: 1, width: 1 }, Field { name: "ZCWEI", low: 2, width: 1 }], meaning: "control: clear or set LC, zero the weights" },
    Csr { name: "WORKER_BASE", number: 0x003, contexts: Worker, reset: 0x0, readable: 0xfffff, writable: 0x0, certainty: Isa, fields: &[Field { name: "ADDR", low: 0, width: 20 }], meaning: "worker base, also $m12" },
    Csr { name: "TILE_ID", number: 0x003, contexts: Supervisor, reset: 0x0, readable: 0x7ff, writable: 0x0, certainty: FirstGeneration, fields: &[Field { name: "ID", low: 0, width: 11 }], meaning: "physical tile id" },
    Csr { name: "REPEAT_COUNT", number: 0x004, contexts: Worker, reset: 0x0, readable: 0xffff, writable: 0x0, certainty: Isa, fields: &[Field { name: "VALUE", low: 0, width: 16 }], meaning: "repetitions of the rpt body still to come" },
    Csr { name: "REPEAT_FIRST", number: 0x005, contexts: Worker, reset: 0x0, readable: 0xffff8, writable: 0x0, certainty: Isa, fields: &[Field { name: "ADDR", low: 3, width: 17 }], meaning: "first bundle of the latest rpt body" },
    Csr { name: "REPEAT_END", number: 0x006, contexts: Worker, reset: 0x0, readable: 0xffff8, writable: 0x0, certainty: Isa, fields: &[Field { name: "ADDR", low: 3, width: 17 }], meaning: "first address after the latest rpt body" },
    Csr { name: "FP_ICTL", number: 0x020, contexts: Supervisor, reset: 0x0, readable: 0x1f0007, writable: 0x180007, certainty: Isa, fields: &[Field { name: "INV", low: 0, width: 1 }, Field { name: "DIV0", low: 1, width: 1 }, Field { name: "OFLO", low: 2, width: 1 }, Field { name: "RND", low: 16, width: 3 }, Field { name: "ESR", low: 19, width: 1 }, Field { name: "NANOO", low: 20, width: 1 }], meaning: "FP_CTL of launched workers" },
    Csr { name: "WORKER0_BASE", number: 0x021, contexts: Supervisor, reset: 0x0, readable: 0xfffff, writable: 0xfffff, certainty: Hardware, fields: &[Field { name: "ADDR", low: 0, width: 20 }], meaning: "WORKER_BASE of worker 0" },
    Csr { name: "WORKER1_BASE", number: 0x022, contexts: Supervisor, reset: 0x0, readable: 0xfffff, writable: 0xfffff, certainty: Hardware, fields: &[Field { name: "ADDR", low: 0, width: 20 }], meaning: "WORKER_BASE of worker 1" },
    Csr { name: "WORKER2_BASE", number: 0x023, contexts: Supervisor, reset: 0x0, readable: 0xfffff, writable: 0xfffff, certainty: Hardware, fields: &[Field { name: "ADDR", low: 0, width: 20 }], meaning: "WORKER_BASE of worker 2" },
    Csr { name: "WORKER3_BASE", number: 0x024, contexts: Supervisor, reset: 0x0, readable: 0xfffff, writable: 0xfffff, certainty: Hardware, fields: &[Field { name: "ADDR", low: 0, width: 20 }], meaning: "WORKER_BASE of worker 3" },
    Csr { name: "WORKER4_BASE", number: 0x025, contexts: Supervisor, reset: 0x0, readable: 0xfffff, writable: 0xfffff, certainty: Hardware, fields: &[Field { name: "ADDR", low: 0, width: 20 }], meaning: "WORKER_BASE of worker 4" },
    Csr { name: "WORKER5_BASE", number: 0x026, contexts: Supervisor, reset: 0x0, readable: 0xfffff, writable: 0xfffff, certainty: Hardware, fields: &[Field { name: "ADDR", low: 0, width: 20 }], meaning: "WORKER_BASE of worker 5" },
    Csr { name: "FP_INFMT", number: 0x031, contexts: Supervisor, reset: 0x0, readable: 0x3, writable: 0x3, certainty: Isa, fields: &[Field { name: "CWEI_FMT", low: 0, width: 1 }, Field { name: "ARF_FMT", low: 1, width: 1 }], meaning: "FP_NFMT of launched workers" },
    Csr { name: "FP_ISCL", number: 0x033, contexts: Supervisor, reset: 0x0, readable: 0x3f, writable: 0x3f, certainty: Isa, fields: &[Field { name: "SCALE", low: 0, width: 6 }], meaning: "FP_SCL of launched workers" },
    Csr { name: "CCCSLOAD", number: 0x050, contexts: Supervisor, reset: 0x0, readable: 0xfffff, writable: 0xfffff, certainty: Isa, fields: &[Field { name: "ADDR", low: 0, width: 20 }], meaning: "address of the next weight load" },
    Csr { name: "COUNT_L", number: 0x060, contexts: Worker, reset: 0x0, readable: 0xffffffff, writable: 0x0, certainty: Isa, fields: &[Field { name: "VALUE", low: 0, width: 32 }], meaning: "tile cycle counter, low word" },
    Csr { name: "SCOUNT_L", number: 0x060, contexts: Supervisor, reset: 0x0, readable: 0xffffffff, writable: 0x0, certainty: FirstGeneration, fields: &[Field { name: "VALUE", low: 0, width: 32 }], meaning: "supervisor cycle counter, low word (assumption sup_scount)" },
    Csr { name: "COUNT_U", number: 0x061, contexts: Worker, reset: 0x0, readable: 0xffffffff, writable: 0x0, certainty: Isa, fields: &[Field { name: "VALUE", low: 0, width: 32 }], meaning: "tile cycle counter, high word" },
    Csr { name: "SCOUNT_U", number: 0x061, contexts: Supervisor, reset: 0x0, readable: 0xffffffff, writable: 0x0, certainty: FirstGeneration, fields: &[Field { name: "VALUE", low: 0, width: 32 }], meaning: "supervisor cycle counter, high word (assumption sup_scount)" },
    Csr { name: "DBG_DATA", number: 0x070, contexts: Both, reset: 0x0, readable: 0xffffffff, writable: 0xffffffff, certainty: Isa, fields: &[Field { name: "VALUE", low: 0, width: 32 }], meaning: "debug data mailbox, one per tile" },
    Csr { name: "DBG_BRK_ID", number: 0x071, contexts: Both, reset: 0x0, readable: 0x1, writable: 0x0, certainty: Isa, fields: &[Field { name: "CHAN_ID", low: 0, width: 1 }], meaning: "channel of the last break" },
    Csr { name: "CTXT_STS", number: 0x072, contexts: Supervisor, reset: 0x0, readable: 0xf8003fff, writable: 0x0, certainty: Isa, fields: &[Field { name: "SU", low: 0, width: 2 }, Field { name: "W0", low: 2, width: 2 }, Field { name: "W1", low: 4, width: 2 }, Field { name: "W2", low: 6, width: 2 }, Field { name: "W3", low: 8, width: 2 }, Field { name: "W4", low: 10, width: 2 }, Field { name: "W5", low: 12, width: 2 }, Field { name: "ERERR", low: 27, width: 3 }, Field { name: "EERR", low: 30, width: 1 }, Field { name: "MERR", low: 31, width: 1 }], meaning: "status of all contexts and exchange errors" },
    Csr { name: "DBG_CTL", number: 0x073, contexts: Supervisor, reset: 0x0, readable: 0x3, writable: 0x3, certainty: FirstGeneration, fields: &[Field { name: "CHAN_EN", low: 0, width: 2 }], meaning: "break channels" },
    Csr { name: "DBG_ECSR", number: 0x074, contexts: Supervisor, reset: 0x0, readable: 0x2f, writable: 0x2f, certainty: FirstGeneration, fields: &[Field { name: "EPCM", low: 0, width: 1 }, Field { name: "CTXT", low: 1, width: 3 }, Field { name: "BOS", low: 5, width: 1 }], meaning: "debug control" },
    Csr { name: "DBG_ECLR", number: 0x075, contexts: Supervisor, reset: 0x0, readable: 0x0, writable: 0x7f, certainty: FirstGeneration, fields: &[Field { name: "CLR", low: 0, width: 7 }], meaning: "clears exceptions" },
    Csr { name: "DBG_IBRK0_CTL", number: 0x080, contexts: Supervisor, reset: 0x0, readable: 0x7, writable: 0x7, certainty: FirstGeneration, fields: &[Field { name: "ENS", low: 0, width: 1 }, Field { name: "ENW", low: 1, width: 1 }, Field { name: "EVM", low: 2, width: 1 }], meaning: "instruction break control" },
    Csr { name: "DBG_IBRK0_PC", number: 0x081, contexts: Supervisor, reset: 0x0, readable: 0xffffc, writable: 0xffffc, certainty: FirstGeneration, fields: &[Field { name: "ADDR", low: 2, width: 18 }], meaning: "instruction break address" },
    Csr { name: "DBG_IBRK0_VERT", number: 0x082, contexts: Supervisor, reset: 0x0, readable: 0xffffc, writable: 0xffffc, certainty: FirstGeneration, fields: &[Field { name: "ADDR", low: 2, width: 18 }], meaning: "instruction break vertex" },
    Csr { name: "DBG_DBRK0_CTL", number: 0x090, contexts: Supervisor, reset: 0x0, readable: 0x3f807f, writable: 0x3f807f, certainty: FirstGeneration, fields: &[Field { name: "MLD", low: 0, width: 1 }, Field { name: "MSTNI", low: 1, width: 1 }, Field { name: "SIC", low: 2, width: 1 }, Field { name: "SIZE", low: 3, width: 3 }, Field { name: "MDNR", low: 6, width: 1 }, Field { name: "CTXT", low: 15, width: 7 }], meaning: "data break control" },
    Csr { name: "DBG_DBRK0_BASE", number: 0x091, contexts: Supervisor, reset: 0x0, readable: 0xfffff, writable: 0xfffff, certainty: FirstGeneration, fields: &[Field { name: "ADDR", low: 0, width: 20 }], meaning: "data break address" },
    Csr { name: "DBG_DBRK0_SIDA", number: 0x092, contexts: Supervisor, reset: 0x0, readable: 0xfffff, writable: 0xfffff, certainty: FirstGeneration, fields: &[Field { name: "VALUE", low: 0, width: 20 }], meaning: "data break size and data" },
    Csr { name: "INCOMING_MUX", number: 0x0a0, contexts: Supervisor, reset: 0x0, readable: 0x7ff, writable: 0x7ff, certainty: Hardware, fields: &[Field { name: "TILE_ID", low: 0, width: 11 }], meaning: "source of received words: a physical tile, host value or neutral" },
    Csr { name: "INCOMING_MUXPAIR", number: 0x0a1, contexts: Supervisor, reset: 0x0, readable: 0x7ff, writable: 0x7ff, certainty: Hardware, fields: &[Field { name: "TILE_ID", low: 0, width: 11 }], meaning: "source of the paired tile" },
    Csr { name: "INCOMING_DELTA", number: 0x0a2, contexts: Supervisor, reset: 0x0, readable: 0xffffc, writable: 0xffffc, certainty: Hardware, fields: &[Field { name: "ADDR", low: 2, width: 18 }], meaning: "receive cursor" },
    Csr { name: "INCOMING_FORMAT", number: 0x0a3, contexts: Supervisor, reset: 0x0, readable: 0x3, writable: 0x3, certainty: Hardware, fields: &[Field { name: "VALUE", low: 0, width: 2 }], meaning: "item format: 0 = 32-bit, 1, 2 = halves of 64-bit items" },
    Csr { name: "INCOMING_BASE", number: 0x0a4, contexts: Supervisor, reset: 0x0, readable: 0xffffc, writable: 0xffffc, certainty: Hardware, fields: &[Field { name: "ADDR", low: 2, width: 18 }], meaning: "added to receive pointers" },
    Csr { name: "INCOMING_SINIT", number: 0x0a5, contexts: Supervisor, reset: 0x0, readable: 0xffffc, writable: 0xffffc, certainty: FirstGeneration, fields: &[Field { name: "ADDR", low: 2, width: 18 }], meaning: "not known in detail" },
    Csr { name: "INCOMING_DCOUNT", number: 0x0a6, contexts: Supervisor, reset: 0x0, readable: 0x1ffff, writable: 0x1ffff, certainty: Hardware, fields: &[Field { name: "VALUE", low: 0, width: 17 }], meaning: "words still expected, `sync 0` waits for 0" },
    Csr { name: "OUTGOING_BASE", number: 0x0a7, contexts: Supervisor, reset: 0x0, readable: 0xffffc, writable: 0xffffc, certainty: Hardware, fields: &[Field { name: "ADDR", low: 2, width: 18 }], meaning: "added to send addresses" },
    Csr { name: "OUTGOING_DELTA", number: 0x0a8, contexts: Supervisor, reset: 0x0, readable: 0xffffc, writable: 0xffffc, certainty: Hardware, fields: &[Field { name: "ADDR", low: 2, width: 18 }], meaning: "send cursor" },
    Csr { name: "EXCHANGE_CTL", number: 0x0a9, contexts: Supervisor, reset: 0x0, readable: 0x1f, writable: 0x1f, certainty: FirstGeneration, fields: &[Field { name: "ACTV", low: 0, width: 1 }, Field { name: "SEV", low: 1, width: 1 }, Field { name: "SWV", low: 2, width: 1 }, Field { name: "S64", low: 3, width: 1 }, Field { name: "ATMC", low: 4, width: 1 }], meaning: "exchange state, 7 when the application starts" },
    Csr { name: "ANS_DCOUNT", number: 0x0aa, contexts: Supervisor, reset: 0x0, readable: 0x7ffff, writable: 0x0, certainty: FirstGeneration, fields: &[Field { name: "VALUE", low: 0, width: 19 }], meaning: "abstention credits left" },
    Csr { name: "EXCHANGE_ADJ", number: 0x0ab, contexts: Supervisor, reset: 0x0, readable: 0x1f, writable: 0x1f, certainty: FirstGeneration, fields: &[Field { name: "COFF", low: 0, width: 4 }, Field { name: "SEWS", low: 4, width: 1 }], meaning: "exchange adjustment" },
    Csr { name: "FP_STS", number: 0x100, contexts: Worker, reset: 0x0, readable: 0x7, writable: 0x0, certainty: Isa, fields: &[Field { name: "INV", low: 0, width: 1 }, Field { name: "DIV0", low: 1, width: 1 }, Field { name: "OFLO", low: 2, width: 1 }], meaning: "sticky floating-point flags" },
    Csr { name: "FP_CLR", number: 0x101, contexts: Worker, reset: 0x0, readable: 0x0, writable: 0xf, certainty: Isa, fields: &[Field { name: "INV", low: 0, width: 1 }, Field { name: "DIV0", low: 1, width: 1 }, Field { name: "OFLO", low: 2, width: 1 }, Field { name: "ZAACC", low: 3, width: 1 }], meaning: "clears flags and accumulators" },
    Csr { name: "FP_CTL", number: 0x102, contexts: Worker, reset: 0x0, readable: 0x1f0007, writable: 0x180007, certainty: Isa, fields: &[Field { name: "INV", low: 0, width: 1 }, Field { name: "DIV0", low: 1, width: 1 }, Field { name: "OFLO", low: 2, width: 1 }, Field { name: "RND", low: 16, width: 3 }, Field { name: "ESR", low: 19, width: 1 }, Field { name: "NANOO", low: 20, width: 1 }], meaning: "floating-point control, from FP_ICTL at launch" },
    Csr { name: "PRNG_0_0", number: 0x103, contexts: Worker, reset: 0x0, readable: 0xffffffff, writable: 0xffffffff, certainty: Isa, fields: &[Field { name: "VALUE", low: 0, width: 32 }], meaning: "random state, PRNG_0 low word" },
    Csr { name: "PRNG_0_1", number: 0x104, contexts: Worker, reset: 0x0, readable: 0xffffffff, writable: 0xffffffff, certainty: Isa, fields: &[Field { name: "VALUE", low: 0, width: 32 }], meaning: "random state, PRNG_0 high word" },
    Csr { name: "PRNG_1_0", number: 0x105, contexts: Worker, reset: 0x0, readable: 0xffffffff, writable: 0xffffffff, certainty: Isa, fields: &[Field { name: "VALUE", low: 0, width: 32 }], meaning: "random state, PRNG_1 low word" },
    Csr { name: "PRNG_1_1", number: 0x106, contexts: Worker, reset: 0x0, readable: 0xffffffff, writable: 0xffffffff, certainty: Isa, fields: &[Field { name: "VALUE", low: 0, width: 32 }], meaning: "random state, PRNG_1 high word" },
    Csr { name: "PRNG_SEED", number: 0x107, contexts: Worker, reset: 0x0, readable: 0x0, writable: 0xffffffff, certainty: Isa, fields: &[Field { name: "VALUE", low: 0, width: 32 }], meaning: "seeds the random state" },
    Csr { name: "TAS", number: 0x108, contexts: Worker, reset: 0x0, readable: 0xffffffff, writable: 0xffffffff, certainty: Isa, fields: &[Field { name: "F16_0", low: 0, width: 16 }, Field { name: "F16_16", low: 16, width: 16 }], meaning: "scales of axpy and mix, scratch of f32 AMP and SLIC" },
    Csr { name: "FP_NFMT", number: 0x109, contexts: Worker, reset: 0x0, readable: 0x3, writable: 0x2, certainty: Isa, fields: &[Field { name: "CWEI_FMT", low: 0, width: 1 }, Field { name: "ARF_FMT", low: 1, width: 1 }], meaning: "f8 formats, from FP_INFMT at launch: 0 = 1-5-2, 1 = 1-4-3" },
    Csr { name: "FP_SCL", number: 0x10a, contexts: Worker, reset: 0x0, readable: 0x3f, writable: 0x3f, certainty: Isa, fields: &[Field { name: "SCALE", low: 0, width: 6 }], meaning: "scale exponent, from FP_ISCL at launch" },
];

/// First `WORKERw_BASE`: worker `w` has number `WORKER_BASES + w` (`isa/csr.tsv`, hardware).
pub const WORKER_BASES: u16 = 0x21;
/// Numbers whose `put` costs `sup_put_exch` (`isa/supervisor.md` 4).
pub const EXCHANGE: std::ops::RangeInclusive<u16> = 0xa0..=0xab;

/// Neutral value of the exchange muxes: no source (`facts/exchange.md` 1.4, hardware).
pub const MUX_NEUTRAL: u16 = 0x640;
/// Host values of the exchange muxes are `MUX_HOST | x`, `x` the exchange-block context of the
/// tile ([`crate::PhysicalTile::exchange_context`]); `facts/hardware.md` 4.5, hardware.
pub const MUX_HOST: u16 = 0x600;

/// Entries of the weight store (`isa/execution.md` 9, ISA).
pub const WEIGHTS: u32 = 64;

/// Index in the weight store of the name `CWEI_unit_column` (0..16, 0..4): `4 * unit + column`.
pub fn weight_index(name: &str) -> Option<u32> {
    let (unit, column) = name.strip_prefix("CWEI_")?.split_once('_')?;
    let (unit, column): (u32, u32) = (unit.parse().ok()?, column.parse().ok()?);
    (unit < 16 && column < 4 && name == format!("CWEI_{unit}_{column}"))
        .then_some(4 * unit + column)
}

static BY_NAME: LazyLock<BTreeMap<&'static str, &'static Csr>> =
    LazyLock::new(|| TABLE.iter().map(|csr| (csr.name, csr)).collect());

/// The register with this name (without `$`).
pub fn by_name(name: &str) -> Option<&'static Csr> {
    BY_NAME.get(name).copied()
}

/// The register with this number in a worker.
pub fn in_worker(number: u16) -> Option<&'static Csr> {
    find(number, Contexts::worker)
}

/// The register with this number in the supervisor.
pub fn in_supervisor(number: u16) -> Option<&'static Csr> {
    find(number, Contexts::supervisor)
}

fn find(number: u16, has: fn(Contexts) -> bool) -> Option<&'static Csr> {
    let first = TABLE.partition_point(|csr| csr.number < number);
    TABLE[first..]
        .iter()
        .take_while(|csr| csr.number == number)
        .find(|csr| has(csr.contexts))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_agrees_with_the_collected_facts() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/isa/csr.tsv");
        let text = std::fs::read_to_string(path)
            .unwrap_or_else(|error| panic!("the shared facts are needed: {path}: {error}"));
        let mut rows = 0;
        for line in text.lines().skip(1) {
            let columns: Vec<&str> = line.split('\t').collect();
            let name = columns[0].trim_start_matches('$');
            let operand: u32 = columns[1].parse().unwrap();
            rows += 1;
            if name.starts_with("CWEI") {
                assert_eq!(weight_index(name), Some(operand));
                continue;
            }
            let csr = by_name(name).unwrap_or_else(|| panic!("{name} is missing"));
            assert_eq!(csr.operand(), operand, "{name}");
            assert_eq!(
                csr.is_upper(),
                columns[3].starts_with("upper bank"),
                "{name}"
            );
            assert_eq!(
                csr.contexts.worker(),
                columns[2].contains("worker"),
                "{name}"
            );
            assert_eq!(
                csr.contexts.supervisor(),
                columns[2].contains("supervisor"),
                "{name}"
            );
            for field in csr.fields {
                assert!(
                    u32::from(field.low) + u32::from(field.width) <= 32,
                    "{name}"
                );
            }
            let fields = csr.fields.iter().fold(0, |mask, field| mask | field.mask());
            assert_eq!((csr.readable | csr.writable) & !fields, 0, "{name}");
        }
        assert_eq!(rows, TABLE.len() + WEIGHTS as usize);
        assert!(
            TABLE
                .windows(2)
                .all(|pair| pair[0].number <= pair[1].number)
        );
    }

    #[test]
    fn numbers_are_looked_up_by_context() {
        assert_eq!(in_worker(1).unwrap().name, "WSR");
        assert_eq!(in_supervisor(1).unwrap().name, "SSR");
        assert_eq!(in_supervisor(0x101), None);
        assert_eq!(in_worker(0x101).unwrap().name, "FP_CLR");
        assert_eq!(in_worker(0xa0), None);
        assert_eq!(in_supervisor(number::INCOMING_MUX).unwrap().number, 0xa0);
    }
}
