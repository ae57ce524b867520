//! Tensors with data.

use crate::ty::TensorType;
use half::f16;
use ipucc_chip::ScalarType;

/// A dense row-major tensor, elements little endian.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Tensor {
    /// Its type.
    pub ty: TensorType,
    /// Its elements.
    pub data: Vec<u8>,
}

impl Tensor {
    /// A tensor from f32 numbers, each rounded to the element type (integers: truncated).
    pub fn from_floats(ty: TensorType, values: &[f32]) -> Tensor {
        let element = ty.element;
        let mut data = Vec::with_capacity(values.len() * element.bytes() as usize);
        for &value in values {
            match element {
                ScalarType::F32 => data.extend(value.to_le_bytes()),
                ScalarType::F16 => data.extend(f16::from_f32(value).to_le_bytes()),
                ScalarType::F8E4M3 | ScalarType::F8E5M2 => data.push(quarter(value, element)),
                _ => {
                    let wide = (value as i64).to_le_bytes();
                    data.extend(&wide[..element.bytes() as usize]);
                }
            }
        }
        Tensor { ty, data }
    }

    /// A tensor from integers, each wrapped to the element type.
    pub fn from_ints(ty: TensorType, values: &[i64]) -> Tensor {
        let size = ty.element.bytes() as usize;
        let data = values
            .iter()
            .flat_map(|v| v.to_le_bytes()[..size].to_vec())
            .collect();
        Tensor { ty, data }
    }

    /// The elements as f32 (exact for all types but large integers).
    pub fn to_floats(&self) -> Vec<f32> {
        match self.ty.element {
            ScalarType::F32 => self
                .data
                .as_chunks::<4>()
                .0
                .iter()
                .map(|c| f32::from_le_bytes(*c))
                .collect(),
            ScalarType::F16 => self
                .data
                .as_chunks::<2>()
                .0
                .iter()
                .map(|c| f16::from_le_bytes(*c).to_f32())
                .collect(),
            ScalarType::F8E4M3 | ScalarType::F8E5M2 => self
                .data
                .iter()
                .map(|&code| from_quarter(code, self.ty.element))
                .collect(),
            _ => self.to_ints().iter().map(|&v| v as f32).collect(),
        }
    }

    /// The elements of an integer or i1 tensor; floats are truncated.
    pub fn to_ints(&self) -> Vec<i64> {
        let size = self.ty.element.bytes() as usize;
        if self.ty.element.is_float() {
            return self.to_floats().iter().map(|&v| v as i64).collect();
        }
        let signed = self.ty.element.is_signed_integer();
        self.data
            .chunks_exact(size)
            .map(|chunk| {
                let fill = if signed && chunk[size - 1] & 0x80 != 0 {
                    0xff
                } else {
                    0
                };
                let mut wide = [fill; 8];
                wide[..size].copy_from_slice(chunk);
                i64::from_le_bytes(wide)
            })
            .collect()
    }
}

/// Exponent bits, fraction bits and bias of a quarter format (`isa/float.md` 1, ISA).
fn quarter_format(element: ScalarType) -> (i32, i32, i32) {
    if element == ScalarType::F8E4M3 {
        (4, 3, 8)
    } else {
        (5, 2, 16)
    }
}

/// Nearest even, saturating; NaN becomes the error code 0x80; there is no negative zero.
fn quarter(value: f32, element: ScalarType) -> u8 {
    let (exponent_bits, fraction_bits, bias) = quarter_format(element);
    if value.is_nan() {
        return 0x80;
    }
    let magnitude = f64::from(value.abs());
    let top = (1 << exponent_bits) - 1 - bias;
    let largest = f64::powi(2.0, top) * (2.0 - f64::powi(2.0, -fraction_bits));
    if magnitude >= largest {
        return 0x7f | u8::from(value < 0.0) << 7;
    }
    let exponent = if magnitude == 0.0 {
        1 - bias
    } else {
        magnitude.log2().floor() as i32
    };
    let exponent = exponent.max(1 - bias);
    let step = f64::powi(2.0, exponent - fraction_bits);
    let units = (magnitude / step).round_ties_even();
    // A carry into the next exponent is right by itself in the code.
    let code = units as i32 + ((exponent + bias - 1) << fraction_bits);
    if code == 0 {
        0
    } else {
        code as u8 | u8::from(value < 0.0) << 7
    }
}

/// The value of a quarter code; the error code is NaN.
fn from_quarter(code: u8, element: ScalarType) -> f32 {
    let (_, fraction_bits, bias) = quarter_format(element);
    if code == 0x80 {
        return f32::NAN;
    }
    let exponent = i32::from(code & 0x7f) >> fraction_bits;
    let fraction = i32::from(code & 0x7f) & ((1 << fraction_bits) - 1);
    let significand = if exponent > 0 {
        fraction | 1 << fraction_bits
    } else {
        fraction
    };
    let magnitude = significand as f32 * f32::powi(2.0, exponent.max(1) - bias - fraction_bits);
    if code & 0x80 != 0 {
        -magnitude
    } else {
        magnitude
    }
}
