//! Draws positions of a grid that may be far too large to be written out.

use std::collections::HashSet;

use jetlag_stats::random::Draws;

/// Draws for one position that nothing is made of; beyond this, what is left is looked for one by one, or given up.
const PATIENCE: u64 = 1_000;
/// A range that is walked from its begin to its end.
const WALKED: u128 = 2_000_000;

/// Up to `count` of the things at the positions below `size`, each at most once, in the order of their positions. `make` gives none
/// for a position that is excluded. Fewer come where fewer there are.
pub(crate) fn pick<T>(size: u128, count: u64, seed: u64, make: impl Fn(u128) -> Option<T>) -> Vec<T> {
    let mut draws = Draws::new(seed);
    if size <= WALKED {
        let mut all: Vec<(u128, T)> = (0..size)
            .filter_map(|index| Some((index, make(index)?)))
            .collect();
        draws.shuffle(&mut all);
        all.truncate(usize::try_from(count).unwrap_or(usize::MAX));
        return in_order(all);
    }
    let mut seen = HashSet::new();
    let mut all = Vec::new();
    let mut tries = count.saturating_mul(PATIENCE);
    while (all.len() as u64) < count && tries > 0 {
        tries -= 1;
        let index = draws.below(size);
        if seen.insert(index)
            && let Some(made) = make(index)
        {
            all.push((index, made));
        }
    }
    in_order(all)
}

fn in_order<T>(mut all: Vec<(u128, T)>) -> Vec<T> {
    all.sort_by_key(|(index, _)| *index);
    all.into_iter().map(|(_, made)| made).collect()
}
