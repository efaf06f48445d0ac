//! A scenario as meant, written as RON that is read as the same scenario: every default filled in, `Auto` decided, copies apart.
//!
//! What may not be written beside something else (a stressor's arrival) is left out; the reader makes the same of it.

use std::fmt::Write;
use std::path::Path;

use super::{
    Associate, BackendChoice, CameraFrom, CameraSpec, DetectorRef, FusionSpec, Reading, RecordingSpec,
    Scenario, SetSpec, SourceSpec, Tenant, VideoDecoder, VideoSpec,
};
use crate::record::field::{Value, call};

/// The scenario as text; it begins with a line that `heading` makes a comment of.
pub fn ron(scenario: &Scenario, heading: &str) -> String {
    let mut out = format!("// {}\nScenario(\n", one_line(heading));
    let mut field = |name: &str, value: String| {
        let _ = writeln!(out, "    {name}: {value},");
    };
    field("name", text(&scenario.name));
    for (name, value) in scenario.texts() {
        field(name, value);
    }
    if let Some(matrix) = &scenario.matrix {
        let inputs: Vec<String> = matrix.inputs.iter().map(|group| texts(group)).collect();
        let inputs = match inputs.is_empty() {
            true => String::new(),
            false => format!(", inputs: [{}]", inputs.join(", ")),
        };
        field("matrix", format!("(sharing: {:?}{inputs})", matrix.sharing));
    }
    if let Some(of) = &scenario.duty_cycle {
        let (tenant, hz, closed) = (text(&of.tenant), &of.hz, of.closed);
        field(
            "duty_cycle",
            format!("(tenant: {tenant}, hz: {hz:?}, closed: {closed})"),
        );
    }
    field("expect", texts(&scenario.expect));
    let shared = shared_sources(scenario);
    if !shared.is_empty() {
        field("sources", format!("({})", shared.join(", ")));
    }
    out += "    tenants: [\n";
    for each in &scenario.tenants {
        out += &tenant(each);
    }
    out += "    ],\n)\n";
    out
}

/// The sources that tenants share, each under its name and once.
fn shared_sources(scenario: &Scenario) -> Vec<String> {
    let mut named: Vec<(&str, &SourceSpec)> = Vec::new();
    for tenant in &scenario.tenants {
        if let Some(name) = tenant.shared.as_deref()
            && !named.iter().any(|(known, _)| *known == name)
        {
            named.push((name, &tenant.source));
        }
    }
    named
        .into_iter()
        .map(|(name, spec)| format!("{name}: {}", source(spec)))
        .collect()
}

fn tenant(tenant: &Tenant) -> String {
    let mut out = String::from("        Tenant(\n");
    let mut field = |name: &str, value: String| {
        let _ = writeln!(out, "            {name}: {value},");
    };
    field("name", text(&tenant.name));
    if let Some(detector) = &tenant.detector {
        field("detector", self::detector(detector, tenant));
    }
    if let Some(DetectorRef::WithNetwork { network, .. }) = &tenant.detector {
        field("network", path(network));
    }
    field("backend", backend(&tenant.backend));
    // A stressor's bursts are due by its level, and it has no frames.
    if tenant.stress().is_none() {
        if tenant.source != SourceSpec::Empty {
            field(
                "source",
                match &tenant.shared {
                    Some(name) => format!("Shared({})", text(name)),
                    None => source(&tenant.source),
                },
            );
        }
        field("arrival", tenant.arrival.text());
    }
    field("overload", tenant.overload.text());
    if !tenant.batch.is_single() {
        field("batch", tenant.batch.size.to_string());
        field("batch_wait", tenant.batch.wait.text());
    }
    field("cpus", tenant.cpus.text());
    let declared = tenant.texts().into_iter();
    for (name, value) in declared.chain(tenant.gpu.texts()) {
        field(name, value);
    }
    if let Some(reason) = &tenant.backend_reason {
        let _ = writeln!(
            out,
            "            // backend: Auto became this because {}",
            one_line(reason)
        );
    }
    out += "        ),\n";
    out
}

fn detector(detector: &DetectorRef, tenant: &Tenant) -> String {
    match (detector, &tenant.made) {
        (DetectorRef::Builtin(name), _) => text(&format!("builtin:{name}")),
        (DetectorRef::Fusion(of), _) => fusion(of, tenant),
        (DetectorRef::Whole(spec), _) => format!("Fusion({}whole: {})", rules(tenant), path(spec)),
        (DetectorRef::File(file), None) => path(file),
        (DetectorRef::File(file), Some(made)) => format!("Network(network: {}, {made})", path(file)),
        // The network has a field of its own.
        (DetectorRef::WithNetwork { spec, .. }, _) => self::detector(spec, tenant),
    }
}

fn fusion(of: &FusionSpec, tenant: &Tenant) -> String {
    let Associate::Greedy { iou, same_class } = of.associate;
    format!(
        "Fusion(camera: {}, lidar: {}, {}associate: Greedy(iou: {iou:?}, same_class: {same_class}))",
        detector(&of.camera, tenant),
        detector(&of.lidar, tenant),
        rules(tenant)
    )
}

/// How sets are made stands with the detector, and is of the source.
fn rules(tenant: &Tenant) -> String {
    match &tenant.source {
        SourceSpec::Synchronised(set) => {
            let (tolerance, queue, rule) = (set.tolerance.text(), set.queue, set.rule);
            format!("tolerance: {tolerance}, queue: {queue}, rule: {rule:?}, ")
        }
        _ => String::new(),
    }
}

/// Cameras and a LiDAR as one source.
fn sets(of: &SetSpec) -> String {
    let all: Vec<&SourceSpec> = of.cameras().chain([&*of.lidar]).collect();
    several(&of.lidar, &all)
}

/// Several sensors as one source: as one of them is written, with all names.
fn several(as_written: &SourceSpec, all: &[&SourceSpec]) -> String {
    let name = |sensor: &SourceSpec| match sensor {
        SourceSpec::NuScenes(of) => format!("{:?}", of.sensor),
        SourceSpec::Bag(of) => format!("{:?}", of.topic),
        SourceSpec::Kitti(of) => format!("{:?}", of.sensor),
        SourceSpec::Synthetic { sensor, .. } => format!("{sensor:?}"),
        _ => String::new(),
    };
    let word = match as_written {
        SourceSpec::Bag(_) => "topic",
        _ => "sensor",
    };
    let names: Vec<String> = all.iter().map(|sensor| name(sensor)).collect();
    let one = format!("{word}: {}", name(as_written));
    source(as_written).replacen(&one, &format!("{word}s: [{}]", names.join(", ")), 1)
}

fn backend(backend: &BackendChoice) -> String {
    match backend {
        BackendChoice::Cpu { threads, profile } => format!("Cpu(threads: {threads}, profile: {profile})"),
        BackendChoice::TensorRt {
            build,
            plans,
            profile,
        } => {
            // The two exclude each other.
            let made = match (build.is_empty(), plans.is_empty()) {
                (_, false) => {
                    let plans: Vec<String> = plans.iter().map(|plan| path(plan)).collect();
                    format!("plans: [{}], ", plans.join(", "))
                }
                (false, true) => format!("build: {}, ", text(&build.join(" "))),
                (true, true) => String::new(),
            };
            format!("TensorRt({made}profile: {profile})")
        }
        BackendChoice::OnnxRuntime {
            provider,
            threads,
            profile,
        } => format!("OnnxRuntime(provider: {provider:?}, threads: {threads}, profile: {profile})"),
        BackendChoice::Stress(stress) => call("Stress", &stress.texts()),
        BackendChoice::Sim(model) => format!("Sim({})", model.text()),
        BackendChoice::Null => "Null".to_owned(),
    }
}

fn source(source: &SourceSpec) -> String {
    match source {
        SourceSpec::Empty => "Empty".to_owned(),
        SourceSpec::Images {
            path: folder,
            repeat,
            max_megapixels,
            reading: how,
        } => format!(
            "Images(path: {}, repeat: {repeat}, max_megapixels: {max_megapixels}, {})",
            path(folder),
            reading(*how)
        ),
        SourceSpec::Points {
            path: folder,
            repeat,
            format,
            max_points,
            reading: how,
        } => format!(
            "Points(path: {}, repeat: {repeat}, format: {format:?}, max_points: {max_points}, {})",
            path(folder),
            reading(*how)
        ),
        SourceSpec::NuScenes(of) => format!(
            "NuScenes(path: {}{}, scenes: {:?}, sensor: {:?}, sweeps: {}, keyframes: {}, {})",
            path(&of.path),
            of.version
                .as_ref()
                .map_or_else(String::new, |version| format!(", version: {version:?}")),
            of.scenes,
            of.sensor,
            of.sweeps,
            of.keyframes,
            recording(&of.common)
        ),
        SourceSpec::Kitti(of) => format!(
            "Kitti(path: {}, layout: {:?}, sequence: {:?}, sensor: {:?}, camera: {}, {})",
            path(&of.path),
            of.layout,
            of.sequence,
            of.sensor,
            of.camera,
            recording(&of.common)
        ),
        SourceSpec::Bag(of) => format!(
            "Bag(path: {}, topic: {:?}, from: {}{}, by: {:?}, {})",
            path(&of.path),
            of.topic,
            of.from.text(),
            of.to
                .map_or_else(String::new, |to| format!(", to: {}", to.text())),
            of.by,
            recording(&of.common)
        ),
        SourceSpec::Video(of) => video(of),
        SourceSpec::Camera(of) => camera(of),
        SourceSpec::Cameras(all) => {
            let all: Vec<&SourceSpec> = all.iter().collect();
            all.first().map_or_else(String::new, |first| several(first, &all))
        }
        SourceSpec::Synchronised(of) => sets(of),
        SourceSpec::Synthetic { sensor, scenes, seed } => {
            format!("Synthetic(sensor: {sensor:?}, scenes: {scenes}, seed: {seed})")
        }
    }
}

fn video(of: &VideoSpec) -> String {
    let decoder = match &of.decoder {
        VideoDecoder::Ffmpeg(None) => String::new(),
        VideoDecoder::Ffmpeg(Some(decoder)) => format!(", decoder: {}", text(decoder)),
        VideoDecoder::Command { command, size } => {
            let size = size.map_or_else(String::new, |size| format!(", size: \"{size}\""));
            format!(", command: {}{size}", texts(command))
        }
    };
    format!(
        "Video(path: {}{decoder}, repeat: {}, max_megapixels: {}, {})",
        path(&of.path),
        of.repeat,
        of.max_megapixels,
        reading(of.reading)
    )
}

fn camera(of: &CameraSpec) -> String {
    let from = match &of.from {
        CameraFrom::Device {
            device,
            format,
            size,
            hz,
        } => {
            let mut from = format!("device: {}", path(device));
            if let Some(format) = format {
                from += &format!(", format: {}", text(format));
            }
            if let Some(size) = size {
                from += &format!(", size: \"{size}\"");
            }
            if let Some(hz) = hz {
                from += &format!(", hz: {hz:?}");
            }
            from
        }
        CameraFrom::Command { command, size } => format!("command: {}, size: \"{size}\"", texts(command)),
    };
    format!("Camera({from}, max_megapixels: {})", of.max_megapixels)
}

fn recording(common: &RecordingSpec) -> String {
    format!(
        "repeat: {}, max_megapixels: {}, max_points: {}, {}",
        common.repeat,
        common.max_megapixels,
        common.max_points,
        reading(common.reading)
    )
}

fn reading(reading: Reading) -> String {
    match reading {
        Reading::Ahead { frames } => format!("ahead: {frames}"),
        Reading::Preload => "preload: true".to_owned(),
    }
}

/// RON's strings are written as Rust's are.
fn text(text: &str) -> String {
    format!("{text:?}")
}

fn texts(list: &[String]) -> String {
    let list: Vec<String> = list.iter().map(|each| text(each)).collect();
    format!("[{}]", list.join(", "))
}

fn path(path: &Path) -> String {
    text(&path.display().to_string())
}

/// A comment ends with its line.
fn one_line(text: &str) -> String {
    text.replace(char::is_control, " ")
}
