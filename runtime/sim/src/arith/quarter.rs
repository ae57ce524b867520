//! The two f8 formats (`isa/float.md` 1, 3.3, 5).

use super::flag::{INV, OFLO};

/// The error code of both formats.
pub const ERROR: u8 = 0x80;

/// One of the two f8 formats, as in `$FP_NFMT`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Format {
    /// Fraction bits: 2 or 3.
    pub fraction: u32,
    /// Exponent bias: 16 or 8.
    pub bias: i32,
}

impl Format {
    /// 1-5-2.
    pub const E5M2: Format = Format {
        fraction: 2,
        bias: 16,
    };
    /// 1-4-3.
    pub const E4M3: Format = Format {
        fraction: 3,
        bias: 8,
    };

    /// Format of a format bit: 0 = 1-5-2, 1 = 1-4-3.
    #[inline(always)]
    pub const fn of(bit: u32) -> Format {
        if bit & 1 == 0 {
            Format::E5M2
        } else {
            Format::E4M3
        }
    }

    /// Exponent of the smallest normal.
    pub const fn emin(self) -> i32 {
        1 - self.bias
    }

    /// First power of two that is out of range: 2^16 or 2^8.
    fn limit(self) -> f32 {
        if self.fraction == 2 { 65536.0 } else { 256.0 }
    }

    /// Value of a code; `None` for the error code.
    pub fn value(self, code: u8) -> Option<f32> {
        if code == ERROR {
            return None;
        }
        let fraction = u32::from(code) & ((1 << self.fraction) - 1);
        let exponent = i32::from(code & 0x7f) >> self.fraction;
        let (m, e) = if exponent == 0 {
            (fraction, self.emin())
        } else {
            (fraction | 1 << self.fraction, exponent - self.bias)
        };
        let v = m as f32 * exp2i(e - self.fraction as i32);
        Some(if code & 0x80 != 0 { -v } else { v })
    }

    /// Rounds a finite value to nearest even onto the format's grid, without upper bound.
    pub fn round(self, v: f32) -> f32 {
        // Everything here is exact in f64 but the one rounding to an integer.
        let v = f64::from(v);
        let e = if v == 0.0 {
            self.emin()
        } else {
            ((v.to_bits() >> 52 & 0x7ff) as i32 - 1023).max(self.emin())
        };
        let unit = f64::from_bits(((e - self.fraction as i32 + 1023) as u64) << 52);
        ((v / unit).round_ties_even() * unit) as f32
    }

    /// Code of a value on the grid of [`Format::round`]; overflow saturates or, with NANOO, is
    /// the error code. Zeros of both signs give 0x00.
    pub fn encode(self, v: f32, nanoo: bool) -> u8 {
        if v == 0.0 {
            return 0;
        }
        let sign = ((v.to_bits() >> 24) & 0x80) as u8;
        let magnitude = v.abs();
        if magnitude >= self.limit() {
            return if nanoo { ERROR } else { 0x7f | sign };
        }
        let e = ((magnitude.to_bits() >> 23) as i32 - 127).max(self.emin());
        let m = (magnitude / exp2i(e - self.fraction as i32)) as u32;
        let code = if m >> self.fraction == 0 {
            m
        } else {
            ((e + self.bias) as u32) << self.fraction | m & ((1 << self.fraction) - 1)
        };
        // a magnitude that rounds to zero has no sign
        if code == 0 { 0 } else { code as u8 | sign }
    }

    /// Flags of a rounded value: overflow, and invalid with NANOO.
    pub fn overflow(self, rounded: f32, nanoo: bool) -> u32 {
        if rounded.abs() >= self.limit() {
            if nanoo { OFLO | INV } else { OFLO }
        } else {
            0
        }
    }
}

/// 2^e in the normal range of f32.
#[inline(always)]
pub fn exp2i(e: i32) -> f32 {
    f32::from_bits(((e + 127) as u32) << 23)
}

/// `$FP_SCL.SCALE` as a number, -32..=31.
#[inline(always)]
pub const fn scale(scl: u32) -> i32 {
    ((scl << 26) as i32) >> 26
}
