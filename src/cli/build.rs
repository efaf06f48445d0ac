//! What commands on plans take: `build` and `cache`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::Format;
use crate::engine::options::{
    ComputeCapability, HardwareCompatibility, NamedShapes, PoolLimit, Precision, Verbosity,
};

/// What `build` takes.
#[derive(Debug, Args)]
pub struct BuildArgs {
    /// A network (.onnx), a detector spec (.ron), builtin:camera or builtin:lidar.
    pub input: String,
    #[command(flatten)]
    #[allow(missing_docs, reason = "the options' own docs are shown")]
    pub plan: PlanArgs,
}

/// How plans are built and where they go; also what a scenario's `build: "…"` takes. Option names are those of trtexec, with
/// dashes, or shorter.
#[derive(Debug, Args)]
pub struct PlanArgs {
    /// Path of the plan; its manifest goes next to it. A folder if the detector has several engines
    /// [default: the plan cache].
    #[arg(short, long, value_name = "PLAN")]
    pub output: Option<PathBuf>,
    /// Path of TensorRT: a folder, a Python environment, or the library itself
    /// [default: JETLAG_TENSORRT, else the installed one].
    #[arg(long, value_name = "DIR")]
    pub tensorrt: Option<PathBuf>,
    /// Number formats that kernels may use.
    #[arg(long, value_enum, default_value_t)]
    pub precision: Precision,
    /// Minimum shapes of dynamic inputs, INPUT:1x3x640x640, separated by commas; repeat for another profile.
    #[arg(long, value_name = "SHAPES")]
    pub min_shapes: Vec<NamedShapes>,
    /// Shapes that kernels are optimised for.
    #[arg(long, value_name = "SHAPES")]
    pub opt_shapes: Vec<NamedShapes>,
    /// Maximum shapes.
    #[arg(long, value_name = "SHAPES")]
    pub max_shapes: Vec<NamedShapes>,
    /// Limit a memory pool, for example workspace:1GiB; may be repeated.
    #[arg(long = "mem-pool-size", value_name = "POOL:SIZE")]
    pub pools: Vec<PoolLimit>,
    /// How long the builder searches: 0 is shortest, 5 longest (8.6 and later).
    #[arg(long = "builder-optimization-level", value_name = "LEVEL")]
    pub optimization_level: Option<i32>,
    /// Auxiliary streams that a context may use (8.6 and later).
    #[arg(long, value_name = "N")]
    pub max_aux_streams: Option<i32>,
    /// Frames in flight for a plan with dynamic shapes; TensorRT before 8.6.1 needs a profile for each [default: 1; in a
    /// scenario, the tenant's `depth`].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=64))]
    pub contexts: Option<u32>,
    /// Use structured sparsity of weights.
    #[arg(long)]
    pub sparsity: bool,
    /// Let later releases of the same major version load the plan (8.6 and later).
    #[arg(long)]
    pub version_compatible: bool,
    /// Let other GPUs load the plan (8.6 and later).
    #[arg(
        long,
        value_enum,
        value_name = "LEVEL",
        alias = "hardware-compatibility-level"
    )]
    pub hardware_compatibility: Option<HardwareCompatibility>,
    /// How much layer information the plan keeps for inspectors and profilers.
    #[arg(long, value_enum, default_value_t)]
    pub profiling_verbosity: Verbosity,
    /// Number of the GPU to build on and for, from 0 [default: 0; in a scenario, the tenant's `gpu`].
    #[arg(long, value_name = "N")]
    pub gpu: Option<u16>,
    /// Build for the deep-learning accelerator (DLA) of this number, from 0.
    #[arg(long, value_name = "CORE", alias = "use-dla-core")]
    pub dla_core: Option<i32>,
    /// Run layers on the GPU that the DLA cannot run.
    #[arg(long, alias = "allow-gpu-fallback")]
    pub gpu_fallback: bool,
    /// Build for GPUs of this compute capability, 89 or 8.9; may be repeated (TensorRT-RTX; needs no GPU).
    #[arg(long = "compute-capability", value_name = "CC")]
    pub compute_capabilities: Vec<ComputeCapability>,
    /// A plugin library; may be repeated.
    #[arg(long = "plugin", value_name = "FILE")]
    pub plugins: Vec<PathBuf>,
    /// Calibrate int8 with frames: synthetic, a folder of images or sweeps, or a source in scenario syntax, such as
    /// 'Points(path: "sweeps", format: NuScenes)' (detectors; TensorRT 8 to 10).
    #[arg(long, value_name = "SOURCE")]
    pub calibrate: Option<String>,
    /// Number of frames for the calibration.
    #[arg(long, value_name = "N", default_value_t = 128, requires = "calibrate")]
    pub calibration_frames: u32,
    /// Keep kernel timings in this file [default: one per GPU and release, in the plan cache]. TensorRT-RTX has none.
    #[arg(long, value_name = "FILE")]
    pub timing_cache: Option<PathBuf>,
    /// Use no timing cache.
    #[arg(long, conflicts_with = "timing_cache")]
    pub no_timing_cache: bool,
    /// The plan cache's folder [default: JETLAG_CACHE, else ~/.cache/jetlag/plans].
    #[arg(long, value_name = "DIR")]
    pub cache: Option<PathBuf>,
    /// Build without the plan cache; without -o the plan goes to the current folder, under the network's name.
    #[arg(long)]
    pub no_cache: bool,
    /// Output format.
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,
    /// No progress bar on stderr.
    #[arg(short, long)]
    pub quiet: bool,
}

/// Commands on the plan cache.
#[derive(Debug, Subcommand)]
pub enum CacheCommand {
    /// List the plans, newest first.
    #[command(after_help = "Example:  jetlag cache list --format json")]
    List {
        /// The folder [default: JETLAG_CACHE, else ~/.cache/jetlag/plans].
        #[arg(long, value_name = "DIR")]
        cache: Option<PathBuf>,
        /// Output format.
        #[arg(long, value_enum, default_value_t)]
        format: Format,
    },
    /// Remove plans: all, those of a network, or those that cannot be read.
    #[command(after_help = "Example:  jetlag cache clean --network camera.onnx")]
    Clean {
        /// The folder [default: JETLAG_CACHE, else ~/.cache/jetlag/plans].
        #[arg(long, value_name = "DIR")]
        cache: Option<PathBuf>,
        /// Remove only plans of networks whose name contains this.
        #[arg(long, value_name = "NAME")]
        network: Option<String>,
        /// Remove only plans whose manifest is missing or unreadable.
        #[arg(long, conflicts_with = "network")]
        unreadable: bool,
    },
}
