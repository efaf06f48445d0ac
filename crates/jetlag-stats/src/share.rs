//! What a sample says of a share: its interval, and how large a sample a promise needs.

use super::binomial::Binomial;
use super::normal::normal_quantile;

/// The interval of a share by `worth` independent values: Wilson's, and where all values are alike the exact one-sided bound.
pub fn interval(share: f64, worth: f64, confidence: f64) -> [f64; 2] {
    let beyond = 1.0 - (1.0 - confidence).powf(1.0 / worth);
    if share <= 0.0 {
        return [0.0, beyond];
    }
    if share >= 1.0 {
        return [1.0 - beyond, 1.0];
    }
    let z = normal_quantile(f64::midpoint(1.0, confidence));
    let scale = 1.0 + z * z / worth;
    let middle = (share + z * z / (2.0 * worth)) / scale;
    let half = z / scale * (share * (1.0 - share) / worth + z * z / (4.0 * worth * worth)).sqrt();
    [(middle - half).max(0.0), (middle + half).min(1.0)]
}

/// Independent values without a hit that support a promise of a share below `limit`: with fewer, a share of `limit` shows none in
/// more than `1 − confidence` of samples. `None` where no number would: a limit of nothing, or of all.
pub fn needs(limit: f64, confidence: f64) -> Option<f64> {
    (0.0 < limit && limit < 1.0).then(|| ((1.0 - confidence).ln() / (-limit).ln_1p()).ceil())
}

/// Whether `hits` of `n` exceed what a true share of `share` would give in 99 of 100 samples: evidence that the share
/// is exceeded, and not just chance in a short run.
pub fn exceeds_share(hits: u64, n: u64, share: f64) -> bool {
    1.0 - Binomial::new(n, share).below(hits) < 0.01
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_has_wilsons_interval() {
        // Of 10 in 100, statsmodels' proportion_confint(10, 100, method="wilson").
        let [low, high] = interval(0.1, 100.0, 0.95);
        assert!(
            (low - 0.055_229_2).abs() < 1e-6 && (high - 0.174_365_7).abs() < 1e-6,
            "{low} {high}"
        );
    }

    #[test]
    fn where_all_are_alike_the_bound_is_one_sided() {
        // The rule of three.
        let [low, high] = interval(0.0, 30.0, 0.95);
        assert!(low == 0.0 && (high - 0.095).abs() < 0.001, "{high}");
        let [low, high] = interval(1.0, 30.0, 0.95);
        assert!((low - 0.905).abs() < 0.001 && high == 1.0, "{low}");
    }

    #[test]
    fn a_promise_needs_so_many_values_that_its_limit_would_show() {
        assert_eq!(needs(0.01, 0.95), Some(299.0));
        assert_eq!(needs(0.1, 0.95), Some(29.0));
        assert_eq!((needs(0.0, 0.95), needs(1.0, 0.95)), (None, None));
    }

    #[test]
    fn a_single_late_frame_in_a_short_run_is_no_evidence() {
        assert!(!exceeds_share(0, 300, 0.001));
        assert!(!exceeds_share(1, 300, 0.001));
        assert!(exceeds_share(3, 300, 0.001));
        assert!(!exceeds_share(12, 10_000, 0.001));
        assert!(exceeds_share(30, 10_000, 0.001));
    }
}
