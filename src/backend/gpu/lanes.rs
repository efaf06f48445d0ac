//! The streams of one tenant: one for everything, or one a direction, so that the copies of one frame overlap the
//! execution of another.

use std::sync::Arc;

use crate::gpu::Stream;

/// Where a tenant's copies in, its execution and its copies out are enqueued. They may be one stream.
#[derive(Clone, Debug)]
pub struct Lanes {
    /// Copies to the device.
    pub h2d: Arc<Stream>,
    /// Execution.
    pub compute: Arc<Stream>,
    /// Copies from the device.
    pub d2h: Arc<Stream>,
    /// Where graphs are captured: what anybody else enqueues on a capturing stream would be captured too, so it is the
    /// tenant's own, and within the same part of the device.
    pub capture: Arc<Stream>,
}

impl Lanes {
    /// One stream for everything.
    pub fn one(stream: Arc<Stream>, capture: Arc<Stream>) -> Self {
        Lanes {
            h2d: Arc::clone(&stream),
            d2h: Arc::clone(&stream),
            compute: stream,
            capture,
        }
    }

    /// Whether everything is done in one order.
    pub fn is_one(&self) -> bool {
        Arc::ptr_eq(&self.h2d, &self.compute) && Arc::ptr_eq(&self.compute, &self.d2h)
    }
}
