//! jetlag's run files: what is recorded, how it lies in an MCAP file, and the scenario that a run was of.
//!
//! Everything else of jetlag stands on this crate: whoever measures writes these records, and whoever computes, shows or
//! exports reads them. It opens no device, reads no clock and parses no scenario.
//! Numbers are whole nanoseconds, and −1 in the file (`None` here) for "not measured".
//!
//! ```no_run
//! use jetlag_record::{Event, RunReader};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let mut run = RunReader::open("runs/demo.mcap".as_ref())?;
//! for event in &mut run {
//!     if let Event::Frame(frame) = event? {
//!         println!("{} {}", frame.tenant, frame.response());
//!     }
//! }
//! # Ok(())
//! # }
//! ```

pub mod activity;
mod activity_message;
mod cdr;
pub mod classes;
mod common_fields;
mod container;
pub mod detection;
mod device;
mod engine;
mod event;
mod failure;
pub mod field;
pub mod files;
pub mod footprint;
mod frame;
mod ledger;
mod manifest;
mod measurand;
mod memory;
mod message;
mod mode_clocks;
pub mod nearest;
mod newer;
mod output;
mod phase;
pub mod point_fields;
pub mod reader;
pub mod scenario;
mod schema;
pub mod shell;
pub mod shown;
mod signal;
mod strings;
pub mod units;
mod utc;
pub mod whole;
pub mod wire;
mod work;
mod work_message;
pub mod writer;

/// What every run file begins with, as every MCAP file does.
pub use mcap::MAGIC;

pub use activity::{Activity, ActivityBatch, Definition, Launch, TraceRecord, TracedDevice};
pub use cdr::CdrError;
pub use device::Device;
pub use engine::{EngineLayers, LayerFacts};
pub use event::{
    Covariance, DAMAGED_SOURCE, Event, Finding, LogRecord, NOT_STARTED, NOT_TRACED, NodeRecord, RangeRecord,
};
pub use failure::{Failure, FailureKind, FailureStage};
pub use frame::{BatchPart, DetectionsRecord, FrameRecord, NO_CONTENT, Outcome, Stage, Submission};
pub use manifest::{
    APPLICATION_BACKEND, ApplicationTenant, GPU_MEMORY_FACT, Manifest, NetworkManifest,
    POWER_MODE_CLOCKS_FACT, POWER_MODE_FACT, PROCESSES_FACT, QUEUES_FACT, Selection, StartUp, Subject,
    TRACED_FACT, TenantManifest, UnknownWord,
};
pub use measurand::{Measurand, Part, Quantity};
pub use memory::{Amount, TenantMemory};
pub use mode_clocks::{ModeClocks, ModeClocksError};
pub use output::{Compared, OutputRecord};
pub use phase::{EndReason, OVERHEAD_TENANT, Phase, PhaseRecord, PhaseSpec, Sampled, SweptRate};
pub use reader::{Completeness, ReadError, RunReader};
pub use schema::{SCHEMA_MAJOR, SCHEMA_MINOR};
pub use signal::{
    Averaging, IDLE_WINDOW, RECORDING_WINDOW, RailRole, SampleRecord, SignalRecord, WindowRecord,
};
pub use utc::Utc;
pub use work::{MovedTensor, NetworkWork, Sureness, WorkRecord};
pub use writer::{RecordError, RunWriter};
