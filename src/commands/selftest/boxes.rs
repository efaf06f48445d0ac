//! Whether two runs of one detector over the same frames found the same.
//!
//! A network that is executed in another order, in another number format or from another memory finds nearly the same
//! boxes; one whose memory was written by two finds others. So boxes are matched, class by class, and those whose score is
//! so near to the least score of all that a rounding decides over them may come and go.

use std::collections::BTreeMap;

use crate::detector::camera::nms::iou;
use crate::detector::{Detection, Place};
use crate::record::footprint::bev_iou;

/// How much alike two runs have to be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Closeness {
    /// The least overlap of a box with its counterpart; for LiDAR seen from above.
    iou: f64,
    /// The greatest difference of their scores. Boxes whose score is within it of the least score of all may come and go.
    score: f32,
    /// The share of boxes that may have no counterpart.
    without: f64,
}

/// The same plan, executed in another way.
pub(super) const SAME_PLAN: Closeness = Closeness {
    iou: 0.99,
    score: 0.005,
    without: 0.0,
};
/// Another library with other kernels: 2 of 815 boxes differed between the cpu backend and ONNX Runtime's CUDA provider.
pub(super) const OTHER_LIBRARY: Closeness = Closeness {
    iou: 0.9,
    score: 0.05,
    without: 0.02,
};
/// Another library that computes in 16 bits.
pub(super) const HALF_PRECISION: Closeness = Closeness {
    iou: 0.8,
    score: 0.1,
    without: 0.05,
};

/// The share of boxes, but always one, that may come and go because their scores are near the least.
const NEAR: f64 = 0.1;

/// Detections of frames, each with the number of the frame's content in its source.
pub(super) type Frames = Vec<(u64, Vec<Detection>)>;

/// What a comparison found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Compared {
    /// Boxes that have a counterpart.
    pub(super) alike: usize,
    /// Boxes of either run that have none.
    pub(super) without: usize,
    /// Boxes of either run that have none, and may come and go.
    pub(super) near: usize,
    /// Frames with such a box.
    pub(super) frames: usize,
    /// Frames whose content the other run has not seen.
    pub(super) unknown: usize,
    /// The least overlap of two counterparts; 1 where there are none.
    pub(super) least_iou: f64,
    /// The greatest difference of their scores.
    pub(super) score: f32,
    /// What was asked for.
    closeness: Closeness,
}

impl Compared {
    /// Whether they are as much alike as they have to be.
    pub(super) fn holds(&self) -> bool {
        let all = (self.alike + self.without) as f64;
        // Where all scores are alike, all would be near the least: a few may be.
        let near = (all * NEAR).max(1.0);
        self.unknown == 0 && self.near as f64 <= near && self.without as f64 <= all * self.closeness.without
    }

    /// In words, as they follow the number of boxes.
    pub(super) fn words(&self, other: &str) -> String {
        let mut words = format!(
            "{} as {other} (IoU ≥ {:.3}, scores within {:.3})",
            self.alike, self.least_iou, self.score
        );
        if self.without > 0 {
            words += &format!(
                ", {} boxes in {} frames without a counterpart with IoU ≥ {} and a score within {}",
                self.without, self.frames, self.closeness.iou, self.closeness.score
            );
        }
        if self.near > 0 {
            words += &format!(", {} near the score threshold in only one of them", self.near);
        }
        if self.unknown > 0 {
            words += &format!(", {} frames missing there", self.unknown);
        }
        words
    }
}

/// Compares each frame with the reference's frame of the same content.
pub(super) fn compare(reference: &Frames, found: &Frames, closeness: Closeness) -> Compared {
    let mut known: BTreeMap<u64, &[Detection]> = BTreeMap::new();
    for (content, detections) in reference {
        known.entry(*content).or_insert(detections);
    }
    let scores = reference.iter().chain(found).flat_map(|(_, all)| all);
    let least = scores.map(|box_| box_.score).fold(f32::INFINITY, f32::min);
    let mut compared = Compared {
        alike: 0,
        without: 0,
        near: 0,
        frames: 0,
        unknown: 0,
        least_iou: 1.0,
        score: 0.0,
        closeness,
    };
    for (content, detections) in found {
        match known.get(content) {
            Some(reference) => frame(reference, detections, least + closeness.score, &mut compared),
            None => compared.unknown += 1,
        }
    }
    compared
}

/// Matches the boxes of one frame, the best score first.
fn frame(reference: &[Detection], found: &[Detection], sure: f32, into: &mut Compared) {
    let mut free: Vec<&Detection> = reference.iter().collect();
    let mut ordered: Vec<&Detection> = found.iter().collect();
    ordered.sort_by(|a, b| b.score.total_cmp(&a.score));
    let before = into.without;
    for box_ in ordered {
        let best = free
            .iter()
            .enumerate()
            .filter(|(_, other)| {
                other.class == box_.class && (other.score - box_.score).abs() <= into.closeness.score
            })
            .map(|(at, other)| (at, overlap(&other.place, &box_.place)))
            .filter(|(_, overlap)| *overlap >= into.closeness.iou)
            .max_by(|a, b| a.1.total_cmp(&b.1));
        match best {
            Some((at, overlap)) => {
                let other = free.swap_remove(at);
                into.alike += 1;
                into.least_iou = into.least_iou.min(overlap);
                into.score = into.score.max((other.score - box_.score).abs());
            }
            None => missing(box_, sure, into),
        }
    }
    free.iter().for_each(|box_| missing(box_, sure, into));
    into.frames += usize::from(into.without > before);
}

/// Counts a box without a counterpart. What is no number is nothing that may come and go.
fn missing(box_: &Detection, sure: f32, into: &mut Compared) {
    match box_.score > sure || box_.score.is_nan() {
        true => into.without += 1,
        false => into.near += 1,
    }
}

fn overlap(a: &Place, b: &Place) -> f64 {
    match (a, b) {
        (Place::Image(a), Place::Image(b)) => f64::from(iou(a, b)),
        (Place::Space(a), Place::Space(b)) => bev_iou(a, b),
        (Place::Image(_), Place::Space(_)) | (Place::Space(_), Place::Image(_)) => 0.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::detector::{Box2d, Box3d};

    fn image(x: f32, score: f32) -> Detection {
        Detection {
            class: 0,
            score,
            velocity: None,
            camera: 0,
            place: Place::Image(Box2d {
                x1: x,
                y1: 0.0,
                x2: x + 100.0,
                y2: 100.0,
            }),
        }
    }

    fn space(x: f32, score: f32) -> Detection {
        Detection {
            class: 1,
            score,
            velocity: None,
            camera: 0,
            place: Place::Space(Box3d {
                x,
                l: 4.0,
                w: 2.0,
                h: 1.5,
                ..Box3d::default()
            }),
        }
    }

    #[test]
    fn equal_runs_are_alike_however_often_a_frame_comes_again() {
        let reference = vec![
            (0, vec![image(0.0, 0.9), image(300.0, 0.6)]),
            (1, vec![space(10.0, 0.8)]),
        ];
        let mut found = reference.clone();
        found.extend(reference.clone());
        let compared = compare(&reference, &found, SAME_PLAN);
        assert!(compared.holds(), "{compared:?}");
        assert_eq!((compared.alike, compared.without, compared.unknown), (6, 0, 0));
    }

    #[test]
    fn a_frame_that_has_another_frames_boxes_does_not_hold() {
        let reference = vec![(0, vec![image(0.0, 0.9)]), (1, vec![image(500.0, 0.9)])];
        let found = vec![(0, vec![image(500.0, 0.9)]), (1, vec![image(500.0, 0.9)])];
        let compared = compare(&reference, &found, HALF_PRECISION);
        assert!(!compared.holds());
        assert_eq!((compared.alike, compared.near), (1, 2), "all scores are alike");
        let surer = [reference, vec![(2, vec![image(0.0, 0.5)])]].concat();
        let compared = compare(&surer, &found, HALF_PRECISION);
        assert!(!compared.holds());
        // The one that is there and the one that is not.
        assert_eq!((compared.alike, compared.without, compared.frames), (1, 2, 1));
        let words = compared.words("on the cpu backend");
        assert!(words.contains("2 boxes in 1 frames"), "{words}");
    }

    #[test]
    fn small_differences_hold_for_another_library_and_not_for_the_same_plan() {
        let reference = vec![(0, vec![image(0.0, 0.9), image(300.0, 0.5)])];
        let found = vec![(0, vec![image(2.0, 0.88), image(300.0, 0.5)])];
        assert!(compare(&reference, &found, OTHER_LIBRARY).holds());
        assert!(!compare(&reference, &found, SAME_PLAN).holds());
    }

    #[test]
    fn a_box_at_the_threshold_may_come_and_go_and_no_other() {
        let reference = vec![(0, vec![image(0.0, 0.9), image(300.0, 0.521)])];
        let found = vec![(0, vec![image(0.0, 0.9)])];
        assert!(compare(&reference, &found, SAME_PLAN).holds());
        let found = vec![(0, vec![image(300.0, 0.521)])];
        assert!(!compare(&reference, &found, SAME_PLAN).holds());
        assert!(!compare(&reference, &vec![(0, Vec::new())], OTHER_LIBRARY).holds());
    }

    #[test]
    fn what_is_no_number_and_what_is_not_known_does_not_hold() {
        let reference = vec![(0, vec![image(0.0, 0.9)])];
        let found = vec![(0, vec![image(f32::NAN, f32::NAN), image(0.0, 0.9)])];
        assert!(!compare(&reference, &found, HALF_PRECISION).holds());
        assert!(!compare(&reference, &vec![(7, Vec::new())], HALF_PRECISION).holds());
    }
}
