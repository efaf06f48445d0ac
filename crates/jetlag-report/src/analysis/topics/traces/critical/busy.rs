//! Who had the device when: for each tenant the stretches in which its work ran, and how much of a stretch they fill.
//!
//! Kernels, fills and graphs need the multiprocessors; copies between host and device have engines of their own, one a
//! direction. Work waits only for work of its own kind.

use super::node::{NO_TENANT, Node, What};
use crate::record::activity::Direction;

/// What a piece of work occupies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::analysis) enum Resource {
    /// The multiprocessors.
    Compute,
    /// The engine that copies to the device.
    Upload,
    /// The engine that copies from the device.
    Download,
}

impl Resource {
    /// What a node occupies; none if it is the host's.
    pub(in crate::analysis) fn of(what: What) -> Option<Resource> {
        match what {
            What::Copy(Direction::HostToDevice) => Some(Resource::Upload),
            What::Copy(Direction::DeviceToHost) => Some(Resource::Download),
            What::Kernel(_) | What::Fill | What::Graph | What::Copy(_) => Some(Resource::Compute),
            What::Start | What::Stage(_) | What::Call(_) | What::Enter(_) | What::Exit(_) | What::End => None,
        }
    }
}

/// Stretches of one tenant on one resource, merged and in order, with the sum of those before each.
#[derive(Debug, Default)]
struct Line {
    spans: Vec<(i64, i64)>,
    before: Vec<i64>,
}

impl Line {
    fn of(mut spans: Vec<(i64, i64)>) -> Line {
        spans.sort_unstable();
        let mut merged: Vec<(i64, i64)> = Vec::with_capacity(spans.len());
        for (from, to) in spans {
            match merged.last_mut() {
                Some(last) if from <= last.1 => last.1 = last.1.max(to),
                _ => merged.push((from, to)),
            }
        }
        let mut sum = 0i64;
        let before = merged
            .iter()
            .map(|(from, to)| {
                let earlier = sum;
                sum = sum.saturating_add(to - from);
                earlier
            })
            .collect();
        Line {
            spans: merged,
            before,
        }
    }

    /// Time of it before `at`.
    fn until(&self, at: i64) -> i64 {
        match self.spans.partition_point(|(from, _)| *from < at) {
            0 => 0,
            after => {
                let (from, to) = self.spans[after - 1];
                self.before[after - 1] + at.min(to) - from
            }
        }
    }
}

/// Who had the device when.
#[derive(Debug, Default)]
pub(in crate::analysis) struct Busy {
    lines: Vec<(u16, Resource, Line)>,
}

impl Busy {
    /// From all work on the device.
    pub(super) fn of(nodes: &[Node]) -> Busy {
        let mut spans: std::collections::BTreeMap<(u16, Resource), Vec<(i64, i64)>> =
            std::collections::BTreeMap::new();
        for node in nodes {
            if let Some(resource) = Resource::of(node.what)
                && node.to > node.from
            {
                spans
                    .entry((node.tenant, resource))
                    .or_default()
                    .push((node.from, node.to));
            }
        }
        Busy {
            lines: spans
                .into_iter()
                .map(|((tenant, resource), spans)| (tenant, resource, Line::of(spans)))
                .collect(),
        }
    }

    /// Who had it in this stretch, and for how long. The times together are not longer than the stretch.
    pub(super) fn within(&self, resource: Resource, from: i64, to: i64) -> impl Iterator<Item = (u16, i64)> {
        let mut left = (to - from).max(0);
        self.each(resource, (from, to)).map_while(move |(tenant, took)| {
            let took = took.min(left);
            left -= took;
            (took > 0).then_some((tenant, took))
        })
    }

    /// How long tenants for which `who` holds had it in this stretch; what two had at once counts for both.
    pub(in crate::analysis) fn of_whom(
        &self,
        resource: Resource,
        (from, to): (i64, i64),
        who: impl Fn(u16) -> bool,
    ) -> i64 {
        self.each(resource, (from, to))
            .filter(|(tenant, _)| who(*tenant))
            .map(|(_, took)| took)
            .sum()
    }

    /// Each tenant that had it in this stretch, and for how long.
    fn each(&self, resource: Resource, (from, to): (i64, i64)) -> impl Iterator<Item = (u16, i64)> {
        self.lines
            .iter()
            .filter(move |(_, of, _)| *of == resource && from < to)
            .map(move |(tenant, _, line)| (*tenant, line.until(to) - line.until(from)))
            .filter(|(_, took)| *took > 0)
    }
}

/// Whether it is a tenant, and another one than `own`.
pub(in crate::analysis) fn is_other(own: u16) -> impl Fn(u16) -> bool {
    move |tenant| tenant != own && tenant != NO_TENANT
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stretches_are_merged_and_cut_at_both_ends() {
        let line = Line::of(vec![(30, 40), (10, 20), (15, 25), (40, 41)]);
        assert_eq!(line.spans, [(10, 25), (30, 41)]);
        let within = |from, to| line.until(to) - line.until(from);
        assert_eq!(within(0, 10), 0);
        assert_eq!(within(0, 100), 26);
        assert_eq!(within(12, 35), 13 + 5);
        assert_eq!(within(26, 29), 0);
        assert_eq!(within(50, 60), 0);
        assert_eq!(Line::default().until(5), 0);
    }

    #[test]
    fn what_two_tenants_have_at_once_counts_for_each_and_once_in_the_stretch() {
        let node = |tenant, from, to| Node {
            from,
            to,
            what: What::Fill,
            tenant,
            frame: 0,
            layer: 0,
            bytes: 0,
            thread: 0,
        };
        let busy = Busy::of(&[node(0, 0, 100), node(1, 50, 80), node(2, 200, 300)]);
        let whose = |tenant| busy.of_whom(Resource::Compute, (0, 100), |of| of == tenant);
        assert_eq!([0, 1, 2].map(whose), [100, 30, 0]);
        let within: Vec<(u16, i64)> = busy.within(Resource::Compute, 60, 250).collect();
        assert_eq!(within, [(0, 40), (1, 20), (2, 50)]);
        let within: Vec<(u16, i64)> = busy.within(Resource::Compute, 50, 100).collect();
        assert_eq!(within, [(0, 50)], "no more than there is");
        assert_eq!(busy.within(Resource::Upload, 0, 300).count(), 0);
    }
}
