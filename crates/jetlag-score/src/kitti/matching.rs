//! Which detections of a frame are right, for every score from which detections could be taken.
//!
//! The evaluator takes detections above one score after another and matches anew each time. What comes of a frame changes only at
//! the scores of its own detections, so here it is kept at each of these, and any set of frames can be added up.

use super::frame::{Boxes, Detected, Label, Role};
use super::{CLASSES, DIFFICULTIES, Frame, Metric};

/// A class under a metric and a difficulty, in all frames.
#[derive(Clone, Debug)]
pub(super) struct Cell {
    pub(super) class: usize,
    pub(super) metric: Metric,
    pub(super) difficulty: usize,
    /// Scores of detections that find something when all take part, with their frame: the highest first.
    pub(super) scores: Vec<(f64, u32)>,
    pub(super) frames: Vec<Kept>,
}

/// What came of a frame.
#[derive(Clone, Debug)]
pub(super) struct Kept {
    pub(super) frame: u32,
    /// Labels that count.
    pub(super) truths: u32,
    /// By rising score: from that score on.
    steps: Vec<(f64, Tally)>,
}

/// What came of the detections above a score.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Tally {
    /// Detections that are right.
    pub(super) right: u32,
    /// And that are wrong.
    pub(super) wrong: u32,
    /// Labels that are not found.
    pub(super) missed: u32,
    /// Similarity of headings, summed over the right ones: 1 where they agree, 0 where they are opposite.
    pub(super) similar: f64,
}

impl Kept {
    /// What came of the detections of at least this score.
    pub(super) fn at(&self, score: f64) -> Tally {
        let step = self.steps.partition_point(|(from, _)| *from < score);
        self.steps.get(step).map_or(
            Tally {
                missed: self.truths,
                ..Tally::default()
            },
            |(_, tally)| *tally,
        )
    }
}

pub(super) fn cells(frames: &[Frame]) -> Vec<Cell> {
    let mut cells = Vec::new();
    for class in 0..CLASSES.len() {
        for metric in Metric::ALL {
            cells.extend((0..DIFFICULTIES).map(|difficulty| Cell {
                class,
                metric,
                difficulty,
                scores: Vec::new(),
                frames: Vec::new(),
            }));
        }
    }
    for (number, frame) in frames.iter().enumerate() {
        let boxes = Boxes::of(frame);
        // The cells of a class and metric lie together and share their overlaps.
        for cells in cells.chunks_mut(DIFFICULTIES) {
            let Some((class, metric)) = cells.first().map(|cell| (cell.class, cell.metric)) else {
                continue;
            };
            let near = boxes.near(class, metric);
            for cell in cells {
                let labels = boxes.labels(class, cell.difficulty, &near);
                let found = boxes.detected(class, metric, cell.difficulty);
                cell.add(number as u32, &labels, &found);
            }
        }
    }
    for cell in &mut cells {
        cell.scores.sort_by(|a, b| b.0.total_cmp(&a.0));
    }
    cells
}

impl Cell {
    fn add(&mut self, frame: u32, labels: &[Label], found: &[Detected]) {
        let truths = labels.iter().filter(|label| !label.ignored).count() as u32;
        if truths == 0 && found.iter().all(|found| found.role != Role::Counts) {
            return;
        }
        self.scores
            .extend(surest(labels, found).into_iter().map(|score| (score, frame)));
        // Nothing changes at the scores of detections that neither count nor touch a label.
        let mut matters: Vec<bool> = found.iter().map(|found| found.role == Role::Counts).collect();
        for (number, _) in labels.iter().flat_map(|label| &label.near) {
            if let Some(matters) = matters.get_mut(*number) {
                *matters = true;
            }
        }
        let mut scores: Vec<f64> = found
            .iter()
            .zip(&matters)
            .filter(|(found, matters)| **matters && found.role != Role::Other)
            .map(|(found, _)| found.score)
            .collect();
        scores.sort_by(f64::total_cmp);
        scores.dedup();
        self.frames.push(Kept {
            frame,
            truths,
            steps: scores
                .into_iter()
                .map(|score| (score, tally(labels, found, score)))
                .collect(),
        });
    }
}

/// The scores of those detections that find a label which counts, when each label takes the surest.
fn surest(labels: &[Label], found: &[Detected]) -> Vec<f64> {
    let mut taken = vec![false; found.len()];
    let mut scores = Vec::new();
    for label in labels {
        let mut best: Option<(usize, Detected)> = None;
        for (number, _) in &label.near {
            let Some(candidate) = found.get(*number) else {
                continue;
            };
            let free = candidate.role != Role::Other && taken.get(*number) == Some(&false);
            if free && best.is_none_or(|(_, best)| candidate.score > best.score) {
                best = Some((*number, *candidate));
            }
        }
        let Some((number, best)) = best else { continue };
        if let Some(taken) = taken.get_mut(number) {
            *taken = true;
        }
        if !label.ignored && best.role == Role::Counts {
            scores.push(best.score);
        }
    }
    scores
}

/// What comes of the detections of at least a score, when each label takes the one that overlaps it most.
fn tally(labels: &[Label], found: &[Detected], least: f64) -> Tally {
    let mut taken = vec![false; found.len()];
    let mut tally = Tally::default();
    for label in labels {
        // One that counts goes before one that does not; of those the first.
        let mut best: Option<(usize, Detected, f64)> = None;
        for (number, overlap) in &label.near {
            let Some(candidate) = found.get(*number) else {
                continue;
            };
            if candidate.role == Role::Other || candidate.score < least || taken.get(*number) != Some(&false)
            {
                continue;
            }
            let better = match (candidate.role, &best) {
                (Role::Counts, Some((_, best, most))) => best.role == Role::Ignored || overlap > most,
                (_, None) => true,
                _ => false,
            };
            if better {
                best = Some((*number, *candidate, *overlap));
            }
        }
        let Some((number, best, _)) = best else {
            tally.missed += u32::from(!label.ignored);
            continue;
        };
        if let Some(taken) = taken.get_mut(number) {
            *taken = true;
        }
        if !label.ignored && best.role == Role::Counts {
            tally.right += 1;
            let turned = best.alpha.map_or(0.0, |alpha| label.alpha - alpha);
            tally.similar += (1.0 + turned.cos()) / 2.0;
        }
    }
    let free = found.iter().zip(&taken).filter(|(found, taken)| {
        found.role == Role::Counts && found.score >= least && !**taken && !found.dont_care
    });
    tally.wrong = free.count() as u32;
    tally
}
