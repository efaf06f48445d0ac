//! A model as a file: eight bytes that say which kind, the format's version, a checksum, then the compressed body.

use jetlag_record::whole;
use std::path::Path;

use jetlag_record::files;
use jetlag_record::units::Bytes;
use miniz_oxide::deflate::compress_to_vec;
use miniz_oxide::inflate::decompress_to_vec_with_limit;

use crate::bytes::{Reader, Writer};
use crate::error::ModelError;

/// Which kind of model a file holds.
pub(crate) struct Kind {
    pub(crate) magic: &'static [u8; 8],
    /// Of what the body means: a model of another version would answer from other terms than it was fitted on.
    pub(crate) version: u32,
}

/// Larger files are no models.
const LARGEST: Bytes = Bytes(64 << 20);
/// And none unpacks to more.
const UNPACKED: usize = 256 << 20;

/// The bytes of a file with this body.
pub(crate) fn seal(kind: &Kind, body: &Writer) -> Vec<u8> {
    let packed = compress_to_vec(&body.0, 6);
    let mut all = kind.magic.to_vec();
    all.extend(kind.version.to_le_bytes());
    all.extend(blake3::hash(&packed).as_bytes());
    all.extend(packed);
    all
}

/// The body of a file.
///
/// # Errors
/// Another kind of file, another version, or a damaged one.
pub(crate) fn open(kind: &Kind, bytes: &[u8]) -> Result<Vec<u8>, ModelError> {
    let damaged = |what| ModelError::Damaged { what };
    let mut reader = Reader(bytes.strip_prefix(kind.magic).ok_or(ModelError::Magic)?);
    let found = reader.u32()?;
    if found != kind.version {
        return Err(ModelError::Version {
            found,
            wanted: kind.version,
        });
    }
    let checksum = reader.take(blake3::OUT_LEN)?;
    if blake3::hash(reader.0).as_bytes() != checksum {
        return Err(damaged("its checksum does not hold"));
    }
    decompress_to_vec_with_limit(reader.0, UNPACKED).map_err(|_| damaged("it cannot be unpacked"))
}

/// Writes a file.
pub(crate) fn save(path: &Path, bytes: &[u8]) -> Result<(), ModelError> {
    whole::write(path, bytes, true).map_err(|source| ModelError::File {
        path: path.to_owned(),
        source,
    })
}

/// Reads a file, which must be a regular one and not too large.
pub(crate) fn load(path: &Path) -> Result<Vec<u8>, ModelError> {
    files::read(path, LARGEST).map_err(|source| ModelError::File {
        path: path.to_owned(),
        source,
    })
}
