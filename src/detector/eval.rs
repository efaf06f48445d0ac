//! How well detections match labels: precision and recall at one overlap, frame after frame.
//!
//! Matching is greedy: detections of a frame, best score first, each take the free label of their class that
//! they overlap most, if by at least the threshold. Labels that are too small or too hidden to be asked for
//! ([`Truth::ignored`]) and regions that nobody labelled ([`FrameTruth::dont_care`]) count neither way: what
//! matches them is no false alarm, and not finding them is no miss. Where labels come from, and which are
//! ignored, is the caller's affair.

use super::{Box2d, Detection, Place};
use crate::record::footprint::Footprint;

/// A labelled object of a frame.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Truth {
    /// Index into the detector's classes.
    pub class: u16,
    /// Where it is; in the image for cameras, in space for LiDAR.
    pub place: Place,
    /// Whether it counts neither way.
    pub ignored: bool,
}

/// What is known of a frame.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FrameTruth {
    /// The labelled objects of this frame.
    pub objects: Vec<Truth>,
    /// Regions that hold objects nobody labelled: a detection that lies in one by half or more of its own area
    /// counts neither way.
    pub dont_care: Vec<Place>,
}

/// What came of matching, for one class or for all. `matched + missed` is the number of labels that count,
/// `matched + false_alarms` that of detections.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Labels found, and the detections that found them.
    pub matched: u64,
    /// How many detections match no label.
    pub false_alarms: u64,
    /// How many labels no detection matches.
    pub missed: u64,
    /// Detections that count neither way.
    pub ignored: u64,
}

impl Counts {
    /// Share of detections that are right; none without detections.
    pub fn precision(&self) -> Option<f64> {
        ratio(self.matched, self.matched + self.false_alarms)
    }

    /// Share of labels that were found; none without labels.
    pub fn recall(&self) -> Option<f64> {
        ratio(self.matched, self.matched + self.missed)
    }

    fn add(&mut self, other: Counts) {
        self.matched += other.matched;
        self.false_alarms += other.false_alarms;
        self.missed += other.missed;
        self.ignored += other.ignored;
    }
}

fn ratio(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

/// Matches frames and counts, class by class.
#[derive(Clone, Debug)]
pub struct Evaluation {
    min_iou: f64,
    min_score: f32,
    per_class: Vec<Counts>,
    frames: u64,
}

impl Evaluation {
    /// For that many classes. A match needs an overlap of `min_iou` (above 0); detections below `min_score`
    /// are as if they had not been made.
    pub fn new(classes: usize, min_iou: f64, min_score: f32) -> Self {
        Evaluation {
            min_iou,
            min_score,
            per_class: vec![Counts::default(); classes],
            frames: 0,
        }
    }

    /// Adds a frame. Detections and labels of unknown classes are left out.
    pub fn add(&mut self, found: &[Detection], truth: &FrameTruth) {
        self.frames += 1;
        for (class, counts) in self.per_class.iter_mut().enumerate() {
            let of_class = |c: u16| usize::from(c) == class;
            let mut found: Vec<&Detection> = found
                .iter()
                .filter(|d| of_class(d.class) && d.score >= self.min_score)
                .collect();
            found.sort_by(|a, b| b.score.total_cmp(&a.score));
            let objects: Vec<&Truth> = truth.objects.iter().filter(|t| of_class(t.class)).collect();
            counts.add(match_class(&found, &objects, &truth.dont_care, self.min_iou));
        }
    }

    /// Frames that were added.
    pub fn frames(&self) -> u64 {
        self.frames
    }

    /// What came of each class.
    pub fn per_class(&self) -> &[Counts] {
        &self.per_class
    }

    /// What came of all classes together.
    pub fn overall(&self) -> Counts {
        let mut all = Counts::default();
        self.per_class.iter().for_each(|counts| all.add(*counts));
        all
    }
}

fn match_class(found: &[&Detection], objects: &[&Truth], dont_care: &[Place], min_iou: f64) -> Counts {
    let mut counts = Counts::default();
    let mut taken = vec![false; objects.len()];
    for detection in found {
        let overlap = |t: &Truth| iou(&detection.place, &t.place);
        let best = (0..objects.len())
            .filter(|k| !taken[*k] && !objects[*k].ignored)
            .map(|k| (k, overlap(objects[k])))
            .filter(|(_, iou)| *iou >= min_iou)
            .max_by(|a, b| a.1.total_cmp(&b.1));
        let of_ignored = || objects.iter().any(|t| t.ignored && overlap(t) >= min_iou);
        let of_region = || {
            dont_care
                .iter()
                .any(|region| covered(&detection.place, region) >= 0.5)
        };
        if let Some((k, _)) = best {
            taken[k] = true;
            counts.matched += 1;
        } else if of_ignored() || of_region() {
            counts.ignored += 1;
        } else {
            counts.false_alarms += 1;
        }
    }
    let asked_for = objects.iter().filter(|t| !t.ignored).count() as u64;
    counts.missed = asked_for - counts.matched;
    counts
}

/// Intersection over union: of image boxes, or of boxes in space seen from above; 0 between the two kinds.
pub fn iou(a: &Place, b: &Place) -> f64 {
    let (both, area_a, area_b) = areas(a, b);
    let union = area_a + area_b - both;
    if both > 0.0 {
        (both / union).clamp(0.0, 1.0)
    } else {
        0.0
    }
}

/// Share of `a` that lies in `region`.
fn covered(a: &Place, region: &Place) -> f64 {
    let (both, area, _) = areas(a, region);
    if area > 0.0 { both / area } else { 0.0 }
}

/// The area that both cover, and that of each.
fn areas(a: &Place, b: &Place) -> (f64, f64, f64) {
    match (a, b) {
        (Place::Image(a), Place::Image(b)) => (intersection(a, b), area(a), area(b)),
        (Place::Space(a), Place::Space(b)) => {
            let (a, b) = (Footprint::of(a), Footprint::of(b));
            (a.shared(&b), a.area(), b.area())
        }
        _ => (0.0, 0.0, 0.0),
    }
}

fn area(b: &Box2d) -> f64 {
    f64::from(b.x2 - b.x1).max(0.0) * f64::from(b.y2 - b.y1).max(0.0)
}

fn intersection(a: &Box2d, b: &Box2d) -> f64 {
    area(&Box2d {
        x1: a.x1.max(b.x1),
        y1: a.y1.max(b.y1),
        x2: a.x2.min(b.x2),
        y2: a.y2.min(b.y2),
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::detector::Box3d;

    fn image(x1: f32, y1: f32, x2: f32, y2: f32) -> Place {
        Place::Image(Box2d { x1, y1, x2, y2 })
    }

    fn found(class: u16, score: f32, place: Place) -> Detection {
        Detection::still(class, score, place)
    }

    fn object(class: u16, place: Place) -> Truth {
        Truth {
            class,
            place,
            ignored: false,
        }
    }

    fn counted(found: &[Detection], truth: &FrameTruth) -> Counts {
        let mut evaluation = Evaluation::new(2, 0.5, 0.3);
        evaluation.add(found, truth);
        evaluation.overall()
    }

    #[test]
    fn the_best_score_takes_the_label_and_the_second_is_a_false_alarm() {
        let place = image(0.0, 0.0, 10.0, 10.0);
        let truth = FrameTruth {
            objects: vec![object(0, place)],
            dont_care: vec![],
        };
        let twice = [found(0, 0.5, place), found(0, 0.9, place)];
        let counts = counted(&twice, &truth);
        assert_eq!(
            counts,
            Counts {
                matched: 1,
                false_alarms: 1,
                missed: 0,
                ignored: 0
            }
        );
        assert_eq!((counts.precision(), counts.recall()), (Some(0.5), Some(1.0)));
    }

    #[test]
    fn another_class_or_too_low_a_score_finds_nothing() {
        let place = image(0.0, 0.0, 10.0, 10.0);
        let truth = FrameTruth {
            objects: vec![object(0, place)],
            dont_care: vec![],
        };
        let counts = counted(&[found(1, 0.9, place), found(0, 0.2, place)], &truth);
        assert_eq!(
            counts,
            Counts {
                matched: 0,
                false_alarms: 1,
                missed: 1,
                ignored: 0
            }
        );
    }

    #[test]
    fn ignored_labels_and_dont_care_regions_count_neither_way() {
        let (hidden, region) = (image(0.0, 0.0, 10.0, 10.0), image(50.0, 50.0, 100.0, 100.0));
        let truth = FrameTruth {
            objects: vec![Truth {
                class: 0,
                place: hidden,
                ignored: true,
            }],
            dont_care: vec![region],
        };
        let within = image(60.0, 60.0, 70.0, 70.0);
        let counts = counted(&[found(0, 0.9, hidden), found(1, 0.9, within)], &truth);
        assert_eq!(
            counts,
            Counts {
                ignored: 2,
                ..Counts::default()
            }
        );
        assert_eq!(counted(&[], &truth), Counts::default());
        assert_eq!((counts.precision(), counts.recall()), (None, None));
    }

    #[test]
    fn boxes_in_space_are_compared_from_above() {
        let car = Box3d {
            l: 4.0,
            w: 2.0,
            h: 1.5,
            ..Box3d::default()
        };
        let turned = Box3d {
            yaw: std::f32::consts::PI,
            z: 9.0,
            ..car
        };
        assert!((iou(&Place::Space(car), &Place::Space(turned)) - 1.0).abs() < 1e-6);
        assert_eq!(iou(&Place::Space(car), &image(0.0, 0.0, 4.0, 2.0)), 0.0);
        let nothing = image(5.0, 5.0, 5.0, 5.0);
        assert_eq!(iou(&nothing, &nothing), 0.0);
    }

    fn box2d() -> impl Strategy<Value = Place> {
        (0.0f32..50.0, 0.0f32..50.0, 1.0f32..30.0, 1.0f32..30.0)
            .prop_map(|(x, y, w, h)| image(x, y, x + w, y + h))
    }

    fn detections() -> impl Strategy<Value = Vec<Detection>> {
        prop::collection::vec(
            (0u16..3, 0.0f32..1.0, box2d()).prop_map(|(c, s, p)| found(c, s, p)),
            0..12,
        )
    }

    fn truths() -> impl Strategy<Value = FrameTruth> {
        let objects = (0u16..3, box2d(), any::<bool>()).prop_map(|(class, place, ignored)| Truth {
            class,
            place,
            ignored,
        });
        (
            prop::collection::vec(objects, 0..10),
            prop::collection::vec(box2d(), 0..2),
        )
            .prop_map(|(objects, dont_care)| FrameTruth { objects, dont_care })
    }

    proptest! {
        #[test]
        fn every_detection_and_every_label_is_counted_once(found in detections(), truth in truths()) {
            let counts = counted(&found, &truth);
            let heard = found.iter().filter(|d| d.class < 2 && d.score >= 0.3).count() as u64;
            let asked = truth.objects.iter().filter(|t| t.class < 2 && !t.ignored).count() as u64;
            prop_assert_eq!(counts.matched + counts.false_alarms + counts.ignored, heard);
            prop_assert_eq!(counts.matched + counts.missed, asked);
        }

        #[test]
        fn labels_given_as_detections_are_all_found(truth in truths()) {
            let found: Vec<Detection> = truth.objects.iter().map(|t| found(t.class, 1.0, t.place)).collect();
            let counts = counted(&found, &truth);
            prop_assert_eq!(counts.false_alarms, 0);
            let mut strict = Evaluation::new(2, 1.0 - 1e-9, 0.3);
            let plain = FrameTruth {
                objects: truth.objects.iter().map(|t| Truth { ignored: false, ..*t }).collect(),
                dont_care: vec![],
            };
            strict.add(&found, &plain);
            prop_assert_eq!(strict.overall().missed, 0);
        }

        #[test]
        fn the_order_of_detections_does_not_matter(mut found in detections(), truth in truths()) {
            let before = counted(&found, &truth);
            found.reverse();
            prop_assert_eq!(counted(&found, &truth), before);
        }

        #[test]
        fn a_stricter_overlap_never_finds_more(found in detections(), truth in truths()) {
            let at = |min_iou| {
                let mut evaluation = Evaluation::new(2, min_iou, 0.0);
                let one_each: Vec<Detection> = found.iter().take(1).copied().collect();
                evaluation.add(&one_each, &truth);
                evaluation.overall().matched
            };
            prop_assert!(at(0.7) <= at(0.5) && at(0.5) <= at(0.1));
        }
    }

    #[test]
    fn frames_and_classes_add_up() {
        let place = image(0.0, 0.0, 10.0, 20.0);
        let truth = FrameTruth {
            objects: vec![object(0, place), object(1, image(60.0, 0.0, 70.0, 10.0))],
            dont_care: vec![image(100.0, 100.0, 120.0, 140.0)],
        };
        let twice = [
            found(0, 0.9, place),
            found(0, 0.8, image(30.0, 0.0, 40.0, 10.0)),
            // More than half of it in the region; and less.
            found(1, 0.9, image(110.0, 105.0, 128.0, 125.0)),
            found(1, 0.9, image(112.0, 105.0, 132.0, 125.0)),
        ];
        let mut evaluation = Evaluation::new(2, 0.5, 0.3);
        (0..3).for_each(|_| evaluation.add(&twice, &truth));
        assert_eq!(evaluation.frames(), 3);
        let counts = |matched, false_alarms, missed, ignored| Counts {
            matched,
            false_alarms,
            missed,
            ignored,
        };
        assert_eq!(evaluation.per_class(), [counts(3, 3, 0, 0), counts(0, 3, 3, 3)]);
        assert_eq!(evaluation.overall(), counts(3, 6, 3, 3));
    }
}
