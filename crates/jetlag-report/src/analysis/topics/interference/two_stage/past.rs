//! What a frame's past foretells of it, by least squares: the frame before, and the mean of the last ones.

use jetlag_stats::linear::{centre, dot};

/// Frames whose mean stands for the recent past.
const RECENT: usize = 20;

/// For each value but the first: the previous one, and the mean of the last few before it.
pub(super) fn past(series: &[f64]) -> [Vec<f64>; 2] {
    let n = series.len().saturating_sub(1);
    let mut sum = 0.0;
    let recent = (0..n).map(|i| {
        sum += series[i];
        if i >= RECENT {
            sum -= series[i - RECENT];
        }
        sum / (i + 1).min(RECENT) as f64
    });
    let recent = recent.collect();
    [series[..n].to_vec(), recent]
}

/// The residuals of each value but the first after regression on its past.
pub(super) fn beyond(series: &[f64], by: [f64; 2]) -> Vec<f64> {
    let [before, recent] = past(series);
    let told = before
        .iter()
        .zip(&recent)
        .map(|(before, recent)| by[0] * before + by[1] * recent);
    series[1..]
        .iter()
        .zip(told)
        .map(|(value, told)| value - told)
        .collect()
}

/// The slopes of values on their past, by least squares; none if the past does not vary.
pub(super) fn foretell(values: &[f64], past: &[Vec<f64>; 2]) -> [f64; 2] {
    let [mut a, mut b] = past.clone();
    let mut y = values.to_vec();
    [&mut a, &mut b, &mut y]
        .into_iter()
        .for_each(|series| centre(series));
    let (aa, ab, bb) = (dot(&a, &a), dot(&a, &b), dot(&b, &b));
    let (ay, by) = (dot(&a, &y), dot(&b, &y));
    let determinant = aa * bb - ab * ab;
    if determinant <= 1e-9 * aa * bb {
        return [0.0, 0.0];
    }
    [
        (ay * bb - by * ab) / determinant,
        (by * aa - ay * ab) / determinant,
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slopes_on_the_past_are_found_at_any_scale_and_are_none_where_the_past_tells_one_thing_only() {
        for scale in [1e-5, 1.0, 1e7] {
            let before: Vec<f64> = [1.0, 4.0, 2.0, 8.0, 5.0, 7.0].map(|x| x * scale).to_vec();
            let recent: Vec<f64> = [3.0, 1.0, 2.0, 2.0, 6.0, 4.0].map(|x| x * scale).to_vec();
            let told = before
                .iter()
                .zip(&recent)
                .map(|(a, b)| 0.5 * a - 0.25 * b + 9.0 * scale);
            let told: Vec<f64> = told.collect();
            let [a, b] = foretell(&told, &[before.clone(), recent]);
            assert!(
                (a - 0.5).abs() < 1e-9 && (b + 0.25).abs() < 1e-9,
                "{scale}: {a}, {b}"
            );
            let twice: Vec<f64> = before.iter().map(|x| 2.0 * x).collect();
            assert_eq!(foretell(&told, &[before, twice]), [0.0, 0.0]);
        }
    }
}
