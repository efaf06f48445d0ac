//! In the place of `commands/trace.rs`, in a jetlag that was built without it.

use super::outcome::Outcome;
use super::output::say;
use crate::built::LeftOut;
use crate::cli::TraceArgs;

/// Says that it was left out.
pub fn run(_: &TraceArgs) -> u8 {
    say(&format!("error: {}", LeftOut::TRACE));
    Outcome::WrongUse as u8
}
