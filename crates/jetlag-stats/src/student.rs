//! Quantiles of Student's t, by bisection of its distribution function.
//!
//! The distribution function is a regularised incomplete beta function, computed by its continued fraction (*Numerical Recipes*,
//! third edition, section 6.4, evaluated by Lentz's method). A test compares it with SciPy. Logarithms are libm's: the same on every
//! machine.

use super::bisect::bisect;

/// The value that a variable of Student's distribution with `freedom` degrees of freedom, above 0, does not exceed with probability
/// `p`, 0 < `p` < 1.
pub fn t_quantile(p: f64, freedom: f64) -> f64 {
    let below = |t: f64| {
        let beyond = 0.5 * incomplete_beta(freedom / 2.0, 0.5, freedom / (freedom + t * t));
        if t < 0.0 { beyond } else { 1.0 - beyond }
    };
    bisect(below, p)
}

/// I(a, b; x), for 0 ≤ `x` ≤ 1.
fn incomplete_beta(a: f64, b: f64, x: f64) -> f64 {
    if x <= 0.0 || x >= 1.0 {
        return x.clamp(0.0, 1.0);
    }
    // The fraction converges fast below the mean; above it, by symmetry.
    if x > (a + 1.0) / (a + b + 2.0) {
        return 1.0 - incomplete_beta(b, a, 1.0 - x);
    }
    const TINY: f64 = 1e-300;
    let factor =
        libm::lgamma(a + b) - libm::lgamma(a) - libm::lgamma(b) + a * libm::log(x) + b * libm::log1p(-x);
    let away_from_zero = |x: f64| if x.abs() < TINY { TINY } else { x };
    let mut c = 1.0;
    let mut d = 1.0 / away_from_zero(1.0 - (a + b) * x / (a + 1.0));
    let mut fraction = d;
    for m in 1..10_000 {
        let m = f64::from(m);
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        let mut change = 1.0;
        for term in [even, odd] {
            d = 1.0 / away_from_zero(1.0 + term * d);
            c = away_from_zero(1.0 + term / c);
            change = c * d;
            fraction *= change;
        }
        if (change - 1.0).abs() < 1e-15 {
            break;
        }
    }
    libm::exp(factor) * fraction / a
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::normal::normal_quantile;

    #[test]
    fn published_table_values_are_met() {
        for (p, freedom, t) in [
            (0.975, 1.0, 12.706_204_736),
            (0.975, 4.0, 2.776_445_105),
            (0.975, 8.0, 2.306_004_135),
            (0.995, 8.0, 3.355_387_331),
            (0.025, 30.0, -2.042_272_456),
            (0.95, 1.0, 6.313_751_515),
            (0.95, 2.0, 2.919_985_580),
            (0.95, 3.0, 2.353_363_435),
            (0.95, 4.0, 2.131_846_786),
            (0.975, 5.0, 2.570_581_836),
            (0.995, 30.0, 2.749_995_654),
            (0.975, 31.0, 2.039_513_446),
            (0.975, 120.0, 1.979_930_405),
        ] {
            assert!(
                (t_quantile(p, freedom) - t).abs() < 1e-7,
                "{p} {freedom}: {}",
                t_quantile(p, freedom)
            );
        }
    }

    #[test]
    fn with_many_degrees_of_freedom_it_is_the_normal_one() {
        assert!((t_quantile(0.975, 1e6) - normal_quantile(0.975)).abs() < 1e-5);
    }

    #[test]
    fn near_the_middle_it_is_as_exact() {
        // scipy.special.stdtrit; of one degree of freedom it is tan(π (p − ½)).
        for (p, freedom, t) in [
            (0.6, 1.0, 0.324_919_696),
            (0.75, 1.0, 1.0),
            (0.55, 4.0, 0.133_830_367),
            (0.6, 30.0, 0.255_605_365),
            (0.4, 2.0, -0.288_675_135),
        ] {
            let found = t_quantile(p, freedom);
            assert!((found - t).abs() < 1e-7, "{p} {freedom}: {found}");
        }
    }
}
