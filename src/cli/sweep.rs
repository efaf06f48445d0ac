//! What `jetlag sweep` takes.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

/// Arguments of `jetlag sweep`.
#[derive(Debug, Args)]
pub struct SweepArgs {
    /// A sweep (RON, docs/sweeps.md); with --knee, a scenario; or what a sweep left: its folder or its table (.csv).
    #[arg(value_name = "SWEEP")]
    pub target: PathBuf,
    /// The folder of the runs and the table. One that a sweep was interrupted in is gone on with.
    #[arg(short, long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Override a field of the base scenario; may be repeated.
    #[arg(long = "set", value_name = "PATH=VALUE")]
    pub sets: Vec<String>,
    /// Find the highest value of a field for which --while holds: 'PATH in LOW..HIGH'. Of a finished sweep: PATH, an axis of it.
    #[arg(long, value_name = "RANGE", requires = "promises")]
    pub knee: Option<String>,
    /// What has to hold up to the knee, in the words of `expect`, such as 'camera.response.p99 < 33ms'; may be repeated.
    #[arg(
        long = "while",
        value_name = "EXPECTATION",
        id = "promises",
        requires = "knee"
    )]
    pub promises: Vec<String>,
    /// How closely the knee is looked for, in the field's unit [default: about a hundredth of the range].
    #[arg(long, value_name = "STEP", requires = "knee")]
    pub step: Option<f64>,
    /// How often a value close to the knee is run at most [default: 5].
    #[arg(long, value_name = "N", requires = "knee")]
    pub repeats: Option<u32>,
    /// Which points no other beats, by these figures of a finished sweep, such as response.p99,energy,max:throughput.
    #[arg(long, value_name = "FIGURES", conflicts_with = "knee")]
    pub pareto: Option<String>,
    /// Time that a run may take, as the sweep's `limit`.
    #[arg(long, value_name = "DURATION")]
    pub limit: Option<String>,
    /// Start programs that the scenario names, such as a camera's; read them first.
    #[arg(long)]
    pub allow_commands: bool,
    /// Start also where it is many runs or takes long.
    #[arg(short, long)]
    pub yes: bool,
    /// Go on in a folder that was begun with another version of the sweep: points of both keep their runs.
    #[arg(long)]
    pub extend: bool,
    /// Output format.
    #[arg(long, value_enum, default_value_t)]
    pub format: SweepFormat,
    /// No progress on stderr.
    #[arg(short, long)]
    pub quiet: bool,
}

/// How a table is printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum SweepFormat {
    /// A table for people.
    #[default]
    Text,
    /// The same as Markdown, for a pull request.
    Markdown,
    /// JSON for programs.
    Json,
    /// CSV, as table.csv in the folder.
    Csv,
}
