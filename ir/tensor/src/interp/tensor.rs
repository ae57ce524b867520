//! Tensors with data.

use crate::ty::TensorType;
use ipucc_chip::ScalarType;
use ipucc_chip::format::{Overflow, f8_to_f32, f16_to_f32, f32_to_f8, f32_to_f16};

/// A dense row-major tensor, elements little endian.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Tensor {
    /// Its type.
    pub ty: TensorType,
    /// Its elements.
    pub data: Vec<u8>,
}

impl Tensor {
    /// A tensor from f32 numbers, each rounded to the element type (integers: truncated). Beyond
    /// the largest number of f16 and f8 stands that number, as on the chip; f16 keeps infinities.
    pub fn from_floats(ty: TensorType, values: &[f32]) -> Tensor {
        let element = ty.element;
        let mut data = Vec::with_capacity(values.len() * element.bytes() as usize);
        for &value in values {
            match element {
                ScalarType::F32 => data.extend(value.to_le_bytes()),
                ScalarType::F16 => data.extend(half(value).to_le_bytes()),
                ScalarType::F8E4M3 | ScalarType::F8E5M2 => {
                    data.push(f32_to_f8(value, element, Overflow::Saturate));
                }
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
                .map(|c| f16_to_f32(u16::from_le_bytes(*c)))
                .collect(),
            ScalarType::F8E4M3 | ScalarType::F8E5M2 => self
                .data
                .iter()
                .map(|&code| f8_to_f32(code, self.ty.element))
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

/// The f16 of a number: what is too large saturates as on the chip, an infinity stays one.
fn half(value: f32) -> u16 {
    let overflow = if value.is_infinite() {
        Overflow::Ieee
    } else {
        Overflow::Saturate
    };
    f32_to_f16(value, overflow)
}

/// The f16 nearest to a number, as f32: what a sum that is kept in f16 becomes after every term.
pub(super) fn rounded_to_half(value: f32) -> f32 {
    let magnitude = value.to_bits() & 0x7fff_ffff;
    // Normal f16 and no overflow: rounding is an addition to the bits.
    if (0x3880_0000..0x477f_f000).contains(&magnitude) {
        let odd = value.to_bits() >> 13 & 1;
        return f32::from_bits((value.to_bits() + 0xfff + odd) & !0x1fff);
    }
    f16_to_f32(half(value))
}
