//! Quantiles of the normal distribution and of Student's t, by bisection of their distribution functions.
//!
//! The distribution function of Student's t is a regularised incomplete beta function, computed by its continued
//! fraction (*Numerical Recipes*, third edition, section 6.4, evaluated by Lentz's method). A test compares both with
//! SciPy.

/// The value that a standard normal variable does not exceed with probability `p`, 0 < `p` < 1.
pub(super) fn normal_quantile(p: f64) -> f64 {
    bisect(|x| 0.5 * libm::erfc(-x / std::f64::consts::SQRT_2), p)
}

/// The same of Student's distribution with `freedom` degrees of freedom, above 0.
pub(super) fn t_quantile(p: f64, freedom: f64) -> f64 {
    let below = |t: f64| {
        let beyond = 0.5 * incomplete_beta(freedom / 2.0, 0.5, freedom / (freedom + t * t));
        if t < 0.0 { beyond } else { 1.0 - beyond }
    };
    bisect(below, p)
}

/// Where an increasing function takes the value `p`.
fn bisect(function: impl Fn(f64) -> f64, p: f64) -> f64 {
    let (mut low, mut high) = (-1e6, 1e6);
    // Until the bounds are neighbouring floating-point numbers.
    for _ in 0..128 {
        let middle = f64::midpoint(low, high);
        if function(middle) < p {
            low = middle;
        } else {
            high = middle;
        }
    }
    f64::midpoint(low, high)
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
    let factor = libm::lgamma(a + b) - libm::lgamma(a) - libm::lgamma(b) + a * x.ln() + b * (-x).ln_1p();
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
    factor.exp() * fraction / a
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
        for (p, freedom, t) in [
            (0.975, 1.0, 12.706_204_736),
            (0.975, 4.0, 2.776_445_105),
            (0.975, 8.0, 2.306_004_135),
            (0.995, 8.0, 3.355_387_331),
            (0.025, 30.0, -2.042_272_456),
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
