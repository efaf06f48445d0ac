//! Least squares of three columns to ones.

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
    // Columns of work are 10^9 times those of time: each is brought to length 1 first.
    let mut lengths = [0.0_f64; 3];
    for (at, length) in lengths.iter_mut().enumerate() {
        *length = rows.iter().map(|row| row[at] * row[at]).sum::<f64>().sqrt();
        if *length <= 0.0 || !length.is_finite() {
            return None;
        }
    }
    let scaled = |row: &[f64; 3], at: usize| if used[at] { row[at] / lengths[at] } else { 0.0 };
    let mut normal = [[0.0_f64; 3]; 3];
    let mut right = [0.0_f64; 3];
    for row in rows {
        for (a, line) in normal.iter_mut().enumerate() {
            right[a] += scaled(row, a);
            for (b, cell) in line.iter_mut().enumerate() {
                *cell += scaled(row, a) * scaled(row, b);
            }
        }
    }
    for (at, line) in normal.iter_mut().enumerate() {
        if !used[at] {
            line[at] = 1.0;
        }
    }
    let inverse = invert(normal)?;
    let mut values = [0.0; 3];
    for (a, value) in values.iter_mut().enumerate() {
        if used[a] {
            *value = (0..3).map(|b| inverse[a][b] * right[b]).sum::<f64>() / lengths[a];
        }
    }
    let fitted = |row: &[f64; 3]| (0..3).map(|at| values[at] * row[at]).sum::<f64>();
    let residuals: Vec<f64> = rows.iter().map(|row| fitted(row) - 1.0).collect();
    let squares = residuals.iter().map(|error| error * error).sum::<f64>();
    let count = used.iter().filter(|used| **used).count();
    let spread = squares / rows.len().saturating_sub(count).max(1) as f64;
    let mut errors = [0.0; 3];
    for (at, error) in errors.iter_mut().enumerate() {
        if used[at] {
            *error = (inverse[at][at] * spread).max(0.0).sqrt() / lengths[at];
        }
    }
    Some(Solution {
        values,
        errors,
        residuals,
        squares,
        used: count,
    })
}

/// The inverse by elimination of a matrix whose diagonal is 1; none where a column is almost the others'.
fn invert(mut matrix: [[f64; 3]; 3]) -> Option<[[f64; 3]; 3]> {
    let mut inverse = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];
    for pivot in 0..3 {
        let scale = matrix[pivot][pivot];
        // What is left of a column of length 1 after the others are taken out of it.
        if scale < PROPORTIONAL {
            return None;
        }
        for column in 0..3 {
            matrix[pivot][column] /= scale;
            inverse[pivot][column] /= scale;
        }
        for row in 0..3 {
            if row != pivot {
                let factor = matrix[row][pivot];
                for column in 0..3 {
                    matrix[row][column] -= factor * matrix[pivot][column];
                    inverse[row][column] -= factor * inverse[pivot][column];
                }
            }
        }
    }
    Some(inverse)
}

/// What Student's t exceeds in 2.5 % of cases, by degrees of freedom.
pub(super) fn t_975(degrees: usize) -> f64 {
    const TABLE: [f64; 30] = [
        12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145,
        2.131, 2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048,
        2.045, 2.042,
    ];
    match degrees {
        0 => f64::INFINITY,
        degrees => TABLE
            .get(degrees - 1)
            .copied()
            .unwrap_or(1.96 + 2.5 / degrees as f64),
    }
}
