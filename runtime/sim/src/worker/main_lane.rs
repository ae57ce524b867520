//! Main-lane instructions of workers: those of `common`, ARF loads and stores, the pace and
//! delta families, exits, `rpt`, register moves (`isa/ops_memory.md`, `ops_core.md` 5).

use super::common::{CommonContext, Flow, exec_common, mrf_target, refused, target_ok};
use super::csr;
use super::model::Model;
use super::state::{Exception, Pending, Raised, SCRATCH, Shared, WorkerState};
use crate::decode::{MainOp, Micro};
use crate::memory::{TileMemory, same_element};
use ipucc_chip::assumptions::MisalignedTarget;
use ipucc_chip::memory::{BASE, EXECUTABLE_END, INTERLEAVED_BASE};

/// Addresses of packed pointers have 21 bits.
const ADDRESS_MASK: u32 = 0x1f_ffff;

/// What one main-lane instruction works on.
pub(crate) struct MainContext<'c, 'm> {
    pub(crate) w: &'c mut WorkerState,
    pub(crate) shared: &'c mut Shared,
    pub(crate) mem: &'c mut TileMemory<'m>,
    pub(crate) model: &'c Model,
    /// The group has an aux member.
    pub(crate) bundled: bool,
    /// Tile cycle in which the group issues.
    pub(crate) cycle: u64,
}

const fn dup16(h: u16) -> u32 {
    h as u32 | (h as u32) << 16
}

const fn dup8(b: u8) -> u32 {
    b as u32 * 0x0101_0101
}

/// The three addresses of a packed pair.
#[inline(always)]
fn unpack(lo: u32, hi: u32) -> [u32; 3] {
    [
        lo & ADDRESS_MASK,
        hi & ADDRESS_MASK,
        lo >> 21 | (hi >> 21 & 0x3ff) << 11,
    ]
}

/// A packed pair of three masked addresses.
#[inline(always)]
fn pack(a: [u32; 3]) -> [u32; 2] {
    [a[0] | (a[2] & 0x7ff) << 21, a[1] | (a[2] >> 11) << 21]
}

/// Address `a` after a step of `selector` in units of `unit` bytes.
#[inline(always)]
fn advance(a: u32, strides: u32, selector: u32, unit: u32) -> u32 {
    let stride = match selector & 3 {
        0 => 1,
        n => {
            // field n - 1 of ten bits, sign-extended
            let up = 32 - 10 * n;
            ((strides << up) as i32 >> 22) as u32
        }
    };
    a.wrapping_add(stride.wrapping_mul(unit)) & ADDRESS_MASK
}

impl MainContext<'_, '_> {
    #[inline(always)]
    fn clashes_with_fetch(&self, address: u32) -> bool {
        address < INTERLEAVED_BASE && self.w.window(self.model, self.bundled).clashes(address)
    }

    /// The chain of `ops_memory.md` 1.4 for one access.
    #[inline(always)]
    fn check1(&self, a: u32, mask: u32) -> Result<(), Raised> {
        TileMemory::check(a, mask).map_err(|e| refused(e, a))?;
        if self.clashes_with_fetch(a) {
            return Err(Raised::about(Exception::Conflict, a));
        }
        Ok(())
    }

    /// The same for several accesses: (address, bytes - 1).
    #[inline(always)]
    fn check_all<const N: usize>(&self, eas: [(u32, u32); N]) -> Result<(), Raised> {
        for (a, mask) in eas {
            TileMemory::check(a, mask).map_err(|e| refused(e, a))?;
        }
        for i in 0..N {
            for j in i + 1..N {
                if same_element(eas[i].0, eas[j].0) {
                    return Err(Raised::about(Exception::Conflict, eas[i].0));
                }
            }
        }
        for (a, _) in eas {
            if self.clashes_with_fetch(a) {
                return Err(Raised::about(Exception::Conflict, a));
            }
        }
        Ok(())
    }

    /// After a refusal: the store of the group still happens if its own address is fine
    /// (`store_on_exception`).
    #[cold]
    fn late_store(&mut self, a: u32, data: &[u32]) {
        let mask = 4 * data.len() as u32 - 1;
        if self.model.store_commits && TileMemory::check(a, mask).is_ok() {
            for (i, &word) in data.iter().enumerate() {
                self.mem.put_u32(a + 4 * i as u32, word);
            }
        }
    }

    #[inline(always)]
    fn mrf(&self, r: usize) -> u32 {
        self.w.mrf[r & 31]
    }

    #[inline(always)]
    fn arf_pair(&self, r: usize) -> [u32; 2] {
        [self.w.arf[r & 31], self.w.arf[(r + 1) & 31]]
    }

    #[inline(always)]
    fn put_pair(&mut self, r: usize, p: [u32; 2]) {
        let to = mrf_target(r);
        self.w.mrf[to] = p[0];
        self.w.mrf[(to + 1) & 31] = p[1];
    }

    /// Loaded words go to the ARF when the group retires.
    #[inline(always)]
    fn defer(&mut self, at: usize, words: [u32; 4], count: u8) {
        self.w.pending = Pending {
            words,
            at: at as u8,
            count,
            at2: SCRATCH as u8,
            count2: 0,
        };
    }

    #[inline(always)]
    fn defer1(&mut self, at: usize, word: u32) {
        self.defer(at, [word, 0, 0, 0], 1);
    }

    #[inline(always)]
    fn defer2(&mut self, at: usize, pair: [u32; 2]) {
        self.defer(at, [pair[0], pair[1], 0, 0], 2);
    }

    /// Effective address of a plain load or store of 2^k bytes.
    #[inline(always)]
    fn plain(&self, m: Micro, k: u32) -> u32 {
        self.mrf(m.b())
            .wrapping_add(self.mrf(m.c()))
            .wrapping_add(self.mrf(m.d()) << k)
            .wrapping_add(m.imm())
    }

    /// Effective address of a step form and the new pointer.
    #[inline(always)]
    fn stepped(&self, m: Micro, k: u32) -> (u32, u32) {
        let pointer = self.mrf(m.c());
        let stride = (self.mrf(m.d()) << k).wrapping_add(m.imm());
        (
            self.mrf(m.b()).wrapping_add(pointer),
            pointer.wrapping_add(stride),
        )
    }

    #[inline(always)]
    fn check_interleaved(&self, a: u32) -> Result<(), Raised> {
        TileMemory::check(a, 15).map_err(|e| refused(e, a))?;
        if a < INTERLEAVED_BASE {
            return Err(Raised::about(Exception::InvalidAddress, a));
        }
        Ok(())
    }

    #[inline(always)]
    fn load_arf(&mut self, op: MainOp, a: u32, dst: usize) -> Result<(), Raised> {
        match op {
            MainOp::LdA32 | MainOp::LdA32Step => {
                self.check1(a, 3)?;
                self.defer1(dst, self.mem.u32(a));
            }
            MainOp::LdB16 | MainOp::LdB16Step => {
                self.check1(a, 1)?;
                self.defer1(dst, dup16(self.mem.u16(a)));
            }
            MainOp::LdB8 | MainOp::LdB8Step => {
                self.check1(a, 0)?;
                self.defer1(dst, dup8(self.mem.u8(a)));
            }
            MainOp::Ld64 | MainOp::Ld64Step => {
                self.check1(a, 7)?;
                self.defer2(dst, self.mem.pair(a));
            }
            _ => {
                self.check_interleaved(a)?;
                let (l, h) = (self.mem.pair(a), self.mem.pair(a | 8));
                self.defer(dst, [l[0], l[1], h[0], h[1]], 4);
            }
        }
        Ok(())
    }

    #[inline(always)]
    fn store_arf(&mut self, op: MainOp, a: u32, src: usize) -> Result<(), Raised> {
        let data = self.arf_pair(src);
        let words = if matches!(op, MainOp::StA32 | MainOp::StA32Step) {
            1
        } else {
            2
        };
        if let Err(raised) = self.check1(a, 4 * words as u32 - 1) {
            if raised.exception == Exception::Conflict {
                self.late_store(a, &data[..words]);
            }
            return Err(raised);
        }
        if words == 1 {
            self.mem.put_u32(a, data[0]);
        } else {
            self.mem.put_pair(a, data);
        }
        Ok(())
    }

    #[inline(always)]
    fn pace(&mut self, op: MainOp, m: Micro) -> Result<(), Raised> {
        let strides = self.mrf(m.c());
        let mut p = unpack(self.mrf(m.b()), self.mrf(m.b() + 1));
        let [a0, a1, a2] = p;
        let sel = m.imm();
        match op {
            MainOp::LdSt64Pace => {
                let data = self.arf_pair(m.d());
                if let Err(raised) = self.check_all([(a0, 7), (a2, 7)]) {
                    self.late_store(a2, &data);
                    return Err(raised);
                }
                let r = self.mem.pair(a0);
                self.mem.put_pair(a2, data);
                p[0] = advance(a0, strides, sel, 8);
                p[2] = advance(a2, strides, sel >> 2, 8);
                self.defer2(m.a(), r);
            }
            MainOp::Ld2xSt64Pace => {
                let data = self.arf_pair(m.d());
                let checked = self.check_ld2xst(a0, a1, a2);
                if let Err(raised) = checked {
                    self.late_store(a2, &data);
                    return Err(raised);
                }
                let (r0, r1) = (self.mem.pair(a0), self.mem.pair(a1));
                self.mem.put_pair(a2, data);
                p[0] = advance(a0, strides, sel, 8);
                p[1] = advance(a1, strides, sel >> 2, 8);
                p[2] = advance(a2, strides, sel >> 4, 8);
                self.defer(m.a(), [r0[0], r0[1], r1[0], r1[1]], 4);
            }
            MainOp::Ld2x64Pace => {
                self.check_all([(a0, 7), (a1, 7)])?;
                let (r0, r1) = (self.mem.pair(a0), self.mem.pair(a1));
                p[0] = advance(a0, strides, sel, 8);
                p[1] = advance(a1, strides, sel >> 2, 8);
                self.w.pending = Pending {
                    words: [r0[0], r0[1], r1[0], r1[1]],
                    at: m.a() as u8,
                    count: 2,
                    at2: m.d() as u8,
                    count2: 2,
                };
            }
            MainOp::Ld64A32Pace | MainOp::Ld64B16Pace => {
                let wide = op == MainOp::Ld64A32Pace;
                let unit = if wide { 4 } else { 2 };
                self.check_all([(a0, 7), (a1, unit - 1)])?;
                let r0 = self.mem.pair(a0);
                let r1 = if wide {
                    self.mem.u32(a1)
                } else {
                    dup16(self.mem.u16(a1))
                };
                p[0] = advance(a0, strides, sel, 8);
                p[1] = advance(a1, strides, sel >> 2, unit);
                self.w.pending = Pending {
                    words: [r0[0], r0[1], r1, 0],
                    at: m.a() as u8,
                    count: 2,
                    at2: m.d() as u8,
                    count2: 1,
                };
            }
            _ => {
                let data = self.arf_pair(m.d());
                if let Err(raised) = self.check1(a2, 7) {
                    if raised.exception == Exception::Conflict {
                        self.late_store(a2, &data);
                    }
                    return Err(raised);
                }
                self.mem.put_pair(a2, data);
                p[2] = advance(a2, strides, sel, 8);
            }
        }
        self.put_pair(m.b(), pack(p));
        Ok(())
    }

    /// `ld2xst64pace`: validity, the region of EA1, alignment, clashes, in this order.
    #[inline(always)]
    fn check_ld2xst(&self, a0: u32, a1: u32, a2: u32) -> Result<(), Raised> {
        if a1 < INTERLEAVED_BASE {
            // whatever fails first, a bad address or the region: the exception is one
            return Err(Raised::about(Exception::InvalidAddress, a1));
        }
        self.check_all([(a0, 7), (a1, 7), (a2, 7)])
    }

    /// The delta family: b = base, c = pointer or mini-deltas, d = deltas.
    fn delta(&mut self, op: MainOp, m: Micro) -> Result<(), Raised> {
        let base = self.mrf(m.b());
        let pointer = self.mrf(m.c());
        let deltas = self.mrf(m.d());
        let (to_pointer, to_delta) = (mrf_target(m.c()), mrf_target(m.d()));
        let low = base.wrapping_add(deltas & 0xffff);
        let high = base.wrapping_add(deltas >> 16);
        match op {
            MainOp::LdD16B16 | MainOp::LdD16A32 | MainOp::LdD16A64 => {
                let mask = match op {
                    MainOp::LdD16B16 => 1,
                    MainOp::LdD16A32 => 3,
                    _ => 7,
                };
                self.check_all([(low, mask), (pointer, 1)])?;
                let next = u32::from(self.mem.u16(pointer));
                match op {
                    MainOp::LdD16B16 => self.defer1(m.a(), dup16(self.mem.u16(low))),
                    MainOp::LdD16A32 => self.defer1(m.a(), self.mem.u32(low)),
                    _ => self.defer2(m.a(), self.mem.pair(low)),
                }
                self.w.mrf[to_pointer] = pointer.wrapping_add(2);
                self.w.mrf[to_delta] = next;
            }
            MainOp::LdD16V2A32 => {
                self.check_all([(high, 3), (pointer, 3)])?;
                let next = self.mem.u32(pointer);
                self.defer1(m.a(), self.mem.u32(high));
                self.w.mrf[to_pointer] = pointer.wrapping_add(4);
                self.w.mrf[to_delta] = next;
            }
            MainOp::Ld64A32 => {
                self.check_all([(low, 3), (pointer, 7)])?;
                let word = self.mem.u32(low);
                let pair = self.mem.pair(pointer);
                self.w.mrf[to_pointer] = pointer.wrapping_add(8);
                // element 0 of the quad keeps its value
                self.defer(m.a() + 1, [word, pair[0], pair[1], 0], 3);
            }
            _ => {
                self.check_all([(high, 1), (low, 1)])?;
                let pair = [dup16(self.mem.u16(high)), dup16(self.mem.u16(low))];
                let sparse = (deltas & 0xffff) + 2 * ((pointer & 0xf) + 1);
                let dense = (deltas >> 16) + 2;
                self.w.mrf[to_pointer] = pointer >> 4;
                self.w.mrf[to_delta] = dense << 16 | sparse & 0xffff;
                self.defer2(m.a(), pair);
            }
        }
        Ok(())
    }

    /// Cycle counter as this group reads it (`count_sampling`).
    fn count(&self) -> u64 {
        if self.model.count_at_retirement {
            self.cycle + 6 * u64::from(self.model.get_turns)
        } else {
            self.cycle
        }
    }

    fn rpt(&mut self, count: u32, n: u32) -> Result<(), Raised> {
        let first = self.w.next;
        let end = first.wrapping_add(8 * n + 8);
        let bad = |a: u32| a.wrapping_sub(BASE) >= EXECUTABLE_END - BASE;
        if first & 7 != 0 || bad(first) || bad(end) {
            return Err(Raised::about(Exception::InvalidOperand, first));
        }
        match count & 0xffff {
            0 => self.w.next = end,
            k => {
                self.w.repeat_count = k;
                self.w.repeat_first = first;
                self.w.repeat_end = end;
            }
        }
        Ok(())
    }

    /// Executes one main-lane instruction; ARF results are left in `w.pending`.
    #[inline(always)]
    pub(crate) fn exec(&mut self, m: Micro) -> Result<(), Raised> {
        let op = m.main();
        match op {
            MainOp::LdA32 | MainOp::LdB16 | MainOp::LdB8 | MainOp::Ld64 | MainOp::Ld128 => {
                let k = match op {
                    MainOp::LdB8 => 0,
                    MainOp::LdB16 => 1,
                    MainOp::LdA32 => 2,
                    MainOp::Ld64 => 3,
                    _ => 4,
                };
                let a = self.plain(m, k);
                self.load_arf(op, a, m.a())
            }
            MainOp::LdA32Step
            | MainOp::LdB16Step
            | MainOp::LdB8Step
            | MainOp::Ld64Step
            | MainOp::Ld128Step => {
                let k = match op {
                    MainOp::LdB8Step => 0,
                    MainOp::LdB16Step => 1,
                    MainOp::LdA32Step => 2,
                    MainOp::Ld64Step => 3,
                    _ => 4,
                };
                let (a, pointer) = self.stepped(m, k);
                self.load_arf(op, a, m.a())?;
                self.w.mrf[mrf_target(m.c())] = pointer;
                Ok(())
            }
            MainOp::StA32 => {
                let a = self.plain(m, 2);
                self.store_arf(op, a, m.a())
            }
            MainOp::St64 => {
                let a = self.plain(m, 3);
                self.store_arf(op, a, m.a())
            }
            MainOp::StA32Step | MainOp::St64Step => {
                let k = if op == MainOp::StA32Step { 2 } else { 3 };
                let (a, pointer) = self.stepped(m, k);
                self.store_arf(op, a, m.a())?;
                self.w.mrf[mrf_target(m.c())] = pointer;
                Ok(())
            }
            MainOp::LdSt64Pace
            | MainOp::Ld2xSt64Pace
            | MainOp::Ld2x64Pace
            | MainOp::Ld64A32Pace
            | MainOp::Ld64B16Pace
            | MainOp::St64Pace => self.pace(op, m),
            MainOp::LdD16B16
            | MainOp::LdD16A32
            | MainOp::LdD16A64
            | MainOp::LdD16V2A32
            | MainOp::Ld64A32
            | MainOp::LdB16B16 => self.delta(op, m),
            MainOp::Atom => {
                self.w.mrf[m.a()] = self.w.arf[m.b()];
                Ok(())
            }
            MainOp::TaPack => {
                let a = [m.b(), m.c(), m.d()].map(|r| self.mrf(r) & ADDRESS_MASK);
                self.put_pair(m.a(), pack(a));
                Ok(())
            }
            MainOp::ExitZ | MainOp::ExitNz | MainOp::ExitNeg | MainOp::ExitPos => {
                let s = self.mrf(m.b());
                self.w.exit = Some(match op {
                    MainOp::ExitZ => s == 0,
                    MainOp::ExitNz => s != 0,
                    MainOp::ExitNeg => (s as i32) < 0,
                    _ => (s as i32) >= 0,
                });
                Ok(())
            }
            MainOp::Rpt => self.rpt(self.mrf(m.b()), m.imm()),
            MainOp::RptI => self.rpt(m.imm() & 0xfff, m.imm() >> 16),
            MainOp::Get => {
                let value = csr::get(self.w, self.shared, m.imm(), self.count())?;
                self.w.mrf[m.a()] = value;
                self.w.extra_turns = self.model.get_turns.saturating_sub(1);
                Ok(())
            }
            MainOp::Put => csr::put(self.shared, m.imm(), self.mrf(m.b())),
            MainOp::Trap => Err(Raised::about(
                if m.imm() & 1 == 0 {
                    Exception::Trap0
                } else {
                    Exception::Trap1
                },
                m.imm(),
            )),
            MainOp::Fault => Err(Raised::new(
                Exception::from_code(m.imm() as u8).unwrap_or(Exception::InvalidInstruction),
            )),
            MainOp::NoCode => Err(Raised::about(Exception::InvalidPc, self.w.pc)),
            MainOp::Cross | MainOp::Supervisor => Err(Raised::new(Exception::InvalidInstruction)),
            _ => {
                let (model, bundled) = (self.model, self.bundled);
                let next = self.w.next;
                let WorkerState {
                    mrf,
                    pc,
                    repeat_count,
                    repeat_first,
                    repeat_end,
                    ..
                } = &mut *self.w;
                let (pc, count, first, end) = (*pc, *repeat_count, *repeat_first, *repeat_end);
                let mut x = CommonContext {
                    mrf,
                    mem: self.mem,
                    window: || super::state::fetch_window(pc, count, first, end, model, bundled),
                    next,
                    brnzdec_stays: model.brnzdec_stays,
                    store_commits: model.store_commits,
                };
                match exec_common(m, &mut x)? {
                    Flow::Next => {}
                    Flow::Taken(target) => {
                        debug_assert!(target_ok(target).is_ok());
                        self.w.next = target;
                        if target & 4 != 0 {
                            (self.w.extra_turns, self.w.extra_cycles) =
                                misaligned_entry(target, self.mem, model);
                        }
                    }
                }
                Ok(())
            }
        }
    }
}

/// Time beyond the first turn for entering `target` = 4 mod 8 by branch or launch
/// (`branch_misaligned_turn`): turns, cycles.
#[cold]
pub fn misaligned_entry(target: u32, mem: &TileMemory<'_>, model: &Model) -> (u32, u32) {
    let bundle = mem.word(target).is_some_and(|w| w >> 31 != 0);
    match model.misaligned {
        _ if target & 4 == 0 => (0, 0),
        MisalignedTarget::Free => (0, 0),
        MisalignedTarget::EveryTurn => (1, 0),
        MisalignedTarget::BundleTurn => (bundle.into(), 0),
        MisalignedTarget::BundleCycle => (0, bundle.into()),
    }
}
