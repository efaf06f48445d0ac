//! The integration tests, in one program: each program links all of jetlag and everything below it. A part is run by its name:
//! `cargo test --features full --test suite gpu::in_flight`. What needs a program of its own has one: `no_allocation`, which counts
//! what the whole program allocates, `features`, which is built with every set of them, and `nvtx`, whose feature takes libclang.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

#[allow(dead_code, unreachable_pub, reason = "with fewer features fewer tests use it")]
mod common;

#[cfg(all(feature = "cpu", feature = "models", feature = "recordings"))]
mod annotate;
#[cfg(feature = "cpu")]
mod batches;
#[cfg(feature = "cpu")]
mod camera_models;
#[cfg(feature = "cpu")]
mod check;
#[cfg(feature = "cpu")]
mod cli;
mod clocks;
mod compare;
#[cfg(feature = "recordings")]
mod contexts;
mod counters;
#[cfg(feature = "gpu")]
mod cuda_double_itself;
#[cfg(all(feature = "cpu", feature = "recordings"))]
mod data_out;
#[cfg(feature = "cpu")]
mod demo_networks;
#[cfg(feature = "cpu")]
mod deploy;
mod detector_docs;
mod detectors;
mod doctor;
#[cfg(feature = "cpu")]
mod documented;
#[cfg(feature = "cpu")]
mod engines;
#[cfg(all(feature = "cpu", feature = "models", feature = "recordings"))]
mod fusion;
#[cfg(all(feature = "cpu", feature = "gpu"))]
mod gpu;
#[cfg(feature = "cpu")]
mod graph_models;
#[cfg(all(feature = "cpu", feature = "gpu"))]
mod hardening;
#[cfg(feature = "cpu")]
mod heads;
mod house;
#[cfg(feature = "cpu")]
mod init;
mod kitti;
#[cfg(feature = "cpu")]
mod lidar_models;
#[cfg(feature = "gpu")]
mod loaded_plans;
#[cfg(feature = "cpu")]
mod memory;
#[cfg(feature = "models")]
mod models;
mod monitor;
mod network_facts;
#[cfg(all(feature = "cpu", feature = "onnxruntime"))]
mod onnxruntime;
mod operators;
mod permissions;
mod pipeline;
#[cfg(all(feature = "cpu", feature = "gpu"))]
mod plans;
#[cfg(all(feature = "cpu", feature = "models"))]
mod predict;
#[cfg(all(feature = "cpu", feature = "models", feature = "recordings"))]
mod raw_drive;
#[cfg(all(feature = "cpu", feature = "recordings"))]
mod recordings;
#[cfg(all(feature = "cpu", feature = "models", feature = "recordings"))]
mod reports;
mod roofline;
mod run_file;
mod scenarios;
#[cfg(all(feature = "cpu", feature = "models", feature = "recordings"))]
mod scores;
mod selftest;
mod summary;
mod sweep;
mod terminal;
#[cfg(feature = "trace")]
mod trace;
#[cfg(feature = "models")]
mod variants;
#[cfg(feature = "recordings")]
mod video;
#[cfg(feature = "cpu")]
mod words;
