//! Blocks of consecutive values, as long as the values repeat themselves: the sums of blocks are then nearly independent, and
//! their scatter gives the variance of a sum over all values.

use super::autocorrelation::summed;
use super::linear::dot;

/// Blocks that an interval needs.
pub const LEAST_BLOCKS: usize = 10;

/// Values per block: two autocorrelation times of what they add to an estimate, and at least the cube root of their number.
pub fn block_length(adds: &[f64]) -> usize {
    let correlated = (2.0 * repeats(adds)).ceil() as usize;
    correlated.max((adds.len() as f64).cbrt().ceil() as usize)
}

/// The autocorrelation time of values around zero, at least 1, by Geyer's initial monotone sequence.
pub fn repeats(adds: &[f64]) -> f64 {
    let n = adds.len();
    let squares = dot(adds, adds);
    let correlation = |lag: usize| dot(&adds[..n - lag], &adds[lag..]) / squares;
    match squares > 0.0 {
        true => summed(n / LEAST_BLOCKS + 1, correlation).0,
        false => 1.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_is_two_correlation_times_long_and_at_least_the_cube_root_of_the_frames() {
        // Of a constant the correlation at lag k is (n − k) / n: for 210 frames, lags up to 19 count,
        // and the time is −1 + 2 Σ (419 − 2 k) / 210 over k = 0, 2, …, 18, which is 37.19.
        assert_eq!(block_length(&[1.0; 210]), 75);
        let alternating: Vec<f64> = (0..210).map(|i| if i % 2 == 0 { 1.0 } else { -1.0 }).collect();
        assert_eq!(block_length(&alternating), 6);
        assert_eq!(block_length(&[0.0; 200]), 6, "nothing added");
    }
}
