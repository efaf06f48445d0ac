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

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use super::*;

    /// What is told of so many failures in a row, and whether there was a point in going on after the last.
    fn told_of(number: u32) -> (Vec<String>, bool) {
        let (notes, events) = channel();
        let mut failures = Failures::new();
        for _ in 0..number {
            failures.one(&notes, Stamp(7), "camera", &"no luck");
        }
        let hopeless = failures.hopeless();
        failures.close(&notes, Stamp(8), "camera");
        drop(notes);
        let message = |event| match event {
            Event::Log(log) => log.message,
            other => panic!("{other:?}"),
        };
        (events.iter().map(message).collect(), hopeless)
    }

    #[test]
    fn three_failures_are_told_one_by_one_and_of_more_their_number() {
        let one = "tenant camera: no luck";
        assert_eq!(told_of(0).0, [""; 0]);
        assert_eq!(told_of(3).0, [one; 3]);
        assert_eq!(
            told_of(5).0,
            [one, one, one, "tenant camera: 2 more frames failed"]
        );
    }

    #[test]
    fn ten_failures_in_a_row_are_too_many() {
        assert!(!told_of(GIVE_UP_AFTER - 1).1);
        let (told, hopeless) = told_of(GIVE_UP_AFTER);
        assert!(hopeless);
        assert_eq!(
            told[3..],
            [
                "tenant camera: too many failures in a row; the tenant stops",
                "tenant camera: 7 more frames failed"
            ]
        );
    }

    #[test]
    fn a_frame_that_comes_through_between_failures_is_hope() {
        let (notes, _events) = channel();
        let mut failures = Failures::new();
        for _ in 0..GIVE_UP_AFTER {
            failures.one(&notes, Stamp(7), "camera", &"no luck");
            failures.none();
        }
        assert!(!failures.hopeless());
    }
}
