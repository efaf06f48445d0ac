//! Time per node, from the profile that ONNX Runtime writes itself.

use jetlag::backend::{Backend, Program, Slot};
use jetlag::clock::{Clock, RealClock};
use jetlag::commands::opening;
use jetlag::detector::Carry;
use jetlag::scenario::{DetectorRef, Sensor};
use jetlag::source::synthetic::SyntheticSource;
use jetlag::units::{Nanos, Stamp};
use serde_json::Value;

use super::networks::provider;
use super::{assert_refused, environment, jetlag, next_frame, stderr};

const PROFILED: &str = "OnnxRuntime(provider: Cpu, profile: true)";

/// Runs the demo with both tenants profiled, and `more`; answers the summary. Nothing of ours may be left in the temporary folder.
fn profiled(library: &std::path::Path, out: &std::path::Path, more: &[&str]) -> Value {
    let temporary = tempfile::tempdir().unwrap();
    let out = out.display().to_string();
    let mut args = vec!["run", "configs/demo.ron", "--out", &out, "--format", "json"];
    let sets: Vec<String> = ["camera", "lidar"]
        .iter()
        .flat_map(|tenant| {
            [
                format!("tenants.{tenant}.backend={PROFILED}"),
                format!("tenants.{tenant}.arrival=Closed"),
                format!("tenants.{tenant}.frames=12"),
                format!("tenants.{tenant}.depth=2"),
            ]
        })
        .chain(["warmup=300ms", "duration=60s", "expect=[]"].map(str::to_owned))
        .chain(more.iter().map(|set| (*set).to_owned()))
        .collect();
    args.extend(sets.iter().flat_map(|set| ["--set", set.as_str()]));
    let output = super::jetlag_with(library, &args, &[("TMPDIR", temporary.path())]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    // The library leaves a file of its own there (`.ses`), profile or not.
    let left = std::fs::read_dir(temporary.path()).unwrap();
    let names = left.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned());
    let ours: Vec<String> = names.filter(|name| name.starts_with("jetlag")).collect();
    assert!(ours.is_empty(), "{ours:?}");
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Each measured frame has a time for each node, all within *compute*, which has more: what lies between nodes, and the
/// LiDAR's step on the host.
fn assert_within_compute(summary: &Value) {
    for tenant in summary["tenants"].as_array().unwrap() {
        let name = &tenant["name"];
        let nodes = tenant["nodes"].as_array().unwrap();
        assert!(nodes.len() > 3, "{name}: {nodes:?}");
        assert_eq!(tenant["node_time"], "execution", "{name}");
        let completed = &tenant["frames"]["completed"];
        assert!(nodes.iter().all(|node| node["count"] == *completed), "{name}");
        let sum: f64 = nodes.iter().map(|node| node["mean_ms"].as_f64().unwrap()).sum();
        let compute = tenant["stages_ms"]["compute"]["mean"].as_f64().unwrap();
        assert!(sum > 0.0 && sum <= compute, "{name}: {sum} of {compute}");
        let operators = tenant["operators"].as_array().unwrap();
        assert!(
            operators.iter().any(|of| of["operator"] == "Conv"),
            "{operators:?}"
        );
        let findings = summary["run"]["findings"].as_array().unwrap();
        let said = findings
            .iter()
            .find(|finding| finding["code"] == "profiled" && finding["tenant"] == *name)
            .unwrap();
        assert!(
            said["message"]
                .as_str()
                .unwrap()
                .contains("ONNX Runtime recorded"),
            "{said}"
        );
    }
}

#[test]
fn the_nodes_of_a_profiled_run_take_no_longer_than_compute() {
    let Some(library) = environment() else { return };
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("run.mcap");
    let summary = profiled(&library, &file, &["baseline=(alone: true)"]);
    assert_within_compute(&summary);
    let file = file.display().to_string();
    let shown = jetlag(&library, &["report", &file]);
    let shown = String::from_utf8(shown.stdout).unwrap();
    assert!(shown.contains("TIME PER LAYER"), "{shown}");
    let layers = jetlag(&library, &["report", &file, "--layers"]);
    let layers = String::from_utf8(layers.stdout).unwrap();
    assert!(
        layers.contains("by operator") && layers.contains("Conv"),
        "{layers}"
    );
}

#[test]
fn a_tenant_in_a_process_of_its_own_tells_its_nodes_too() {
    let Some(library) = environment() else { return };
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("run.mcap");
    assert_within_compute(&profiled(&library, &file, &["sharing=Processes"]));
}

#[test]
fn without_a_folder_to_write_to_the_tenant_is_refused() {
    let Some(library) = environment() else { return };
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("run.mcap").display().to_string();
    let backend = format!("tenants.camera.backend={PROFILED}");
    let args = ["run", "configs/demo.ron", "--out", &out, "--set", &backend];
    let nowhere = folder.path().join("nowhere");
    let output = super::jetlag_with(&library, &args, &[("TMPDIR", &nowhere)]);
    assert_refused(&output, 2, &["`profile: true` needs a folder", "set TMPDIR"]);
}

/// Fills and executes one frame; answers when.
fn execute(slot: &mut dyn Slot, mut fill: impl FnMut(&mut dyn Slot)) -> [Stamp; 2] {
    fill(slot);
    let from = RealClock.now();
    slot.submit().unwrap();
    slot.wait().unwrap();
    [from, RealClock.now()]
}

/// What a launch is joined by: the kernel's number of the thread, and moments on the host's line.
#[test]
fn spans_name_the_thread_and_lie_within_their_frame() {
    let Some(backend) = provider(1) else { return };
    let backend = jetlag::backend::onnxruntime::CpuProvider {
        profile: true,
        ..backend
    };
    let mut detector = opening::detector(&DetectorRef::Builtin("camera".to_owned())).unwrap();
    let mut source = SyntheticSource::open(Sensor::Camera, 3, 4, true);
    let program: &Program = &detector.program;
    let mut slots = backend.open(program, 2).unwrap().slots;
    let mut frames = Vec::new();
    for number in 0..4 {
        let frame = next_frame(&mut source);
        let preprocess = &mut detector.preprocess;
        let slot = slots[number % 2].as_mut();
        frames.push(execute(slot, |slot| {
            preprocess
                .run(&frame, slot.tensors_mut(), &mut Carry::default())
                .unwrap();
        }));
        // The first is a warm-up, and not told.
        assert!(number == 0 || slot.number_frame(number as u64 - 1));
    }
    let times = slots[1].late_node_times();
    assert_eq!(slots[1].take_findings(), []);
    assert_eq!(times.keys().copied().collect::<Vec<_>>(), [0, 1, 2]);
    let (first, last) = (frames[0][0], frames[3][1]);
    // As far as a begin is rounded down.
    let slack = Nanos::from_micros(1);
    let all = slots[0].node_spans(first, last);
    assert_eq!(all.len(), times[&0].len() * 4);
    for [from, to] in &frames[1..] {
        let within = slots[0].node_spans(*from, *to);
        assert_eq!(within.len(), times[&0].len());
        for span in &within {
            assert!(
                span.from >= *from - slack && span.to <= *to,
                "{span:?} in {from:?}, {to:?}"
            );
        }
        let thread = rustix::thread::gettid().as_raw_nonzero().get().cast_unsigned();
        assert!(within.iter().all(|span| span.thread == thread), "{within:?}");
    }
    let after = last + Nanos::from_millis(1);
    assert_eq!(slots[0].node_spans(after, after), []);
}
