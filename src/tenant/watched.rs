//! What a watchdog sees of a tenant: since when it waits for its device, and for which frame.
//!
//! A thread that sleeps in the driver until the device is done cannot be called back, so somebody else has to look. Most
//! backends wait where the result is asked for, some in the submission as well.

use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::record::FrameRecord;
use crate::units::{Nanos, Stamp};

/// Shared by a tenant's threads and the watchdog.
#[derive(Debug, Default)]
pub struct Watched {
    /// The wait for the submission of a frame.
    pub submission: Wait,
    /// The wait for the result of a frame.
    pub result: Wait,
}

/// One thread's waiting; beside it only the watchdog takes its lock.
#[derive(Debug)]
pub struct Wait {
    /// Stamp of the wait's begin; [`NOT_WAITING`] otherwise.
    since: AtomicI64,
    frame: Mutex<Option<FrameRecord>>,
}

const NOT_WAITING: i64 = i64::MIN;

impl Default for Wait {
    fn default() -> Self {
        Wait {
            since: AtomicI64::new(NOT_WAITING),
            frame: Mutex::new(None),
        }
    }
}

/// For as long as a tenant waits, also if that ends in a panic.
#[must_use = "the wait ends when this is dropped"]
pub struct Waiting<'a>(&'a Wait);

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.since.store(NOT_WAITING, Ordering::Release);
    }
}

impl Wait {
    /// The tenant waits for this frame from now on.
    pub fn begin(&self, now: Stamp, frame: &FrameRecord) -> Waiting<'_> {
        *self.frame.lock().unwrap_or_else(PoisonError::into_inner) = Some(*frame);
        self.since.store(now.0, Ordering::Release);
        Waiting(self)
    }

    fn overdue(&self, now: Stamp, limit: Nanos) -> Option<FrameRecord> {
        let since = self.since.load(Ordering::Acquire);
        if since == NOT_WAITING || now - Stamp(since) <= limit {
            return None;
        }
        *self.frame.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Watched {
    /// The frame that it has waited for longer than `limit`, if there is one.
    pub fn overdue(&self, now: Stamp, limit: Nanos) -> Option<FrameRecord> {
        let result = self.result.overdue(now, limit);
        result.or_else(|| self.submission.overdue(now, limit))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(sequence: u64) -> FrameRecord {
        FrameRecord {
            sequence,
            source_index: sequence,
            ..FrameRecord::completed(Stamp(0), Stamp(0))
        }
    }

    #[test]
    fn a_submission_that_does_not_return_is_seen_as_a_result_that_does_not_come() {
        let watched = Watched::default();
        let limit = Nanos::from_millis(10);
        let (soon, late) = (Stamp(9_000_000), Stamp(11_000_000));
        let overdue = |now| watched.overdue(now, limit).map(|frame| frame.sequence);
        let result = watched.result.begin(Stamp(5_000_000), &frame(1));
        let submission = watched.submission.begin(Stamp(0), &frame(2));
        assert_eq!((overdue(soon), overdue(late)), (None, Some(2)));
        assert_eq!(overdue(Stamp(10_000_000)), None, "not longer than the limit");
        drop(submission);
        assert_eq!(overdue(late), None);
        assert_eq!(overdue(Stamp(16_000_000)), Some(1));
        drop(result);
        assert_eq!(overdue(Stamp(16_000_000)), None);
    }

    #[test]
    fn a_wait_that_panics_is_over() {
        let watched = Watched::default();
        let panicking = std::panic::AssertUnwindSafe(|| {
            let _waiting = watched.result.begin(Stamp(0), &frame(1));
            panic!("a mistake of ours");
        });
        assert!(std::panic::catch_unwind(panicking).is_err());
        assert_eq!(watched.overdue(Stamp(i64::MAX), Nanos::ZERO), None);
    }
}
