//! How long a simulated inference takes when it is alone: draws from a stated distribution.

use rand_distr::{Distribution, LogNormal, Normal};
use rand_pcg::Pcg64;
use rand_pcg::rand_core::{Rng, SeedableRng};

use crate::scenario::LatencyModel;
use crate::units::Nanos;

/// Draws latencies; equal seeds give equal sequences on every machine.
pub struct Sampler {
    model: Model,
    rng: Pcg64,
}

enum Model {
    Fixed(Nanos),
    Normal(Normal<f64>),
    LogNormal(LogNormal<f64>),
    Bimodal {
        fast: Nanos,
        slow: Nanos,
        slow_share: f64,
    },
    Recorded {
        list: Vec<Nanos>,
        next: usize,
    },
}

impl Sampler {
    /// A sampler of this model with a tenant's seed. Parameters that make no distribution (resolve refuses them) fall back to
    /// the model's central value.
    pub fn new(model: LatencyModel, seed: u64) -> Self {
        let model = match model {
            LatencyModel::Fixed { latency: t } => Model::Fixed(t),
            LatencyModel::Normal { mean, sd } => {
                Normal::new(mean.0 as f64, sd.0 as f64).map_or(Model::Fixed(mean), Model::Normal)
            }
            LatencyModel::LogNormal { median, sigma } => LogNormal::new((median.0.max(1) as f64).ln(), sigma)
                .map_or(Model::Fixed(median), Model::LogNormal),
            LatencyModel::Bimodal {
                fast,
                slow,
                slow_share,
            } => Model::Bimodal {
                fast,
                slow,
                slow_share,
            },
            LatencyModel::Recorded { latencies: list } if list.is_empty() => Model::Fixed(Nanos(1)),
            LatencyModel::Recorded { latencies: list } => Model::Recorded { list, next: 0 },
        };
        let rng = drawing(seed);
        Sampler { model, rng }
    }

    /// Begins anew: the same latencies follow as after [`Sampler::new`] with this seed.
    pub fn restart(&mut self, seed: u64) {
        self.rng = drawing(seed);
        if let Model::Recorded { next, .. } = &mut self.model {
            *next = 0;
        }
    }

    /// The next latency; at least one nanosecond, so that simulated time always moves.
    pub fn draw(&mut self) -> Nanos {
        let ns = match &mut self.model {
            Model::Fixed(t) => t.0,
            Model::Normal(d) => d.sample(&mut self.rng).round() as i64,
            Model::LogNormal(d) => d.sample(&mut self.rng).round() as i64,
            Model::Bimodal {
                fast,
                slow,
                slow_share,
            } => {
                // 53 bits make a uniform number in [0, 1).
                let uniform = (self.rng.next_u64() >> 11) as f64 / (1u64 << 53) as f64;
                if uniform < *slow_share { slow.0 } else { fast.0 }
            }
            Model::Recorded { list, next } => {
                let t = list[*next];
                *next = (*next + 1) % list.len();
                t.0
            }
        };
        Nanos(ns.max(1))
    }
}

/// A seed of its own, so that a change of arrivals leaves the latencies as they are.
fn drawing(seed: u64) -> Pcg64 {
    Pcg64::seed_from_u64(seed ^ 0x5f37_59df)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn draws(model: LatencyModel, seed: u64, n: usize) -> Vec<i64> {
        let mut sampler = Sampler::new(model, seed);
        (0..n).map(|_| sampler.draw().0).collect()
    }

    #[test]
    fn equal_seeds_give_equal_latencies_and_other_seeds_others() {
        let model = LatencyModel::LogNormal {
            median: Nanos::from_millis(8),
            sigma: 0.3,
        };
        assert_eq!(draws(model.clone(), 1, 100), draws(model.clone(), 1, 100));
        assert_ne!(draws(model.clone(), 1, 100), draws(model, 2, 100));
    }

    #[test]
    fn draws_follow_the_stated_distribution() {
        let mut normal = draws(
            LatencyModel::Normal {
                mean: Nanos(10_000),
                sd: Nanos(1_000),
            },
            3,
            20_000,
        );
        let mean = normal.iter().sum::<i64>() as f64 / normal.len() as f64;
        assert!((mean - 10_000.0).abs() < 30.0, "{mean}");
        normal.sort_unstable();
        assert!(
            (normal[16_827] - 11_000).abs() < 60,
            "one sd above the mean is the 84.13 % quantile"
        );
        let mut lognormal = draws(
            LatencyModel::LogNormal {
                median: Nanos(8_000),
                sigma: 0.5,
            },
            4,
            20_000,
        );
        lognormal.sort_unstable();
        assert!((lognormal[10_000] - 8_000).abs() < 120);
        let slow = draws(
            LatencyModel::Bimodal {
                fast: Nanos(5),
                slow: Nanos(50),
                slow_share: 0.1,
            },
            5,
            20_000,
        );
        let share = slow.iter().filter(|t| **t == 50).count() as f64 / 20_000.0;
        assert!((share - 0.1).abs() < 0.01, "{share}");
    }

    #[test]
    fn a_recorded_list_comes_round_again_and_time_always_moves() {
        assert_eq!(
            draws(
                LatencyModel::Recorded {
                    latencies: vec![Nanos(3), Nanos(0)]
                },
                0,
                4
            ),
            [3, 1, 3, 1]
        );
        assert_eq!(draws(LatencyModel::Fixed { latency: Nanos(0) }, 0, 1), [1]);
        let cut = draws(
            LatencyModel::Normal {
                mean: Nanos(0),
                sd: Nanos(1_000_000),
            },
            6,
            1_000,
        );
        assert!(cut.iter().all(|t| *t >= 1));
    }

    #[test]
    fn a_sampler_that_begins_anew_draws_the_same_again() {
        for model in [
            LatencyModel::Recorded {
                latencies: [3, 5, 9].map(Nanos).to_vec(),
            },
            LatencyModel::Normal {
                mean: Nanos(1_000),
                sd: Nanos(100),
            },
        ] {
            let mut sampler = Sampler::new(model, 4);
            let first: Vec<Nanos> = (0..10).map(|_| sampler.draw()).collect();
            sampler.restart(4);
            let again: Vec<Nanos> = (0..10).map(|_| sampler.draw()).collect();
            assert_eq!(first, again);
            assert!(first.windows(2).any(|pair| pair[0] != pair[1]));
        }
    }
}
