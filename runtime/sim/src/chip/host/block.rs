//! The exchange blocks: who may talk to the host, and what becomes of packets
//! (`facts/hardware.md` 9.5).

use super::super::tile::{Status, Tile};
use super::super::{Simulator, tile};
use super::HostOp;
use super::port::is_request;
use crate::fault::{Cause, ContextId, Failure};
use crate::memory::{FetchWindow, TileMemory};
use ipucc_chip::LogicalTile;
use ipucc_chip::assumptions::{HostData, HostOrder};
use ipucc_chip::exception::Exception;
use ipucc_machine::Context;

/// Exchange-block contexts, by the key of [`ipucc_chip::PhysicalTile::exchange_context`].
pub const CONTEXTS: usize = 64;
/// Bits of the two words of an exchange request.
const REQUEST_BITS: [u32; 2] = [24, 22];

/// One exchange-block context.
#[derive(Clone, Copy, Default)]
pub struct Block {
    /// Tiles that still have to be served, by request index.
    listed: u64,
    /// The tile that has the turn.
    current: Option<LogicalTile>,
    /// First cycle in which the next turn can be granted.
    free: u64,
}

/// A fault at an instruction of a supervisor that the chip noticed.
fn fault(tile: &Tile, mem: &TileMemory<'_>, pc: u32, cycle: u64, cause: Cause) -> Box<Failure> {
    Box::new(Failure {
        tile: Some(tile.id),
        context: ContextId::Supervisor,
        pc,
        instruction: tile::text_at(pc, Context::Supervisor, mem),
        cycle,
        cause,
    })
}

impl Simulator {
    /// Lets the exchange blocks do what they can while every tile stands; true if a tile may go on.
    pub(in super::super) fn serve_host(&mut self) -> Result<bool, Box<Failure>> {
        let mut acted = self.packets()?;
        for tile in &mut self.tiles {
            if let Status::Receive { since } = tile.status
                && tile.dcount() == 0
            {
                let a = &self.assumptions;
                let ready = tile.port.received + u64::from(a.sup_recv_wake);
                tile.resume_port(since, ready.max(since + u64::from(a.sup_sync)));
                acted = true;
            }
        }
        let mut waiting: Vec<(u64, usize)> = Vec::new();
        for (index, tile) in self.tiles.iter().enumerate() {
            if let Status::Port { since, .. } = tile.status {
                waiting.push((since, index));
            }
        }
        waiting.sort_unstable();
        for (since, index) in waiting {
            acted |= self.ask(since, index)?;
        }
        Ok(acted)
    }

    /// A tile wants to send to its block: a request, or the beginning of its turn.
    fn ask(&mut self, since: u64, index: usize) -> Result<bool, Box<Failure>> {
        let tile = &mut self.tiles[index];
        let Status::Port { words, .. } = tile.status else {
            return Ok(false);
        };
        let own = tile.id.physical();
        let block = &mut self.blocks[own.exchange_context() as usize % CONTEXTS];
        if !is_request(words[0]) {
            let bit = own.request_index();
            let next = block.listed.trailing_zeros();
            let in_turn = match self.assumptions.host_order {
                HostOrder::OnDemand => block.listed >> bit & 1 != 0,
                HostOrder::Ascending => next == u32::from(bit),
            };
            if block.current.is_some() || !in_turn {
                return Ok(false);
            }
            block.current = Some(tile.id);
            let start = since.max(block.free) + u64::from(self.assumptions.host_grant);
            tile.port.granted = true;
            tile.resume_port(since, start);
            return Ok(true);
        }
        let bad = |detail: String| {
            let cause = Cause::Exchange(detail);
            Err((since, cause))
        };
        let outcome = if own.request_index() != 0 {
            let owner = own.request_owner();
            bad(format!(
                "an exchange request by a tile that does not own its context; {owner} does"
            ))
        } else if block.listed != 0 || block.current.is_some() {
            bad("an exchange request while the last one is not served to its end".into())
        } else if words[0] >> REQUEST_BITS[0] != 0 || words[1] >> REQUEST_BITS[1] != 0 {
            bad(format!(
                "an exchange request with unknown bits: {:#x}, {:#x}",
                words[0], words[1]
            ))
        } else {
            Ok(())
        };
        if let Err((cycle, cause)) = outcome {
            let pc = tile.pc;
            return Err(self.fault_at(index, pc, cycle, cause));
        }
        block.listed = u64::from(words[0]) | u64::from(words[1]) << REQUEST_BITS[0];
        // Two words, from the cycle after the issue of the `send`.
        block.free = block.free.max(since + 3);
        tile.port.request = true;
        tile.resume_port(since, since);
        Ok(true)
    }

    pub(in super::super) fn fault_at(
        &mut self,
        index: usize,
        pc: u32,
        cycle: u64,
        cause: Cause,
    ) -> Box<Failure> {
        let mut marks = crate::memory::CodeMarks::new();
        match self.store.tile_mut(index) {
            Some(bytes) => {
                let mem = TileMemory::new(bytes, &mut marks);
                fault(&self.tiles[index], &mem, pc, cycle, cause)
            }
            None => Box::new(Failure {
                tile: Some(self.tiles[index].id),
                context: ContextId::Supervisor,
                pc,
                instruction: String::new(),
                cycle,
                cause,
            }),
        }
    }

    /// Does what complete packets say, in the order of their tiles; true if there were any.
    fn packets(&mut self) -> Result<bool, Box<Failure>> {
        let mut acted = false;
        for index in 0..self.tiles.len() {
            let ops = std::mem::take(&mut self.tiles[index].port.ops);
            acted |= !ops.is_empty();
            for (at, pc, op) in ops {
                if let Err(cause) = self.packet(index, at, op) {
                    return Err(self.fault_at(index, pc, at, cause));
                }
            }
        }
        Ok(acted)
    }

    fn packet(&mut self, index: usize, at: u64, op: HostOp) -> Result<(), Cause> {
        let a = &self.assumptions;
        let unattached = |bytes: u32, offset: u32| {
            Cause::Exchange(format!(
                "{bytes} bytes at {offset:#x} of the host are not attached"
            ))
        };
        let tile = &mut self.tiles[index];
        let block = &mut self.blocks[tile.id.physical().exchange_context() as usize % CONTEXTS];
        match op {
            HostOp::Write { offset, bytes } => {
                let length = bytes.len() as u32;
                if self.host.read(offset, length).is_none() {
                    return Err(unattached(length, offset));
                }
                match a.host_data {
                    HostData::Prompt => {
                        self.host.write(offset, &bytes);
                    }
                    HostData::Late => self.host.write_late(offset, bytes),
                }
            }
            HostOp::Read { offset, bytes, to } => {
                let data = if bytes == 0 {
                    a.host_zero_read.0.to_le_bytes().to_vec()
                } else {
                    let data = self.host.read(offset, bytes);
                    data.ok_or_else(|| unattached(bytes, offset))?.to_vec()
                };
                let words = data.len() as u32 / 4;
                let first = (tile.port.received + 1).max(at + u64::from(a.host_read_latency));
                let left = tile
                    .dcount()
                    .checked_sub(words)
                    .ok_or_else(|| Cause::Exception {
                        exception: Exception::ExchangeConfiguration,
                        detail: format!(
                            "{words} words arrive, but $INCOMING_DCOUNT is {}",
                            tile.dcount()
                        ),
                    })?;
                if tile.workers_active(first) {
                    return Err(Cause::Exception {
                        exception: Exception::ExchangeConfiguration,
                        detail: "words arrive while workers are active (receive error 4)".into(),
                    });
                }
                // The supervisor stands at what it executes next or waits in.
                let window = FetchWindow::supervisor(tile.pc.wrapping_sub(4));
                let last = to + 4 * words - 4;
                if window.clashes(to) || window.clashes(last) {
                    return Err(Cause::Exception {
                        exception: Exception::Conflict,
                        detail: format!("words arrive at {to:#x}, beside the code that runs"),
                    });
                }
                tile.set_dcount(left);
                tile.port.received = first + u64::from(words) - 1;
                if let Some(memory) = self.store.tile_mut(index) {
                    TileMemory::new(memory, &mut tile.marks).write(to, &data);
                }
            }
            HostOp::End => {
                block.current = None;
                block.listed &= !(1 << tile.id.physical().request_index());
                block.free = at.max(tile.port.received);
            }
        }
        Ok(())
    }

    /// Why a tile stands at a send, for the table of a deadlock.
    pub(in super::super) fn port_wait(&self, tile: &Tile) -> String {
        let own = tile.id.physical();
        let block = &self.blocks[own.exchange_context() as usize % CONTEXTS];
        match block.current {
            Some(other) if other != tile.id => {
                format!("for the host port, which tile {} has", other.0)
            }
            _ if block.listed >> own.request_index() & 1 == 0 => {
                "for the host port, but no exchange request lists it".into()
            }
            _ => format!(
                "for the host port; request index {} is next",
                block.listed.trailing_zeros()
            ),
        }
    }
}
