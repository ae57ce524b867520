//! Tile memory: regions, elements, limits. Addresses are byte addresses.

/// First populated byte; also the reset value of PC (`isa/execution.md` 10, ISA).
pub const BASE: u32 = 0x4c000;
/// Bytes of tile memory (`isa/execution.md` 10, ISA).
pub const SIZE: u32 = 624 * 1024;
/// First byte past the populated memory.
pub const END: u32 = BASE + SIZE;
/// First byte that cannot be executed: start of region 1 (`isa/execution.md` 10, ISA).
pub const EXECUTABLE_END: u32 = 0x80000;
/// Start of region 1, the interleaved region; equal to [`EXECUTABLE_END`].
pub const INTERLEAVED_BASE: u32 = EXECUTABLE_END;
/// Bytes of one memory element (`isa/execution.md` 10, ISA).
pub const ELEMENT_BYTES: u32 = 16 * 1024;
/// Bytes of a pair of interleaved elements in region 1.
pub const PAIR_BYTES: u32 = 2 * ELEMENT_BYTES;
/// Bytes of one atom, the unit of access of an element (ISA).
pub const ATOM_BYTES: u32 = 8;
/// Number of elements: 13 of region 0, 26 of region 1.
pub const ELEMENTS: u32 = 39;
/// Where the loader enters a program (`facts/exchange.md` 5, `isa/supervisor.md` 1, hardware).
pub const APPLICATION_BASE: u32 = 0x4c010;

/// True if all `bytes` bytes at `address` are populated.
pub const fn is_populated(address: u32, bytes: u32) -> bool {
    address >= BASE && bytes <= SIZE && address <= END - bytes
}

/// The memory element that holds the byte at `address`, 0..39 (`isa/execution.md` 10, ISA);
/// the address must be populated.
pub const fn element(address: u32) -> u32 {
    if address < INTERLEAVED_BASE {
        (address - BASE) / ELEMENT_BYTES
    } else {
        13 + 2 * ((address - INTERLEAVED_BASE) / PAIR_BYTES) + ((address >> 3) & 1)
    }
}

/// The unit that an exchange treats as one element: a 16-KiB element of region 0, a 32-KiB pair
/// of region 1; 0..26 (`facts/exchange.md` 2, assumption `exch_clash_unit`).
pub const fn exchange_unit(address: u32) -> u32 {
    if address < INTERLEAVED_BASE {
        (address - BASE) / ELEMENT_BYTES
    } else {
        13 + (address - INTERLEAVED_BASE) / PAIR_BYTES
    }
}
