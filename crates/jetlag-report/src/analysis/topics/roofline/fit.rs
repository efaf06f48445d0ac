//! Least squares of three columns to ones.

use jetlag_stats::least_squares::fit;

/// A solution, or the part of it that was asked for.
#[derive(Clone, Debug)]
pub(super) struct Solution {
    /// The coefficients; 0 of columns that were not used.
    pub(super) values: [f64; 3],
    /// Their standard errors.
    pub(super) errors: [f64; 3],
    /// What each row is off by.
    pub(super) residuals: Vec<f64>,
    /// The sum of their squares.
    pub(super) squares: f64,
    /// How many columns were used.
    pub(super) used: usize,
}

/// Two columns whose angle is less than this, in the square of its sine, are one.
const PROPORTIONAL: f64 = 1e-6;

/// Coefficients with which the used columns come closest to 1 in every row; none where the columns depend on each other.
pub(super) fn solve(rows: &[[f64; 3]], used: [bool; 3]) -> Option<Solution> {
    let chosen = || (0..3).filter(|&at| used[at]);
    let columns: Vec<Vec<f64>> = chosen()
        .map(|at| rows.iter().map(|row| row[at]).collect())
        .collect();
    let found = fit(&columns, &vec![1.0; rows.len()], PROPORTIONAL)?;
    let (mut values, mut errors) = ([0.0; 3], [0.0; 3]);
    for (at, (value, error)) in chosen().zip(found.values.into_iter().zip(found.errors)) {
        (values[at], errors[at]) = (value, error);
    }
    Some(Solution {
        values,
        errors,
        residuals: found.residuals,
        squares: found.squares,
        used: columns.len(),
    })
}
