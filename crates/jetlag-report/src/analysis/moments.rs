//! Mean and variance of numbers as they come (B. P. Welford, *Technometrics* 4, 1962).

/// How many numbers there were, their mean and their variance.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Moments {
    count: f64,
    mean: f64,
    squares: f64,
}

impl Moments {
    /// Adds a number.
    pub(super) fn add(&mut self, value: f64) {
        self.count += 1.0;
        let off = value - self.mean;
        self.mean += off / self.count;
        self.squares += off * (value - self.mean);
    }

    /// How many there were.
    pub(super) fn count(&self) -> f64 {
        self.count
    }

    /// Their mean; 0 of none.
    pub(super) fn mean(&self) -> f64 {
        self.mean
    }

    /// Their variance, with the divisor n − 1.
    pub(super) fn variance(&self) -> f64 {
        self.squares / (self.count - 1.0).max(1.0)
    }
}
