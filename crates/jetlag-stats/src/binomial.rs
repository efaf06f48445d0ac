//! The exact binomial distribution, from which sample sizes and the intervals of order statistics are computed.
//!
//! Probabilities are computed outwards from the mode, by the ratio of neighbours, and normalised by their own sum.
//! This needs no factorial, no gamma function and no normal approximation at any sample size. Terms below 10⁻²⁰ of
//! the mode are left out; the remaining relative error is about 10⁻¹³.

/// The number of successes in `n` independent trials.
pub struct Binomial {
    /// The number of successes to which `below[0]` belongs.
    first: u64,
    /// `below[i]` is the probability of fewer than `first + i` successes.
    below: Vec<f64>,
}

impl Binomial {
    /// `n` trials that succeed with probability `p`, 0 < `p` < 1.
    pub fn new(n: u64, p: f64) -> Self {
        const NEGLIGIBLE: f64 = 1e-20;
        let odds = p / (1.0 - p);
        let mode = (((n + 1) as f64 * p) as u64).min(n);

        let mut lower = Vec::new();
        let (mut k, mut weight) = (mode, 1.0);
        while k > 0 && weight > NEGLIGIBLE {
            weight *= k as f64 / ((n - k + 1) as f64 * odds);
            k -= 1;
            lower.push(weight);
        }
        let first = k;

        let mut weights: Vec<f64> = lower.into_iter().rev().collect();
        weights.push(1.0);
        let (mut k, mut weight) = (mode, 1.0);
        while k < n && weight > NEGLIGIBLE {
            weight *= (n - k) as f64 * odds / (k + 1) as f64;
            k += 1;
            weights.push(weight);
        }

        let total: f64 = weights.iter().sum();
        let mut running = 0.0;
        let mut below = Vec::with_capacity(weights.len() + 1);
        below.push(0.0);
        for weight in weights {
            running += weight / total;
            below.push(running);
        }
        Binomial { first, below }
    }

    /// The probability of fewer than `k` successes.
    pub fn below(&self, k: u64) -> f64 {
        match k.checked_sub(self.first) {
            None => 0.0,
            Some(i) => usize::try_from(i)
                .ok()
                .and_then(|i| self.below.get(i))
                .copied()
                .unwrap_or(1.0),
        }
    }
}

/// Ranks (1-based) of the two order statistics of `n` independent values between which the `p` quantile
/// lies with at least the given confidence, whatever the distribution: P(X₍l₎ ≤ q < X₍u₎) is the
/// probability of `l..u` successes. Of all such pairs around `rank`, the one that spans the fewest ranks;
/// of those, the most balanced. `None` where even the extremes do not reach the confidence.
///
/// Hahn and Meeker, *Statistical Intervals* (1991), section 5.2.
pub fn interval_ranks(n: u64, p: f64, rank: u64, confidence: f64) -> Option<(u64, u64)> {
    if n == 0 {
        return None;
    }
    let successes = Binomial::new(n, p);
    let mut best: Option<(u64, u64, f64)> = None;
    let mut upper = n;
    // From the tightest lower rank downwards, the upper rank that is needed can only come down too.
    for lower in (1..=rank).rev() {
        let missed_below = successes.below(lower);
        if successes.below(upper) - missed_below < confidence {
            continue;
        }
        while upper > rank && upper > lower && successes.below(upper - 1) - missed_below >= confidence {
            upper -= 1;
        }
        let imbalance = (missed_below - (1.0 - successes.below(upper))).abs();
        let narrower = best.is_none_or(|(l, u, worst)| {
            let (width, known) = (upper - lower, u - l);
            width < known || (width == known && imbalance < worst)
        });
        if narrower {
            best = Some((lower, upper, imbalance));
        }
        if missed_below == 0.0 {
            break;
        }
    }
    best.map(|(lower, upper, _)| (lower, upper))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// P(B < k) by summing products of exact ratios, for small n.
    fn below_by_definition(n: u64, p: f64, k: u64) -> f64 {
        (0..k.min(n + 1))
            .map(|i| {
                let choose = (0..i).fold(1.0, |c, j| c * (n - j) as f64 / (j + 1) as f64);
                choose * p.powi(i as i32) * (1.0 - p).powi((n - i) as i32)
            })
            .sum()
    }

    #[test]
    fn probabilities_agree_with_the_definition() {
        for n in [1, 2, 7, 30, 100] {
            for p in [0.01, 0.5, 0.9, 0.999] {
                let binomial = Binomial::new(n, p);
                for k in 0..=n + 1 {
                    let expected = below_by_definition(n, p, k);
                    assert!(
                        (binomial.below(k) - expected).abs() < 1e-12,
                        "n {n}, p {p}, k {k}"
                    );
                }
            }
        }
    }

    #[test]
    fn ten_million_trials_agree_with_the_normal_limit() {
        let binomial = Binomial::new(10_000_000, 0.5);
        let sigma = (10_000_000.0f64 * 0.25).sqrt();
        // P(Z < 1.96) with the continuity correction that the limit asks for.
        let k = (5_000_000.0 + 1.959_964 * sigma).round() as u64;
        assert!((binomial.below(k) - 0.975).abs() < 1e-4);
        assert!((binomial.below(5_000_000) - 0.5).abs() < 1e-3);
    }

    #[test]
    fn intervals_reach_their_confidence_and_no_narrower_one_does() {
        for (n, p) in [
            (11u64, 0.5),
            (64, 0.9),
            (100, 0.5),
            (662, 0.99),
            (1000, 0.99),
            (6636, 0.999),
        ] {
            let rank = (n as f64 * p).ceil() as u64;
            let (lower, upper) = interval_ranks(n, p, rank, 0.95).expect("supported");
            let successes = Binomial::new(n, p);
            let covered = |l: u64, u: u64| successes.below(u) - successes.below(l);
            assert!(lower <= rank && rank <= upper && upper <= n);
            assert!(covered(lower, upper) >= 0.95);
            let width = upper - lower;
            for l in 1..=rank.min(n + 1 - width) {
                let u = l + width - 1;
                assert!(
                    u < rank || covered(l, u) < 0.95,
                    "n {n}, p {p}: {l}..{u} is narrower"
                );
            }
        }
    }

    #[test]
    fn the_median_of_a_hundred_has_the_published_interval() {
        // Ranks 40 and 60 (coverage 0.9540): the narrowest that reach 95 %.
        let successes = Binomial::new(100, 0.5);
        let (lower, upper) = interval_ranks(100, 0.5, 50, 0.95).expect("supported");
        assert_eq!(upper - lower, 20);
        assert!((successes.below(upper) - successes.below(lower) - 0.954).abs() < 0.001);
    }

    #[test]
    fn too_few_values_have_no_interval() {
        assert_eq!(interval_ranks(0, 0.5, 0, 0.95), None);
        assert_eq!(interval_ranks(5, 0.5, 3, 0.95), None);
        assert_eq!(interval_ranks(100, 0.99, 99, 0.95), None);
    }
}
