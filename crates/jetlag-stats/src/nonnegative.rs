//! Non-negative least squares for a handful of columns: Lawson and Hanson's active sets, on the normal equations.

use super::cholesky::Cholesky;

/// What must be left of a column after the others are taken out of it, in the square of its length.
const REPLACEABLE: f64 = 1e-9;

/// Coefficients ≥ 0 that minimise |A x − b|² for the rows of `a` (each of the same length) and `b`. Columns of zeros get 0.
///
/// Columns are scaled to unit length before, so units do not matter. Columns that others can replace (within 1e-9) get 0.
pub fn nnls(rows: &[Vec<f64>], b: &[f64]) -> Vec<f64> {
    let columns = rows.first().map_or(0, Vec::len);
    let mut gram = vec![vec![0.0; columns]; columns];
    let mut right = vec![0.0; columns];
    for (row, b) in rows.iter().zip(b) {
        for (i, x) in row.iter().enumerate() {
            right[i] += x * b;
            for (j, y) in row.iter().enumerate().take(i + 1) {
                gram[i][j] += x * y;
            }
        }
    }
    let length: Vec<f64> = (0..columns).map(|i| gram[i][i].sqrt()).collect();
    for i in 0..columns {
        for j in 0..=i {
            let scale = length[i] * length[j];
            let value = if scale > 0.0 { gram[i][j] / scale } else { 0.0 };
            gram[i][j] = value;
            gram[j][i] = value;
        }
        right[i] = if length[i] > 0.0 {
            right[i] / length[i]
        } else {
            0.0
        };
    }
    let scaled = active_sets(&gram, &right);
    let back = |(x, length): (f64, &f64)| if *length > 0.0 { x / length } else { 0.0 };
    scaled.into_iter().zip(&length).map(back).collect()
}

fn active_sets(gram: &[Vec<f64>], right: &[f64]) -> Vec<f64> {
    let columns = right.len();
    let norm = right.iter().fold(0.0_f64, |most, x| most.max(x.abs()));
    let (mut x, mut free, mut banned) = (vec![0.0; columns], vec![false; columns], vec![false; columns]);
    // Each round frees one column; more rounds than this mean that rounding makes it turn in circles.
    for _ in 0..10 * columns + 10 {
        let gradient = |i: usize| right[i] - gram[i].iter().zip(&x).map(|(g, x)| g * x).sum::<f64>();
        let best = (0..columns)
            .filter(|i| !free[*i] && !banned[*i])
            .map(|i| (i, gradient(i)))
            .filter(|(_, gain)| *gain > 1e-10 * norm)
            .fold(None, |best: Option<(usize, f64)>, (i, gain)| match best {
                Some((_, most)) if most >= gain => best,
                _ => Some((i, gain)),
            });
        let Some((entering, _)) = best else { break };
        free[entering] = true;
        loop {
            let Some(tried) = solve(gram, right, &free) else {
                free[entering] = false;
                banned[entering] = true;
                break;
            };
            if (0..columns).all(|i| !free[i] || tried[i] > 0.0) {
                x = tried;
                banned.fill(false);
                break;
            }
            let step = (0..columns)
                .filter(|i| free[*i] && tried[*i] <= 0.0)
                .map(|i| {
                    let moved = x[i] - tried[i];
                    if moved > 0.0 { x[i] / moved } else { 0.0 }
                })
                .fold(1.0_f64, f64::min);
            for i in 0..columns {
                if free[i] {
                    x[i] += step * (tried[i] - x[i]);
                    if x[i] <= 1e-14 || (tried[i] <= 0.0 && x[i] <= 1e-12) {
                        x[i] = 0.0;
                        free[i] = false;
                    }
                }
            }
            if !free.contains(&true) {
                banned[entering] = true;
                break;
            }
        }
    }
    x
}

/// Solves for the free columns; None where they are not independent.
fn solve(gram: &[Vec<f64>], right: &[f64], free: &[bool]) -> Option<Vec<f64>> {
    let chosen: Vec<usize> = (0..right.len()).filter(|i| free[*i]).collect();
    let of_chosen: Vec<Vec<f64>> = chosen
        .iter()
        .map(|&i| chosen.iter().map(|&j| gram[i][j]).collect())
        .collect();
    let wanted: Vec<f64> = chosen.iter().map(|&i| right[i]).collect();
    let solved = Cholesky::of(&of_chosen, REPLACEABLE)?.solve(&wanted);
    let mut x = vec![0.0; right.len()];
    for (i, value) in chosen.into_iter().zip(solved) {
        x[i] = value;
    }
    Some(x)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_negative_coefficient_becomes_zero() {
        let rows = vec![vec![1.0, 0.0], vec![0.0, 1.0], vec![1.0, 1.0]];
        let x = nnls(&rows, &[2.0, -1.0, 2.0]);
        assert!((x[0] - 2.0).abs() < 1e-12 && x[1] == 0.0, "{x:?}");
    }

    #[test]
    fn units_and_empty_columns_do_not_matter() {
        let rows: Vec<Vec<f64>> = (1..9).map(|i| vec![1e9 * f64::from(i), 0.0, 1e-9]).collect();
        let b: Vec<f64> = (1..9).map(|i| 3.0 * f64::from(i) + 5.0).collect();
        let x = nnls(&rows, &b);
        assert!(
            (x[0] - 3e-9).abs() < 1e-15 && x[1] == 0.0 && (x[2] - 5e9).abs() < 1.0,
            "{x:?}"
        );
        assert_eq!(nnls(&[], &[]), Vec::<f64>::new());
    }

    proptest! {
        /// Karush, Kuhn and Tucker: no free coefficient has a gradient, no other one wants to grow.
        #[test]
        fn nothing_better_is_near(rows in prop::collection::vec(prop::collection::vec(0.0..1.0f64, 4), 8..20), slope in prop::collection::vec(-2.0..2.0f64, 4)) {
            let b: Vec<f64> = rows.iter().enumerate().map(|(i, row)| row.iter().zip(&slope).map(|(x, s)| x * s).sum::<f64>() + (i % 3) as f64 * 0.1).collect();
            let x = nnls(&rows, &b);
            for i in 0..4 {
                let gradient: f64 = rows.iter().zip(&b).map(|(row, b)| {
                    let rest = b - row.iter().zip(&x).map(|(a, x)| a * x).sum::<f64>();
                    row[i] * rest
                }).sum();
                prop_assert!(x[i] >= 0.0);
                prop_assert!(gradient < 1e-5, "column {i}: {gradient}, {x:?}");
                prop_assert!(x[i] == 0.0 || gradient.abs() < 1e-5, "column {i}: {gradient}, {x:?}");
            }
        }
    }
}
