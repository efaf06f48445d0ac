//! nuScenes's scores of boxes in space: precision by distance between centres, five errors of what was found, and the detection
//! score (NDS) of both.
//!
//! Source: "nuScenes: A multimodal dataset for autonomous driving" (Caesar et al., 2020, section 3.1), the configuration
//! `detection_cvpr_2019`, and what nuscenes-devkit 1.2.0 does; the two agree to 1e-6 (tests/suite/nuscenes.rs). Boxes are in
//! the global frame.
//!
//! Classes that nothing is labelled of count as 0 in the devkit's means, and as an error of 1: that is right for its own splits,
//! where there are none. [`Scores`] has means over the classes that are labelled, and beside them the devkit's.
//!
//! `filter` leaves out what does not count, `matching` decides what is right, `curve` makes precision and errors of it, `summary`
//! the figures, `pose` brings boxes of a sensor into the global frame.

mod curve;
mod figures;
mod filter;
mod matching;
mod pose;
mod summary;

use jetlag_record::detection::Box3d;

use crate::benchmark::Counts;
use crate::error::{ScoreError, Site, What, few_enough};

pub use pose::{Placed, Pose, yaw_of};
pub use summary::{ClassScores, Scores, Summary};

/// The ten classes, in the devkit's order.
pub const CLASSES: [&str; 10] = [
    "car",
    "truck",
    "bus",
    "trailer",
    "construction_vehicle",
    "pedestrian",
    "motorcycle",
    "bicycle",
    "traffic_cone",
    "barrier",
];
const MOTORCYCLE: usize = 6;
const BICYCLE: usize = 7;
const TRAFFIC_CONE: usize = 8;
const BARRIER: usize = 9;

/// The attributes, in the devkit's order.
pub const ATTRIBUTES: [&str; 8] = [
    "pedestrian.moving",
    "pedestrian.sitting_lying_down",
    "pedestrian.standing",
    "cycle.with_rider",
    "cycle.without_rider",
    "vehicle.moving",
    "vehicle.parked",
    "vehicle.stopped",
];

/// The class of a category of nuScenes; `None` for those that are not detected, such as `animal` or `vehicle.emergency.police`.
pub fn class_of_category(category: &str) -> Option<usize> {
    let class = match category {
        "movable_object.barrier" => "barrier",
        "vehicle.bicycle" => "bicycle",
        "vehicle.bus.bendy" | "vehicle.bus.rigid" => "bus",
        "vehicle.car" => "car",
        "vehicle.construction" => "construction_vehicle",
        "vehicle.motorcycle" => "motorcycle",
        "human.pedestrian.adult"
        | "human.pedestrian.child"
        | "human.pedestrian.construction_worker"
        | "human.pedestrian.police_officer" => "pedestrian",
        "movable_object.trafficcone" => "traffic_cone",
        "vehicle.trailer" => "trailer",
        "vehicle.truck" => "truck",
        _ => return None,
    };
    CLASSES.iter().position(|name| *name == class)
}

/// The category whose boxes are racks: bicycles and motorcycles in them do not count.
pub const RACK_CATEGORY: &str = "static_object.bicycle_rack";

/// Distances at which a detection counts as right, metres.
pub const DISTANCES: usize = 4;
/// Errors of what was found.
pub const ERRORS: usize = 5;
/// Their names: of place, size, heading, velocity and attribute.
pub const ERROR_NAMES: [&str; ERRORS] = ["ate", "ase", "aoe", "ave", "aae"];

/// What counts, and how.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// How far from the ego vehicle objects of each class count, metres.
    pub ranges: [f64; 10],
    /// Distances between centres at which a detection counts as right, metres.
    pub distances: [f64; DISTANCES],
    /// Which of these errors are taken at.
    pub error_distance: usize,
    /// Recall from which precision and errors are averaged, 0 to 1.
    pub min_recall: f64,
    /// Precision that counts as none, 0 to 1.
    pub min_precision: f64,
    /// Most detections in a frame.
    pub most_boxes: usize,
    /// How much the mean precision counts in the NDS; each error counts 1.
    pub ap_weight: f64,
}

impl Default for Config {
    /// `detection_cvpr_2019`, which leaderboards use.
    fn default() -> Self {
        Config {
            ranges: [50.0, 50.0, 50.0, 50.0, 50.0, 40.0, 40.0, 40.0, 30.0, 30.0],
            distances: [0.5, 1.0, 2.0, 4.0],
            error_distance: 2,
            min_recall: 0.1,
            min_precision: 0.1,
            most_boxes: 500,
            ap_weight: 5.0,
        }
    }
}

/// A labelled object.
#[derive(Clone, Debug, PartialEq)]
pub struct Truth {
    /// Index into [`CLASSES`].
    pub class: usize,
    /// Its centre in the global frame, metres.
    pub centre: [f64; 3],
    /// Width, length, height, metres.
    pub size: [f64; 3],
    /// Its heading in the global frame, radians from x to y.
    pub yaw: f64,
    /// Metres a second along the global x and y; `None` where it is not known.
    pub velocity: Option<[f64; 2]>,
    /// LiDAR and radar points on it; objects of 0 do not count. `None` where nobody counted.
    pub points: Option<u32>,
    /// Index into [`ATTRIBUTES`]; `None` where it has none.
    pub attribute: Option<usize>,
}

/// A detection.
#[derive(Clone, Debug, PartialEq)]
pub struct Found {
    /// Index into [`CLASSES`].
    pub class: usize,
    /// Its centre in the global frame, metres.
    pub centre: [f64; 3],
    /// Width, length, height, metres.
    pub size: [f64; 3],
    /// Its heading in the global frame, radians from x to y.
    pub yaw: f64,
    /// Metres a second along the global x and y. A detector that tells none is taken to say 0, since a result file must say
    /// something; the figure that suffers is then withheld.
    pub velocity: Option<[f64; 2]>,
    /// Index into [`ATTRIBUTES`]; without one it is wrong wherever the object has one.
    pub attribute: Option<usize>,
    /// The higher, the surer.
    pub score: f64,
}

impl Found {
    /// Of a detector's box in its sensor's frame, whose pose in the global frame this is. It tells neither velocity nor attribute.
    pub fn placed(class: usize, score: f32, b: &Box3d, pose: &Pose) -> Found {
        let Placed { centre, size, yaw } = pose.place(b);
        Found {
            class,
            centre,
            size,
            yaw,
            velocity: None,
            attribute: None,
            score: f64::from(score),
        }
    }
}

/// A bicycle rack.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rack {
    /// Its centre in the global frame, metres.
    pub centre: [f64; 3],
    /// Width, length, height, metres.
    pub size: [f64; 3],
    /// Its heading in the global frame, radians from x to y.
    pub yaw: f64,
}

/// A moment: what is there, and what was found.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sample {
    /// Where the ego vehicle is, global x and y, metres: ranges count from it.
    pub ego: [f64; 2],
    /// The objects.
    pub truths: Vec<Truth>,
    /// The detections.
    pub found: Vec<Found>,
    /// Bicycle racks.
    pub racks: Vec<Rack>,
}

/// Samples, filtered and matched.
#[derive(Clone, Debug)]
pub struct NuScenes {
    samples: usize,
    config: Config,
    classes: Vec<matching::Class>,
    /// Whether any detection tells this.
    tells: Tells,
}

#[derive(Clone, Copy, Debug, Default)]
struct Tells {
    any: bool,
    velocity: bool,
    attribute: bool,
}

impl NuScenes {
    /// Filters and matches samples.
    ///
    /// # Errors
    /// A number that is not finite, a size that is not above zero, a class or attribute beyond the list, more detections in a
    /// sample than the configuration takes ([`keep_best`]).
    pub fn new(config: Config, samples: &[Sample]) -> Result<NuScenes, ScoreError> {
        few_enough("samples", samples.len())?;
        let boxes = samples.iter().map(|sample| sample.found.len()).sum();
        few_enough("detections", boxes)?;
        let mut classes = vec![matching::Class::default(); CLASSES.len()];
        let mut tells = Tells::default();
        for (frame, sample) in samples.iter().enumerate() {
            check(frame, sample, &config)?;
            tells.any |= !sample.found.is_empty();
            tells.velocity |= sample.found.iter().any(|found| found.velocity.is_some());
            tells.attribute |= sample.found.iter().any(|found| found.attribute.is_some());
            let (truths, found) = filter::counting(sample, &config);
            matching::add(&mut classes, frame as u32, &truths, &found, &config);
        }
        classes.iter_mut().for_each(matching::Class::sort);
        Ok(NuScenes {
            samples: samples.len(),
            config,
            classes,
            tells,
        })
    }

    /// The scores of these samples, each counted so often.
    pub fn scores(&self, counts: Counts<'_>) -> Scores {
        let classes = self
            .classes
            .iter()
            .enumerate()
            .map(|(number, class)| summary::of_class(number, class, &self.config, counts));
        summary::scores(classes.collect(), &self.config)
    }
}

/// Keeps the detections with the highest scores and their order; returns how many were left out.
pub fn keep_best(found: &mut Vec<Found>, most: usize) -> usize {
    let before = found.len();
    if before > most {
        let mut order: Vec<usize> = (0..before).collect();
        let score = |at: usize| found.get(at).map_or(f64::NEG_INFINITY, |found| found.score);
        order.sort_by(|a, b| score(*b).total_cmp(&score(*a)));
        let mut kept = vec![false; before];
        for at in order.into_iter().take(most) {
            if let Some(kept) = kept.get_mut(at) {
                *kept = true;
            }
        }
        let mut kept = kept.into_iter();
        found.retain(|_| kept.next().unwrap_or(false));
    }
    before - found.len()
}

fn check(frame: usize, sample: &Sample, config: &Config) -> Result<(), ScoreError> {
    if sample.found.len() > config.most_boxes {
        return Err(ScoreError::TooManyBoxes {
            frame,
            found: sample.found.len(),
            most: config.most_boxes,
        });
    }
    let labels = What::Label;
    let first = Site {
        frame,
        what: labels,
        index: 0,
    };
    first.finite("frame's ego place", &sample.ego)?;
    for (index, truth) in sample.truths.iter().enumerate() {
        let site = Site { index, ..first };
        numbers(site, truth.class, truth.centre, truth.size, truth.yaw)?;
        site.finite("velocity", &truth.velocity.unwrap_or_default())?;
        site.attribute(truth.attribute)?;
    }
    for (index, rack) in sample.racks.iter().enumerate() {
        let site = Site { index, ..first };
        numbers(site, 0, rack.centre, rack.size, rack.yaw)?;
    }
    check_found(frame, &sample.found)
}

pub(crate) fn check_found(frame: usize, found: &[Found]) -> Result<(), ScoreError> {
    for (index, found) in found.iter().enumerate() {
        let what = What::Detection;
        let site = Site { frame, what, index };
        numbers(site, found.class, found.centre, found.size, found.yaw)?;
        site.finite("velocity", &found.velocity.unwrap_or_default())?;
        site.finite("score", &[found.score])?;
        site.attribute(found.attribute)?;
    }
    Ok(())
}

fn numbers(site: Site, class: usize, centre: [f64; 3], size: [f64; 3], yaw: f64) -> Result<(), ScoreError> {
    site.class(class, CLASSES.len())?;
    site.finite("centre", &centre)?;
    site.positive("size", &size)?;
    site.finite("heading", &[yaw])
}

impl Site {
    fn attribute(self, attribute: Option<usize>) -> Result<(), ScoreError> {
        match attribute {
            Some(attribute) => self.within("attribute", attribute, ATTRIBUTES.len()),
            None => Ok(()),
        }
    }
}
