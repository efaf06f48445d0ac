//! Energy counters of known loads.

use super::*;

const MS: i64 = 1_000_000;
const TENTH: Nanos = Nanos(100 * MS);
const FIVE_SECONDS: Nanos = Nanos(5_000 * MS);

fn points(values: impl IntoIterator<Item = (i64, f64)>) -> Vec<Point> {
    let point = |(ms, value)| Point {
        at: Stamp(ms * MS),
        value,
        low: value,
        high: value,
    };
    values.into_iter().map(point).collect()
}

fn window(from: i64, to: i64) -> (Stamp, Stamp) {
    (Stamp(from * MS), Stamp(to * MS))
}

fn beside(points: &[Point]) -> Beside<'_> {
    Beside {
        points,
        spacing: TENTH,
        lag: TENTH,
        step: 1.0,
    }
}

fn by(found: Counted) -> Metered {
    match found {
        Counted::By(metered) => metered,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_counter_in_steps_is_read_between_its_moves() {
    // 10 W: 1000 mJ each 100 ms, read each 30 ms.
    let stairs = points((0..200).map(|i| (i * 30, ((i * 30) / 100) as f64 * 1000.0)));
    let Growth::By(mj) = growth(&stairs, window(1010, 5010)) else {
        panic!("it grew")
    };
    assert!((mj - 40_000.0).abs() < 400.0, "{mj}");
}

#[test]
fn a_counter_that_goes_back_says_nothing_of_the_window_around_it() {
    let reset = points([(0, 500.0), (100, 600.0), (200, 5.0), (300, 105.0), (400, 205.0)]);
    assert_eq!(growth(&reset, window(50, 350)), Growth::WentBack);
    assert_eq!(growth(&reset, window(200, 400)), Growth::By(200.0));
    assert_eq!(growth(&points([(0, 5.0)]), window(0, 100)), Growth::Unknown);
    assert_eq!(growth(&[], window(0, 100)), Growth::Unknown);
    assert_eq!(
        growth(&points([(0, 7.0), (100, 7.0)]), window(0, 100)),
        Growth::By(0.0)
    );
    assert_eq!(
        growth(&points([(0, 1.0), (100, 2.0)]), window(0, 5000)),
        Growth::Unknown,
        "it was seen for a fiftieth of the window"
    );
}

/// Power read each 100 ms from -10 s to 70 s, and the counter of the same at these moments: the load is a function of
/// milliseconds that changes at whole tenths of a second.
fn read(load: impl Fn(i64) -> f64, moments: impl IntoIterator<Item = i64>) -> (Vec<Point>, Vec<Point>) {
    let power = points((-100..=700).map(|i| (i * 100, load(i * 100))));
    let counted = |to: i64| 1e9 + (-100..to / 100).map(|i| load(i * 100) / 10.0).sum::<f64>();
    (power, points(moments.into_iter().map(|ms| (ms, counted(ms)))))
}

#[test]
fn constant_power_is_counted_to_the_millijoule_and_its_interval_is_the_counters_step() {
    let (power, counter) = read(|_| 300_000.0, (0..14).map(|n| n * 5_000 + 1_700));
    let found = by(counted(
        &counter,
        FIVE_SECONDS,
        &beside(&power),
        window(30, 20_030),
    ));
    assert!((found.mj - 6_000_000.0).abs() < 1e-3, "{found:?}");
    // 300 W for 100 ms are 30 J; half a milliwatt over both edges is next to nothing.
    assert!((found.half - 30_000.0).abs() < 10.0, "{found:?}");
    assert!(found.power_off.unwrap().abs() < 1e-9);
}

#[test]
fn a_change_between_two_readings_of_the_counter_goes_to_the_phase_that_it_is_of() {
    // 100 W before and after, 700 W for 20 s; the counter is read 2.5 s from both changes.
    let load = |ms: i64| {
        if (0..20_000).contains(&ms) {
            700_000.0
        } else {
            100_000.0
        }
    };
    let (power, counter) = read(load, (-1..13).map(|n| n * 5_000 + 2_500));
    let measured = window(0, 20_000);
    let truth = 14_000_000.0;
    let Growth::By(line) = growth(&counter, measured) else {
        panic!("it grew")
    };
    // Half of each of both changes' five seconds is taken for a mean of 400 W: 750 J short, twice.
    assert_eq!(line, truth - 1_500_000.0, "on a line it is 10.7 % short");
    let found = by(counted(&counter, FIVE_SECONDS, &beside(&power), measured));
    // What is left is the trapezium of a single reading.
    assert!((found.mj - truth).abs() <= 30_000.0, "{found:?}");
    assert!(
        (found.mj - truth).abs() <= found.half && found.half < 0.02 * truth,
        "{found:?}"
    );
    // The idle seconds before it are nobody else's.
    let idle = by(counted(
        &counter,
        FIVE_SECONDS,
        &beside(&power),
        window(40_000, 55_000),
    ));
    assert!((idle.mj - 1_500_000.0).abs() < 1e-3, "{idle:?}");
}

#[test]
fn a_load_that_changes_within_an_edge_widens_the_interval_and_is_in_the_figure() {
    let load = |ms: i64| if ms < 2_000 { 100_000.0 } else { 500_000.0 };
    let (power, counter) = read(load, (0..12).map(|n| n * 5_000 + 4_000));
    let found = by(counted(
        &counter,
        FIVE_SECONDS,
        &beside(&power),
        window(0, 20_000),
    ));
    let truth = 2.0 * 100_000.0 + 18.0 * 500_000.0;
    assert!((found.mj - truth).abs() <= found.half, "{found:?}");
    // 1.96 × 100 ms × 400 W ÷ √2, beside the counter's step of 50 J.
    let edge = 1.96 * 0.1 * 400_000.0 / 2f64.sqrt();
    assert!((found.half - edge.hypot(50_000.0)).abs() < 10.0, "{found:?}");
    let (steady, counter) = read(|_| 500_000.0, (0..12).map(|n| n * 5_000 + 4_000));
    let steady = by(counted(
        &counter,
        FIVE_SECONDS,
        &beside(&steady),
        window(0, 20_000),
    ));
    assert!(steady.half < found.half);
}

#[test]
fn power_that_is_off_the_counter_is_said_and_widens_the_interval() {
    let (mut power, counter) = read(|_| 300_000.0, (0..14).map(|n| n * 5_000 + 2_000));
    power.iter_mut().for_each(|point| point.value *= 1.1);
    let found = by(counted(
        &counter,
        FIVE_SECONDS,
        &beside(&power),
        window(0, 20_000),
    ));
    assert!((found.power_off.unwrap() - 0.1).abs() < 1e-9);
    // 15 s by the counter, 5 s by power.
    assert!((found.mj - (4_500_000.0 + 1_650_000.0)).abs() < 1e-3, "{found:?}");
    assert!((found.mj - 6_000_000.0).abs() < found.half);
}

#[test]
fn a_counter_that_went_back_or_stood_still_says_nothing() {
    let (power, mut counter) = read(|_| 300_000.0, (0..14).map(|n| n * 5_000 + 2_000));
    let said = |counter: &[Point]| counted(counter, FIVE_SECONDS, &beside(&power), window(0, 30_000));
    for point in counter.iter_mut().skip(3) {
        point.value -= 1e9;
    }
    assert_eq!(said(&counter), Counted::WentBack);
    for point in &mut counter {
        point.value = 7.0;
    }
    assert_eq!(said(&counter), Counted::StoodStill);
    // Nothing counted of no power is a measured nothing; and so it is of a counter that is read as often.
    let off = points((0..=300).map(|i| (i * 100, 0.0)));
    let none = counted(&counter, FIVE_SECONDS, &beside(&off), window(0, 30_000));
    assert_eq!(by(none).mj, 0.0);
    let often = points((0..=300).map(|i| (i * 100, 7.0)));
    assert_eq!(
        by(counted(&often, TENTH, &beside(&off), window(0, 30_000))).mj,
        0.0
    );
    assert_eq!(
        counted(&often, TENTH, &beside(&power), window(0, 30_000)),
        Counted::StoodStill
    );
}

#[test]
fn a_counter_that_moves_more_seldom_than_it_is_read_has_the_interval_of_its_step() {
    let (power, mut counter) = read(|_| 300_000.0, (0..60).map(|n| n * 1_000));
    // It is renewed each 4 s.
    for n in 0..counter.len() {
        counter[n].value = counter[n - n % 4].value;
    }
    let found = by(counted(
        &counter,
        Nanos(1_000 * MS),
        &beside(&power),
        window(1_500, 21_500),
    ));
    assert!((found.mj - 6_000_000.0).abs() <= found.half, "{found:?}");
    // 3 s that it stood still and 100 ms; it seems to have counted 20 s in 19, and to be off power by 5 % of the edges.
    assert!(
        (found.half - (6e6 / 19.0 * 3.1 + 0.05 / 0.95 * 0.3e6)).abs() < 100.0,
        "{found:?}"
    );
}

#[test]
fn without_two_readings_power_is_taken_and_without_power_the_line_between_readings() {
    let (power, counter) = read(|_| 300_000.0, (0..14).map(|n| n * 5_000 + 2_000));
    let short = window(3_000, 8_000);
    assert_eq!(
        counted(&counter, FIVE_SECONDS, &beside(&power), short),
        Counted::Unknown
    );
    let unread = beside(&[]);
    let found = by(counted(&counter, FIVE_SECONDS, &unread, short));
    assert!((found.mj - 1_500_000.0).abs() < 1e-3, "{found:?}");
    assert_eq!(found.power_off, None);
    // An edge of which power says nothing.
    let late = points((100..=700).map(|i| (i * 100, 300_000.0)));
    let (_, counter) = read(|_| 300_000.0, (-2..14).map(|n| n * 5_000 + 4_000));
    let found = by(counted(&counter, FIVE_SECONDS, &beside(&late), window(0, 30_000)));
    assert!((found.mj - 9_000_000.0).abs() < 1e-3, "{found:?}");
    assert!(found.half >= 0.3e6 * 5.0, "as far as it is known: {found:?}");
    // An end that the last reading of power misses by less than a gap.
    let ends = points((0..=199).map(|i| (i * 100, 300_000.0)));
    let found = by(counted(&counter, FIVE_SECONDS, &beside(&ends), window(0, 20_000)));
    assert!((found.mj - 6_000_000.0).abs() < 1e-3, "{found:?}");
}

#[test]
fn a_counter_that_is_read_as_often_as_power_is_taken_by_itself() {
    let (power, counter) = read(|ms| 1_000.0 * (ms % 700) as f64, (0..400).map(|n| n * 100));
    let lagging: Vec<Point> = power
        .iter()
        .map(|p| Point {
            value: p.value / 2.0,
            ..*p
        })
        .collect();
    let found = by(counted(&counter, TENTH, &beside(&lagging), window(1_234, 30_567)));
    let Growth::By(mj) = growth(&counter, window(1_234, 30_567)) else {
        panic!("it grew")
    };
    assert_eq!(found.mj, mj, "whatever power says");
}

#[test]
fn a_counter_alone_is_off_by_what_lies_between_its_moves_at_most() {
    // 100 W, and 900 W for the last fifth of each second; the counter moves once a second.
    let load = |ms: i64| {
        if ms.rem_euclid(1_000) < 800 {
            100_000.0
        } else {
            900_000.0
        }
    };
    let (power, counter) = read(load, (0..60).map(|n| n * 1_000));
    let often = Beside {
        spacing: Nanos(1_000 * MS),
        ..beside(&power)
    };
    for from in [10_100, 10_500, 10_800, 10_900] {
        for to in [30_000, 30_300, 30_800] {
            let truth: f64 = (from / 100..to / 100).map(|i| load(i * 100) / 10.0).sum();
            let found = by(counted(&counter, Nanos(1_000 * MS), &often, window(from, to)));
            assert!(
                (found.mj - truth).abs() <= found.half,
                "{from} to {to}: {found:?}, {truth}"
            );
        }
    }
}

#[test]
fn a_sensor_that_shows_a_part_of_a_load_in_step_with_it_widens_the_interval_by_what_it_misses() {
    // It shows 100 W of a mean of 260 W.
    let (power, _) = read(|_| 100_000.0, []);
    let counter = points(
        (0..14)
            .map(|n| n * 5_000 + 2_000)
            .map(|ms| (ms, ms as f64 * 260.0)),
    );
    let found = by(counted(
        &counter,
        FIVE_SECONDS,
        &beside(&power),
        window(0, 20_000),
    ));
    assert!((found.mj - 5_200_000.0).abs() <= found.half, "{found:?}");
}

/// A card as they are: a load that jumps every half second to eight, with noise upon it; a sensor that averages over
/// 25 ms of each 100 ms and is off by half a percent (one standard deviation); a counter that is renewed each 100 ms at
/// another moment; both read by a program that is late by up to 5 ms, power each 100 ms and the counter each 5 s.
struct Card {
    /// Energy since the start at each 5 ms, mJ.
    truth: Vec<f64>,
    power: Vec<Point>,
    counter: Vec<Point>,
}

fn card(seed: u64) -> Card {
    use rand_distr::{Distribution, Normal, Uniform};
    use rand_pcg::rand_core::SeedableRng;
    let mut random = rand_pcg::Pcg64::seed_from_u64(seed);
    let mut uniform = |from: f64, to: f64| Uniform::new(from, to).unwrap().sample(&mut random);
    let (sensor_phase, counter_phase, read_phase) = (
        uniform(0.0, 20.0) as usize,
        uniform(0.0, 20.0) as usize,
        uniform(0.0, 5_000.0) as i64,
    );
    let mut truth = vec![0.0];
    let (mut level, mut until, mut wander) = (100e3, 0.0, 0.0);
    let mut noise_of = rand_pcg::Pcg64::seed_from_u64(seed + 1_000_000);
    let noise = Normal::new(0.0, 8e3).unwrap();
    for n in 0..18_000 {
        if n as f64 * 5.0 >= until {
            level = uniform(80e3, 700e3);
            until = n as f64 * 5.0 + uniform(500.0, 8_000.0);
        }
        wander = 0.9 * wander + noise.sample(&mut noise_of);
        truth.push(truth[n] + (level + wander) * 0.005);
    }
    let gain = 1.0 + Normal::new(0.0, 0.005).unwrap().sample(&mut noise_of);
    let renewed = |n: usize, phase: usize| n - (n + 20 - phase) % 20;
    let read = |random: &mut dyn FnMut(f64, f64) -> f64, ms: i64, value: &dyn Fn(usize) -> f64| {
        let ns = ms * MS + (random(0.0, 5.0) * MS as f64) as i64;
        let value = value((ns / (5 * MS)) as usize);
        Point {
            at: Stamp(ns),
            value,
            low: value,
            high: value,
        }
    };
    let sensor = |n: usize| {
        let n = renewed(n, sensor_phase);
        (gain * (truth[n] - truth[n - 5]) / 0.025).round()
    };
    let count = |n: usize| truth[renewed(n, counter_phase)].round();
    let power = (2..890).map(|n| read(&mut uniform, n * 100, &sensor)).collect();
    let counter = (0..17)
        .map(|n| read(&mut uniform, n * 5_000 + read_phase + 200, &count))
        .collect();
    Card {
        truth,
        power,
        counter,
    }
}

/// A load that is on for 40 of each 100.3 ms, beside a sensor that looks for 25 of each 100 ms: for half a minute it shows too
/// much, and for half a minute too little.
#[test]
fn a_load_almost_in_step_with_the_sensor_is_held_though_power_is_right_on_average() {
    let mut held = 0;
    for seed in 0..60i64 {
        let phase = seed as f64 * 2_137.0;
        let mw = |ms: i64| {
            if (ms as f64 + phase) % 100.3 < 40.12 {
                250_000.0
            } else {
                50_000.0
            }
        };
        let mut sum = vec![0.0];
        (0..80_000).for_each(|ms| sum.push(sum[ms as usize] + mw(ms) / 1e3));
        let power = points((1..790).map(|n| {
            let (end, start) = ((n * 100 + seed) as usize, (n * 100 + seed - 25) as usize);
            (n * 100 + seed, (sum[end] - sum[start]) / 0.025)
        }));
        let counter = points(
            (0..15)
                .map(|n| n * 5_000 + 700 + seed * 80)
                .map(|ms| (ms, sum[(ms - ms % 100) as usize])),
        );
        let found = by(counted(
            &counter,
            FIVE_SECONDS,
            &beside(&power),
            window(10_000, 70_000),
        ));
        held += u32::from((found.mj - (sum[70_000] - sum[10_000])).abs() <= found.half);
    }
    assert!(held >= 57, "{held} of 60");
}

#[test]
fn the_interval_holds_the_true_energy_in_most_of_many_runs() {
    for (seconds, narrow) in [(12, 0.025), (60, 0.005)] {
        let (mut held, mut off, mut widths, mut errors, mut lines) = (0u32, 0u32, 0.0, 0.0, 0.0);
        for seed in 0..400 {
            let card = card(seed);
            let (from, to) = (10_000, 10_000 + seconds * 1_000);
            let at = |ms: i64| card.truth[(ms / 5) as usize];
            let truth = at(to) - at(from);
            let found = by(counted(
                &card.counter,
                FIVE_SECONDS,
                &beside(&card.power),
                window(from, to),
            ));
            let Growth::By(line) = growth(&card.counter, window(from, to)) else {
                panic!("it grew")
            };
            held += u32::from((found.mj - truth).abs() <= found.half);
            off += u32::from(found.power_off.unwrap().abs() > 0.05);
            widths += found.half / truth / 400.0;
            errors += (found.mj / truth - 1.0).abs() / 400.0;
            lines += (line / truth - 1.0).abs() / 400.0;
        }
        println!(
            "{seconds} s: {held} of 400, off {off}, half {widths:.4}, error {errors:.4}, on a line {lines:.4}"
        );
        assert!(held >= 368, "{seconds} s: {held} of 400");
        assert!(off <= 4, "{seconds} s: {off} of 400 would be said to disagree");
        assert!(widths < narrow, "{seconds} s: {widths}");
        assert!(errors < lines / 5.0, "{seconds} s: {errors}, on a line {lines}");
    }
}

#[test]
fn a_counter_alone_may_be_off_by_the_larger_part_of_a_move_and_one_reading_more_at_either_end() {
    // 100 W; the counter moves once a second and is read as often.
    let counter = points((0..60).map(|n| (n * 1_000, n as f64 * 100_000.0)));
    let (power, _) = read(|_| 100_000.0, []);
    let seldom = Beside {
        spacing: Nanos(1_000 * MS),
        ..beside(&power)
    };
    for (from, to, half) in [
        (10_500, 20_500, 150_000.0 + 150_000.0),
        (10_200, 20_500, 180_000.0 + 150_000.0),
        (10_500, 20_900, 150_000.0 + 190_000.0),
        (10_000, 20_000, 200_000.0 + 200_000.0),
    ] {
        let found = by(counted(&counter, Nanos(1_000 * MS), &seldom, window(from, to)));
        assert!((found.mj - (to - from) as f64 * 100.0).abs() < 1e-3, "{found:?}");
        assert!((found.half - half).abs() < 1e-3, "{from} to {to}: {found:?}");
    }
}

#[test]
fn a_window_may_end_a_little_after_the_counters_last_move() {
    let counter = points((0..=10).map(|n| (n * 1_000, n as f64 * 100_000.0)));
    assert_eq!(growth(&counter, window(1_500, 10_500)), Growth::By(900_000.0));
    assert_eq!(growth(&counter, window(-500, 5_000)), Growth::By(550_000.0));
    assert_eq!(growth(&counter, window(1_500, 12_500)), Growth::Unknown);
}

#[test]
fn ends_without_power_are_guessed_by_the_mean_and_widen_the_interval_by_all_of_it() {
    let (_, counter) = read(|_| 300_000.0, (0..14).map(|n| n * 5_000 + 2_000));
    // Its first reading comes 300 ms after the start and its last 200 ms before the end; each stands for 100 ms more.
    let power = points((3..=198).map(|i| (i * 100, 300_000.0)));
    let found = by(counted(
        &counter,
        FIVE_SECONDS,
        &beside(&power),
        window(0, 20_000),
    ));
    assert!((found.mj - 6_000_000.0).abs() < 1e-3, "{found:?}");
    // The counter's step, and 300 ms of 300 W.
    assert!((found.half - (30_000.0 + 90_000.0)).abs() < 10.0, "{found:?}");
}

#[test]
fn an_edge_is_as_wide_whether_the_load_changes_in_the_first_in_the_last_or_just_before() {
    let edge = 1.96 * 0.1 * 400_000.0 / 2f64.sqrt();
    let high = |on: std::ops::Range<i64>| move |ms: i64| if on.contains(&ms) { 500_000.0 } else { 100_000.0 };
    for on in [2_000..90_000, -20_000..19_500, 0..90_000] {
        let (power, counter) = read(high(on.clone()), (0..12).map(|n| n * 5_000 + 4_000));
        let found = by(counted(
            &counter,
            FIVE_SECONDS,
            &beside(&power),
            window(0, 20_000),
        ));
        assert!(
            (found.half - edge.hypot(50_000.0)).abs() < 10.0,
            "{on:?}: {found:?}"
        );
    }
}

#[test]
fn a_coarse_sensor_widens_an_edge_by_half_a_step_for_as_long_as_it_lasts() {
    let (steady, _) = read(|_| 300_000.0, []);
    let (jump, _) = read(|ms| if ms < 1_000 { 100_000.0 } else { 500_000.0 }, []);
    let edge = 1.96 * 0.1 * 400_000.0 / 2f64.sqrt();
    for (power, scatter) in [(&steady, 0.0), (&jump, edge)] {
        let coarse = Beside {
            step: 20_000.0,
            ..beside(power)
        };
        let half = coarse.half(window(0, 2_000));
        assert!((half - (scatter + 20_000.0)).abs() < 1e-3, "{half}");
    }
}

#[test]
fn what_the_highest_reading_next_to_the_counters_took_is_its_step() {
    // 700 W for a tenth of a second, 200 ms after the counter was read: it may have been renewed while that was on.
    let load = |ms: i64| {
        if (4_200..4_300).contains(&ms) {
            700_000.0
        } else {
            100_000.0
        }
    };
    let (power, counter) = read(load, (0..12).map(|n| n * 5_000 + 4_000));
    let found = by(counted(
        &counter,
        FIVE_SECONDS,
        &beside(&power),
        window(0, 20_000),
    ));
    assert!((found.half - 70_000.0).abs() < 10.0, "{found:?}");
}

#[test]
fn moves_of_the_counter_that_power_did_not_see_do_not_widen_the_interval() {
    let (_, counter) = read(|_| 300_000.0, (-2..14).map(|n| n * 5_000 + 2_000));
    let power = points((-1..=300).map(|i| (i * 100, 300_000.0)));
    let half =
        |counter: &[Point]| by(counted(counter, FIVE_SECONDS, &beside(&power), window(0, 20_000))).half;
    assert!((half(&counter) - 30_000.0).abs() < 10.0, "{}", half(&counter));
    // Nor does a reset after the window.
    let mut reset = counter;
    for point in reset.iter_mut().filter(|point| point.at > Stamp(23_000 * MS)) {
        point.value -= 1e9;
    }
    assert!((half(&reset) - 30_000.0).abs() < 10.0, "{}", half(&reset));
}

#[test]
fn power_cannot_be_off_a_counter_that_counted_nothing() {
    let off = points((0..=300).map(|i| (i * 100, 0.0)));
    for every in [TENTH, FIVE_SECONDS] {
        let still = points((0..=300).map(|i| (i * 100, 7.0)));
        let found = by(counted(&still, every, &beside(&off), window(0, 30_000)));
        assert_eq!((found.mj, found.power_off), (0.0, None), "{every}");
        assert!(found.half.is_finite(), "{found:?}");
    }
}

#[test]
fn power_is_on_where_more_than_half_of_the_readings_show_some() {
    for (of, on, is_on) in [
        (10, 6, true),
        (4, 3, true),
        (4, 2, false),
        (4, 1, false),
        (1, 1, true),
        (0, 0, false),
    ] {
        let readings = points((0..of).map(|i| (i * 100, f64::from(u8::from(i < on)))));
        assert_eq!(beside(&readings).is_on(window(0, 5_000)), is_on, "{on} of {of}");
    }
}

#[test]
fn a_change_just_after_an_edge_may_be_one_within_it() {
    let edge = 1.96 * 0.1 * 400_000.0 / 2f64.sqrt();
    let load = |ms: i64| if ms < 4_100 { 100_000.0 } else { 500_000.0 };
    let (power, counter) = read(load, (0..12).map(|n| n * 5_000 + 4_000));
    let found = by(counted(
        &counter,
        FIVE_SECONDS,
        &beside(&power),
        window(0, 20_000),
    ));
    // Beside the trapezium of the reading in which it rises, by which power seems to be off the counter.
    let half = edge.hypot(50_000.0);
    assert!((half..half + 5_000.0).contains(&found.half), "{found:?}");
}

#[test]
fn readings_that_are_closer_than_renewals_are_not_taken_for_scatter() {
    // Renewed each half second or a little sooner, and read five times as often: what lies between says nothing more.
    let renewed = (-1..=5).map(|n| (n * 500 - if n % 2 == 0 { 20 } else { 0 }, 300_000.0));
    let between = (-1..5).flat_map(|n| (1..5).map(move |k| (n * 500 + k * 100, 400_000.0)));
    let mut readings: Vec<(i64, f64)> = renewed.chain(between).collect();
    readings.sort_by_key(|&(ms, _)| ms);
    let power = points(readings);
    let slow = Beside {
        lag: Nanos(500 * MS),
        ..beside(&power)
    };
    let half = slow.half(window(0, 2_000));
    assert!((half - 1.0).abs() < 1e-9, "half a step alone: {half}");
}

#[test]
fn a_sensor_that_is_off_for_five_seconds_is_off_by_less_over_two_and_by_as_much_a_second_over_eight() {
    let (power, _) = read(|_| 100_000.0, []);
    let counter = points((0..14).map(|n| (n * 5_000, n as f64 * 5.0 * 260_000.0)));
    for (seconds, off) in [(2, 160_000.0 * 10f64.sqrt()), (5, 800_000.0), (8, 1_280_000.0)] {
        let found = beside(&power).off_for_a_while(&counter, Nanos::from_secs(seconds));
        assert!((found - off).abs() < 1e-3, "{seconds} s: {found}");
    }
}

#[test]
fn a_counter_that_goes_back_when_the_window_is_over_grew_within_it() {
    let steps = points([(0, 0.0), (100, 10.0), (200, 20.0), (300, 5.0), (400, 15.0)]);
    assert_eq!(growth(&steps, window(0, 200)), Growth::By(20.0));
    assert_eq!(growth(&steps, window(0, 201)), Growth::WentBack);
    assert_eq!(growth(&steps, window(300, 400)), Growth::By(10.0));
}
