//! What `roofline` and `ceilings` take.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::Format;

/// Arguments of `jetlag roofline`.
#[derive(Debug, Args)]
pub struct RooflineArgs {
    /// Run files (.mcap); several of one network at several batches stand beside each other.
    #[arg(value_name = "RUN", required = true)]
    pub runs: Vec<PathBuf>,
    #[command(flatten)]
    #[allow(missing_docs, reason = "the options' own docs are shown")]
    pub ceilings: CeilingsOf,
    /// What the hardware counted, set beside the work: a file of `jetlag counters`, or a table of Nsight Compute.
    #[arg(long, value_name = "FILE")]
    pub counters: Option<PathBuf>,
    /// Write one self-contained HTML page instead of printing.
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// Overwrite the file that --html names.
    #[arg(long, requires = "html")]
    pub force: bool,
    /// Output format.
    #[arg(long, value_enum, default_value_t, conflicts_with = "html")]
    pub format: Format,
}

/// What runs are held against.
#[derive(Clone, Debug, Default, Args)]
pub struct CeilingsOf {
    /// Ceilings of this module, by name or part number, from jetlag's table [default: the module of the run].
    #[arg(long, value_name = "NAME", conflicts_with = "ceilings")]
    pub board: Option<String>,
    /// The power mode, by name or number [default: the run's, else the module's highest clocks].
    #[arg(long, value_name = "MODE", conflicts_with = "ceilings")]
    pub mode: Option<String>,
    /// Ceilings from a file of `jetlag ceilings`.
    #[arg(long, value_name = "FILE")]
    pub ceilings: Option<PathBuf>,
}

/// Arguments of `jetlag ceilings`.
#[derive(Debug, Args)]
pub struct CeilingsArgs {
    /// What is measured.
    #[arg(long, value_enum, default_value_t)]
    pub backend: CeilingsBackend,
    /// The file for the ceilings, which `roofline --ceilings` reads [default: only print them].
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Overwrite the file that --output names.
    #[arg(long, requires = "output")]
    pub force: bool,
    /// The GPU's number, as CUDA counts them [default: 0].
    #[arg(long, value_name = "N")]
    pub gpu: Option<u16>,
    /// Threads of the processor; beside them one alone is measured [default: all processors].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub threads: Option<u16>,
    /// Time for each figure.
    #[arg(long, value_name = "DURATION", default_value = "1s")]
    pub each: String,
    /// Output format.
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,
}

/// What ceilings are measured of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum CeilingsBackend {
    /// The processor, through the embedded backend.
    #[default]
    Cpu,
    /// A GPU, through cuBLAS and kernels of our own.
    Gpu,
}
