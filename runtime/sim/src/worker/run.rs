//! The run loop of a worker.

use super::aux_lane::AuxContext;
use super::csr;
use super::main_lane::MainContext;
use super::model::Model;
use super::state::{Exception, Raised, Shared, WorkerState};
use crate::arith::f32ops::wr;
use crate::arith::prng::Prng;
use crate::decode::{Code, CodeCache, MainOp, PAGE_WORDS, Slot};
use crate::memory::{PAGE_SHIFT, TileMemory};
use ipucc_chip::assumptions::MisalignedTarget;

/// An exception and where it happened.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ExceptionInfo {
    /// Which.
    pub exception: Exception,
    /// Address of the issue group.
    pub pc: u32,
    /// Tile cycle in which the group issued.
    pub cycle: u64,
    /// Data address, branch target or CSR number that it is about.
    pub detail: Option<u32>,
    /// True if the group's results were committed.
    pub imprecise: bool,
    /// True inside a `rpt` body: not recoverable.
    pub in_repeat: bool,
}

/// Why a worker stopped.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum StopReason {
    /// It executed an `exit*` with this status.
    Exited {
        /// Exit status.
        status: bool,
    },
    /// It raised an exception; the worker is Excepted.
    Exception(ExceptionInfo),
    /// The turn limit was reached; the worker can go on.
    Limit,
}

/// Outcome of [`run`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Stop {
    /// Turns used (six tile cycles each), the one of an `exit*` included; a group that raises
    /// counts as one turn.
    pub turns: u64,
    /// Tile cycles used: six a turn, and what misaligned branch targets cost where that is
    /// counted in cycles.
    pub cycles: u64,
    /// Why.
    pub reason: StopReason,
}

/// Executes a worker from `w.pc` to its exit, an exception, or until `limit` turns are used (a
/// group of several turns is not cut). `start_cycle` is the tile cycle in which the first group
/// issues.
pub fn run(
    w: &mut WorkerState,
    shared: &mut Shared,
    mem: &mut TileMemory<'_>,
    cache: &mut CodeCache,
    model: &Model,
    start_cycle: u64,
    limit: u64,
) -> Stop {
    let mut r = Runner {
        w,
        shared,
        mem,
        model,
        start_cycle,
        turns: 0,
        extra_cycles: 0,
        unusual: model.fp_clr_late
            || model.unbacked_copy
            || !model.acc_raw
            || model.misaligned == MisalignedTarget::BundleCycle,
        limit,
    };
    if model.unbacked_copy {
        r.w.copy_unbacked();
    }
    loop {
        if r.turns >= limit {
            return r.stop(StopReason::Limit);
        }
        let Some(code) = cache.page(r.w.pc, r.mem) else {
            let raised = Raised::about(Exception::InvalidPc, r.w.pc);
            return r.except(raised);
        };
        r.mem.marks().clear_changed();
        let left = if r.w.repeat_count != 0 {
            r.page::<true>(&code, cache)
        } else {
            r.page::<false>(&code, cache)
        };
        if let Some(stop) = left {
            return stop;
        }
    }
}

/// Executes one issue group, whatever its turns.
pub fn step(
    w: &mut WorkerState,
    shared: &mut Shared,
    mem: &mut TileMemory<'_>,
    cache: &mut CodeCache,
    model: &Model,
    cycle: u64,
) -> Stop {
    run(w, shared, mem, cache, model, cycle, 1)
}

struct Runner<'c, 'm> {
    w: &'c mut WorkerState,
    shared: &'c mut Shared,
    mem: &'c mut TileMemory<'m>,
    model: &'c Model,
    start_cycle: u64,
    turns: u64,
    extra_cycles: u64,
    /// The model has a rule that is applied after every group.
    unusual: bool,
    limit: u64,
}

/// What a precise exception of the aux member takes back of the main member.
struct Undo {
    mrf: [u32; 16],
    repeat: [u32; 3],
    dbg_data: u32,
}

impl<'m> Runner<'_, 'm> {
    /// Tile cycle in which the next group issues.
    #[inline(always)]
    fn cycle(&self) -> u64 {
        self.start_cycle + 6 * self.turns + self.extra_cycles
    }

    fn stop(&self, reason: StopReason) -> Stop {
        Stop {
            turns: self.turns,
            cycles: 6 * self.turns + self.extra_cycles,
            reason,
        }
    }

    #[cold]
    fn except(&mut self, raised: Raised) -> Stop {
        let in_repeat = self.w.repeat_count != 0;
        let info = ExceptionInfo {
            exception: raised.exception,
            pc: self.w.pc,
            cycle: self.cycle(),
            detail: raised.detail,
            imprecise: raised.imprecise,
            in_repeat,
        };
        self.w.wsr = u32::from(raised.exception.code()) << 4 | u32::from(in_repeat) << 9;
        self.w.pending.count = 0;
        self.turns += 1;
        self.stop(StopReason::Exception(info))
    }

    /// Executes groups of one decoded page; `None` when another page, or this one decoded again,
    /// is needed, or when a `rpt` body begins or ends.
    fn page<const REPEAT: bool>(&mut self, code: &Code, cache: &CodeCache) -> Option<Stop> {
        let page = self.w.pc >> PAGE_SHIFT;
        loop {
            if self.turns >= self.limit {
                return Some(self.stop(StopReason::Limit));
            }
            let mut slot = code.slot(self.w.pc as usize >> 2 & (PAGE_WORDS - 1));
            if slot.main.main() == MainOp::Cross {
                slot = cache.group_at(self.w.pc, self.mem);
            }
            let bundled = slot.is_bundle();
            if REPEAT
                && (!bundled || slot.main.main().is_control() || slot.aux.aux().is_system())
                && slot.main.main() != MainOp::Fault
            {
                return Some(self.except(Raised::new(Exception::InvalidInstruction)));
            }
            self.w.next = self.w.pc + if bundled { 8 } else { 4 };
            self.w.extra_turns = 0;
            if let Err(raised) = self.group(slot, bundled) {
                return Some(self.except(raised));
            }
            self.turns += 1 + u64::from(self.w.extra_turns);
            self.w.pc = self.w.next;
            if self.unusual {
                self.after_group();
            }
            if REPEAT {
                if self.w.pc == self.w.repeat_end {
                    self.w.repeat_count -= 1;
                    if self.w.repeat_count == 0 {
                        return None;
                    }
                    self.w.pc = self.w.repeat_first;
                }
            } else {
                if let Some(status) = self.w.exit.take() {
                    return Some(self.stop(StopReason::Exited { status }));
                }
                if self.w.repeat_count != 0 {
                    return None;
                }
            }
            if self.w.pc >> PAGE_SHIFT != page || self.mem.code_changed() {
                return None;
            }
        }
    }

    #[inline(always)]
    fn main(&mut self, bundled: bool) -> MainContext<'_, 'm> {
        let cycle = self.cycle();
        MainContext {
            w: self.w,
            shared: self.shared,
            mem: self.mem,
            model: self.model,
            bundled,
            cycle,
        }
    }

    #[inline(always)]
    fn aux(&mut self) -> AuxContext<'_> {
        AuxContext {
            w: self.w,
            shared: self.shared,
            model: self.model,
        }
    }

    #[inline(always)]
    fn group(&mut self, slot: Slot, bundled: bool) -> Result<(), Raised> {
        if slot.aux.is_none() {
            self.main(false).exec(slot.main)?;
        } else if self.w.fp_ctl & 7 != 0 || slot.aux.aux().is_system() || self.model.aux_first {
            return self.guarded(slot, bundled);
        } else {
            if bundled {
                self.main(true).exec(slot.main)?;
            }
            self.aux().exec(slot.aux)?;
        }
        self.retire_loads();
        Ok(())
    }

    /// Rules of models other than the default one that act between groups.
    #[cold]
    fn after_group(&mut self) {
        self.extra_cycles += u64::from(std::mem::take(&mut self.w.extra_cycles));
        if let Some((value, wait)) = self.w.late_clear {
            if wait == 0 {
                csr::clear(self.w, value);
                self.w.late_clear = None;
            } else {
                self.w.late_clear = Some((value, wait - 1));
            }
        }
        if !self.model.acc_raw {
            for v in self.w.acc.sum.iter_mut().chain(&mut self.w.acc.stage) {
                *v = wr(f32::from_bits(*v));
            }
        }
        if self.model.unbacked_copy {
            self.w.copy_unbacked();
        }
    }

    /// A group whose aux member may raise: a precise exception takes everything back.
    #[inline(never)]
    fn guarded(&mut self, slot: Slot, bundled: bool) -> Result<(), Raised> {
        let prng = self.w.prng;
        let undo = bundled.then(|| self.remember());
        if bundled && self.model.aux_first {
            return self.guarded_aux_first(slot, prng, undo);
        }
        if bundled {
            self.main(true).exec(slot.main)?;
        }
        let result = self.aux().exec(slot.aux);
        match result {
            Err(raised) if !raised.imprecise => self.take_back(prng, undo),
            _ => self.retire_loads(),
        }
        result
    }

    /// The same under the other order of `bundle_exception_order`: what aux raises wins, and
    /// its flags and random advance stand even when only main raises.
    #[cold]
    fn guarded_aux_first(
        &mut self,
        slot: Slot,
        prng: Prng,
        undo: Option<Undo>,
    ) -> Result<(), Raised> {
        let before = self.w.clone();
        let main = self.main(true).exec(slot.main);
        let after_main = self.w.clone();
        self.w.clone_from(&before);
        let aux = self.aux().exec(slot.aux);
        let keep_aux = |w: &mut WorkerState, done: &WorkerState| {
            w.fp_sts = done.fp_sts;
            w.prng = done.prng;
        };
        let done = self.w.clone();
        match (main, aux) {
            (_, Err(raised)) if !raised.imprecise => {
                self.w.clone_from(&before);
                keep_aux(self.w, &done);
                self.take_back(prng, undo);
                Err(raised)
            }
            (Err(raised), _) => {
                self.w.clone_from(&before);
                keep_aux(self.w, &done);
                Err(raised)
            }
            (Ok(()), aux) => {
                self.w.mrf = after_main.mrf;
                self.w.next = after_main.next;
                self.w.extra_turns = self.w.extra_turns.max(after_main.extra_turns);
                self.w.extra_cycles = after_main.extra_cycles;
                self.w.repeat_count = after_main.repeat_count;
                self.w.repeat_first = after_main.repeat_first;
                self.w.repeat_end = after_main.repeat_end;
                self.w.pending = after_main.pending;
                self.retire_loads();
                aux
            }
        }
    }

    fn remember(&mut self) -> Undo {
        let mut mrf = [0; 16];
        mrf.copy_from_slice(&self.w.mrf[..16]);
        if !self.model.store_commits {
            self.mem.record_stores();
        }
        Undo {
            mrf,
            repeat: [self.w.repeat_count, self.w.repeat_first, self.w.repeat_end],
            dbg_data: self.shared.dbg_data,
        }
    }

    fn take_back(&mut self, prng: Prng, undo: Option<Undo>) {
        if !self.model.prng_kept {
            self.w.prng = prng;
        }
        let Some(undo) = undo else { return };
        self.w.mrf[..16].copy_from_slice(&undo.mrf);
        [self.w.repeat_count, self.w.repeat_first, self.w.repeat_end] = undo.repeat;
        self.shared.dbg_data = undo.dbg_data;
        if !self.model.store_commits {
            self.mem.undo_stores();
        }
    }

    #[inline(always)]
    fn retire_loads(&mut self) {
        let p = &mut self.w.pending;
        if p.count == 0 {
            return;
        }
        let p = std::mem::take(p);
        let (at, n) = (p.at as usize, p.count as usize);
        for i in 0..n.min(4) {
            self.w.arf[(at + i) & 31] = p.words[i];
        }
        for i in 0..p.count2 as usize {
            self.w.arf[(p.at2 as usize + i) & 31] = p.words[(n + i) & 3];
        }
    }
}
