//! Breakpoints and the record of what a tile did.

use super::super::trace::{Activity, Span};
use super::{Env, Tile};
use crate::fault::{Cause, ContextId, Failure};
use crate::memory::TileMemory;
use crate::worker::{self, Stop, StopReason, WorkerState};
use ipucc_machine::{Context, Group};

/// Text of the issue group at `pc`: a word that is none is shown as it is, and nothing if no memory
/// is there.
pub fn text_at(pc: u32, context: Context, mem: &TileMemory<'_>) -> String {
    let Some(word) = mem.word(pc) else {
        return String::new();
    };
    let words = [word, mem.word(pc.wrapping_add(4)).unwrap_or(0)];
    match Group::decode(&words, context) {
        Ok((group, _)) => group.to_string(),
        Err(_) => format!(".long {word:#010x}"),
    }
}

impl Tile {
    /// Records a span of the supervisor, if a timeline is kept.
    pub(in crate::chip) fn span(&mut self, activity: Activity, start: u64, end: u64, pc: u32) {
        if end <= start {
            return;
        }
        if let Some(spans) = &mut self.spans {
            spans.push(Span {
                context: ContextId::Supervisor,
                activity,
                start,
                end,
                pc,
            });
        }
    }

    /// True if a breakpoint at `pc` stops this time.
    fn hit(&mut self, pc: u32) -> bool {
        let Some((_, left)) = self.breaks.iter_mut().find(|(at, _)| *at == pc) else {
            return false;
        };
        *left = left.saturating_sub(1);
        *left == 0
    }

    /// The stop at a breakpoint of the supervisor, if one is due.
    pub(super) fn at_break(&mut self, mem: &TileMemory<'_>) -> Option<Box<Failure>> {
        if self.breaks.is_empty() || !self.hit(self.pc) {
            return None;
        }
        let mut failure = self.fail(None, Cause::Break);
        failure.instruction = text_at(self.pc, Context::Supervisor, mem);
        Some(failure)
    }

    /// Runs worker `w` one issue group at a time and stops at breakpoints.
    pub(super) fn run_watched(
        &mut self,
        w: usize,
        mem: &mut TileMemory<'_>,
        env: Env<'_>,
        start: u64,
        limit: u64,
    ) -> Result<Stop, Box<Failure>> {
        let mut sum = Stop {
            turns: 0,
            cycles: 0,
            reason: StopReason::Limit,
        };
        while sum.turns < limit {
            let pc = self.workers[w].pc;
            if self.hit(pc) {
                return Err(Box::new(Failure {
                    tile: Some(self.id),
                    context: ContextId::Worker(w as u8),
                    pc,
                    instruction: text_at(pc, Context::Worker, mem),
                    cycle: start + sum.cycles,
                    cause: Cause::Break,
                }));
            }
            let stop = worker::step(
                &mut self.workers[w],
                &mut self.shared,
                mem,
                &mut self.cache,
                env.model,
                start + sum.cycles,
            );
            sum.turns += stop.turns;
            sum.cycles += stop.cycles;
            sum.reason = stop.reason;
            if stop.reason != StopReason::Limit {
                break;
            }
        }
        Ok(sum)
    }

    /// A worker's state, for dumps.
    pub fn worker(&self, index: usize) -> Option<&WorkerState> {
        self.workers.get(index)
    }

    /// A supervisor CSR as stored, for dumps.
    pub fn csr(&self, number: u8) -> u32 {
        self.csr[number as usize]
    }
}
