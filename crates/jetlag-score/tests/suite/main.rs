//! Scores against other people's evaluators, and against geometry.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod bootstrap;
mod coco;
mod files;
mod kitti;
mod made;
mod nuscenes;
mod overlap;
mod stream;
