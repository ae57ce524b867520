//! Dot products of f16 and f8 elements, rounded to f32 (`isa/amp.md` 4.2, assumptions
//! `dot_inner`, `dot_zero_sign`). Elements are finite here; NaN is the caller's case.

use super::quarter::Format;

/// How the additions inside a dot product are done (assumption `dot_inner`).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Inner {
    /// Products aligned to the largest one in a window of 33 bits, the rest cut off.
    #[default]
    Window33,
    /// The exact sum, rounded once.
    Exact,
    /// Products added one after the other, each sum rounded to f32.
    Sequential,
}

/// A finite element as signed integer significand and exponent: `±m * 2^e`, not normalised.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Element {
    /// Significand, 0 for a zero.
    pub m: u32,
    /// Exponent.
    pub e: i32,
    /// Sign.
    pub negative: bool,
}

impl Element {
    /// Element of a finite half.
    #[inline(always)]
    pub fn half(h: u16) -> Element {
        let exponent = i32::from(h >> 10 & 0x1f);
        Element {
            m: u32::from(h & 0x3ff) + if exponent > 0 { 1024 } else { 0 },
            e: exponent.max(1) - 25,
            negative: h & 0x8000 != 0,
        }
    }

    /// Element of an f8 number (not the error code).
    #[inline(always)]
    pub fn quarter(code: u8, format: Format) -> Element {
        let exponent = i32::from(code & 0x7f) >> format.fraction;
        let fraction = u32::from(code) & ((1 << format.fraction) - 1);
        let m = fraction
            + if exponent > 0 {
                1 << format.fraction
            } else {
                0
            };
        // significands are put on four bits in both formats
        let (m, bias) = if format.fraction == 2 {
            (2 * m, 19)
        } else {
            (m, 11)
        };
        Element {
            m,
            e: exponent.max(1) - bias,
            negative: code & 0x80 != 0,
        }
    }
}

/// Left shift of the largest product in the window: halves.
pub const WINDOW_HALF: u32 = 11;
/// Left shift of the largest product in the window: f8.
pub const WINDOW_QUARTER: u32 = 25;

/// 2^e as f64, for the exponents that occur here.
#[inline(always)]
fn exp2(e: i32) -> f64 {
    f64::from_bits(((e + 1023) as u64) << 52)
}

/// Dot product of `N` pairs of elements, every product scaled by 2^`scale`.
/// `window` is [`WINDOW_HALF`] or [`WINDOW_QUARTER`]; `minus_zero` allows a result of -0
/// (assumption `dot_zero_sign`).
#[inline(always)]
pub fn dot<const N: usize>(
    x: &[Element; N],
    y: &[Element; N],
    scale: i32,
    window: u32,
    inner: Inner,
    minus_zero: bool,
) -> f32 {
    let mut p = [0i64; N];
    let mut e = [0i32; N];
    let mut negative_zeros = 0;
    let mut top = i32::MIN;
    for i in 0..N {
        let negative = x[i].negative != y[i].negative;
        let m = i64::from(x[i].m * y[i].m);
        p[i] = if negative { -m } else { m };
        e[i] = x[i].e + y[i].e + scale;
        if m != 0 {
            top = top.max(e[i]);
        } else {
            negative_zeros += usize::from(negative);
        }
    }
    if top == i32::MIN {
        return if minus_zero && negative_zeros == N {
            -0.0
        } else {
            0.0
        };
    }
    match inner {
        Inner::Window33 => {
            let mut sum = 0i64;
            for i in 0..N {
                if p[i] != 0 {
                    let shift = (top - e[i]).min(63) as u32;
                    let magnitude = (p[i].unsigned_abs() << window) >> shift;
                    let part = magnitude as i64;
                    sum += if p[i] < 0 { -part } else { part };
                }
            }
            (sum as f64 * exp2(top - window as i32)) as f32
        }
        Inner::Exact => exact(&p, &e),
        Inner::Sequential => sequential(&p, &e),
    }
}

fn exact<const N: usize>(p: &[i64; N], e: &[i32; N]) -> f32 {
    // exponents span at most 60 and products 22 bits: everything fits 128 bits
    let low = (0..N)
        .filter(|&i| p[i] != 0)
        .map(|i| e[i])
        .min()
        .unwrap_or(0);
    let sum: i128 = (0..N)
        .filter(|&i| p[i] != 0)
        .map(|i| i128::from(p[i]) << (e[i] - low).min(100))
        .sum();
    let magnitude = sum.unsigned_abs();
    let extra = (128 - magnitude.leading_zeros()).saturating_sub(50);
    // cut to 50 bits, the last one odd if anything was lost: one correct rounding remains
    let mut kept = magnitude >> extra;
    if kept << extra != magnitude {
        kept |= 1;
    }
    let v = kept as f64 * exp2(low + extra as i32);
    (if sum < 0 { -v } else { v }) as f32
}

fn sequential<const N: usize>(p: &[i64; N], e: &[i32; N]) -> f32 {
    let mut sum = 0.0f32;
    let mut first = true;
    for i in 0..N {
        if p[i] != 0 {
            let product = (p[i] as f64 * exp2(e[i])) as f32;
            sum = if first { product } else { sum + product };
            first = false;
        }
    }
    // an exact cancellation is +0 in nearest even
    sum
}
