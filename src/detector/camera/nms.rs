//! Candidates above the threshold, and greedy non-maximum suppression over them.
//!
//! Boxes are in pixels of the network's input, where the overlap of two boxes is the same as in the image.
//! The order is total (score, then the order in which the head found them), so that a run repeats itself.

use std::cmp::Ordering;

use serde::Deserialize;

use crate::detector::Box2d;
use crate::record::{fields, words};
use crate::written::{Node, Reader};

fields! {
    /// How candidates are thinned.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct Nms {
        /// A box goes if its intersection over union with a better one is above this.
        pub iou: f32 = 0.45;
        /// Whether only boxes of one class suppress each other.
        pub class_aware: bool = true;
        /// The most detections of one frame, best first.
        pub max_detections: usize = 300;
        /// The most candidates that enter, best first; bounds the time of a frame that has too many.
        pub max_candidates: usize = 3000;
        /// How many classes one cell may report.
        pub labels: Labels = Labels::Best;
    }
}

impl Nms {
    /// As written in a spec; `usual` is what holds of what is not written.
    pub(crate) fn read(r: &mut Reader, node: &Node, field: &str, usual: Nms) -> Option<Self> {
        let example = "fields in parentheses, such as (iou: 0.45)";
        let fields = r.record(node, field, "Nms", example, Nms::FIELDS)?;
        let mut nms = usual;
        nms.fill(&mut r.entries(&fields, ""));
        Some(nms)
    }
}

words! {
    Labels: "labels";
}

/// How many classes one cell may report.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
pub enum Labels {
    /// Its best class only.
    #[default]
    Best,
    /// Every class above the threshold, each as a candidate of its own.
    Every,
}

/// One box that a head found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Candidate {
    /// Confidence, from 0 to 1.
    pub score: f32,
    /// Index into the class names.
    pub class: u16,
    /// When it was found, from 0: decides between equal scores.
    pub index: u32,
    /// In pixels of the network's input.
    pub place: Box2d,
}

/// The candidates of one frame; the memory is kept between frames.
#[derive(Clone, Debug)]
pub struct Candidates {
    list: Vec<Candidate>,
    threshold: f32,
    labels: Labels,
}

impl Candidates {
    /// None yet; scores below `threshold` will not enter.
    pub fn new(threshold: f32, labels: Labels) -> Self {
        Candidates {
            list: Vec::new(),
            threshold,
            labels,
        }
    }
    /// The lowest score that enters.
    pub fn threshold(&self) -> f32 {
        self.threshold
    }
    /// How many classes one cell may report.
    pub fn labels(&self) -> Labels {
        self.labels
    }
    /// Forgets the last frame's.
    pub fn clear(&mut self) {
        self.list.clear();
    }
    /// What has been found, or, after [`suppress`](Self::suppress), what is left, best first.
    pub fn as_slice(&self) -> &[Candidate] {
        &self.list
    }
    /// Adds a box if its score reaches the threshold and the network gave finite numbers.
    pub fn push(&mut self, score: f32, class: u16, place: Box2d) {
        let finite = [place.x1, place.y1, place.x2, place.y2]
            .iter()
            .all(|v| v.is_finite());
        // Not the inverse comparison: a NaN must not enter.
        if score >= self.threshold && score.is_finite() && finite {
            let index = u32::try_from(self.list.len()).unwrap_or(u32::MAX);
            self.list.push(Candidate {
                score,
                class,
                index,
                place,
            });
        }
    }
    /// Adds what one cell reports: its best class or every one, each scored `factor × score(class)`.
    /// `place` is only asked where something reaches the threshold.
    pub fn push_cell(
        &mut self,
        factor: f32,
        scores: impl Iterator<Item = f32>,
        place: impl FnOnce() -> Box2d,
    ) {
        let scored = (0u16..).zip(scores).map(|(class, score)| (class, factor * score));
        match self.labels {
            Labels::Best => {
                let mut best = (0, f32::NEG_INFINITY);
                for (class, score) in scored {
                    if score > best.1 {
                        best = (class, score);
                    }
                }
                if best.1 >= self.threshold {
                    self.push(best.1, best.0, place());
                }
            }
            Labels::Every => {
                let threshold = self.threshold;
                let mut scored = scored.filter(|(_, score)| *score >= threshold).peekable();
                if scored.peek().is_some() {
                    let place = place();
                    for (class, score) in scored {
                        self.push(score, class, place);
                    }
                }
            }
        }
    }
    /// Keeps the best boxes that do not overlap a better one, best first.
    pub fn suppress(&mut self, nms: &Nms) {
        let list = &mut self.list;
        if list.len() > nms.max_candidates {
            list.select_nth_unstable_by(nms.max_candidates, better_first);
            list.truncate(nms.max_candidates);
        }
        list.sort_unstable_by(better_first);
        let mut kept = 0;
        for i in 0..list.len() {
            if kept == nms.max_detections {
                break;
            }
            let candidate = list[i];
            let overlapped = list[..kept].iter().any(|better| {
                (!nms.class_aware || better.class == candidate.class)
                    && iou(&better.place, &candidate.place) > nms.iou
            });
            if !overlapped {
                list[kept] = candidate;
                kept += 1;
            }
        }
        list.truncate(kept);
    }
}

fn better_first(a: &Candidate, b: &Candidate) -> Ordering {
    b.score.total_cmp(&a.score).then(a.index.cmp(&b.index))
}

/// Intersection over union of two boxes; 0 where neither has an area.
pub fn iou(a: &Box2d, b: &Box2d) -> f32 {
    let area = |b: &Box2d| (b.x2 - b.x1).max(0.0) * (b.y2 - b.y1).max(0.0);
    let shared = area(&Box2d {
        x1: a.x1.max(b.x1),
        y1: a.y1.max(b.y1),
        x2: a.x2.min(b.x2),
        y2: a.y2.min(b.y2),
    });
    let union = area(a) + area(b) - shared;
    if union > 0.0 { shared / union } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn candidates(list: Vec<Candidate>) -> Candidates {
        Candidates {
            list,
            threshold: 0.0,
            labels: Labels::Best,
        }
    }

    fn boxed(x1: f32, y1: f32, x2: f32, y2: f32) -> Box2d {
        Box2d { x1, y1, x2, y2 }
    }

    fn any_candidates() -> impl Strategy<Value = Vec<Candidate>> {
        // Few positions and scores, so that overlaps and ties are common.
        let one = (0u16..3, 0u8..20, 0f32..30.0, 0f32..30.0, 1f32..20.0, 1f32..20.0);
        prop::collection::vec(one, 0..60).prop_map(|list| {
            (0u32..)
                .zip(list)
                .map(|(index, (class, score, x, y, w, h))| Candidate {
                    score: f32::from(score) / 20.0,
                    class,
                    index,
                    place: boxed(x, y, x + w, y + h),
                })
                .collect()
        })
    }

    fn any_nms() -> impl Strategy<Value = Nms> {
        (0f32..0.9, any::<bool>(), 1usize..40, 1usize..80).prop_map(
            |(iou, class_aware, max_detections, max_candidates)| Nms {
                iou,
                class_aware,
                max_detections,
                max_candidates,
                labels: Labels::Best,
            },
        )
    }

    proptest! {
        #[test]
        fn no_two_kept_boxes_that_compete_overlap_more_than_allowed(list in any_candidates(), nms in any_nms()) {
            let mut found = candidates(list);
            found.suppress(&nms);
            let kept = found.as_slice();
            prop_assert!(kept.len() <= nms.max_detections);
            for (i, a) in kept.iter().enumerate() {
                for b in &kept[i + 1..] {
                    prop_assert!(a.score >= b.score);
                    if !nms.class_aware || a.class == b.class {
                        prop_assert!(iou(&a.place, &b.place) <= nms.iou);
                    }
                }
            }
        }

        #[test]
        fn what_is_kept_was_found_and_what_is_gone_has_a_better_neighbour(list in any_candidates(), nms in any_nms()) {
            let nms = Nms { max_detections: usize::MAX, max_candidates: usize::MAX, ..nms };
            let mut found = candidates(list.clone());
            found.suppress(&nms);
            let kept = found.as_slice();
            prop_assert!(kept.iter().all(|k| list.contains(k)));
            for gone in list.iter().filter(|c| !kept.contains(c)) {
                let beaten = kept.iter().any(|k| {
                    better_first(k, gone) == Ordering::Less
                        && (!nms.class_aware || k.class == gone.class)
                        && iou(&k.place, &gone.place) > nms.iou
                });
                prop_assert!(beaten);
            }
        }

        #[test]
        fn suppressing_twice_changes_nothing_more(list in any_candidates(), nms in any_nms()) {
            let mut found = candidates(list);
            found.suppress(&nms);
            let once = found.as_slice().to_vec();
            found.suppress(&nms);
            prop_assert_eq!(found.as_slice(), &once[..]);
        }

        #[test]
        fn the_order_of_the_list_does_not_matter(
            (list, shuffled) in any_candidates().prop_flat_map(|l| (Just(l.clone()), Just(l).prop_shuffle())),
            nms in any_nms(),
        ) {
            let (mut a, mut b) = (candidates(list), candidates(shuffled));
            a.suppress(&nms);
            b.suppress(&nms);
            prop_assert_eq!(a.as_slice(), b.as_slice());
        }
    }

    #[test]
    fn boxes_of_two_classes_suppress_each_other_only_if_asked() {
        let place = boxed(0.0, 0.0, 10.0, 10.0);
        let mut found = Candidates::new(0.5, Labels::Best);
        found.push(0.9, 0, place);
        found.push(0.8, 1, place);
        let mut agnostic = found.clone();
        found.suppress(&Nms::default());
        assert_eq!(found.as_slice().len(), 2);
        agnostic.suppress(&Nms {
            class_aware: false,
            ..Nms::default()
        });
        assert_eq!(agnostic.as_slice().len(), 1);
        assert_eq!(agnostic.as_slice()[0].class, 0);
    }

    #[test]
    fn a_cell_reports_its_best_class_or_every_class_above_the_threshold() {
        let scores = [0.2, 0.9, 0.7];
        let place = || boxed(0.0, 0.0, 1.0, 1.0);
        let classes = |labels| {
            let mut found = Candidates::new(0.5, labels);
            found.push_cell(1.0, scores.into_iter(), place);
            found.push_cell(0.5, scores.into_iter(), place);
            found.as_slice().iter().map(|c| c.class).collect::<Vec<_>>()
        };
        assert_eq!(classes(Labels::Best), [1]);
        assert_eq!(classes(Labels::Every), [1, 2]);
    }

    #[test]
    fn numbers_that_are_not_finite_do_not_enter() {
        let mut found = Candidates::new(0.0, Labels::Best);
        found.push(f32::NAN, 0, boxed(0.0, 0.0, 1.0, 1.0));
        found.push(f32::INFINITY, 0, boxed(0.0, 0.0, 1.0, 1.0));
        found.push(0.5, 0, boxed(0.0, f32::NAN, 1.0, 1.0));
        found.push(0.5, 0, boxed(0.0, 0.0, f32::INFINITY, 1.0));
        assert!(found.as_slice().is_empty());
    }

    #[test]
    fn of_classes_with_equal_scores_the_first_is_reported() {
        let mut found = Candidates::new(0.5, Labels::Best);
        found.push_cell(1.0, [0.2, 0.9, 0.9].into_iter(), || boxed(0.0, 0.0, 1.0, 1.0));
        assert_eq!(found.as_slice()[0].class, 1);
    }

    #[test]
    fn boxes_without_an_area_do_not_overlap() {
        let point = boxed(1.0, 1.0, 1.0, 1.0);
        assert_eq!(iou(&point, &point), 0.0);
        assert_eq!(iou(&point, &boxed(0.0, 0.0, 2.0, 2.0)), 0.0);
    }

    #[test]
    fn a_box_that_overlaps_by_no_more_than_is_allowed_stays() {
        let kept = |iou: f32| {
            let candidate = |index: u32, x2: f32| Candidate {
                score: 0.9,
                class: 0,
                index,
                place: boxed(0.0, 0.0, x2, 1.0),
            };
            let mut found = candidates(vec![candidate(0, 2.0), candidate(1, 1.0)]);
            found.suppress(&Nms {
                iou,
                ..Nms::default()
            });
            found.as_slice().len()
        };
        // One of two.
        assert_eq!((kept(0.49), kept(0.5)), (1, 2));
        assert_eq!(Candidates::new(0.3, Labels::Best).threshold(), 0.3);
    }
}
