//! What commands on the machine take: `doctor`, `monitor` and `clocks`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use super::Format;

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
    /// Time limit of the whole self-test [default: 10min, times --patience].
    #[arg(long, value_name = "DURATION", requires = "selftest")]
    pub within: Option<String>,
    /// Multiply every time limit by N: for a machine that is slow or busy.
    #[arg(long, value_name = "N", default_value_t = 1, requires = "selftest", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub patience: u32,
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
    /// Colour the total power by a budget, such as 15W: yellow from 90 % of it on, red above it.
    #[arg(long, value_name = "WATTS")]
    pub budget: Option<String>,
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
