use proptest::prelude::*;

use super::*;

const S: i64 = 1_000_000_000;

/// Sets, by the seconds of their frames and the second in which each was made, from lines of frames a sensor: a letter is a frame in
/// the second in which it stands. Frames of one second come in the order of the sensors.
fn sets(lines: &[&str], queue: usize, at_end: bool) -> Vec<(Vec<i64>, i64)> {
    let frames: Vec<Vec<FrameTime>> = lines
        .iter()
        .map(|line| {
            let letters = line.bytes().enumerate().filter(|(_, letter)| *letter != b'.');
            letters
                .map(|(second, _)| Nanos(second as i64 * S))
                .map(|at| FrameTime {
                    captured: at,
                    came: at,
                })
                .collect()
        })
        .collect();
    let sensors: Vec<&[FrameTime]> = frames.iter().map(Vec::as_slice).collect();
    let mut filter = Pivot::new(&sensors, Nanos(1000 * S), queue);
    let mut coming: Vec<(Nanos, usize, usize)> = Vec::new();
    for (sensor, frames) in sensors.iter().enumerate() {
        coming.extend(
            frames
                .iter()
                .enumerate()
                .map(|(number, of)| (of.came, sensor, number)),
        );
    }
    coming.sort_unstable();
    for (at, sensor, number) in coming {
        filter.came(at, sensor, number);
    }
    let made = if at_end { filter.finish() } else { filter.sets };
    let seconds = |set: &Set| {
        let numbers = set.frames.iter().zip(&sensors);
        numbers.map(|(number, of)| of[*number].captured.0 / S).collect()
    };
    made.iter()
        .map(|set| (seconds(set), set.complete.0 / S))
        .collect()
}

/// The filter's own tests have these inputs and sets (message_filters, test_approximate_time_policy); the times at which they are made are
/// those of their drawings.
#[test]
fn known_sets_are_those_of_the_filter_in_ros() {
    let made = |lines: &[&str], queue| sets(lines, queue, false);
    let exact = made(&["a..b..c", "A..B..C"], 10);
    assert_eq!(exact, [(vec![0, 0], 0), (vec![3, 3], 3), (vec![6, 6], 6)]);
    let perfect = ["a..b..c.", ".A..B..C"];
    assert_eq!(made(&perfect, 10), [(vec![0, 1], 3), (vec![3, 4], 6)]);
    // What proves the first set is the second one, whose frames come at once.
    let at_once = made(&["a..b", ".A.B"], 10);
    assert_eq!(at_once, [(vec![0, 1], 3), (vec![3, 3], 3)]);
    let other_first = made(&[".A.B", "a..b"], 10);
    assert_eq!(other_first, [(vec![1, 0], 3), (vec![3, 3], 3)]);
    let imperfect = made(&["a.xb..c.", ".A...B.C"], 10);
    assert_eq!(imperfect, [(vec![0, 1], 2), (vec![6, 5], 6)]);
    let faster = made(&["a...........b....c.", ".......A.......B..C"], 10);
    assert_eq!(faster, [(vec![12, 7], 12), (vec![17, 18], 18)]);
    let dropping = ["a...b...c.d..e.", ".A.B...C...D..E"];
    assert_eq!(made(&dropping, 1), [(vec![4, 3], 7), (vec![10, 11], 13)]);
    let enough = [
        (vec![0, 1], 4),
        (vec![4, 3], 7),
        (vec![8, 7], 11),
        (vec![10, 11], 13),
    ];
    assert_eq!(made(&dropping, 2), enough);
    let four = [
        "a....e..i.m..n.",
        ".b....g..j....o",
        "..c...h...k....",
        "...d.f.....l...",
    ];
    let frames: Vec<Vec<i64>> = made(&four, 10).into_iter().map(|(of, _)| of).collect();
    // One of these comes out of order there.
    assert_eq!(frames, [vec![0, 1, 2, 3], vec![5, 6, 6, 5], vec![10, 9, 10, 11]]);
    let early = ["a......e", ".b......", "..c.....", "...d...."];
    assert_eq!(made(&early, 10), [(vec![0, 1, 2, 3], 7)]);
    // What is in hand at the end is made then.
    assert_eq!(sets(&perfect, 10, true).last(), Some(&(vec![6, 7], 7)));
}

proptest! {
    #[test]
    fn sets_go_forward_within_the_tolerance_and_are_made_when_all_is_there(
        gaps in proptest::collection::vec(proptest::collection::vec(1i64..200, 0..40), 1..5),
        tolerance in 1i64..200,
        queue in 1usize..12,
    ) {
        let frames: Vec<Vec<FrameTime>> = gaps.iter().map(|gaps| {
            let mut at = 0;
            gaps.iter().map(|gap| {
                at += gap;
                FrameTime { captured: Nanos(at), came: Nanos(at) }
            }).collect()
        }).collect();
        let sensors: Vec<&[FrameTime]> = frames.iter().map(Vec::as_slice).collect();
        let mut coming: Vec<(Nanos, usize, usize)> = Vec::new();
        for (sensor, frames) in sensors.iter().enumerate() {
            coming.extend(frames.iter().enumerate().map(|(number, of)| (of.came, sensor, number)));
        }
        coming.sort_unstable();
        let mut filter = Pivot::new(&sensors, Nanos(tolerance), queue);
        for (at, sensor, number) in coming {
            filter.came(at, sensor, number);
            for own in &filter.waiting {
                prop_assert!(own.front.len() + own.past.len() <= queue);
            }
        }
        let sets = filter.finish();
        for set in &sets {
            prop_assert!(set.skew <= Nanos(tolerance));
            let last = set.frames.iter().zip(&sensors).map(|(number, of)| of[*number].came).max();
            prop_assert!(Some(set.complete) >= last);
        }
        for pair in sets.windows(2) {
            prop_assert!(pair[0].frames.iter().zip(&pair[1].frames).all(|(a, b)| a < b));
            prop_assert!(pair[0].complete <= pair[1].complete);
        }
    }
}
