//! Scores of detectors, as three benchmarks define them: [`coco`], [`kitti`], [`nuscenes`].
//!
//! Each benchmark takes plain structs: frames, with what is there and what was found. They are checked and matched once; figures
//! can then be made of any multiset of frames ([`Counts`]), which is what [`bootstrap`] does.
//!
//! A detector that answers late answers about a world that has moved on. [`stream`] says at which moments which answer was in
//! force, and [`truth`] what was there then; scoring these moments instead of the frames' own times makes lateness cost accuracy.
//!
//! [`report`] makes a table or JSON of figures, with intervals and with reasons for what is withheld; [`files`] writes results as
//! each benchmark wants them. Nothing here reads a file or a clock.

#![forbid(unsafe_code)]

mod benchmark;
pub mod bootstrap;
pub mod coco;
mod error;
pub mod files;
pub mod iou;
pub mod kitti;
pub mod nuscenes;
pub mod report;
pub mod stream;
pub mod truth;

pub use benchmark::{Benchmark, Counts, Figure};
pub use error::{ScoreError, What};

/// Compiles the README's example.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
