//! Reading what a run is to do: from the RON as typed to the scenario as meant, every default filled in.
//!
//! [`load`] has the RON read into a tree that knows where each value was written (`written`), puts `--set`
//! overrides into it (`set`), reads the tree into the scenario as typed (`file`), and
//! turns that into the [`Scenario`] of the run record (`resolve`, `tenant`), reporting all [`Problems`] at once. [`ron()`] writes one
//! back.

mod choices;
mod copies;
mod environment;
mod file;
mod fusion;
pub(crate) mod made;
mod recorded;
mod resolve;
mod ron;
mod rules;
mod set;
mod shared;
mod steps;
mod stored;
mod tenant;
mod video;

use crate::units::Bytes;
use crate::written::Format;

pub use crate::record::scenario::*;
pub use crate::written::{Place, Problem, ProblemKind, Problems};
pub use choices::{graphs, sharings, transfers};
pub use environment::{CheckExpectation, ResolveEnv};
pub use resolve::{from_str, is_name, load};
pub use ron::ron;
pub(crate) use steps::FEWER;

/// A scenario is a page or two.
const FORMAT: Format = Format {
    what: "scenario",
    longest: Bytes(1 << 20),
    begins: "Scenario(tenants: [Tenant(name: \"…\", …)])",
};
