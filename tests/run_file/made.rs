//! Made-up manifests and events, the same each time.

use std::collections::BTreeMap;

use jetlag::detector::{Box2d, Box3d, Detection, Place};
use jetlag::record::activity::{
    Direction, Interface, MemoryKind, OnStream, Owner, TracedDevice, WaitKind, Work,
};
use jetlag::record::{
    APPLICATION_BACKEND, Activity, ActivityBatch, ApplicationTenant, Averaging, BatchPart, Compared,
    Covariance, Definition, DetectionsRecord, Device, EndReason, Event, Finding, FrameRecord, IDLE_WINDOW,
    Launch, LogRecord, Manifest, Measurand, MovedTensor, NetworkManifest, NodeRecord, OVERHEAD_TENANT,
    Outcome, OutputRecord, Part, Phase, PhaseRecord, PhaseSpec, Quantity, RailRole, RangeRecord,
    SampleRecord, Sampled, SignalRecord, Subject, Submission, Sureness, SweptRate, TenantManifest,
    TraceRecord, WindowRecord, WorkRecord,
};
use jetlag::scenario::{
    Arrival, BackendChoice, ClockKind, LatencyModel, Overload, Scenario, Telemetry, Tenant,
};
use jetlag::units::{Nanos, Stamp};
use rand_pcg::Pcg64;
use rand_pcg::rand_core::{Rng, SeedableRng};

/// A moment of the run's clock …
pub(crate) const ANCHOR: Stamp = Stamp(1_000_000_000_000);
/// … and of the wall.
pub(crate) const ANCHOR_UNIX_NS: i64 = 1_767_225_600_000_000_000;

/// Two tenants, `camera` and `lidar`.
pub(crate) fn manifest() -> Manifest {
    let names = ["camera", "lidar"];
    Manifest {
        jetlag_version: "0.1.0".into(),
        command_line: vec!["jetlag".into(), "run".into(), "made.ron".into()],
        subject: Subject::from(Scenario {
            name: "made".into(),
            seed: 7,
            clock: ClockKind::Virtual,
            telemetry: Telemetry {
                interval: Nanos::from_millis(100),
                sources: None,
            },
            mps: Default::default(),
            sim_contention: 0.5,
            expect: vec!["camera.response.p99 < 33ms".into()],
            tenants: names.map(tenant).into(),
            ..Scenario::default()
        }),
        tenants: names
            .map(|name| TenantManifest {
                name: name.into(),
                backend: "sim".into(),
                detector: Some(name.into()),
                classes: vec!["car".into(), "person".into(), "bicycle".into()],
                networks: vec![NetworkManifest {
                    name: format!("{name}.onnx"),
                    blake3: "00".repeat(32),
                    bytes: 1234,
                    ..NetworkManifest::default()
                }],
                source: "nothing".into(),
                ..TenantManifest::default()
            })
            .into(),
        machine: BTreeMap::from([("cpu".into(), "made up".into()), ("cores".into(), "2".into())]),
        anchor: ANCHOR,
        anchor_unix_ns: ANCHOR_UNIX_NS,
        ..Manifest::default()
    }
}

/// One without a scenario: tenants of the same names that an application marked.
pub(crate) fn of_an_application() -> Manifest {
    let mut manifest = manifest();
    manifest.subject = Subject::Name("app".into());
    for (tenant, hz) in manifest.tenants.iter_mut().zip([Some(30.0), None]) {
        tenant.backend = APPLICATION_BACKEND.into();
        tenant.device = Some(Device::Host);
        tenant.application = Some(ApplicationTenant {
            hz,
            deadline: hz.map(|_| Nanos::from_millis(33)),
        });
    }
    manifest
}

fn tenant(name: &str) -> Tenant {
    Tenant {
        name: name.into(),
        backend: BackendChoice::Sim(LatencyModel::Fixed {
            latency: Nanos::from_millis(5),
        }),
        arrival: Arrival::Periodic {
            hz: 30.0,
            phase: Nanos::ZERO,
            jitter: Nanos::ZERO,
        },
        deadline: Some(Nanos::from_millis(33)),
        overload: Overload::DropOldest { queue: 2 },
        batch: Default::default(),
        missing: Default::default(),
        ..Tenant::default()
    }
}

/// A frame such as a real run leaves: `n`-th of its tenant, at 30 Hz.
pub(crate) fn frame(tenant: u16, n: u64) -> FrameRecord {
    let mut random = Pcg64::seed_from_u64(n.wrapping_mul(2).wrapping_add(u64::from(tenant)));
    let mut up_to = |limit: u32| i64::from(random.next_u32() % limit);
    let released = ANCHOR + Nanos(33_333_333) * n as i64;
    let lateness = Nanos(up_to(80_000));
    let stages = [
        (tenant == 1).then_some(30_000),
        Some(up_to(20_000)),
        None,
        Some(1_000_000 + up_to(100_000)),
        None,
        Some(up_to(1_000)),
        Some(5_000_000 + up_to(2_000_000)),
        None,
        Some(200_000 + up_to(50_000)),
    ];
    // Version 1.12 added the first; the times of a frame have been the same ever since.
    let service: i64 = stages.iter().skip(1).flatten().sum();
    let started = released + lateness;
    FrameRecord {
        tenant,
        warmup: n < 30,
        sequence: n,
        source_index: n % 64,
        released,
        started,
        finished: started + Nanos(service),
        lateness,
        stages: stages.map(|s| s.map(Nanos)),
        deadline: Some(Nanos::from_millis(33)),
        detections: up_to(20) as u32,
        input_size: 640 * 480,
        // Only the first tenant has a device.
        submission: (tenant == 0).then(|| Submission {
            took: Nanos(3_000_000 + up_to(400_000)),
            in_compute: n.is_multiple_of(2).then(|| Nanos(up_to(5_000_000))),
        }),
        captured: (tenant == 1).then(|| released - Nanos(2_000_000)),
        batch: (tenant == 1).then_some(BatchPart {
            first: n / 4 * 4,
            items: 4,
        }),
        skew: (tenant == 1).then_some(Nanos(20_000_000)),
        camera: (tenant == 0).then_some((n % 3) as u8),
        ..FrameRecord::default()
    }
}

/// `frames` frames of each tenant, with all else that a run leaves.
pub(crate) fn events(frames: u64) -> Vec<Event> {
    let mut events = vec![Event::Log(LogRecord {
        at: ANCHOR,
        level: "info".into(),
        message: "started: “π” in two tenants".into(),
    })];
    for n in 0..frames {
        for tenant in 0..2 {
            let mut record = frame(tenant, n);
            if n % 17 == 3 {
                record.outcome = Outcome::Dropped;
                record.stages = [None; 9];
                record.submission = None;
                record.started = record.finished;
                record.deadline = None;
            }
            let detections = DetectionsRecord {
                tenant,
                sequence: n,
                source_index: record.source_index,
                at: record.finished,
                detections: (0..n % 4).map(|i| detection(tenant, n, i)).collect(),
            };
            events.push(Event::Frame(record));
            events.push(Event::Detections(detections));
        }
        if n % 3 == 0 {
            let at = ANCHOR + Nanos::from_millis(100) * (n / 3) as i64;
            events.push(sample(at, "cpu_load", Some(n as f64 / 3.0), "percent"));
            events.push(sample(at, "memory_used", Some(1e9 + n as f64), "bytes"));
            events.push(sample(at, "cpu0_frequency", None, "mhz"));
        }
    }
    events.push(Event::Frame(FrameRecord {
        tenant: OVERHEAD_TENANT,
        phase: Phase::Overhead,
        outcome: Outcome::Unfinished,
        sequence: u64::MAX,
        source_index: u64::MAX - 1,
        ..frame(0, frames)
    }));
    events.push(Event::Finding(Finding {
        code: "late-releases".into(),
        tenant: Some("camera".into()),
        message: "3 of 100 releases were late".into(),
        advice: "use release: Spin".into(),
    }));
    events.push(Event::Finding(Finding {
        code: "short".into(),
        tenant: None,
        message: String::new(),
        advice: "run for longer".into(),
    }));
    for (tenant, phase, name, operator) in [
        (0, Phase::Alone, "/model.0/conv/Conv", "Conv"),
        (0, Phase::Together, "/model.0/conv/Conv", "Conv"),
        (0, Phase::Together, "", "Sigmoid+Mul"),
        (1, Phase::Together, "größer", "Resize"),
    ] {
        events.push(Event::Node(NodeRecord {
            tenant,
            phase,
            name: name.into(),
            operator: operator.into(),
            count: frames,
            mean: Nanos(123_457 + i64::from(tenant)),
            max: Nanos(9_876_543_210),
            with_response: (phase == Phase::Together).then_some(Covariance {
                variance: 1.5e9,
                response_variance: 2.25e12,
                covariance: -3.75e10,
            }),
        }));
    }
    for tenant in [0, 1, OVERHEAD_TENANT] {
        events.push(Event::Phase(PhaseRecord {
            tenant,
            epoch: ANCHOR,
            measured_from: ANCHOR + Nanos::from_secs(1),
            measured_to: ANCHOR + Nanos(33_333_333) * frames as i64,
            reason: EndReason::Interrupted,
            lost_records: 5,
            process_peak: Some(123_456_789),
            ..PhaseRecord::default()
        }));
    }
    events.push(Event::Signal(SignalRecord {
        source: "ina3221".into(),
        signal: "VDD_IN".into(),
        unit: "mw".into(),
        measurand: Measurand::new(Quantity::Power, Part::Board),
        origin: "/sys/class/hwmon/hwmon3/in1_input × curr1_input".into(),
        period: Some(Nanos::from_millis(100)),
        refresh: Some(Nanos::from_millis(7)),
        averaging: Averaging::Mean,
        window: Some(Nanos::from_millis(7)),
        step: Some(152.064),
        role: RailRole::Within,
        within: Some("VIN_SYS_5V0".into()),
    }));
    // Of this one nothing is known.
    events.push(Event::Signal(SignalRecord {
        source: "host".into(),
        signal: "cpu_load".into(),
        unit: "percent".into(),
        measurand: Measurand::new(Quantity::Load, Part::Processors),
        ..SignalRecord::default()
    }));
    events.push(Event::Window(WindowRecord {
        name: IDLE_WINDOW.into(),
        from: ANCHOR + Nanos(1),
        to: ANCHOR + Nanos(3_000_000_001),
    }));
    events.push(Event::Work(WorkRecord {
        tenant: 1,
        network: 0,
        node: 7,
        name: "/stem/Conv".into(),
        operator: "Conv".into(),
        element: "float".into(),
        input_shape: Some("1x3x224x224".into()),
        output_shape: None,
        flops: Some(236_027_904),
        macs: Some(118_013_952),
        params: 9408,
        bytes_read: None,
        bytes_written: Some(3_211_264),
        times: 1,
        at_load: false,
        sureness: Sureness::Unknown,
        why: "its pads are computed from data".into(),
        reads: vec![moved(3, 602_112, false), moved(4, 37_632, false)],
        writes: vec![moved(5, 3_211_264, true)],
    }));
    let output = OutputRecord {
        tenant: 1,
        name: "scores".into(),
        element: "f32".into(),
        shape: "1x1000".into(),
        elements: 1000,
        not_numbers: 3,
        compared: Some(Compared {
            differing: 5,
            largest_absolute: Some(0.25),
            largest_relative: None,
        }),
        kept: Some("out/scores.npy".into()),
        problem: None,
    };
    events.push(Event::Output(OutputRecord {
        compared: None,
        kept: None,
        problem: Some("Its shape is another.".into()),
        ..output.clone()
    }));
    events.push(Event::Output(output));
    for (path, items) in [("run/batch/decode", None), ("run/batch", Some(4))] {
        events.push(Event::Range(RangeRecord {
            tenant: 1,
            track: 2,
            from: ANCHOR + Nanos(3_100_000_001),
            to: ANCHOR + Nanos(3_200_000_002),
            path: path.into(),
            batch: Some(9),
            items,
        }));
    }
    events.extend(other_phases(frames));
    events.extend(traced_phase());
    events
}

fn moved(tensor: u32, bytes: u64, leaves: bool) -> MovedTensor {
    MovedTensor {
        tensor,
        bytes,
        leaves,
    }
}

/// A pair under another way of sharing, and a step of a sweep.
fn other_phases(frames: u64) -> Vec<Event> {
    let spec = |phase, label: &str, sharing: &str, members: Vec<u16>, rate| {
        Event::PhaseSpec(PhaseSpec {
            at: ANCHOR + Nanos(17),
            phase,
            label: label.into(),
            sharing: sharing.into(),
            members,
            rate,
            traced: false,
            round: (phase == Phase::Other(1)).then_some(3),
        })
    };
    let rate = |hz| Some(SweptRate { tenant: 1, hz });
    let mut events = vec![
        spec(Phase::Together, "camera + lidar", "Streams", vec![0, 1], None),
        spec(Phase::Other(1), "camera + lidar", "Exclusive", vec![0, 1], None),
        spec(
            Phase::Other(2),
            "lidar at 7.5 Hz",
            "Streams",
            vec![1],
            rate(Some(7.5)),
        ),
        spec(
            Phase::Other(999),
            "lidar in a closed loop",
            "Streams",
            vec![],
            rate(None),
        ),
    ];
    for (tenant, number) in [(0, 1), (1, 1), (1, 999)] {
        let phase = Phase::Other(number);
        events.push(Event::Frame(FrameRecord {
            phase,
            ..frame(tenant, frames)
        }));
        events.push(Event::Phase(PhaseRecord {
            tenant,
            phase,
            epoch: ANCHOR,
            measured_from: ANCHOR + Nanos::from_secs(1),
            measured_to: ANCHOR + Nanos::from_secs(2),
            lost_records: 3,
            sampled: Some(Sampled {
                repeated: 4,
                skipped: 70,
            }),
            ..PhaseRecord::default()
        }));
    }
    events
}

/// What a tracer records, an activity of each kind.
fn traced_phase() -> Vec<Event> {
    let phase = Phase::Other(1000);
    let spec = PhaseSpec {
        at: ANCHOR + Nanos(18),
        phase,
        label: "camera + lidar, traced".into(),
        sharing: "Streams".into(),
        members: vec![0, 1],
        traced: true,
        ..PhaseSpec::default()
    };
    let launch = Launch {
        grid: [120, 2, 1],
        block: [256, 1, 1],
        cluster: [2, 1, 1],
        registers: 40,
        static_shared_bytes: 1024,
        dynamic_shared_bytes: 49_152,
        local_bytes: 16,
    };
    let name = |number, text: &str, launch| {
        Event::Definition(Definition {
            number,
            text: text.into(),
            launch,
        })
    };
    let on = OnStream {
        device: 0,
        context: 1,
        stream: 13,
    };
    let works = [
        Work::Call {
            thread: 4711,
            correlation: 7,
            interface: Interface::Runtime,
        },
        Work::Kernel {
            on,
            correlation: 7,
            graph: 0,
        },
        Work::Copy {
            on,
            correlation: 8,
            graph: 3,
            direction: Direction::HostToDevice,
            source: MemoryKind::Pinned,
            destination: MemoryKind::Device,
            bytes: 49_152,
        },
        Work::Fill {
            on,
            correlation: 9,
            graph: 0,
            memory: MemoryKind::Device,
            bytes: 5,
        },
        Work::Graph {
            on,
            correlation: 10,
            graph: 3,
        },
        Work::Wait {
            on,
            correlation: 11,
            how: WaitKind::Stream,
            event: 0,
        },
        Work::Event {
            on,
            correlation: 12,
            event: 99,
        },
        Work::Range {
            thread: 4711,
            domain: Some(2),
            payload: Some(-4),
        },
        Work::Overhead { thread: 0 },
        Work::Slice {
            device: 0,
            process: 815,
        },
    ];
    let activities = (0..).zip(works).map(|(n, work)| Activity {
        from: ANCHOR + Nanos(1_000 * n),
        to: ANCHOR + Nanos(1_000 * n + 750),
        name: (n < 3).then_some(n as u32),
        owner: Owner {
            tenant: (n % 2 == 0).then_some(1),
            frame: (n % 4 == 0).then_some(17),
            layer: (n == 4).then_some(2),
        },
        work,
    });
    vec![
        Event::PhaseSpec(spec),
        name(0, "cudaLaunchKernel", None),
        name(1, "conv<float, 3>", Some(launch)),
        name(2, "TensorRT", None),
        Event::Activities(ActivityBatch {
            phase,
            process: 815,
            activities: activities.collect(),
        }),
        Event::Trace(TraceRecord {
            phase: Some(phase),
            process: 815,
            from: ANCHOR,
            to: ANCHOR + Nanos::from_secs(2),
            tracer: "CUPTI of CUDA 13.0.1".into(),
            graph_nodes: true,
            calls: true,
            calls_left_out: 5,
            activities: 10,
            dropped: 1,
            lost_stamps: 2,
            not_kept: 3,
            clock_residual: Nanos(4),
            notes: vec!["two names were cut".into()],
            devices: vec![TracedDevice {
                device: 0,
                name: "Orin".into(),
                capability: 87,
                multiprocessors: 8,
                most_warps: 48,
                most_blocks: 16,
                registers: 65_536,
                shared_bytes: 167_936,
                warp_threads: 32,
            }],
        }),
    ]
}

fn sample(at: Stamp, signal: &str, value: Option<f64>, unit: &str) -> Event {
    Event::Sample(SampleRecord {
        at,
        source: "host".into(),
        signal: signal.into(),
        value,
        unit: unit.into(),
    })
}

fn detection(tenant: u16, n: u64, i: u64) -> Detection {
    // Thirds and tenths are exact neither in binary nor in decimal.
    let v = n as f32 / 3.0 + i as f32 / 10.0;
    Detection {
        class: (i % 3) as u16,
        score: 1.0 / (1.3 + i as f32),
        // Of some, and of none in a frame's first detection.
        velocity: (tenant > 0 && i > 0).then_some([v, -0.1]),
        camera: if tenant == 0 { (i % 2) as u8 } else { 0 },
        place: match tenant {
            0 => Place::Image(Box2d {
                x1: v,
                y1: v + 1.1,
                x2: v + 20.7,
                y2: v + 33.3,
            }),
            _ => Place::Space(Box3d {
                x: v,
                y: -v,
                z: -1.6,
                l: 4.1,
                w: 1.7,
                h: 1.5,
                yaw: -0.3,
            }),
        },
    }
}
