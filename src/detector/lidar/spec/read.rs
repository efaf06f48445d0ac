//! How each field of a spec is written, and what it is where it is not.

use super::{
    AnchorHeadSpec, AnchorSpec, BackboneSpec, CamerasSpec, CellColumn, EncoderSpec, HeadSpec, LayoutSpec,
    LidarSpec, NmsSpec, PointColumn, RangeSpec, ScatterSpec, WholeInput, WholeSpec,
};
use crate::detector::lidar::anchors::{Activation, Convention, DirectionRule};
use crate::detector::lidar::encode::Feature;
use crate::detector::lidar::heatmap::{HeatmapSpec, Task};
use crate::written::{Choices, Fields, Node, Read, Reader, choice, one_of, plain};

const LIDAR_FIELDS: &[&str] = &[
    "name",
    "classes",
    "range",
    "voxel",
    "max_points",
    "max_pillars",
    "when_full",
    "encoder",
    "scatter",
    "backbone",
    "whole",
    "cameras",
    "head",
    "score_threshold",
    "nms",
];

const ENCODER_FIELDS: &[&str] = &[
    "network",
    "layout",
    "output",
    "output_layout",
    "channels",
    "fixed_pillars",
];

static LAYOUTS: Choices<'_> = Choices {
    what: "layout",
    default: "PillarsPointsFeatures",
    all: &[
        choice(
            "Planes",
            &[
                "x",
                "y",
                "z",
                "intensity",
                "centre_x",
                "centre_y",
                "mask",
                "count",
                "first_centre",
            ],
            0,
            "Planes()",
        ),
        choice(
            "PillarsPointsFeatures",
            &["tensor", "features", "mask", "batched"],
            0,
            "PillarsPointsFeatures(tensor: \"points\", features: [X, Y, Z])",
        ),
        choice(
            "FeaturesPillarsPoints",
            &["tensor", "features"],
            0,
            "FeaturesPillarsPoints(tensor: \"points\", features: [X, Y, Z])",
        ),
    ],
};

static WHOLE_INPUTS: Choices<'_> = Choices {
    what: "input",
    default: "Pillars",
    all: &[
        choice(
            "Pillars",
            &["layout", "cells", "cell_columns", "count", "fixed_pillars"],
            0,
            "Pillars(layout: …, cells: \"cells\")",
        ),
        choice(
            "Points",
            &["tensor", "columns", "max", "fixed"],
            0,
            "Points(tensor: \"points\", max: 100000)",
        ),
    ],
};

static HEADS: Choices<'_> = Choices {
    what: "head",
    default: "Anchors",
    all: &[
        choice(
            "Anchors",
            &[
                "boxes",
                "classes",
                "directions",
                "direction_rule",
                "layout",
                "scores",
                "activation",
                "convention",
                "placement",
                "stride",
                "anchors",
                "drop_empty",
            ],
            0,
            "Anchors(boxes: \"boxes\", classes: \"scores\", stride: 2, anchors: […])",
        ),
        choice(
            "Heatmap",
            &[
                "tasks",
                "stride",
                "activation",
                "sides",
                "rotation_order",
                "convention",
                "peaks",
                "least_rotation",
            ],
            0,
            "Heatmap(tasks: [(classes: [0, 1, 2])])",
        ),
    ],
};

static DIRECTION_RULES: Choices<'_> = Choices {
    what: "direction rule",
    default: "Sign",
    all: &[
        plain("Sign"),
        choice(
            "Bins",
            &["offset", "limit_offset"],
            0,
            "Bins(offset: 0.78539, limit_offset: 0.0)",
        ),
    ],
};

impl LidarSpec {
    /// Reads it; what is wrong with it is in the reader afterwards.
    pub(crate) fn read(r: &mut Reader, node: &Node) -> Option<Self> {
        let expected = "Lidar(…) with named fields";
        let f = r.record(node, "a LiDAR detector", "Lidar", expected, LIDAR_FIELDS)?;
        let name = r.needed(&f, "name", "name: \"pointpillars\"", Reader::text);
        let classes = r.needed(&f, "classes", "classes: [\"Car\"]", |r, node, field| {
            r.values(node, field, "a list of names, such as [\"Car\"]", Reader::text)
        });
        let range = "range: (x: (0.0, 70.4), y: (-40.0, 40.0), z: (-3.0, 1.0))";
        let range = r.needed(&f, "range", range, RangeSpec::read);
        let voxel = r.needed(&f, "voxel", "voxel: (0.16, 0.16, 4.0)", numbers::<3, _>);
        let max_points = r.needed(&f, "max_points", "max_points: 100", Reader::whole);
        let max_pillars = r.needed(&f, "max_pillars", "max_pillars: 12000", Reader::whole);
        let when_full = r.optional(&f, "when_full", one_of("when_full")).or_default();
        let encoder = r.optional(&f, "encoder", EncoderSpec::read);
        let scatter = r.optional(&f, "scatter", |r, node, field| {
            let f = r.record(
                node,
                field,
                "Scatter",
                "fields, such as (tensor: \"canvas\")",
                &["tensor"],
            )?;
            let tensor = r.needed(&f, "tensor", "tensor: \"canvas\"", Reader::text)?;
            Some(ScatterSpec { tensor })
        });
        let backbone = r.optional(&f, "backbone", |r, node, field| {
            let example = "fields, such as (network: \"backbone.onnx\")";
            let f = r.record(node, field, "Backbone", example, &["network"])?;
            let network = r.needed(&f, "network", "network: \"backbone.onnx\"", Reader::text)?;
            Some(BackboneSpec { network })
        });
        let whole = r.optional(&f, "whole", WholeSpec::read);
        let cameras = r.optional(&f, "cameras", CamerasSpec::read);
        let head = r.needed(&f, "head", HEADS.all[0].example, HeadSpec::read);
        let score_threshold = r.optional(&f, "score_threshold", Reader::number).or(0.3);
        let nms = r.optional(&f, "nms", NmsSpec::read).or_default();
        Some(LidarSpec {
            name: name?,
            classes: classes?,
            range: range?,
            voxel: voxel?,
            max_points: max_points?,
            max_pillars: max_pillars?,
            when_full,
            encoder: value(encoder),
            scatter: value(scatter),
            backbone: value(backbone),
            whole: value(whole),
            cameras: value(cameras),
            head: head?,
            score_threshold,
            nms,
        })
    }
}

impl RangeSpec {
    fn read(r: &mut Reader, node: &Node, field: &str) -> Option<Self> {
        let example = "fields, such as (x: (0.0, 70.4), y: (-40.0, 40.0), z: (-3.0, 1.0))";
        let f = r.record(node, field, "Range", example, &["x", "y", "z"])?;
        let x = r.needed(&f, "x", "x: (0.0, 70.4)", numbers::<2, _>);
        let y = r.needed(&f, "y", "y: (-40.0, 40.0)", numbers::<2, _>);
        let z = r.needed(&f, "z", "z: (-3.0, 1.0)", numbers::<2, _>);
        Some(RangeSpec { x: x?, y: y?, z: z? })
    }
}

impl EncoderSpec {
    fn read(r: &mut Reader, node: &Node, field: &str) -> Option<Self> {
        let example =
            "fields, such as (network: \"encoder.onnx\", layout: …, output: \"features\", channels: 64)";
        let f = r.record(node, field, "Encoder", example, ENCODER_FIELDS)?;
        let network = r.needed(&f, "network", "network: \"encoder.onnx\"", Reader::text);
        let layout = layout(r, &f);
        let output = r.needed(&f, "output", "output: \"features\"", Reader::text);
        let output_layout = r
            .optional(&f, "output_layout", one_of("output layout"))
            .or_default();
        let channels = r.needed(&f, "channels", "channels: 64", Reader::whole);
        let fixed_pillars = r.optional(&f, "fixed_pillars", Reader::flag).or(false);
        Some(EncoderSpec {
            network: network?,
            layout: layout?,
            output: output?,
            output_layout,
            channels: channels?,
            fixed_pillars,
        })
    }
}

fn layout(r: &mut Reader, fields: &Fields<'_>) -> Option<LayoutSpec> {
    let example = "layout: PillarsPointsFeatures(tensor: \"points\", features: [X, Y, Z])";
    r.needed(fields, "layout", example, LayoutSpec::read)
}

impl LayoutSpec {
    fn read(r: &mut Reader, node: &Node, _: &str) -> Option<Self> {
        let (name, f) = r.choice(node, &LAYOUTS)?;
        if name == "Planes" {
            return Some(LayoutSpec::planes(r, &f));
        }
        let tensor = r.needed(&f, "tensor", "tensor: \"points\"", Reader::text);
        let features = r.needed(
            &f,
            "features",
            "features: [X, Y, Z, Intensity]",
            |r, node, field| {
                let expected = "a list of features, such as [X, Y, Z, Intensity]";
                r.values::<Feature>(node, field, expected, one_of("feature"))
            },
        );
        Some(match name {
            "FeaturesPillarsPoints" => LayoutSpec::FeaturesPillarsPoints {
                tensor: tensor?,
                features: features?,
            },
            _ => LayoutSpec::PillarsPointsFeatures {
                tensor: tensor?,
                features: features?,
                mask: value(r.optional(&f, "mask", Reader::text)),
                batched: r.optional(&f, "batched", Reader::flag).or(true),
            },
        })
    }

    fn planes(r: &mut Reader, f: &Fields<'_>) -> Self {
        let mut tensor = |name, usual: &str| r.optional(f, name, Reader::text).or(usual.to_owned());
        LayoutSpec::Planes {
            x: tensor("x", "pillar_x"),
            y: tensor("y", "pillar_y"),
            z: tensor("z", "pillar_z"),
            intensity: tensor("intensity", "pillar_i"),
            centre_x: tensor("centre_x", "x_sub_shaped"),
            centre_y: tensor("centre_y", "y_sub_shaped"),
            mask: tensor("mask", "mask"),
            count: tensor("count", "num_points_per_pillar"),
            first_centre: value(r.optional(f, "first_centre", numbers::<2, _>)),
        }
    }
}

impl WholeSpec {
    fn read(r: &mut Reader, node: &Node, field: &str) -> Option<Self> {
        let example = "fields, such as (network: \"detector.onnx\", input: …)";
        let f = r.record(node, field, "Whole", example, &["network", "input"])?;
        let network = r.needed(&f, "network", "network: \"detector.onnx\"", Reader::text);
        let input = "input: Points(tensor: \"points\", max: 100000)";
        let input = r.needed(&f, "input", input, WholeInput::read);
        Some(WholeSpec {
            network: network?,
            input: input?,
        })
    }
}

impl WholeInput {
    fn read(r: &mut Reader, node: &Node, _: &str) -> Option<Self> {
        let (name, f) = r.choice(node, &WHOLE_INPUTS)?;
        if name == "Points" {
            let columns = r.optional(&f, "columns", |r, node, field| {
                let expected = "a list of columns, such as [X, Y, Z, Intensity]";
                r.values::<PointColumn>(node, field, expected, one_of("column"))
            });
            let tensor = r.needed(&f, "tensor", "tensor: \"points\"", Reader::text);
            let max = r.needed(&f, "max", "max: 100000", Reader::whole);
            let fixed = r.optional(&f, "fixed", Reader::flag).or(false);
            use PointColumn::{Intensity, X, Y, Z};
            return Some(WholeInput::Points {
                tensor: tensor?,
                columns: columns.or(vec![X, Y, Z, Intensity]),
                max: max?,
                fixed,
            });
        }
        let cell_columns = r.optional(&f, "cell_columns", |r, node, field| {
            let expected = "a list of columns, such as [Zero, Zero, Y, X]";
            r.values::<CellColumn>(node, field, expected, one_of("column"))
        });
        let layout = layout(r, &f);
        let cells = r.needed(&f, "cells", "cells: \"cells\"", Reader::text);
        use CellColumn::{X, Y, Zero};
        Some(WholeInput::Pillars {
            layout: layout?,
            cells: cells?,
            cell_columns: cell_columns.or(vec![Zero, Zero, Y, X]),
            count: value(r.optional(&f, "count", Reader::text)),
            fixed_pillars: r.optional(&f, "fixed_pillars", Reader::flag).or(false),
        })
    }
}

impl HeadSpec {
    fn read(r: &mut Reader, node: &Node, _: &str) -> Option<Self> {
        let (name, f) = r.choice(node, &HEADS)?;
        match name {
            "Heatmap" => HeatmapSpec::read(r, &f).map(HeadSpec::Heatmap),
            _ => AnchorHeadSpec::read(r, &f).map(HeadSpec::Anchors),
        }
    }
}

impl HeatmapSpec {
    fn read(r: &mut Reader, f: &Fields<'_>) -> Option<Self> {
        let tasks = r.needed(f, "tasks", "tasks: [(classes: [0, 1, 2])]", |r, node, field| {
            let expected = "a list of tasks, such as [(classes: [0, 1, 2])]";
            r.values(node, field, expected, Task::read)
        });
        Some(HeatmapSpec {
            tasks: tasks?,
            stride: r.optional(f, "stride", Reader::whole).or(1),
            activation: activation(r, f),
            sides: r.optional(f, "sides", one_of("sides")).or_default(),
            rotation_order: r
                .optional(f, "rotation_order", one_of("rotation_order"))
                .or_default(),
            convention: r
                .optional(f, "convention", one_of("convention"))
                .or(Convention::Heading),
            peaks: r.optional(f, "peaks", Reader::flag).or(false),
            least_rotation: r.optional(f, "least_rotation", Reader::number).or(0.0),
        })
    }
}

impl Task {
    fn read(r: &mut Reader, node: &Node, _: &str) -> Option<Self> {
        let example = "(classes: [0, 1, 2], heatmap: \"heatmap\")";
        let known = &[
            "classes", "heatmap", "offset", "height", "size", "rotation", "velocity", "distance",
        ];
        let f = r.record(node, "a task", "Task", example, known)?;
        let classes = r.needed(&f, "classes", "classes: [0, 1, 2]", |r, node, field| {
            let expected = "a list of indices into `classes`, such as [0, 1, 2]";
            r.values(node, field, expected, Reader::whole)
        });
        let mut tensor = |name, usual: &str| r.optional(&f, name, Reader::text).or(usual.to_owned());
        let [heatmap, offset, height, size, rotation] = [
            ("heatmap", "heatmap"),
            ("offset", "reg"),
            ("height", "height"),
            ("size", "dim"),
            ("rotation", "rot"),
        ]
        .map(|(field, usual)| tensor(field, usual));
        Some(Task {
            classes: classes?,
            heatmap,
            offset,
            height,
            size,
            rotation,
            velocity: value(r.optional(&f, "velocity", Reader::text)),
            distance: value(r.optional(&f, "distance", Reader::number)),
        })
    }
}

/// What turns a network's score into 0..=1; `None` is one of its words.
fn activation(r: &mut Reader, f: &Fields<'_>) -> Activation {
    match f.says_none("activation") {
        true => Activation::None,
        false => r.optional(f, "activation", one_of("activation")).or_default(),
    }
}

impl AnchorHeadSpec {
    fn read(r: &mut Reader, f: &Fields<'_>) -> Option<Self> {
        let boxes = r.needed(f, "boxes", "boxes: \"boxes\"", Reader::text);
        let classes = r.needed(f, "classes", "classes: \"scores\"", Reader::text);
        let directions = r.optional(f, "directions", Reader::text);
        let direction_rule = r.optional(f, "direction_rule", direction_rule).or_default();
        let layout = r.optional(f, "layout", one_of("layout")).or_default();
        let scores = r.optional(f, "scores", one_of("scores")).or_default();
        let activation = activation(r, f);
        let convention = r.optional(f, "convention", one_of("convention")).or_default();
        let placement = r.optional(f, "placement", one_of("placement")).or_default();
        let stride = r.needed(f, "stride", "stride: 2", Reader::whole);
        let anchors = r.needed(f, "anchors", "anchors: [(class: 0, …)]", |r, node, field| {
            r.values(
                node,
                field,
                "a list of anchors, such as [(class: 0, …)]",
                AnchorSpec::read,
            )
        });
        let drop_empty = r.optional(f, "drop_empty", Reader::flag).or(false);
        Some(AnchorHeadSpec {
            boxes: boxes?,
            classes: classes?,
            directions: value(directions),
            direction_rule,
            layout,
            scores,
            activation,
            convention,
            placement,
            stride: stride?,
            anchors: anchors?,
            drop_empty,
        })
    }
}

fn direction_rule(r: &mut Reader, node: &Node, _: &str) -> Option<DirectionRule> {
    let (name, f) = r.choice(node, &DIRECTION_RULES)?;
    if name == "Sign" {
        return Some(DirectionRule::Sign);
    }
    let offset = r.needed(&f, "offset", "offset: 0.78539", Reader::number);
    let limit_offset = r.needed(&f, "limit_offset", "limit_offset: 0.0", Reader::number);
    Some(DirectionRule::Bins {
        offset: offset?,
        limit_offset: limit_offset?,
    })
}

impl AnchorSpec {
    fn read(r: &mut Reader, node: &Node, _: &str) -> Option<Self> {
        let example = "(class: 0, size: (1.6, 3.9, 1.56), z: -1.0, rotations: [0.0, 1.57])";
        let known = &["class", "size", "z", "rotations"];
        let f = r.record(node, "an anchor", "Anchor", example, known)?;
        let class = r.needed(&f, "class", "class: 0", Reader::whole);
        let size = r.needed(&f, "size", "size: (1.6, 3.9, 1.56)", numbers::<3, _>);
        let z = r.needed(&f, "z", "z: -1.0", Reader::number);
        let rotations = r.needed(&f, "rotations", "rotations: [0.0, 1.57]", |r, node, field| {
            let expected = "a list of rotations in radians, such as [0.0, 1.57]";
            r.values(node, field, expected, Reader::number)
        });
        Some(AnchorSpec {
            class: class?,
            size: size?,
            z: z?,
            rotations: rotations?,
        })
    }
}

impl NmsSpec {
    fn read(r: &mut Reader, node: &Node, field: &str) -> Option<Self> {
        let known = &["iou", "before", "after", "per_class"];
        let f = r.record(node, field, "Nms", "fields, such as (iou: 0.1)", known)?;
        let usual = NmsSpec::default();
        Some(NmsSpec {
            iou: r.optional(&f, "iou", Reader::number).or(usual.iou),
            before: r.optional(&f, "before", Reader::whole).or(usual.before),
            after: r.optional(&f, "after", Reader::whole).or(usual.after),
            per_class: r.optional(&f, "per_class", Reader::flag).or(usual.per_class),
        })
    }
}

/// So many numbers, as a tuple.
fn numbers<const N: usize, T: From<[f64; N]>>(r: &mut Reader, node: &Node, field: &str) -> Option<T> {
    r.numbers::<f64, N>(node, field).map(T::from)
}

/// The value of a field that may be left out.
pub(super) fn value<T>(read: Read<T>) -> Option<T> {
    match read {
        Read::Given(spot) => Some(spot.value),
        Read::Absent | Read::Wrong => None,
    }
}
