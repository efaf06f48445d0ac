//! Every message as the Python packages mcap and mcap-ros2-support decode it.

use std::process::Command;

use jetlag::detector::{Detection, Place};
use jetlag::record::activity::{OnStream, Work};
use jetlag::record::{Activity, ActivityBatch, Event, Manifest, MovedTensor, Part, Phase};
use jetlag::units::{Nanos, Stamp};
use nvidia_doubles::machine;
use serde_json::{Value, json};

use super::{made, written};

#[test]
fn python_decodes_every_message_to_the_values_that_were_written() {
    let Some(python) = machine::python("mcap, mcap_ros2") else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.mcap");
    let events = made::events(70);
    std::fs::write(&path, written(&made::manifest(), &events)).unwrap();
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/python/decode_run.py");
    let output = Command::new(python).arg(script).arg(&path).output().unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let lines: Vec<Value> = output
        .stdout
        .split(|b| *b == b'\n')
        .filter(|line| !line.is_empty())
        .map(|line| serde_json::from_slice(line).unwrap())
        .collect();

    let stored: Manifest = serde_json::from_value(lines[0]["manifest"].clone()).unwrap();
    assert_eq!(stored, made::manifest());
    assert_eq!(lines.len() - 1, events.len(), "messages");
    let mut latest = made::ANCHOR;
    for (line, event) in lines[1..].iter().zip(&events) {
        let (topic, at, fields) = expected(event, latest);
        latest = latest.max(at);
        let unix = made::ANCHOR_UNIX_NS + (at - made::ANCHOR).0;
        assert_eq!(line["topic"], topic);
        assert_eq!(line["log_time"], unix, "{topic}");
        assert_eq!(line["publish_time"], unix, "{topic}");
        let mut message = line["message"].clone();
        let stamp = message.as_object_mut().unwrap().remove("stamp").unwrap();
        let wanted = json!({ "sec": unix / 1_000_000_000, "nanosec": unix % 1_000_000_000 });
        assert_eq!(stamp, wanted, "{topic}");
        assert_eq!(message, fields, "{topic}");
    }
}

/// Topic, stamp and fields of the message that an event should be.
fn expected(event: &Event, latest: Stamp) -> (String, Stamp, Value) {
    let ns = |d: Option<Nanos>| d.map_or(-1, |d| d.0);
    let tenant = |t: u16| match t {
        0 => "camera",
        1 => "lidar",
        _ => "overhead",
    };
    match event {
        Event::Frame(r) => {
            let (what, number) = numbered(r.phase, "frame");
            let [
                synchronise,
                acquire,
                decode,
                preprocess,
                h2d,
                queue,
                compute,
                d2h,
                postprocess,
            ] = r.stages.map(ns);
            let mut fields = json!({
                "sequence": r.sequence, "source_index": r.source_index, "released_ns": r.released.0,
                "started_ns": r.started.0, "finished_ns": r.finished.0, "response_ns": r.response().0,
                "lateness_ns": r.lateness.0, "acquire_ns": acquire, "decode_ns": decode,
                "preprocess_ns": preprocess, "h2d_ns": h2d, "queue_ns": queue, "compute_ns": compute,
                "d2h_ns": d2h, "postprocess_ns": postprocess, "deadline_ns": ns(r.deadline),
                "detections": r.detections, "input_size": r.input_size, "tenant": r.tenant,
                "phase": r.phase.code(), "outcome": r.outcome as u8, "warmup": r.warmup,
                "submission_ns": ns(r.submission.map(|s| s.took)),
                "submission_in_compute_ns": ns(r.submission.and_then(|s| s.in_compute)),
                "captured_ns": r.captured.map_or(-1, |at| at.0),
                "batch_first": r.batch.map_or(0, |batch| batch.first),
                "batch_items": r.batch.map_or(0, |batch| batch.items),
                "synchronise_ns": synchronise,
                "skew_ns": ns(r.skew),
                "camera": r.camera.unwrap_or(255),
            });
            merge(&mut fields, number);
            (format!("/jetlag/{}/{what}", tenant(r.tenant)), r.finished, fields)
        }
        Event::Detections(r) => {
            let detections: Vec<Value> = r.detections.iter().map(detection).collect();
            // One a detection, or none; NaN is null.
            let moving = r.detections.iter().any(|found| found.velocity.is_some());
            let velocities = r
                .detections
                .iter()
                .filter(|_| moving)
                .map(|found| match found.velocity {
                    Some([x, y]) => json!({ "x": x, "y": y }),
                    None => json!({ "x": null, "y": null }),
                });
            let velocities: Vec<Value> = velocities.collect();
            let cameras: Vec<u8> = match r.detections.iter().any(|found| found.camera != 0) {
                true => r.detections.iter().map(|found| found.camera).collect(),
                false => Vec::new(),
            };
            let fields = json!({
                "sequence": r.sequence, "source_index": r.source_index, "at_ns": r.at.0, "tenant": r.tenant,
                "detections": detections, "velocities": velocities, "cameras": cameras,
            });
            (format!("/jetlag/{}/detections", tenant(r.tenant)), r.at, fields)
        }
        Event::Sample(r) => {
            // The script writes NaN as null: JSON has no NaN.
            let fields = json!({
                "at_ns": r.at.0, "value": r.value, "source": r.source, "signal": r.signal, "unit": r.unit,
            });
            (
                format!("/jetlag/telemetry/{}/{}", r.source, r.signal),
                r.at,
                fields,
            )
        }
        Event::Phase(r) => {
            let (what, number) = numbered(r.phase, "phase");
            let mut fields = json!({
                "epoch_ns": r.epoch.0, "measured_from_ns": r.measured_from.0,
                "measured_to_ns": r.measured_to.0, "lost_records": r.lost_records, "tenant": r.tenant,
                "phase": r.phase.code(), "reason": r.reason as u8,
                "repeated": r.sampled.map_or(-1, |sampled| sampled.repeated as i64),
                "skipped": r.sampled.map_or(-1, |sampled| sampled.skipped as i64),
                "process_peak_bytes": r.process_peak.map_or(-1, |bytes| bytes as i64),
            });
            merge(&mut fields, number);
            (
                format!("/jetlag/{}/{what}", tenant(r.tenant)),
                r.measured_to,
                fields,
            )
        }
        Event::PhaseSpec(r) => {
            let (_, number) = numbered(r.phase, "");
            // The script writes NaN as null.
            let fields = json!({
                "at_ns": r.at.0, "rate_hz": r.rate.and_then(|rate| rate.hz),
                "rate_tenant": r.rate.map_or(65535, |rate| rate.tenant), "number": number.unwrap_or(0),
                "phase": r.phase.code(), "label": r.label, "sharing": r.sharing, "members": r.members,
                "traced": r.traced, "round": r.round.unwrap_or(65535),
            });
            ("/jetlag/phases".into(), r.at, fields)
        }
        Event::Node(r) => {
            let fields = json!({
                "count": r.count, "mean_ns": r.mean.0, "max_ns": r.max.0, "tenant": r.tenant,
                "phase": r.phase.code(), "name": r.name, "operator_name": r.operator,
                "variance_ns2": r.with_response.map(|with| with.variance),
                "response_variance_ns2": r.with_response.map(|with| with.response_variance),
                "response_covariance_ns2": r.with_response.map(|with| with.covariance),
            });
            (format!("/jetlag/{}/nodes", tenant(r.tenant)), latest, fields)
        }
        Event::Work(r) => {
            let or_not = |count: Option<u64>| count.map_or(-1, |count| count as i64);
            let shape = |shape: &Option<String>| shape.clone().unwrap_or_default();
            let column = |all: &[MovedTensor], of: fn(&MovedTensor) -> Value| -> Vec<Value> {
                all.iter().map(of).collect()
            };
            let tensor = |one: &MovedTensor| json!(one.tensor);
            let bytes = |one: &MovedTensor| json!(one.bytes);
            let fields = json!({
                "flops": or_not(r.flops), "macs": or_not(r.macs), "bytes_read": or_not(r.bytes_read),
                "bytes_written": or_not(r.bytes_written), "params": r.params, "times": r.times, "node": r.node,
                "tenant": r.tenant, "network": r.network, "bound": r.sureness as u8, "at_load": r.at_load,
                "name": r.name, "operator_name": r.operator, "element": r.element, "why": r.why,
                "input_shape": shape(&r.input_shape), "output_shape": shape(&r.output_shape),
                "read_tensors": column(&r.reads, tensor), "read_bytes": column(&r.reads, bytes),
                "written_tensors": column(&r.writes, tensor), "written_bytes": column(&r.writes, bytes),
                "leaves": column(&r.writes, |one| json!(one.leaves)),
            });
            (format!("/jetlag/{}/work", tenant(r.tenant)), latest, fields)
        }
        Event::Output(r) => {
            let compared = r.compared;
            let fields = json!({
                "elements": r.elements, "not_numbers": r.not_numbers,
                "differing": compared.map_or(-1, |compared| compared.differing as i64),
                "largest_absolute": compared.and_then(|compared| compared.largest_absolute),
                "largest_relative": compared.and_then(|compared| compared.largest_relative),
                "tenant": r.tenant, "name": r.name, "element": r.element, "shape": r.shape,
                "kept": r.kept.clone().unwrap_or_default(), "problem": r.problem.clone().unwrap_or_default(),
            });
            (format!("/jetlag/{}/outputs", tenant(r.tenant)), latest, fields)
        }
        Event::Finding(r) => {
            let fields = json!({
                "code": r.code, "tenant": r.tenant.clone().unwrap_or_default(), "message": r.message,
                "advice": r.advice,
            });
            ("/jetlag/finding".into(), latest, fields)
        }
        Event::Log(r) => {
            let fields = json!({ "at_ns": r.at.0, "level": r.level, "message": r.message });
            ("/jetlag/log".into(), r.at, fields)
        }
        Event::Signal(r) => {
            let ns = |duration: Option<Nanos>| duration.map_or(-1, |d| d.0);
            // As Signal.msg numbers them; the made-up events have no others.
            let part = match r.measurand.part {
                Part::Board => 1,
                Part::Processors => 2,
                other => panic!("{other:?}"),
            };
            let fields = json!({
                "quantity": r.measurand.quantity as u8, "part": part, "number": u32::MAX, "period_ns": ns(r.period), "refresh_ns": ns(r.refresh), "window_ns": ns(r.window), "step": r.step,
                "averaging": r.averaging as u8, "role": r.role as u8, "source": r.source, "signal": r.signal,
                "unit": r.unit, "within": r.within.clone().unwrap_or_default(), "origin": r.origin,
            });
            ("/jetlag/telemetry/signals".into(), latest, fields)
        }
        Event::Range(r) => {
            let or_none = |count: Option<u64>| count.map_or(-1, |count| count as i64);
            let fields = json!({
                "from_ns": r.from.0, "to_ns": r.to.0, "batch": or_none(r.batch), "items": or_none(r.items),
                "path": r.path, "tenant": r.tenant, "track": r.track,
            });
            (format!("/jetlag/{}/ranges", tenant(r.tenant)), r.to, fields)
        }
        Event::Activities(r) => {
            let base = r.activities.iter().map(|activity| activity.from).min().unwrap();
            ("/jetlag/gpu/activity".into(), base, columns(r))
        }
        Event::Definition(r) => {
            let launch = r.launch.map(|l| {
                json!({
                    "grid": l.grid, "block": l.block, "cluster": l.cluster, "registers": l.registers,
                    "static_shared_bytes": l.static_shared_bytes, "dynamic_shared_bytes": l.dynamic_shared_bytes,
                    "local_bytes": l.local_bytes,
                })
            });
            let launch: Vec<Value> = launch.into_iter().collect();
            let fields = json!({ "number": r.number, "text": r.text, "launch": launch });
            ("/jetlag/gpu/names".into(), latest, fields)
        }
        Event::Trace(r) => {
            let devices: Vec<Value> = r
                .devices
                .iter()
                .map(|d| {
                    json!({
                        "capability": d.capability, "multiprocessors": d.multiprocessors, "most_warps": d.most_warps,
                        "most_blocks": d.most_blocks, "registers": d.registers, "shared_bytes": d.shared_bytes,
                        "warp_threads": d.warp_threads, "device": d.device, "name": d.name,
                    })
                })
                .collect();
            let (_, number) = r.phase.map_or((String::new(), None), |phase| numbered(phase, ""));
            let fields = json!({
                "from_ns": r.from.0, "to_ns": r.to.0, "clock_residual_ns": r.clock_residual.0,
                "activities": r.activities, "dropped": r.dropped, "lost_stamps": r.lost_stamps, "not_kept": r.not_kept,
                "process": r.process, "number": number.unwrap_or(0), "phase": r.phase.map_or(255, Phase::code),
                "graph_nodes": r.graph_nodes, "calls": r.calls, "tracer": r.tracer, "notes": r.notes,
                "devices": devices, "calls_left_out": r.calls_left_out,
            });
            ("/jetlag/gpu/trace".into(), r.to, fields)
        }
        Event::Window(r) => {
            let fields = json!({ "from_ns": r.from.0, "to_ns": r.to.0, "name": r.name });
            ("/jetlag/telemetry/windows".into(), r.to, fields)
        }
    }
}

/// A batch as columns, which is how it is stored.
fn columns(batch: &ActivityBatch) -> Value {
    let base = batch
        .activities
        .iter()
        .map(|activity| activity.from)
        .min()
        .unwrap();
    let all = &batch.activities;
    let column = |of: &dyn Fn(&Activity) -> i128| -> Vec<i128> { all.iter().map(of).collect() };
    let name = |name: Option<u32>| i128::from(name.unwrap_or(u32::MAX));
    let on = |work: &Work| match *work {
        Work::Wait { on, .. } | Work::Event { on, .. } => on,
        Work::Slice { device, .. } => OnStream {
            device,
            ..OnStream::default()
        },
        _ => work.on_device().unwrap_or_default(),
    };
    // kind, thread, graph, value, detail, source, destination; as Activities.msg has them.
    let row = |work: &Work| -> [i128; 7] {
        match *work {
            Work::Kernel { graph, .. } => [1, 0, graph.into(), 0, 0, 0, 0],
            Work::Copy {
                graph,
                direction,
                source,
                destination,
                bytes,
                ..
            } => {
                let [detail, source, destination] = [direction as i128, source as i128, destination as i128];
                [2, 0, graph.into(), bytes.into(), detail, source, destination]
            }
            Work::Fill {
                graph, memory, bytes, ..
            } => [3, 0, graph.into(), bytes.into(), memory as i128, 0, 0],
            Work::Graph { graph, .. } => [4, 0, graph.into(), 0, 0, 0, 0],
            Work::Call {
                thread, interface, ..
            } => [5, thread.into(), 0, 0, interface as i128, 0, 0],
            Work::Wait { how, event, .. } => [6, 0, 0, event.into(), how as i128, 0, 0],
            Work::Event { event, .. } => [7, 0, 0, event.into(), 0, 0, 0],
            Work::Range {
                thread,
                domain,
                payload,
            } => {
                let domain = domain.map_or(0, |domain| i128::from(domain) + 1);
                let value = i128::from(payload.unwrap_or(0) as u64);
                [
                    8,
                    thread.into(),
                    domain,
                    value,
                    i128::from(payload.is_some()),
                    0,
                    0,
                ]
            }
            Work::Overhead { thread } => [9, thread.into(), 0, 0, 0, 0, 0],
            Work::Slice { process, .. } => [10, process.into(), 0, 0, 0, 0, 0],
        }
    };
    let (_, number) = numbered(batch.phase, "");
    json!({
        "base_ns": base.0, "process": batch.process, "phase": batch.phase.code(), "number": number.unwrap_or(0),
        "kind": column(&|a| row(&a.work)[0]),
        "from_ns": column(&|a| (a.from - base).0.into()),
        "duration_ns": column(&|a| a.duration().0.into()),
        "name": column(&|a| name(a.name)),
        "layer": column(&|a| name(a.owner.layer)),
        "tenant": column(&|a| a.owner.tenant.unwrap_or(u16::MAX).into()),
        "frame": column(&|a| a.owner.frame.map_or(-1, i128::from)),
        "device": column(&|a| on(&a.work).device.into()),
        "context": column(&|a| on(&a.work).context.into()),
        "stream": column(&|a| on(&a.work).stream.into()),
        "thread": column(&|a| row(&a.work)[1]),
        "correlation": column(&|a| a.work.correlation().unwrap_or(0).into()),
        "graph": column(&|a| row(&a.work)[2]),
        "value": column(&|a| row(&a.work)[3]),
        "detail": column(&|a| row(&a.work)[4]),
        "source": column(&|a| row(&a.work)[5]),
        "destination": column(&|a| row(&a.work)[6]),
    })
}

/// The topic's last part, and the number that the message then has.
fn numbered(phase: Phase, what: &str) -> (String, Option<u16>) {
    match phase {
        Phase::Other(number) => (format!("other/{what}"), Some(number)),
        _ => (what.to_owned(), None),
    }
}

fn merge(fields: &mut Value, number: Option<u16>) {
    if let (Some(number), Some(fields)) = (number, fields.as_object_mut()) {
        fields.insert("number".into(), number.into());
    }
}

/// Floats of 32 bits widen exactly, here as in Python.
fn detection(d: &Detection) -> Value {
    let wide = |values: &[f32]| values.iter().map(|v| f64::from(*v)).collect::<Vec<f64>>();
    let (image, space) = match d.place {
        Place::Image(b) => (vec![wide(&[b.x1, b.y1, b.x2, b.y2])], vec![]),
        Place::Space(b) => (vec![], vec![wide(&[b.x, b.y, b.z, b.l, b.w, b.h, b.yaw])]),
    };
    let named = |names: &[&str], boxes: Vec<Vec<f64>>| -> Vec<Value> {
        let one = |values: Vec<f64>| {
            names
                .iter()
                .map(|n| n.to_string())
                .zip(values.into_iter().map(Value::from))
        };
        boxes
            .into_iter()
            .map(|values| Value::Object(one(values).collect()))
            .collect()
    };
    json!({
        "class_index": d.class,
        "score": f64::from(d.score),
        "image": named(&["x1", "y1", "x2", "y2"], image),
        "space": named(&["x", "y", "z", "l", "w", "h", "yaw"], space),
    })
}
