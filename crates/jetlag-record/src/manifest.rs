//! What is needed to understand a run and to repeat it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::device::{self, Device};
use crate::scenario::Scenario;
use crate::units::Stamp;

/// The backend of a tenant that is an application's own code, marked with `jetlag::range`.
pub const APPLICATION_BACKEND: &str = "application";

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
    pub scenario: Scenario,
    /// One for each tenant, in order.
    pub tenants: Vec<TenantManifest>,
    /// Facts of the machine by name: `cpu`, `cores`, `memory`, `kernel`, `os`, `gpu`, ….
    pub machine: BTreeMap<String, String>,
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
    /// The tenant's name in the scenario.
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
    /// The networks that it runs; none where its backend runs none.
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
    /// Length of the file in bytes.
    pub bytes: u64,
}
