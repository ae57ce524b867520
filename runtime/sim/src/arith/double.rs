//! Double-double arithmetic: about 100 significant bits, enough to decide the rounding of the
//! few f32 function values that lie too near a rounding border for an f64 evaluation.

/// The unevaluated sum `hi + lo`, |lo| at most half a unit in the last place of `hi`.
#[derive(Clone, Copy, Debug)]
pub struct Dd {
    pub hi: f64,
    pub lo: f64,
}

/// ln 2.
const LN2: Dd = Dd {
    hi: std::f64::consts::LN_2,
    lo: 2.319_046_813_846_299_6e-17,
};

fn two_sum(a: f64, b: f64) -> Dd {
    let s = a + b;
    let t = s - a;
    Dd {
        hi: s,
        lo: (a - (s - t)) + (b - t),
    }
}

fn quick_sum(a: f64, b: f64) -> Dd {
    let s = a + b;
    Dd {
        hi: s,
        lo: b - (s - a),
    }
}

fn split(a: f64) -> (f64, f64) {
    let t = 134_217_729.0 * a;
    let hi = t - (t - a);
    (hi, a - hi)
}

fn two_prod(a: f64, b: f64) -> Dd {
    let p = a * b;
    let (ah, al) = split(a);
    let (bh, bl) = split(b);
    Dd {
        hi: p,
        lo: ((ah * bh - p) + ah * bl + al * bh) + al * bl,
    }
}

impl Dd {
    pub const ONE: Dd = Dd { hi: 1.0, lo: 0.0 };

    pub fn new(v: f64) -> Dd {
        Dd { hi: v, lo: 0.0 }
    }

    pub fn add(self, o: Dd) -> Dd {
        let s = two_sum(self.hi, o.hi);
        let t = two_sum(self.lo, o.lo);
        let s = quick_sum(s.hi, s.lo + t.hi);
        quick_sum(s.hi, s.lo + t.lo)
    }

    pub fn neg(self) -> Dd {
        Dd {
            hi: -self.hi,
            lo: -self.lo,
        }
    }

    pub fn sub(self, o: Dd) -> Dd {
        self.add(o.neg())
    }

    pub fn mul(self, o: Dd) -> Dd {
        let p = two_prod(self.hi, o.hi);
        quick_sum(p.hi, p.lo + (self.hi * o.lo + self.lo * o.hi))
    }

    pub fn div(self, o: Dd) -> Dd {
        let q1 = self.hi / o.hi;
        let r = self.sub(o.mul(Dd::new(q1)));
        let q2 = r.hi / o.hi;
        let r = r.sub(o.mul(Dd::new(q2)));
        let q3 = r.hi / o.hi;
        quick_sum(q1, q2).add(Dd::new(q3))
    }

    /// Times a power of two.
    fn scale(self, e: i32) -> Dd {
        let f = f64::from_bits(((e + 1023) as u64) << 52);
        Dd {
            hi: self.hi * f,
            lo: self.lo * f,
        }
    }

    /// e^self for |self| below 700.
    pub fn exp(self) -> Dd {
        let k = (self.hi / LN2.hi).round_ties_even();
        let r = self.sub(LN2.mul(Dd::new(k))).scale(-6);
        // |r| < 0.0055: twelve terms leave less than 2^-115
        let mut sum = Dd::ONE;
        for n in (1..=12).rev() {
            sum = Dd::ONE.add(sum.mul(r).div(Dd::new(f64::from(n))));
        }
        for _ in 0..6 {
            sum = sum.mul(sum);
        }
        sum.scale(k as i32)
    }

    /// Natural logarithm of a positive number, from an f64 estimate.
    pub fn ln(x: f64, estimate: f64) -> Dd {
        let t = Dd::new(x).mul(Dd::new(-estimate).exp()).sub(Dd::ONE);
        let half_square = t.mul(t).scale(-1);
        Dd::new(estimate).add(t).sub(half_square)
    }

    /// Times ln 2.
    pub fn times_ln2(self) -> Dd {
        self.mul(LN2)
    }

    /// Over ln 2.
    pub fn over_ln2(self) -> Dd {
        self.div(LN2)
    }

    /// An f64 whose last bit is odd where the value lies between two f64 numbers: rounding it
    /// once more, to fewer bits, then equals rounding the value.
    pub fn to_odd(self) -> f64 {
        if self.lo == 0.0 || self.hi.to_bits() & 1 == 1 {
            return self.hi;
        }
        let away = (self.lo > 0.0) == (self.hi > 0.0);
        let bits = self.hi.to_bits();
        f64::from_bits(if away { bits | 1 } else { bits - 1 })
    }
}
