use proptest::prelude::*;

use super::*;

const MS: i64 = 1_000_000;

fn at_once(ms: impl IntoIterator<Item = i64>) -> Vec<FrameTime> {
    let frame = |ms: i64| FrameTime {
        captured: Nanos(ms * MS),
        came: Nanos(ms * MS),
    };
    ms.into_iter().map(frame).collect()
}

fn by_nearest(sensors: &[&[FrameTime]], tolerance: Nanos, queue: usize) -> Matched {
    let rule = SetRule::Nearest;
    matched(
        sensors,
        Rules {
            tolerance,
            queue,
            rule,
        },
    )
}

fn pairs(of: &Matched) -> Vec<(usize, usize)> {
    of.sets.iter().map(|set| (set.frames[0], set.frames[1])).collect()
}

#[test]
fn a_set_opens_with_its_first_frame_and_is_complete_with_its_last() {
    let (camera, lidar) = (at_once([0, 100, 200]), at_once([20, 95, 230]));
    let found = by_nearest(&[&camera, &lidar], Nanos(50 * MS), 10);
    assert_eq!(pairs(&found), [(0, 0), (1, 1), (2, 2)]);
    let times: Vec<(i64, i64, i64)> = found
        .sets
        .iter()
        .map(|set| (set.opened.0 / MS, set.complete.0 / MS, set.skew.0 / MS))
        .collect();
    assert_eq!(times, [(0, 20, 20), (95, 100, 5), (200, 230, 30)]);
    assert!(found.incomplete.is_empty());
}

#[test]
fn surplus_frames_of_a_faster_sensor_are_no_incomplete_sets() {
    // As nuScenes has it: 12 images and 20 sweeps a second.
    let camera = at_once((0..120).map(|n| n * 1000 / 12));
    let lidar = at_once((0..200).map(|n| n * 50));
    let found = by_nearest(&[&camera, &lidar], Nanos(50 * MS), 10);
    assert_eq!(found.sets.len(), 120);
    assert_eq!((found.incomplete.len(), found.surplus), (0, 80));
}

#[test]
fn a_sensor_that_misses_frames_leaves_sets_incomplete() {
    let camera = at_once((0..100).filter(|n| n % 4 != 3).map(|n| n * 100));
    let lidar = at_once((0..100).map(|n| n * 100 + 10));
    let found = by_nearest(&[&camera, &lidar], Nanos(50 * MS), 10);
    assert_eq!(found.sets.len(), 75);
    // The last one came after the camera's last image, within the tolerance of nothing.
    let times: Vec<i64> = found.incomplete.iter().map(|at| at.0 / MS).collect();
    assert_eq!(times, (0..24).map(|n| n * 400 + 310).collect::<Vec<_>>());
    assert_eq!(found.surplus, 0);
}

#[test]
fn sensors_that_are_too_far_apart_make_one_incomplete_set_a_period() {
    let camera = at_once((0..50).map(|n| n * 100));
    let lidar = at_once((0..50).map(|n| n * 100 + 40));
    let found = by_nearest(&[&camera, &lidar], Nanos(20 * MS), 10);
    assert!(found.sets.is_empty());
    // But for the first image and the last sweep, which are alone in time.
    assert_eq!((found.incomplete.len(), found.surplus), (49, 49));
    assert_eq!(least_spread(&[&camera, &lidar]), Some(Nanos(40 * MS)));
    assert_eq!(least_spread(&[&camera, &[]]), None);
    let third = at_once([130]);
    assert_eq!(least_spread(&[&camera, &lidar, &third]), Some(Nanos(40 * MS)));
    assert_eq!(least_spread(&[&camera, &third, &third]), Some(Nanos(30 * MS)));
}

#[test]
fn a_queue_forgets_what_waited_too_long_for_a_late_sensor() {
    let lidar: Vec<FrameTime> = at_once((0..6).map(|n| n * 10));
    // Captured beside the first sweep, and 60 ms on its way.
    let camera = [FrameTime {
        captured: Nanos::ZERO,
        came: Nanos(60 * MS),
    }];
    let deep = by_nearest(&[&camera, &lidar], Nanos(5 * MS), 10);
    assert_eq!(pairs(&deep), [(0, 0)]);
    assert_eq!(
        (deep.sets[0].skew, deep.sets[0].complete),
        (Nanos::ZERO, Nanos(60 * MS))
    );
    assert!(by_nearest(&[&camera, &lidar], Nanos(5 * MS), 3).sets.is_empty());
}

#[test]
fn three_sensors_make_a_set_when_the_last_has_come() {
    let (front, back, lidar) = (at_once([0, 100]), at_once([30, 130]), at_once([45, 170]));
    let found = by_nearest(&[&front, &back, &lidar], Nanos(50 * MS), 10);
    assert_eq!(found.sets.len(), 1);
    assert_eq!(found.sets[0].frames, [0, 0, 0]);
    assert_eq!(found.sets[0].skew, Nanos(45 * MS));
    // The second one spans 70 ms.
    assert_eq!(found.incomplete.len(), 1);
}

#[test]
fn of_two_frames_as_near_the_earlier_is_taken() {
    let sweeps = at_once([100, 132]);
    // Captured between both, and later on its way than both.
    let image = [FrameTime {
        captured: Nanos(116 * MS),
        came: Nanos(140 * MS),
    }];
    assert_eq!(
        pairs(&by_nearest(&[&image, &sweeps], Nanos(16 * MS), 10)),
        [(0, 0)]
    );
    assert_eq!(
        pairs(&by_nearest(&[&sweeps, &image], Nanos(16 * MS), 10)),
        [(0, 0)]
    );
    // The later one came first, and both are within the tolerance.
    let turned = [(132, 133), (100, 135)].map(|(captured, came)| FrameTime {
        captured: Nanos(captured * MS),
        came: Nanos(came * MS),
    });
    assert_eq!(
        pairs(&by_nearest(&[&image, &turned], Nanos(32 * MS), 10)),
        [(0, 1)]
    );
}

fn times() -> impl Strategy<Value = Vec<FrameTime>> {
    let gap = (1i64..200, 0i64..30);
    proptest::collection::vec(gap, 0..60).prop_map(|gaps| {
        let mut at = 0;
        let mut latest = 0;
        gaps.into_iter()
            .map(|(gap, delay)| {
                at += gap;
                latest = latest.max(at + delay);
                FrameTime {
                    captured: Nanos(at * MS),
                    came: Nanos(latest * MS),
                }
            })
            .collect()
    })
}

proptest! {
    #[test]
    fn every_set_is_within_the_tolerance_and_sets_go_forward(
        sensors in proptest::collection::vec(times(), 1..4),
        tolerance in 1i64..150,
        queue in 1usize..12,
    ) {
        let sensors: Vec<&[FrameTime]> = sensors.iter().map(Vec::as_slice).collect();
        let found = by_nearest(&sensors, Nanos(tolerance * MS), queue);
        for set in &found.sets {
            let of = |of: fn(&FrameTime) -> Nanos| -> Vec<Nanos> {
                set.frames.iter().zip(&sensors).map(|(at, frames)| of(&frames[*at])).collect()
            };
            let (captured, came) = (of(|frame| frame.captured), of(|frame| frame.came));
            prop_assert_eq!(set.skew, *captured.iter().max().unwrap() - *captured.iter().min().unwrap());
            prop_assert!(set.skew <= Nanos(tolerance * MS));
            prop_assert_eq!(set.opened, *came.iter().min().unwrap());
            prop_assert_eq!(set.complete, *came.iter().max().unwrap());
        }
        for pair in found.sets.windows(2) {
            prop_assert!(pair[0].complete <= pair[1].complete);
            prop_assert!(pair[0].opened <= pair[1].opened);
            for (before, after) in pair[0].frames.iter().zip(&pair[1].frames) {
                prop_assert!(before < after, "a frame is in one set only, and sets go forward");
            }
        }
        prop_assert!(found.incomplete.is_sorted());
        let frames: usize = sensors.iter().map(|frames| frames.len()).sum();
        let in_sets = found.sets.len() * sensors.len();
        prop_assert!(in_sets + found.incomplete.len() + found.surplus <= frames);
    }

    #[test]
    fn sets_are_those_of_the_definition(
        sensors in proptest::collection::vec(times(), 2..5),
        tolerance in 1i64..150,
        queue in 1usize..5,
    ) {
        let sensors: Vec<&[FrameTime]> = sensors.iter().map(Vec::as_slice).collect();
        let found = by_nearest(&sensors, Nanos(tolerance * MS), queue);
        let found: Vec<Vec<usize>> = found.sets.into_iter().map(|set| set.frames).collect();
        prop_assert_eq!(found, by_definition(&sensors, tolerance * MS, queue));
    }
}

/// Written anew, by trying all: when a frame comes, of all sets with it and with one that waits of each other sensor, that with the least
/// spread; of several the earliest, of each sensor its earliest frame.
fn by_definition(sensors: &[&[FrameTime]], tolerance: i64, queue: usize) -> Vec<Vec<usize>> {
    let mut coming: Vec<(i64, usize, usize)> = Vec::new();
    for (sensor, frames) in sensors.iter().enumerate() {
        for (number, frame) in frames.iter().enumerate() {
            coming.push((frame.came.0, sensor, number));
        }
    }
    coming.sort_unstable();
    let mut queues: Vec<Vec<usize>> = vec![Vec::new(); sensors.len()];
    let mut all = Vec::new();
    for (_, sensor, number) in coming {
        queues[sensor].push(number);
        if queues[sensor].len() > queue {
            queues[sensor].remove(0);
        }
        let mut tried: Vec<Vec<usize>> = vec![Vec::new()];
        for (place, waiting) in queues.iter().enumerate() {
            let choices = if place == sensor {
                vec![number]
            } else {
                waiting.clone()
            };
            tried = tried
                .iter()
                .flat_map(|set| choices.iter().map(move |choice| [&set[..], &[*choice]].concat()))
                .collect();
        }
        let captures = |set: &Vec<usize>| -> Vec<i64> {
            let at = |(place, number): (usize, &usize)| sensors[place][*number].captured.0;
            set.iter().enumerate().map(at).collect()
        };
        let rank = |set: &Vec<usize>| {
            let captures = captures(set);
            let begin = *captures.iter().min().unwrap();
            (captures.iter().max().unwrap() - begin, begin, captures)
        };
        let best = tried
            .into_iter()
            .filter(|set| rank(set).0 <= tolerance)
            .min_by_key(rank);
        if let Some(set) = best {
            for (waiting, used) in queues.iter_mut().zip(&set) {
                waiting.retain(|number| number > used);
            }
            all.push(set);
        }
    }
    all
}

#[test]
fn of_three_sensors_the_set_with_the_least_spread_is_made_whoever_came_last() {
    let came = |captured: i64, came: i64| FrameTime {
        captured: Nanos(captured * MS),
        came: Nanos(came * MS),
    };
    let (one, two, lidar) = ([came(0, 0)], [came(5, 5), came(13, 13)], [came(10, 40)]);
    let found = by_nearest(&[&one, &two, &lidar], Nanos(20 * MS), 10);
    assert_eq!(found.sets[0].frames, [0, 0, 0]);
    assert_eq!(found.sets[0].skew, Nanos(10 * MS));
}
