//! What commands on run files take: `report`, `compare` and `export`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::{CeilingsOf, ResultFormat};

/// Arguments of `jetlag report`.
#[derive(Debug, Args)]
pub struct ReportArgs {
    /// Run files (.mcap), complete or truncated [default: the newest in runs/]. With --html, several runs are compared
    /// with the first; `jetlag compare` does so in text.
    #[arg(value_name = "RUN")]
    pub runs: Vec<PathBuf>,
    /// Write one self-contained HTML page instead of printing; with ceilings, its layers are held against them.
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// With --html: show so many frames as pictures with what was found in them: half of them the slowest, half the worst.
    #[arg(long, value_name = "N", requires = "html", value_parser = clap::value_parser!(u8).range(1..=24))]
    pub pictures: Option<u8>,
    /// Overwrite the file that --html names.
    #[arg(long, requires = "html")]
    pub force: bool,
    /// Show only time per layer and per operator, and their work where it is known; two runs side by side.
    #[arg(long, conflicts_with = "html")]
    pub layers: bool,
    #[command(flatten)]
    #[allow(missing_docs, reason = "the options' own docs are shown")]
    pub ceilings: CeilingsOf,
    /// Show only what the GPU did in traced phases (`jetlag run SCENARIO --trace`).
    #[arg(long, conflicts_with_all = ["html", "layers"])]
    pub kernels: bool,
    /// Show only what the frames of traced phases waited for: the critical path from release to result.
    #[arg(long, conflicts_with_all = ["html", "layers", "kernels"])]
    pub critical_path: bool,
    /// Predict from a traced phase what a change would do; may be repeated, and all apply together: `camera: kernel
    /// "conv*" x0.5` (also layer, call, h2d, d2h, preprocess, …), `camera: graph`, `without load`.
    #[arg(long = "what-if", value_name = "CHANGE", conflicts_with_all = ["html", "layers", "kernels"])]
    pub what_if: Vec<String>,
    /// With --what-if: a run of the same program whose frames were not traced (`jetlag trace --no-gpu`), to which the change is
    /// applied. Several RUNs are several traces of one program: their predictions are put together.
    #[arg(long, value_name = "RUN", requires = "what_if")]
    pub untraced: Option<PathBuf>,
    /// Hold the total power against a budget, such as 15W: the share of the time and the moments above it.
    #[arg(long, value_name = "POWER", conflicts_with_all = ["html", "layers", "kernels", "critical_path", "what_if", "compat", "from_trtexec"])]
    pub budget: Option<String>,
    /// Write the results as JUnit XML as well: a suite per run, a case per tenant and expectation; see docs/ci.md.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["html", "layers", "kernels", "critical_path", "what_if", "compat", "from_trtexec"])]
    pub junit: Option<PathBuf>,
    /// Output format; json is an array if there are several runs.
    #[arg(long, value_enum, default_value_t)]
    pub format: ResultFormat,
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
    /// Start programs that the scenarios name, such as a camera's; read them first.
    #[arg(long, requires = "ab")]
    pub allow_commands: bool,
    /// How often to run each scenario [default: 5].
    #[arg(long, value_name = "N")]
    pub rounds: Option<u32>,
    /// Exit 3 if the 95 % interval shows this change, or if it cannot be computed: FIGURE +PERCENT%, of any figure of docs/json.md
    /// that is better one way (TENANT.response.p99, TENANT.energy.per_frame; miss_rate in percentage points). A comparison such as
    /// power.total.mean > 15W applies to each run but the first side's. May be repeated.
    #[arg(long = "fail-if", value_name = "CHANGE")]
    pub fail_if: Vec<String>,
    /// Compare stage by stage, with intervals that hold jointly over all rows.
    #[arg(long, conflicts_with_all = ["layers", "kernels"])]
    pub stages: bool,
    /// Compare layers of traced runs, matched by the nodes of the network that they cover.
    #[arg(long, conflicts_with = "kernels")]
    pub layers: bool,
    /// Compare kernels of traced runs, by name within their layers.
    #[arg(long)]
    pub kernels: bool,
    /// Also write the comparison as one self-contained HTML page, with a report of each run.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["ab", "stages", "layers", "kernels"])]
    pub html: Option<PathBuf>,
    /// Overwrite the file that --html names.
    #[arg(long, requires = "html")]
    pub force: bool,
    /// Override a field of both scenarios; may be repeated.
    #[arg(long = "set", value_name = "PATH=VALUE")]
    pub sets: Vec<String>,
    /// The folder for the run files [default: runs/compare-TIME].
    #[arg(short, long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Output format.
    #[arg(long, value_enum, default_value_t)]
    pub format: ResultFormat,
    /// No progress on stderr.
    #[arg(short, long)]
    pub quiet: bool,
}

/// What `report` takes to speak trtexec's language.
#[derive(Debug, Default, Args)]
pub struct TrtexecArgs {
    /// Print trtexec's performance summary, by its definitions, instead of jetlag's.
    #[arg(long, value_enum, value_name = "VERSION", conflicts_with_all = ["html", "layers", "kernels", "critical_path", "what_if"])]
    pub compat: Option<Compat>,
    /// Only this tenant (with --compat).
    #[arg(long, value_name = "NAME", requires = "compat")]
    pub tenant: Option<String>,
    /// Print trtexec's summary of a file from trtexec --exportTimes, after that of the run, if one is given
    /// [definitions: --compat, else trtexec10].
    #[arg(long, value_name = "TIMES.json", conflicts_with_all = ["html", "layers", "kernels", "critical_path", "what_if"])]
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
    /// Overwrite files of these names.
    #[arg(long)]
    pub force: bool,
    /// The tenant whose detections are written (coco, kitti, nuscenes) [default: the only one that recorded them].
    #[arg(long, value_name = "NAME")]
    pub tenant: Option<String>,
    /// Where the dataset is now, or COCO's annotations (coco, kitti, nuscenes) [default: where the run read it].
    #[arg(long, value_name = "PATH")]
    pub data: Option<PathBuf>,
    /// All frames in the tables of csv and parquet: those of warm-up, other phases and loads, too.
    #[arg(long, conflicts_with = "cvcuda_expand")]
    pub all_frames: bool,
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
    /// A folder of tables: frames.csv, energy.csv, telemetry.csv, layers.csv, ranges.csv, kernels.csv, detections.csv.
    Csv,
    /// The tables of csv with typed columns (feature `parquet`).
    Parquet,
    /// A trace for ui.perfetto.dev.
    Perfetto,
    /// A summary for a pull request.
    Markdown,
    /// CV-CUDA's benchmark.json and benchmark_mean.json, one folder per tenant.
    Cvcuda,
    /// Detections as COCO's results, one file.
    #[value(name = "coco")]
    CocoResults,
    /// Detections as KITTI's results, one file a frame.
    #[value(name = "kitti")]
    KittiResults,
    /// Detections as nuScenes's submission, one file.
    #[value(name = "nuscenes")]
    NuscenesResults,
}

impl ExportFormat {
    /// Whether it has a row for each frame.
    pub fn has_tables(self) -> bool {
        matches!(self, ExportFormat::Csv | ExportFormat::Parquet)
    }
}
