//! Precision and recall of matched images.

use super::matching::{Class, Event};
use super::{MOST, OVERLAPS, SIZES};
use crate::benchmark::{Counts, mean};

/// COCO's twelve figures, 0 to 1, and those of each class. `None` where no object of that size is labelled.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Scores {
    /// Average precision over overlaps of 0.50 to 0.95.
    pub ap: Option<f64>,
    /// At an overlap of 0.50.
    pub ap50: Option<f64>,
    /// At an overlap of 0.75.
    pub ap75: Option<f64>,
    /// Of small, medium and large objects: below 32², up to 96², above.
    pub ap_by_size: [Option<f64>; 3],
    /// Average recall with at most 1, 10 and 100 detections of a class in an image.
    pub ar: [Option<f64>; 3],
    /// Of small, medium and large objects, with at most 100.
    pub ar_by_size: [Option<f64>; 3],
    /// Of each class.
    pub classes: Vec<ClassScores>,
}

/// The figures of a class; `None` where nothing of it is labelled.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ClassScores {
    /// Objects that count.
    pub truths: u64,
    /// Average precision over overlaps of 0.50 to 0.95.
    pub ap: Option<f64>,
    /// At an overlap of 0.50.
    pub ap50: Option<f64>,
    /// At an overlap of 0.75.
    pub ap75: Option<f64>,
    /// Average recall with at most 100 detections in an image.
    pub ar100: Option<f64>,
    ap_by_size: [Option<f64>; 3],
    ar: [Option<f64>; 3],
    ar_by_size: [Option<f64>; 3],
}

impl Scores {
    /// The twelve figures under their names, in COCO's order.
    pub fn named(&self) -> [(&'static str, Option<f64>); 12] {
        let ([small, medium, large], [one, ten, hundred]) = (self.ap_by_size, self.ar);
        let [ar_small, ar_medium, ar_large] = self.ar_by_size;
        [
            ("ap", self.ap),
            ("ap50", self.ap50),
            ("ap75", self.ap75),
            ("ap_small", small),
            ("ap_medium", medium),
            ("ap_large", large),
            ("ar1", one),
            ("ar10", ten),
            ("ar100", hundred),
            ("ar_small", ar_small),
            ("ar_medium", ar_medium),
            ("ar_large", ar_large),
        ]
    }
}

pub(super) fn scores(classes: &[Class], counts: Counts<'_>) -> Scores {
    let classes: Vec<ClassScores> = classes.iter().map(|class| of_class(class, counts)).collect();
    let over = |figure: &dyn Fn(&ClassScores) -> Option<f64>| mean(classes.iter().map(figure));
    let each = |figure: &dyn Fn(&ClassScores) -> [Option<f64>; 3]| {
        std::array::from_fn(|n| over(&|class| figure(class)[n]))
    };
    Scores {
        ap: over(&|class| class.ap),
        ap50: over(&|class| class.ap50),
        ap75: over(&|class| class.ap75),
        ap_by_size: each(&|class| class.ap_by_size),
        ar: each(&|class| class.ar),
        ar_by_size: each(&|class| class.ar_by_size),
        classes,
    }
}

fn of_class(class: &Class, counts: Counts<'_>) -> ClassScores {
    let mut truths = [0u64; SIZES];
    for (frame, counted) in &class.truths {
        let times = u64::from(counts.of(*frame));
        for (sum, counted) in truths.iter_mut().zip(counted) {
            *sum += times * u64::from(*counted);
        }
    }
    let [all, small, medium, large] =
        std::array::from_fn(|size| (truths[size] > 0).then(|| precisions(class, counts, size, truths[size])));
    let known = |of: &Option<[f64; OVERLAPS]>| of.and_then(|of| mean(of.map(Some)));
    let recall = |size: usize, most: u32| {
        (truths[size] > 0).then(|| average_recall(class, counts, size, most, truths[size]))
    };
    let ar = MOST.map(|most| recall(0, most));
    ClassScores {
        truths: truths[0],
        ap: known(&all),
        ap50: all.map(|of| of[0]),
        ap75: all.map(|of| of[5]),
        ar100: ar[2],
        ap_by_size: [small, medium, large].map(|of| known(&of)),
        ar,
        ar_by_size: [1, 2, 3].map(|size| recall(size, MOST[2])),
    }
}

/// Precision averaged over 101 recalls, per overlap.
fn precisions(class: &Class, counts: Counts<'_>, size: usize, truths: u64) -> [f64; OVERLAPS] {
    let mut curve: Vec<(u64, f64)> = Vec::new();
    std::array::from_fn(|number| {
        curve.clear();
        let (mut right, mut wrong) = (0u64, 0u64);
        for event in &class.events {
            let times = u64::from(counts.of(event.frame));
            match outcome(event, size, number) {
                Some(true) if times > 0 => {
                    right += times;
                    curve.push((right, right as f64 / ((wrong + right) as f64 + f64::EPSILON)));
                }
                Some(false) => wrong += times,
                _ => {}
            }
        }
        average_precision(&mut curve, truths)
    })
}

/// Whether a detection is right; `None` if it counts neither way.
fn outcome(event: &Event, size: usize, number: usize) -> Option<bool> {
    let bit = 1 << number;
    (event.skip[size] & bit == 0).then_some(event.hit[size] & bit != 0)
}

/// Of points with rising numbers of right detections. Only those at which something was found matter: between them precision
/// falls.
fn average_precision(curve: &mut [(u64, f64)], truths: u64) -> f64 {
    let mut best = 0.0f64;
    for (_, precision) in curve.iter_mut().rev() {
        best = best.max(*precision);
        *precision = best;
    }
    let mut points = curve.iter().peekable();
    let mut sum = 0.0;
    for step in 0..=100u32 {
        // The numbers of `numpy.linspace(0, 1, 101)`.
        let recall = f64::from(step) * 0.01;
        while points
            .next_if(|(right, _)| (*right as f64 / truths as f64) < recall)
            .is_some()
        {}
        match points.peek() {
            Some((_, precision)) => sum += precision,
            None => break,
        }
    }
    sum / 101.0
}

/// Share of objects found, averaged over overlaps, with so many detections of the class in an image.
fn average_recall(class: &Class, counts: Counts<'_>, size: usize, most: u32, truths: u64) -> f64 {
    let mut right = [0u64; OVERLAPS];
    for event in class.events.iter().filter(|event| event.rank < most) {
        let times = u64::from(counts.of(event.frame));
        for (number, right) in right.iter_mut().enumerate() {
            if outcome(event, size, number) == Some(true) {
                *right += times;
            }
        }
    }
    let sum: f64 = right.iter().map(|right| *right as f64 / truths as f64).sum();
    sum / OVERLAPS as f64
}
