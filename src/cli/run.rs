//! What commands that run scenarios take: `run`, `demo`, `deploy`, and the processes that they start.

use std::path::PathBuf;

use clap::Args;

use super::{Format, ResultFormat};
use crate::scenario::Shapes;

/// Arguments of `jetlag run`.
#[derive(Debug, Args)]
pub struct RunArgs {
    /// The scenario (RON), see docs/scenarios.md; or a network (.onnx), a plan or a detector spec (.ron), as its only tenant.
    pub scenario: PathBuf,
    /// Sizes of a network's dynamic inputs, INPUT:1x3x640x640, separated by commas.
    #[arg(long, visible_alias = "shape", value_name = "SHAPES")]
    pub shapes: Option<Shapes>,
    #[command(flatten)]
    #[allow(missing_docs, reason = "the options' own docs are shown")]
    pub options: RunOptions,
}

/// What `run` and `demo` have in common.
#[derive(Debug, Args)]
pub struct RunOptions {
    /// Override a field of the scenario; may be repeated.
    #[arg(long = "set", value_name = "PATH=VALUE")]
    pub sets: Vec<String>,
    /// Measured time, as --set duration=5s.
    #[arg(long, value_name = "DURATION")]
    pub duration: Option<String>,
    /// Path of the run file [default: runs/NAME-TIME.mcap].
    #[arg(short, long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// Also write the report as one self-contained HTML page.
    #[arg(long, value_name = "FILE", conflicts_with = "dry_run")]
    pub html: Option<PathBuf>,
    /// Overwrite the files that --out and --html name.
    #[arg(long)]
    pub force: bool,
    /// Output format.
    #[arg(long, value_enum, default_value_t)]
    pub format: ResultFormat,
    /// Check everything that can be checked without running: files, networks against their heads, plans, devices; and print the
    /// scenario with all defaults filled in, as RON that can be run (or as JSON).
    #[arg(long)]
    pub dry_run: bool,
    /// Print the resolved scenario as JSON, and check no more than its file.
    #[arg(long, hide = true, conflicts_with = "dry_run")]
    pub resolve_only: bool,
    /// Build the plans that a tenant on TensorRT lacks, and run nothing.
    #[arg(
        long,
        hide = true,
        value_name = "TENANT",
        allow_hyphen_values = true,
        conflicts_with = "dry_run"
    )]
    pub build_only: Option<String>,
    /// Run so many frames of one tenant by itself, as `jetlag counters` does under a profiler.
    #[arg(long, hide = true, value_name = "TENANT=FRAMES", conflicts_with = "dry_run")]
    pub counted: Option<String>,
    /// Write the results as JUnit XML as well: a case per tenant and expectation; see docs/ci.md.
    #[arg(long, value_name = "FILE")]
    pub junit: Option<PathBuf>,
    /// Run each tenant alone, every pair and all together, and show who slows whom, for the sharing modes in the
    /// scenario's `matrix: (sharing: …)`, else for its `sharing`.
    #[arg(long)]
    pub matrix: bool,
    /// Trace the GPU's kernels, copies and calls in a phase of its own after all others, as the scenario's `trace: (…)` says,
    /// else for 2 s; see docs/kernels.md.
    #[arg(long)]
    pub trace: bool,
    /// Start programs that the scenario names, such as a camera's; read them first.
    #[arg(long, conflicts_with = "dry_run")]
    pub allow_commands: bool,
    /// Show the dashboard during the run: tenants and board.
    #[arg(long, conflicts_with = "quiet")]
    pub live: bool,
    /// No progress bar on stderr.
    #[arg(short, long)]
    pub quiet: bool,
    /// Where nothing could be started, write what failed and how to this file, as JSON, for the process that started this one.
    #[arg(long, hide = true, value_name = "FILE")]
    pub failure: Option<PathBuf>,
}

/// What options of `--sweep` do not go with. Each says so itself: clap asks for nothing that another argument excludes.
const NOT_A_SWEEP_S: [&str; 3] = ["scenario", "resume", "fetch"];

/// Arguments of `jetlag deploy`.
#[derive(Debug, Args)]
pub struct DeployArgs {
    /// The board, as ssh knows it: nvidia@orin, or a name of ~/.ssh/config.
    pub host: String,
    /// The scenario (RON); its detectors, networks and data are copied too.
    #[arg(required_unless_present_any = ["fetch", "sweep", "resume"])]
    pub scenario: Option<PathBuf>,
    /// Run a sweep (RON, docs/sweeps.md) there instead, or go on with it; all that its points need is copied.
    #[arg(long, value_name = "SWEEP", conflicts_with = "scenario")]
    pub sweep: Option<PathBuf>,
    /// Go on with the last sweep that was started there, as it was started: watch it, start it again where it is unfinished, fetch it.
    #[arg(long, conflicts_with_all = ["scenario", "sweep", "sets"])]
    pub resume: bool,
    /// Fetch the last run or sweep that was started there, after it has ended; start nothing.
    #[arg(long, conflicts_with_all = ["scenario", "sweep", "resume", "sets", "detach"])]
    pub fetch: bool,
    /// Start the run and return at once.
    #[arg(long)]
    pub detach: bool,
    /// Override a field of the scenario, or of the sweep's base; may be repeated.
    #[arg(long = "set", value_name = "PATH=VALUE")]
    pub sets: Vec<String>,
    /// Time that a run of the sweep may take, as its `limit`.
    #[arg(long, value_name = "DURATION", requires = "sweep", conflicts_with_all = NOT_A_SWEEP_S)]
    pub limit: Option<String>,
    /// Start the sweep also where it is many runs or takes long.
    #[arg(short, long, requires = "sweep", conflicts_with_all = NOT_A_SWEEP_S)]
    pub yes: bool,
    /// Go on with a sweep that was begun with another version of its file: points of both keep their runs.
    #[arg(long, requires = "sweep", conflicts_with_all = NOT_A_SWEEP_S)]
    pub extend: bool,
    /// The jetlag binary for the board [default: the one that scripts/cross.sh built, or this one if the board matches].
    #[arg(long, value_name = "FILE")]
    pub binary: Option<PathBuf>,
    /// jetlag's folder on the board, relative to the home folder.
    #[arg(long, value_name = "DIR", default_value = "jetlag")]
    pub folder: String,
    /// Local folder for the run file, its log and the plans' manifests [default: runs]. Of a sweep: the folder of its results
    /// [default: runs/NAME of its file], whose name it has on the board too.
    #[arg(short, long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Most that is fetched at a time, in GiB.
    #[arg(long, value_name = "GIB", default_value_t = 16, value_parser = clap::value_parser!(u64).range(1..1 << 20))]
    pub at_most: u64,
    /// Let the board start programs that the scenario names; read them first.
    #[arg(long, conflicts_with_all = ["resume", "fetch"])]
    pub allow_commands: bool,
    /// Option for `ssh -o`; may be repeated.
    #[arg(long = "ssh-option", value_name = "NAME=VALUE")]
    pub ssh_options: Vec<String>,
    /// Skip the check of the board.
    #[arg(long)]
    pub no_doctor: bool,
    /// Output format.
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,
    /// Do not show the run's progress.
    #[arg(short, long)]
    pub quiet: bool,
}

/// Arguments of the hidden `jetlag with-parent`.
#[derive(Debug, Args)]
pub struct WithParentArgs {
    /// The parent process; this one ends with it.
    pub parent: u32,
    /// The program and its arguments.
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true)]
    pub program: Vec<std::ffi::OsString>,
}

/// Arguments of the hidden `jetlag traced-phases`.
#[derive(Debug, Args)]
pub struct TracedPhasesArgs {
    /// The parent process; this one ends with it.
    pub parent: u32,
    /// The file to record to.
    pub file: PathBuf,
}

/// Arguments of the hidden `jetlag tenant-process`.
#[derive(Debug, Args)]
pub struct TenantProcessArgs {
    /// The parent process; this one ends with it.
    pub parent: u32,
    /// The tenant's name.
    pub tenant: String,
}
