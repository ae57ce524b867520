//! f32 instructions of one, two and four lanes (`isa/ops_f32_int.md` 3 to 5, `amp.md` 9).

use super::aux_lane::AuxContext;
use super::state::{Exception, Raised};
use crate::arith::f32ops::{self as f, Nan, rd, wr};
use crate::arith::flag::{DIV0, INV, OFLO};
use crate::arith::prng;
use crate::arith::transcendental::Function;
use crate::decode::{AuxOp, Micro};

/// A comparison by relation.
#[inline(always)]
fn compare(op: AuxOp, x: f32, y: f32) -> bool {
    use AuxOp as A;
    match op {
        A::F32CmpEq | A::F32v2CmpEq => x == y,
        A::F32CmpNe | A::F32v2CmpNe => x != y,
        A::F32CmpLt | A::F32v2CmpLt => x < y,
        A::F32CmpLe | A::F32v2CmpLe => x <= y,
        A::F32CmpGt | A::F32v2CmpGt => x > y,
        _ => x >= y,
    }
}

impl AuxContext<'_> {
    #[inline(always)]
    fn nan(&self) -> Nan {
        self.model.nan
    }

    /// Result of min and max of two quiet NaNs, if it is not the first operand.
    pub(crate) fn two_qnan(&self) -> Option<f32> {
        self.model.two_qnan_fixed.then_some(self.nan().f32())
    }

    #[inline(always)]
    fn rd1(&self, r: usize) -> f32 {
        rd(self.word(r))
    }

    #[inline(always)]
    fn rd2(&self, r: usize) -> [f32; 2] {
        self.pair(r).map(rd)
    }

    /// First source of a two-lane form, broadcast or not.
    #[inline(always)]
    fn rd2b(&self, m: Micro) -> [f32; 2] {
        if m.d() == 0 {
            self.rd2(m.b())
        } else {
            [self.rd1(m.b()); 2]
        }
    }

    #[inline(always)]
    fn acc(&self, i: usize) -> f32 {
        rd(self.w.acc.get(i))
    }

    #[inline(always)]
    fn set_acc(&mut self, i: usize, v: f32) {
        self.w.acc.set(i, v.to_bits());
    }

    #[inline(always)]
    fn arith(op: AuxOp, x: f32, y: f32, fl: &mut u32, nan: Nan) -> f32 {
        use AuxOp as A;
        match op {
            A::F32Add | A::F32v2Add => f::add(x, y, fl, nan),
            A::F32Sub | A::F32v2Sub => f::add(x, f::neg(y), fl, nan),
            A::F32Mul | A::F32v2Mul => f::mul(x, y, fl, nan),
            _ => f::add(f::abs(x), f::abs(y), fl, nan),
        }
    }

    fn ordered(&self, op: AuxOp, x: f32, y: f32) -> f32 {
        use AuxOp as A;
        let (two, nan) = (self.two_qnan(), self.nan());
        match op {
            A::F32Max | A::F32v2Max => f::max(x, y, two, nan),
            A::F32Min | A::F32v2Min => f::min(x, y, two, nan),
            _ => f::max(f::abs(x), f::abs(y), two, nan),
        }
    }

    /// INV if one of the values is a signalling NaN.
    #[inline(always)]
    fn snan_flag<const N: usize>(v: [f32; N]) -> u32 {
        if v.iter().any(|&x| f::is_snan(x)) {
            INV
        } else {
            0
        }
    }

    #[inline(always)]
    fn nan_flag<const N: usize>(v: [f32; N]) -> u32 {
        if v.iter().any(|x| x.is_nan()) { INV } else { 0 }
    }

    pub(crate) fn float32(&mut self, op: AuxOp, m: Micro) -> Result<(), Raised> {
        use AuxOp as A;
        let nan = self.nan();
        let mut fl = 0;
        match op {
            A::F32v2Add | A::F32v2Sub | A::F32v2Mul | A::F32v2AbsAdd => {
                let (x, y) = (self.rd2b(m), self.rd2(m.c()));
                let r = [
                    Self::arith(op, x[0], y[0], &mut fl, nan),
                    Self::arith(op, x[1], y[1], &mut fl, nan),
                ];
                self.raise(fl)?;
                self.put_pair(m.a(), r.map(wr));
            }
            A::F32Add | A::F32Sub | A::F32Mul | A::F32AbsAdd => {
                let r = Self::arith(op, self.rd1(m.b()), self.rd1(m.c()), &mut fl, nan);
                self.raise(fl)?;
                self.put(m.a(), wr(r));
            }
            A::F32Max | A::F32Min | A::F32AbsMax => {
                let (x, y) = (self.rd1(m.b()), self.rd1(m.c()));
                self.raise(Self::snan_flag([x, y]))?;
                self.put(m.a(), wr(self.ordered(op, x, y)));
            }
            A::F32v2Max | A::F32v2Min | A::F32v2AbsMax => {
                let (x, y) = (self.rd2(m.b()), self.rd2(m.c()));
                self.raise(Self::snan_flag([x[0], x[1], y[0], y[1]]))?;
                let r = [self.ordered(op, x[0], y[0]), self.ordered(op, x[1], y[1])];
                self.put_pair(m.a(), r.map(wr));
            }
            A::F32Clamp => {
                let (x, [lo, hi]) = (self.rd1(m.b()), self.rd2(m.c()));
                self.raise(Self::snan_flag([x, lo, hi]))?;
                self.put(m.a(), wr(f::clamp(x, lo, hi, nan)));
            }
            A::F32v2Clamp => {
                let ([x, y], [lo, hi]) = (self.rd2(m.b()), self.rd2(m.c()));
                self.raise(Self::snan_flag([x, y, lo, hi]))?;
                let r = [f::clamp(x, lo, hi, nan), f::clamp(y, lo, hi, nan)];
                self.put_pair(m.a(), r.map(wr));
            }
            A::F32Class => {
                let code = self.model.class(f::class_f32(self.rd1(m.b())));
                self.put(m.a(), code);
            }
            A::F32v2Class => {
                let [x, y] = self.rd2(m.b()).map(|v| self.model.class(f::class_f32(v)));
                self.put(m.a(), x | y << 8);
            }
            A::F32CmpEq | A::F32CmpNe | A::F32CmpLt | A::F32CmpLe | A::F32CmpGt | A::F32CmpGe => {
                let (x, y) = (self.rd1(m.b()), self.rd1(m.c()));
                self.raise(Self::nan_flag([x, y]))?;
                self.put(m.a(), 0u32.wrapping_sub(compare(op, x, y).into()));
            }
            A::F32v2CmpEq
            | A::F32v2CmpNe
            | A::F32v2CmpLt
            | A::F32v2CmpLe
            | A::F32v2CmpGt
            | A::F32v2CmpGe => {
                let (x, y) = (self.rd2b(m), self.rd2(m.c()));
                self.raise(Self::nan_flag([x[0], x[1], y[0], y[1]]))?;
                let r = [0, 1].map(|i| 0u32.wrapping_sub(compare(op, x[i], y[i]).into()));
                self.put_pair(m.a(), r);
            }
            A::F32Mac => {
                let r = f::mac(self.rd1(m.b()), self.rd1(m.c()), self.acc(0), &mut fl, nan);
                self.raise(fl)?;
                self.set_acc(0, r);
            }
            A::F32v2Mac => {
                let (x, y) = (self.rd2(m.b()), self.rd2(m.c()));
                let r0 = f::mac(x[0], y[0], self.acc(0), &mut fl, nan);
                let r1 = f::mac(x[1], y[1], self.acc(2), &mut fl, nan);
                self.raise(fl)?;
                self.set_acc(0, r0);
                self.set_acc(2, r1);
            }
            A::F32v2Aop => {
                let (x, y) = (self.rd2(m.b()), self.rd2(m.c()));
                let mut r = [0.0; 4];
                for (i, r) in r.iter_mut().enumerate() {
                    *r = f::mac(x[i & 1], y[i >> 1], self.acc(2 * i), &mut fl, nan);
                }
                self.raise(fl)?;
                for (i, v) in r.into_iter().enumerate() {
                    self.set_acc(2 * i, v);
                }
            }
            A::F32v2Axpy => self.axpy(m)?,
            A::F32v2Gina => self.gina32(m)?,
            A::F32v2Grand => {
                let r = self.w.prng.advance();
                let v = [prng::normal(r.r0), prng::normal(r.r1)];
                self.put_pair(m.a(), v.map(f32::to_bits));
            }
            A::F32v2RMask => {
                let r = self.w.prng.advance().r0;
                let (s, p) = (self.pair(m.b()), self.word(m.c()));
                let kept = |k: u32| keeps(p, (r >> (32 * k)) as u32 & 0xffff);
                let d = [0, 1].map(|i| if kept(i) { s[i as usize] } else { 0 });
                self.put_pair(m.a(), d);
            }
            A::F32v4Acc | A::F32v4AbsAcc | A::F32v4SqAcc => {
                let x = self.quad(m.b()).map(rd);
                self.raise(Self::snan_flag(x))?;
                for (i, x) in x.into_iter().enumerate() {
                    let z = self.acc(2 * i);
                    let r = match op {
                        A::F32v4Acc => f::addq(x, z, nan),
                        A::F32v4AbsAcc => f::addq_abs(x, z, nan),
                        _ => f::macq(x, x, z, nan),
                    };
                    self.set_acc(2 * i, r);
                }
            }
            A::F32Int => {
                let x = self.rd1(m.b());
                self.raise(Self::snan_flag([x]))?;
                self.put(m.a(), wr(f::to_integral(x, m.imm() & 7, nan)));
            }
            A::F32Div => {
                self.takes(3);
                let r = f::div(self.rd1(m.b()), self.rd1(m.c()), &mut fl, nan);
                let trap = self.raise(fl);
                if fl == OFLO && trap.is_err() {
                    if self.model.div_commits {
                        self.put(m.a(), wr(r));
                    }
                    return Err(Raised {
                        exception: Exception::FloatingPoint,
                        detail: None,
                        imprecise: self.model.div_commits,
                    });
                }
                trap?;
                self.put(m.a(), wr(r));
            }
            A::F32Sqrt => {
                self.takes(5);
                let r = f::sqrt(self.rd1(m.b()), &mut fl, nan);
                self.raise(fl)?;
                self.put(m.a(), wr(r));
            }
            A::F32Oox => {
                self.takes(3);
                let r = f::oox(self.rd1(m.b()), &mut fl, nan);
                self.raise(fl)?;
                self.put(m.a(), wr(r));
            }
            _ => {
                // worst-case turns (`transc_slots`, isa/system_and_limits.md 6)
                let (function, turns) = match op {
                    A::F32Oorx => (Function::Oorx, 4),
                    A::F32Exp => (Function::Exp, 3),
                    A::F32Exp2 => (Function::Exp2, 3),
                    A::F32Ln => (Function::Ln, 6),
                    A::F32Log2 => (Function::Log2, 6),
                    A::F32Tanh => (Function::Tanh, 5),
                    _ => (Function::Sigm, 5),
                };
                self.takes(turns);
                let r = function.f32_instruction(self.rd1(m.b()), &mut fl, nan);
                self.raise(fl & (INV | DIV0 | OFLO))?;
                self.put(m.a(), wr(r));
            }
        }
        Ok(())
    }

    /// `f32v2axpy`: old accumulators out, `$TAS` * x + y in.
    fn axpy(&mut self, m: Micro) -> Result<(), Raised> {
        let nan = self.nan();
        let (x, y) = (self.rd2(m.b()), self.rd2(m.c()));
        let a = rd(self.w.tas);
        let mut fl = 0;
        let r = [
            f::axpy(a, x[0], y[0], &mut fl, nan),
            f::axpy(a, x[1], y[1], &mut fl, nan),
        ];
        let out = [self.acc(0), self.acc(2)];
        fl |= read_flags(out);
        self.raise(fl)?;
        self.set_acc(0, r[0]);
        self.set_acc(2, r[1]);
        self.put_pair(m.a(), out.map(|v| wr(canonical(v, nan))));
        Ok(())
    }

    /// Column and set of a gina immediate (assumption `gina_imm_layout`): the first accumulator.
    pub(crate) fn gina_base(&self, imm: u32) -> usize {
        let set = imm >> self.model.gina_set_bit & 1;
        (16 * set + (imm & 1)) as usize
    }

    /// Moves both chains of a gina one step and puts `tail` at their ends.
    pub(crate) fn gina_shift(&mut self, base: usize, tail: [f32; 2]) {
        for (lane, v) in tail.into_iter().enumerate() {
            let at = base + 2 * lane;
            for k in 0..3 {
                let next = self.w.acc.get(at + 4 * k + 4);
                self.w.acc.set(at + 4 * k, next);
            }
            let v = canonical(v, self.nan());
            self.set_acc(at + 12, v);
        }
    }

    fn gina32(&mut self, m: Micro) -> Result<(), Raised> {
        let nan = self.nan();
        let base = self.gina_base(m.imm());
        let s = self.rd2(m.b());
        let out = [self.acc(base), self.acc(base + 2)];
        self.raise(Self::snan_flag(s) | read_flags(out))?;
        self.gina_shift(base, s);
        self.put_pair(m.a(), out.map(|v| wr(canonical(v, nan))));
        Ok(())
    }
}

/// OFLO if an f32 accumulator that is read is infinite.
fn read_flags(out: [f32; 2]) -> u32 {
    if out.iter().any(|v| v.is_infinite()) {
        OFLO
    } else {
        0
    }
}

/// The fixed NaN for any NaN.
#[inline(always)]
pub(crate) fn canonical(v: f32, nan: Nan) -> f32 {
    if v.is_nan() { nan.f32() } else { v }
}

/// True if `rmask` with control word `p` keeps an element with random number `r`.
pub(crate) fn keeps(p: u32, r: u32) -> bool {
    p >> 16 & 1 == 1 || r < p & 0xffff
}
