//! Functions of the transcendental unit, correctly rounded (assumption `transc_bits`;
//! `isa/ops_f32_int.md` 5.2, `ops_f16.md` 8).
//!
//! A value is computed in f64. If rounding it up and down by eight units in the last place gives
//! the same result, that is the correctly rounded one; otherwise double-double arithmetic decides.
//! Both are pure Rust without contraction: the same bits on every machine.

use super::double::Dd;
use super::f32ops::{Nan, is_snan};
use super::flag::{DIV0, INV, OFLO};

/// A function of one operand.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Function {
    /// e^x.
    Exp,
    /// 2^x.
    Exp2,
    /// Natural logarithm.
    Ln,
    /// Base-2 logarithm.
    Log2,
    /// Hyperbolic tangent.
    Tanh,
    /// 1 / (1 + e^-x).
    Sigm,
    /// 1 / sqrt(x).
    Oorx,
}

impl Function {
    fn estimate(self, x: f64) -> f64 {
        match self {
            Function::Exp => libm::exp(x),
            Function::Exp2 => libm::exp2(x),
            Function::Ln => libm::log(x),
            Function::Log2 => libm::log2(x),
            Function::Tanh => libm::tanh(x),
            Function::Sigm => 1.0 / (1.0 + libm::exp(-x)),
            Function::Oorx => 1.0 / x.sqrt(),
        }
    }

    fn precise(self, x: f64) -> Dd {
        let dx = Dd::new(x);
        match self {
            Function::Exp => dx.exp(),
            Function::Exp2 => dx.times_ln2().exp(),
            Function::Ln => Dd::ln(x, libm::log(x)),
            Function::Log2 => Dd::ln(x, libm::log(x)).over_ln2(),
            Function::Tanh if x.abs() < 1e-4 => {
                // x - x^3/3 + 2x^5/15, the next term is below 2^-100 of x
                let s = dx.mul(dx);
                let series = Dd::new(1.0 / 7.5)
                    .mul(s)
                    .sub(Dd::ONE.div(Dd::new(3.0)))
                    .mul(s);
                dx.add(dx.mul(series))
            }
            Function::Tanh => {
                let e = dx.add(dx).exp();
                e.sub(Dd::ONE).div(e.add(Dd::ONE))
            }
            Function::Sigm => Dd::ONE.div(Dd::ONE.add(dx.neg().exp())),
            Function::Oorx => {
                let y = Dd::new(1.0 / x.sqrt());
                let rest = Dd::ONE.sub(dx.mul(y.mul(y)));
                y.add(y.mul(rest).mul(Dd::new(0.5)))
            }
        }
    }

    /// Rounds the exact value with `round`, which must be monotonic.
    fn rounded(self, x: f64, round: impl Fn(f64) -> f32) -> f32 {
        let v = self.estimate(x);
        let margin = v * (1.0 / 562_949_953_421_312.0); // 2^-49
        let (a, b) = (round(v - margin), round(v + margin));
        if a == b {
            return a;
        }
        round(self.precise(x).to_odd())
    }

    /// The value at a finite operand inside the domain, correctly rounded to f32 (denormal
    /// results unflushed, overflow infinite).
    pub fn f32(self, x: f32) -> f32 {
        let x = f64::from(x);
        // beyond these the result is 0, infinite or 1 whatever the last bits are
        match self {
            Function::Exp | Function::Exp2 if x > 200.0 => return f32::INFINITY,
            Function::Exp | Function::Exp2 if x < -300.0 => return 0.0,
            Function::Tanh if x.abs() > 40.0 => return 1f32.copysign(x as f32),
            _ => {}
        }
        self.rounded(x, |v| v as f32)
    }

    /// The value at a finite half operand inside the domain, rounded once to the half grid
    /// without upper bound on the exponent.
    pub fn half(self, x: f32) -> f32 {
        let x = f64::from(x);
        match self {
            Function::Exp | Function::Exp2 if x > 100.0 => return f32::INFINITY,
            Function::Exp | Function::Exp2 if x < -100.0 => return 0.0,
            Function::Tanh if x.abs() > 40.0 => return 1f32.copysign(x as f32),
            _ => {}
        }
        self.rounded(x, half_grid)
    }

    /// Special operands (`isa/system_and_limits.md` 9.3): the result, or `None` for a normal
    /// evaluation.
    pub fn special(self, x: f32, fl: &mut u32, nan: Nan) -> Option<f32> {
        if is_snan(x) {
            *fl |= INV;
            return Some(nan.f32());
        }
        if x.is_nan() {
            return Some(nan.f32());
        }
        match self {
            Function::Exp | Function::Exp2 => {
                x.is_infinite()
                    .then_some(if x > 0.0 { f32::INFINITY } else { 0.0 })
            }
            Function::Ln | Function::Log2 => {
                if x == 0.0 {
                    *fl |= DIV0;
                    Some(f32::NEG_INFINITY)
                } else if x < 0.0 {
                    *fl |= INV;
                    Some(nan.f32())
                } else {
                    x.is_infinite().then_some(x)
                }
            }
            Function::Oorx => {
                if x == 0.0 {
                    *fl |= DIV0;
                    Some(f32::INFINITY.copysign(x))
                } else if x < 0.0 {
                    *fl |= INV;
                    Some(nan.f32())
                } else {
                    x.is_infinite().then_some(0.0)
                }
            }
            Function::Tanh => {
                if x == 0.0 {
                    Some(x)
                } else {
                    x.is_infinite().then_some(1f32.copysign(x))
                }
            }
            Function::Sigm => {
                if x < -104.0 {
                    Some(0.0)
                } else if x >= 18.0 {
                    Some(1.0)
                } else if x.abs() < 1.0 / 16_777_216.0 {
                    Some(0.5)
                } else {
                    None
                }
            }
        }
    }

    /// The f32 instruction: result not flushed, flags of special operands and overflow.
    pub fn f32_instruction(self, x: f32, fl: &mut u32, nan: Nan) -> f32 {
        if let Some(v) = self.special(x, fl, nan) {
            return v;
        }
        let v = self.f32(x);
        if matches!(self, Function::Exp | Function::Exp2) && v.is_infinite() {
            *fl |= OFLO;
        }
        v
    }
}

/// Rounds to nearest even onto the half grid, without upper bound.
fn half_grid(v: f64) -> f32 {
    if v == 0.0 || !v.is_finite() {
        return v as f32;
    }
    let e = ((v.to_bits() >> 52 & 0x7ff) as i32 - 1023).max(-14);
    let unit = f64::from_bits(((e - 10 + 1023) as u64) << 52);
    ((v / unit).round_ties_even() * unit) as f32
}
