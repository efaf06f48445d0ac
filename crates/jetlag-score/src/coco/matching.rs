//! Which detections of an image find what, for ten overlaps and four ranges of size at once.

use super::{AREAS, Found, Image, MOST, OVERLAPS, SIZES, Truth};

/// A detection of a class, matched.
#[derive(Clone, Copy, Debug)]
pub(super) struct Event {
    pub(super) frame: u32,
    /// How many of the same class and image score higher.
    pub(super) rank: u32,
    score: f64,
    /// Per range of size one bit an overlap: it found something.
    pub(super) hit: [u16; SIZES],
    /// And: it counts neither way.
    pub(super) skip: [u16; SIZES],
}

/// What came of a class in all images.
#[derive(Clone, Debug, Default)]
pub(super) struct Class {
    /// The highest score first, then in the order of images.
    pub(super) events: Vec<Event>,
    /// By image, how many objects count, per range of size.
    pub(super) truths: Vec<(u32, [u32; SIZES])>,
}

impl Class {
    /// To be called when all images were added.
    pub(super) fn sort(&mut self) {
        // Stable, as the mergesort of pycocotools.
        self.events.sort_by(|a, b| b.score.total_cmp(&a.score));
    }
}

/// The overlaps that count as found: the numbers of `numpy.linspace(0.5, 0.95, 10)`.
fn thresholds() -> [f64; OVERLAPS] {
    let step = (0.95 - 0.5) / 9.0;
    let mut thresholds = std::array::from_fn(|n| n as f64 * step + 0.5);
    thresholds[OVERLAPS - 1] = 0.95;
    thresholds
}

/// Matches an image whose numbers and classes have been checked.
pub(super) fn add(classes: &mut [Class], frame: u32, image: &Image) {
    let mut truths: Vec<&Truth> = image.truths.iter().collect();
    truths.sort_by_key(|truth| truth.class);
    let mut found: Vec<&Found> = image.found.iter().collect();
    found.sort_by(|a, b| (a.class.cmp(&b.class)).then_with(|| b.score.total_cmp(&a.score)));
    let (mut truths, mut found) = (truths.as_slice(), found.as_slice());
    loop {
        let first = |a: Option<usize>, b: Option<usize>| match (a, b) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        };
        let Some(class) = first(truths.first().map(|t| t.class), found.first().map(|f| f.class)) else {
            return;
        };
        let (of_truths, rest) = truths.split_at(truths.partition_point(|t| t.class == class));
        truths = rest;
        let (of_found, rest) = found.split_at(found.partition_point(|f| f.class == class));
        found = rest;
        if let Some(class) = classes.get_mut(class) {
            add_class(class, frame, of_truths, of_found);
        }
    }
}

/// Objects of one class in an image, as the matching wants them.
struct Objects<'a> {
    truths: &'a [&'a Truth],
    /// Overlap with each detection: a row of objects a detection.
    overlaps: Vec<f64>,
}

fn add_class(class: &mut Class, frame: u32, truths: &[&Truth], found: &[&Found]) {
    let found = found.get(..MOST[2] as usize).unwrap_or(found);
    let first = class.events.len();
    class
        .events
        .extend(found.iter().enumerate().map(|(rank, found)| Event {
            frame,
            rank: rank as u32,
            score: found.score,
            hit: [0; SIZES],
            skip: [0; SIZES],
        }));
    let events = class.events.get_mut(first..).unwrap_or_default();
    let objects = Objects {
        truths,
        overlaps: found
            .iter()
            .flat_map(|found| truths.iter().map(|truth| overlap(found, truth)))
            .collect(),
    };
    let mut counted = [0; SIZES];
    for (size, [least, most]) in AREAS.into_iter().enumerate() {
        let ignored: Vec<bool> = truths
            .iter()
            .map(|truth| truth.crowd || truth.area < least || truth.area > most)
            .collect();
        counted[size] = ignored.iter().filter(|ignored| !**ignored).count() as u32;
        // What counts goes first.
        let mut order: Vec<usize> = (0..truths.len()).collect();
        order.sort_by_key(|object| ignored.get(*object).copied());
        for (number, threshold) in thresholds().into_iter().enumerate() {
            objects.matched(&order, &ignored, threshold, |detection, ignored| {
                if let Some(event) = events.get_mut(detection) {
                    event.hit[size] |= 1 << number;
                    event.skip[size] |= u16::from(ignored) << number;
                }
            });
        }
        for (event, found) in events.iter_mut().zip(found) {
            let area = found.bbox[2] * found.bbox[3];
            if area < least || area > most {
                // Of another size and on nothing: no false positive here.
                event.skip[size] |= !event.hit[size];
            }
        }
    }
    if counted[0] > 0 {
        class.truths.push((frame, counted));
    }
}

impl Objects<'_> {
    /// Each detection, best score first, takes the free object that it overlaps most; what is ignored is taken only by those that
    /// overlap nothing else enough. `hit` is told the detection, and whether the object is ignored.
    fn matched(&self, order: &[usize], ignored: &[bool], threshold: f64, mut hit: impl FnMut(usize, bool)) {
        if self.truths.is_empty() {
            return;
        }
        let is_ignored = |object: usize| ignored.get(object).copied().unwrap_or(true);
        let mut taken = vec![false; self.truths.len()];
        for (detection, overlaps) in self.overlaps.chunks_exact(self.truths.len()).enumerate() {
            let mut least = threshold.min(1.0 - 1e-10);
            let mut best: Option<usize> = None;
            for object in order.iter().copied() {
                let (Some(taken), Some(truth), Some(overlap)) =
                    (taken.get(object), self.truths.get(object), overlaps.get(object))
                else {
                    continue;
                };
                if *taken && !truth.crowd {
                    continue;
                }
                if best.is_some_and(|best| !is_ignored(best)) && is_ignored(object) {
                    break;
                }
                // Of equal overlaps the later one, as pycocotools has it.
                if *overlap >= least {
                    least = *overlap;
                    best = Some(object);
                }
            }
            if let Some(best) = best {
                if let Some(taken) = taken.get_mut(best) {
                    *taken = true;
                }
                hit(detection, is_ignored(best));
            }
        }
    }
}

/// Intersection over union; over a crowd the share of the detection that lies in it.
fn overlap(found: &Found, truth: &Truth) -> f64 {
    let ([x, y, w, h], [tx, ty, tw, th]) = (found.bbox, truth.bbox);
    let width = (x + w).min(tx + tw) - x.max(tx);
    let height = (y + h).min(ty + th) - y.max(ty);
    if !(width > 0.0 && height > 0.0) {
        return 0.0;
    }
    let both = width * height;
    let whole = if truth.crowd {
        w * h
    } else {
        w * h + tw * th - both
    };
    both / whole
}
