//! Reading what a run is to do: from the RON as typed to the scenario as meant, every default filled in.
//!
//! [`load`] reads the RON into a tree that knows where each value was written (`tree`), puts `--set`
//! overrides into it (`set`), reads the tree into the scenario as typed (`file`, by means of `read`), and
//! turns that into the [`Scenario`] of the run record (`resolve`, `tenant`), reporting all [`Problems`] at once.

mod choices;
mod copies;
mod file;
mod gpu;
mod problems;
mod read;
mod resolve;
mod set;
mod steps;
mod stress;
mod tenant;
mod tree;

pub use crate::record::scenario::*;
pub use choices::sharings;
pub use gpu::{graphs, transfers};
pub use problems::{Place, Problem, ProblemKind, Problems};
pub use resolve::{CheckExpectation, ResolveEnv, from_str, is_name, load};
