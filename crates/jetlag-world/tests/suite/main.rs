//! What is written of drives, as our own readers and those of others see it: against the drive itself.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod bags;
mod kitti;
mod nuscenes;
mod python;
