//! Each finding appears when it should, with its figure and an advice that fits, and a sound run has none.

use jetlag::analysis::Summary;
use jetlag::analysis::summary::Verdict;
use jetlag::record::{
    EndReason, Event, Finding, FrameRecord, LogRecord, Manifest, NodeRecord, OVERHEAD_TENANT, Outcome, Phase,
    PhaseRecord,
};
use jetlag::scenario::{Arrival, BackendChoice, ClockKind, Overload, Provider, Release};
use jetlag::units::Nanos;

use crate::common::planned::Planned as _;
use crate::summary::made_up;

/// The demo of 70 s, changed: frames of the camera together, the end of its measurement, the manifest.
fn changed(
    manifest_change: impl Fn(&mut Manifest),
    frame_change: impl Fn(&mut FrameRecord),
    end_change: impl Fn(&mut PhaseRecord),
) -> Summary {
    let (mut manifest, mut events) = made_up::demo(70);
    manifest.plan().expect.clear();
    manifest_change(&mut manifest);
    for event in &mut events {
        match event {
            Event::Frame(frame) if frame.tenant == 0 && frame.phase == Phase::Together => frame_change(frame),
            Event::Phase(phase) if phase.tenant == 0 && phase.phase == Phase::Together => end_change(phase),
            _ => {}
        }
    }
    made_up::summarize(&manifest, &events)
}

fn only(summary: &Summary) -> &Finding {
    assert_eq!(summary.run.findings.len(), 1, "{:#?}", summary.run.findings);
    assert_eq!(summary.run.verdict, Verdict::Limited);
    &summary.run.findings[0]
}

#[test]
fn a_sound_run_is_valid_and_has_no_finding() {
    let summary = changed(|_| {}, |_| {}, |_| {});
    assert_eq!(summary.run.findings, []);
    assert_eq!(summary.run.verdict, Verdict::Valid);
    assert!(!summary.has_gaps());
}

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
    assert_eq!(camera.message, "camera: p90 needs 64 frames and has 60.");
    // 64 frames at 30 Hz are 2.1 s.
    assert!(camera.advice.contains("--set duration=3s"), "{}", camera.advice);
    let lidar = &summary.run.findings[1];
    assert!(lidar.advice.contains("--set duration=7s"), "{}", lidar.advice);
}

#[test]
fn an_expected_quantile_asks_for_its_own_sample() {
    let summary = changed(
        |manifest| manifest.plan().expect = vec!["camera.response.p99.9 < 1s".to_owned()],
        |_| {},
        |_| {},
    );
    assert!(
        only(&summary)
            .message
            .contains("p99.9 needs 6636 frames and has 2100")
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
    assert_eq!(
        only(&summary).advice,
        "Set `frames: 64` or more, or remove the limit."
    );
}

#[test]
fn late_releases_are_found_by_the_budget_of_the_way_of_waiting() {
    let late = |us| {
        move |frame: &mut FrameRecord| frame.lateness = Nanos::from_micros(us + frame.sequence as i64 % 2)
    };
    let summary = changed(|_| {}, late(200), |_| {});
    let finding = only(&summary);
    assert_eq!(finding.code, "late-releases");
    assert!(
        finding.message.contains("50 % of its releases (1050 of 2100)"),
        "{}",
        finding.message
    );
    assert!(finding.advice.contains("`release: Spin`"), "{}", finding.advice);

    let spins = |manifest: &mut Manifest| {
        manifest.plan().release = Release::Spin;
        manifest
            .plan()
            .tenants
            .iter_mut()
            .for_each(|tenant| tenant.cpus = vec![1]);
        manifest.machine.insert("hypervisor".to_owned(), "kvm".to_owned());
    };
    let summary = changed(spins, late(50), |_| {});
    let finding = summary
        .run
        .findings
        .iter()
        .find(|f| f.tenant.as_deref() == Some("camera"))
        .unwrap();
    assert!(!finding.advice.contains("Spin"), "{}", finding.advice);
    assert!(finding.advice.contains("virtual machine"), "{}", finding.advice);
}

#[test]
fn lateness_means_nothing_in_a_closed_loop_or_in_simulated_time() {
    let late = |frame: &mut FrameRecord| frame.lateness = Nanos::from_millis(5);
    let closed = |manifest: &mut Manifest| manifest.plan().tenants[0].arrival = Arrival::Closed;
    assert_eq!(changed(closed, late, |_| {}).run.findings, []);
    let simulated = |manifest: &mut Manifest| manifest.plan().clock = ClockKind::Virtual;
    assert_eq!(changed(simulated, late, |_| {}).run.findings, []);
}

#[test]
fn lost_records_are_counted_and_reported() {
    let summary = changed(|_| {}, |_| {}, |end| end.lost_records = 21);
    assert_eq!(summary.tenants[0].frames.lost_records, 21);
    let finding = only(&summary);
    assert_eq!(finding.code, "lost-records");
    assert!(
        finding.message.contains("21 frames (1.0 %)"),
        "{}",
        finding.message
    );
}

#[test]
fn a_run_that_ended_early_says_why_and_what_to_do() {
    let early = |reason| {
        move |end: &mut PhaseRecord| {
            end.reason = reason;
            end.measured_to = end.measured_from + Nanos::from_secs(35);
        }
    };
    for (reason, code, message, advice) in [
        (
            EndReason::Interrupted,
            "short-run",
            "interrupted after 35.00 s of 70.00 s",
            "shorter `duration`",
        ),
        (
            EndReason::EndOfSource,
            "short-run",
            "camera's source ended after 35.00 s",
            "`repeat: true`",
        ),
        (
            EndReason::Failed,
            "tenant-failed",
            "camera failed and ended",
            "log",
        ),
        (
            EndReason::Duration,
            "short-run",
            "measured for 35.00 s instead of the planned 70.00 s",
            "Run again",
        ),
    ] {
        let summary = changed(|_| {}, |_| {}, early(reason));
        let finding = only(&summary);
        assert_eq!(finding.code, code);
        assert!(finding.message.contains(message), "{}", finding.message);
        assert!(finding.advice.contains(advice), "{}", finding.advice);
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
    assert!(
        finding.message.contains("21 frames of 2100 (1.0 %)"),
        "{}",
        finding.message
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
    assert_eq!(
        finding.message,
        "camera completed no frame: 10 failed in the warm-up; first error: \"out of memory\"."
    );
    assert_eq!(summary.failures().count(), 1);
    // Failures count from the warm-up on.
    let values: Vec<_> = summary.expectations.iter().map(|e| (e.holds, e.value)).collect();
    let nothing = (false, None);
    assert_eq!(values, [nothing, (false, Some(10.0)), nothing, nothing, nothing]);

    let summary = failing(false);
    assert_eq!(
        only(&summary).message,
        "camera completed no frame: 10 failed; first error: \"out of memory\"."
    );
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
    assert_eq!(
        only(&summary).message,
        "camera: 2 frames failed in the warm-up, and none in the measured time."
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
    assert_eq!(
        only(&summary).message,
        "The run was interrupted after 35.04 s of 70.00 s."
    );
}

#[test]
fn overload_tells_a_rate_that_is_too_high_from_stalls() {
    let drop_every = |n| {
        move |frame: &mut FrameRecord| {
            if frame.sequence.is_multiple_of(n) {
                frame.outcome = Outcome::Dropped;
            }
        }
    };
    let summary = changed(|_| {}, drop_every(4), |_| {});
    let finding = only(&summary);
    assert_eq!(finding.code, "overload");
    assert!(
        finding.message.contains("525 frames of 2100 (25 %) were dropped"),
        "{}",
        finding.message
    );
    assert!(finding.advice.contains("stalls"), "{}", finding.advice);

    let slow = |frame: &mut FrameRecord| {
        drop_every(4)(frame);
        frame.finished = frame.started + Nanos::from_millis(44);
    };
    let summary = changed(|_| {}, slow, |_| {});
    let finding = only(&summary);
    assert!(
        finding.message.contains("132 % of its time"),
        "{}",
        finding.message
    );
    assert!(finding.advice.contains("`depth: 2`"), "{}", finding.advice);

    let deep = |manifest: &mut Manifest| {
        manifest.plan().tenants[0].depth = 2;
        manifest.plan().tenants[0].overload = Overload::Queue { capacity: 64 };
    };
    let summary = changed(deep, drop_every(4), |_| {});
    assert!(only(&summary).advice.contains("DropOldest"));
    // A drop in a hundred leaves the quantiles up to p99 what they are.
    assert_eq!(changed(|_| {}, drop_every(150), |_| {}).run.findings, []);
}

#[test]
fn a_line_of_frames_at_the_end_is_overload_too() {
    let cut = |frame: &mut FrameRecord| {
        if frame.sequence >= 2000 {
            frame.outcome = Outcome::Unfinished;
        }
    };
    let summary = changed(|_| {}, cut, |_| {});
    assert!(
        only(&summary)
            .message
            .contains("100 frames were still waiting at the end")
    );
}

#[test]
fn other_programs_and_jetlags_own_cost_are_held_against_the_run() {
    let (mut manifest, mut events) = made_up::demo(70);
    manifest.plan().expect.clear();
    for event in &mut events {
        match event {
            Event::Sample(sample) if sample.signal == "own_cpu_load" => sample.value = Some(30.0),
            Event::Frame(frame) if frame.tenant == OVERHEAD_TENANT => {
                frame.finished = frame.released + Nanos::from_micros(740);
            }
            _ => {}
        }
    }
    let summary = made_up::summarize(&manifest, &events);
    let [busy, own] = summary.run.findings.as_slice() else {
        panic!("{:#?}", summary.run.findings);
    };
    assert_eq!((busy.code.as_str(), own.code.as_str()), ("host-busy", "own-cost"));
    assert!(busy.message.contains("34 %"), "{}", busy.message);
    assert!(
        own.message.contains("740.0 µs per frame, 5.0 % of camera's"),
        "{}",
        own.message
    );
}

#[test]
fn a_profiled_tenant_limits_the_run_even_where_its_nodes_were_lost() {
    let asked = |manifest: &mut Manifest| {
        manifest.plan().tenants[0].backend = BackendChoice::Cpu {
            threads: 1,
            profile: true,
        };
    };
    let summary = changed(asked, |_| {}, |_| {});
    let finding = only(&summary);
    assert_eq!(
        (finding.code.as_str(), finding.tenant.as_deref()),
        ("profiled", Some("camera"))
    );
    assert!(
        finding.message.contains("compute is slower"),
        "{}",
        finding.message
    );
    assert!(finding.advice.contains("`profile: false`"), "{}", finding.advice);

    // On ONNX Runtime each node is stamped in passing; on its CUDA provider by the host alone.
    for (provider, said) in [
        (
            Provider::Cpu,
            "ONNX Runtime recorded each of its nodes, so compute is slower",
        ),
        (Provider::Cuda, "is the host's, not the device's"),
    ] {
        let on_it = |manifest: &mut Manifest| {
            manifest.plan().tenants[0].backend = BackendChoice::OnnxRuntime {
                provider,
                threads: 1,
                profile: true,
            };
        };
        let summary = changed(on_it, |_| {}, |_| {});
        let profiled = |finding: &&Finding| finding.code == "profiled";
        let finding = summary.run.findings.iter().find(profiled).expect("it is told");
        assert!(finding.message.contains(said), "{}", finding.message);
    }

    let node = |phase| {
        let (mut manifest, mut events) = made_up::demo(70);
        manifest.plan().expect.clear();
        events.push(Event::Node(NodeRecord {
            tenant: 1,
            phase,
            name: "n".to_owned(),
            operator: "Conv".to_owned(),
            count: 700,
            mean: Nanos::from_millis(1),
            max: Nanos::from_millis(2),
            with_response: None,
        }));
        made_up::summarize(&manifest, &events)
    };
    assert_eq!(only(&node(Phase::Together)).tenant.as_deref(), Some("lidar"));
    // The baseline's nodes are in the record, and in no figure.
    assert!(node(Phase::Alone).tenants[1].nodes.is_empty());
}

#[test]
fn a_file_cut_short_says_so_once_and_keeps_its_figures() {
    let (mut manifest, events) = made_up::demo(70);
    manifest.plan().expect.clear();
    let mut summarizer = jetlag::analysis::Summarizer::new(&manifest);
    events
        .iter()
        .filter(|event| !matches!(event, Event::Phase(_)))
        .for_each(|event| summarizer.push(event));
    let summary = summarizer.finish(Some("The file ends after 69.9 s.".to_owned()));
    assert_eq!(only(&summary).code, "truncated-file");
    assert!(summary.has_gaps());
    let fps = summary.tenants[0].throughput_fps.unwrap();
    assert!((fps - 30.0).abs() < 0.1, "{fps}");
    // And its plots: there is no need of an exact end to draw what was measured.
    let length = summary.plots.length_s;
    assert!((length - 70.0).abs() < 1.5, "{length}");
    let drawn: u64 = summary.plots.tenants[0]
        .over_time
        .iter()
        .map(|slice| slice.completed)
        .sum();
    assert_eq!(drawn, summary.tenants[0].frames.completed);
}

#[test]
fn recorded_findings_come_first_and_are_not_said_twice() {
    let (manifest, mut events) = made_up::demo(2);
    let recorded = |code: &str| Finding {
        code: code.to_owned(),
        tenant: Some("camera".to_owned()),
        message: "as recorded".to_owned(),
        advice: "do".to_owned(),
    };
    events.push(Event::Finding(recorded("queue-full")));
    events.push(Event::Finding(recorded("too-few-samples")));
    events.push(Event::Finding(recorded("too-few-samples")));
    let summary = made_up::summarize(&manifest, &events);
    let codes: Vec<_> = summary
        .run
        .findings
        .iter()
        .map(|f| (f.code.as_str(), f.tenant.as_deref().unwrap()))
        .collect();
    assert_eq!(
        codes,
        [
            ("queue-full", "camera"),
            ("too-few-samples", "camera"),
            ("too-few-samples", "lidar")
        ]
    );
    assert_eq!(summary.run.findings[1].message, "as recorded");
}

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
    assert!(findings[0].advice.contains("baseline: (alone: true)"));
    assert!(findings[2].message.contains("did you mean `camera`"));
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
    let advice = |summary: &Summary| {
        let mut findings = summary.run.findings.iter();
        let found = findings.find(|finding| finding.code == "too-few-samples");
        found.expect("too few frames").advice.clone()
    };
    // One second is enough for 64 frames, and is what was planned.
    assert_eq!(
        advice(&limited(50, 50, 1, 1)),
        "Set `frames: 64` or more, or remove the limit."
    );
    let longer = advice(&limited(50, 50, 0, 0));
    assert!(longer.contains("run for 1 s or longer"), "{longer}");
    // 64 frames were asked for, and the run ended before they were there.
    assert_eq!(
        advice(&limited(64, 50, 10, 1)),
        "Let the run reach its planned duration; 1 s at this rate are enough."
    );
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
        Event::Finding(Finding {
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
fn a_replayed_tenants_demand_is_by_the_rate_at_which_its_frames_came() {
    let replayed = |manifest: &mut Manifest| {
        manifest.plan().tenants[0].arrival = Arrival::Replay { speed: 1.0 };
    };
    let slow = |frame: &mut FrameRecord| {
        frame.finished = frame.started + Nanos::from_millis(44);
        if frame.sequence >= 2090 {
            (frame.outcome, frame.deadline) = (Outcome::Unfinished, None);
        } else if frame.sequence.is_multiple_of(4) {
            frame.outcome = Outcome::Dropped;
        }
    };
    let summary = changed(replayed, slow, |_| {});
    let finding = only(&summary);
    assert_eq!(finding.code, "overload");
    // 2 100 frames in 70 s, of 44 ms each.
    assert!(
        finding.message.contains("132 % of its time"),
        "{}",
        finding.message
    );
}

#[test]
fn a_slowdown_that_a_silent_co_runner_leaves_unknown_is_advised_upon_as_such() {
    let (mut manifest, mut events) = made_up::demo(70);
    manifest.plan().expect = vec!["camera.slowdown.p50 < 2".to_owned()];
    events.retain(
        |event| !matches!(event, Event::Frame(frame) if frame.tenant == 1 && frame.phase == Phase::Together),
    );
    let summary = made_up::summarize(&manifest, &events);
    let mut findings = summary.run.findings.iter();
    let finding = findings.find(|finding| finding.code == "expectation-undecided");
    let advice = &finding.expect("undecided").advice;
    assert!(
        advice.contains("Make sure that every tenant completes frames in each phase"),
        "{advice}"
    );
}

#[test]
fn a_figure_that_lacks_frames_is_explained_by_them() {
    for (seconds, line, needs) in [
        (1, "camera.response.p90 < 1s", "p90 needs 64 frames and has 30"),
        (4, "camera.response.p95 < 1s", "p95 needs 130 frames and has 120"),
        (10, "camera.response.p99 < 1s", "p99 needs 662 frames and has 300"),
        (10, "camera.slowdown.p99 < 9", "p99 needs 662 frames and has 300"),
        (10, "camera.jitter < 1s", "p99 needs 662 frames and has 300"),
    ] {
        let (mut manifest, events) = made_up::demo(seconds);
        manifest.plan().expect = vec![line.to_owned()];
        let summary = made_up::summarize(&manifest, &events);
        let of_camera = summary
            .run
            .findings
            .iter()
            .filter(|finding| finding.tenant.as_deref() == Some("camera"));
        let said: Vec<(&str, &str)> = of_camera.map(|f| (f.code.as_str(), f.message.as_str())).collect();
        assert_eq!(said.len(), 1, "{line}: {said:?}");
        assert_eq!(said[0].0, "too-few-samples", "{line}");
        assert!(said[0].1.contains(needs), "{line}: {}", said[0].1);
    }
    for line in [
        "worst_over_median < 9",
        "iqr < 1s",
        "slowdown.p50 < 9",
        "response.p50 < 1s",
    ] {
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

#[test]
fn a_tenant_without_a_frame_is_advised_by_what_became_of_its_releases() {
    for (outcome, deadline, became, advice) in [
        (
            Some(Outcome::Unfinished),
            None,
            "5 still waiting at the end",
            "Lower the rate",
        ),
        (
            Some(Outcome::Unfinished),
            Some(33),
            "5 still waiting at the end",
            "Lower the rate",
        ),
        (Some(Outcome::Dropped), None, "5 dropped", "Lower the rate"),
        (
            Some(Outcome::Failed),
            None,
            "5 failed",
            "`jetlag inspect` shows the whole log; fix",
        ),
        (
            None,
            None,
            "none was due in the measured time",
            "Run for longer than the interval between two",
        ),
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
        let mut findings = summary.run.findings.iter();
        let found = findings
            .find(|finding| finding.code == "no-frames")
            .expect("no frames");
        assert_eq!(found.message, format!("camera completed no frame: {became}."));
        assert!(found.advice.starts_with(advice), "{became}: {}", found.advice);
    }
}

#[test]
fn a_profiled_tenant_takes_from_others_only_where_there_are_any() {
    let message = |tenants: usize| {
        let (mut manifest, mut events) = made_up::demo(70);
        manifest.plan().expect.clear();
        manifest.plan().tenants[0].backend = BackendChoice::Cpu {
            profile: true,
            threads: 1,
        };
        manifest.plan().tenants.truncate(tenants);
        manifest.tenants.truncate(tenants);
        events.retain(|event| match event {
            Event::Frame(frame) => frame.tenant == OVERHEAD_TENANT || usize::from(frame.tenant) < tenants,
            Event::Phase(phase) => usize::from(phase.tenant) < tenants,
            _ => true,
        });
        let summary = made_up::summarize(&manifest, &events);
        let mut findings = summary.run.findings.iter();
        let found = findings.find(|finding| finding.code == "profiled");
        found.expect("profiled").message.clone()
    };
    assert!(message(2).contains("may slow down the other tenants more"));
    assert!(!message(1).contains("other tenants"), "{}", message(1));
}

fn codes(summary: &Summary) -> Vec<&str> {
    summary
        .run
        .findings
        .iter()
        .map(|finding| finding.code.as_str())
        .collect()
}

fn advice<'a>(summary: &'a Summary, code: &str) -> &'a str {
    let mut findings = summary.run.findings.iter();
    let found = findings.find(|finding| finding.code == code);
    &found
        .unwrap_or_else(|| panic!("no {code}: {:#?}", summary.run.findings))
        .advice
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
fn a_fifth_of_the_processors_and_a_hundredth_of_the_response_time_are_not_too_much_yet() {
    let of = |own_load: f64, own_cost: i64| {
        let (mut manifest, mut events) = made_up::demo(70);
        manifest.plan().expect.clear();
        for event in &mut events {
            match event {
                Event::Sample(sample) if sample.signal == "own_cpu_load" => sample.value = Some(own_load),
                Event::Frame(frame) if frame.tenant == OVERHEAD_TENANT => {
                    frame.finished = frame.released + Nanos(own_cost);
                }
                Event::Frame(frame) if frame.tenant == 0 => {
                    frame.finished = frame.released + Nanos::from_millis(20);
                }
                _ => {}
            }
        }
        let summary = made_up::summarize(&manifest, &events);
        codes(&summary)
            .into_iter()
            .map(str::to_owned)
            .collect::<Vec<String>>()
    };
    assert_eq!(of(44.0, 200_000), Vec::<String>::new());
    assert_eq!(of(43.9, 200_000), ["host-busy"]);
    assert_eq!(of(44.0, 200_001), ["own-cost"]);
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
    assert_eq!(only(&failed).message, "camera completed no frame: it failed.");
    let lost = nothing_of(|end| end.lost_records = 5);
    assert_eq!(codes(&lost), ["lost-records", "too-few-samples"]);
    assert_eq!(
        lost.run.findings[1].message,
        "camera completed no frame: 5 not recorded."
    );
}

/// A camera at 100 Hz for ten seconds whose frames take so many milliseconds, changed.
fn at_100_hz(ms: f64, change: impl Fn(&mut FrameRecord)) -> Summary {
    let frames = (0..1_000).map(|i| {
        let at = Nanos::from_millis(10 * i as i64);
        let mut frame = made_up::frame(i, at, Nanos::ZERO, made_up::ms(ms));
        change(&mut frame);
        Event::Frame(frame)
    });
    let mut events: Vec<Event> = frames.collect();
    events.push(Event::Phase(made_up::end(0, Phase::Together, 10)));
    made_up::summarize(
        &made_up::manifest(10, vec![made_up::tenant("camera", 100.0, 33.0)]),
        &events,
    )
}

#[test]
fn a_demand_of_four_fifths_is_a_rate_that_is_too_high_and_one_of_all_the_time_is_kept_up_with() {
    let drops = |frame: &mut FrameRecord| {
        if frame.sequence.is_multiple_of(4) {
            frame.outcome = Outcome::Dropped;
        }
    };
    assert!(advice(&at_100_hz(8.0, drops), "overload").starts_with("Lower the rate"));
    assert!(advice(&at_100_hz(7.9, drops), "overload").contains("stalls"));
    assert!(!codes(&at_100_hz(10.0, |_| {})).contains(&"overload"));
    assert!(codes(&at_100_hz(10.1, |_| {})).contains(&"overload"));
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

#[test]
fn a_run_that_lasted_and_had_too_few_is_advised_to_last_longer_than_it_did() {
    // 64 frames at 30 Hz and one at each end take 2.2 s, and these were planned and lasted.
    let frame = |i: u64| made_up::frame(i, Nanos::from_millis(33 * i as i64), Nanos::ZERO, Nanos(5));
    let mut events: Vec<Event> = (0..60).map(|i| Event::Frame(frame(i))).collect();
    events.push(Event::Phase(made_up::end(0, Phase::Together, 3)));
    let manifest = made_up::manifest(3, vec![made_up::tenant("camera", 30.0, 33.0)]);
    let summary = made_up::summarize(&manifest, &events);
    assert_eq!(
        advice(&summary, "too-few-samples"),
        "Run for 4 s or longer at this rate (`--set duration=4s`)."
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
    let advice = advice(&summary, "too-few-samples");
    assert!(advice.starts_with("Set `frames: 235` or more"), "{advice}");
}

#[test]
fn frames_that_are_missing_alone_are_advised_upon_by_how_they_came_alone() {
    let of = |arrival: Arrival| {
        let (mut manifest, mut events) = made_up::demo(70);
        manifest.plan().expect = vec!["camera.slowdown.p99 < 9".to_owned()];
        manifest.plan().tenants[0].arrival = arrival;
        let mut alone = 0;
        events.retain(|event| match event {
            Event::Frame(frame) if frame.tenant == 0 && frame.phase == Phase::Alone && !frame.warmup => {
                alone += 1;
                alone <= 100
            }
            _ => true,
        });
        let summary = made_up::summarize(&manifest, &events);
        advice(&summary, "too-few-samples").to_owned()
    };
    let hz = 30.0;
    let periodic = made_up::periodic(hz);
    // 100 frames in 70 s: 662 and one at each end take 464.8 s.
    assert_eq!(
        of(periodic),
        "Run for 465 s or longer at this rate (`--set duration=465s`): only the time in which the tenant runs alone \
         counts here."
    );
    // By chance, seen on 100 frames: v = 1 + 662 / 100, 662 + 3.38 v + 2.6 √(662 v + 1.69 v²) + 2 take 613.4 s.
    assert_eq!(
        of(Arrival::Poisson { hz }),
        "Run for 614 s or longer at this rate (`--set duration=614s`): only the time in which the tenant runs alone \
         counts here."
    );
}
