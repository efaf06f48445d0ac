//! The slot of whatever executes on the processor: it has no device of its own, so `submit` notes the time and `wait`
//! executes, on the waiting thread. The time between the two is the *queue* stage; there is no h2d and no d2h.
//!
//! What is executed is the affair of its [`HostWork`].

use super::{BackendError, NodeTime, Slot, StageTimes};
use crate::clock::{Clock, RealClock};
use crate::tensor::TensorSet;
use crate::units::Stamp;

/// What is executed for a frame.
pub(super) trait HostWork: Send {
    /// Executes it over the frame's tensors.
    fn run(&mut self, tensors: &mut TensorSet) -> Result<(), BackendError>;
    /// Time per node of the last frame, as [`Slot::node_times`] gives it; empty where it is not measured.
    fn node_times(&self) -> &[NodeTime] {
        &[]
    }
}

/// A frame in flight on the processor.
pub(super) struct HostSlot<W> {
    /// First to go: it may hold addresses of the memory below.
    work: W,
    tensors: TensorSet,
    submitted: Stamp,
}

impl<W: HostWork + 'static> HostSlot<W> {
    pub(super) fn boxed(work: W, tensors: TensorSet) -> Box<dyn Slot> {
        Box::new(HostSlot {
            work,
            tensors,
            submitted: Stamp(0),
        })
    }
}

impl<W: HostWork> Slot for HostSlot<W> {
    fn tensors(&self) -> &TensorSet {
        &self.tensors
    }
    fn tensors_mut(&mut self) -> &mut TensorSet {
        &mut self.tensors
    }
    fn submit(&mut self) -> Result<(), BackendError> {
        self.submitted = RealClock.now();
        Ok(())
    }
    fn wait(&mut self) -> Result<StageTimes, BackendError> {
        let began = RealClock.now();
        self.work.run(&mut self.tensors)?;
        let ended = RealClock.now();
        Ok(StageTimes {
            queue: Some(began - self.submitted),
            compute: Some(ended - began),
            ..StageTimes::default()
        })
    }
    fn node_times(&self) -> &[NodeTime] {
        self.work.node_times()
    }
}
