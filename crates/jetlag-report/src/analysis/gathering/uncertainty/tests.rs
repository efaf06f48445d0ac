//! What half an interval is made of, each part by itself: readings, gaps, the scatter of blocks, steps.

mod truth;

use rand_distr::{Distribution, Normal, Uniform};
use rand_pcg::Pcg64;
use rand_pcg::rand_core::SeedableRng;

use super::*;

const MS: i64 = 1_000_000;

struct Random(Pcg64);

impl Random {
    fn uniform(&mut self, from: f64, to: f64) -> f64 {
        Uniform::new(from, to).unwrap().sample(&mut self.0)
    }
    fn normal(&mut self, sd: f64) -> f64 {
        Normal::new(0.0, sd).unwrap().sample(&mut self.0)
    }
}

#[test]
fn a_sensor_whose_step_is_unknown_has_the_least_difference_that_was_seen_or_no_interval() {
    let of = |values: &dyn Fn(i64) -> f64, step| {
        let point = |i: i64| Point {
            at: Stamp(i * 100 * MS),
            value: values(i),
            low: values(i),
            high: values(i),
        };
        let line = Line {
            points: (0..=400).map(point).collect(),
            period: Nanos(100 * MS),
            each: 1,
            refresh: Nanos(100 * MS),
            renewed: Nanos(100 * MS),
            sight: Sight::Mean(Nanos(100 * MS)),
            step,
        };
        half_mw(&[line], (Stamp(0), Stamp(40_000 * MS)))
    };
    assert_eq!(of(&|_| 10_000.0, None), Err(NoInterval::Step));
    assert_eq!(of(&|_| 10_000.0, Some(40.0)), Ok(20.0));
    // Before the window's last tenth of a second it once said 8 mW more: half of that, at least.
    let once = of(&|i| if i == 200 { 10_008.0 } else { 10_000.0 }, None).unwrap();
    assert!((4.0..6.0).contains(&once), "{once}");
}

fn of_points(values: &[(i64, f64)], sight: Sight) -> Line<'static> {
    let point = |&(ms, value): &(i64, f64)| Point {
        at: Stamp(ms * MS),
        value,
        low: value,
        high: value,
    };
    Line {
        points: values.iter().map(point).collect(),
        period: Nanos(100 * MS),
        each: 1,
        refresh: Nanos(100 * MS),
        renewed: Nanos(100 * MS),
        sight,
        step: Some(40.0),
    }
}

#[test]
fn between_two_readings_power_lies_on_the_line_and_in_a_gap_it_is_unknown() {
    let line = of_points(
        &[
            (0, 1_000.0),
            (100, 2_000.0),
            (200, 6_000.0),
            (5_000, 6_000.0),
            (5_100, 1_000.0),
        ],
        Sight::Moment,
    );
    for (ms, power) in [
        (-1, None),
        (0, Some(1_000.0)),
        (25, Some(1_250.0)),
        (100, Some(2_000.0)),
        (150, Some(4_000.0)),
        (200, Some(6_000.0)),
        (2_000, None),
        (5_080, Some(2_000.0)),
        (5_101, None),
    ] {
        let found = line.at(Stamp(ms * MS));
        let same = match (found, power) {
            (Some(found), Some(power)) => (found - power).abs() < 1e-6,
            (found, power) => found.is_none() && power.is_none(),
        };
        assert!(same, "{ms} ms: {found:?}, {power:?}");
    }
}

#[test]
fn lines_that_are_read_at_other_moments_are_added_at_those_of_the_first() {
    let rising = of_points(&[(0, 0.0), (100, 1_000.0), (200, 2_000.0)], Sight::Moment);
    let other = of_points(
        &[(-50, 4_000.0), (50, 5_000.0), (150, 6_000.0), (250, 7_000.0)],
        Sight::Moment,
    );
    let lines = [rising, other];
    let sum: Vec<(i64, f64)> = added(&lines)
        .unwrap()
        .iter()
        .map(|point| (point.at.0 / MS, point.value))
        .collect();
    assert_eq!(sum, [(0, 4_500.0), (100, 6_500.0), (200, 8_500.0)]);
}

#[test]
fn what_no_reading_met_is_at_most_three_readings_of_the_highest() {
    let mut random = Random(Pcg64::seed_from_u64(3));
    // Moments, taken at random: one of 401 met twice the power of the others.
    let values: Vec<(i64, f64)> = (0..=400)
        .map(|i| {
            let ms = i * 100 + random.uniform(0.0, 90.0) as i64;
            (ms, if i == 200 { 20_000.0 } else { 10_000.0 })
        })
        .collect();
    let line = of_points(&values, Sight::Moment);
    let half = half_mw(&[line], (Stamp(0), Stamp(40_000 * MS))).unwrap();
    // Three of 400 readings of 10 W more are 75 mW; the scatter of blocks and half a step come to as much again.
    assert!((75.0..300.0).contains(&half), "{half}");
}

#[test]
fn in_time_that_was_not_read_there_may_have_been_twice_the_highest_power() {
    let values: Vec<(i64, f64)> = (0..=600)
        .filter(|i| !(201..204).contains(i))
        .map(|i| (i * 100, 10_000.0))
        .collect();
    let mut line = of_points(&values, Sight::Mean(Nanos(100 * MS)));
    // Readings that were drawn together: their mean is that of the others, and one of them was higher.
    line.points.to_mut()[300].high = 30_000.0;
    let half = half_mw(&[line], (Stamp(0), Stamp(60_000 * MS))).unwrap();
    // 400 of 60 000 ms may have been at 60 W instead of 10 W; half a step is 20 mW.
    assert!((half - (50_000.0 * 0.4 / 60.0 + 20.0)).abs() < 0.1, "{half}");
}

/// Readings one after another at these distances in ms, the first at 0.
fn at_distances(distances: impl IntoIterator<Item = i64>) -> Vec<(i64, f64)> {
    let mut at = 0;
    let later = distances.into_iter().map(|distance| {
        at += distance;
        (at, 10_000.0)
    });
    std::iter::once((0, 10_000.0))
        .chain(later.collect::<Vec<_>>())
        .collect()
}

fn ms(from: i64, to: i64) -> (Stamp, Stamp) {
    (Stamp(from * MS), Stamp(to * MS))
}

#[test]
fn the_longest_usual_distance_of_a_window_is_of_the_readings_in_it_and_of_those_next_to_it() {
    // Once a second until 10 s, ten times a second until 20 s, then every two seconds.
    let distances = [1_000; 10].into_iter().chain([100; 100]).chain([2_000; 10]);
    let line = of_points(&at_distances(distances), Sight::Moment);
    for (from, to, spacing) in [
        (13_000, 17_000, 100),
        (2_000, 4_000, 1_000),
        (25_000, 30_000, 2_000),
        // The reading at 10 s is a second after the one before it, of which the window holds a part.
        (9_900, 15_000, 1_000),
        (10_001, 15_000, 100),
    ] {
        assert_eq!(line.spacing(ms(from, to)), Nanos(spacing * MS), "{from} to {to}");
    }
    assert_eq!(
        of_points(&[], Sight::Moment).spacing(ms(0, 1)),
        Nanos(100 * MS),
        "as planned"
    );
}

#[test]
fn readings_are_at_random_where_their_distances_vary_within_the_window() {
    let at_random = |distances: &[i64], each: u32, window: (Stamp, Stamp)| {
        let mut line = of_points(&at_distances(distances.iter().copied()), Sight::Moment);
        line.each = each;
        line.at_random(window)
    };
    let regular = [100; 30];
    let turns: Vec<i64> = [60, 140].repeat(15);
    let all = ms(0, 100_000);
    assert!(!at_random(&regular, 1, all) && at_random(&turns, 1, all));
    // What lies before and after a window is not of it.
    let around: Vec<i64> = [&turns[..], &regular, &turns].concat();
    assert!(!at_random(&around, 1, ms(3_700, 5_300)));
    let between: Vec<i64> = [&regular[..], &turns, &regular].concat();
    assert!(at_random(&between, 1, ms(3_700, 5_300)));
    // It takes three distances, and those that begin and end with the window count.
    assert!(at_random(&turns, 1, ms(600, 600 + 260)));
    assert!(!at_random(&turns, 1, ms(600, 600 + 200)));
    // Every third is 60 % longer: the mean is 1.2 and the deviation 0.283, a share of 0.236 where 0.3 are asked for.
    let thirds: Vec<i64> = [100, 100, 160].repeat(10);
    assert!(!at_random(&thirds, 1, all));
    // Of four readings that were drawn together an eighth of that is enough, 0.0375.
    let tenths: Vec<i64> = [90, 110].repeat(15);
    assert!(at_random(&tenths, 4, all) && !at_random(&tenths, 1, all));
    let hundredths: Vec<i64> = [99, 101].repeat(15);
    assert!(!at_random(&hundredths, 4, all));
    // A gap is no distance.
    let one_gap: Vec<i64> = [&regular[..], &[2_000], &regular].concat();
    assert!(!at_random(&one_gap, 1, all));
}

#[test]
fn means_cover_the_time_between_readings_together() {
    let mut line = of_points(&at_distances([100; 30]), Sight::Moment);
    let covers = |line: &Line<'_>, over: i64| line.covers(Nanos(over * MS), ms(0, 3_000));
    assert!(covers(&line, 95) && !covers(&line, 94));
    line.each = 4;
    assert!(covers(&line, 25) && !covers(&line, 23));
}

#[test]
fn the_least_difference_that_was_seen_is_none_of_no_difference() {
    let mut line = of_points(&[(0, 10.0), (100, 10.0), (200, 34.0), (300, 26.0)], Sight::Moment);
    assert_eq!(line.resolution(), Ok(40.0));
    line.step = None;
    assert_eq!(line.resolution(), Ok(8.0));
    line.step = Some(0.0);
    assert_eq!(line.resolution(), Ok(8.0));
}

#[test]
fn half_an_interval_adds_up_what_is_not_known() {
    // 100 groups of four moments each, in turns 60 and 140 ms apart, of which one met 30 W; for 600 ms there were none.
    let distances = (0..=100).map(|i| match i {
        50 => 600,
        _ if i % 2 == 0 => 60,
        _ => 140,
    });
    let values = at_distances(distances);
    let (last, _) = values[values.len() - 1];
    let of = |readings: usize, rails: usize| {
        let mut line = of_points(&values, Sight::Moment);
        line.each = 4;
        line.points.to_mut()[30].high = 30_000.0;
        // The window begins after so many readings that `readings` are in it.
        let from = values[values.len() - readings].0;
        (half_mw(&vec![line; rails], ms(from, last)), last - from)
    };
    let expected = |count: f64, length: i64, rails: f64| {
        let (highest, mean) = (30_000.0 * rails, 10_000.0 * rails);
        let (unseen, unmet) = (600.0 / length as f64, 3.0 / count);
        rails * 20.0 + unseen * (2.0 * highest - mean) + unmet * (highest - mean)
    };
    // A gap of 6 % is too much for an interval, so the load is that of a longer time: see below.
    assert_eq!(of(100, 1).0, Err(NoInterval::Gaps));
    assert_eq!(of(74, 1).0, Err(NoInterval::Short), "296 readings");
    let long: Vec<i64> = (0..800)
        .map(|i| {
            if i == 400 {
                600
            } else if i % 2 == 0 {
                60
            } else {
                140
            }
        })
        .collect();
    let values = at_distances(long);
    let (last, _) = values[values.len() - 1];
    for rails in [1, 2] {
        let mut line = of_points(&values, Sight::Moment);
        line.each = 4;
        line.points.to_mut()[30].high = 30_000.0;
        let half = half_mw(&vec![line; rails], ms(0, last)).unwrap();
        let expected = expected(4.0 * 801.0, last, rails as f64);
        assert!((half - expected).abs() < 1e-6, "{rails}: {half} for {expected}");
    }
}

#[test]
fn three_hundred_readings_are_a_sample() {
    let short = |readings: usize| {
        let distances: Vec<i64> = (1..readings).map(|i| if i % 2 == 0 { 60 } else { 140 }).collect();
        let values = at_distances(distances);
        let line = of_points(&values, Sight::Moment);
        half_mw(&[line], ms(0, values[readings - 1].0)).is_err()
    };
    assert!(short(299) && !short(300));
}

#[test]
fn a_step_of_a_load_that_is_measured_all_the_time_leaves_little_open() {
    // 8 W for half a minute, then 19 W: where all time is measured that is known, however much it scatters. What is not known is
    // when within 200 ms the last reading was, and half a step of 40 mW.
    let load: Vec<(i64, f64)> = (0..=600)
        .map(|i| (i * 100, if i <= 300 { 8_000.0 } else { 19_000.0 }))
        .collect();
    let half = |sight| half_mw(&[of_points(&load, sight)], ms(0, 60_000)).unwrap();
    let ends = |seconds: f64| 20.0 + 11_000.0 * seconds / 60.0;
    let found = half(Sight::Mean(Nanos(100 * MS)));
    assert!((found - ends(0.2)).abs() < 1e-6, "{found} mW");
    assert!(found < 0.005 * 13_500.0, "0.42 % of the mean");
    // A filter's readings are of moments; of every second one two differ by the step.
    let found = half(Sight::Filter(Nanos(100 * MS)));
    let anywhere = 1.96 * 11_000.0 * 0.1 / 60.0;
    assert!(
        (found - ends(0.1) - 11_000.0 * 0.1 / 60.0 - anywhere).abs() < 1e-6,
        "{found}"
    );
}

#[test]
fn what_lies_between_readings_is_their_difference_for_as_long_as_is_open() {
    let values = [
        (0, 1_000.0),
        (100, 1_000.0),
        (200, 3_000.0),
        (320, 3_000.0),
        (400, 6_000.0),
    ];
    let open = |sight, renewed: i64, covers| {
        let mut line = of_points(&values, sight);
        line.renewed = Nanos(renewed * MS);
        between(&line, covers, ms(0, 400)) / MS as f64
    };
    let of = |times: [f64; 2]| 1.96 * (2_000.0f64.powi(2) * times[0] + 3_000.0f64.powi(2) * times[1]).sqrt();
    let mean = Sight::Mean(Nanos(100 * MS));
    for (what, found, expected) in [
        (
            "a sample",
            open(Sight::Moment, 0, false),
            // Of every second reading: 2 W, 2 W and 3 W, 200, 220 and 200 ms apart.
            of([
                (100.0f64.powi(2) + 110.0f64.powi(2)) / 2.0,
                100.0f64.powi(2) / 2.0,
            ]),
        ),
        (
            "means of its own time",
            open(mean, 0, true),
            of([0.0, 20.0f64.powi(2)]),
        ),
        (
            "with a rhythm",
            open(mean, 100, true),
            of([0.0, 20.0f64.powi(2) + 100.0 * 20.0]),
        ),
        (
            "means of a second",
            open(Sight::Mean(Nanos(1_000 * MS)), 100, true),
            of([100.0f64.powi(2) / 12.0; 2]),
        ),
    ] {
        assert!((found - expected).abs() < 1e-6, "{what}: {found} for {expected}");
    }
    // What is outside of the window is nothing, and so is a gap.
    let line = of_points(
        &[
            (0, 0.0),
            (100, 9_000.0),
            (200, 9_000.0),
            (5_000, 0.0),
            (5_100, 0.0),
        ],
        Sight::Moment,
    );
    assert_eq!(between(&line, false, ms(200, 5_100)), 0.0);
}

#[test]
fn ten_renewals_of_the_slowest_sensor_are_enough() {
    let values = at_distances([100; 40]);
    let of = |length: i64| {
        let line = of_points(&values, Sight::Mean(Nanos(100 * MS)));
        half_mw(&[line], ms(1_000, 1_000 + length)).err()
    };
    assert_eq!((of(999), of(1_000)), (Some(NoInterval::Short), None));
}
