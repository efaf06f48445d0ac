//! A batch in a slot: its frames are made one by one in tensors of one frame, and lie side by side in those of the slot.
//!
//! A frame's inputs are copied to their place when they are made, which is part of its *preprocess*, and its outputs from theirs before
//! they are read, part of *postprocess*.

use super::frame_error::FrameError;
use crate::backend::{BackendError, TensorSpec};
use crate::detector::{Carry, Detection, Postprocess, Preprocess};
use crate::record::FrameRecord;
use crate::source::Frame;
use crate::tensor::side_by_side::SideBySide;
use crate::tensor::{TensorError, TensorSet};
use crate::units::Stamp;

/// The frames of one batch.
pub(super) struct Parts {
    tensors: SideBySide,
    /// What preprocessing leaves for postprocessing, of each frame.
    carries: Vec<Carry>,
    /// Records of the frames that are in it, and when each was ready.
    pub(super) frames: Vec<(FrameRecord, Stamp)>,
}

impl Parts {
    /// For batches of `size` frames with these inputs each.
    ///
    /// # Errors
    /// There is no memory.
    pub(super) fn new(size: usize, inputs: &[TensorSpec]) -> Result<Parts, TensorError> {
        let inputs = inputs
            .iter()
            .map(|input| (input.name.as_str(), input.element, input.max_shape));
        Ok(Parts {
            tensors: SideBySide::new(size, inputs)?,
            carries: (0..size).map(|_| Carry::default()).collect(),
            frames: Vec::with_capacity(size),
        })
    }

    pub(super) fn is_full(&self) -> bool {
        self.frames.len() >= self.tensors.size()
    }

    /// Makes the inputs of the next frame and lays them into the slot's tensors; answers how many points or pixels entered.
    pub(super) fn make(
        &mut self,
        preprocess: &mut dyn Preprocess,
        frame: &Frame,
        slot: &mut TensorSet,
    ) -> Result<u32, FrameError> {
        let part = self.frames.len();
        let Some(carry) = self.carries.get_mut(part) else {
            return Ok(0);
        };
        let entered = preprocess.run(frame, self.tensors.inputs_mut(), carry)?;
        self.tensors.lay(part, slot).map_err(BackendError::from)?;
        Ok(entered)
    }

    /// Reads the detections of a frame from the slot's tensors.
    pub(super) fn read(
        &mut self,
        postprocess: &mut dyn Postprocess,
        part: usize,
        slot: &TensorSet,
        found: &mut Vec<Detection>,
    ) -> Result<(), FrameError> {
        let outputs = self
            .tensors
            .lift(part, slot, |_| true)
            .map_err(BackendError::from)?;
        let Some(carry) = self.carries.get(part) else {
            return Ok(());
        };
        Ok(postprocess.run(outputs, carry, found)?)
    }
}
