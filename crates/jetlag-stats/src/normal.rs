//! Quantiles of the normal distribution.

use super::bisect::bisect;

/// 95 % of a normal distribution lie within so many standard deviations of its mean, to three digits.
pub const WITHIN_95: f64 = 1.96;
/// 95 % of a normal distribution lie below so many standard deviations above its mean, to four digits.
pub const BELOW_95: f64 = 1.645;

/// The value that a standard normal variable does not exceed with probability `p`, 0 < `p` < 1.
pub fn normal_quantile(p: f64) -> f64 {
    bisect(|x| 0.5 * libm::erfc(-x / std::f64::consts::SQRT_2), p)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn published_table_values_are_met() {
        for (p, z) in [
            (0.975, 1.959_963_985),
            (0.5, 0.0),
            (0.995, 2.575_829_304),
            (0.025, -1.959_963_985),
        ] {
            assert!((normal_quantile(p) - z).abs() < 1e-8, "{p}");
        }
        assert!((normal_quantile(0.975) - WITHIN_95).abs() < 5e-3);
        assert!((normal_quantile(0.95) - BELOW_95).abs() < 5e-4);
    }
}
