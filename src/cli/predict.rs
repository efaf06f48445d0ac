//! What `jetlag predict` takes.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use super::TableFormat;
use crate::record::ModeClocks;

/// Subcommands of `jetlag predict`.
#[derive(Debug, Subcommand)]
pub enum PredictCommand {
    /// Fit a model to measurements of networks.
    #[command(after_help = "Example:  jetlag predict fit measured -o board.model")]
    Fit(PredictFit),
    /// Say how well networks that were not fitted are predicted.
    #[command(after_help = "Example:  jetlag predict eval measured --protocol leave-one-network-out")]
    Eval(PredictEval),
    /// Predict latency, memory and energy of a network.
    #[command(
        after_help = "Example:  jetlag predict apply board.model net.onnx --shape images:8x3x224x224 --deadline 33ms
Exit codes: 0 done; 1 failed; 2 wrong use; 3 not in time, or no room"
    )]
    Apply(PredictApply),
    /// Predict how much networks slow each other down that were not run together.
    #[command(subcommand)]
    Pairs(PairsCommand),
}

/// Subcommands of `jetlag predict pairs`.
#[derive(Debug, Subcommand)]
pub enum PairsCommand {
    /// Fit a model to networks that were run beside stressors and beside each other.
    #[command(after_help = "Example:  jetlag predict pairs fit runs/pairs.mcap -o gpu.pairs")]
    Fit(PairsFit),
    /// Say how well pairs and networks that were not fitted are predicted.
    #[command(after_help = "Example:  jetlag predict pairs eval runs/pairs.mcap")]
    Eval(PairsEval),
    /// Predict how much two networks slow each other down.
    #[command(after_help = "Example:  jetlag predict pairs apply gpu.pairs camera lidar")]
    Apply(PairsApply),
}

/// Arguments of `jetlag predict pairs fit`.
#[derive(Debug, Args)]
pub struct PairsFit {
    /// Run files with a matrix of networks and stressors (`jetlag run --matrix`).
    #[arg(required = true, value_name = "RUN")]
    pub runs: Vec<PathBuf>,
    /// The model's file.
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,
    /// Of runs under several ways of sharing, this one.
    #[arg(long, value_name = "SHARING")]
    pub sharing: Option<String>,
    /// Equal seeds and data give equal models on every machine.
    #[arg(long, default_value_t = 0)]
    pub seed: u64,
    /// Overwrite a file of that name.
    #[arg(long)]
    pub force: bool,
}

/// Arguments of `jetlag predict pairs eval`.
#[derive(Debug, Args)]
pub struct PairsEval {
    /// Run files with a matrix of networks and stressors (`jetlag run --matrix`).
    #[arg(required = true, value_name = "RUN")]
    pub runs: Vec<PathBuf>,
    /// Of runs under several ways of sharing, this one.
    #[arg(long, value_name = "SHARING")]
    pub sharing: Option<String>,
    /// Equal seeds and data give equal models on every machine.
    #[arg(long, default_value_t = 0)]
    pub seed: u64,
    /// Output format.
    #[arg(long, value_enum, default_value_t)]
    pub format: TableFormat,
}

/// Arguments of `jetlag predict pairs apply`.
#[derive(Debug, Args)]
pub struct PairsApply {
    /// The model's file, from `jetlag predict pairs fit`.
    pub model: PathBuf,
    /// One network, by its tenant's name in the runs.
    pub first: String,
    /// The other one.
    pub second: String,
    /// A run with a matrix of further networks beside the same stressors; may be repeated.
    #[arg(long = "run", value_name = "RUN")]
    pub runs: Vec<PathBuf>,
    /// Of such runs under several ways of sharing, this one.
    #[arg(long, value_name = "SHARING")]
    pub sharing: Option<String>,
    /// Output format.
    #[arg(long, value_enum, default_value_t)]
    pub format: TableFormat,
}

/// Arguments of `jetlag predict fit`.
#[derive(Debug, Args)]
pub struct PredictFit {
    /// A sweep's folder; or one with tables of layers and of measurements, laid out as docs/predict.md says.
    pub data: PathBuf,
    /// The model's file.
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,
    /// How networks are described.
    #[arg(long, value_enum, default_value_t)]
    pub features: Features,
    /// Of a sweep's folder, only runs with this value of an axis; may be repeated.
    #[arg(long = "where", value_name = "PATH=VALUE")]
    pub only: Vec<String>,
    /// Equal seeds and data give equal models on every machine.
    #[arg(long, default_value_t = 0)]
    pub seed: u64,
    /// Overwrite a file of that name.
    #[arg(long)]
    pub force: bool,
}

/// Arguments of `jetlag predict eval`.
#[derive(Debug, Args)]
pub struct PredictEval {
    /// A sweep's folder; or one with tables of layers and of measurements, laid out as docs/predict.md says.
    pub data: PathBuf,
    /// Which rows are fitted and which are scored [default: same-network].
    #[arg(long, value_enum, conflicts_with = "fit")]
    pub protocol: Option<PredictProtocol>,
    /// With --protocol leave-modes-out: how many power modes are fitted, 2 or more, drawn by --seed [default: 50].
    #[arg(long, value_name = "N")]
    pub modes: Option<usize>,
    /// How networks are described.
    #[arg(long, value_enum, default_value_t)]
    pub features: Features,
    /// Fit on all rows of this folder, and score those of the other: no protocol, and not the same data.
    #[arg(long, value_name = "DIR")]
    pub fit: Option<PathBuf>,
    /// Rows of this stage alone.
    #[arg(long, value_enum)]
    pub stage: Option<PredictStage>,
    /// Of a sweep's folder, only runs with this value of an axis; may be repeated.
    #[arg(long = "where", value_name = "PATH=VALUE")]
    pub only: Vec<String>,
    /// Equal seeds and data give equal models on every machine.
    #[arg(long, default_value_t = 0)]
    pub seed: u64,
    /// Output format.
    #[arg(long, value_enum, default_value_t)]
    pub format: TableFormat,
}

/// Arguments of `jetlag predict apply`.
#[derive(Debug, Args)]
pub struct PredictApply {
    /// The model's file, from `jetlag predict fit`.
    pub model: PathBuf,
    /// The network (.onnx).
    pub network: PathBuf,
    /// Shapes of the network's inputs, such as images:8x3x224x224; the first dimension is the batch.
    #[arg(long = "shape", visible_alias = "shapes", value_name = "TENSOR:SHAPE")]
    pub shapes: Vec<String>,
    /// Size of a named dimension; may be repeated.
    #[arg(long = "dim", value_name = "NAME=SIZE")]
    pub dims: Vec<String>,
    /// Elements of a batch [default: the input's first dimension].
    #[arg(long)]
    pub batch: Option<u32>,
    /// Training or inference [default: what the model was fitted on].
    #[arg(long, value_enum)]
    pub stage: Option<PredictStage>,
    /// The board, one of those that the model was fitted on [default: the only one].
    #[arg(long, value_name = "NAME")]
    pub board: Option<String>,
    /// The power mode, one of those that the model was fitted on, or another one of the same module [default: the only one].
    #[arg(long, value_name = "NAME", conflicts_with = "clocks")]
    pub mode: Option<String>,
    /// The clocks of a power mode, such as gpu=612,emc=2133,cpu=1190.4,cores=4 (MHz; sms=8 where modes switch multiprocessors off).
    #[arg(long, value_name = "CLOCKS")]
    pub clocks: Option<ModeClocks>,
    /// When the result is needed, such as 33ms: exit with 3 unless the whole interval is within it.
    #[arg(long, value_name = "DURATION")]
    pub deadline: Option<String>,
    /// Output format.
    #[arg(long, value_enum, default_value_t)]
    pub format: TableFormat,
}

/// How networks are described to a model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Features {
    /// For networks that were not fitted what left-out networks speak for, of each target; ours for variants of fitted ones.
    #[default]
    Auto,
    /// Work, traffic and shapes by kind of layer, the live peak of a schedule, and the board's figures.
    Jetlag,
    /// The sums over convolutions of perf4sight (arXiv 2108.05580).
    Perf4sight,
    /// A model of each, and their mean.
    Both,
}

/// Which rows are fitted and which are scored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum PredictProtocol {
    /// Some pruning levels of each network are fitted, its others scored.
    #[default]
    SameNetwork,
    /// The same levels of all networks together.
    Pooled,
    /// Each network is scored by a model of all others.
    LeaveOneNetworkOut,
    /// A model of some power modes (--modes) scores the others.
    LeaveModesOut,
}

/// What is done with a network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum PredictStage {
    /// A training step.
    Training,
    /// An inference.
    Inference,
}
