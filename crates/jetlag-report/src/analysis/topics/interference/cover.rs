//! The union of the times in which tenants were in service; answers how much of a span it covers.

use super::spans::Span;
use crate::units::Stamp;

/// Disjoint stretches of time in order.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Cover {
    from: Vec<Stamp>,
    to: Vec<Stamp>,
    /// Time covered before each stretch; timestamps of a damaged file may be absurd, so sums need more than 64 bits.
    before: Vec<i128>,
}

fn length(from: Stamp, to: Stamp) -> i128 {
    i128::from(to.0) - i128::from(from.0)
}

impl Cover {
    /// Of spans in order of their start, which may overlap.
    pub(super) fn of(spans: &[Span]) -> Self {
        Cover::of_stretches(spans.iter().map(|span| (span.started, span.finished)))
    }

    /// Of stretches in order of their start, which may overlap.
    pub(super) fn of_stretches(stretches: impl Iterator<Item = (Stamp, Stamp)>) -> Self {
        let mut cover = Cover::default();
        stretches.for_each(|(from, to)| cover.push(from, to));
        cover
    }

    /// Adds a stretch that starts no earlier than those before it.
    fn push(&mut self, from: Stamp, to: Stamp) {
        if to <= from {
            return;
        }
        match self.to.last_mut() {
            Some(last) if from <= *last => *last = to.max(*last),
            _ => {
                let covered = self.until(from);
                self.from.push(from);
                self.to.push(to);
                self.before.push(covered);
            }
        }
    }

    fn until(&self, at: Stamp) -> i128 {
        let place = self.from.partition_point(|&from| from < at);
        let Some(place) = place.checked_sub(1) else {
            return 0;
        };
        self.before[place] + length(self.from[place], at.min(self.to[place]))
    }

    /// How much of the time between two stamps is covered, in nanoseconds.
    pub(super) fn within(&self, from: Stamp, to: Stamp) -> f64 {
        (self.until(to) - self.until(from)) as f64
    }

    /// The covered share of that time, from 0 to 1; `to` is after `from`.
    pub(super) fn share(&self, from: Stamp, to: Stamp) -> f64 {
        self.within(from, to) / length(from, to) as f64
    }
}

/// For each of several: when only it was in service; then when exactly two, three, … were.
pub(super) fn by_company(of: &[&Cover]) -> Vec<Cover> {
    let mut changes: Vec<(Stamp, usize, bool)> = Vec::new();
    for (who, cover) in of.iter().enumerate() {
        changes.extend(cover.from.iter().map(|&from| (from, who, true)));
        changes.extend(cover.to.iter().map(|&to| (to, who, false)));
    }
    changes.sort_unstable();
    let mut companies: Vec<Cover> = Vec::new();
    companies.resize_with((2 * of.len()).saturating_sub(1), Cover::default);
    let mut present = vec![false; of.len()];
    let mut since = Stamp(i64::MIN);
    for (at, who, comes) in changes {
        let company = match present.iter().filter(|&&here| here).count() {
            0 => None,
            1 => present.iter().position(|&here| here),
            several => Some(of.len() + several - 2),
        };
        if let Some(company) = company {
            companies[company].push(since, at);
        }
        present[who] = comes;
        since = at;
    }
    companies
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cover(stretches: &[(i64, i64)]) -> Cover {
        let mut cover = Cover::default();
        for &(from, to) in stretches {
            cover.push(Stamp(from), Stamp(to));
        }
        cover
    }

    fn shares(of: &Cover, spans: &[(i64, i64)]) -> Vec<f64> {
        spans
            .iter()
            .map(|&(from, to)| of.share(Stamp(from), Stamp(to)))
            .collect()
    }

    #[test]
    fn what_overlaps_counts_once_and_no_more() {
        let others = cover(&[(0, 10), (5, 12), (20, 30), (100, 101)]);
        let spans = [(0, 20), (12, 20), (21, 25), (95, 105), (200, 210)];
        assert_eq!(shares(&others, &spans), [0.6, 0.0, 1.0, 0.1, 0.0]);
    }

    #[test]
    fn a_long_one_that_began_long_before_is_met() {
        let others = cover(&[(0, 1_000), (10, 11)]);
        assert_eq!(shares(&others, &[(500, 600), (990, 1_010)]), [1.0, 0.5]);
    }

    #[test]
    fn absurd_stamps_are_no_trouble() {
        let all = cover(&[(i64::MIN, i64::MAX)]);
        assert_eq!(shares(&all, &[(i64::MIN, i64::MAX), (-5, 5)]), [1.0, 1.0]);
    }

    #[test]
    fn time_is_told_apart_by_who_is_there() {
        let (a, b, c) = (
            cover(&[(0, 10), (50, 60)]),
            cover(&[(5, 15)]),
            cover(&[(8, 12), (60, 70)]),
        );
        let companies = by_company(&[&a, &b, &c]);
        assert_eq!(
            companies,
            [
                cover(&[(0, 5), (50, 60)]),
                cover(&[(12, 15)]),
                cover(&[(60, 70)]),
                cover(&[(5, 8), (10, 12)]),
                cover(&[(8, 10)]),
            ]
        );
        assert_eq!(by_company(&[]), []);
    }
}
