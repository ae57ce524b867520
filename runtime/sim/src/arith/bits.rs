//! Bit and byte permutations of both lanes (`isa/ops_core.md` 4).

const fn byte(w: u32, k: u32) -> u32 {
    w >> (8 * k) & 0xff
}

const fn word(b: [u32; 4]) -> u32 {
    b[0] | b[1] << 8 | b[2] << 16 | b[3] << 24
}

/// Reverses the bits of every byte.
#[inline]
pub const fn bitrev8(s: u32) -> u32 {
    s.swap_bytes().reverse_bits()
}

/// Leading bits equal to the sign, without the sign: 0..31.
#[inline]
pub const fn cms(s: u32) -> u32 {
    (s ^ ((s as i32) >> 31) as u32).leading_zeros() - 1
}

/// {s.hi, t.lo}
#[inline]
pub const fn roll16(s: u32, t: u32) -> u32 {
    s >> 16 | t << 16
}

/// t << 8 | s >> 24
#[inline]
pub const fn roll8l(s: u32, t: u32) -> u32 {
    t << 8 | s >> 24
}

/// s >> 8 | t << 24
#[inline]
pub const fn roll8r(s: u32, t: u32) -> u32 {
    s >> 8 | t << 24
}

/// {s.b0, t.b0, s.b1, t.b1}
#[inline]
pub const fn shuf8x8lo(s: u32, t: u32) -> u32 {
    word([byte(s, 0), byte(t, 0), byte(s, 1), byte(t, 1)])
}

/// {s.b2, t.b2, s.b3, t.b3}
#[inline]
pub const fn shuf8x8hi(s: u32, t: u32) -> u32 {
    word([byte(s, 2), byte(t, 2), byte(s, 3), byte(t, 3)])
}

/// {s.lo, t.lo}
#[inline]
pub const fn sort4x16lo(s: u32, t: u32) -> u32 {
    s & 0xffff | t << 16
}

/// {s.hi, t.hi}
#[inline]
pub const fn sort4x16hi(s: u32, t: u32) -> u32 {
    s >> 16 | t & 0xffff_0000
}

/// {s.b0, s.b2, s.b1, s.b3}
#[inline]
pub const fn sort8(s: u32) -> u32 {
    word([byte(s, 0), byte(s, 2), byte(s, 1), byte(s, 3)])
}

/// {s.b0, s.b2, t.b0, t.b2}
#[inline]
pub const fn sort8x8lo(s: u32, t: u32) -> u32 {
    word([byte(s, 0), byte(s, 2), byte(t, 0), byte(t, 2)])
}

/// {s.b1, s.b3, t.b1, t.b3}
#[inline]
pub const fn sort8x8hi(s: u32, t: u32) -> u32 {
    word([byte(s, 1), byte(s, 3), byte(t, 1), byte(t, 3)])
}

/// {s.b1, s.b0, s.b3, s.b2}
#[inline]
pub const fn swap8(s: u32) -> u32 {
    word([byte(s, 1), byte(s, 0), byte(s, 3), byte(s, 2)])
}

/// Absolute value; the least integer gives 0.
#[inline]
pub const fn abs(s: u32) -> u32 {
    if s == 0x8000_0000 {
        0
    } else {
        (s as i32).wrapping_abs() as u32
    }
}
