//! COCO's scores of boxes in images, as pycocotools computes them: precision averaged over ten overlaps from 0.50 to 0.95 and
//! 101 recalls, by object size, and recall by the number of detections in an image.
//!
//! Source: the benchmark's page (<https://cocodataset.org/#detection-eval>) and what pycocotools 2.0.11 does; the two agree to
//! 1e-9 (tests/suite/coco.rs). One thing differs on purpose: a class that nothing is labelled of has no precision (`None`),
//! where pycocotools has −1; both leave it out of means.
//!
//! `annotations` reads the dataset's own file; `matching` decides, image by image, which detections are right; `summary` makes figures of that.

mod annotations;
mod matching;
mod summary;

use jetlag_record::detection::Box2d;

use crate::benchmark::{Benchmark, Counts, Figure};
use crate::error::{ScoreError, Site, What, few_enough};
use crate::iou::{self, Corners};

pub use annotations::{Annotations, NotAnnotations};
pub use summary::{ClassScores, Scores};

/// Overlaps that count as found: 0.50, 0.55, … 0.95.
pub const OVERLAPS: usize = 10;
/// Ranges of object size: all, small, medium, large.
pub const SIZES: usize = 4;
/// Areas of these ranges, from and to, square pixels. Small is below 32², large above 96².
pub const AREAS: [[f64; 2]; SIZES] = [[0.0, 1e10], [0.0, 1024.0], [1024.0, 9216.0], [9216.0, 1e10]];
/// How many detections of a class in an image count at most.
pub const MOST: [u32; 3] = [1, 10, 100];

/// An object in an image.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Truth {
    /// Index of its class.
    pub class: usize,
    /// Left, top, width, height, in pixels.
    pub bbox: [f64; 4],
    /// Square pixels, which decide its size range; COCO has those of the object's outline, else width × height.
    pub area: f64,
    /// Whether it stands for a crowd (`iscrowd`): counts neither way, and any number of detections may lie in it.
    pub crowd: bool,
}

/// A detection in an image.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Found {
    /// Index of its class.
    pub class: usize,
    /// Left, top, width, height, in pixels.
    pub bbox: [f64; 4],
    /// The higher, the surer.
    pub score: f64,
}

/// An image: what is there, and what was found.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Image {
    /// The objects.
    pub truths: Vec<Truth>,
    /// The detections, in any order; of equal scores the earlier one goes first.
    pub found: Vec<Found>,
}

impl Found {
    /// Of a detector's box.
    pub fn in_image(class: usize, score: f32, b: &Box2d) -> Found {
        Found {
            class,
            bbox: bbox(iou::corners(b)),
            score: f64::from(score),
        }
    }
}

/// A box as COCO has it: left, top, width, height.
pub fn bbox([x1, y1, x2, y2]: Corners) -> [f64; 4] {
    [x1, y1, x2 - x1, y2 - y1]
}

/// Images, matched.
#[derive(Clone, Debug)]
pub struct Coco {
    images: usize,
    classes: Vec<matching::Class>,
    names: Vec<String>,
}

impl Coco {
    /// Matches images; there is one class for each name.
    ///
    /// # Errors
    /// A number that is not finite, a width, height or area below zero, a class beyond the list.
    pub fn new(names: &[String], images: &[Image]) -> Result<Coco, ScoreError> {
        few_enough("images", images.len())?;
        let mut classes = vec![matching::Class::default(); names.len()];
        for (frame, image) in images.iter().enumerate() {
            check(frame, image, names.len())?;
            matching::add(&mut classes, frame as u32, image);
        }
        classes.iter_mut().for_each(matching::Class::sort);
        Ok(Coco {
            images: images.len(),
            classes,
            names: names.to_vec(),
        })
    }

    /// The names of the classes.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// The scores of these images, each counted so often.
    pub fn scores(&self, counts: Counts<'_>) -> Scores {
        summary::scores(&self.classes, counts)
    }
}

fn check(frame: usize, image: &Image, classes: usize) -> Result<(), ScoreError> {
    for (index, truth) in image.truths.iter().enumerate() {
        let what = What::Label;
        let site = Site { frame, what, index };
        site.class(truth.class, classes)?;
        let [x, y, width, height] = truth.bbox;
        site.finite("left or top", &[x, y])?;
        site.not_negative("width or height", &[width, height])?;
        site.not_negative("area", &[truth.area])?;
    }
    for (index, found) in image.found.iter().enumerate() {
        let what = What::Detection;
        let site = Site { frame, what, index };
        site.class(found.class, classes)?;
        let [x, y, width, height] = found.bbox;
        site.finite("left or top", &[x, y])?;
        site.not_negative("width or height", &[width, height])?;
        site.finite("score", &[found.score])?;
    }
    Ok(())
}

const NO_TRUTH: &str = "nothing of it is labelled in these frames";

impl Benchmark for Coco {
    fn name(&self) -> &'static str {
        "COCO"
    }

    fn frames(&self) -> usize {
        self.images
    }

    fn figures(&self, counts: Counts<'_>) -> Vec<Figure> {
        let scores = self.scores(counts);
        let mut figures: Vec<Figure> = scores
            .named()
            .into_iter()
            .map(|(name, value)| Figure::new(name, value, NO_TRUTH))
            .collect();
        for (name, class) in self.names.iter().zip(&scores.classes) {
            let of_class = [("ap", class.ap), ("ap50", class.ap50), ("ar100", class.ar100)];
            figures.extend(
                of_class.map(|(figure, value)| Figure::new(format!("{name}.{figure}"), value, NO_TRUTH)),
            );
        }
        figures
    }

    fn notes(&self) -> Vec<String> {
        vec!["means are over the classes that are labelled in these frames".to_owned()]
    }
}
