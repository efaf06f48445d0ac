//! What commands on detectors and their networks take: `inspect` and `eval`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::{Format, TableFormat};

/// Arguments of `jetlag inspect`.
#[derive(Debug, Args)]
pub struct InspectArgs {
    /// A run file (.mcap), a network (.onnx), a plan (.plan, .engine, .trt), or a detector spec (.ron).
    pub file: PathBuf,
    /// Path of TensorRT, to load a plan [default: JETLAG_TENSORRT, else the installed one].
    #[arg(long, value_name = "DIR")]
    pub tensorrt: Option<PathBuf>,
    /// A plugin library that the plan needs; may be repeated.
    #[arg(long = "plugin", value_name = "FILE")]
    pub plugins: Vec<PathBuf>,
    /// Allow a version-compatible plan to execute its embedded runtime.
    #[arg(long)]
    pub allow_host_code: bool,
    /// Output format.
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,
    /// Execute a network this many times on the cpu backend, with zero inputs, and show the time per node.
    #[arg(long, value_name = "TIMES")]
    pub profile: Option<u32>,
    /// Size of a dynamic dimension for --profile or --work, by name; may be repeated.
    #[arg(long = "dim", value_name = "NAME=SIZE")]
    pub dims: Vec<String>,
    /// Draw the layers of a plan with types, formats, shapes and tactics, as SVG.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["work", "profile"])]
    pub graph: Option<PathBuf>,
    /// Overwrite the file that --graph names.
    #[arg(long, requires = "graph")]
    pub force: bool,
    /// Count operations, bytes moved, weights and peak memory, node by node and in total; nothing is executed.
    #[arg(long, conflicts_with = "profile")]
    pub work: bool,
    /// Shape of an input for --work, such as images:4x3x640x640; may be repeated.
    #[arg(
        long = "shape",
        visible_alias = "shapes",
        value_name = "TENSOR:SHAPE",
        requires = "work"
    )]
    pub shapes: Vec<String>,
    /// Count bytes as if floats had 16 or 8 bits (--work) [default: as the network has them].
    #[arg(long = "as", value_enum, value_name = "TYPE", requires = "work")]
    pub counted_as: Option<CountedAs>,
    /// Count a training step with this optimiser (--work).
    #[arg(long, value_enum, value_name = "OPTIMISER", num_args = 0..=1, default_missing_value = "momentum", requires = "work")]
    pub training: Option<OptimiserArg>,
    /// Count by the rules of another tool (--work), by which open dimensions are 1 and every element has 4 bytes.
    #[arg(long, value_enum, value_name = "TOOL", requires = "work", conflicts_with_all = ["counted_as", "dims"])]
    pub compat: Option<WorkRules>,
    /// Batch of --compat, which multiplies its counts [default: 1].
    #[arg(long, requires = "compat")]
    pub batch: Option<u64>,
}

/// Sizes of floats that bytes are counted by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum CountedAs {
    /// 16 bits.
    Fp16,
    /// 8 bits.
    Int8,
}

/// What updates the weights of a network in training.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum OptimiserArg {
    /// Plain gradient descent.
    Sgd,
    /// With momentum.
    Momentum,
    /// Adam.
    Adam,
}

/// Other tools whose counts are reproduced, with their defects.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum WorkRules {
    /// Pagoda (arXiv 2509.20189).
    Pagoda,
}

/// Arguments of `jetlag eval`.
#[derive(Debug, Args)]
pub struct EvalArgs {
    /// The detector spec (RON), builtin:camera or builtin:lidar; or a run file (.mcap), whose recorded detections are scored.
    #[arg(value_name = "DETECTOR|RUN")]
    pub detector: String,
    /// The labelled data: a folder in KITTI's layout (image_2 or velodyne, label_2, calib), a nuScenes dataset, or COCO's
    /// annotations (.json) [default, of a run: where it read its frames].
    #[arg(long, value_name = "PATH")]
    pub data: Option<PathBuf>,
    /// Minimum overlap (IoU) of a match: 2-D, or bird's-eye view for LiDAR [default: 0.5] (of a detector).
    #[arg(long, allow_negative_numbers = true)]
    pub iou: Option<f32>,
    /// Minimum score of a detection [default: the detector's own] (of a detector).
    #[arg(long, allow_negative_numbers = true)]
    pub threshold: Option<f32>,
    /// Evaluate at most this many frames (of a detector).
    #[arg(long)]
    pub limit: Option<usize>,
    /// Where the detector runs, as a scenario writes it: 'TensorRt(build: "--precision fp16")' [default: Cpu()].
    #[arg(long, value_name = "BACKEND")]
    pub backend: Option<String>,
    /// Truth at each frame's own time, or at the moment when its answer was ready [default: still] (of a run).
    #[arg(long, value_enum)]
    pub mode: Option<EvalMode>,
    /// Score this tenant alone (of a run).
    #[arg(long, value_name = "NAME")]
    pub tenant: Option<String>,
    /// Another run on the same frames: shows both and the difference, with its interval (of a run).
    #[arg(long, value_name = "RUN")]
    pub against: Option<PathBuf>,
    /// Exit with 3 if this is so or cannot be known, such as 'camera.ap < 0.5'; may be repeated (of a run).
    #[arg(long = "fail-if", value_name = "LIMIT")]
    pub fail_if: Vec<String>,
    /// Output format.
    #[arg(long, value_enum, default_value_t)]
    pub format: TableFormat,
}

/// Arguments of `jetlag view`.
#[derive(Debug, Args)]
pub struct ViewArgs {
    /// The run file (.mcap), with a tenant whose detections were recorded.
    pub run: PathBuf,
    /// The frame, by its number among the tenant's releases.
    #[arg(long, value_name = "N")]
    pub frame: u64,
    /// The tenant [default: the only one that recorded detections].
    #[arg(long, value_name = "NAME")]
    pub tenant: Option<String>,
    /// Where the dataset is now, or COCO's annotations (.json) [default: where the run read its frames].
    #[arg(long, value_name = "PATH")]
    pub data: Option<PathBuf>,
    /// The picture (.png).
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,
    /// Overwrite a file of that name.
    #[arg(long)]
    pub force: bool,
}

/// Which truth an answer is held against.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum EvalMode {
    /// That of the frame's own time.
    #[default]
    Still,
    /// That of the moment when the answer was ready: lateness costs accuracy.
    Stream,
}
