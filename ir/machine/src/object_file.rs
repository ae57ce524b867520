//! The file form of objects: magic, version, length, checksum, payload.

use thiserror::Error;

use crate::object::Object;

/// First bytes of an object file.
pub const MAGIC: [u8; 8] = *b"ipuccobj";
/// Version of the payload; files of another version are refused.
pub const VERSION: u32 = 1;
/// Bytes before the payload: magic, version, payload length, BLAKE3 of the payload.
const HEADER: usize = 8 + 4 + 8 + 32;
/// Largest section that a file may ask for, in bytes: the address space.
const MAX_SECTION: u32 = 1 << 21;

/// Why bytes are no object.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum ObjectFileError {
    /// The first bytes are wrong.
    #[error("this is not an ipucc object file")]
    Magic,
    /// Another version.
    #[error("the object file has version {found}; this program reads version {VERSION}")]
    Version {
        /// Version of the file.
        found: u32,
    },
    /// The length does not agree with the header.
    #[error("the object file is truncated or has bytes behind its end")]
    Length,
    /// The checksum does not agree.
    #[error("the object file is damaged: its checksum does not agree")]
    Checksum,
    /// The payload cannot be read.
    #[error("the object file cannot be read: {0}")]
    Payload(String),
}

/// True if `bytes` start like an object file.
pub fn is_object(bytes: &[u8]) -> bool {
    bytes.starts_with(&MAGIC)
}

impl Object {
    /// The bytes of an object file; the same object gives the same bytes.
    ///
    /// # Errors
    /// Only if the serialiser fails.
    pub fn to_bytes(&self) -> Result<Vec<u8>, ObjectFileError> {
        let payload =
            postcard::to_stdvec(self).map_err(|e| ObjectFileError::Payload(e.to_string()))?;
        let mut out = Vec::with_capacity(HEADER + payload.len());
        out.extend_from_slice(&MAGIC);
        out.extend_from_slice(&VERSION.to_le_bytes());
        out.extend_from_slice(&(payload.len() as u64).to_le_bytes());
        out.extend_from_slice(blake3::hash(&payload).as_bytes());
        out.extend_from_slice(&payload);
        Ok(out)
    }

    /// Reads the bytes of an object file.
    ///
    /// # Errors
    /// Anything that is no object, of another version, truncated or altered.
    pub fn from_bytes(bytes: &[u8]) -> Result<Object, ObjectFileError> {
        let Some((header, payload)) = bytes.split_at_checked(HEADER) else {
            return Err(if is_object(bytes) {
                ObjectFileError::Length
            } else {
                ObjectFileError::Magic
            });
        };
        if !is_object(header) {
            return Err(ObjectFileError::Magic);
        }
        let mut version = [0; 4];
        version.copy_from_slice(&header[8..12]);
        let found = u32::from_le_bytes(version);
        if found != VERSION {
            return Err(ObjectFileError::Version { found });
        }
        let mut length = [0; 8];
        length.copy_from_slice(&header[12..20]);
        if u64::from_le_bytes(length) != payload.len() as u64 {
            return Err(ObjectFileError::Length);
        }
        if blake3::hash(payload).as_bytes() != &header[20..52] {
            return Err(ObjectFileError::Checksum);
        }
        let object: Object =
            postcard::from_bytes(payload).map_err(|e| ObjectFileError::Payload(e.to_string()))?;
        for (name, section) in &object.sections {
            if section.size > MAX_SECTION
                || section.bytes.len() > section.size as usize
                || !section.align.is_power_of_two()
            {
                return Err(ObjectFileError::Payload(format!(
                    "section `{name}` has a wrong size or alignment"
                )));
            }
        }
        Ok(object)
    }
}
