//! What must hold of a spec: numbers that make sense, parts that fit together.

use super::{AnchorHeadSpec, HeadSpec, LayoutSpec, LidarSpec, WholeInput};
use crate::detector::lidar::encode::CELLS;
use crate::detector::lidar::heatmap::HeatmapSpec;
use crate::detector::lidar::scatter::WRITTEN;
use crate::engine::network::Port;
use crate::written::{ProblemKind, Rules, shown};

/// Most cells that a grid may have: a typing error in `voxel` should not take all memory.
const MAX_CELLS: f64 = 64e6;

/// Most classes, and most anchors: a box holds the number of its own in 16 bits.
const MOST: usize = u16::MAX as usize;

/// Names of tensors, each with the field that gives it.
type Names<'a> = Vec<(&'a str, String)>;

impl LidarSpec {
    /// What must hold of the numbers, the parts and the names.
    pub(crate) fn check(&self, rules: &mut Rules<'_>) {
        rules.require(
            !self.classes.is_empty(),
            "classes",
            "an empty list",
            "at least one name",
        );
        rules.require(
            self.classes.len() <= MOST,
            "classes",
            format!("a list of {}", self.classes.len()),
            format!("at most {MOST} names"),
        );
        rules.require(self.max_points > 0, "max_points", self.max_points, "at least 1");
        rules.require(
            self.max_pillars > 0,
            "max_pillars",
            self.max_pillars,
            "at least 1",
        );
        let buffer = f64::from(self.max_points) * f64::from(self.max_pillars);
        if buffer > MAX_CELLS {
            let why = format!(
                "together with `max_points` it allocates {buffer} points, but at most {MAX_CELLS} are \
                allowed"
            );
            rules.contradiction("max_pillars", why, "lower one of the two");
        }
        let pillars = self.check_grid(rules);
        let threshold = self.score_threshold;
        let ok = (0.0..1.0).contains(&threshold);
        rules.require(ok, "score_threshold", threshold, "from 0 to below 1");
        let nms = &self.nms;
        rules.require((0.0..=1.0).contains(&nms.iou), "nms.iou", nms.iou, "from 0 to 1");
        rules.require(nms.before > 0, "nms.before", nms.before, "above 0");
        rules.require(nms.after > 0, "nms.after", nms.after, "above 0");
        self.check_networks(rules);
        self.check_head(pillars, rules);
    }

    /// What must hold between the spec and the inputs of its networks, where these are known.
    pub(crate) fn check_inputs(&self, inputs: &[Port], rules: &mut Rules<'_>) {
        if let Some(cameras) = &self.cameras {
            cameras.check_inputs(inputs, rules);
        }
    }

    /// The pillars along x and y.
    fn check_grid(&self, rules: &mut Rules<'_>) -> [f64; 2] {
        let axes = [
            ("x", self.range.x, self.voxel.0),
            ("y", self.range.y, self.voxel.1),
            ("z", self.range.z, self.voxel.2),
        ];
        for (axis, (from, to), size) in axes {
            let path = format!("range.{axis}");
            let wanted = "from a smaller number to a larger one";
            rules.require(from < to, &path, format!("from {from} to {to}"), wanted);
            rules.require(size > 0.0, "voxel", format!("{size} along {axis}"), "above 0");
            let cells = (to - from) / size;
            let whole = (cells - cells.round()).abs() < 1e-3 && cells >= 0.5;
            let found = format!("{cells:.3} voxels of {size} m");
            rules.require(
                !(from < to && size > 0.0) || whole,
                &path,
                found,
                "a whole number of them",
            );
        }
        let [nx, ny, nz] = axes.map(|(_, (from, to), size)| ((to - from) / size).round());
        if nx * ny > MAX_CELLS {
            let why = format!("the grid has {nx} × {ny} pillars, but at most {MAX_CELLS} are allowed");
            rules.contradiction("voxel", why, "make it larger, or the range smaller");
        }
        if nz.is_finite() && nz > 1.0 {
            let why =
                format!("it divides the range into {nz} layers along z, but a pillar spans the whole range");
            rules.contradiction("voxel", why, "give it the height of the range");
        }
        [nx, ny]
    }

    fn check_networks(&self, rules: &mut Rules<'_>) {
        let parts = [
            self.encoder.is_some(),
            self.scatter.is_some(),
            self.backbone.is_some(),
        ];
        if parts != [self.whole.is_none(); 3] {
            let kind = ProblemKind::Contradiction {
                what: "a LiDAR detector".to_owned(),
                why: "it does not say which networks it has".to_owned(),
                advice: "give either `encoder`, `scatter` and `backbone`, or `whole` alone".to_owned(),
            };
            rules.report("", kind);
        }
        let mut names: Names<'_> = vec![(CELLS, String::new()), (WRITTEN, String::new())];
        if let Some(encoder) = &self.encoder {
            rules.require(
                encoder.channels > 0,
                "encoder.channels",
                0,
                "at least 1, the features of a pillar",
            );
            names.push((&encoder.output, "encoder.output".to_owned()));
            encoder.layout.check("encoder.layout", &mut names, rules);
        }
        names.extend(
            self.scatter
                .iter()
                .map(|s| (s.tensor.as_str(), "scatter.tensor".to_owned())),
        );
        match self.whole.as_ref().map(|w| &w.input) {
            Some(WholeInput::Pillars {
                layout,
                cells,
                cell_columns,
                count,
                ..
            }) => {
                let path = "whole.input.cell_columns";
                rules.require(
                    !cell_columns.is_empty(),
                    path,
                    "an empty list",
                    "at least one column",
                );
                names.push((cells, "whole.input.cells".to_owned()));
                names.extend(
                    count
                        .iter()
                        .map(|count| (count.as_str(), "whole.input.count".to_owned())),
                );
                layout.check("whole.input.layout", &mut names, rules);
            }
            Some(WholeInput::Points {
                tensor, columns, max, ..
            }) => {
                rules.require(
                    *max > 0,
                    "whole.input.max",
                    max,
                    "above 0, the most points of a sweep",
                );
                let path = "whole.input.columns";
                rules.require(!columns.is_empty(), path, "an empty list", "at least one column");
                names.push((tensor, "whole.input.tensor".to_owned()));
            }
            None => {}
        }
        if let Some(cameras) = &self.cameras {
            if self.whole.is_none() {
                let why = "images go into the network that does it all, and there is no `whole`";
                rules.contradiction("cameras", why, "give `whole`, or leave `cameras` out");
            }
            cameras.check(rules);
            names.extend(cameras.tensors());
        }
        for (index, (name, path)) in names.iter().enumerate() {
            if names[..index].iter().any(|(earlier, _)| earlier == name) {
                let why = format!("two tensors are named `{}`", shown(name));
                rules.contradiction(path, why, "each needs a name of its own");
            }
        }
    }

    fn check_head(&self, [nx, ny]: [f64; 2], rules: &mut Rules<'_>) {
        let stride = match &self.head {
            HeadSpec::Anchors(how) => how.stride,
            HeadSpec::Heatmap(how) => how.stride,
        };
        let divides = stride > 0 && nx % f64::from(stride) == 0.0 && ny % f64::from(stride) == 0.0;
        let wanted = format!("a divisor of the {nx} × {ny} pillars");
        rules.require(divides, "head.stride", stride, wanted);
        match &self.head {
            HeadSpec::Anchors(how) => self.check_anchors(how, rules),
            HeadSpec::Heatmap(how) => self.check_tasks(how, rules),
        }
    }

    fn check_tasks(&self, how: &HeatmapSpec, rules: &mut Rules<'_>) {
        let any = how.tasks.iter().any(|task| !task.classes.is_empty());
        rules.require(
            any,
            "head.tasks",
            "a list without a class",
            "at least one task with a class",
        );
        let last = self.classes.len().saturating_sub(1);
        for (index, task) in how.tasks.iter().enumerate() {
            for (number, class) in task.classes.iter().enumerate() {
                let path = format!("head.tasks[{index}].classes[{number}]");
                let known = usize::from(*class) < self.classes.len();
                let wanted = format!("an index into `classes`, from 0 to {last}");
                rules.require(known, &path, class, wanted);
            }
            if let Some(distance) = task.distance {
                let path = format!("head.tasks[{index}].distance");
                let ok = distance.is_finite() && distance > 0.0;
                rules.require(ok, &path, distance, "above 0, in metres");
            }
        }
        let least = how.least_rotation;
        let wanted = "from 0 to 1, the length of (sine, cosine)";
        rules.require((0.0..=1.0).contains(&least), "head.least_rotation", least, wanted);
    }

    fn check_anchors(&self, how: &AnchorHeadSpec, rules: &mut Rules<'_>) {
        let AnchorHeadSpec {
            anchors, drop_empty, ..
        } = how;
        let any = anchors.iter().any(|anchor| !anchor.rotations.is_empty());
        rules.require(
            any,
            "head.anchors",
            "a list without an anchor",
            "at least one, with a rotation",
        );
        let all: usize = anchors.iter().map(|anchor| anchor.rotations.len()).sum();
        rules.require(
            all <= MOST,
            "head.anchors",
            format!("a list with {all} rotations"),
            format!("at most {MOST} rotations in all"),
        );
        for (index, anchor) in anchors.iter().enumerate() {
            let path = format!("head.anchors[{index}]");
            let known = usize::from(anchor.class) < self.classes.len();
            let last = self.classes.len().saturating_sub(1);
            let wanted = format!("an index into `classes`, from 0 to {last}");
            rules.require(known, &format!("{path}.class"), anchor.class, wanted);
            let (a, b, c) = anchor.size;
            let found = format!("{:?}", anchor.size);
            rules.require(
                a > 0.0 && b > 0.0 && c > 0.0,
                &format!("{path}.size"),
                found,
                "above 0 on each side",
            );
        }
        let by_points = matches!(&self.whole, Some(w) if matches!(w.input, WholeInput::Points { .. }));
        if *drop_empty && by_points {
            let why = "it needs pillars, but `whole.input` gives points";
            rules.contradiction("head.drop_empty", why, "set it to false");
        }
    }
}

impl LayoutSpec {
    /// `path` is the field that it stands in.
    fn check<'a>(&'a self, path: &str, names: &mut Names<'a>, rules: &mut Rules<'_>) {
        let mut name = |field: &str, name: &'a str| names.push((name, format!("{path}.{field}")));
        let features = match self {
            LayoutSpec::Planes {
                x,
                y,
                z,
                intensity,
                centre_x,
                centre_y,
                mask,
                count,
                ..
            } => {
                for (field, tensor) in [
                    ("x", x),
                    ("y", y),
                    ("z", z),
                    ("intensity", intensity),
                    ("centre_x", centre_x),
                    ("centre_y", centre_y),
                    ("mask", mask),
                    ("count", count),
                ] {
                    name(field, tensor);
                }
                return;
            }
            LayoutSpec::PillarsPointsFeatures {
                tensor,
                features,
                mask,
                ..
            } => {
                name("tensor", tensor);
                if let Some(mask) = mask {
                    name("mask", mask);
                }
                features
            }
            LayoutSpec::FeaturesPillarsPoints { tensor, features } => {
                name("tensor", tensor);
                features
            }
        };
        let path = format!("{path}.features");
        rules.require(
            !features.is_empty(),
            &path,
            "an empty list",
            "at least one feature",
        );
    }
}
