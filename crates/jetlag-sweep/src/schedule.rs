//! The order of runs: repeats interleaved, so that whatever drifts does so for all points, and axes that stop at their first failure
//! in the order in which they grow.

use std::collections::{HashMap, HashSet};

use jetlag_stats::random::Draws;

use super::plan::{Order, Plan, Point};

/// One run of a point.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Run {
    /// The point's position.
    pub point: usize,
    /// From 0.
    pub repeat: u32,
}

/// All runs in order: every point once, then every point once more.
pub fn schedule(plan: &Plan, points: &[Point]) -> Vec<Run> {
    let mut runs = Vec::with_capacity(points.len().saturating_mul(plan.repeats as usize));
    for repeat in 0..plan.repeats {
        let mut order: Vec<usize> = (0..points.len()).collect();
        if let Order::Random { seed } = plan.order {
            Draws::new(seed.wrapping_add(u64::from(repeat).wrapping_mul(0x9e37_79b9_7f4a_7c15)))
                .shuffle(&mut order);
            keep_growing(plan, points, &mut order);
        }
        runs.extend(order.into_iter().map(|point| Run { point, repeat }));
    }
    runs
}

/// Points that differ only along an axis that stops at its first failure are brought into its order, in the turns that they have.
fn keep_growing(plan: &Plan, points: &[Point], order: &mut [usize]) {
    let stops: Vec<usize> = growing(plan);
    if stops.is_empty() {
        return;
    }
    let mut turns: HashMap<Vec<usize>, Vec<usize>> = HashMap::new();
    for (turn, &point) in order.iter().enumerate() {
        if let Some(point) = points.get(point) {
            turns.entry(others(&stops, point)).or_default().push(turn);
        }
    }
    for turns in turns.values() {
        let mut members: Vec<usize> = turns
            .iter()
            .filter_map(|&turn| order.get(turn).copied())
            .collect();
        // Points of a grid are numbered as their axes grow.
        members.sort_unstable();
        for (&turn, member) in turns.iter().zip(members) {
            if let Some(place) = order.get_mut(turn) {
                *place = member;
            }
        }
    }
}

fn growing(plan: &Plan) -> Vec<usize> {
    let axes = plan.axes.iter().enumerate();
    axes.filter(|(_, axis)| axis.till_first_fail)
        .map(|(place, _)| place)
        .collect()
}

/// The places on all other axes.
fn others(stops: &[usize], point: &Point) -> Vec<usize> {
    let places = point.places.iter().enumerate();
    places
        .filter(|(axis, _)| !stops.contains(axis))
        .map(|(_, &place)| place)
        .collect()
}

/// Points that are not run, since a point before them on an axis that stops has failed: each with that point's position. A point
/// comes after another if it is as far or farther on every such axis, and equal on all others.
pub fn cut(plan: &Plan, points: &[Point], failed: &HashSet<usize>) -> HashMap<usize, usize> {
    let stops = growing(plan);
    if stops.is_empty() || failed.is_empty() {
        return HashMap::new();
    }
    let mut of_group: HashMap<Vec<usize>, Vec<usize>> = HashMap::new();
    let mut in_order: Vec<usize> = failed.iter().copied().collect();
    in_order.sort_unstable();
    for point in in_order {
        if let Some(at) = points.get(point).filter(|at| !at.places.is_empty()) {
            of_group.entry(others(&stops, at)).or_default().push(point);
        }
    }
    let mut cut = HashMap::new();
    for (number, point) in points.iter().enumerate() {
        let Some(before) = of_group.get(&others(&stops, point)) else {
            continue;
        };
        let first = before.iter().copied().find(|&failed| {
            failed != number
                && points.get(failed).is_some_and(|failed| {
                    stops
                        .iter()
                        .all(|&axis| failed.places.get(axis) <= point.places.get(axis))
                })
        });
        if let Some(first) = first {
            cut.insert(number, first);
        }
    }
    cut
}
