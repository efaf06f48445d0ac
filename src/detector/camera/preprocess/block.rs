//! An image as a device takes it that does the resize: the rows that the resize reads, as they are, behind the tables that
//! it goes by. What stands where is in `gpu/kernels/fit.cu`.
//!
//! Rows that the resize passes over stay behind: of a 1080p image that becomes 640 × 360 every third goes. The tables are
//! made here, so that host and device agree to the bit.

use super::{CameraPreprocess, Colour, FillError, InputFormat, Layout, check};
use crate::backend::{DeviceFit, TensorSpec};
use crate::detector::camera::fit::Placement;
use crate::device_step::InputShape;
use crate::source::Image;
use crate::tensor::{ElementType, HostTensor, Shape};

/// Name of the block among a frame's tensors.
pub const BLOCK: &str = "jetlag.image_block";

/// Images up to this width fit in a block, whatever their height.
pub const WIDEST: usize = 3840;

/// What follows the tables: rows, or the input as the host made it.
const ROWS: u32 = 0;
const VALUES: u32 = 1;

/// The step of a device that makes this input.
pub fn on_device(format: &InputFormat) -> DeviceFit {
    let shape = shape(format);
    // No row of the input is made of more than two of the image.
    let rows = 2 * format.size[1] * WIDEST * 3;
    DeviceFit {
        block: TensorSpec {
            name: BLOCK.to_owned(),
            element: ElementType::U8,
            max_shape: length(shape.head_bytes() + rows.max(shape.input_bytes())),
        },
        input: format.tensor.clone(),
        shape,
    }
}

fn shape(format: &InputFormat) -> InputShape {
    InputShape {
        size: format.size,
        interleaved: format.layout == Layout::Nhwc,
    }
}

fn length(bytes: usize) -> Shape {
    Shape::new(&[bytes]).expect("one dimension is fewer than MAX_RANK")
}

/// What is the same for all images of one size.
#[derive(Default)]
pub(super) struct Tables {
    planned: Option<[usize; 2]>,
    words: Vec<u32>,
    /// The image's rows that are handed over, in order.
    rows: Vec<usize>,
    /// Whether it was said that images are too large.
    has_warned: bool,
}

impl CameraPreprocess {
    /// Fills a block from `image`; returns where the image comes to lie. One that is too large for the block is fitted
    /// here, and the block holds the input.
    ///
    /// # Errors
    /// The image has no pixels, its buffer is not of its size, or the block holds no input.
    pub fn fill_block(&mut self, image: &Image, block: &mut HostTensor) -> Result<Placement, FillError> {
        check(image)?;
        let size = [image.width, image.height];
        self.plan(size);
        if self.tables.planned != Some(size) {
            self.tabulate(size);
        }
        let (head, stride) = (self.tables.words.len() * 4, image.width * 3);
        let whole = head + self.tables.rows.len() * stride;
        if whole > block.capacity() {
            return self.fill_values(image, block);
        }
        block.set_shape(length(whole))?;
        let (tables, rows) = block.host_bytes_mut()?.split_at_mut(head);
        tables.copy_from_slice(bytemuck::cast_slice(&self.tables.words));
        for (to, row) in rows.chunks_exact_mut(stride).zip(&self.tables.rows) {
            to.copy_from_slice(&image.rgb[row * stride..][..stride]);
        }
        Ok(self.placement)
    }

    fn fill_values(&mut self, image: &Image, block: &mut HostTensor) -> Result<Placement, FillError> {
        if !std::mem::replace(&mut self.tables.has_warned, true) {
            log::warn!(
                "images of {} × {} are too large for the device's resize, which takes at most {WIDEST} columns: \
                 they are resized on the host",
                image.width,
                image.height
            );
        }
        let shape = shape(&self.format);
        block.set_shape(length(shape.head_bytes() + shape.input_bytes()))?;
        let (tables, values) = block.host_bytes_mut()?.split_at_mut(shape.head_bytes());
        tables[..4].copy_from_slice(&VALUES.to_ne_bytes());
        self.fill(image, bytemuck::cast_slice_mut(values))
    }

    /// Makes the tables for images of this size, whose plan is made.
    fn tabulate(&mut self, image: [usize; 2]) {
        let Placement {
            left,
            top,
            width,
            height,
        } = self.placement;
        let [input_width, input_height] = self.format.size;
        let Tables {
            planned, words, rows, ..
        } = &mut self.tables;
        let word = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
        let weights = |[first, second]: [i16; 2]| u32::from(first as u16) | u32::from(second as u16) << 16;
        words.clear();
        words.extend([
            ROWS,
            word(image[0] * 3),
            word(left),
            word(top),
            word(width),
            word(height),
        ]);
        words.extend(self.normal.map(|normal| normal.gain.to_bits()));
        words.extend(self.normal.map(|normal| normal.offset.to_bits()));
        words.push(u32::from(self.format.fit.pad()));
        words.push(u32::from(self.format.colour == Colour::Bgr));
        words.resize(16, 0);
        words.extend(
            self.across
                .taps()
                .iter()
                .flat_map(|tap| [word(tap.at), weights(tap.weights)]),
        );
        words.resize(16 + 2 * input_width, 0);
        rows.clear();
        // Each row of the input begins no earlier than the one before, so what is known is among the last two.
        let mut place = |row: usize| {
            let last = rows.len().saturating_sub(2);
            let known = rows[last..].iter().position(|kept| *kept == row);
            if known.is_none() {
                rows.push(row);
            }
            word(known.map_or(rows.len() - 1, |at| last + at))
        };
        for blend in &self.down {
            let first = place(blend.rows[0]);
            let second = match blend.weights[1] {
                0 => first,
                _ => place(blend.rows[1]),
            };
            words.extend([first, second, weights(blend.weights)]);
        }
        words.resize((16 + 2 * input_width + 3 * input_height).div_ceil(4) * 4, 0);
        *planned = Some(image);
    }
}
