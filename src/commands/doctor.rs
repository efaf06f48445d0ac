//! `jetlag doctor`: what was found on this machine, what that means, and how to mend what is missing.
//!
//! Looks at files, and asks NVIDIA's library what it answers; starts nothing, changes nothing, and needs no
//! rights. The exit code is 1 where something is missing that limits what can be measured.

use super::{Outcome, print};
use crate::board::{self, Roots, Status};
use crate::cli::Format;
use crate::{report, telemetry};

/// Examines this machine and prints the answer.
pub fn run(format: Format) -> anyhow::Result<Outcome> {
    let roots = Roots::system();
    let mut checks = board::examine(&roots);
    checks.extend(telemetry::examine(&roots));
    let mut out = Vec::new();
    match format {
        Format::Text => report::doctor::text(&checks, &mut out)?,
        Format::Json => report::doctor::json(&checks, &mut out)?,
    }
    print(&String::from_utf8(out)?);
    let gap = checks.iter().any(|check| check.status == Status::Gap);
    Ok(if gap { Outcome::Failed } else { Outcome::Done })
}
