//! Precision and similarity along 41 recalls.

use super::matching::{Cell, Tally};
use super::{CLASSES, DIFFICULTIES, Metric};
use crate::benchmark::{Counts, mean};

/// Recalls 0, 1/40, … 1.
const STEPS: usize = 41;

/// The figures of a class under a metric and a difficulty, 0 to 1.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CellScores {
    /// Labels that count.
    pub truths: u64,
    /// Average precision over the recalls 1/40, 2/40, … 1; `None` where no label counts, or where detections have no such box.
    pub ap: Option<f64>,
    /// Over the recalls 0, 1/10, … 1, as until 2019.
    pub ap11: Option<f64>,
    /// Average similarity of headings over the same 40 recalls; in the image only, and `None` too where a detection tells no angle.
    pub aos: Option<f64>,
}

/// The figures of each class under each metric and difficulty.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Scores {
    cells: Vec<CellScores>,
}

impl Scores {
    pub(super) fn new(cells: Vec<CellScores>) -> Self {
        Scores { cells }
    }

    /// Of a class (index into [`CLASSES`]) under a metric and a difficulty (0 easy, 1 moderate, 2 hard).
    pub fn of(&self, class: usize, metric: Metric, difficulty: usize) -> CellScores {
        let known = class < CLASSES.len() && difficulty < DIFFICULTIES;
        let cell = (class * Metric::ALL.len() + metric as usize) * DIFFICULTIES + difficulty;
        let cell = self.cells.get(cell).filter(|_| known);
        cell.copied().unwrap_or_default()
    }

    /// Mean average precision over the classes that are labelled.
    pub fn mean(&self, metric: Metric, difficulty: usize) -> Option<f64> {
        mean((0..CLASSES.len()).map(|class| self.of(class, metric, difficulty).ap))
    }
}

/// `told`: detections have boxes for this metric. `angles`: all of them tell their angle.
pub(super) fn of_cell(cell: &Cell, counts: Counts<'_>, told: bool, angles: bool) -> CellScores {
    let truths: u64 = cell
        .frames
        .iter()
        .map(|kept| u64::from(counts.of(kept.frame)) * u64::from(kept.truths))
        .sum();
    if truths == 0 || !told {
        return CellScores {
            truths,
            ..CellScores::default()
        };
    }
    let (mut precision, mut similarity) = ([0.0; STEPS], [0.0; STEPS]);
    let thresholds = thresholds(&cell.scores, truths, counts);
    for (step, score) in thresholds.into_iter().take(STEPS).enumerate() {
        let mut all = [0u64; 2];
        let mut similar = 0.0;
        for kept in &cell.frames {
            let times = counts.of(kept.frame);
            if times == 0 {
                continue;
            }
            let tally: Tally = kept.at(score);
            all[0] += u64::from(times) * u64::from(tally.right);
            all[1] += u64::from(times) * u64::from(tally.wrong);
            similar += f64::from(times) * tally.similar;
        }
        let taken = (all[0] + all[1]).max(1) as f64;
        precision[step] = all[0] as f64 / taken;
        similarity[step] = similar / taken;
    }
    highest_from_here(&mut precision);
    highest_from_here(&mut similarity);
    let over = |values: &[f64; STEPS]| values.iter().skip(1).sum::<f64>() / (STEPS - 1) as f64;
    CellScores {
        truths,
        ap: Some(over(&precision)),
        ap11: Some(precision.iter().step_by(4).sum::<f64>() / 11.0),
        aos: (cell.metric == Metric::Image && angles).then(|| over(&similarity)),
    }
}

fn highest_from_here(values: &mut [f64; STEPS]) {
    let mut most = 0.0f64;
    for value in values.iter_mut().rev() {
        most = most.max(*value);
        *value = most;
    }
}

/// The scores whose recalls lie nearest to 0, 1/40, … 1.
fn thresholds(scores: &[(f64, u32)], truths: u64, counts: Counts<'_>) -> Vec<f64> {
    let total: u64 = scores.iter().map(|(_, frame)| u64::from(counts.of(*frame))).sum();
    let mut thresholds = Vec::new();
    let (mut found, mut wanted) = (0u64, 0.0f64);
    for (score, frame) in scores {
        for _ in 0..counts.of(*frame) {
            found += 1;
            let is_last = found == total;
            let recall = found as f64 / truths as f64;
            let next = if is_last {
                recall
            } else {
                (found + 1) as f64 / truths as f64
            };
            if next - wanted < wanted - recall && !is_last {
                continue;
            }
            thresholds.push(*score);
            wanted += 1.0 / (STEPS - 1) as f64;
        }
    }
    thresholds
}
