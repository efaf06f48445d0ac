//! The streams of one tenant: one for everything, or one a direction, so that the copies of one frame overlap the
//! execution of another; and who lends them.
//!
//! A device has few hardware queues, and streams beyond them wait for each other. So a tenant has the streams of the way of
//! sharing in force and no others: those of the way before go when its last slot has changed over.

use std::sync::{Arc, Mutex, PoisonError, Weak};

use super::shared::{Claim, SharedGpu};
use crate::gpu::{GpuError, Stream};
use crate::scenario::Sharing;

/// Where a tenant's copies in, its execution and its copies out are enqueued. They may be one stream.
#[derive(Debug)]
pub struct Lanes {
    /// Copies to the device.
    pub h2d: Arc<Stream>,
    /// Execution of the networks.
    pub compute: Arc<Stream>,
    /// Copies from the device.
    pub d2h: Arc<Stream>,
    /// Where graphs are captured, for a tenant that may have some: what anybody else enqueues on a capturing stream would be
    /// captured too, so it is the tenant's own, and within the same part of the device.
    pub capture: Option<Arc<Stream>>,
    /// For branches of a network that run side by side, of the same priority and part of the device as execution.
    pub branches: Vec<Arc<Stream>>,
}

impl Lanes {
    /// Whether everything is done in one order.
    pub fn is_one(&self) -> bool {
        Arc::ptr_eq(&self.h2d, &self.compute) && Arc::ptr_eq(&self.compute, &self.d2h)
    }
}

/// Which streams a tenant needs.
#[derive(Clone, Copy, Debug)]
pub struct Wanted {
    /// Frames in flight: a ring deeper than one has a stream a direction, where the way of sharing allows more than one.
    pub depth: usize,
    /// Whether graphs may be captured.
    pub captures: bool,
    /// Number of additional streams for branches of the work that may run side by side.
    pub branches: usize,
}

/// Lends one tenant its streams.
#[derive(Debug)]
pub struct Lender {
    shared: Arc<SharedGpu>,
    claim: Claim,
    wanted: Wanted,
    /// What somebody still has.
    lent: Mutex<Vec<(Sharing, Weak<Lanes>)>>,
}

impl Lender {
    /// For one tenant of a device.
    pub fn new(shared: &Arc<SharedGpu>, claim: Claim, wanted: Wanted) -> Arc<Self> {
        Arc::new(Lender {
            shared: Arc::clone(shared),
            claim,
            wanted,
            lent: Mutex::default(),
        })
    }

    /// The GPU that the streams belong to.
    pub fn shared(&self) -> &Arc<SharedGpu> {
        &self.shared
    }

    /// The tenant's streams in the first phase of the run.
    ///
    /// # Errors
    /// The driver fails.
    pub fn first(&self) -> Result<Arc<Lanes>, GpuError> {
        let first = self.shared.ways().first().copied();
        self.lanes(first.unwrap_or(Sharing::Streams))
    }

    /// The tenant's streams under a way of sharing: the same for all of its slots, and for ways that lend the same streams.
    ///
    /// # Errors
    /// The driver fails.
    pub fn lanes(&self, way: Sharing) -> Result<Arc<Lanes>, GpuError> {
        let mut lent = self.lent.lock().unwrap_or_else(PoisonError::into_inner);
        lent.retain(|(_, lanes)| lanes.strong_count() > 0);
        let kind = kind(way);
        let known = lent.iter().find(|(known, _)| *known == kind);
        if let Some(lanes) = known.and_then(|(_, lanes)| lanes.upgrade()) {
            return Ok(lanes);
        }
        let lanes = Arc::new(self.make(kind)?);
        lent.push((kind, Arc::downgrade(&lanes)));
        Ok(lanes)
    }

    fn make(&self, way: Sharing) -> Result<Lanes, GpuError> {
        let Wanted {
            depth,
            captures,
            branches,
        } = self.wanted;
        let stream = || self.shared.stream(way, self.claim).map(Arc::new);
        let capture = captures.then(stream).transpose()?;
        let branches = (0..branches).map(|_| stream()).collect::<Result<_, _>>()?;
        let compute = match way {
            Sharing::SingleStream => self.shared.single()?,
            _ => stream()?,
        };
        let has_one = depth <= 1 || way == Sharing::SingleStream;
        let direction = || match has_one {
            true => Ok(Arc::clone(&compute)),
            false => stream(),
        };
        Ok(Lanes {
            h2d: direction()?,
            d2h: direction()?,
            compute,
            capture,
            branches,
        })
    }
}

/// Ways that differ only in whose turn it is lend the same streams.
fn kind(way: Sharing) -> Sharing {
    match way {
        Sharing::Priority | Sharing::Partition | Sharing::SingleStream => way,
        _ => Sharing::Streams,
    }
}
