//! One tile: its supervisor's program, its workers, and time.
//!
//! A tile runs from one synchronisation to the next in one go. Launched workers are executed at
//! their launch, in order of their number, with their own issue times; contexts of a tile that race
//! through memory are therefore not interleaved.

use super::decoded::{Decoded, decode};
use super::log::{ExchangeLog, SelectEvent};
use super::probe::Probes;
use crate::decode::{CodeCache, CodeStore, DecodeModel};
use crate::fault::{Cause, ContextId, Failure};
use crate::memory::{CodeMarks, FetchWindow, TILE_BYTES, TileMemory};
use crate::worker::{
    self, CommonContext, Flow, Model, Raised, Registers, Shared, StopReason, WorkerState,
    exec_common,
};
use ipucc_chip::exception::Exception;
use ipucc_chip::{Assumptions, LogicalTile, csr, memory, timing};
use ipucc_machine::{Inst, Op, OperandKind, Role};
use std::collections::VecDeque;
use std::sync::Arc;

pub(super) const WORKERS: usize = timing::WORKERS as usize;

/// What a tile is doing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Status {
    /// Not started.
    Idle,
    /// Can go on.
    Running,
    /// Its row is over; goes on once the fabric has delivered.
    RowEnd,
    /// Waits at a barrier of this zone since this cycle.
    Barrier {
        /// Zone.
        zone: u32,
        /// Arrival.
        since: u64,
    },
    /// Waits for its abstention credit to be used up.
    Credit {
        /// Arrival.
        since: u64,
    },
    /// Branched to address 0.
    Ended {
        /// Cycle of the branch.
        at: u64,
    },
}

/// Cycles by what they went to.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Breakdown {
    /// From a launch to the join, while workers run.
    pub compute: u64,
    /// Inside exchange rows.
    pub exchange: u64,
    /// Waiting at barriers and for credit.
    pub barrier: u64,
    /// The rest: supervisor instructions.
    pub supervisor: u64,
}

#[derive(Clone, Copy, Default)]
struct Producer {
    issue: u64,
    get: bool,
}

/// State of one tile.
pub struct Tile {
    /// Its number.
    pub id: LogicalTile,
    /// What it is doing.
    pub status: Status,
    /// Cycle of the next issue.
    pub now: u64,
    /// Address of the next instruction.
    pub pc: u32,
    /// Exchange activity since the last barrier.
    pub log: ExchangeLog,
    /// Mux source that holds before the first event of the log.
    pub mux: u16,
    /// Receive pointer and item format before the first event of the log.
    pub pointer: Option<u32>,
    /// Item format.
    pub format: u8,
    /// Cycles so far by use.
    pub breakdown: Breakdown,
    /// Issue groups executed by workers.
    pub worker_turns: u64,
    /// Turns of the six workers by launch, if they are recorded.
    pub launches: Vec<[u64; WORKERS]>,
    mrf: Registers,
    producers: [Option<Producer>; 16],
    pub(super) csr: Box<[u32; 256]>,
    credits: VecDeque<(u64, u32)>,
    workers: Vec<WorkerState>,
    shared: Shared,
    /// Cycle from which the supervisor owns the slot again; 0 = owns it.
    pub(super) slot_free: [u64; WORKERS],
    last_exit: u64,
    launched: u64,
    pub(super) row_start: u64,
    /// First cycle in which a launch may use the weights loaded last.
    weights_ready: u64,
    pub(super) stream: Option<(u32, u8, bool)>,
    pub(super) marks: CodeMarks,
    /// What an observer wants to see.
    pub(super) probes: Probes,
    cache: CodeCache,
}

/// What running a tile needs from the chip.
#[derive(Clone, Copy)]
pub struct Env<'e> {
    /// Assumptions.
    pub assumptions: &'e Assumptions,
    /// Worker model derived from them.
    pub model: &'e Model,
    /// Largest cycle number.
    pub limit: u64,
    /// Record the turns of every launch.
    pub record_launches: bool,
}

impl Tile {
    /// A tile after reset.
    pub fn new(id: LogicalTile, store: Arc<CodeStore>, model: DecodeModel) -> Tile {
        let mut csr = Box::new([0; 256]);
        csr[csr::number::INCOMING_MUX as usize] = csr::MUX_NEUTRAL as u32;
        Tile {
            id,
            status: Status::Idle,
            now: 0,
            pc: 0,
            log: ExchangeLog::default(),
            mux: csr::MUX_NEUTRAL,
            pointer: None,
            format: 0,
            breakdown: Breakdown::default(),
            worker_turns: 0,
            launches: Vec::new(),
            mrf: [0; 32],
            producers: [None; 16],
            csr,
            credits: VecDeque::new(),
            workers: (0..WORKERS as u8).map(WorkerState::new).collect(),
            shared: Shared::new(),
            slot_free: [0; WORKERS],
            last_exit: 0,
            launched: 0,
            row_start: 0,
            weights_ready: 0,
            stream: None,
            marks: CodeMarks::new(),
            probes: Probes::default(),
            cache: CodeCache::new(store, model),
        }
    }

    /// Begins at `entry` in cycle 0.
    pub fn start(&mut self, entry: u32) {
        self.status = Status::Running;
        self.now = 0;
        self.pc = entry;
        self.producers = [None; 16];
        self.slot_free = [0; WORKERS];
        self.last_exit = 0;
        self.launched = 0;
        self.weights_ready = 0;
        self.breakdown = Breakdown::default();
        self.worker_turns = 0;
        self.launches.clear();
    }

    /// Credits and the cycle in which the oldest was posted.
    pub fn credit(&self) -> Option<u64> {
        self.credits.front().map(|&(posted, _)| posted)
    }

    /// Uses up one credit; true if none is left.
    pub fn use_credit(&mut self) -> bool {
        if let Some(front) = self.credits.front_mut() {
            front.1 -= 1;
            if front.1 == 0 {
                self.credits.pop_front();
            }
        }
        self.credits.is_empty()
    }

    /// Goes on in `cycle` after a wait that began at `since`.
    pub fn resume(&mut self, since: u64, cycle: u64) {
        self.breakdown.barrier += cycle - since;
        self.now = cycle;
        self.status = Status::Running;
    }

    /// Runs to the next synchronisation.
    ///
    /// # Errors
    /// The fault that stopped it.
    pub fn run(&mut self, bytes: &mut [u8; TILE_BYTES], env: Env<'_>) -> Result<(), Box<Failure>> {
        let mut marks = std::mem::take(&mut self.marks);
        let result = {
            let mut mem = TileMemory::new(bytes, &mut marks);
            let mut result = Ok(());
            while self.status == Status::Running && result.is_ok() {
                self.probes.reached(self.pc, &mem);
                result = self.step(&mut mem, env);
            }
            result
        };
        self.marks = marks;
        result
    }

    pub(super) fn fail(&self, inst: Option<&Inst>, cause: Cause) -> Box<Failure> {
        Box::new(Failure {
            tile: Some(self.id),
            context: ContextId::Supervisor,
            pc: self.pc,
            instruction: inst.map(ToString::to_string).unwrap_or_default(),
            cycle: self.now,
            cause,
        })
    }

    pub(super) fn exception(
        &self,
        inst: Option<&Inst>,
        exception: Exception,
        detail: &str,
    ) -> Box<Failure> {
        self.fail(
            inst,
            Cause::Exception {
                exception,
                detail: detail.to_owned(),
            },
        )
    }

    /// The first cycle from `earliest` on in which the supervisor owns the slot.
    fn own_slot(&self, earliest: u64) -> u64 {
        let mut cycle = earliest;
        while self.slot_free[(cycle % WORKERS as u64) as usize] > cycle {
            cycle += 1;
        }
        cycle
    }

    fn wait_for(&self, register: u32, early: bool, a: &Assumptions) -> u64 {
        match self.producers[register as usize & 15] {
            None => 0,
            Some(Producer { issue, get }) => {
                let exec = if get { a.sup_get } else { a.sup_use_exec };
                let early_use = a.sup_use_early.max(if get { a.sup_get } else { 0 });
                issue + u64::from(if early { early_use } else { exec })
            }
        }
    }

    /// Cycle in which `inst` issues: slot owned and operands ready.
    fn issue_cycle(&self, inst: &Inst, a: &Assumptions) -> u64 {
        let info = inst.op.info();
        let exchange_put = inst.op == Op::PutMmmnZi && inst.operands[1] >= 0xa0;
        let mut earliest = self.now;
        // The wait of an exchange `put` for its operand is inside its 13 cycles.
        if !exchange_put {
            let last_register = info
                .operands
                .iter()
                .rposition(|operand| operand.kind == OperandKind::M);
            for (index, operand) in info.operands.iter().enumerate() {
                if operand.kind != OperandKind::M || operand.role == Role::Def {
                    continue;
                }
                let data = info.flags.store && Some(index) == last_register;
                let launch = matches!(inst.op, Op::RunMmmnZi | Op::RunallMmmnZi);
                let early =
                    info.flags.load || info.flags.control || launch || info.flags.store && !data;
                earliest = earliest.max(self.wait_for(inst.operands[index], early, a));
            }
        }
        if matches!(inst.op, Op::RunMmmnZi | Op::RunallMmmnZi) {
            earliest = earliest.max(self.weights_ready);
        }
        self.own_slot(earliest)
    }

    fn step(&mut self, mem: &mut TileMemory<'_>, env: Env<'_>) -> Result<(), Box<Failure>> {
        let a = env.assumptions;
        if self.now > env.limit {
            return Err(self.fail(None, Cause::Limit(env.limit)));
        }
        let executable =
            self.pc & 3 == 0 && (memory::BASE..memory::EXECUTABLE_END).contains(&self.pc);
        let Some(word) = mem.word(self.pc).filter(|_| executable) else {
            return Err(self.exception(None, Exception::InvalidPc, "no executable memory here"));
        };
        let second = mem.word(self.pc + 4).unwrap_or(0);
        let decoded = decode(word, second);
        let Some(Decoded {
            inst,
            micro,
            words,
            exchange,
        }) = decoded
        else {
            let detail = format!("the word {word:#010x} is no supervisor instruction");
            return Err(self.exception(None, Exception::InvalidInstruction, &detail));
        };
        if words == 2 && self.pc & 7 != 0 {
            let detail = "sendpicp must stand at a multiple of 8";
            return Err(self.exception(Some(&inst), Exception::InvalidInstruction, detail));
        }
        let in_row = !self.log.is_empty() || exchange;
        if in_row && !exchange && !row_companion(inst.op) {
            // Anything but exchange instructions, base switches and the return ends the row.
            self.log.end = self.now;
            self.end_row();
            return Ok(());
        }
        if exchange {
            return self.exchange(&inst, words, env);
        }
        let issue = self.issue_cycle(&inst, a);
        let before = self.now;
        self.now = issue;
        let next = self.pc + 4;
        if let Some(micro) = micro {
            let pc = self.pc;
            let flow = exec_common(
                micro,
                &mut CommonContext {
                    mrf: &mut self.mrf,
                    mem,
                    window: || FetchWindow::supervisor(pc),
                    next,
                    brnzdec_stays: env.model.brnzdec_stays,
                    store_commits: env.model.store_commits,
                },
            );
            let info = inst.op.info();
            let (pc, cost) = match flow {
                Ok(Flow::Next) => {
                    let cost = if info.flags.store {
                        a.sup_store
                    } else if info.flags.control {
                        a.sup_not_taken
                    } else {
                        a.sup_issue
                    };
                    (next, cost)
                }
                Ok(Flow::Taken(target)) => (target, a.sup_branch),
                Err(Raised {
                    exception: Exception::InvalidPc,
                    detail: Some(0),
                    ..
                }) if info.flags.control => {
                    self.status = Status::Ended { at: issue };
                    self.breakdown.supervisor += issue - before;
                    return Ok(());
                }
                Err(raised) => {
                    let detail = match raised.detail {
                        Some(address) => format!("address {address:#x}"),
                        None => "refused".into(),
                    };
                    return Err(self.exception(Some(&inst), raised.exception, &detail));
                }
            };
            for (index, operand) in info.operands.iter().enumerate() {
                if operand.kind == OperandKind::M && operand.role != Role::Use {
                    let register = inst.operands[index] as usize & 15;
                    if register < 12 {
                        self.producers[register] = Some(Producer { issue, get: false });
                    }
                }
            }
            let was_row = in_row;
            self.pc = pc;
            self.now = issue + u64::from(cost);
            if was_row {
                if inst.op == Op::BrMmmn {
                    self.log.end = issue;
                    self.breakdown.exchange += issue - self.row_start;
                    self.end_row();
                }
            } else {
                self.breakdown.supervisor += self.now - before;
            }
            return Ok(());
        }
        self.system(&inst, mem, before, env)
    }

    fn end_row(&mut self) {
        self.status = Status::RowEnd;
        self.stream = None;
    }

    /// Instructions that are neither common nor exchange.
    fn system(
        &mut self,
        inst: &Inst,
        mem: &mut TileMemory<'_>,
        before: u64,
        env: Env<'_>,
    ) -> Result<(), Box<Failure>> {
        let a = env.assumptions;
        let issue = self.now;
        let [op0, op1, op2, ..] = inst.operands;
        let mut cost = a.sup_issue;
        match inst.op {
            Op::GetMmmnZi => {
                let number = op1 as u16;
                if csr::in_supervisor(number).is_none() || matches!(number, 0x60 | 0x61) {
                    let detail = format!("CSR {number:#x} does not exist in the supervisor");
                    return Err(self.exception(Some(inst), Exception::InvalidOperand, &detail));
                }
                let value = match number {
                    csr::number::PC => self.pc,
                    csr::number::ANS_DCOUNT => self.credits.iter().map(|c| c.1).sum(),
                    csr::number::TILE_ID => self.id.physical().0 as u32,
                    _ => self.csr[number as usize],
                };
                if op0 < 12 {
                    self.mrf[op0 as usize] = value;
                    self.producers[op0 as usize] = Some(Producer { issue, get: true });
                }
            }
            Op::PutMmmnZi => {
                cost = self.put(inst, issue, a)?;
            }
            Op::Ld64putcsMmmnZi | Op::Ld128putcsMmmnZi => {
                self.load_weights(inst, mem)?;
                cost = a.sup_putcs;
                self.weights_ready = issue + u64::from(a.sup_putcs + a.sup_cwei_ready);
            }
            Op::RunMmmnZi | Op::RunallMmmnZi => {
                cost = a.sup_launch;
                let entry = self.mrf[op0 as usize & 15];
                let base = self.mrf[op1 as usize & 15];
                let aligned = entry & 3 == 0 && base & 3 == 0;
                let executable = (memory::BASE..memory::EXECUTABLE_END).contains(&entry);
                if !aligned || !executable {
                    let detail = format!("entry {entry:#x}, vertex base {base:#x}");
                    return Err(self.exception(Some(inst), Exception::InvalidOperand, &detail));
                }
                let busy = |w: usize| self.slot_free[w] > issue;
                let all = inst.op == Op::RunallMmmnZi;
                if all && (0..WORKERS).any(busy) {
                    let detail = "a worker is still active; join with `sync 2` first";
                    return Err(self.exception(Some(inst), Exception::InvalidInstruction, detail));
                }
                self.launched = issue;
                if env.record_launches {
                    self.launches.push([0; WORKERS]);
                }
                if all {
                    for w in 0..WORKERS {
                        let vertex = base.wrapping_add(4 * op2 * w as u32);
                        self.launch(w, entry, vertex, mem, issue, env)?;
                    }
                } else {
                    let Some(w) = (0..WORKERS).find(|&w| !busy(w)) else {
                        let cause = Cause::Model("run with no free worker (sup_run_full)".into());
                        return Err(self.fail(Some(inst), cause));
                    };
                    let vertex = base.wrapping_add(4 * op2).wrapping_add(memory::BASE);
                    self.launch(w, entry, vertex, mem, issue, env)?;
                }
            }
            Op::SansMmmnZi => {
                cost = a.sup_sans;
                let total: u64 = self.credits.iter().map(|c| c.1 as u64).sum();
                let added = op0 as u64 + 1;
                if total + added > a.sup_ans_limit as u64 {
                    let detail = "credit above the limit (sup_ans_limit)";
                    return Err(self.fail(Some(inst), Cause::Model(detail.into())));
                }
                self.credits.push_back((issue, added as u32));
            }
            Op::SyncMmmnZi => return self.sync(inst, before, env),
            Op::TrapMmmnZi => {
                let exception = if op0 & 1 == 0 {
                    Exception::Trap0
                } else {
                    Exception::Trap1
                };
                return Err(self.exception(Some(inst), exception, "trap instruction"));
            }
            _ => {
                let detail = "not a supervisor instruction";
                return Err(self.exception(Some(inst), Exception::InvalidInstruction, detail));
            }
        }
        self.pc += 4;
        self.now = issue + u64::from(cost);
        self.breakdown.supervisor += self.now - before;
        Ok(())
    }

    fn put(&mut self, inst: &Inst, issue: u64, a: &Assumptions) -> Result<u32, Box<Failure>> {
        let number = inst.operands[1] as u16;
        let value = self.mrf[inst.operands[0] as usize & 15];
        let Some(known) = csr::in_supervisor(number) else {
            let detail = format!("CSR {number:#x} does not exist in the supervisor");
            return Err(self.exception(Some(inst), Exception::InvalidOperand, &detail));
        };
        match number {
            csr::number::CR => {
                if value & 4 != 0 {
                    self.shared.clear_weights();
                }
            }
            csr::number::PC | csr::number::ANS_DCOUNT | csr::number::TILE_ID => {}
            csr::number::INCOMING_MUX => {
                if self.log.is_empty() {
                    self.mux = value as u16;
                } else {
                    let event = SelectEvent {
                        at: issue,
                        source: value as u16,
                        pair: false,
                    };
                    self.log.selects.push(event);
                }
                self.csr[number as usize] = value & known.writable;
            }
            _ => self.csr[number as usize] = value & known.writable,
        }
        Ok(if csr::EXCHANGE.contains(&number) {
            a.sup_put_exch
        } else {
            a.sup_put
        })
    }

    fn load_weights(&mut self, inst: &Inst, mem: &TileMemory<'_>) -> Result<(), Box<Failure>> {
        let wide = inst.op == Op::Ld128putcsMmmnZi;
        let index = inst.operands[0];
        let bytes = if wide { 16 } else { 8 };
        let address = self.csr[csr::number::CCCSLOAD as usize];
        let bad = |this: &Tile, exception, detail: String| {
            Err(this.exception(Some(inst), exception, &detail))
        };
        if index >= csr::WEIGHTS || wide && index & 1 != 0 {
            return bad(
                self,
                Exception::InvalidOperand,
                format!("weight register {index}"),
            );
        }
        let region = !wide || address >= memory::INTERLEAVED_BASE;
        if !memory::is_populated(address, bytes) || address & (bytes - 1) != 0 || !region {
            return bad(
                self,
                Exception::InvalidAddress,
                format!("$CCCSLOAD is {address:#x}"),
            );
        }
        if FetchWindow::supervisor(self.pc).clashes(address) {
            return bad(
                self,
                Exception::Conflict,
                format!("weights at {address:#x} beside code"),
            );
        }
        for part in 0..bytes / 8 {
            let [low, high] = mem.pair(address + 8 * part);
            let value = u64::from(low) | u64::from(high) << 32;
            self.shared.set_weight((index + part) as usize, value);
        }
        self.csr[csr::number::CCCSLOAD as usize] = address + bytes;
        Ok(())
    }

    fn launch(
        &mut self,
        w: usize,
        entry: u32,
        vertex: u32,
        mem: &mut TileMemory<'_>,
        issue: u64,
        env: Env<'_>,
    ) -> Result<(), Box<Failure>> {
        let a = env.assumptions;
        let fp = [
            csr::number::FP_ICTL,
            csr::number::FP_INFMT,
            csr::number::FP_ISCL,
        ]
        .map(|number| self.csr[number as usize]);
        let worker_base = self.csr[csr::WORKER_BASES as usize + w];
        let (turns, cycles) = worker::misaligned_entry(entry, mem, env.model);
        let worker = &mut self.workers[w];
        worker.launch(entry, vertex, worker_base, fp);
        // First cycle of its slot at or after the launch time (`sup_start`, `sup_slot_map`).
        let mut start = issue + u64::from(a.sup_launch);
        while start % WORKERS as u64 != w as u64 {
            start += 1;
        }
        start += 6 * u64::from(turns) + u64::from(cycles);
        let turns = env.limit.saturating_sub(start) / 6 + 1;
        let stop = worker::run(
            worker,
            &mut self.shared,
            mem,
            &mut self.cache,
            env.model,
            start,
            turns,
        );
        self.worker_turns += stop.turns;
        if let Some(launch) = self.launches.last_mut() {
            launch[w] = stop.turns;
        }
        match stop.reason {
            StopReason::Exited { .. } => {
                let exit = start + stop.cycles - 6;
                self.last_exit = self.last_exit.max(exit);
                self.slot_free[w] = exit + u64::from(a.sup_slot_return);
                Ok(())
            }
            StopReason::Limit => Err(self.fail(None, Cause::Limit(env.limit))),
            StopReason::Exception(info) => {
                let detail = match info.detail {
                    Some(detail) => format!("about {detail:#x}"),
                    None => "raised by the instruction".into(),
                };
                let words = [info.pc, info.pc + 4].map(|at| mem.word(at).unwrap_or(0));
                let group = ipucc_machine::Group::decode(&words, ipucc_machine::Context::Worker);
                Err(Box::new(Failure {
                    tile: Some(self.id),
                    context: ContextId::Worker(w as u8),
                    pc: info.pc,
                    instruction: group
                        .map(|(group, _)| group.to_string())
                        .unwrap_or_default(),
                    cycle: info.cycle,
                    cause: Cause::Exception {
                        exception: info.exception,
                        detail,
                    },
                }))
            }
        }
    }

    fn sync(&mut self, inst: &Inst, before: u64, env: Env<'_>) -> Result<(), Box<Failure>> {
        let a = env.assumptions;
        let issue = self.now;
        let zone = inst.operands[0];
        let credit: u32 = self.credits.iter().map(|c| c.1).sum();
        self.pc += 4;
        self.breakdown.supervisor += issue - before;
        match zone {
            0 if self.csr[csr::number::INCOMING_DCOUNT as usize] == 0 => {
                self.now = issue + u64::from(a.sup_sync);
                self.breakdown.supervisor += u64::from(a.sup_sync);
            }
            1 if credit == 0 => {
                self.now = issue + u64::from(a.sup_sync);
                self.breakdown.supervisor += u64::from(a.sup_sync);
            }
            1 => self.status = Status::Credit { since: issue },
            2 => {
                let joined = self.last_exit + u64::from(a.sup_join);
                self.now = (issue + u64::from(a.sup_sync)).max(joined);
                if self.last_exit > 0 && self.launched > 0 && joined > issue {
                    self.breakdown.compute += self.now - self.launched;
                    let counted = issue - self.launched;
                    self.breakdown.supervisor = self.breakdown.supervisor.saturating_sub(counted);
                } else {
                    self.breakdown.supervisor += self.now - issue;
                }
                self.launched = 0;
            }
            3 if credit > 0 => {
                let detail = "sync while the tile has abstention credit (sup_sync_e7)";
                return Err(self.exception(Some(inst), Exception::ExchangeConfiguration, detail));
            }
            3 => self.status = Status::Barrier { zone, since: issue },
            8..=11 => {
                let detail = "not a sync zone (sup_sync_e7)";
                return Err(self.exception(Some(inst), Exception::ExchangeConfiguration, detail));
            }
            _ => {
                let cause = Cause::Model(format!("sync zone {zone} needs the host's side"));
                return Err(self.fail(Some(inst), cause));
            }
        }
        Ok(())
    }

    /// Values of the MRF, for dumps.
    pub fn registers(&self) -> &[u32] {
        &self.mrf[..16]
    }
}

/// What may stand in a row besides exchange instructions: base switches and the return.
fn row_companion(op: Op) -> bool {
    matches!(op, Op::BrMmmn | Op::PutMmmnZi) || op.info().mnemonic == "setzi"
}
