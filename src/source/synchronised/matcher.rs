//! Which frames of several sensors make a set: a queue a sensor and a tolerance, as ROS's approximate-time filter has them.
//!
//! Frames are looked at in the order in which they came, so that no set knows of a frame that has not come yet. When one comes, it is
//! held against those that wait in the other queues; of all sets that it completes within the tolerance, the one with the least spread
//! is made. Its frames leave their queues, and those in front of them as well, so that sets go forward in every sensor. (The Python
//! filter of ROS keeps these; the C++ filter drops them, and so do we.)
//!
//! A frame without a set is one of two things. A faster sensor has more frames than there are sets: those are *surplus*. Else a sensor
//! that should have had a frame had none, and the set *stayed incomplete*.

use std::collections::VecDeque;

use crate::source::timeline::FrameTime;
use crate::units::Nanos;

/// A complete set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Set {
    /// The frame of each sensor, by its number in the sensor's own frames.
    pub frames: Vec<usize>,
    /// When its first frame came.
    pub opened: Nanos,
    /// When its last frame came.
    pub complete: Nanos,
    /// From its earliest capture to its latest.
    pub skew: Nanos,
}

/// What became of the frames of several sensors.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Matched {
    /// The sets, in the order in which they became complete.
    pub sets: Vec<Set>,
    /// When the first frame of each set came that stayed incomplete, in order.
    pub incomplete: Vec<Nanos>,
    /// Frames without a set of a sensor that has more of them than there are sets.
    pub surplus: usize,
}

/// Makes sets of the frames of several sensors, whose captures lie within `tolerance`. A queue holds at most `queue` frames.
pub fn matched(sensors: &[&[FrameTime]], tolerance: Nanos, queue: usize) -> Matched {
    let mut coming: Vec<(Nanos, usize, usize)> = sensors
        .iter()
        .enumerate()
        .flat_map(|(sensor, frames)| {
            let came = frames.iter().enumerate();
            came.map(move |(number, frame)| (frame.came, sensor, number))
        })
        .collect();
    coming.sort_unstable();
    let mut queues: Vec<VecDeque<usize>> = vec![VecDeque::new(); sensors.len()];
    let mut used: Vec<Vec<bool>> = sensors.iter().map(|frames| vec![false; frames.len()]).collect();
    let mut sets = Vec::new();
    for (_, sensor, number) in coming {
        let Some(own) = queues.get_mut(sensor) else {
            continue;
        };
        own.push_back(number);
        if own.len() > queue.max(1) {
            own.pop_front();
        }
        let Some(set) = completed(sensors, &queues, (sensor, number), tolerance) else {
            continue;
        };
        for (place, &number) in set.frames.iter().enumerate() {
            if let Some(flag) = used.get_mut(place).and_then(|of| of.get_mut(number)) {
                *flag = true;
            }
            if let Some(queue) = queues.get_mut(place) {
                let at = queue.iter().position(|waiting| *waiting == number);
                queue.drain(..at.map_or(0, |at| at + 1));
            }
        }
        sets.push(set);
    }
    let (incomplete, surplus) = alone(sensors, &used, &sets, tolerance);
    Matched {
        sets,
        incomplete,
        surplus,
    }
}

/// The set with the least spread that this frame completes with those that wait, of several the earliest; `None` where there is none within the tolerance.
fn completed(
    sensors: &[&[FrameTime]],
    queues: &[VecDeque<usize>],
    (sensor, number): (usize, usize),
    tolerance: Nanos,
) -> Option<Set> {
    let time = |sensor: usize, number: usize| sensors.get(sensor)?.get(number).copied();
    let own = time(sensor, number)?.captured;
    // A set begins with its earliest capture, which is one of these.
    let begins = queues.iter().enumerate().flat_map(|(place, queue)| {
        let waiting = queue.iter().filter_map(move |&number| time(place, number));
        waiting.map(|frame| frame.captured)
    });
    let begins = begins.filter(|begin| *begin <= own && own - *begin <= tolerance);
    let mut best: Option<(Nanos, Set)> = None; // With its earliest capture.
    for begin in begins {
        let nearest = |place: usize| {
            if place == sensor {
                return Some(number);
            }
            let within = queues.get(place)?.iter().copied().filter(|&other| {
                time(place, other)
                    .is_some_and(|frame| frame.captured >= begin && frame.captured - begin <= tolerance)
            });
            within.min_by_key(|&other| {
                let captured = time(place, other).map(|frame| frame.captured);
                captured.map_or((i64::MAX, own), |at| ((at - own).0.abs(), at))
            })
        };
        let frames: Option<Vec<usize>> = (0..sensors.len()).map(nearest).collect();
        let Some(frames) = frames else { continue };
        let times: Vec<FrameTime> = frames
            .iter()
            .enumerate()
            .filter_map(|(place, &number)| time(place, number))
            .collect();
        let least = |of: fn(&FrameTime) -> Nanos| times.iter().map(of).min().unwrap_or_default();
        let most = |of: fn(&FrameTime) -> Nanos| times.iter().map(of).max().unwrap_or_default();
        let set = Set {
            frames,
            opened: least(|frame| frame.came),
            complete: most(|frame| frame.came),
            skew: most(|frame| frame.captured) - least(|frame| frame.captured),
        };
        let begins = least(|frame| frame.captured);
        let is_better = |(began, best): &(Nanos, Set)| (set.skew, begins) < (best.skew, *began);
        if best.as_ref().is_none_or(is_better) {
            best = Some((begins, set));
        }
    }
    best.map(|(_, set)| set)
}

/// Of the frames without a set: when those came that opened one, and how many others there are. Frames before and after the time in
/// which all sensors have some are not looked at.
fn alone(
    sensors: &[&[FrameTime]],
    used: &[Vec<bool>],
    sets: &[Set],
    tolerance: Nanos,
) -> (Vec<Nanos>, usize) {
    let captures = |frames: &&[FrameTime]| -> Vec<Nanos> {
        let mut all: Vec<Nanos> = frames.iter().map(|frame| frame.captured).collect();
        all.sort_unstable();
        all
    };
    let sorted: Vec<Vec<Nanos>> = sensors.iter().map(captures).collect();
    let from = sorted.iter().filter_map(|of| of.first()).max();
    let to = sorted.iter().filter_map(|of| of.last()).min();
    let (Some(&from), Some(&to)) = (from, to) else {
        return (Vec::new(), 0);
    };
    // Sets come as often as the slowest sensor's frames. Where its gaps vary, a frame between two sets is up to two thirds of one away.
    let period = sorted.iter().filter_map(|of| median_gap(of)).max();
    let apart = Nanos(period.map_or(tolerance.0, |period| period.0 / 3 * 2));
    let mut waiting: Vec<FrameTime> = sensors
        .iter()
        .zip(used)
        .flat_map(|(frames, used)| frames.iter().zip(used))
        .filter(|(frame, used)| {
            !**used && frame.captured + tolerance >= from && frame.captured - tolerance <= to
        })
        .map(|(frame, _)| *frame)
        .collect();
    waiting.sort_unstable_by_key(|frame| (frame.came, frame.captured));
    let spans: Vec<(Nanos, Nanos)> = sets.iter().filter_map(|set| span(sensors, set)).collect();
    let mut incomplete: Vec<FrameTime> = Vec::new();
    let mut surplus = 0;
    for frame in waiting {
        let at = frame.captured;
        // Sets go forward, and so do their spans.
        let next = spans.partition_point(|(begin, _)| *begin <= at);
        let after = spans.get(next).is_some_and(|(begin, _)| *begin - at < apart);
        let before = next.checked_sub(1).and_then(|place| spans.get(place));
        let before = before.is_some_and(|(_, end)| at - *end < apart);
        let again = incomplete
            .last()
            .is_some_and(|other| (at - other.captured).0.abs() < apart.0);
        if before || after || again {
            surplus += 1;
        } else {
            incomplete.push(frame);
        }
    }
    (incomplete.into_iter().map(|frame| frame.came).collect(), surplus)
}

/// The earliest and the latest capture of a set.
fn span(sensors: &[&[FrameTime]], set: &Set) -> Option<(Nanos, Nanos)> {
    let frames = set.frames.iter().zip(sensors);
    let captures = || {
        frames
            .clone()
            .filter_map(|(number, of)| Some(of.get(*number)?.captured))
    };
    Some((captures().min()?, captures().max()?))
}

fn median_gap(sorted: &[Nanos]) -> Option<Nanos> {
    let mut gaps: Vec<Nanos> = sorted
        .windows(2)
        .filter_map(|pair| Some(*pair.get(1)? - *pair.first()?))
        .collect();
    gaps.sort_unstable();
    gaps.get(gaps.len() / 2).copied()
}

/// How near two sensors come to each other at best; `None` without frames of both.
pub fn nearest(one: &[FrameTime], other: &[FrameTime]) -> Option<Nanos> {
    let mut sorted: Vec<Nanos> = other.iter().map(|frame| frame.captured).collect();
    sorted.sort_unstable();
    let gaps = one.iter().flat_map(|frame| {
        let next = sorted.partition_point(|at| *at < frame.captured);
        let beside = [next.checked_sub(1), Some(next)];
        let at = beside
            .into_iter()
            .flatten()
            .filter_map(|at| sorted.get(at).copied());
        at.map(|at| Nanos((at - frame.captured).0.abs()))
            .collect::<Vec<_>>()
    });
    gaps.min()
}

#[cfg(test)]
#[path = "matcher_tests.rs"]
mod tests;
