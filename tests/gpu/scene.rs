//! Plans of known duration, scenarios over them, and `jetlag run` beside the doubles.

use std::cell::Cell;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use nvidia_doubles::cuda::{self, Control};
use nvidia_doubles::tensorrt::{self, Double};
use serde_json::Value;
use tensorrt_dyn::{Library, PreviewFeature, ProfileSelector, ProfilingVerbosity};

use crate::common::plans;

/// A folder with plans, scenarios and run files.
pub(crate) struct Scene {
    pub(crate) folder: tempfile::TempDir,
    double: &'static Double,
    built: Cell<Built>,
}

/// How plans are built, beside what each test says.
#[derive(Clone, Copy)]
struct Built {
    profiles: usize,
    shares_profiles: bool,
    branches: i32,
    detailed: bool,
}

/// Detectors that cost the host little: what is tested is on the device.
const CAMERA: &str = r#"Camera(
    name: "small-camera", classes: ["Car", "Pedestrian", "Cyclist"], network: "camera.onnx",
    input: (tensor: "images", width: 64, height: 64, scale: 0.004),
    head: YoloAnchorFree(output: "output0"), score_threshold: 0.9, nms: (iou: 0.5),
)"#;
const LIDAR: &str = r#"Lidar(
    name: "small-lidar", classes: ["Car"],
    range: (x: (0.0, 51.2), y: (-25.6, 25.6), z: (-3.0, 1.0)), voxel: (3.2, 3.2, 4.0), max_points: 4, max_pillars: 256,
    encoder: (
        network: "encoder.onnx",
        layout: PillarsPointsFeatures(tensor: "pillar_points", features: [X, Y, Z, Intensity]),
        output: "pillar_features", channels: 8,
    ),
    scatter: (tensor: "spatial_features"), backbone: (network: "backbone.onnx"),
    head: Anchors(
        boxes: "box_preds", classes: "cls_preds", stride: 2,
        anchors: [(class: 0, size: (1.8, 4.3, 1.6), z: -0.93, rotations: [0.0, 1.5708])], drop_empty: false,
    ),
    score_threshold: 0.9, nms: (iou: 0.1),
)"#;

/// What the double reads as their networks, each with a duration.
pub(crate) fn camera(compute_us: u64) -> String {
    format!(
        "double-network\ninput images f32 1x3x64x64\noutput output0 f32 1x7x84 only\nlayer only Conv\ncompute_us {compute_us}\n"
    )
}

/// A camera's network whose input takes a copy of 12.6 MB; its detector is large.ron.
pub(crate) fn large(compute_us: u64) -> String {
    format!(
        "double-network\ninput images f32 1x3x1024x1024\noutput output0 f32 1x7x21504 only\nlayer only Conv\ncompute_us {compute_us}\n"
    )
}

/// A camera's network of many small launches, which takes the host `launch_us` each and the device `kernel_us`.
pub(crate) fn launches(count: u64, launch_us: u64, kernel_us: u64) -> String {
    camera(0) + &format!("launches {count}\nlaunch_us {launch_us}\nkernel_us {kernel_us}\n")
}

pub(crate) fn encoder(compute_us: u64) -> String {
    format!(
        "double-network\ninput pillar_points f32 1xpillarsx4x4\noutput pillar_features f32 1xpillarsx8 only\n\
         layer only Conv\ncompute_us {compute_us}\n"
    )
}

pub(crate) fn backbone(compute_us: u64) -> String {
    format!(
        "double-network\ninput spatial_features f32 1x8x16x16\noutput box_preds f32 1x8x8x14 only\n\
         output cls_preds f32 1x8x8x2 only\nlayer only Conv\ncompute_us {compute_us}\n"
    )
}

/// The demo's camera network for [`Scene::onnx`].
pub(crate) const DEMO_CAMERA: &str = "double-network\ninput images f32 1x3x384x640\n\
                                      output output0 f32 1x7x5040 only\nlayer only Conv\ncompute_us 500\n";

impl AsRef<Path> for Scene {
    fn as_ref(&self) -> &Path {
        self.folder.path()
    }
}

impl Scene {
    /// With the double of an era; none where it cannot be made.
    pub(crate) fn of_era(era: char) -> Option<Self> {
        Some(Scene::over(tensorrt::era(era)?))
    }

    /// With the double of a version that begins so; none where it cannot be made.
    pub(crate) fn of_version(version: &str) -> Option<Self> {
        Some(Scene::over(tensorrt::of_version(version)?))
    }

    fn over(double: &'static Double) -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("camera.ron"), CAMERA).unwrap();
        let large = CAMERA.replace("width: 64, height: 64", "width: 1024, height: 1024");
        std::fs::write(folder.path().join("large.ron"), large).unwrap();
        std::fs::write(folder.path().join("lidar.ron"), LIDAR).unwrap();
        for network in ["camera", "encoder", "backbone"] {
            // Only its content is hashed: the plan is what is executed.
            std::fs::write(folder.path().join(format!("{network}.onnx")), network).unwrap();
        }
        let built = Cell::new(Built {
            profiles: 1,
            shares_profiles: false,
            branches: 0,
            detailed: false,
        });
        Scene {
            folder,
            double,
            built,
        }
    }

    /// The newest TensorRT's whose headers are at hand.
    pub(crate) fn new() -> Option<Self> {
        Scene::of_era('C')
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The double's library.
    pub(crate) fn library(&self) -> Library {
        Library::open(&self.double.infer).unwrap()
    }

    /// Builds a plan from the double's text.
    pub(crate) fn plan(&self, name: &str, network: &str) -> &Self {
        let library = self.library();
        let Built {
            profiles,
            shares_profiles,
            branches,
            detailed,
        } = self.built.get();
        let (builder, parser) = plans::read(library, network.as_bytes());
        let config = builder.config().unwrap();
        if branches > 0 {
            config.set_max_aux_streams(branches).unwrap();
        }
        if detailed {
            config
                .set_profiling_verbosity(ProfilingVerbosity::Detailed)
                .unwrap();
        }
        if shares_profiles {
            config
                .set_preview_feature(PreviewFeature::ProfileSharing0806, true)
                .unwrap();
        }
        let made = if network.contains("pillarsx") { profiles } else { 0 };
        let all: Vec<_> = (0..made)
            .map(|_| builder.optimization_profile().unwrap())
            .collect();
        for profile in &all {
            for (selector, pillars) in [
                (ProfileSelector::Min, 1),
                (ProfileSelector::Opt, 100),
                (ProfileSelector::Max, 256),
            ] {
                profile
                    .set_dimensions("pillar_points", selector, &[1, pillars, 4, 4])
                    .unwrap();
            }
            config.add_optimization_profile(profile).unwrap();
        }
        let plan = builder.build(&parser, &config).unwrap();
        std::fs::write(self.path(name), plan.bytes()).unwrap();
        self
    }

    /// A network of the demo (`camera`, `lidar_encoder`, `lidar_backbone`) that the double can read too: this text at the file's end,
    /// which to ONNX is its `doc_string`. Answers its path.
    pub(crate) fn onnx(&self, name: &str, text: &str) -> PathBuf {
        self.onnx_with(name, &[], text)
    }

    /// The same with more fields of the model.
    pub(crate) fn onnx_with(&self, name: &str, fields: &[u8], text: &str) -> PathBuf {
        const DOC_STRING: u8 = 6 << 3 | 2;
        let engines = Path::new(env!("CARGO_MANIFEST_DIR")).join("engines");
        let mut bytes = std::fs::read(engines.join(format!("{name}.onnx"))).unwrap();
        bytes.extend(fields);
        let length = text.len();
        assert!(length < 1 << 14, "two bytes of a varint");
        let two = [length as u8 & 0x7f | 0x80, (length >> 7) as u8];
        bytes.push(DOC_STRING);
        bytes.extend(two);
        bytes.extend(text.as_bytes());
        let path = self.path(&format!("{name}.onnx"));
        std::fs::write(&path, bytes).unwrap();
        path
    }

    /// Plans from now on have so many equal profiles.
    pub(crate) fn profiles(&self, count: usize) -> &Self {
        self.built.set(Built {
            profiles: count,
            ..self.built.get()
        });
        self
    }

    /// Plans from now on share their profiles (8.6.1 to 9.x).
    pub(crate) fn sharing_profiles(&self) -> &Self {
        self.built.set(Built {
            shares_profiles: true,
            ..self.built.get()
        });
        self
    }

    /// Plans from now on have so many branches beside their stream.
    pub(crate) fn branches(&self, count: i32) -> &Self {
        self.built.set(Built {
            branches: count,
            ..self.built.get()
        });
        self
    }

    /// Plans from now on keep the details of their layers.
    pub(crate) fn detailed(&self) -> &Self {
        self.built.set(Built {
            detailed: true,
            ..self.built.get()
        });
        self
    }

    /// The demo's plans: a camera, and the LiDAR's pair, which takes as long in all.
    pub(crate) fn demo(&self, camera_us: u64, lidar_us: u64) -> &Self {
        self.plan("camera.plan", &camera(camera_us))
            .plan("encoder.plan", &encoder(lidar_us / 2))
            .plan("backbone.plan", &backbone(lidar_us - lidar_us / 2))
    }

    /// A scenario of the demo's detectors over these plans; `more` are fields of the scenario, the others of the tenants.
    pub(crate) fn scenario(&self, more: &str, camera: &str, lidar: &str) -> PathBuf {
        let lidar = match lidar {
            "" => String::new(),
            fields => format!(
                "Tenant(name: \"lidar\", detector: \"lidar.ron\", source: Synthetic(sensor: Lidar, scenes: 1), \
                 record_detections: false, backend: TensorRt(plans: [\"encoder.plan\", \"backbone.plan\"]), {fields}),"
            ),
        };
        // No test but those of the watchdog waits for it: the double's threads may have to wait for a processor.
        let watchdog = if more.contains("watchdog") {
            ""
        } else {
            "watchdog: \"2min\","
        };
        let text = format!(
            "Scenario(duration: \"1s\", warmup: \"200ms\", {watchdog} {more}\n tenants: [\n  Tenant(name: \"camera\", detector: \
             \"camera.ron\", source: Synthetic(sensor: Camera, scenes: 1), record_detections: false, backend: \
             TensorRt(plans: [\"camera.plan\"]), {camera}),\n  {lidar}\n])"
        );
        let path = self.path("scenario.ron");
        std::fs::write(&path, text).unwrap();
        path
    }

    /// The same scenario, ended by its frames: each tenant has as many, however long a busy machine takes.
    pub(crate) fn by_frames(&self, scenario: PathBuf, frames: u64) -> PathBuf {
        let text = std::fs::read_to_string(&scenario).unwrap();
        let longer = text.replacen("duration: \"1s\"", "duration: \"900s\"", 1);
        assert_ne!(longer, text);
        let limited = longer.replace(
            "record_detections: false,",
            &format!("record_detections: false, frames: {frames},"),
        );
        assert_ne!(limited, longer);
        std::fs::write(&scenario, limited).unwrap();
        scenario
    }

    /// jetlag beside the doubles. None where the driver's double cannot be made.
    pub(crate) fn command(&self, control: &Control, arguments: &[&str]) -> Option<Command> {
        let mut command = Command::new(env!("CARGO_BIN_EXE_jetlag"));
        command
            .current_dir(self.folder.path())
            .env("JETLAG_TENSORRT", &self.double.folder)
            .env("JETLAG_NVRTC", cuda::nvrtc()?)
            .env("JETLAG_CACHE", self.path("cache"))
            .args(arguments);
        // Its variables win.
        control.apply(&mut command)?;
        Some(command)
    }

    /// Runs jetlag beside the doubles. None where the driver's double cannot be made.
    pub(crate) fn jetlag(&self, control: &Control, arguments: &[&str]) -> Option<Output> {
        Some(self.command(control, arguments)?.output().unwrap())
    }

    /// Runs the scenario and answers the summary, which may have unmet expectations.
    pub(crate) fn run(&self, control: &Control, scenario: &Path) -> Option<Value> {
        let (path, format) = (scenario.to_str().unwrap(), ["--format", "json", "--quiet"]);
        let mut arguments = vec!["run", path, "--out", "run.mcap", "--force"];
        arguments.extend(format);
        let output = self.jetlag(control, &arguments)?;
        assert!(
            matches!(output.status.code(), Some(0 | 3)),
            "{:?}: {}",
            output.status,
            String::from_utf8_lossy(&output.stderr)
        );
        Some(serde_json::from_slice(&output.stdout).unwrap())
    }
}

/// A number of a summary's tenant, by JSON pointer.
pub(crate) fn number(summary: &Value, tenant: &str, pointer: &str) -> f64 {
    let tenants = summary["tenants"].as_array().unwrap();
    let found = tenants.iter().find(|t| t["name"] == tenant).unwrap();
    let value = found
        .pointer(pointer)
        .unwrap_or_else(|| panic!("{pointer} in {found}"));
    value.as_f64().unwrap_or_else(|| panic!("{pointer}: {value}"))
}
