//! One tile: its supervisor's program, its workers, and time.
//!
//! A tile runs from one synchronisation to the next in one go. Launched workers are executed at
//! their launch, in order of their number, with their own issue times; contexts of a tile that race
//! through memory are therefore not interleaved.

mod system;
mod watch;

pub(super) use watch::text_at;

use super::decoded::{Decoded, decode};
use super::host::Port;
use super::log::ExchangeLog;
use super::probe::Probes;
use super::trace::{Activity, Span, WorkerUse};
use crate::decode::{CodeCache, CodeStore, DecodeModel};
use crate::fault::{Cause, ContextId, Failure};
use crate::memory::{CodeMarks, FetchWindow, TILE_BYTES, TileMemory};
use crate::worker::{
    CommonContext, Flow, Model, Raised, Registers, Shared, WorkerState, exec_common,
};
use ipucc_chip::exception::Exception;
use ipucc_chip::{Assumptions, LogicalTile, csr, memory, timing};
use ipucc_machine::{Context, Inst, Op, OperandKind, Role};
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
    /// Stands at a `send` to the host since this cycle, with these words at its source.
    Port {
        /// Arrival.
        since: u64,
        /// The first two words that it would send.
        words: [u32; 2],
    },
    /// Waits in `sync 0` for words since this cycle.
    Receive {
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
    /// What every worker used.
    pub workers_used: [WorkerUse; WORKERS],
    /// Timeline, if it is kept.
    pub spans: Option<Vec<Span>>,
    /// Breakpoints: address and how often it is still passed.
    pub(super) breaks: Vec<(u32, u64)>,
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
    /// Cycle from which the worker can be launched again; 0 = idle.
    worker_free: [u64; WORKERS],
    last_exit: u64,
    /// Supervisor cycles counted at the first launch since the last join.
    launched: Option<u64>,
    pub(super) row_start: u64,
    /// First cycle in which a launch may use the weights loaded last.
    weights_ready: u64,
    pub(super) stream: Option<(u32, u8, bool)>,
    pub(super) marks: CodeMarks,
    /// The way to the host.
    pub(super) port: Port,
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
            workers_used: Default::default(),
            spans: None,
            breaks: Vec::new(),
            worker_turns: 0,
            launches: Vec::new(),
            mrf: [0; 32],
            producers: [None; 16],
            csr,
            credits: VecDeque::new(),
            workers: (0..WORKERS as u8).map(WorkerState::new).collect(),
            shared: Shared::new(),
            slot_free: [0; WORKERS],
            worker_free: [0; WORKERS],
            last_exit: 0,
            launched: None,
            row_start: 0,
            weights_ready: 0,
            stream: None,
            marks: CodeMarks::new(),
            port: Port::default(),
            probes: Probes::default(),
            cache: CodeCache::new(store, model),
        }
    }

    /// Begins at `entry` in cycle 0.
    pub fn start(&mut self, entry: u32, trace: bool) {
        self.spans = trace.then(Vec::new);
        self.workers_used = Default::default();
        self.port = Port::default();
        self.status = Status::Running;
        self.now = 0;
        self.pc = entry;
        self.producers = [None; 16];
        self.slot_free = [0; WORKERS];
        self.worker_free = [0; WORKERS];
        self.last_exit = 0;
        self.launched = None;
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
        let activity = match self.status {
            Status::Barrier { zone, .. } => Activity::Barrier { zone },
            _ => Activity::Credit,
        };
        self.span(activity, since, cycle, self.pc.wrapping_sub(4));
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
                result = match self.at_break(&mem) {
                    Some(failure) => Err(failure),
                    None => self.step(&mut mem, env),
                };
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
            let mut failure = self.fail(None, Cause::Limit(env.limit));
            failure.instruction = text_at(self.pc, Context::Supervisor, mem);
            return Err(failure);
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
            let mut failure = self.exception(None, Exception::InvalidInstruction, &detail);
            failure.instruction = text_at(self.pc, Context::Supervisor, mem);
            return Err(failure);
        };
        if words == 2 && self.pc & 7 != 0 {
            let detail = "sendpicp must stand at a multiple of 8";
            return Err(self.exception(Some(&inst), Exception::InvalidInstruction, detail));
        }
        let in_row = self.log.code.is_some() || exchange;
        if in_row && !exchange && !row_companion(inst.op) {
            // Anything but exchange instructions, base switches and the return ends the row.
            self.log.end = self.now;
            self.end_row(self.now);
            return Ok(());
        }
        if in_row {
            self.log.steps.push((self.now, self.pc));
        }
        if exchange {
            return self.exchange(&inst, words, mem, env);
        }
        if !a.sup_ans_overlap
            && !self.credits.is_empty()
            && !matches!(inst.op, Op::SansMmmnZi | Op::SyncMmmnZi)
        {
            let cause = Cause::Model("work between sans and sync 1 (sup_ans_overlap)".into());
            return Err(self.fail(Some(&inst), cause));
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
                    if in_row {
                        // A row that returns to nowhere delivers nothing.
                        self.end_row(issue);
                    } else {
                        self.breakdown.supervisor += issue - before;
                    }
                    self.status = Status::Ended { at: issue };
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
                    let events = issue - self.row_start;
                    if !self.log.is_empty() && events < u64::from(a.sup_row_min) {
                        let least = a.sup_row_min;
                        let cause = Cause::Model(format!(
                            "a row of {events} events; at least {least} (sup_row_min)"
                        ));
                        let mut failure = self.fail(Some(&inst), cause);
                        (failure.pc, failure.cycle) = (next - 4, issue);
                        return Err(failure);
                    }
                    self.log.end = issue;
                    self.end_row(self.now);
                }
            } else {
                self.breakdown.supervisor += self.now - before;
            }
            return Ok(());
        }
        self.system(&inst, mem, before, in_row, env)
    }

    fn end_row(&mut self, end: u64) {
        self.breakdown.exchange += end - self.row_start;
        let pc = self.log.code.map_or(self.pc, |code| code.0);
        self.span(Activity::Exchange, self.row_start, end, pc);
        self.status = Status::RowEnd;
        self.stream = None;
    }

    /// True if a worker holds its slot in this cycle.
    pub(super) fn workers_active(&self, cycle: u64) -> bool {
        self.slot_free.iter().any(|&free| free > cycle)
    }

    /// Replaces `$INCOMING_DCOUNT`.
    pub(super) fn set_dcount(&mut self, value: u32) {
        self.csr[csr::number::INCOMING_DCOUNT as usize] = value;
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
