//! Each finding appears when it should, with its figure and an advice that fits, and a sound run has none.

mod expectations;
mod failures;
mod load;
mod sample;
mod stamps;

use jetlag::analysis::Summary;
use jetlag::analysis::summary::{Finding, Verdict};
use jetlag::record::{
    self, EndReason, Event, FrameRecord, LogRecord, Manifest, NodeRecord, OVERHEAD_TENANT, Outcome, Phase,
    PhaseRecord,
};
use jetlag::scenario::{Arrival, BackendChoice, ClockKind, Overload, Provider, Release};
use jetlag::units::Nanos;
use serde_json::json;

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
fn lost_records_are_counted_and_reported() {
    let summary = changed(|_| {}, |_| {}, |end| end.lost_records = 21);
    assert_eq!(summary.tenants[0].frames.lost_records, 21);
    let finding = only(&summary);
    assert_eq!(finding.code, "lost-records");
    assert_eq!(
        (&finding.facts["lost"], &finding.facts["all"]),
        (&json!(21), &json!(2121))
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
    assert_eq!(finding.facts["by"], "one-at-a-time");

    // On ONNX Runtime each node is stamped in passing; on its CUDA provider by the host alone.
    for (provider, stamps) in [(Provider::Cpu, "execution"), (Provider::Cuda, "submission")] {
        let on_it = |manifest: &mut Manifest| {
            manifest.plan().tenants[0].backend = BackendChoice::OnnxRuntime {
                provider,
                threads: 1,
                profile: true,
            };
        };
        let summary = changed(on_it, |_| {}, |_| {});
        assert_eq!(found(&summary, "profiled").facts["by"]["stamps"], stamps);
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
    let recorded = |code: &str| record::Finding {
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
            ("too-few-samples", "lidar"),
            ("expectation-undecided", "lidar")
        ]
    );
    let [_, as_recorded, derived, _] = &summary.run.findings[..] else {
        panic!("four findings")
    };
    assert_eq!(as_recorded.message, "as recorded");
    assert!(as_recorded.facts.is_empty() && !derived.facts.is_empty());
}

#[test]
fn a_profiled_tenant_takes_from_others_only_where_there_are_any() {
    let beside_others = |tenants: usize| {
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
        found(&summary, "profiled").facts["beside_others"].clone()
    };
    assert_eq!((beside_others(2), beside_others(1)), (json!(true), json!(false)));
}

fn codes(summary: &Summary) -> Vec<&str> {
    summary
        .run
        .findings
        .iter()
        .map(|finding| finding.code.as_str())
        .collect()
}

fn found<'a>(summary: &'a Summary, code: &str) -> &'a Finding {
    let mut findings = summary.run.findings.iter();
    let found = findings.find(|finding| finding.code == code);
    found.unwrap_or_else(|| panic!("no {code}: {:#?}", summary.run.findings))
}
