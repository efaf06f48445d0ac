//! Pillar features onto a canvas, on the device (`kernels/scatter.cu`).

use std::sync::Arc;

use super::GpuError;
use super::kernels::{BLOCK, Kernel, Module};
use super::memory::DeviceMemory;
use super::stream::Stream;
use crate::device_step::CanvasShape;

/// Memory that a kernel is given: whoever enqueues keeps it alive until the device is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// Where the device sees it.
    pub address: u64,
    /// Its size.
    pub bytes: usize,
}

/// One frame's scatter, over memory of its own for the cells that the frame before wrote.
#[derive(Debug)]
pub struct Scatter {
    clear: Kernel,
    scatter: Kernel,
    shape: CanvasShape,
    features: Span,
    cells: Span,
    canvas: Span,
    written: DeviceMemory,
    /// Whether the canvas was filled with zeros.
    is_clear: bool,
}

impl Scatter {
    /// Over features (`f32`), cells (`i32 [pillars, 2]`, x before y) and canvas (`f32 [channels, y, x]`).
    ///
    /// # Errors
    /// The canvas or the cells are smaller than `shape` says, or the driver fails.
    pub fn new(
        module: &Arc<Module>,
        shape: CanvasShape,
        features: Span,
        cells: Span,
        canvas: Span,
    ) -> Result<Self, GpuError> {
        let area = shape.cells[0] * shape.cells[1];
        if canvas.bytes < area * shape.channels * 4 || cells.bytes < shape.max_pillars * 8 {
            return Err(GpuError::TooSmall {
                what: "the scatter's canvas or cells",
                wanted: (area * shape.channels * 4 + shape.max_pillars * 8) as u64,
                found: (canvas.bytes + cells.bytes) as u64,
            });
        }
        let written = DeviceMemory::new(module.gpu(), shape.max_pillars * 4)?;
        // Minus one: nothing was written.
        written.fill(&vec![0xff; written.bytes()])?;
        Ok(Scatter {
            clear: module.kernel(c"jetlag_scatter_clear")?,
            scatter: module.kernel(c"jetlag_scatter")?,
            shape,
            features,
            cells,
            canvas,
            written,
            is_clear: false,
        })
    }

    /// Enqueues the scatter of a frame with features of `rows` rows and `pillars` cells.
    ///
    /// # Errors
    /// The features or cells are more than their memory, or the driver fails.
    pub fn enqueue(&mut self, stream: &Stream, pillars: usize, rows: usize) -> Result<(), GpuError> {
        let CanvasShape {
            channels,
            cells: [width, height],
            max_pillars,
            channels_first,
        } = self.shape;
        if pillars > rows || pillars > max_pillars || rows * channels * 4 > self.features.bytes {
            return Err(GpuError::TooSmall {
                what: "the scatter's features",
                wanted: (pillars.max(rows) * channels * 4) as u64,
                found: self.features.bytes as u64,
            });
        }
        let area = width * height;
        if !self.is_clear {
            stream.clear(self.canvas, area * channels * 4)?;
            self.is_clear = true;
        }
        let number = |number: usize| number as u64;
        let blocks = u32::try_from((max_pillars * channels).div_ceil(BLOCK as usize)).unwrap_or(u32::MAX);
        let (canvas, written) = (self.canvas.address, self.written.address());
        let clear = [
            canvas,
            written,
            number(max_pillars),
            number(channels),
            number(area),
        ];
        let scatter = [
            canvas,
            written,
            self.features.address,
            self.cells.address,
            number(pillars),
            number(rows),
            number(max_pillars),
            number(channels),
            number(width),
            number(area),
            u64::from(channels_first),
        ];
        // SAFETY: the declarations in kernels/scatter.cu; sizes were asked for above and in `new`, cells beyond the canvas
        // are passed over there, and the memory outlives the frame (`Span`).
        unsafe {
            self.clear.launch(stream, blocks, &clear)?;
            self.scatter.launch(stream, blocks, &scatter)
        }
    }
}
