//! The factor of a symmetric matrix whose diagonal is 1, as the normal equations of columns of length 1 have it.

/// The lower triangle L of A = L·Lᵀ.
pub(crate) struct Cholesky(Vec<Vec<f64>>);

impl Cholesky {
    /// None where less than `least` is left of a column, in the square of its length, after the others are taken out of it.
    pub(crate) fn of(matrix: &[Vec<f64>], least: f64) -> Option<Cholesky> {
        let n = matrix.len();
        let mut lower = vec![vec![0.0; n]; n];
        for i in 0..n {
            for j in 0..=i {
                let done: f64 = (0..j).map(|k| lower[i][k] * lower[j][k]).sum();
                let rest = matrix[i][j] - done;
                if i == j {
                    if rest.is_nan() || rest <= least {
                        return None;
                    }
                    lower[i][i] = rest.sqrt();
                } else {
                    lower[i][j] = rest / lower[j][j];
                }
            }
        }
        Some(Cholesky(lower))
    }

    /// x of A·x = `right`.
    pub(crate) fn solve(&self, right: &[f64]) -> Vec<f64> {
        let (lower, n) = (&self.0, right.len());
        let mut x = vec![0.0; n];
        for i in 0..n {
            let done: f64 = (0..i).map(|k| lower[i][k] * x[k]).sum();
            x[i] = (right[i] - done) / lower[i][i];
        }
        for i in (0..n).rev() {
            let done: f64 = (i + 1..n).map(|k| lower[k][i] * x[k]).sum();
            x[i] = (x[i] - done) / lower[i][i];
        }
        x
    }

    /// The diagonal of the inverse.
    pub(crate) fn inverse_diagonal(&self) -> Vec<f64> {
        let n = self.0.len();
        let of = |i: usize| {
            let unit: Vec<f64> = (0..n).map(|j| f64::from(u8::from(i == j))).collect();
            self.solve(&unit)[i]
        };
        (0..n).map(of).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_system_is_solved_and_its_inverse_known() {
        let matrix = [vec![1.0, 0.6], vec![0.6, 1.0]];
        let factor = Cholesky::of(&matrix, 1e-9).unwrap();
        let x = factor.solve(&[1.0, 2.0]);
        assert!(
            (x[0] + 0.3125).abs() < 1e-12 && (x[1] - 2.1875).abs() < 1e-12,
            "{x:?}"
        );
        for part in factor.inverse_diagonal() {
            assert!((part - 1.5625).abs() < 1e-12);
        }
    }

    #[test]
    fn columns_that_are_almost_one_have_no_factor() {
        let nearly = 1.0 - 1e-7;
        let matrix = [vec![1.0, nearly], vec![nearly, 1.0]];
        assert!(Cholesky::of(&matrix, 1e-6).is_none());
        assert!(Cholesky::of(&matrix, 1e-9).is_some());
        assert!(Cholesky::of(&[vec![f64::NAN]], 1e-9).is_none());
    }
}
