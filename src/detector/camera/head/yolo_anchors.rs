//! YOLOv5 and YOLOv7: three anchors a cell.
//!
//! Exports come in two forms: decoded in the network, `[1, boxes, 5 + classes]` with pixels and sigmoid
//! scores; or the raw maps of each scale, `[1, anchors · (5 + classes), h, w]` or
//! `[1, anchors, h, w, 5 + classes]`. Raw values decode as `centre = (2σ(xy) − ½ + cell) · stride`,
//! `size = (2σ(wh))² · anchor` (ultralytics/yolov5, `models/yolo.py`, `Detect`).

use super::super::nms::Candidates;
use super::{Decode, Geometry, HeadError, centred, check_strides, logit, output, rows, sigmoid};
use crate::record::field::{self, Entries, Value};
use crate::record::fields;
use crate::tensor::TensorSet;
use crate::written::Rules;

fields! {
    /// The anchor-based YOLO head.
    #[derive(Clone, Debug, PartialEq)]
    pub enum YoloAnchors: "outputs", else "Decoded" {
        /// One output, already in pixels: `Decoded(output: "output0")`.
        Decoded(0, "Decoded(output: \"output0\")") {
            /// Output of shape `[1, boxes, 5 + classes]`.
            output: String, required "output: \"output0\"";
        },
        /// The maps of each scale: `Maps(levels: [...])`.
        Maps[AnchorMaps, 0, "Maps(levels: [(output: …, stride: 8, anchors: […])])"],
    }
}

fields! {
    /// The maps of each scale.
    #[derive(Clone, Debug, PartialEq)]
    pub struct AnchorMaps: no default, "Maps", "fields of the head" {
        /// One entry a scale.
        pub levels: Vec<AnchorLevel>, required "levels: [(output: …, stride: 8, anchors: […])]";
        /// Whether values are raw (`true`, the default) or have been through the sigmoid in the network.
        pub logits: bool = true;
    }
}

fields! {
    /// The output of one stride, with its anchors.
    #[derive(Clone, Debug, PartialEq)]
    pub struct AnchorLevel: no default, "Level", "(output: \"p3\", stride: 8, anchors: [[10, 13]])",
        list "a level", "a list of levels, such as [(output: …, stride: 8, anchors: […])]" {
        /// Output of shape `[1, anchors · (5 + classes), h, w]` or `[1, anchors, h, w, 5 + classes]`.
        pub output: String, required "output: \"p3\"";
        /// Pixels of the input a cell.
        pub stride: u32, required "stride: 8";
        /// Width and height of each anchor in pixels of the input.
        pub anchors: Vec<[f32; 2]>, required "anchors: [[10, 13]]";
    }
}

/// The head as the choice of all heads has it: one field, whose name may be left out.
impl YoloAnchors {
    pub(super) const FIELDS: &[&str] = &["outputs"];

    pub(super) fn read_fields(entries: &mut dyn Entries) -> Option<Self> {
        field::required(
            entries,
            "outputs",
            "YoloAnchors(Decoded(output: \"output0\"))",
            Self::read,
            None,
        )
    }

    pub(super) fn texts(&self) -> Vec<(&'static str, String)> {
        vec![("outputs", self.text())]
    }
}

impl Decode for YoloAnchors {
    fn check(&self, geometry: &Geometry, rules: &mut Rules<'_>) {
        let YoloAnchors::Maps(maps) = self else { return };
        let strides = maps.levels.iter().map(|level| level.stride);
        check_strides(geometry, "head.levels", ".stride", strides, rules);
        for (index, level) in maps.levels.iter().enumerate() {
            let path = format!("head.levels[{index}].anchors");
            rules.require(
                !level.anchors.is_empty(),
                &path,
                "an empty list",
                "at least one anchor, such as [10, 13]",
            );
            for (index, anchor) in level.anchors.iter().enumerate() {
                let ok = anchor.iter().all(|side| side.is_finite() && *side > 0.0);
                let found = format!("{anchor:?}");
                rules.require(
                    ok,
                    &format!("{path}[{index}]"),
                    found,
                    "width and height in pixels, both above 0",
                );
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
    for (anchor, [anchor_w, anchor_h]) in level.anchors.iter().enumerate() {
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
