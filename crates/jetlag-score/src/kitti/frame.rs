//! What counts in a frame, and how much boxes overlap.

use super::{
    CLASSES, CameraBox, Found, Frame, Kind, MAX_OCCLUSION, MAX_TRUNCATION, MIN_HEIGHT, MIN_OVERLAP, Metric,
    Truth,
};
use crate::iou::{self, Footprint, Solid};

/// How a label or detection counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// It must be found, or find something.
    Counts,
    /// It counts neither way.
    Ignored,
    /// It is of another class.
    Other,
}

/// A label of a frame that takes part.
#[derive(Clone, Debug)]
pub(super) struct Label {
    pub(super) ignored: bool,
    pub(super) alpha: f64,
    /// Detections that overlap it enough, in their order: which, and how much.
    pub(super) near: Vec<(usize, f64)>,
}

/// A detection of a frame, as it takes part.
#[derive(Clone, Copy, Debug)]
pub(super) struct Detected {
    pub(super) role: Role,
    pub(super) score: f64,
    pub(super) alpha: Option<f64>,
    /// Whether it lies in a region that nobody labelled.
    pub(super) dont_care: bool,
}

/// The boxes of a frame, ready to be compared.
pub(super) struct Boxes<'a> {
    frame: &'a Frame,
    truths: Vec<Option<Solid>>,
    found: Vec<Option<Solid>>,
}

impl<'a> Boxes<'a> {
    pub(super) fn of(frame: &'a Frame) -> Self {
        Boxes {
            frame,
            truths: frame.truths.iter().map(|truth| truth.space.map(solid)).collect(),
            found: frame.found.iter().map(|found| found.space.map(solid)).collect(),
        }
    }

    /// Which detections overlap which labels enough, for a class and metric, whatever the difficulty.
    pub(super) fn near(&self, class: usize, metric: Metric) -> Vec<Vec<(usize, f64)>> {
        let least = MIN_OVERLAP.get(class).copied().unwrap_or(1.0);
        let near = |(truth, solid): (&Truth, &Option<Solid>)| {
            if label_role(class, truth, 0) == Role::Other {
                return Vec::new();
            }
            let overlaps = self.frame.found.iter().zip(&self.found).enumerate();
            overlaps
                .map(|(number, (found, other))| (number, overlap(metric, truth, *solid, found, *other)))
                .filter(|(_, overlap)| *overlap > least)
                .collect()
        };
        self.frame.truths.iter().zip(&self.truths).map(near).collect()
    }

    /// The labels that take part.
    pub(super) fn labels(&self, class: usize, difficulty: usize, near: &[Vec<(usize, f64)>]) -> Vec<Label> {
        let labels = self.frame.truths.iter().zip(near).filter_map(|(truth, near)| {
            let role = label_role(class, truth, difficulty);
            (role != Role::Other).then(|| Label {
                ignored: role == Role::Ignored,
                alpha: truth.alpha,
                near: near.clone(),
            })
        });
        labels.collect()
    }

    /// The detections, in their order.
    pub(super) fn detected(&self, class: usize, metric: Metric, difficulty: usize) -> Vec<Detected> {
        let least = MIN_OVERLAP.get(class).copied().unwrap_or(1.0);
        let regions: Vec<&Truth> = self
            .frame
            .truths
            .iter()
            // They have no place in space.
            .filter(|truth| truth.kind == Kind::DontCare && metric == Metric::Image)
            .collect();
        let detected = self.frame.found.iter().map(|found| {
            let role = found_role(class, found, difficulty);
            let within = |region: &&Truth| {
                let area = iou::area(found.bbox);
                area > 0.0 && iou::shared(found.bbox, region.bbox) / area > least
            };
            Detected {
                role,
                score: found.score,
                alpha: found.alpha,
                dont_care: role == Role::Counts && regions.iter().any(within),
            }
        });
        detected.collect()
    }
}

fn label_role(class: usize, truth: &Truth, difficulty: usize) -> Role {
    let neighbour = |kind| match kind {
        Kind::Car => Some(Kind::Van),
        Kind::Pedestrian => Some(Kind::PersonSitting),
        _ => None,
    };
    let Some(kind) = CLASSES.get(class).copied() else {
        return Role::Other;
    };
    if truth.kind != kind {
        return match neighbour(kind) == Some(truth.kind) {
            true => Role::Ignored,
            false => Role::Other,
        };
    }
    let at = |limits: &[f64; 3]| limits.get(difficulty).copied().unwrap_or_default();
    let hidden = truth.occluded > MAX_OCCLUSION.get(difficulty).copied().unwrap_or_default();
    let height = truth.bbox[3] - truth.bbox[1];
    if hidden || truth.truncated > at(&MAX_TRUNCATION) || height <= at(&MIN_HEIGHT) {
        Role::Ignored
    } else {
        Role::Counts
    }
}

fn found_role(class: usize, found: &Found, difficulty: usize) -> Role {
    let least = MIN_HEIGHT.get(difficulty).copied().unwrap_or_default();
    // Whatever its class: that is what the evaluator does.
    if (found.bbox[1] - found.bbox[3]).abs() < least {
        Role::Ignored
    } else if CLASSES.get(class) == Some(&found.kind) {
        Role::Counts
    } else {
        Role::Other
    }
}

fn solid(of: CameraBox) -> Solid {
    let [height, width, length] = of.size;
    let [x, y, z] = of.place;
    Solid {
        footprint: Footprint::new([x, z], length, width, -of.heading),
        extent: [y - height, y],
    }
}

fn overlap(metric: Metric, truth: &Truth, solid: Option<Solid>, found: &Found, other: Option<Solid>) -> f64 {
    if metric == Metric::Image {
        return iou::image(found.bbox, truth.bbox);
    }
    match solid.zip(other) {
        Some((a, b)) if metric == Metric::Above => a.footprint.iou(&b.footprint),
        Some((a, b)) => a.iou(&b),
        None => 0.0,
    }
}
