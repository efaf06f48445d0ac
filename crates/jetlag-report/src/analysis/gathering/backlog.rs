//! How long a line of waiting frames chance alone makes.
//!
//! Where a tenant is just able to keep up, the work that came less the work that was done is a random walk that does not fall below
//! nothing: reflected Brownian motion without drift. After n frames it stands at |N(0, n σ²)| frames, with σ² the variance of the gap
//! between two releases and of a service, each over its mean squared. Where there is less to do, lines are shorter. So a line that is
//! longer than that by chance in one run of a hundred shows a tenant that does not keep up.

use crate::scenario::Arrival;

/// Mean of |N(0, 1)|.
const MEAN: f64 = 0.8;
/// Its standard deviation, times 2.99: with the mean it makes the bound of one run, 2.6.
const ABOVE: f64 = 1.8;

/// The line that chance makes in one stretch of time, or in several one after the other, each of which begins without one.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::analysis) struct Backlog {
    mean: f64,
    variance: f64,
}

impl Backlog {
    /// Adds a stretch of so many frames. `of_services`: the variance of the sum of their service times, over their mean squared.
    pub(in crate::analysis) fn add(&mut self, frames: u64, arrival: &Arrival, of_services: f64) {
        let variance = frames as f64 * of_gaps(arrival) + of_services;
        self.mean += MEAN * variance.sqrt();
        self.variance += variance;
    }

    /// Whether so many frames, at the ends of all stretches together, wait by chance.
    pub(in crate::analysis) fn explains(&self, waiting: u64) -> bool {
        waiting as f64 <= self.mean + ABOVE * self.variance.sqrt()
    }
}

/// The variance of a gap between two releases over its mean squared, as far as it adds up over many: what moves a release within its
/// own period does not.
fn of_gaps(arrival: &Arrival) -> f64 {
    match arrival {
        Arrival::Poisson { .. } | Arrival::Live => 1.0,
        Arrival::Closed | Arrival::Periodic { .. } | Arrival::Sampled { .. } | Arrival::Replay { .. } => 0.0,
    }
}

#[cfg(test)]
mod tests {
    use rand_distr::{Distribution as _, Exp1, LogNormal};
    use rand_pcg::Pcg64;
    use rand_pcg::rand_core::SeedableRng;

    use super::*;

    const SIGMA: f64 = 0.5;

    /// Frames that wait after `n` releases at this load.
    fn waiting(n: u64, load: f64, random: &mut Pcg64) -> u64 {
        let service = LogNormal::new(-SIGMA * SIGMA / 2.0, SIGMA).unwrap();
        let mut work = 0.0f64;
        for _ in 0..n {
            let gap: f64 = Exp1.sample(random);
            work = (work + load * service.sample(random) - gap).max(0.0);
        }
        (work / load) as u64
    }

    #[test]
    fn what_just_keeps_up_is_explained_by_chance_and_what_does_not_is_not() {
        let arrival = Arrival::Poisson { hz: 1.0 };
        let of_one = (SIGMA * SIGMA).exp_m1();
        for (turns, n) in [(1, 1_800), (20, 60)] {
            let unexplained = |load: f64| {
                let runs = (0..400).filter(|&seed| {
                    let mut random = Pcg64::seed_from_u64(seed);
                    let mut backlog = Backlog::default();
                    let line: u64 = (0..turns)
                        .map(|_| {
                            backlog.add(n, &arrival, n as f64 * of_one);
                            waiting(n, load, &mut random)
                        })
                        .sum();
                    !backlog.explains(line)
                });
                runs.count()
            };
            assert!(
                unexplained(0.95) <= 4,
                "{turns} turns: {} of 400",
                unexplained(0.95)
            );
            assert!(
                unexplained(1.0) <= 8,
                "{turns} turns: {} of 400",
                unexplained(1.0)
            );
        }
        let far = (0..100).filter(|&seed| {
            let mut backlog = Backlog::default();
            backlog.add(1_800, &arrival, 1_800.0 * of_one);
            !backlog.explains(waiting(1_800, 1.15, &mut Pcg64::seed_from_u64(seed)))
        });
        assert!(far.count() >= 90);
    }

    #[test]
    fn frames_of_one_length_at_even_gaps_never_wait_by_chance() {
        let periodic = Arrival::Periodic {
            hz: 30.0,
            phase: crate::units::Nanos::ZERO,
            jitter: crate::units::Nanos::ZERO,
        };
        let mut backlog = Backlog::default();
        backlog.add(1_000, &periodic, 0.0);
        assert!(backlog.explains(0) && !backlog.explains(1));
    }
}
