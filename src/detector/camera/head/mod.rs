//! Decode heads: one file a family of networks, from its raw outputs to candidates.
//!
//! A head is what the spec says and the decoder in one: its fields are the spec's. Every head checks the
//! shapes of its outputs against classes and strides before it reads them, so that a wrong spec ends in a
//! sentence on the first frame and not in wrong boxes. Boxes are left in pixels of the network's input;
//! suppression and the way back to the image belong to [`postprocess`](super::postprocess).

mod curve;
mod end_to_end;
mod grid;
mod nanodet;
mod prior_boxes;
mod queries;
mod whole_image;
mod yolo_anchor_free;
mod yolo_anchors;
mod yolox;

pub use curve::{Curve, Function, Unit};
pub use end_to_end::{BoxUnits, EndToEnd, RowColumn};
pub use grid::{Column, Combine, Grid, Level, Order, Point, Score};
pub use nanodet::{CellCentre, NanoDet, NanoDetLevel};
pub use prior_boxes::PriorBoxes;
pub use queries::{NoObject, Queries};
pub use whole_image::{Classifier, Segmentation};
pub use yolo_anchor_free::YoloAnchorFree;
pub use yolo_anchors::{AnchorLevel, AnchorMaps, YoloAnchors};
pub use yolox::YoloxGrid;

use super::nms::{Candidates, Labels, Nms};
use crate::detector::DetectorError;
use crate::record::fields;
use crate::tensor::{Shape, TensorError, TensorSet};
use crate::written::{ProblemKind, Rules};

fields! {
    /// The decode heads, under the names that the spec uses.
    #[derive(Clone, Debug, PartialEq)]
    #[allow(
        clippy::large_enum_variant,
        reason = "a detector has one, for as long as it runs"
    )]
    pub enum Head: "head", else "YoloxGrid" {
        /// YOLOX: one output of rows, boxes relative to grid cells.
        YoloxGrid[YoloxGrid, 0, "YoloxGrid(output: \"output\")"],
        /// YOLOv5 and YOLOv7: anchors, decoded in the network or not.
        YoloAnchors[YoloAnchors, 1, "YoloAnchors(Decoded(output: \"output0\"))"],
        /// YOLOv8, YOLOv9, YOLO11: one output of centre, size and class scores.
        YoloAnchorFree[YoloAnchorFree, 0, "YoloAnchorFree(output: \"output0\")"],
        /// NanoDet: class scores and side distributions a level.
        NanoDet[NanoDet, 0, "NanoDet(levels: […])"],
        /// SSD-like networks that decode their boxes: scores and corners.
        PriorBoxes[PriorBoxes, 0, "PriorBoxes(scores: \"scores\", boxes: \"boxes\")"],
        /// Networks that end in finished boxes.
        EndToEnd[EndToEnd, 0, "EndToEnd(boxes: \"output0\")"],
        /// DETR and its descendants.
        Queries[Queries, 0, "Queries(scores: \"logits\", boxes: \"pred_boxes\")"],
        /// Networks of cells, by what the spec says of their columns.
        Grid[Grid, 0, "Grid(tensors: [\"output\"], columns: [[X, Y, Width, Height, Classes]], levels: [(stride: 8)])"],
        /// Classes of the whole image.
        Classifier[Classifier, 0, "Classifier(output: \"logits\")"],
        /// The class of each pixel.
        Segmentation[Segmentation, 0, "Segmentation(output: \"logits\")"],
    }
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
    /// A number in an output that cannot be right.
    #[error("output `{tensor}` holds {found}, expected {expected}")]
    Value {
        /// The name of the network's output.
        tensor: String,
        /// The number.
        found: f32,
        /// What it may be, and from what that follows.
        expected: String,
    },
}

impl HeadError {
    /// As the detector's error.
    pub fn of_spec(self, spec: &str) -> DetectorError {
        match self {
            HeadError::Tensor(error) => DetectorError::Tensor(error),
            error @ (HeadError::Shape { .. } | HeadError::Value { .. }) => DetectorError::BadSpec {
                spec: spec.to_owned(),
                problem: error.to_string(),
            },
        }
    }
}

/// What a head does.
trait Decode {
    /// What must hold of the head in the spec.
    fn check(&self, geometry: &Geometry, rules: &mut Rules<'_>);
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
            Head::EndToEnd(head) => head,
            Head::Queries(head) => head,
            Head::Grid(head) => head,
            Head::Classifier(head) => head,
            Head::Segmentation(head) => head,
        }
    }
    /// How what it finds is thinned where the spec does not say it.
    ///
    /// Boxes that come suppressed, or do not overlap, are left alone.
    pub(crate) fn usual_nms(&self) -> Nms {
        let untouched = Nms {
            iou: 1.0,
            ..Nms::default()
        };
        match self {
            Head::EndToEnd(_) | Head::Segmentation(_) => untouched,
            Head::Queries(_) => Nms {
                labels: Labels::Every,
                ..untouched
            },
            Head::Classifier(_) => Nms {
                max_detections: 5,
                ..untouched
            },
            _ => Nms::default(),
        }
    }
    /// The lowest score that counts where the spec does not say it.
    pub(crate) fn usual_threshold(&self) -> f32 {
        match self {
            // The best five count, whatever they reach; of pixels every class.
            Head::Classifier(_) | Head::Segmentation(_) => 0.0,
            _ => 0.25,
        }
    }
    /// What must hold of it in the spec.
    pub(crate) fn check(&self, geometry: &Geometry, rules: &mut Rules<'_>) {
        self.as_decode().check(geometry, rules);
        if self.outputs().iter().any(|output| output.is_empty()) {
            let problem = "an output of `head` has no name".to_owned();
            rules.report("head", ProblemKind::Syntax { problem });
        }
    }
    /// The outputs of the network that it reads.
    pub fn outputs(&self) -> Vec<&str> {
        self.as_decode().outputs()
    }
    /// Whether its boxes are in pixels of the image, and not of the network's input.
    pub fn is_of_image(&self) -> bool {
        matches!(self, Head::EndToEnd(head) if head.units == BoxUnits::ImagePixels)
    }
    /// Adds the candidates of one frame to `found`, boxes in pixels of the network's input or of the image
    /// ([`is_of_image`](Self::is_of_image)).
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
            Head::EndToEnd(head) => head,
            Head::Queries(head) => head,
            Head::Grid(head) => head,
            Head::Classifier(head) => head,
            Head::Segmentation(head) => head,
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

/// The values of an output of shape `[1, any, columns]` or `[1, any, 1, columns]`.
fn rows<'a>(
    outputs: &'a TensorSet,
    name: &str,
    columns: usize,
    why: impl FnOnce() -> String,
) -> Result<&'a [f32], HeadError> {
    let tensor = outputs.get(name)?;
    match *tensor.shape().dims() {
        [1, _, c] | [1, _, 1, c] if c == columns => Ok(tensor.f32()?),
        _ => Err(HeadError::Shape {
            tensor: name.to_owned(),
            found: *tensor.shape(),
            expected: format!("[1, boxes, {columns}] ({})", why()),
        }),
    }
}

/// Strides must divide the input: a network's grid is otherwise not what we would count. They stand in the list at `path`, there
/// in the field `field` where they are not the list themselves.
fn check_strides(
    geometry: &Geometry,
    path: &str,
    field: &str,
    strides: impl ExactSizeIterator<Item = u32>,
    rules: &mut Rules<'_>,
) {
    let wanted = "at least one stride, such as 8, 16, 32";
    rules.require(strides.len() > 0, path, "an empty list", wanted);
    for (index, stride) in strides.enumerate() {
        let size = [("width", geometry.width), ("height", geometry.height)];
        for (name, pixels) in size {
            let divides = stride != 0 && pixels % stride as usize == 0;
            let wanted = format!("a divisor of the input's {name}, {pixels} pixels");
            rules.require(divides, &format!("{path}[{index}]{field}"), stride, wanted);
        }
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
