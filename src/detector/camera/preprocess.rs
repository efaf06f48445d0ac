//! Image to input tensor in one pass over the rows: resize, pad, normalise, order and lay out.
//!
//! The resize is OpenCV's INTER_LINEAR to the bit: half-pixel centres, two taps an axis whatever the ratio
//! (no antialiasing), 11-bit weights, its intermediate roundings, and its edges, which differ between the axes
//! (`tap`, `blend`), because an edge that a network finds can hang on a single level. tests/images/resize.py
//! asks OpenCV. It is our own because a general resizer rounds otherwise and writes a whole
//! 8-bit image that has to be read, widened and transposed again; benches/preprocess.rs compares both.
//!
//! Per output row: the source rows that it needs are resized across into planes of 16-bit lines (which
//! are kept, as an enlarged image needs them again), then two lines are blended down and normalised
//! (`lines`). A device that does the same is handed rows and tables ([`block`]).

pub mod block;
mod element;
mod lines;

pub use element::Element;
use lines::Across;

use super::also::{Also, Sizes, Unfilled};
use super::fit::{FitSpec, Placement};
use crate::detector::{Carry, DetectorError, Preprocess};
use crate::source::{Content, ContentKind, Frame, Image};
use crate::tensor::{HostTensor, Shape, TensorError, TensorSet};

/// Order of the input's dimensions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Deserialize)]
pub enum Layout {
    /// `[1, 3, height, width]`
    #[default]
    Nchw,
    /// `[1, height, width, 3]`
    Nhwc,
}

/// Order of the input's channels.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Deserialize)]
pub enum Colour {
    /// Red first, then green and blue.
    #[default]
    Rgb,
    /// Blue first, as OpenCV reads files.
    Bgr,
}

/// What the network wants of its input.
#[derive(Clone, Debug, PartialEq)]
pub struct InputFormat {
    /// The input tensor's name.
    pub tensor: String,
    /// Width and height in pixels.
    pub size: [usize; 2],
    /// The order of the tensor's dimensions.
    pub layout: Layout,
    /// The order of the tensor's channels.
    pub colour: Colour,
    /// How the image is brought to that size.
    pub fit: FitSpec,
    /// `value = (pixel × scale − mean) / std`, per channel in the network's order.
    pub scale: f32,
    /// What is taken away of each channel after scaling; see `scale`.
    pub mean: [f32; 3],
    /// What each channel is divided by at the end; see `scale`.
    pub std: [f32; 3],
    /// The type of the tensor's elements.
    pub element: Element,
}

impl InputFormat {
    /// Shape of the input tensor.
    pub fn shape(&self) -> Shape {
        let [width, height] = self.size;
        let dims = match self.layout {
            Layout::Nchw => [1, 3, height, width],
            Layout::Nhwc => [1, height, width, 3],
        };
        Shape::new(&dims).expect("four dimensions are fewer than MAX_RANK")
    }
}

/// Bits of the weights, as OpenCV has them for 8-bit images.
const WEIGHT_BITS: u32 = 11;
/// Weight of a pixel that stands alone.
const WHOLE: i16 = 1 << WEIGHT_BITS;
/// Bits that a line drops, so that 8 bits of pixel and 11 of weight fit an `i16`.
const LINE_SHIFT: u32 = 4;

/// Two neighbours in a row and their weights, in units of 2^-[`WEIGHT_BITS`].
#[derive(Clone, Copy, Debug, PartialEq)]
struct Tap {
    /// Index of the first neighbour.
    at: usize,
    /// Weight of the first and of the second.
    weights: [i16; 2],
}

/// Two rows of the image and their weights, in units of 2^-[`WEIGHT_BITS`].
#[derive(Clone, Copy, Debug, PartialEq)]
struct Blend {
    /// The upper and the lower row: the same one twice at an edge that the resize enlarges.
    rows: [usize; 2],
    /// The weight of each. Where the lower one's is 0, that row does not count.
    weights: [i16; 2],
}

/// One source row, resized across: red, green, blue, each as wide as the placement.
#[derive(Default)]
struct Line {
    /// Which row, for the image in hand.
    row: Option<usize>,
    planes: Vec<i16>,
}

/// [`Preprocess`] of every camera detector.
pub struct CameraPreprocess {
    format: InputFormat,
    shape: Shape,
    /// By the source's channel (red, green, blue): how its levels become values.
    normal: [Normal; 3],
    /// Where in the network's order each of the source's channels goes.
    slot_of: [usize; 3],
    /// What the members below were made for.
    planned: Option<[usize; 2]>,
    placement: Placement,
    /// For the columns of the placement.
    across: Across,
    /// For each row of the placement.
    down: Vec<Blend>,
    lines: [Line; 2],
    tables: block::Tables,
    /// The input as `f32`, where the network takes another type.
    values: Vec<f32>,
    /// What is filled beside the input.
    also: Vec<Also>,
}

/// `value = level × gain + offset`
#[derive(Clone, Copy)]
struct Normal {
    gain: f32,
    offset: f32,
}

impl Normal {
    #[inline(always)]
    fn of(self, level: u8) -> f32 {
        f32::from(level) * self.gain + self.offset
    }
}

impl CameraPreprocess {
    /// For this input; buffers grow with the first image and are kept.
    pub fn new(format: InputFormat) -> Self {
        let slot_of = match format.colour {
            Colour::Rgb => [0, 1, 2],
            Colour::Bgr => [2, 1, 0],
        };
        let normal = slot_of.map(|slot| {
            let std = f64::from(format.std[slot]);
            Normal {
                gain: (f64::from(format.scale) / std) as f32,
                offset: (-f64::from(format.mean[slot]) / std) as f32,
            }
        });
        CameraPreprocess {
            shape: format.shape(),
            format,
            normal,
            slot_of,
            planned: None,
            placement: Placement {
                left: 0,
                top: 0,
                width: 0,
                height: 0,
            },
            across: Across::default(),
            down: Vec::new(),
            lines: Default::default(),
            tables: block::Tables::default(),
            values: Vec::new(),
            also: Vec::new(),
        }
    }

    /// The same, which fills these tensors beside the input.
    #[must_use]
    pub fn beside(self, also: Vec<Also>) -> Self {
        CameraPreprocess { also, ..self }
    }

    /// Fills the tensor of a network that takes another type than `f32`.
    fn fill_converted(&mut self, image: &Image, tensor: &mut HostTensor) -> Result<Placement, FillError> {
        let mut values = std::mem::take(&mut self.values);
        values.resize(self.shape.len(), 0.0);
        let placed = self.fill(image, &mut values);
        let written = self.format.element.write(&values, tensor);
        self.values = values;
        written?;
        placed
    }

    /// What it makes.
    pub fn format(&self) -> &InputFormat {
        &self.format
    }

    /// Fills the bytes of an input, of the format's shape and type, from `image`; returns where the image came to lie.
    ///
    /// # Errors
    /// As [`CameraPreprocess::fill`].
    pub fn fill_bytes(&mut self, image: &Image, bytes: &mut [u8]) -> Result<Placement, FillError> {
        let element = self.format.element;
        let found = bytes.len() / element.of_tensor().size();
        if found != self.shape.len() {
            return Err(FillError::WrongInput {
                found,
                wanted: self.shape,
            });
        }
        if element == Element::F32
            && let Ok(out) = bytemuck::try_cast_slice_mut(bytes)
        {
            return self.fill(image, out);
        }
        let mut values = std::mem::take(&mut self.values);
        values.resize(self.shape.len(), 0.0);
        let placed = self.fill(image, &mut values);
        element.write_bytes(&values, bytes);
        self.values = values;
        placed
    }

    /// Fills `out`, of the format's shape, from `image`; returns where the image came to lie.
    ///
    /// # Errors
    /// The image has no pixels, its buffer is not of its size, or `out` is not of the format's shape.
    pub fn fill(&mut self, image: &Image, out: &mut [f32]) -> Result<Placement, FillError> {
        check(image)?;
        if out.len() != self.shape.len() {
            return Err(FillError::WrongInput {
                found: out.len(),
                wanted: self.shape,
            });
        }
        self.plan([image.width, image.height]);
        for line in &mut self.lines {
            line.row = None; // another image
        }
        match self.format.layout {
            Layout::Nchw => self.fill_planes(image, out),
            Layout::Nhwc => self.fill_interleaved(image, out),
        }
        Ok(self.placement)
    }

    /// Makes the tables for images of this size, if they are not those of the last.
    fn plan(&mut self, image: [usize; 2]) {
        if self.planned == Some(image) {
            return;
        }
        let [width, height] = image;
        self.placement = self.format.fit.place(image, self.format.size);
        let columns = self.placement.width;
        let mut taps: Vec<Tap> = (0..columns).map(|x| tap(x, columns, width)).collect();
        let is_whole = taps.iter().all(|tap| tap.weights[1] == 0);
        for tap in &mut taps {
            if !is_whole && width > 1 && tap.at + 1 == width {
                // The last pixel has no right neighbour: let it be one.
                *tap = Tap {
                    at: tap.at - 1,
                    weights: [0, WHOLE],
                };
            }
            tap.at *= 3;
        }
        self.across = Across::new(taps, is_whole, width * 3);
        self.down.clear();
        self.down
            .extend((0..self.placement.height).map(|y| blend(y, self.placement.height, height)));
        for line in &mut self.lines {
            line.planes.clear();
            line.planes.resize(self.placement.width * 3, 0);
        }
        self.planned = Some(image);
    }

    /// Makes lines of the two rows, the lower one if it counts; returns which line is the lower row's.
    fn fetch(&mut self, image: &Image, Blend { rows, weights }: Blend) -> usize {
        let [first, second] = &mut self.lines;
        if first.row != Some(rows[0]) && second.row == Some(rows[0]) {
            std::mem::swap(first, second);
        }
        let differ = rows[0] != rows[1];
        let stride = image.width * 3;
        for (line, row, counts) in [
            (first, rows[0], true),
            (second, rows[1], differ && weights[1] != 0),
        ] {
            if counts && line.row != Some(row) {
                let source = &image.rgb[row * stride..(row + 1) * stride];
                self.across.resize(source, &mut line.planes);
                line.row = Some(row);
            }
        }
        usize::from(differ)
    }

    fn fill_planes(&mut self, image: &Image, out: &mut [f32]) {
        let [width, height] = self.format.size;
        let Placement {
            left,
            top,
            width: inner,
            height: rows,
        } = self.placement;
        let pad = self.format.fit.pad();
        for (channel, slot) in self.slot_of.into_iter().enumerate() {
            let plane = &mut out[slot * width * height..(slot + 1) * width * height];
            let grey = self.normal[channel].of(pad);
            plane[..top * width].fill(grey);
            plane[(top + rows) * width..].fill(grey);
            if inner < width {
                for line in plane[top * width..(top + rows) * width].chunks_exact_mut(width) {
                    line[..left].fill(grey);
                    line[left + inner..].fill(grey);
                }
            }
        }
        for y in 0..rows {
            let blend = self.down[y];
            let lower = self.fetch(image, blend);
            for (channel, slot) in self.slot_of.into_iter().enumerate() {
                let at = (slot * height + top + y) * width + left;
                let span = channel * inner..(channel + 1) * inner;
                let (above, below) = (
                    &self.lines[0].planes[span.clone()],
                    &self.lines[lower].planes[span],
                );
                let values = &mut out[at..at + inner];
                self.across
                    .blend([above, below], blend.weights, self.normal[channel], values);
            }
        }
    }

    fn fill_interleaved(&mut self, image: &Image, out: &mut [f32]) {
        let [width, _] = self.format.size;
        let placement = self.placement;
        let inner = placement.width;
        let pad = self.format.fit.pad();
        let mut grey = [0.0; 3];
        for (normal, slot) in self.normal.iter().zip(self.slot_of) {
            grey[slot] = normal.of(pad);
        }
        let (pixels, _) = out.as_chunks_mut::<3>();
        for (y, line) in pixels.chunks_exact_mut(width).enumerate() {
            let blend = y
                .checked_sub(placement.top)
                .and_then(|inner| self.down.get(inner).copied());
            let Some(blend) = blend else {
                line.fill(grey);
                continue;
            };
            let (before, from) = line.split_at_mut(placement.left);
            let (within, after) = from.split_at_mut(inner);
            before.fill(grey);
            after.fill(grey);
            let lower = self.fetch(image, blend);
            let [above, below] = [&self.lines[0].planes, &self.lines[lower].planes];
            // Where the lower row does not count its line is an older one, and its weight is zero.
            for (channel, slot) in self.slot_of.into_iter().enumerate() {
                let span = channel * inner..(channel + 1) * inner;
                let normal = self.normal[channel];
                let pairs = above[span.clone()].iter().zip(&below[span]);
                for (pixel, (a, b)) in within.iter_mut().zip(pairs) {
                    pixel[slot] = normal.of(level(*a, *b, blend.weights));
                }
            }
        }
    }
}

impl Preprocess for CameraPreprocess {
    fn run(
        &mut self,
        frame: &Frame,
        inputs: &mut TensorSet,
        carry: &mut Carry,
    ) -> Result<u32, DetectorError> {
        let Content::Image(image) = frame.content() else {
            return Err(DetectorError::WrongContent {
                wanted: ContentKind::Image,
                found: frame.content().kind(),
            });
        };
        // A slot whose device does the resize has a place for the image instead of the input.
        let placed = match inputs.find(block::BLOCK) {
            Some(place) => self.fill_block(image, &mut inputs.as_mut_slice()[place]),
            None => {
                let tensor = inputs.get_mut(&self.format.tensor)?;
                tensor.set_shape(self.shape)?;
                match self.format.element {
                    Element::F32 => self.fill(image, tensor.f32_mut()?),
                    Element::F16 | Element::U8 => self.fill_converted(image, tensor),
                }
            }
        };
        let placement = placed.map_err(|error| DetectorError::BadFrame {
            index: frame.index,
            problem: error.to_string(),
        })?;
        let size = [image.width, image.height];
        let sizes = Sizes::of(size, self.format.size, placement);
        for also in &self.also {
            also.fill(sizes, inputs).map_err(|error| match error {
                Unfilled::Tensor(error) => DetectorError::Tensor(error),
                too_large @ Unfilled::TooLarge { .. } => DetectorError::BadFrame {
                    index: frame.index,
                    problem: too_large.to_string(),
                },
            })?;
        }
        carry.fit = placement.fit(size);
        carry.camera = frame.camera;
        Ok(u32::try_from(image.width * image.height).unwrap_or(u32::MAX))
    }
}

/// Why an image cannot be made a network's input.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FillError {
    /// It has no pixels.
    #[error("the image is {width} × {height}: it must have at least one pixel")]
    NoPixels {
        /// Width of the image in pixels.
        width: usize,
        /// Height of the image in pixels.
        height: usize,
    },
    /// Its buffer is not of its size.
    #[error(
        "the image is {width} × {height} and holds {bytes} bytes; RGB of that size has width × height × 3"
    )]
    WrongBytes {
        /// Width of the image in pixels.
        width: usize,
        /// Height of the image in pixels.
        height: usize,
        /// Bytes that it holds.
        bytes: usize,
    },
    /// The place for the input is not of the format's shape.
    #[error("the input holds {found} values, expected {} for {wanted}", wanted.len())]
    WrongInput {
        /// Values that it holds.
        found: usize,
        /// The shape that the input format needs.
        wanted: Shape,
    },
    /// The block for a device is too small, or not the host's.
    #[error(transparent)]
    Tensor(#[from] TensorError),
}

fn check(image: &Image) -> Result<(), FillError> {
    let (width, height, bytes) = (image.width, image.height, image.rgb.len());
    if width == 0 || height == 0 {
        return Err(FillError::NoPixels { width, height });
    }
    let expected = width.checked_mul(height).and_then(|n| n.checked_mul(3));
    match expected == Some(bytes) {
        true => Ok(()),
        false => Err(FillError::WrongBytes { width, height, bytes }),
    }
}

/// The two pixels of a row of `from` that make pixel `i` of `to`, and their weights.
///
/// Along a row the pixel at either end stands alone, as in OpenCV; down the image it does not ([`blend`]).
fn tap(i: usize, to: usize, from: usize) -> Tap {
    let (first, part) = centre(i, to, from);
    if first < 0 {
        return Tap {
            at: 0,
            weights: [WHOLE, 0],
        };
    }
    let at = first as usize;
    if at + 1 >= from {
        return Tap {
            at: from - 1,
            weights: [WHOLE, 0],
        };
    }
    Tap {
        at,
        weights: weights(part),
    }
}

/// The two rows of `from` that make row `i` of `to`, and their weights.
///
/// Beyond an edge lies the edge row again, and both keep their weights, as in OpenCV. Each product is cut on its
/// own, so that this is up to a level less than the row standing alone.
fn blend(i: usize, to: usize, from: usize) -> Blend {
    let (first, part) = centre(i, to, from);
    let row = |at: i64| at.clamp(0, from as i64 - 1) as usize;
    Blend {
        rows: [row(first), row(first + 1)],
        weights: weights(part),
    }
}

/// Where pixel `i` of `to` lies among those of `from`: the pixel before, and how far behind it, from 0 to 1.
///
/// Half-pixel centres: pixel i lies at `(i + ½) · from/to − ½`. In f32 where OpenCV is, so that weights round alike.
fn centre(i: usize, to: usize, from: usize) -> (i64, f32) {
    let centre = ((i as f64 + 0.5) * (from as f64 / to as f64) - 0.5) as f32;
    let first = centre.floor();
    (first as i64, centre - first)
}

fn weights(part: f32) -> [i16; 2] {
    [1.0 - part, part].map(|w| (w * f32::from(WHOLE)).round_ties_even() as i16)
}

/// Blends two values of neighbouring lines into an 8-bit level. The high half of a 16 × 16 bit product is
/// one instruction on every machine; that it is cut and not rounded is OpenCV's doing.
#[inline(always)]
fn level(above: i16, below: i16, weights: [i16; 2]) -> u8 {
    let high = |value: i16, weight: i16| ((i32::from(value) * i32::from(weight)) >> 16) as i16;
    ((high(above, weights[0]) + high(below, weights[1]) + 2) >> 2) as u8
}

#[cfg(test)]
mod tests;
