//! What a run is to do: the scenario as meant, every default filled in. It is stored in the run file as it stands.
//!
//! How one is written, read and checked is the affair of whoever reads scenarios; here is what they mean.

mod gpu;
mod source;
mod stress;
mod telemetry;
mod tenant;

use serde::{Deserialize, Serialize};

use crate::units::Nanos;

pub use gpu::{ContextMemory, GpuUse, Graph, Preprocess, Provider, Sync, Transfer};
pub use source::{MAX_MEGAPIXELS, MAX_POINTS, PointFormat, Sensor, SourceSpec};
pub use stress::{Resource, Stress};
pub use telemetry::{Telemetry, TelemetrySource};
pub use tenant::{Arrival, BackendChoice, DetectorRef, LatencyModel, Overload, Tenant};

/// A scenario with every default filled in, as it is run and recorded.
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
    /// How a tenant waits for its next release: asleep, or in a loop for the last stretch.
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
    /// The tenants, in the order of the file; a record names one by its index here.
    pub tenants: Vec<Tenant>,
}

/// Long after any deadline, and soon enough that nobody thinks the program hangs.
pub const fn default_watchdog() -> Nanos {
    Nanos::from_secs(10)
}

impl Scenario {
    /// One in which nothing runs: no tenants, no time, no promises.
    pub fn empty(name: &str) -> Self {
        Scenario {
            name: name.to_owned(),
            duration: Nanos::ZERO,
            warmup: Nanos::ZERO,
            seed: 0,
            clock: ClockKind::Real,
            sharing: Sharing::Streams,
            mps: Mps::Auto,
            release: Release::Sleep,
            baseline: Baseline::default(),
            matrix: None,
            sweep: None,
            telemetry: Telemetry {
                interval: Nanos::from_millis(100),
                sources: Some(Vec::new()),
            },
            clocks: Clocks::AsIs,
            sim_contention: 0.0,
            watchdog: Nanos::ZERO,
            expect: Vec::new(),
            tenants: Vec::new(),
        }
    }

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
    /// CLOCK_MONOTONIC: the run takes as long as it says.
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
    /// Clocks stay as they are found.
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
    /// The tenant whose rate changes from step to step.
    pub tenant: String,
    /// Frames per second, in this order.
    pub hz: Vec<f64>,
    /// Whether a closed loop comes last.
    pub closed: bool,
}

impl Sweep {
    /// The arrival of each step, in order.
    pub fn arrivals(&self) -> impl Iterator<Item = Arrival> {
        let paced = self.hz.iter().map(|&hz| Arrival::Periodic {
            hz,
            phase: Nanos::ZERO,
            jitter: Nanos::ZERO,
        });
        paced.chain(self.closed.then_some(Arrival::Closed))
    }
}
