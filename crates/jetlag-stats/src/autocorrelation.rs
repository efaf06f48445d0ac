//! Autocorrelation of consecutive frames, and the effective sample size that follows from it.
//!
//! The interval of a quantile q depends on the number of frames that do not exceed q. For independent frames that
//! number is binomial; if slow frames follow slow frames, its variance is larger by the factor
//!
//! > τ = 1 + 2 Σ ρ(k), k = 1, 2, …
//!
//! the autocorrelation time, with ρ(k) the autocorrelation at lag k of the indicator "this frame does not exceed q".
//! So n frames have an effective sample size of n ÷ τ. ρ is computed from the indicator and not from the latencies,
//! because the tail of a series may come in bursts where its middle does not, and the other way round; and because an
//! indicator has all its moments.
//!
//! The sum ends where C. J. Geyer's initial monotone sequence ends ("Practical Markov Chain Monte Carlo",
//! *Statistical Science* 7, 1992, section 3.3): ρ(2j) + ρ(2j+1) is added as long as it is positive, and never more
//! than the one before. The data decide how many lags that takes; there is nothing to tune.
//!
//! τ is an estimate, and imprecise in a short run: see [`Correlation::error`].

/// Largest lag. A series that is correlated over more frames than this has almost no effective sample, and a finding
/// of `steady` says why.
const MOST_LAGS: usize = 4096;

/// Autocorrelation time of "does not exceed `at_most`" within these runs of the same kind.
pub fn correlation(runs: &[&[i64]], at_most: i64) -> Correlation {
    let bits = runs
        .iter()
        .map(|run| Bits::new(run.iter().map(|&value| value <= at_most)));
    of_bits(&bits.collect::<Vec<Bits>>())
}

/// The same for events that happen or do not.
pub fn correlation_of_events(runs: &[Vec<bool>]) -> Correlation {
    let bits = runs.iter().map(|run| Bits::new(run.iter().copied()));
    of_bits(&bits.collect::<Vec<Bits>>())
}

/// τ by the initial monotone sequence, at least 1, and the number of lags that it took: of a series whose autocorrelation at
/// each lag is asked for in the order 1, 2, 3, …, with both lags of a pair below `limit`.
pub fn summed(limit: usize, mut autocorrelation: impl FnMut(usize) -> f64) -> (f64, usize) {
    let (mut time, mut smallest, mut even, mut lag) = (-1.0, f64::INFINITY, 1.0, 1);
    while lag + 1 < limit {
        let pair = even + autocorrelation(lag);
        if pair <= 0.0 {
            break;
        }
        smallest = f64::min(smallest, pair);
        time += 2.0 * smallest;
        even = autocorrelation(lag + 1);
        lag += 2;
    }
    (f64::max(time, 1.0), lag)
}

/// An estimate of τ.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Correlation {
    /// The estimate of τ, at least 1.
    pub time: f64,
    /// Its relative standard error.
    pub error: f64,
}

impl Correlation {
    /// For values that are taken as independent.
    pub const NONE: Correlation = Correlation {
        time: 1.0,
        error: 0.0,
    };
    /// Standard errors between the estimate of τ and its bounds.
    const ERRORS: f64 = 2.0;

    /// `lags` were added up over `n` values, of which the share `tail` is on the rarer side.
    ///
    /// The first part is A. D. Sokal's error of τ for a normal series ("Monte Carlo Methods in Statistical
    /// Mechanics", 1989, section 3). The second comes from the number of bursts: n·tail ÷ τ of them were seen, and a
    /// count has a relative error of one over its root.
    fn new(time: f64, lags: usize, n: f64, tail: f64) -> Correlation {
        let lagged = 2.0 * (2.0 * lags as f64 + 1.0) / n;
        Correlation {
            time,
            error: (lagged + time / (n * tail)).sqrt(),
        }
    }

    /// Lower bound of τ, two standard errors down.
    pub fn least(self) -> f64 {
        self.time / (1.0 + Self::ERRORS * self.error)
    }

    /// Upper bound of τ: the estimate plus two standard errors.
    pub fn most(self) -> f64 {
        self.time * (1.0 + Self::ERRORS * self.error)
    }
}

/// The correlation of each value with the next one; `None` below three values, or if all are equal.
pub fn with_the_next(in_order: &[i64]) -> Option<f64> {
    let n = in_order.len();
    if n < 3 {
        return None;
    }
    let mean = in_order.iter().map(|&value| value as f64).sum::<f64>() / n as f64;
    let deviation = |value: i64| value as f64 - mean;
    let squares: f64 = in_order.iter().map(|&value| deviation(value).powi(2)).sum();
    let products: f64 = in_order
        .windows(2)
        .map(|pair| deviation(pair[0]) * deviation(pair[1]))
        .sum();
    (squares > 0.0).then(|| products / squares)
}

/// Events of a series, one bit each: sums of products of indicators are then bit counts, 64 at a time.
struct Bits {
    words: Vec<u64>,
    len: usize,
    ones: usize,
}

impl Bits {
    fn new(events: impl Iterator<Item = bool>) -> Self {
        let mut bits = Bits {
            words: Vec::new(),
            len: 0,
            ones: 0,
        };
        for event in events {
            if bits.len.is_multiple_of(64) {
                bits.words.push(0);
            }
            if event && let Some(word) = bits.words.last_mut() {
                *word |= 1 << (bits.len % 64);
                bits.ones += 1;
            }
            bits.len += 1;
        }
        bits
    }

    fn get(&self, at: usize) -> bool {
        self.words
            .get(at / 64)
            .is_some_and(|word| word >> (at % 64) & 1 == 1)
    }

    /// How often an event is followed by another one `lag` positions later.
    fn pairs(&self, lag: usize) -> u32 {
        let (skip, shift) = (lag / 64, lag % 64);
        let later = &self.words[skip.min(self.words.len())..];
        let pairs = later.iter().enumerate().map(|(i, &word)| {
            let next = later.get(i + 1).copied().unwrap_or(0);
            let shifted = if shift == 0 {
                word
            } else {
                word >> shift | next << (64 - shift)
            };
            (shifted & self.words[i]).count_ones()
        });
        pairs.sum()
    }

    fn variance(&self) -> f64 {
        let n = self.len as f64;
        n * self.share() * (1.0 - self.share())
    }

    fn share(&self) -> f64 {
        self.ones as f64 / self.len.max(1) as f64
    }
}

/// Sums of products of a run's deviations, lag by lag.
struct Products<'a> {
    bits: &'a Bits,
    /// Events among the first and the last `lag` positions, updated as the lag grows.
    head: f64,
    tail: f64,
}

impl Products<'_> {
    /// The sum at this lag; must be called with 1, 2, 3, ….
    fn at(&mut self, lag: usize) -> f64 {
        let (bits, len) = (self.bits, self.bits.len);
        if lag >= len {
            return 0.0;
        }
        self.head += f64::from(u8::from(bits.get(lag - 1)));
        self.tail += f64::from(u8::from(bits.get(len - lag)));
        let (share, ones) = (bits.share(), bits.ones as f64);
        let (without_tail, without_head) = (ones - self.tail, ones - self.head);
        let left = (len - lag) as f64;
        f64::from(bits.pairs(lag)) - share * (without_tail + without_head) + share * share * left
    }
}

fn of_bits(runs: &[Bits]) -> Correlation {
    let variance: f64 = runs.iter().map(Bits::variance).sum();
    if variance <= 0.0 {
        return Correlation::NONE;
    }
    let mut products: Vec<Products> = runs
        .iter()
        .map(|bits| Products {
            bits,
            head: 0.0,
            tail: 0.0,
        })
        .collect();
    let autocorrelation = |lag: usize| -> f64 {
        let sum: f64 = products.iter_mut().map(|run| run.at(lag)).sum();
        sum / variance
    };
    let longest = runs.iter().map(|run| run.len).max().unwrap_or(0);
    let (time, lags) = summed(longest.min(MOST_LAGS), autocorrelation);
    let (n, ones) = runs.iter().fold((0.0, 0.0), |(n, ones), run| {
        (n + run.len as f64, ones + run.ones as f64)
    });
    let tail = (ones / n).min(1.0 - ones / n);
    Correlation::new(time, lags, n, tail)
}

#[cfg(test)]
mod tests {
    use rand_distr::{Distribution, StandardNormal};
    use rand_pcg::Pcg64;
    use rand_pcg::rand_core::SeedableRng;

    use super::*;

    fn inflation(in_order: &[i64], at_most: i64) -> f64 {
        correlation(&[in_order], at_most).time
    }

    /// An autoregressive series of the first order, in thousandths.
    fn series(phi: f64, n: usize, seed: u64) -> Vec<i64> {
        let mut random = Pcg64::seed_from_u64(seed);
        let mut x = 0.0;
        let mut draw = || {
            let noise: f64 = StandardNormal.sample(&mut random);
            x = phi * x + noise;
            (x * 1e3) as i64
        };
        (0..100).for_each(|_| {
            draw();
        });
        (0..n).map(|_| draw()).collect()
    }

    #[test]
    fn independent_values_are_worth_what_they_count() {
        let values = series(0.0, 50_000, 1);
        assert!(inflation(&values, 0) < 1.2);
        assert!(with_the_next(&values).unwrap().abs() < 0.02);
    }

    #[test]
    fn the_median_of_an_autoregressive_series_has_the_known_inflation() {
        // P(both below the median) gives ρ(k) = 2/π · asin(φᵏ).
        for phi in [0.5f64, 0.8] {
            let expected: f64 =
                1.0 + 2.0 * (1..200).map(|k| phi.powi(k).asin()).sum::<f64>() * 2.0 / std::f64::consts::PI;
            let found = inflation(&series(phi, 60_000, 2), 0);
            assert!(
                (found / expected - 1.0).abs() < 0.15,
                "φ {phi}: {found} for {expected}"
            );
            assert!((with_the_next(&series(phi, 60_000, 2)).unwrap() - phi).abs() < 0.02);
        }
    }

    #[test]
    fn counting_bits_agrees_with_the_sum_of_products() {
        let values = series(0.7, 1_003, 3);
        let bits = Bits::new(values.iter().map(|&value| value <= 100));
        for lag in [1, 2, 63, 64, 65, 128, 700, 1_002] {
            let pairs = (0..values.len() - lag)
                .filter(|&i| values[i] <= 100 && values[i + lag] <= 100)
                .count();
            assert_eq!(bits.pairs(lag) as usize, pairs, "lag {lag}");
        }
    }

    #[test]
    fn what_alternates_or_never_changes_is_not_better_than_independent() {
        let alternating: Vec<i64> = (0..1000).map(|i| i % 2).collect();
        assert_eq!(inflation(&alternating, 0), 1.0);
        assert_eq!(inflation(&[5; 100], 5), 1.0);
        assert_eq!(inflation(&[], 5), 1.0);
        assert_eq!(with_the_next(&[5; 100]), None);
    }

    #[test]
    fn a_single_step_makes_many_frames_worth_few() {
        let step: Vec<i64> = (0..10_000).map(|i| i64::from(i >= 5_000)).collect();
        assert!(inflation(&step, 0) > 1_000.0);
    }

    #[test]
    fn neighbours_are_correlated_from_three_values_on() {
        assert_eq!(with_the_next(&[1, 2]), None);
        // Deviations −4/3, −1/3 and 5/3: −1/9 over 42/9.
        assert!((with_the_next(&[1, 2, 4]).unwrap() + 1.0 / 42.0).abs() < 1e-12);
    }

    #[test]
    fn a_run_of_two_has_no_pair_of_lags() {
        let found = correlation_of_events(&[vec![true, false]]);
        // Lag 1 is not looked at: √(2 × 3 / 2 + 1 / (2 × ½)).
        assert_eq!((found.time, found.error), (1.0, 2.0));
    }

    #[test]
    fn an_event_and_its_opposite_repeat_themselves_alike() {
        let events: Vec<bool> = (0..300).map(|i: u32| (i * i) % 31 < 9).collect();
        let opposite = events.iter().map(|event| !event).collect();
        let (found, other) = (
            correlation_of_events(&[events]),
            correlation_of_events(&[opposite]),
        );
        assert!((found.time - other.time).abs() < 1e-9 && (found.error - other.error).abs() < 1e-9);
    }

    #[test]
    fn correlations_are_added_in_pairs_until_the_last_that_a_series_has() {
        assert_eq!(summed(4, |_| 1.0), (3.0, 3));
        assert_eq!(summed(5, |_| 1.0), (7.0, 5));
        assert_eq!(summed(100, |lag| if lag == 1 { 0.5 } else { -0.6 }), (2.0, 3));
    }
}
