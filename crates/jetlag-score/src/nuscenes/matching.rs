//! Which detections of a sample are right, for four distances at once, and how far off they are.

use std::f64::consts::{PI, TAU};

use super::{BARRIER, Config, DISTANCES, ERRORS, Found, Truth};

/// A detection of a class, matched.
#[derive(Clone, Copy, Debug)]
pub(super) struct Event {
    pub(super) frame: u32,
    pub(super) score: f64,
    /// One bit a distance: it found something.
    pub(super) hit: u8,
    /// At the distance that errors are taken at; what cannot be known is not a number. Meaningless where nothing was found.
    pub(super) errors: [f64; ERRORS],
}

/// What came of a class in all samples.
#[derive(Clone, Debug, Default)]
pub(super) struct Class {
    /// The highest score first; of equal ones the later detection, as the devkit has it.
    pub(super) events: Vec<Event>,
    /// By sample, how many objects count.
    pub(super) truths: Vec<(u32, u32)>,
}

impl Class {
    /// To be called when all samples were added.
    pub(super) fn sort(&mut self) {
        // Reversed before and after a stable sort: what came later goes first.
        self.events.reverse();
        self.events.sort_by(|a, b| b.score.total_cmp(&a.score));
    }
}

/// Matches what counts of a sample.
pub(super) fn add(classes: &mut [Class], frame: u32, truths: &[&Truth], found: &[&Found], config: &Config) {
    for (number, class) in classes.iter_mut().enumerate() {
        let truths: Vec<&Truth> = truths.iter().copied().filter(|t| t.class == number).collect();
        if !truths.is_empty() {
            class.truths.push((frame, truths.len() as u32));
        }
        let found: Vec<&Found> = found.iter().copied().filter(|f| f.class == number).collect();
        if !found.is_empty() {
            add_class(class, frame, &truths, &found, config);
        }
    }
}

fn add_class(class: &mut Class, frame: u32, truths: &[&Truth], found: &[&Found], config: &Config) {
    let mut order: Vec<usize> = (0..found.len()).rev().collect();
    let score = |at: usize| found.get(at).map_or(f64::NEG_INFINITY, |found| found.score);
    order.sort_by(|a, b| score(*b).total_cmp(&score(*a)));
    let mut events: Vec<Event> = found
        .iter()
        .map(|found| Event {
            frame,
            score: found.score,
            hit: 0,
            errors: [f64::NAN; ERRORS],
        })
        .collect();
    let mut taken = vec![0u8; truths.len()];
    for at in order {
        let (Some(found), Some(event)) = (found.get(at), events.get_mut(at)) else {
            continue;
        };
        let apart: Vec<f64> = truths
            .iter()
            .map(|truth| apart(&truth.centre, &found.centre))
            .collect();
        for (number, most) in config.distances.iter().enumerate() {
            let bit = 1 << number;
            // Of equal distances the first.
            let nearest = (0..truths.len())
                .filter(|truth| taken.get(*truth).is_some_and(|taken| taken & bit == 0))
                .filter_map(|truth| Some((truth, *apart.get(truth)?)))
                .min_by(|a, b| a.1.total_cmp(&b.1))
                .filter(|(_, apart)| apart < most);
            let Some((truth, _)) = nearest else { continue };
            event.hit |= bit;
            if let Some(taken) = taken.get_mut(truth) {
                *taken |= bit;
            }
            if number == config.error_distance
                && let Some(truth) = truths.get(truth)
            {
                event.errors = errors(truth, found);
            }
        }
    }
    class.events.extend(events);
}

const _: () = assert!(DISTANCES <= 8, "one bit a distance");

fn apart(a: &[f64; 3], b: &[f64; 3]) -> f64 {
    let (dx, dy) = (b[0] - a[0], b[1] - a[1]);
    (dx * dx + dy * dy).sqrt()
}

fn errors(truth: &Truth, found: &Found) -> [f64; ERRORS] {
    let told = found.velocity.unwrap_or_default();
    let velocity = truth.velocity.map_or(f64::NAN, |[x, y]| {
        ((told[0] - x).powi(2) + (told[1] - y).powi(2)).sqrt()
    });
    let attribute = match truth.attribute {
        Some(_) if truth.attribute == found.attribute => 0.0,
        Some(_) => 1.0,
        None => f64::NAN,
    };
    // A barrier looks the same from both sides.
    let period = if truth.class == BARRIER { PI } else { TAU };
    [
        apart(&truth.centre, &found.centre),
        1.0 - aligned_overlap(&truth.size, &found.size),
        turned(truth.yaw, found.yaw, period),
        velocity,
        attribute,
    ]
}

/// Intersection over union of two boxes if they had one centre and heading.
fn aligned_overlap(a: &[f64; 3], b: &[f64; 3]) -> f64 {
    let volume = |size: &[f64; 3]| size[0] * size[1] * size[2];
    let both = volume(&std::array::from_fn(|k| a[k].min(b[k])));
    both / (volume(a) + volume(b) - both)
}

/// The angle between two headings, 0 to π, where turning by a period changes nothing.
fn turned(a: f64, b: f64, period: f64) -> f64 {
    let turned = (a - b + period / 2.0).rem_euclid(period) - period / 2.0;
    (if turned > PI { turned - TAU } else { turned }).abs()
}
