//! Several frames in one inference: each finds what it finds alone, and has its own times; what cannot be batched is refused before.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use jetlag::detector::{Detection, Place};
use jetlag::record::{Event, FrameRecord, Outcome, RunReader, Stage};
use rten_onnx::onnx::{Dimension, ModelProto, ValueInfoProto};
use serde_json::Value;

use crate::common::output::{assert_refused, run, stderr};

/// The camera's network for any number of frames, and its spec.
pub(crate) fn any_batch(folder: &Path) {
    let engines = Path::new(env!("CARGO_MANIFEST_DIR")).join("engines");
    let mut model = ModelProto::parse_buf(&fs::read(engines.join("camera.onnx")).unwrap()).unwrap();
    let graph = model.graph.as_mut().unwrap();
    let shapes: Vec<String> = graph
        .node
        .iter()
        .filter(|node| node.op_type.as_deref() == Some("Reshape"))
        .map(|node| node.input[1].clone())
        .collect();
    for shape in graph
        .initializer
        .iter_mut()
        .filter(|tensor| tensor.name.as_ref().is_some_and(|name| shapes.contains(name)))
    {
        // 0 is the extent of the tensor that is reshaped.
        if let Some(raw) = &shape.raw_data {
            raw.borrow_mut()[..8].fill(0);
        } else {
            shape.int64_data[0] = 0;
        }
    }
    let open = |ports: &mut Vec<ValueInfoProto>| {
        for port in ports {
            let of = port.r#type.as_mut().and_then(|of| of.tensor_type.as_mut());
            let shape = of.and_then(|of| of.shape.as_mut()).unwrap();
            shape.dim[0] = Dimension {
                dim_value: None,
                dim_param: Some("n".to_owned()),
            };
        }
    };
    open(&mut graph.input);
    open(&mut graph.output);
    graph.value_info.clear();
    fs::write(folder.join("camera.onnx"), model.write_buf().unwrap()).unwrap();
    fs::copy(engines.join("camera.ron"), folder.join("camera.ron")).unwrap();
}

/// The outputs of the network of [`any_batch`] state so many frames, whatever goes in.
pub(crate) fn answer_for(folder: &Path, frames: i64) {
    let path = folder.join("camera.onnx");
    let mut model = ModelProto::parse_buf(&fs::read(&path).unwrap()).unwrap();
    for port in &mut model.graph.as_mut().unwrap().output {
        let of = port.r#type.as_mut().and_then(|of| of.tensor_type.as_mut());
        let shape = of.and_then(|of| of.shape.as_mut()).unwrap();
        shape.dim[0] = Dimension {
            dim_value: Some(frames),
            dim_param: None,
        };
    }
    fs::write(path, model.write_buf().unwrap()).unwrap();
}

fn ran(folder: &Path, name: &str, tenant: &str) -> (Vec<FrameRecord>, Vec<Vec<Detection>>) {
    let scenario = folder.join(format!("{name}.ron"));
    let text = format!(
        "Scenario(name: \"{name}\", duration: \"1h\", warmup: \"0s\", telemetry: (sources: [Host]), tenants: [Tenant(\n    \
         name: \"camera\", detector: \"camera.ron\", source: Images(path: \"scenes/image_2\", repeat: false), arrival: Closed(), \
         {tenant}\n)])\n"
    );
    fs::write(&scenario, text).unwrap();
    let file = format!("{name}.mcap");
    let arguments = ["run", scenario.to_str().unwrap(), "--quiet", "--out", &file];
    let output = run(&arguments, folder);
    assert!(output.status.success(), "{}", stderr(&output));
    // What was found in a frame may stand before or after the frame in the file.
    let (mut frames, mut found) = (Vec::new(), BTreeMap::new());
    for event in RunReader::open(&folder.join(file)).unwrap() {
        match event.unwrap() {
            Event::Frame(frame) if frame.tenant == 0 && frame.outcome == Outcome::Completed => {
                frames.push(frame)
            }
            Event::Detections(record) => drop(found.insert(record.at, record.detections)),
            _ => {}
        }
    }
    let of_each = frames
        .iter()
        .map(|frame: &FrameRecord| found.remove(&frame.finished).unwrap_or_default())
        .collect();
    assert!(found.is_empty(), "found in no frame: {found:?}");
    (frames, of_each)
}

fn are_alike(one: &[Detection], other: &[Detection]) {
    assert_eq!(one.len(), other.len(), "{one:?} and {other:?}");
    for (a, b) in one.iter().zip(other) {
        let (Place::Image(p), Place::Image(q)) = (a.place, b.place) else {
            panic!("a camera finds boxes in the image");
        };
        let apart = [p.x1 - q.x1, p.y1 - q.y1, p.x2 - q.x2, p.y2 - q.y2];
        let near = a.class == b.class && (a.score - b.score).abs() < 1e-3;
        assert!(near && apart.iter().all(|d| d.abs() < 0.1), "{a:?} and {b:?}");
    }
}

#[test]
fn a_frame_in_a_batch_finds_what_it_finds_alone() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    any_batch(folder);
    let synth = [
        "data", "synth", "--out", "scenes", "--count", "6", "--seed", "9001",
    ];
    assert!(run(&synth, folder).status.success());
    let (single, alone) = ran(folder, "single", "backend: Cpu(threads: 1)");
    assert!(single.iter().all(|frame| frame.batch.is_none()));
    assert!(
        alone.iter().any(|found| !found.is_empty()),
        "a street without anything on it"
    );
    for (name, depth) in [("serial", 1), ("overlapped", 2)] {
        let tenant = format!("backend: Cpu(threads: 1), batch: 4, depth: {depth}");
        let (frames, found) = ran(folder, name, &tenant);
        let batches: Vec<(u64, u32)> = frames
            .iter()
            .map(|frame| frame.batch.map(|batch| (batch.first, batch.items)).unwrap())
            .collect();
        assert_eq!(batches, [(0, 4), (0, 4), (0, 4), (0, 4), (4, 2), (4, 2)]);
        for (a, b) in alone.iter().zip(&found) {
            are_alike(a, b);
        }
        for (n, frame) in frames.iter().enumerate() {
            assert_eq!((frame.sequence, frame.source_index), (n as u64, n as u64));
            // The network is executed once for all.
            let first = &frames[n / 4 * 4];
            assert_eq!(
                frame.stages[Stage::Compute as usize],
                first.stages[Stage::Compute as usize]
            );
            let queue = |frame: &FrameRecord| frame.stages[Stage::Queue as usize].unwrap();
            assert!(queue(frame) <= queue(first), "the first waits longest");
        }
        let released: Vec<_> = frames.iter().map(|frame| frame.released).collect();
        assert!(
            released.is_sorted() && released[0] < released[3],
            "each has its own release"
        );
    }
}

#[test]
fn what_cannot_be_batched_is_refused_before_the_run() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let scenario = |detector: &str, source: &str, more: &str| {
        let text = format!(
            "Scenario(name: \"b\", tenants: [Tenant(name: \"a\", detector: \"builtin:{detector}\", source: Synthetic({source}), \
             backend: Cpu(threads: 1), {more})])"
        );
        fs::write(folder.join("b.ron"), text).unwrap();
    };
    for how in [&["run", "b.ron", "--quiet"][..], &["run", "b.ron", "--dry-run"]] {
        scenario("camera", "Camera", "batch: 4");
        assert_refused(
            &run(how, folder),
            2,
            &[
                "fixed batch of 1",
                "batch: 4",
                "export it with a dynamic first dimension",
            ],
        );
        scenario("lidar", "Lidar", "batch: 2");
        assert_refused(
            &run(how, folder),
            2,
            &["a detector of one network", "leave `batch` out"],
        );
        scenario("camera", "Camera", "batch: 0");
        assert_refused(&run(how, folder), 2, &["`batch` of tenant `a`", "from 1"]);
        scenario("camera", "Camera", "batch_wait: \"5ms\"");
        assert_refused(
            &run(how, folder),
            2,
            &["`batch_wait` of tenant `a`", "no frame waits for another"],
        );
    }
}

#[test]
fn a_simulated_batch_is_one_of_cv_cuda_with_as_many_items() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    fs::write(
        folder.join("s.ron"),
        "Scenario(name: \"s\", clock: Virtual, duration: \"1s\", warmup: \"0s\", tenants: [Tenant(name: \"a\", \
         backend: Sim(Fixed(\"8ms\")), arrival: Periodic(hz: 100), batch: 4, batch_wait: \"100ms\", overload: Queue(capacity: 9))])",
    )
    .unwrap();
    let made = run(&["run", "s.ron", "--quiet", "--out", "s.mcap"], folder);
    assert!(made.status.success(), "{}", stderr(&made));
    let exported = run(&["export", "s.mcap", "--format", "cvcuda", "-o", "cv"], folder);
    assert!(exported.status.success(), "{}", stderr(&exported));
    let text = fs::read_to_string(folder.join("cv/a/proc_0_gpu_0/benchmark.json")).unwrap();
    let benchmark: Value = serde_json::from_str(&text).unwrap();
    let batches = &benchmark["data"]["a"]["run_sample"]["pipeline"];
    assert_eq!(batches["total_items"], 100, "{text:.3000}");
    assert_eq!(batches["batch_3"]["total_items"], 4);
    assert!(batches["batch_24"].is_object() && batches["batch_25"].is_null());
    // As RON the scenario says the same.
    let shown = run(&["run", "s.ron", "--dry-run"], folder);
    let shown = String::from_utf8(shown.stdout).unwrap();
    assert!(
        shown.contains("batch: 4,") && shown.contains("batch_wait: \"100ms\""),
        "{shown}"
    );
}
