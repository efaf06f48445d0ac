//! Pillar features onto a canvas, on the device (`kernels/scatter.cu`).

use std::sync::Arc;

use super::kernels::{BLOCK, Kernel, Module};
use super::memory::DeviceMemory;
use super::stream::Stream;
use super::{GpuError, Span};
use crate::device_step::CanvasShape;

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
        let (on_canvas, in_cells) = (shape.canvas_bytes(), shape.max_pillars.saturating_mul(8));
        if canvas.bytes() < on_canvas || cells.bytes() < in_cells {
            return Err(GpuError::TooSmall {
                what: "the scatter's canvas or cells",
                wanted: on_canvas.saturating_add(in_cells) as u64,
                found: (canvas.bytes() + cells.bytes()) as u64,
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
        let bytes_of = |rows: usize| rows.saturating_mul(channels).saturating_mul(4);
        if pillars > rows || pillars > max_pillars || bytes_of(rows) > self.features.bytes() {
            return Err(GpuError::TooSmall {
                what: "the scatter's features",
                wanted: bytes_of(pillars.max(rows)) as u64,
                found: self.features.bytes() as u64,
            });
        }
        let area = width * height;
        if !self.is_clear {
            stream.clear(&self.canvas, self.shape.canvas_bytes())?;
            self.is_clear = true;
        }
        let number = |number: usize| number as u64;
        let blocks = u32::try_from((max_pillars * channels).div_ceil(BLOCK as usize)).unwrap_or(u32::MAX);
        let (canvas, written) = (self.canvas.address(), self.written.address());
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
            self.features.address(),
            self.cells.address(),
            number(pillars),
            number(rows),
            number(max_pillars),
            number(channels),
            number(width),
            number(area),
            u64::from(channels_first),
        ];
        // SAFETY: the declarations in kernels/scatter.cu; sizes were asked for above and in `new`, cells beyond the canvas
        // are passed over there, and the spans hold the memory, which is not freed before the device is done.
        unsafe {
            self.clear.launch(stream, blocks, &clear)?;
            self.scatter.launch(stream, blocks, &scatter)
        }
    }
}
