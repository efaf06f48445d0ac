//! Medians. Of an even number of values there are three: the lower of the two in the middle, which is
//! [`Quantile::P50`](super::quantile::Quantile::P50), the upper one, and their mean.

use std::cmp::Ordering;

/// The middle value, of an even number the mean of the two; reorders them.
pub fn median(values: &mut [f64]) -> Option<f64> {
    if values.is_empty() {
        return None;
    }
    let (odd, middle) = (values.len() % 2 == 1, values.len() / 2);
    let (below, &mut upper, _) = values.select_nth_unstable_by(middle, f64::total_cmp);
    if odd {
        return Some(upper);
    }
    let lower = below.iter().copied().max_by(f64::total_cmp)?;
    Some(f64::midpoint(lower, upper))
}

/// The middle value, of an even number the upper of the two; reorders them.
pub fn upper_median<T: Copy>(values: &mut [T], order: impl FnMut(&T, &T) -> Ordering) -> Option<T> {
    if values.is_empty() {
        return None;
    }
    let middle = values.len() / 2;
    Some(*values.select_nth_unstable_by(middle, order).1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians_are_of_the_middle() {
        assert_eq!(median(&mut [3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(&mut [4.0, 1.0, 2.0, 3.0]), Some(2.5));
        assert_eq!(median(&mut [7.0]), Some(7.0));
        assert_eq!(median(&mut []), None);
    }

    #[test]
    fn of_two_in_the_middle_the_upper_one_is_taken() {
        assert_eq!(upper_median(&mut [4, 1, 2, 3], Ord::cmp), Some(3));
        assert_eq!(upper_median(&mut [3, 1, 2], Ord::cmp), Some(2));
        assert_eq!(upper_median(&mut [0.5, 2.5], f64::total_cmp), Some(2.5));
        assert_eq!(upper_median(&mut [0; 0], Ord::cmp), None);
    }
}
