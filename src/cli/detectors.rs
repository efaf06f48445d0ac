//! What commands on detectors and their networks take: `inspect` and `eval`.

use std::path::PathBuf;

use clap::Args;

use super::Format;

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
    /// Size of a dynamic dimension for --profile, by name; may be repeated.
    #[arg(long = "dim", value_name = "NAME=SIZE")]
    pub dims: Vec<String>,
}

/// Arguments of `jetlag eval`.
#[derive(Debug, Args)]
pub struct EvalArgs {
    /// The detector spec (RON), or builtin:camera, builtin:lidar.
    pub detector: String,
    /// A folder in KITTI's layout: image_2 or velodyne, label_2, calib.
    #[arg(long, value_name = "DIR")]
    pub data: PathBuf,
    /// Minimum overlap (IoU) of a match: 2-D, or bird's-eye view for LiDAR.
    #[arg(long, default_value_t = 0.5, allow_negative_numbers = true)]
    pub iou: f32,
    /// Minimum score of a detection [default: the detector's own].
    #[arg(long, allow_negative_numbers = true)]
    pub threshold: Option<f32>,
    /// Evaluate at most this many frames.
    #[arg(long)]
    pub limit: Option<usize>,
    /// Output format.
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,
}
