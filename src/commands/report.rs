//! `jetlag report FILE`: the summary of a run file, for people or for programs.
//!
//! ```text
//! $ jetlag report runs/two-detectors-20260101T120000.mcap
//! two-detectors  VALID  no finding limits these numbers
//! 70.0 s measured; response time counts from release
//! …
//! ```
//!
//! `jetlag run` ends in the same two functions, so that a run and its report can never disagree.

use std::path::Path;

use anyhow::Context;

use super::{Outcome, print};
use crate::analysis::{Summarizer, Summary};
use crate::cli::Format;
use crate::record::reader::{Completeness, RunReader};
use crate::report::{self, Style};
use crate::units::Bytes;

/// Prints the summary of a run file; the outcome tells what the exit code must.
pub fn run(path: &Path, format: Format) -> anyhow::Result<Outcome> {
    let summary = summarize_file(path)?;
    let mut out = Vec::new();
    match format {
        Format::Text => report::text::write(&summary, &mut out, &style())?,
        Format::Json => report::json::write(&summary, &mut out)?,
    }
    print(&String::from_utf8(out)?);
    Ok(outcome(&summary))
}

/// Prints what the manifest of a run file says, and its summary below.
pub fn inspect(path: &Path, format: Format) -> anyhow::Result<Outcome> {
    if format == Format::Json {
        let manifest = open(path)?.manifest().clone();
        let summary = summarize_file(path)?;
        let value = serde_json::json!({ "kind": "run", "manifest": manifest, "summary": summary });
        print(&(serde_json::to_string_pretty(&value)? + "\n"));
        return Ok(Outcome::Done);
    }
    let mut out = Vec::new();
    report::manifest::write(open(path)?.manifest(), &mut out, &style())?;
    report::text::write(&summarize_file(path)?, &mut out, &style())?;
    print(&String::from_utf8(out)?);
    Ok(Outcome::Done)
}

/// The summary of a run file, as far as the file goes: what was recorded before a cut or a damage counts,
/// and a finding says that there was one.
pub fn summarize_file(path: &Path) -> anyhow::Result<Summary> {
    let mut reader = open(path)?;
    let mut summarizer = Summarizer::new(reader.manifest());
    let mut damage = None;
    for event in &mut reader {
        match event {
            Ok(event) => summarizer.push(&event),
            Err(error) => damage = Some(error.to_string()),
        }
    }
    let incomplete = damage.or_else(|| cut_short(&reader.completeness()));
    let mut summary = summarizer.finish(incomplete);
    summary.run.file = Some(path.display().to_string());
    Ok(summary)
}

fn open(path: &Path) -> anyhow::Result<RunReader> {
    RunReader::open(path).context("no summary can be made")
}

/// What there was of a file that was cut short, in a sentence.
fn cut_short(completeness: &Completeness) -> Option<String> {
    match *completeness {
        Completeness::Whole => None,
        Completeness::Truncated {
            bytes_read,
            bytes_total,
            ..
        } => Some(format!(
            "The run file ends in the middle: {} of {} could be read.",
            Bytes(bytes_read),
            Bytes(bytes_total)
        )),
    }
}

fn outcome(summary: &Summary) -> Outcome {
    if !summary.expectations_hold() {
        Outcome::ExpectationBroken
    } else if summary.has_gaps() {
        Outcome::Gaps
    } else {
        Outcome::Done
    }
}

/// As wide as the terminal, and coloured if it is one and nobody has asked for none (NO_COLOR).
fn style() -> Style {
    let terminal = comfy_table::Table::new();
    let refused = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty())
        || std::env::var_os("TERM").is_some_and(|term| term == "dumb");
    let plain = Style::default();
    Style {
        colour: terminal.is_tty() && !refused,
        width: terminal.width().unwrap_or(plain.width),
    }
}
