//! What `jetlag data` takes.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use super::Format;

/// Data that is made, or made into other data.
#[derive(Debug, Subcommand)]
pub enum DataCommand {
    /// Generate cars, people and bicycles for a camera and a LiDAR, with ground truth: stills, or a drive.
    #[command(
        after_help = "Examples:  jetlag data synth --out scenes --count 200 --seed 9001
           jetlag data synth --format nuscenes --out drive --seconds 20 --seed 5
           jetlag data synth --format mcap --out drive.mcap --compression zstd"
    )]
    Synth(SynthArgs),
    /// Make a ROS 2 bag of standard messages from a bag, nuScenes, KITTI, a video, or a folder of images or sweeps.
    #[command(after_help = "Examples:  jetlag data convert drive -o drive.mcap
           jetlag data convert bag.db3 -o bag.mcap --compression lz4
           jetlag data convert kitti --sequence 00 -o kitti.mcap
           jetlag data convert street.mp4 -o street.mcap --compression zstd")]
    Convert(ConvertArgs),
    /// Make copies of a network with fewer channels, as values of a sweep's axis.
    #[command(
        after_help = "Examples:  jetlag data variants net.onnx --prune 5..90 -o variants
           jetlag data variants net.onnx --prune 10,30,50 --mode l1 -o variants
           jetlag data variants net.onnx --prune 5..90 --step 15 --seed 7 -o variants --format json"
    )]
    Variants(VariantsArgs),
}

/// Shares of filters, in percent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Levels {
    /// The smallest.
    pub from: u8,
    /// The largest.
    pub to: u8,
}

impl std::str::FromStr for Levels {
    type Err = String;

    fn from_str(text: &str) -> Result<Levels, String> {
        let level = |text: &str| match text.trim().parse::<u8>() {
            Ok(level @ 1..=99) => Ok(level),
            _ => Err(format!(
                "`{text}` is no level; levels are whole numbers from 1 to 99, such as 30, or 5..90 for all of them by --step"
            )),
        };
        let (from, to) = match text.split_once("..") {
            Some((from, to)) => (level(from)?, level(to.strip_prefix('=').unwrap_or(to))?),
            None => (level(text)?, level(text)?),
        };
        match from <= to {
            true => Ok(Levels { from, to }),
            false => Err(format!("{from} is above {to}; the smaller level stands first")),
        }
    }
}

/// Which filters are removed first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum PruneMode {
    /// In an order that follows from --seed.
    #[default]
    Random,
    /// Those with the smallest sum of absolute weights.
    L1,
}

/// Arguments of `jetlag data variants`.
#[derive(Debug, Args)]
pub struct VariantsArgs {
    /// The network (.onnx), with its weights in the file.
    #[arg(value_name = "NETWORK")]
    pub network: PathBuf,
    /// Share of each layer's filters to remove, in percent: levels, and ranges with both their ends.
    #[arg(long, value_name = "PERCENT", value_delimiter = ',', required = true)]
    pub prune: Vec<Levels>,
    /// Distance of the levels of a range [default: 5].
    #[arg(long, value_name = "PERCENT", value_parser = clap::value_parser!(u8).range(1..=98))]
    pub step: Option<u8>,
    /// Which filters are removed first.
    #[arg(long, value_enum, default_value_t)]
    pub mode: PruneMode,
    /// Seed of --mode random; equal seeds give equal files [default: 0].
    #[arg(long)]
    pub seed: Option<u64>,
    /// The folder to write.
    #[arg(long, short, value_name = "DIR")]
    pub out: PathBuf,
    /// Size of a dimension that the network leaves open, by name; may be repeated. The batch is taken as 1.
    #[arg(long = "dim", value_name = "NAME=SIZE")]
    pub dims: Vec<String>,
    /// Shape of an input, such as images:1x3x640x640; may be repeated.
    #[arg(long = "shape", visible_alias = "shapes", value_name = "TENSOR:SHAPE")]
    pub shapes: Vec<String>,
    /// Output format.
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,
    /// Replace variants that were written there.
    #[arg(long)]
    pub force: bool,
}

/// How generated data is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum SynthFormat {
    /// KITTI: stills as its object layout; with --seconds, a drive as its raw layout.
    #[default]
    Kitti,
    /// nuScenes: a drive as one scene.
    Nuscenes,
    /// A drive as a ROS 2 bag in MCAP.
    Mcap,
    /// A drive as a ROS 2 bag in SQLite.
    Db3,
}

/// How a bag stores its messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Storage {
    /// MCAP.
    Mcap,
    /// SQLite.
    Db3,
}

/// How a bag is compressed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum BagCompression {
    /// Not at all.
    #[default]
    None,
    /// The chunks of an MCAP, by LZ4.
    Lz4,
    /// The chunks of an MCAP, or the messages of an SQLite bag in a folder, by Zstandard.
    Zstd,
}

/// Arguments of `jetlag data synth`.
#[derive(Debug, Args)]
pub struct SynthArgs {
    /// The folder to write; of a bag, a folder or a file (.mcap, .db3).
    #[arg(long, short, value_name = "PATH")]
    pub out: PathBuf,
    /// How it is written.
    #[arg(long, value_enum, default_value_t)]
    pub format: SynthFormat,
    /// Length of a drive in seconds, up to 600 [default: 20; stills with --format kitti].
    #[arg(long, value_name = "SECONDS")]
    pub seconds: Option<u32>,
    /// Number of stills [default: 100].
    #[arg(long, conflicts_with = "seconds")]
    pub count: Option<u64>,
    /// Random seed; equal seeds give equal data.
    #[arg(long, default_value_t = 0)]
    pub seed: u64,
    /// Number of the first still [default: 0].
    #[arg(long, conflicts_with = "seconds")]
    pub start: Option<u64>,
    /// Compression of a bag.
    #[arg(long, value_enum, default_value_t)]
    pub compression: BagCompression,
    /// Replace a drive that was written there.
    #[arg(long)]
    pub force: bool,
}

/// Arguments of `jetlag data convert`.
#[derive(Debug, Args)]
pub struct ConvertArgs {
    /// A bag (file or folder), a video, or a folder: nuScenes, KITTI (object, raw, odometry), images, sweeps (.bin, .pcd).
    #[arg(value_name = "IN")]
    pub input: PathBuf,
    /// The bag to write: a file (.mcap, .db3), or a folder.
    #[arg(long, short, value_name = "OUT")]
    pub out: PathBuf,
    /// Storage of a bag that is a folder [default: mcap].
    #[arg(long, value_enum)]
    pub storage: Option<Storage>,
    /// Compression.
    #[arg(long, value_enum, default_value_t)]
    pub compression: BagCompression,
    /// Write only this topic; may be repeated.
    #[arg(long = "topic", value_name = "NAME")]
    pub topics: Vec<String>,
    /// Only this scene of nuScenes; may be repeated.
    #[arg(long = "scene", value_name = "NAME")]
    pub scenes: Vec<String>,
    /// The drive or sequence of KITTI [default: the only one].
    #[arg(long, value_name = "NAME")]
    pub sequence: Option<String>,
    /// Rate of files that have no times: of folders, and of KITTI's object layout [default: 10].
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub hz: Option<u32>,
    /// Replace a bag that is there.
    #[arg(long)]
    pub force: bool,
}
