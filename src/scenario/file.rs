//! The scenario as typed: every field with its place, nothing filled in.
//!
//! This file is the list of the fields that a scenario may have, and of how each is written; the words that may stand
//! in one are in `choices.rs`.
//! Defaults, and whether values make sense together, are the affair of `resolve.rs`.

use crate::units::Nanos;
use crate::written::{Kind, Node, Place, ProblemKind, Read, Reader, Spot, one_of};

use super::choices::{ARRIVALS, BACKENDS, LATENCIES, OVERLOADS, SOURCES};
use super::fusion::{self, FusionFile};
use super::gpu::{self, GpuFile};
use super::made::{self, NetworkFile};
use super::recorded::{self, RecordedFile};
use super::shared::{self, SharedSources};
use super::steps::{self, DutyCycleFile, MatrixFile};
use super::stored::{ReadingFile, folder, reading};
use super::stress::{self, StressFile};
use super::trace::{self, TraceFile};
use super::video::{self, CameraFile, VideoFile};
use super::{
    ClockKind, Clocks, Missing, Mps, PointFormat, PowerMode, Provider, Release, Sensor, Sharing,
    TelemetrySource,
};

/// A scenario as typed.
#[derive(Debug, Default)]
pub(super) struct ScenarioFile {
    pub(super) name: Read<String>,
    pub(super) duration: Read<Nanos>,
    pub(super) warmup: Read<Nanos>,
    pub(super) turn: Read<Nanos>,
    pub(super) seed: Read<u64>,
    pub(super) clock: Read<ClockKind>,
    pub(super) sharing: Read<Sharing>,
    pub(super) mps: Read<Mps>,
    pub(super) release: Read<Release>,
    pub(super) baseline: Read<BaselineFile>,
    pub(super) matrix: Read<MatrixFile>,
    pub(super) duty_cycle: Read<DutyCycleFile>,
    pub(super) trace: Read<TraceFile>,
    pub(super) telemetry: Read<TelemetryFile>,
    pub(super) clocks: Read<Clocks>,
    pub(super) power_mode: Read<PowerMode>,
    pub(super) sim_contention: Read<f64>,
    pub(super) watchdog: Read<Nanos>,
    pub(super) expect: Read<Vec<Spot<String>>>,
    /// Names of the sources that tenants may share.
    pub(super) sources: Vec<Spot<String>>,
    pub(super) tenants: Option<Spot<Vec<TenantFile>>>,
}

/// `baseline: (idle: "3s", alone: true)`.
#[derive(Debug, Clone, Default)]
pub(super) struct BaselineFile {
    pub(super) idle: Read<Nanos>,
    pub(super) alone: Read<bool>,
}

/// The field `telemetry`, as in `telemetry: (interval: "100ms")`.
#[derive(Debug, Clone, Default)]
pub(super) struct TelemetryFile {
    pub(super) interval: Read<Nanos>,
    pub(super) sources: Read<Vec<Spot<TelemetrySource>>>,
}

/// A tenant as typed.
#[derive(Debug)]
pub(super) struct TenantFile {
    pub(super) place: Place,
    pub(super) name: Option<Spot<String>>,
    pub(super) detector: Read<DetectorFile>,
    /// A network in place of the one that the detector's spec names.
    pub(super) network: Read<String>,
    pub(super) backend: Read<BackendFile>,
    /// Where it is shared, the one that it names.
    pub(super) source: Read<SourceFile>,
    /// The name of a source that it shares with others.
    pub(super) shared: Option<Spot<String>>,
    pub(super) arrival: Read<ArrivalFile>,
    pub(super) deadline: Read<Nanos>,
    pub(super) overload: Read<OverloadFile>,
    pub(super) priority: Read<i32>,
    pub(super) depth: Read<usize>,
    pub(super) batch: Read<usize>,
    pub(super) batch_wait: Read<Nanos>,
    pub(super) cpus: Read<Vec<Spot<usize>>>,
    pub(super) record_detections: Read<bool>,
    pub(super) missing: Read<Missing>,
    pub(super) frames: Read<u64>,
    pub(super) gpu: GpuFile,
}

/// What may stand for a detector.
#[derive(Clone, Debug)]
pub(super) enum DetectorFile {
    /// A spec, one in the binary, or a network.
    Named(String),
    /// A network without pre- and post-processing.
    Network(NetworkFile),
    /// One of images and one of sweeps.
    Fusion(Box<FusionFile>),
}

/// What may stand for a backend.
#[derive(Debug)]
pub(super) enum BackendFile {
    Auto,
    Cpu {
        threads: Read<usize>,
        profile: Read<bool>,
    },
    Sim(LatencyFile),
    Null,
    TensorRt {
        build: Read<String>,
        plans: Read<Vec<Spot<String>>>,
        profile: Read<bool>,
    },
    OnnxRuntime {
        provider: Read<Provider>,
        threads: Read<usize>,
        profile: Read<bool>,
    },
    Stress(StressFile),
}

/// What may stand for a latency model.
#[derive(Debug)]
pub(super) enum LatencyFile {
    Fixed(Spot<Nanos>),
    Normal {
        mean: Spot<Nanos>,
        sd: Spot<Nanos>,
    },
    LogNormal {
        median: Spot<Nanos>,
        sigma: Spot<f64>,
    },
    Bimodal {
        fast: Spot<Nanos>,
        slow: Spot<Nanos>,
        slow_share: Spot<f64>,
    },
    Recorded(Spot<Vec<Spot<Nanos>>>),
}

/// What may stand for a source.
#[derive(Debug)]
pub(super) enum SourceFile {
    Empty,
    Images {
        path: Spot<String>,
        repeat: Read<bool>,
        max_megapixels: Read<u32>,
        reading: ReadingFile,
    },
    Points {
        path: Spot<String>,
        repeat: Read<bool>,
        format: Read<PointFormat>,
        max_points: Read<u32>,
        reading: ReadingFile,
    },
    Recorded(Box<RecordedFile>),
    Video(Box<VideoFile>),
    Camera(Box<CameraFile>),
    Synthetic {
        /// One, or a camera and a LiDAR.
        sensors: Vec<Spot<Sensor>>,
        scenes: Read<usize>,
        seed: Read<u64>,
    },
}

/// What may stand for an arrival process.
#[derive(Debug)]
pub(super) enum ArrivalFile {
    Closed,
    Periodic {
        hz: Spot<f64>,
        phase: Read<Nanos>,
        jitter: Read<Nanos>,
    },
    Poisson {
        hz: Spot<f64>,
    },
    Sampled {
        hz: Spot<f64>,
        phase: Read<Nanos>,
    },
    Replay {
        speed: Read<f64>,
    },
    Live,
}

/// What may stand for overload.
#[derive(Debug)]
pub(super) enum OverloadFile {
    Queue { capacity: Read<usize> },
    DropOldest { queue: Read<usize> },
    DropNewest { queue: Read<usize> },
}

const SCENARIO_FIELDS: &[&str] = &[
    "name",
    "duration",
    "warmup",
    "turn",
    "seed",
    "clock",
    "sharing",
    "mps",
    "release",
    "baseline",
    "matrix",
    "duty_cycle",
    "trace",
    "telemetry",
    "clocks",
    "power_mode",
    "sim_contention",
    "watchdog",
    "expect",
    "sources",
    "tenants",
];

const TENANT_FIELDS: &[&str] = &[
    "name",
    "detector",
    "network",
    "backend",
    "source",
    "arrival",
    "deadline",
    "overload",
    "priority",
    "depth",
    "batch",
    "batch_wait",
    "cpus",
    "record_detections",
    "missing",
    "frames",
    "transfer",
    "graph",
    "sync",
    "context_memory",
    "share",
    "gpu",
    "preprocess",
    "processes",
    "gpus",
];

/// Reads the tree; what is wrong with it is in the reader afterwards.
pub(super) fn read(reader: &mut Reader, root: &Node) -> Option<ScenarioFile> {
    let r = reader;
    let fields = r.record_once_called(
        root,
        "a scenario",
        "Scenario",
        "Scenario(…) with named fields",
        SCENARIO_FIELDS,
        &[("sweep", "duty_cycle")],
    )?;
    let sources = shared::read(r, &fields);
    Some(ScenarioFile {
        name: r.optional(&fields, "name", Reader::text),
        duration: r.optional(&fields, "duration", Reader::duration),
        warmup: r.optional(&fields, "warmup", Reader::duration),
        turn: r.optional(&fields, "turn", Reader::duration),
        seed: r.optional(&fields, "seed", Reader::whole),
        clock: r.optional(&fields, "clock", one_of("clock")),
        sharing: r.optional(&fields, "sharing", one_of("sharing")),
        mps: r.optional(&fields, "mps", one_of("way with MPS")),
        release: r.optional(&fields, "release", one_of("release")),
        baseline: r.optional(&fields, "baseline", baseline),
        matrix: r.optional(&fields, "matrix", steps::read_matrix),
        duty_cycle: r.optional(&fields, "duty_cycle", steps::read_duty_cycle),
        trace: r.optional(&fields, "trace", trace::read),
        telemetry: r.optional(&fields, "telemetry", telemetry),
        clocks: r.optional(&fields, "clocks", one_of("way with clocks")),
        power_mode: r.optional(&fields, "power_mode", power_mode),
        sim_contention: r.optional(&fields, "sim_contention", Reader::number),
        watchdog: r.optional(&fields, "watchdog", Reader::duration),
        expect: r.optional(&fields, "expect", expectations),
        tenants: r.required(
            &fields,
            "tenants",
            "tenants: [Tenant(name: \"camera\", detector: \"builtin:camera\", source: Synthetic(Camera))]",
            |r, node, field| tenants(r, node, field, &sources),
        ),
        sources: sources.names(),
    })
}

fn power_mode(r: &mut Reader, node: &Node, field: &str) -> Option<PowerMode> {
    match &node.kind {
        Kind::Number(_) => r.whole(node, field).map(PowerMode::Id),
        _ => r.text(node, field).map(PowerMode::Name),
    }
}

fn baseline(r: &mut Reader, node: &Node, field: &str) -> Option<BaselineFile> {
    let example = "fields in parentheses, such as (idle: \"3s\", alone: true)";
    let fields = r.record(node, field, "Baseline", example, &["idle", "alone"])?;
    Some(BaselineFile {
        idle: r.optional(&fields, "idle", Reader::duration),
        alone: r.optional(&fields, "alone", Reader::flag),
    })
}

fn telemetry(r: &mut Reader, node: &Node, field: &str) -> Option<TelemetryFile> {
    let example = "fields in parentheses, such as (interval: \"100ms\")";
    let fields = r.record(node, field, "Telemetry", example, &["interval", "sources"])?;
    Some(TelemetryFile {
        interval: r.optional(&fields, "interval", Reader::duration),
        sources: r.optional(&fields, "sources", |r, node, field| {
            let expected = "a list of sources, such as [Rails, Nvml, Thermal]";
            r.list(node, field, expected, one_of("source of samples"))
        }),
    })
}

fn expectations(r: &mut Reader, node: &Node, field: &str) -> Option<Vec<Spot<String>>> {
    let expected = "a list of texts, such as [\"camera.response.p99 < 33ms\"]";
    r.list(node, field, expected, Reader::text)
}

/// A tenant that cannot be read is left out: its problem is noted, and a scenario with problems never runs.
fn tenants(r: &mut Reader, node: &Node, field: &str, sources: &SharedSources<'_>) -> Option<Vec<TenantFile>> {
    let expected = "a list of tenants, [Tenant(name: \"…\", …), …]";
    let read = r.list(node, field, expected, |r, node, _| Some(tenant(r, node, sources)))?;
    read.into_iter().map(|spot| spot.value).collect()
}

fn tenant(r: &mut Reader, node: &Node, sources: &SharedSources<'_>) -> Option<TenantFile> {
    let fields = r.record(
        node,
        "a tenant",
        "Tenant",
        "Tenant(name: \"…\", …)",
        TENANT_FIELDS,
    )?;
    let mut shared = None;
    Some(TenantFile {
        place: node.place.clone(),
        name: r.required(&fields, "name", "name: \"camera\"", Reader::text),
        detector: r.optional(&fields, "detector", detector),
        network: r.optional(&fields, "network", Reader::text),
        backend: r.optional(&fields, "backend", backend),
        source: r.optional(&fields, "source", |r, node, field| match sources.named(r, node) {
            None => source(r, node, field),
            Some(named) => {
                let (name, node) = named?;
                shared = Some(name);
                source(r, node, field)
            }
        }),
        shared,
        arrival: r.optional(&fields, "arrival", arrival),
        deadline: r.optional(&fields, "deadline", Reader::duration),
        overload: r.optional(&fields, "overload", overload),
        priority: r.optional(&fields, "priority", Reader::whole),
        depth: r.optional(&fields, "depth", Reader::whole),
        batch: r.optional(&fields, "batch", Reader::whole),
        batch_wait: r.optional(&fields, "batch_wait", Reader::duration),
        cpus: r.optional(&fields, "cpus", |r, node, field| {
            r.list(node, field, "a list of processors, such as [0, 1]", Reader::whole)
        }),
        record_detections: r.optional(&fields, "record_detections", Reader::flag),
        missing: r.optional(&fields, "missing", one_of("way with what is missing")),
        frames: r.optional(&fields, "frames", Reader::whole),
        gpu: gpu::read(r, &fields),
    })
}

/// A backend's name as others spell it (`TensorRT`, `trt`) by its name here; none where that needs nothing.
fn as_spelled_here(node: &Node) -> Option<Node> {
    const OTHERS: [(&str, &str); 4] = [
        ("tensorrt", "TensorRt"),
        ("trt", "TensorRt"),
        ("onnxruntime", "OnnxRuntime"),
        ("ort", "OnnxRuntime"),
    ];
    let Kind::Call(call) = &node.kind else { return None };
    let name = call.name.as_deref()?;
    let (_, ours) = OTHERS
        .iter()
        .find(|(other, _)| other.eq_ignore_ascii_case(name))?;
    let mut renamed = node.clone();
    if let Kind::Call(call) = &mut renamed.kind {
        call.name = Some((*ours).to_owned());
    }
    Some(renamed)
}

fn detector(r: &mut Reader, node: &Node, field: &str) -> Option<DetectorFile> {
    match &node.kind {
        Kind::Call(call) if call.name.as_deref() == Some("Network") => {
            let example = "Network(network: \"net.onnx\")";
            let fields = r.record(node, "`Network`", "Network", example, made::FIELDS)?;
            made::read(r, &fields).map(DetectorFile::Network)
        }
        Kind::Call(call) if call.name.as_deref() == Some("Fusion") => {
            let fields = r.record(node, "`Fusion`", "Fusion", fusion::EXAMPLE, fusion::FIELDS)?;
            fusion::read(r, &fields).map(|file| DetectorFile::Fusion(Box::new(file)))
        }
        _ => r.text(node, field).map(DetectorFile::Named),
    }
}

fn backend(r: &mut Reader, node: &Node, _: &str) -> Option<BackendFile> {
    let spelled = as_spelled_here(node);
    let (name, fields) = r.choice(spelled.as_ref().unwrap_or(node), &BACKENDS)?;
    Some(match name {
        "Cpu" => BackendFile::Cpu {
            threads: r.optional(&fields, "threads", Reader::whole),
            profile: r.optional(&fields, "profile", Reader::flag),
        },
        "Sim" => {
            let model = r.required(&fields, "model", "Sim(Fixed(\"5ms\"))", |r, node, _| {
                latency(r, node)
            })?;
            BackendFile::Sim(model.value)
        }
        "Null" => BackendFile::Null,
        "TensorRt" => BackendFile::TensorRt {
            build: r.optional(&fields, "build", Reader::text),
            plans: r.optional(&fields, "plans", |r, node, field| {
                r.list(
                    node,
                    field,
                    "a list of plan files, such as [\"camera.plan\"]",
                    Reader::text,
                )
            }),
            profile: r.optional(&fields, "profile", Reader::flag),
        },
        "OnnxRuntime" => BackendFile::OnnxRuntime {
            provider: r.optional(&fields, "provider", one_of("provider")),
            threads: r.optional(&fields, "threads", Reader::whole),
            profile: r.optional(&fields, "profile", Reader::flag),
        },
        "Stress" => BackendFile::Stress(stress::read(r, &fields)?),
        _ => BackendFile::Auto,
    })
}

fn latency(r: &mut Reader, node: &Node) -> Option<LatencyFile> {
    let (name, f) = r.choice(node, &LATENCIES)?;
    // Both fields are read before either `?`, so that two mistakes are two problems.
    Some(match name {
        "Normal" => {
            let mean = r.required(&f, "mean", "mean: \"8ms\"", Reader::duration);
            let sd = r.required(&f, "sd", "sd: \"1ms\"", Reader::duration);
            LatencyFile::Normal { mean: mean?, sd: sd? }
        }
        "LogNormal" => {
            let median = r.required(&f, "median", "median: \"8ms\"", Reader::duration);
            let sigma = r.required(&f, "sigma", "sigma: 0.3", Reader::number);
            LatencyFile::LogNormal {
                median: median?,
                sigma: sigma?,
            }
        }
        "Bimodal" => {
            let fast = r.required(&f, "fast", "fast: \"5ms\"", Reader::duration);
            let slow = r.required(&f, "slow", "slow: \"20ms\"", Reader::duration);
            let slow_share = r.required(&f, "slow_share", "slow_share: 0.05", Reader::number);
            LatencyFile::Bimodal {
                fast: fast?,
                slow: slow?,
                slow_share: slow_share?,
            }
        }
        "Recorded" => LatencyFile::Recorded(r.required(
            &f,
            "latencies",
            "Recorded([\"5ms\", \"6ms\"])",
            |r, node, field| {
                let expected = "a list of durations, such as [\"5ms\", \"6ms\"]";
                r.list(node, field, expected, Reader::duration)
            },
        )?),
        _ => LatencyFile::Fixed(r.required(&f, "latency", "Fixed(\"5ms\")", Reader::duration)?),
    })
}

fn source(r: &mut Reader, node: &Node, _: &str) -> Option<SourceFile> {
    let (name, f) = r.choice(node, &SOURCES)?;
    Some(match name {
        "Images" => {
            let repeat = r.optional(&f, "repeat", Reader::flag);
            let max_megapixels = r.optional(&f, "max_megapixels", Reader::whole);
            let reading = reading(r, &f);
            let path = folder(r, &f, "Images(\"folder\")")?;
            SourceFile::Images {
                path,
                repeat,
                max_megapixels,
                reading,
            }
        }
        "Points" => {
            let repeat = r.optional(&f, "repeat", Reader::flag);
            let format = r.optional(&f, "format", one_of("format"));
            let max_points = r.optional(&f, "max_points", Reader::whole);
            let reading = reading(r, &f);
            let path = folder(r, &f, "Points(\"folder\")")?;
            SourceFile::Points {
                path,
                repeat,
                format,
                max_points,
                reading,
            }
        }
        "Video" => SourceFile::Video(Box::new(video::read_video(r, &f)?)),
        "Camera" => SourceFile::Camera(Box::new(video::read_camera(r, &f))),
        "NuScenes" | "Kitti" | "Bag" => SourceFile::Recorded(Box::new(recorded::read(r, name, &f)?)),
        "Synthetic" => {
            let scenes = r.optional(&f, "scenes", Reader::whole);
            let seed = r.optional(&f, "seed", Reader::whole);
            let sensors = recorded::one_or_several(
                r,
                &f,
                ["sensor", "sensors"],
                "Synthetic(Camera) or Synthetic(Lidar)",
                "a camera and a LiDAR: [Camera, Lidar]",
                one_of("sensor"),
            )?;
            SourceFile::Synthetic {
                sensors,
                scenes,
                seed,
            }
        }
        "Shared" => {
            let problem =
                "`Shared` names one of the scenario's `sources`, which cannot be shared ones themselves";
            r.report(
                &node.place,
                ProblemKind::Syntax {
                    problem: problem.into(),
                },
            );
            return None;
        }
        _ => SourceFile::Empty,
    })
}

fn arrival(r: &mut Reader, node: &Node, _: &str) -> Option<ArrivalFile> {
    let (name, f) = r.choice(node, &ARRIVALS)?;
    Some(match name {
        "Periodic" => {
            let phase = r.optional(&f, "phase", Reader::duration);
            let jitter = r.optional(&f, "jitter", Reader::duration);
            let hz = r.required(&f, "hz", "hz: 30", Reader::rate)?;
            ArrivalFile::Periodic { hz, phase, jitter }
        }
        "Poisson" => ArrivalFile::Poisson {
            hz: r.required(&f, "hz", "hz: 30", Reader::rate)?,
        },
        "Sampled" => {
            let phase = r.optional(&f, "phase", Reader::duration);
            let hz = r.required(&f, "hz", "hz: 10", Reader::rate)?;
            ArrivalFile::Sampled { hz, phase }
        }
        "Replay" => ArrivalFile::Replay {
            speed: r.optional(&f, "speed", Reader::number),
        },
        "Live" => ArrivalFile::Live,
        _ => ArrivalFile::Closed,
    })
}

fn overload(r: &mut Reader, node: &Node, _: &str) -> Option<OverloadFile> {
    let (name, f) = r.choice(node, &OVERLOADS)?;
    Some(match name {
        "Queue" => OverloadFile::Queue {
            capacity: r.optional(&f, "capacity", Reader::whole),
        },
        "DropNewest" => OverloadFile::DropNewest {
            queue: r.optional(&f, "queue", Reader::whole),
        },
        _ => OverloadFile::DropOldest {
            queue: r.optional(&f, "queue", Reader::whole),
        },
    })
}
