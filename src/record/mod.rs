//! The run file: what is recorded, and (in `writer`, `reader`) how it lies in an MCAP file.
//!
//! The types here are the only thing that the live half and the offline half share. Numbers are as the
//! design says: whole nanoseconds, and −1 in the file (`None` here) for "not measured".

mod cdr;
mod container;
mod device;
mod ledger;
mod message;
pub mod reader;
mod schema;
mod strings;
pub mod wire;
pub mod writer;

pub use cdr::CdrError;
pub use device::Device;
pub use reader::{Completeness, ReadError, RunReader};
pub use schema::{SCHEMA_MAJOR, SCHEMA_MINOR};
pub use writer::{RecordError, RunWriter};

use serde::{Deserialize, Serialize};

use crate::units::{Nanos, Stamp};

/// The stages of a frame, in the order in which they happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[allow(missing_docs, reason = "defined in the vocabulary, docs/measurement.md")]
pub enum Stage {
    Acquire,
    Decode,
    Preprocess,
    H2d,
    Queue,
    Compute,
    D2h,
    Postprocess,
}

impl Stage {
    /// All stages, in order; a stage's position here is its index in [`FrameRecord::stages`].
    pub const ALL: [Stage; 8] = [
        Stage::Acquire,
        Stage::Decode,
        Stage::Preprocess,
        Stage::H2d,
        Stage::Queue,
        Stage::Compute,
        Stage::D2h,
        Stage::Postprocess,
    ];
    /// The word used in the run file, in JSON and on screen.
    pub const fn name(self) -> &'static str {
        match self {
            Stage::Acquire => "acquire",
            Stage::Decode => "decode",
            Stage::Preprocess => "preprocess",
            Stage::H2d => "h2d",
            Stage::Queue => "queue",
            Stage::Compute => "compute",
            Stage::D2h => "d2h",
            Stage::Postprocess => "postprocess",
        }
    }
}

/// In which part of the run a frame was.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Phase {
    /// All tenants together, as the scenario has them: the measurement.
    Together,
    /// This tenant alone, sharing as the scenario says: the baseline for its slowdown.
    Alone,
    /// A null tenant that measures jetlag's own cost.
    Overhead,
    /// Any other: a pair, another way of sharing, a step of a sweep. The [`PhaseSpec`] of this number tells what it is.
    Other(u16),
}

impl Phase {
    /// Its value in the run file; all of [`Phase::Other`] have the same, and their number beside it.
    pub const fn code(self) -> u8 {
        match self {
            Phase::Together => 0,
            Phase::Alone => 1,
            Phase::Overhead => 2,
            Phase::Other(_) => 3,
        }
    }

    /// A tenant's seed in this phase: its own in the measurement, and another in each other phase. With one seed for all, a
    /// simulated tenant would draw the same latencies alone as beside others, and a comparison of the two would know
    /// nothing of chance.
    pub const fn seed(self, tenants: u64) -> u64 {
        let number = match self {
            Phase::Together => return tenants,
            Phase::Alone => 1,
            Phase::Overhead => 2,
            Phase::Other(number) => 3 + number as u64,
        };
        scattered(tenants ^ scattered(number))
    }
}

/// The finaliser of SplitMix64 (G. L. Steele, D. Lea and C. H. Flood, 2014): neighbours come to lie far apart, and no two
/// together.
const fn scattered(x: u64) -> u64 {
    let x = x.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

/// What a phase is; recorded once, when it begins. Together, and each tenant's Alone, have one too; files older than
/// version 1.3 have none.
#[derive(Clone, Debug, PartialEq)]
pub struct PhaseSpec {
    /// When it began.
    pub at: Stamp,
    /// What its frames refer to it by. Of [`Phase::Alone`] there is one for each tenant, told apart by `members`.
    pub phase: Phase,
    /// In words: `camera + lidar`.
    pub label: String,
    /// The way of sharing in it, as a scenario writes it: `Streams`.
    pub sharing: String,
    /// Positions of the tenants that run in it, ascending.
    pub members: Vec<u16>,
    /// For a step of a sweep, whose rate is not its own.
    pub rate: Option<SweptRate>,
}

/// The rate of one tenant in a step of a sweep.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SweptRate {
    /// Position of the tenant in the scenario.
    pub tenant: u16,
    /// Frames per second; `None` is the closed loop.
    pub hz: Option<f64>,
}

/// How a frame ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[repr(u8)]
pub enum Outcome {
    /// With a result.
    Completed = 0,
    /// Given up under overload; a drop is a miss.
    Dropped = 1,
    /// With an error; see the log.
    Failed = 2,
    /// Released, and cut off by the end of the run. Of these, only what was past its deadline is counted (as missed).
    Unfinished = 3,
}

/// All that is kept of one frame. Plain values, so that recording it is a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameRecord {
    /// Position of the tenant in the scenario.
    pub tenant: u16,
    /// Part of the run.
    pub phase: Phase,
    /// Whether it was released before the measured window.
    pub warmup: bool,
    /// How it ended.
    pub outcome: Outcome,
    /// Counts the tenant's releases in this phase, from 0, drops included.
    pub sequence: u64,
    /// Index of its content in the source; [`NO_CONTENT`] for a frame that was never fetched.
    pub source_index: u64,
    /// When it was due.
    pub released: Stamp,
    /// When its work began; equals `finished` for a drop.
    pub started: Stamp,
    /// When its result was ready, or when it was dropped or failed, or when the end cut it off.
    pub finished: Stamp,
    /// How far after `released` the tenant, which was waiting for it, woke; zero if it was busy.
    pub lateness: Nanos,
    /// Time in each stage, by position in [`Stage::ALL`].
    pub stages: [Option<Nanos>; 8],
    /// The promise that held for it.
    pub deadline: Option<Nanos>,
    /// Objects reported.
    pub detections: u32,
    /// Points or pixels that entered preprocessing.
    pub input_size: u32,
    /// How its work was put on a device; `None` where it used none, and in files before version 1.5.
    pub submission: Option<Submission>,
}

/// How the host put a frame's work on a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Submission {
    /// Host time from the first call that enqueues the frame's work (copies in, networks, copies out) to the return of the
    /// last. Of a frame with host steps between its networks, the sum over the stretches between them.
    pub took: Nanos,
    /// The part of the stage *compute* in which the host was still submitting; `None` without that stage.
    pub in_compute: Option<Nanos>,
}

impl Submission {
    /// That of two stretches of one frame.
    #[must_use]
    pub fn and(self, other: Submission) -> Submission {
        Submission {
            took: self.took + other.took,
            in_compute: match (self.in_compute, other.in_compute) {
                (Some(a), Some(b)) => Some(a + b),
                (a, b) => a.or(b),
            },
        }
    }
}

impl FrameRecord {
    /// finished − released.
    pub fn response(&self) -> Nanos {
        self.finished - self.released
    }
    /// finished − started.
    pub fn service(&self) -> Nanos {
        self.finished - self.started
    }
    /// started − released.
    pub fn queueing(&self) -> Nanos {
        self.started - self.released
    }
    /// Whether the promise was broken: late, cut off when it was late already, failed under a deadline, or dropped at all.
    pub fn missed(&self) -> bool {
        match self.outcome {
            Outcome::Completed | Outcome::Unfinished => self.deadline.is_some_and(|d| self.response() > d),
            Outcome::Dropped => true,
            Outcome::Failed => self.deadline.is_some(),
        }
    }
}

/// One telemetry reading.
#[derive(Clone, Debug, PartialEq)]
pub struct SampleRecord {
    /// When it was taken.
    pub at: Stamp,
    /// Sampler: `host`.
    pub source: String,
    /// What was sampled: `cpu_load`, `memory_used`.
    pub signal: String,
    /// In the unit that the signal's schema states; `None` if it could not be read.
    pub value: Option<f64>,
    /// `percent`, `bytes`, `mhz`, ….
    pub unit: String,
}

/// How a reading relates to time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub enum Averaging {
    /// The sensor does not say.
    #[default]
    Unknown = 0,
    /// The value at one moment.
    Instant = 1,
    /// A mean over a window before it.
    Mean = 2,
    /// A sum that only grows.
    Counter = 3,
    /// A filter of the first order, whose time constant is the window.
    Filter = 4,
}

/// What a power line is to the whole; decides what may be added to what.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub enum RailRole {
    /// No power line.
    #[default]
    None = 0,
    /// All that the module, the card or the processor takes.
    Total = 1,
    /// One of those that together are all.
    Summand = 2,
    /// Within the total.
    Part = 3,
    /// Within another line, so that adding it counts twice.
    Within = 4,
    /// Before the module: carrier and fan are in it.
    Input = 5,
    /// A power line whose place is not known.
    Unknown = 6,
}

/// What the readings of one signal mean; recorded once, beside the first of them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SignalRecord {
    /// As in [`SampleRecord`].
    pub source: String,
    /// As in [`SampleRecord`].
    pub signal: String,
    /// As in [`SampleRecord`].
    pub unit: String,
    /// The file, the field or the program that it is read from.
    pub origin: String,
    /// Between two readings, as planned.
    pub period: Option<Nanos>,
    /// How often the sensor renews its value, as it says.
    pub refresh: Option<Nanos>,
    /// Whether it is of one moment, or a mean, or a sum.
    pub averaging: Averaging,
    /// What a mean is over; a filter's time constant.
    pub window: Option<Nanos>,
    /// Smallest difference that the sensor tells, in the signal's unit.
    pub step: Option<f64>,
    /// For a power line, its place in the whole.
    pub role: RailRole,
    /// The line that it hangs off, for [`RailRole::Within`].
    pub within: Option<String>,
}

/// A stretch of time with a name, beside the tenants' phases.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WindowRecord {
    /// [`IDLE_WINDOW`] or [`RECORDING_WINDOW`].
    pub name: String,
    /// Its beginning.
    pub from: Stamp,
    /// Its end.
    pub to: Stamp,
}

/// The window in which only the samplers ran: the baseline of power.
pub const IDLE_WINDOW: &str = "idle";
/// The window of a recording without tenants.
pub const RECORDING_WINDOW: &str = "recording";

/// Something the run noticed that limits what its numbers mean.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// Stable, for programs: `late-releases`.
    pub code: String,
    /// The tenant it concerns, if one.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub tenant: Option<String>,
    /// What was noticed, with its figure.
    pub message: String,
    /// What to do about it.
    pub advice: String,
}

/// Code of the finding, recorded by the run, that a tenant could not be opened and the others ran without it.
pub const NOT_STARTED: &str = "not-started";

/// The source index of a frame that was dropped or failed before its content was fetched.
pub const NO_CONTENT: u64 = u64::MAX;

/// The tenant number of the null tenant that measures jetlag's own cost.
pub const OVERHEAD_TENANT: u16 = u16::MAX;

/// Why a tenant stopped in a phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[repr(u8)]
pub enum EndReason {
    /// The planned time was over.
    Duration = 0,
    /// It had served the frames that it was asked for.
    Count = 1,
    /// Its source ended.
    EndOfSource = 2,
    /// Ctrl-C or SIGTERM.
    Interrupted = 3,
    /// It could not go on; see the log.
    Failed = 4,
}

/// How one tenant's part of one phase went; written when it ends, so that rates have their time base.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PhaseRecord {
    /// Position of the tenant in the scenario, or [`OVERHEAD_TENANT`].
    pub tenant: u16,
    /// Which phase.
    pub phase: Phase,
    /// The common start of all tenants in it.
    pub epoch: Stamp,
    /// Start of the measured window: the epoch plus warm-up.
    pub measured_from: Stamp,
    /// When releases stopped: end of the measured window.
    pub measured_to: Stamp,
    /// Why.
    pub reason: EndReason,
    /// Frame records that found the queue to the recorder full.
    pub lost_records: u64,
}

/// A line of the run's log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogRecord {
    /// When.
    pub at: Stamp,
    /// `error`, `warn`, `info`.
    pub level: String,
    /// The text.
    pub message: String,
}

/// The objects found in one frame.
#[derive(Clone, Debug, PartialEq)]
pub struct DetectionsRecord {
    /// Position of the tenant in the scenario.
    pub tenant: u16,
    /// [`FrameRecord::sequence`] of the frame.
    pub sequence: u64,
    /// [`FrameRecord::source_index`] of the frame.
    pub source_index: u64,
    /// When the result was ready.
    pub at: Stamp,
    /// What was found, best score first.
    pub detections: Vec<crate::detector::Detection>,
}

/// What one node of a tenant's networks took in one phase, over its measured frames; only where a backend was
/// asked for time per node. A tenant's nodes are recorded in the order of their execution, when the phase ends.
#[derive(Clone, Debug, PartialEq)]
pub struct NodeRecord {
    /// Position of the tenant in the scenario.
    pub tenant: u16,
    /// Which phase.
    pub phase: Phase,
    /// The node's name in the network; may be empty.
    pub name: String,
    /// Its operator: `Conv`, or `Conv+Relu` where the runtime fused the two.
    pub operator: String,
    /// Completed frames, without those of the warm-up, in which it was timed.
    pub count: u64,
    /// Its mean time over them.
    pub mean: Nanos,
    /// Its longest time in one of them.
    pub max: Nanos,
    /// How it went with the response time over them; `None` below two frames, and in files before version 1.4.
    pub with_response: Option<Covariance>,
}

/// How two durations went together over the same frames: sums of squares about the means, divided by their number less
/// one, in square nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Covariance {
    /// Of the node's time.
    pub variance: f64,
    /// Of the frame's response time.
    pub response_variance: f64,
    /// Of the two.
    pub covariance: f64,
}

/// The backend of a tenant that is an application's own code, marked with [`crate::range`].
pub const APPLICATION_BACKEND: &str = "application";

/// One range of an application's own code. Ranges nest; those within end, and so are recorded, before those around them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RangeRecord {
    /// Position of the tenant in the scenario.
    pub tenant: u16,
    /// Which of its threads, from 0; ranges of one track nest.
    pub track: u16,
    /// Its beginning.
    pub from: Stamp,
    /// Its end.
    pub to: Stamp,
    /// Names from the outermost range to this one, with `/` between.
    pub path: String,
    /// Index of the batch that it is or lies in.
    pub batch: Option<u64>,
    /// Items of the batch that it is; `None` where it is no batch.
    pub items: Option<u64>,
}

impl RangeRecord {
    /// to − from.
    pub fn duration(&self) -> Nanos {
        self.to - self.from
    }
}

/// Anything that a run file holds besides its manifest.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs, reason = "see the types")]
pub enum Event {
    Frame(FrameRecord),
    Detections(DetectionsRecord),
    Sample(SampleRecord),
    Phase(PhaseRecord),
    PhaseSpec(PhaseSpec),
    Node(NodeRecord),
    Finding(Finding),
    Log(LogRecord),
    Signal(SignalRecord),
    Window(WindowRecord),
    Range(RangeRecord),
}

/// What is needed to understand and to repeat a run; written before anything starts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    /// A reader refuses a larger one.
    pub schema_major: u32,
    /// Larger where fields were added.
    pub schema_minor: u32,
    /// Version of jetlag that wrote it.
    pub jetlag_version: String,
    /// The command as it was given.
    pub command_line: Vec<String>,
    /// What was to be done, every default filled in.
    pub scenario: crate::scenario::Scenario,
    /// One for each tenant, in order.
    pub tenants: Vec<TenantManifest>,
    /// Facts of the machine by name: `cpu`, `cores`, `memory`, `kernel`, `os`, `gpu`, ….
    pub machine: std::collections::BTreeMap<String, String>,
    /// A moment of the run's clock …
    pub anchor: Stamp,
    /// … and the same moment in nanoseconds since 1970 (0 under the virtual clock).
    pub anchor_unix_ns: i64,
}

/// The fact of [`Manifest::machine`] that tells how tenants in processes of their own shared the GPU: `time-sliced`, or
/// `under MPS` with the daemon's folder.
pub const PROCESSES_FACT: &str = "processes";

/// The machine's fact that says how many hardware queues the GPU's driver was asked for.
pub const QUEUES_FACT: &str = "gpu_hardware_queues";

/// What a tenant ran.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TenantManifest {
    /// Its name.
    pub name: String,
    /// The backend that executed it.
    pub backend: String,
    /// What that executed on, as it said itself; files of earlier versions do not have it. [`Manifest::devices`] knows it of
    /// all.
    #[serde(
        default,
        deserialize_with = "device::read",
        skip_serializing_if = "Option::is_none"
    )]
    pub device: Option<Device>,
    /// The detector's name, if it had one.
    pub detector: Option<String>,
    /// The detector's class names by index.
    pub classes: Vec<String>,
    /// Its networks.
    pub networks: Vec<NetworkManifest>,
    /// Its source in words.
    pub source: String,
    /// Whether its backend may wait for the device while it submits, so that the duration of submission has waits in it;
    /// `None` where nothing is submitted, and in files before version 1.5.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub submission_may_wait: Option<bool>,
}

/// One network file, so that another run can be told to be of the same.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NetworkManifest {
    /// File or embedded name.
    pub name: String,
    /// BLAKE3 of its bytes, in hexadecimal.
    pub blake3: String,
    /// Its length.
    pub bytes: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stretches_of_submission_add_up_where_they_were_measured() {
        let stretch = |took, in_compute: Option<i64>| Submission {
            took: Nanos(took),
            in_compute: in_compute.map(Nanos),
        };
        for (one, other, both) in [
            (stretch(30, Some(20)), stretch(5, Some(4)), stretch(35, Some(24))),
            (stretch(30, None), stretch(5, Some(4)), stretch(35, Some(4))),
            (stretch(30, Some(20)), stretch(5, None), stretch(35, Some(20))),
            (stretch(30, None), stretch(5, None), stretch(35, None)),
        ] {
            assert_eq!(one.and(other), both);
        }
    }
}
