//! AMP on f16 and f8 in vector registers, for processors with AVX2 and F16C.
//!
//! The same numbers as the portable code in `products` and `amp`: everything here is IEEE
//! arithmetic without contraction. Whatever is out of the ordinary (NaN, infinity, overflow of a
//! result, a unit without any nonzero product, disabled engines) is left to the portable code:
//! these functions then return `None` and have changed nothing.

use super::state::Accumulators;
use super::weights::{Column, ZERO_EXPONENT};
use std::arch::x86_64::*;

/// True if the processor can run this module.
pub(crate) fn available() -> bool {
    is_x86_feature_detected!("avx2") && is_x86_feature_detected!("f16c")
}

/// Input elements of one instruction.
pub(crate) struct Elements<const K: usize> {
    pub(crate) value: [f32; K],
    pub(crate) exponent: [i32; K],
}

/// True if one of the four halves in the low lanes is infinite or NaN.
#[inline]
#[target_feature(enable = "avx2,f16c")]
fn special(words: __m128i) -> bool {
    let field = _mm_set1_epi16(0x7c00);
    let equal = _mm_cmpeq_epi16(_mm_and_si128(words, field), field);
    _mm_movemask_epi8(equal) & 0xff != 0
}

/// Exponents of the half fields in four lanes: unnormalised as in `arith::dot`, zero elements
/// far below.
#[inline]
#[target_feature(enable = "avx2,f16c")]
fn half_exponents(words: __m128i) -> [i32; 4] {
    let h = _mm_cvtepu16_epi32(words);
    let field = _mm_and_si128(_mm_srli_epi32(h, 10), _mm_set1_epi32(31));
    let magnitude = _mm_and_si128(h, _mm_set1_epi32(0x7fff));
    let zero = _mm_cmpeq_epi32(magnitude, _mm_setzero_si128());
    let e = _mm_sub_epi32(_mm_max_epi32(field, _mm_set1_epi32(1)), _mm_set1_epi32(25));
    let e = _mm_blendv_epi8(e, _mm_set1_epi32(ZERO_EXPONENT), zero);
    let mut out = [0; 4];
    // SAFETY: `out` has room for the 16 bytes.
    unsafe { _mm_storeu_si128(out.as_mut_ptr().cast(), e) };
    out
}

/// Four halves as inputs, with exponents if they are needed; `None` if one is infinite or NaN.
#[inline]
#[target_feature(enable = "avx2,f16c")]
pub(crate) fn half_elements(words: u64, exponents: bool) -> Option<Elements<4>> {
    let packed = _mm_cvtsi64_si128(words as i64);
    if special(packed) {
        return None;
    }
    let exponent = if exponents {
        half_exponents(packed)
    } else {
        [0; 4]
    };
    let mut value = [0.0; 4];
    // SAFETY: `value` has room for the 16 bytes.
    unsafe { _mm_storeu_ps(value.as_mut_ptr(), _mm_cvtph_ps(packed)) };
    Some(Elements { value, exponent })
}

/// Eight unit lanes of f32.
type Lanes = __m256;

/// Dot products in the `window33` model for units `8 * h ..`, h < H; `None` if a unit has no
/// nonzero product (its zero needs a sign).
#[inline]
#[target_feature(enable = "avx2,f16c")]
fn window<const K: usize, const H: usize>(
    x: &Elements<K>,
    column: &Column<K>,
    bits: i32,
    scale: i32,
) -> Option<[Lanes; H]> {
    let mut out = [_mm256_setzero_ps(); H];
    let nothing = _mm256_set1_epi32(ZERO_EXPONENT / 2);
    let mut tops = [nothing; H];
    for (h, top) in tops.iter_mut().enumerate() {
        for i in 0..K {
            let row: &[i32; 16] = &column.exponent[i];
            // SAFETY: 8 * h + 8 <= 16 elements of the row.
            let e = unsafe { _mm256_loadu_si256(row.as_ptr().add(8 * h).cast()) };
            let sum = _mm256_add_epi32(e, _mm256_set1_epi32(x.exponent[i]));
            *top = _mm256_max_epi32(*top, sum);
        }
        if _mm256_movemask_epi8(_mm256_cmpeq_epi32(*top, nothing)) != 0 {
            return None;
        }
    }
    for h in 0..H {
        let mut halves = [_mm_setzero_ps(); 2];
        for (q, half) in halves.iter_mut().enumerate() {
            let t = if q == 0 {
                _mm256_castsi256_si128(tops[h])
            } else {
                _mm256_extracti128_si256(tops[h], 1)
            };
            // 2^(bits - t) and, for the result, 2^(t - bits + scale)
            let down = _mm_sub_epi32(_mm_set1_epi32(1023 + bits), t);
            let up = _mm_add_epi32(t, _mm_set1_epi32(1023 - bits + scale));
            let factor = _mm256_castsi256_pd(_mm256_slli_epi64(_mm256_cvtepi32_epi64(down), 52));
            let back = _mm256_castsi256_pd(_mm256_slli_epi64(_mm256_cvtepi32_epi64(up), 52));
            let mut sum = _mm256_setzero_pd();
            for i in 0..K {
                let row: &[f64; 16] = &column.wide[i];
                // SAFETY: 8 * h + 4 * q + 4 <= 16 elements of the row.
                let w = unsafe { _mm256_loadu_pd(row.as_ptr().add(8 * h + 4 * q)) };
                let v = _mm256_mul_pd(factor, _mm256_set1_pd(f64::from(x.value[i])));
                let p = _mm256_mul_pd(w, v);
                let cut = _mm256_round_pd(p, _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC);
                sum = _mm256_add_pd(sum, cut);
            }
            *half = _mm256_cvtpd_ps(_mm256_mul_pd(sum, back));
        }
        out[h] = _mm256_set_m128(halves[1], halves[0]);
    }
    Some(out)
}

/// Dot products in plain f32, element 0 first.
#[inline]
#[target_feature(enable = "avx2,f16c")]
fn plain<const K: usize, const H: usize>(x: &Elements<K>, column: &Column<K>) -> [Lanes; H] {
    let mut out = [_mm256_setzero_ps(); H];
    for (h, sum) in out.iter_mut().enumerate() {
        for i in 0..K {
            let row: &[f32; 16] = &column.value[i];
            // SAFETY: 8 * h + 8 <= 16 elements of the row.
            let w = unsafe { _mm256_loadu_ps(row.as_ptr().add(8 * h)) };
            *sum = _mm256_add_ps(*sum, _mm256_mul_ps(w, _mm256_set1_ps(x.value[i])));
        }
    }
    out
}

/// Denormals to zeros of the same sign.
#[inline]
#[target_feature(enable = "avx2,f16c")]
fn flush(v: Lanes) -> Lanes {
    let exponent = _mm256_and_ps(v, _mm256_castsi256_ps(_mm256_set1_epi32(0x7f80_0000)));
    let tiny = _mm256_cmpeq_epi32(_mm256_castps_si256(exponent), _mm256_setzero_si256());
    let kept = _mm256_and_ps(v, _mm256_set1_ps(-0.0));
    _mm256_blendv_ps(v, kept, _mm256_castsi256_ps(tiny))
}

/// Runs one AMP step of H sets on the accumulators: base + dot, shift of the chains, `p` = new
/// partials of each set at the input end (all four engines enabled).
#[inline]
#[target_feature(enable = "avx2,f16c")]
fn advance<const H: usize>(
    acc: &mut Accumulators,
    first: bool,
    dots: [Lanes; H],
    p: [u64; H],
    nan: u32,
) {
    let nan = _mm256_castsi256_ps(_mm256_set1_epi32(nan as i32));
    for h in 0..H {
        // SAFETY: both arrays have 16 elements, 8 * h + 8 <= 16.
        let (sum, stage) = unsafe {
            (
                _mm256_loadu_ps(acc.sum.as_ptr().add(8 * h).cast()),
                _mm256_loadu_ps(acc.stage.as_ptr().add(8 * h).cast()),
            )
        };
        let (base, chain) = if first { (stage, sum) } else { (sum, stage) };
        let s = _mm256_add_ps(flush(base), flush(dots[h]));
        let s = _mm256_blendv_ps(flush(s), nan, _mm256_cmp_ps(s, s, _CMP_UNORD_Q));
        // pairs of units move one engine towards the output
        let moved = _mm256_permute4x64_epi64(_mm256_castps_si256(chain), 0b11_11_10_01);
        let moved = _mm256_blend_epi32(moved, _mm256_set1_epi64x(p[h] as i64), 0b1100_0000);
        // SAFETY: as above.
        unsafe {
            _mm256_storeu_ps(acc.sum.as_mut_ptr().add(8 * h).cast(), s);
            _mm256_storeu_si256(acc.stage.as_mut_ptr().add(8 * h).cast(), moved);
        }
    }
}

/// Sums or stages of engine 0 of both sets, as floats, denormals flushed.
#[inline]
#[target_feature(enable = "avx2,f16c")]
fn outputs(acc: &Accumulators, first: bool) -> __m128 {
    let source = if first { &acc.sum } else { &acc.stage };
    let pair = |at: usize| i64::from(source[at]) | i64::from(source[at + 1]) << 32;
    _mm_castsi128_ps(_mm_set_epi64x(pair(8), pair(0)))
}

/// True if all four magnitudes are below `limit` (no NaN).
#[inline]
#[target_feature(enable = "avx2,f16c")]
fn below(v: __m128, limit: f32) -> bool {
    let magnitude = _mm_andnot_ps(_mm_set1_ps(-0.0), v);
    _mm_movemask_ps(_mm_cmplt_ps(magnitude, _mm_set1_ps(limit))) == 15
}

/// What an AMP step needs besides accumulators, inputs and weights.
pub(crate) struct Step {
    /// Phase 0.
    pub(crate) first: bool,
    /// Plain f32 instead of the window.
    pub(crate) fast: bool,
    /// Window bits of the format.
    pub(crate) bits: i32,
    /// Power of two that the products are scaled by.
    pub(crate) scale: i32,
    /// Bits of the machine's NaN.
    pub(crate) nan: u32,
}

#[inline]
#[target_feature(enable = "avx2,f16c")]
fn dots<const K: usize, const H: usize>(
    x: &Elements<K>,
    column: &Column<K>,
    s: &Step,
) -> Option<[Lanes; H]> {
    if s.fast && s.scale == 0 {
        Some(plain(x, column))
    } else {
        window(x, column, s.bits, s.scale)
    }
}

/// `f16v4hihov4amp` and `f8v8hihov4amp`: four half partials, four half results.
#[target_feature(enable = "avx2,f16c")]
pub(crate) fn two_sets<const K: usize>(
    acc: &mut Accumulators,
    x: &Elements<K>,
    column: &Column<K>,
    p: u64,
    s: &Step,
) -> Option<u64> {
    let packed = _mm_cvtsi64_si128(p as i64);
    if special(packed) {
        return None;
    }
    let out = outputs(acc, s.first);
    if !below(out, 65520.0) {
        return None;
    }
    let d = dots::<K, 2>(x, column, s)?;
    let partials = _mm_castps_si128(_mm_cvtph_ps(packed));
    let p = [
        _mm_cvtsi128_si64(partials) as u64,
        _mm_extract_epi64(partials, 1) as u64,
    ];
    advance(acc, s.first, d, p, s.nan);
    // f32 denormals are below half of the least half: rounding flushes them
    let halves = _mm_cvtps_ph(out, _MM_FROUND_TO_NEAREST_INT);
    Some(_mm_cvtsi128_si64(halves) as u64)
}

/// `f16v4sisoamp`: two f32 partials, two f32 results, set 0 only.
#[target_feature(enable = "avx2,f16c")]
pub(crate) fn one_set_single(
    acc: &mut Accumulators,
    x: &Elements<4>,
    column: &Column<4>,
    p: u64,
    s: &Step,
) -> Option<u64> {
    let partials = _mm_castsi128_ps(_mm_set_epi64x(0, p as i64));
    let out = outputs(acc, s.first);
    let low = _mm_movelh_ps(out, _mm_setzero_ps());
    if !below(partials, f32::INFINITY) || !below(low, f32::INFINITY) {
        return None;
    }
    let d = dots::<4, 1>(x, column, s)?;
    let flushed = flush(_mm256_set_m128(partials, low));
    let out = _mm_castps_si128(_mm256_castps256_ps128(flushed));
    let p = _mm_castps_si128(_mm256_extractf128_ps(flushed, 1));
    advance(acc, s.first, d, [_mm_cvtsi128_si64(p) as u64], s.nan);
    Some(_mm_cvtsi128_si64(out) as u64)
}

#[cfg(test)]
mod tests {
    use crate::replay::bench::Bench;
    use crate::worker::AmpMode;
    use ipucc_chip::Assumptions;

    struct Random(u64);

    impl Random {
        fn next(&mut self) -> u64 {
            self.0 ^= self.0 >> 12;
            self.0 ^= self.0 << 25;
            self.0 ^= self.0 >> 27;
            self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
        }

        fn below(&mut self, bound: u64) -> u64 {
            (self.next() >> 33) % bound
        }

        /// Four halves: ordinary ones, now and then zeros or any bits.
        fn halves(&mut self, odd: u64) -> u64 {
            let mut all = 0;
            for _ in 0..4 {
                let bits = self.next() & 0xffff;
                let half = match self.below(odd) {
                    0 => bits,
                    1 => bits & 0x8000,
                    2 => bits & 0x83ff,
                    _ => bits & 0x83ff | (8 + self.below(14)) << 10,
                };
                all = all << 16 | half;
            }
            all
        }

        /// A single: ordinary, or now and then zero, denormal or any bits.
        fn single(&mut self, odd: u64) -> u32 {
            let bits = self.next() as u32;
            match self.below(odd) {
                0 => bits,
                1 => bits & 0x8000_0000,
                2 => bits & 0x807f_ffff,
                _ => bits & 0x807f_ffff | (110 + self.below(30) as u32) << 23,
            }
        }
    }

    /// Vector and portable code agree in every bit of the worker's state.
    #[test]
    fn vectors_give_the_portable_results() {
        if !super::available() {
            // Nothing to compare: such a processor runs the portable code only.
            return;
        }
        let bench = || Bench::new(&Assumptions::default()).expect("a tile");
        let (mut vector, mut portable) = (bench(), bench());
        assert!(vector.model.simd);
        portable.model.simd = false;
        let mut random = Random(0x1234_5678_9abc_def1);
        let mut moved = 0;
        for case in 0..30_000u32 {
            let mode = if case % 3 == 0 {
                AmpMode::Fast
            } else {
                AmpMode::Exact
            };
            let odd = if case % 2 == 0 { 1_000_000 } else { 40 };
            (vector.model.amp, portable.model.amp) = (mode, mode);
            if case % 20 == 0 {
                for index in 0..64 {
                    let bits = random.halves(odd);
                    vector.shared.set_weight(index, bits);
                    portable.shared.set_weight(index, bits);
                }
            }
            let w = &mut vector.worker;
            for index in 0..32 {
                w.acc.set(index, random.single(odd));
            }
            let single = random.below(4) == 0;
            let input = random.halves(odd);
            let partial = match single {
                true => u64::from(random.single(odd)) | u64::from(random.single(odd)) << 32,
                false => random.halves(odd),
            };
            let parts = |v: u64| [v as u32, (v >> 32) as u32];
            [w.arf[0], w.arf[1]] = parts(input);
            [w.arf[2], w.arf[3]] = parts(partial);
            w.fp_nfmt = random.below(4) as u32;
            w.fp_scl = if random.below(2) == 0 {
                0
            } else {
                random.below(64) as u32
            };
            w.fp_sts = 0;
            let before = w.clone();
            portable.worker = before.clone();
            let name = match (single, random.below(2)) {
                (true, _) => "f16v4sisoamp",
                (false, 0) => "f16v4hihov4amp",
                (false, _) => "f8v8hihov4amp",
            };
            let engines = if random.below(8) == 0 {
                random.below(4)
            } else {
                3
            };
            let immediate =
                random.below(if single { 8 } else { 4 }) | engines << if single { 3 } else { 2 };
            let text = format!("{name} $a4:5, $a0:1, $a2:3, {immediate}");
            let first = vector.execute_at(&text, crate::replay::bench::CODE);
            let second = portable.execute_at(&text, crate::replay::bench::CODE);
            let (first, second) = (first.expect(&text), second.expect(&text));
            assert_eq!(first, second, "case {case}: {text}");
            assert_eq!(
                vector.worker, portable.worker,
                "case {case}: {text} {mode:?} {before:?}"
            );
            moved += u32::from(vector.worker.acc != before.acc);
        }
        assert!(moved > 20_000, "{moved}");
    }
}
