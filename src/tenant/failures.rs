//! Counts a tenant's failures, and says of them no more than a person wants to read.

use std::sync::mpsc::Sender;

use crate::record::{Event, LogRecord};
use crate::units::Stamp;

/// A tenant that fails this often in a row will not recover.
pub(super) const GIVE_UP_AFTER: u32 = 10;
/// Failures of one phase that are told one by one.
const TOLD: u32 = 3;

/// The failures of one half of a tenant's pipeline, in one phase.
pub(super) struct Failures {
    in_a_row: u32,
    total: u32,
}

impl Failures {
    pub(super) fn new() -> Self {
        Failures {
            in_a_row: 0,
            total: 0,
        }
    }
    /// A frame came through.
    pub(super) fn none(&mut self) {
        self.in_a_row = 0;
    }
    /// Counts a failed frame and notes it, up to a limit.
    pub(super) fn one(
        &mut self,
        notes: &Sender<Event>,
        at: Stamp,
        tenant: &str,
        problem: &dyn std::fmt::Display,
    ) {
        self.in_a_row += 1;
        self.total += 1;
        if self.total <= TOLD {
            note(notes, at, tenant, &problem.to_string());
        }
        if self.in_a_row == GIVE_UP_AFTER {
            note(notes, at, tenant, "too many failures in a row; the tenant stops");
        }
    }
    /// Whether there is no point in going on.
    pub(super) fn hopeless(&self) -> bool {
        self.in_a_row >= GIVE_UP_AFTER
    }
    /// At the end of the phase: how many were not told.
    pub(super) fn close(&mut self, notes: &Sender<Event>, at: Stamp, tenant: &str) {
        if self.total > TOLD {
            note(
                notes,
                at,
                tenant,
                &format!("{} more frames failed", self.total - TOLD),
            );
        }
        self.total = 0;
    }
}

/// Puts a line about a tenant into the program's log and into the run's.
pub(crate) fn note(notes: &Sender<Event>, at: Stamp, tenant: &str, problem: &str) {
    let message = format!("tenant {tenant}: {problem}");
    log::warn!("{message}");
    // The recorder may have stopped already; then the log line above is all there is.
    let _ = notes.send(Event::Log(LogRecord {
        at,
        level: "warn".to_owned(),
        message,
    }));
}
