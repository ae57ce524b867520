//! The package file: a header that names format and checksum, then the serialised package.
//!
//! ```text
//! 0   8  magic "IPUPKG\r\n"   (a text-mode copy is noticed at once)
//! 8   4  format version, little endian
//! 12  8  payload length in bytes, little endian
//! 20  32 BLAKE3 of version, length and payload
//! 52     payload: the package in postcard form
//! ```

use ipucc_machine::package::Package;
use std::io::{self, Write};
use std::path::Path;
use thiserror::Error;

const MAGIC: &[u8; 8] = b"IPUPKG\r\n";
const HEADER_BYTES: usize = 52;

/// Version of the file format; a reader accepts exactly this one.
pub const FORMAT_VERSION: u32 = 2;

/// Why a package file was refused or could not be written.
#[derive(Debug, Error)]
pub enum FileError {
    /// The file could not be read or written.
    #[error("{path}: {error}")]
    Io {
        /// The file.
        path: String,
        /// What the system said.
        error: std::io::Error,
    },
    /// Not a package at all.
    #[error(
        "{path}: not an ipucc package (it does not begin with the package mark); hint: packages are written by `ipucc build`"
    )]
    Foreign {
        /// The file.
        path: String,
    },
    /// A package of another format version.
    #[error(
        "{path}: package format {found}, this ipucc reads format {FORMAT_VERSION}; hint: build the model again"
    )]
    Version {
        /// The file.
        path: String,
        /// Its version.
        found: u32,
    },
    /// Shorter or longer than its header says.
    #[error(
        "{path}: {found} bytes of content where the header promises {expected}: the file was cut off or appended to; hint: copy or build it again"
    )]
    Length {
        /// The file.
        path: String,
        /// Bytes promised.
        expected: u64,
        /// Bytes there.
        found: u64,
    },
    /// The content is not what was written.
    #[error(
        "{path}: checksum mismatch: the file was altered after it was written; hint: copy or build it again"
    )]
    Checksum {
        /// The file.
        path: String,
    },
    /// The content carries the right checksum but makes no sense.
    #[error("{path}: invalid package: {reason}")]
    Invalid {
        /// The file.
        path: String,
        /// What is wrong.
        reason: String,
    },
}

fn checksum(version: u32, payload: &[u8]) -> [u8; 32] {
    let mut hasher = blake3::Hasher::new();
    hasher.update(&version.to_le_bytes());
    hasher.update(&(payload.len() as u64).to_le_bytes());
    hasher.update(payload);
    *hasher.finalize().as_bytes()
}

/// The bytes of a package file.
///
/// # Errors
/// Only if the package cannot be serialised, with the reason.
pub fn to_bytes(package: &Package) -> Result<Vec<u8>, String> {
    let payload = postcard::to_stdvec(package).map_err(|error| error.to_string())?;
    let mut bytes = Vec::with_capacity(HEADER_BYTES + payload.len());
    bytes.extend_from_slice(MAGIC);
    bytes.extend_from_slice(&FORMAT_VERSION.to_le_bytes());
    bytes.extend_from_slice(&(payload.len() as u64).to_le_bytes());
    bytes.extend_from_slice(&checksum(FORMAT_VERSION, &payload));
    bytes.extend_from_slice(&payload);
    Ok(bytes)
}

/// Reads a package from the bytes of a file called `path` in messages.
///
/// # Errors
/// [`FileError`] says why the bytes are refused.
pub fn from_bytes(path: &str, bytes: &[u8]) -> Result<Package, FileError> {
    let path = || path.to_owned();
    let field = |at: usize, len: usize| bytes.get(at..at + len);
    match field(0, MAGIC.len()) {
        Some(mark) if mark == MAGIC => {}
        _ => return Err(FileError::Foreign { path: path() }),
    }
    let short = |expected: u64| FileError::Length {
        path: path(),
        expected,
        found: (bytes.len() as u64).saturating_sub(HEADER_BYTES as u64),
    };
    let (Some(version), Some(length), Some(sum)) = (field(8, 4), field(12, 8), field(20, 32))
    else {
        return Err(short(0));
    };
    let version = u32::from_le_bytes(version.try_into().unwrap_or_default());
    if version != FORMAT_VERSION {
        return Err(FileError::Version {
            path: path(),
            found: version,
        });
    }
    let length = u64::from_le_bytes(length.try_into().unwrap_or_default());
    let payload = &bytes[HEADER_BYTES..];
    if payload.len() as u64 != length {
        return Err(short(length));
    }
    if checksum(version, payload) != sum {
        return Err(FileError::Checksum { path: path() });
    }
    let invalid = |reason: String| FileError::Invalid {
        path: path(),
        reason,
    };
    let package: Package =
        postcard::from_bytes(payload).map_err(|error| invalid(error.to_string()))?;
    crate::validate::validate(&package).map_err(invalid)?;
    Ok(package)
}

/// Writes a package file atomically: the file is either the old one or complete.
///
/// # Errors
/// [`FileError::Io`] or [`FileError::Invalid`].
pub fn write(path: &Path, package: &Package) -> Result<(), FileError> {
    let name = path.display().to_string();
    let bytes = to_bytes(package).map_err(|reason| FileError::Invalid {
        path: name.clone(),
        reason,
    })?;
    write_atomically(path, &bytes).map_err(|error| FileError::Io { path: name, error })
}

/// Reads a package file.
///
/// # Errors
/// [`FileError`] says why the file is refused.
pub fn read(path: &Path) -> Result<Package, FileError> {
    let name = path.display().to_string();
    let bytes = std::fs::read(path).map_err(|error| FileError::Io {
        path: name.clone(),
        error,
    })?;
    from_bytes(&name, &bytes)
}

/// Writes a file through a temporary one beside it and a rename.
///
/// # Errors
/// What the system said.
pub fn write_atomically(path: &Path, bytes: &[u8]) -> io::Result<()> {
    write_with(path, |out| out.write_all(bytes))
}

/// As [`write_atomically`], for what is too long to hold: `write` gets the open file. A link is
/// followed; a device or pipe, which no file may replace, is written directly.
///
/// # Errors
/// What the system said, or `write`.
pub fn write_with(
    path: &Path,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    let whole = |file: &std::fs::File| {
        let mut out = io::BufWriter::new(file);
        write(&mut out)?;
        out.flush()
    };
    if std::fs::metadata(path).is_ok_and(|found| !found.is_file() && !found.is_dir()) {
        return whole(&std::fs::File::options().write(true).open(path)?);
    }
    let target = match std::fs::symlink_metadata(path) {
        Ok(found) if found.is_symlink() => std::fs::canonicalize(path)?,
        _ => path.to_path_buf(),
    };
    let folder = match target.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    if !folder.is_dir() {
        let reason = format!("there is no folder {}", folder.display());
        return Err(io::Error::new(io::ErrorKind::NotFound, reason));
    }
    let mut builder = tempfile::Builder::new();
    builder.prefix(".ipucc-");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        // The umask applies, as it does to any other file.
        builder.permissions(std::fs::Permissions::from_mode(0o666));
    }
    // The name of the temporary file, which the error holds, means nothing to the user.
    let file = builder.tempfile_in(folder).map_err(|error| {
        let reason = format!("no file can be made in its folder: {}", error.kind());
        io::Error::new(error.kind(), reason)
    })?;
    whole(file.as_file())?;
    file.as_file().sync_all()?;
    file.persist(&target)
        .map(|_| ())
        .map_err(|error| error.error)
}
