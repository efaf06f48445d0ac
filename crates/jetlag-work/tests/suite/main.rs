//! The work of networks, held against known answers, reference data and independent programs.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod build;
mod control;
mod errors;
mod independent;
mod layers;
mod networks;
mod operators;
mod pagoda;
mod prune;
mod random;
mod real;
mod shown;
mod traffic;
mod training;
