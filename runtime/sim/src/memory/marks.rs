//! Which pages of a tile hold decoded code, and which of those were stored to since.

use ipucc_chip::memory::{BASE, EXECUTABLE_END};

/// Log2 of the bytes of a code page.
pub const PAGE_SHIFT: u32 = 10;
/// Code pages of a tile: the executable region.
pub const PAGES: usize = ((EXECUTABLE_END - BASE) >> PAGE_SHIFT) as usize;
const WORDS: usize = PAGES.div_ceil(64);

/// One bit per KiB of executable memory: set while decoded code of that page is kept. A store
/// into such a page clears the bit and raises the `changed` flag; the executor then decodes the
/// page again before it goes on (`isa/execution.md` 10: code is executed as written).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CodeMarks {
    decoded: [u64; WORDS],
    changed: bool,
}

impl CodeMarks {
    /// No page decoded.
    pub fn new() -> CodeMarks {
        CodeMarks::default()
    }

    /// Number of the page of an executable address.
    #[inline(always)]
    pub const fn page(address: u32) -> usize {
        (address.wrapping_sub(BASE) >> PAGE_SHIFT) as usize
    }

    /// True if decoded code of the page may be used.
    #[inline(always)]
    pub fn is_decoded(&self, page: usize) -> bool {
        self.decoded[page / 64 % WORDS] >> (page % 64) & 1 != 0
    }

    /// Says that decoded code of the page is kept from now on.
    pub fn set_decoded(&mut self, page: usize) {
        self.decoded[page / 64 % WORDS] |= 1 << (page % 64);
    }

    /// True if a store has hit a decoded page since the flag was cleared.
    #[inline(always)]
    pub fn changed(&self) -> bool {
        self.changed
    }

    /// Clears the flag of [`CodeMarks::changed`].
    pub fn clear_changed(&mut self) {
        self.changed = false;
    }

    /// Notes a store at an address of region 0.
    #[inline(always)]
    pub(crate) fn store(&mut self, address: u32) {
        let page = CodeMarks::page(address);
        if self.is_decoded(page) {
            self.hit(page);
        }
    }

    #[cold]
    fn hit(&mut self, page: usize) {
        self.decoded[page / 64 % WORDS] &= !(1 << (page % 64));
        self.changed = true;
    }

    /// Notes a write of `bytes` bytes that begins in region 0; the part beyond it holds no code.
    pub(crate) fn store_span(&mut self, address: u32, bytes: u32) {
        let end = address.saturating_add(bytes).min(EXECUTABLE_END);
        let mut at = address;
        while at < end {
            self.store(at);
            at = (at | ((1 << PAGE_SHIFT) - 1)) + 1;
        }
    }
}
