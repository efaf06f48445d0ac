use super::*;
use crate::record::{Measurand, SampleRecord, SignalRecord};

fn ms(ms: i64) -> Stamp {
    Stamp(ms * 1_000_000)
}

fn frame(tenant: u16, sequence: u64, [released, started, finished]: [i64; 3]) -> FrameRecord {
    FrameRecord {
        tenant,
        sequence,
        source_index: sequence,
        started: ms(started),
        deadline: Some(Nanos::from_millis(50)),
        ..FrameRecord::completed(ms(released), ms(finished))
    }
}

fn slow(tenant: usize, number: usize, at_s: f64, response_ms: f64) -> Slow {
    Slow {
        tenant,
        number,
        sequence: (at_s * 100.0) as u64,
        at_s,
        response_ms,
    }
}

/// A run at 100 Hz, every frame 4 ms in service.
fn gathered(frames: i64, most: usize, slowest: Vec<Slow>) -> (Course, Vec<FrameRecord>) {
    let all: Vec<FrameRecord> = (0..frames)
        .map(|n| frame(0, n as u64, [n * 10, n * 10 + 1, n * 10 + 5]))
        .collect();
    let mut gatherer = Gatherer {
        most,
        ..Gatherer::new(1)
    };
    all.iter().for_each(|frame| gatherer.frame(frame));
    let window = (ms(0), ms(frames * 10));
    (
        gatherer.finish(window, &Tracks::default(), slowest.into_iter()),
        all,
    )
}

#[test]
fn a_short_run_is_kept_whole_and_its_busy_share_is_that_of_its_service() {
    let (course, all) = gathered(1_000, MOST_FRAMES, vec![slow(0, 1, 5.0, 4.0)]);
    assert!(!course.is_partial() && course.windows.is_empty());
    assert_eq!(course.frames, all);
    let busy: f64 = course.busy[0]
        .iter()
        .map(|part| part.share * (part.to_s - part.from_s))
        .sum();
    assert!((busy - 4.0).abs() < 0.01, "4 ms of 10, for 10 s: {busy}");
    assert!(course.busy[0].len() <= MOST_BUSY);
}

#[test]
fn of_frames_that_overlap_time_counts_once_and_misses_are_counted_where_they_were_released() {
    let mut gatherer = Gatherer::new(1);
    gatherer.frame(&frame(0, 0, [0, 0, 60]));
    gatherer.frame(&frame(0, 1, [10, 20, 80]));
    let course = gatherer.finish((ms(0), ms(100)), &Tracks::default(), std::iter::empty());
    let busy: f64 = course.busy[0]
        .iter()
        .map(|part| part.share * (part.to_s - part.from_s))
        .sum();
    assert!((busy - 0.080).abs() < 1e-6, "{busy}");
    assert_eq!(course.busy[0].iter().map(|part| part.missed).sum::<u64>(), 2);
}

#[test]
fn of_a_long_run_the_frames_around_the_slowest_are_kept_by_a_second_reading() {
    let moments = || {
        vec![
            slow(0, 1, 40.0, 100.0),
            slow(0, 2, 10.0, 50.0),
            slow(0, 3, 10.2, 50.0),
        ]
    };
    let (mut course, all) = gathered(10_000, 9_999, moments());
    assert!(course.frames.is_empty() && course.is_partial());
    // The two at 10 s lie close together.
    assert_eq!(course.windows.len(), 2);
    all.iter().rev().for_each(|frame| course.take(frame));
    course.settle();
    assert!(course.frames.is_sorted_by_key(|frame| frame.sequence));
    let kept: Vec<u64> = course.frames.iter().map(|frame| frame.sequence).collect();
    for expected in [1_000, 1_020, 3_950, 4_000, 4_040] {
        assert!(kept.contains(&expected), "{expected}");
    }
    assert!(!kept.contains(&2_000) && !kept.contains(&4_100));
    let fewer = course.clone().fewer(1);
    assert!(fewer.frames.iter().all(|frame| frame.sequence > 3_900));
    assert!(!fewer.frames.is_empty() && fewer.is_partial());
}

#[test]
fn a_window_takes_no_more_frames_than_its_share() {
    let (mut course, _) = gathered(10, 1, vec![slow(0, 1, 0.05, 20.0)]);
    for n in 0..2 * MOST_FRAMES as u64 {
        course.take(&frame(0, n, [50, 51, 55]));
    }
    assert_eq!(course.frames.len(), MOST_FRAMES);
    // What the manifest does not have, and what is no part of the measured time, is left alone.
    course.take(&frame(7, 0, [50, 51, 55]));
    assert_eq!(course.frames.len(), MOST_FRAMES);
}

#[test]
fn absurd_stamps_take_no_memory_and_no_time() {
    let mut gatherer = Gatherer::new(2);
    for (n, at) in [0, i64::MAX, i64::MIN, 5, -5, i64::MAX / 2]
        .into_iter()
        .enumerate()
    {
        let mut record = frame(1, n as u64, [0, 0, 0]);
        (record.released, record.started, record.finished) = (Stamp(at), Stamp(at), Stamp(i64::MAX));
        gatherer.frame(&record);
        gatherer.frame(&FrameRecord { tenant: 9, ..record });
    }
    let course = gatherer.finish((ms(0), ms(100)), &Tracks::default(), std::iter::empty());
    assert!(course.busy[1].iter().all(|part| part.share <= 1.0));
    assert_eq!(course.count, 6);
}

#[test]
fn a_gpus_clock_comes_first_and_processors_only_where_there_is_none() {
    let chosen = |names: &[(&str, &str, &str, RailRole)]| -> Vec<String> {
        let mut tracks = Tracks::default();
        for (source, name, unit, role) in names {
            tracks.signal(&SignalRecord {
                source: (*source).to_owned(),
                signal: (*name).to_owned(),
                unit: (*unit).to_owned(),
                measurand: Measurand::of_names(source, name, unit),
                role: *role,
                ..SignalRecord::default()
            });
            for at in 0..5 {
                tracks.sample(&SampleRecord {
                    at: ms(at),
                    source: (*source).to_owned(),
                    signal: (*name).to_owned(),
                    value: Some(1.0),
                    unit: (*unit).to_owned(),
                });
            }
        }
        let found = signals(&tracks.finish(), (ms(0), ms(10)), &[]);
        found.into_iter().map(|signal| signal.signal).collect()
    };
    let cpu = ("cpufreq", "cpu0_frequency", "mhz", RailRole::None);
    let gpu = ("gpu", "gpu_frequency", "mhz", RailRole::None);
    let total = ("ina3221", "VDD_IN", "mw", RailRole::Total);
    let part = ("ina3221", "VDD_SOC", "mw", RailRole::Part);
    assert_eq!(chosen(&[part, cpu, gpu, total]), ["gpu_frequency", "VDD_IN"]);
    assert_eq!(chosen(&[cpu, part]), ["cpu0_frequency", "VDD_SOC"]);
}

#[test]
fn few_readings_are_kept_as_they_are_and_of_many_those_within_windows() {
    let point = |at: i64| Point {
        at: ms(at),
        value: at as f64,
        low: at as f64,
        high: at as f64,
    };
    let few: Vec<Point> = (0..100).map(point).collect();
    assert_eq!(readings(&few, (ms(0), ms(100)), &[]).len(), 100);
    let many: Vec<Point> = (0..20_000).map(point).collect();
    let windows = [Window {
        from: ms(500),
        to: ms(600),
        room: 0,
    }];
    let found = readings(&many, (ms(0), ms(20_000)), &windows);
    assert!(found.len() < 2 * MOST_READINGS, "{}", found.len());
    let exact = found
        .iter()
        .filter(|(at, _)| (500_000_000..=600_000_000).contains(at));
    assert_eq!(exact.count(), 101);
}
