//! The scenario as typed: every field with its place, nothing filled in.
//!
//! Plain fields are declared with the record ([`fields!`](crate::record::fields)); here are those whose meaning is not what is typed. The words
//! that may stand in one are in `choices.rs`. Whether values make sense together is the affair of `resolve.rs`.

use crate::units::Nanos;
use crate::written::{Fields, Kind, Node, Place, ProblemKind, Read, Reader, Spot, one_of, shown};

use super::choices::{BACKENDS, SOURCES};
use super::fusion::{self, FusionFile};
use super::made::{self, NetworkFile};
use super::recorded::{self, RecordedFile};
use super::shared::{self, SharedSources};
use super::steps::{self, DutyCycleFile, MatrixFile};
use super::stored::{ReadingFile, folder, reading};
use super::video::{self, CameraFile, VideoFile};
use super::{
    Arrival, GpuUse, LatencyModel, Overload, PointFormat, Provider, Scenario, Sensor, Stress, Tenant,
};

/// A scenario as typed.
pub(super) struct ScenarioFile<'n> {
    fields: Fields<'n>,
    /// What is declared with the record, every default filled in.
    pub(super) plain: Scenario,
    pub(super) name: Read<String>,
    pub(super) matrix: Read<MatrixFile>,
    pub(super) duty_cycle: Read<DutyCycleFile>,
    pub(super) expect: Read<Vec<Spot<String>>>,
    /// Names of the sources that tenants may share.
    pub(super) sources: Vec<Spot<String>>,
    pub(super) tenants: Option<Spot<Vec<TenantFile<'n>>>>,
}

/// A tenant as typed.
pub(super) struct TenantFile<'n> {
    fields: Fields<'n>,
    pub(super) place: Place,
    /// "tenant `camera`", for messages.
    pub(super) label: String,
    /// What is declared with the record, every default filled in.
    pub(super) plain: Tenant,
    pub(super) name: Option<Spot<String>>,
    pub(super) detector: Read<DetectorFile>,
    /// A network in place of the one that the detector's spec names.
    pub(super) network: Read<String>,
    pub(super) backend: Read<BackendFile>,
    /// Where it is shared, the one that it names.
    pub(super) source: Read<SourceFile>,
    /// The name of a source that it shares with others.
    pub(super) shared: Option<Spot<String>>,
    pub(super) arrival: Read<Arrival>,
    pub(super) overload: Read<Overload>,
    pub(super) batch: Read<usize>,
    pub(super) batch_wait: Read<Nanos>,
    pub(super) cpus: Read<Vec<Spot<usize>>>,
    pub(super) processes: Read<usize>,
    pub(super) gpus: Read<Vec<Spot<u16>>>,
}

impl<'n> ScenarioFile<'n> {
    /// Where a field is written, if it is.
    pub(super) fn place_of(&self, field: &str) -> Option<&'n Place> {
        self.fields.get(field).map(|node| &node.place)
    }
}

impl<'n> TenantFile<'n> {
    /// Where a field is written, if it is.
    pub(super) fn place_of(&self, field: &str) -> Option<&'n Place> {
        self.node(field).map(|node| &node.place)
    }

    /// What is written for a field.
    pub(super) fn node(&self, field: &str) -> Option<&'n Node> {
        self.fields.get(field)
    }
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
    Sim(LatencyModel),
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
    Stress(Stress),
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

/// The fields of a scenario that are not declared with the record.
const SCENARIO_FIELDS: &[&str] = &["name", "matrix", "duty_cycle", "expect", "sources", "tenants"];

/// The fields of a tenant that are not declared with the record.
const TENANT_FIELDS: &[&str] = &[
    "name",
    "detector",
    "network",
    "backend",
    "source",
    "arrival",
    "overload",
    "batch",
    "batch_wait",
    "cpus",
];

/// Those of its copies; after the others, so that `gpux` is nearest to `gpu`.
const COPY_FIELDS: &[&str] = &["processes", "gpus"];

/// Reads the tree; what is wrong with it is in the reader afterwards.
pub(super) fn read<'n>(reader: &mut Reader, root: &'n Node) -> Option<ScenarioFile<'n>> {
    let r = reader;
    let fields = r.record_once_called(
        root,
        "a scenario",
        "Scenario",
        "Scenario(…) with named fields",
        &[Scenario::FIELDS, SCENARIO_FIELDS].concat(),
        &[("sweep", "duty_cycle")],
    )?;
    let mut plain = Scenario::default();
    plain.fill(&mut r.entries(&fields, ""));
    let sources = shared::read(r, &fields);
    Some(ScenarioFile {
        plain,
        name: r.optional(&fields, "name", Reader::text),
        matrix: r.optional(&fields, "matrix", steps::read_matrix),
        duty_cycle: r.optional(&fields, "duty_cycle", steps::read_duty_cycle),
        expect: r.optional(&fields, "expect", expectations),
        tenants: r.required(
            &fields,
            "tenants",
            "tenants: [Tenant(name: \"camera\", detector: \"builtin:camera\", source: Synthetic(Camera))]",
            |r, node, field| tenants(r, node, field, &sources),
        ),
        sources: sources.names(),
        fields,
    })
}

fn expectations(r: &mut Reader, node: &Node, field: &str) -> Option<Vec<Spot<String>>> {
    let expected = "a list of texts, such as [\"camera.response.p99 < 33ms\"]";
    r.list(node, field, expected, Reader::text)
}

/// A tenant that cannot be read is left out: its problem is noted, and a scenario with problems never runs.
fn tenants<'n>(
    r: &mut Reader,
    node: &'n Node,
    field: &str,
    sources: &SharedSources<'n>,
) -> Option<Vec<TenantFile<'n>>> {
    let Kind::List(items) = &node.kind else {
        return r.wrong_type(node, field, "a list of tenants, [Tenant(name: \"…\", …), …]");
    };
    let numbered = items.iter().enumerate();
    let read: Vec<_> = numbered
        .map(|(index, item)| tenant(r, index, item, sources))
        .collect();
    read.into_iter().collect()
}

fn tenant<'n>(
    r: &mut Reader,
    index: usize,
    node: &'n Node,
    sources: &SharedSources<'n>,
) -> Option<TenantFile<'n>> {
    let fields = r.record(
        node,
        "a tenant",
        "Tenant",
        "Tenant(name: \"…\", …)",
        &[TENANT_FIELDS, Tenant::FIELDS, GpuUse::FIELDS, COPY_FIELDS].concat(),
    )?;
    let name = r.required(&fields, "name", "name: \"camera\"", Reader::text);
    let label = match &name {
        Some(name) => format!("tenant `{}`", shown(&name.value)),
        None => format!("tenant {index}"),
    };
    let mut plain = Tenant::default();
    plain.fill(&mut r.entries(&fields, &label));
    plain.gpu.fill(&mut r.entries(&fields, &label));
    let mut shared = None;
    Some(TenantFile {
        place: node.place.clone(),
        plain,
        name,
        detector: r.optional(&fields, "detector", detector),
        network: r.optional(&fields, "network", Reader::text),
        backend: r.optional(&fields, "backend", |r, node, _| backend(r, node, &label)),
        source: r.optional(&fields, "source", |r, node, field| match sources.named(r, node) {
            None => source(r, node, field),
            Some(named) => {
                let (name, node) = named?;
                shared = Some(name);
                source(r, node, field)
            }
        }),
        shared,
        arrival: r.optional(&fields, "arrival", |r, node, field| r.value(node, field, &label)),
        overload: r.optional(&fields, "overload", |r, node, field| r.value(node, field, &label)),
        batch: r.optional(&fields, "batch", Reader::whole),
        batch_wait: r.optional(&fields, "batch_wait", Reader::duration),
        cpus: r.optional(&fields, "cpus", |r, node, field| {
            r.list(node, field, "a list of processors, such as [0, 1]", Reader::whole)
        }),
        processes: r.optional(&fields, "processes", Reader::whole),
        gpus: r.optional(&fields, "gpus", |r, node, field| {
            r.list(
                node,
                field,
                "a list of devices' numbers, such as [0, 1]",
                Reader::whole,
            )
        }),
        label,
        fields,
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

/// `owner` is "tenant `camera`".
fn backend(r: &mut Reader, node: &Node, owner: &str) -> Option<BackendFile> {
    let spelled = as_spelled_here(node);
    let (name, fields) = r.choice(spelled.as_ref().unwrap_or(node), &BACKENDS)?;
    Some(match name {
        "Cpu" => BackendFile::Cpu {
            threads: r.optional(&fields, "threads", Reader::whole),
            profile: r.optional(&fields, "profile", Reader::flag),
        },
        "Sim" => {
            let example = "Sim(Fixed(\"5ms\"))";
            BackendFile::Sim(r.needed(&fields, "model", example, |r, node, field| {
                r.value(node, field, owner)
            })?)
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
        "Stress" => BackendFile::Stress(Stress::read_fields(&mut r.entries(&fields, owner))?),
        _ => BackendFile::Auto,
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
