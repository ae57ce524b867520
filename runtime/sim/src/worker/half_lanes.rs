//! Half instructions of two, four and eight lanes but for conversions and the matrix unit
//! (`isa/ops_f16.md`, `ops_f32_int.md` 2).

use super::aux_lane::AuxContext;
use super::float32::{canonical, keeps};
use super::state::Raised;
use crate::arith::dot::{Element, WINDOW_HALF, dot};
use crate::arith::f32ops::{self as f, rd};
use crate::arith::flag::{INV, OFLO};
use crate::arith::half::{self as h, pick_a, widen};
use crate::arith::transcendental::Function;
use crate::arith::{prng, stochastic};
use crate::decode::{AuxOp, Micro};

/// Element-wise arithmetic.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Arith {
    Add,
    Sub,
    AbsAdd,
    Mul,
}

impl Arith {
    #[inline(always)]
    fn apply(self, x: f32, y: f32) -> f32 {
        // Sum, difference and product of two halves: nearest f32. Rounding that once more to
        // half equals rounding the exact value (24 >= 2 * 11 + 2 bits; small sums are exact).
        match self {
            Arith::Add => x + y,
            Arith::Sub => x - y,
            Arith::AbsAdd => x.abs() + y.abs(),
            Arith::Mul => x * y,
        }
    }
}

/// INV if a lane is what arithmetic mode takes as a signalling NaN.
#[inline(always)]
fn inv_a(lanes: &[u16]) -> u32 {
    if lanes.iter().any(|&v| h::is_snan_a(v)) {
        INV
    } else {
        0
    }
}

#[inline(always)]
fn inv_snan(lanes: &[u16]) -> u32 {
    if lanes.iter().any(|&v| h::is_snan(v)) {
        INV
    } else {
        0
    }
}

impl AuxContext<'_> {
    /// Lanes of consecutive registers.
    #[inline(always)]
    pub(crate) fn lanes<const N: usize>(&self, r: usize) -> [u16; N] {
        std::array::from_fn(|i| (self.word(r + i / 2) >> (16 * (i & 1))) as u16)
    }

    /// First source, broadcast or not.
    #[inline(always)]
    fn lanes_b<const N: usize>(&self, m: Micro) -> [u16; N] {
        match m.d() {
            0 => self.lanes(m.b()),
            1 => [h::lo(self.word(m.b())); N],
            _ => [h::hi(self.word(m.b())); N],
        }
    }

    #[inline(always)]
    pub(crate) fn put_lanes<const N: usize>(&mut self, r: usize, v: [u16; N]) {
        for i in 0..N / 2 {
            self.put(r + i, h::join(v[2 * i], v[2 * i + 1]));
        }
    }

    #[inline(always)]
    fn arith16<const N: usize>(&mut self, m: Micro, kind: Arith) -> Result<(), Raised> {
        let x = self.lanes_b::<N>(m);
        let y = self.lanes::<N>(m.c());
        let special = (0..N).any(|i| h::is_special(x[i]) || h::is_special(y[i]));
        if special || self.w.esr() {
            return self.arith16_slow(m, kind, x, y);
        }
        let nanoo = self.w.nanoo();
        let r: [f32; N] = std::array::from_fn(|i| kind.apply(widen(x[i]), widen(y[i])));
        let mut fl = 0;
        for v in r {
            fl |= h::overflow(v, nanoo);
        }
        if fl != 0 {
            self.raise(fl)?;
        }
        self.put_lanes(m.a(), r.map(|v| h::pack(v, nanoo)));
        Ok(())
    }

    #[inline(never)]
    fn arith16_slow<const N: usize>(
        &mut self,
        m: Micro,
        kind: Arith,
        x: [u16; N],
        y: [u16; N],
    ) -> Result<(), Raised> {
        let (nan, nanoo) = (self.model.nan, self.w.nanoo());
        let mut fl = 0;
        let mut r: [f32; N] = std::array::from_fn(|i| {
            let (a, b) = (pick_a(x[i]), pick_a(y[i]));
            let special = if kind == Arith::Mul {
                f::mul_pre(a, b, &mut fl, nan)
            } else {
                f::add_pre(a, b, &mut fl, nan)
            };
            special.unwrap_or_else(|| kind.apply(a, b))
        });
        if self.w.esr() {
            self.round_stochastic(&mut r);
        }
        for v in r {
            fl |= h::overflow(v, nanoo);
        }
        self.raise(fl)?;
        self.put_lanes(m.a(), r.map(|v| h::pack(v, nanoo)));
        Ok(())
    }

    /// One draw, then stochastic rounding of every lane to the half grid.
    pub(crate) fn round_stochastic(&mut self, r: &mut [f32]) {
        let draw = self.w.prng.advance();
        for (i, v) in r.iter_mut().enumerate() {
            *v = stochastic::round_half(*v, stochastic::noise16(draw, i));
        }
    }

    fn compare16<const N: usize>(&mut self, op: AuxOp, m: Micro) -> Result<(), Raised> {
        use AuxOp as A;
        let (x, y) = (self.lanes_b::<N>(m), self.lanes::<N>(m.c()));
        let unordered = (0..N).any(|i| h::is_nan(x[i]) || h::is_nan(y[i]));
        self.raise(if unordered { INV } else { 0 })?;
        let d = std::array::from_fn::<u16, N, _>(|i| {
            let (a, b) = (widen(x[i]), widen(y[i]));
            let test = match op {
                A::F16v2CmpEq | A::F16v4CmpEq => a == b,
                A::F16v2CmpNe | A::F16v4CmpNe => a != b,
                A::F16v2CmpLt | A::F16v4CmpLt => a < b,
                A::F16v2CmpLe | A::F16v4CmpLe => a <= b,
                A::F16v2CmpGt | A::F16v4CmpGt => a > b,
                _ => a >= b,
            };
            0u16.wrapping_sub(test.into())
        });
        self.put_lanes(m.a(), d);
        Ok(())
    }

    fn order16<const N: usize>(&mut self, op: AuxOp, m: Micro) -> Result<(), Raised> {
        use AuxOp as A;
        let (x, y) = (self.lanes::<N>(m.b()), self.lanes::<N>(m.c()));
        self.raise(inv_snan(&x) | inv_snan(&y))?;
        let nan = self.model.nan;
        let d = std::array::from_fn::<u16, N, _>(|i| {
            let (a, b) = (widen(x[i]), widen(y[i]));
            h::pack_keep(match op {
                A::F16v2Max | A::F16v4Max => f::max(a, b, None, nan),
                A::F16v2Min | A::F16v4Min => f::min(a, b, None, nan),
                _ => f::max(f::abs(a), f::abs(b), None, nan),
            })
        });
        self.put_lanes(m.a(), d);
        Ok(())
    }

    fn clamp16<const N: usize>(&mut self, m: Micro) -> Result<(), Raised> {
        let x = self.lanes::<N>(m.b());
        let [lo, hi] = self.lanes::<2>(m.c());
        self.raise(inv_snan(&x) | inv_snan(&[lo, hi]))?;
        let nan = self.model.nan;
        let d = x.map(|v| h::pack_keep(f::clamp(widen(v), widen(lo), widen(hi), nan)));
        self.put_lanes(m.a(), d);
        Ok(())
    }

    fn max_lateral<const N: usize>(&mut self, m: Micro) -> Result<(), Raised> {
        let x = self.lanes::<N>(m.b());
        self.raise(inv_snan(&x))?;
        let nan = self.model.nan;
        let max = |a: u16, b: u16| h::pack_keep(f::max(widen(a), widen(b), None, nan));
        let high = if N == 4 { max(x[N - 2], x[N - 1]) } else { 0 };
        self.put(m.a(), h::join(max(x[0], x[1]), high));
        Ok(())
    }

    fn sum16<const N: usize>(&mut self, m: Micro) -> Result<(), Raised> {
        let x = self.lanes::<N>(m.b()).map(pick_a);
        let mut fl = 0;
        let mut d = [0; 2];
        for i in 0..N / 2 {
            let (a, b) = (x[2 * i], x[2 * i + 1]);
            let r = f::add_pre(a, b, &mut fl, self.model.nan).unwrap_or(a + b);
            d[i] = f::wr(r);
        }
        self.raise(fl)?;
        for (i, v) in d.into_iter().take(N / 2).enumerate() {
            self.put(m.a() + i, v);
        }
        Ok(())
    }

    /// `acc`, `absacc`, `sqacc` of N halves into the even accumulators from 0 on.
    fn accumulate<const N: usize>(&mut self, op: AuxOp, m: Micro) -> Result<(), Raised> {
        use AuxOp as A;
        let lanes = self.lanes::<N>(m.b());
        self.raise(inv_a(&lanes))?;
        let nan = self.model.nan;
        for (i, x) in lanes.map(pick_a).into_iter().enumerate() {
            let z = rd(self.w.acc.sum[i]);
            let r = match op {
                A::F16v4Acc | A::F16v8Acc => f::addq(x, z, nan),
                A::F16v4AbsAcc | A::F16v8AbsAcc => f::addq_abs(x, z, nan),
                _ => f::macq(x, x, z, nan),
            };
            self.w.acc.sum[i] = r.to_bits();
        }
        Ok(())
    }

    /// Two-element dot product; a NaN (or infinite) element makes the NaN.
    fn dot2(&self, x: [u16; 2], y: [u16; 2]) -> f32 {
        if x.iter().chain(&y).any(|&v| h::is_special(v)) {
            return self.model.nan.f32();
        }
        dot(
            &x.map(Element::half),
            &y.map(Element::half),
            0,
            WINDOW_HALF,
            self.model.inner,
            self.model.dot_minus_zero,
        )
    }

    fn cmac<const N: usize>(&mut self, m: Micro) -> Result<(), Raised> {
        let (x, y) = (self.lanes::<N>(m.b()), self.lanes::<N>(m.c()));
        self.raise(inv_a(&x) | inv_a(&y))?;
        let nan = self.model.nan;
        for g in 0..N / 2 {
            let (xs, ys) = ([x[2 * g], x[2 * g + 1]], [y[2 * g], y[2 * g + 1]]);
            let r = if inv_a(&xs) | inv_a(&ys) != 0 {
                nan.f32()
            } else {
                f::addq(rd(self.w.acc.sum[g]), self.dot2(xs, ys), nan)
            };
            self.w.acc.sum[g] = r.to_bits();
        }
        Ok(())
    }

    /// Flags of reading accumulators as halves.
    pub(crate) fn acc_flags(&self, out: &[f32]) -> u32 {
        let nanoo = self.w.nanoo();
        out.iter().fold(0, |fl, &v| {
            fl | if v.is_infinite() {
                OFLO | INV
            } else {
                h::overflow(v, nanoo)
            }
        })
    }

    /// Half of an accumulator that is read: infinity and NaN become the NaN.
    #[inline(always)]
    pub(crate) fn acc_half(&self, v: f32) -> u16 {
        if v.is_finite() {
            h::pack(v, self.w.nanoo())
        } else {
            h::QNAN16
        }
    }

    fn gacc(&mut self, m: Micro) -> Result<(), Raised> {
        let mut out = std::array::from_fn::<f32, 4, _>(|i| rd(self.w.acc.sum[i]));
        if self.w.esr() {
            self.round_stochastic(&mut out);
        }
        self.raise(self.acc_flags(&out))?;
        let d = out.map(|v| self.acc_half(v));
        self.put_lanes(m.a(), d);
        Ok(())
    }

    fn gina16(&mut self, m: Micro) -> Result<(), Raised> {
        let base = self.gina_base(m.imm());
        let s = self.lanes::<2>(m.b());
        let fl = inv_a(&s);
        let mut out = [rd(self.w.acc.get(base)), rd(self.w.acc.get(base + 2))];
        if self.w.esr() {
            self.round_stochastic(&mut out);
        }
        self.raise(fl | self.acc_flags(&out))?;
        self.gina_shift(base, s.map(pick_a));
        let d = out.map(|v| self.acc_half(v));
        self.put_lanes(m.a(), d);
        Ok(())
    }

    fn mix(&mut self, m: Micro) -> Result<(), Raised> {
        let nan = self.model.nan;
        let (x, y) = (self.lanes::<4>(m.b()), self.lanes::<4>(m.c()));
        let (a, b) = (h::lo(self.w.tas), h::hi(self.w.tas));
        let mut out = std::array::from_fn::<f32, 4, _>(|i| rd(self.w.acc.sum[i]));
        let mut fl = 0;
        let mut r = [0f32; 4];
        for i in 0..4 {
            let operands = [a, x[i], b, y[i]];
            r[i] = if inv_a(&operands) != 0 {
                fl |= INV;
                nan.f32()
            } else {
                self.dot2([a, b], [x[i], y[i]])
            };
        }
        if self.w.esr() {
            self.round_stochastic(&mut out);
        }
        self.raise(fl | self.acc_flags(&out))?;
        for (i, v) in r.into_iter().enumerate() {
            self.w.acc.sum[i] = canonical(v, nan).to_bits();
        }
        let d = out.map(|v| self.acc_half(v));
        self.put_lanes(m.a(), d);
        Ok(())
    }

    fn transcendental16(&mut self, op: AuxOp, m: Micro) -> Result<(), Raised> {
        use AuxOp as A;
        // turns: isa/system_and_limits.md 6, assumption `transc_slots`
        let (function, turns) = match op {
            A::F16v2Exp => (Function::Exp, if self.model.worst_turns { 2 } else { 1 }),
            A::F16v2Exp2 => (Function::Exp2, if self.model.worst_turns { 2 } else { 1 }),
            A::F16v2Ln => (Function::Ln, 2),
            A::F16v2Log2 => (Function::Log2, 2),
            A::F16v2Tanh => (Function::Tanh, 1),
            _ => (Function::Sigm, 2),
        };
        self.takes(turns);
        let (nan, nanoo) = (self.model.nan, self.w.nanoo());
        let x = self.lanes::<2>(m.b()).map(pick_a);
        let mut fl = 0;
        let mut r = [0f32; 2];
        for i in 0..2 {
            r[i] = match function.special(x[i], &mut fl, nan) {
                Some(v) => {
                    if self.model.ln_pole_oflo && v.is_infinite() {
                        fl |= OFLO;
                    }
                    v
                }
                None => {
                    let v = function.half(x[i]);
                    if matches!(function, Function::Exp | Function::Exp2) {
                        fl |= h::overflow(v, nanoo);
                    }
                    v
                }
            };
        }
        self.raise(fl)?;
        self.put_lanes(m.a(), r.map(|v| h::pack(v, nanoo)));
        Ok(())
    }

    pub(crate) fn half(&mut self, op: AuxOp, m: Micro) -> Result<(), Raised> {
        use AuxOp as A;
        match op {
            A::F16v4Add => self.arith16::<4>(m, Arith::Add)?,
            A::F16v4Sub => self.arith16::<4>(m, Arith::Sub)?,
            A::F16v4AbsAdd => self.arith16::<4>(m, Arith::AbsAdd)?,
            A::F16v4Mul => self.arith16::<4>(m, Arith::Mul)?,
            A::F16v2Add => self.arith16::<2>(m, Arith::Add)?,
            A::F16v2Sub => self.arith16::<2>(m, Arith::Sub)?,
            A::F16v2AbsAdd => self.arith16::<2>(m, Arith::AbsAdd)?,
            A::F16v2Mul => self.arith16::<2>(m, Arith::Mul)?,
            A::F16v2CmpEq
            | A::F16v2CmpNe
            | A::F16v2CmpLt
            | A::F16v2CmpLe
            | A::F16v2CmpGt
            | A::F16v2CmpGe => self.compare16::<2>(op, m)?,
            A::F16v4CmpEq
            | A::F16v4CmpNe
            | A::F16v4CmpLt
            | A::F16v4CmpLe
            | A::F16v4CmpGt
            | A::F16v4CmpGe => self.compare16::<4>(op, m)?,
            A::F16v2Max | A::F16v2Min | A::F16v2AbsMax => self.order16::<2>(op, m)?,
            A::F16v4Max | A::F16v4Min | A::F16v4AbsMax => self.order16::<4>(op, m)?,
            A::F16v2MaxC => self.max_lateral::<2>(m)?,
            A::F16v4MaxC => self.max_lateral::<4>(m)?,
            A::F16v2Clamp => self.clamp16::<2>(m)?,
            A::F16v4Clamp => self.clamp16::<4>(m)?,
            A::F16v2Class => {
                let [x, y] = self
                    .lanes::<2>(m.b())
                    .map(|v| self.model.class(h::class(v)));
                self.put(m.a(), x | y << 8);
            }
            A::F16v4Class => {
                let c = self
                    .lanes::<4>(m.b())
                    .map(|v| self.model.class(h::class(v)));
                self.put(m.a(), c[0] | c[1] << 8 | c[2] << 16 | c[3] << 24);
            }
            A::F16v2Sum => self.sum16::<2>(m)?,
            A::F16v4Sum => self.sum16::<4>(m)?,
            A::F16v4Acc | A::F16v4AbsAcc => self.accumulate::<4>(op, m)?,
            A::F16v8Acc | A::F16v8AbsAcc | A::F16v8SqAcc => self.accumulate::<8>(op, m)?,
            A::F16v2CMac => self.cmac::<2>(m)?,
            A::F16v4CMac => self.cmac::<4>(m)?,
            A::F16v4GAcc => self.gacc(m)?,
            A::F16v2Gina => self.gina16(m)?,
            A::F16v4Mix => self.mix(m)?,
            A::F16v2Exp
            | A::F16v2Exp2
            | A::F16v2Ln
            | A::F16v2Log2
            | A::F16v2Tanh
            | A::F16v2Sigm => self.transcendental16(op, m)?,
            A::F16v2Grand => {
                let r = self.w.prng.advance();
                let v = [r.r0, r.r1].map(|r| h::pack(prng::normal(r), false));
                self.put_lanes(m.a(), v);
            }
            _ => {
                // f16v4rmask: raw bits, no flags, always one draw
                let r = self.w.prng.advance().r0;
                let (s, p) = (self.lanes::<4>(m.b()), self.word(m.c()));
                let d = std::array::from_fn::<u16, 4, _>(|i| {
                    let kept = keeps(p, (r >> (16 * i)) as u32 & 0xffff);
                    if kept { s[i] } else { 0 }
                });
                self.put_lanes(m.a(), d);
            }
        }
        Ok(())
    }
}
