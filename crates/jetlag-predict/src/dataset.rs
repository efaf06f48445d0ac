//! Measurements with the networks they were taken of: a folder laid out like perf4sight's.
//!
//! - `layers/NETWORK_VARIANT.csv`: a line for each layer: `ic,oc,k_h,k_w,stride,pad_h,pad_w,groups,ip_h,ip_w,op_h,op_w`; and, if
//!   there, `exec_index` (the order), `name` and `kind` ([`crate::layers::LayerKind`]; otherwise each is a convolution).
//! - `BOARD_STAGE_TARGET/*.csv`: a line for each measurement: `network`, `level` or `variant`, `bs` or `batch`, `passed`, and the
//!   target's column ([`Target::column`]). What did not pass is never fitted, whatever its other cells hold.
//! - `devices.csv`, needed where rows are of several boards: `device,tflops,gb_s`, and if there `cpu_ghz,memory_mib`.
//! - `modes.csv`, needed where measurements have a column `mode`: `device,mode,gpu_mhz,emc_mhz,cpu_mhz,cores`, and `sms` where modes switch
//!   multiprocessors off. Figures in `devices.csv` are those at the highest clocks in it.

mod devices;
mod read;
mod stall;
mod table;

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::error::DataError;
use crate::features::{Device, Stage};
use crate::layers::LayerTable;
pub use stall::RULE as STALL_RULE;

/// What is predicted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Target {
    /// Time of one step or one inference of the batch, ms.
    Latency,
    /// Peak memory, MiB.
    Memory,
    /// Energy of one frame (one element of the batch), mJ.
    Energy,
    /// Mean power while it runs, mW.
    Power,
}

impl Target {
    /// All, in the order of reports.
    pub const ALL: [Self; 4] = [Self::Latency, Self::Memory, Self::Energy, Self::Power];

    /// Its column in tables.
    pub fn column(self) -> &'static str {
        match self {
            Self::Latency => "latency_ms",
            Self::Memory => "mem_used_mib",
            Self::Energy => "energy_mj",
            Self::Power => "power_mw",
        }
    }

    /// Its unit.
    pub fn unit(self) -> &'static str {
        match self {
            Self::Latency => "ms",
            Self::Memory => "MiB",
            Self::Energy => "mJ",
            Self::Power => "mW",
        }
    }
}

impl std::fmt::Display for Target {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Latency => "latency",
            Self::Memory => "memory",
            Self::Energy => "energy",
            Self::Power => "power",
        })
    }
}

/// One measurement that passed.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// Place of the board in [`Dataset::devices`].
    pub device: usize,
    /// Training or inference.
    pub stage: Stage,
    /// What was measured.
    pub target: Target,
    /// The network's name.
    pub network: String,
    /// Which of its variants; perf4sight's level of pruning.
    pub variant: String,
    /// Elements of a batch.
    pub batch: u32,
    /// The value, in the target's unit; positive.
    pub value: f64,
    /// Whether it was taken for a stall: never fitted.
    pub stalled: bool,
}

/// One measurement that failed: where a board's limit lies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failed {
    /// As [`Row::device`].
    pub device: usize,
    /// Training or inference.
    pub stage: Stage,
    /// What was to be measured.
    pub target: Target,
    /// The network's name.
    pub network: String,
    /// Its variant.
    pub variant: String,
    /// Elements of a batch.
    pub batch: u32,
}

/// Rows of a network whose layers are not known.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Undescribed {
    /// The network.
    pub network: String,
    /// Its variants.
    pub variants: Vec<String>,
    /// Rows that passed and are left out for it.
    pub rows: usize,
    /// Why they are not known.
    pub reason: String,
}

/// A row that was taken for a stall.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Stall {
    /// The board.
    pub device: String,
    /// What was measured.
    pub target: Target,
    /// The network.
    pub network: String,
    /// Its variant.
    pub variant: String,
    /// Elements of a batch.
    pub batch: u32,
    /// The value.
    pub value: f64,
    /// What its neighbours allow at most.
    pub expected_at_most: f64,
}

/// Measurements and networks of a folder.
#[derive(Debug, Clone, PartialEq)]
pub struct Dataset {
    /// Boards, with figures where the folder gives them.
    pub devices: Vec<Device>,
    /// Networks by name and variant.
    pub networks: BTreeMap<(String, String), LayerTable>,
    /// What passed and is described, stalls included and marked.
    pub rows: Vec<Row>,
    /// What failed.
    pub failed: Vec<Failed>,
    /// What has no layers.
    pub undescribed: Vec<Undescribed>,
    /// What was taken for a stall, by [`STALL_RULE`].
    pub stalls: Vec<Stall>,
    /// BLAKE3 of all files read, with their names, in order; hexadecimal.
    pub hash: String,
}

impl Dataset {
    /// Marks rows that are taken for stalls by [`STALL_RULE`], and tells them in [`Dataset::stalls`]. For rows that were read
    /// elsewhere; [`open`] has done it.
    pub fn mark_stalls(&mut self) {
        self.stalls = stall::mark(&mut self.rows, &self.devices);
    }
}

/// Reads a folder.
///
/// # Errors
/// A file that cannot be read or is no table; a column that is missing; a cell of a row that passed which is empty, no number,
/// negative or zero; a layer that cannot be; several boards without figures, a mode without clocks. Each says the file, line and column.
pub fn open(folder: &Path) -> Result<Dataset, DataError> {
    read::open(folder)
}
