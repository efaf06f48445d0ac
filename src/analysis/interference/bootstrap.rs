//! How long a stretch of consecutive frames must be to stand for itself, where frames repeat each other.

use crate::analysis::autocorrelation::inflation;

/// Frames in a block of a series in order of time: two correlation times, and at least the cube root of the series.
pub(super) fn block_length(in_order: &[i64]) -> usize {
    let n = in_order.len();
    let mut sorted = in_order.to_vec();
    let Some(middle) = n.checked_sub(1).map(|last| last / 2) else {
        return 1;
    };
    let (_, &mut median, _) = sorted.select_nth_unstable(middle);
    let correlated = 2.0 * inflation(in_order, median);
    (correlated.ceil() as usize)
        .max((n as f64).cbrt().ceil() as usize)
        .min(n)
}
