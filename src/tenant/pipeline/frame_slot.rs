//! A slot of the ring, as it goes round between a tenant's threads.

use super::frame_error::FrameError;
use super::parts::Parts;
use crate::backend::Slot;
use crate::detector::{Carry, Preprocess};
use crate::source::Frame;

/// A backend's slot with everything that stays with it.
pub(super) struct FrameSlot {
    pub(super) slot: Box<dyn Slot>,
    pub(super) carry: Carry,
    /// The frames in it, where several have one inference.
    pub(super) parts: Option<Parts>,
    /// Whether its outputs are those of a frame that was finished.
    pub(super) has_outputs: bool,
}

impl FrameSlot {
    /// Makes a frame's inputs; answers how many points or pixels entered.
    pub(super) fn make(&mut self, preprocess: &mut dyn Preprocess, frame: &Frame) -> Result<u32, FrameError> {
        let tensors = self.slot.tensors_mut();
        match &mut self.parts {
            Some(parts) => parts.make(preprocess, frame, tensors),
            None => Ok(preprocess.run(frame, tensors, &mut self.carry)?),
        }
    }
}
