//! Mean and variance: of numbers as they come (B. P. Welford, *Technometrics* 4, 1962), and of a slice.

/// How many numbers there were, their mean and their variance.
#[derive(Clone, Copy, Debug, Default)]
pub struct Moments {
    count: f64,
    mean: f64,
    squares: f64,
}

impl Moments {
    /// Adds a number.
    pub fn add(&mut self, value: f64) {
        self.count += 1.0;
        let off = value - self.mean;
        self.mean += off / self.count;
        self.squares += off * (value - self.mean);
    }

    /// How many there were.
    pub fn count(&self) -> f64 {
        self.count
    }

    /// Their mean; 0 of none.
    pub fn mean(&self) -> f64 {
        self.mean
    }

    /// Their variance, with the divisor n − 1.
    pub fn variance(&self) -> f64 {
        self.squares / (self.count - 1.0).max(1.0)
    }
}

/// The mean; none of nothing.
pub fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// The mean, and the variance with the divisor n − 1; none of fewer than two values.
pub fn mean_and_variance(values: &[f64]) -> Option<(f64, f64)> {
    let mean = mean(values).filter(|_| values.len() > 1)?;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    Some((mean, squares / (values.len() - 1) as f64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_as_they_come_have_the_moments_of_their_slice() {
        let values = [1e9 + 4.0, 1e9 + 7.0, 1e9 + 13.0, 1e9 + 16.0];
        assert_eq!(mean_and_variance(&values), Some((1e9 + 10.0, 30.0)));
        let mut moments = Moments::default();
        values.iter().for_each(|&value| moments.add(value));
        assert_eq!(
            (moments.count(), moments.mean(), moments.variance()),
            (4.0, 1e9 + 10.0, 30.0)
        );
    }

    #[test]
    fn few_values_have_no_variance_and_none_no_mean() {
        assert_eq!((mean(&[]), mean(&[3.0])), (None, Some(3.0)));
        assert_eq!((mean_and_variance(&[]), mean_and_variance(&[3.0])), (None, None));
        assert_eq!(Moments::default().variance(), 0.0);
    }
}
