//! The memory of all tiles: one mapping that commits a page when it is first touched.

use crate::fault::SimError;
use crate::memory::TILE_BYTES;
use nix::sys::mman::{MapFlags, ProtFlags, mmap_anonymous, munmap};
use std::num::NonZeroUsize;
use std::ptr::NonNull;

/// Tile memory of a whole chip, zero at first; reserves address space, not memory.
pub struct Store {
    base: NonNull<std::ffi::c_void>,
    bytes: usize,
}

// SAFETY: the mapping is owned by this value alone and is plain bytes.
unsafe impl Send for Store {}
// SAFETY: shared access only reads.
unsafe impl Sync for Store {}

impl Store {
    /// Zeroed memory for `tiles` tiles.
    ///
    /// # Errors
    /// The system refuses the mapping.
    pub fn new(tiles: usize) -> Result<Store, SimError> {
        let bytes = tiles.max(1) * TILE_BYTES;
        let length = NonZeroUsize::new(bytes).ok_or(SimError::Memory("no tiles".into()))?;
        let flags = MapFlags::MAP_PRIVATE | MapFlags::MAP_NORESERVE;
        // SAFETY: an anonymous private mapping at an address of the system's choice.
        let base = unsafe {
            mmap_anonymous(
                None,
                length,
                ProtFlags::PROT_READ | ProtFlags::PROT_WRITE,
                flags,
            )
        }
        .map_err(|error| SimError::Memory(error.to_string()))?;
        Ok(Store { base, bytes })
    }

    /// Memory of every tile, in logical order.
    pub fn tiles_mut(&mut self) -> impl Iterator<Item = &mut [u8; TILE_BYTES]> {
        // SAFETY: the mapping is `bytes` long, initialised (zero) and borrowed exclusively.
        let all =
            unsafe { std::slice::from_raw_parts_mut(self.base.as_ptr().cast::<u8>(), self.bytes) };
        all.as_chunks_mut::<TILE_BYTES>().0.iter_mut()
    }

    /// Memory of one tile.
    pub fn tile(&self, index: usize) -> Option<&[u8; TILE_BYTES]> {
        // SAFETY: as above, shared.
        let all =
            unsafe { std::slice::from_raw_parts(self.base.as_ptr().cast::<u8>(), self.bytes) };
        all.as_chunks::<TILE_BYTES>().0.get(index)
    }

    /// Memory of one tile.
    pub fn tile_mut(&mut self, index: usize) -> Option<&mut [u8; TILE_BYTES]> {
        self.tiles_mut().nth(index)
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        // SAFETY: the mapping was made by `new` with this length and nothing borrows it any more.
        // A failure leaks address space, which is all that can be done here.
        let _ = unsafe { munmap(self.base, self.bytes) };
    }
}
