//! The networks of a tenant as the manifest has them.

use super::Obstacle;
use crate::backend::{NetworkSource, Program};
use crate::files;
use crate::record::NetworkManifest;

/// Each network with the hash of its file.
pub(super) fn hashed(program: &Program) -> Result<Vec<NetworkManifest>, Obstacle> {
    program
        .engines
        .iter()
        .map(|network| {
            let (hash, bytes) = match network {
                NetworkSource::File(path) => {
                    let content = files::read(path, files::NETWORK).map_err(|error| {
                        let path = path.clone();
                        Obstacle::Network { path, error }
                    })?;
                    (blake3::hash(&content), content.len())
                }
                NetworkSource::Embedded { bytes, .. } => (blake3::hash(bytes), bytes.len()),
            };
            Ok(NetworkManifest {
                name: network.to_string(),
                blake3: hash.to_hex().to_string(),
                bytes: bytes as u64,
                ..NetworkManifest::default()
            })
        })
        .collect()
}
