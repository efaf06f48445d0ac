//! A sweep as a person writes it: which scenario is run with which values, in which order, and what is waited for.
//!
//! ```ron
//! Sweep(
//!     base: "camera.ron", repeats: 3, order: Random(seed: 7), limit: "5min",
//!     axes: [Axis(set: "tenants.camera.arrival.hz", values: [10, 30, 60])],
//! )
//! ```
//!
//! [`load`] reads it, as scenarios are read: all mistakes at once, each with its place. Points and their order are the crate
//! `jetlag-sweep`'s affair; running them is `commands/sweep/`'s.

mod file;
mod files;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use jetlag_sweep::Plan;

use crate::units::{Bytes, Nanos};
use crate::written::Format;

pub use file::load;
pub use files::Pattern;

/// A sweep is a page; one that names its points one by one is longer.
const FORMAT: Format = Format {
    what: "sweep",
    longest: Bytes(16 << 20),
    begins: "Sweep(base: \"scenario.ron\", axes: [Axis(set: \"…\", values: […])])",
};

/// A sweep as meant.
#[derive(Clone, Debug, PartialEq)]
pub struct Sweep {
    /// The scenario's file.
    pub base: PathBuf,
    /// Points and their order.
    pub plan: Plan,
    /// The files that values of axes name: the value as it is set, and the file.
    pub files: BTreeMap<String, PathBuf>,
    /// The patterns that named them.
    pub patterns: BTreeSet<Pattern>,
    /// What is waited for before a run.
    pub cool_down: CoolDown,
    /// How long a run may take.
    pub limit: Option<Nanos>,
}

/// What is waited for before a run.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CoolDown {
    /// Until the hottest sensor is below this, in °C.
    pub below_c: Option<f64>,
    /// But no longer than this.
    pub at_most: Option<Nanos>,
    /// In any case this long.
    pub pause: Option<Nanos>,
}
