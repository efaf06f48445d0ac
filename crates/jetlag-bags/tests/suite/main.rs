//! Bags of others, bags written here, and bags that are damaged. One program, since each links everything.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod bags;
mod copies;
mod damaged;
mod databases;
mod expected;
mod python;
mod reading;
mod small;
