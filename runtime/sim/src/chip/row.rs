//! The timed instructions of exchange rows: what a tile does on the fabric, as a log of events.

use super::host::is_host;
use super::log::{SelectEvent, SendSpan, StoreEvent};
use super::tile::{Env, Tile};
use crate::fault::{Cause, Failure};
use crate::memory::TileMemory;
use ipucc_chip::exception::Exception;
use ipucc_chip::{csr, timing};
use ipucc_machine::{Inst, Op};

impl Tile {
    /// An instruction that works on the fabric; its time is its field.
    pub(super) fn exchange(
        &mut self,
        inst: &Inst,
        words: u32,
        mem: &TileMemory<'_>,
        env: Env<'_>,
    ) -> Result<(), Box<Failure>> {
        let start = self.now;
        if self.workers_active(start) {
            let detail = "workers are active (receive error 4)";
            return Err(self.exception(Some(inst), Exception::ExchangeConfiguration, detail));
        }
        if self.log.code.is_none() && is_host(self.mux) {
            return self.host_exchange(inst, mem, env);
        }
        if self.log.code.is_none() {
            self.row_start = start;
            self.log.end = 0;
        }
        let last = self.pc + 4 * words - 1;
        let code = self.log.code.get_or_insert((self.pc, last));
        *code = (
            code.0.min(self.pc),
            code.1
                .max(last + u32::from(timing::SUPERVISOR_FETCH_BYTES as u16)),
        );
        let [op0, op1, op2, op3, op4, op5] = inst.operands;
        let cycles = match inst.op {
            Op::DelayMmmnZi => op0 as u64 + 1,
            Op::DelayPic => {
                self.pic(start + op0 as u64 + 1, op1, op2);
                op0 as u64 + 1
            }
            Op::DelayXpic => {
                self.xpic(start + op0 as u64 + 1, op1, op2);
                op0 as u64 + 1
            }
            Op::SendMmmnZi => {
                self.send(start, op0 + 1, Some(op1), op2, inst)?;
                op0 as u64 + 1
            }
            Op::SendOff => {
                if op1 != 0 {
                    let cause = Cause::Model("sendoff with a delta".into());
                    return Err(self.fail(Some(inst), cause));
                }
                self.send(start, op0 + 1, None, op2, inst)?;
                op0 as u64 + 1
            }
            Op::SendPic => {
                if op1 >= 2 {
                    self.pic(start + 1, op1 - 2, op2);
                } else {
                    self.xpic(start + 1, op1, op2);
                }
                self.send(start, op0 + 1, None, 0, inst)?;
                op0 as u64 + 1
            }
            _ => {
                // sendpicp: PIC selector, count - 1, address, control, XPIC, PIC.
                self.pic(start + 1, op0, op5);
                self.xpic(start + 1, op4 >> 13, op4 & 0x1fff);
                if op3 != 0 {
                    self.send(start, op1 + 1, Some(op2), op3, inst)?;
                }
                op1 as u64 + 1
            }
        };
        // Rows of delays only have an event, too: remember that the row runs.
        self.pc += 4 * words;
        self.now = start + cycles;
        if self.now > env.limit {
            return Err(self.fail(Some(inst), Cause::Limit(env.limit)));
        }
        Ok(())
    }

    fn pic(&mut self, at: u64, selector: u32, value: u32) {
        self.log.stores.push(if selector == 0 {
            let base = self.csr[csr::number::INCOMING_BASE as usize];
            StoreEvent::Pointer {
                at,
                address: (value << 2).wrapping_add(base),
            }
        } else {
            StoreEvent::Format {
                at,
                value: value as u8,
            }
        });
    }

    fn xpic(&mut self, at: u64, selector: u32, value: u32) {
        let event = SelectEvent {
            at,
            source: value as u16,
            pair: selector == 1,
        };
        self.log.selects.push(event);
    }

    fn send(
        &mut self,
        start: u64,
        items: u32,
        address: Option<u32>,
        control: u32,
        inst: &Inst,
    ) -> Result<(), Box<Failure>> {
        let (from, directions, wide) = match (address, self.stream) {
            (Some(field), _) => {
                let wide = control & 4 != 0;
                let base = self.csr[csr::number::OUTGOING_BASE as usize];
                let unit = if wide { 3 } else { 2 };
                (
                    (field << unit).wrapping_add(base),
                    (control & 3) as u8,
                    wide,
                )
            }
            (None, Some(stream)) => stream,
            (None, None) => {
                let cause = Cause::Exchange("it continues a stream that no send has begun".into());
                return Err(self.fail(Some(inst), cause));
            }
        };
        let size = if wide { 8 } else { 4 };
        self.log.sends.push(SendSpan {
            first: start + 1,
            items,
            address: from,
            directions,
            wide,
        });
        self.stream = Some((from.wrapping_add(items * size), directions, wide));
        Ok(())
    }
}
