//! YOLOv5 and YOLOv7: three anchors a cell.
//!
//! Exports come in two forms: decoded in the network, `[1, boxes, 5 + classes]` with pixels and sigmoid
//! scores; or the raw maps of each scale, `[1, anchors · (5 + classes), h, w]` or
//! `[1, anchors, h, w, 5 + classes]`. Raw values decode as `centre = (2σ(xy) − ½ + cell) · stride`,
//! `size = (2σ(wh))² · anchor` (ultralytics/yolov5, `models/yolo.py`, `Detect`).

use serde::Deserialize;

use super::super::nms::Candidates;
use super::{Decode, Geometry, HeadError, centred, check_strides, logit, output, rows, sigmoid};
use crate::detector::camera::spec::Fixed;
use crate::tensor::TensorSet;

/// The anchor-based YOLO head.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub enum YoloAnchors {
    /// One output, already in pixels: `Decoded(output: "output0")`.
    Decoded {
        /// Output of shape `[1, boxes, 5 + classes]`.
        output: String,
    },
    /// The maps of each scale: `Maps(levels: [...])`.
    Maps(AnchorMaps),
}

/// The maps of each scale.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AnchorMaps {
    /// One entry a scale.
    pub levels: Vec<AnchorLevel>,
    /// Whether values are raw (`true`, the default) or have been through the sigmoid in the network.
    #[serde(default = "yes")]
    pub logits: bool,
}

fn yes() -> bool {
    true
}

/// One scale.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AnchorLevel {
    /// Output of shape `[1, anchors · (5 + classes), h, w]` or `[1, anchors, h, w, 5 + classes]`.
    pub output: String,
    /// Pixels of the input a cell.
    pub stride: u32,
    /// Width and height of each anchor in pixels of the input.
    pub anchors: Vec<Fixed<2>>,
}

impl Decode for YoloAnchors {
    fn check(&self, geometry: &Geometry, problems: &mut Vec<String>) {
        let YoloAnchors::Maps(maps) = self else { return };
        check_strides(geometry, maps.levels.iter().map(|level| level.stride), problems);
        for level in &maps.levels {
            if level.anchors.is_empty() {
                problems.push(format!("head: output `{}` has no anchors", level.output));
            }
            for Fixed(anchor) in &level.anchors {
                if !anchor.iter().all(|side| side.is_finite() && *side > 0.0) {
                    problems.push(format!(
                        "head: anchor {anchor:?} of output `{}`: sides are pixels above 0",
                        level.output
                    ));
                }
            }
        }
    }

    fn outputs(&self) -> Vec<&str> {
        match self {
            YoloAnchors::Decoded { output } => vec![output],
            YoloAnchors::Maps(maps) => maps.levels.iter().map(|l| l.output.as_str()).collect(),
        }
    }

    fn decode(
        &mut self,
        geometry: &Geometry,
        outputs: &TensorSet,
        found: &mut Candidates,
    ) -> Result<(), HeadError> {
        match self {
            YoloAnchors::Decoded { output } => decode_rows(output, geometry, outputs, found),
            YoloAnchors::Maps(maps) => maps
                .levels
                .iter()
                .try_for_each(|level| decode_level(level, maps.logits, geometry, outputs, found)),
        }
    }
}

fn decode_rows(
    name: &str,
    geometry: &Geometry,
    outputs: &TensorSet,
    found: &mut Candidates,
) -> Result<(), HeadError> {
    let columns = 5 + geometry.classes;
    let values = rows(outputs, name, columns, || format!("{} classes", geometry.classes))?;
    for row in values.chunks_exact(columns) {
        if row[4] >= found.threshold() {
            found.push_cell(row[4], row[5..].iter().copied(), || {
                centred(row[0], row[1], row[2], row[3])
            });
        }
    }
    Ok(())
}

fn decode_level(
    level: &AnchorLevel,
    logits: bool,
    geometry: &Geometry,
    outputs: &TensorSet,
    found: &mut Candidates,
) -> Result<(), HeadError> {
    let [across, down] = geometry.grid(level.stride);
    let columns = 5 + geometry.classes;
    let anchors = level.anchors.len();
    let planes = [1, anchors * columns, down, across];
    let rows = [1, anchors, down, across, columns];
    let (values, dims) = output(outputs, &level.output, &[&planes, &rows], || {
        format!(
            "{anchors} anchors, {} classes, stride {} at {} × {}",
            geometry.classes, level.stride, geometry.width, geometry.height
        )
    })?;
    // Distance between the values of one cell, and between the cells.
    let cells = across * down;
    let (value_step, cell_step) = if dims.len() == 4 { (cells, 1) } else { (1, columns) };
    let stride = level.stride as f32;
    let squash = |raw: f32| if logits { sigmoid(raw) } else { raw };
    // Raw objectness is compared raw, which saves an exponential for nearly every cell.
    let least = if logits {
        logit(found.threshold())
    } else {
        found.threshold()
    };
    for (anchor, Fixed([anchor_w, anchor_h])) in level.anchors.iter().enumerate() {
        let of_anchor = &values[anchor * columns * cells..(anchor + 1) * columns * cells];
        for (i, cell) in geometry.each_cell(level.stride).enumerate() {
            let raw = |k: usize| of_anchor[k * value_step + i * cell_step];
            let objectness = raw(4);
            if objectness < least {
                continue;
            }
            let scores = (5..columns).map(|k| squash(raw(k)));
            found.push_cell(squash(objectness), scores, || {
                let at = |k: usize| 2.0 * squash(raw(k));
                centred(
                    (at(0) - 0.5 + cell[0]) * stride,
                    (at(1) - 0.5 + cell[1]) * stride,
                    at(2) * at(2) * anchor_w,
                    at(3) * at(3) * anchor_h,
                )
            });
        }
    }
    Ok(())
}
