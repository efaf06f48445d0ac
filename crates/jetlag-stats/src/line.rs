//! The straight line of least squares through values at equal distances.

/// A line, and what is left beside it.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    /// The mean of the values, which the line has in its middle.
    pub mean: f64,
    /// From its start to its end.
    pub rise: f64,
    /// How far each value lies above it.
    pub residuals: Vec<f64>,
    /// The sum of their squares.
    pub cost: f64,
}

impl Line {
    /// Through values in order; not a number of fewer than two.
    pub fn through(values: &[f64]) -> Line {
        let n = values.len() as f64;
        let (middle, mean) = ((n - 1.0) / 2.0, values.iter().sum::<f64>() / n);
        let along = |place: usize| place as f64 - middle;
        let squares: f64 = (0..values.len()).map(|place| along(place).powi(2)).sum();
        let products = values
            .iter()
            .enumerate()
            .map(|(place, value)| along(place) * (value - mean));
        let slope = products.sum::<f64>() / squares;
        let residuals: Vec<f64> = values
            .iter()
            .enumerate()
            .map(|(place, value)| value - mean - slope * along(place))
            .collect();
        Line {
            mean,
            cost: residuals.iter().map(|residual| residual * residual).sum(),
            residuals,
            rise: slope * (n - 1.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_that_of_least_squares() {
        // numpy.polyfit(range(5), values, 1): slope 1.3, residuals as below.
        let line = Line::through(&[1.0, 2.0, 4.0, 3.0, 7.0]);
        assert!((line.rise - 5.2).abs() < 1e-12, "{}", line.rise);
        assert!((line.cost - 4.3).abs() < 1e-12, "{}", line.cost);
        for (found, expected) in line.residuals.iter().zip([0.2, -0.1, 0.6, -1.7, 1.0]) {
            assert!((found - expected).abs() < 1e-12, "{:?}", line.residuals);
        }
    }
}
