//! Conversions between f32, f16 and the two f8 formats, bit for bit as the chip makes them
//! (`isa/float.md` 1, 3 and 5).
//!
//! | format | largest | overflow | NaN | zero |
//! |---|---|---|---|---|
//! | f16 | 65504 | [`Overflow`] | any in, the fixed quiet NaN `0x7ece` out | signed |
//! | f8e4m3fnuz | 240 | [`Overflow`] | the error code `0x80` | one, without sign |
//! | f8e5m2fnuz | 57344 | [`Overflow`] | the error code `0x80` | one, without sign |
//!
//! Rounding is to nearest, ties to even; denormal results are kept. The chip takes denormal f32
//! operands as zero, which makes no difference here: every one rounds to zero in all three formats.

use crate::ScalarType;

/// The quiet NaN of f16 that the chip makes.
pub const QNAN16: u16 = 0x7ece;

/// The f8 code that stands for NaN and infinity.
pub const ERROR8: u8 = 0x80;

/// What becomes of numbers beyond the largest of a format.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Overflow {
    /// The largest number of the format with the sign (`$FP_CTL.NANOO` = 0). An infinity is
    /// no number: it becomes NaN or the error code.
    Saturate,
    /// NaN or the error code (`$FP_CTL.NANOO` = 1); so for infinities.
    Nan,
    /// Infinity, as IEEE 754 has it, also for infinities; f8, which has none, has the error code. The
    /// chip never does so when it converts.
    Ieee,
}

/// The f16 of an f32.
pub const fn f32_to_f16(value: f32, overflow: Overflow) -> u16 {
    let bits = value.to_bits();
    let sign = (bits >> 16) as u16 & 0x8000;
    let magnitude = bits & 0x7fff_ffff;
    if magnitude > 0x7f80_0000 {
        return QNAN16;
    }
    // 65520 is halfway between 65504 and the next step, and rounds away from it.
    if magnitude >= 0x477f_f000 {
        return match overflow {
            Overflow::Saturate if magnitude < 0x7f80_0000 => 0x7bff | sign,
            Overflow::Saturate | Overflow::Nan => QNAN16,
            Overflow::Ieee => 0x7c00 | sign,
        };
    }
    let exponent = (magnitude >> 23) as i32 - 127;
    if exponent < -25 {
        return sign;
    }
    // The significand, cut so that its last bit is the last of the result.
    let significand = magnitude & 0x7f_ffff | 0x80_0000;
    let (drop, base) = if exponent < -14 {
        ((-1 - exponent) as u32, 0)
    } else {
        (13, ((exponent + 14) as u32) << 10)
    };
    let kept = significand >> drop;
    let rest = significand & ((1 << drop) - 1);
    let half = 1 << (drop - 1);
    let up = rest > half || rest == half && kept & 1 == 1;
    // A carry into the next exponent is right by itself; `base` lacks the hidden one.
    (base + kept + up as u32) as u16 | sign
}

/// The f32 of an f16, exactly. NaNs keep their bits.
pub const fn f16_to_f32(code: u16) -> f32 {
    let sign = ((code & 0x8000) as u32) << 16;
    let exponent = (code >> 10 & 0x1f) as u32;
    let fraction = (code & 0x3ff) as u32;
    let magnitude = match (exponent, fraction) {
        (0, 0) => 0,
        (0, _) => {
            // fraction * 2^-24: the leading one becomes the hidden one.
            let shift = fraction.leading_zeros() - 21;
            (113 - shift) << 23 | (fraction << (shift + 13)) & 0x7f_ffff
        }
        (31, _) => 0x7f80_0000 | fraction << 13,
        _ => (exponent + 112) << 23 | fraction << 13,
    };
    f32::from_bits(sign | magnitude)
}

/// Fraction bits and bias of an f8 format; of any other type those of f8e5m2fnuz.
const fn shape8(format: ScalarType) -> (u32, i32) {
    match format {
        ScalarType::F8E4M3 => (3, 8),
        _ => (2, 16),
    }
}

/// The f8 of an f32 in `format` (one of the two f8 types).
pub const fn f32_to_f8(value: f32, format: ScalarType, overflow: Overflow) -> u8 {
    let (fraction_bits, bias) = shape8(format);
    let bits = value.to_bits();
    let sign = (bits >> 24) as u8 & 0x80;
    let magnitude = bits & 0x7fff_ffff;
    if magnitude >= 0x7f80_0000 {
        return ERROR8;
    }
    let exponent = (magnitude >> 23) as i32 - 127;
    let least = 1 - bias;
    if exponent < least - fraction_bits as i32 - 1 {
        return 0;
    }
    let significand = magnitude & 0x7f_ffff | 0x80_0000;
    let below = if exponent < least {
        (least - exponent) as u32
    } else {
        0
    };
    let drop = 23 - fraction_bits + below;
    let base = if below > 0 {
        0
    } else {
        ((exponent - least) as u32) << fraction_bits
    };
    let kept = significand >> drop;
    let rest = significand & ((1 << drop) - 1);
    let half = 1 << (drop - 1);
    let up = rest > half || rest == half && kept & 1 == 1;
    let code = base + kept + up as u32;
    if code > 0x7f {
        return match overflow {
            Overflow::Nan | Overflow::Ieee => ERROR8,
            Overflow::Saturate => 0x7f | sign,
        };
    }
    if code == 0 { 0 } else { code as u8 | sign }
}

/// The f32 of an f8 code in `format`, exactly; the error code is NaN.
pub fn f8_to_f32(code: u8, format: ScalarType) -> f32 {
    let (fraction_bits, bias) = shape8(format);
    if code == ERROR8 {
        return f32::NAN;
    }
    let exponent = i32::from(code & 0x7f) >> fraction_bits;
    let fraction = u32::from(code & 0x7f) & ((1 << fraction_bits) - 1);
    let hidden = if exponent > 0 { 1 << fraction_bits } else { 0 };
    let power = exponent.max(1) - bias - fraction_bits as i32;
    let magnitude = (fraction | hidden) as f32 * f32::from_bits(((power + 127) as u32) << 23);
    if code & 0x80 != 0 {
        -magnitude
    } else {
        magnitude
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The nearest code by looking at all, the even one of two; codes in ascending order of value.
    fn nearest(value: f64, grid: &[(f64, u32)]) -> u32 {
        let at = grid.partition_point(|&(v, _)| v < value);
        let (Some(&above), below) = (grid.get(at), at.checked_sub(1).map(|i| grid[i])) else {
            return grid[grid.len() - 1].1;
        };
        let Some(below) = below else { return above.1 };
        let (down, up) = (value - below.0, above.0 - value);
        match down.total_cmp(&up) {
            std::cmp::Ordering::Less => below.1,
            std::cmp::Ordering::Greater => above.1,
            std::cmp::Ordering::Equal if below.1 & 1 == 0 => below.1,
            std::cmp::Ordering::Equal => above.1,
        }
    }

    #[test]
    fn halves_go_round_and_agree_with_ieee() {
        for code in 0..=u16::MAX {
            let value = f16_to_f32(code);
            let ieee = half::f16::from_bits(code);
            assert_eq!(value.is_nan(), ieee.is_nan());
            if !value.is_nan() {
                assert_eq!(value, ieee.to_f32(), "{code:#06x}");
                assert_eq!(f32_to_f16(value, Overflow::Ieee), code);
            }
        }
        // Every point between neighbours, and a step to both sides of it.
        for code in 0..0x7c00u16 {
            let (low, high) = (f16_to_f32(code), f16_to_f32(code + 1).min(65536.0));
            let middle = ((f64::from(low) + f64::from(high)) / 2.0) as f32;
            for bits in [middle.to_bits() - 1, middle.to_bits(), middle.to_bits() + 1] {
                for value in [f32::from_bits(bits), -f32::from_bits(bits)] {
                    let ieee = half::f16::from_f32(value);
                    assert_eq!(f32_to_f16(value, Overflow::Ieee), ieee.to_bits(), "{value}");
                    let saturated = if ieee.is_infinite() {
                        0x7bff | ieee.to_bits() & 0x8000
                    } else {
                        ieee.to_bits()
                    };
                    assert_eq!(f32_to_f16(value, Overflow::Saturate), saturated);
                }
            }
        }
    }

    #[test]
    fn quarters_are_the_nearest_code() {
        for format in [ScalarType::F8E4M3, ScalarType::F8E5M2] {
            let mut grid: Vec<(f64, u32)> = (0..=0x7fu32)
                .map(|code| (f64::from(f8_to_f32(code as u8, format)), code))
                .collect();
            assert!(grid.is_sorted_by(|a, b| a.0 < b.0));
            let largest = format.largest();
            assert_eq!(grid[127].0, f64::from(largest));
            grid.truncate(128);
            for pair in grid.clone().windows(2) {
                let middle = ((pair[0].0 + pair[1].0) / 2.0) as f32;
                for bits in [middle.to_bits() - 1, middle.to_bits(), middle.to_bits() + 1] {
                    let value = f32::from_bits(bits);
                    let wanted = nearest(f64::from(value), &grid) as u8;
                    for overflow in [Overflow::Saturate, Overflow::Nan] {
                        assert_eq!(f32_to_f8(value, format, overflow), wanted, "{value}");
                    }
                    let negative = if wanted == 0 { 0 } else { wanted | 0x80 };
                    assert_eq!(f32_to_f8(-value, format, Overflow::Saturate), negative);
                }
            }
            for code in (0..=0xffu8).filter(|&code| code != ERROR8) {
                let value = f8_to_f32(code, format);
                assert_eq!(f32_to_f8(value, format, Overflow::Nan), code);
            }
            assert_eq!(f32_to_f8(-0.0, format, Overflow::Nan), 0);
            assert_eq!(f32_to_f8(f32::NAN, format, Overflow::Saturate), ERROR8);
            assert_eq!(f32_to_f8(f32::INFINITY, format, Overflow::Nan), ERROR8);
            for value in [f32::INFINITY, f32::NEG_INFINITY] {
                assert_eq!(f32_to_f8(value, format, Overflow::Saturate), ERROR8);
            }
            assert_eq!(f32_to_f8(1e30, format, Overflow::Saturate), 0x7f);
            assert_eq!(f32_to_f8(-1e30, format, Overflow::Saturate), 0xff);
        }
    }

    /// The conversions among the shared vectors, without stochastic rounding.
    #[test]
    fn vectors_hold() {
        let path = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../../../shared/vectors/float.jsonl"
        );
        let text = std::fs::read_to_string(path)
            .unwrap_or_else(|error| panic!("the shared vectors are needed: {path}: {error}"));
        let mut counts = [0; 4];
        for line in text.lines().skip(1) {
            let case: serde_json::Value = serde_json::from_str(line).expect("a line of JSON");
            let number = |name: &str| case["state"][name].as_i64().unwrap_or(0);
            if number("ESR") != 0 || case["after"].get("trap").is_some() {
                continue;
            }
            let words = |name: &str| -> Vec<u32> {
                let list = case[name].as_array().map_or(&[][..], Vec::as_slice);
                let word = |w: &serde_json::Value| match w.as_str()? {
                    "qnan32" => Some(0x7fc0_0000),
                    digits => u32::from_str_radix(digits, 16).ok(),
                };
                list.iter().filter_map(word).collect()
            };
            let halves = |words: &[u32]| -> Vec<u16> {
                words
                    .iter()
                    .flat_map(|w| [*w as u16, (w >> 16) as u16])
                    .collect()
            };
            let bytes =
                |words: &[u32]| -> Vec<u8> { words.iter().flat_map(|w| w.to_le_bytes()).collect() };
            let overflow = if number("NANOO") == 1 {
                Overflow::Nan
            } else {
                Overflow::Saturate
            };
            let format = if number("ARF_FMT") == 1 {
                ScalarType::F8E4M3
            } else {
                ScalarType::F8E5M2
            };
            let scale = 2f32.powi(number("SCALE") as i32);
            let (from, to) = (words("in"), words("out"));
            if to.is_empty() {
                continue;
            }
            match case["op"].as_str().unwrap_or_default() {
                "f32tof16" | "f32v2tof16" | "f32v4tof16" => {
                    let wanted = halves(&to);
                    for (word, wanted) in from.iter().zip(wanted) {
                        let value = f32::from_bits(*word);
                        if from.len() > 1 || halves(&to)[0] == halves(&to)[1] {
                            assert_eq!(f32_to_f16(value, overflow), wanted, "{line}");
                        }
                        counts[0] += 1;
                    }
                }
                "f16tof32" | "f16v2tof32" => {
                    for (half, wanted) in halves(&from).into_iter().zip(&to) {
                        let found = f16_to_f32(half);
                        let wanted = f32::from_bits(*wanted);
                        let same = found.to_bits() == wanted.to_bits();
                        assert!(same || found.is_nan() && wanted.is_nan(), "{line}");
                        counts[1] += 1;
                    }
                }
                "f16v2tof8" | "f16v8tof8" => {
                    let wanted = bytes(&to);
                    for (half, wanted) in halves(&from).into_iter().zip(wanted) {
                        let value = f16_to_f32(half) * scale;
                        assert_eq!(f32_to_f8(value, format, overflow), wanted, "{line}");
                        counts[2] += 1;
                    }
                }
                "f8v2tof16" | "f8v4tof16" => {
                    let wanted = halves(&to);
                    for (code, wanted) in bytes(&from).into_iter().zip(wanted) {
                        let value = f8_to_f32(code, format) * scale;
                        assert_eq!(f32_to_f16(value, overflow), wanted, "{line}");
                        counts[3] += 1;
                    }
                }
                _ => {}
            }
        }
        assert!(counts.iter().all(|&count| count >= 10), "{counts:?}");
    }
}
