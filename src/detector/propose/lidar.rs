//! The rules for networks that take pillars or points, or a canvas of pillars' features.
//!
//! What a LiDAR network sees in metres, and its anchors, are not in its file. They are filled in where the grid is one that a public
//! configuration has (KITTI's, 432 × 496 pillars); of any other only the time can be had until somebody writes them.

use super::camera::Rule;
use super::draft::{LidarDraft, Piece, Place};
use super::seen::{Seen, Tensor};
use super::{Draft, Proposal};

pub(super) const RULES: &[Rule] = &[centre_heads, whole, encoder, backbone];

/// One of the two networks of a PointPillars.
#[derive(Clone, Debug, PartialEq)]
pub enum Part {
    /// From pillars to features.
    Encoder {
        /// Its inputs, in RON.
        layout: String,
        /// Whose convention the number of features is.
        made_by: Maker,
        /// Its output.
        output: String,
        /// How that is laid out, as a spec has it.
        output_layout: &'static str,
        /// Features of a pillar.
        channels: usize,
        /// Most points of a pillar.
        max_points: usize,
        /// Rows of its inputs, where they are always the same.
        pillars: Option<usize>,
    },
    /// From the canvas to the head's outputs.
    Backbone {
        /// Its input.
        tensor: String,
        /// Features of a cell.
        channels: usize,
        /// Pillars along x and y.
        grid: [usize; 2],
        /// What it puts out.
        outputs: Outputs,
    },
}

/// Whose training code a network comes from, as its shapes tell: they differ in what a box's numbers mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Maker {
    /// second.pytorch: 9 features of a point.
    Second,
    /// OpenPCDet: 10 features of a point.
    OpenPcDet,
}

/// The outputs of an anchor head.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outputs {
    boxes: String,
    classes: String,
    directions: Option<String>,
    /// `CellsChannels` or `ChannelsCells`.
    layout: &'static str,
    /// Cells along x and y.
    cells: [usize; 2],
    /// Anchors of a cell.
    anchors: usize,
    /// Scores of an anchor.
    scores: usize,
}

/// Two networks as one detector.
///
/// # Errors
/// Why they are none, or none that can be written without knowing more; a phrase.
pub fn pair(encoder: &Part, backbone: &Part) -> Result<LidarDraft, String> {
    let (
        Part::Encoder {
            layout,
            made_by,
            output,
            output_layout,
            channels,
            max_points,
            pillars,
        },
        Part::Backbone {
            tensor,
            channels: wanted,
            grid,
            outputs,
        },
    ) = (encoder, backbone)
    else {
        return Err("they are not an encoder and a backbone".to_owned());
    };
    if channels != wanted {
        return Err(format!(
            "the encoder makes {channels} features of a pillar, and the backbone takes {wanted}"
        ));
    }
    let max_pillars = pillars.unwrap_or(12_000);
    let limits = format!("max_points: {max_points}, max_pillars: {max_pillars},");
    let fixed = if pillars.is_some() {
        ", fixed_pillars: true"
    } else {
        ""
    };
    let networks = vec![
        Piece::Fields("encoder: (\n        network: ".to_owned()),
        Piece::Path(Place::Encoder),
        Piece::Fields(format!(
            ", layout: {layout},\n        output: {output:?}, output_layout: {output_layout}, \
             channels: {channels}{fixed},\n    ),\n    scatter: (tensor: {tensor:?}),\n    backbone: (network: "
        )),
        Piece::Path(Place::Backbone),
        Piece::Fields("),".to_owned()),
    ];
    kitti(*grid, *made_by, outputs, &limits, networks)
}

/// KITTI's range and anchors, for the grid that they make.
fn kitti(
    grid: [usize; 2],
    maker: Maker,
    outputs: &Outputs,
    limits: &str,
    networks: Vec<Piece>,
) -> Result<LidarDraft, String> {
    const GRID: [usize; 2] = [432, 496];
    let [nx, ny] = grid;
    if grid != GRID {
        return Err(format!(
            "its grid of {nx} × {ny} pillars is none whose range and anchors are known here; write them into a spec (docs/detectors.md), with the values of its training configuration"
        ));
    }
    let stride = nx / outputs.cells[0].max(1);
    // Size along x, along y and along z at rotation 0, and height of the middle.
    let anchors: &[(&str, [&str; 3], &str)] = match (outputs.anchors, outputs.scores) {
        (2, 1) => &[("Car", ["1.6", "3.9", "1.56"], "-1.0")],
        (6, 3) => &[
            ("Car", ["1.6", "3.9", "1.56"], "-1.0"),
            ("Pedestrian", ["0.6", "0.8", "1.73"], "0.265"),
            ("Cyclist", ["0.6", "1.76", "1.73"], "0.265"),
        ],
        (anchors, scores) => {
            return Err(format!(
                "its {anchors} anchors a cell with {scores} scores each are not KITTI's one class or three; write them into a spec (docs/detectors.md)"
            ));
        }
    };
    let is_second = maker == Maker::Second;
    let list: Vec<String> = anchors
        .iter()
        .enumerate()
        .map(|(class, (_, [width, length, height], z))| {
            // The first side lies along x at rotation 0: the width for second.pytorch, the length for OpenPCDet.
            let (x, y) = if is_second {
                (width, length)
            } else {
                (length, width)
            };
            format!("(class: {class}, size: ({x}, {y}, {height}), z: {z}, rotations: [0.0, 1.57])")
        })
        .collect();
    let directions = outputs
        .directions
        .as_ref()
        .map_or(String::new(), |name| format!(", directions: {name:?}"));
    let rules = match is_second {
        true => "convention: Second, direction_rule: Sign, drop_empty: true",
        false => {
            "convention: Heading, direction_rule: Bins(offset: 0.78539, limit_offset: 0.0), placement: Ends"
        }
    };
    let head = format!(
        "Anchors(\n        boxes: {:?}, classes: {:?}{directions}, layout: {}, stride: {stride},\n        {rules},\n        anchors: [\n            {},\n        ],\n    )",
        outputs.boxes,
        outputs.classes,
        outputs.layout,
        list.join(",\n            ")
    );
    let when_full = if is_second { "" } else { " when_full: Skip," };
    Ok(LidarDraft {
        classes: anchors.iter().map(|(name, ..)| *name).collect(),
        grid: format!(
            "range: (x: (0.0, 69.12), y: (-39.68, 39.68), z: (-3.0, 1.0)), voxel: (0.16, 0.16, 4.0),\n    {limits}{when_full}"
        ),
        networks,
        head,
        assumed: vec![
            "Range, pillars, anchors and classes are not in the file: these are KITTI's, whose grid of 432 × 496 pillars it has.",
            match is_second {
                true => "Convention and direction rule are second.pytorch's, whose 9 features it takes.",
                false => {
                    "Convention, direction rule and placement are OpenPCDet's, whose 10 features it takes."
                }
            },
        ],
    })
}

fn proposal(family: &'static str, fit: u8, reasons: Vec<String>, draft: Draft) -> Option<Proposal> {
    Some(Proposal {
        family,
        fit,
        reasons,
        draft,
    })
}

/// Centres of objects as heat maps, with a map for each quantity of a box: CenterPoint.
fn centre_heads(seen: &Seen<'_>) -> Option<Proposal> {
    let has = |parts: &[&str]| seen.outputs.iter().any(|output| output.is_called(parts));
    let is_it = has(&["hm", "heatmap"]) && has(&["rot"]) && has(&["dim"]) && has(&["height", "hei"]);
    if !is_it || seen.image.is_some() {
        return None;
    }
    let reasons = vec![format!(
        "{} outputs with heat maps, heights, dimensions and rotations",
        seen.outputs.len()
    )];
    let why = Draft::TimeOnly("which has no head here: time only".to_owned());
    proposal("CenterPoint", 95, reasons, why)
}

/// The eight inputs of a published encoder, a tensor a quantity.
const PLANES: [&str; 8] = [
    "pillar_x",
    "pillar_y",
    "pillar_z",
    "pillar_i",
    "x_sub_shaped",
    "y_sub_shaped",
    "mask",
    "num_points_per_pillar",
];

fn encoder(seen: &Seen<'_>) -> Option<Proposal> {
    let output = seen.only_output()?;
    let (layout, made_by, pillars, max_points, reason) =
        planes(seen).or_else(|| pillars_by_features(seen))?;
    let (channels, output_layout) = features_of(output, pillars)?;
    let reasons = vec![
        reason,
        format!("output `{}` has {channels} features for each pillar", output.name),
    ];
    let part = Part::Encoder {
        layout,
        made_by,
        output: output.name.to_owned(),
        output_layout,
        channels,
        max_points,
        pillars,
    };
    proposal(
        "the pillar encoder of a PointPillars",
        85,
        reasons,
        Draft::Part(part),
    )
}

type Pillars = (String, Maker, Option<usize>, usize, String);

fn planes(seen: &Seen<'_>) -> Option<Pillars> {
    let has_all = PLANES
        .iter()
        .all(|name| seen.inputs.iter().any(|input| input.name == *name));
    let x = seen.inputs.iter().find(|input| input.name == PLANES[0])?;
    let &[_, _, pillars, Some(points)] = &x.dims[..] else {
        return None;
    };
    // The constants that this export is published with.
    let layout = "Planes(first_centre: (0.1, -39.9))".to_owned();
    let reason = "eight inputs, a tensor for each quantity of a point".to_owned();
    has_all.then_some((layout, Maker::Second, pillars, points, reason))
}

/// Features of a point by their number, in the two orders of dimensions.
fn features(count: usize, are_planes: bool) -> Option<(&'static str, Maker)> {
    Some(match (count, are_planes) {
        (9, _) => (
            "[X, Y, Z, Intensity, MeanX, MeanY, MeanZ, CentreX, CentreY]",
            Maker::Second,
        ),
        (10, false) => (
            "[X, Y, Z, Intensity, MeanX, MeanY, MeanZ, CentreX, CentreY, CentreZ]",
            Maker::OpenPcDet,
        ),
        // CenterPoint's for nuScenes: the time of a point is the fifth.
        (10, true) => (
            "[X, Y, Z, Intensity, Zero, MeanX, MeanY, MeanZ, CentreX, CentreY]",
            Maker::OpenPcDet,
        ),
        _ => return None,
    })
}

/// Most points of a pillar that any configuration has.
const MOST_POINTS: usize = 128;

fn pillars_by_features(seen: &Seen<'_>) -> Option<Pillars> {
    for input in seen.inputs.iter().filter(|input| input.element == "float") {
        let (pillars, points, count, are_planes, is_batched) = match input.dims[..] {
            [Some(1), pillars, Some(points), Some(count)] if features(count, false).is_some() => {
                (pillars, points, count, false, true)
            }
            [Some(1), Some(count), pillars, Some(points)] => (pillars, points, count, true, true),
            [pillars, Some(points), Some(count)] => (pillars, points, count, false, false),
            _ => continue,
        };
        let Some((list, maker)) = features(count, are_planes) else {
            continue;
        };
        if points > MOST_POINTS || pillars.is_some_and(|pillars| pillars < points) {
            continue;
        }
        let mask = seen.inputs.iter().find(|other| {
            other.name != input.name
                && matches!(other.dims[..], [Some(1), p, Some(n), Some(1)] if p == pillars && n == points)
        });
        let mask = mask.map_or(String::new(), |mask| format!(", mask: {:?}", mask.name));
        let batched = if is_batched { "" } else { ", batched: false" };
        let layout = match are_planes {
            true => format!(
                "FeaturesPillarsPoints(tensor: {:?}, features: {list})",
                input.name
            ),
            false => format!(
                "PillarsPointsFeatures(\n            tensor: {:?}{mask}{batched},\n            features: {list},\n        )",
                input.name
            ),
        };
        let reason = format!(
            "input `{}` has {points} points of {count} features for each pillar",
            input.name
        );
        return Some((layout, maker, pillars, points, reason));
    }
    None
}

/// Channels of an encoder's output, and how it is laid out.
fn features_of(output: &Tensor<'_>, pillars: Option<usize>) -> Option<(usize, &'static str)> {
    match output.dims[..] {
        [_, Some(channels), rows, Some(1)] if rows == pillars => Some((channels, "ChannelsPillars")),
        [_, rows, Some(channels)] | [rows, Some(channels)] if rows == pillars => {
            Some((channels, "PillarsChannels"))
        }
        [_, Some(channels), rows] if rows == pillars => Some((channels, "ChannelsPillars")),
        _ => None,
    }
}

/// Outputs for boxes, scores and directions by name, whose channels are seven values of an anchor.
fn anchor_outputs(seen: &Seen<'_>) -> Option<Outputs> {
    let find = |is_it: &dyn Fn(&Tensor<'_>) -> bool| seen.outputs.iter().find(|output| is_it(output));
    let directions = find(&|output| output.is_called(&["dir"]));
    let boxes = find(&|output| output.is_called(&["box"]) && !output.is_called(&["dir"]))?;
    let classes =
        find(&|output| output.is_called(&["cls", "score", "class"]) && !output.is_called(&["dir", "box"]))?;
    let [a, b, c] = boxes.behind_batch()?[..] else {
        return None;
    };
    let of = |tensor: &Tensor<'_>| tensor.behind_batch().filter(|dims| dims.len() == 3);
    let scores = of(classes)?;
    let (layout, cells, channels, score_channels) = match (a % 7 == 0, c % 7 == 0) {
        // The grid is the same in both, and the channels are not.
        (_, true) if scores[..2] == [a, b] => ("CellsChannels", [b, a], c, scores[2]),
        (true, _) if scores[1..] == [b, c] => ("ChannelsCells", [c, b], a, scores[0]),
        _ => return None,
    };
    let anchors = channels / 7;
    if anchors == 0 || score_channels % anchors != 0 {
        return None;
    }
    Some(Outputs {
        boxes: boxes.name.to_owned(),
        classes: classes.name.to_owned(),
        directions: directions.map(|output| output.name.to_owned()),
        layout,
        cells,
        anchors,
        scores: score_channels / anchors,
    })
}

fn heads_reason(outputs: &Outputs) -> String {
    let Outputs {
        boxes,
        cells,
        anchors,
        scores,
        ..
    } = outputs;
    format!(
        "output `{boxes}` has seven corrections for each of {anchors} anchors in {} × {} cells, and there are {scores} scores an anchor",
        cells[0], cells[1]
    )
}

fn backbone(seen: &Seen<'_>) -> Option<Proposal> {
    let [canvas] = &seen.inputs[..] else {
        return None;
    };
    let [channels, ny, nx] = canvas.behind_batch()?[..] else {
        return None;
    };
    let outputs = anchor_outputs(seen)?;
    let reasons = vec![
        format!(
            "input `{}` has {channels} features on {nx} × {ny} pillars",
            canvas.name
        ),
        heads_reason(&outputs),
    ];
    let part = Part::Backbone {
        tensor: canvas.name.to_owned(),
        channels,
        grid: [nx, ny],
        outputs,
    };
    proposal(
        "the backbone and head of a PointPillars",
        90,
        reasons,
        Draft::Part(part),
    )
}

/// Pillars, their cells and their number in, boxes out: the scatter is in the network.
fn whole(seen: &Seen<'_>) -> Option<Proposal> {
    let outputs = anchor_outputs(seen)?;
    let (layout, maker, pillars, max_points, reason) = pillars_by_features(seen)?;
    let is_cells = |input: &&Tensor<'_>| {
        matches!(input.element, "int32" | "int64")
            && input.dims.len() == 2
            && input.dims[1].is_some_and(|columns| (3..=4).contains(&columns))
    };
    let cells = seen.inputs.iter().find(is_cells)?;
    let count = seen.inputs.iter().find(|input| input.dims[..] == [Some(1)]);
    let reasons = vec![
        reason,
        format!("input `{}` takes their cells", cells.name),
        heads_reason(&outputs),
    ];
    let columns = if cells.dims[1] == Some(4) {
        "[Zero, Zero, Y, X]"
    } else {
        "[Zero, Y, X]"
    };
    let fixed = if pillars.is_some() {
        ", fixed_pillars: true"
    } else {
        ""
    };
    let count = count.map_or(String::new(), |count| format!(", count: {:?}", count.name));
    let networks = vec![
        Piece::Fields("whole: (\n        network: ".to_owned()),
        Piece::Path(Place::Whole),
        Piece::Fields(format!(
            ",\n        input: Pillars(\n            layout: {layout},\n            cells: {:?}, cell_columns: {columns}{count}{fixed},\n        ),\n    ),",
            cells.name
        )),
    ];
    let limits = format!(
        "max_points: {max_points}, max_pillars: {},",
        pillars.unwrap_or(12_000)
    );
    // Its grid is not in the file; these networks halve it once.
    let grid = outputs.cells.map(|cells| cells.saturating_mul(2));
    let draft = match kitti(grid, maker, &outputs, &limits, networks) {
        Ok(draft) => Draft::Lidar(Box::new(draft)),
        Err(why) => Draft::TimeOnly(format!("time only for now, since {why}")),
    };
    proposal("PointPillars in one network", 92, reasons, draft)
}
