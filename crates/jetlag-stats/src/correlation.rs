//! The correlation of two series, and ranks, of which it is Spearman's.

/// Pearson's correlation of series that are as long as each other; `None` where one of them never changes.
pub fn pearson(a: &[f64], b: &[f64]) -> Option<f64> {
    let n = a.len() as f64;
    let (mean_a, mean_b) = (a.iter().sum::<f64>() / n, b.iter().sum::<f64>() / n);
    let product: f64 = a.iter().zip(b).map(|(a, b)| (a - mean_a) * (b - mean_b)).sum();
    let squares = |values: &[f64], mean: f64| values.iter().map(|value| (value - mean).powi(2)).sum::<f64>();
    let size = (squares(a, mean_a) * squares(b, mean_b)).sqrt();
    (size > 0.0).then(|| product / size)
}

/// The rank of each value, from 0, equal values sharing theirs.
pub fn ranks(values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|&a, &b| values[a].total_cmp(&values[b]));
    let mut ranks = vec![0.0; values.len()];
    let mut before = 0;
    for equal in order.chunk_by(|&a, &b| values[a] == values[b]) {
        let shared = before as f64 + (equal.len() - 1) as f64 / 2.0;
        equal.iter().for_each(|&place| ranks[place] = shared);
        before += equal.len();
    }
    ranks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_rises_together_is_one_and_what_never_changes_has_none() {
        assert!((pearson(&[1.0, 2.0, 3.0], &[10.0, 30.0, 50.0]).unwrap() - 1.0).abs() < 1e-12);
        assert!((pearson(&[1.0, 2.0, 4.0], &[0.0, -1.0, -3.0]).unwrap() + 1.0).abs() < 1e-12);
        // Deviations −1, 0, 1 and −1, 1, 0: 1 over √(2 × 2).
        assert!((pearson(&[1.0, 2.0, 3.0], &[1.0, 3.0, 2.0]).unwrap() - 0.5).abs() < 1e-12);
        assert_eq!(pearson(&[1.0, 2.0], &[5.0, 5.0]), None);
        assert_eq!(pearson(&[], &[]), None);
    }

    #[test]
    fn equal_values_share_their_ranks() {
        assert_eq!(ranks(&[5.0, 1.0, 5.0, 9.0]), [1.5, 0.0, 1.5, 3.0]);
        assert_eq!(ranks(&[]), [0.0; 0]);
    }
}
