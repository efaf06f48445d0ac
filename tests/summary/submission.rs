//! What is found of a tenant whose *compute* is the host's launching, and of one whose *compute* is not.

use jetlag::analysis::Summary;
use jetlag::analysis::summary::Finding;
use jetlag::record::{Event, Phase, SampleRecord, Stage, Submission};
use jetlag::report::json;
use jetlag::scenario::BackendChoice;
use jetlag::units::Nanos;
use serde_json::{Value, json};

use crate::common::planned::Planned as _;
use crate::summary::made_up::{self, START};

/// The demo on a backend with a device, of which the camera's host was still submitting for this part of *compute*.
pub(crate) fn submitted(backend: &str, share: Option<f64>, may_wait: Option<bool>) -> Summary {
    let (mut manifest, mut events) = made_up::demo(70);
    manifest.plan().expect.clear();
    manifest.tenants[0].backend = backend.to_owned();
    if backend == "tensorrt" {
        manifest.plan().tenants[0].backend = BackendChoice::TensorRt {
            build: Vec::new(),
            plans: Vec::new(),
            profile: false,
        };
    }
    manifest.tenants[0].submission_may_wait = may_wait;
    for event in &mut events {
        if let Event::Frame(frame) = event
            && frame.tenant == 0
            && frame.phase != Phase::Overhead
        {
            let compute = frame.stages[Stage::Compute as usize].unwrap_or_default();
            let in_compute = share.map(|share| Nanos((compute.0 as f64 * share) as i64));
            frame.submission = in_compute.map(|in_compute| Submission {
                took: in_compute + Nanos::from_micros(80),
                in_compute: Some(in_compute),
            });
        }
    }
    for second in 0..70 {
        for (signal, value, unit) in [
            ("cpu_deep_idle_C2", 63.0, "percent"),
            ("cpu0_frequency", 1200.0, "mhz"),
        ] {
            events.push(Event::Sample(SampleRecord {
                at: START + Nanos::from_secs(second),
                source: "host".to_owned(),
                signal: signal.to_owned(),
                value: Some(value),
                unit: unit.to_owned(),
            }));
        }
    }
    made_up::summarize(&manifest, &events)
}

fn found<'a>(summary: &'a Summary, code: &str) -> Option<&'a Finding> {
    summary.run.findings.iter().find(|finding| finding.code == code)
}

#[test]
fn launches_that_last_as_long_as_compute_are_a_finding() {
    let summary = submitted("onnxruntime-cuda", Some(0.98), Some(false));
    let finding = found(&summary, "host-bound").expect("the finding");
    assert_eq!(finding.tenant.as_deref(), Some("camera"));
    let facts = &finding.facts;
    let host = json!({ "deep": { "state": "C2", "percent": 63.0 }, "mhz": 1200.0 });
    assert_eq!((&facts["host"], &facts["graph"]), (&host, &Value::Null));
    let bound = facts["bound_frames"].as_f64().expect("a share");
    assert_eq!((bound * 100.0).round(), 98.0);
    let on_tensorrt = submitted("tensorrt", Some(0.98), Some(false));
    let finding = found(&on_tensorrt, "host-bound").expect("the finding");
    assert_eq!(finding.facts["graph"], "Off");
}

#[test]
fn where_the_backend_may_wait_that_is_said_instead() {
    for may_wait in [Some(true), None] {
        let summary = submitted("onnxruntime-cuda", Some(0.98), may_wait);
        assert!(found(&summary, "host-bound").is_none());
        let finding = found(&summary, "compute-unclear").expect("the finding");
        assert_eq!(finding.facts["backend"], "onnxruntime-cuda");
    }
}

#[test]
fn a_device_that_has_its_work_in_line_and_an_old_file_say_nothing() {
    for share in [Some(0.3), None] {
        let summary = submitted("onnxruntime-cuda", share, Some(false));
        assert!(found(&summary, "host-bound").is_none() && found(&summary, "compute-unclear").is_none());
        assert_eq!(summary.tenants[0].submission_ms.is_some(), share.is_some());
        assert_eq!(summary.tenants[0].submitting.is_some(), share.is_some());
        // Of the other tenant nothing was recorded.
        assert!(summary.tenants[1].submission_ms.is_none());
    }
}

#[test]
fn the_machine_form_has_the_share_and_the_judgement() {
    let mut out = Vec::new();
    json::write(&submitted("tensorrt", Some(0.98), Some(false)), &mut out).expect("writing to memory");
    let value: Value = serde_json::from_slice(&out).expect("JSON");
    let submitting = &value["tenants"][0]["submitting"];
    assert_eq!(submitting["host_bound"], true);
    assert!((submitting["share"]["p50"].as_f64().expect("a share") - 0.98).abs() < 1e-5);
    assert_eq!(value["tenants"][0]["submission_ms"]["count"], 2100);
}
