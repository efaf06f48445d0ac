//! How much the frames of a series depend on each other, and what an interval of each quantile must allow for.
//!
//! The number of frames that do not exceed a quantile varies more than a binomial one, by the factor τ, if slow frames follow slow
//! frames. Two estimates of τ complement each other, and the wider interval of the two counts:
//!
//! - of neighbours ([`Correlation`]): bursts, queues;
//! - of batches ([`Batches`]): a machine that wanders over seconds, with Student's t for as few batches as such a run has.
//!
//! In a queue slow frames come in bursts, and a run that has no burst by chance shows no autocorrelation where it matters most, at
//! p99; its middle does. So where few bursts were seen, the largest τ of the quantile itself and of those closer to the
//! middle counts, and frames that wait for each other are never taken as independent: their τ is at least what their queue predicts
//! ([`Waiting`]).
//!
//! If no autocorrelation is detected, the interval is that of independent frames. `docs/measurement.md` has the coverage of both.

mod bounds;

use jetlag_stats::autocorrelation::{Correlation, correlation};
use jetlag_stats::batches::{Batches, Cells, Length, of_quarters, variation};
use jetlag_stats::normal::normal_quantile;
use jetlag_stats::quantile::Quantile;
use jetlag_stats::spells::{Spells, spells};
use jetlag_stats::student::t_quantile;

use crate::analysis::gathering::waiting::Waiting;
pub(in crate::analysis) use bounds::Bounds;

/// The quantiles whose indicators are used.
const AT: [Quantile; 6] = [
    Quantile::P50,
    Quantile::P75,
    Quantile::P90,
    Quantile::P95,
    Quantile::P99,
    Quantile::P99_9,
];

/// Whether frames exceed one quantile, in order of time.
#[derive(Clone, Copy, Debug)]
struct Indicator {
    neighbours: Correlation,
    batches: Batches,
    /// The series' length in correlation times; `None` where it is of several runs, or too short to tell.
    length: Option<Length>,
    /// The quantile's standard error by the quarters of a run that has few correlation times, ns.
    by_quarters: Option<f64>,
}

impl Indicator {
    const NONE: Indicator = Indicator {
        neighbours: Correlation::NONE,
        batches: Batches::NONE,
        length: None,
        by_quarters: None,
    };
}

/// The autocorrelation of a series of frames, from one run or several.
#[derive(Clone, Debug)]
pub(in crate::analysis) struct Dependence {
    /// The estimate for each quantile of [`AT`].
    at: [Indicator; AT.len()],
    waiting: Waiting,
    /// Of a single run whose frames are in one of two states.
    spells: Option<Spells>,
}

/// τ of a quantile by neighbours and by batches.
#[derive(Clone, Copy, Debug)]
pub(in crate::analysis) struct Spread {
    pub(in crate::analysis) neighbours: f64,
    pub(in crate::analysis) batches: Batches,
}

impl Spread {
    /// How many times fewer independent frames would give an interval that is as wide.
    pub(in crate::analysis) fn inflation(self, confidence: f64) -> f64 {
        let tail = f64::midpoint(1.0, confidence);
        let wider = match self.batches.freedom {
            0.0 => 1.0,
            freedom => (t_quantile(tail, freedom) / normal_quantile(tail)).powi(2),
        };
        self.neighbours.max(self.batches.time * wider)
    }
}

impl Dependence {
    /// Below so many, the τ of the quantile itself is too imprecise, and that of those closer to the middle counts too.
    const FEW: f64 = 3.0;
    /// Correlation times below which the quarters of a run are looked at.
    const SHORT: f64 = 60.0;
    /// τ that states have which last for five frames or more.
    const LASTING: f64 = 5.0;
    /// For values that are taken as independent.
    pub(in crate::analysis) const NONE: Dependence = Dependence {
        at: [Indicator::NONE; AT.len()],
        waiting: Waiting::NONE,
        spells: None,
    };

    /// From runs in order of time; `value_of` returns the estimate of a quantile over all of them.
    pub(in crate::analysis) fn of(runs: &[&[i64]], value_of: impl Fn(Quantile) -> Option<i64>) -> Dependence {
        let mut at = [Indicator::NONE; AT.len()];
        let mut median = None;
        for (indicator, quantile) in at.iter_mut().zip(AT) {
            let Some(value) = value_of(quantile) else {
                continue;
            };
            let cells: Vec<Cells> = runs.iter().map(|run| Cells::new(run, value)).collect();
            let own = match &cells[..] {
                [run] => run.length(),
                _ => None,
            };
            // The median shows best how long the machine remembers.
            let length = match (own, *median.get_or_insert(own)) {
                (Some(own), Some(median)) => Some(own.min(median)),
                (own, median) => own.or(median),
            };
            *indicator = Indicator {
                neighbours: correlation(runs, value),
                batches: variation(&cells, length),
                length,
                by_quarters: length
                    .filter(|length| length.times < Self::SHORT && quantile <= Quantile::P95)
                    .and_then(|length| of_quarters(runs.first()?, quantile, length)),
            };
        }
        // States that last for many frames show in these; looking for them takes longer.
        let lasts = at.iter().any(|at| at.neighbours.time >= Self::LASTING);
        let spells = match runs {
            [run] if lasts => spells(run),
            _ => None,
        };
        Dependence {
            at,
            waiting: Waiting::NONE,
            spells,
        }
    }

    /// The same for frames that waited in a line like this.
    pub(in crate::analysis) fn waiting(self, waiting: Waiting) -> Dependence {
        Dependence { waiting, ..self }
    }

    /// Whether so many frames waited for each other that they depend because of that.
    pub(in crate::analysis) fn waits(&self) -> bool {
        self.waiting.dependent
    }

    /// Whether frames are taken as dependent for a quantile.
    pub(in crate::analysis) fn is_detected(&self, quantile: Quantile) -> bool {
        let looked_at = match quantile {
            middle if middle <= Quantile::P75 => 3,
            tail if tail <= Quantile::P99 => 5,
            _ => AT.len(),
        };
        self.waiting.dependent || are_dependent(self.at[..looked_at].iter().map(|at| at.neighbours))
    }

    /// The indicators of a quantile: from the median to the quantile itself, which comes last.
    fn up_to(&self, quantile: Quantile) -> &[Indicator] {
        // A quartile varies like the other one.
        let quantile = if quantile < Quantile::P50 {
            Quantile::P75
        } else {
            quantile
        };
        let central = AT.iter().take_while(|at| **at <= quantile).count();
        &self.at[..central.max(1)]
    }

    /// The indicators of the quantile itself.
    fn own(&self, quantile: Quantile) -> Indicator {
        self.up_to(quantile).last().copied().unwrap_or(Indicator::NONE)
    }

    /// The largest τ of neighbours from the median to the quantile, with what a queue predicts at most.
    fn cautious(&self, quantile: Quantile) -> f64 {
        let indicators = self.up_to(quantile).iter();
        let seen = indicators.map(|at| at.neighbours.time).fold(1.0, f64::max);
        seen.max(self.waiting.least(quantile))
    }

    /// Independent frames beyond a quantile that would tell as much as those of `n`.
    fn beyond(&self, quantile: Quantile, n: u64) -> f64 {
        let tail = quantile.share().min(1.0 - quantile.share());
        n as f64 * tail / self.cautious(quantile)
    }

    fn spread(&self, quantile: Quantile, n: u64) -> Spread {
        let indicators = self.up_to(quantile);
        let own = self.own(quantile);
        if self.beyond(quantile, n) < Self::FEW {
            let widest = |a: Batches, b: Batches| if b.time > a.time { b } else { a };
            return Spread {
                neighbours: self.cautious(quantile),
                batches: indicators.iter().map(|at| at.batches).fold(Batches::NONE, widest),
            };
        }
        Spread {
            neighbours: own.neighbours.time.max(self.waiting.expected(quantile)),
            batches: own.batches,
        }
    }

    /// How many times fewer independent frames would give an interval of this confidence that is as wide, and whether dependence is
    /// detected.
    pub(in crate::analysis) fn inflation(&self, quantile: Quantile, n: u64, confidence: f64) -> (f64, bool) {
        if self.is_detected(quantile) {
            return (self.spread(quantile, n).inflation(confidence), true);
        }
        let indicators = self.up_to(quantile).iter();
        (indicators.map(|at| at.neighbours.time).fold(1.0, f64::max), false)
    }

    /// The effective sample size of `n` frames for a quantile.
    pub(in crate::analysis) fn worth(&self, quantile: Quantile, n: u64) -> u64 {
        ((n as f64 / self.inflation(quantile, n, 0.95).0) as u64).max(1)
    }
}

/// τ of a series from several indicators: the largest upper bound if autocorrelation is detected, else the largest
/// estimate; and whether it is detected.
pub(in crate::analysis) fn of_several(indicators: &[Correlation]) -> (f64, bool) {
    if are_dependent(indicators.iter().copied()) {
        (largest(indicators, Correlation::most), true)
    } else {
        (largest(indicators, |known| known.time), false)
    }
}

/// Whether one of these detects autocorrelation.
fn are_dependent(mut indicators: impl Iterator<Item = Correlation>) -> bool {
    indicators.any(|known| known.least() > 1.0)
}

/// The largest τ of them, at least 1.
fn largest(indicators: &[Correlation], time: impl Fn(Correlation) -> f64) -> f64 {
    indicators.iter().map(|&known| time(known)).fold(1.0, f64::max)
}

/// Rounds up to two digits: more would suggest that τ is known precisely.
pub(in crate::analysis) fn about(frames: f64) -> u64 {
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
    use crate::analysis::gathering::lack::Lack;
    use crate::analysis::gathering::responses::Responses;
    use crate::analysis::gathering::series::Series;
    use crate::analysis::gathering::timeline::Placed;
    use crate::analysis::gathering::waiting::Line;
    use crate::analysis::stats::stats;
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
                unit: sequence,
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
                unit: sequence,
            }
        };
        (0..n as u64).map(next).collect()
    }

    /// Served one after the other, with a line that nothing bounds.
    fn sample(frames: Vec<Placed>) -> Responses {
        let mut series = Series::default();
        frames
            .iter()
            .for_each(|frame| series.push(Nanos(frame.took), true));
        Responses::new(series.finish(), frames.into_iter(), Line::test(1, 1 << 20))
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
            let of = stats(&sample.distribution, &sample.dependence());
            let intervals = [of.p50, of.p90, of.p95, of.p99].map(|quantile| quantile.ci95);
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
                    .value
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
            let Some(Lack::Frames(needs)) = short.p99.lack else {
                panic!("seed {seed}: {:?}", short.p99)
            };
            // The run's own is told all the same.
            assert!(short.p99.value.is_some() && short.p99.ci95.is_none());
            assert!(needs > 1_800, "seed {seed}: {needs}");
            // Of another run, which may show dependence stronger than the first.
            enough += u32::from(figures(2 * needs as usize, seed + 100).p99.ci95.is_some());
        }
        println!("twice the frames that are named are enough in {enough} of 10 runs");
        assert!(enough >= 7, "{enough} of 10");
        assert_eq!(about(14_137.0), 15_000);
        assert_eq!(about(662.5), 670);
        assert_eq!(about(11.2), 12);
    }
}
