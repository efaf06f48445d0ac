//! The key of a plan: everything that decides its content, hashed.

use std::path::PathBuf;

use serde::Serialize;

use super::super::manifest::{BuilderIdentity, Target};
use super::super::options::BuildOptions;
use crate::files;

/// Hexadecimal digits of a key.
pub(super) const KEY_DIGITS: usize = 32;

/// Raised when what a key covers changes.
const KEY_VERSION: u32 = 2;

/// What decides a plan's content, hashed.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PlanKey(pub(super) String);

impl PlanKey {
    /// The key of a network (its content's hash, weights in other files included), built with `options` by `builder`
    /// for `target`. Contents of plugin libraries count, not their paths alone.
    pub fn new(
        network_blake3: &str,
        options: &BuildOptions,
        builder: &BuilderIdentity,
        target: &Target,
    ) -> Self {
        #[derive(Serialize)]
        struct Content<'a> {
            version: u32,
            network: &'a str,
            options: &'a BuildOptions,
            builder: &'a BuilderIdentity,
            target: &'a Target,
            plugins: Vec<Option<String>>,
        }
        let hash = |path: &PathBuf| {
            files::read(path, files::NETWORK)
                .ok()
                .map(|bytes| blake3::hash(&bytes).to_hex().to_string())
        };
        let content = Content {
            version: KEY_VERSION,
            network: network_blake3,
            options,
            builder,
            target,
            plugins: options.plugins.iter().map(hash).collect(),
        };
        let json = serde_json::to_vec(&content).expect("numbers, texts and maps of texts are JSON");
        Self(blake3::hash(&json).to_hex()[..KEY_DIGITS].to_owned())
    }

    /// The key as text: 32 hexadecimal digits.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}
