//! A tile's way to its exchange block: words become packets (`facts/hardware.md` 4.2).

use crate::chip::tile::{Env, Status, Tile};
use crate::fault::{Cause, Failure};
use crate::memory::{FetchWindow, TileMemory};
use ipucc_chip::exception::Exception;
use ipucc_chip::{Assumptions, PhysicalTile, csr, memory};
use ipucc_machine::{Inst, Op};

/// Format of a word 0: bits 31:29.
const fn format(word: u32) -> u32 {
    word >> 29
}

/// True if a word begins an exchange request.
pub const fn is_request(word: u32) -> bool {
    format(word) == 0
}

/// What a packet asks the exchange block to do.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum HostOp {
    /// Words to host memory.
    Write {
        /// Device-side byte address.
        offset: u32,
        /// Little-endian bytes.
        bytes: Vec<u8>,
    },
    /// Words from host memory; no bytes for the dummy word of a closing read.
    Read {
        /// Device-side byte address.
        offset: u32,
        /// Bytes.
        bytes: u32,
        /// Byte address on the tile.
        to: u32,
    },
    /// The tile gives up its turn.
    End,
}

/// Payload that a header has announced.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Payload {
    offset: u32,
    bytes: Vec<u8>,
    /// Words that are still to come.
    left: u32,
    last: bool,
}

/// What a tile has said to its exchange block.
#[derive(Default)]
pub struct Port {
    /// It has the turn.
    pub granted: bool,
    /// Its next send is the exchange request that the block has accepted.
    pub request: bool,
    /// What the block has still to do: end of the packet, address of the `send`, operation.
    pub ops: Vec<(u64, u32, HostOp)>,
    first: Option<u32>,
    payload: Option<Payload>,
    /// Cycle in which the last payload began.
    payload_start: Option<u64>,
    /// Cycle in which the last word from the host was stored.
    pub received: u64,
}

impl Port {
    /// A `send` of these words by tile `own` in `cycle`; `pc` is its address.
    ///
    /// # Errors
    /// A packet that the exchange block does not know or that says something wrong.
    pub fn send(
        &mut self,
        own: PhysicalTile,
        (cycle, pc): (u64, u32),
        words: &[u32],
        a: &Assumptions,
    ) -> Result<(), String> {
        if let Some(start) = self.payload_start
            && self.payload.is_none()
        {
            let passed = cycle - start;
            if passed < u64::from(a.host_payload_events) {
                return Err(format!(
                    "a packet {passed} events after the start of a payload; at least {} are needed \
                     (host_payload_events)",
                    a.host_payload_events
                ));
            }
            self.payload_start = None;
        }
        for (index, &word) in words.iter().enumerate() {
            let at = cycle + index as u64 + 1;
            if let Some(payload) = &mut self.payload {
                if payload.bytes.is_empty() {
                    self.payload_start = Some(cycle);
                }
                payload.bytes.extend(word.to_le_bytes());
                payload.left -= 1;
                if payload.left == 0
                    && let Some(payload) = self.payload.take()
                {
                    let Payload { offset, bytes, .. } = payload;
                    self.ops.push((at, pc, HostOp::Write { offset, bytes }));
                    if payload.last {
                        self.end(at, pc);
                    }
                }
            } else if let Some(first) = self.first.take() {
                self.header(own, (at, pc), first, word)?;
            } else if !self.granted {
                return Err("a packet after the one that ends the turn".into());
            } else {
                self.first = Some(word);
            }
        }
        Ok(())
    }

    fn end(&mut self, at: u64, pc: u32) {
        self.granted = false;
        self.payload_start = None;
        self.ops.push((at, pc, HostOp::End));
    }

    fn header(
        &mut self,
        own: PhysicalTile,
        (at, pc): (u64, u32),
        first: u32,
        second: u32,
    ) -> Result<(), String> {
        let long = match format(first) {
            4 | 6 => false,
            5 | 7 => true,
            other => {
                return Err(format!(
                    "{first:#010x} is no packet of a turn (format {other})"
                ));
            }
        };
        let read = format(first) >= 6;
        if first & 1 << 28 != 0 {
            return Err(format!("{first:#010x}: bit 28 must be 0"));
        }
        let last = first & 1 << 27 != 0;
        if last != (first & 1 << 26 != 0) {
            return Err(format!("{first:#010x}: bits 27 and 26 must be equal"));
        }
        let source = first >> 15 & 0x7ff;
        if source != u32::from(own.0) {
            return Err(format!("{first:#010x} names tile {source} as its source"));
        }
        let unit = if long { 64 } else { 4 };
        // Bit 31 chooses one of two PCIe complexes, which see the same pages.
        let offset = u64::from(unit) * u64::from(second >> 4 & 0x07ff_ffff);
        let offset = u32::try_from(offset)
            .map_err(|_| format!("host address {offset:#x} is beyond the window"))?;
        let bytes = match (long, second & 15) {
            (true, 0) => 1024,
            (_, count) => unit * count,
        };
        let page = offset / super::PAGE_BYTES;
        if bytes > 0 && offset.saturating_add(bytes - 1) / super::PAGE_BYTES != page {
            return Err(format!(
                "{bytes} bytes at {offset:#x} of the host cross a page of 4096 bytes"
            ));
        }
        if read {
            let to = memory::BASE + 32 * (first & 0x7fff);
            if !memory::is_populated(to, bytes.max(4)) {
                return Err(format!("{bytes} bytes for tile address {to:#x}"));
            }
            self.ops.push((at, pc, HostOp::Read { offset, bytes, to }));
            if last {
                self.end(at, pc);
            }
        } else if first & 0x7fff != 0 {
            return Err(format!(
                "{first:#010x}: a write has no destination on the tile"
            ));
        } else if bytes == 0 {
            return Err(format!("{first:#010x}: a write of no bytes"));
        } else {
            self.payload = Some(Payload {
                offset,
                bytes: Vec::new(),
                left: bytes / 4,
                last,
            });
        }
        Ok(())
    }
}

/// True for the values of the mux that select the host.
pub fn is_host(mux: u16) -> bool {
    (csr::MUX_HOST..csr::MUX_NEUTRAL).contains(&mux)
}

impl Tile {
    /// An exchange instruction while the mux selects the host.
    pub(in crate::chip) fn host_exchange(
        &mut self,
        inst: &Inst,
        mem: &TileMemory<'_>,
        env: Env<'_>,
    ) -> Result<(), Box<Failure>> {
        let own = self.id.physical();
        let (cycle, pc) = (self.now, self.pc);
        let [op0, op1, op2, ..] = inst.operands;
        let bad = |this: &Tile, cause| Err(this.fail(Some(inst), cause));
        let (from, items) = match inst.op {
            Op::DelayMmmnZi => {
                self.pc += 4;
                self.now += u64::from(op0) + 1;
                self.breakdown.exchange += u64::from(op0) + 1;
                return Ok(());
            }
            Op::SendMmmnZi if op2 & 4 == 0 => {
                let base = self.csr(csr::number::OUTGOING_BASE as u8);
                ((op1 << 2).wrapping_add(base), op0 + 1)
            }
            Op::SendOff if op1 == 0 => match self.stream {
                Some((from, _, false)) => (from, op0 + 1),
                _ => {
                    let reason = "it continues a stream that no send has begun";
                    return bad(self, Cause::Exchange(reason.into()));
                }
            },
            _ => {
                let reason = "only 32-bit sends and delays work while the host is selected";
                return bad(self, Cause::Exchange(reason.into()));
            }
        };
        if self.mux != own.host_mux() {
            let detail = format!(
                "the mux is {:#x}, the block of this tile is {:#x}",
                self.mux,
                own.host_mux()
            );
            return Err(self.exception(Some(inst), Exception::ExchangeConfiguration, &detail));
        }
        let bytes = 4 * items;
        if !memory::is_populated(from, bytes) || from & 3 != 0 {
            let detail = format!("{items} words are sent from {from:#x}");
            return Err(self.exception(Some(inst), Exception::InvalidAddress, &detail));
        }
        let window = FetchWindow::supervisor(pc);
        if window.clashes(from) || window.clashes(from + bytes - 4) {
            let detail = format!("words are sent from {from:#x}, beside the code that runs");
            return Err(self.exception(Some(inst), Exception::Conflict, &detail));
        }
        if !self.port.granted && !self.port.request {
            let second = if items > 1 { mem.u32(from + 4) } else { 0 };
            self.status = Status::Port {
                since: cycle,
                words: [mem.u32(from), second],
            };
            return Ok(());
        }
        if std::mem::take(&mut self.port.request) {
            if items != 2 {
                let reason = format!("an exchange request of {items} words instead of 2");
                return bad(self, Cause::Exchange(reason));
            }
        } else {
            let words: Vec<u32> = (0..items).map(|k| mem.u32(from + 4 * k)).collect();
            if let Err(reason) = self.port.send(own, (cycle, pc), &words, env.assumptions) {
                return bad(self, Cause::Exchange(reason));
            }
        }
        self.stream = Some((from + bytes, 3, false));
        self.pc += 4;
        self.now += u64::from(items);
        self.breakdown.exchange += u64::from(items);
        Ok(())
    }

    /// Goes on in `cycle` after it stood at the host's port, or waited for words, from `since` on.
    pub(in crate::chip) fn resume_port(&mut self, since: u64, cycle: u64) {
        self.breakdown.exchange += cycle - since;
        self.span(crate::Activity::Receive, since, cycle, self.pc);
        self.now = cycle;
        self.status = Status::Running;
    }

    /// Words that are still expected.
    pub(in crate::chip) fn dcount(&self) -> u32 {
        self.csr(csr::number::INCOMING_DCOUNT as u8)
    }
}
