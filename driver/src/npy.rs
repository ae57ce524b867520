//! NumPy files: reading and writing dense arrays.

use ipucc_chip::{HostType, ScalarType};
use ipucc_runtime::HostTensor;

/// Reads a `.npy` file.
///
/// # Errors
/// What is wrong with the bytes, in words.
pub fn read(bytes: &[u8]) -> Result<HostTensor, String> {
    let magic = bytes
        .get(..8)
        .ok_or("the file is too short for a .npy file; hint: write it with numpy.save")?;
    if &magic[..6] != b"\x93NUMPY" {
        return Err("this is no .npy file; hint: write it with numpy.save".into());
    }
    let (length, start): (usize, usize) = match magic[6] {
        1 => {
            let field = bytes.get(8..10).ok_or("the header is cut off")?;
            (usize::from(u16::from_le_bytes([field[0], field[1]])), 10)
        }
        2 | 3 => {
            let field = bytes.get(8..12).ok_or("the header is cut off")?;
            (
                u32::from_le_bytes([field[0], field[1], field[2], field[3]]) as usize,
                12,
            )
        }
        other => return Err(format!("version {other} of the format is not known")),
    };
    let end = start.checked_add(length).ok_or("the header is malformed")?;
    let header = bytes.get(start..end).ok_or("the header is cut off")?;
    let header = std::str::from_utf8(header).map_err(|_| "the header is not text")?;
    let descr = field(header, "'descr':").ok_or("the header names no type")?;
    let descr = descr.trim().trim_matches(['\'', '"']);
    let element = match descr {
        "<f4" => HostType::Device(ScalarType::F32),
        "<f2" => HostType::Device(ScalarType::F16),
        "<f8" => HostType::F64,
        "<i8" => HostType::I64,
        "<i4" => HostType::Device(ScalarType::I32),
        "<u4" => HostType::Device(ScalarType::U32),
        "<i2" => HostType::Device(ScalarType::I16),
        "|i1" => HostType::Device(ScalarType::I8),
        "|u1" => HostType::Device(ScalarType::U8),
        "|b1" => HostType::Bool,
        other => {
            let types = "float16, float32, float64, int8, int16, int32, int64, uint8, uint32, bool";
            return Err(format!(
                "the element type `{other}` is not supported; hint: array.astype(..) of {types}, \
                 little endian"
            ));
        }
    };
    if field(header, "'fortran_order':").is_some_and(|order| order.trim() == "True") {
        return Err("the array is in Fortran order; hint: save numpy.ascontiguousarray(a)".into());
    }
    let shape = header
        .split_once("'shape':")
        .and_then(|(_, rest)| rest.split_once('('))
        .and_then(|(_, rest)| rest.split_once(')'))
        .map(|(shape, _)| shape)
        .ok_or("the header names no shape")?;
    let shape: Vec<u32> = shape
        .split(',')
        .map(str::trim)
        .filter(|part| !part.is_empty())
        .map(|part| {
            part.parse::<u32>()
                .map_err(|_| format!("extent `{part}` is not in 0..2^32"))
        })
        .collect::<Result<_, _>>()?;
    let elements = shape
        .iter()
        .try_fold(1usize, |n, &extent| n.checked_mul(extent as usize))
        .and_then(|n| n.checked_mul(element.bytes() as usize))
        .ok_or("the shape has too many elements")?;
    let data = &bytes[end..];
    if data.len() != elements {
        return Err(format!(
            "{} bytes of data, {elements} expected: the file was cut off or appended to",
            data.len()
        ));
    }
    Ok(HostTensor {
        element,
        shape,
        bytes: data.to_vec(),
    })
}

/// The text behind a key of the header, to the next comma.
fn field<'h>(header: &'h str, key: &str) -> Option<&'h str> {
    let (_, rest) = header.split_once(key)?;
    rest.split(',').next()
}

/// The bytes of a `.npy` file.
pub fn write(tensor: &HostTensor) -> Vec<u8> {
    let descr = match tensor.element {
        HostType::F64 => "<f8",
        HostType::I64 => "<i8",
        HostType::Bool => "|b1",
        HostType::Device(scalar) => match scalar {
            ScalarType::F32 => "<f4",
            ScalarType::F16 => "<f2",
            ScalarType::I32 => "<i4",
            ScalarType::U32 => "<u4",
            ScalarType::I16 => "<i2",
            ScalarType::I8 => "|i1",
            ScalarType::U8 | ScalarType::F8E4M3 | ScalarType::F8E5M2 => "|u1",
            ScalarType::I1 => "|b1",
        },
    };
    let shape: String = tensor
        .shape
        .iter()
        .map(|extent| format!("{extent}, "))
        .collect();
    let mut header =
        format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': ({shape}), }}");
    while (header.len() + 11) % 64 != 0 {
        header.push(' ');
    }
    header.push('\n');
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((header.len() as u16).to_le_bytes());
    bytes.extend(header.bytes());
    bytes.extend(&tensor.bytes);
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_go_round() {
        for shape in [vec![], vec![3], vec![2, 0], vec![2, 3, 4]] {
            let count: u32 = shape.iter().product();
            let tensor = HostTensor {
                element: HostType::I64,
                shape,
                bytes: (0..count as u64 * 8).map(|byte| byte as u8).collect(),
            };
            assert_eq!(read(&write(&tensor)), Ok(tensor));
        }
    }

    #[test]
    fn a_file_of_numpy_is_read() {
        let labels = include_bytes!("../../examples/digits/labels.npy");
        let tensor = read(labels).expect("numpy wrote it");
        assert_eq!((tensor.element, tensor.shape), (HostType::I64, vec![360]));
    }

    #[test]
    fn damage_is_told() {
        let labels = include_bytes!("../../examples/digits/labels.npy");
        for cut in [0, 5, 9, 40, 127, 128, 1000, labels.len() - 1] {
            assert!(read(&labels[..cut]).is_err(), "{cut} bytes accepted");
        }
    }
}
