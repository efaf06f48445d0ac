//! A model as a file: eight bytes that say so, the format's version, a checksum, then compressed facts (JSON) and trees.

use std::path::Path;

use jetlag_record::files;
use jetlag_record::units::Bytes;
use miniz_oxide::deflate::compress_to_vec;
use miniz_oxide::inflate::decompress_to_vec_with_limit;
use serde::{Deserialize, Serialize};

use super::member::Member;
use super::{Facts, Model, TargetModel};
use crate::base::Base;
use crate::bytes::{Reader, Writer};
use crate::error::ModelError;
use crate::trees::Forest;

#[cfg(test)]
mod tests;

const MAGIC: &[u8; 8] = b"jetlagPM";
const VERSION: u32 = 1;
/// Larger files are no models.
const LARGEST: Bytes = Bytes(64 << 20);
/// And none unpacks to more.
const UNPACKED: usize = 256 << 20;

/// What stands before the trees.
#[derive(Serialize, Deserialize)]
struct Head {
    facts: Facts,
    targets: Vec<TargetModel>,
    /// Bases of each target's members; None of a member without one.
    bases: Vec<Vec<Option<Base>>>,
}

impl Model {
    /// The bytes of a model file.
    pub fn to_bytes(&self) -> Vec<u8> {
        let head = Head {
            facts: self.facts.clone(),
            targets: self.targets.clone(),
            bases: self
                .targets
                .iter()
                .map(|model| model.members.iter().map(|member| member.base.clone()).collect())
                .collect(),
        };
        let mut body = Writer::default();
        // Its maps have names for keys, and its numbers are finite: nothing of it can fail to become JSON.
        body.block(&serde_json::to_vec(&head).unwrap_or_default());
        for member in self.targets.iter().flat_map(|model| &model.members) {
            member.forest.write(&mut body);
        }
        let packed = compress_to_vec(&body.0, 6);
        let mut all = MAGIC.to_vec();
        all.extend(VERSION.to_le_bytes());
        all.extend(blake3::hash(&packed).as_bytes());
        all.extend(packed);
        all
    }

    /// Reads the bytes of a model file.
    ///
    /// # Errors
    /// Something else, another version, or a damaged file.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, ModelError> {
        let damaged = |what| ModelError::Damaged { what };
        let mut reader = Reader(bytes.strip_prefix(MAGIC).ok_or(ModelError::Magic)?);
        let found = reader.u32()?;
        if found != VERSION {
            return Err(ModelError::Version {
                found,
                wanted: VERSION,
            });
        }
        let checksum = reader.take(blake3::OUT_LEN)?;
        if blake3::hash(reader.0).as_bytes() != checksum {
            return Err(damaged("its checksum does not hold"));
        }
        let body =
            decompress_to_vec_with_limit(reader.0, UNPACKED).map_err(|_| damaged("it cannot be unpacked"))?;
        let mut reader = Reader(&body);
        let head: Head = serde_json::from_slice(reader.block()?).map_err(|_| damaged("its facts"))?;
        let Head {
            facts,
            mut targets,
            bases,
        } = head;
        if bases.len() != targets.len() || targets.is_empty() {
            return Err(damaged("its targets"));
        }
        for (model, bases) in targets.iter_mut().zip(bases) {
            for base in bases {
                let member = Member {
                    base,
                    forest: Forest::read(&mut reader)?,
                };
                let is_sound = member.base.as_ref().is_none_or(Base::is_sound);
                if !is_sound || member.width(model.target, model.stage) != member.forest.features() {
                    return Err(damaged("a base and its trees"));
                }
                model.members.push(member);
            }
            if model.members.is_empty() || !model.known.is_sound() || !model.modes.is_sound() {
                return Err(damaged("what a target was fitted on"));
            }
        }
        match reader.0.is_empty() && facts.devices.iter().all(crate::features::Device::is_sound) {
            true => Ok(Self { facts, targets }),
            false => Err(damaged("something follows")),
        }
    }

    /// Writes a model file.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn save(&self, path: &Path) -> Result<(), ModelError> {
        let wrong = |source| ModelError::File {
            path: path.to_owned(),
            source,
        };
        std::fs::write(path, self.to_bytes()).map_err(wrong)
    }

    /// Reads a model file.
    ///
    /// # Errors
    /// It cannot be read, is no regular file or larger than 64 MiB; those of [`Model::from_bytes`].
    pub fn load(path: &Path) -> Result<Self, ModelError> {
        let wrong = |source| ModelError::File {
            path: path.to_owned(),
            source,
        };
        Self::from_bytes(&files::read(path, LARGEST).map_err(wrong)?)
    }
}
