//! `jetlag doctor`: what was found on this machine, what that means, and how to mend what is missing.
//!
//! Looks only at files; starts nothing, changes nothing, and needs no rights. A gap is no failure: the
//! exit code says whether the answer could be given.

use super::{Outcome, print};
use crate::board::{self, Roots};
use crate::cli::Format;
use crate::report;

/// Examines this machine and prints the answer.
pub fn run(format: Format) -> anyhow::Result<Outcome> {
    let checks = board::examine(&Roots::system());
    let mut out = Vec::new();
    match format {
        Format::Text => report::doctor::text(&checks, &mut out)?,
        Format::Json => report::doctor::json(&checks, &mut out)?,
    }
    print(&String::from_utf8(out)?);
    Ok(Outcome::Done)
}
