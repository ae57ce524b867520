//! The chip: all tiles, the barriers between them, and the fabric.

mod decoded;
mod fabric;
mod host;
mod log;
mod probe;
mod row;
mod tile;
mod trace;

pub use host::{HostStep, SyncGroup};
pub use tile::Breakdown;
pub use trace::{Activity, Span, WorkerUse};

use crate::decode::{CodeStore, DecodeModel};
use crate::fault::{Cause, ContextId, Failure, SimError};
use crate::memory::{TILE_BYTES, TileMemory};
use crate::store::Store;
use crate::worker::{AmpMode, Model, WorkerState};
use fabric::{Delivery, Party, PortState};
use host::{Block, Host};
use ipucc_chip::sync::Zone;
use ipucc_chip::{Assumptions, Chip, LogicalTile};
use rayon::prelude::*;
use std::collections::BTreeMap;
use std::sync::Arc;
use tile::{Env, Status, Tile};

/// How to simulate.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Options {
    /// A tile that reaches this cycle stops the run.
    pub cycle_limit: u64,
    /// AMP arithmetic: exact (the judge) or fast.
    pub amp: AmpMode,
    /// Keep the turns of every launch of workers for the report.
    pub record_launches: bool,
    /// Keep the timeline of every tile for the report.
    pub trace: bool,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            cycle_limit: 10_000_000_000,
            amp: AmpMode::Exact,
            record_launches: false,
            trace: false,
        }
    }
}

/// A barrier that fired.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BarrierReport {
    /// Zone.
    pub zone: u32,
    /// Cycle of the last arrival.
    pub last_arrival: u64,
    /// Cycle of the release.
    pub release: u64,
}

/// What one tile did.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TileReport {
    /// Cycle of its branch to 0; `None` if it was not started.
    pub end_cycle: Option<u64>,
    /// Cycles by use.
    pub breakdown: Breakdown,
    /// Turns of all its workers.
    pub worker_turns: u64,
    /// What every worker used.
    pub workers: [WorkerUse; 6],
    /// Turns of the six workers by launch, if they were recorded.
    pub launches: Vec<[u64; 6]>,
    /// Spans in the order in which they ended, if a timeline was kept; those of the supervisor do
    /// not overlap.
    pub spans: Vec<Span>,
}

/// A run that came to its end.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RunReport {
    /// Cycle of the last tile's end.
    pub cycles: u64,
    /// By logical tile.
    pub tiles: Vec<TileReport>,
    /// Barriers in order.
    pub barriers: Vec<BarrierReport>,
}

/// The first tiles of a C600 with their memory and fabric.
pub struct Simulator {
    chip: Chip,
    assumptions: Assumptions,
    model: Model,
    options: Options,
    store: Store,
    tiles: Vec<Tile>,
    host: Host,
    blocks: Vec<Block>,
}

impl Simulator {
    /// A chip after reset: memory zero, nothing started.
    ///
    /// # Errors
    /// The memory cannot be reserved.
    pub fn new(
        chip: Chip,
        assumptions: Assumptions,
        options: Options,
    ) -> Result<Simulator, SimError> {
        let code = Arc::new(CodeStore::new());
        let decode = DecodeModel::new(&assumptions);
        let model = Model::new(&assumptions, options.amp);
        let tiles = chip
            .logical_tiles()
            .map(|id| Tile::new(id, code.clone(), decode))
            .collect();
        let store = Store::new(chip.tiles() as usize)?;
        Ok(Simulator {
            chip,
            assumptions,
            model,
            options,
            store,
            tiles,
            host: Host::default(),
            blocks: vec![Block::default(); host::CONTEXTS],
        })
    }

    /// The chip.
    pub fn chip(&self) -> Chip {
        self.chip
    }

    /// Writes tile memory as a loader or host does.
    ///
    /// # Errors
    /// No such tile, or the span is not populated.
    pub fn write(&mut self, tile: LogicalTile, address: u32, bytes: &[u8]) -> Result<(), SimError> {
        let missing = SimError::NoTile(tile.0, self.chip.tiles());
        let state = self.tiles.get_mut(tile.index()).ok_or(missing.clone())?;
        let memory = self.store.tile_mut(tile.index()).ok_or(missing)?;
        if TileMemory::new(memory, &mut state.marks).write(address, bytes) {
            Ok(())
        } else {
            Err(SimError::Unpopulated {
                address,
                bytes: bytes.len(),
            })
        }
    }

    /// Reads tile memory as a debugger or host does.
    ///
    /// # Errors
    /// No such tile, or the span is not populated.
    pub fn read(&self, tile: LogicalTile, address: u32, out: &mut [u8]) -> Result<(), SimError> {
        let missing = SimError::NoTile(tile.0, self.chip.tiles());
        let memory = self.store.tile(tile.index()).ok_or(missing)?;
        let start = address.wrapping_sub(ipucc_chip::memory::BASE) as usize;
        match start
            .checked_add(out.len())
            .and_then(|end| memory.get(start..end))
        {
            Some(bytes) => {
                out.copy_from_slice(bytes);
                Ok(())
            }
            None => Err(SimError::Unpopulated {
                address,
                bytes: out.len(),
            }),
        }
    }

    /// MRF of a tile's supervisor, for dumps.
    pub fn registers(&self, tile: LogicalTile) -> Option<&[u32]> {
        self.tiles.get(tile.index()).map(Tile::registers)
    }

    /// A worker of a tile, for dumps.
    pub fn worker(&self, tile: LogicalTile, index: usize) -> Option<&WorkerState> {
        self.tiles.get(tile.index())?.worker(index)
    }

    /// A supervisor CSR of a tile as stored, for dumps.
    pub fn csr(&self, tile: LogicalTile, number: u8) -> Option<u32> {
        Some(self.tiles.get(tile.index())?.csr(number))
    }

    /// Stops the run (with [`Cause::Break`]) when a context of this tile is about to issue the group
    /// at `pc` for the `hits`-th time (at least 1). Workers of a tile are executed at their launch one
    /// after the other, so those with higher numbers have not begun when one stops.
    ///
    /// # Errors
    /// No such tile.
    pub fn set_break(&mut self, tile: LogicalTile, pc: u32, hits: u64) -> Result<(), SimError> {
        let missing = SimError::NoTile(tile.0, self.chip.tiles());
        let state = self.tiles.get_mut(tile.index()).ok_or(missing)?;
        state.breaks.retain(|&(at, _)| at != pc);
        state.breaks.push((pc, hits.max(1)));
        Ok(())
    }

    /// Attaches host memory, zero at first: its device-side address is 4096 times `index`.
    ///
    /// # Errors
    /// It is empty, beyond the window of 128 MiB, or meets what is attached.
    pub fn attach(&mut self, index: u32, bytes: u32) -> Result<(), SimError> {
        self.host.attach(index, bytes)
    }

    /// Detaches the buffer of this index; false if there is none.
    pub fn detach(&mut self, index: u32) -> bool {
        self.host.detach(index)
    }

    /// Attached memory at a device-side address; `None` if a byte is not attached.
    pub fn host_memory(&self, offset: u32, bytes: u32) -> Option<&[u8]> {
        self.host.read(offset, bytes)
    }

    /// Appends to what the host does while the chip runs. The host does one step after the other, as
    /// soon as it can; what is left at the end of a run is done in the next.
    pub fn host_script(&mut self, steps: impl IntoIterator<Item = HostStep>) {
        self.host.extend(steps);
    }

    /// What the `Read` steps of the last run have read, in order.
    pub fn host_reads(&self) -> &[Vec<u8>] {
        &self.host.reads
    }

    /// Steps of the script that were not reached.
    pub fn host_steps_left(&self) -> usize {
        self.host.left()
    }

    /// Asks for `bytes` bytes at `address` of a tile as they are whenever its supervisor is about
    /// to execute the instruction at `pc`; the last time counts. [`Simulator::seen`] gives them.
    ///
    /// # Errors
    /// No such tile, or the span is not populated.
    pub fn probe(
        &mut self,
        tile: LogicalTile,
        pc: u32,
        address: u32,
        bytes: u32,
    ) -> Result<(), SimError> {
        self.read(tile, address, &mut vec![0; bytes as usize])?;
        self.tiles[tile.index()].probes.add(pc, address, bytes);
        Ok(())
    }

    /// What the probe of a tile at `pc` and `address` saw; `None` if the tile did not come there.
    pub fn seen(&self, tile: LogicalTile, pc: u32, address: u32) -> Option<&[u8]> {
        self.tiles.get(tile.index())?.probes.seen(pc, address)
    }

    /// Starts the supervisors of these tiles in cycle 0 at these byte addresses.
    pub fn start(&mut self, entries: &[(LogicalTile, u32)]) {
        self.host.restart();
        self.blocks.fill(Block::default());
        for &(tile, entry) in entries {
            if let Some(state) = self.tiles.get_mut(tile.index()) {
                state.start(entry, self.options.trace);
            }
        }
    }

    /// Runs until every started supervisor has ended.
    ///
    /// # Errors
    /// A fault, a deadlock or the cycle limit; of several faults the earliest, then the lowest tile.
    pub fn run(&mut self) -> Result<RunReport, Box<Failure>> {
        let mut barriers = Vec::new();
        loop {
            self.advance()?;
            if self.tiles.iter().any(|tile| tile.status == Status::RowEnd) {
                self.exchange()?;
                continue;
            }
            let acted = self.host.advance(&self.assumptions);
            let acted = acted.map_err(|reason| self.chip_fault(Cause::Host(reason)))?;
            if self.serve_host()? || acted {
                continue;
            }
            if let Some(barrier) = self.fire() {
                barriers.push(barrier);
                continue;
            }
            let done = |tile: &Tile| matches!(tile.status, Status::Ended { .. } | Status::Idle);
            if self.tiles.iter().all(done) {
                break;
            }
            return Err(self.deadlock());
        }
        let tiles: Vec<TileReport> = self
            .tiles
            .iter()
            .map(|tile| TileReport {
                end_cycle: match tile.status {
                    Status::Ended { at } => Some(at),
                    _ => None,
                },
                breakdown: tile.breakdown,
                worker_turns: tile.worker_turns,
                workers: tile.workers_used,
                launches: tile.launches.clone(),
                spans: tile.spans.clone().unwrap_or_default(),
            })
            .collect();
        let cycles = tiles
            .iter()
            .filter_map(|tile| tile.end_cycle)
            .max()
            .unwrap_or(0);
        Ok(RunReport {
            cycles,
            tiles,
            barriers,
        })
    }

    /// Runs every tile that can go on to its next synchronisation.
    fn advance(&mut self) -> Result<(), Box<Failure>> {
        let env = Env {
            assumptions: &self.assumptions,
            model: &self.model,
            limit: self.options.cycle_limit,
            record_launches: self.options.record_launches,
        };
        let mut work: Vec<(&mut Tile, &mut [u8; TILE_BYTES])> = self
            .tiles
            .iter_mut()
            .zip(self.store.tiles_mut())
            .filter(|(tile, _)| tile.status == Status::Running)
            .collect();
        let failed = work
            .par_iter_mut()
            .with_min_len(8)
            .filter_map(|(tile, memory)| tile.run(memory, env).err())
            .min_by_key(|failure| (failure.cycle, failure.tile.map(|tile| tile.0)));
        failed.map_or(Ok(()), Err)
    }

    /// Delivers what the rows that have just ended sent and received.
    fn exchange(&mut self) -> Result<(), Box<Failure>> {
        let members: Vec<usize> = (0..self.tiles.len())
            .filter(|&i| self.tiles[i].status == Status::RowEnd)
            .collect();
        let mut parties: Vec<Party<'_>> = members
            .iter()
            .map(|&i| {
                let tile = &self.tiles[i];
                Party {
                    tile: i as u16,
                    log: &tile.log,
                    state: PortState {
                        mux: tile.mux,
                        pointer: tile.pointer,
                        format: tile.format,
                    },
                }
            })
            .collect();
        let result = fabric::deliveries(&mut parties, &self.assumptions);
        let states: Vec<PortState> = parties.iter().map(|party| party.state).collect();
        drop(parties);
        let deliveries = match result {
            Ok(deliveries) => deliveries,
            Err((party, cycle, reason)) => {
                let index = members[party];
                let tile = &self.tiles[index];
                let pc = tile.log.pc_at(cycle).unwrap_or(tile.pc);
                return Err(self.fault_at(index, pc, cycle, Cause::Exchange(reason)));
            }
        };
        self.copy(&members, deliveries);
        for (&i, state) in members.iter().zip(states) {
            let tile = &mut self.tiles[i];
            (tile.mux, tile.pointer, tile.format) = (state.mux, state.pointer, state.format);
            tile.log = log::ExchangeLog::default();
            tile.status = Status::Running;
        }
        Ok(())
    }

    /// Moves the bytes of a phase. An item is read when it leaves and written when it arrives, so
    /// a tile may pass on what it received earlier in the phase.
    fn copy(&mut self, members: &[usize], mut deliveries: Vec<Delivery>) {
        let mut memories: Vec<TileMemory<'_>> = self
            .tiles
            .iter_mut()
            .zip(self.store.tiles_mut())
            .map(|(tile, bytes)| TileMemory::new(bytes, &mut tile.marks))
            .collect();
        let relays = passes_on(members.len(), &deliveries);
        let mut buffer = Vec::new();
        if !relays {
            // Nothing that is read is written: the order of writes to one place is all that counts.
            deliveries.sort_by_key(|d| d.write);
            for d in &deliveries {
                buffer.resize((d.items * d.size) as usize, 0);
                memories[members[d.source]].read(d.from, &mut buffer);
                memories[members[d.target]].write(d.to, &buffer);
            }
            return;
        }
        // One item at a time, in time: (cycle, write before read, item).
        let mut events: Vec<(u64, u8, usize, u32)> = Vec::new();
        for (index, d) in deliveries.iter().enumerate() {
            for k in 0..d.items {
                events.push((d.read + k as u64, 1, index, k));
                events.push((d.write + k as u64, 0, index, k));
            }
        }
        events.sort_unstable();
        let mut flight: Vec<Vec<[u8; 8]>> = deliveries
            .iter()
            .map(|d| vec![[0; 8]; d.items as usize])
            .collect();
        for (_, read, index, k) in events {
            let d = &deliveries[index];
            let item = &mut flight[index][k as usize][..d.size as usize];
            if read == 1 {
                memories[members[d.source]].read(d.from + k * d.size, item);
            } else {
                memories[members[d.target]].write(d.to + k * d.size, item);
            }
        }
    }

    /// Fires the barrier that every tile waits for or has credit for.
    fn fire(&mut self) -> Option<BarrierReport> {
        let mut zone = None;
        let mut last_arrival = 0;
        for tile in &self.tiles {
            match (tile.status, tile.credit()) {
                (Status::Barrier { zone: z, since }, _) => {
                    if zone.is_some_and(|other| other != z) {
                        return None;
                    }
                    zone = Some(z);
                    last_arrival = last_arrival.max(since);
                }
                (_, Some(posted)) => last_arrival = last_arrival.max(posted),
                (Status::Idle, None) => {}
                _ => return None,
            }
        }
        let zone = zone?;
        let group = Zone::from_operand(zone).and_then(SyncGroup::of);
        if let Some(group) = group {
            let (marks, since) = self.host.mark(group);
            if marks == 0 {
                return None;
            }
            last_arrival = last_arrival.max(since);
        }
        self.host.settle();
        let release = last_arrival + u64::from(self.assumptions.sup_barrier);
        if let Some(group) = group {
            self.host.use_mark(group, release);
        }
        let skew = u64::from(self.assumptions.sup_release_skew);
        for tile in &mut self.tiles {
            match tile.status {
                Status::Barrier { since, .. } => {
                    let row = tile.id.physical().row() as u64;
                    tile.log = log::ExchangeLog::default();
                    tile.resume(since, release + skew * row);
                }
                _ => {
                    let none_left = tile.use_credit();
                    if let (Status::Credit { since }, true) = (tile.status, none_left) {
                        let wake = release + u64::from(self.assumptions.sup_ans_wake);
                        tile.resume(since, wake.max(since));
                    }
                }
            }
        }
        Some(BarrierReport {
            zone,
            last_arrival,
            release,
        })
    }

    fn deadlock(&self) -> Box<Failure> {
        // Tiles that wait for the same at the same place share a line.
        let mut groups: BTreeMap<(u32, String), Vec<(u16, u64)>> = BTreeMap::new();
        for tile in &self.tiles {
            let (what, since) = match tile.status {
                Status::Barrier { zone, since } => (format!("at sync {zone}"), since),
                Status::Credit { since } => ("for its credit".into(), since),
                Status::Receive { since } => (format!("for {} words", tile.dcount()), since),
                Status::Port { since, .. } => (self.port_wait(tile), since),
                Status::Ended { at } => (String::new(), at),
                Status::Idle | Status::Running | Status::RowEnd => continue,
            };
            let group = groups.entry((tile.pc, what)).or_default();
            group.push((tile.id.0, since));
        }
        let mut lines: Vec<(u16, String)> = groups
            .iter()
            .map(|((pc, what), tiles)| (tiles[0].0, waiting_line(*pc, what, tiles)))
            .collect();
        lines.sort();
        let mut table: String = lines.iter().map(|(_, line)| line.as_str()).collect();
        if self.host.is_used() {
            table.push_str(&format!("  {}\n", self.host.waits()));
        }
        self.chip_fault(Cause::Deadlock(table))
    }

    /// A fault of no single tile.
    fn chip_fault(&self, cause: Cause) -> Box<Failure> {
        Box::new(Failure {
            tile: None,
            context: ContextId::Supervisor,
            pc: 0,
            instruction: String::new(),
            cycle: self.tiles.iter().map(|tile| tile.now).max().unwrap_or(0),
            cause,
        })
    }
}

/// A line of the table of a deadlock: which tiles, where, for what, since when.
fn waiting_line(pc: u32, what: &str, tiles: &[(u16, u64)]) -> String {
    let mut names = String::new();
    let mut at = 0;
    while at < tiles.len() {
        let first = tiles[at].0;
        let run = (at..tiles.len()).take_while(|&i| usize::from(tiles[i].0 - first) == i - at);
        let count = run.count();
        let comma = if at == 0 { "" } else { ", " };
        names.push_str(&match count {
            1 => format!("{comma}{first}"),
            _ => format!("{comma}{first}-{}", tiles[at + count - 1].0),
        });
        at += count;
    }
    let low = tiles.iter().map(|&(_, since)| since).min().unwrap_or(0);
    let high = tiles.iter().map(|&(_, since)| since).max().unwrap_or(0);
    let cycles = if low == high {
        format!("cycle {low}")
    } else {
        format!("cycles {low} to {high}")
    };
    let (noun, verb) = match tiles.len() {
        1 => ("tile", "waits"),
        _ => ("tiles", "wait"),
    };
    match what {
        "" => format!("  {noun} {names} (pc {pc:#x}): ended in {cycles}\n"),
        _ => format!("  {noun} {names} (pc {pc:#x}): {verb} {what} since {cycles}\n"),
    }
}

/// True if a tile sends something that the phase writes into it.
fn passes_on(parties: usize, deliveries: &[Delivery]) -> bool {
    // By party: what is written, by first byte, each with the largest end so far.
    let mut written: Vec<Vec<(u32, u32)>> = vec![Vec::new(); parties];
    for d in deliveries {
        written[d.target].push((d.to, d.to + d.items * d.size));
    }
    for list in &mut written {
        list.sort_unstable();
        let mut end = 0;
        for span in list {
            end = end.max(span.1);
            span.1 = end;
        }
    }
    deliveries.iter().any(|d| {
        let list = &written[d.source];
        let before = list.partition_point(|&(start, _)| start < d.from + d.items * d.size);
        before > 0 && list[before - 1].1 > d.from
    })
}
