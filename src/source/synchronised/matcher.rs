//! Which frames of several sensors make a set: a queue a sensor and a tolerance, as ROS's approximate-time filters have them.
//!
//! Frames are looked at in the order in which they came, so that no set knows of a frame that has not come yet. By the rule `Nearest`,
//! when one comes, it is held against those that wait in the other queues; of all sets that it completes within the tolerance, the one
//! with the least spread is made. Its frames leave their queues, and those in front of them as well, so that sets go forward in every
//! sensor. (The Python filter of ROS keeps these; the C++ filter drops them, and so do we.) The rule `Pivot` is in `pivot`.
//!
//! A frame without a set is one of two things. A faster sensor has more frames than there are sets: those are *surplus*. Else a sensor
//! that should have had a frame had none, and the set *stayed incomplete*.

use std::collections::VecDeque;

use jetlag_stats::median::upper_median;

use super::pivot::Pivot;
use super::set::Set;
use crate::scenario::SetRule;
use crate::source::timeline::FrameTime;
use crate::units::Nanos;

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

/// What makes sets of several sensors.
#[derive(Clone, Copy, Debug)]
pub struct Rules {
    /// How far apart the captures of a set may lie.
    pub tolerance: Nanos,
    /// How many frames of a sensor wait for a partner.
    pub queue: usize,
    /// Which of several sets is made, and when.
    pub rule: SetRule,
}

/// Makes sets of the frames of several sensors.
pub fn matched(sensors: &[&[FrameTime]], rules: Rules) -> Matched {
    let mut coming: Vec<(Nanos, usize, usize)> = sensors
        .iter()
        .enumerate()
        .flat_map(|(sensor, frames)| {
            let came = frames.iter().enumerate();
            came.map(move |(number, frame)| (frame.came, sensor, number))
        })
        .collect();
    coming.sort_unstable();
    let sets = match rules.rule {
        SetRule::Nearest => nearest(sensors, &coming, rules),
        SetRule::Pivot => {
            let mut filter = Pivot::new(sensors, rules.tolerance, rules.queue);
            for (at, sensor, number) in coming {
                filter.came(at, sensor, number);
            }
            filter.finish()
        }
    };
    let mut used: Vec<Vec<bool>> = sensors.iter().map(|frames| vec![false; frames.len()]).collect();
    for set in &sets {
        for (flags, &number) in used.iter_mut().zip(&set.frames) {
            if let Some(flag) = flags.get_mut(number) {
                *flag = true;
            }
        }
    }
    let (incomplete, surplus) = alone(sensors, &used, &sets, rules.tolerance);
    Matched {
        sets,
        incomplete,
        surplus,
    }
}

/// By the nearest of what waits.
fn nearest(sensors: &[&[FrameTime]], coming: &[(Nanos, usize, usize)], rules: Rules) -> Vec<Set> {
    let mut queues: Vec<VecDeque<usize>> = vec![VecDeque::new(); sensors.len()];
    let mut sets = Vec::new();
    for &(_, sensor, number) in coming {
        let Some(own) = queues.get_mut(sensor) else {
            continue;
        };
        own.push_back(number);
        if own.len() > rules.queue.max(1) {
            own.pop_front();
        }
        let Some(set) = completed(sensors, &queues, (sensor, number), rules.tolerance) else {
            continue;
        };
        for (queue, number) in queues.iter_mut().zip(&set.frames) {
            let at = queue.iter().position(|waiting| waiting == number);
            queue.drain(..at.map_or(0, |at| at + 1));
        }
        sets.push(set);
    }
    sets
}

/// The set with the least spread that this frame completes with those that wait, of several the earliest; `None` where there is none
/// within the tolerance. Sorts what waits within the tolerance once, and looks at each of it once.
fn completed(
    sensors: &[&[FrameTime]],
    queues: &[VecDeque<usize>],
    (sensor, number): (usize, usize),
    tolerance: Nanos,
) -> Option<Set> {
    let captured = |place: usize, number: usize| Some(sensors.get(place)?.get(number)?.captured);
    let own = captured(sensor, number)?;
    let mut near: Vec<(Nanos, usize, usize)> = vec![(own, sensor, number)];
    for (place, queue) in queues.iter().enumerate().filter(|(place, _)| *place != sensor) {
        let before = near.len();
        near.extend(queue.iter().filter_map(|&waiting| {
            let at = captured(place, waiting)?;
            ((at - own).0.abs() <= tolerance.0).then_some((at, place, waiting))
        }));
        // Mostly a sensor has nothing yet, and then no set can be.
        if near.len() == before {
            return None;
        }
    }
    near.sort_unstable();
    // Of each sensor the first frame from here on: with the one at which a set begins, these are the set with the least spread.
    let mut first: Vec<Option<(Nanos, usize)>> = vec![None; sensors.len()];
    *first.get_mut(sensor)? = Some((own, number));
    let mut best: Option<(Nanos, Vec<usize>)> = None;
    for (begin, place, waiting) in near.into_iter().rev() {
        if place != sensor {
            *first.get_mut(place)? = Some((begin, waiting));
        }
        if begin > own {
            continue;
        }
        let Some(frames) = first.iter().copied().collect::<Option<Vec<_>>>() else {
            continue;
        };
        let end = frames.iter().map(|(at, _)| *at).max()?;
        let spread = end - begin;
        if spread <= tolerance && best.as_ref().is_none_or(|(least, _)| spread <= *least) {
            best = Some((spread, frames.into_iter().map(|(_, number)| number).collect()));
        }
    }
    Set::of(sensors, best?.1)
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
    upper_median(&mut gaps, Ord::cmp)
}

/// How near one frame of each sensor come to each other at best; `None` where a sensor has none.
pub fn least_spread(sensors: &[&[FrameTime]]) -> Option<Nanos> {
    let mut all: Vec<(Nanos, usize)> = sensors
        .iter()
        .enumerate()
        .flat_map(|(sensor, frames)| frames.iter().map(move |frame| (frame.captured, sensor)))
        .collect();
    all.sort_unstable();
    // The latest frame of each sensor so far: the least spread ends with one of them and has the latest of the others.
    let mut latest: Vec<Option<Nanos>> = vec![None; sensors.len()];
    let mut least: Option<Nanos> = None;
    for (at, sensor) in all {
        if let Some(own) = latest.get_mut(sensor) {
            *own = Some(at);
        }
        let earliest: Option<Nanos> = latest.iter().copied().min().flatten();
        if let Some(earliest) = earliest {
            let spread = at - earliest;
            least = Some(least.map_or(spread, |least| least.min(spread)));
        }
    }
    least
}

#[cfg(test)]
#[path = "matcher_tests.rs"]
mod tests;
