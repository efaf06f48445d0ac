//! Argument types; no behaviour.

use std::path::PathBuf;

use crate::built;
use crate::engine::options::{
    ComputeCapability, HardwareCompatibility, NamedShapes, PoolLimit, Precision, Verbosity,
};
use clap::{Args, Parser, Subcommand, ValueEnum};

/// Measure how late detectors run when they share this machine, why, and how much power they use.
#[derive(Debug, Parser)]
#[command(name = "jetlag", version, long_version = built::version(), max_term_width = 100, arg_required_else_help = true)]
#[command(
    after_help = "Start here:  jetlag demo          run two detectors on this machine for half a minute
             jetlag doctor        show what jetlag found on this machine and what it means"
)]
pub struct Cli {
    /// The subcommand.
    #[command(subcommand)]
    pub command: Command,
    /// Log more to stderr (-v info, -vv debug); RUST_LOG overrides it.
    #[arg(short, long, global = true, action = clap::ArgAction::Count)]
    pub verbose: u8,
}

/// The subcommands of `jetlag`.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run a scenario, write a run file and print its summary.
    #[command(
        after_help = "Examples:  jetlag run configs/demo.ron --set duration=5s --set tenants.camera.arrival.hz=60
           jetlag run configs/matrix.ron --matrix      each tenant alone, every pair, and all together
Exit codes: 0 done; 1 failed, or a tenant completed no frame; 2 wrong use or config;
            3 an expectation failed; 4 records were lost; 130 interrupted, results saved"
    )]
    Run(RunArgs),
    /// Run the built-in demo scenario; needs no file.
    #[command(after_help = "Example:  jetlag demo --set duration=5s")]
    Demo(RunOptions),
    /// Print the summary of a run file, or write it as an HTML page.
    #[command(
        after_help = "Examples:  jetlag report runs/demo-20260101-120000.mcap --html demo.html
           jetlag report before.mcap after.mcap --html both.html    comparison, then each run
           jetlag report fp32.mcap fp16.mcap --layers               time per layer, side by side
           jetlag report runs/demo.mcap --compat trtexec10 --tenant camera
           jetlag report --from-trtexec times.json                  from trtexec --exportTimes"
    )]
    Report(ReportArgs),
    /// Compare two runs, with confidence intervals; or run two scenarios in turns and compare them.
    #[command(after_help = "Examples:  jetlag compare runs/before.mcap runs/after.mcap
           jetlag compare --ab fp32.ron fp16.ron --rounds 5 --fail-if \"camera.response.p99 +5%\"
           jetlag compare 1-A.mcap,2-A.mcap 1-B.mcap,2-B.mcap          several runs per side
Exit codes: 0 done; 1 failed; 2 wrong use, or runs that cannot be compared; 3 a --fail-if applies;
            130 interrupted; the finished runs were compared")]
    Compare(CompareArgs),
    /// Export a run as JSON, CSV, Parquet, Perfetto trace, Markdown or CV-CUDA benchmark.
    #[command(
        after_help = "Examples:  jetlag export runs/demo.mcap --format perfetto -o demo.perfetto-trace
           jetlag export runs/demo.mcap --format csv -o tables          frames, telemetry, layers
           jetlag export runs/demo.mcap --format cvcuda -o benchmark    one folder per tenant
           jetlag export --cvcuda-expand benchmark.json
Exit codes: 0 done; 1 failed; 2 wrong use; 4 done, but records were lost"
    )]
    Export(ExportArgs),
    /// Build TensorRT plans from a network or a detector's networks, using the plan cache.
    #[command(after_help = "Examples:  jetlag build engines/camera.ron --precision fp16
           jetlag build net.onnx --min-shapes images:1x3x640x640 --max-shapes images:8x3x640x640
           jetlag build engines/camera.ron --compute-capability 89 -o camera.plan   (TensorRT-RTX: no GPU needed)")]
    Build(Box<BuildArgs>),
    /// List or clean the plan cache.
    #[command(subcommand)]
    Cache(CacheCommand),
    /// Describe a file: a run, an ONNX network, a TensorRT plan or a detector spec.
    #[command(after_help = "Example:  jetlag inspect engines/camera.onnx --profile 20")]
    Inspect(InspectArgs),
    /// Measure a detector's precision and recall on data in KITTI format.
    #[command(
        after_help = "Example:  jetlag data synth --out scenes --count 200 --seed 9001
          jetlag eval engines/camera.ron --data scenes"
    )]
    Eval(EvalArgs),
    /// Generate data for detectors.
    #[command(subcommand)]
    Data(DataCommand),
    /// Run a scenario on a board over ssh and fetch the run file.
    #[command(
        after_help = "Examples:  scripts/cross.sh && jetlag deploy nvidia@orin configs/demo.ron
           jetlag deploy nvidia@orin --fetch          fetch the last run, also after the connection was lost
           jetlag deploy localhost configs/demo.ron --ssh-option Port=2222
Exit codes: as for run; 1 also if the board was not reached"
    )]
    Deploy(DeployArgs),
    /// Lock the machine's clocks at their maximum, and restore them.
    #[command(subcommand)]
    #[command(
        after_help = "Example:  sudo jetlag clocks max; jetlag run …; sudo jetlag clocks restore
A scenario with `clocks: Max` does this itself."
    )]
    Clocks(ClocksCommand),
    /// Watch power, clocks, load and temperatures: a dashboard on a terminal, else lines.
    #[command(after_help = "Example:  jetlag monitor
          jetlag monitor --record board.mcap --duration 60s
          jetlag monitor --from-tegrastats tegrastats.log --format json")]
    Monitor(MonitorArgs),
    /// Replace this process by another program, which the kernel kills when the parent ends.
    #[command(hide = true)]
    WithParent(WithParentArgs),
    /// Run one tenant of a scenario for its parent process (`sharing: Processes`).
    #[command(hide = true)]
    TenantProcess(TenantProcessArgs),
    /// Answer one question of `doctor --selftest` about a library or a sensor.
    #[command(hide = true)]
    SelftestProbe {
        /// The question.
        what: String,
    },
    /// Check CPU, GPU, CUDA, TensorRT and power sensors, and say what is missing; or test all of it.
    #[command(after_help = "Examples:  jetlag doctor --format json
           sudo jetlag doctor --selftest               test everything that can run here, in ten minutes
           jetlag doctor --selftest --only tensorrt
           jetlag doctor --measure                     compare copies, zero copy and managed memory
Exit codes: 0 nothing is missing; 1 something is missing that limits what can be measured;
            with --selftest: 0 no check failed; 3 a check failed; 130 interrupted, report written so far")]
    Doctor(DoctorArgs),
}

/// Arguments of `jetlag doctor`.
#[derive(Debug, Args)]
pub struct DoctorArgs {
    /// Path of TensorRT [default: JETLAG_TENSORRT, else the installed one].
    #[arg(long, value_name = "DIR")]
    pub tensorrt: Option<PathBuf>,
    /// Output format.
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,
    /// Test everything that this machine can do and write a report to send back: build plans, run them in every way,
    /// compare boxes with the cpu backend and sensors with tegrastats, lock and restore the clocks.
    #[arg(long)]
    pub selftest: bool,
    /// Compare the `transfer` modes on this GPU, with the demo's detectors on TensorRT or a scenario's tenants; takes
    /// two to three minutes.
    #[arg(long, value_name = "SCENARIO.ron", num_args = 0..=1, conflicts_with_all = ["selftest", "tensorrt"])]
    pub measure: Option<Option<PathBuf>>,
    #[command(flatten)]
    #[allow(missing_docs, reason = "the options' own docs are shown")]
    pub test: SelftestArgs,
}

/// What `doctor --selftest` takes.
#[derive(Debug, Args)]
pub struct SelftestArgs {
    /// File for the self-test's report [default: jetlag-selftest-BOARD-TIME.txt].
    #[arg(short, long, value_name = "FILE", requires = "selftest")]
    pub out: Option<PathBuf>,
    /// Overwrite the file that --out names.
    #[arg(long, requires = "out")]
    pub force: bool,
    /// Test this scenario's tenants instead of the demo's; plans that it names are not rebuilt.
    #[arg(long, value_name = "SCENARIO.ron", requires = "selftest")]
    pub scenario: Option<PathBuf>,
    /// Run only these checks; may be repeated.
    #[arg(long, value_enum, value_name = "GROUP", requires = "selftest")]
    pub only: Vec<SelftestGroup>,
    /// Time limit of the self-test [default: 10min].
    #[arg(long, value_name = "DURATION", requires = "selftest")]
    pub within: Option<String>,
    /// When to test locking and restoring the clocks, for three seconds; needs root.
    #[arg(long, value_enum, value_name = "WHEN", default_value_t, requires = "selftest")]
    pub clocks: ClocksWhen,
}

/// Groups of a self-test's checks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum SelftestGroup {
    /// What `doctor` checks; memory.
    Machine,
    /// CUDA, TensorRT and its plugins, ONNX Runtime, NVRTC, NVML, CUPTI: load and query.
    Libraries,
    /// Each telemetry source; over-current counters.
    Sensors,
    /// Sharing modes under the virtual clock.
    Sim,
    /// The embedded backend: its boxes and sharing modes.
    Cpu,
    /// ONNX Runtime on the processor.
    OnnxruntimeCpu,
    /// Build, load and run plans in every way.
    Tensorrt,
    /// Compare sensors with tegrastats.
    Tegrastats,
    /// Error of the mapping from GPU time to host time.
    GpuClock,
    /// Lock and restore the clocks.
    Clocks,
    /// A Jetson's deep-learning accelerators.
    Dla,
    /// ONNX Runtime on the GPU, in every sharing mode.
    OnnxruntimeCuda,
}

/// When a self-test locks the clocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum ClocksWhen {
    /// As root on a Jetson.
    #[default]
    Auto,
    /// As root, on any machine where they can be locked.
    Always,
    /// Do not test it.
    Never,
}

/// Arguments of `jetlag deploy`.
#[derive(Debug, Args)]
pub struct DeployArgs {
    /// The board, as ssh knows it: nvidia@orin, or a name of ~/.ssh/config.
    pub host: String,
    /// The scenario (RON); its detectors, networks and data are copied too.
    #[arg(required_unless_present = "fetch")]
    pub scenario: Option<PathBuf>,
    /// Fetch the last run that was started there, after it has ended; start nothing.
    #[arg(long, conflicts_with_all = ["scenario", "sets", "detach"])]
    pub fetch: bool,
    /// Start the run and return at once.
    #[arg(long)]
    pub detach: bool,
    /// Override a field of the scenario; may be repeated.
    #[arg(long = "set", value_name = "PATH=VALUE")]
    pub sets: Vec<String>,
    /// The jetlag binary for the board [default: the one that scripts/cross.sh built, or this one if the board matches].
    #[arg(long, value_name = "FILE")]
    pub binary: Option<PathBuf>,
    /// jetlag's folder on the board, relative to the home folder.
    #[arg(long, value_name = "DIR", default_value = "jetlag")]
    pub folder: String,
    /// Local folder for the run file, its log and the plans' manifests.
    #[arg(short, long, value_name = "DIR", default_value = "runs")]
    pub out: PathBuf,
    /// Most that is fetched for a run, in GiB.
    #[arg(long, value_name = "GIB", default_value_t = 16, value_parser = clap::value_parser!(u64).range(1..1 << 20))]
    pub at_most: u64,
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

/// Arguments of `jetlag monitor`.
#[derive(Debug, Args)]
pub struct MonitorArgs {
    /// Time between samples [default: 250ms]; between the lines of a log [default: 1s].
    #[arg(long, value_name = "DURATION")]
    pub interval: Option<String>,
    /// Stop after this time.
    #[arg(long, value_name = "DURATION")]
    pub duration: Option<String>,
    /// Record the samples into a run file.
    #[arg(long, value_name = "FILE")]
    pub record: Option<PathBuf>,
    /// Overwrite the file that --record names.
    #[arg(long, requires = "record")]
    pub force: bool,
    /// Replay a run file.
    #[arg(long, value_name = "FILE", conflicts_with = "from_tegrastats")]
    pub replay: Option<PathBuf>,
    /// Show a tegrastats log.
    #[arg(long, value_name = "FILE")]
    pub from_tegrastats: Option<PathBuf>,
    /// Replay speed on the dashboard.
    #[arg(long, default_value_t = 1.0, value_parser = speed)]
    pub speed: f64,
    /// Output format; json is one object per line.
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,
}

fn speed(text: &str) -> Result<f64, String> {
    let speed: f64 = text.parse().map_err(|_| "not a number".to_owned())?;
    (speed > 0.0 && speed.is_finite())
        .then_some(speed)
        .ok_or_else(|| "must be above zero".to_owned())
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

/// Arguments of the hidden `jetlag tenant-process`.
#[derive(Debug, Args)]
pub struct TenantProcessArgs {
    /// The parent process; this one ends with it.
    pub parent: u32,
    /// The tenant's name.
    pub tenant: String,
}

/// Arguments of `jetlag run`.
#[derive(Debug, Args)]
pub struct RunArgs {
    /// The scenario (RON); see docs/scenarios.md.
    pub scenario: PathBuf,
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
    /// Path of the run file [default: runs/NAME-TIME.mcap].
    #[arg(short, long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// Overwrite the run file that --out names.
    #[arg(long, requires = "out")]
    pub force: bool,
    /// Output format.
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,
    /// Check everything and print the scenario with all defaults filled in; run nothing.
    #[arg(long)]
    pub dry_run: bool,
    /// Run each tenant alone, every pair and all together, and show who slows whom, for the sharing modes in the
    /// scenario's `matrix: (sharing: …)`, else for its `sharing`.
    #[arg(long)]
    pub matrix: bool,
    /// Show the dashboard during the run: tenants and board.
    #[arg(long, conflicts_with = "quiet")]
    pub live: bool,
    /// No progress bar on stderr.
    #[arg(short, long)]
    pub quiet: bool,
}

/// Arguments of `jetlag report`.
#[derive(Debug, Args)]
pub struct ReportArgs {
    /// Run files (.mcap), complete or truncated. With --html, several runs are compared with the first;
    /// `jetlag compare` does so in text.
    #[arg(value_name = "RUN", required_unless_present = "from_trtexec")]
    pub runs: Vec<PathBuf>,
    /// Write one self-contained HTML page instead of printing.
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// Show only time per layer and per operator; two runs side by side.
    #[arg(long, conflicts_with = "html")]
    pub layers: bool,
    /// Output format; json is an array if there are several runs.
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,
    #[command(flatten)]
    #[allow(missing_docs, reason = "the options' own docs are shown")]
    pub trtexec: TrtexecArgs,
}

/// Arguments of `jetlag compare`.
#[derive(Debug, Args)]
pub struct CompareArgs {
    /// Run files (.mcap), each compared with the first; join several with commas to make one side.
    #[arg(value_name = "RUN", required_unless_present = "ab", conflicts_with = "ab")]
    pub runs: Vec<String>,
    /// Run two scenarios in turns and compare them; the seed decides the order.
    #[arg(long, num_args = 2, value_names = ["A.RON", "B.RON"])]
    pub ab: Vec<PathBuf>,
    /// How often to run each scenario [default: 5].
    #[arg(long, value_name = "N")]
    pub rounds: Option<u32>,
    /// Exit 3 if the 95 % interval shows this change, or if it cannot be computed: TENANT.FIGURE +PERCENT%. Figures are
    /// response.p50, response.p99, miss_rate (in percentage points) and energy; may be repeated.
    #[arg(long = "fail-if", value_name = "CHANGE")]
    pub fail_if: Vec<String>,
    /// Override a field of both scenarios; may be repeated.
    #[arg(long = "set", value_name = "PATH=VALUE")]
    pub sets: Vec<String>,
    /// The folder for the run files [default: runs/compare-TIME].
    #[arg(short, long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Output format.
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,
    /// No progress on stderr.
    #[arg(short, long)]
    pub quiet: bool,
}

/// What `report` takes to speak trtexec's language.
#[derive(Debug, Default, Args)]
pub struct TrtexecArgs {
    /// Print trtexec's performance summary, by its definitions, instead of jetlag's.
    #[arg(long, value_enum, value_name = "VERSION", conflicts_with_all = ["html", "layers"])]
    pub compat: Option<Compat>,
    /// Only this tenant (with --compat).
    #[arg(long, value_name = "NAME", requires = "compat", requires = "runs")]
    pub tenant: Option<String>,
    /// Print trtexec's summary of a file from trtexec --exportTimes, after that of the run, if one is given
    /// [definitions: --compat, else trtexec10].
    #[arg(long, value_name = "TIMES.json", conflicts_with_all = ["html", "layers"])]
    pub from_trtexec: Option<PathBuf>,
}

/// Versions of trtexec whose summaries differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Compat {
    /// 8.6 to 10: latency includes copies.
    Trtexec10,
    /// 11: latency does not include copies.
    Trtexec11,
}

/// Arguments of `jetlag export`.
#[derive(Debug, Args)]
pub struct ExportArgs {
    /// The run file (.mcap), complete or truncated.
    #[arg(required_unless_present = "cvcuda_expand", conflicts_with = "cvcuda_expand")]
    pub run: Option<PathBuf>,
    /// Output format; see docs/export.md.
    #[arg(
        long,
        value_enum,
        required_unless_present = "cvcuda_expand",
        conflicts_with = "cvcuda_expand"
    )]
    pub format: Option<ExportFormat>,
    /// Output file, or a folder for csv and cvcuda [default: stdout for json, markdown and --cvcuda-expand].
    #[arg(short, long, value_name = "PATH")]
    pub output: Option<PathBuf>,
    /// Recompute a CV-CUDA benchmark file (a placeholder with times, or a benchmark.json of any version and number of
    /// processes) in the newer layout.
    #[arg(long, value_name = "IN.json")]
    pub cvcuda_expand: Option<PathBuf>,
    /// Batches to leave out at the start and at the end (cvcuda) [default: what the file says, else 1].
    #[arg(long, value_name = "N")]
    pub warmup_batches: Option<u64>,
    /// Maximum size of a Perfetto trace file; the rest goes to run-2.perfetto-trace and so on.
    #[arg(long, value_name = "MIB", default_value_t = 256, value_parser = clap::value_parser!(u64).range(1..=1 << 20))]
    pub shard_mib: u64,
}

/// Formats of other programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ExportFormat {
    /// The summary as JSON, as from `report --format json`.
    Json,
    /// A folder of tables: frames.csv, telemetry.csv, layers.csv, ranges.csv.
    Csv,
    /// The tables of csv with typed columns (feature `parquet`).
    Parquet,
    /// A trace for ui.perfetto.dev.
    Perfetto,
    /// A summary for a pull request.
    Markdown,
    /// CV-CUDA's benchmark.json and benchmark_mean.json, one folder per tenant.
    Cvcuda,
}

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

/// What `build` takes. Option names are those of trtexec, with dashes, or shorter.
#[derive(Debug, Args)]
pub struct BuildArgs {
    /// A network (.onnx), a detector spec (.ron), builtin:camera or builtin:lidar.
    pub input: String,
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

/// Subcommands of `jetlag clocks`.
#[derive(Debug, Subcommand)]
pub enum ClocksCommand {
    /// Show each clock: minimum, maximum, current, and whether it is locked.
    #[command(after_help = "Example:  jetlag clocks show --format json")]
    Show {
        /// Output format.
        #[arg(long, value_enum, default_value_t)]
        format: Format,
    },
    /// Lock every clock at its maximum (needs root).
    #[command(after_help = "Example:  sudo jetlag clocks max --mode 0")]
    Max {
        /// Set this power mode first (nvpmodel's id).
        #[arg(long, value_name = "ID")]
        mode: Option<u32>,
    },
    /// Restore the clocks to what they were before `max`, or before a run that was killed (needs root).
    #[command(after_help = "Example:  sudo jetlag clocks restore")]
    Restore,
}

/// Kinds of generated data.
#[derive(Debug, Subcommand)]
pub enum DataCommand {
    /// Generate scenes of cars, people and bicycles for a camera and a LiDAR, with ground truth.
    #[command(after_help = "Example:  jetlag data synth --out scenes --count 200 --seed 9001")]
    Synth {
        /// The folder to write: image_2, velodyne, label_2, calib.
        #[arg(long, value_name = "DIR")]
        out: PathBuf,
        /// Number of scenes.
        #[arg(long, default_value_t = 100)]
        count: u64,
        /// Random seed; equal seeds give equal scenes.
        #[arg(long, default_value_t = 0)]
        seed: u64,
        /// Number of the first scene.
        #[arg(long, default_value_t = 0)]
        start: u64,
    },
}

/// How results are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// Tables for people.
    #[default]
    Text,
    /// JSON for programs.
    Json,
}
