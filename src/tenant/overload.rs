//! Frames that are due and wait for their turn, and which of them are given up.

use std::collections::VecDeque;

use crate::scenario::Overload;
use crate::units::{Nanos, Stamp};

/// A frame that is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Release {
    /// Counts the tenant's releases in this phase.
    pub sequence: u64,
    /// When it was due.
    pub due: Stamp,
    /// Number of its frame in the source, counted through all repetitions.
    pub frame: u64,
    /// When its content was captured, where releases follow a recording or a live source.
    pub captured: Option<Stamp>,
    /// When its set of sensors is complete; `None` where it is there when it is due.
    pub complete: Option<Stamp>,
    /// How late the tenant, waiting for it, woke; zero if it was busy.
    pub lateness: Nanos,
}

/// The waiting line of one tenant; holds no more than its policy allows and never grows.
pub struct WaitingLine {
    policy: Overload,
    line: VecDeque<Release>,
}

impl WaitingLine {
    /// An empty line under this policy.
    pub fn new(policy: Overload) -> Self {
        WaitingLine {
            policy,
            line: VecDeque::with_capacity(limit(policy).min(1 << 16)),
        }
    }
    /// Lets a frame join at its release; returns the frame that is given up for it, if one is.
    pub fn join(&mut self, release: Release) -> Option<Release> {
        if self.line.len() < limit(self.policy) {
            self.line.push_back(release);
            return None;
        }
        match self.policy {
            Overload::Queue { .. } | Overload::DropNewest { .. } => Some(release),
            Overload::DropOldest { .. } => {
                let oldest = self.line.pop_front();
                self.line.push_back(release);
                oldest
            }
        }
    }
    /// The frame whose turn it is.
    pub fn take(&mut self) -> Option<Release> {
        self.line.pop_front()
    }
    /// The same, which stays.
    pub fn first(&self) -> Option<&Release> {
        self.line.front()
    }
    /// How many frames wait.
    pub fn len(&self) -> usize {
        self.line.len()
    }
    /// Whether no frame waits.
    pub fn is_empty(&self) -> bool {
        self.line.is_empty()
    }
}

fn limit(policy: Overload) -> usize {
    match policy {
        Overload::Queue { capacity } => capacity.max(1),
        Overload::DropOldest { queue } | Overload::DropNewest { queue } => queue.max(1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(policy: Overload, joining: u64) -> (Vec<u64>, Vec<u64>) {
        let mut line = WaitingLine::new(policy);
        let given_up = (0..joining)
            .filter_map(|n| {
                line.join(Release {
                    sequence: n,
                    due: Stamp(n as i64),
                    frame: n,
                    captured: None,
                    complete: None,
                    lateness: Nanos::ZERO,
                })
            })
            .map(|r| r.sequence)
            .collect();
        (
            std::iter::from_fn(|| line.take()).map(|r| r.sequence).collect(),
            given_up,
        )
    }

    #[test]
    fn each_policy_keeps_what_it_promises() {
        assert_eq!(
            line(Overload::DropOldest { queue: 2 }, 5),
            (vec![3, 4], vec![0, 1, 2])
        );
        assert_eq!(
            line(Overload::DropNewest { queue: 2 }, 5),
            (vec![0, 1], vec![2, 3, 4])
        );
        assert_eq!(
            line(Overload::Queue { capacity: 3 }, 5),
            (vec![0, 1, 2], vec![3, 4])
        );
    }

    #[test]
    fn a_line_has_its_memory_from_the_start() {
        let line = WaitingLine::new(Overload::Queue { capacity: 3 }).line;
        assert!((3..100).contains(&line.capacity()), "{}", line.capacity());
        let endless = WaitingLine::new(Overload::Queue { capacity: usize::MAX }).line;
        assert!(endless.capacity() < 1 << 20, "{}", endless.capacity());
    }
}
