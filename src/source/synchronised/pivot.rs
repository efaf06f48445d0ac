//! Which frames make a set by the pivot: ROS's approximate-time filter as it is in C++ (`message_filters::sync_policies::ApproximateTime`).
//!
//! When all queues have a frame, the latest of their fronts is the *pivot*, and the fronts are the first candidate. Candidates go on by
//! the earliest front, as long as they can become better: a set is made when it is proven that no later one with this pivot has less
//! spread. Mostly the next frame of a sensor proves it, so that such a set is complete later than its last frame came. Of the filter are
//! kept: the proof, also by frames that have not come yet (none comes before the last of its sensor, nor before the pivot); the age
//! penalty of 0.1; that a frame which the queue gave up makes its sensor no pivot until a set of others was tried; the tolerance as the
//! most that a set may span. At the end of a recording, what is in hand is a set: nothing better can come. Bounds between messages of one sensor (`setInterMessageLowerBound`) are left out, as they are by default.

use std::collections::VecDeque;

use super::set::Set;
use crate::source::timeline::FrameTime;
use crate::units::Nanos;

/// One sensor's frames that wait: those that may still be taken, and those in front of them that a better candidate has passed over.
#[derive(Debug, Default)]
struct Waiting {
    front: VecDeque<usize>,
    past: Vec<usize>,
    has_dropped: bool,
}

impl Waiting {
    /// Puts those that were passed over back.
    fn recover(&mut self) {
        while let Some(number) = self.past.pop() {
            self.front.push_front(number);
        }
    }

    fn pass(&mut self) {
        self.past.extend(self.front.pop_front());
    }
}

/// A set that may still be replaced by a better one.
#[derive(Debug)]
struct Candidate {
    frames: Vec<usize>,
    start: Nanos,
    end: Nanos,
    pivot: usize,
    pivot_time: Nanos,
}

/// The filter with what it holds.
pub(super) struct Pivot<'s> {
    sensors: &'s [&'s [FrameTime]],
    tolerance: Nanos,
    queue: usize,
    waiting: Vec<Waiting>,
    candidate: Option<Candidate>,
    /// When the frame came that is being looked at.
    now: Nanos,
    sets: Vec<Set>,
}

impl<'s> Pivot<'s> {
    /// For these sensors.
    pub(super) fn new(sensors: &'s [&'s [FrameTime]], tolerance: Nanos, queue: usize) -> Self {
        Pivot {
            sensors,
            tolerance,
            queue: queue.max(1),
            waiting: sensors.iter().map(|_| Waiting::default()).collect(),
            candidate: None,
            now: Nanos::ZERO,
            sets: Vec::new(),
        }
    }

    /// The sets that were made, when no more frames come: what is in hand then cannot become better.
    pub(super) fn finish(mut self) -> Vec<Set> {
        while self.candidate.is_some() {
            self.publish();
            self.process();
        }
        self.sets
    }

    /// A frame of a sensor came.
    pub(super) fn came(&mut self, at: Nanos, sensor: usize, number: usize) {
        self.now = at;
        let Some(own) = self.waiting.get_mut(sensor) else {
            return;
        };
        own.front.push_back(number);
        if own.front.len() == 1 {
            self.process();
        }
        let Some(own) = self.waiting.get(sensor) else {
            return;
        };
        if own.front.len() + own.past.len() <= self.queue {
            return;
        }
        self.waiting.iter_mut().for_each(Waiting::recover);
        if let Some(own) = self.waiting.get_mut(sensor) {
            own.front.pop_front();
            own.has_dropped = true;
        }
        // Its frames may not be there any more.
        if self.candidate.take().is_some() {
            self.process();
        }
    }

    fn captured(&self, sensor: usize, number: usize) -> Nanos {
        let frame = self.sensors.get(sensor).and_then(|frames| frames.get(number));
        frame.map_or(Nanos::ZERO, |frame| frame.captured)
    }

    /// The earliest and the latest of what waits first, each with its sensor. Where nothing waits, the earliest that may still come;
    /// `None` where nobody knows, without a pivot.
    fn ends(&self) -> Option<[(Nanos, usize); 2]> {
        let pivot_time = self.candidate.as_ref().map(|of| of.pivot_time);
        let time = |(sensor, own): (usize, &Waiting)| match own.front.front() {
            Some(number) => Some((self.captured(sensor, *number), sensor)),
            None => {
                let last = own.past.last().map(|number| self.captured(sensor, *number));
                Some((pivot_time?.max(last?), sensor))
            }
        };
        let times: Option<Vec<(Nanos, usize)>> = self.waiting.iter().enumerate().map(time).collect();
        let times = times?;
        // Of equals the first sensor begins and the last one ends, as the filter has it.
        let earliest = times
            .iter()
            .copied()
            .reduce(|a, b| if b.0 < a.0 { b } else { a })?;
        let latest = times
            .iter()
            .copied()
            .reduce(|a, b| if b.0 >= a.0 { b } else { a })?;
        Some([earliest, latest])
    }

    fn all_wait(&self) -> bool {
        self.waiting.iter().all(|own| !own.front.is_empty())
    }

    fn process(&mut self) {
        while self.all_wait() {
            let Some([(start, first), (end, last)]) = self.ends() else {
                return;
            };
            // No frame that was given up could have been better than these.
            let others = self.waiting.iter_mut().enumerate();
            others
                .filter(|(sensor, _)| *sensor != last)
                .for_each(|(_, own)| own.has_dropped = false);
            let fronts = || self.waiting.iter().filter_map(|own| own.front.front().copied());
            match &mut self.candidate {
                None => {
                    let dropped = self.waiting.get(last).is_some_and(|own| own.has_dropped);
                    if end - start > self.tolerance || dropped {
                        if let Some(own) = self.waiting.get_mut(first) {
                            own.front.pop_front();
                        }
                        continue;
                    }
                    self.candidate = Some(Candidate {
                        frames: fronts().collect(),
                        start,
                        end,
                        pivot: last,
                        pivot_time: end,
                    });
                    self.forget_past();
                }
                Some(candidate) => {
                    if !outweighs(end - candidate.end, start - candidate.start) {
                        (candidate.frames, candidate.start, candidate.end) = (fronts().collect(), start, end);
                        self.forget_past();
                    }
                }
            }
            if let Some(own) = self.waiting.get_mut(first) {
                own.pass();
            }
            let Some(candidate) = &self.candidate else {
                return;
            };
            let is_proven = outweighs(end - candidate.end, candidate.pivot_time - candidate.start);
            if first == candidate.pivot
                || is_proven
                || (!self.all_wait() && self.is_proven_by_what_may_come())
            {
                self.publish();
            }
        }
    }

    /// What is in front of a new candidate belongs to no later one.
    fn forget_past(&mut self) {
        self.waiting.iter_mut().for_each(|own| own.past.clear());
    }

    /// Whether nothing that may still come makes a better set of this pivot. Leaves what waits as it is, unless it is proven.
    fn is_proven_by_what_may_come(&mut self) -> bool {
        let mut moves = vec![0usize; self.waiting.len()];
        while let (Some([(start, first), (end, _)]), Some(candidate)) = (self.ends(), &self.candidate) {
            let more = end - candidate.end;
            if outweighs(more, candidate.pivot_time - candidate.start) {
                return true;
            }
            if !outweighs(more, start - candidate.start) {
                break;
            }
            let (Some(own), Some(moved)) = (self.waiting.get_mut(first), moves.get_mut(first)) else {
                break;
            };
            if own.front.is_empty() {
                break;
            }
            own.pass();
            *moved += 1;
        }
        for (own, moved) in self.waiting.iter_mut().zip(moves) {
            for number in (0..moved).filter_map(|_| own.past.pop()).collect::<Vec<_>>() {
                own.front.push_front(number);
            }
        }
        false
    }

    fn publish(&mut self) {
        let Some(candidate) = self.candidate.take() else {
            return;
        };
        if let Some(set) = Set::of(self.sensors, candidate.frames) {
            self.sets.push(Set {
                complete: set.complete.max(self.now),
                ..set
            });
        }
        for own in &mut self.waiting {
            own.recover();
            // The candidate's own: what was in front of it is forgotten.
            own.front.pop_front();
        }
    }
}

/// Whether ending so much later costs more than beginning so much later gains, with an age penalty of 0.1.
fn outweighs(later_end: Nanos, later_start: Nanos) -> bool {
    i128::from(later_end.0) * 11 >= i128::from(later_start.0) * 10
}

#[cfg(test)]
#[path = "pivot_tests.rs"]
mod tests;
