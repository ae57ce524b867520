//! The workers' random number generator (`isa/float.md` 13.1).

/// Generator state: `s0 = PRNG_0_1:PRNG_0_0`, `s1 = PRNG_1_1:PRNG_1_0`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Prng {
    /// First state word.
    pub s0: u64,
    /// Second state word.
    pub s1: u64,
}

/// The two outputs of one advance.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Draw {
    /// Output of the state before.
    pub r0: u64,
    /// Output of the state after one step.
    pub r1: u64,
}

impl Prng {
    /// State after writing `v` to `$PRNG_SEED` (`isa/execution.md` 8.3).
    pub fn seeded(v: u32) -> Prng {
        let s0 = u64::from(!v) << 32 | u64::from(v);
        Prng {
            s0,
            s1: s0.rotate_left(13),
        }
    }

    fn out(self) -> u64 {
        let both = self.s0 & self.s1;
        (self.s0 ^ self.s1) ^ (both.rotate_left(1) | both.rotate_left(2))
    }

    fn next(self) -> Prng {
        let x = self.s0 ^ self.s1;
        Prng {
            s0: self.s0.rotate_left(55) ^ x ^ (x << 14),
            s1: x.rotate_left(36),
        }
    }

    /// One advance: two generator steps, two outputs.
    pub fn advance(&mut self) -> Draw {
        let r0 = self.out();
        *self = self.next();
        let r1 = self.out();
        *self = self.next();
        Draw { r0, r1 }
    }

    /// Word `i` of the state, 0..4 = PRNG_0_0, 0_1, 1_0, 1_1.
    pub fn word(&self, i: u32) -> u32 {
        let s = if i & 2 == 0 { self.s0 } else { self.s1 };
        (s >> (32 * (i & 1))) as u32
    }

    /// Replaces word `i` of the state.
    pub fn set_word(&mut self, i: u32, v: u32) {
        let s = if i & 2 == 0 {
            &mut self.s0
        } else {
            &mut self.s1
        };
        let shift = 32 * (i & 1);
        *s = *s & !(0xffff_ffff << shift) | u64::from(v) << shift;
    }
}

/// Sum of twelve 5-bit fields minus 186, over 32: the normal approximation, exact in half
/// (`isa/float.md` 13.3).
pub fn normal(r: u64) -> f32 {
    let sum: u64 = (0..12).map(|j| r >> (5 * j) & 31).sum();
    (sum as i32 - 186) as f32 / 32.0
}
