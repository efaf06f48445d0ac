//! Runs in the formats of other programs, one file per format. docs/export.md describes each format and its use.
//!
//! JSON and Markdown are written from the summary, like the text report. Tables and Perfetto traces are written event
//! by event, through [`Export`], so that memory does not grow with the run.

pub mod csv;
pub mod cvcuda;
pub mod energy;
pub mod measured;
#[cfg(feature = "parquet")]
pub mod parquet;
pub mod perfetto;
mod perfetto_proto;
pub mod tables;

use std::borrow::Cow;
use std::io;

use crate::analysis::Summary;
use crate::record::{Event, Manifest, OVERHEAD_TENANT, Outcome, Phase};

/// A format that is written while a run is read.
pub trait Export {
    /// Writes the rows or packets of an event.
    fn event(&mut self, event: &Event) -> io::Result<()>;
    /// Writes what only the whole run tells, after its last event; most formats have no place for it.
    fn summary(&mut self, _: &Summary) -> io::Result<()> {
        Ok(())
    }
    /// Writes the rest; returns the number of files.
    fn finish(&mut self) -> io::Result<usize>;
}

/// Names of the tenants, by their number in the records.
#[derive(Clone, Debug)]
pub(super) struct Names(Vec<String>);

impl Names {
    pub(super) fn new(manifest: &Manifest) -> Self {
        Names(
            manifest
                .tenants
                .iter()
                .map(|tenant| tenant.name.clone())
                .collect(),
        )
    }

    /// `overhead` for the null tenant that measures jetlag's own cost; none for tenants that the manifest does not
    /// list.
    pub(super) fn of(&self, tenant: u16) -> Option<&str> {
        match tenant {
            OVERHEAD_TENANT => Some("overhead"),
            _ => self.0.get(usize::from(tenant)).map(String::as_str),
        }
    }
}

/// `phase-7` for a phase that the run file describes by number.
pub(super) fn phase_name(phase: Phase) -> Cow<'static, str> {
    match phase {
        Phase::Together => "together".into(),
        Phase::Alone => "alone".into(),
        Phase::Overhead => "overhead".into(),
        Phase::Other(number) => format!("phase-{number}").into(),
    }
}

pub(super) fn outcome_name(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Completed => "completed",
        Outcome::Dropped => "dropped",
        Outcome::Failed => "failed",
        Outcome::Unfinished => "unfinished",
    }
}
