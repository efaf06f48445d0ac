//! How a run failed, as a program can use it: where and in what way. The sentence beside it is for people.

use std::fmt;

use serde::{Deserialize, Serialize};

/// How far a run or a tenant had come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FailureStage {
    /// The scenario was being read.
    Resolve,
    /// Networks, devices and sources were being opened.
    Start,
    /// It ran.
    Run,
    /// Its results were being written.
    Save,
    /// Not known.
    Unknown,
}

/// In what way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FailureKind {
    /// What is written makes no scenario.
    Scenario,
    /// No memory left, of a device or of the machine.
    OutOfMemory,
    /// A network could not be built for its device.
    Build,
    /// A file, a network or a source could not be opened.
    Load,
    /// The device or its library cannot be used.
    Device,
    /// A frame was on the device for longer than the watchdog allows.
    Hang,
    /// The run took longer than a run may.
    TimeLimit,
    /// A process ended that should have run on.
    Died,
    /// The disk is full, or a file grew too large.
    DiskFull,
    /// A tenant completed no frame.
    NoFrames,
    /// Frames failed.
    Frames,
    /// Anything else; the message has it.
    Other,
}

/// How a run failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// How far it had come.
    pub stage: FailureStage,
    /// In what way.
    pub kind: FailureKind,
    /// The tenant that failed, where it was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tenant: Option<String>,
    /// For people.
    pub message: String,
}

impl FailureStage {
    /// As JSON and tables have it.
    pub fn word(self) -> &'static str {
        match self {
            FailureStage::Resolve => "resolve",
            FailureStage::Start => "start",
            FailureStage::Run => "run",
            FailureStage::Save => "save",
            FailureStage::Unknown => "unknown",
        }
    }
}

impl FailureKind {
    /// As JSON and tables have it.
    pub fn word(self) -> &'static str {
        match self {
            FailureKind::Scenario => "scenario",
            FailureKind::OutOfMemory => "out-of-memory",
            FailureKind::Build => "build",
            FailureKind::Load => "load",
            FailureKind::Device => "device",
            FailureKind::Hang => "hang",
            FailureKind::TimeLimit => "time-limit",
            FailureKind::Died => "died",
            FailureKind::DiskFull => "disk-full",
            FailureKind::NoFrames => "no-frames",
            FailureKind::Frames => "frames",
            FailureKind::Other => "other",
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} ({})", self.kind.word(), self.stage.word())
    }
}
