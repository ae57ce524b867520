//! What the supervisor alone does: CSRs, weights, launches, barriers and credit.

use super::super::host::is_host;
use super::super::log::SelectEvent;
use super::super::trace::{Activity, Span};
use super::{Env, Producer, Status, Tile, WORKERS, text_at};
use crate::fault::{Cause, ContextId, Failure};
use crate::memory::{FetchWindow, TileMemory};
use crate::worker::{self, StopReason};
use ipucc_chip::assumptions::{RunPick, Scount, SlotMap, Start, SyncCheck};
use ipucc_chip::exception::Exception;
use ipucc_chip::sync::Zone;
use ipucc_chip::{Assumptions, csr, memory};
use ipucc_machine::{Context, Inst, Op};

impl Tile {
    /// Instructions that are neither common nor exchange.
    pub(super) fn system(
        &mut self,
        inst: &Inst,
        mem: &mut TileMemory<'_>,
        before: u64,
        in_row: bool,
        env: Env<'_>,
    ) -> Result<(), Box<Failure>> {
        let a = env.assumptions;
        let issue = self.now;
        let [op0, op1, op2, ..] = inst.operands;
        let mut cost = a.sup_issue;
        match inst.op {
            Op::GetMmmnZi => {
                let number = op1 as u16;
                let counter = matches!(number, 0x60 | 0x61);
                let hidden = counter && a.sup_scount == Scount::Invalid;
                if csr::in_supervisor(number).is_none() || hidden {
                    let detail = format!("CSR {number:#x} does not exist in the supervisor");
                    return Err(self.exception(Some(inst), Exception::InvalidOperand, &detail));
                }
                let value = match number {
                    csr::number::PC => self.pc,
                    0x60 => issue as u32,
                    0x61 => (issue >> 32) as u32,
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
                let busy = |w: usize| self.worker_free[w] > issue;
                let all = inst.op == Op::RunallMmmnZi;
                if all && (0..WORKERS).any(busy) {
                    let detail = "a worker is still active; join with `sync 2` first";
                    return Err(self.exception(Some(inst), Exception::InvalidInstruction, detail));
                }
                let counted = self.breakdown.supervisor + issue - before;
                self.launched.get_or_insert(counted);
                if env.record_launches {
                    self.launches.push([0; WORKERS]);
                }
                if all {
                    for w in 0..WORKERS {
                        let vertex = base.wrapping_add(4 * op2 * w as u32);
                        self.launch((w, w as u64), entry, vertex, mem, issue, env)?;
                    }
                } else {
                    let free = |w: &usize| !busy(*w);
                    let worker = match a.sup_run_pick {
                        RunPick::Lowest => (0..WORKERS).find(free),
                        RunPick::Highest => (0..WORKERS).rfind(free),
                    };
                    let Some(w) = worker else {
                        let cause = Cause::Model("run with no free worker (sup_run_full)".into());
                        return Err(self.fail(Some(inst), cause));
                    };
                    let vertex = base.wrapping_add(4 * op2).wrapping_add(memory::BASE);
                    self.launch((w, 0), entry, vertex, mem, issue, env)?;
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
        if !in_row {
            self.breakdown.supervisor += self.now - before;
        }
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
        (w, order): (usize, u64),
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
        let earliest = issue + u64::from(a.sup_launch);
        let start = match (a.sup_start, a.sup_slot_map) {
            (Start::Fixed, _) => earliest + WORKERS as u64 - 1,
            (Start::OwnSlot, SlotMap::Launch) => earliest + order,
            (Start::OwnSlot, SlotMap::Worker) => {
                let ahead = (w as u64 + 6 - earliest % 6) % 6;
                earliest + ahead
            }
        };
        let slot = (start % WORKERS as u64) as usize;
        let start = start + 6 * u64::from(turns) + u64::from(cycles);
        let turns = env.limit.saturating_sub(start) / 6 + 1;
        let stop = if self.breaks.is_empty() {
            worker::run(
                worker,
                &mut self.shared,
                mem,
                &mut self.cache,
                env.model,
                start,
                turns,
            )
        } else {
            self.run_watched(w, mem, env, start, turns)?
        };
        self.worker_turns += stop.turns;
        self.workers_used[w].turns += stop.turns;
        self.workers_used[w].cycles += stop.cycles;
        if let Some(spans) = &mut self.spans {
            spans.push(Span {
                context: ContextId::Worker(w as u8),
                activity: Activity::Worker,
                start,
                end: start + stop.cycles,
                pc: entry,
            });
        }
        if let Some(launch) = self.launches.last_mut() {
            launch[w] = stop.turns;
        }
        match stop.reason {
            StopReason::Exited { .. } => {
                let exit = start + stop.cycles - 6;
                self.last_exit = self.last_exit.max(exit);
                let back = exit + u64::from(a.sup_slot_return);
                self.worker_free[w] = back;
                // With every worker starting at once the slots are those of the workers.
                let slot = if a.sup_start == Start::Fixed { w } else { slot };
                self.slot_free[slot] = self.slot_free[slot].max(back);
                Ok(())
            }
            StopReason::Limit => {
                let pc = self.workers[w].pc;
                Err(Box::new(Failure {
                    tile: Some(self.id),
                    context: ContextId::Worker(w as u8),
                    pc,
                    instruction: text_at(pc, Context::Worker, mem),
                    cycle: start + stop.cycles,
                    cause: Cause::Limit(env.limit),
                }))
            }
            StopReason::Exception(info) => {
                let detail = match info.detail {
                    Some(detail) => format!("about {detail:#x}"),
                    None => "raised by the instruction".into(),
                };
                Err(Box::new(Failure {
                    tile: Some(self.id),
                    context: ContextId::Worker(w as u8),
                    pc: info.pc,
                    instruction: text_at(info.pc, Context::Worker, mem),
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
            0 => self.status = Status::Receive { since: issue },
            1 => self.status = Status::Credit { since: issue },
            2 => {
                let joined = self.last_exit + u64::from(a.sup_join);
                self.now = (issue + u64::from(a.sup_sync)).max(joined);
                match self.launched.take() {
                    Some(counted) if joined > issue => {
                        let since = self.breakdown.supervisor - counted;
                        self.breakdown.supervisor = counted;
                        self.breakdown.compute += since + self.now - issue;
                    }
                    _ => self.breakdown.supervisor += self.now - issue,
                }
                self.span(Activity::Join, issue, self.now, self.pc - 4);
            }
            _ => {
                let checked = a.sup_sync_e7 == SyncCheck::Checked;
                let host = is_host(self.mux);
                let wrong = match Zone::from_operand(zone) {
                    None => Some("not a sync zone (sup_sync_e7)"),
                    Some(_) if checked && credit > 0 => {
                        Some("sync while the tile has abstention credit (sup_sync_e7)")
                    }
                    Some(Zone::Internal) => None,
                    Some(_) if checked && !host => {
                        Some("external sync while the mux does not select the host (sup_sync_e7)")
                    }
                    Some(_) => None,
                };
                if let Some(detail) = wrong {
                    // The exception is that of the `sync`.
                    self.pc -= 4;
                    let exception = Exception::ExchangeConfiguration;
                    return Err(self.exception(Some(inst), exception, detail));
                }
                // 12..15 are other forms of 4..7 (`sup_zones`).
                let zone = Zone::from_operand(zone).map_or(zone, Zone::operand);
                self.status = Status::Barrier { zone, since: issue };
            }
        }
        Ok(())
    }
}
