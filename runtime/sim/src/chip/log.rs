//! What the exchange instructions of one tile did in one phase, in tile cycles.

/// A stretch of items that one instruction sends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SendSpan {
    /// Cycle in which the first item leaves.
    pub first: u64,
    /// Items.
    pub items: u32,
    /// Byte address of the first item.
    pub address: u32,
    /// Direction bits (0, 1).
    pub directions: u8,
    /// 64-bit items.
    pub wide: bool,
}

/// A change of the mux.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SelectEvent {
    /// Cycle from which it holds.
    pub at: u64,
    /// Source (13-bit value).
    pub source: u16,
    /// The pair mux.
    pub pair: bool,
}

/// A change of the receive pointer or format.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum StoreEvent {
    /// Pointer (byte address, base added).
    Pointer {
        /// Cycle from which it holds.
        at: u64,
        /// Byte address.
        address: u32,
    },
    /// Item format.
    Format {
        /// Cycle from which it holds.
        at: u64,
        /// 0, 1 or 2.
        value: u8,
    },
}

/// The exchange activity of a tile since the last barrier.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExchangeLog {
    /// Sends in order.
    pub sends: Vec<SendSpan>,
    /// Mux changes in order.
    pub selects: Vec<SelectEvent>,
    /// Pointer and format changes in order.
    pub stores: Vec<StoreEvent>,
    /// Issue cycle and address of every instruction of the row.
    pub steps: Vec<(u64, u32)>,
    /// First and last byte of the row's code.
    pub code: Option<(u32, u32)>,
    /// Cycle in which the row ends (issue of its `br`).
    pub end: u64,
}

impl ExchangeLog {
    /// Address of the instruction that ran in this cycle; the last one's afterwards.
    pub fn pc_at(&self, cycle: u64) -> Option<u32> {
        let after = self.steps.partition_point(|&(start, _)| start <= cycle);
        let step = self.steps.get(after.saturating_sub(1));
        step.map(|&(_, pc)| pc)
    }

    /// True if the tile did nothing on the fabric.
    pub fn is_empty(&self) -> bool {
        self.sends.is_empty() && self.selects.is_empty() && self.stores.is_empty()
    }
}
