//! Aux-lane instructions: dispatch, bit operations, random words, system registers.

use super::csr;
use super::model::Model;
use super::state::{Exception, Raised, Shared, WorkerState};
use crate::arith::bits;
use crate::decode::{AuxOp, Micro};

/// What one aux-lane instruction works on.
pub(crate) struct AuxContext<'c> {
    pub(crate) w: &'c mut WorkerState,
    pub(crate) shared: &'c mut Shared,
    pub(crate) model: &'c Model,
}

impl AuxContext<'_> {
    /// Word of an ARF register.
    #[inline(always)]
    pub(crate) fn word(&self, r: usize) -> u32 {
        self.w.arf[r & 31]
    }

    /// Words of a pair.
    #[inline(always)]
    pub(crate) fn pair(&self, r: usize) -> [u32; 2] {
        [self.word(r), self.word(r + 1)]
    }

    /// Words of a quad.
    #[inline(always)]
    pub(crate) fn quad(&self, r: usize) -> [u32; 4] {
        [
            self.word(r),
            self.word(r + 1),
            self.word(r + 2),
            self.word(r + 3),
        ]
    }

    /// Writes a register.
    #[inline(always)]
    pub(crate) fn put(&mut self, r: usize, v: u32) {
        self.w.arf[r & 31] = v;
    }

    /// Writes a pair.
    #[inline(always)]
    pub(crate) fn put_pair(&mut self, r: usize, v: [u32; 2]) {
        self.put(r, v[0]);
        self.put(r + 1, v[1]);
    }

    /// The group takes at least so many turns.
    #[inline(always)]
    pub(crate) fn takes(&mut self, turns: u32) {
        self.w.extra_turns = self.w.extra_turns.max(turns.saturating_sub(1));
    }

    /// Makes flags sticky, then traps if one of them is enabled.
    #[inline(always)]
    pub(crate) fn raise(&mut self, flags: u32) -> Result<(), Raised> {
        self.w.fp_sts |= flags;
        if flags & self.w.fp_ctl & 7 != 0 {
            return Err(Raised::new(Exception::FloatingPoint));
        }
        Ok(())
    }

    /// Executes one aux-lane instruction.
    #[inline(always)]
    pub(crate) fn exec(&mut self, m: Micro) -> Result<(), Raised> {
        use AuxOp as A;
        let op = m.aux();
        let value = match op {
            A::And => self.word(m.b()) & self.word(m.c()),
            A::AndI => self.word(m.b()) & m.imm(),
            A::AndC => self.word(m.b()) & !self.word(m.c()),
            A::AndCI => self.word(m.b()) & !m.imm(),
            A::Or => self.word(m.b()) | self.word(m.c()),
            A::OrI => self.word(m.b()) | m.imm(),
            A::Not => !self.word(m.b()),
            A::SetZi => m.imm(),
            A::Roll16 => bits::roll16(self.word(m.b()), self.word(m.c())),
            A::Roll8L => bits::roll8l(self.word(m.b()), self.word(m.c())),
            A::Roll8R => bits::roll8r(self.word(m.b()), self.word(m.c())),
            A::Shuf8x8Hi => bits::shuf8x8hi(self.word(m.b()), self.word(m.c())),
            A::Shuf8x8Lo => bits::shuf8x8lo(self.word(m.b()), self.word(m.c())),
            // the broadcast forms take the other half of the first source
            A::Sort4x16Hi if m.d() == 1 => {
                bits::sort4x16hi(self.word(m.b()) << 16, self.word(m.c()))
            }
            A::Sort4x16Hi => bits::sort4x16hi(self.word(m.b()), self.word(m.c())),
            A::Sort4x16Lo if m.d() == 2 => {
                bits::sort4x16lo(self.word(m.b()) >> 16, self.word(m.c()))
            }
            A::Sort4x16Lo => bits::sort4x16lo(self.word(m.b()), self.word(m.c())),
            A::Sort8 => bits::sort8(self.word(m.b())),
            A::Sort8x8Hi => bits::sort8x8hi(self.word(m.b()), self.word(m.c())),
            A::Sort8x8Lo => bits::sort8x8lo(self.word(m.b()), self.word(m.c())),
            A::Swap8 => bits::swap8(self.word(m.b())),
            A::UGet => csr::uget(self.w, m.imm())?,
            A::UPut => {
                let value = self.word(m.b());
                return csr::uput(self.w, m.imm(), value, self.model.fp_clr_late);
            }
            A::Urand32 => self.w.prng.advance().r0 as u32,
            A::F16v4HihoAmp
            | A::F16v4Hihov4Amp
            | A::F16v4SisoAmp
            | A::F8v8Hihov4Amp
            | A::F32SisoAmp
            | A::F32Sisov2Amp
            | A::F16v4HihoSlic
            | A::F16v4Hihov4Slic
            | A::F16v4SisoSlic
            | A::F8v8Hihov4Slic
            | A::F32SisoSlic
            | A::F32Sisov2Slic
            | A::F16v4IstAcc
            | A::F16v4StAcc => return self.matrix(op, m),
            A::None => return Ok(()),
            _ => return self.exec_vector(op, m),
        };
        self.put(m.a(), value);
        Ok(())
    }

    fn exec_vector(&mut self, op: AuxOp, m: Micro) -> Result<(), Raised> {
        use AuxOp as A;
        let zip = |p: [u32; 2], q: [u32; 2], f: fn(u32, u32) -> u32| [f(p[0], q[0]), f(p[1], q[1])];
        let (p, q) = (self.pair(m.b()), self.pair(m.c()));
        let pair = match op {
            A::And64 => zip(p, q, |s, t| s & t),
            A::AndC64 => zip(p, q, |s, t| s & !t),
            A::Or64 => zip(p, q, |s, t| s | t),
            A::Not64 => [!p[0], !p[1]],
            A::Roll32 => [p[1], q[0]],
            A::Sort4x32Lo => [p[0], q[0]],
            A::Sort4x32Hi => [p[1], q[1]],
            A::Urand64 => {
                let r = self.w.prng.advance().r0;
                [r as u32, (r >> 32) as u32]
            }
            _ if (A::F32Add as u8..=A::F32v4SqAcc as u8).contains(&(op as u8)) => {
                return self.float32(op, m);
            }
            _ if (A::F16v2Add as u8..=A::F16v4RMask as u8).contains(&(op as u8)) => {
                return self.half(op, m);
            }
            _ => return self.convert(op, m),
        };
        self.put_pair(m.a(), pair);
        Ok(())
    }
}
