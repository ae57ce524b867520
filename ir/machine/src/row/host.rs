//! Host exchange: packet headers and the straight-line programs of one host phase
//! (`facts/hardware.md` 4.2 to 4.7, reference driver).

use super::words;
use ipucc_chip::csr::MUX_NEUTRAL;
use ipucc_chip::csr::number::{INCOMING_DCOUNT, INCOMING_MUX};
use ipucc_chip::fabric::limit;
use ipucc_chip::sync::{REQUESTER, Zone};
use ipucc_chip::{PhysicalTile, loader, memory};
use thiserror::Error;

/// Tile -> host headers: short and long writes.
const WRITE_SHORT: u32 = 0x8000_0000;
const WRITE_LONG: u32 = 0xa000_0000;
/// Host -> tile headers: short and long reads.
const READ_SHORT: u32 = 0xc000_0000;
const READ_LONG: u32 = 0xe000_0000;
/// Bits of the header that ends a tile's turn.
const LAST: u32 = 0x0c00_0000;
/// Largest long packet to the tile, and from it (one `send` carries 64 words).
const TO_TILE_BYTES: u32 = 1024;
const TO_HOST_BYTES: u32 = 256;
/// Largest short packet, and what unaligned pieces are cut to.
const SHORT_BYTES: u32 = 60;
const PIECE_BYTES: u32 = 32;
/// Unit of long packets, of destinations on the tile.
const LONG_UNIT: u32 = 64;
const DESTINATION_UNIT: u32 = 32;
/// Events that the payload of a tile -> host packet takes at least (inferred).
const PAYLOAD_EVENTS: u32 = 18;
/// Address at which the dummy word of the closing read lands (convention of the reference layout).
pub const CLOSING_READ: u32 = 0x50160;

/// Direction of a host transfer.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum HostDirection {
    /// The tile reads host memory.
    ToTile,
    /// The tile writes host memory.
    ToHost,
}

/// A piece of tile memory that goes to or comes from the host in one phase.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct HostTransfer {
    /// The tile.
    pub tile: PhysicalTile,
    /// Which way.
    pub direction: HostDirection,
    /// Byte address on the tile: a multiple of 32 to the tile, of 4 from it.
    pub address: u32,
    /// Byte offset in host memory, a multiple of 4.
    pub host_offset: u32,
    /// Bytes, a multiple of 4.
    pub bytes: u32,
    /// Byte address of the packet area, a multiple of 8: two request words, then the headers.
    pub packets: u32,
}

/// What a tile does in one host phase.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct HostProgram {
    /// Words from the mux switch (if wrapped) to `br $m10`.
    pub words: Vec<u32>,
    /// Words of the packet area behind the two request words.
    pub headers: Vec<u32>,
}

/// Why a host transfer cannot be made.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum HostError {
    /// A size or address is not aligned.
    #[error("{what} {value:#x} is not a multiple of {unit}")]
    Alignment {
        /// Which.
        what: &'static str,
        /// Its value.
        value: u32,
        /// Its unit.
        unit: u32,
    },
    /// Nothing to transfer.
    #[error("a host transfer has at least one word")]
    Empty,
    /// Outside tile memory or, to the tile, outside the window that packets can address.
    #[error("{bytes} bytes at {address:#x} cannot be reached by host packets")]
    Window {
        /// Byte address.
        address: u32,
        /// Bytes.
        bytes: u32,
    },
}

/// One packet of a transfer.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Packet {
    /// Bytes from the start of the transfer.
    pub offset: u32,
    /// Payload bytes.
    pub bytes: u32,
    /// Long form: 64-byte units.
    pub long: bool,
}

/// Cuts a transfer into packets: never across a host page, long where alignment allows.
pub fn packets(transfer: &HostTransfer) -> Vec<Packet> {
    let most = match transfer.direction {
        HostDirection::ToTile => TO_TILE_BYTES,
        HostDirection::ToHost => TO_HOST_BYTES,
    };
    let mut result = Vec::new();
    let mut offset = 0;
    while offset < transfer.bytes {
        let host = transfer.host_offset.wrapping_add(offset);
        let left = loader::HOST_PAGE_BYTES - host % loader::HOST_PAGE_BYTES;
        let available = (transfer.bytes - offset).min(left);
        let long = host.is_multiple_of(LONG_UNIT) && available >= LONG_UNIT;
        let bytes = if long {
            available.min(most) / LONG_UNIT * LONG_UNIT
        } else if available <= SHORT_BYTES {
            available
        } else {
            PIECE_BYTES
        };
        result.push(Packet {
            offset,
            bytes,
            long,
        });
        offset += bytes;
    }
    result
}

impl HostTransfer {
    fn check(&self) -> Result<(), HostError> {
        let aligned = |what, value: u32, unit| match value.is_multiple_of(unit) {
            true => Ok(()),
            false => Err(HostError::Alignment { what, value, unit }),
        };
        if self.bytes == 0 {
            return Err(HostError::Empty);
        }
        aligned("the size", self.bytes, 4)?;
        aligned("the host offset", self.host_offset, 4)?;
        aligned("the packet area", self.packets, 8)?;
        let outside = HostError::Window {
            address: self.address,
            bytes: self.bytes,
        };
        if !memory::is_populated(self.address, self.bytes) {
            return Err(outside);
        }
        match self.direction {
            HostDirection::ToHost => aligned("the tile address", self.address, 4),
            HostDirection::ToTile => {
                aligned("the tile address", self.address, DESTINATION_UNIT)?;
                let end = u64::from(self.address) + u64::from(self.bytes);
                if self.address < loader::HOST_WINDOW
                    || end > u64::from(loader::HOST_WINDOW + loader::HOST_WINDOW_BYTES)
                {
                    return Err(outside);
                }
                Ok(())
            }
        }
    }

    /// Second header word.
    fn host_word(&self, host: u32, bytes: u32, long: bool) -> u32 {
        let shift = if long { 6 } else { 2 };
        u32::from(self.tile.0 & 1) << 31 | (host >> shift) << 4 | (bytes >> shift) & 0xf
    }

    /// Header of a packet that brings host data to tile `address`.
    fn read_header(&self, address: u32, host: u32, bytes: u32, long: bool, last: bool) -> [u32; 2] {
        let form = if long { READ_LONG } else { READ_SHORT };
        let end = if last { LAST } else { 0 };
        let window = (address - memory::BASE) / DESTINATION_UNIT;
        [
            form | end | u32::from(self.tile.0) << 15 | window,
            self.host_word(host, bytes, long),
        ]
    }

    /// Header of a packet that takes tile data to the host.
    fn write_header(&self, host: u32, bytes: u32, long: bool) -> [u32; 2] {
        let form = if long { WRITE_LONG } else { WRITE_SHORT };
        [
            form | u32::from(self.tile.0) << 15,
            self.host_word(host, bytes, long),
        ]
    }

    /// The body of the phase program (without mux switches and barriers) and its headers.
    ///
    /// # Errors
    /// Misaligned or unreachable addresses.
    pub fn body(&self) -> Result<HostProgram, HostError> {
        self.check()?;
        let packets = packets(self);
        let mut program = HostProgram {
            words: Vec::new(),
            headers: Vec::new(),
        };
        let headers_at = self.packets + 8;
        let dcount = match self.direction {
            HostDirection::ToTile => self.bytes / 4,
            HostDirection::ToHost => 1,
        };
        program.words.push(words::setzi(words::SCRATCH, dcount));
        program
            .words
            .push(words::put(u32::from(INCOMING_DCOUNT), words::SCRATCH));
        match self.direction {
            HostDirection::ToTile => {
                program.words.push(send(headers_at, 2));
                for (index, packet) in packets.iter().enumerate() {
                    if index > 0 {
                        program.words.push(words::send_off(2, BOTH));
                    }
                    program.headers.extend(self.read_header(
                        self.address + packet.offset,
                        self.host_offset + packet.offset,
                        packet.bytes,
                        packet.long,
                        index + 1 == packets.len(),
                    ));
                }
            }
            HostDirection::ToHost => {
                let mut header = headers_at;
                for packet in &packets {
                    let items = packet.bytes / 4;
                    program.words.push(send(header, 2));
                    program
                        .words
                        .push(send(self.address + packet.offset, items));
                    if items < PAYLOAD_EVENTS {
                        program.words.push(words::delay(PAYLOAD_EVENTS - items));
                    }
                    program.headers.extend(self.write_header(
                        self.host_offset + packet.offset,
                        packet.bytes,
                        packet.long,
                    ));
                    header += 8;
                }
                // The closing read cannot overtake the writes: its word tells that they are done.
                program.words.push(send(header, 2));
                program
                    .headers
                    .extend(self.read_header(CLOSING_READ, 0, 0, false, true));
            }
        }
        program.words.push(words::sync(Zone::Receive.operand()));
        Ok(program)
    }
}

/// Both fabric directions: what host traffic is sent with.
const BOTH: u32 = 3;

/// One `send` of at most 64 words.
fn send(address: u32, items: u32) -> u32 {
    debug_assert!(items <= limit::SEND);
    words::send(items, address >> 2, BOTH)
}

/// The words that send the two request words at `packets`.
pub fn request(packets: u32) -> Vec<u32> {
    vec![send(packets, 2)]
}

/// Switches the mux to the host, enters the phase, runs `body` and leaves; `requester` is the form
/// of the tile that sends the exchange request.
pub fn wrap(tile: PhysicalTile, requester: bool, body: &[u32]) -> Vec<u32> {
    let mux = |source: u16| {
        [
            words::setzi(words::SCRATCH, u32::from(source)),
            words::put(u32::from(INCOMING_MUX), words::SCRATCH),
        ]
    };
    let host = Zone::External2Host.operand();
    let mut result = Vec::from(mux(tile.host_mux()));
    result.push(words::sync(if requester { REQUESTER } else { host }));
    result.extend(body);
    result.push(words::sync(host));
    result.extend(mux(MUX_NEUTRAL));
    result.push(words::br(words::LINK));
    result
}

/// The program of a tile that takes part in a host phase only through its two barriers.
pub fn inactive() -> Vec<u32> {
    vec![
        words::sans(1),
        words::sync(Zone::Abstention.operand()),
        words::br(words::LINK),
    ]
}

/// Program of a tile in a host phase: its transfer, if any, and, for the owner of its context, the
/// request words to send.
///
/// # Errors
/// As [`HostTransfer::body`].
pub fn program(
    tile: PhysicalTile,
    transfer: Option<&HostTransfer>,
    request_from: Option<u32>,
) -> Result<HostProgram, HostError> {
    let mut body = match transfer {
        Some(transfer) => transfer.body()?,
        None => HostProgram {
            words: Vec::new(),
            headers: Vec::new(),
        },
    };
    if let Some(packets) = request_from {
        // Behind the DCOUNT set-up, if there is one.
        let index = if transfer.is_some() { 2 } else { 0 };
        body.words.splice(index..index, request(packets));
    }
    body.words = match (transfer, request_from) {
        (None, None) => inactive(),
        (_, request) => wrap(tile, request.is_some(), &body.words),
    };
    Ok(body)
}
