//! What needs files: made-up datasets in temporary folders, the real ones beside the repository, and the datasets' own readers in
//! Python.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod independent;
mod kitti;
mod made;
mod made_kitti;
mod malformed;
mod multisweep;
mod real;
mod selection;
mod truth;
