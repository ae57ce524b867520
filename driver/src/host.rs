//! Host buffers: random ones, their elements, and tensors of the interpreter from them.

use ipucc_chip::{HostType, ScalarType};
use ipucc_runtime::HostTensor;
use ipucc_tensor::TensorType;
use ipucc_tensor::interp::Tensor;

/// A tensor of the interpreter from a host buffer; 64-bit types narrow.
pub fn to_tensor(host: &HostTensor, ty: &TensorType) -> Tensor {
    match host.element {
        HostType::I64 => {
            let values: Vec<i64> = host
                .bytes
                .as_chunks::<8>()
                .0
                .iter()
                .map(|chunk| i64::from_le_bytes(*chunk))
                .collect();
            Tensor::from_ints(ty.clone(), &values)
        }
        HostType::F64 | HostType::Device(ScalarType::F32 | ScalarType::F16)
            if host.element != HostType::Device(ty.element) =>
        {
            let values: Vec<f32> = floats(host).iter().map(|&v| v as f32).collect();
            Tensor::from_floats(ty.clone(), &values)
        }
        _ => Tensor {
            ty: ty.clone(),
            data: host.bytes.clone(),
        },
    }
}

/// A tensor of the interpreter as the host sees it.
pub fn from_tensor(tensor: &Tensor, element: HostType) -> HostTensor {
    let floats = || tensor.to_floats().into_iter();
    let bytes = match element {
        HostType::I64 => {
            let ints = tensor.to_ints();
            ints.iter().flat_map(|v| v.to_le_bytes()).collect()
        }
        HostType::F64 => floats().flat_map(|v| f64::from(v).to_le_bytes()).collect(),
        HostType::Device(other) if other != tensor.ty.element && other.is_float() => {
            let values: Vec<f32> = floats().collect();
            Tensor::from_floats(tensor.ty.with_element(other), &values).data
        }
        HostType::Bool | HostType::Device(_) => tensor.data.clone(),
    };
    HostTensor {
        element,
        shape: tensor.ty.shape.to_vec(),
        bytes,
    }
}

/// The elements of a host buffer as f64.
pub fn floats(tensor: &HostTensor) -> Vec<f64> {
    let bytes = &tensor.bytes;
    match tensor.element {
        HostType::F64 => bytes
            .as_chunks::<8>()
            .0
            .iter()
            .map(|c| f64::from_le_bytes(*c))
            .collect(),
        HostType::I64 => bytes
            .as_chunks::<8>()
            .0
            .iter()
            .map(|c| i64::from_le_bytes(*c) as f64)
            .collect(),
        HostType::Bool => bytes.iter().map(|&byte| f64::from(byte)).collect(),
        HostType::Device(element) => {
            let count = bytes.len() / element.bytes() as usize;
            let ty = TensorType::new(element, [count as u32]);
            let tensor = Tensor {
                ty,
                data: bytes.clone(),
            };
            if element.is_float() {
                tensor.to_floats().iter().map(|&v| f64::from(v)).collect()
            } else {
                tensor.to_ints().iter().map(|&v| v as f64).collect()
            }
        }
    }
}

/// The first elements, for people.
pub fn preview(tensor: &HostTensor) -> String {
    let values = floats(tensor);
    let shown: Vec<String> = values
        .iter()
        .take(6)
        .map(|value| format!("{value:.5}"))
        .collect();
    format!(
        "[{}{}]",
        shown.join(", "),
        if values.len() > 6 { ", ..." } else { "" }
    )
}

/// Seeded random data: uniform in [-1, 1) for floats, 0 or 1 for truth values, 0..100 for integers.
pub fn random(host: HostType, shape: &[u32], seed: u64) -> HostTensor {
    let count: u64 = shape.iter().map(|&extent| u64::from(extent)).product();
    let mut bytes = Vec::new();
    for index in 0..count {
        let mut z = seed
            .wrapping_mul(0xd134_2543_de82_ef95)
            .wrapping_add((index + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^= z >> 31;
        let unit = (z >> 40) as f32 / (1u64 << 23) as f32 - 1.0;
        let whole = (z >> 33) % 100;
        match host {
            HostType::F64 => bytes.extend(f64::from(unit).to_le_bytes()),
            HostType::I64 => bytes.extend((whole as i64).to_le_bytes()),
            HostType::Bool | HostType::Device(ScalarType::I1) => bytes.push((z >> 63) as u8),
            HostType::Device(element) if element.is_float() => {
                let ty = TensorType::new(element, []);
                bytes.extend(Tensor::from_floats(ty, &[unit]).data);
            }
            HostType::Device(element) => {
                bytes.extend(&whole.to_le_bytes()[..element.bytes() as usize]);
            }
        }
    }
    HostTensor {
        element: host,
        shape: shape.to_vec(),
        bytes,
    }
}
