//! Which channels go at a level: of everything that is made alike the same share, in one order for all levels.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use rand_pcg::Pcg64;
use rand_pcg::rand_core::{Rng, SeedableRng};

use super::channels::{Channels, Id, Ids};

/// In which order channels go.
#[derive(Debug)]
pub(super) struct Order {
    /// Channels that the same layers make, first those that go first.
    blocks: Vec<Vec<Id>>,
}

/// The channels that go at a level.
#[derive(Debug)]
pub(super) struct Choice {
    gone: Vec<bool>,
}

impl Order {
    /// An order that follows from the seed alone.
    pub(super) fn random(channels: &Channels, seed: u64) -> Order {
        let mut draws = Pcg64::seed_from_u64(seed);
        let mut blocks = blocks(channels);
        for block in &mut blocks {
            let mut keyed: Vec<(u64, Id)> = block.iter().map(|id| (draws.next_u64(), *id)).collect();
            keyed.sort_unstable();
            *block = keyed.into_iter().map(|(_, id)| id).collect();
        }
        Order { blocks }
    }

    /// The smallest first; `sizes` are of single channels, and of those that go together they are added up.
    pub(super) fn smallest(channels: &Channels, sizes: &[f64]) -> Order {
        let mut sums = vec![0.0; sizes.len()];
        for (id, size) in sizes.iter().enumerate() {
            if let Some(sum) = sums.get_mut(channels.root(id as Id) as usize) {
                *sum += size;
            }
        }
        let sum = |id: Id| sums.get(id as usize).copied().unwrap_or(0.0);
        let mut blocks = blocks(channels);
        for block in &mut blocks {
            block.sort_by(|one, other| sum(*one).total_cmp(&sum(*other)).then(one.cmp(other)));
        }
        Order { blocks }
    }

    /// What goes at a level in percent. Of each of these lists something stays.
    pub(super) fn choose<'a>(
        &self,
        channels: &Channels,
        level: u8,
        lists: impl Iterator<Item = &'a Ids>,
    ) -> Choice {
        let mut gone = vec![false; channels.count()];
        let mut places = vec![0; channels.count()];
        for block in &self.blocks {
            let share = (block.len() * usize::from(level) + 50) / 100;
            let count = share.min(block.len().saturating_sub(1));
            for (place, id) in block.iter().enumerate() {
                if let Some(own) = places.get_mut(*id as usize) {
                    *own = place;
                }
                if let (true, Some(own)) = (place < count, gone.get_mut(*id as usize)) {
                    *own = true;
                }
            }
        }
        let is_gone = |gone: &[bool], id: Id| gone.get(channels.root(id) as usize) == Some(&true);
        for list in lists {
            if !list.iter().all(|id| is_gone(&gone, *id)) {
                continue;
            }
            // The one that would go last.
            let place = |id: &Id| places.get(channels.root(*id) as usize).copied();
            let last = list.iter().max_by_key(|id| (place(id), **id));
            if let Some(own) = last.and_then(|id| gone.get_mut(channels.root(*id) as usize)) {
                *own = false;
            }
        }
        let all = (0..channels.count()).map(|id| is_gone(&gone, id as Id));
        Choice { gone: all.collect() }
    }
}

impl Choice {
    pub(super) fn stays(&self, id: Id) -> bool {
        self.gone.get(id as usize) != Some(&true)
    }

    pub(super) fn kept(&self, ids: &[Id]) -> usize {
        ids.iter().filter(|id| self.stays(**id)).count()
    }
}

/// The channels that may go, one for each set that goes together, apart by the layers that make them and the parts that they are of.
fn blocks(channels: &Channels) -> Vec<Vec<Id>> {
    let made = channels.layers().iter().enumerate();
    let made = made.filter_map(|(id, layer)| Some((id as Id, u64::from((*layer)?))));
    let parts = channels.parts().iter();
    let parts = parts.map(|(id, part)| (*id, u64::from(u32::MAX) + 1 + u64::from(*part)));
    let mut marks: Vec<(Id, u64)> = made
        .chain(parts)
        .map(|(id, mark)| (channels.root(id), mark))
        .filter(|(root, _)| channels.pinned(*root).is_none())
        .collect();
    marks.sort_unstable();
    marks.dedup();
    let mut blocks: Vec<Vec<Id>> = Vec::new();
    let mut known: BTreeMap<u64, usize> = BTreeMap::new();
    for group in marks.chunk_by(|one, other| one.0 == other.0) {
        let mut hasher = DefaultHasher::new();
        for (_, mark) in group {
            mark.hash(&mut hasher);
        }
        let at = *known.entry(hasher.finish()).or_insert(blocks.len());
        if at == blocks.len() {
            blocks.push(Vec::new());
        }
        if let (Some(block), Some((root, _))) = (blocks.get_mut(at), group.first()) {
            block.push(*root);
        }
    }
    blocks
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gone(choice: &Choice, ids: &[Id]) -> Vec<usize> {
        (0..ids.len()).filter(|at| !choice.stays(ids[*at])).collect()
    }

    #[test]
    fn a_level_contains_all_below_it_and_the_last_channel_stays() {
        let mut channels = Channels::new();
        let ids = channels.fresh(10, Some(0)).unwrap();
        let order = Order::random(&channels, 7);
        let mut before = Vec::new();
        for level in [10, 50, 90, 99] {
            let choice = order.choose(&channels, level, std::iter::empty());
            let now = gone(&choice, &ids);
            assert!(before.iter().all(|at| now.contains(at)));
            assert_eq!(now.len(), (usize::from(level) / 10).min(9));
            before = now;
        }
        // The same on every machine, and another for another seed.
        let choice = order.choose(&channels, 50, std::iter::empty());
        assert_eq!(gone(&choice, &ids), [0, 1, 4, 6, 7]);
        let other = Order::random(&channels, 8).choose(&channels, 50, std::iter::empty());
        assert_ne!(gone(&other, &ids), gone(&choice, &ids));
    }

    #[test]
    fn norms_of_channels_that_go_together_are_added_up() {
        let mut channels = Channels::new();
        let ids = channels.fresh(6, None).unwrap();
        let (one, other) = (
            channels.fresh(3, Some(0)).unwrap(),
            channels.fresh(3, Some(1)).unwrap(),
        );
        channels.tie_all(&one, &other).unwrap();
        let mut sizes = vec![0.0; 12];
        for (id, size) in one.iter().chain(other.iter()).zip([1.0, 2.0, 3.0, 9.0, 2.0, 0.5]) {
            sizes[*id as usize] = size;
        }
        let choice = Order::smallest(&channels, &sizes).choose(&channels, 60, std::iter::empty());
        assert_eq!(
            (gone(&choice, &one), gone(&choice, &other)),
            (vec![1, 2], vec![1, 2])
        );
        // No layer makes them: they are nobody's to take.
        assert_eq!(gone(&choice, &ids), []);
    }

    #[test]
    fn of_each_list_something_stays() {
        let mut channels = Channels::new();
        let ids = channels.fresh(4, Some(0)).unwrap();
        let order = Order::smallest(&channels, &[1.0, 2.0, 3.0, 4.0]);
        let first: Ids = ids[..2].into();
        let choice = order.choose(&channels, 75, [&first].into_iter());
        assert_eq!(gone(&choice, &ids), [0, 2]);
    }
}
