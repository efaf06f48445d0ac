//! What a journal has lines of.

use std::collections::BTreeMap;

use jetlag_record::Failure;
use serde::{Deserialize, Serialize};

use crate::figures::{Column, Estimate, Figures};
use crate::plan::{Plan, Setting};

/// Version of the journal's form.
pub const FORMAT: u32 = 1;

/// A line of a journal.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Entry {
    /// What is to be run; comes first, and again where a sweep went on with a changed file.
    Sweep(Header),
    /// Names of figures, which runs refer to.
    Columns {
        /// What it is referred to by.
        id: u32,
        /// In the order of a run's figures.
        columns: Vec<Column>,
    },
    /// A run that is finished, well or not.
    Run(RunEntry),
}

/// What is to be run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Header {
    /// Version of the journal's form.
    pub format: u32,
    /// Version of jetlag.
    pub jetlag: String,
    /// The base as it was named.
    pub base: String,
    /// Hash of the base's text.
    pub base_hash: String,
    /// The points and their order; empty of axes for a search.
    pub plan: Plan,
    /// Hash of each file that is a value of an axis, by its name.
    #[serde(default)]
    pub files: BTreeMap<String, String>,
    /// Time that a run may take, in seconds.
    #[serde(default)]
    pub limit_s: Option<f64>,
    /// The search, where it is one.
    #[serde(default)]
    pub knee: Option<KneeHeader>,
}

/// A search along one axis.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct KneeHeader {
    /// The path that is set.
    pub path: String,
    /// The values that may be tried, from the lowest.
    pub values: Vec<f64>,
    /// The promises, as `expect` has them.
    pub promises: Vec<String>,
    /// Runs of a value that is close, at most.
    pub repeats: u32,
    /// Runs altogether, at most.
    pub most_runs: u32,
}

/// A finished run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunEntry {
    /// The point's id.
    pub point: String,
    /// What it sets.
    pub settings: Vec<Setting>,
    /// Which of its runs, from 0.
    pub repeat: u32,
    /// What it was run with.
    pub seed: Option<u64>,
    /// When it began, in seconds of Unix time.
    pub began_unix_s: f64,
    /// How long it took, with what came before it.
    pub took_s: f64,
    /// The run file, relative to the folder; none where there is none.
    pub file: Option<String>,
    /// How it failed, where it did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed: Option<Failure>,
    /// Codes of what limits its figures.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<String>,
    /// Hash of each network that it loaded, by tenant.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub networks: BTreeMap<String, String>,
    /// The entry with the names of its figures.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub columns: Option<u32>,
    /// In the order of those names.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub figures: Vec<Estimate>,
}

impl RunEntry {
    /// Takes the names out of figures, for [`columns`](Self::columns) to refer to.
    pub fn split(figures: Figures) -> (Vec<Column>, Vec<Estimate>) {
        figures.into_iter().unzip()
    }
}
