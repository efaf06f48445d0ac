//! Drawing anew from what was measured: blocks of neighbours around a circle, or units that belong together.
//!
//! How a figure differs over such draws tells how much it depends on which values were measured (Efron and Tibshirani, 1993).

use rand_distr::{Distribution as _, Uniform};
use rand_pcg::Pcg64;
use rand_pcg::rand_core::SeedableRng;

use super::quantile::{interpolated, nearest};
use super::random::SplitMix64;

/// The length of blocks of so many values, at which the error of a block bootstrap falls fastest: their cube root (Hall, Horowitz and
/// Jing, 1995).
pub fn block_length(count: usize) -> usize {
    (count as f64).cbrt().ceil() as usize
}

/// Draws of a circular block bootstrap (D. N. Politis and J. P. Romano, 1992): neighbours resemble each other, and stay together.
#[derive(Clone, Debug)]
pub struct CircularBlocks(Pcg64);

impl CircularBlocks {
    /// The draws of a seed.
    pub fn new(seed: u64) -> Self {
        CircularBlocks(Pcg64::seed_from_u64(seed))
    }

    /// As many places as there are.
    pub fn draw(&mut self, count: usize) -> Vec<usize> {
        let block = block_length(count);
        let mut chosen = Vec::with_capacity(count + block);
        let Ok(begin) = Uniform::new(0, count) else {
            return chosen;
        };
        while chosen.len() < count {
            let from = begin.sample(&mut self.0);
            chosen.extend((from..from + block).map(|at| at % count));
        }
        chosen.truncate(count);
        chosen
    }
}

/// Draws as many units as there are, with replacement, and says how often each was drawn.
pub fn times_drawn(count: u32, random: &mut SplitMix64, times: &mut Vec<u32>) {
    times.clear();
    times.resize(count as usize, 0);
    for _ in 0..count {
        if let Some(times) = times.get_mut(random.below(count) as usize) {
            *times += 1;
        }
    }
}

/// The interval of percentiles that holds this share of draws, between neighbouring draws; none of no draws. Sorts them.
pub fn percentiles(draws: &mut [f64], level: f64) -> Option<[f64; 2]> {
    draws.sort_by(f64::total_cmp);
    let outside = (1.0 - level) / 2.0;
    Some([interpolated(draws, outside)?, interpolated(draws, 1.0 - outside)?])
}

/// The same of ends that are draws.
pub fn nearest_percentiles(draws: &mut [f64], level: f64) -> Option<[f64; 2]> {
    draws.sort_by(f64::total_cmp);
    let outside = (1.0 - level) / 2.0;
    Some([nearest(draws, outside)?, nearest(draws, 1.0 - outside)?])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_neighbours_around_a_circle() {
        let mut blocks = CircularBlocks::new(5);
        let drawn = blocks.draw(1_000);
        assert_eq!(drawn.len(), 1_000);
        for block in drawn.chunks(10) {
            assert!(
                block.windows(2).all(|pair| pair[1] == (pair[0] + 1) % 1_000),
                "{block:?}"
            );
        }
        assert_eq!((blocks.draw(0), blocks.draw(1)), (vec![], vec![0]));
    }

    #[test]
    fn as_many_units_are_drawn_as_there_are() {
        let (mut random, mut times) = (SplitMix64::new(1), vec![9; 3]);
        times_drawn(40, &mut random, &mut times);
        assert_eq!((times.len(), times.iter().sum::<u32>()), (40, 40));
        assert!(times.contains(&0) && times.iter().any(|&times| times > 1));
    }

    #[test]
    fn percentiles_leave_as_much_on_either_side() {
        let mut draws: Vec<f64> = (0..=100).rev().map(f64::from).collect();
        assert_eq!(nearest_percentiles(&mut draws, 0.9), Some([5.0, 95.0]));
        let [low, high] = percentiles(&mut draws, 0.95).unwrap();
        assert!((low - 2.5).abs() < 1e-9 && (high - 97.5).abs() < 1e-9);
        assert_eq!(
            (percentiles(&mut [], 0.9), nearest_percentiles(&mut [], 0.9)),
            (None, None)
        );
    }

    #[test]
    fn the_scatter_of_a_mean_is_that_of_its_blocks() {
        // Values that hold for ten in a row: the mean of a thousand scatters like that of a hundred.
        let values: Vec<f64> = (0..1_000u64)
            .map(|place| SplitMix64::new(place / 10).unit())
            .collect();
        let mut blocks = CircularBlocks::new(1);
        let mut means: Vec<f64> = (0..1_000)
            .map(|_| blocks.draw(1_000).iter().map(|&at| values[at]).sum::<f64>() / 1e3)
            .collect();
        let [low, high] = percentiles(&mut means, 0.95).unwrap();
        // 2 × 1.96 ÷ √12 ÷ 10 = 0.113, of which blocks as long as the stretches show about two thirds of the variance.
        assert!((0.08..0.13).contains(&(high - low)), "{low} {high}");
    }
}
