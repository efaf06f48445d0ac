//! An image fitted into a network's input, on the device (`kernels/fit.cu`).

use std::sync::Arc;

use super::kernels::{BLOCK, Kernel, Module};
use super::stream::Stream;
use super::{GpuError, Span};
use crate::device_step::InputShape;

/// The fit of one slot's frames.
#[derive(Debug)]
pub struct Fit {
    kernel: Kernel,
    shape: InputShape,
    block: Span,
    input: Span,
}

impl Fit {
    /// From a block into an input (`f32`).
    ///
    /// # Errors
    /// The block does not hold the input's values, the input is smaller than `shape` says, or the driver fails.
    pub fn new(module: &Arc<Module>, shape: InputShape, block: Span, input: Span) -> Result<Self, GpuError> {
        let needed = shape.head_bytes().saturating_add(shape.input_bytes());
        if input.bytes() < shape.input_bytes() || block.bytes() < needed {
            return Err(GpuError::TooSmall {
                what: "a camera's block or input",
                wanted: needed.saturating_add(shape.input_bytes()) as u64,
                found: (block.bytes() + input.bytes()) as u64,
            });
        }
        Ok(Fit {
            kernel: module.kernel(c"jetlag_fit")?,
            shape,
            block,
            input,
        })
    }

    /// Enqueues the fit of the frame that the block holds.
    ///
    /// # Errors
    /// The driver fails.
    pub fn enqueue(&self, stream: &Stream) -> Result<(), GpuError> {
        let [width, height] = self.shape.size;
        let blocks = u32::try_from((width * height).div_ceil(BLOCK as usize)).unwrap_or(u32::MAX);
        let arguments = [
            self.input.address(),
            self.block.address(),
            self.block.bytes() as u64,
            width as u64,
            height as u64,
            u64::from(self.shape.interleaved),
        ];
        // SAFETY: the declaration in kernels/fit.cu; sizes were asked for in `new`, what lies beyond the block is passed over
        // there, and the spans hold the memory, which is not freed before the device is done.
        unsafe { self.kernel.launch(stream, blocks, &arguments) }
    }
}
