//! Whether times go forward, and how evenly.

use jetlag_record::units::Nanos;
use serde::Serialize;

use crate::time::Time;

/// How the times of a topic's messages follow each other. Nothing of this is an error: robots' clocks are set, and recorders
/// write from several threads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Order {
    /// How many messages are earlier than the one before them.
    pub backwards: u64,
    /// The largest step back, as a positive duration; zero where there is none.
    #[serde(rename = "largest_step_back_ns")]
    pub largest_step_back: Nanos,
    /// How many steps forward are longer than five times the median step; in a topic of fewer than three steps, none.
    pub jumps: u64,
    /// The longest step forward.
    #[serde(rename = "longest_gap_ns")]
    pub longest_gap: Nanos,
}

/// How many median steps a longer step has at least.
const JUMP: i64 = 5;
/// So few steps have no median worth the name.
const FEWEST_STEPS: usize = 3;

impl Order {
    /// Of times in the order in which they come.
    pub(crate) fn of(times: impl Iterator<Item = Time>) -> Order {
        let mut order = Order::default();
        let mut steps = Vec::with_capacity(times.size_hint().0);
        let mut before: Option<Time> = None;
        for time in times {
            if let Some(before) = before {
                let step = time.since(before);
                if step < Nanos::ZERO {
                    order.backwards += 1;
                    let back = Nanos(step.0.saturating_neg());
                    order.largest_step_back = order.largest_step_back.max(back);
                } else {
                    steps.push(step.0);
                }
            }
            before = Some(time);
        }
        order.longest_gap = Nanos(steps.iter().copied().max().unwrap_or_default());
        if steps.len() >= FEWEST_STEPS {
            let middle = steps.len() / 2;
            let (_, median, _) = steps.select_nth_unstable(middle);
            let longest = median.saturating_mul(JUMP);
            order.jumps = steps.iter().filter(|step| **step > longest).count() as u64;
        }
        order
    }
}

/// A gap between messages that no sensor leaves: times before a simulation's clock began, or before a robot's clock was set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Gap {
    /// How many messages are before it.
    pub before: usize,
    /// How many are behind it.
    pub behind: usize,
    /// How long it is.
    #[serde(rename = "length_ns")]
    pub length: Nanos,
    /// When the first message behind it came, from the first of all.
    #[serde(rename = "behind_from_ns")]
    pub behind_from: Nanos,
}

/// A shorter gap is a pause.
const UNSET: Nanos = Nanos::from_secs(3600);
/// And it is that many times as long as all else together: a bag of a day may rest for a night.
const OF_THE_REST: i64 = 100;

impl Gap {
    /// Of times that ascend.
    pub fn of(times: impl Iterator<Item = Time> + Clone) -> Option<Gap> {
        let steps = times.clone().zip(times.clone().skip(1));
        let longest = steps
            .map(|(one, next)| next.since(one))
            .enumerate()
            .max_by_key(|(_, step)| *step);
        let (place, length) = longest?;
        let (first, last) = (times.clone().next()?, times.clone().last()?);
        let rest = last.since(first) - length;
        let is_unset = length > UNSET && length.0 / OF_THE_REST > rest.0;
        is_unset.then(|| Gap {
            before: place + 1,
            behind: times.clone().count() - place - 1,
            length,
            behind_from: times.clone().nth(place + 1).unwrap_or(last).since(first),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(times: &[i64]) -> Order {
        Order::of(times.iter().map(|ms| Time(ms * 1_000_000)))
    }

    #[test]
    fn steps_back_and_jumps_are_counted_with_the_largest_of_each() {
        let even = order(&[0, 10, 20, 30, 41]);
        assert_eq!(
            (even.backwards, even.jumps, even.longest_gap),
            (0, 0, Nanos::from_millis(11))
        );
        let uneven = order(&[0, 10, 20, 5, 15, 300, 310, 309]);
        assert_eq!((uneven.backwards, uneven.jumps), (2, 1));
        assert_eq!(uneven.largest_step_back, Nanos::from_millis(15));
        assert_eq!(uneven.longest_gap, Nanos::from_millis(285));
        assert_eq!(order(&[]), Order::default());
        assert_eq!(order(&[5]), Order::default());
        let of_two = order(&[0, 1, 100]);
        assert_eq!((of_two.jumps, of_two.longest_gap), (0, Nanos::from_millis(99)));
    }

    #[test]
    fn times_at_the_ends_of_the_range_overflow_nothing() {
        let order = Order::of([i64::MIN, i64::MAX, i64::MIN, 0, i64::MAX].into_iter().map(Time));
        assert_eq!(order.largest_step_back, Nanos(i64::MAX));
        assert_eq!(order.longest_gap, Nanos(i64::MAX));
    }
}
