//! Campaigns that look for what is lost and what breaks: kills, damaged files, faults while running, long runs. The tests run a
//! little of each; `scripts/hardening/*.sh` run them for as long as is asked, and docs/verified.md says what was seen.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a test fails by panicking, and a campaign prints its table"
)]

use common::machine;

#[path = "deploy/board.rs"]
#[allow(dead_code, reason = "shared by test programs")]
mod board;
#[path = "common/boards.rs"]
#[allow(dead_code, reason = "shared by test programs")]
mod boards;
#[path = "hardening/campaign.rs"]
mod campaign;
#[allow(dead_code, reason = "shared by test programs")]
mod common;
#[path = "common/cuda.rs"]
mod cuda;
#[path = "hardening/damage.rs"]
mod damage;
#[path = "hardening/faults.rs"]
mod faults;
#[path = "hardening/fuzz.rs"]
mod fuzz;
#[path = "hardening/inputs.rs"]
mod inputs;
#[path = "hardening/kill.rs"]
mod kill;
#[path = "hardening/kill_deploy.rs"]
mod kill_deploy;
#[path = "hardening/promises.rs"]
mod promises;
#[path = "common/run_bytes.rs"]
mod run_bytes;
#[path = "gpu/scene.rs"]
#[allow(dead_code, reason = "shared by test programs")]
mod scene;
#[path = "hardening/soak.rs"]
mod soak;
#[path = "common/under_way.rs"]
mod under_way;
