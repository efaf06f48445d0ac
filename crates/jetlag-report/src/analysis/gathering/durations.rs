//! Durations one after the other, in half the memory as long as each is below 4.3 s, which 32 bits hold.

/// Any number of durations in nanoseconds.
#[derive(Clone, Debug)]
pub(in crate::analysis) enum Durations {
    Short(Vec<u32>),
    /// With one among them that 32 bits do not hold.
    Long(Vec<i64>),
}

impl Default for Durations {
    fn default() -> Self {
        Durations::Short(Vec::new())
    }
}

impl Durations {
    /// With room for so many short ones.
    pub(in crate::analysis) fn with_capacity(capacity: usize) -> Self {
        Durations::Short(Vec::with_capacity(capacity))
    }

    #[inline]
    pub(in crate::analysis) fn push(&mut self, ns: i64) {
        match (&mut *self, u32::try_from(ns)) {
            (Durations::Short(short), Ok(ns)) => short.push(ns),
            (Durations::Long(long), _) => long.push(ns),
            (Durations::Short(_), Err(_)) => self.push_long(ns),
        }
    }

    /// The first that 32 bits do not hold.
    #[cold]
    fn push_long(&mut self, ns: i64) {
        let mut long: Vec<i64> = self.iter().collect();
        long.push(ns);
        *self = Durations::Long(long);
    }

    pub(in crate::analysis) fn len(&self) -> usize {
        match self {
            Durations::Short(short) => short.len(),
            Durations::Long(long) => long.len(),
        }
    }

    /// The duration at a place below [`Durations::len`].
    pub(in crate::analysis) fn at(&self, place: usize) -> i64 {
        match self {
            Durations::Short(short) => i64::from(short[place]),
            Durations::Long(long) => long[place],
        }
    }

    pub(in crate::analysis) fn iter(&self) -> impl Iterator<Item = i64> {
        let (short, long) = match self {
            Durations::Short(short) => (short.as_slice(), &[][..]),
            Durations::Long(long) => (&[][..], long.as_slice()),
        };
        short.iter().map(|&ns| i64::from(ns)).chain(long.iter().copied())
    }

    pub(in crate::analysis) fn sort(&mut self) {
        match self {
            Durations::Short(short) => short.sort_unstable(),
            Durations::Long(long) => long.sort_unstable(),
        }
    }

    /// How many are at most `bound`, once they are sorted.
    pub(in crate::analysis) fn up_to(&self, bound: i64) -> usize {
        match self {
            Durations::Short(short) => short.partition_point(|&ns| i64::from(ns) <= bound),
            Durations::Long(long) => long.partition_point(|&ns| ns <= bound),
        }
    }

    /// The smallest and the largest; none of none.
    pub(in crate::analysis) fn extremes(&self) -> Option<(i64, i64)> {
        match self {
            Durations::Short(short) => {
                Some((i64::from(*short.iter().min()?), i64::from(*short.iter().max()?)))
            }
            Durations::Long(long) => Some((*long.iter().min()?, *long.iter().max()?)),
        }
    }

    /// Sum, and sum of squares. Stamps of a damaged file may be absurd: sums saturate rather than wrap.
    pub(in crate::analysis) fn sums(&self) -> (i128, i128) {
        match self {
            Durations::Short(short) => sums_of_short(short),
            Durations::Long(long) => long.iter().fold((0, 0), |(sum, squares): (i128, i128), &ns| {
                let wide = i128::from(ns);
                (sum.saturating_add(wide), squares.saturating_add(wide * wide))
            }),
        }
    }
}

/// In a third of the time that 128 bits take: 64 bits hold each square, and the sum of the lower and that of the upper halves of four
/// billion of them.
fn sums_of_short(durations: &[u32]) -> (i128, i128) {
    let (mut sum, mut low, mut high) = (0u64, 0u64, 0u64);
    for &ns in durations {
        let ns = u64::from(ns);
        let square = ns * ns;
        sum += ns;
        low += square & u64::from(u32::MAX);
        high += square >> 32;
    }
    (sum.into(), (i128::from(high) << 32) + i128::from(low))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn durations(values: &[i64]) -> Durations {
        let mut durations = Durations::default();
        values.iter().for_each(|&ns| durations.push(ns));
        durations
    }

    proptest! {
        #[test]
        fn short_ones_say_what_long_ones_say(mut values in prop::collection::vec(0..=i64::from(u32::MAX), 1..100), bound: i64) {
            let (mut short, mut long) = (durations(&values), Durations::Long(values.clone()));
            prop_assert!(matches!(short, Durations::Short(_)));
            prop_assert_eq!((short.sums(), short.extremes()), (long.sums(), long.extremes()));
            values.sort_unstable();
            short.sort();
            long.sort();
            for sorted in [&short, &long] {
                prop_assert_eq!(sorted.iter().collect::<Vec<_>>(), values.clone());
                prop_assert_eq!(sorted.at(values.len() - 1), values[values.len() - 1]);
                prop_assert_eq!(sorted.up_to(bound), values.partition_point(|&ns| ns <= bound));
            }
        }

        #[test]
        fn any_come_back_as_they_were(values in prop::collection::vec(any::<i64>(), 0..20)) {
            let kept = durations(&values);
            prop_assert_eq!(kept.len(), values.len());
            prop_assert_eq!(kept.iter().collect::<Vec<_>>(), values);
        }
    }

    #[test]
    fn one_that_is_negative_or_long_changes_none_before_it() {
        for odd in [-1, i64::from(u32::MAX) + 1] {
            let kept = durations(&[7, odd, 9]);
            assert!(matches!(kept, Durations::Long(_)));
            assert_eq!(kept.iter().collect::<Vec<_>>(), [7, odd, 9]);
        }
        assert_eq!(durations(&[]).extremes(), None);
    }
}
