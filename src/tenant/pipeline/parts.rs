//! A batch in a slot: its frames are made one by one in tensors of one frame, and lie side by side in those of the slot.
//!
//! So preprocessing and decoding know nothing of batches. A frame's inputs are copied to their place when they are made, which is part
//! of its *preprocess*, and its outputs from theirs before they are read, part of *postprocess*. Memory is taken with the first batch.

use super::frame_error::FrameError;
use crate::backend::{BackendError, TensorSpec};
use crate::detector::{Carry, Detection, Postprocess, Preprocess};
use crate::record::FrameRecord;
use crate::source::Frame;
use crate::tensor::{HostTensor, Shape, TensorError, TensorSet};
use crate::units::Stamp;

/// The frames of one batch.
pub(super) struct Parts {
    size: usize,
    /// The inputs of one frame.
    inputs: TensorSet,
    /// The outputs of one frame, once they are known.
    outputs: TensorSet,
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
        let tensors: Result<Vec<HostTensor>, TensorError> = inputs
            .iter()
            .map(|input| HostTensor::try_zeroed(input.name.clone(), input.element, input.max_shape))
            .collect();
        Ok(Parts {
            size,
            inputs: TensorSet::new(tensors?),
            outputs: TensorSet::default(),
            carries: (0..size).map(|_| Carry::default()).collect(),
            frames: Vec::with_capacity(size),
        })
    }

    pub(super) fn is_full(&self) -> bool {
        self.frames.len() >= self.size
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
        let entered = preprocess.run(frame, &mut self.inputs, carry)?;
        for made in self.inputs.as_slice() {
            let whole = slot.get_mut(made.name()).map_err(BackendError::from)?;
            let (name, shape) = (made.name(), *whole.shape());
            let bytes = whole.host_bytes_mut().map_err(BackendError::from)?;
            match part_of(bytes.len(), self.size, part).and_then(|part| bytes.get_mut(part)) {
                Some(place) if place.len() == made.bytes().len() => place.copy_from_slice(made.bytes()),
                _ => return Err(wrong(name, shape, self.size).into()),
            }
        }
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
        for whole in slot.as_slice() {
            if self.inputs.find(whole.name()).is_some() || whole.bytes().len() < whole.size() {
                continue;
            }
            let of_batch = || wrong(whole.name(), *whole.shape(), self.size);
            let [first, rest @ ..] = whole.shape().dims() else {
                return Err(of_batch().into());
            };
            if *first != self.size {
                return Err(of_batch().into());
            }
            let at = match self.outputs.find(whole.name()) {
                Some(at) => at,
                None => {
                    let shape = one_of(rest).ok_or_else(of_batch)?;
                    let room = HostTensor::try_zeroed(whole.name(), whole.element(), shape);
                    self.outputs.push(room.map_err(BackendError::from)?);
                    self.outputs.position(whole.name()).map_err(BackendError::from)?
                }
            };
            let Some(one) = self.outputs.as_mut_slice().get_mut(at) else {
                continue;
            };
            let shape = one_of(rest).ok_or_else(of_batch)?;
            if one.shape() != &shape && one.set_shape(shape).is_err() {
                // A network whose outputs grow: rare, and the only other time that memory is taken.
                *one = HostTensor::try_zeroed(whole.name(), whole.element(), shape)
                    .map_err(BackendError::from)?;
            }
            let bytes = whole.bytes();
            let from = part_of(bytes.len(), self.size, part).and_then(|part| bytes.get(part));
            match from {
                Some(from) if from.len() == one.size() => one.bytes_mut().copy_from_slice(from),
                _ => return Err(of_batch().into()),
            }
        }
        let Some(carry) = self.carries.get(part) else {
            return Ok(());
        };
        Ok(postprocess.run(&self.outputs, carry, found)?)
    }
}

/// The shape of one frame's part.
fn one_of(rest: &[usize]) -> Option<Shape> {
    let mut dims = [1; crate::tensor::MAX_RANK];
    dims.get_mut(1..=rest.len())?.copy_from_slice(rest);
    Shape::new(dims.get(..=rest.len())?)
}

/// Where the bytes of a part lie among those of all.
fn part_of(bytes: usize, size: usize, part: usize) -> Option<std::ops::Range<usize>> {
    let each = bytes.checked_div(size)?;
    (each * size == bytes && part < size).then(|| part * each..(part + 1) * each)
}

fn wrong(name: &str, found: Shape, size: usize) -> BackendError {
    BackendError::Tensor(TensorError::WrongShape {
        name: name.to_owned(),
        found,
        wanted: format!("a first dimension of {size}, the tenant's batch,"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_lie_side_by_side() {
        assert_eq!(part_of(12, 3, 0), Some(0..4));
        assert_eq!(part_of(12, 3, 2), Some(8..12));
        assert_eq!(part_of(12, 3, 3), None);
        assert_eq!(part_of(13, 3, 0), None);
        assert_eq!(part_of(13, 0, 0), None);
        assert_eq!(
            one_of(&[2, 3]).map(|shape| shape.dims().to_vec()),
            Some(vec![1, 2, 3])
        );
        assert_eq!(one_of(&[1; 8]), None);
    }
}
