//! Dot products of all sixteen units at once.
//!
//! The default model (`window33`) is computed in f64: every product of two elements is exact
//! there, scaling by a power of two puts the window's last bit at 1, truncation drops what is
//! below it, the sum of at most eight such integers is exact, and one conversion rounds to f32.

// Loops over `u` run all units in lockstep: the compiler turns them into vector code.
#![allow(clippy::needless_range_loop)]

use super::model::{AmpMode, Model};
use super::weights::{Column, UNITS, ZERO_EXPONENT};
use crate::arith::dot::{Element, Inner, dot};
use crate::arith::f32ops::Nan;

/// K input elements that all units share.
pub(crate) struct Input<const K: usize> {
    pub(crate) value: [f32; K],
    pub(crate) exponent: [i32; K],
    /// Power of two that every product is scaled by.
    pub(crate) scale: i32,
    /// INV if an element is signalling.
    pub(crate) flags: u32,
    /// An element makes every dot product a NaN.
    pub(crate) nan: bool,
}

impl<const K: usize> Input<K> {
    #[inline(always)]
    pub(crate) fn empty() -> Self {
        Input {
            value: [0.0; K],
            exponent: [ZERO_EXPONENT; K],
            scale: 0,
            flags: 0,
            nan: false,
        }
    }

    /// Element `i`: its value, and the significand and exponent behind it.
    #[inline(always)]
    pub(crate) fn set(&mut self, i: usize, value: f32, m: u32, e: i32) {
        self.value[i] = value;
        if m != 0 {
            self.exponent[i] = e;
        }
    }
}

/// Dot products by unit.
pub(crate) struct Dots {
    value: [f32; UNITS],
}

/// Bits of a denormal become a zero of the same sign.
#[inline(always)]
fn flush(bits: u32) -> u32 {
    if bits & 0x7f80_0000 == 0 {
        bits & 0x8000_0000
    } else {
        bits
    }
}

#[inline(always)]
fn add_all(d: &[f32; UNITS], base: &[u32; UNITS], nan: Nan) -> [u32; UNITS] {
    let mut out = [0; UNITS];
    for u in 0..UNITS {
        let a = f32::from_bits(flush(base[u]));
        let b = f32::from_bits(flush(d[u].to_bits()));
        let s = (a + b).to_bits();
        out[u] = if s & 0x7fff_ffff > 0x7f80_0000 {
            nan.0
        } else {
            flush(s)
        };
    }
    out
}

impl Dots {
    /// Dot products as they are.
    #[inline(always)]
    pub(crate) fn plain(value: [f32; UNITS]) -> Dots {
        Dots { value }
    }

    /// Dot product of unit u.
    #[inline(always)]
    pub(crate) fn value(&self, u: usize) -> f32 {
        self.value[u % UNITS]
    }

    /// `base + dot` by the rules of the accumulators.
    #[inline(always)]
    pub(crate) fn added_to(&self, base: &[u32; UNITS], nan: Nan) -> [u32; UNITS] {
        add_all(&self.value, base, nan)
    }
}

/// 2^e.
#[inline(always)]
fn exp2(e: i32) -> f64 {
    f64::from_bits(((e + 1023) as u64) << 52)
}

fn window<const K: usize>(
    x: &Input<K>,
    column: &Column<K>,
    window: u32,
    minus_zero: bool,
) -> [f32; UNITS] {
    // half of the sentinel: sums of two exponents stay far above or far below it
    const NOTHING: i32 = ZERO_EXPONENT / 2;
    let mut top = [NOTHING; UNITS];
    for i in 0..K {
        for u in 0..UNITS {
            top[u] = top[u].max(x.exponent[i] + column.exponent[i][u]);
        }
    }
    let mut factor = [0f64; UNITS];
    for u in 0..UNITS {
        // without a product any finite factor will do
        let t = if top[u] == NOTHING { 0 } else { top[u] };
        factor[u] = exp2(window as i32 - t);
    }
    let mut sum = [0f64; UNITS];
    let mut negative = [u64::MAX; UNITS];
    for i in 0..K {
        let v = f64::from(x.value[i]);
        for u in 0..UNITS {
            let p = v * column.wide[i][u];
            negative[u] &= p.to_bits();
            sum[u] += (p * factor[u]).trunc();
        }
    }
    let mut out = [0f32; UNITS];
    for u in 0..UNITS {
        let t = if top[u] == NOTHING { 0 } else { top[u] };
        let d = sum[u] * exp2(t - window as i32 + x.scale);
        let minus = minus_zero && top[u] == NOTHING && negative[u] >> 63 == 1;
        out[u] = if minus { -0.0 } else { d as f32 };
    }
    out
}

/// Dot products of the units with one weight column; `bits` is the window of the format.
/// Units outside `units` may hold anything.
#[inline(always)]
pub(crate) fn dots<const K: usize>(
    x: &Input<K>,
    column: &Column<K>,
    bits: u32,
    units: u32,
    model: &Model,
) -> Dots {
    if x.nan {
        return Dots::plain([model.nan.f32(); UNITS]);
    }
    let mut value = if model.amp == AmpMode::Fast && x.scale == 0 {
        fast_dots(&x.value, &column.value)
    } else if model.inner == Inner::Window33 {
        window(x, column, bits, model.dot_minus_zero)
    } else {
        scalar(x, column, bits, model)
    };
    let nan = column.nan & units;
    if nan != 0 {
        for (u, v) in value.iter_mut().enumerate() {
            if nan >> u & 1 == 1 {
                *v = model.nan.f32();
            }
        }
    }
    Dots::plain(value)
}

/// The other models of `dot_inner`, unit by unit.
#[cold]
fn scalar<const K: usize>(
    x: &Input<K>,
    column: &Column<K>,
    bits: u32,
    model: &Model,
) -> [f32; UNITS] {
    let element = |v: f32, e: i32| Element {
        // the significand behind a value and its exponent; a zero has any exponent
        m: if v == 0.0 {
            0
        } else {
            (f64::from(v.abs()) * exp2(-e)) as u32
        },
        e: if v == 0.0 { 0 } else { e },
        negative: v.is_sign_negative(),
    };
    let xs: [Element; K] = std::array::from_fn(|i| element(x.value[i], x.exponent[i]));
    std::array::from_fn(|u| {
        let ws: [Element; K] =
            std::array::from_fn(|i| element(column.value[i][u], column.exponent[i][u]));
        dot(&xs, &ws, x.scale, bits, model.inner, model.dot_minus_zero)
    })
}

/// Dot products in plain f32, element 0 first: the fast mode.
#[inline(always)]
fn fast_dots<const K: usize>(x: &[f32; K], w: &[[f32; UNITS]; K]) -> [f32; UNITS] {
    let mut sum = [0f32; UNITS];
    for i in 0..K {
        for u in 0..UNITS {
            sum[u] += x[i] * w[i][u];
        }
    }
    sum
}
