//! Limits that the on-chip loader and the host window put on images (`facts/hardware.md` 3, 4).

use crate::memory;

/// First byte that the loader fills: where every image starts and is entered (reference driver).
pub const IMAGE_BASE: u32 = memory::APPLICATION_BASE;
/// First byte that the loader cannot fill (reference driver: 643 frames of 992 bytes).
pub const IMAGE_END: u32 = 0xe7bb0;
/// Bytes of a frame in the transport buffer.
pub const FRAME_BYTES: u32 = 1024;
/// Payload bytes of a frame.
pub const FRAME_PAYLOAD_BYTES: u32 = 992;
/// Most frames of one tile.
pub const MAX_FRAMES: u32 = 643;
/// Fewest frames of one tile that the loader accepts (inferred from the first generation).
pub const MIN_FRAMES: u32 = 17;
/// Bytes to which the reference driver pads every image; gives 17 frames.
pub const MIN_IMAGE_BYTES: u32 = 0x4134;
/// Tiles of one batch.
pub const BATCH_TILES: u32 = 64;
/// First byte of the window that host packets can write (encoder limit, inferred).
pub const HOST_WINDOW: u32 = 0x50000;
/// Bytes of that window.
pub const HOST_WINDOW_BYTES: u32 = 0x4000;
/// Bytes of a host page.
pub const HOST_PAGE_BYTES: u32 = 4096;

const _: () = assert!(IMAGE_END == IMAGE_BASE + MAX_FRAMES * FRAME_PAYLOAD_BYTES);
const _: () = assert!(MIN_IMAGE_BYTES.div_ceil(FRAME_PAYLOAD_BYTES) == MIN_FRAMES);
