//! A part of an application, as its recording is told of it.

use std::time::Duration;

use jetlag_record::units::Nanos;

/// A part of an application that is reported by itself.
#[derive(Clone, Debug, PartialEq)]
pub struct Tenant {
    pub(super) name: String,
    pub(super) deadline: Option<Nanos>,
    pub(super) warmup: u64,
    pub(super) hz: Option<f64>,
}

impl Tenant {
    /// Without deadline and warm-up.
    pub fn new(name: &str) -> Self {
        Tenant {
            name: name.to_owned(),
            deadline: None,
            warmup: 0,
            hz: None,
        }
    }

    /// Its batches come at this rate, and are begun with [`Track::batch_due`](super::Track::batch_due); else it is called a closed loop.
    pub fn paced(mut self, hz: f64) -> Self {
        self.hz = Some(hz);
        self
    }

    /// Batches that take longer than this are missed.
    pub fn deadline(mut self, deadline: Duration) -> Self {
        self.deadline = Some(Nanos(i64::try_from(deadline.as_nanos()).unwrap_or(i64::MAX)));
        self
    }

    /// The first `batches` are recorded and in no figure.
    pub fn warmup(mut self, batches: u64) -> Self {
        self.warmup = batches;
        self
    }
}
