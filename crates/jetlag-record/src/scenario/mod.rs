//! What a run is to do: the scenario as meant, every default filled in. It is stored in the run file as it stands.
//!
//! How one is written, read and checked is the affair of whoever reads scenarios; here is what they mean.

mod gpu;
mod made;
mod recordings;
mod sets;
mod source;
mod stored;
mod stress;
mod telemetry;
mod tenant;
mod video;

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::units::Nanos;

pub use gpu::{ContextMemory, GpuUse, Graph, Preprocess, Provider, Sync, Transfer};
pub use made::{Fill, InputFile, MadeInputs, RecordOutputs, Shapes, WrongShapes};
pub use recordings::{BagSpec, KittiLayout, KittiSpec, NuScenesSpec, RecordingSpec, StampOf};
pub use sets::{Associate, SET_QUEUE, TOLERANCE};
pub use source::{MAX_MEGAPIXELS, MAX_POINTS, PointFormat, SetRule, SetSpec, SourceSpec};
pub use stored::{Reading, Sensor};
pub use stress::{Resource, Stress};
pub use telemetry::{Telemetry, TelemetrySource};
pub use tenant::{
    Arrival, BackendChoice, Batch, DetectorRef, FusionSpec, LatencyModel, Missing, Overload, Tenant,
};
pub use video::{CameraFrom, CameraSpec, ImageSize, NoImageSize, VideoDecoder, VideoSpec};

/// A scenario with every default filled in, as it is run and recorded.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Scenario {
    /// Name of the run, and part of its file's name.
    pub name: String,
    /// Measured time, after warm-up.
    pub duration: Nanos,
    /// Time before the measured time; its frames are marked as warm-up.
    pub warmup: Nanos,
    /// Measured time of a turn, where tenants take turns alone and together for their slowdown; none where it follows from the
    /// duration.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<Nanos>,
    /// Seed of every random choice.
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
    /// What is measured beside the tenants together.
    pub baseline: Baseline,
    /// Each tenant alone, every pair and all together, under several sharing modes; none if not requested.
    #[serde(default)]
    pub matrix: Option<Matrix>,
    /// One tenant at several rates; none if not requested.
    #[serde(default)]
    pub duty_cycle: Option<DutyCycle>,
    /// Phases in which the GPU is traced, after all others; none if not requested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<Trace>,
    /// Sampling beside the tenants.
    pub telemetry: Telemetry,
    /// What is done with the machine's clocks.
    #[serde(default)]
    pub clocks: Clocks,
    /// The power mode of the board during the run; none if it is left as it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub power_mode: Option<PowerMode>,
    /// How the `sim` backend's tenants slow each other down: with `k` busy, each runs `1 + contention × (k − 1)` times slower.
    pub sim_contention: f64,
    /// Time limit (`watchdog`): a frame that the device holds for longer ends its tenant.
    #[serde(default = "default_watchdog")]
    pub watchdog: Nanos,
    /// The expectations that the exit code reports on.
    pub expect: Vec<String>,
    /// The tenants, in the order of the file; a record names one by its index here.
    pub tenants: Vec<Tenant>,
    /// Whether programs that it names may be started. Its user says so (`--allow-commands`), and no file can.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub allow_commands: bool,
}

/// Default of the watchdog: far beyond any deadline, and short enough that nobody thinks the program hangs.
pub const fn default_watchdog() -> Nanos {
    Nanos::from_secs(10)
}

impl Scenario {
    /// An empty scenario: no tenants, no time, no expectations.
    pub fn empty(name: &str) -> Self {
        Scenario {
            name: name.to_owned(),
            duration: Nanos::ZERO,
            warmup: Nanos::ZERO,
            turn: None,
            seed: 0,
            clock: ClockKind::Real,
            sharing: Sharing::Streams,
            mps: Mps::Auto,
            release: Release::Sleep,
            baseline: Baseline::default(),
            matrix: None,
            duty_cycle: None,
            trace: None,
            telemetry: Telemetry {
                interval: Nanos::from_millis(100),
                sources: Some(Vec::new()),
            },
            clocks: Clocks::AsIs,
            power_mode: None,
            sim_contention: 0.0,
            watchdog: Nanos::ZERO,
            expect: Vec::new(),
            tenants: Vec::new(),
            allow_commands: false,
        }
    }

    /// The sharing modes that its phases use, its own first.
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

/// Modes of sharing one device.
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

/// Whether tenants in their own processes share the GPU through NVIDIA's Multi-Process Service (MPS).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Mps {
    /// MPS if its daemon runs, else time slicing.
    #[default]
    Auto,
    /// MPS; without its daemon the run does not start.
    Required,
    /// Time slicing, even if the daemon runs.
    Off,
}

/// How a tenant waits for a release.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Release {
    /// Sleep on an absolute timer.
    #[default]
    Sleep,
    /// Sleep, then spin for the last stretch: more precise, at the cost of processor time.
    Spin,
}

/// What is done with the machine's clocks during a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Clocks {
    /// Clocks are left as they are.
    #[default]
    AsIs,
    /// Clocks are locked at their maximum, and restored afterwards. Needs root.
    Max,
}

/// A power mode of a Jetson, as nvpmodel numbers or names it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum PowerMode {
    /// By its number.
    Id(u32),
    /// By its name; `15W` is also `MODE_15W`.
    Name(String),
}

impl fmt::Display for PowerMode {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PowerMode::Id(id) => write!(out, "{id}"),
            PowerMode::Name(name) => write!(out, "{name:?}"),
        }
    }
}

/// What is measured beside the tenants together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Baseline {
    /// How long to sample idle power.
    pub idle: Option<Nanos>,
    /// Whether the tenants take turns alone and together first, for slowdown.
    pub alone: bool,
}

/// Each tenant alone, every pair and all together: how much each slows down each other.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Matrix {
    /// The sharing modes; the scenario's own comes first.
    pub sharing: Vec<Sharing>,
    /// Tenants that are one detector with several inputs, a list for each detector: they form no pairs among
    /// themselves, and the effects of their inputs are reported.
    pub inputs: Vec<Vec<String>>,
}

/// Turns of a run at most: phases have numbers of 16 bits, and others than turns have some, too.
pub const MOST_TURNS: usize = 60_000;
/// The fewest rounds of turns that a run has.
pub const FEWEST_ROUNDS: usize = 2;

impl Matrix {
    /// Every two tenants, except two inputs of one detector, and two stressors: what they do to each other is no detector's affair.
    pub fn pairs(&self, tenants: &[Tenant]) -> Vec<[usize; 2]> {
        let group = |tenant: &Tenant| self.inputs.iter().position(|group| group.contains(&tenant.name));
        let numbered = || tenants.iter().enumerate();
        let every = numbered().flat_map(|one| numbered().skip(one.0 + 1).map(move |other| (one, other)));
        every
            .filter(|((_, a), (_, b))| group(a).is_none() || group(a) != group(b))
            .filter(|((_, a), (_, b))| a.stress().is_none() || b.stress().is_none())
            .map(|((a, _), (b, _))| [a, b])
            .collect()
    }

    /// Why a run has no room for so many turns, if it has none.
    pub fn too_large(&self, tenants: &[Tenant]) -> Option<String> {
        let (count, ways) = (tenants.len(), self.sharing.len());
        // Each alone, each pair, and all.
        let turns = FEWEST_ROUNDS * ways * (count + self.pairs(tenants).len() + 1);
        (turns > MOST_TURNS).then(|| {
            format!(
                "{count} tenants under {ways} {} of sharing take {turns} turns in {FEWEST_ROUNDS} rounds, the fewest there are, and a run \
                 has {MOST_TURNS} at most",
                if ways == 1 { "way" } else { "ways" }
            )
        })
    }

    /// A matrix under these sharing modes, without crossed inputs.
    pub fn of(sharing: Vec<Sharing>) -> Matrix {
        Matrix {
            sharing,
            inputs: Vec::new(),
        }
    }
}

/// Phases in which the GPU is traced: the same tenants, rates and seeds as in those before them, which stay untraced.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trace {
    /// Measured time of each, after the scenario's warm-up.
    pub duration: Nanos,
    /// Whether the nodes of CUDA graphs are traced, or graphs as a whole, which costs less.
    pub graphs: Graphs,
    /// Whether the host's calls of CUDA are traced; without them nothing can be said of launches and critical paths.
    pub calls: bool,
    /// Which phases have a traced one.
    pub phases: TracedPhases,
}

impl Default for Trace {
    fn default() -> Self {
        Trace {
            duration: Nanos::from_secs(2),
            graphs: Graphs::Nodes,
            calls: true,
            phases: TracedPhases::Together,
        }
    }
}

/// How CUDA graphs are traced.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Graphs {
    /// Each kernel, copy and fill of a graph.
    #[default]
    Nodes,
    /// Each launch of a graph as one activity.
    Whole,
}

/// Which phases have a traced one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum TracedPhases {
    /// The measurement.
    #[default]
    Together,
    /// Every phase: each tenant alone, pairs and other sharing modes, too.
    All,
}

/// One tenant at several rates, a phase for each.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DutyCycle {
    /// The tenant whose rate changes from step to step.
    pub tenant: String,
    /// Frames per second, in this order.
    pub hz: Vec<f64>,
    /// Whether a closed loop comes last.
    pub closed: bool,
}

impl DutyCycle {
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
