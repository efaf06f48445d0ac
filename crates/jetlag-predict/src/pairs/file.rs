//! A model of pairs as a file: facts as JSON, then the trees of each form.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::base::Base;
use super::model::{PairFacts, PairMember, PairModel, width};
use crate::bytes::{Reader, Writer};
use crate::error::ModelError;
use crate::sealed::{self, Kind};
use crate::trees::Forest;

const KIND: Kind = Kind {
    magic: b"jetlagPP",
    version: 1,
};

#[derive(Serialize, Deserialize)]
struct Head {
    facts: PairFacts,
    bases: Vec<Base>,
}

impl PairModel {
    /// The bytes of a model file.
    pub fn to_bytes(&self) -> Vec<u8> {
        let head = Head {
            facts: self.facts.clone(),
            bases: self.members.iter().map(|member| member.base.clone()).collect(),
        };
        let mut body = Writer::default();
        // Its maps have names for keys, and its numbers are finite: nothing of it can fail to become JSON.
        body.block(&serde_json::to_vec(&head).unwrap_or_default());
        for member in &self.members {
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
        let Head { facts, bases } =
            serde_json::from_slice(reader.block()?).map_err(|_| damaged("its facts"))?;
        let loads = facts.loads.len();
        let mut members = Vec::with_capacity(bases.len());
        for base in bases {
            let forest = Forest::read(&mut reader)?;
            if !base.is_sound(loads) || forest.features() != width(loads) {
                return Err(damaged("a base and its trees"));
            }
            members.push(PairMember { base, forest });
        }
        let is_sound = !members.is_empty() && reader.0.is_empty() && facts.is_sound();
        is_sound
            .then_some(Self { facts, members })
            .ok_or(damaged("what it was fitted on"))
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
    /// The file cannot be read, or is no model of pairs.
    pub fn load(path: &Path) -> Result<Self, ModelError> {
        Self::from_bytes(&sealed::load(path)?)
    }
}
