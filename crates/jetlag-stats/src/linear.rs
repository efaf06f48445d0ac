//! Sums over series and small matrices, as regressions need them. Series are as long as each other.

/// The sum of products.
pub fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// Takes the mean off.
pub fn centre(series: &mut [f64]) {
    let mean = series.iter().sum::<f64>() / series.len().max(1) as f64;
    series.iter_mut().for_each(|value| *value -= mean);
}

/// Takes a multiple of another series off.
pub fn subtract(from: &mut [f64], series: &[f64], times: f64) {
    from.iter_mut()
        .zip(series)
        .for_each(|(value, part)| *value -= times * part);
}

/// Takes off what a series has of another; nothing where that does not vary.
pub fn project_off(series: &mut [f64], direction: &[f64]) {
    let squares = dot(direction, direction);
    if squares > 0.0 {
        let along = dot(series, direction) / squares;
        subtract(series, direction, along);
    }
}

/// Centred series, each orthogonalised against those before it; a series with nothing left is dropped.
pub fn orthogonal(all: &[Vec<f64>]) -> Vec<Vec<f64>> {
    let mut basis: Vec<Vec<f64>> = Vec::new();
    for series in all {
        let mut series = series.clone();
        centre(&mut series);
        let before = dot(&series, &series);
        // Twice, for rounding.
        for _ in 0..2 {
            basis.iter().for_each(|known| project_off(&mut series, known));
        }
        if dot(&series, &series) > 1e-9 * before {
            basis.push(series);
        }
    }
    basis
}

/// The inverse by Gauss-Jordan elimination with pivoting; `None` if the matrix is nearly singular.
pub fn inverted(matrix: &[Vec<f64>]) -> Option<Vec<Vec<f64>>> {
    /// Smallest pivot, relative to the largest value of its column.
    const LEAST: f64 = 1e-6;
    let k = matrix.len();
    let mut left = matrix.to_vec();
    let mut right: Vec<Vec<f64>> = (0..k)
        .map(|row| (0..k).map(|column| f64::from(u8::from(row == column))).collect())
        .collect();
    for column in 0..k {
        let pivot = (column..k).max_by(|&a, &b| left[a][column].abs().total_cmp(&left[b][column].abs()))?;
        let largest = matrix.iter().map(|row| row[column].abs()).fold(0.0, f64::max);
        if largest <= 0.0 || left[pivot][column].abs() < LEAST * largest {
            return None;
        }
        left.swap(column, pivot);
        right.swap(column, pivot);
        let by = left[column][column];
        for value in left[column].iter_mut().chain(right[column].iter_mut()) {
            *value /= by;
        }
        for row in (0..k).filter(|&row| row != column) {
            let factor = left[row][column];
            for other in 0..k {
                let (l, r) = (left[column][other], right[column][other]);
                left[row][other] -= factor * l;
                right[row][other] -= factor * r;
            }
        }
    }
    Some(right)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_vary_takes_nothing_off_and_is_no_part_of_a_basis() {
        let mut series = [1.0, 2.0, 4.0];
        project_off(&mut series, &[0.0; 3]);
        assert_eq!(series, [1.0, 2.0, 4.0]);
        assert!(orthogonal(&[vec![5.0; 4]]).is_empty());
        let small = vec![1e-5, -1e-5, 2e-5, -2e-5];
        let twice = small.iter().map(|x| 2.0 * x).collect();
        assert_eq!(orthogonal(&[small.clone(), twice]), [small]);
    }

    #[test]
    fn an_inverse_is_refused_where_a_row_is_all_but_made_of_the_others_at_any_scale() {
        for scale in [1e-9, 1.0, 1e9] {
            let of = |matrix: [[f64; 2]; 2]| inverted(&matrix.map(|row| row.map(|x| x * scale).to_vec()));
            assert_eq!(of([[1.0, 1.0], [1.0, 1.0 + 1e-8]]), None, "{scale}");
            let found = of([[2.0, 0.0], [0.0, 4.0]]).unwrap();
            assert!((found[0][0] * scale - 0.5).abs() < 1e-9 && (found[1][1] * scale - 0.25).abs() < 1e-9);
        }
        // A millionth of its column is enough.
        let found = inverted(&[vec![1.0, 1.0], vec![0.0, 1e-6]]).unwrap();
        assert!((found[1][1] / 1e6 - 1.0).abs() < 1e-9, "{found:?}");
    }
}
