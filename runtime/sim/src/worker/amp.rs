//! The matrix unit: AMP, SLIC and the accumulator transposes (`isa/amp.md`).

use super::aux_lane::AuxContext;
use super::float32::canonical;
use super::model::AmpMode;
use super::products::{Dots, Input, dots};
use super::state::{Accumulators, Raised};
use super::weights::UNITS;
use crate::arith::dot::{Element, WINDOW_HALF, WINDOW_QUARTER};
use crate::arith::f32ops::{self as f, fz, rd, wr};
use crate::arith::flag::{INV, OFLO};
use crate::arith::half::{self as h, widen};
use crate::arith::quarter::{ERROR, Format, exp2i, scale};
use crate::decode::{AuxOp, Micro};

/// Units of one set.
const SET: usize = 8;

/// Fields of a matrix immediate.
#[derive(Clone, Copy)]
struct Fields {
    phase: usize,
    column: usize,
    /// Last enabled engine of a set, 0..4.
    last: usize,
}

impl Fields {
    #[inline(always)]
    fn of(m: Micro) -> Fields {
        let imm = m.imm();
        Fields {
            phase: (imm & 7) as usize,
            column: (imm >> 4 & 3) as usize,
            last: (imm >> 8 & 3) as usize,
        }
    }

    /// Bit u set for every enabled unit of the first `sets` sets.
    fn units(self, sets: usize) -> u32 {
        let one = (1u32 << (2 * (self.last + 1))) - 1;
        if sets == 2 { one | one << SET } else { one }
    }
}

/// Partials of an instruction as f32, two lanes a set, and whether one is signalling.
struct Partials {
    lanes: [f32; 4],
    flags: u32,
}

impl Partials {
    /// The same with more flags.
    #[inline(always)]
    fn and(mut self, flags: u32) -> Partials {
        self.flags |= flags;
        self
    }
}

impl AuxContext<'_> {
    /// Half partials, N = 2 or 4 lanes.
    #[inline(always)]
    fn half_partials<const N: usize>(&self, r: usize) -> Partials {
        let p = self.lanes::<N>(r);
        let mut lanes = [0.0; 4];
        let mut flags = 0;
        for i in 0..N {
            lanes[i] = if h::is_special(p[i]) {
                flags |= if h::is_snan_a(p[i]) { INV } else { 0 };
                self.model.nan.f32()
            } else {
                widen(p[i])
            };
        }
        Partials { lanes, flags }
    }

    #[inline(always)]
    fn single_partials(&self, r: usize) -> Partials {
        let p = self.pair(r).map(rd);
        let flags = if p.iter().any(|&v| f::is_snan(v)) {
            INV
        } else {
            0
        };
        let [a, b] = p.map(|v| canonical(v, self.model.nan));
        Partials {
            lanes: [a, b, 0.0, 0.0],
            flags,
        }
    }

    /// Inputs as four halves.
    #[inline(always)]
    fn half_input(&self, r: usize) -> Input<4> {
        let x = self.lanes::<4>(r);
        let mut input = Input::empty();
        for (i, v) in x.into_iter().enumerate() {
            if h::is_special(v) {
                input.nan = true;
                input.flags |= if h::is_snan_a(v) { INV } else { 0 };
            } else {
                let element = Element::half(v);
                input.set(i, widen(v), element.m, element.e);
            }
        }
        input
    }

    /// Inputs as eight f8 numbers; the scale of the products is folded into them.
    #[inline(always)]
    fn quarter_input(&self, r: usize) -> Input<8> {
        let format = Format::of(self.w.fp_nfmt >> 1);
        let [a, b] = self.pair(r);
        let mut input =
            quarter_elements(u64::from(a) | u64::from(b) << 32, format).unwrap_or_else(|| {
                let mut input = Input::empty();
                input.nan = true;
                input.flags = INV;
                input
            });
        input.scale = scale(self.w.fp_scl);
        input
    }

    /// Dot products of all units in use with weight column `n`, and input flags.
    #[inline(always)]
    fn half_dots(&mut self, x: &Input<4>, n: usize, units: u32) -> (Dots, u32) {
        let shared = &mut *self.shared;
        let column = &shared.decoded.half(&shared.weights)[n & 3];
        let flags = x.flags
            | if column.signalling & units != 0 {
                INV
            } else {
                0
            };
        (dots(x, column, WINDOW_HALF, units, self.model), flags)
    }

    #[inline(always)]
    fn quarter_dots(&mut self, x: &Input<8>, n: usize, units: u32) -> (Dots, u32) {
        let format = self.w.fp_nfmt & 1;
        let shared = &mut *self.shared;
        let column = &shared.decoded.quarter(&shared.weights, format)[n & 3];
        let flags = x.flags
            | if column.signalling & units != 0 {
                INV
            } else {
                0
            };
        (dots(x, column, WINDOW_QUARTER, units, self.model), flags)
    }

    /// Output stage: stochastic rounding if the model has it, flags, trap.
    #[inline(always)]
    fn outputs(&mut self, out: &mut [f32], halves: bool, mut fl: u32) -> Result<(), Raised> {
        if halves {
            if self.model.amp_sr && self.w.esr() {
                self.round_stochastic(out);
            }
            fl |= self.acc_flags(out);
        } else if out.iter().any(|v| v.is_infinite()) {
            fl |= OFLO;
        }
        if fl != 0 {
            self.raise(fl)?;
        }
        Ok(())
    }

    #[inline(always)]
    fn put_outputs(&mut self, r: usize, out: &[f32], halves: bool) {
        if halves {
            for (i, two) in out.chunks_exact(2).enumerate() {
                let word = h::join(self.acc_half(two[0]), self.acc_half(two[1]));
                self.put(r + i, word);
            }
        } else {
            for (i, &v) in out.iter().enumerate() {
                self.put(r + i, wr(canonical(v, self.model.nan)));
            }
        }
    }

    /// AMP on f16 and f8 once dot products and partials are there.
    #[inline(always)]
    fn amp(
        &mut self,
        m: Micro,
        fields: Fields,
        sets: usize,
        halves: bool,
        d: &Dots,
        p: &Partials,
    ) -> Result<(), Raised> {
        let first = fields.phase == 0;
        let source = if first {
            &self.w.acc.sum
        } else {
            &self.w.acc.stage
        };
        let mut out = [0f32; 4];
        for s in 0..sets {
            out[2 * s] = rd(source[SET * s]);
            out[2 * s + 1] = rd(source[SET * s + 1]);
        }
        let out = &mut out[..2 * sets];
        self.outputs(out, halves, p.flags)?;
        let nan = self.model.nan;
        let old = self.w.acc;
        let base = if first { &old.stage } else { &old.sum };
        let chain = if first { &old.sum } else { &old.stage };
        let mut new = Accumulators {
            sum: d.added_to(base, nan),
            stage: [0; UNITS],
        };
        for s in 0..sets {
            let at = SET * s;
            let end = at + 2 * fields.last;
            new.stage[at..end].copy_from_slice(&chain[at + 2..end + 2]);
            new.stage[end] = p.lanes[2 * s].to_bits();
            new.stage[end + 1] = p.lanes[2 * s + 1].to_bits();
            // disabled engines keep what they hold
            for u in end + 2..at + SET {
                new.sum[u] = old.sum[u];
                new.stage[u] = old.stage[u];
            }
        }
        if sets == 1 {
            new.sum[SET..].copy_from_slice(&old.sum[SET..]);
            new.stage[SET..].copy_from_slice(&old.stage[SET..]);
        }
        self.w.acc = new;
        let out = [
            out[0],
            out[1],
            *out.get(2).unwrap_or(&0.0),
            *out.get(3).unwrap_or(&0.0),
        ];
        self.put_outputs(m.a(), &out[..2 * sets], halves);
        Ok(())
    }

    /// SLIC on f16 and f8.
    #[inline(always)]
    fn slic(
        &mut self,
        m: Micro,
        fields: Fields,
        sets: usize,
        halves: bool,
        d: &Dots,
        p: &Partials,
    ) -> Result<(), Raised> {
        let mut out = [0f32; 4];
        for s in 0..sets {
            out[2 * s] = rd(self.w.acc.sum[SET * s]);
            out[2 * s + 1] = rd(self.w.acc.sum[SET * s + 1]);
        }
        self.outputs(&mut out[..2 * sets], halves, p.flags)?;
        let nan = self.model.nan;
        let old = self.w.acc.sum;
        for s in 0..sets {
            for e in 0..=fields.last {
                for j in 0..2 {
                    let u = SET * s + 2 * e + j;
                    let base = if e == fields.last {
                        p.lanes[2 * s + j]
                    } else {
                        rd(old[u + 2])
                    };
                    self.w.acc.sum[u] = f::addq(base, d.value(u), nan).to_bits();
                }
            }
        }
        self.put_outputs(m.a(), &out[..2 * sets], halves);
        Ok(())
    }

    /// Product of an f32 form; INV for infinity times zero.
    fn product(&self, x: f32, w: f32, fl: &mut u32) -> f32 {
        if (x.is_infinite() && w == 0.0) || (w.is_infinite() && x == 0.0) {
            *fl |= INV;
        }
        if f::is_snan(w) {
            *fl |= INV;
        }
        fz(f::mulq(x, w, self.model.nan))
    }

    /// Word `k` (0..8) of the weights of unit u.
    fn weight_word(&self, u: usize, k: usize) -> f32 {
        let register = self.shared.weight(4 * u + (k >> 1));
        rd((register >> (32 * (k & 1))) as u32)
    }

    /// `f32sisoamp` and `f32sisov2amp` (`isa/amp.md` 6).
    fn amp32(&mut self, m: Micro, fields: Fields, sets: usize) -> Result<(), Raised> {
        let nan = self.model.nan;
        let ph = fields.phase;
        let raw = self.word(m.b());
        let x = rd(raw);
        let p = self.single_partials(m.c());
        let mut fl = p.flags | if f::is_snan(x) { INV } else { 0 };
        let delayed = rd(self.w.tas);
        if sets == 2 && f::is_snan(delayed) {
            fl |= INV;
        }
        let old = self.w.acc;
        let mut new = old;
        for s in 0..sets {
            let lp = ph.wrapping_sub(s) & 7;
            let xs = if s == 0 { x } else { delayed };
            for e in 0..=fields.last {
                for j in 0..2 {
                    let u = SET * s + 2 * e + j;
                    let d = self.product(xs, self.weight_word(u, lp), &mut fl);
                    let base = rd(if lp == 0 { old.stage[u] } else { old.sum[u] });
                    new.sum[u] = f::addq(base, d, nan).to_bits();
                    if lp & 1 == 0 {
                        new.stage[u] = if e == fields.last {
                            p.lanes[j].to_bits()
                        } else if lp == 0 {
                            old.sum[u + 2]
                        } else {
                            old.stage[u + 2]
                        };
                    }
                }
            }
        }
        // set 0 returns in even, set 1 in odd phases; the one-set form always set 0
        let o = if sets == 2 { ph & 1 } else { 0 };
        let sums = ph == o;
        let source = if sums { &old.sum } else { &old.stage };
        let mut out = [rd(source[SET * o]), rd(source[SET * o + 1])];
        self.outputs(&mut out, false, fl)?;
        self.w.acc = new;
        if sets == 2 {
            self.w.tas = wr(x);
        }
        self.put_outputs(m.a(), &out, false);
        Ok(())
    }

    /// `f32sisoslic` and `f32sisov2slic` (`isa/amp.md` 7).
    fn slic32(&mut self, m: Micro, fields: Fields, sets: usize) -> Result<(), Raised> {
        let nan = self.model.nan;
        let ph = fields.phase & 1;
        let x = rd(self.word(m.b()));
        let p = self.single_partials(m.c());
        let mut fl = p.flags | if f::is_snan(x) { INV } else { 0 };
        let delayed = rd(self.w.tas);
        if sets == 2 && f::is_snan(delayed) {
            fl |= INV;
        }
        let old = self.w.acc.sum;
        let mut new = old;
        for s in 0..sets {
            let lp = ph ^ s;
            let xs = if s == 0 { x } else { delayed };
            for e in 0..=fields.last {
                for j in 0..2 {
                    let u = SET * s + 2 * e + j;
                    let w = self.weight_word(u, 2 * fields.column + lp);
                    let d = self.product(xs, w, &mut fl);
                    let base = if lp == 1 {
                        rd(old[u])
                    } else if e == fields.last {
                        p.lanes[j]
                    } else {
                        rd(old[u + 2])
                    };
                    new[u] = f::addq(base, d, nan).to_bits();
                }
            }
        }
        let o = if sets == 2 { ph } else { 0 };
        let mut out = [rd(old[SET * o]), rd(old[SET * o + 1])];
        self.outputs(&mut out, false, fl)?;
        self.w.acc.sum = new;
        if sets == 2 {
            self.w.tas = wr(x);
        }
        self.put_outputs(m.a(), &out, false);
        Ok(())
    }

    /// `f16v4istacc` and `f16v4stacc`: raw 4 x 4 transposes (`isa/amp.md` 8).
    fn transpose(&mut self, op: AuxOp, m: Micro) {
        let p1 = m.imm() & 1 == 1;
        let acc = &mut self.w.acc;
        let out;
        if op == AuxOp::F16v4IstAcc {
            let half = |r: usize, i: usize| self.w.arf[(r + i / 2) & 31] >> (16 * (i & 1)) & 0xffff;
            let rows: [u32; 4] = std::array::from_fn(|i| half(m.b(), i) | half(m.c(), i) << 16);
            out = [acc.get(1), acc.get(3)];
            if !p1 {
                acc.set(1, acc.get(5));
                acc.set(3, acc.get(7));
            }
            for (i, v) in rows.into_iter().enumerate() {
                acc.set(4 * i + 2 * usize::from(p1), v);
            }
        } else if p1 {
            out = [acc.get(1), acc.get(3)];
            for j in [1, 3] {
                acc.set(j, acc.get(j + 4));
                acc.set(j + 4, acc.get(j + 8));
            }
        } else {
            out = [acc.get(0), acc.get(2)];
            for j in [0, 2] {
                for k in 0..3 {
                    acc.set(j + 1 + 4 * k, acc.get(j + 4 + 4 * k));
                }
            }
        }
        self.put_pair(m.a(), out);
    }

    /// Executes one instruction of the matrix unit.
    #[inline(always)]
    pub(crate) fn matrix(&mut self, op: AuxOp, m: Micro) -> Result<(), Raised> {
        #[cfg(target_arch = "x86_64")]
        if self.model.simd && self.in_vectors(op, m) {
            return Ok(());
        }
        self.matrix_portable(op, m)
    }

    /// The common case of the AMP forms on f16 and f8 in vector registers; false if nothing was
    /// done.
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    fn in_vectors(&mut self, op: AuxOp, m: Micro) -> bool {
        use super::simd;
        let fields = Fields::of(m);
        if fields.last != 3 {
            return false;
        }
        let wide = |p: [u32; 2]| u64::from(p[0]) | u64::from(p[1]) << 32;
        let (x, p) = (wide(self.pair(m.b())), wide(self.pair(m.c())));
        let column = fields.phase & 3;
        let mut step = simd::Step {
            first: fields.phase == 0,
            fast: self.model.amp == AmpMode::Fast,
            bits: WINDOW_HALF as i32,
            scale: 0,
            nan: self.model.nan.0,
        };
        let shared = &mut *self.shared;
        let acc = &mut self.w.acc;
        let out = match op {
            AuxOp::F16v4Hihov4Amp | AuxOp::F16v4SisoAmp => {
                let column = &shared.decoded.half(&shared.weights)[column];
                if column.nan != 0 {
                    return false;
                }
                // SAFETY: `model.simd` says that the processor has what these functions need.
                unsafe {
                    let Some(x) = simd::half_elements(x, !step.fast) else {
                        return false;
                    };
                    if op == AuxOp::F16v4Hihov4Amp {
                        simd::two_sets(acc, &x, column, p, &step)
                    } else {
                        simd::one_set_single(acc, &x, column, p, &step)
                    }
                }
            }
            AuxOp::F8v8Hihov4Amp => {
                let format = self.w.fp_nfmt;
                let column = &shared.decoded.quarter(&shared.weights, format & 1)[column];
                let input = quarter_elements(x, Format::of(format >> 1));
                let Some(input) = input.filter(|_| column.nan == 0) else {
                    return false;
                };
                step.bits = WINDOW_QUARTER as i32;
                step.scale = scale(self.w.fp_scl);
                let x = simd::Elements {
                    value: input.value,
                    exponent: input.exponent,
                };
                // SAFETY: as above.
                unsafe { simd::two_sets(acc, &x, column, p, &step) }
            }
            _ => return false,
        };
        match out {
            Some(v) => {
                self.put_pair(m.a(), [v as u32, (v >> 32) as u32]);
                true
            }
            None => false,
        }
    }

    fn matrix_portable(&mut self, op: AuxOp, m: Micro) -> Result<(), Raised> {
        use AuxOp as A;
        let fields = Fields::of(m);
        match op {
            A::F16v4Hihov4Amp => {
                let x = self.half_input(m.b());
                let p = self.half_partials::<4>(m.c());
                let (d, fl) = self.half_dots(&x, fields.phase, fields.units(2));
                self.amp(m, fields, 2, true, &d, &p.and(fl))
            }
            A::F16v4HihoAmp => {
                let x = self.half_input(m.b());
                let p = self.half_partials::<2>(m.c());
                let (d, fl) = self.half_dots(&x, fields.phase, fields.units(1));
                self.amp(m, fields, 1, true, &d, &p.and(fl))
            }
            A::F16v4SisoAmp => {
                let x = self.half_input(m.b());
                let p = self.single_partials(m.c());
                let (d, fl) = self.half_dots(&x, fields.phase, fields.units(1));
                self.amp(m, fields, 1, false, &d, &p.and(fl))
            }
            A::F8v8Hihov4Amp => {
                let x = self.quarter_input(m.b());
                let p = self.half_partials::<4>(m.c());
                let (d, fl) = self.quarter_dots(&x, fields.phase, fields.units(2));
                self.amp(m, fields, 2, true, &d, &p.and(fl))
            }
            A::F32SisoAmp => self.amp32(m, fields, 1),
            A::F32Sisov2Amp => self.amp32(m, fields, 2),
            A::F16v4Hihov4Slic => {
                let x = self.half_input(m.b());
                let p = self.half_partials::<4>(m.c());
                let (d, fl) = self.half_dots(&x, fields.column, fields.units(2));
                self.slic(m, fields, 2, true, &d, &p.and(fl))
            }
            A::F16v4HihoSlic => {
                let x = self.half_input(m.b());
                let p = self.half_partials::<2>(m.c());
                let (d, fl) = self.half_dots(&x, fields.column, fields.units(1));
                self.slic(m, fields, 1, true, &d, &p.and(fl))
            }
            A::F16v4SisoSlic => {
                let x = self.half_input(m.b());
                let p = self.single_partials(m.c());
                let (d, fl) = self.half_dots(&x, fields.column, fields.units(1));
                self.slic(m, fields, 1, false, &d, &p.and(fl))
            }
            A::F8v8Hihov4Slic => {
                let x = self.quarter_input(m.b());
                let p = self.half_partials::<4>(m.c());
                let (d, fl) = self.quarter_dots(&x, fields.column, fields.units(2));
                self.slic(m, fields, 2, true, &d, &p.and(fl))
            }
            A::F32SisoSlic => self.slic32(m, fields, 1),
            A::F32Sisov2Slic => self.slic32(m, fields, 2),
            _ => {
                self.transpose(op, m);
                Ok(())
            }
        }
    }
}

/// Eight f8 codes as inputs; `None` if one is the error code.
#[inline(always)]
fn quarter_elements(codes: u64, format: Format) -> Option<Input<8>> {
    let mut input = Input::empty();
    for (i, code) in codes.to_le_bytes().into_iter().enumerate() {
        if code == ERROR {
            return None;
        }
        let element = Element::quarter(code, format);
        let value = element.m as f32 * exp2i(element.e);
        input.set(
            i,
            if element.negative { -value } else { value },
            element.m,
            element.e,
        );
    }
    Some(input)
}
