//! Which boxes of a camera and of a LiDAR are of one object, and what comes of each: plain functions over boxes.

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

/// Association with its memory, which is used again.
#[derive(Debug, Default)]
pub struct Association {
    candidates: Vec<Candidate>,
    of_camera: Vec<bool>,
    of_lidar: Vec<bool>,
}

/// The score of an object that two detectors found independently: that not both are wrong.
pub fn joint(a: f32, b: f32) -> f32 {
    1.0 - (1.0 - a.clamp(0.0, 1.0)) * (1.0 - b.clamp(0.0, 1.0))
}

impl Association {
    /// Puts both detectors' boxes into `fused`, best score first. Boxes of one object become one: the LiDAR's, which is in space, with
    /// the joint score. Those that only one of them found stay as they are, the camera's in the image. Both lists have the classes of
    /// the fusion.
    pub fn run(
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
        fused.clear();
        for pair in &self.candidates {
            let (Some(seen), Some(found)) = (camera.get(pair.camera), lidar.get(pair.lidar)) else {
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
            fused.push(Detection {
                // The image tells classes apart better.
                class: seen.class,
                score: joint(seen.score, found.score),
                place: found.place,
                velocity: found.velocity,
            });
        }
        let alone = |all: &[Detection], used: &[bool], fused: &mut Vec<Detection>| {
            let left = all.iter().zip(used).filter(|(_, used)| !**used);
            fused.extend(left.map(|(of, _)| *of));
        };
        alone(camera, &self.of_camera, fused);
        alone(lidar, &self.of_lidar, fused);
        fused.sort_unstable_by(|a, b| b.score.total_cmp(&a.score));
    }
}

#[cfg(test)]
#[path = "associate_tests.rs"]
mod tests;
