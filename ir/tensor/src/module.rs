//! Modules, functions and values.

use crate::op::Op;
use crate::ty::TensorType;
use cranelift_entity::{PrimaryMap, entity_impl};
use indexmap::IndexMap;
use ipucc_chip::{HostType, ScalarType};
use serde::{Deserialize, Serialize};
use smallvec::SmallVec;

/// A value of a function.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Value(u32);
entity_impl!(Value, "%");

/// An instruction of a function.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Inst(u32);
entity_impl!(Inst, "inst");

/// A stretch of source text: byte offsets relative to the start of the function.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
pub struct Span {
    /// First byte.
    pub start: u32,
    /// One past the last byte.
    pub end: u32,
}

/// Where a weight's data comes from.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum WeightSource {
    /// Little-endian row-major data in memory.
    Dense(std::sync::Arc<[u8]>),
    /// One element, repeated.
    Splat(Vec<u8>),
    /// A tensor of a safetensors file.
    File {
        /// Path, relative to the module's file.
        path: String,
        /// Name of the tensor in the file.
        key: String,
    },
    /// Uniform numbers in `[-scale, scale)` from splitmix64 of `seed`.
    Random {
        /// Seed.
        seed: u64,
        /// f32 bits of the scale.
        scale: u32,
    },
}

/// A named weight.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Weight {
    /// Its type.
    pub ty: TensorType,
    /// Its data.
    pub source: WeightSource,
}

/// Who defines a value.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum Def {
    /// Parameter number.
    Param(u32),
    /// Result `1` of instruction `0`.
    Result(Inst, u32),
}

/// A value's data.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct ValueData {
    /// Type.
    pub ty: TensorType,
    /// Definition.
    pub def: Def,
    /// The user's name for it.
    pub name: Option<String>,
}

/// An instruction's data.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct InstData {
    /// The operation.
    pub op: Op,
    /// Operands.
    pub operands: SmallVec<[Value; 4]>,
    /// Results.
    pub results: SmallVec<[Value; 1]>,
    /// Source text.
    pub span: Span,
    /// ONNX node or other source that it stems from.
    pub origin: Option<String>,
}

/// A parameter or result of a function.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Port {
    /// Name of the binding.
    pub name: String,
    /// The value.
    pub value: Value,
    /// Element type of the host's buffer.
    pub host: HostType,
}

/// True if a host buffer of this type can be bound to a value of this element type.
pub(crate) fn host_fits(host: HostType, element: ScalarType) -> bool {
    match host {
        HostType::I64 => element == ScalarType::I32,
        HostType::F64 => element == ScalarType::F32,
        HostType::Bool => element == ScalarType::I1,
        HostType::Device(scalar) => {
            scalar == element || scalar == ScalarType::F32 && element == ScalarType::F16
        }
    }
}

/// A function in SSA form.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Function {
    /// Name.
    pub name: String,
    /// Parameters.
    pub params: Vec<Port>,
    /// Results.
    pub results: Vec<Port>,
    /// Values.
    pub values: PrimaryMap<Value, ValueData>,
    /// Instructions.
    pub insts: PrimaryMap<Inst, InstData>,
    /// Order of the instructions; what is not listed is not part of the function.
    pub body: Vec<Inst>,
}

impl Function {
    /// The type of a value.
    pub fn ty(&self, value: Value) -> &TensorType {
        &self.values[value].ty
    }

    /// Types of the parameters.
    pub fn param_types(&self) -> Vec<TensorType> {
        let ports = self.params.iter();
        ports.map(|port| self.ty(port.value).clone()).collect()
    }

    /// Types of the results.
    pub fn result_types(&self) -> Vec<TensorType> {
        let ports = self.results.iter();
        ports.map(|port| self.ty(port.value).clone()).collect()
    }

    /// The instruction that defines a value, if none of the parameters is.
    pub fn def(&self, value: Value) -> Option<Inst> {
        match self.values[value].def {
            Def::Result(inst, _) => Some(inst),
            Def::Param(_) => None,
        }
    }
}

/// Functions and weights.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Module {
    /// Functions by name; the entry is `main`, or the only one.
    pub functions: IndexMap<String, Function>,
    /// Weights by name.
    pub weights: IndexMap<String, Weight>,
}

impl Module {
    /// The entry function.
    pub fn entry(&self) -> Option<&Function> {
        match self.functions.get("main") {
            Some(main) => Some(main),
            None if self.functions.len() == 1 => self.functions.values().next(),
            None => None,
        }
    }
}
