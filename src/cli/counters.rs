//! What `counters` takes.

use std::path::PathBuf;

use clap::Args;

use super::Format;
use crate::scenario::Shapes;

/// Arguments of `jetlag counters`.
#[derive(Debug, Args)]
pub struct CountersArgs {
    /// A scenario (.ron), a network (.onnx) or a detector spec (.ron), one tenant of which runs under Nsight Compute.
    #[arg(required_unless_present_any = ["from", "list"])]
    pub scenario: Option<PathBuf>,
    /// Read ncu's CSV (--page raw or details) instead of running it; several files for several batches.
    #[arg(long, value_name = "CSV", num_args = 1.., conflicts_with_all = ["scenario", "list"])]
    pub from: Vec<PathBuf>,
    /// Show the metrics that are asked for, and what nvprof called its own.
    #[arg(long, conflicts_with = "scenario")]
    pub list: bool,
    /// The file for the counts, which `roofline --counters` reads; ncu's own CSV is kept beside it.
    #[arg(short, long, value_name = "FILE", conflicts_with = "list")]
    pub output: Option<PathBuf>,
    /// Overwrite the files that --output names.
    #[arg(long, requires = "output")]
    pub force: bool,
    /// More metrics, by ncu's names or nvprof's, separated by commas.
    #[arg(long, value_name = "METRICS", value_delimiter = ',', conflicts_with_all = ["from", "list"])]
    pub metrics: Vec<String>,
    /// Sizes of a network's dynamic inputs, INPUT:8x3x640x640; may be repeated: each is counted by itself.
    #[arg(long, visible_alias = "shape", value_name = "SHAPES", conflicts_with_all = ["from", "list"])]
    pub shapes: Vec<Shapes>,
    /// Override a field of the scenario; may be repeated.
    #[arg(long = "set", value_name = "PATH=VALUE", conflicts_with_all = ["from", "list"])]
    pub sets: Vec<String>,
    /// The tenant that is counted [default: the only one on a GPU].
    #[arg(long, value_name = "NAME", conflicts_with_all = ["from", "list"])]
    pub tenant: Option<String>,
    /// Frames that are counted; in --from, how many a file without jetlag's ranges holds.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1000))]
    pub frames: Option<u64>,
    /// Frames before them.
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u64).range(0..=1000))]
    pub skip: u64,
    /// Leave in the caches what the kernel before left there: the program then runs once for each pass of the profiler.
    #[arg(long, conflicts_with = "list")]
    pub keep_caches: bool,
    /// The profiler [default: ncu, where it is].
    #[arg(long, value_name = "FILE", conflicts_with_all = ["from", "list"])]
    pub ncu: Option<PathBuf>,
    /// Output format.
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,
}
