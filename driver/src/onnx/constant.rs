//! Tensors whose data is known at import: initializers, `Constant` nodes and what follows from them.

use super::proto::{DataType, TensorProto};
use ipucc_chip::ScalarType;
use std::path::Path;

/// A constant tensor in row-major order.
#[derive(Clone, PartialEq, Debug)]
pub struct Constant {
    /// Element type in the file.
    pub kind: DataType,
    /// Extents.
    pub shape: Vec<u32>,
    /// Little-endian elements.
    pub bytes: Vec<u8>,
}

impl DataType {
    /// Bytes of one element.
    pub fn bytes(self) -> usize {
        match self {
            DataType::Uint8 | DataType::Int8 | DataType::Bool => 1,
            DataType::Int16 | DataType::Float16 => 2,
            DataType::Float | DataType::Int32 | DataType::Uint32 => 4,
            DataType::Int64 | DataType::Double => 8,
        }
    }

    /// The device type that stands for it.
    pub fn device(self) -> ScalarType {
        match self {
            DataType::Float | DataType::Double => ScalarType::F32,
            DataType::Float16 => ScalarType::F16,
            DataType::Uint8 => ScalarType::U8,
            DataType::Int8 => ScalarType::I8,
            DataType::Int16 => ScalarType::I16,
            DataType::Int32 | DataType::Int64 => ScalarType::I32,
            DataType::Uint32 => ScalarType::U32,
            DataType::Bool => ScalarType::I1,
        }
    }
}

impl Constant {
    /// An i64 constant.
    pub fn ints(shape: Vec<u32>, values: &[i64]) -> Constant {
        let bytes = values.iter().flat_map(|v| v.to_le_bytes()).collect();
        Constant {
            kind: DataType::Int64,
            shape,
            bytes,
        }
    }

    /// An f32 constant.
    pub fn floats(shape: Vec<u32>, values: &[f32]) -> Constant {
        let bytes = values.iter().flat_map(|v| v.to_le_bytes()).collect();
        Constant {
            kind: DataType::Float,
            shape,
            bytes,
        }
    }

    /// Number of elements.
    pub fn elements(&self) -> usize {
        self.shape.iter().map(|&extent| extent as usize).product()
    }

    /// Reads a tensor of a model; `folder` is where external data lies.
    ///
    /// # Errors
    /// What is wrong with the tensor, in words.
    pub fn read(tensor: &TensorProto, folder: Option<&Path>) -> Result<Constant, String> {
        let Some(kind) = DataType::of(tensor.data_type) else {
            return Err(format!(
                "element type {} is not supported",
                tensor.data_type
            ));
        };
        let shape = tensor
            .dims
            .iter()
            .map(|&extent| u32::try_from(extent).map_err(|_| format!("extent {extent}")))
            .collect::<Result<Vec<u32>, String>>()?;
        let elements = shape
            .iter()
            .try_fold(1usize, |n, &extent| n.checked_mul(extent as usize))
            .filter(|n| n.checked_mul(8).is_some())
            .ok_or("too many elements")?;
        let bytes = if tensor.data_location == 1 {
            external(tensor, folder, elements * kind.bytes())?
        } else if !tensor.raw_data.is_empty() {
            tensor.raw_data.clone()
        } else {
            typed(tensor, kind)
        };
        if bytes.len() != elements * kind.bytes() {
            return Err(format!(
                "{} bytes of data for {elements} elements of {} bytes",
                bytes.len(),
                kind.bytes()
            ));
        }
        Ok(Constant { kind, shape, bytes })
    }

    /// The elements as i64, if this is an integer or boolean tensor.
    pub fn to_ints(&self) -> Option<Vec<i64>> {
        let chunks = self.bytes.chunks_exact(self.kind.bytes());
        Some(match self.kind {
            DataType::Int64 => chunks.map(|c| i64::from_le_bytes(fixed(c))).collect(),
            DataType::Int32 => chunks
                .map(|c| i32::from_le_bytes(fixed(c)) as i64)
                .collect(),
            DataType::Uint32 => chunks
                .map(|c| u32::from_le_bytes(fixed(c)) as i64)
                .collect(),
            DataType::Int16 => chunks
                .map(|c| i16::from_le_bytes(fixed(c)) as i64)
                .collect(),
            DataType::Int8 => chunks.map(|c| c[0] as i8 as i64).collect(),
            DataType::Uint8 | DataType::Bool => chunks.map(|c| c[0] as i64).collect(),
            DataType::Float | DataType::Double | DataType::Float16 => return None,
        })
    }

    /// The elements as f64, whatever the type.
    pub fn to_floats(&self) -> Vec<f64> {
        let chunks = self.bytes.chunks_exact(self.kind.bytes());
        match self.kind {
            DataType::Float => chunks
                .map(|c| f32::from_le_bytes(fixed(c)) as f64)
                .collect(),
            DataType::Double => chunks.map(|c| f64::from_le_bytes(fixed(c))).collect(),
            DataType::Float16 => chunks
                .map(|c| half::f16::from_le_bytes(fixed(c)).to_f64())
                .collect(),
            _ => self
                .to_ints()
                .unwrap_or_default()
                .iter()
                .map(|&v| v as f64)
                .collect(),
        }
    }

    /// Little-endian elements in the device type.
    ///
    /// # Errors
    /// A 64-bit integer outside i32.
    pub fn to_device(&self) -> Result<Vec<u8>, String> {
        match self.kind {
            DataType::Int64 => {
                let mut bytes = Vec::with_capacity(self.bytes.len() / 2);
                for value in self.to_ints().unwrap_or_default() {
                    let narrow = i32::try_from(value)
                        .map_err(|_| format!("64-bit value {value} does not fit i32"))?;
                    bytes.extend_from_slice(&narrow.to_le_bytes());
                }
                Ok(bytes)
            }
            DataType::Double => Ok(self
                .to_floats()
                .iter()
                .flat_map(|&v| (v as f32).to_le_bytes())
                .collect()),
            _ => Ok(self.bytes.clone()),
        }
    }

    /// Converts to another element type, as ONNX `Cast` does for values in range.
    pub fn cast(&self, kind: DataType) -> Constant {
        let ints = self.to_ints();
        let floats = self.to_floats();
        let whole = |i: usize| ints.as_ref().map_or(floats[i] as i64, |v| v[i]);
        let bytes = (0..self.elements())
            .flat_map(|i| match kind {
                DataType::Float => (floats[i] as f32).to_le_bytes().to_vec(),
                DataType::Double => floats[i].to_le_bytes().to_vec(),
                DataType::Float16 => half::f16::from_f64(floats[i]).to_le_bytes().to_vec(),
                DataType::Int64 => whole(i).to_le_bytes().to_vec(),
                DataType::Int32 => (whole(i) as i32).to_le_bytes().to_vec(),
                DataType::Uint32 => (whole(i) as u32).to_le_bytes().to_vec(),
                DataType::Int16 => (whole(i) as i16).to_le_bytes().to_vec(),
                DataType::Int8 | DataType::Uint8 => vec![whole(i) as u8],
                DataType::Bool => vec![u8::from(floats[i] != 0.0)],
            })
            .collect();
        Constant {
            kind,
            shape: self.shape.clone(),
            bytes,
        }
    }
}

fn fixed<const N: usize>(chunk: &[u8]) -> [u8; N] {
    let mut array = [0; N];
    array.copy_from_slice(&chunk[..N]);
    array
}

fn typed(tensor: &TensorProto, kind: DataType) -> Vec<u8> {
    let narrow = tensor.int32_data.iter();
    match kind {
        DataType::Float => tensor
            .float_data
            .iter()
            .flat_map(|v| v.to_le_bytes())
            .collect(),
        DataType::Double => tensor
            .double_data
            .iter()
            .flat_map(|v| v.to_le_bytes())
            .collect(),
        DataType::Int64 => tensor
            .int64_data
            .iter()
            .flat_map(|v| v.to_le_bytes())
            .collect(),
        DataType::Uint32 => tensor
            .uint64_data
            .iter()
            .flat_map(|&v| (v as u32).to_le_bytes())
            .collect(),
        DataType::Int32 => narrow.flat_map(|v| v.to_le_bytes()).collect(),
        DataType::Int16 | DataType::Float16 => {
            narrow.flat_map(|&v| (v as u16).to_le_bytes()).collect()
        }
        DataType::Int8 | DataType::Uint8 | DataType::Bool => narrow.map(|&v| v as u8).collect(),
    }
}

fn external(tensor: &TensorProto, folder: Option<&Path>, bytes: usize) -> Result<Vec<u8>, String> {
    use std::io::{Read, Seek, SeekFrom};
    let entry = |key: &str| {
        tensor
            .external_data
            .iter()
            .find(|entry| entry.key == key)
            .map(|entry| entry.value.as_str())
    };
    let location = entry("location").ok_or("external data without a location")?;
    let relative = Path::new(location);
    let inside = relative.components().all(|part| {
        matches!(
            part,
            std::path::Component::Normal(_) | std::path::Component::CurDir
        )
    });
    if !inside {
        return Err(format!(
            "external data `{location}` is outside the model's folder"
        ));
    }
    let folder = folder.ok_or("external data, but the model has no folder")?;
    let number = |key: &str| entry(key).map_or(Ok(0), |text| text.parse::<u64>());
    let offset = number("offset").map_err(|_| "external data with a malformed offset")?;
    let path = folder.join(relative);
    let open = || -> std::io::Result<Vec<u8>> {
        let mut file = std::fs::File::open(&path)?;
        file.seek(SeekFrom::Start(offset))?;
        let mut data = Vec::new();
        file.take(bytes as u64).read_to_end(&mut data)?;
        Ok(data)
    };
    open().map_err(|error| format!("external data {}: {error}", path.display()))
}
