//! Probes: bytes of tile memory as they are when the supervisor comes to an instruction.

use crate::memory::TileMemory;
use std::collections::BTreeMap;

/// The probes of one tile.
#[derive(Default)]
pub struct Probes {
    /// By instruction address and byte address.
    wanted: BTreeMap<(u32, u32), Window>,
}

/// Bytes to look at, and what was seen.
struct Window {
    bytes: u32,
    seen: Option<Box<[u8]>>,
}

impl Probes {
    /// Looks at `bytes` bytes at `address` before the instruction at `pc`.
    pub fn add(&mut self, pc: u32, address: u32, bytes: u32) {
        self.wanted
            .insert((pc, address), Window { bytes, seen: None });
    }

    /// The supervisor is about to execute the instruction at `pc`.
    pub fn reached(&mut self, pc: u32, memory: &TileMemory<'_>) {
        if self.wanted.is_empty() {
            return;
        }
        for ((_, address), window) in self.wanted.range_mut((pc, 0)..=(pc, u32::MAX)) {
            let mut data = vec![0; window.bytes as usize];
            memory.read(*address, &mut data);
            window.seen = Some(data.into());
        }
    }

    /// What was seen last.
    pub fn seen(&self, pc: u32, address: u32) -> Option<&[u8]> {
        self.wanted.get(&(pc, address))?.seen.as_deref()
    }
}
