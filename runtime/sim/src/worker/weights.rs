//! The weight store in the forms that the matrix unit computes with, made when first needed
//! after a load.

use crate::arith::dot::Element;
use crate::arith::half::{is_snan_a, is_special, widen};
use crate::arith::quarter::{ERROR, Format};

/// Units of the matrix engine.
pub(crate) const UNITS: usize = 16;
/// Exponent of a zero element: too small to be the largest of a dot product.
pub(crate) const ZERO_EXPONENT: i32 = -100_000;

/// Elements of one weight column n: value and exponent by element and unit.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub(crate) struct Column<const K: usize> {
    /// Values; 0 for NaN, infinity and the error code.
    pub(crate) value: [[f32; UNITS]; K],
    /// The same values.
    pub(crate) wide: [[f64; UNITS]; K],
    /// Exponents of the unnormalised significands; [`ZERO_EXPONENT`] for a zero.
    pub(crate) exponent: [[i32; UNITS]; K],
    /// Units with an element that raises INV (bit u).
    pub(crate) signalling: u32,
    /// Units with an element that makes the dot product a NaN.
    pub(crate) nan: u32,
}

impl<const K: usize> Column<K> {
    fn empty() -> Self {
        Column {
            value: [[0.0; UNITS]; K],
            wide: [[0.0; UNITS]; K],
            exponent: [[ZERO_EXPONENT; UNITS]; K],
            signalling: 0,
            nan: 0,
        }
    }

    fn put(&mut self, element: usize, unit: usize, value: f32) {
        self.value[element][unit] = value;
        self.wide[element][unit] = value.into();
    }
}

fn half_columns(weights: &[u64; 64]) -> Box<[Column<4>; 4]> {
    let mut columns = Box::new(std::array::from_fn(|_| Column::<4>::empty()));
    for (n, column) in columns.iter_mut().enumerate() {
        for u in 0..UNITS {
            let word = weights[4 * u + n];
            for i in 0..4 {
                let h = (word >> (16 * i)) as u16;
                if is_special(h) {
                    column.nan |= 1 << u;
                    column.signalling |= u32::from(is_snan_a(h)) << u;
                    continue;
                }
                column.put(i, u, widen(h));
                if h & 0x7fff != 0 {
                    column.exponent[i][u] = Element::half(h).e;
                }
            }
        }
    }
    columns
}

fn quarter_columns(weights: &[u64; 64], format: Format) -> Box<[Column<8>; 4]> {
    let mut columns = Box::new(std::array::from_fn(|_| Column::<8>::empty()));
    for (n, column) in columns.iter_mut().enumerate() {
        for u in 0..UNITS {
            let word = weights[4 * u + n];
            for i in 0..8 {
                let code = (word >> (8 * i)) as u8;
                if code == ERROR {
                    column.nan |= 1 << u;
                    column.signalling |= 1 << u;
                    continue;
                }
                column.put(i, u, format.value(code).unwrap_or(0.0));
                if code & 0x7f != 0 {
                    column.exponent[i][u] = Element::quarter(code, format).e;
                }
            }
        }
    }
    columns
}

/// Decoded weights; stale after a load until asked for again.
#[derive(Clone, Debug, Default)]
pub(crate) struct Decoded {
    half: Option<Box<[Column<4>; 4]>>,
    half_valid: bool,
    quarter: Option<Box<[Column<8>; 4]>>,
    /// Format bit that `quarter` was decoded with, if it is valid.
    quarter_format: Option<u32>,
}

impl Decoded {
    /// A weight changed.
    #[inline(always)]
    pub(crate) fn invalidate(&mut self) {
        self.half_valid = false;
        self.quarter_format = None;
    }

    /// Columns as halves.
    #[inline(always)]
    pub(crate) fn half(&mut self, weights: &[u64; 64]) -> &[Column<4>; 4] {
        if !self.half_valid {
            self.half = None;
            self.half_valid = true;
        }
        self.half.get_or_insert_with(|| half_columns(weights))
    }

    /// Columns as f8 of the format bit.
    #[inline(always)]
    pub(crate) fn quarter(&mut self, weights: &[u64; 64], format: u32) -> &[Column<8>; 4] {
        if self.quarter_format != Some(format) {
            self.quarter = None;
            self.quarter_format = Some(format);
        }
        self.quarter
            .get_or_insert_with(|| quarter_columns(weights, Format::of(format)))
    }
}
