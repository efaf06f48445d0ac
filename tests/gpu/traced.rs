//! Whole runs with a traced phase, over the doubles of the driver, of TensorRT and of CUPTI: every kernel, copy and call of a
//! frame is found again, with its tenant and frame, in every way of sharing.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use jetlag::record::activity::{Direction, MemoryKind, Work};
use jetlag::record::{Activity, Definition, Event, FrameRecord, Outcome, PhaseSpec, RunReader, TraceRecord};
use nvidia_doubles::cuda::Control;
use nvidia_doubles::{cupti, machine};
use serde_json::Value;

use super::scene::{Scene, camera, launches};
use super::under_way;

/// The camera's input and output, `f32 [1, 3, 64, 64]` and `[1, 7, 84]`.
const INPUT_BYTES: u64 = 49_152;
const OUTPUT_BYTES: u64 = 2_352;

/// What a run file holds of its traced phases.
#[derive(Default)]
struct Traced {
    specs: Vec<PhaseSpec>,
    frames: Vec<FrameRecord>,
    activities: Vec<Activity>,
    names: BTreeMap<u32, Definition>,
    traces: Vec<TraceRecord>,
    findings: Vec<String>,
}

impl Traced {
    fn read(file: &Path) -> Self {
        let mut traced = Traced::default();
        let mut processes = Vec::new();
        for event in RunReader::open(file).unwrap() {
            match event.unwrap() {
                Event::PhaseSpec(spec) if spec.traced => traced.specs.push(spec),
                Event::Frame(frame) if traced.specs.iter().any(|spec| spec.phase == frame.phase) => {
                    traced.frames.push(frame);
                }
                Event::Activities(batch) => {
                    assert!(traced.specs.iter().any(|spec| spec.phase == batch.phase));
                    processes.push(batch.process);
                    traced.activities.extend(batch.activities);
                }
                Event::Definition(known) => {
                    let before = traced.names.insert(known.number, known);
                    assert_eq!(before, None, "a number is given once");
                }
                Event::Trace(trace) => traced.traces.push(trace),
                Event::Finding(finding) => traced.findings.push(finding.code),
                _ => {}
            }
        }
        traced
    }

    fn completed(&self, tenant: u16) -> impl Iterator<Item = &FrameRecord> {
        let completed =
            move |frame: &&FrameRecord| frame.tenant == tenant && frame.outcome == Outcome::Completed;
        self.frames.iter().filter(completed)
    }

    /// Activities of a frame.
    fn of(&self, frame: &FrameRecord) -> Vec<&Activity> {
        let owned = |activity: &&Activity| {
            activity.owner.tenant == Some(frame.tenant) && activity.owner.frame == Some(frame.sequence)
        };
        self.activities.iter().filter(owned).collect()
    }

    /// Whether it is one of the double's kernels that take the time which a plan says; others only read and write.
    fn is_spin(&self, activity: &Activity) -> bool {
        matches!(activity.work, Work::Kernel { .. }) && self.text(activity.name) == "dbl_spin"
    }

    fn text(&self, name: Option<u32>) -> &str {
        &self.names[&name.unwrap()].text
    }
}

/// The driver and the CUPTI that belong together.
fn control() -> Option<Control> {
    let double = cupti::release("13.0")?.double()?;
    Some(
        Control::default()
            .driver(13000)
            .variable("JETLAG_CUPTI", double.library),
    )
}

/// Runs it with a traced phase, and reads that.
fn traced(scene: &Scene, control: &Control, scenario: &Path) -> Option<(Value, Traced)> {
    let summary = scene.run(control, scenario)?;
    Some((summary, Traced::read(&scene.path("run.mcap"))))
}

#[test]
fn a_traced_frame_is_made_of_its_copies_its_kernels_and_the_calls_that_asked_for_them() {
    let (Some(scene), Some(control)) = (Scene::new(), control()) else {
        return;
    };
    scene.plan("camera.plan", &launches(10, 20, 200));
    let camera = "arrival: Periodic(20), overload: Queue(capacity: 100)";
    let scenario = scene.by_frames(scene.scenario("trace: (duration: \"10min\"),", camera, ""), 10);
    let Some((summary, traced)) = traced(&scene, &control, &scenario) else {
        return;
    };
    assert_eq!(traced.findings, Vec::<String>::new(), "{summary}");
    let [trace] = traced.traces.as_slice() else {
        panic!("{:?}", traced.traces);
    };
    assert!(trace.is_whole() && trace.calls && trace.graph_nodes, "{trace:?}");
    assert_eq!(trace.tracer, "CUPTI of CUDA 13.0.1");
    assert_eq!(trace.devices.len(), 1, "{trace:?}");
    assert!(trace.devices[0].multiprocessors > 0, "{trace:?}");
    assert_eq!(trace.activities, traced.activities.len() as u64);
    assert_eq!(traced.completed(0).filter(|frame| !frame.warmup).count(), 10);
    for frame in traced.completed(0) {
        let all = traced.of(frame);
        let kernels: Vec<&&Activity> = all.iter().filter(|activity| traced.is_spin(activity)).collect();
        assert_eq!(kernels.len(), 10, "frame {}", frame.sequence);
        for kernel in &kernels {
            assert!(
                frame.started <= kernel.from && kernel.to <= frame.finished,
                "{frame:?} {kernel:?}"
            );
            assert!(kernel.duration().0 >= 200_000, "{kernel:?}");
            assert!(traced.names[&kernel.name.unwrap()].launch.is_some());
            assert_eq!(
                traced.text(kernel.owner.layer),
                "only",
                "the layer of TensorRT's range"
            );
        }
        let copies: Vec<(Direction, MemoryKind, MemoryKind, u64)> = all
            .iter()
            .filter_map(|activity| match activity.work {
                Work::Copy {
                    direction,
                    source,
                    destination,
                    bytes,
                    ..
                } => Some((direction, source, destination, bytes)),
                _ => None,
            })
            .collect();
        let wanted = [
            (
                Direction::HostToDevice,
                MemoryKind::Pinned,
                MemoryKind::Device,
                INPUT_BYTES,
            ),
            (
                Direction::DeviceToHost,
                MemoryKind::Device,
                MemoryKind::Pinned,
                OUTPUT_BYTES,
            ),
        ];
        assert_eq!(copies, wanted, "frame {}", frame.sequence);
        // Each kernel and copy has the call that asked for it, which came before.
        for work in all.iter().filter(|activity| activity.work.on_device().is_some()) {
            let call = all.iter().find(|activity| {
                matches!(activity.work, Work::Call { .. })
                    && activity.work.correlation() == work.work.correlation()
            });
            assert!(call.unwrap().from <= work.from, "{work:?}");
        }
        let waits = all.iter().filter(|activity| {
            matches!(activity.work, Work::Call { .. }) && traced.text(activity.name).contains("Synchronize")
        });
        assert!(waits.count() >= 1, "somebody waited for frame {}", frame.sequence);
    }
}

#[test]
fn perfetto_shows_each_activity_where_it_was_and_the_call_that_asked_for_it() {
    let (Some(scene), Some(control)) = (Scene::new(), control()) else {
        return;
    };
    scene.demo(2_000, 4_000);
    let scenario = scene.scenario(
        "trace: (duration: \"10min\"),",
        "arrival: Periodic(20)",
        "arrival: Periodic(20)",
    );
    let scenario = scene.by_frames(scenario, 10);
    if scene.run(&control, &scenario).is_none() {
        return;
    }
    let arguments = [
        "export",
        "run.mcap",
        "--format",
        "perfetto",
        "-o",
        "run.perfetto-trace",
    ];
    let output = scene.jetlag(&control, &arguments).unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let Some(python) = machine::python("mcap_ros2, perfetto") else {
        return;
    };
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/python/traced_judge.py");
    let files = ["run.mcap", "run.perfetto-trace"].map(|name| scene.path(name));
    let judged = Command::new(python).arg(script).args(files).output().unwrap();
    assert!(
        judged.status.success(),
        "{}",
        String::from_utf8_lossy(&judged.stderr)
    );
    assert!(String::from_utf8_lossy(&judged.stdout).ends_with("flows agree\n"));
}

#[test]
fn tenants_are_told_apart_in_every_way_of_sharing() {
    for sharing in [
        "Streams",
        "SingleStream",
        "Priority",
        "RoundRobin",
        "Exclusive",
        "Edf",
        "Partition",
        "Processes",
    ] {
        let (Some(scene), Some(control)) = (Scene::new(), control()) else {
            return;
        };
        scene.demo(2_000, 4_000);
        let deadline = match sharing {
            "Edf" => ", deadline: \"100ms\"",
            _ => "",
        };
        let scenario = scene.scenario(
            &format!("sharing: {sharing}, trace: (duration: \"10min\"),"),
            &format!("arrival: Periodic(20){deadline}"),
            &format!("arrival: Periodic(20){deadline}"),
        );
        let scenario = scene.by_frames(scenario, 10);
        let Some((summary, traced)) = traced(&scene, &control, &scenario) else {
            return;
        };
        assert_eq!(traced.findings, Vec::<String>::new(), "{sharing}: {summary}");
        let processes = usize::from(sharing == "Processes") + 1;
        assert_eq!(traced.traces.len(), processes, "{sharing}");
        // The LiDAR has two engines and the scatter on the host between them.
        for (tenant, kernels) in [(0, 1), (1, 2)] {
            let mut seen = 0;
            for frame in traced.completed(tenant) {
                let own = traced
                    .of(frame)
                    .into_iter()
                    .filter(|activity| traced.is_spin(activity))
                    .count();
                assert_eq!(
                    own, kernels,
                    "{sharing}: tenant {tenant}, frame {}",
                    frame.sequence
                );
                seen += 1;
            }
            assert!(seen > 0, "{sharing}: tenant {tenant}");
        }
        let nobodys = traced
            .activities
            .iter()
            .filter(|activity| traced.is_spin(activity) && activity.owner.tenant.is_none());
        assert_eq!(nobodys.count(), 0, "{sharing}");
    }
}

#[test]
fn several_traced_phases_have_names_of_their_own() {
    for sharing in ["Streams", "Processes"] {
        let (Some(scene), Some(control)) = (Scene::new(), control()) else {
            return;
        };
        scene.demo(2_000, 4_000);
        let more = "baseline: (alone: true), trace: (duration: \"10min\", phases: All),";
        let scenario = scene.scenario(
            &format!("sharing: {sharing}, {more}"),
            "arrival: Periodic(20)",
            "arrival: Periodic(20)",
        );
        let scenario = scene.by_frames(scenario, 6);
        // Reading them looks whether a number is given twice.
        let Some((summary, traced)) = traced(&scene, &control, &scenario) else {
            return;
        };
        assert_eq!(traced.findings, Vec::<String>::new(), "{sharing}: {summary}");
        assert_eq!(traced.specs.len(), 3, "{sharing}: each alone, and together");
        let spins: Vec<&Activity> = traced
            .activities
            .iter()
            .filter(|one| traced.is_spin(one))
            .collect();
        for spec in &traced.specs {
            let frames: Vec<&FrameRecord> = traced
                .frames
                .iter()
                .filter(|frame| frame.phase == spec.phase && frame.outcome == Outcome::Completed)
                .collect();
            assert!(!frames.is_empty(), "{sharing}: {spec:?}");
            for frame in frames {
                let own = spins.iter().filter(|spin| {
                    spin.owner.tenant == Some(frame.tenant)
                        && frame.started <= spin.from
                        && spin.to <= frame.finished
                });
                // The LiDAR has two engines.
                assert_eq!(own.count(), usize::from(frame.tenant) + 1, "{sharing}: {frame:?}");
            }
        }
    }
}

#[test]
fn a_graph_is_its_kernels_or_one_launch_as_was_asked() {
    for graphs in ["Nodes", "Whole"] {
        let (Some(scene), Some(control)) = (Scene::new(), control()) else {
            return;
        };
        scene.plan("camera.plan", &launches(10, 20, 200));
        let scenario = scene.scenario(
            &format!("trace: (duration: \"10min\", graphs: {graphs}),"),
            "arrival: Closed, graph: On",
            "",
        );
        let scenario = scene.by_frames(scenario, 10);
        let Some((summary, traced)) = traced(&scene, &control, &scenario) else {
            return;
        };
        // The first frame is executed as it is, and the second one is captured. How many are of the warm-up is the machine's affair.
        let launched: Vec<&FrameRecord> = traced.completed(0).skip(2).collect();
        assert!(!launched.is_empty(), "{summary}");
        for frame in launched {
            let all = traced.of(frame);
            let kernels = all.iter().filter(|activity| traced.is_spin(activity)).count();
            let wholes = all
                .iter()
                .filter(|activity| matches!(activity.work, Work::Graph { .. }))
                .count();
            let wanted = match graphs {
                "Nodes" => (10, 0),
                _ => (0, 1),
            };
            assert_eq!(
                (kernels, wholes),
                wanted,
                "{graphs}, {frame:?}, {:?}",
                traced.traces
            );
            // Nodes were captured for the layer, in a capture of the traced phase.
            let spins = all.iter().filter(|activity| traced.is_spin(activity));
            for spin in spins {
                assert_eq!(traced.text(spin.owner.layer), "only");
            }
        }
    }
}

#[test]
fn a_run_that_cannot_be_traced_goes_on_and_says_why() {
    let Some(scene) = Scene::new() else { return };
    scene.plan("camera.plan", &camera(1_000));
    let scenario = scene.scenario("trace: (duration: \"500ms\"),", "arrival: Periodic(20)", "");
    let scenario = scene.by_frames(scenario, 20);
    let control = Control::default()
        .driver(13000)
        .variable("JETLAG_CUPTI", "/nowhere");
    let Some((summary, traced)) = traced(&scene, &control, &scenario) else {
        return;
    };
    assert_eq!(traced.findings, ["not-traced"]);
    assert!(traced.activities.is_empty() && traced.traces.is_empty());
    assert!(
        traced.specs.is_empty() && traced.frames.is_empty(),
        "nothing runs for nothing"
    );
    let findings = summary["run"]["findings"].to_string();
    assert!(
        findings.contains("/nowhere (from JETLAG_CUPTI) holds no CUPTI"),
        "{findings}"
    );
}

#[test]
fn untraced_phases_are_as_without_a_trace() {
    let (Some(scene), Some(control)) = (Scene::new(), control()) else {
        return;
    };
    scene.plan("camera.plan", &camera(1_000));
    let scenario = scene.scenario("", "arrival: Periodic(20)", "");
    let path = scenario.to_str().unwrap().to_owned();
    let arguments = [
        "run", &path, "--out", "run.mcap", "--force", "--quiet", "--format", "json", "--trace",
    ];
    let Some(output) = scene.jetlag(&control, &arguments) else {
        return;
    };
    let summary: Value = serde_json::from_slice(&output.stdout).unwrap();
    let traced = Traced::read(&scene.path("run.mcap"));
    assert_eq!(traced.specs.len(), 1);
    // One second at 20 Hz, and not the two seconds of the traced phase. On a busy machine the end cuts off the last frame, which is
    // then not among those that were offered.
    let untraced = under_way::frames(&scene.path("run.mcap"), 0);
    let measured = untraced.iter().filter(|frame| !frame.warmup);
    assert_eq!(measured.count(), 20, "{summary}");
    assert!(traced.frames.iter().filter(|frame| !frame.warmup).count() >= 39);
}

/// Made on an H100: the demo's networks on ONNX Runtime's CUDA provider beside a stressor.
#[test]
fn the_record_of_a_real_gpu_tells_its_kernels() {
    let record = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/records/traced.mcap");
    let traced = Traced::read(Path::new(record));
    let [trace] = traced.traces.as_slice() else {
        panic!("{:?}", traced.traces);
    };
    assert!(trace.is_whole(), "{trace:?}");
    assert_eq!(trace.tracer, "CUPTI of CUDA 13.0.1");
    assert_eq!(
        (trace.devices[0].capability, trace.devices[0].multiprocessors),
        (90, 132)
    );
    // Every measured frame has work on the GPU, and all of it lies within the frame.
    for frame in traced
        .frames
        .iter()
        .filter(|frame| !frame.warmup && frame.outcome == Outcome::Completed)
    {
        let work: Vec<&Activity> = traced
            .of(frame)
            .into_iter()
            .filter(|activity| activity.work.on_device().is_some())
            .collect();
        assert!(!work.is_empty(), "{frame:?}");
        for activity in work {
            assert!(
                frame.started <= activity.from && activity.to <= frame.finished,
                "{frame:?} {activity:?}"
            );
        }
    }
    let output = Command::new(env!("CARGO_BIN_EXE_jetlag"))
        .args(["report", record, "--kernels"])
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    for part in [
        "NVIDIA H100 80GB HBM3",
        "TIME PER KERNEL",
        "jetlag_load_dram",
        "host to device",
    ] {
        assert!(text.contains(part), "{part} in {text}");
    }
}
