//! Runs that are too short for what is asked of them.

use serde_json::Value;

use super::*;

#[test]
fn too_few_frames_even_for_p90_say_how_long_would_do() {
    let (mut manifest, events) = made_up::demo(2);
    manifest.plan().expect.clear();
    let summary = made_up::summarize(&manifest, &events);
    let camera = &summary.run.findings[0];
    assert_eq!(
        (camera.code.as_str(), camera.tenant.as_deref()),
        ("too-few-samples", Some("camera"))
    );
    let facts = &camera.facts;
    assert_eq!(
        (&facts["quantile"], &facts["needs"], &facts["count"]),
        (&json!("p90"), &json!(64), &json!(60))
    );
    // 64 frames at 30 Hz are 2.1 s.
    assert_eq!(facts["more"], json!({ "kind": "seconds", "duration_s": 3.0 }));
    let lidar = &summary.run.findings[1];
    assert_eq!(lidar.facts["more"]["duration_s"], 7.0);
}

#[test]
fn an_expected_quantile_asks_for_its_own_sample() {
    let summary = changed(
        |manifest| manifest.plan().expect = vec!["camera.response.p99.9 < 1s".to_owned()],
        |_| {},
        |_| {},
    );
    let facts = &only(&summary).facts;
    assert_eq!(
        (&facts["quantile"], &facts["needs"], &facts["count"]),
        (&json!("p99.9"), &json!(6636), &json!(2100))
    );
    assert!(!summary.expectations[0].holds);
    assert_eq!(summary.expectations[0].value, None);
}

#[test]
fn a_limit_on_frames_is_advised_upon_instead_of_the_duration() {
    let mut tenant = made_up::tenant("camera", 100.0, 33.0);
    tenant.frames = Some(50);
    let mut events: Vec<Event> = (0..50)
        .map(|i| {
            Event::Frame(made_up::frame(
                i,
                Nanos::from_millis(10 * i as i64),
                Nanos::ZERO,
                Nanos(5),
            ))
        })
        .collect();
    let mut end = made_up::end(0, Phase::Together, 1);
    end.reason = EndReason::Count;
    events.push(Event::Phase(end));
    let summary = made_up::summarize(&made_up::manifest(10, vec![tenant]), &events);
    assert_eq!(only(&summary).facts["more"], frames(64.0, None));
}

/// What makes the frames enough: so many of them, and a longer run where that is needed besides.
fn frames(offered: f64, duration_s: Option<f64>) -> Value {
    json!({ "kind": "frames", "offered": offered, "duration_s": duration_s })
}

/// The camera's frames at 100 Hz, so many of them, in a run that was planned for `planned` seconds and lasted for `lasted`.
fn limited(limit: u64, frames: u64, planned: i64, lasted: i64) -> Summary {
    let mut tenant = made_up::tenant("camera", 100.0, 33.0);
    tenant.frames = Some(limit);
    let frame = |i: u64| made_up::frame(i, Nanos::from_millis(10 * i as i64), Nanos::ZERO, Nanos(5));
    let mut events: Vec<Event> = (0..frames).map(|i| Event::Frame(frame(i))).collect();
    let mut end = made_up::end(0, Phase::Together, lasted);
    if frames == limit {
        end.reason = EndReason::Count;
    }
    events.push(Event::Phase(end));
    made_up::summarize(&made_up::manifest(planned, vec![tenant]), &events)
}

#[test]
fn a_limit_on_frames_or_a_duration_that_is_enough_already_is_not_advised_upon() {
    let more = |summary: &Summary| found(summary, "too-few-samples").facts["more"].clone();
    // One second is enough for 64 frames, and is what was planned.
    assert_eq!(more(&limited(50, 50, 1, 1)), frames(64.0, None));
    assert_eq!(more(&limited(50, 50, 0, 0)), frames(64.0, Some(1.0)));
    // 64 frames were asked for, and the run ended before they were there.
    assert_eq!(
        more(&limited(64, 50, 10, 1)),
        json!({ "kind": "patience", "duration_s": 1.0 })
    );
}

#[test]
fn a_run_is_short_below_ninety_nine_percent_of_what_was_planned() {
    let of = |reason, ms: i64| {
        let tenant = made_up::tenant("camera", 1.0, 33.0);
        let mut end = made_up::end(0, Phase::Together, 0);
        (end.reason, end.measured_to) = (reason, end.measured_from + Nanos::from_millis(ms));
        let frame = |i: u64| made_up::frame(i, Nanos::from_millis(1_000 * i as i64), Nanos::ZERO, Nanos(5));
        let mut events: Vec<Event> = (0..100).map(|i| Event::Frame(frame(i))).collect();
        events.push(Event::Phase(end));
        let summary = made_up::summarize(&made_up::manifest(100, vec![tenant]), &events);
        codes(&summary).contains(&"short-run")
    };
    for reason in [
        EndReason::Duration,
        EndReason::EndOfSource,
        EndReason::Interrupted,
    ] {
        assert!(!of(reason, 99_500) && !of(reason, 99_000), "{reason:?}");
        assert!(of(reason, 98_999), "{reason:?}");
    }
}

#[test]
fn a_run_that_lasted_and_had_too_few_is_advised_to_last_longer_than_it_did() {
    // 64 frames at 30 Hz and one at each end take 2.2 s, and these were planned and lasted.
    let frame = |i: u64| made_up::frame(i, Nanos::from_millis(33 * i as i64), Nanos::ZERO, Nanos(5));
    let mut events: Vec<Event> = (0..60).map(|i| Event::Frame(frame(i))).collect();
    events.push(Event::Phase(made_up::end(0, Phase::Together, 3)));
    let manifest = made_up::manifest(3, vec![made_up::tenant("camera", 30.0, 33.0)]);
    let summary = made_up::summarize(&manifest, &events);
    assert_eq!(
        found(&summary, "too-few-samples").facts["more"],
        json!({ "kind": "seconds", "duration_s": 4.0 })
    );
}

#[test]
fn where_half_of_the_frames_are_dropped_more_are_to_be_released() {
    let mut tenant = made_up::tenant("camera", 100.0, 33.0);
    tenant.frames = Some(50);
    let frames = (0..50).map(|i| {
        let mut frame = made_up::frame(i, Nanos::from_millis(10 * i as i64), Nanos::ZERO, Nanos(5));
        if i % 2 == 1 {
            frame.outcome = Outcome::Dropped;
        }
        Event::Frame(frame)
    });
    let mut events: Vec<Event> = frames.collect();
    let mut end = made_up::end(0, Phase::Together, 1);
    end.reason = EndReason::Count;
    events.push(Event::Phase(end));
    let summary = made_up::summarize(&made_up::manifest(10, vec![tenant]), &events);
    // With a scatter of 1, seen on 25 frames: v = 1 + 64 / 25, 64 + 3.38 v + 2.6 √(64 v + 1.69 v²) are 117.1 completed,
    // and twice as many released.
    assert_eq!(found(&summary, "too-few-samples").facts["more"]["offered"], 235.0);
}
