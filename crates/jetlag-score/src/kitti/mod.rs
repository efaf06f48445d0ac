//! KITTI's scores of objects: precision averaged over 40 recalls, in the image, seen from above and in space, by difficulty; and
//! the similarity of headings (AOS).
//!
//! Source: "Are we ready for Autonomous Driving?" (Geiger, Lenz and Urtasun, 2012), "Disentangling Monocular 3D Object
//! Detection" (Simonelli et al., 2019) for the 40 recalls, and what the benchmark's evaluator does: labels that are too small,
//! hidden or cut count neither way, nor do those of neighbouring classes (a van for cars, somebody sitting for pedestrians) or
//! detections that are too small or, in the image, lie in a `DontCare` region. A label must be higher than the least height;
//! the evaluator of 2017 took labels of exactly that height too.
//!
//! `matching` decides, frame by frame and for every score, what is right; `summary` makes figures of that; `camera` brings boxes
//! of a LiDAR into the camera's frame.

mod camera;
mod figures;
mod frame;
mod matching;
mod summary;

use crate::benchmark::Counts;
use crate::error::{ScoreError, Site, What, few_enough};
use crate::iou::Corners;

pub use camera::{Camera, alpha, in_image};
pub use summary::{CellScores, Scores};

/// What a label may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the benchmark's own words")]
pub enum Kind {
    Car,
    Van,
    Truck,
    Pedestrian,
    PersonSitting,
    Cyclist,
    Tram,
    Misc,
    DontCare,
}

impl Kind {
    /// All of them.
    pub const ALL: [Kind; 9] = [
        Kind::Car,
        Kind::Van,
        Kind::Truck,
        Kind::Pedestrian,
        Kind::PersonSitting,
        Kind::Cyclist,
        Kind::Tram,
        Kind::Misc,
        Kind::DontCare,
    ];

    /// As label files have it.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Car => "Car",
            Kind::Van => "Van",
            Kind::Truck => "Truck",
            Kind::Pedestrian => "Pedestrian",
            Kind::PersonSitting => "Person_sitting",
            Kind::Cyclist => "Cyclist",
            Kind::Tram => "Tram",
            Kind::Misc => "Misc",
            Kind::DontCare => "DontCare",
        }
    }

    /// Of a name; letter case does not matter.
    pub fn of(name: &str) -> Option<Kind> {
        Kind::ALL
            .into_iter()
            .find(|kind| kind.name().eq_ignore_ascii_case(name))
    }
}

/// The classes that are scored.
pub const CLASSES: [Kind; 3] = [Kind::Car, Kind::Pedestrian, Kind::Cyclist];
/// Overlap above which a detection of these is right.
pub const MIN_OVERLAP: [f64; 3] = [0.7, 0.5, 0.5];
/// Easy, moderate, hard.
pub const DIFFICULTIES: usize = 3;
/// Their names.
pub const DIFFICULTY_NAMES: [&str; DIFFICULTIES] = ["easy", "moderate", "hard"];
/// Labels must be higher than this in the image, pixels, and detections no lower.
const MIN_HEIGHT: [f64; DIFFICULTIES] = [40.0, 25.0, 25.0];
const MAX_OCCLUSION: [i32; DIFFICULTIES] = [0, 1, 2];
const MAX_TRUNCATION: [f64; DIFFICULTIES] = [0.15, 0.3, 0.5];

/// Where boxes are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Metric {
    /// In the image.
    Image,
    /// Seen from above.
    Above,
    /// In space.
    Space,
}

impl Metric {
    /// All three.
    pub const ALL: [Metric; 3] = [Metric::Image, Metric::Above, Metric::Space];

    /// `2d`, `bev`, `3d`.
    pub fn name(self) -> &'static str {
        match self {
            Metric::Image => "2d",
            Metric::Above => "bev",
            Metric::Space => "3d",
        }
    }
}

/// A box in the camera's frame: x to the right, y down, z forward.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CameraBox {
    /// Height, width, length, metres.
    pub size: [f64; 3],
    /// The middle of its lower side, metres.
    pub place: [f64; 3],
    /// Its heading, radians, from x towards −z.
    pub heading: f64,
}

/// A label.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Truth {
    /// What it is.
    pub kind: Kind,
    /// How much of it lies outside the image, 0 to 1.
    pub truncated: f64,
    /// 0 visible, 1 partly and 2 largely hidden, 3 unknown.
    pub occluded: i32,
    /// The angle that the camera sees it from, radians.
    pub alpha: f64,
    /// Its box in the image.
    pub bbox: Corners,
    /// Its box in space; `None` for `DontCare` regions.
    pub space: Option<CameraBox>,
}

/// A detection.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Found {
    /// What it is; only cars, pedestrians and cyclists are scored.
    pub kind: Kind,
    /// The angle that the camera sees it from, radians; `None` where the detector tells none.
    pub alpha: Option<f64>,
    /// Its box in the image.
    pub bbox: Corners,
    /// Its box in space; `None` where the detector tells none.
    pub space: Option<CameraBox>,
    /// The higher, the surer.
    pub score: f64,
}

/// A frame: what is there, and what was found.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Frame {
    /// The labels, in the order of their file, which decides between equals.
    pub truths: Vec<Truth>,
    /// The detections, in the order of their file.
    pub found: Vec<Found>,
}

/// Frames, matched.
#[derive(Clone, Debug)]
pub struct Kitti {
    frames: usize,
    cells: Vec<matching::Cell>,
    /// Whether any detection has a box in space.
    tells_space: bool,
    /// Whether there is a detection, and all of them tell their angle.
    tells_alpha: bool,
    any: bool,
}

impl Kitti {
    /// Matches frames, for each class, metric and difficulty.
    ///
    /// # Errors
    /// A number that is not finite, a size below zero.
    pub fn new(frames: &[Frame]) -> Result<Kitti, ScoreError> {
        few_enough("frames", frames.len())?;
        for (frame, content) in frames.iter().enumerate() {
            check(frame, content)?;
        }
        let found = || frames.iter().flat_map(|frame| &frame.found);
        Ok(Kitti {
            frames: frames.len(),
            cells: matching::cells(frames),
            tells_space: found().any(|found| found.space.is_some()),
            tells_alpha: found().all(|found| found.alpha.is_some()),
            any: found().next().is_some(),
        })
    }

    /// The scores of these frames, each counted so often.
    pub fn scores(&self, counts: Counts<'_>) -> Scores {
        let scores = self.cells.iter().map(|cell| {
            let told = cell.metric == Metric::Image || self.tells_space || !self.any;
            summary::of_cell(cell, counts, told, self.tells_alpha)
        });
        Scores::new(scores.collect())
    }
}

fn check(frame: usize, content: &Frame) -> Result<(), ScoreError> {
    for (index, truth) in content.truths.iter().enumerate() {
        let what = What::Label;
        let site = Site { frame, what, index };
        site.finite("truncation", &[truth.truncated])?;
        site.finite("angle", &[truth.alpha])?;
        site.finite("box", &truth.bbox)?;
        check_space(site, truth.space)?;
    }
    for (index, found) in content.found.iter().enumerate() {
        check_found(frame, index, found)?;
    }
    Ok(())
}

pub(crate) fn check_found(frame: usize, index: usize, found: &Found) -> Result<(), ScoreError> {
    let what = What::Detection;
    let site = Site { frame, what, index };
    site.finite("angle", &[found.alpha.unwrap_or_default()])?;
    site.finite("box", &found.bbox)?;
    site.finite("score", &[found.score])?;
    check_space(site, found.space)
}

fn check_space(site: Site, space: Option<CameraBox>) -> Result<(), ScoreError> {
    let Some(space) = space else { return Ok(()) };
    site.not_negative("size", &space.size)?;
    site.finite("place", &space.place)?;
    site.finite("heading", &[space.heading])
}
