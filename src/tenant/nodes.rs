//! Adds up what each node of a tenant's networks took, frame by frame, where the backend was asked for it, and how that
//! went with the frame's response time.
//!
//! The first frame pays for the names; after it, adding up allocates nothing. Which frames count is the
//! pipeline's decision.

use crate::backend::{LateTimes, NodeTime};
use crate::record::{Covariance, NodeRecord, Phase};
use crate::units::Nanos;

/// The times of one tenant's nodes in one phase, by position in the order of execution.
#[derive(Debug, Default)]
pub(super) struct NodeTotals {
    nodes: Vec<Total>,
}

/// A measured frame whose time per node is not known yet.
#[derive(Clone, Copy, Debug)]
pub(super) struct LateFrame {
    /// The phase that it was in.
    pub(super) phase: Phase,
    /// Its response time.
    pub(super) response: Nanos,
}

/// The records of frames whose time per node came when the run was over; frames are numbered by position.
pub(super) fn late_records(tenant: u16, frames: &[LateFrame], times: &LateTimes) -> Vec<NodeRecord> {
    let mut phases: Vec<(Phase, NodeTotals)> = Vec::new();
    for (number, times) in times {
        let number = usize::try_from(*number).unwrap_or(usize::MAX);
        let Some(frame) = frames.get(number) else {
            continue;
        };
        let known = phases.iter().position(|(phase, _)| *phase == frame.phase);
        let at = known.unwrap_or_else(|| {
            phases.push((frame.phase, NodeTotals::default()));
            phases.len() - 1
        });
        phases[at].1.add(times, Some(frame.response));
    }
    let records = phases
        .into_iter()
        .flat_map(|(phase, totals)| totals.records(tenant, phase));
    records.collect()
}

#[derive(Debug)]
struct Total {
    name: String,
    operator: String,
    count: u64,
    sum: i128,
    max: Nanos,
    together: Moments,
}

/// Means and sums of products about them, kept up to date value by value (Welford's way, so that large means cost no
/// digits).
#[derive(Debug, Default)]
struct Moments {
    mean: [f64; 2],
    squares: [f64; 2],
    products: f64,
}

impl Moments {
    /// Takes in the `count`th pair.
    fn add(&mut self, count: u64, pair: [f64; 2]) {
        let n = count as f64;
        let off = [pair[0] - self.mean[0], pair[1] - self.mean[1]];
        self.mean = [self.mean[0] + off[0] / n, self.mean[1] + off[1] / n];
        let off_after = [pair[0] - self.mean[0], pair[1] - self.mean[1]];
        self.squares = [
            self.squares[0] + off[0] * off_after[0],
            self.squares[1] + off[1] * off_after[1],
        ];
        self.products += off[0] * off_after[1];
    }

    fn covariance(&self, count: u64) -> Option<Covariance> {
        let freedom = count.checked_sub(1).filter(|&freedom| freedom > 0)? as f64;
        Some(Covariance {
            variance: self.squares[0] / freedom,
            response_variance: self.squares[1] / freedom,
            covariance: self.products / freedom,
        })
    }
}

impl Total {
    fn is_of(&self, time: &NodeTime) -> bool {
        self.name == time.name && self.operator == time.operator
    }
}

impl NodeTotals {
    /// Takes in one frame's times in the order of execution, and its response time; a frame without one, which is not
    /// measured, only makes the nodes known.
    pub(super) fn add(&mut self, times: &[NodeTime], response: Option<Nanos>) {
        for (position, time) in times.iter().enumerate() {
            let at = self.place(position, time);
            if let Some(response) = response {
                let total = &mut self.nodes[at];
                total.count += 1;
                let pair = [time.took.0 as f64, response.0 as f64];
                total.together.add(total.count, pair);
                total.sum += i128::from(time.took.0);
                total.max = total.max.max(time.took);
            }
        }
    }

    /// Where a node is kept: at its position in every frame, unless the backend executed others this time.
    fn place(&mut self, position: usize, time: &NodeTime) -> usize {
        if self.nodes.get(position).is_some_and(|total| total.is_of(time)) {
            return position;
        }
        // A node without a name cannot be told from others of its operator except by its position, so a
        // later one must not be taken for an earlier one.
        let later = self
            .nodes
            .iter()
            .skip(position)
            .position(|total| total.is_of(time));
        later.map_or_else(
            || {
                self.nodes.push(Total {
                    name: time.name.clone(),
                    operator: time.operator.clone(),
                    count: 0,
                    sum: 0,
                    max: Nanos::ZERO,
                    together: Moments::default(),
                });
                self.nodes.len() - 1
            },
            |offset| position + offset,
        )
    }

    /// One record for each node that a measured frame executed.
    pub(super) fn records(self, tenant: u16, phase: Phase) -> impl Iterator<Item = NodeRecord> {
        let timed = self.nodes.into_iter().filter(|total| total.count > 0);
        timed.map(move |total| NodeRecord {
            tenant,
            phase,
            count: total.count,
            mean: mean(total.sum, total.count),
            max: total.max,
            with_response: total.together.covariance(total.count),
            name: total.name,
            operator: total.operator,
        })
    }
}

/// Rounded to the nearest nanosecond; durations are not negative.
fn mean(sum: i128, count: u64) -> Nanos {
    let count = i128::from(count.max(1));
    // A mean of values of 64 bits is one.
    Nanos(i64::try_from((sum + count / 2) / count).unwrap_or(i64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MEASURED: Option<Nanos> = Some(Nanos(100));

    fn node(name: &str, operator: &str, ns: i64) -> NodeTime {
        NodeTime {
            name: name.to_owned(),
            operator: operator.to_owned(),
            took: Nanos(ns),
        }
    }

    fn figures(totals: NodeTotals) -> Vec<(String, u64, i64, i64)> {
        totals
            .records(2, Phase::Together)
            .map(|r| (r.name, r.count, r.mean.0, r.max.0))
            .collect()
    }

    #[test]
    fn means_are_rounded_and_the_longest_is_kept() {
        let mut totals = NodeTotals::default();
        for ns in [10, 11, 30] {
            totals.add(&[node("a", "Conv", ns), node("b", "Relu", 1)], MEASURED);
        }
        assert_eq!(
            figures(totals),
            [("a".to_owned(), 3, 17, 30), ("b".to_owned(), 3, 1, 1)]
        );
    }

    #[test]
    fn frames_of_the_warm_up_count_for_nothing() {
        let mut totals = NodeTotals::default();
        totals.add(&[node("a", "Conv", 900), node("only once", "Conv", 900)], None);
        totals.add(&[node("a", "Conv", 5)], MEASURED);
        assert_eq!(figures(totals), [("a".to_owned(), 1, 5, 5)]);
    }

    #[test]
    fn nodes_of_equal_name_and_operator_stay_apart() {
        let mut totals = NodeTotals::default();
        for _ in 0..2 {
            totals.add(&[node("", "Conv", 5), node("", "Conv", 7)], MEASURED);
        }
        assert_eq!(
            figures(totals),
            [(String::new(), 2, 5, 5), (String::new(), 2, 7, 7)]
        );
    }

    #[test]
    fn a_node_that_is_missing_from_a_frame_does_not_shift_the_others() {
        let mut totals = NodeTotals::default();
        totals.add(&[node("a", "Conv", 5), node("b", "Conv", 7)], MEASURED);
        totals.add(&[node("b", "Conv", 9)], MEASURED);
        assert_eq!(
            figures(totals),
            [("a".to_owned(), 1, 5, 5), ("b".to_owned(), 2, 8, 9)]
        );
    }

    #[test]
    fn frames_whose_times_come_late_count_in_the_phase_that_they_were_in() {
        let frame = |phase, response| LateFrame {
            phase,
            response: Nanos(response),
        };
        let frames = [
            frame(Phase::Alone, 10),
            frame(Phase::Alone, 12),
            frame(Phase::Together, 30),
            frame(Phase::Together, 40),
            // Of this one the backend knows nothing.
            frame(Phase::Together, 50),
        ];
        let times: LateTimes = [(0, 3), (1, 5), (2, 8), (3, 9), (17, 900)]
            .into_iter()
            .map(|(number, ns)| (number, vec![node("a", "Conv", ns), node("b", "Relu", 1)]))
            .collect();
        let records = late_records(2, &frames, &times);
        let found: Vec<_> = records
            .iter()
            .map(|r| (r.phase, r.name.as_str(), r.count, r.mean.0, r.max.0))
            .collect();
        assert_eq!(
            found,
            [
                (Phase::Alone, "a", 2, 4, 5),
                (Phase::Alone, "b", 2, 1, 1),
                (Phase::Together, "a", 2, 9, 9),
                (Phase::Together, "b", 2, 1, 1),
            ]
        );
        let with = records[0].with_response.expect("two frames");
        assert!((with.covariance - 2.0).abs() < 1e-9, "{with:?}");
    }

    #[test]
    fn a_node_is_set_against_the_response_time_of_its_own_frames() {
        let mut totals = NodeTotals::default();
        let frames = [(10, 1_000_000_010), (12, 1_000_000_016), (17, 1_000_000_013)];
        for (took, response) in frames {
            totals.add(&[node("a", "Conv", took)], Some(Nanos(response)));
        }
        totals.add(&[node("once", "Conv", 3)], Some(Nanos(1)));
        let records: Vec<NodeRecord> = totals.records(0, Phase::Together).collect();
        // Deviations: −3, −1, 4 and −3, 3, 0.
        let found = records[0].with_response.expect("three frames");
        for (value, expected) in [
            (found.variance, 13.0),
            (found.response_variance, 9.0),
            (found.covariance, 3.0),
        ] {
            assert!((value - expected).abs() < 1e-6, "{value} for {expected}");
        }
        assert_eq!(records[1].with_response, None, "one frame has no variance");
    }
}
