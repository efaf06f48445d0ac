//! When frames are due: a seeded sequence of releases, independent of how the tenant keeps up.
//!
//! That independence is the point: response time counts from these stamps, so a tenant that stalls is
//! charged for every frame that waited (Tene's "coordinated omission" cannot occur).

use rand_distr::{Distribution, Exp};
use rand_pcg::Pcg64;
use rand_pcg::rand_core::{Rng, SeedableRng};

use crate::scenario::Arrival;
use crate::units::{Nanos, Stamp};

/// The releases of one tenant in one phase, in order of time.
pub struct Releases {
    kind: Kind,
    rng: Pcg64,
    epoch: Stamp,
    end: Stamp,
    next: Option<Stamp>,
    count: u64,
}

enum Kind {
    Closed,
    Periodic {
        period_ns: f64,
        phase: Nanos,
        jitter: Nanos,
    },
    Poisson(Exp<f64>),
    Replay {
        times: Vec<Nanos>,
        speed: f64,
    },
}

impl Releases {
    /// The releases from `epoch` until before `end`. `captured` are the source's capture times, for `Replay`;
    /// when they are used up they come round again, one mean gap after the last.
    pub fn new(arrival: Arrival, seed: u64, epoch: Stamp, end: Stamp, captured: &[Nanos]) -> Self {
        let kind = match arrival {
            Arrival::Closed => Kind::Closed,
            Arrival::Periodic { hz, phase, jitter } => Kind::Periodic {
                period_ns: 1e9 / hz,
                phase,
                jitter,
            },
            // A rate that makes no distribution is refused by resolve; one event a second stands in for it.
            Arrival::Poisson { hz } => {
                Kind::Poisson(Exp::new(hz / 1e9).unwrap_or(Exp::new(1e-9).expect("a positive rate")))
            }
            Arrival::Replay { speed } => Kind::Replay {
                times: captured.to_vec(),
                speed,
            },
        };
        let mut releases = Releases {
            kind,
            rng: Pcg64::seed_from_u64(seed),
            epoch,
            end,
            next: None,
            count: 0,
        };
        releases.next = releases.generate();
        releases
    }

    /// Whether the next frame is due whenever there is room for it.
    pub fn is_closed(&self) -> bool {
        matches!(self.kind, Kind::Closed)
    }

    /// When the next frame is due; `None` when there is none before the end. For a closed arrival
    /// process this is always in the past: the frame is due now.
    pub fn peek(&self) -> Option<Stamp> {
        self.next
    }

    /// Takes the next release.
    pub fn take(&mut self) -> Option<Stamp> {
        let due = self.next?;
        self.count += 1;
        self.next = self.generate();
        Some(due)
    }

    /// The release numbered `self.count`.
    fn generate(&mut self) -> Option<Stamp> {
        let previous = self.next.unwrap_or(self.epoch);
        let due = match &self.kind {
            Kind::Closed => return Some(self.epoch),
            Kind::Periodic {
                period_ns,
                phase,
                jitter,
            } => {
                // From the count and not from the last release, so that no rounding accumulates.
                let ideal = Nanos((self.count as f64 * period_ns).round() as i64);
                let moved = match jitter.0 {
                    0 => 0,
                    j => (self.rng.next_u64() % (2 * j as u64 + 1)) as i64 - j,
                };
                // Jitter is below half a period, so releases stay in order; none precedes the epoch.
                (self.epoch + *phase + ideal + Nanos(moved)).max(previous)
            }
            Kind::Poisson(gaps) => previous + Nanos(gaps.sample(&mut self.rng).round() as i64),
            Kind::Replay { times, speed } => {
                let n = times.len() as u64;
                let last = times.last().copied()?;
                let mean_gap = if n > 1 {
                    last.0 / (n as i64 - 1)
                } else {
                    1_000_000_000
                };
                let lap = Nanos(last.0 + mean_gap.max(1)) * (self.count / n) as i64;
                let at = lap + times[(self.count % n) as usize];
                (self.epoch + Nanos((at.0 as f64 / speed).round() as i64)).max(previous)
            }
        };
        (due < self.end).then_some(due)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(arrival: Arrival, seed: u64, end: i64, captured: &[Nanos]) -> Vec<i64> {
        let mut releases = Releases::new(arrival, seed, Stamp(1_000), Stamp(1_000 + end), captured);
        std::iter::from_fn(|| releases.take().map(|s| s.0 - 1_000)).collect()
    }

    #[test]
    fn a_periodic_tenant_is_released_on_the_period_without_drift() {
        let at = all(
            Arrival::Periodic {
                hz: 30.0,
                phase: Nanos(5),
                jitter: Nanos::ZERO,
            },
            0,
            10_000_000_000,
            &[],
        );
        assert_eq!(at.len(), 300);
        assert_eq!(at[0], 5);
        assert_eq!(at[299], 5 + 9_966_666_667);
    }

    #[test]
    fn jitter_moves_each_release_within_its_bound_and_keeps_the_order() {
        let jitter = Nanos::from_millis(4);
        let at = all(
            Arrival::Periodic {
                hz: 100.0,
                phase: Nanos::ZERO,
                jitter,
            },
            9,
            10_000_000_000,
            &[],
        );
        assert!(at.is_sorted());
        for (i, t) in at.iter().enumerate().skip(1) {
            assert!((t - i as i64 * 10_000_000).abs() <= jitter.0);
        }
        assert!(
            at.iter()
                .enumerate()
                .any(|(i, t)| (t - i as i64 * 10_000_000).abs() > 3_000_000)
        );
    }

    #[test]
    fn jitter_is_any_of_the_numbers_within_its_bound() {
        let arrival = Arrival::Periodic {
            hz: 1e6,
            phase: Nanos::ZERO,
            jitter: Nanos(3),
        };
        let at = all(arrival, 9, 1_000_000, &[]);
        // The first is not before the epoch.
        let moved = at.iter().enumerate().skip(1).map(|(i, t)| t - i as i64 * 1_000);
        let moved: std::collections::BTreeSet<i64> = moved.collect();
        assert!(moved.into_iter().eq(-3..=3));
    }

    #[test]
    fn poisson_arrivals_have_the_rate_and_the_spread_of_an_exponential() {
        let at = all(Arrival::Poisson { hz: 1000.0 }, 3, 20_000_000_000, &[]);
        assert!((at.len() as f64 - 20_000.0).abs() < 600.0, "{}", at.len());
        let gaps: Vec<f64> = at.windows(2).map(|w| (w[1] - w[0]) as f64).collect();
        let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
        let sd = (gaps.iter().map(|g| (g - mean).powi(2)).sum::<f64>() / gaps.len() as f64).sqrt();
        assert!(
            (sd / mean - 1.0).abs() < 0.05,
            "coefficient of variation {}",
            sd / mean
        );
        assert_eq!(at, all(Arrival::Poisson { hz: 1000.0 }, 3, 20_000_000_000, &[]));
    }

    #[test]
    fn replay_follows_the_capture_times_at_its_speed_and_comes_round_again() {
        let captured = [Nanos(0), Nanos(100), Nanos(300)];
        assert_eq!(
            all(Arrival::Replay { speed: 2.0 }, 0, 500, &captured),
            [0, 50, 150, 225, 275, 375, 450]
        );
        assert!(all(Arrival::Replay { speed: 1.0 }, 0, 500, &[]).is_empty());
    }

    #[test]
    fn one_captured_frame_comes_again_each_second() {
        let at = all(Arrival::Replay { speed: 1.0 }, 0, 2_500_000_000, &[Nanos(0)]);
        assert_eq!(at, [0, 1_000_000_000, 2_000_000_000]);
    }
}
