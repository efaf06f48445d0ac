//! Expectations that a run does not decide, or decides closely.

use super::*;

#[test]
fn figures_that_the_run_lacks_leave_an_expectation_undecided_with_advice() {
    let lines = [
        "camera.slowdown.p50 < 2",
        "camera.stages.h2d.p50 < 1ms",
        "camra.dropped == 0",
    ];
    let (mut manifest, mut events) = made_up::demo(70);
    manifest.plan().expect = lines.map(str::to_owned).to_vec();
    manifest.plan().baseline.alone = false;
    events.retain(|event| !matches!(event, Event::Frame(frame) if frame.phase == Phase::Alone));
    let summary = made_up::summarize(&manifest, &events);
    let findings = &summary.run.findings;
    assert_eq!(findings.len(), 3, "{findings:#?}");
    assert!(
        findings
            .iter()
            .all(|finding| finding.code == "expectation-undecided")
    );
    let facts = |finding: &Finding| (finding.facts["kind"].clone(), finding.facts["lacking"].clone());
    let undecided = json!("undecided-expectation");
    assert_eq!(facts(&findings[0]), (undecided.clone(), json!("baseline")));
    assert_eq!(facts(&findings[1]), (undecided, json!("figure")));
    assert_eq!(findings[2].facts["kind"], "unreadable-expectation");
    for (finding, line) in findings.iter().zip(lines) {
        assert_eq!(finding.facts["line"], line);
    }
    assert!(
        summary
            .expectations
            .iter()
            .all(|result| !result.holds && result.value.is_none())
    );
}

#[test]
fn expectations_are_judged_by_the_estimate_and_say_when_it_is_close() {
    let lines = [
        "camera.response.p50 < 14.81ms",
        "camera.response.p50 < 20ms",
        "camera.response.p50 > 20ms",
    ];
    let (mut manifest, events) = made_up::demo(70);
    manifest.plan().expect = lines.map(str::to_owned).to_vec();
    let summary = made_up::summarize(&manifest, &events);
    let judged: Vec<_> = summary
        .expectations
        .iter()
        .map(|result| (result.holds, result.certain))
        .collect();
    assert_eq!(
        judged,
        [(true, Some(false)), (true, Some(true)), (false, Some(true))]
    );
    assert!(!summary.expectations_hold());
    // A promise that is broken is a result, and limits nothing.
    assert_eq!(summary.run.verdict, Verdict::Valid);
}

/// A quantile of frames that never settle has no interval: it describes them, and keeps no promise.
#[test]
fn a_quantile_without_an_interval_keeps_no_promise() {
    let lines = [
        "camera.response.p90 < 1s",
        "camera.response.p50 < 1s",
        "camera.response.max < 1s",
    ];
    let (mut manifest, mut events) = made_up::demo(70);
    manifest.plan().expect = lines.map(str::to_owned).to_vec();
    for event in &mut events {
        if let Event::Frame(frame) = event
            && (frame.tenant, frame.phase) == (0, Phase::Together)
        {
            frame.finished = frame.finished + Nanos::from_micros(20 * frame.sequence as i64);
        }
    }
    let summary = made_up::summarize(&manifest, &events);
    let camera = &summary.tenants[0].response_ms;
    assert_eq!((camera.p50.ci95, camera.p90.ci95), (None, None));
    let judged = summary.expectations.iter();
    let judged: Vec<_> = judged
        .map(|result| (result.holds, result.value.is_some()))
        .collect();
    assert_eq!(judged, [(false, false), (false, false), (true, true)]);
}

#[test]
fn a_slowdown_that_a_silent_co_runner_leaves_unknown_is_advised_upon_as_such() {
    let (mut manifest, mut events) = made_up::demo(70);
    manifest.plan().expect = vec!["camera.slowdown.p50 < 2".to_owned()];
    events.retain(
        |event| !matches!(event, Event::Frame(frame) if frame.tenant == 1 && frame.phase == Phase::Together),
    );
    let summary = made_up::summarize(&manifest, &events);
    assert_eq!(
        found(&summary, "expectation-undecided").facts["lacking"],
        "frames"
    );
}

#[test]
fn a_figure_that_lacks_frames_is_explained_by_them() {
    for (seconds, line, quantile, needs, has) in [
        (1, "camera.response.p90 < 1s", "p90", 64, 30),
        (4, "camera.response.p95 < 1s", "p95", 130, 120),
        (10, "camera.response.p99 < 1s", "p99", 662, 300),
        (10, "camera.jitter < 1s", "p99", 662, 300),
    ] {
        let (mut manifest, events) = made_up::demo(seconds);
        manifest.plan().expect = vec![line.to_owned()];
        let summary = made_up::summarize(&manifest, &events);
        let of_camera = summary
            .run
            .findings
            .iter()
            .filter(|finding| finding.tenant.as_deref() == Some("camera"));
        let [finding] = of_camera.collect::<Vec<_>>()[..] else {
            panic!("{line}: {:#?}", summary.run.findings)
        };
        assert_eq!(finding.code, "too-few-samples", "{line}");
        let facts = &finding.facts;
        assert_eq!(
            (&facts["quantile"], &facts["needs"], &facts["count"]),
            (&json!(quantile), &json!(needs), &json!(has)),
            "{line}"
        );
    }
    for line in ["worst_over_median < 9", "iqr < 1s", "response.p50 < 1s"] {
        let (mut manifest, mut events) = made_up::demo(1);
        manifest.plan().expect = vec![format!("camera.{line}")];
        events.retain(
            |event| !matches!(event, Event::Frame(frame) if frame.tenant == 0 && frame.sequence >= 8),
        );
        let summary = made_up::summarize(&manifest, &events);
        let findings = summary.run.findings.iter();
        let undecided = findings.filter(|finding| finding.code == "expectation-undecided");
        assert_eq!(undecided.count(), 0, "{line}: {:#?}", summary.run.findings);
    }
}
