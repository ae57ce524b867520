//! Stochastic rounding (`isa/float.md` 13.4).

use super::prng::Draw;
use super::quarter::Format;

/// Noise of half lane `i`, 24 bits.
#[inline]
pub fn noise16(r: Draw, i: usize) -> u32 {
    let low = (r.r0 >> (16 * i)) as u32 & 0xffff;
    let high = (r.r1 >> (8 * i)) as u32 & 0xff;
    low | high << 16
}

/// Noise of f8 element `i`, 11 bits.
#[inline]
pub fn noise8(r: Draw, i: usize) -> u32 {
    let low = (r.r0 >> (8 * i)) as u32 & 0xff;
    let high = (r.r1 >> (8 * i)) as u32 & 7;
    low | high << 8
}

/// Rounds the magnitude `m * 2^(e - carrier + 1)`, `m` with `carrier` significant bits, to a
/// grid with `fraction` fraction bits and least normal exponent `emin`.
fn round(m: u32, e: i32, carrier: u32, fraction: u32, emin: i32, noise: u32) -> f64 {
    let l = carrier as i32 - 1 - fraction as i32 + (emin - e).max(0);
    if l > carrier as i32 {
        return 0.0;
    }
    let q = (m + (noise & ((1 << l) - 1))) >> l;
    f64::from(q) * f64::from_bits(((e - carrier as i32 + 1 + l + 1023) as u64) << 52)
}

/// Rounds an f32 to the half grid; NaN, infinity and zero are left alone. A result of 2^16
/// stands for overflow.
pub fn round_half(v: f32, noise: u32) -> f32 {
    if !v.is_finite() || v == 0.0 {
        return v;
    }
    let bits = v.to_bits();
    let e = (bits >> 23 & 0xff) as i32 - 127;
    let m = bits & 0x7f_ffff | 0x80_0000;
    // f32 denormals were flushed before; a rest would be far below the grid anyway
    let r = round(m, e, 24, 10, -14, noise) as f32;
    f32::from_bits(r.to_bits() | bits & 0x8000_0000)
}

/// Rounds the scaled value of a half (at most 11 significant bits) to an f8 grid.
pub fn round_quarter(v: f32, format: Format, noise: u32) -> f32 {
    if !v.is_finite() || v == 0.0 {
        return v;
    }
    let bits = v.to_bits();
    let e = (bits >> 23 & 0xff) as i32 - 127;
    let m = (bits & 0x7f_ffff | 0x80_0000) >> 13;
    let r = round(m, e, 11, format.fraction, format.emin(), noise) as f32;
    f32::from_bits(r.to_bits() | bits & 0x8000_0000)
}
