//! A tenant: one detector fed by one source under one arrival process.

use std::ops::RangeInclusive;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::gpu::{GpuUse, Provider};
use super::made::MadeInputs;
use super::sets::Associate;
use super::source::SourceSpec;
use super::stress::Stress;
use crate::units::Nanos;
use crate::{fields, words};

fields! {
    /// One detector fed by one source under one arrival process.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    pub struct Tenant {
        others: {
            /// Name of the tenant, unique in the scenario.
            pub name: String = String::new();
            /// The detector that it runs; none for tenants that only simulate.
            pub detector: Option<DetectorRef> = None;
            /// For a network without pre- and post-processing, which `detector` then names: what it is fed.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub made: Option<MadeInputs> = None;
            /// What executes its networks.
            pub backend: BackendChoice = BackendChoice::Null;
            /// Why `Auto` chose that backend; none if the backend was given.
            pub backend_reason: Option<String> = None;
            /// Where its frames come from.
            pub source: SourceSpec = SourceSpec::Empty;
            /// The name under which it shares the source with other tenants: each frame is then read and decoded once for all of them.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub shared: Option<String> = None;
            /// When its frames are due.
            pub arrival: Arrival = Arrival::Closed;
            /// What happens when frames come faster than they are served.
            pub overload: Overload = Overload::DropOldest { queue: 1 };
            /// Frames of one inference.
            #[serde(default, skip_serializing_if = "Batch::is_single")]
            pub batch: Batch = Batch::default();
            /// Processors that its threads may run on; empty for any.
            pub cpus: Vec<usize> = Vec::new();
            /// How it uses the GPU.
            #[serde(default)]
            pub gpu: GpuUse = GpuUse::default();
        }
        /// Limit on the response time. Frames beyond it are misses. Without a deadline only dropped frames are misses.
        pub deadline: Option<Nanos> = None,
            if |time| time.is_none_or(|time| time > Nanos::ZERO) => "above zero; leave it out for no deadline";
        /// Larger is more urgent. Recorded; has an effect only in sharing modes with priorities.
        pub priority: i32 = 0;
        /// Frames in flight. 1 is the serial pipeline: one frame from start to end. 2 prepares the next frame while this one
        /// computes, which increases throughput, needs a second core, and with `Closed` makes a frame wait for the previous one.
        // More take memory each; beyond this a ring hides the lateness that it should show.
        pub depth: usize = 1, if |depth| (1..=64).contains(depth) => "from 1 to 64: 1 is the serial pipeline";
        /// Whether detections are written to the run file.
        pub record_detections: bool = true;
        /// What becomes of points without a number that the detector takes (an intensity, the laser of each point). `Refuse`: the
        /// tenant does not start, and a frame without it fails. `Zero`: the detector is given zeros, and the finding
        /// `zeros-for-missing` says so.
        #[serde(default)]
        pub missing: Missing = Missing::Refuse;
        /// Stop the tenant after this many frames, counted from the end of the warm-up, if that is sooner than the duration.
        pub frames: Option<u64> = None,
            if |frames| *frames != Some(0) => "above zero; leave it out to run for the duration";
    }
}

impl Tenant {
    /// One without a detector, whose frames are empty and come one after another.
    pub fn of_backend(name: &str, backend: BackendChoice) -> Self {
        Tenant {
            name: name.to_owned(),
            backend,
            overload: Overload::Queue { capacity: 1 },
            record_detections: false,
            ..Tenant::default()
        }
    }
}

words! {
    Missing: "way with what is missing";
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

/// The Null backend takes no time.
fn takes_time(time: &Nanos) -> bool {
    *time > Nanos::ZERO
}

fields! {
    /// How long a simulated inference takes when it is alone.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    pub enum LatencyModel: "latency model", else "Fixed" {
        /// Always this time.
        Fixed(1, "Fixed(\"5ms\")") {
            /// Time of every frame.
            latency: Nanos, required "Fixed(\"5ms\")", if takes_time => "above zero; the Null backend takes no time";
        },
        /// A normal variate, cut off at zero.
        Normal(0, "Normal(mean: \"8ms\", sd: \"1ms\")") {
            /// Mean of all frames.
            mean: Nanos, required "mean: \"8ms\"", if takes_time => "above zero; the Null backend takes no time";
            /// Standard deviation of all frames.
            sd: Nanos, required "sd: \"1ms\"";
        },
        /// A lognormal variate; `sigma` is the standard deviation of its logarithm.
        LogNormal(0, "LogNormal(median: \"8ms\", sigma: 0.3)") {
            /// Median of all frames.
            median: Nanos, required "median: \"8ms\"", if takes_time => "above zero; the Null backend takes no time";
            /// Standard deviation of the natural logarithm.
            sigma: f64, required "sigma: 0.3", if |sigma| (0.0..=10.0).contains(sigma) => "from 0 to 10; such as 0.3";
        },
        /// `slow` for that share of frames, else `fast`.
        Bimodal(0, "Bimodal(fast: \"5ms\", slow: \"20ms\", slow_share: 0.05)") {
            /// Time of most frames.
            fast: Nanos, required "fast: \"5ms\"", if takes_time => "above zero; the Null backend takes no time";
            /// Time of the slow frames.
            slow: Nanos, required "slow: \"20ms\"", if takes_time => "above zero; the Null backend takes no time";
            /// Share of slow frames, from 0 to 1.
            slow_share: f64, required "slow_share: 0.05",
                if |share| (0.0..=1.0).contains(share) => "from 0 to 1; such as 0.05";
        },
        /// These times in order, repeated from the first.
        Recorded(1, "Recorded([\"5ms\", \"6ms\"])") {
            /// A list, used in order and again from its start.
            latencies: Vec<Nanos> as times, required "Recorded([\"5ms\", \"6ms\"])",
                if |times| !times.is_empty() => "at least one latency; such as Recorded([\"5ms\", \"6ms\"])";
        },
    }
}

/// Rates that frames may have, in hertz: from one in a quarter of an hour to where no timer tells releases apart.
pub const RATES: RangeInclusive<f64> = 0.001..=100_000.0;

fields! {
    /// When frames are due.
    #[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
    pub enum Arrival: "arrival", else "Closed" {
        /// The next as soon as a slot is free. Measures capacity; there is no queueing, and response times are not comparable
        /// with those of a paced tenant.
        Closed,
        /// Every 1/`hz`, from `phase` after the common epoch, each moved by a uniform ±`jitter` (less than half of the period).
        Periodic(1, "Periodic(hz: 30)") {
            /// Releases per second.
            hz: f64 as rate, required "hz: 30", if |hz| RATES.contains(hz) => "from 0.001 to 100000";
            /// Offset of the first release from the common epoch.
            phase: Nanos = Nanos::ZERO;
            /// Largest deviation of a release from its period.
            jitter: Nanos = Nanos::ZERO;
        },
        /// With exponential gaps, `hz` on average.
        Poisson(1, "Poisson(hz: 30)") {
            /// Releases a second, on average.
            hz: f64 as rate, required "hz: 30", if |hz| RATES.contains(hz) => "from 0.001 to 100000";
        },
        /// Every 1/`hz`, with the newest frame that has come by then, as a node of ROS does whose timer takes the last message. A
        /// frame that a newer one follows is skipped; where none has come the last is taken again, without *acquire* and
        /// *decode*. Both are counted (`sampled` in JSON), and the age of the result counts from the frame's capture. Needs a
        /// source that has capture times.
        Sampled(1, "Sampled(hz: 10)") {
            /// Releases per second.
            hz: f64 as rate, required "hz: 10", if |hz| RATES.contains(hz) => "from 0.001 to 100000";
            /// Offset of the first release from the common epoch.
            phase: Nanos = Nanos::ZERO;
        },
        /// At the source's capture times, `speed` times as fast. Needs a source that has them.
        Replay(1, "Replay(speed: 1.0)") {
            /// Speed of the replay; 2.0 is twice as fast.
            speed: f64 = 1.0, if |speed| (0.001..=1000.0).contains(speed) => "from 0.001 to 1000; 1 is as captured";
        },
        /// When a camera has a frame. The default of `Camera`, which has no other, and for nothing else.
        Live,
    }
}

fields! {
    /// What happens when frames come faster than they are served.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
    pub enum Overload: "overload", else "DropOldest" {
        /// The new one is dropped, and a finding says so, because a queue that long should never fill.
        Queue(1, "Queue(capacity: 1024)") {
            /// Frames that may wait.
            capacity: usize = 1024, if |&length| is_queue(length) => "from 1 to 65536 frames";
        },
        /// The oldest is dropped: served frames are fresh.
        DropOldest(1, "DropOldest(queue: 1)") {
            /// Frames that may wait.
            queue: usize = 1, if |&length| is_queue(length) => "from 1 to 65536 frames";
        },
        /// The new one is dropped: served frames have waited.
        DropNewest(1, "DropNewest(queue: 1)") {
            /// Frames that may wait.
            queue: usize = 1, if |&length| is_queue(length) => "from 1 to 65536 frames";
        },
    }
}

/// Waiting frames are stamps only, yet their ring is made beforehand.
fn is_queue(length: usize) -> bool {
    (1..=65_536).contains(&length)
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
