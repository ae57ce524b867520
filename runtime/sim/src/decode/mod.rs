//! Pre-decoded code: pages of issue groups in a compact form, shared by all tiles that hold the
//! same bytes.
//!
//! A page is 1 KiB of executable memory. Every word of it has the group that would issue if a
//! worker's PC stood there. Pages are decoded when first executed and kept until a store hits
//! them (`memory::CodeMarks`). A [`CodeStore`] finds equal pages of all tiles.

mod lower;
mod micro;

pub use lower::{DecodeModel, lower_aux, lower_group, lower_main};
pub use micro::{AuxOp, MainOp, Micro, Slot};

use crate::memory::{CodeMarks, PAGE_SHIFT, PAGES, TileMemory};
use ipucc_chip::memory::{BASE, EXECUTABLE_END};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// Words of a page.
pub const PAGE_WORDS: usize = 1 << (PAGE_SHIFT - 2);

/// Decoded groups of one page, by word.
pub struct Code {
    slots: [Slot; PAGE_WORDS],
}

impl Code {
    fn decode(words: &[u32; PAGE_WORDS], model: DecodeModel) -> Code {
        let mut slots = [Slot::marker(MainOp::None); PAGE_WORDS];
        for (i, slot) in slots.iter_mut().enumerate() {
            // The group of the last word may go on in the next page, which can change alone.
            *slot = if i + 1 == PAGE_WORDS && words[i] >> 31 != 0 {
                Slot::marker(MainOp::Cross)
            } else {
                lower_group(&words[i..(i + 2).min(PAGE_WORDS)], model)
            };
        }
        Code { slots }
    }

    /// The group at a word of the page.
    #[inline(always)]
    pub fn slot(&self, word: usize) -> Slot {
        self.slots[word % PAGE_WORDS]
    }
}

type Bytes = Box<[u32; PAGE_WORDS]>;

/// Decoded pages of all tiles of a chip, found by their bytes.
#[derive(Default)]
pub struct CodeStore {
    pages: Mutex<HashMap<Bytes, Arc<Code>>>,
}

impl CodeStore {
    /// An empty store.
    pub fn new() -> CodeStore {
        CodeStore::default()
    }

    fn get(&self, words: Bytes, model: DecodeModel) -> Arc<Code> {
        // decoding cannot fail half-way, so a poisoned lock still guards a whole map
        let mut pages = self.pages.lock().unwrap_or_else(PoisonError::into_inner);
        pages
            .entry(words)
            .or_insert_with_key(|words| Arc::new(Code::decode(words, model)))
            .clone()
    }

    /// Number of distinct pages decoded so far.
    pub fn len(&self) -> usize {
        self.pages
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .len()
    }

    /// True if nothing was decoded.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Drops pages that no tile holds any more.
    pub fn shrink(&self) {
        self.pages
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .retain(|_, code| Arc::strong_count(code) > 1);
    }
}

/// The decoded pages of one tile.
pub struct CodeCache {
    store: Arc<CodeStore>,
    model: DecodeModel,
    pages: Vec<Option<Arc<Code>>>,
}

impl CodeCache {
    /// A cache that shares pages through `store`; all caches of a store must use one `model`.
    pub fn new(store: Arc<CodeStore>, model: DecodeModel) -> CodeCache {
        CodeCache {
            store,
            model,
            pages: Vec::new(),
        }
    }

    /// The model that this cache decodes with.
    pub fn model(&self) -> DecodeModel {
        self.model
    }

    /// Decoded code of the page that holds `pc`; `None` if `pc` is not executable.
    #[inline]
    pub fn page(&mut self, pc: u32, mem: &mut TileMemory<'_>) -> Option<Arc<Code>> {
        if pc.wrapping_sub(BASE) >= EXECUTABLE_END - BASE {
            return None;
        }
        let page = CodeMarks::page(pc);
        if mem.marks().is_decoded(page)
            && let Some(Some(code)) = self.pages.get(page)
        {
            return Some(code.clone());
        }
        Some(self.decode(page, mem))
    }

    #[cold]
    fn decode(&mut self, page: usize, mem: &mut TileMemory<'_>) -> Arc<Code> {
        let base = BASE + ((page as u32) << PAGE_SHIFT);
        let mut words: Bytes = Box::new([0; PAGE_WORDS]);
        for (i, word) in words.iter_mut().enumerate() {
            *word = mem.u32(base + 4 * i as u32);
        }
        let code = self.store.get(words, self.model);
        if self.pages.is_empty() {
            self.pages.resize(PAGES, None);
        }
        self.pages[page] = Some(code.clone());
        mem.marks().set_decoded(page);
        code
    }

    /// The group at `pc` decoded from memory now, page border or not.
    pub fn group_at(&self, pc: u32, mem: &TileMemory<'_>) -> Slot {
        let executable = |a: u32| (a < EXECUTABLE_END).then(|| mem.word(a)).flatten();
        match (executable(pc), executable(pc.wrapping_add(4))) {
            (Some(a), Some(b)) => lower_group(&[a, b], self.model),
            (Some(a), None) => lower_group(&[a], self.model),
            (None, _) => Slot::marker(MainOp::NoCode),
        }
    }
}
