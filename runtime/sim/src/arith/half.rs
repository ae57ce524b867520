//! Binary16 in and out (`isa/float.md` 1, 3.2; `ops_f16.md` 1).

use super::flag::{INV, OFLO};

/// The quiet NaN of every half result.
pub const QNAN16: u16 = 0x7ece;
/// Largest finite half.
pub const MAX16: u16 = 0x7bff;

/// True for a signalling NaN.
#[inline(always)]
pub const fn is_snan(h: u16) -> bool {
    h & 0x7c00 == 0x7c00 && h & 0x3ff != 0 && h & 0x200 == 0
}

/// True for any NaN.
#[inline(always)]
pub const fn is_nan(h: u16) -> bool {
    h & 0x7fff > 0x7c00
}

/// True for NaN or infinity.
#[inline(always)]
pub const fn is_special(h: u16) -> bool {
    h & 0x7c00 == 0x7c00
}

/// True for what mode A takes as a signalling NaN: a signalling NaN or an infinity.
#[inline(always)]
pub const fn is_snan_a(h: u16) -> bool {
    is_special(h) && h & 0x200 == 0
}

/// A finite half (or, in mode K, an infinity or NaN, kind and sign kept) as f32, exactly.
#[inline(always)]
pub fn widen(h: u16) -> f32 {
    let magnitude = u32::from(h & 0x7fff);
    let sign = u32::from(h & 0x8000) << 16;
    let bits = if magnitude.wrapping_sub(0x400) < 0x7800 {
        // normal: the exponent moves from bias 15 to 127
        (magnitude << 13) + (112 << 23)
    } else if magnitude < 0x400 {
        // fraction * 2^-24, exact and normal in f32
        return f32::from_bits((magnitude as f32 * (1.0 / 16_777_216.0)).to_bits() | sign);
    } else {
        0x7f80_0000 | (magnitude & 0x3ff) << 13
    };
    f32::from_bits(bits | sign)
}

/// Rounds a finite f32 to the half grid (denormals included, no upper bound on the exponent is
/// needed: `None` stands for a magnitude of 65520 or more). Nearest, ties to even.
#[inline(always)]
pub fn round(v: f32) -> Option<u16> {
    let bits = v.to_bits();
    let sign = (bits >> 16) as u16 & 0x8000;
    let magnitude = bits & 0x7fff_ffff;
    if magnitude >= 0x477f_f000 {
        return None;
    }
    let h = if magnitude >= 0x3880_0000 {
        let odd = magnitude >> 13 & 1;
        ((magnitude + 0xfff + odd) >> 13) - (112 << 10)
    } else {
        // Adding 0.5 puts the last bit of the sum at 2^-24, the half denormal step, so the
        // addition itself rounds to nearest even.
        (f32::from_bits(magnitude) + 0.5).to_bits() - 0x3f00_0000
    };
    Some(h as u16 | sign)
}

/// Half of an f32 result, `Half(v).bitz32(mode of NANOO)`: overflow saturates or becomes a NaN;
/// an infinity is an overflow of the same kind; a NaN becomes the fixed NaN.
#[inline(always)]
pub fn pack(v: f32, nanoo: bool) -> u16 {
    match round(v) {
        Some(h) => h,
        None => pack_special(v, nanoo),
    }
}

#[cold]
fn pack_special(v: f32, nanoo: bool) -> u16 {
    if v.is_nan() || nanoo {
        QNAN16
    } else {
        MAX16 | (v.to_bits() >> 16) as u16 & 0x8000
    }
}

/// Half of an f32 that is a half already, or a NaN or infinity: infinities leave as infinities.
#[inline(always)]
pub fn pack_keep(v: f32) -> u16 {
    match round(v) {
        Some(h) => h,
        None if v.is_nan() => QNAN16,
        None => 0x7c00 | (v.to_bits() >> 16) as u16 & 0x8000,
    }
}

/// Flags of converting `v` to half: nothing for a NaN, overflow (and invalid with NANOO) when
/// the rounded magnitude is above 65504 (`isa/system_and_limits.md` 9.2).
#[inline(always)]
pub fn overflow(v: f32, nanoo: bool) -> u32 {
    if v.to_bits() & 0x7fff_ffff < 0x477f_f000 || v.is_nan() {
        0
    } else if nanoo {
        OFLO | INV
    } else {
        OFLO
    }
}

/// Low half of a word.
#[inline(always)]
pub const fn lo(w: u32) -> u16 {
    w as u16
}

/// High half of a word.
#[inline(always)]
pub const fn hi(w: u32) -> u16 {
    (w >> 16) as u16
}

/// A word of two halves.
#[inline(always)]
pub const fn join(lo: u16, hi: u16) -> u32 {
    lo as u32 | (hi as u32) << 16
}

/// Reads a half in arithmetic mode ("mode A"): an infinity arrives as a signalling NaN.
#[inline(always)]
pub fn pick_a(h: u16) -> f32 {
    if h & 0x7fff == 0x7c00 {
        f32::from_bits(0x7fa0_0000)
    } else {
        widen(h)
    }
}

/// Class code of a half (`isa/ops_f16.md` 4.6).
pub fn class(h: u16) -> u32 {
    use super::f32ops::class::{DENORM, INF, NORM, QNAN, SNAN, ZERO};
    let positive = u32::from(h >> 15 == 0);
    let magnitude = h & 0x7fff;
    if is_snan(h) {
        SNAN
    } else if magnitude > 0x7c00 {
        QNAN
    } else if magnitude == 0x7c00 {
        INF + positive
    } else if magnitude == 0 {
        ZERO + positive
    } else if magnitude < 0x400 {
        DENORM + positive
    } else {
        NORM + positive
    }
}
