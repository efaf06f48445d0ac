//! What is needed to understand a run and to repeat it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::device::{self, Device};
use crate::engine::EngineLayers;
use crate::memory::TenantMemory;
use crate::scenario::{RecordOutputs, Scenario};
use crate::schema::{SCHEMA_MAJOR, SCHEMA_MINOR};
use crate::units::{Nanos, Stamp};
use crate::work::NetworkWork;

/// Backend of a tenant that is an application's own code, marked with `jetlag::range`.
pub const APPLICATION_BACKEND: &str = "application";

/// Everything needed to understand and to repeat a run; written before anything starts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    /// Major version of the format; a reader refuses a larger one.
    pub schema_major: u32,
    /// Minor version of the format; larger if fields were added.
    pub schema_minor: u32,
    /// Version of jetlag that wrote it.
    pub jetlag_version: String,
    /// The command line.
    pub command_line: Vec<String>,
    /// The scenario that was run, or a name where there was none.
    #[serde(flatten)]
    pub subject: Subject,
    /// One for each tenant, in order.
    pub tenants: Vec<TenantManifest>,
    /// Facts of the machine by name: `cpu`, `cores`, `memory`, `kernel`, `os`, `gpu`, ….
    pub machine: BTreeMap<String, String>,
    /// A moment in the run's clock …
    pub anchor: Stamp,
    /// … and the same moment in nanoseconds since 1970 (0 under the virtual clock).
    pub anchor_unix_ns: i64,
    /// What this version of jetlag cannot read of the scenario of a newer one, whose place something else has taken there.
    #[serde(skip)]
    pub unknown: Vec<UnknownWord>,
}

/// A part of a scenario that this version of jetlag cannot read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct UnknownWord {
    /// The field, as an override names it: `tenants.camera.source`.
    pub field: String,
    /// What stands there, as JSON.
    pub text: String,
}

/// What a run file is of: one of the two entries `scenario` and `name` of the manifest.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Subject {
    /// What was to be done, every default filled in.
    Scenario(Box<Scenario>),
    /// The name of a recording that followed no scenario: an application's own ranges, or the sensors of a machine.
    Name(String),
}

impl From<Scenario> for Subject {
    fn from(scenario: Scenario) -> Self {
        Subject::Scenario(Box::new(scenario))
    }
}

/// Of this version of the format, and of a recording without a name.
impl Default for Manifest {
    fn default() -> Self {
        Manifest {
            schema_major: SCHEMA_MAJOR,
            schema_minor: SCHEMA_MINOR,
            jetlag_version: String::new(),
            command_line: Vec::new(),
            subject: Subject::Name(String::new()),
            tenants: Vec::new(),
            machine: BTreeMap::new(),
            anchor: Stamp::default(),
            anchor_unix_ns: 0,
            unknown: Vec::new(),
        }
    }
}

impl Manifest {
    /// Names the run.
    pub fn name(&self) -> &str {
        match &self.subject {
            Subject::Scenario(scenario) => &scenario.name,
            Subject::Name(name) => name,
        }
    }

    /// The scenario, where there was one.
    pub fn scenario(&self) -> Option<&Scenario> {
        match &self.subject {
            Subject::Scenario(scenario) => Some(scenario),
            Subject::Name(_) => None,
        }
    }

    /// The same, to change it.
    pub fn scenario_mut(&mut self) -> Option<&mut Scenario> {
        match &mut self.subject {
            Subject::Scenario(scenario) => Some(scenario),
            Subject::Name(_) => None,
        }
    }
}

/// The key of [`Manifest::machine`] that says how tenants in their own processes shared the GPU: `time-sliced`, or
/// `under MPS` with the daemon's folder.
pub const PROCESSES_FACT: &str = "processes";

/// The key of [`Manifest::machine`] with the power mode that was in force when the run began: `MODE_15W (id 1)`.
pub const POWER_MODE_FACT: &str = "power_mode";

/// The key of [`Manifest::machine`] with the highest clocks of that mode, where they are known: a
/// [`ModeClocks`](crate::ModeClocks) as text.
pub const POWER_MODE_CLOCKS_FACT: &str = "power_mode_clocks";

/// The key of [`Manifest::machine`] with the number of hardware queues that the GPU's driver was asked for.
pub const QUEUES_FACT: &str = "gpu_hardware_queues";

/// The key of [`Manifest::machine`] with all the memory of the one GPU of a run, where it has memory of its own; as text, like the
/// machine's own `memory`.
pub const GPU_MEMORY_FACT: &str = "gpu_memory";

/// The key of [`Manifest::machine`] that says `nothing` where `jetlag trace` recorded no process at all: such a file has no tenants,
/// as one of `jetlag monitor` has none.
pub const TRACED_FACT: &str = "traced";

/// The setup of one tenant.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TenantManifest {
    /// The tenant's name in the scenario.
    pub name: String,
    /// Name of the backend that executed its networks.
    pub backend: String,
    /// The device, as the backend stated it; `None` in files of earlier versions. [`Manifest::devices`] gives it for
    /// all files.
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
    /// The networks that it runs; empty if its backend runs none.
    pub networks: Vec<NetworkManifest>,
    /// Its source in words.
    pub source: String,
    /// Whether its backend may wait for the device while it submits, so that the submission time includes waits;
    /// `None` if nothing is submitted.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub submission_may_wait: Option<bool>,
    /// What an application said about it; `None` for tenants of a scenario, which says more.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub application: Option<ApplicationTenant>,
    /// How long it took to become ready; `None` in simulated time and for an application.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub start_up: Option<StartUp>,
    /// Items of a frame, of a bare network: the first extent that all its inputs have. `None` where they differ, and
    /// for detectors.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub batch: Option<u64>,
    /// The memory that it took when it was made ready; `None` in simulated time, for an application, and for a tenant that found no
    /// memory.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub memory: Option<TenantMemory>,
    /// Which frames its source had, of sets of sensors the LiDAR's; `None` for frames that are made or come from a camera.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub selection: Option<Selection>,
    /// What is done with its network's outputs when the run is over; `None` where nothing is.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub record_outputs: Option<RecordOutputs>,
}

/// Which frames of a recording were selected, so that a reader knows whether it is still the same.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Selection {
    /// How many.
    pub frames: u64,
    /// BLAKE3, in hexadecimal, of what tells each from others: its row in a dataset's tables, or its file's name and length, or its
    /// time. Where the recording lies does not count.
    pub hash: String,
    /// What its recording lacked when it was opened, a sentence each; empty where nothing is known to be missing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub losses: Vec<String>,
}

/// How long the parts of a tenant's start took, one after another. Its first frames are in the record themselves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StartUp {
    /// Opening the GPUs, once for all tenants of a process.
    pub devices: Nanos,
    /// Reading its detector and opening its source.
    pub detector: Nanos,
    /// Reading the files of its networks.
    pub networks: Nanos,
    /// Making its backend ready: libraries, and plans loaded or built.
    pub load: Nanos,
    /// Contexts and memory for each frame in flight, and what a backend runs once to be warm.
    pub allocate: Nanos,
}

/// What an application says about a part of it that it marks with `jetlag::range`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ApplicationTenant {
    /// The rate at which its batches come; none in a closed loop.
    pub hz: Option<f64>,
    /// Batches that take longer are missed.
    pub deadline: Option<Nanos>,
}

/// One network file, with its hash, to tell whether two runs used the same.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NetworkManifest {
    /// Name of the file, or of the built-in network.
    pub name: String,
    /// BLAKE3 of its bytes, in hexadecimal.
    pub blake3: String,
    /// Length of the file in bytes.
    pub bytes: u64,
    /// What one inference computes and moves; none where that could not be told, and for tenants that execute nothing.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub work: Option<NetworkWork>,
    /// Why it could not be told, a sentence.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub no_work: Option<String>,
    /// What its engine's inspector told of its layers; none where time per layer was not asked for, and of backends without an inspector.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub layers: Option<EngineLayers>,
}
