//! What a run is to do: the scenario as meant, every default filled in.
//!
//! [`load`] reads the RON into a tree that knows where each value was written (`tree`), puts `--set`
//! overrides into it (`set`), reads the tree into the scenario as typed (`file`, by means of `read`), and
//! turns that into the [`Scenario`] of this module (`resolve`, `tenant`), reporting all [`Problems`] at once.
//! The rest of the program sees only what is here; it is stored in the run file as it stands.

mod choices;
mod copies;
mod file;
mod gpu;
mod problems;
mod read;
mod resolve;
mod set;
mod steps;
mod stress;
mod tenant;
mod tree;

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::units::Nanos;

pub use choices::sharings;
pub use gpu::{ContextMemory, GpuUse, Graph, Preprocess, Provider, Sync, Transfer, graphs, transfers};
pub use problems::{Place, Problem, ProblemKind, Problems};
pub use resolve::{CheckExpectation, ResolveEnv, from_str, is_name, load};
pub use stress::{Resource, Stress};

/// A scenario, resolved.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Scenario {
    /// Names the run and its file.
    pub name: String,
    /// Measured time, after warm-up.
    pub duration: Nanos,
    /// Time before it whose frames are marked.
    pub warmup: Nanos,
    /// Seeds every random choice.
    pub seed: u64,
    /// Real or virtual time.
    pub clock: ClockKind,
    /// How tenants share the device.
    pub sharing: Sharing,
    /// Under `Processes`: whether NVIDIA's Multi-Process Service is used.
    #[serde(default)]
    pub mps: Mps,
    /// How releases wait.
    pub release: Release,
    /// What is measured before the tenants run together.
    pub baseline: Baseline,
    /// Each tenant alone, every pair and all, under several ways of sharing; none where it is not asked for.
    #[serde(default)]
    pub matrix: Option<Matrix>,
    /// One tenant at several rates; none where it is not asked for.
    #[serde(default)]
    pub sweep: Option<Sweep>,
    /// Sampling beside the tenants.
    pub telemetry: Telemetry,
    /// What is done with the machine's clocks.
    #[serde(default)]
    pub clocks: Clocks,
    /// How the `sim` backend's tenants slow each other down: with `k` busy, each runs `1 + contention × (k − 1)` times slower.
    pub sim_contention: f64,
    /// A frame that the device holds for longer ends its tenant.
    #[serde(default = "default_watchdog")]
    pub watchdog: Nanos,
    /// Promises that the exit code reports on.
    pub expect: Vec<String>,
    /// Who runs.
    pub tenants: Vec<Tenant>,
}

/// Long after any deadline, and soon enough that nobody thinks the program hangs.
pub(crate) const fn default_watchdog() -> Nanos {
    Nanos::from_secs(10)
}

impl Scenario {
    /// The ways of sharing that its phases go through, its own first.
    pub fn ways_of_sharing(&self) -> Vec<Sharing> {
        let mut ways = vec![self.sharing];
        for way in self.matrix.iter().flat_map(|matrix| &matrix.sharing) {
            if !ways.contains(way) {
                ways.push(*way);
            }
        }
        ways
    }
}

/// Which clock drives the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum ClockKind {
    /// CLOCK_MONOTONIC.
    #[default]
    Real,
    /// Simulated time; every tenant must then be on `sim` or `null`.
    Virtual,
}

/// Ways of sharing one device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs, reason = "defined in docs/scenarios.md")]
pub enum Sharing {
    #[default]
    Streams,
    SingleStream,
    Priority,
    RoundRobin,
    Exclusive,
    Edf,
    Partition,
    Processes,
}

/// Whether tenants in processes of their own share the GPU through NVIDIA's Multi-Process Service.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Mps {
    /// Where its daemon runs; time-sliced elsewhere.
    #[default]
    Auto,
    /// Without its daemon the run does not start.
    Required,
    /// Time-sliced, with a daemon or without.
    Off,
}

/// How a tenant waits for a release.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Release {
    /// Sleep on an absolute timer.
    #[default]
    Sleep,
    /// Sleep, then burn the last stretch: more punctual, and costs the processor.
    Spin,
}

/// What is done with the machine's clocks while a run goes on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Clocks {
    /// Nothing.
    #[default]
    AsIs,
    /// They are held at their highest, and given back afterwards. It takes root.
    Max,
}

/// What is measured first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Baseline {
    /// How long to sample idle power.
    pub idle: Option<Nanos>,
    /// Whether each tenant runs alone first, for slowdown.
    pub alone: bool,
}

/// Each tenant alone, every pair and all together: how much each slows each other down.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Matrix {
    /// Under which ways of sharing; the scenario's own is the first.
    pub sharing: Vec<Sharing>,
    /// Tenants that are one detector under several inputs, a list for each detector: they make no pairs among
    /// themselves, and the effects of their inputs are told.
    pub inputs: Vec<Vec<String>>,
}

impl Matrix {
    /// Under these ways of sharing, without choices of input.
    pub fn of(sharing: Vec<Sharing>) -> Matrix {
        Matrix {
            sharing,
            inputs: Vec::new(),
        }
    }
}

/// One tenant at several rates, a phase for each.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Sweep {
    /// Whose rate.
    pub tenant: String,
    /// Frames per second, in this order.
    pub hz: Vec<f64>,
    /// Whether a closed loop comes last.
    pub closed: bool,
}

/// Sampling beside the tenants.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Telemetry {
    /// Time between samples.
    pub interval: Nanos,
    /// What is sampled; where it is not said, all that the machine has (tegrastats only where nothing
    /// else tells a Jetson's power).
    #[serde(default)]
    pub sources: Option<Vec<TelemetrySource>>,
}

/// Where samples come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum TelemetrySource {
    /// Processor load, clocks, on and off; memory; jetlag's own share.
    Host,
    /// Which programs use the processors.
    Processes,
    /// Power rails: the INA3221 and INA238 chips of Jetson boards.
    Rails,
    /// Temperatures and cooling devices.
    Thermal,
    /// A Jetson's GPU: load and clock.
    Gpu,
    /// A Jetson's memory controller: clock and activity.
    Emc,
    /// Fans.
    Fan,
    /// The power mode of a Jetson.
    PowerMode,
    /// NVIDIA's management library: power, energy, clocks, load and limits of a GPU.
    Nvml,
    /// The energy counters of Intel's and AMD's processors.
    Rapl,
    /// NVIDIA's program of that name, as a process of its own.
    Tegrastats,
}

impl TelemetrySource {
    /// All of them, in the order in which they are looked for.
    pub const ALL: [TelemetrySource; 11] = [
        TelemetrySource::Host,
        TelemetrySource::Processes,
        TelemetrySource::Rails,
        TelemetrySource::Thermal,
        TelemetrySource::Gpu,
        TelemetrySource::Emc,
        TelemetrySource::Fan,
        TelemetrySource::PowerMode,
        TelemetrySource::Nvml,
        TelemetrySource::Rapl,
        TelemetrySource::Tegrastats,
    ];
}

/// One detector fed by one source under one arrival process.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Tenant {
    /// Unique in the scenario.
    pub name: String,
    /// What it runs; none for tenants that only simulate.
    pub detector: Option<DetectorRef>,
    /// What executes it.
    pub backend: BackendChoice,
    /// Why that backend, where `Auto` chose.
    pub backend_reason: Option<String>,
    /// Where its frames come from.
    pub source: SourceSpec,
    /// When they are due.
    pub arrival: Arrival,
    /// The promise: response time at most this.
    pub deadline: Option<Nanos>,
    /// What happens when frames come faster than they are served.
    pub overload: Overload,
    /// Larger is more urgent.
    pub priority: i32,
    /// Frames in flight; 1 is the serial pipeline.
    pub depth: usize,
    /// Processors that its threads may run on; empty for any.
    pub cpus: Vec<usize>,
    /// Whether detections are recorded.
    pub record_detections: bool,
    /// Stop after this many frames, counted from the end of the warm-up, if sooner than the duration.
    pub frames: Option<u64>,
    /// How it uses the GPU.
    #[serde(default)]
    pub gpu: GpuUse,
}

/// A detector by file or by name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum DetectorRef {
    /// A spec file, resolved against the scenario's folder.
    File(PathBuf),
    /// One within the binary: `camera`, `lidar`.
    Builtin(String),
}

/// What executes a tenant's engines.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum BackendChoice {
    /// The embedded CPU backend.
    Cpu {
        /// Threads for one inference.
        threads: usize,
        /// Whether to record time per node.
        profile: bool,
    },
    /// TensorRT, on a GPU.
    TensorRt {
        /// Options of `jetlag build` for its plans.
        build: Vec<String>,
        /// Plans to load as they are, one for each of the detector's networks, instead of building any.
        plans: Vec<PathBuf>,
        /// Whether to record time per layer.
        profile: bool,
    },
    /// ONNX Runtime.
    OnnxRuntime {
        /// On the GPU or the processor.
        provider: Provider,
        /// Threads for one inference on the processor.
        threads: usize,
    },
    /// No network: a load of one resource.
    Stress(Stress),
    /// A seeded latency model.
    Sim(LatencyModel),
    /// Returns at once.
    Null,
}

impl BackendChoice {
    /// What a run file calls it.
    pub fn name(&self) -> &'static str {
        match self {
            BackendChoice::Cpu { .. } => "cpu",
            BackendChoice::TensorRt { .. } => "tensorrt",
            BackendChoice::OnnxRuntime { provider, .. } => match provider {
                Provider::Cpu => "onnxruntime-cpu",
                Provider::Cuda => "onnxruntime-cuda",
            },
            BackendChoice::Stress(_) => "stress",
            BackendChoice::Sim(_) => "sim",
            BackendChoice::Null => "null",
        }
    }
    /// Whether it really executes the detector's networks.
    pub fn executes(&self) -> bool {
        !matches!(
            self,
            BackendChoice::Stress(_) | BackendChoice::Sim(_) | BackendChoice::Null
        )
    }
    /// Whether it works on a GPU.
    pub fn uses_gpu(&self) -> bool {
        match self {
            BackendChoice::TensorRt { .. } => true,
            BackendChoice::OnnxRuntime { provider, .. } => *provider == Provider::Cuda,
            BackendChoice::Stress(stress) => stress.resource.is_on_gpu(),
            BackendChoice::Cpu { .. } | BackendChoice::Sim(_) | BackendChoice::Null => false,
        }
    }
    /// For a stressor: the resource that it loads, and how much of it from 0 to 1.
    pub fn load(&self) -> Option<(String, f64)> {
        match self {
            BackendChoice::Stress(stress) => Some((format!("{:?}", stress.resource), stress.level)),
            BackendChoice::Cpu { .. }
            | BackendChoice::TensorRt { .. }
            | BackendChoice::OnnxRuntime { .. }
            | BackendChoice::Sim(_)
            | BackendChoice::Null => None,
        }
    }
}

/// How long a simulated inference takes when it is alone.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum LatencyModel {
    /// Always the same.
    Fixed(Nanos),
    /// Normal, cut off at zero.
    Normal {
        /// Mean.
        mean: Nanos,
        /// Standard deviation.
        sd: Nanos,
    },
    /// Lognormal, by its median and the standard deviation of its logarithm.
    LogNormal {
        /// Median.
        median: Nanos,
        /// Standard deviation of the natural logarithm.
        sigma: f64,
    },
    /// One of two values.
    Bimodal {
        /// The usual one.
        fast: Nanos,
        /// The other.
        slow: Nanos,
        /// Share of frames, 0..=1, that take the other.
        slow_share: f64,
    },
    /// A list, used in order and again from its start.
    Recorded(Vec<Nanos>),
}

/// The largest image that is decoded where the source does not say, in millions of pixels: several times what cameras of
/// robots have.
pub const MAX_MEGAPIXELS: u32 = 64;
/// The largest sweep that is read where the source does not say: 128 beams of 2048 columns are 262 144 points.
pub const MAX_POINTS: u32 = 4_000_000;

const fn default_max_megapixels() -> u32 {
    MAX_MEGAPIXELS
}

const fn default_max_points() -> u32 {
    MAX_POINTS
}

/// Where frames come from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum SourceSpec {
    /// Frames without content, for `sim` and `null`.
    Empty,
    /// A folder of JPEG or PNG images, in name order.
    Images {
        /// The folder.
        path: PathBuf,
        /// Start again at the end.
        repeat: bool,
        /// The largest image that is decoded, in millions of pixels.
        #[serde(default = "default_max_megapixels")]
        max_megapixels: u32,
    },
    /// A folder of .bin or .pcd sweeps, in name order.
    Points {
        /// The folder.
        path: PathBuf,
        /// Start again at the end.
        repeat: bool,
        /// What the columns of a .bin are.
        format: PointFormat,
        /// The largest sweep that is read.
        #[serde(default = "default_max_points")]
        max_points: u32,
    },
    /// The synthetic world, seen by one of its sensors. Equal seeds give equal scenes at equal indices.
    Synthetic {
        /// Which sensor.
        sensor: Sensor,
        /// How many scenes are made, before they come round again.
        scenes: usize,
        /// Seed of the world; the scenario's where not given.
        seed: u64,
    },
}

/// Columns of a .bin file of float32.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum PointFormat {
    /// x y z intensity.
    #[default]
    Kitti,
    /// x y z intensity ring.
    NuScenes,
}

/// The sensors of the synthetic world.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs, reason = "the names say it")]
pub enum Sensor {
    Camera,
    Lidar,
}

/// When frames are due.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum Arrival {
    /// The next as soon as there is room: released = started, no queueing is seen.
    Closed,
    /// Every `1/hz`, from `phase` on, each moved by a uniform ±`jitter`.
    Periodic {
        /// Rate.
        hz: f64,
        /// Offset of the first release from the common epoch.
        phase: Nanos,
        /// Largest deviation of a release from its period.
        jitter: Nanos,
    },
    /// Exponential gaps.
    Poisson {
        /// Mean rate.
        hz: f64,
    },
    /// At the source's capture times.
    Replay {
        /// 2.0 is twice as fast.
        speed: f64,
    },
}

/// What happens when frames come faster than they are served.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Overload {
    /// Wait in line; when `capacity` wait already, the newest is dropped and a finding says so.
    Queue {
        /// Frames that may wait.
        capacity: usize,
    },
    /// Keep the newest.
    DropOldest {
        /// Frames that may wait.
        queue: usize,
    },
    /// Keep the oldest.
    DropNewest {
        /// Frames that may wait.
        queue: usize,
    },
}
