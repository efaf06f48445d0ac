//! The slot of whatever executes on the processor: it has no device of its own, so `submit` notes the time and `wait`
//! executes, on the waiting thread. The time between the two is the *queue* stage; there is no h2d and no d2h.
//!
//! What is executed is the affair of its [`HostWork`].

use super::{BackendError, LateTimes, NodeSpan, NodeTime, Slot, StageTimes};
use crate::clock::{Clock, RealClock};
use crate::record::Finding;
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
    /// As [`Slot::number_frame`].
    fn number_frame(&mut self, _number: u64) -> bool {
        false
    }
    /// As [`Slot::late_node_times`].
    fn late_node_times(&mut self) -> LateTimes {
        LateTimes::new()
    }
    /// As [`Slot::node_spans`].
    fn node_spans(&mut self, _from: Stamp, _to: Stamp) -> Vec<NodeSpan> {
        Vec::new()
    }
    /// As [`Slot::take_findings`].
    fn take_findings(&mut self) -> Vec<Finding> {
        Vec::new()
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
    fn number_frame(&mut self, number: u64) -> bool {
        self.work.number_frame(number)
    }
    fn late_node_times(&mut self) -> LateTimes {
        self.work.late_node_times()
    }
    fn node_spans(&mut self, from: Stamp, to: Stamp) -> Vec<NodeSpan> {
        self.work.node_spans(from, to)
    }
    fn take_findings(&mut self) -> Vec<Finding> {
        self.work.take_findings()
    }
}
