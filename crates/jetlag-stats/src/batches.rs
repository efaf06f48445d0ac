//! How much the share of frames beyond a value varies over stretches that are as long as a run can be cut into: what a machine
//! that wanders over seconds does to a quantile, which the autocorrelation of neighbouring frames does not show.
//!
//! A run is cut into `b` batches of equal length; the scatter of their shares gives the variance of the whole run's share, with
//! `b` − 1 degrees of freedom (B. W. Schmeiser, "Batch size effects in the analysis of simulation output", *Operations Research*
//! 30, 1982; few long batches with Student's t are what N. M. Steiger and others found to hold where many short ones do not,
//! ASAP3, *ACM TOMACS* 15, 2005). The number of batches follows from the run itself: from the correlation of
//! neighbouring batches at 32 and 16 batches, corrected for its bias (M. G. Kendall, *Biometrika* 41, 1954), comes the length of the
//! run in correlation times, and a batch has at least `BATCH` of them, with no fewer than four batches. A short run overestimates its
//! length as easily as not, and then lies about its error most: so intervals are of a length at which that correlation is half a standard
//! error higher (M. S. Bartlett, *JRSS Supplement* 8, 1946: (1 − ρ²) ÷ b is its square).
//!
//! Four batches of a run that is seven correlation times long are not independent, and lie closer together than the run is from
//! the truth. What that hides is known for an exponential correlation (`hidden`), and is added.

use super::moments::mean_and_variance;
use super::quantile::Quantile;

/// Correlation times per batch, at least.
const BATCH: f64 = 5.0;
/// Standard errors of that correlation that intervals allow for. One would hold more often, and reach past the slowest frame.
const ALLOWED: f64 = 0.5;
/// Cells into which a run is cut: each number of batches is a whole number of them.
const CELLS: usize = 96;
/// The numbers of batches.
const COUNTS: [usize; 7] = [32, 24, 16, 12, 8, 6, 4];
/// Batches at which neighbours are compared.
const COMPARED: [usize; 2] = [32, 16];
/// Batches of each of several runs.
const OF_ONE: usize = 4;

/// How a share varies over the batches of a run, or of several.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Batches {
    /// By how much more the whole's share varies than that of as many independent frames; at least 1.
    pub time: f64,
    /// Degrees of freedom of `time`; 0 where nothing is known.
    pub freedom: f64,
}

impl Batches {
    /// Of frames that are taken as independent.
    pub const NONE: Batches = Batches {
        time: 1.0,
        freedom: 0.0,
    };
}

/// How many correlation times a run is long.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Length {
    /// As estimated.
    pub times: f64,
    /// With a correlation that is half a standard error higher: a run that is short does not know how short. Intervals are of this.
    pub least: f64,
}

impl Length {
    /// The shorter of both.
    pub fn min(self, other: Length) -> Length {
        Length {
            times: self.times.min(other.times),
            least: self.least.min(other.least),
        }
    }
}

/// The events of a run, counted in cells of equal length.
#[derive(Clone, Debug)]
pub struct Cells {
    /// Events and frames of each cell.
    of: Vec<(u32, u32)>,
}

impl Cells {
    /// Of a run's frames, those that do not exceed a value.
    pub fn new(in_order: &[i64], at_most: i64) -> Cells {
        let n = in_order.len();
        let edge = |cell: usize| n * cell / CELLS;
        let count = |cell: usize| {
            let frames = &in_order[edge(cell)..edge(cell + 1)];
            let events = frames.iter().filter(|&&value| value <= at_most).count();
            (events as u32, frames.len() as u32)
        };
        Cells {
            of: (0..CELLS).map(count).collect(),
        }
    }

    fn frames(&self) -> f64 {
        self.of.iter().map(|&(_, frames)| f64::from(frames)).sum()
    }

    fn share(&self) -> f64 {
        let events: f64 = self.of.iter().map(|&(events, _)| f64::from(events)).sum();
        events / self.frames().max(1.0)
    }

    /// The share of each of so many batches, less that of the run; none where a batch would have fewer than two frames.
    fn deviations(&self, batches: usize) -> Option<Vec<f64>> {
        let share = self.share();
        let of_batch = |cells: &[(u32, u32)]| {
            let (events, frames) = cells.iter().fold((0, 0), |(e, f), cell| (e + cell.0, f + cell.1));
            (frames >= 2).then(|| f64::from(events) / f64::from(frames) - share)
        };
        self.of.chunks(CELLS / batches).map(of_batch).collect()
    }

    /// The run's length in correlation times, as far as its batches tell; `None` where it is too short to tell.
    pub fn length(&self) -> Option<Length> {
        let each = COMPARED.iter().filter_map(|&batches| {
            let (seen, error) = neighbours(&self.deviations(batches)?);
            let times = |correlation| batches as f64 * times_per_batch(correlation);
            Some(Length {
                times: times(seen),
                least: times(seen + error),
            })
        });
        each.reduce(Length::min)
    }
}

/// The correlation of each batch with the next one, corrected for the bias that so few have, and how much more its error allows; 0 where
/// nothing varies.
fn neighbours(deviations: &[f64]) -> (f64, f64) {
    let squares: f64 = deviations.iter().map(|d| d * d).sum();
    let products: f64 = deviations.windows(2).map(|pair| pair[0] * pair[1]).sum();
    if squares <= 0.0 {
        return (0.0, 0.0);
    }
    let seen = products / squares;
    let count = deviations.len() as f64;
    let corrected = seen + (1.0 + 3.0 * seen.max(0.0)) / count;
    (
        corrected,
        ALLOWED * ((1.0 - corrected * corrected).max(0.0) / count).sqrt(),
    )
}

/// How many correlation times a batch is long whose mean correlates like this with that of its neighbour. For an exponential
/// correlation and a batch of x times it is (1 − e⁻ˣ)² ÷ 2(x − 1 + e⁻ˣ), which falls with x.
fn times_per_batch(correlation: f64) -> f64 {
    const LONGEST: f64 = 100.0;
    let of = |x: f64| (-(-x).exp_m1()).powi(2) / (2.0 * (x + (-x).exp_m1()));
    if correlation <= of(LONGEST) {
        return LONGEST;
    }
    let (mut low, mut high) = (1e-3, LONGEST);
    for _ in 0..40 {
        let middle = f64::midpoint(low, high);
        if of(middle) > correlation {
            low = middle;
        } else {
            high = middle;
        }
    }
    f64::midpoint(low, high)
}

/// By how much the variance of the mean of a run of so many correlation times exceeds what the scatter of its batches shows, for an
/// exponential correlation.
fn hidden(length: f64, batches: f64) -> f64 {
    // Variance of a mean over x correlation times, that of a value being 1.
    let variance = |x: f64| 2.0 / x * (1.0 + (-x).exp_m1() / x);
    let (of_batch, of_run) = (variance(length / batches), variance(length));
    of_run * (batches - 1.0) / (of_batch - of_run).max(f64::MIN_POSITIVE)
}

/// The variation over the batches of these runs of one kind. `length` is that of a single run.
pub fn variation(runs: &[Cells], length: Option<Length>) -> Batches {
    match (runs, length) {
        ([run], Some(Length { least: length, .. })) => {
            let wanted = (length / BATCH) as usize;
            let most = COUNTS.iter().copied().find(|&count| count <= wanted).unwrap_or(4);
            of_batches(runs, most, hidden(length, most as f64))
                .filter(|_| run.frames() > 0.0)
                .unwrap_or(Batches::NONE)
        }
        // Between the runs their own scatter says more.
        (_, _) => of_batches(runs, OF_ONE, 1.0).unwrap_or(Batches::NONE),
    }
}

/// The standard error of a quantile of a run of so many correlation times, from the quantiles of its four quarters; `None` where
/// they are too short. It is wider than what [`variation`] leads to, and exists where the run's largest values are too few for
/// that.
pub fn of_quarters(in_order: &[i64], quantile: Quantile, length: Length) -> Option<f64> {
    let each = in_order.len() / 4;
    if each < 2 {
        return None;
    }
    let quarters = in_order
        .chunks_exact(each)
        .take(4)
        .map(|quarter| quantile.of(&mut quarter.to_vec(), Ord::cmp).unwrap_or(0) as f64);
    let quarters: Vec<f64> = quarters.collect();
    let (_, variance) = mean_and_variance(&quarters)?;
    Some((variance / 4.0 * hidden(length.least, 4.0)).sqrt())
}

fn of_batches(runs: &[Cells], batches: usize, hidden: f64) -> Option<Batches> {
    let (mut squares, mut freedom, mut frames, mut events) = (0.0, 0.0, 0.0, 0.0);
    for run in runs {
        let Some(deviations) = run.deviations(batches) else {
            continue;
        };
        // Weighted by its frames, so that runs of different lengths say the same of one frame.
        let of_one = run.frames() / batches as f64;
        squares += deviations.iter().map(|d| d * d).sum::<f64>() * of_one;
        freedom += (batches - 1) as f64;
        frames += run.frames();
        events += run.share() * run.frames();
    }
    let share = events / frames;
    let of_independent = share * (1.0 - share);
    (freedom > 0.0 && of_independent > 0.0).then(|| Batches {
        time: (squares / freedom / of_independent * hidden).max(1.0),
        freedom,
    })
}

#[cfg(test)]
mod tests {
    use rand_distr::{Distribution as _, StandardNormal};
    use rand_pcg::Pcg64;
    use rand_pcg::rand_core::SeedableRng;

    use super::*;

    /// A normal series that forgets by the factor `phi` from frame to frame.
    fn autoregressive(phi: f64, n: usize, seed: u64) -> Vec<i64> {
        let mut random = Pcg64::seed_from_u64(seed);
        let mut z: f64 = StandardNormal.sample(&mut random);
        let next = |_| {
            let fresh: f64 = StandardNormal.sample(&mut random);
            z = phi * z + (1.0 - phi * phi).sqrt() * fresh;
            (z * 1e6) as i64
        };
        (0..n).map(next).collect()
    }

    fn median_of(mut values: Vec<f64>) -> f64 {
        values.sort_by(f64::total_cmp);
        values[values.len() / 2]
    }

    #[test]
    fn the_length_of_a_run_in_correlation_times_is_found() {
        // φ = e^(−1/τ): 2 000 frames of τ = 100 are 20 times, 6 000 of τ = 50 are 120.
        for (n, tau, times) in [(2_000, 100.0, 20.0), (6_000, 50.0, 120.0), (4_000, 400.0, 10.0)] {
            let phi = f64::exp(-1.0 / tau);
            let found = (0..101).map(|seed| {
                Cells::new(&autoregressive(phi, n, seed), 0)
                    .length()
                    .unwrap()
                    .times
            });
            let found = median_of(found.collect());
            assert!((0.6..1.7).contains(&(found / times)), "{found} of {times}");
        }
    }

    #[test]
    fn the_variance_of_a_share_is_that_of_its_correlation_also_where_the_batches_hang_together() {
        // τ of the indicator at the median of a Gaussian AR(1) is 2 arcsin φᵏ ÷ π summed up: 1.47 τ for large τ.
        for (n, tau) in [(2_000, 100.0), (6_000, 100.0)] {
            let phi = f64::exp(-1.0 / tau);
            let found = (0..201).map(|seed| {
                let cells = Cells::new(&autoregressive(phi, n, seed), 0);
                let length = cells.length();
                variation(&[cells], length).time
            });
            let found = median_of(found.collect());
            assert!((80.0..260.0).contains(&found), "{n} frames: {found}");
        }
    }

    #[test]
    fn what_few_batches_hide_is_none_of_a_long_run() {
        assert!((hidden(1e6, 32.0) - 1.0).abs() < 0.01);
        // Seven correlation times in four batches: 0.245 for a variance of which the batches show 0.119.
        assert!((hidden(7.0, 4.0) - 2.05).abs() < 0.03, "{}", hidden(7.0, 4.0));
    }

    #[test]
    fn several_runs_have_the_freedom_of_all_their_batches() {
        let runs: Vec<Cells> = (0..5)
            .map(|seed| Cells::new(&autoregressive(0.0, 600, seed), 0))
            .collect();
        let found = variation(&runs, None);
        assert_eq!(found.freedom, 15.0);
        assert!((1.0..2.5).contains(&found.time), "{found:?}");
    }

    #[test]
    fn nothing_that_varies_and_nothing_at_all_say_nothing() {
        for values in [&[][..], &[5; 100], &[1, 2, 3]] {
            let cells = Cells::new(values, 2);
            let length = cells.length();
            let found = variation(&[cells], length);
            assert!(found.time >= 1.0 && found.time.is_finite(), "{found:?}");
        }
    }
}
