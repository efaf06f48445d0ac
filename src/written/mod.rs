//! What users write: RON files, read with the place of every value, all mistakes told at once.
//!
//! Scenarios and detector specs are read so, and told of in the same words. `tree` makes values at positions of a text,
//! `read` typed values of those; `rules` are what the values must hold together, and
//! `problems` has the sentences; `kind` tells what a file is. Which fields there are, and what they mean, is said where they belong: in `scenario/` and
//! `detector/`.

mod format;
mod kind;
mod problems;
mod read;
mod rules;
mod tree;

pub(crate) use crate::record::field::words;
pub(crate) use format::Format;
pub(crate) use kind::root_name;
pub use problems::{Place, Problem, ProblemKind, Problems};
pub(crate) use problems::{Spot, shown};
pub(crate) use read::{Choices, Fields, Read, Reader, choice, one_of, plain};
pub(crate) use rules::Rules;
pub(crate) use tree::{Call, Field, Kind, Node, parse, parse_value};
