//! Resampling of frames that repeat each other: stretches of consecutive frames are drawn, not frames.
//!
//! Circular block bootstrap (D. N. Politis and J. P. Romano, "A circular block-resampling procedure for stationary
//! data", 1992). A block is as long as two correlation times, and at least the cube root of the series. Equal seeds
//! give equal draws.

use rand_pcg::Pcg64;
use rand_pcg::rand_core::{Rng, SeedableRng};

use crate::analysis::autocorrelation::inflation;

/// Frames that are drawn in all, at most: a second's work.
const MOST_DRAWN: usize = 20_000_000;
/// Resamples at most and at least.
const RESAMPLES: (usize, usize) = (1000, 200);

/// Frames in a block of a series in order of time.
fn block_length(in_order: &[i64]) -> usize {
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

/// How often series of so many frames together are resampled.
pub(super) fn resamples(frames: usize) -> usize {
    (MOST_DRAWN / frames.max(1)).clamp(RESAMPLES.1, RESAMPLES.0)
}

/// Draws series like the one in order of time, of the same length.
pub(super) struct Resampler<'a> {
    in_order: &'a [i64],
    block: usize,
    random: Pcg64,
    drawn: Vec<i64>,
}

impl<'a> Resampler<'a> {
    /// Of a series that is not empty.
    pub(super) fn new(in_order: &'a [i64], seed: u64) -> Self {
        Resampler {
            in_order,
            block: block_length(in_order).max(1),
            random: Pcg64::seed_from_u64(seed),
            drawn: Vec::with_capacity(in_order.len()),
        }
    }

    /// The next draw; its order means nothing, so that whoever gets it may change it.
    pub(super) fn draw(&mut self) -> &mut [i64] {
        let n = self.in_order.len();
        self.drawn.clear();
        while self.drawn.len() < n {
            let start = (self.random.next_u64() % n.max(1) as u64) as usize;
            let wanted = self.block.min(n - self.drawn.len());
            let straight = wanted.min(n - start);
            self.drawn
                .extend_from_slice(&self.in_order[start..start + straight]);
            self.drawn.extend_from_slice(&self.in_order[..wanted - straight]);
        }
        &mut self.drawn
    }
}

/// The middle 95 % of what was drawn; `None` of nothing.
pub(super) fn middle_95(mut values: Vec<f64>) -> Option<[f64; 2]> {
    values.sort_unstable_by(f64::total_cmp);
    let at = |share: f64| {
        let rank = (values.len() as f64 * share).ceil() as usize;
        values.get(rank.clamp(1, values.len().max(1)) - 1).copied()
    };
    Some([at(0.025)?, at(0.975)?])
}
