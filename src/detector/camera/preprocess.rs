//! Image to input tensor in one pass over the rows: resize, pad, normalise, order and lay out.
//!
//! The resize is OpenCV's INTER_LINEAR: half-pixel centres, two taps an axis whatever the ratio (no
//! antialiasing), the result rounded to 8 bits before it is normalised, because that is what deployed
//! networks were tuned on. It is our own because a general resizer writes a whole 8-bit image that has to
//! be read, widened and transposed again: benches/preprocess.rs compares both, and docs/detectors.md says
//! how far each is from OpenCV.
//!
//! Per output row: the two source rows are blended over their full width (straight-line integer code
//! that compilers vectorise), then the two taps across are gathered, and a table of 256 entries a channel
//! gives the normalised value.

use super::fit::{FitSpec, Placement};
use crate::detector::{Carry, DetectorError, Preprocess};
use crate::source::{Content, ContentKind, Frame, Image};
use crate::tensor::{Shape, TensorSet};

/// Order of the input's dimensions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum Layout {
    /// `[1, 3, height, width]`
    #[default]
    Nchw,
    /// `[1, height, width, 3]`
    Nhwc,
}

/// Order of the input's channels.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum Colour {
    /// Red first.
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
    /// Order of dimensions.
    pub layout: Layout,
    /// Order of channels.
    pub colour: Colour,
    /// How the image is brought to that size.
    pub fit: FitSpec,
    /// `value = (pixel × scale − mean) / std`, per channel in the network's order.
    pub scale: f32,
    /// See `scale`.
    pub mean: [f32; 3],
    /// See `scale`.
    pub std: [f32; 3],
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

/// Bits of fraction in a blended row: 8 of a pixel and 6 of fraction fit an `i16`.
const ROW_BITS: u32 = 6;
/// Bits of the weights down, held in an `i16`.
const DOWN_BITS: u32 = 15;
/// Bits of the weights across.
const ACROSS_BITS: u32 = 11;

/// Two neighbours across, and how much the second counts.
#[derive(Clone, Copy)]
struct Tap {
    /// Index of the first neighbour's red in the row.
    at: usize,
    /// Weight of the second neighbour, in units of 2^-[`ACROSS_BITS`].
    weight: i32,
}

/// [`Preprocess`] of every camera detector.
pub struct CameraPreprocess {
    format: InputFormat,
    shape: Shape,
    /// Normalised value by the source's channel (red, green, blue) and 8-bit level.
    table: [[f32; 256]; 3],
    /// Where in the network's order each of the source's channels goes.
    slot_of: [usize; 3],
    /// What the members below were made for.
    planned: Option<[usize; 2]>,
    placement: Placement,
    across: Vec<Tap>,
    /// Source row and weight of the row below it, for each row of the placement.
    down: Vec<(usize, i16)>,
    /// One blended source row, and its last pixel once more as the right neighbour of itself.
    row: Vec<i16>,
}

impl CameraPreprocess {
    /// For this input; buffers grow with the first image and are kept.
    pub fn new(format: InputFormat) -> Self {
        let slot_of = match format.colour {
            Colour::Rgb => [0, 1, 2],
            Colour::Bgr => [2, 1, 0],
        };
        let table = slot_of.map(|slot| {
            std::array::from_fn(|level| (level as f32 * format.scale - format.mean[slot]) / format.std[slot])
        });
        CameraPreprocess {
            shape: format.shape(),
            format,
            table,
            slot_of,
            planned: None,
            placement: Placement {
                left: 0,
                top: 0,
                width: 0,
                height: 0,
            },
            across: Vec::new(),
            down: Vec::new(),
            row: Vec::new(),
        }
    }

    /// Fills `out`, of the format's shape, from `image`; returns where the image came to lie.
    ///
    /// # Errors
    /// A sentence, where the image has no pixels or its buffer is not of its size.
    pub fn fill(&mut self, image: &Image, out: &mut [f32]) -> Result<Placement, String> {
        check(image)?;
        if out.len() != self.shape.len() {
            return Err(format!(
                "the input holds {} values, expected {} for {}",
                out.len(),
                self.shape.len(),
                self.shape
            ));
        }
        self.plan([image.width, image.height]);
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
        self.across.clear();
        self.across.extend((0..self.placement.width).map(|x| {
            let (at, weight) = neighbours(x, self.placement.width, width);
            Tap {
                at: at * 3,
                weight: (weight * f64::from(1 << ACROSS_BITS)).round() as i32,
            }
        }));
        self.down.clear();
        self.down.extend((0..self.placement.height).map(|y| {
            let (at, weight) = neighbours(y, self.placement.height, height);
            let weight = (weight * f64::from(1 << DOWN_BITS)).round() as i32;
            (at, weight.min(i32::from(i16::MAX)) as i16)
        }));
        self.row.clear();
        self.row.resize((width + 1) * 3, 0);
        self.planned = Some(image);
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
        let (first, rest) = out.split_at_mut(width * height);
        let (second, third) = rest.split_at_mut(width * height);
        let mut planes = [first, second, third];
        for (channel, slot) in self.slot_of.into_iter().enumerate() {
            let plane = &mut planes[slot];
            let grey = self.table[channel][usize::from(pad)];
            plane[..top * width].fill(grey);
            plane[(top + rows) * width..].fill(grey);
            if inner < width {
                for line in plane[top * width..(top + rows) * width].chunks_exact_mut(width) {
                    line[..left].fill(grey);
                    line[left + inner..].fill(grey);
                }
            }
        }
        if self.slot_of[0] != 0 {
            planes.swap(0, 2);
        }
        let [red, green, blue] = planes;
        let [red_of, green_of, blue_of] = &self.table;
        for (y, &(at, weight)) in self.down.iter().enumerate() {
            blend_rows(image, at, weight, &mut self.row);
            let span = (top + y) * width + left..(top + y) * width + left + inner;
            let red = &mut red[span.clone()];
            let green = &mut green[span.clone()];
            let blue = &mut blue[span];
            for (((tap, r), g), b) in self.across.iter().zip(red).zip(green).zip(blue) {
                let [vr, vg, vb] = gather(&self.row, tap);
                *r = red_of[vr];
                *g = green_of[vg];
                *b = blue_of[vb];
            }
        }
    }

    fn fill_interleaved(&mut self, image: &Image, out: &mut [f32]) {
        let [width, _] = self.format.size;
        let placement = self.placement;
        let pad = usize::from(self.format.fit.pad());
        let mut grey = [0.0; 3];
        for (channel, slot) in self.slot_of.into_iter().enumerate() {
            grey[slot] = self.table[channel][pad];
        }
        let (pixels, _) = out.as_chunks_mut::<3>();
        for (y, line) in pixels.chunks_exact_mut(width).enumerate() {
            let Some(&(at, weight)) = y
                .checked_sub(placement.top)
                .and_then(|inner| self.down.get(inner))
            else {
                line.fill(grey);
                continue;
            };
            let (before, from) = line.split_at_mut(placement.left);
            let (within, after) = from.split_at_mut(placement.width);
            before.fill(grey);
            after.fill(grey);
            blend_rows(image, at, weight, &mut self.row);
            for (tap, pixel) in self.across.iter().zip(within) {
                for (channel, level) in gather(&self.row, tap).into_iter().enumerate() {
                    pixel[self.slot_of[channel]] = self.table[channel][level];
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
        let Content::Image(image) = &frame.content else {
            return Err(DetectorError::WrongContent {
                wanted: ContentKind::Image,
                found: match frame.content {
                    Content::Points(_) => ContentKind::Points,
                    _ => ContentKind::Empty,
                },
            });
        };
        let tensor = inputs.get_mut(&self.format.tensor)?;
        tensor.set_shape(self.shape)?;
        let placement = self
            .fill(image, tensor.f32_mut()?)
            .map_err(|problem| DetectorError::BadFrame {
                index: frame.index,
                problem,
            })?;
        carry.fit = placement.fit([image.width, image.height]);
        Ok(u32::try_from(image.width * image.height).unwrap_or(u32::MAX))
    }
}

fn check(image: &Image) -> Result<(), String> {
    let Image { width, height, rgb } = image;
    if *width == 0 || *height == 0 {
        return Err(format!(
            "the image is {width} × {height}: it must have at least one pixel"
        ));
    }
    let expected = width.checked_mul(*height).and_then(|n| n.checked_mul(3));
    if expected != Some(rgb.len()) {
        return Err(format!(
            "the image is {width} × {height} and holds {} bytes; RGB of that size has width × height × 3",
            rgb.len()
        ));
    }
    Ok(())
}

/// The first of the two source pixels that make pixel `i` of `to`, and the weight of the second (0..1).
///
/// Half-pixel centres: pixel i covers the source around `(i + ½) · from/to − ½`. At both ends the edge
/// pixel stands alone.
fn neighbours(i: usize, to: usize, from: usize) -> (usize, f64) {
    let centre = (i as f64 + 0.5) * (from as f64 / to as f64) - 0.5;
    let last = from - 1;
    if centre <= 0.0 {
        return (0, 0.0);
    }
    let first = centre.floor();
    if first as usize >= last {
        return (last, 0.0);
    }
    (first as usize, centre - first)
}

/// Blends source row `at` with the next into `row`, in units of 2^-[`ROW_BITS`].
fn blend_rows(image: &Image, at: usize, weight: i16, row: &mut [i16]) {
    let stride = image.width * 3;
    let above = &image.rgb[at * stride..(at + 1) * stride];
    let (inner, spare) = row.split_at_mut(stride);
    if weight == 0 {
        for (out, a) in inner.iter_mut().zip(above) {
            *out = i16::from(*a) << ROW_BITS;
        }
    } else {
        let below = &image.rgb[(at + 1) * stride..(at + 2) * stride];
        for ((out, a), b) in inner.iter_mut().zip(above).zip(below) {
            let (a, b) = (i16::from(*a), i16::from(*b));
            // The high half of a 16 × 16 bit product is one instruction on every machine, and the scale
            // is chosen so that it is the product in units of the row: 7 + 15 − 16 = 6 bits.
            let difference = i32::from((b - a) << (16 + ROW_BITS - DOWN_BITS));
            *out = (a << ROW_BITS) + ((difference * i32::from(weight)) >> 16) as i16;
        }
    }
    let (_, last) = inner.split_at(stride - 3);
    spare.copy_from_slice(last);
}

/// The three channels at a tap, as 8-bit levels.
#[inline(always)]
fn gather(row: &[i16], tap: &Tap) -> [usize; 3] {
    const SHIFT: u32 = ROW_BITS + ACROSS_BITS;
    let pair = &row[tap.at..tap.at + 6];
    std::array::from_fn(|channel| {
        let (a, b) = (i32::from(pair[channel]), i32::from(pair[channel + 3]));
        let value = (a << ACROSS_BITS) + (b - a) * tap.weight + (1 << (SHIFT - 1));
        // Within 0..=255 by construction; the cast lets the compiler see it and drop the bounds check.
        usize::from((value >> SHIFT) as u8)
    })
}
