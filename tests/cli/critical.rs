//! `jetlag report --critical-path`, `--what-if` over run files with a traced phase, and without.

use std::path::Path;

use jetlag::record::activity::{Interface, OnStream, Owner, WaitKind, Work};
use jetlag::record::{
    Activity, ActivityBatch, Definition, Event, FrameRecord, Manifest, Phase, PhaseSpec, RunWriter, Stage,
    TenantManifest, TraceRecord,
};
use jetlag::scenario::{BackendChoice, Scenario, Tenant};
use jetlag::units::{Nanos, Stamp};
use serde_json::Value;

use crate::common::output::{assert_refused, run, stderr, stdout};

const PHASE: Phase = Phase::Other(1);

fn manifest() -> Manifest {
    let scenario = Scenario {
        tenants: vec![Tenant::of_backend("camera", BackendChoice::Null)],
        ..Scenario::empty("made")
    };
    Manifest {
        jetlag_version: "0.1.0".to_owned(),
        subject: scenario.into(),
        tenants: vec![TenantManifest {
            name: "camera".to_owned(),
            backend: "tensorrt".to_owned(),
            source: "nothing".to_owned(),
            ..TenantManifest::default()
        }],
        anchor: Stamp(0),
        ..Manifest::default()
    }
}

fn frame(phase: Phase, sequence: u64, at: i64) -> Event {
    let mut stages = [None; 9];
    stages[Stage::Preprocess as usize] = Some(Nanos::from_micros(100));
    Event::Frame(FrameRecord {
        phase,
        sequence,
        source_index: sequence,
        stages,
        ..FrameRecord::completed(Stamp(at), Stamp(at) + Nanos::from_micros(1_000))
    })
}

/// Twenty frames, each with one kernel of 700 µs; and as many that were not traced.
fn traced() -> Vec<Event> {
    let spec = |phase, traced| {
        Event::PhaseSpec(PhaseSpec {
            at: Stamp(0),
            phase,
            label: "camera".to_owned(),
            sharing: "Streams".to_owned(),
            members: vec![0],
            traced,
            ..PhaseSpec::default()
        })
    };
    let mut events = vec![spec(Phase::Together, false), spec(PHASE, true)];
    for (number, text) in ["cuLaunchKernel", "conv_winograd", "cuStreamSynchronize"]
        .into_iter()
        .enumerate()
    {
        events.push(Event::Definition(Definition {
            number: number as u32,
            text: text.to_owned(),
            launch: None,
        }));
    }
    let on = OnStream {
        device: 0,
        context: 1,
        stream: 7,
    };
    let mut activities = Vec::new();
    for sequence in 0..20u64 {
        let at = 1_000_000 + 2_000_000 * sequence as i64;
        events.push(frame(Phase::Together, sequence, at - 500_000_000));
        events.push(frame(PHASE, sequence, at));
        let owner = Owner {
            tenant: Some(0),
            frame: Some(sequence),
            layer: None,
        };
        let correlation = 2 * sequence as u32;
        let mut add = |name: Option<u32>, from: i64, to: i64, work| {
            activities.push(Activity {
                from: Stamp(at + from * 1_000),
                to: Stamp(at + to * 1_000),
                name,
                owner,
                work,
            });
        };
        let call = |correlation| Work::Call {
            thread: 9,
            correlation,
            interface: Interface::Driver,
        };
        add(Some(0), 110, 120, call(correlation));
        let kernel = Work::Kernel {
            on,
            correlation,
            graph: 0,
        };
        add(Some(2), 130, 950, call(correlation + 1));
        let wait = Work::Wait {
            on,
            correlation: correlation + 1,
            how: WaitKind::Stream,
            event: 0,
        };
        add(None, 130, 950, wait);
        add(Some(1), 200, 900, kernel);
    }
    events.push(Event::Activities(ActivityBatch {
        phase: PHASE,
        process: 4,
        activities,
    }));
    events.push(Event::Trace(TraceRecord {
        phase: Some(PHASE),
        process: 4,
        calls: true,
        graph_nodes: true,
        ..TraceRecord::default()
    }));
    events
}

fn file(folder: &Path, events: &[Event]) {
    let mut writer = RunWriter::create(&folder.join("run.mcap"), &manifest()).unwrap();
    for event in events {
        writer.write(event).unwrap();
    }
    writer.finish().unwrap();
}

#[test]
fn a_traced_run_has_a_critical_path_and_predictions() {
    let folder = tempfile::tempdir().unwrap();
    file(folder.path(), &traced());
    let shown = run(&["report", "run.mcap", "--critical-path"], folder.path());
    let text = stdout(&shown);
    assert!(shown.status.success(), "{}", stderr(&shown));
    assert!(
        text.contains("CRITICAL PATH  camera") && text.contains("conv_winograd"),
        "{text}"
    );
    let change = "camera: kernel \"conv*\" x0.5";
    let predicted = run(&["report", "run.mcap", "--what-if", change], folder.path());
    let text = stdout(&predicted);
    assert!(
        text.contains("−35 %") && !text.contains("CRITICAL PATH"),
        "{text}"
    );
    let json = run(
        &["report", "run.mcap", "--what-if", change, "--format", "json"],
        folder.path(),
    );
    let value: Value = serde_json::from_slice(&json.stdout).unwrap();
    assert_eq!(value["schema"], 1);
    let rows = value["critical_path"][0]["tenants"][0]["steady"]["rows"]
        .as_array()
        .unwrap();
    assert_eq!(rows[0]["name"], "conv_winograd");
    assert_eq!(rows[0]["share"], 0.7);
    let response = &value["what_if"]["tenants"][0]["response"];
    assert_eq!(
        (&response["change"], &response["expected_ms"]),
        (&(-0.35).into(), &0.65.into())
    );
    let documentation = include_str!("../../docs/json.md");
    for key in ["critical_path", "what_if"] {
        for field in fields(&value[key]) {
            assert!(
                documentation.contains(&format!("`{field}`")),
                "{field} is not documented"
            );
        }
    }
}

/// The names of all fields of a value.
fn fields(value: &Value) -> Vec<String> {
    match value {
        Value::Object(object) => object
            .iter()
            .flat_map(|(name, value)| std::iter::once(name.clone()).chain(fields(value)))
            .collect(),
        Value::Array(array) => array.iter().flat_map(fields).collect(),
        _ => Vec::new(),
    }
}

/// As `jetlag trace` records: the measurement itself is traced, so nothing untraced is beside it.
#[test]
fn a_program_s_trace_is_a_perturbed_one_until_untraced_frames_are_given() {
    let folder = tempfile::tempdir().unwrap();
    let is_traced = |event: &Event| match event {
        Event::Frame(frame) => frame.phase != Phase::Together,
        Event::PhaseSpec(spec) => spec.traced,
        _ => true,
    };
    let own = traced().into_iter().filter(is_traced).map(|event| match event {
        Event::PhaseSpec(spec) => Event::PhaseSpec(PhaseSpec {
            phase: Phase::Together,
            ..spec
        }),
        Event::Frame(frame) => Event::Frame(FrameRecord {
            phase: Phase::Together,
            ..frame
        }),
        Event::Activities(batch) => Event::Activities(ActivityBatch {
            phase: Phase::Together,
            ..batch
        }),
        Event::Trace(trace) => Event::Trace(TraceRecord {
            phase: Some(Phase::Together),
            ..trace
        }),
        other => other,
    });
    file(folder.path(), &own.collect::<Vec<_>>());
    std::fs::rename(folder.path().join("run.mcap"), folder.path().join("traced.mcap")).unwrap();
    file(folder.path(), &traced());
    let change = "camera: kernel \"conv*\" x0.5";
    let found = |options: &[&str]| -> Value {
        let words = [
            &["report", "traced.mcap", "--what-if", change, "--format", "json"],
            options,
        ]
        .concat();
        let shown = run(&words, folder.path());
        let value: Value =
            serde_json::from_slice(&shown.stdout).unwrap_or_else(|_| panic!("{}", stderr(&shown)));
        value["what_if"].clone()
    };
    let alone = found(&[]);
    let response = &alone["tenants"][0]["response"];
    assert!(
        alone["untraced"].is_null() && response["untraced_ms"].is_null(),
        "{alone}"
    );
    assert!(
        alone["assumptions"].to_string().contains("a perturbed one"),
        "{alone}"
    );
    // ± 41 % of −35 %.
    let ends = |response: &Value| [0, 1].map(|end| response["change_ci95"][end].as_f64().unwrap());
    assert_eq!(ends(response), [-0.4935, -0.2065], "{response}");
    // Runs of one program differ as much as traces do.
    let beside = found(&["--untraced", "run.mcap"]);
    let response = &beside["tenants"][0]["response"];
    assert_eq!(beside["untraced"], "run.mcap");
    assert_eq!(
        (&response["change"], ends(response)),
        (&(-0.35).into(), [-0.4935, -0.2065]),
        "{response}"
    );
    let refused = run(
        &[
            "report",
            "run.mcap",
            "--what-if",
            change,
            "--untraced",
            "traced.mcap",
        ],
        folder.path(),
    );
    assert_refused(&refused, 2, &["traced.mcap", "jetlag trace --no-gpu"]);
}

#[test]
fn a_change_that_cannot_be_is_wrong_use_and_says_what_there_is() {
    let folder = tempfile::tempdir().unwrap();
    file(folder.path(), &traced());
    for (change, said) in [
        ("camra: h2d x0", "did you mean `camera`?"),
        ("camera: kernel \"gemm\" x0.5", "there are conv_winograd"),
        ("without camera", "leave a tenant"),
    ] {
        let refused = run(&["report", "run.mcap", "--what-if", change], folder.path());
        assert_refused(&refused, 2, &[said]);
    }
}

#[test]
fn a_run_without_a_trace_says_how_to_get_one() {
    let folder = tempfile::tempdir().unwrap();
    file(folder.path(), &[frame(Phase::Together, 0, 0)]);
    for option in [&["--critical-path"][..], &["--what-if", "camera: h2d x0"]] {
        let shown = run(&[&["report", "run.mcap"], option].concat(), folder.path());
        assert!(
            stdout(&shown).contains("`jetlag run SCENARIO --trace` traces one"),
            "{}",
            stdout(&shown)
        );
    }
}

/// Recorded on an H100: the demo's detectors on ONNX Runtime beside a stressor.
#[test]
fn a_recorded_trace_has_paths_that_add_up_and_predictions_for_all_of_its_tenants() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/records/traced.mcap");
    let folder = tempfile::tempdir().unwrap();
    let json = |options: &[&str]| -> Value {
        let shown = run(
            &[&["report", file, "--format", "json"], options].concat(),
            folder.path(),
        );
        serde_json::from_slice(&shown.stdout).unwrap_or_else(|_| panic!("{}", stderr(&shown)))
    };
    let paths = json(&["--critical-path"]);
    let phase = &paths["critical_path"][0];
    let tenants = phase["tenants"].as_array().unwrap();
    assert_eq!(tenants.len(), 3);
    for tenant in tenants {
        let rows = tenant["steady"]["rows"].as_array().unwrap();
        let sum = |key: &str| rows.iter().map(|row| row[key].as_f64().unwrap()).sum::<f64>();
        assert!((sum("share") - 1.0).abs() < 1e-4, "{tenant}");
        let response = tenant["steady"]["response_ms"].as_f64().unwrap();
        assert!((sum("path_ms") - response).abs() < 1e-3, "{tenant}");
        assert_eq!(tenant["steady"]["without_work"], 0);
    }
    // The stressor is its kernel; the detectors are held up by it.
    assert_eq!(tenants[2]["steady"]["rows"][0]["kind"], "kernel");
    let camera = tenants[0]["steady"]["rows"].as_array().unwrap();
    assert!(
        camera
            .iter()
            .any(|row| row["kind"] == "busy" && row["name"] == "load")
    );
    let found = json(&["--what-if", "without load", "--what-if", "camera: graph"]);
    let camera = &found["what_if"]["tenants"][0]["response"];
    assert!(camera["change"].as_f64().unwrap() < -0.1, "{camera}");
    let error = camera["model_ms"].as_f64().unwrap() / camera["traced_ms"].as_f64().unwrap() - 1.0;
    assert!(error.abs() < 0.01, "{camera}");
    // The median of the untraced frames, each without its own preprocessing, is 1.89 ms; the traced ratio would say 2.23.
    let found = json(&["--what-if", "camera: preprocess x0"]);
    let camera = &found["what_if"]["tenants"][0]["response"];
    let expected = camera["expected_ms"].as_f64().unwrap();
    assert!((expected - 1.89).abs() < 0.02, "{camera}");
    assert_eq!(found["what_if"]["untraced"], "this run");
}
