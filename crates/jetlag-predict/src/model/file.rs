//! A model as a file: facts as JSON, then the trees of each member.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::member::Member;
use super::{Facts, Model, TargetModel};
use crate::base::Base;
use crate::bytes::{Reader, Writer};
use crate::error::ModelError;
use crate::sealed::{self, Kind};
use crate::trees::Forest;

#[cfg(test)]
mod tests;

/// Version 3 has a set of features for each target, and what left-out networks showed.
const KIND: Kind = Kind {
    magic: b"jetlagPM",
    version: 3,
};

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
        sealed::seal(&KIND, &body)
    }

    /// Reads the bytes of a model file.
    ///
    /// # Errors
    /// Something else, another version, or a damaged file.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, ModelError> {
        let damaged = |what| ModelError::Damaged { what };
        let body = sealed::open(&KIND, bytes)?;
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
            let is_sound = model.known.is_sound() && model.modes.is_sound();
            if model.members.is_empty() || !is_sound || !model.trust.is_sound(model.features) {
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
        sealed::save(path, &self.to_bytes())
    }

    /// Reads a model file.
    ///
    /// # Errors
    /// It cannot be read, is no regular file or larger than 64 MiB; those of [`Model::from_bytes`].
    pub fn load(path: &Path) -> Result<Self, ModelError> {
        Self::from_bytes(&sealed::load(path)?)
    }
}
