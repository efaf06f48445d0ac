//! The share of frames that miss, with its interval, and what it can support.
//!
//! A share of n frames that depend on each other varies like that of n ÷ τ independent ones. τ is the largest of three estimates: of
//! neighbouring misses, of the batches of the run ([`jetlag_stats::batches`]), and of the response times up to p99. The last one counts
//! because a run that has few misses, or none, shows no autocorrelation of misses.

use jetlag_stats::autocorrelation::correlation;
use jetlag_stats::batches::{Batches, Cells, variation};
use jetlag_stats::quantile::Quantile;
use jetlag_stats::share;
pub(in crate::analysis) use jetlag_stats::share::interval;

use crate::analysis::gathering::dependence::{Dependence, Spread};

const CONFIDENCE: f64 = 0.95;

/// What a run knows of the share of its frames that miss.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::analysis) struct MissRate {
    /// The 95 % interval; of a run without a miss its upper end is one-sided.
    pub(in crate::analysis) ci95: [f64; 2],
    /// Independent frames that would tell as much.
    pub(in crate::analysis) worth: f64,
}

impl MissRate {
    /// Of `offered` frames of which `hits` missed. `missed` are those whose order is known, `responses` what is known of `completed`
    /// response times. `None` where no frame was offered.
    pub(in crate::analysis) fn of(
        (hits, offered): (u64, u64),
        missed: &[bool],
        (responses, completed): (&Dependence, u64),
    ) -> Option<MissRate> {
        if offered == 0 {
            return None;
        }
        let of_responses = responses.inflation(Quantile::P99, completed, CONFIDENCE).0;
        let inflation = of_events(missed).max(of_responses);
        let worth = (offered as f64 / inflation).max(1.0);
        Some(MissRate {
            ci95: interval(hits as f64 / offered as f64, worth, CONFIDENCE),
            worth,
        })
    }
}

/// Frames without a miss that support a promise of a share below `limit`: with fewer, a share of `limit` shows none in one run of
/// twenty or more. `None` where no number would: a limit of nothing, or of all.
pub(in crate::analysis) fn needs(limit: f64) -> Option<f64> {
    share::needs(limit, CONFIDENCE)
}

/// τ of events in order of time: 1 where they do not depend on each other as far as is seen.
fn of_events(events: &[bool]) -> f64 {
    let values: Vec<i64> = events.iter().map(|&event| i64::from(event)).collect();
    let neighbours = correlation(&[&values], 0);
    let cells = Cells::new(&values, 0);
    let length = cells.length();
    let batches = variation(&[cells], length);
    let neighbouring = match neighbours.time > 1.0 {
        // Bursts are few where they are long: what their number leaves open counts.
        true => neighbours.most(),
        false => 1.0,
    };
    let batches = match neighbours.least() > 1.0 {
        true => batches,
        false => Batches::NONE,
    };
    let spread = Spread {
        neighbours: neighbouring,
        batches,
    };
    spread.inflation(CONFIDENCE)
}

#[cfg(test)]
mod tests {
    use rand_distr::{Distribution as _, StandardUniform};
    use rand_pcg::Pcg64;
    use rand_pcg::rand_core::SeedableRng;

    use super::*;

    /// How misses come: each by itself, or in bursts of so many frames on average of which half miss.
    #[derive(Clone, Copy, Debug)]
    enum Misses {
        Alone,
        Bursts(f64),
    }

    /// Frames of a run that misses so often.
    fn run(misses: Misses, share: f64, n: usize, seed: u64) -> Vec<bool> {
        let mut random = Pcg64::seed_from_u64(seed);
        let mut uniform = || -> f64 { StandardUniform.sample(&mut random) };
        let Misses::Bursts(length) = misses else {
            return (0..n).map(|_| uniform() < share).collect();
        };
        let (of_time, leaves) = (2.0 * share, 1.0 / length);
        let enters = leaves * of_time / (1.0 - of_time);
        let mut bad = uniform() < of_time;
        let next = |_| {
            bad = if bad {
                uniform() >= leaves
            } else {
                uniform() < enters
            };
            bad && uniform() < 0.5
        };
        (0..n).map(next).collect()
    }

    fn of(missed: &[bool]) -> MissRate {
        let hits = missed.iter().filter(|&&miss| miss).count() as u64;
        let counts = (hits, missed.len() as u64);
        MissRate::of(counts, missed, (&Dependence::NONE, counts.1)).unwrap()
    }

    #[test]
    fn intervals_hold_the_share_also_where_misses_come_in_bursts() {
        for (misses, share, n) in [
            (Misses::Alone, 0.01, 300),
            (Misses::Alone, 0.01, 10_000),
            (Misses::Alone, 0.05, 1_000),
            (Misses::Alone, 0.2, 300),
            // Each has six bursts or more on average: a run that has none of them by chance cannot know that they exist.
            (Misses::Bursts(5.0), 0.05, 300),
            (Misses::Bursts(5.0), 0.01, 10_000),
            (Misses::Bursts(5.0), 0.2, 1_000),
            (Misses::Bursts(30.0), 0.01, 10_000),
            (Misses::Bursts(30.0), 0.05, 10_000),
            (Misses::Bursts(30.0), 0.2, 1_000),
        ] {
            let held = (0..400).filter(|&seed| {
                let [low, high] = of(&run(misses, share, n, seed)).ci95;
                low <= share && share <= high
            });
            let held = held.count();
            assert!(held >= 368, "{misses:?} {share} {n}: {held} of 400");
        }
    }

    #[test]
    fn frames_without_a_miss_allow_what_one_in_twenty_such_runs_would_hide() {
        // The rule of three.
        let found = of(&[false; 30]);
        assert_eq!((found.ci95[0], found.worth), (0.0, 30.0));
        assert!((found.ci95[1] - 0.095).abs() < 0.001, "{found:?}");
        assert_eq!(of(&[true; 30]).ci95[1], 1.0);
        assert_eq!(MissRate::of((0, 0), &[], (&Dependence::NONE, 0)), None);
    }
}
