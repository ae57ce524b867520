//! NumPy archives (`.npz`): arrays by name in one file.

use crate::npy;
use indexmap::IndexMap;
use ipucc_runtime::HostTensor;
use std::io::{Cursor, Read, Write};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipArchive, ZipWriter};

/// Most bytes of one array; what an archive unpacks to is not known before.
const MOST_BYTES: u64 = 1 << 34;

/// All arrays of an archive, in its order.
///
/// # Errors
/// What is wrong with the bytes, in words.
pub fn read(bytes: &[u8]) -> Result<IndexMap<String, HostTensor>, String> {
    let mut archive = ZipArchive::new(Cursor::new(bytes)).map_err(|error| {
        format!("this is no .npz file: {error}; hint: write it with numpy.savez")
    })?;
    let mut arrays = IndexMap::new();
    for index in 0..archive.len() {
        let mut file = archive.by_index(index).map_err(|error| error.to_string())?;
        let entry = file.name().map_err(|error| error.to_string())?.into_owned();
        let name = entry.strip_suffix(".npy").unwrap_or(&entry).to_owned();
        let wrong = |reason: String| format!("array `{name}`: {reason}");
        let mut data = Vec::new();
        let mut limited = (&mut file).take(MOST_BYTES);
        limited
            .read_to_end(&mut data)
            .map_err(|error| wrong(error.to_string()))?;
        let array = npy::read(&data).map_err(wrong)?;
        arrays.insert(name, array);
    }
    Ok(arrays)
}

/// One array of an archive: the one called `name`, or the only one.
///
/// # Errors
/// What is wrong with the bytes, or which arrays there are instead.
pub fn read_one(bytes: &[u8], name: &str) -> Result<HostTensor, String> {
    let mut arrays = read(bytes)?;
    if let Some(array) = arrays.shift_remove(name) {
        return Ok(array);
    }
    let known: Vec<String> = arrays.keys().map(|name| format!("`{name}`")).collect();
    match (arrays.pop(), arrays.is_empty()) {
        (Some((_, array)), true) => Ok(array),
        _ => Err(format!(
            "holds no array `{name}`; it has {}",
            known.join(", ")
        )),
    }
}

/// The bytes of an archive, not compressed; the same for the same arrays.
///
/// # Errors
/// Names that an archive cannot hold.
pub fn write<'a>(
    arrays: impl IntoIterator<Item = (&'a str, &'a HostTensor)>,
) -> Result<Vec<u8>, String> {
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    let options = SimpleFileOptions::default()
        .compression_method(CompressionMethod::Stored)
        .large_file(false);
    for (name, array) in arrays {
        let written = writer
            .start_file(format!("{name}.npy"), options)
            .map_err(|error| error.to_string())
            .and_then(|()| {
                let bytes = npy::write(array);
                writer.write_all(&bytes).map_err(|error| error.to_string())
            });
        written.map_err(|reason| format!("array `{name}`: {reason}"))?;
    }
    let bytes = writer.finish().map_err(|error| error.to_string())?;
    Ok(bytes.into_inner())
}

#[cfg(test)]
mod tests {
    use super::*;
    use ipucc_chip::{HostType, ScalarType};

    fn arrays() -> Vec<(&'static str, HostTensor)> {
        let array = |element: HostType, shape: Vec<u32>, bytes: Vec<u8>| HostTensor {
            element,
            shape,
            bytes,
        };
        let float = HostType::Device(ScalarType::F32);
        vec![
            ("x", array(float, vec![2], vec![0, 0, 128, 63, 0, 0, 0, 64])),
            (
                "ids",
                array(HostType::I64, vec![], vec![7, 0, 0, 0, 0, 0, 0, 0]),
            ),
            ("mask", array(HostType::Bool, vec![0, 3], vec![])),
        ]
    }

    #[test]
    fn archives_go_round() {
        let arrays = arrays();
        let bytes = write(arrays.iter().map(|(n, a)| (*n, a))).expect("good names");
        let again = read(&bytes).expect("it was written here");
        assert_eq!(again.len(), arrays.len());
        for (name, array) in &arrays {
            assert_eq!(again[*name], *array);
            assert_eq!(read_one(&bytes, name).as_ref(), Ok(array));
        }
        let error = read_one(&bytes, "y").expect_err("there is none");
        assert_eq!(error, "holds no array `y`; it has `x`, `ids`, `mask`");
    }

    /// `numpy.savez` and `numpy.savez_compressed` of x = [1, 2] in f32 and ids = 7 in i64.
    #[test]
    fn archives_of_numpy_are_read() {
        let wanted = arrays();
        for bytes in [
            &include_bytes!("../tests/fixtures/plain.npz")[..],
            &include_bytes!("../tests/fixtures/compressed.npz")[..],
        ] {
            let found = read(bytes).expect("numpy wrote it");
            assert_eq!(found.len(), 2);
            for (name, array) in &wanted[..2] {
                assert_eq!(found[*name], *array);
            }
            for cut in [0, 3, 30, 100, bytes.len() - 1] {
                assert!(read(&bytes[..cut]).is_err(), "{cut} bytes accepted");
            }
        }
    }
}
