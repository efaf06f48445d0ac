//! Decode heads: one file a family of networks, from its raw outputs to candidates.
//!
//! A head is what the spec says and the decoder in one: its fields are the spec's. Every head checks the
//! shapes of its outputs against classes and strides before it reads them, so that a wrong spec ends in a
//! sentence on the first frame and not in wrong boxes. Boxes are left in pixels of the network's input;
//! suppression and the way back to the image belong to [`postprocess`](super::postprocess).

mod nanodet;
mod prior_boxes;
mod yolo_anchor_free;
mod yolo_anchors;
mod yolox;

use serde::Deserialize;

pub use nanodet::{CellCentre, NanoDet, NanoDetLevel};
pub use prior_boxes::PriorBoxes;
pub use yolo_anchor_free::YoloAnchorFree;
pub use yolo_anchors::{AnchorLevel, AnchorMaps, YoloAnchors};
pub use yolox::YoloxGrid;

use super::nms::Candidates;
use crate::detector::DetectorError;
use crate::tensor::{Shape, TensorError, TensorSet};

/// The decode heads, under the names that the spec uses.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub enum Head {
    /// YOLOX: one output of rows, boxes relative to grid cells.
    YoloxGrid(YoloxGrid),
    /// YOLOv5 and YOLOv7: anchors, decoded in the network or not.
    YoloAnchors(YoloAnchors),
    /// YOLOv8, YOLOv9, YOLO11: one output of centre, size and class scores.
    YoloAnchorFree(YoloAnchorFree),
    /// NanoDet: class scores and side distributions a level.
    NanoDet(NanoDet),
    /// SSD-like networks that decode their boxes: scores and corners.
    PriorBoxes(PriorBoxes),
}

/// What all heads need to know of the detector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Geometry {
    /// Width of the network's input in pixels.
    pub width: usize,
    /// Height of the network's input in pixels.
    pub height: usize,
    /// Number of classes, without a background class.
    pub classes: usize,
}

impl Geometry {
    /// Cells across and down at a stride.
    fn grid(&self, stride: u32) -> [usize; 2] {
        [self.width / stride as usize, self.height / stride as usize]
    }
    fn cells(&self, stride: u32) -> usize {
        let [across, down] = self.grid(stride);
        across * down
    }
    /// Column and row of each cell of a grid, in the order in which networks list them.
    fn each_cell(&self, stride: u32) -> impl Iterator<Item = [f32; 2]> + use<> {
        let [across, down] = self.grid(stride);
        (0..down).flat_map(move |y| (0..across).map(move |x| [x as f32, y as f32]))
    }
}

/// What a head finds wrong with the outputs.
#[derive(Debug, thiserror::Error)]
pub enum HeadError {
    /// An output is missing or not `f32`.
    #[error(transparent)]
    Tensor(#[from] TensorError),
    /// An output of another shape than the spec leads to.
    #[error(
        "output `{tensor}` has shape {found}, expected {expected}; check classes, strides and input size"
    )]
    Shape {
        /// The name of the network's output.
        tensor: String,
        /// The shape that the network gave it.
        found: Shape,
        /// The shape that classes and strides lead to, and from which of them it comes.
        expected: String,
    },
}

impl HeadError {
    /// As the detector's error.
    pub fn of_spec(self, spec: &str) -> DetectorError {
        match self {
            HeadError::Tensor(error) => DetectorError::Tensor(error),
            shape @ HeadError::Shape { .. } => DetectorError::BadSpec {
                spec: spec.to_owned(),
                problem: shape.to_string(),
            },
        }
    }
}

/// What a head does.
trait Decode {
    /// Adds to `problems` what is wrong with the spec, in sentences.
    fn check(&self, geometry: &Geometry, problems: &mut Vec<String>);
    /// The outputs that it reads.
    fn outputs(&self) -> Vec<&str>;
    /// Adds the candidates of one frame.
    fn decode(
        &mut self,
        geometry: &Geometry,
        outputs: &TensorSet,
        found: &mut Candidates,
    ) -> Result<(), HeadError>;
}

impl Head {
    fn as_decode(&self) -> &dyn Decode {
        match self {
            Head::YoloxGrid(head) => head,
            Head::YoloAnchors(head) => head,
            Head::YoloAnchorFree(head) => head,
            Head::NanoDet(head) => head,
            Head::PriorBoxes(head) => head,
        }
    }
    /// Adds to `problems` what is wrong with the spec, in sentences.
    pub fn check(&self, geometry: &Geometry, problems: &mut Vec<String>) {
        self.as_decode().check(geometry, problems);
        for output in self.outputs() {
            if output.is_empty() {
                problems.push("head: an output has no name".to_owned());
            }
        }
    }
    /// The outputs of the network that it reads.
    pub fn outputs(&self) -> Vec<&str> {
        self.as_decode().outputs()
    }
    /// Adds the candidates of one frame to `found`, boxes in pixels of the network's input.
    ///
    /// # Errors
    /// An output that is missing, or of another shape than the spec leads to.
    pub fn decode(
        &mut self,
        geometry: &Geometry,
        outputs: &TensorSet,
        found: &mut Candidates,
    ) -> Result<(), HeadError> {
        let head: &mut dyn Decode = match self {
            Head::YoloxGrid(head) => head,
            Head::YoloAnchors(head) => head,
            Head::YoloAnchorFree(head) => head,
            Head::NanoDet(head) => head,
            Head::PriorBoxes(head) => head,
        };
        head.decode(geometry, outputs, found)
    }
}

/// The values of an output and its shape, once that is one of those expected; `why` says what they come from.
fn output<'a>(
    outputs: &'a TensorSet,
    name: &str,
    expected: &[&[usize]],
    why: impl FnOnce() -> String,
) -> Result<(&'a [f32], &'a [usize]), HeadError> {
    let tensor = outputs.get(name)?;
    let dims = tensor.shape().dims();
    if expected.contains(&dims) {
        return Ok((tensor.f32()?, dims));
    }
    let shapes = expected
        .iter()
        .map(|dims| format!("{dims:?}"))
        .collect::<Vec<_>>()
        .join(" or ");
    Err(HeadError::Shape {
        tensor: name.to_owned(),
        found: *tensor.shape(),
        expected: format!("{shapes} ({})", why()),
    })
}

/// The values of an output of shape `[1, any, columns]`.
fn rows<'a>(
    outputs: &'a TensorSet,
    name: &str,
    columns: usize,
    why: impl FnOnce() -> String,
) -> Result<&'a [f32], HeadError> {
    let tensor = outputs.get(name)?;
    match *tensor.shape().dims() {
        [1, _, c] if c == columns => Ok(tensor.f32()?),
        _ => Err(HeadError::Shape {
            tensor: name.to_owned(),
            found: *tensor.shape(),
            expected: format!("[1, boxes, {columns}] ({})", why()),
        }),
    }
}

/// Strides must divide the input: a network's grid is otherwise not what we would count.
fn check_strides(geometry: &Geometry, strides: impl Iterator<Item = u32>, problems: &mut Vec<String>) {
    let mut any = false;
    for stride in strides {
        any = true;
        let size = [("width", geometry.width), ("height", geometry.height)];
        for (name, pixels) in size {
            if stride == 0 || pixels % stride as usize != 0 {
                problems.push(format!(
                    "head: stride {stride} does not divide the input's {name} of {pixels} pixels"
                ));
            }
        }
    }
    if !any {
        problems.push("head: no stride is given; write one for each scale, such as 8, 16, 32".to_owned());
    }
}

fn sigmoid(x: f32) -> f32 {
    1.0 / (1.0 + (-x).exp())
}

/// The inverse of [`sigmoid`]: the raw value at which a score reaches `p`.
fn logit(p: f32) -> f32 {
    (p / (1.0 - p)).ln()
}

/// A box from its centre and size.
fn centred(cx: f32, cy: f32, w: f32, h: f32) -> crate::detector::Box2d {
    crate::detector::Box2d {
        x1: cx - w / 2.0,
        y1: cy - h / 2.0,
        x2: cx + w / 2.0,
        y2: cy + h / 2.0,
    }
}

#[cfg(test)]
mod tests;
