//! Campaigns that look for what is lost and what breaks: kills, damaged files, faults while running, long runs. The tests run a
//! little of each; `scripts/hardening/*.sh` run them for as long as is asked, and docs/verified.md says what was seen.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a test fails by panicking, and a campaign prints its table"
)]

use crate::common::boards;
use crate::common::run_bytes;
use crate::common::under_way;
use crate::deploy::board;
use crate::gpu::scene;

mod campaign;
mod damage;
mod damaged_inputs;
mod faults;
mod full_disk;
mod fuzz;
mod hostile;
mod inputs;
mod kill;
mod kill_deploy;
#[cfg(feature = "trace")]
mod kill_trace;
mod promises;
mod soak;
mod tenants;
