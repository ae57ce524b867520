//! Element types of tensors and of bindings.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// An element type that values on the device can have.
///
/// The two f8 types are the chip's quarter formats: no infinities, no negative zero, code `0x80`
/// is the error value (`isa/float.md` 1, ISA).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum ScalarType {
    /// IEEE binary32.
    F32,
    /// IEEE binary16.
    F16,
    /// Quarter 1-4-3, bias 8 (maximum 240).
    F8E4M3,
    /// Quarter 1-5-2, bias 16 (maximum 57344).
    F8E5M2,
    /// Signed 32-bit integer.
    I32,
    /// Unsigned 32-bit integer.
    U32,
    /// Signed 16-bit integer.
    I16,
    /// Signed 8-bit integer.
    I8,
    /// Unsigned 8-bit integer.
    U8,
    /// Truth value, stored as one byte 0 or 1.
    I1,
}

impl ScalarType {
    /// All element types, in a fixed order.
    pub const ALL: [ScalarType; 10] = [
        ScalarType::F32,
        ScalarType::F16,
        ScalarType::F8E4M3,
        ScalarType::F8E5M2,
        ScalarType::I32,
        ScalarType::U32,
        ScalarType::I16,
        ScalarType::I8,
        ScalarType::U8,
        ScalarType::I1,
    ];

    /// Size of one element in bytes.
    pub const fn bytes(self) -> u32 {
        match self {
            ScalarType::F32 | ScalarType::I32 | ScalarType::U32 => 4,
            ScalarType::F16 | ScalarType::I16 => 2,
            ScalarType::F8E4M3
            | ScalarType::F8E5M2
            | ScalarType::I8
            | ScalarType::U8
            | ScalarType::I1 => 1,
        }
    }

    /// True for f32, f16 and the two f8 formats.
    pub const fn is_float(self) -> bool {
        matches!(
            self,
            ScalarType::F32 | ScalarType::F16 | ScalarType::F8E4M3 | ScalarType::F8E5M2
        )
    }

    /// True for every integer type except `i1`.
    pub const fn is_integer(self) -> bool {
        !self.is_float() && !matches!(self, ScalarType::I1)
    }

    /// True for i32, i16 and i8.
    pub const fn is_signed_integer(self) -> bool {
        matches!(self, ScalarType::I32 | ScalarType::I16 | ScalarType::I8)
    }

    /// The largest finite number of a float type (`isa/float.md`); for integers, of f32.
    pub const fn largest(self) -> f32 {
        match self {
            ScalarType::F16 => 65504.0,
            ScalarType::F8E4M3 => 240.0,
            ScalarType::F8E5M2 => 57344.0,
            _ => f32::MAX,
        }
    }

    /// The type that a host buffer of this element type has unless the model says otherwise.
    pub const fn host(self) -> HostType {
        match self {
            ScalarType::I1 => HostType::Bool,
            other => HostType::Device(other),
        }
    }

    /// The name in program text.
    pub const fn name(self) -> &'static str {
        match self {
            ScalarType::F32 => "f32",
            ScalarType::F16 => "f16",
            ScalarType::F8E4M3 => "f8e4m3fnuz",
            ScalarType::F8E5M2 => "f8e5m2fnuz",
            ScalarType::I32 => "i32",
            ScalarType::U32 => "u32",
            ScalarType::I16 => "i16",
            ScalarType::I8 => "i8",
            ScalarType::U8 => "u8",
            ScalarType::I1 => "i1",
        }
    }
}

impl fmt::Display for ScalarType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for ScalarType {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        ScalarType::ALL
            .into_iter()
            .find(|scalar| scalar.name() == text)
            .ok_or(())
    }
}

/// An element type of a host buffer: what the user of a model sees at its bindings.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum HostType {
    /// The same as the device type.
    Device(ScalarType),
    /// IEEE binary64, narrowed at the binding.
    F64,
    /// 64-bit integer, narrowed to i32 with a range check at the binding.
    I64,
    /// Truth value of one byte.
    Bool,
}

impl HostType {
    /// Size of one element in bytes.
    pub const fn bytes(self) -> u32 {
        match self {
            HostType::Device(scalar) => scalar.bytes(),
            HostType::F64 | HostType::I64 => 8,
            HostType::Bool => 1,
        }
    }
}

impl fmt::Display for HostType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            HostType::Device(scalar) => scalar.fmt(f),
            HostType::F64 => f.write_str("f64"),
            HostType::I64 => f.write_str("i64"),
            HostType::Bool => f.write_str("bool"),
        }
    }
}
