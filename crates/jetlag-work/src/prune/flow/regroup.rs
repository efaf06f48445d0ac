//! Where channels are after a Reshape, which is pure arithmetic on dimensions.

use std::collections::HashMap;

use crate::prune::channels::Id;
use crate::value::product;

/// The channels after a Reshape.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Regrouped {
    pub(super) axis: usize,
    pub(super) ids: Vec<Id>,
    /// Channels that have to go together, so that what is left has a shape at all.
    pub(super) ties: Vec<(Id, Id)>,
}

/// Channels along `axis` of a tensor of dimensions `from`, which become `to`. None where they cannot be told apart any more, or where
/// `is_affordable` refuses to follow so many elements.
pub(super) fn regroup(
    from: &[u64],
    axis: usize,
    ids: &[Id],
    to: &[u64],
    is_affordable: impl FnOnce(u64) -> bool,
) -> Option<Regrouped> {
    if from.contains(&0) || to.contains(&0) {
        return None;
    }
    let (inner, outer) = block(from, axis, to)?;
    let before = product(from.get(inner.0..axis)?)?;
    let after = product(from.get(axis + 1..inner.1)?)?;
    let length = before.checked_mul(after)?.checked_mul(ids.len() as u64)?;
    if !is_affordable(length) {
        return None;
    }
    // The channel of each element of the block.
    let repeat = after as usize;
    let mut each: Vec<Id> = Vec::new();
    for _ in 0..before {
        each.extend(ids.iter().flat_map(|id| std::iter::repeat_n(*id, repeat)));
    }
    let sizes = to.get(outer.0..outer.1)?;
    // Along which of the new axes most channels are left that may go by themselves.
    let mut best: Option<(usize, Regrouped)> = None;
    for (at, size) in sizes.iter().enumerate() {
        // An axis of 1 holds channels only where there is one.
        if *size == 1 && length > 1 {
            continue;
        }
        let Some(after) = sizes.get(at + 1..).and_then(product) else {
            continue;
        };
        let (along, ties) = along(&each, *size as usize, after as usize);
        let classes = classes(&along, &ties);
        if best.as_ref().is_none_or(|(most, _)| classes > *most) {
            let found = Regrouped {
                axis: outer.0 + at,
                ids: along,
                ties,
            };
            best = Some((classes, found));
        }
    }
    best.map(|(_, found)| found)
}

/// The smallest runs of dimensions, one with the axis in it, that hold the same elements.
fn block(from: &[u64], axis: usize, to: &[u64]) -> Option<((usize, usize), (usize, usize))> {
    let (mut left, mut right) = (0, 0);
    while left < from.len() && right < to.len() {
        let begin = (left, right);
        let (mut one, mut other) = (*from.get(left)?, *to.get(right)?);
        left += 1;
        right += 1;
        while one != other {
            match one < other {
                true => {
                    one = one.checked_mul(*from.get(left)?)?;
                    left += 1;
                }
                false => {
                    other = other.checked_mul(*to.get(right)?)?;
                    right += 1;
                }
            }
        }
        if axis < left {
            return Some(((begin.0, left), (begin.1, right)));
        }
    }
    None
}

/// The channels along an axis of this size, with so many elements behind each; and what that ties.
fn along(each: &[Id], size: usize, after: usize) -> (Vec<Id>, Vec<(Id, Id)>) {
    let mut firsts: Vec<Option<Id>> = vec![None; size];
    let mut ties = Vec::new();
    for (at, id) in each.iter().enumerate() {
        let Some(first) = firsts.get_mut(at / after.max(1) % size.max(1)) else {
            continue;
        };
        match first {
            None => *first = Some(*id),
            Some(first) if first != id && ties.last() != Some(&(*first, *id)) => ties.push((*first, *id)),
            Some(_) => {}
        }
    }
    (firsts.into_iter().flatten().collect(), ties)
}

/// How many channels are left that go by themselves.
fn classes(ids: &[Id], ties: &[(Id, Id)]) -> usize {
    let mut parents: HashMap<Id, Id> = ids.iter().map(|id| (*id, *id)).collect();
    for (one, other) in ties {
        parents.entry(*one).or_insert(*one);
        parents.entry(*other).or_insert(*other);
    }
    fn root(parents: &mut HashMap<Id, Id>, id: Id) -> Id {
        let mut at = id;
        while let Some(parent) = parents.get(&at).copied()
            && parent != at
        {
            let above = parents.get(&parent).copied().unwrap_or(parent);
            parents.insert(at, above);
            at = above;
        }
        at
    }
    let mut count = parents.len();
    for (one, other) in ties {
        let (one, other) = (root(&mut parents, *one), root(&mut parents, *other));
        if one != other {
            parents.insert(one, other);
            count -= 1;
        }
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;

    fn regroup(from: &[u64], axis: usize, ids: &[Id], to: &[u64]) -> Option<Regrouped> {
        super::regroup(from, axis, ids, to, |length| length < 1 << 20)
    }

    fn ids(count: u32) -> Vec<Id> {
        (0..count).collect()
    }

    #[test]
    fn flattened_channels_are_each_as_often_as_they_have_elements() {
        let found = regroup(&[1, 3, 2, 2], 1, &ids(3), &[1, 12]).unwrap();
        assert_eq!(found.axis, 1);
        assert_eq!(found.ids, [0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2]);
        assert_eq!(found.ties, []);
    }

    #[test]
    fn a_shuffle_ties_the_same_place_of_all_groups() {
        let found = regroup(&[1, 6, 5, 5], 1, &ids(6), &[1, 2, 3, 5, 5]).unwrap();
        assert_eq!((found.axis, &*found.ids), (2, &[0, 1, 2][..]));
        assert_eq!(found.ties, [(0, 3), (1, 4), (2, 5)]);
        // And back, after a Transpose.
        let found = regroup(&[1, 3, 2, 5, 5], 1, &[0, 1, 2], &[1, 6, 5, 5]).unwrap();
        assert_eq!((found.axis, &*found.ids), (1, &[0, 0, 1, 1, 2, 2][..]));
    }

    #[test]
    fn what_lies_beside_the_channels_may_change() {
        let found = regroup(&[1, 4, 6, 6], 1, &ids(4), &[1, 4, 36]).unwrap();
        assert_eq!(
            (found.axis, &*found.ids, &*found.ties),
            (1, &[0, 1, 2, 3][..], &[][..])
        );
        let found = regroup(&[1, 36, 4], 2, &ids(4), &[1, 6, 6, 4]).unwrap();
        assert_eq!((found.axis, &*found.ids), (3, &[0, 1, 2, 3][..]));
    }

    #[test]
    fn an_axis_that_mixes_elements_of_several_channels_ties_them() {
        let found = regroup(&[1, 4, 3], 1, &ids(4), &[1, 2, 6]).unwrap();
        assert_eq!((found.axis, &*found.ids), (1, &[0, 2][..]));
        assert_eq!(found.ties, [(0, 1), (2, 3)]);
    }

    #[test]
    fn dimensions_that_hold_no_element_or_too_many_are_not_followed() {
        assert_eq!(regroup(&[0, 4], 1, &ids(4), &[4, 0]), None);
        assert_eq!(regroup(&[1, 4, 1 << 40], 1, &ids(4), &[1, 4 << 40]), None);
        assert_eq!(regroup(&[1, 4], 1, &ids(4), &[1, 5]), None);
    }
}
