//! The part of the ONNX protobuf schema that inference models use.
//!
//! Field numbers are those of the public `onnx.proto` (IR version 3 to 11). Messages that an
//! importer does not look at (training information, quantisation annotations) are left out;
//! protobuf skips unknown fields.

use prost::Message;

/// A model file.
#[derive(Clone, PartialEq, Message)]
pub struct ModelProto {
    /// IR version of the file.
    #[prost(int64, tag = "1")]
    pub ir_version: i64,
    /// Name of the tool that wrote it.
    #[prost(string, tag = "2")]
    pub producer_name: String,
    /// The graph.
    #[prost(message, optional, tag = "7")]
    pub graph: Option<GraphProto>,
    /// Operator set versions by domain.
    #[prost(message, repeated, tag = "8")]
    pub opset_import: Vec<OperatorSetIdProto>,
}

/// An operator set and its version.
#[derive(Clone, PartialEq, Message)]
pub struct OperatorSetIdProto {
    /// Domain; empty for the standard operators.
    #[prost(string, tag = "1")]
    pub domain: String,
    /// Version.
    #[prost(int64, tag = "2")]
    pub version: i64,
}

/// A graph.
#[derive(Clone, PartialEq, Message)]
pub struct GraphProto {
    /// Nodes in topological order.
    #[prost(message, repeated, tag = "1")]
    pub node: Vec<NodeProto>,
    /// Name.
    #[prost(string, tag = "2")]
    pub name: String,
    /// Constants by name.
    #[prost(message, repeated, tag = "5")]
    pub initializer: Vec<TensorProto>,
    /// Inputs; may repeat initializers.
    #[prost(message, repeated, tag = "11")]
    pub input: Vec<ValueInfoProto>,
    /// Outputs.
    #[prost(message, repeated, tag = "12")]
    pub output: Vec<ValueInfoProto>,
    /// Types of inner values.
    #[prost(message, repeated, tag = "13")]
    pub value_info: Vec<ValueInfoProto>,
}

/// A node.
#[derive(Clone, PartialEq, Message)]
pub struct NodeProto {
    /// Input value names; empty = not given.
    #[prost(string, repeated, tag = "1")]
    pub input: Vec<String>,
    /// Output value names.
    #[prost(string, repeated, tag = "2")]
    pub output: Vec<String>,
    /// Name of the node.
    #[prost(string, tag = "3")]
    pub name: String,
    /// Operator.
    #[prost(string, tag = "4")]
    pub op_type: String,
    /// Attributes.
    #[prost(message, repeated, tag = "5")]
    pub attribute: Vec<AttributeProto>,
    /// Domain of the operator.
    #[prost(string, tag = "7")]
    pub domain: String,
}

/// An attribute.
#[derive(Clone, PartialEq, Message)]
pub struct AttributeProto {
    /// Name.
    #[prost(string, tag = "1")]
    pub name: String,
    /// Float value.
    #[prost(float, tag = "2")]
    pub f: f32,
    /// Integer value.
    #[prost(int64, tag = "3")]
    pub i: i64,
    /// String value.
    #[prost(bytes = "vec", tag = "4")]
    pub s: Vec<u8>,
    /// Tensor value.
    #[prost(message, optional, tag = "5")]
    pub t: Option<TensorProto>,
    /// Graph value.
    #[prost(message, optional, tag = "6")]
    pub g: Option<GraphProto>,
    /// Floats.
    #[prost(float, repeated, tag = "7")]
    pub floats: Vec<f32>,
    /// Integers.
    #[prost(int64, repeated, tag = "8")]
    pub ints: Vec<i64>,
    /// Strings.
    #[prost(bytes = "vec", repeated, tag = "9")]
    pub strings: Vec<Vec<u8>>,
    /// Kind of the attribute.
    #[prost(int32, tag = "20")]
    pub kind: i32,
}

/// A tensor with its data.
#[derive(Clone, PartialEq, Message)]
pub struct TensorProto {
    /// Shape.
    #[prost(int64, repeated, tag = "1")]
    pub dims: Vec<i64>,
    /// Element type ([`DataType`]).
    #[prost(int32, tag = "2")]
    pub data_type: i32,
    /// f32 data.
    #[prost(float, repeated, tag = "4")]
    pub float_data: Vec<f32>,
    /// i32, i16, i8, u16, u8, bool and f16 data.
    #[prost(int32, repeated, tag = "5")]
    pub int32_data: Vec<i32>,
    /// i64 data.
    #[prost(int64, repeated, tag = "7")]
    pub int64_data: Vec<i64>,
    /// Name.
    #[prost(string, tag = "8")]
    pub name: String,
    /// Little-endian data of any type.
    #[prost(bytes = "vec", tag = "9")]
    pub raw_data: Vec<u8>,
    /// f64 data.
    #[prost(double, repeated, tag = "10")]
    pub double_data: Vec<f64>,
    /// u32 and u64 data.
    #[prost(uint64, repeated, tag = "11")]
    pub uint64_data: Vec<u64>,
    /// Where external data stands: keys `location`, `offset`, `length`.
    #[prost(message, repeated, tag = "13")]
    pub external_data: Vec<StringStringEntryProto>,
    /// 1 = external.
    #[prost(int32, tag = "14")]
    pub data_location: i32,
}

/// A key and a value.
#[derive(Clone, PartialEq, Message)]
pub struct StringStringEntryProto {
    /// Key.
    #[prost(string, tag = "1")]
    pub key: String,
    /// Value.
    #[prost(string, tag = "2")]
    pub value: String,
}

/// A named, typed value.
#[derive(Clone, PartialEq, Message)]
pub struct ValueInfoProto {
    /// Name.
    #[prost(string, tag = "1")]
    pub name: String,
    /// Type.
    #[prost(message, optional, tag = "2")]
    pub r#type: Option<TypeProto>,
}

/// A type; only tensors are looked at.
#[derive(Clone, PartialEq, Message)]
pub struct TypeProto {
    /// Tensor type.
    #[prost(message, optional, tag = "1")]
    pub tensor_type: Option<TensorTypeProto>,
}

/// A tensor type.
#[derive(Clone, PartialEq, Message)]
pub struct TensorTypeProto {
    /// Element type ([`DataType`]).
    #[prost(int32, tag = "1")]
    pub elem_type: i32,
    /// Shape.
    #[prost(message, optional, tag = "2")]
    pub shape: Option<TensorShapeProto>,
}

/// A shape.
#[derive(Clone, PartialEq, Message)]
pub struct TensorShapeProto {
    /// Dimensions.
    #[prost(message, repeated, tag = "1")]
    pub dim: Vec<DimensionProto>,
}

/// A dimension: a number or a name.
#[derive(Clone, PartialEq, Message)]
pub struct DimensionProto {
    /// The dimension.
    #[prost(oneof = "Dimension", tags = "1, 2")]
    pub value: Option<Dimension>,
}

/// Number or name.
#[derive(Clone, PartialEq, prost::Oneof)]
pub enum Dimension {
    /// A static extent.
    #[prost(int64, tag = "1")]
    Value(i64),
    /// A symbolic extent.
    #[prost(string, tag = "2")]
    Name(String),
}

/// Element types of the schema that can be imported.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DataType {
    /// f32.
    Float,
    /// u8.
    Uint8,
    /// i8.
    Int8,
    /// i16.
    Int16,
    /// i32.
    Int32,
    /// i64.
    Int64,
    /// Boolean.
    Bool,
    /// f16.
    Float16,
    /// f64.
    Double,
    /// u32.
    Uint32,
}

impl DataType {
    /// The element type of a schema number, `None` if it cannot be imported.
    pub fn of(number: i32) -> Option<DataType> {
        Some(match number {
            1 => DataType::Float,
            2 => DataType::Uint8,
            3 => DataType::Int8,
            5 => DataType::Int16,
            6 => DataType::Int32,
            7 => DataType::Int64,
            9 => DataType::Bool,
            10 => DataType::Float16,
            11 => DataType::Double,
            12 => DataType::Uint32,
            _ => return None,
        })
    }
}
