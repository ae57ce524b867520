//! One tile's memory as a context sees it: populated range, alignment, elements, code marks.
//!
//! Rules: `isa/execution.md` 10 and 11. Addresses are byte addresses, all 32 bits of them;
//! everything that is not populated faults. The storage itself belongs to whoever owns the chip:
//! [`TileMemory`] is a borrowed view of the tile's 624 KiB.

mod marks;

pub use marks::{CodeMarks, PAGE_SHIFT, PAGES};

use ipucc_chip::memory::{BASE, END, INTERLEAVED_BASE, SIZE, element};

/// Bytes of a tile's memory, as a slice length.
pub const TILE_BYTES: usize = SIZE as usize;

/// Why an access was refused: the tile exception of the same name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AccessError {
    /// Not populated, not aligned, or not in the region that the access needs.
    InvalidAddr,
    /// Two accesses of one instruction, or an access and the own fetch window, share an element.
    Conflict,
}

/// Addresses that the fetch of the executing context occupies; both ends count
/// (`isa/system_and_limits.md` 11). An access to region 0 must avoid their elements.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FetchWindow {
    /// First byte address.
    pub first: u32,
    /// Last byte address.
    pub last: u32,
}

impl FetchWindow {
    /// The window of a worker at `pc` outside a `rpt` body.
    #[inline(always)]
    pub const fn worker(pc: u32) -> FetchWindow {
        FetchWindow {
            first: pc.wrapping_add(4),
            last: pc.wrapping_add(16),
        }
    }

    /// The window of the supervisor at `pc`.
    #[inline(always)]
    pub const fn supervisor(pc: u32) -> FetchWindow {
        FetchWindow {
            first: pc.wrapping_add(4),
            last: pc.wrapping_add(64),
        }
    }

    /// True if a data access at the populated address `address` meets an element of the window.
    #[inline(always)]
    pub const fn clashes(self, address: u32) -> bool {
        if address >= INTERLEAVED_BASE {
            return false;
        }
        // A window is at most 2048 bytes long, so its two ends name all its elements. An end in
        // region 1 gives an element number above those of region 0 and never matches.
        let at = (address - BASE) >> 14;
        let first = self.first.wrapping_sub(BASE) >> 14;
        let last = self.last.wrapping_sub(BASE) >> 14;
        at == first || at == last
    }
}

/// A view of one tile's memory. Loads and stores of instructions go through it; so must the
/// writes of exchange and host, because it keeps the marks that tell when decoded code is stale.
pub struct TileMemory<'a> {
    bytes: &'a mut [u8; TILE_BYTES],
    marks: &'a mut CodeMarks,
    /// Addresses, old bytes and lengths of stores, while they are recorded.
    record: Option<Vec<(u32, [u8; 8], usize)>>,
}

impl<'a> TileMemory<'a> {
    /// A view of `bytes` (the whole tile memory, byte 0 = address 0x4c000) and of the tile's
    /// code marks.
    pub fn new(bytes: &'a mut [u8; TILE_BYTES], marks: &'a mut CodeMarks) -> TileMemory<'a> {
        TileMemory {
            bytes,
            marks,
            record: None,
        }
    }

    /// The same view for a shorter time.
    pub fn reborrow(&mut self) -> TileMemory<'_> {
        TileMemory {
            bytes: self.bytes,
            marks: self.marks,
            record: None,
        }
    }

    /// The code marks of the tile.
    #[inline(always)]
    pub fn marks(&mut self) -> &mut CodeMarks {
        self.marks
    }

    /// True if a store has hit decoded code since the mark was last cleared.
    #[inline(always)]
    pub fn code_changed(&self) -> bool {
        self.marks.changed()
    }

    /// Validity, then alignment, of one access: `mask` = bytes - 1.
    #[inline(always)]
    pub fn check(address: u32, mask: u32) -> Result<(), AccessError> {
        // The limits are multiples of 16, so an aligned access that begins inside ends inside.
        if address.wrapping_sub(BASE) >= SIZE || address & mask != 0 {
            return Err(AccessError::InvalidAddr);
        }
        Ok(())
    }

    /// The `N` bytes at a populated address; the caller has checked it.
    #[inline(always)]
    fn at<const N: usize>(&self, address: u32) -> [u8; N] {
        let at = address.wrapping_sub(BASE) as usize;
        let mut out = [0; N];
        if let Some(bytes) = self.bytes.get(at..at + N) {
            out.copy_from_slice(bytes);
        }
        out
    }

    /// Byte at a checked address.
    #[inline(always)]
    pub fn u8(&self, address: u32) -> u8 {
        self.at::<1>(address)[0]
    }

    /// Half-word at a checked address.
    #[inline(always)]
    pub fn u16(&self, address: u32) -> u16 {
        u16::from_le_bytes(self.at(address))
    }

    /// Word at a checked address.
    #[inline(always)]
    pub fn u32(&self, address: u32) -> u32 {
        u32::from_le_bytes(self.at(address))
    }

    /// Two words at a checked address, lower address first.
    #[inline(always)]
    pub fn pair(&self, address: u32) -> [u32; 2] {
        let v = u64::from_le_bytes(self.at(address));
        [v as u32, (v >> 32) as u32]
    }

    /// Stores a word at a checked address.
    #[inline(always)]
    pub fn put_u32(&mut self, address: u32, value: u32) {
        self.put(address, value.to_le_bytes());
    }

    /// Stores two words at a checked address, lower address first.
    #[inline(always)]
    pub fn put_pair(&mut self, address: u32, value: [u32; 2]) {
        let v = u64::from(value[0]) | u64::from(value[1]) << 32;
        self.put(address, v.to_le_bytes());
    }

    #[inline(always)]
    fn put<const N: usize>(&mut self, address: u32, value: [u8; N]) {
        if self.record.is_some() {
            self.note::<N>(address);
        }
        let at = address.wrapping_sub(BASE) as usize;
        if let Some(bytes) = self.bytes.get_mut(at..at + N) {
            bytes.copy_from_slice(&value);
        }
        if address < INTERLEAVED_BASE {
            self.marks.store(address);
        }
    }

    #[cold]
    fn note<const N: usize>(&mut self, address: u32) {
        let mut old = [0; 8];
        old[..N].copy_from_slice(&self.at::<N>(address));
        if let Some(record) = &mut self.record {
            record.push((address, old, N));
        }
    }

    /// From here on stores can be undone.
    pub(crate) fn record_stores(&mut self) {
        self.record = Some(Vec::new());
    }

    /// Takes back the stores since [`TileMemory::record_stores`].
    pub(crate) fn undo_stores(&mut self) {
        for (address, old, n) in self.record.take().into_iter().flatten().rev() {
            self.write(address, &old[..n]);
        }
    }

    /// Word at `address`, if it is aligned and populated.
    pub fn word(&self, address: u32) -> Option<u32> {
        TileMemory::check(address, 3).ok()?;
        Some(self.u32(address))
    }

    /// Copies bytes out; false (and nothing copied) if the span is not populated.
    pub fn read(&self, address: u32, out: &mut [u8]) -> bool {
        let Some(span) = span(address, out.len()) else {
            return false;
        };
        out.copy_from_slice(&self.bytes[span]);
        true
    }

    /// Writes bytes from outside the tile's contexts (loader, exchange, host); false (and
    /// nothing written) if the span is not populated.
    pub fn write(&mut self, address: u32, data: &[u8]) -> bool {
        let Some(span) = span(address, data.len()) else {
            return false;
        };
        self.bytes[span].copy_from_slice(data);
        if address < INTERLEAVED_BASE {
            self.marks.store_span(address, data.len() as u32);
        }
        true
    }
}

fn span(address: u32, len: usize) -> Option<std::ops::Range<usize>> {
    if !(BASE..=END).contains(&address) || len > (END - address) as usize {
        return None;
    }
    let at = (address - BASE) as usize;
    Some(at..at + len)
}

/// True if two populated addresses lie in one memory element.
#[inline(always)]
pub fn same_element(a: u32, b: u32) -> bool {
    element(a) == element(b)
}
