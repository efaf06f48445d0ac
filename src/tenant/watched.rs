//! What a watchdog sees of a tenant: since when it waits for its device, and for which frame.
//!
//! A thread that sleeps in the driver until the device is done cannot be called back, so somebody else has to look.

use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::record::FrameRecord;
use crate::units::{Nanos, Stamp};

/// Shared by a tenant's finishing thread and the watchdog; nobody else takes its lock.
#[derive(Debug)]
pub struct Watched {
    /// Stamp of the wait's begin; [`NOT_WAITING`] otherwise.
    since: AtomicI64,
    frame: Mutex<Option<FrameRecord>>,
}

const NOT_WAITING: i64 = i64::MIN;

impl Default for Watched {
    fn default() -> Self {
        Watched {
            since: AtomicI64::new(NOT_WAITING),
            frame: Mutex::new(None),
        }
    }
}

impl Watched {
    /// The tenant waits for this frame from now on.
    pub fn wait(&self, now: Stamp, frame: &FrameRecord) {
        *self.frame.lock().unwrap_or_else(PoisonError::into_inner) = Some(*frame);
        self.since.store(now.0, Ordering::Release);
    }

    /// It waits no longer.
    pub fn done(&self) {
        self.since.store(NOT_WAITING, Ordering::Release);
    }

    /// The frame that it has waited for longer than `limit`, if there is one.
    pub fn overdue(&self, now: Stamp, limit: Nanos) -> Option<FrameRecord> {
        let since = self.since.load(Ordering::Acquire);
        if since == NOT_WAITING || now - Stamp(since) <= limit {
            return None;
        }
        *self.frame.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
