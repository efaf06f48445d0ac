//! `jetlag doctor`: what was found on this machine, what that means, and how to mend what is missing.
//!
//! Looks only at files; starts nothing, changes nothing, and needs no rights. A gap is no failure: the
//! exit code says whether the answer could be given.

use std::io::Write;

use anyhow::Context;

use crate::board::{self, Roots};
use crate::cli::Format;
use crate::report;

/// Examines this machine and writes the answer to standard output.
pub fn run(format: Format) -> anyhow::Result<()> {
    let checks = board::examine(&Roots::system());
    let mut out = std::io::stdout().lock();
    match format {
        Format::Text => report::doctor::text(&checks, &mut out),
        Format::Json => report::doctor::json(&checks, &mut out),
    }
    .and_then(|()| out.flush())
    .context("cannot write the examination to standard output")
}
