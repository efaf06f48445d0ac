//! Argument types; no behaviour.

use std::path::PathBuf;

use crate::built;
use crate::engine::options::{
    ComputeCapability, HardwareCompatibility, NamedShapes, PoolLimit, Precision, Verbosity,
};
use clap::{Args, Parser, Subcommand, ValueEnum};

/// How late the detectors on this machine run when they share it, why, and at how many watts.
#[derive(Debug, Parser)]
#[command(name = "jetlag", version, long_version = built::version(), max_term_width = 100, arg_required_else_help = true)]
#[command(
    after_help = "Start here:  jetlag demo          two detectors share this machine for half a minute
             jetlag doctor        what jetlag found here, and what that means"
)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
    /// Say more on stderr (-v info, -vv debug); RUST_LOG overrides it.
    #[arg(short, long, global = true, action = clap::ArgAction::Count)]
    pub verbose: u8,
}

/// The verbs.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run a scenario, leave a run file, and print its summary.
    #[command(
        after_help = "Examples:  jetlag run configs/demo.ron --set duration=5s --set tenants.camera.arrival.hz=60
           jetlag run configs/matrix.ron --matrix      each tenant alone, every pair, and all together
Exit codes: 0 done; 1 failed, or a tenant completed nothing; 2 wrong use or config;
            3 an expectation did not hold; 4 the record has gaps; 130 interrupted after saving"
    )]
    Run(RunArgs),
    /// Run the demo scenario from within the binary: no file needed.
    #[command(after_help = "Example:  jetlag demo --set duration=5s")]
    Demo(RunOptions),
    /// Print the summary of a run file again, or write it as a page to look at.
    #[command(
        after_help = "Examples:  jetlag report runs/demo-20260101-120000.mcap --html demo.html
           jetlag report before.mcap after.mcap --html both.html    compared, and one after the other
           jetlag report fp32.mcap fp16.mcap --layers               time per layer, side by side
           jetlag report runs/demo.mcap --compat trtexec10 --tenant camera
           jetlag report --from-trtexec times.json                  what trtexec --exportTimes wrote"
    )]
    Report(ReportArgs),
    /// Say which of two runs is faster and by how much, with intervals; or run two scenarios in turns and say it.
    #[command(after_help = "Examples:  jetlag compare runs/before.mcap runs/after.mcap
           jetlag compare --ab fp32.ron fp16.ron --rounds 5 --fail-if \"camera.response.p99 +5%\"
           jetlag compare 1-A.mcap,2-A.mcap 1-B.mcap,2-B.mcap          several runs a side
Exit codes: 0 done; 1 failed; 2 wrong use, or runs that cannot be compared; 3 a --fail-if holds or is unknown;
            130 interrupted, after comparing what there was")]
    Compare(CompareArgs),
    /// Write a run in the format of another program: JSON, CSV, Perfetto, Markdown, CV-CUDA.
    #[command(
        after_help = "Examples:  jetlag export runs/demo.mcap --format perfetto -o demo.perfetto-trace
           jetlag export runs/demo.mcap --format csv -o tables          frames, telemetry, layers
           jetlag export runs/demo.mcap --format cvcuda -o benchmark    a folder a tenant
           jetlag export --cvcuda-expand benchmark.json
Exit codes: 0 done; 1 failed; 2 wrong use; 4 done, and the record has gaps"
    )]
    Export(ExportArgs),
    /// Build TensorRT plans from a network or a detector's networks, through the plan cache.
    #[command(after_help = "Examples:  jetlag build engines/camera.ron --precision fp16
           jetlag build net.onnx --min-shapes images:1x3x640x640 --max-shapes images:8x3x640x640
           jetlag build engines/camera.ron --compute-capability 89 -o camera.plan   (TensorRT-RTX: no GPU needed)")]
    Build(Box<BuildArgs>),
    /// What the plan cache holds, and making room.
    #[command(subcommand)]
    Cache(CacheCommand),
    /// Say what a file holds: a run, an ONNX network, a TensorRT plan, or a detector spec.
    #[command(after_help = "Example:  jetlag inspect engines/camera.onnx --profile 20")]
    Inspect(InspectArgs),
    /// Precision and recall of a detector on KITTI-format data.
    #[command(
        after_help = "Example:  jetlag data synth --out scenes --count 200 --seed 9001
          jetlag eval engines/camera.ron --data scenes"
    )]
    Eval(EvalArgs),
    /// Make data to run detectors on.
    #[command(subcommand)]
    Data(DataCommand),
    /// Run a scenario on a board that ssh reaches, and bring the run file back.
    #[command(
        after_help = "Examples:  scripts/cross.sh && jetlag deploy nvidia@orin configs/demo.ron
           jetlag deploy nvidia@orin --fetch          the last run there, also after the connection was lost
           jetlag deploy localhost configs/demo.ron --ssh-option Port=2222
Exit codes: as for run; 1 also where the board was not reached"
    )]
    Deploy(DeployArgs),
    /// Hold the machine's clocks at their highest, and give them back as they were.
    #[command(subcommand)]
    #[command(
        after_help = "Example:  sudo jetlag clocks max; jetlag run …; sudo jetlag clocks restore
A scenario does it by itself with `clocks: Max`."
    )]
    Clocks(ClocksCommand),
    /// Watch power, clocks, load and temperatures: a dashboard, or lines where stdout is no terminal.
    #[command(after_help = "Example:  jetlag monitor
          jetlag monitor --record board.mcap --duration 60s
          jetlag monitor --from-tegrastats tegrastats.log --format json")]
    Monitor(MonitorArgs),
    /// Become another program that the kernel ends with the process that started it.
    #[command(hide = true)]
    WithParent(WithParentArgs),
    /// Run one tenant of a scenario for the process that started it, under `sharing: Processes`.
    #[command(hide = true)]
    TenantProcess(TenantProcessArgs),
    /// Answer one question of `doctor --selftest` about a library or a sensor.
    #[command(hide = true)]
    SelftestProbe {
        /// Which.
        what: String,
    },
    /// Say what was found of CPU, GPU, CUDA, TensorRT and power sensors, and what that means; or try all of it.
    #[command(after_help = "Examples:  jetlag doctor --format json
           sudo jetlag doctor --selftest               everything that runs here, in ten minutes, as one report
           jetlag doctor --selftest --only tensorrt
           jetlag doctor --measure                     copies, zero copy and managed memory, in turns
Exit codes: 0 nothing is missing; 1 something is that limits what can be measured;
            with --selftest 0 nothing failed; 3 something did; 130 interrupted, after writing what there was")]
    Doctor(DoctorArgs),
}

/// What `doctor` takes.
#[derive(Debug, Args)]
pub struct DoctorArgs {
    /// Where TensorRT is [default: JETLAG_TENSORRT, else what is installed].
    #[arg(long, value_name = "DIR")]
    pub tensorrt: Option<PathBuf>,
    /// For people or for programs.
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,
    /// Try everything that this machine can do and write a report to send back: plans built and run in every way and
    /// compared with the cpu backend, sensors beside tegrastats, clocks held and given back.
    #[arg(long)]
    pub selftest: bool,
    /// Compare the ways of `transfer` on this GPU, with the demo's detectors on TensorRT or a scenario's tenants: two to three
    /// minutes.
    #[arg(long, value_name = "SCENARIO.ron", num_args = 0..=1, conflicts_with_all = ["selftest", "tensorrt"])]
    pub measure: Option<Option<PathBuf>>,
    #[command(flatten)]
    #[allow(missing_docs, reason = "the options' own docs are shown")]
    pub test: SelftestArgs,
}

/// What `doctor --selftest` takes.
#[derive(Debug, Args)]
pub struct SelftestArgs {
    /// The self-test's report [default: jetlag-selftest-BOARD-TIME.txt].
    #[arg(short, long, value_name = "FILE", requires = "selftest")]
    pub out: Option<PathBuf>,
    /// Replace the older report that --out names.
    #[arg(long, requires = "out")]
    pub force: bool,
    /// Try the tenants of this scenario in place of the demo's; plans that it names are run as they are.
    #[arg(long, value_name = "SCENARIO.ron", requires = "selftest")]
    pub scenario: Option<PathBuf>,
    /// Only these checks; may be given again.
    #[arg(long, value_enum, value_name = "GROUP", requires = "selftest")]
    pub only: Vec<SelftestGroup>,
    /// The self-test takes no longer than this [default: 10min].
    #[arg(long, value_name = "DURATION", requires = "selftest")]
    pub within: Option<String>,
    /// Whether clocks are held for three seconds and given back, which takes root.
    #[arg(long, value_enum, value_name = "WHEN", default_value_t, requires = "selftest")]
    pub clocks: ClocksWhen,
}

/// Groups of a self-test's checks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum SelftestGroup {
    /// What `doctor` says, memory.
    Machine,
    /// CUDA, TensorRT and its plugins, ONNX Runtime, NVRTC, NVML, CUPTI: loaded and asked.
    Libraries,
    /// Each source of samples, over-current counters.
    Sensors,
    /// Ways of sharing under the virtual clock.
    Sim,
    /// The embedded backend: its boxes, ways of sharing.
    Cpu,
    /// ONNX Runtime on the processor.
    OnnxruntimeCpu,
    /// Plans built, loaded, and run in every way.
    Tensorrt,
    /// Sensors side by side with tegrastats.
    Tegrastats,
    /// How far the GPU's clock is off on the host's line.
    GpuClock,
    /// Clocks held and given back.
    Clocks,
    /// A Jetson's deep-learning accelerators.
    Dla,
    /// ONNX Runtime on the GPU, in every way.
    OnnxruntimeCuda,
}

/// When a self-test holds the clocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum ClocksWhen {
    /// As root on a Jetson.
    #[default]
    Auto,
    /// As root, wherever they can be held.
    Always,
    /// Not at all.
    Never,
}

/// What `deploy` takes.
#[derive(Debug, Args)]
pub struct DeployArgs {
    /// The board, as ssh knows it: nvidia@orin, or a name of ~/.ssh/config.
    pub host: String,
    /// The scenario (RON); its detectors, networks and data are brought along.
    #[arg(required_unless_present = "fetch")]
    pub scenario: Option<PathBuf>,
    /// Bring back the last run that was started there, once it has ended; start nothing.
    #[arg(long, conflicts_with_all = ["scenario", "sets", "detach"])]
    pub fetch: bool,
    /// Start the run and come back at once.
    #[arg(long)]
    pub detach: bool,
    /// Override a field of the scenario; may be given again.
    #[arg(long = "set", value_name = "PATH=VALUE")]
    pub sets: Vec<String>,
    /// The jetlag for the board [default: what scripts/cross.sh built, or this one if the board is like this machine].
    #[arg(long, value_name = "FILE")]
    pub binary: Option<PathBuf>,
    /// jetlag's folder on the board, from the home folder there.
    #[arg(long, value_name = "DIR", default_value = "jetlag")]
    pub folder: String,
    /// The folder here for the run file, its log and the plans' manifests.
    #[arg(short, long, value_name = "DIR", default_value = "runs")]
    pub out: PathBuf,
    /// The most that is taken of a run from the board, in GiB.
    #[arg(long, value_name = "GIB", default_value_t = 16, value_parser = clap::value_parser!(u64).range(1..1 << 20))]
    pub at_most: u64,
    /// Given to `ssh -o`; may be given again.
    #[arg(long = "ssh-option", value_name = "NAME=VALUE")]
    pub ssh_options: Vec<String>,
    /// Do not examine the board first.
    #[arg(long)]
    pub no_doctor: bool,
    /// For people or for programs.
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,
    /// Do not show the run while it goes on.
    #[arg(short, long)]
    pub quiet: bool,
}

/// What `monitor` takes.
#[derive(Debug, Args)]
pub struct MonitorArgs {
    /// Time between samples [default: 250ms]; between the lines of a log [default: 1s].
    #[arg(long, value_name = "DURATION")]
    pub interval: Option<String>,
    /// End after this long.
    #[arg(long, value_name = "DURATION")]
    pub duration: Option<String>,
    /// Record what is read into a run file.
    #[arg(long, value_name = "FILE")]
    pub record: Option<PathBuf>,
    /// Replace the older recording that --record names.
    #[arg(long, requires = "record")]
    pub force: bool,
    /// Show a run file again.
    #[arg(long, value_name = "FILE", conflicts_with = "from_tegrastats")]
    pub replay: Option<PathBuf>,
    /// Show a log of tegrastats.
    #[arg(long, value_name = "FILE")]
    pub from_tegrastats: Option<PathBuf>,
    /// Replay this many times as fast on the dashboard.
    #[arg(long, default_value_t = 1.0, value_parser = speed)]
    pub speed: f64,
    /// For people or for programs: one object a line.
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,
}

fn speed(text: &str) -> Result<f64, String> {
    let speed: f64 = text.parse().map_err(|_| "not a number".to_owned())?;
    (speed > 0.0 && speed.is_finite())
        .then_some(speed)
        .ok_or_else(|| "must be above zero".to_owned())
}

/// What `with-parent` takes.
#[derive(Debug, Args)]
pub struct WithParentArgs {
    /// The process that it must not outlive.
    pub parent: u32,
    /// The program to become, and its arguments.
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true)]
    pub program: Vec<std::ffi::OsString>,
}

/// What `tenant-process` takes.
#[derive(Debug, Args)]
pub struct TenantProcessArgs {
    /// The process that it must not outlive.
    pub parent: u32,
    /// The tenant's name.
    pub tenant: String,
}

/// What `run` takes.
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
    /// Override a field of the scenario; may be given again.
    #[arg(long = "set", value_name = "PATH=VALUE")]
    pub sets: Vec<String>,
    /// Where the run file goes [default: runs/NAME-TIME.mcap].
    #[arg(short, long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// Replace the older run that --out names.
    #[arg(long, requires = "out")]
    pub force: bool,
    /// For people or for programs.
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,
    /// Resolve and check everything, print the scenario with every default filled in, and run nothing.
    #[arg(long)]
    pub dry_run: bool,
    /// Run each tenant alone, every pair and all together, and show who slows whom: under the scenario's ways of
    /// sharing (`matrix: (sharing: …)`), or else its own.
    #[arg(long)]
    pub matrix: bool,
    /// Show the dashboard while it runs: the tenants above the board.
    #[arg(long, conflicts_with = "quiet")]
    pub live: bool,
    /// No progress bar on stderr.
    #[arg(short, long)]
    pub quiet: bool,
}

/// What `report` takes.
#[derive(Debug, Args)]
pub struct ReportArgs {
    /// The run files (.mcap), whole or cut off; on a page (--html) several are compared with the first.
    /// `jetlag compare` does so in text.
    #[arg(value_name = "RUN", required_unless_present = "from_trtexec")]
    pub runs: Vec<PathBuf>,
    /// Write one self-contained page instead of printing.
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// Time per layer and per operator alone, of two runs side by side.
    #[arg(long, conflicts_with = "html")]
    pub layers: bool,
    /// For people or for programs; programs get an array where there are several runs.
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,
    #[command(flatten)]
    #[allow(missing_docs, reason = "the options' own docs are shown")]
    pub trtexec: TrtexecArgs,
}

/// What `compare` takes.
#[derive(Debug, Args)]
pub struct CompareArgs {
    /// Run files (.mcap), each compared with the first; several with commas between are one side.
    #[arg(value_name = "RUN", required_unless_present = "ab", conflicts_with = "ab")]
    pub runs: Vec<String>,
    /// Run two scenarios in turns, in an order that their seed decides, and compare them.
    #[arg(long, num_args = 2, value_names = ["A.RON", "B.RON"])]
    pub ab: Vec<PathBuf>,
    /// How often each of the two runs [default: 5].
    #[arg(long, value_name = "N")]
    pub rounds: Option<u32>,
    /// Exit with 3 if this change is certain to 95 %, or unknown: TENANT.FIGURE +PERCENT%, figures being
    /// response.p50, response.p99, miss_rate (in points) and energy; may be given again.
    #[arg(long = "fail-if", value_name = "CHANGE")]
    pub fail_if: Vec<String>,
    /// Override a field of both scenarios; may be given again.
    #[arg(long = "set", value_name = "PATH=VALUE")]
    pub sets: Vec<String>,
    /// The folder for the run files [default: runs/compare-TIME].
    #[arg(short, long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// For people or for programs.
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,
    /// Say nothing of progress on stderr.
    #[arg(short, long)]
    pub quiet: bool,
}

/// What `report` takes to speak trtexec's language.
#[derive(Debug, Default, Args)]
pub struct TrtexecArgs {
    /// Print trtexec's own performance summary, by its definitions, instead of ours.
    #[arg(long, value_enum, value_name = "VERSION", conflicts_with_all = ["html", "layers"])]
    pub compat: Option<Compat>,
    /// Only this tenant (with --compat).
    #[arg(long, value_name = "NAME", requires = "compat", requires = "runs")]
    pub tenant: Option<String>,
    /// Print trtexec's summary of a file that trtexec --exportTimes wrote; after that of a run, where one is named
    /// [its definitions: --compat, else trtexec10].
    #[arg(long, value_name = "TIMES.json", conflicts_with_all = ["html", "layers"])]
    pub from_trtexec: Option<PathBuf>,
}

/// Versions of trtexec, by what their summaries differ in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Compat {
    /// 8.6 to 10: copies are part of the latency.
    Trtexec10,
    /// 11: copies are not.
    Trtexec11,
}

/// What `export` takes.
#[derive(Debug, Args)]
pub struct ExportArgs {
    /// The run file (.mcap), whole or cut off.
    #[arg(required_unless_present = "cvcuda_expand", conflicts_with = "cvcuda_expand")]
    pub run: Option<PathBuf>,
    /// What to write; docs/export.md says what each is for.
    #[arg(
        long,
        value_enum,
        required_unless_present = "cvcuda_expand",
        conflicts_with = "cvcuda_expand"
    )]
    pub format: Option<ExportFormat>,
    /// Where: a file, or for csv and cvcuda a folder [default: stdout for json, markdown and --cvcuda-expand].
    #[arg(short, long, value_name = "PATH")]
    pub output: Option<PathBuf>,
    /// Compute a file of CV-CUDA's benchmark (a placeholder with times, a benchmark.json of any version, several
    /// processes) anew, in the newer layout.
    #[arg(long, value_name = "IN.json")]
    pub cvcuda_expand: Option<PathBuf>,
    /// Batches at the start, and as many at the end, that do not count (cvcuda) [default: what the file says, else 1].
    #[arg(long, value_name = "N")]
    pub warmup_batches: Option<u64>,
    /// Size beyond which a Perfetto trace goes on in another file: run-2.perfetto-trace after run.perfetto-trace.
    #[arg(long, value_name = "MIB", default_value_t = 256, value_parser = clap::value_parser!(u64).range(1..=1 << 20))]
    pub shard_mib: u64,
}

/// Formats of other programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ExportFormat {
    /// The summary for programs, as `report --format json`.
    Json,
    /// A folder of tables: frames.csv, telemetry.csv, layers.csv, ranges.csv.
    Csv,
    /// The same tables as csv with typed columns (feature `parquet`).
    Parquet,
    /// A trace for ui.perfetto.dev.
    Perfetto,
    /// A summary for a pull request.
    Markdown,
    /// CV-CUDA's benchmark.json and benchmark_mean.json: a folder with one for each tenant.
    Cvcuda,
}

/// What `inspect` takes.
#[derive(Debug, Args)]
pub struct InspectArgs {
    /// A run file (.mcap), a network (.onnx), a plan (.plan, .engine, .trt), or a detector spec (.ron).
    pub file: PathBuf,
    /// Where TensorRT is, to load a plan with [default: JETLAG_TENSORRT, else what is installed].
    #[arg(long, value_name = "DIR")]
    pub tensorrt: Option<PathBuf>,
    /// A library of plugins that a plan needs; may be given again.
    #[arg(long = "plugin", value_name = "FILE")]
    pub plugins: Vec<PathBuf>,
    /// Let a version-compatible plan run the runtime that it carries.
    #[arg(long)]
    pub allow_host_code: bool,
    /// For people or for programs.
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,
    /// Execute a network this many times on the cpu backend, with zeros, and show the time per node.
    #[arg(long, value_name = "TIMES")]
    pub profile: Option<u32>,
    /// Size of the network's dynamic dimensions when profiling, by name; may be given again.
    #[arg(long = "dim", value_name = "NAME=SIZE")]
    pub dims: Vec<String>,
}

/// What `build` takes. The names are trtexec's, with dashes, or shorter.
#[derive(Debug, Args)]
pub struct BuildArgs {
    /// A network (.onnx), a detector spec (.ron), builtin:camera or builtin:lidar.
    pub input: String,
    /// Where the plan goes, with its manifest beside it; a folder for a detector of several engines
    /// [default: the plan cache].
    #[arg(short, long, value_name = "PLAN")]
    pub output: Option<PathBuf>,
    /// Where TensorRT is: a folder, a Python environment, or the library itself
    /// [default: JETLAG_TENSORRT, else what is installed].
    #[arg(long, value_name = "DIR")]
    pub tensorrt: Option<PathBuf>,
    /// Number formats that kernels may compute in.
    #[arg(long, value_enum, default_value_t)]
    pub precision: Precision,
    /// Smallest shapes of dynamic inputs, INPUT:1x3x640x640 with commas between; again for another profile.
    #[arg(long, value_name = "SHAPES")]
    pub min_shapes: Vec<NamedShapes>,
    /// Shapes that kernels are chosen for.
    #[arg(long, value_name = "SHAPES")]
    pub opt_shapes: Vec<NamedShapes>,
    /// Largest shapes.
    #[arg(long, value_name = "SHAPES")]
    pub max_shapes: Vec<NamedShapes>,
    /// Limit a memory pool, for example workspace:1GiB; may be given again.
    #[arg(long = "mem-pool-size", value_name = "POOL:SIZE")]
    pub pools: Vec<PoolLimit>,
    /// How long the builder searches: 0 builds fast, 5 searches longest (8.6 and later).
    #[arg(long = "builder-optimization-level", value_name = "LEVEL")]
    pub optimization_level: Option<i32>,
    /// Streams beside its own that a context may use (8.6 and later).
    #[arg(long, value_name = "N")]
    pub max_aux_streams: Option<i32>,
    /// Frames in flight that a plan with dynamic shapes is for: TensorRT 8.5 wants a profile for each [default: 1; in a
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
    /// How much of its layers the plan keeps for inspectors and profilers.
    #[arg(long, value_enum, default_value_t)]
    pub profiling_verbosity: Verbosity,
    /// The GPU to build on and for, numbered from 0 [default: 0; in a scenario, the tenant's `gpu`].
    #[arg(long, value_name = "N")]
    pub gpu: Option<u16>,
    /// Build for a deep-learning accelerator, numbered from 0.
    #[arg(long, value_name = "CORE", alias = "use-dla-core")]
    pub dla_core: Option<i32>,
    /// Run on the GPU what the accelerator cannot.
    #[arg(long, alias = "allow-gpu-fallback")]
    pub gpu_fallback: bool,
    /// Build for another GPU, 89 or 8.9; may be given again (TensorRT-RTX, which then needs no GPU).
    #[arg(long = "compute-capability", value_name = "CC")]
    pub compute_capabilities: Vec<ComputeCapability>,
    /// A library of plugins; may be given again.
    #[arg(long = "plugin", value_name = "FILE")]
    pub plugins: Vec<PathBuf>,
    /// Calibrate int8 with frames: synthetic, a folder of images or sweeps, or a source as scenarios write it, such as
    /// 'Points(path: "sweeps", format: NuScenes)' (detectors; TensorRT 8 to 10).
    #[arg(long, value_name = "SOURCE")]
    pub calibrate: Option<String>,
    /// Frames to calibrate with.
    #[arg(long, value_name = "N", default_value_t = 128, requires = "calibrate")]
    pub calibration_frames: u32,
    /// Keep kernel timings in this file [default: one a GPU and release, in the plan cache]. TensorRT-RTX keeps none.
    #[arg(long, value_name = "FILE")]
    pub timing_cache: Option<PathBuf>,
    /// Measure every kernel anew and keep no timings.
    #[arg(long, conflicts_with = "timing_cache")]
    pub no_timing_cache: bool,
    /// The plan cache's folder [default: JETLAG_CACHE, else ~/.cache/jetlag/plans].
    #[arg(long, value_name = "DIR")]
    pub cache: Option<PathBuf>,
    /// Build even if the cache has the plan, and leave the cache alone; without -o the plan goes into this folder, under the
    /// network's name.
    #[arg(long)]
    pub no_cache: bool,
    /// For people or for programs.
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,
    /// No progress bar on stderr.
    #[arg(short, long)]
    pub quiet: bool,
}

/// What can be done with the plan cache.
#[derive(Debug, Subcommand)]
pub enum CacheCommand {
    /// List the plans, newest first.
    #[command(after_help = "Example:  jetlag cache list --format json")]
    List {
        /// The folder [default: JETLAG_CACHE, else ~/.cache/jetlag/plans].
        #[arg(long, value_name = "DIR")]
        cache: Option<PathBuf>,
        /// For people or for programs.
        #[arg(long, value_enum, default_value_t)]
        format: Format,
    },
    /// Remove plans: all, those of a network, or those that cannot be read.
    #[command(after_help = "Example:  jetlag cache clean --network camera.onnx")]
    Clean {
        /// The folder [default: JETLAG_CACHE, else ~/.cache/jetlag/plans].
        #[arg(long, value_name = "DIR")]
        cache: Option<PathBuf>,
        /// Only plans of networks whose name contains this.
        #[arg(long, value_name = "NAME")]
        network: Option<String>,
        /// Only plans whose manifest is missing or unreadable.
        #[arg(long, conflicts_with = "network")]
        unreadable: bool,
    },
}

/// What `eval` takes.
#[derive(Debug, Args)]
pub struct EvalArgs {
    /// The detector spec (RON), or builtin:camera, builtin:lidar.
    pub detector: String,
    /// A folder in KITTI's layout: image_2 or velodyne, label_2, calib.
    #[arg(long, value_name = "DIR")]
    pub data: PathBuf,
    /// Overlap from which a detection counts as the object: 2-D, or bird's-eye view for LiDAR.
    #[arg(long, default_value_t = 0.5, allow_negative_numbers = true)]
    pub iou: f32,
    /// Score from which a detection counts [default: the detector's own].
    #[arg(long, allow_negative_numbers = true)]
    pub threshold: Option<f32>,
    /// Evaluate at most this many frames.
    #[arg(long)]
    pub limit: Option<usize>,
    /// For people or for programs.
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,
}

/// What `clocks` does.
#[derive(Debug, Subcommand)]
pub enum ClocksCommand {
    /// Each clock: lowest, highest, now, and whether it is held.
    #[command(after_help = "Example:  jetlag clocks show --format json")]
    Show {
        /// For people or for programs.
        #[arg(long, value_enum, default_value_t)]
        format: Format,
    },
    /// Hold every clock at its highest (takes root).
    #[command(after_help = "Example:  sudo jetlag clocks max --mode 0")]
    Max {
        /// Set this power mode first (nvpmodel's id).
        #[arg(long, value_name = "ID")]
        mode: Option<u32>,
    },
    /// Put the clocks back as they were before `max`, or before a run that was killed (takes root).
    #[command(after_help = "Example:  sudo jetlag clocks restore")]
    Restore,
}

/// Kinds of data.
#[derive(Debug, Subcommand)]
pub enum DataCommand {
    /// Synthetic scenes of cars, people and bicycles, seen by a camera and a LiDAR, with ground truth.
    #[command(after_help = "Example:  jetlag data synth --out scenes --count 200 --seed 9001")]
    Synth {
        /// The folder to write: image_2, velodyne, label_2, calib.
        #[arg(long, value_name = "DIR")]
        out: PathBuf,
        /// How many scenes.
        #[arg(long, default_value_t = 100)]
        count: u64,
        /// Equal seeds give equal scenes.
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
