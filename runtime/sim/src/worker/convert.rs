//! Conversions between f32, f16, f8 and integers, and f8 classes (`isa/ops_core.md` 6).

use super::aux_lane::AuxContext;
use super::state::Raised;
use crate::arith::f32ops::{self as f, rd, wr};
use crate::arith::flag::INV;
use crate::arith::half::{self as h, widen};
use crate::arith::quarter::{ERROR, Format, exp2i, scale};
use crate::arith::stochastic;
use crate::decode::{AuxOp, Micro};

impl AuxContext<'_> {
    /// Format of f8 operands in the ARF.
    fn arf_format(&self) -> Format {
        Format::of(self.w.fp_nfmt >> 1)
    }

    fn f16_to_f32<const N: usize>(&mut self, m: Micro) -> Result<(), Raised> {
        let x: [u16; N] = std::array::from_fn(|i| (self.word(m.b()) >> (16 * i)) as u16);
        let snan = x.iter().any(|&v| h::is_snan(v));
        self.raise(if snan { INV } else { 0 })?;
        let nan = self.model.nan;
        for (i, v) in x.into_iter().enumerate() {
            let v = if h::is_nan(v) { nan.f32() } else { widen(v) };
            self.put(m.a() + i, v.to_bits());
        }
        Ok(())
    }

    /// f32 to half of N words; the results.
    fn f32_to_f16<const N: usize>(&mut self, m: Micro) -> Result<[u16; N], Raised> {
        let nanoo = self.w.nanoo();
        let x: [f32; N] = std::array::from_fn(|i| rd(self.word(m.b() + i)));
        let mut y = x;
        if self.w.esr() {
            self.round_stochastic(&mut y);
        }
        let mut fl = 0;
        for i in 0..N {
            fl |= if f::is_snan(x[i]) || x[i].is_infinite() {
                INV
            } else if x[i].is_nan() {
                0
            } else {
                h::overflow(y[i], nanoo)
            };
        }
        self.raise(fl)?;
        Ok(std::array::from_fn(|i| {
            if x[i].is_finite() {
                h::pack(y[i], nanoo)
            } else {
                h::QNAN16
            }
        }))
    }

    /// Half to f8 of N lanes; the codes.
    fn f16_to_f8<const N: usize>(&mut self, m: Micro) -> Result<[u8; N], Raised> {
        let format = self.arf_format();
        let nanoo = self.w.nanoo();
        let x = self.lanes::<N>(m.b());
        let draw = self.w.esr().then(|| self.w.prng.advance());
        let factor = exp2i(scale(self.w.fp_scl));
        let mut fl = 0;
        let mut q = [ERROR; N];
        for i in 0..N {
            if h::is_special(x[i]) {
                fl |= if h::is_snan_a(x[i]) { INV } else { 0 };
                continue;
            }
            let y = widen(x[i]) * factor;
            let y = match draw {
                Some(r) => stochastic::round_quarter(y, format, stochastic::noise8(r, i)),
                None => format.round(y),
            };
            fl |= format.overflow(y, nanoo);
            q[i] = format.encode(y, nanoo);
        }
        self.raise(fl)?;
        Ok(q)
    }

    /// f8 to half of the low N bytes.
    fn f8_to_f16<const N: usize>(&mut self, m: Micro) -> Result<(), Raised> {
        let format = self.arf_format();
        let nanoo = self.w.nanoo();
        let factor = exp2i(scale(self.w.fp_scl));
        let codes = self.word(m.b()).to_le_bytes();
        let mut fl = 0;
        let mut d = [h::QNAN16; N];
        for i in 0..N {
            match format.value(codes[i]) {
                None => fl |= INV,
                Some(v) => {
                    let mut v = v * factor;
                    // 2^-24, the least half denormal (`f8_to_f16_tiny`)
                    if self.model.f8_tiny_zero && v.abs() < 1.0 / 16_777_216.0 {
                        v *= 0.0;
                    }
                    fl |= h::overflow(v, nanoo);
                    d[i] = h::pack(v, nanoo);
                }
            }
        }
        self.raise(fl)?;
        self.put_lanes(m.a(), d);
        Ok(())
    }

    pub(crate) fn convert(&mut self, op: AuxOp, m: Micro) -> Result<(), Raised> {
        use AuxOp as A;
        match op {
            A::F16ToF32 => self.f16_to_f32::<1>(m)?,
            A::F16v2ToF32 => self.f16_to_f32::<2>(m)?,
            A::F32ToF16 => {
                let [v] = self.f32_to_f16::<1>(m)?;
                self.put(m.a(), h::join(v, v));
            }
            A::F32v2ToF16 => {
                let v = self.f32_to_f16::<2>(m)?;
                self.put_lanes(m.a(), v);
            }
            A::F32v4ToF16 => {
                let v = self.f32_to_f16::<4>(m)?;
                self.put_lanes(m.a(), v);
            }
            A::F16v2ToF8 => {
                let [a, b] = self.f16_to_f8::<2>(m)?;
                self.put(m.a(), u32::from_le_bytes([a, b, a, b]));
            }
            A::F16v8ToF8 => {
                let q = self.f16_to_f8::<8>(m)?;
                let word = |k: usize| u32::from_le_bytes([q[k], q[k + 1], q[k + 2], q[k + 3]]);
                self.put_pair(m.a(), [word(0), word(4)]);
            }
            A::F8v2ToF16 => self.f8_to_f16::<2>(m)?,
            A::F8v4ToF16 => self.f8_to_f16::<4>(m)?,
            A::F32FromI32 => {
                let v = self.word(m.b()) as i32 as f32;
                self.put(m.a(), v.to_bits());
            }
            A::F32FromUi32 => {
                let v = self.word(m.b()) as f32;
                self.put(m.a(), v.to_bits());
            }
            A::F32ToI32 => {
                let r = f::to_i32(rd(self.word(m.b())));
                self.raise(if r.is_none() { INV } else { 0 })?;
                self.put(m.a(), r.unwrap_or(i32::MIN) as u32);
            }
            A::F32ToUi32 => {
                let r = f::to_u32(rd(self.word(m.b())));
                self.raise(if r.is_none() { INV } else { 0 })?;
                self.put(m.a(), r.unwrap_or(0));
            }
            A::F16v2SuFromUi => {
                let v = self.lanes::<2>(m.b()).map(sufromui16);
                self.put_lanes(m.a(), v);
            }
            A::F16v4SuFromUi => {
                let v = self.lanes::<4>(m.b()).map(sufromui16);
                self.put_lanes(m.a(), v);
            }
            A::F32SuFromUi => {
                let v = sufromui32(self.word(m.b()));
                self.put(m.a(), v);
            }
            A::F32v2SuFromUi => {
                let v = self.pair(m.b()).map(sufromui32);
                self.put_pair(m.a(), v);
            }
            A::F8v4Class => {
                let format = self.arf_format();
                let codes = self.word(m.b()).to_le_bytes();
                let d = codes.map(|c| self.model.class(class8(c, format)) as u8);
                self.put(m.a(), u32::from_le_bytes(d));
            }
            // every other operation was taken before
            _ => debug_assert!(false, "{op:?} is no conversion"),
        }
        Ok(())
    }
}

/// (2u - 65535) / 2^17 as half.
fn sufromui16(u: u16) -> u16 {
    let v = (2 * i32::from(u) - 65535) as f32 / 131_072.0;
    h::pack(v, false)
}

/// (2u - (2^32 - 1)) / 2^33 as f32.
fn sufromui32(u: u32) -> u32 {
    let v = (2 * i64::from(u) - 0xffff_ffff) as f64 / 8_589_934_592.0;
    wr(v as f32)
}

/// Class code of an f8 code (`isa/ops_f32_int.md` 6).
fn class8(code: u8, format: Format) -> u32 {
    use f::class::{DENORM, NORM, SNAN, ZERO};
    let positive = u32::from(code >> 7 == 0);
    match code & 0x7f {
        _ if code == ERROR => SNAN,
        0 => ZERO + 1,
        v if v >> format.fraction == 0 => DENORM + positive,
        _ => NORM + positive,
    }
}
