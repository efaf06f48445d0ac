//! What a program's own ranges say of its batches: how long each took that lies directly within one.
//!
//! A program of somebody else's names its parts as it likes; the ranges directly within a batch tile it as stages tile a frame.
//! Ranges named like a stage are stages already. In a run file a batch's ranges come before its own range, and that before its
//! frame.

use std::collections::HashMap;

use crate::record::{RangeRecord, Stage};

/// Names that are parts of their own; what comes under more names is one part, [`OTHERS`].
const MOST: usize = 12;
/// Places of a frame: the names, and those beyond.
pub(in crate::analysis) const PLACES: usize = MOST + 1;
/// The part of ranges whose names came when there were [`MOST`] already.
const OTHERS: &str = "other ranges";

/// Ranges of an open batch that are kept, batches that are open at once, and batches whose frame has not come.
const MOST_OPEN: usize = 1 << 16;
const MOST_BATCHES: usize = 1 << 12;
const MOST_WAITING: usize = 3 << 20;

/// A range within a batch that has not ended: begin, length and path.
type Inner = (i64, i64, String);

/// The ranges of a tenant, batch by batch. What is beyond the limits counts as in no range.
#[derive(Debug, Default)]
pub(in crate::analysis) struct Within {
    names: Vec<String>,
    open: HashMap<u64, Vec<Inner>>,
    closed: HashMap<u64, Box<[(u8, i64)]>>,
}

impl Within {
    /// Takes in a range: one within a batch, or a batch itself, which ends after those within.
    pub(in crate::analysis) fn range(&mut self, range: &RangeRecord) {
        let Some(batch) = range.batch else { return };
        if range.items.is_some() {
            let inner = self.open.remove(&batch).unwrap_or_default();
            self.close(batch, &range.path, inner);
            return;
        }
        if self.open.len() >= MOST_BATCHES && !self.open.contains_key(&batch) {
            return;
        }
        let inner = self.open.entry(batch).or_default();
        // Ranges of a batch nest: those that began since this one did are within it.
        while inner
            .last()
            .is_some_and(|(from, _, path)| *from >= range.from.0 && is_below(path, &range.path))
        {
            inner.pop();
        }
        if inner.len() < MOST_OPEN {
            inner.push((range.from.0, range.duration().0.max(0), range.path.clone()));
        }
    }

    fn close(&mut self, batch: u64, path: &str, inner: Vec<Inner>) {
        let mut took: Vec<(u8, i64)> = Vec::new();
        for (_, length, of) in inner {
            let name = of.get(path.len() + 1..).filter(|_| is_below(&of, path));
            let Some(name) = name.filter(|name| Stage::ALL.iter().all(|stage| stage.name() != *name)) else {
                continue;
            };
            let place = self.place(name);
            match took.iter_mut().find(|(known, _)| *known == place) {
                Some((_, sum)) => *sum = sum.saturating_add(length),
                None => took.push((place, length)),
            }
        }
        if !took.is_empty() && self.closed.len() < MOST_WAITING {
            self.closed.insert(batch, took.into());
        }
    }

    fn place(&mut self, name: &str) -> u8 {
        let known = self.names.iter().position(|known| known == name);
        let place = known.unwrap_or_else(|| {
            if self.names.len() < MOST {
                self.names.push(name.to_owned());
                return self.names.len() - 1;
            }
            MOST
        });
        place as u8
    }

    /// How long each named part of this batch took; asked once, when its frame comes.
    pub(in crate::analysis) fn take(&mut self, batch: u64) -> [Option<i64>; PLACES] {
        let mut all = [None; PLACES];
        for &(place, length) in self.closed.remove(&batch).iter().flatten() {
            all[usize::from(place)] = Some(length);
        }
        all
    }

    /// The name of a place. A range that is called as a part of ours is told from it.
    pub(in crate::analysis) fn name(&self, place: usize, ours: &[&str]) -> String {
        match self.names.get(place) {
            None => OTHERS.to_owned(),
            Some(name) if ours.contains(&name.as_str()) || name == OTHERS => format!("range {name}"),
            Some(name) => name.clone(),
        }
    }
}

/// Whether a path is of a range within that of the other.
fn is_below(path: &str, above: &str) -> bool {
    path.strip_prefix(above).is_some_and(|rest| rest.starts_with('/'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Stamp;

    fn range(path: &str, (from, to): (i64, i64), batch: u64, items: Option<u64>) -> RangeRecord {
        RangeRecord {
            tenant: 0,
            track: 0,
            from: Stamp(from),
            to: Stamp(to),
            path: path.to_owned(),
            batch: Some(batch),
            items,
        }
    }

    fn named(within: &mut Within, batch: u64) -> Vec<(String, i64)> {
        let took = within.take(batch).into_iter().enumerate();
        took.filter_map(|(place, took)| Some((within.name(place, &["wait"]), took?)))
            .collect()
    }

    #[test]
    fn ranges_directly_within_a_batch_are_its_parts_wherever_the_batch_lies() {
        let mut within = Within::default();
        for (path, span) in [
            ("run/batch/body/conv", (10, 30)),
            ("run/batch/body/conv", (30, 60)),
            ("run/batch/body", (10, 90)),
            ("run/batch/wait", (90, 95)),
            ("run/batch/body", (95, 100)),
            ("run/batch/decode", (100, 110)),
            ("run/batch/a/b", (110, 117)),
        ] {
            within.range(&range(path, span, 3, None));
        }
        within.range(&range("run/batch", (0, 120), 3, Some(4)));
        let found = named(&mut within, 3);
        let of = |name: &str| {
            found
                .iter()
                .find(|(known, _)| known == name)
                .map(|(_, took)| *took)
        };
        assert_eq!(
            (of("body"), of("range wait"), of("a/b")),
            (Some(85), Some(5), Some(7))
        );
        assert_eq!(
            found.len(),
            3,
            "a stage is a stage, and what is deeper is in what is around it: {found:?}"
        );
        assert_eq!(named(&mut within, 3), [], "a batch has one frame");
    }

    #[test]
    fn names_without_end_are_one_part() {
        let mut within = Within::default();
        for number in 0..100 {
            let span = (number * 10, number * 10 + 1);
            within.range(&range(&format!("batch/frame {number}"), span, 0, None));
        }
        within.range(&range("batch", (0, 1_000), 0, Some(1)));
        let found = named(&mut within, 0);
        assert_eq!(found.len(), PLACES);
        assert_eq!(found.last().unwrap(), &(OTHERS.to_owned(), 100 - MOST as i64));
    }
}
