//! Seeded choices that are the same on every machine: a number below a limit, and an order.

use rand_pcg::Pcg64;
use rand_pcg::rand_core::{Rng, SeedableRng};

/// Draws that a seed determines.
pub(crate) struct Draws(Pcg64);

impl Draws {
    pub(crate) fn new(seed: u64) -> Self {
        Draws(Pcg64::seed_from_u64(seed))
    }

    /// Uniform in 0 ≤ x < `below`, which is above zero.
    pub(crate) fn below(&mut self, below: u128) -> u128 {
        // Numbers beyond the last whole multiple would make small results likelier.
        let usable = u128::MAX - u128::MAX % below.max(1);
        loop {
            let drawn = u128::from(self.0.next_u64()) << 64 | u128::from(self.0.next_u64());
            if drawn < usable {
                return drawn % below.max(1);
            }
        }
    }

    /// Fisher and Yates' shuffle.
    pub(crate) fn shuffle<T>(&mut self, all: &mut [T]) {
        for last in (1..all.len()).rev() {
            let other = self.below(last as u128 + 1) as usize;
            all.swap(last, other);
        }
    }
}
