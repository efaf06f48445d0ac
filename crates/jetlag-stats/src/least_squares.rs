//! Linear least squares for a handful of columns, by the normal equations of columns that are scaled to length 1: units do not
//! matter, and what the columns have in common is seen in their angles.

use super::cholesky::Cholesky;
use super::linear::dot;

/// A fit, its columns in the order in which they were given.
#[derive(Clone, Debug, PartialEq)]
pub struct Fit {
    /// The coefficients.
    pub values: Vec<f64>,
    /// Their standard errors.
    pub errors: Vec<f64>,
    /// What is fitted to each row, less what it should be.
    pub residuals: Vec<f64>,
    /// The sum of their squares.
    pub squares: f64,
}

/// The coefficients with which `columns` come closest to `wanted`, all as long as each other. None where a column is nothing or not
/// a number, or where a column is the others' but for `least` of it, in the square of the sine of their angle.
pub fn fit(columns: &[Vec<f64>], wanted: &[f64], least: f64) -> Option<Fit> {
    let lengths: Vec<f64> = columns.iter().map(|column| dot(column, column).sqrt()).collect();
    if lengths.iter().any(|length| *length <= 0.0 || !length.is_finite()) {
        return None;
    }
    let scaled: Vec<Vec<f64>> = columns
        .iter()
        .zip(&lengths)
        .map(|(column, length)| column.iter().map(|value| value / length).collect())
        .collect();
    let products: Vec<Vec<f64>> = scaled
        .iter()
        .map(|a| scaled.iter().map(|b| dot(a, b)).collect())
        .collect();
    let right: Vec<f64> = scaled.iter().map(|column| dot(column, wanted)).collect();
    let factor = Cholesky::of(&products, least)?;
    let values: Vec<f64> = factor
        .solve(&right)
        .into_iter()
        .zip(&lengths)
        .map(|(value, length)| value / length)
        .collect();
    let fitted = |row: usize| {
        columns
            .iter()
            .zip(&values)
            .map(move |(column, value)| column[row] * value)
    };
    let residuals: Vec<f64> = wanted
        .iter()
        .enumerate()
        .map(|(row, wanted)| fitted(row).sum::<f64>() - wanted)
        .collect();
    let squares = dot(&residuals, &residuals);
    let spread = squares / wanted.len().saturating_sub(columns.len()).max(1) as f64;
    let errors = factor.inverse_diagonal().into_iter().zip(&lengths);
    Some(Fit {
        errors: errors
            .map(|(inverse, length)| (inverse * spread).max(0.0).sqrt() / length)
            .collect(),
        values,
        residuals,
        squares,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_its_published_coefficients_and_errors() {
        // numpy.polyfit(range(5), values, 1): slope 1.3, residuals 0.2, −0.1, 0.6, −1.7, 1.0 of the values; the error of the slope is
        // √(4.3 ÷ 3 ÷ 10), that of the start √(4.3 ÷ 3 × 30 ÷ 50).
        let columns = [vec![1.0; 5], vec![0.0, 1.0, 2.0, 3.0, 4.0]];
        let found = fit(&columns, &[1.0, 2.0, 4.0, 3.0, 7.0], 1e-6).unwrap();
        for (found, wanted) in [
            (found.values[0], 0.8),
            (found.values[1], 1.3),
            (found.errors[0], (4.3f64 / 3.0 * 0.6).sqrt()),
            (found.errors[1], (4.3f64 / 30.0).sqrt()),
            (found.residuals[3], 1.7),
            (found.squares, 4.3),
        ] {
            assert!((found - wanted).abs() < 1e-12, "{found} for {wanted}");
        }
    }

    #[test]
    fn units_do_not_matter_and_what_is_proportional_is_refused() {
        let columns = |scale: f64| [vec![1.0 * scale, 2.0 * scale, 4.0 * scale], vec![1.0, 1.0, 0.5]];
        let wanted = [3.0, 4.0, 5.5];
        let (one, other) = (
            fit(&columns(1.0), &wanted, 1e-6),
            fit(&columns(1e12), &wanted, 1e-6),
        );
        let (one, other) = (one.unwrap(), other.unwrap());
        assert!((other.values[0] * 1e12 / one.values[0] - 1.0).abs() < 1e-9);
        assert!((other.values[1] / one.values[1] - 1.0).abs() < 1e-9);
        let twice = [vec![1.0, 2.0, 4.0], vec![2.0, 4.0, 8.000_1]];
        assert_eq!(fit(&twice, &wanted, 1e-6), None);
        assert_eq!(fit(&[vec![0.0; 3]], &wanted, 1e-6), None);
        assert_eq!(fit(&[vec![f64::NAN; 3]], &wanted, 1e-6), None);
    }
}
