//! Stretches of time: their union, what two unions have in common, and what is between them. Nanoseconds of the run's clock.
//! Stamps of a damaged file may be absurd, so lengths saturate rather than wrap.

/// A union of stretches: ascending, none touching another.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Union {
    parts: Vec<(i64, i64)>,
}

impl Union {
    /// Adds a stretch; they come in the order of their begin.
    pub(super) fn push(&mut self, from: i64, to: i64) {
        if to <= from {
            return;
        }
        match self.parts.last_mut() {
            Some(last) if from <= last.1 => last.1 = last.1.max(to),
            _ => self.parts.push((from, to)),
        }
    }

    #[cfg(test)]
    pub(super) fn parts(&self) -> &[(i64, i64)] {
        &self.parts
    }

    pub(super) fn length(&self) -> i64 {
        sum(self.parts.iter().map(|(from, to)| to.saturating_sub(*from)))
    }

    /// What lies between `from` and `to` and in none of the stretches.
    pub(super) fn gaps(&self, from: i64, to: i64) -> Union {
        let mut gaps = Union::default();
        let mut at = from;
        for &(begin, end) in &self.parts {
            gaps.push(at, begin.min(to));
            at = at.max(end);
        }
        gaps.push(at, to);
        gaps
    }

    /// What is in both.
    pub(super) fn common(&self, other: &Union) -> Union {
        let (mut common, mut a, mut b) = (Union::default(), 0, 0);
        while let (Some(&(from_a, to_a)), Some(&(from_b, to_b))) = (self.parts.get(a), other.parts.get(b)) {
            common.push(from_a.max(from_b), to_a.min(to_b));
            if to_a <= to_b {
                a += 1;
            } else {
                b += 1;
            }
        }
        common
    }

    /// How much of one stretch is in it.
    pub(super) fn within(&self, from: i64, to: i64) -> i64 {
        let first = self.parts.partition_point(|part| part.1 <= from);
        let inside = self.parts[first..].iter().take_while(|part| part.0 < to);
        let lengths = inside.map(|part| part.1.min(to).saturating_sub(part.0.max(from)));
        sum(lengths.filter(|length| *length > 0))
    }

    /// The part of it between two moments.
    pub(super) fn cut(&self, from: i64, to: i64) -> Union {
        let mut whole = Union::default();
        whole.push(from, to);
        self.common(&whole)
    }
}

impl FromIterator<(i64, i64)> for Union {
    fn from_iter<I: IntoIterator<Item = (i64, i64)>>(stretches: I) -> Self {
        let mut union = Union::default();
        stretches.into_iter().for_each(|(from, to)| union.push(from, to));
        union
    }
}

/// A sum that saturates.
pub(super) fn sum(lengths: impl Iterator<Item = i64>) -> i64 {
    lengths.fold(0, i64::saturating_add)
}

/// Time in which at least two of several unions overlap.
pub(super) fn of_at_least_two(unions: &[Union]) -> i64 {
    let parts = unions.iter().flat_map(|union| &union.parts);
    let mut edges: Vec<(i64, i32)> = parts.flat_map(|&(from, to)| [(from, 1), (to, -1)]).collect();
    edges.sort_unstable();
    let (mut open, mut since, mut total) = (0, 0, 0);
    for (at, change) in edges {
        if open >= 2 {
            total = sum([total, at.saturating_sub(since)].into_iter());
        }
        open += change;
        since = at;
    }
    total
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn union(stretches: &[(i64, i64)]) -> Union {
        stretches.iter().copied().collect()
    }

    #[test]
    fn stretches_that_touch_are_one_and_empty_ones_are_none() {
        let found = union(&[(0, 2), (2, 3), (3, 3), (5, 4), (6, 9), (7, 8)]);
        assert_eq!(found.parts(), [(0, 3), (6, 9)]);
        assert_eq!((found.length(), found.within(2, 7)), (6, 2));
        assert_eq!(found.gaps(-1, 10).parts(), [(-1, 0), (3, 6), (9, 10)]);
        assert_eq!(found.gaps(1, 8).parts(), [(3, 6)]);
    }

    #[test]
    fn the_time_of_at_least_two_counts_once_however_many_there_are() {
        let all = [union(&[(0, 10)]), union(&[(2, 4), (6, 8)]), union(&[(3, 7)])];
        assert_eq!(of_at_least_two(&all), 6);
        assert_eq!(of_at_least_two(&all[..1]), 0);
    }

    proptest! {
        #[test]
        fn a_union_and_its_gaps_are_the_whole(
            mut a in prop::collection::vec((0i64..200, 0i64..20), 0..30),
            mut b in prop::collection::vec((0i64..200, 0i64..20), 0..30),
        ) {
            a.sort_unstable();
            b.sort_unstable();
            let of = |all: &[(i64, i64)]| -> Union { all.iter().map(|&(from, took)| (from, from + took)).collect() };
            let (a, b) = (of(&a), of(&b));
            let (inside, gaps) = (a.cut(10, 150), a.gaps(10, 150));
            prop_assert_eq!(inside.length() + gaps.length(), 140);
            prop_assert_eq!(inside.common(&gaps).length(), 0);
            let common = a.common(&b);
            prop_assert_eq!(common.length(), b.common(&a).length());
            prop_assert_eq!(common.length(), b.parts().iter().map(|&(from, to)| a.within(from, to)).sum::<i64>());
            prop_assert_eq!(common.length(), of_at_least_two(&[a, b]));
        }
    }
}
