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

use crate::field::{Entry, Value};
use crate::units::Nanos;
use crate::{fields, words};

pub use gpu::{ContextMemory, GpuUse, Graph, Preprocess, Provider, Sync, Transfer, is_device};
pub use made::{Fill, InputFile, MadeInputs, RecordOutputs, Shapes, WrongShapes};
pub use recordings::{BagSpec, KittiLayout, KittiSpec, NuScenesSpec, RecordingSpec, StampOf};
pub use sets::{Associate, SET_QUEUE, TOLERANCE};
pub use source::{MAX_MEGAPIXELS, MAX_POINTS, PointFormat, SetRule, SetSpec, SourceSpec};
pub use stored::{Reading, Sensor};
pub use stress::{Resource, Stress};
pub use telemetry::{Telemetry, TelemetrySource};
pub use tenant::{
    Arrival, BackendChoice, Batch, DetectorRef, FusionSpec, LatencyModel, Missing, Overload, RATES, Tenant,
};
pub use video::{CameraFrom, CameraSpec, ImageSize, NoImageSize, VideoDecoder, VideoSpec};

fields! {
    /// A scenario with every default filled in, as it is run and recorded.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    pub struct Scenario {
        others: {
            /// Name of the run, and part of its file's name.
            pub name: String = String::new();
            /// Each tenant alone, every pair and all together, under several sharing modes; none if not requested.
            #[serde(default)]
            pub matrix: Option<Matrix> = None;
            /// One tenant at several rates; none if not requested.
            #[serde(default)]
            pub duty_cycle: Option<DutyCycle> = None;
            /// The expectations that the exit code reports on.
            pub expect: Vec<String> = Vec::new();
            /// The tenants, in the order of the file; a record names one by its index here.
            pub tenants: Vec<Tenant> = Vec::new();
            /// Whether programs that it names may be started. Its user says so (`--allow-commands`), and no file can.
            #[serde(default, skip_serializing_if = "std::ops::Not::not")]
            pub allow_commands: bool = false;
        }
        /// Measured time. It begins when the warm-up ends.
        pub duration: Nanos = Nanos::from_secs(10),
            if |time| *time > Nanos::ZERO && *time <= LONGEST_RUN => "above zero and at most 366 days";
        /// Time before the measured time. Its frames are recorded and marked, but count in no result. At most the duration.
        pub warmup: Nanos = Nanos::from_secs(1), usually "`\"1s\"`, or the duration if that is shorter", if |time| *time <= LONGEST_RUN => "at most 366 days";
        /// Measured time of a turn, where tenants take turns alone and together ([below](#phases)): from 100 ms to the duration.
        /// Without `baseline: (alone: true)` or a matrix it changes nothing.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub turn: Option<Nanos> = None, usually "follows from the duration";
        /// Seeds every random choice: arrivals, simulated latencies, synthetic scenes.
        pub seed: u64 = 0;
        /// `Virtual` simulates time: a run of ten minutes takes well under a second and gives the same result each time. Every
        /// tenant must then be on `Sim` or `Null`; a tenant with `Null` and `Closed` also needs `frames`, since nothing in it
        /// takes time.
        pub clock: ClockKind = ClockKind::Real;
        /// How tenants share the device: [below](#sharing-modes).
        pub sharing: Sharing = Sharing::Streams;
        /// Under `Processes`: whether the tenants share the GPU through NVIDIA's MPS. `Auto`: if its daemon runs; `Required`: do
        /// not start without it; `Off`: never.
        #[serde(default)]
        pub mps: Mps = Mps::Auto;
        /// How a tenant waits for a release: sleeping on an absolute timer, or sleeping and then busy-waiting for the last part,
        /// which is more punctual and uses a core.
        pub release: Release = Release::Sleep;
        /// What is measured first. `idle`: for how long to sample idle power (default: not at all). `alone`: whether the tenants
        /// take turns alone and together before the measurement, which gives their slowdowns (default `false`).
        pub baseline: Baseline = Baseline::default(), usually "`()`";
        /// Traces the GPU in phases of their own, after all others and in another process; `trace: ()` or `--trace` uses the
        /// defaults. `duration`: measured time of each, at most 600 s (default `"2s"`). `graphs`: `Nodes` records each kernel of
        /// a CUDA graph, `Whole` each launch, which costs less (default `Nodes`). `calls`: whether the host's CUDA calls are
        /// recorded (default `true`). `phases`: `Together` or `All`, which traces each phase again (default `Together`).
        /// [kernels.md](kernels.md) has more.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub trace: Option<Trace> = None;
        /// `interval`: time between samples, from 1 ms to 1 h. `sources`: what is sampled; by default all that the machine has.
        /// They are `Host`, `Processes`, `Rails`, `Thermal`, `Gpu`, `Emc`, `Fan`, `PowerMode`, `Nvml`, `Rapl` and `Tegrastats`;
        /// [power.md](power.md) says what each reads. `Tegrastats` starts a process, so by default it is used only on a Jetson
        /// whose rails cannot be read directly.
        pub telemetry: Telemetry = Telemetry::default(), usually "`(interval: \"100ms\")`";
        /// `Max`: the machine's clocks are locked at their maximum for the run and restored, however it ends. It needs root;
        /// [power.md](power.md) says what is set.
        #[serde(default)]
        pub clocks: Clocks = Clocks::AsIs;
        /// A Jetson's power mode for the run, by nvpmodel's name (`"15W"` is also `MODE_15W`, in any case) or number. It is set
        /// before anything is made ready, so that plans are those of that mode, and the mode before is set again, however the run
        /// ends. It needs root; a mode that the board does not have, or that takes a reboot, is refused before anything starts.
        /// Not under `clock: Virtual`. [power.md](power.md#clocks-and-power-modes) has more.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub power_mode: Option<PowerMode> = None;
        /// How tenants on `Sim` slow each other down: with *k* of them busy, each runs 1 + `sim_contention` × (*k* − 1) times
        /// slower. 0 is no contention.
        // Beyond a hundredfold a model says nothing, and far beyond it no frame would end in simulated time.
        pub sim_contention: f64 = 0.0, if |times| (0.0..=100.0).contains(times) => "from 0 to 100; such as 0.5";
        /// A device that takes longer than this for a frame hangs: the run ends with exit code 1 and the finding
        /// `device-hangs`, and the data recorded so far is kept. The limit also applies to submissions, except for the first
        /// `depth` of a phase, which may build what later ones use; and to releasing the device after the run, with exit code 1
        /// and a message. Under `Processes`, a process that has not finished its phase this long plus 10 s after its end is
        /// killed, with the finding `process-died`; the other tenants continue.
        #[serde(default = "usual_watchdog")]
        pub watchdog: Nanos = usual_watchdog(),
            if |time| (Nanos::from_millis(10)..=LONGEST_RUN).contains(time) => "from 10 ms to 366 days; such as \"10s\"";
    }
}

/// Beyond this, adding durations to stamps could overflow, and nobody waits for the result.
pub const LONGEST_RUN: Nanos = Nanos::from_secs(366 * 24 * 3600);

const fn usual_watchdog() -> Nanos {
    Nanos::from_secs(10)
}

impl Scenario {
    /// An empty scenario: no tenants, no time, no expectations, nothing sampled.
    pub fn empty(name: &str) -> Self {
        Scenario {
            name: name.to_owned(),
            duration: Nanos::ZERO,
            warmup: Nanos::ZERO,
            telemetry: Telemetry {
                sources: Some(Vec::new()),
                ..Telemetry::default()
            },
            watchdog: Nanos::ZERO,
            ..Scenario::default()
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

impl Value for PowerMode {
    fn kind() -> String {
        "text or whole number".to_owned()
    }
    fn read(entry: &mut dyn Entry) -> Option<Self> {
        match entry.is_number() {
            true => u32::read(entry).map(PowerMode::Id),
            false => String::read(entry).map(PowerMode::Name),
        }
    }
    fn text(&self) -> String {
        self.to_string()
    }
}

words! {
    ClockKind: "clock";
    Sharing: "sharing";
    Mps: "way with MPS";
    Release: "release";
    Clocks: "way with clocks";
    Graphs: "way to trace graphs";
    TracedPhases: "choice of phases";
}

fields! {
    /// What is measured beside the tenants together.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
    pub struct Baseline: "Baseline", "fields in parentheses, such as (idle: \"3s\", alone: true)" {
        /// How long to sample idle power.
        pub idle: Option<Nanos> = None,
            if |time| time.is_none_or(|time| time > Nanos::ZERO && time <= LONGEST_RUN)
                => "above zero; leave it out to measure no idle power";
        /// Whether the tenants take turns alone and together first, for slowdown.
        pub alone: bool = false;
    }
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

fields! {
    /// Phases in which the GPU is traced: the same tenants, rates and seeds as in those before them, which stay untraced.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
    pub struct Trace: "Trace", "fields in parentheses, such as (duration: \"2s\", graphs: Whole), or ()" {
        /// Measured time of each, after the scenario's warm-up.
        pub duration: Nanos = Nanos::from_secs(2),
            if |time| *time > Nanos::ZERO && *time <= Nanos::from_secs(600)
                => "more than 0 and at most 600s, such as \"2s\": a trace is kept in memory until its phase ends";
        /// Whether the nodes of CUDA graphs are traced, or graphs as a whole, which costs less.
        pub graphs: Graphs = Graphs::Nodes;
        /// Whether the host's calls of CUDA are traced; without them nothing can be said of launches and critical paths.
        pub calls: bool = true;
        /// Which phases have a traced one.
        pub phases: TracedPhases = TracedPhases::Together;
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
