//! Tenants that fail, end early or never begin, and runs that are interrupted.

use super::*;

#[test]
fn a_run_that_ended_early_says_why_and_after_how_long() {
    let early = |reason| {
        move |end: &mut PhaseRecord| {
            end.reason = reason;
            end.measured_to = end.measured_from + Nanos::from_secs(35);
        }
    };
    for (reason, code, kind) in [
        (EndReason::Interrupted, "short-run", "interrupted"),
        (EndReason::EndOfSource, "short-run", "source-ended"),
        (EndReason::Failed, "tenant-failed", "gave-up"),
        (EndReason::Duration, "short-run", "cut-short"),
    ] {
        let summary = changed(|_| {}, |_| {}, early(reason));
        let finding = only(&summary);
        assert_eq!(finding.code, code);
        let facts = &finding.facts;
        assert_eq!(
            (&facts["kind"], &facts["measured_s"], &facts["planned_s"]),
            (&json!(kind), &json!(35.0), &json!(70.0))
        );
    }
    let (mut manifest, mut events) = made_up::demo(70);
    manifest.plan().expect.clear();
    for event in &mut events {
        if let Event::Phase(phase) = event {
            early(EndReason::Interrupted)(phase);
        }
    }
    assert_eq!(only(&made_up::summarize(&manifest, &events)).tenant, None);
    // As many frames as were asked for is no early end, but of the time that it is compared in.
    let summary = changed(|_| {}, |_| {}, early(EndReason::Count));
    assert_eq!(only(&summary).code, "phase-ended-early");
}

#[test]
fn failed_frames_are_reported_with_their_share() {
    let summary = changed(
        |_| {},
        |frame| {
            if frame.sequence % 100 == 0 {
                frame.outcome = Outcome::Failed
            }
        },
        |_| {},
    );
    let finding = only(&summary);
    assert_eq!(finding.code, "failed-frames");
    assert_eq!(
        (&finding.facts["failed"], &finding.facts["offered"]),
        (&json!(21), &json!(2100))
    );
}

/// A camera that fails its first ten frames, released before or in the measured time, and gives up.
fn failing(warmup: bool) -> Summary {
    let mut manifest = made_up::manifest(10, vec![made_up::tenant("camera", 100.0, 33.0)]);
    manifest.plan().expect = [
        "camera.dropped == 0",
        "camera.failed == 0",
        "camera.miss_rate < 1%",
        "camera.completed == 0",
        "camera.response.p99 < 33ms",
    ]
    .map(str::to_owned)
    .to_vec();
    let before = Nanos::from_millis(if warmup { -500 } else { 0 });
    let mut events = Vec::new();
    for i in 0..10 {
        let at = before + Nanos::from_millis(10 * i as i64);
        let mut frame = made_up::frame(i, at, Nanos::ZERO, Nanos::from_millis(2));
        (frame.outcome, frame.warmup) = (Outcome::Failed, warmup);
        frame.deadline = None;
        let problem = ["out of memory", "and again"][usize::from(i > 0)];
        events.push(Event::Log(LogRecord {
            at: frame.finished,
            level: "warn".to_owned(),
            message: format!("tenant camera: {problem}"),
        }));
        events.push(Event::Frame(frame));
    }
    let mut end = made_up::end(0, Phase::Together, 10);
    end.reason = EndReason::Failed;
    end.measured_to = end.measured_from;
    events.push(Event::Phase(end));
    made_up::summarize(&manifest, &events)
}

#[test]
fn a_tenant_that_completed_nothing_keeps_no_promise_and_its_finding_quotes_the_cause() {
    let summary = failing(true);
    let frames = summary.tenants[0].frames;
    assert_eq!((frames.failed, frames.failed_in_warmup), (0, 10));
    let finding = only(&summary);
    assert_eq!(finding.code, "no-frames");
    assert_eq!(finding.facts["cause"], "out of memory");
    assert_eq!(finding.facts["frames"]["failed_in_warmup"], 10);
    assert_eq!(summary.failures().count(), 1);
    // Failures count from the warm-up on.
    let values: Vec<_> = summary.expectations.iter().map(|e| (e.holds, e.value)).collect();
    let nothing = (false, None);
    assert_eq!(values, [nothing, (false, Some(10.0)), nothing, nothing, nothing]);

    let summary = failing(false);
    assert_eq!(only(&summary).facts["cause"], "out of memory");
    assert_eq!(only(&summary).facts["frames"]["failed"], 10);
    // What is known to be broken is said with its value.
    let values: Vec<_> = summary.expectations.iter().map(|e| (e.holds, e.value)).collect();
    assert_eq!(values[1], (false, Some(10.0)));
    assert!(values.iter().all(|(holds, _)| !holds), "{values:?}");
}

#[test]
fn failures_in_the_warm_up_are_told_apart_from_those_that_count() {
    let (mut manifest, mut events) = made_up::demo(70);
    manifest.plan().expect = vec!["camera.failed == 0".to_owned()];
    let before = |sequence| {
        let mut frame = made_up::frame(sequence, Nanos::from_millis(-100), Nanos::ZERO, Nanos(5));
        (frame.outcome, frame.warmup) = (Outcome::Failed, true);
        Event::Frame(frame)
    };
    events.extend([before(0), before(1)]);
    let summary = made_up::summarize(&manifest, &events);
    let finding = only(&summary);
    assert_eq!(
        (&finding.facts["failed"], &finding.facts["in_warmup"]),
        (&json!(0), &json!(2))
    );
    assert_eq!(summary.tenants[0].frames.offered, 2100);
    assert_eq!(
        (summary.expectations[0].holds, summary.expectations[0].value),
        (false, Some(2.0))
    );
    assert_eq!(summary.failures().count(), 0, "it went on");
}

#[test]
fn a_tenant_that_could_not_go_on_fails_its_run() {
    let summary = changed(
        |_| {},
        |_| {},
        |end| {
            end.reason = EndReason::Failed;
            end.measured_to = end.measured_from + Nanos::from_secs(35);
        },
    );
    let failures: Vec<&str> = summary.failures().map(|finding| finding.code.as_str()).collect();
    assert_eq!(failures, ["tenant-failed"]);
}

#[test]
fn a_run_that_was_interrupted_before_anything_came_is_no_failure_of_its_tenants() {
    let manifest = made_up::manifest(10, vec![made_up::tenant("camera", 100.0, 33.0)]);
    let mut end = made_up::end(0, Phase::Together, 0);
    end.reason = EndReason::Interrupted;
    let summary = made_up::summarize(&manifest, &[Event::Phase(end)]);
    let codes: Vec<&str> = summary.run.findings.iter().map(|f| f.code.as_str()).collect();
    assert_eq!(codes, ["short-run", "too-few-samples"]);
    assert_eq!(summary.failures().count(), 0);
}

#[test]
fn one_interruption_is_said_once_though_tenants_end_a_moment_apart() {
    let (mut manifest, mut events) = made_up::demo(70);
    manifest.plan().expect.clear();
    for event in &mut events {
        if let Event::Phase(phase) = event {
            phase.reason = EndReason::Interrupted;
            phase.measured_to =
                phase.measured_from + Nanos::from_millis(35_000 + 40 * i64::from(phase.tenant));
        }
    }
    let summary = made_up::summarize(&manifest, &events);
    let finding = only(&summary);
    assert_eq!(
        (finding.code.as_str(), finding.tenant.as_deref()),
        ("short-run", None)
    );
    assert_eq!(finding.facts["measured_s"], 35.04);
}

#[test]
fn a_tenant_that_did_not_start_says_nothing_of_the_frames_of_another() {
    let manifest = made_up::manifest(
        10,
        vec![
            made_up::tenant("camera", 30.0, 33.0),
            made_up::tenant("lidar", 10.0, 100.0),
        ],
    );
    let recorded = |code: &str, tenant: &str| {
        Event::Finding(record::Finding {
            code: code.to_owned(),
            tenant: Some(tenant.to_owned()),
            message: "as recorded".to_owned(),
            advice: String::new(),
        })
    };
    let events = [
        recorded("not-started", "camera"),
        recorded("clocks-not-held", "lidar"),
        Event::Phase(made_up::end(1, Phase::Together, 10)),
    ];
    let summary = made_up::summarize(&manifest, &events);
    let without: Vec<Option<&str>> = summary
        .run
        .findings
        .iter()
        .filter(|finding| finding.code == "no-frames")
        .map(|finding| finding.tenant.as_deref())
        .collect();
    assert_eq!(without, [Some("lidar")], "{:#?}", summary.run.findings);
}

#[test]
fn of_a_tenant_without_a_frame_it_is_told_what_became_of_its_releases() {
    for (outcome, deadline, became) in [
        (Some(Outcome::Unfinished), None, Some("unfinished")),
        (Some(Outcome::Unfinished), Some(33), Some("unfinished")),
        (Some(Outcome::Dropped), None, Some("dropped")),
        (Some(Outcome::Failed), None, Some("failed")),
        (None, None, None),
    ] {
        let mut events = Vec::new();
        for i in 0..5 {
            let mut frame = made_up::frame(i, Nanos::from_millis(1_000 * i as i64), Nanos::ZERO, Nanos(5));
            if let Some(outcome) = outcome {
                (frame.outcome, frame.deadline) = (outcome, deadline.map(Nanos::from_millis));
                events.push(Event::Frame(frame));
            }
        }
        events.push(Event::Phase(made_up::end(0, Phase::Together, 10)));
        let manifest = made_up::manifest(10, vec![made_up::tenant("camera", 1.0, 33.0)]);
        let summary = made_up::summarize(&manifest, &events);
        let facts = &found(&summary, "no-frames").facts;
        for each in ["unfinished", "overdue", "dropped", "failed"] {
            let expected = if Some(each) == became { 5 } else { 0 };
            assert_eq!(facts["frames"][each], expected, "{each}: {facts:?}");
        }
        assert_eq!(facts["failed"], became == Some("failed"));
    }
}

/// A camera of which nothing came: its end, changed.
fn nothing_of(change: impl Fn(&mut PhaseRecord)) -> Summary {
    let mut end = made_up::end(0, Phase::Together, 10);
    change(&mut end);
    let mut manifest = made_up::manifest(10, vec![made_up::tenant("camera", 1.0, 33.0)]);
    manifest.plan().baseline.alone = true;
    made_up::summarize(&manifest, &[Event::Phase(end)])
}

#[test]
fn of_a_tenant_without_a_frame_its_end_and_lost_records_are_told() {
    let failed = nothing_of(|end| end.reason = EndReason::Failed);
    assert_eq!(only(&failed).code, "no-frames");
    assert_eq!(only(&failed).facts["failed"], true);
    let lost = nothing_of(|end| end.lost_records = 5);
    assert_eq!(codes(&lost), ["lost-records", "too-few-samples"]);
    let facts = &lost.run.findings[1].facts;
    assert_eq!(
        (&facts["excused"], &facts["frames"]["lost_records"]),
        (&json!(true), &json!(5))
    );
}

#[test]
fn a_baseline_that_was_asked_for_and_has_no_frame_is_told_of_a_tenant_that_has_frames() {
    let (mut manifest, mut events) = made_up::demo(70);
    manifest.plan().expect.clear();
    manifest.plan().baseline.alone = true;
    let tenants = |summary: &Summary| {
        let findings = summary.run.findings.iter();
        let without = findings.filter(|finding| finding.code == "no-baseline");
        without
            .filter_map(|finding| finding.tenant.clone())
            .collect::<Vec<String>>()
    };
    assert_eq!(
        tenants(&made_up::summarize(&manifest, &events)),
        Vec::<String>::new()
    );
    events.retain(
        |event| !matches!(event, Event::Frame(frame) if frame.tenant == 0 && frame.phase == Phase::Alone),
    );
    assert_eq!(tenants(&made_up::summarize(&manifest, &events)), ["camera"]);
    assert_eq!(tenants(&nothing_of(|_| {})), Vec::<String>::new());
}
