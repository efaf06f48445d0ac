//! The autocorrelation time τ of a series for each quantile, from several indicators.
//!
//! In a queue slow frames come in bursts, and a run that has no burst by chance shows no autocorrelation where it
//! matters most, at p99. The middle of the same run shows it: the backlog that causes bursts moves p50 and p75 all
//! the time. So τ of a quantile is the largest τ of several indicators ("does not exceed p50, p75, p90, …"): those of
//! the middle for a quantile of the middle, all up to p99 for the others.
//!
//! τ itself is an estimate (see [`Correlation`]). If its lower bound, two standard errors down, is above 1,
//! autocorrelation is detected, and its upper bound is used ([`Correlation::most_where_chosen`] of the quantile's own
//! indicator and of more central ones, [`Correlation::most`] of those further out): for the interval, and for whether
//! the sample supports the quantile. The effective sample size n ÷ τ must then be what the quantile needs, and at
//! least [`Dependence::LEAST`], below which τ cannot be estimated. If no autocorrelation is detected, n itself must
//! be what the quantile needs: noise in τ withholds nothing. Frames that wait for each other are never taken as independent,
//! and their τ is at least what their queue predicts ([`Waiting`]). `docs/measurement.md` has the coverage of the resulting
//! intervals.

use super::autocorrelation::{Correlation, correlation};
use super::quantile::{Quantile, Wanting};
use super::waiting::Waiting;

/// The quantiles whose indicators are used.
const AT: [Quantile; 6] = [
    Quantile::P50,
    Quantile::P75,
    Quantile::P90,
    Quantile::P95,
    Quantile::P99,
    Quantile::P99_9,
];

/// The autocorrelation of a series of frames, from one run or several.
#[derive(Clone, Debug)]
pub(super) struct Dependence {
    /// The estimate for each quantile of [`AT`].
    at: [Correlation; AT.len()],
    waiting: Waiting,
}

impl Dependence {
    /// Effective sample size below which τ of autocorrelated frames is too imprecise: for a quantile of the middle,
    /// and for the others.
    const LEAST: (u64, u64) = (64, 100);

    /// For values that are taken as independent.
    pub(super) const NONE: Dependence = Dependence {
        at: [Correlation::NONE; AT.len()],
        waiting: Waiting::NONE,
    };

    /// From runs in order of time; `value_of` returns the estimate of a quantile over all of them.
    pub(super) fn of(runs: &[&[i64]], value_of: impl Fn(Quantile) -> Option<i64>) -> Dependence {
        Dependence {
            at: AT.map(|quantile| {
                value_of(quantile).map_or(Correlation::NONE, |value| correlation(runs, value))
            }),
            waiting: Waiting::NONE,
        }
    }

    /// The same for frames that waited in a line like this.
    pub(super) fn waiting(self, waiting: Waiting) -> Dependence {
        Dependence { waiting, ..self }
    }

    /// The τ to be used for a quantile, and whether frames are taken as autocorrelated.
    pub(super) fn inflation(&self, quantile: Quantile) -> (f64, bool) {
        let looked_at = match quantile {
            middle if middle <= Quantile::P75 => 3,
            tail if tail <= Quantile::P99 => 5,
            _ => AT.len(),
        };
        let indicators = &self.at[..looked_at];
        if !self.waiting.dependent && !are_dependent(indicators) {
            return (largest(indicators, |known| known.time), false);
        }
        // Few frames exceed a quantile further out than this one, so its τ is too imprecise to depend on.
        let central = AT.iter().take_while(|at| **at <= quantile).count();
        let (chosen, outer) = indicators.split_at(central.min(looked_at));
        let seen = largest(chosen, Correlation::most_where_chosen).max(largest(outer, Correlation::most));
        (seen.max(self.waiting.least(quantile)), true)
    }

    /// The τ with which `n` frames support a quantile; else the number of frames that it needs.
    pub(super) fn supports(&self, quantile: Quantile, n: u64) -> Result<f64, Wanting> {
        let (inflation, repeats) = self.inflation(quantile);
        let least = if quantile <= Quantile::P75 {
            Self::LEAST.0
        } else {
            Self::LEAST.1
        };
        let needs = if repeats {
            quantile.needs().max(least) as f64 * inflation
        } else {
            quantile.needs() as f64
        };
        if n as f64 >= needs {
            return Ok(inflation);
        }
        Err(Wanting {
            needs: if repeats { about(needs) } else { needs as u64 },
            repeats,
        })
    }

    /// The same where many rows of few frames are judged together: in so few, autocorrelation may be there undetected, and one
    /// row of many shows it. So τ is at least its upper bound.
    pub(super) fn supports_cautiously(&self, quantile: Quantile, n: u64) -> Result<f64, Wanting> {
        let inflation = self.supports(quantile, n)?;
        let central = AT.iter().take_while(|at| **at <= quantile).count().max(3);
        Ok(inflation.max(largest(&self.at[..central], Correlation::most)))
    }

    /// The effective sample size of `n` frames for a quantile.
    pub(super) fn worth(&self, quantile: Quantile, n: u64) -> u64 {
        ((n as f64 / self.inflation(quantile).0) as u64).max(1)
    }
}

/// τ of a series from several indicators: the largest upper bound if autocorrelation is detected, else the largest
/// estimate; and whether it is detected.
pub(super) fn of_several(indicators: &[Correlation]) -> (f64, bool) {
    if are_dependent(indicators) {
        (largest(indicators, Correlation::most), true)
    } else {
        (largest(indicators, |known| known.time), false)
    }
}

/// Whether one of these detects autocorrelation.
fn are_dependent(indicators: &[Correlation]) -> bool {
    indicators.iter().any(|known| known.least() > 1.0)
}

/// The largest τ of them, at least 1.
fn largest(indicators: &[Correlation], time: impl Fn(Correlation) -> f64) -> f64 {
    indicators.iter().map(|&known| time(known)).fold(1.0, f64::max)
}

/// Rounds up to two digits: more would suggest that τ is known precisely.
pub(super) fn about(frames: f64) -> u64 {
    let unit = 10f64.powf((frames.max(1.0).log10().floor() - 1.0).max(0.0));
    ((frames / unit).ceil() * unit) as u64
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use rand_distr::{Distribution as _, Exp1, StandardNormal};
    use rand_pcg::Pcg64;
    use rand_pcg::rand_core::{Rng, SeedableRng};

    use super::*;
    use crate::analysis::sample::Sample;
    use crate::analysis::series::Series;
    use crate::analysis::stats::stats;
    use crate::analysis::timeline::Placed;
    use crate::analysis::waiting::Line;
    use crate::units::{Nanos, Stamp};

    #[derive(Clone, Copy, Debug)]
    enum Arrivals {
        Periodic,
        Poisson,
    }

    /// Service times with mean 1.
    #[derive(Clone, Copy, Debug)]
    enum Service {
        Normal,
        LogNormal,
        /// A lognormal distribution with σ = 1.
        LogNormalWide,
        /// One in ten takes three times as long as the others.
        Bimodal,
    }

    impl Service {
        fn draw(self, random: &mut Pcg64) -> f64 {
            let z: f64 = StandardNormal.sample(random);
            match self {
                Service::Normal => (1.0 + 0.2 * z).max(0.05),
                Service::LogNormal => (0.5 * z - 0.125).exp(),
                Service::LogNormalWide => (z - 0.5).exp(),
                Service::Bimodal => {
                    let slow = random.next_u64().is_multiple_of(10);
                    (1.0 + 0.05 * z) * if slow { 3.0 } else { 1.0 } / 1.2
                }
            }
        }
    }

    type Queue = (Arrivals, Service, f64);

    /// Frames of a queue in its steady state, released every millisecond on average.
    fn queue((arrivals, service, load): Queue, n: usize, seed: u64) -> Vec<Placed> {
        let mut random = Pcg64::seed_from_u64(seed);
        let (mut waiting, mut released) = (0.0f64, 0.0f64);
        let mut next = |sequence| {
            let response = waiting + load * service.draw(&mut random);
            let until = match arrivals {
                Arrivals::Periodic => 1.0,
                Arrivals::Poisson => Exp1.sample(&mut random),
            };
            let frame = Placed {
                sequence,
                released: Stamp((released * 1e6) as i64),
                took: (response * 1e6) as i64,
            };
            released += until;
            waiting = (response - until).max(0.0);
            frame
        };
        (0..1000).for_each(|sequence| {
            next(sequence);
        });
        (0..n as u64).map(next).collect()
    }

    /// A lognormal series whose logarithm is autoregressive with `phi`; its median is 1 ms. No frame waits.
    fn autoregressive(phi: f64, n: usize, seed: u64) -> Vec<Placed> {
        let mut random = Pcg64::seed_from_u64(seed);
        let mut z: f64 = StandardNormal.sample(&mut random);
        let next = |sequence| {
            let fresh: f64 = StandardNormal.sample(&mut random);
            z = phi * z + (1.0 - phi * phi).sqrt() * fresh;
            Placed {
                sequence,
                released: Stamp(sequence as i64 * 100_000_000),
                took: ((0.2 * z).exp() * 1e6) as i64,
            }
        };
        (0..n as u64).map(next).collect()
    }

    /// Served one after the other, with a line that nothing bounds.
    fn sample(frames: Vec<Placed>) -> Sample {
        let mut series = Series::default();
        frames
            .iter()
            .for_each(|frame| series.push(Nanos(frame.took), true));
        Sample::new(series.finish(), frames.into_iter(), Line::test(1, 1 << 20))
    }

    const SHARES: [f64; 4] = [0.5, 0.9, 0.95, 0.99];

    /// Of runs of `n` frames: how many show an interval of p50, p90, p95 and p99, and how many of these hold it.
    fn shown_and_held(draw: impl Fn(usize, u64) -> Vec<Placed>, n: usize, runs: u64) -> [[u32; 2]; 4] {
        let mut long: Vec<i64> = draw(1_000_000, 99_999).iter().map(|frame| frame.took).collect();
        long.sort_unstable();
        let truth = SHARES.map(|share| long[(share * 1e6) as usize] as f64 / 1e6);
        let mut counts = [[0; 2]; 4];
        for seed in 0..runs {
            let sample = sample(draw(n, seed));
            let ci95 = stats(&sample.distribution, &sample.dependence()).ci95;
            let intervals = [ci95.p50, ci95.p90, ci95.p95, ci95.p99];
            for ((count, interval), truth) in counts.iter_mut().zip(intervals).zip(truth) {
                if let Some([low, high]) = interval {
                    count[0] += 1;
                    count[1] += u32::from(low <= truth && truth < high);
                }
            }
        }
        counts
    }

    /// docs/measurement.md has what it prints.
    #[test]
    #[ignore = "a table over 300 seeds, which takes minutes"]
    fn table_of_shown_and_held() {
        use Arrivals::{Periodic, Poisson};
        use Service::{Bimodal, LogNormal, LogNormalWide, Normal};
        type Draw = Box<dyn Fn(usize, u64) -> Vec<Placed> + Send + Sync>;
        let mut kinds: Vec<(String, usize, Draw)> = Vec::new();
        for n in [300, 600, 900, 1_800, 6_000] {
            for arrivals in [Periodic, Poisson] {
                for service in [Normal, LogNormal, LogNormalWide, Bimodal] {
                    for load in [0.5, 0.69, 0.85, 0.93, 0.95] {
                        let of = (arrivals, service, load);
                        kinds.push((format!("{of:?}"), n, Box::new(move |n, seed| queue(of, n, seed))));
                    }
                }
            }
            for phi in [0.0, 0.5, 0.8, 0.9] {
                kinds.push((
                    format!("AR {phi}"),
                    n,
                    Box::new(move |n, seed| autoregressive(phi, n, seed)),
                ));
            }
        }
        const RUNS: u64 = 300;
        let next = AtomicUsize::new(0);
        let all = Mutex::new([[0u32; 2]; 4]);
        std::thread::scope(|scope| {
            for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
                scope.spawn(|| {
                    while let Some((name, n, draw)) = kinds.get(next.fetch_add(1, Ordering::Relaxed)) {
                        let counts = shown_and_held(draw, *n, RUNS);
                        let mut all = all.lock().unwrap();
                        let cells = counts.iter().zip(all.iter_mut()).map(|([shown, held], all)| {
                            all[0] += shown;
                            all[1] += held;
                            let of = |part: u32, whole: f64| f64::from(part) * 100.0 / whole;
                            format!(
                                "{:.0} %: {:.1} %",
                                of(*shown, RUNS as f64),
                                of(*held, f64::from(*shown))
                            )
                        });
                        println!("| {n} | {name} | {} |", cells.collect::<Vec<_>>().join(" | "));
                    }
                });
            }
        });
        println!(
            "{} kinds, shown and held: {:?}",
            kinds.len(),
            all.into_inner().unwrap()
        );
    }

    #[test]
    fn in_a_queue_an_interval_that_is_shown_holds_the_truth() {
        use Arrivals::{Periodic, Poisson};
        use Service::{Bimodal, LogNormal, Normal};
        // What runs of a minute showed before: intervals of p99 that held it in 38 to 92 % of them.
        for (of, n) in [
            ((Periodic, LogNormal, 0.93), 6_000),
            ((Periodic, Bimodal, 0.85), 1_800),
            ((Periodic, Normal, 0.85), 1_800),
            ((Poisson, Normal, 0.69), 1_800),
            ((Poisson, LogNormal, 0.5), 6_000),
        ] {
            let counts = shown_and_held(|n, seed| queue(of, n, seed), n, 50);
            println!("{of:?}, {n} frames: shown and held {counts:?}");
            for [shown, held] in counts {
                // 93 % less three standard errors.
                assert!(
                    f64::from(shown - held)
                        <= 0.07 * f64::from(shown) + 3.0 * (0.065 * f64::from(shown)).sqrt()
                );
            }
            let [all, _] = counts[0];
            assert!(all >= 6, "{of:?}: nothing is shown");
        }
    }

    #[test]
    fn p99_of_independent_frames_is_shown_from_its_sample_size_on() {
        let mut shown = 0;
        for seed in 0..200 {
            let mut random = Pcg64::seed_from_u64(seed);
            let in_order: Vec<i64> = (0..750)
                .map(|_| (Service::LogNormal.draw(&mut random) * 1e6) as i64)
                .collect();
            let mut series = Series::default();
            in_order.iter().for_each(|&ns| series.push(Nanos(ns), true));
            let distribution = series.finish();
            shown += u32::from(
                stats(&distribution, &distribution.dependence(&in_order))
                    .p99
                    .is_some(),
            );
        }
        println!("p99 of 750 independent frames is shown in {shown} of 200 runs");
        assert!(shown >= 194, "{shown} of 200");
    }

    #[test]
    fn what_is_withheld_names_the_frames_that_it_takes() {
        let of = (Arrivals::Periodic, Service::LogNormal, 0.85);
        let figures = |n: usize, seed: u64| {
            let sample = sample(queue(of, n, seed));
            stats(&sample.distribution, &sample.dependence())
        };
        let mut enough = 0;
        for seed in 0..10 {
            let short = figures(1_800, seed);
            let needs = short.needs.p99.expect("withheld");
            assert!(short.p99.is_none() && short.ci95.p99.is_none());
            assert!(needs > 5 * Quantile::P99.needs(), "seed {seed}: {needs}");
            // Of another run, which may show dependence stronger than the first.
            enough += u32::from(figures(2 * needs as usize, seed + 100).p99.is_some());
        }
        println!("twice the frames that are named are enough in {enough} of 10 runs");
        assert!(enough >= 7, "{enough} of 10");
        assert_eq!(about(14_137.0), 15_000);
        assert_eq!(about(662.5), 670);
        assert_eq!(about(11.2), 12);
    }
}
