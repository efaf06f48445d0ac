//! What can be wrong with tables, questions and model files: a sentence each, that says where and what to do.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::words::{many, size};

/// Why a folder of measurements cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum DataError {
    /// A file or folder cannot be read.
    #[error("{path}: {source}")]
    Read {
        /// Which one.
        path: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
    /// A file is no table with a header line.
    #[error("{path}, line {line}: not a line of a table of comma-separated values: {what}")]
    Table {
        /// The file.
        path: PathBuf,
        /// Counted from 1.
        line: u64,
        /// What the parser says.
        what: String,
    },
    /// A column that must be there is not.
    #[error("{path} has no column {wanted:?}; it has: {found}")]
    Column {
        /// The file.
        path: PathBuf,
        /// The column that was looked for.
        wanted: String,
        /// The columns that exist.
        found: String,
    },
    /// A cell does not hold what its column wants.
    #[error("{path}, line {line}, column {column:?}: {found:?} where {wanted} was expected")]
    Cell {
        /// The file.
        path: PathBuf,
        /// Counted from 1.
        line: u64,
        /// The column.
        column: String,
        /// What stands there.
        found: String,
        /// What may stand there.
        wanted: &'static str,
    },
    /// A layer whose numbers contradict each other.
    #[error("{path}, line {line}: {source}")]
    Layer {
        /// The file.
        path: PathBuf,
        /// Counted from 1.
        line: u64,
        /// What is wrong with it.
        source: LayerError,
    },
    /// The folder has none of what it should.
    #[error(
        "{path} holds {missing}; a folder of measurements has layers/NETWORK_VARIANT.csv and BOARD_STAGE_TARGET/NETWORK.csv (stage: training or inference; target: latency, memory, energy or power)"
    )]
    Layout {
        /// The folder.
        path: PathBuf,
        /// What was not found.
        missing: String,
    },
    /// Rows of several boards, which cannot be told apart.
    #[error(
        "{path} has rows of the boards {boards}, and {missing}: add devices.csv with the columns device,tflops,gb_s (and, as known, cpu_ghz,memory_mib), a line for each board"
    )]
    Devices {
        /// The folder.
        path: PathBuf,
        /// The boards found.
        boards: String,
        /// What is missing.
        missing: String,
    },
    /// A power mode whose clocks are not known.
    #[error(
        "{path} has rows of {board} in the mode {mode:?}, whose clocks are not known: add a line for it to modes.csv, with the columns device,mode,gpu_mhz,emc_mhz,cpu_mhz,cores"
    )]
    Mode {
        /// The folder.
        path: PathBuf,
        /// The board.
        board: String,
        /// The mode.
        mode: String,
    },
    /// A board and mode whose figures, scaled to the mode's clocks, are none.
    #[error(
        "{path}: {board} in the mode {mode:?} comes to {tflops:e} TFLOP/s and {gb_s:e} GB/s; expected figures between 1e-6 and 1e9: correct its line, or that of the mode in modes.csv"
    )]
    Scaled {
        /// The file with the board's figures.
        path: PathBuf,
        /// The board.
        board: String,
        /// The mode.
        mode: String,
        /// Its arithmetic peak in that mode.
        tflops: f64,
        /// Its bandwidth in that mode.
        gb_s: f64,
    },
    /// More than this crate is willing to hold.
    #[error("{path}: more than {limit} {what}; split the folder")]
    TooMuch {
        /// The folder or file.
        path: PathBuf,
        /// How many are read at most.
        limit: usize,
        /// Of what.
        what: &'static str,
    },
}

/// A layer that cannot be.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LayerError {
    /// A size outside of what layers have.
    #[error("layer {layer:?} has {what} {found}; expected {wanted}")]
    Size {
        /// The layer's name.
        layer: String,
        /// Which size.
        what: &'static str,
        /// Its value.
        found: u64,
        /// The range.
        wanted: &'static str,
    },
    /// Groups that do not divide the channels.
    #[error("layer {layer:?} has {groups} groups, which do not divide its {channels} {side} channels")]
    Groups {
        /// The layer's name.
        layer: String,
        /// Groups.
        groups: u32,
        /// Channels.
        channels: u32,
        /// `input` or `output`.
        side: &'static str,
    },
    /// A kernel larger than the padded input.
    #[error("layer {layer:?} has a kernel of {kernel} over an input of {input} with padding {padding}")]
    Kernel {
        /// The layer's name.
        layer: String,
        /// Height of the kernel.
        kernel: u32,
        /// Height of the input.
        input: u32,
        /// Padding above and below.
        padding: u32,
    },
    /// A layer that takes its input from itself or a later one.
    #[error(
        "layer {layer:?} (number {index}) takes its input from layer {from}; layers take it from earlier ones, in the order of execution"
    )]
    Order {
        /// The layer's name.
        layer: String,
        /// Its place.
        index: usize,
        /// The one it names.
        from: usize,
    },
    /// A network without layers.
    #[error("the network has no layers")]
    Empty,
    /// A network without convolutions, for a model that knows only those.
    #[error(
        "the network has no convolution or matrix multiply; nothing that this model was fitted on resembles it"
    )]
    NoConvolution,
    /// More layers than any network has.
    #[error("the network has {found} layers; at most {limit} are read")]
    TooMany {
        /// How many.
        found: usize,
        /// The limit.
        limit: usize,
    },
}

/// Why there is no model, evaluation or answer.
#[derive(Debug, thiserror::Error)]
pub enum PredictError {
    /// No rows remain.
    #[error("no rows to fit {what} on: {why}")]
    NoRows {
        /// For which target.
        what: String,
        /// What became of them.
        why: String,
    },
    /// Too few rows to learn anything.
    #[error(
        "{what}: {} of {}; at least {wanted} rows of 2 variants are needed: measure more",
        many(*found, "row"), many(*variants, "network variant")
    )]
    TooFew {
        /// For which target.
        what: String,
        /// Rows that can be used.
        found: usize,
        /// Variants among them.
        variants: usize,
        /// The least.
        wanted: usize,
    },
    /// All values are equal.
    #[error(
        "{what}: all {rows} values are {value}; a target that never changes teaches nothing: check the measurement"
    )]
    Constant {
        /// For which target.
        what: String,
        /// How many rows.
        rows: usize,
        /// The value.
        value: f64,
    },
    /// Rows that were fitted would be scored.
    #[error(
        "the data to fit on and the data to score are the same (hash {hash}), so every scored row would have been fitted: give other \
         data, or leave --fit out and choose a --protocol"
    )]
    EqualData {
        /// BLAKE3 of both.
        hash: String,
    },
    /// One network cannot be predicted from others.
    #[error(
        "{what}: leaving a network out takes at least two, and the only one with usable rows is {network:?}"
    )]
    OneNetwork {
        /// For which target.
        what: String,
        /// The network.
        network: String,
    },
    /// No power modes to leave out.
    #[error(
        "{what}: to fit on {wanted} power modes and score others takes more than {wanted} modes with clocks; the data have {found}, and {} whose clocks are not known. Measure more modes, or choose a smaller --modes",
        many(*without, "board")
    )]
    Modes {
        /// For which target.
        what: String,
        /// Modes with clocks in the data.
        found: usize,
        /// Boards without.
        without: usize,
        /// Modes to fit on.
        wanted: usize,
    },
    /// The published split finds nothing.
    #[error(
        "{what}, network {network:?}: the split fits on variants 0, 30, 50, 70 and 90 and scores 5 to 85 in between; it leaves {fit} rows to fit and {score} to score. Use --protocol leave-one-network-out, or --fit DIR"
    )]
    Split {
        /// For which target.
        what: String,
        /// The network.
        network: String,
        /// Rows to fit.
        fit: usize,
        /// Rows to score.
        score: usize,
    },
    /// Nothing asked for exists in the data.
    #[error("the data have no rows of {wanted}; they have: {found}")]
    NothingAsked {
        /// What was asked for.
        wanted: String,
        /// What there is.
        found: String,
    },
    /// A power mode in which no target is known.
    #[error("nothing is known of {found}; {target}: {why}")]
    Mode {
        /// The board and mode that were asked for.
        found: String,
        /// The first target.
        target: String,
        /// Why it is not known.
        why: Box<Unknown>,
    },
    /// An option outside of its range.
    #[error("{option} is {found}; expected {wanted}")]
    Option {
        /// Its name.
        option: &'static str,
        /// What was given.
        found: String,
        /// The range.
        wanted: &'static str,
    },
    /// A network that cannot be.
    #[error(transparent)]
    Layer(#[from] LayerError),
}

/// Why rows say nothing of a power mode, or of a network's size.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "kebab-case")]
pub enum Unknown {
    /// They are all of another one.
    #[error(
        "its rows are all of one power mode ({fitted}) and tell nothing of another one: measure it in several modes, and fit again"
    )]
    OneMode {
        /// That mode's clocks.
        fitted: String,
    },
    /// Some are of a mode that is not known.
    #[error(
        "not all of its rows tell in which power mode they were measured: name the mode of each, and fit again"
    )]
    NotTold,
    /// They are of several modes, which the features cannot tell apart.
    #[error(
        "its rows are of {modes} power modes, which the features of perf4sight do not tell apart: fit with --features jetlag"
    )]
    Features {
        /// In the data.
        modes: usize,
    },
    /// The network is larger than all that were fitted, and the board's memory ended the rows.
    #[error(
        "{what} is {} and at most {} in the data, whose rows end where the board does, at {board_mib:.0} MiB; it is at least \
         {at_least_mib:.0} MiB, by what is alive at once (4 bytes a value) or by the largest batch within the data",
        size(*found, unit), size(*most, unit)
    )]
    BeyondBoard {
        /// Which size.
        what: String,
        /// Its unit; empty for counts.
        unit: String,
        /// Here.
        found: f64,
        /// Greatest in the data.
        most: f64,
        /// The most that any row had, MiB.
        board_mib: f64,
        /// A lower bound of the peak, MiB.
        at_least_mib: f64,
    },
    /// The network is larger than all that were fitted, and trees alone say no more than they have seen.
    #[error(
        "{what} is {} and at most {} in the data, and the features of perf4sight have trees alone, which say nothing larger than they \
         have seen: fit with --features jetlag, or measure larger ones",
        size(*found, unit), size(*most, unit)
    )]
    Trees {
        /// Which size.
        what: String,
        /// Its unit; empty for counts.
        unit: String,
        /// Here.
        found: f64,
        /// Greatest in the data.
        most: f64,
    },
}

/// Why a model file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ModelError {
    /// It cannot be read or written.
    #[error("{path}: {source}")]
    File {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
    /// Something else than a model.
    #[error(
        "not a model of jetlag predict: it begins with other bytes; `jetlag predict fit` writes one of networks, `jetlag predict pairs fit` one of pairs"
    )]
    Magic,
    /// Another version of the format.
    #[error("a model of format {found}, and this version reads format {wanted}: fit it again")]
    Version {
        /// In the file.
        found: u32,
        /// That this crate reads.
        wanted: u32,
    },
    /// Cut off or changed.
    #[error("the model is damaged ({what}): copy it again, or fit it again")]
    Damaged {
        /// What does not hold.
        what: &'static str,
    },
}
