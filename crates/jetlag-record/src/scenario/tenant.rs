//! A tenant: one detector fed by one source under one arrival process.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::gpu::{GpuUse, Provider};
use super::made::MadeInputs;
use super::sets::Associate;
use super::source::SourceSpec;
use super::stress::Stress;
use crate::units::Nanos;

/// One detector fed by one source under one arrival process.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Tenant {
    /// Name of the tenant, unique in the scenario.
    pub name: String,
    /// The detector that it runs; none for tenants that only simulate.
    pub detector: Option<DetectorRef>,
    /// For a network without pre- and post-processing, which `detector` then names: what it is fed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub made: Option<MadeInputs>,
    /// What executes its networks.
    pub backend: BackendChoice,
    /// Why `Auto` chose that backend; none if the backend was given.
    pub backend_reason: Option<String>,
    /// Where its frames come from.
    pub source: SourceSpec,
    /// The name under which it shares the source with other tenants: each frame is then read and decoded once for all of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shared: Option<String>,
    /// When its frames are due.
    pub arrival: Arrival,
    /// Deadline for the response time, if any.
    pub deadline: Option<Nanos>,
    /// What happens when frames come faster than they are served.
    pub overload: Overload,
    /// Priority; larger is more urgent.
    pub priority: i32,
    /// Frames in flight; 1 is the serial pipeline.
    pub depth: usize,
    /// Frames of one inference.
    #[serde(default, skip_serializing_if = "Batch::is_single")]
    pub batch: Batch,
    /// Processors that its threads may run on; empty for any.
    pub cpus: Vec<usize>,
    /// Whether detections are recorded.
    pub record_detections: bool,
    /// What becomes of a frame that lacks what the detector takes.
    #[serde(default)]
    pub missing: Missing,
    /// Stop after this many frames, counted from the end of the warm-up, if sooner than the duration.
    pub frames: Option<u64>,
    /// How it uses the GPU.
    #[serde(default)]
    pub gpu: GpuUse,
}

impl Tenant {
    /// One without a detector, whose frames are empty and come one after another.
    pub fn of_backend(name: &str, backend: BackendChoice) -> Self {
        Tenant {
            name: name.to_owned(),
            detector: None,
            made: None,
            backend,
            backend_reason: None,
            source: SourceSpec::Empty,
            shared: None,
            arrival: Arrival::Closed,
            deadline: None,
            overload: Overload::Queue { capacity: 1 },
            priority: 0,
            depth: 1,
            batch: Batch::default(),
            cpus: Vec::new(),
            record_detections: false,
            missing: Missing::default(),
            frames: None,
            gpu: GpuUse::default(),
        }
    }
}

/// What becomes of points that lack a number which the detector takes: an intensity, the laser.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Missing {
    /// The tenant does not start, or the frame fails.
    #[default]
    Refuse,
    /// The detector is given zeros, and a finding says so.
    Zero,
}

/// How many frames have one inference, and how long the first of them waits for the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Batch {
    /// Frames of one inference; 1 for an inference each.
    pub size: usize,
    /// The longest that a frame waits for others after its turn has come; `None` for as long as others may come.
    pub wait: Option<Nanos>,
}

impl Batch {
    /// Whether each frame has an inference of its own.
    pub fn is_single(&self) -> bool {
        self.size <= 1
    }
}

impl Default for Batch {
    fn default() -> Batch {
        Batch { size: 1, wait: None }
    }
}

/// A detector by file or by name, or made of two.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum DetectorRef {
    /// A spec file, resolved against the scenario's folder; or a network, which runs on made inputs.
    File(PathBuf),
    /// One within the binary: `camera`, `lidar`.
    Builtin(String),
    /// One of images and one of sweeps, over a source that has both.
    Fusion(FusionSpec),
    /// A spec of one network that takes all sensors of a set.
    Whole(PathBuf),
    /// A detector of one network with another one in its place.
    WithNetwork {
        /// The spec, which is never such a pair itself.
        spec: Box<DetectorRef>,
        /// The network that stands in for the spec's own.
        network: PathBuf,
    },
}

impl DetectorRef {
    /// The detector as its spec describes it, whichever network it has.
    pub fn spec(&self) -> &DetectorRef {
        match self {
            DetectorRef::WithNetwork { spec, .. } => spec,
            other => other,
        }
    }
}

/// A detector of images and one of sweeps, whose boxes are put together.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FusionSpec {
    /// The detector of images.
    pub camera: Box<DetectorRef>,
    /// The detector of sweeps.
    pub lidar: Box<DetectorRef>,
    /// Which boxes are of one object.
    pub associate: Associate,
    /// How many cameras the source has, each of whose images goes through the camera's detector.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub cameras: usize,
}

fn one() -> usize {
    1
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde hands a reference")]
fn is_one(count: &usize) -> bool {
    *count == 1
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
    /// Microsoft's ONNX Runtime, from a library that is found at run time.
    OnnxRuntime {
        /// Whether it runs on the GPU or the processor.
        provider: Provider,
        /// Threads for one inference on the processor.
        threads: usize,
        /// Whether to record time per node; files of before had no such choice.
        #[serde(default)]
        profile: bool,
    },
    /// No network: a load of one resource.
    Stress(Stress),
    /// A seeded latency model.
    Sim(LatencyModel),
    /// A backend that returns at once without a detection; it measures jetlag's own cost.
    Null,
}

impl BackendChoice {
    /// Its name in run files.
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
    /// Every frame takes the same time.
    Fixed(Nanos),
    /// Normal, cut off at zero.
    Normal {
        /// Mean of all frames.
        mean: Nanos,
        /// Standard deviation of all frames.
        sd: Nanos,
    },
    /// Lognormal, by its median and the standard deviation of its logarithm.
    LogNormal {
        /// Median of all frames.
        median: Nanos,
        /// Standard deviation of the natural logarithm.
        sigma: f64,
    },
    /// One of two values.
    Bimodal {
        /// Time of most frames.
        fast: Nanos,
        /// Time of the slow frames.
        slow: Nanos,
        /// Share of slow frames, from 0 to 1.
        slow_share: f64,
    },
    /// A list, used in order and again from its start.
    Recorded(Vec<Nanos>),
}

/// When frames are due.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum Arrival {
    /// A closed loop: the next frame as soon as there is room, so released = started and no queueing shows.
    Closed,
    /// Every `1/hz`, from `phase` on, each moved by a uniform ±`jitter`.
    Periodic {
        /// Releases per second.
        hz: f64,
        /// Offset of the first release from the common epoch.
        phase: Nanos,
        /// Largest deviation of a release from its period.
        jitter: Nanos,
    },
    /// Releases at random, independent of each other: gaps are exponential.
    Poisson {
        /// Releases a second, on average.
        hz: f64,
    },
    /// A timer that takes the newest frame, as nodes of ROS do: a frame that a newer one follows before the next release is
    /// skipped, and where none has come the last is taken again.
    Sampled {
        /// Releases per second.
        hz: f64,
        /// Offset of the first release from the common epoch.
        phase: Nanos,
    },
    /// At the source's capture times.
    Replay {
        /// Speed of the replay; 2.0 is twice as fast.
        speed: f64,
    },
    /// When a live source has them.
    Live,
}

/// What happens when frames come faster than they are served.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Overload {
    /// Wait in a queue; if `capacity` frames wait already, the newest is dropped and a finding says so.
    Queue {
        /// Frames that may wait.
        capacity: usize,
    },
    /// Drop the frame that has waited longest.
    DropOldest {
        /// Frames that may wait.
        queue: usize,
    },
    /// Drop the newest frame.
    DropNewest {
        /// Frames that may wait.
        queue: usize,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_manifest_from_before_onnxruntime_was_profiled_is_read() {
        let before = r#"{"OnnxRuntime":{"provider":"Cpu","threads":2}}"#;
        let found: BackendChoice = serde_json::from_str(before).expect("it is one");
        let profile = |profile| BackendChoice::OnnxRuntime {
            provider: Provider::Cpu,
            threads: 2,
            profile,
        };
        assert_eq!(found, profile(false));
        let now = serde_json::to_string(&profile(true)).expect("it is written");
        let read: BackendChoice = serde_json::from_str(&now).expect("it is read");
        assert_eq!(read, profile(true));
    }
}
