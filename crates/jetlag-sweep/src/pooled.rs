//! One figure over the repeats of a point: the mean of the runs' values, and an interval that covers what differs within a run and
//! from run to run.

use jetlag_stats::moments::mean_and_variance;
use jetlag_stats::student::t_quantile;

use super::figures::Estimate;

/// A figure over several runs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pooled {
    /// Mean of the runs' values.
    pub value: f64,
    /// The 95 % interval of that mean; none where a run alone tells none and runs are fewer than three.
    pub ci95: Option<[f64; 2]>,
    /// Runs with a value.
    pub runs: usize,
}

impl Pooled {
    /// The interval, made wider by this factor around the value.
    pub fn widened(&self, factor: f64) -> Option<[f64; 2]> {
        let [low, high] = self.ci95?;
        Some([
            self.value - (self.value - low) * factor,
            self.value + (high - self.value) * factor,
        ])
    }
}

/// Runs from which their spread alone tells an interval: with two, Student's t makes it thirteen standard errors wide.
const FEWEST: usize = 3;

/// Pools the runs of one point; none where no run has a value.
///
/// With independent runs, half-widths add up as `sqrt(Σ hᵢ²) ÷ n`. That misses what differs from run to run (a warm chip, another
/// placement in memory), which only the spread of their values shows: from three runs on, the wider of the two is taken, by
/// Student's t for the spread.
pub fn pooled(figures: &[Estimate]) -> Option<Pooled> {
    let known: Vec<(f64, Option<[f64; 2]>)> = figures
        .iter()
        .filter_map(|figure| Some((figure.value?, figure.ci95)))
        .filter(|(value, _)| value.is_finite())
        .collect();
    let runs = known.len();
    if runs == 0 {
        return None;
    }
    let n = runs as f64;
    let value = known.iter().map(|(value, _)| value).sum::<f64>() / n;
    let within = known.iter().try_fold([0.0_f64; 2], |[low, high], (value, ci95)| {
        let [from, to] = (*ci95)?;
        Some([low + (value - from).powi(2), high + (to - value).powi(2)])
    });
    let within = within.map(|squares| squares.map(|sum| sum.sqrt() / n));
    let values: Vec<f64> = known.iter().map(|(value, _)| *value).collect();
    let between = mean_and_variance(&values)
        .filter(|_| runs >= FEWEST)
        .map(|(_, variance)| t_quantile(0.975, n - 1.0) * (variance / n).sqrt());
    let half = match (within, between) {
        (Some([low, high]), Some(spread)) => Some([low.max(spread), high.max(spread)]),
        (Some(within), None) => Some(within),
        (None, spread) => spread.map(|spread| [spread; 2]),
    };
    Some(Pooled {
        value,
        ci95: half.map(|[low, high]| [value - low, value + high]),
        runs,
    })
}
