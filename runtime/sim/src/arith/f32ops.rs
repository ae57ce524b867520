//! Binary32 operations with the chip's flushes, special operands and flags
//! (`isa/ops_f32_int.md` 1).

use super::flag::{DIV0, INV, OFLO};

/// The default of assumption `qnan32`: bits of the NaN that the machine makes.
pub const QNAN32: u32 = 0x7fd9_c000;

/// The NaN that the machine makes (assumption `qnan32`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Nan(pub u32);

impl Nan {
    /// As a value.
    #[inline(always)]
    pub fn f32(self) -> f32 {
        f32::from_bits(self.0)
    }
}

/// Denormal to zero of the same sign.
#[inline(always)]
pub fn fz(v: f32) -> f32 {
    if v.to_bits() & 0x7f80_0000 == 0 {
        f32::from_bits(v.to_bits() & 0x8000_0000)
    } else {
        v
    }
}

/// Operand from a register.
#[inline(always)]
pub fn rd(r: u32) -> f32 {
    fz(f32::from_bits(r))
}

/// Result to a register.
#[inline(always)]
pub fn wr(v: f32) -> u32 {
    fz(v).to_bits()
}

/// Signalling NaN.
#[inline(always)]
pub fn is_snan(v: f32) -> bool {
    let b = v.to_bits();
    b & 0x7f80_0000 == 0x7f80_0000 && b & 0x7f_ffff != 0 && b & 0x40_0000 == 0
}

/// Quiet NaN.
#[inline(always)]
pub fn is_qnan(v: f32) -> bool {
    v.to_bits() & 0x7fc0_0000 == 0x7fc0_0000
}

#[inline(always)]
fn negative(v: f32) -> bool {
    v.to_bits() >> 31 != 0
}

#[inline(always)]
fn signed(v: f32, negative: bool) -> f32 {
    f32::from_bits(v.to_bits() & 0x7fff_ffff | (negative as u32) << 31)
}

/// |v| bitwise, NaN kept.
#[inline(always)]
pub fn abs(v: f32) -> f32 {
    f32::from_bits(v.to_bits() & 0x7fff_ffff)
}

/// -v bitwise, NaN kind kept.
#[inline(always)]
pub fn neg(v: f32) -> f32 {
    f32::from_bits(v.to_bits() ^ 0x8000_0000)
}

/// Special operands of an addition (`add_pre`); flags are added to `fl`.
pub fn add_pre(a: f32, b: f32, fl: &mut u32, nan: Nan) -> Option<f32> {
    if is_snan(a) || is_snan(b) {
        *fl |= INV;
        return Some(nan.f32());
    }
    if a.is_nan() || b.is_nan() {
        return Some(nan.f32());
    }
    if a.is_infinite() && b.is_infinite() && negative(a) != negative(b) {
        *fl |= INV;
        return Some(nan.f32());
    }
    if a.is_infinite() {
        return Some(a);
    }
    b.is_infinite().then_some(b)
}

/// Special operands of a multiplication (`mul_pre`).
pub fn mul_pre(a: f32, b: f32, fl: &mut u32, nan: Nan) -> Option<f32> {
    if is_snan(a) || is_snan(b) {
        *fl |= INV;
        return Some(nan.f32());
    }
    if a.is_nan() || b.is_nan() {
        return Some(nan.f32());
    }
    if a.is_infinite() || b.is_infinite() {
        if a == 0.0 || b == 0.0 {
            *fl |= INV;
            return Some(nan.f32());
        }
        return Some(signed(f32::INFINITY, negative(a) != negative(b)));
    }
    None
}

#[inline(always)]
fn finite(a: f32, b: f32) -> bool {
    // one test for both: the larger exponent field
    (a.to_bits() & 0x7f80_0000).max(b.to_bits() & 0x7f80_0000) != 0x7f80_0000
}

/// Addition of flushed operands with flags; the result is not flushed yet.
#[inline(always)]
pub fn add(a: f32, b: f32, fl: &mut u32, nan: Nan) -> f32 {
    if finite(a, b) {
        let r = a + b;
        if r.is_infinite() {
            *fl |= OFLO;
        }
        r
    } else {
        add_pre(a, b, fl, nan).unwrap_or(nan.f32())
    }
}

/// Multiplication of flushed operands with flags; the result is not flushed yet.
#[inline(always)]
pub fn mul(a: f32, b: f32, fl: &mut u32, nan: Nan) -> f32 {
    if finite(a, b) {
        let r = a * b;
        if r.is_infinite() {
            *fl |= OFLO;
        }
        r
    } else {
        mul_pre(a, b, fl, nan).unwrap_or(nan.f32())
    }
}

/// Quiet product (`mulq`): no flags, not flushed.
#[inline(always)]
pub fn mulq(a: f32, b: f32, nan: Nan) -> f32 {
    let p = a * b;
    if p.is_nan() { nan.f32() } else { p }
}

/// Quiet sum (`addq`): operands and result flushed, no flags.
#[inline(always)]
pub fn addq(a: f32, b: f32, nan: Nan) -> f32 {
    let s = fz(a) + fz(b);
    if s.is_nan() { nan.f32() } else { fz(s) }
}

/// Quiet sum of magnitudes (`addq_abs`).
#[inline(always)]
pub fn addq_abs(a: f32, b: f32, nan: Nan) -> f32 {
    addq(abs(a), abs(b), nan)
}

/// Quiet `x * y + z` with two roundings (`macq`).
#[inline(always)]
pub fn macq(x: f32, y: f32, z: f32, nan: Nan) -> f32 {
    addq(mulq(x, y, nan), z, nan)
}

/// `x * y + z` with two roundings and the flags of `mac_pre`.
pub fn mac(x: f32, y: f32, z: f32, fl: &mut u32, nan: Nan) -> f32 {
    if is_snan(x) || is_snan(y) {
        *fl |= INV;
        return nan.f32();
    }
    if x.is_nan() || y.is_nan() {
        return nan.f32();
    }
    if (x.is_infinite() && y == 0.0) || (y.is_infinite() && x == 0.0) {
        *fl |= INV;
        return nan.f32();
    }
    macq(x, y, z, nan)
}

/// `a * x + y` of axpy; infinity times zero is tested before quiet NaNs.
pub fn axpy(a: f32, x: f32, y: f32, fl: &mut u32, nan: Nan) -> f32 {
    if is_snan(a) || is_snan(x) || is_snan(y) {
        *fl |= INV;
        return nan.f32();
    }
    if (a.is_infinite() && x == 0.0) || (x.is_infinite() && a == 0.0) {
        *fl |= INV;
        return nan.f32();
    }
    macq(a, x, y, nan)
}

/// maxNum of the text (`ops_f32_int.md` 1.4). `two_qnan`: result of two quiet NaNs when it is
/// not the first operand (assumption `minmax_two_qnan`).
#[inline(always)]
pub fn max(a: f32, b: f32, two_qnan: Option<f32>, nan: Nan) -> f32 {
    if a.is_nan() || b.is_nan() {
        return nan_order(a, b, two_qnan, nan);
    }
    if abs(a) == abs(b) {
        if negative(b) { a } else { b }
    } else if a > b {
        a
    } else {
        b
    }
}

/// minNum of the text.
#[inline(always)]
pub fn min(a: f32, b: f32, two_qnan: Option<f32>, nan: Nan) -> f32 {
    if a.is_nan() || b.is_nan() {
        return nan_order(a, b, two_qnan, nan);
    }
    if abs(a) == abs(b) {
        if negative(b) { b } else { a }
    } else if a < b {
        a
    } else {
        b
    }
}

#[cold]
fn nan_order(a: f32, b: f32, two_qnan: Option<f32>, nan: Nan) -> f32 {
    if is_snan(a) || is_snan(b) {
        nan.f32()
    } else if b.is_nan() {
        match two_qnan {
            Some(fixed) if a.is_nan() => fixed,
            _ => a,
        }
    } else {
        b
    }
}

/// Clamp of one lane to `lo`..`hi`, the upper limit first.
pub fn clamp(x: f32, lo: f32, hi: f32, nan: Nan) -> f32 {
    if lo.is_nan() || hi.is_nan() || x.is_nan() {
        nan.f32()
    } else if x > hi {
        hi
    } else {
        max(x, lo, None, nan)
    }
}

/// Quotient of flushed operands with flags; not flushed.
pub fn div(a: f32, b: f32, fl: &mut u32, nan: Nan) -> f32 {
    let sign = negative(a) != negative(b);
    if is_snan(a) || is_snan(b) {
        *fl |= INV;
        nan.f32()
    } else if a.is_nan() || b.is_nan() {
        nan.f32()
    } else if a.is_infinite() {
        if b.is_infinite() {
            *fl |= INV;
            return nan.f32();
        }
        signed(f32::INFINITY, sign)
    } else if b.is_infinite() {
        signed(0.0, sign)
    } else if b == 0.0 {
        if a == 0.0 {
            *fl |= INV;
            return nan.f32();
        }
        *fl |= DIV0;
        signed(f32::INFINITY, sign)
    } else {
        let r = a / b;
        if r.is_infinite() {
            *fl |= OFLO;
        }
        r
    }
}

/// Square root with flags.
pub fn sqrt(x: f32, fl: &mut u32, nan: Nan) -> f32 {
    if is_snan(x) {
        *fl |= INV;
        nan.f32()
    } else if x.is_nan() {
        nan.f32()
    } else if x == 0.0 {
        x
    } else if negative(x) {
        *fl |= INV;
        nan.f32()
    } else {
        x.sqrt()
    }
}

/// Reciprocal with flags; not flushed.
pub fn oox(x: f32, fl: &mut u32, nan: Nan) -> f32 {
    if is_snan(x) {
        *fl |= INV;
        nan.f32()
    } else if x.is_nan() {
        nan.f32()
    } else if x == 0.0 {
        *fl |= DIV0;
        signed(f32::INFINITY, negative(x))
    } else if x.is_infinite() {
        signed(0.0, negative(x))
    } else {
        1.0 / x
    }
}

/// Rounds to an integral value. Modes: 0 nearest even, 1 up, 2 down, 3 toward zero, 4 nearest
/// with ties away, others as 0. The sign of a zero result is that of the operand.
pub fn to_integral(x: f32, mode: u32, nan: Nan) -> f32 {
    if x.is_nan() {
        return nan.f32();
    }
    let r = match mode {
        1 => x.ceil(),
        2 => x.floor(),
        3 => x.trunc(),
        4 => x.round(),
        _ => x.round_ties_even(),
    };
    signed(r, negative(x))
}

/// Signed integer of an f32; `None` when invalid.
pub fn to_i32(x: f32) -> Option<i32> {
    let r = f64::from(x).round_ties_even();
    (-2_147_483_648.0..=2_147_483_647.0)
        .contains(&r)
        .then_some(r as i32)
}

/// Unsigned integer of an f32; `None` when invalid.
pub fn to_u32(x: f32) -> Option<u32> {
    let r = f64::from(x).round_ties_even();
    (0.0..=4_294_967_295.0).contains(&r).then_some(r as u32)
}

/// Class codes in the order of the tests, the default of assumption `class_codes`.
pub mod class {
    /// Signalling NaN.
    pub const SNAN: u32 = 1;
    /// Quiet NaN.
    pub const QNAN: u32 = 2;
    /// Infinity; a positive value has the next code.
    pub const INF: u32 = 3;
    /// Zero.
    pub const ZERO: u32 = 5;
    /// Denormal.
    pub const DENORM: u32 = 7;
    /// Normal.
    pub const NORM: u32 = 9;
}

/// Class code of a flushed f32.
pub fn class_f32(v: f32) -> u32 {
    let positive = u32::from(!negative(v));
    if is_snan(v) {
        class::SNAN
    } else if v.is_nan() {
        class::QNAN
    } else if v.is_infinite() {
        class::INF + positive
    } else if v == 0.0 {
        class::ZERO + positive
    } else {
        class::NORM + positive
    }
}
