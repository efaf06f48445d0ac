//! Which boxes of cameras and of a LiDAR are of one object, and what comes of each: plain functions over boxes.

use crate::detector::camera::nms::iou;
use crate::detector::{Box2d, Detection, Place};
use crate::scenario::Associate;

/// A box of the LiDAR as it lies in the image.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Projected {
    /// Its place in the list of the LiDAR's boxes.
    pub number: usize,
    /// The rectangle around its corners, cut off at the image's edges.
    pub place: Box2d,
}

/// Two boxes that may be of one object.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Candidate {
    camera: usize,
    lidar: usize,
    iou: f32,
}

/// What images say of an object of the LiDAR.
#[derive(Clone, Copy, Debug)]
struct Joined {
    /// That all of them are wrong.
    wrong: f32,
    /// The best score of an image, and its class.
    best: Option<(f32, u16)>,
}

/// Association with its memory, which is used again. [`begin`](Association::begin) a set, say what each
/// [`camera`](Association::camera) has seen, and [`end`](Association::end) it.
#[derive(Debug, Default)]
pub struct Association {
    candidates: Vec<Candidate>,
    of_camera: Vec<bool>,
    of_lidar: Vec<bool>,
    joined: Vec<Joined>,
}

/// The score of an object that two detectors found independently: that not both are wrong.
pub fn joint(a: f32, b: f32) -> f32 {
    1.0 - (1.0 - a.clamp(0.0, 1.0)) * (1.0 - b.clamp(0.0, 1.0))
}

impl Association {
    /// A set in which the LiDAR found so many boxes.
    pub fn begin(&mut self, lidar: usize, fused: &mut Vec<Detection>) {
        fused.clear();
        self.joined.clear();
        let unseen = Joined {
            wrong: 1.0,
            best: None,
        };
        self.joined.resize(lidar, unseen);
    }

    /// Joins what a camera has seen to the LiDAR's boxes that lie in its image, each with one at most. What it alone has seen goes to
    /// `fused`. Both lists have the classes of the fusion.
    pub fn camera(
        &mut self,
        way: Associate,
        camera: &[Detection],
        lidar: &[Detection],
        projected: &[Projected],
        fused: &mut Vec<Detection>,
    ) {
        let Associate::Greedy {
            iou: least,
            same_class,
        } = way;
        self.candidates.clear();
        for (number, seen) in camera.iter().enumerate() {
            let Place::Image(place) = &seen.place else {
                continue;
            };
            for other in projected {
                let same = lidar
                    .get(other.number)
                    .is_some_and(|found| found.class == seen.class);
                let iou = iou(place, &other.place);
                if iou >= least && (same || !same_class) {
                    self.candidates.push(Candidate {
                        camera: number,
                        lidar: other.number,
                        iou,
                    });
                }
            }
        }
        // The order of the lists, which is that of scores, decides between equals.
        self.candidates.sort_unstable_by(|a, b| {
            b.iou
                .total_cmp(&a.iou)
                .then((a.camera, a.lidar).cmp(&(b.camera, b.lidar)))
        });
        for (flags, length) in [
            (&mut self.of_camera, camera.len()),
            (&mut self.of_lidar, lidar.len()),
        ] {
            flags.clear();
            flags.resize(length, false);
        }
        for pair in &self.candidates {
            let (Some(seen), Some(joined)) = (camera.get(pair.camera), self.joined.get_mut(pair.lidar))
            else {
                continue;
            };
            let (Some(of_camera), Some(of_lidar)) = (
                self.of_camera.get_mut(pair.camera),
                self.of_lidar.get_mut(pair.lidar),
            ) else {
                continue;
            };
            if *of_camera || *of_lidar {
                continue;
            }
            (*of_camera, *of_lidar) = (true, true);
            joined.wrong *= 1.0 - seen.score.clamp(0.0, 1.0);
            if joined.best.is_none_or(|(score, _)| seen.score > score) {
                joined.best = Some((seen.score, seen.class));
            }
        }
        let left = camera.iter().zip(&self.of_camera).filter(|(_, used)| !**used);
        fused.extend(left.map(|(of, _)| *of));
    }

    /// Adds the LiDAR's boxes, best score first of all. One that cameras have seen too has the joint score, and the class of the image
    /// that is surest: images tell classes apart better. However many have seen it, it is one object.
    pub fn end(&mut self, lidar: &[Detection], fused: &mut Vec<Detection>) {
        fused.extend(
            lidar
                .iter()
                .zip(&self.joined)
                .map(|(of, joined)| match joined.best {
                    Some((_, class)) => Detection {
                        class,
                        score: joint(of.score, 1.0 - joined.wrong),
                        ..*of
                    },
                    None => *of,
                }),
        );
        fused.sort_unstable_by(|a, b| b.score.total_cmp(&a.score));
    }
}

#[cfg(test)]
#[path = "associate_tests.rs"]
mod tests;
