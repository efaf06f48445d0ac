//! Non-maximum suppression of boxes seen from above: of boxes that overlap, the best one stays.

use crate::detector::Box3d;
use crate::record::footprint::Footprint;

/// A decoded box that may be reported.
#[derive(Clone, Copy, Debug)]
pub struct Candidate {
    /// Confidence, of which the highest is kept.
    pub score: f32,
    /// Index into the detector's classes.
    pub class: u16,
    /// The box in the frame of the LiDAR.
    pub at: Box3d,
}

/// Suppression and the memory that it takes.
pub struct Suppress {
    /// A box goes if it overlaps a better one by more than this.
    pub iou: f64,
    /// Most boxes that stay.
    pub keep: usize,
    /// Whether boxes suppress only those of their own class.
    pub per_class: bool,
    kept: Vec<(u16, Footprint)>,
    /// Classes and centres of those kept, where distances count.
    centres: Vec<(u16, [f32; 2])>,
}

impl Suppress {
    /// With room for `keep` boxes.
    pub fn new(iou: f64, keep: usize, per_class: bool) -> Self {
        Suppress {
            iou,
            keep,
            per_class,
            kept: Vec::with_capacity(keep),
            centres: Vec::with_capacity(keep),
        }
    }

    /// Calls `found` for each box that stays. `candidates` come best first.
    pub fn run(&mut self, candidates: &[Candidate], mut found: impl FnMut(&Candidate)) {
        self.run_with(candidates, None, |_, candidate| found(candidate));
    }

    /// Calls `found` for each box that stays, with its position among the candidates. With a distance in metres, what counts is
    /// how near the centres are, and not how much boxes overlap (CenterPoint's circle suppression).
    pub fn run_with(
        &mut self,
        candidates: &[Candidate],
        distance: Option<f64>,
        found: impl FnMut(usize, &Candidate),
    ) {
        match distance {
            Some(distance) => self.by_distance(candidates, distance as f32, found),
            None => self.by_overlap(candidates, found),
        }
    }

    fn by_distance(
        &mut self,
        candidates: &[Candidate],
        distance: f32,
        mut found: impl FnMut(usize, &Candidate),
    ) {
        self.centres.clear();
        for (index, candidate) in candidates.iter().enumerate() {
            if self.centres.len() == self.keep {
                return;
            }
            let Box3d { x, y, .. } = candidate.at;
            let rivals = |class: u16| !self.per_class || class == candidate.class;
            let near = |[u, v]: [f32; 2]| (x - u).powi(2) + (y - v).powi(2) < distance * distance;
            if !self.centres.iter().any(|(class, at)| near(*at) && rivals(*class)) {
                self.centres.push((candidate.class, [x, y]));
                found(index, candidate);
            }
        }
    }

    fn by_overlap(&mut self, candidates: &[Candidate], mut found: impl FnMut(usize, &Candidate)) {
        self.kept.clear();
        for (index, candidate) in candidates.iter().enumerate() {
            if self.kept.len() == self.keep {
                return;
            }
            let footprint = Footprint::of(&candidate.at);
            let rivals = |class: u16| !self.per_class || class == candidate.class;
            let beaten = self
                .kept
                .iter()
                .any(|(class, better)| rivals(*class) && better.iou(&footprint) > self.iou);
            if !beaten {
                self.kept.push((candidate.class, footprint));
                found(index, candidate);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::record::footprint::bev_iou;

    fn stays(suppress: &mut Suppress, candidates: &[Candidate]) -> Vec<Candidate> {
        let mut left = Vec::new();
        suppress.run(candidates, |c| left.push(*c));
        left
    }

    proptest! {
        #[test]
        fn nothing_that_stays_overlaps_and_all_that_went_overlapped(
            mut boxes in prop::collection::vec((0.0f32..8.0, 0.0f32..8.0, -3.0f32..3.0, 0.0f32..1.0, 0u16..2), 0..30),
            per_class in any::<bool>(),
        ) {
            boxes.sort_by(|a, b| b.3.total_cmp(&a.3));
            let candidates: Vec<Candidate> = boxes.iter().map(|&(x, y, yaw, score, class)| Candidate {
                score, class, at: Box3d { x, y, z: 0.0, l: 4.0, w: 1.6, h: 1.5, yaw },
            }).collect();
            let left = stays(&mut Suppress::new(0.1, 100, per_class), &candidates);
            let rivals = |a: &Candidate, b: &Candidate| !per_class || a.class == b.class;
            for (i, a) in left.iter().enumerate() {
                for b in &left[..i] {
                    prop_assert!(!rivals(a, b) || bev_iou(&a.at, &b.at) <= 0.1);
                }
            }
            for gone in candidates.iter().filter(|c| !left.iter().any(|l| l.at == c.at && l.class == c.class)) {
                let beats = |l: &&Candidate| l.score >= gone.score && bev_iou(&l.at, &gone.at) > 0.1;
                prop_assert!(left.iter().filter(|l| rivals(l, gone)).any(|l| beats(&l)));
            }
        }
    }

    #[test]
    fn no_more_stay_than_asked_for() {
        let candidates: Vec<Candidate> = (0..10)
            .map(|k| Candidate {
                score: 1.0,
                class: 0,
                at: Box3d {
                    x: 10.0 * k as f32,
                    l: 1.0,
                    w: 1.0,
                    ..Box3d::default()
                },
            })
            .collect();
        assert_eq!(stays(&mut Suppress::new(0.5, 3, true), &candidates).len(), 3);
    }

    #[test]
    fn a_box_that_overlaps_by_no_more_than_is_allowed_stays() {
        let of = |iou: f64| {
            let candidate = |l: f32, x: f32| Candidate {
                score: 1.0,
                class: 0,
                at: Box3d {
                    x,
                    l,
                    w: 1.0,
                    ..Box3d::default()
                },
            };
            // One square metre of two.
            stays(
                &mut Suppress::new(iou, 10, true),
                &[candidate(2.0, 0.0), candidate(1.0, 0.5)],
            )
            .len()
        };
        assert_eq!((of(0.49), of(0.5)), (1, 2));
    }
}
