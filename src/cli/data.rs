//! What `jetlag data` takes.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

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
    /// Make a ROS 2 bag of standard messages from a bag, nuScenes, KITTI, or a folder of images or sweeps.
    #[command(after_help = "Examples:  jetlag data convert drive -o drive.mcap
           jetlag data convert bag.db3 -o bag.mcap --compression lz4
           jetlag data convert kitti --sequence 00 -o kitti.mcap")]
    Convert(ConvertArgs),
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
    /// A bag (file or folder), or a folder: nuScenes, KITTI (object, raw, odometry), images, sweeps (.bin, .pcd).
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
    /// Rate of files that have no times.
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub hz: u32,
    /// Replace a bag that is there.
    #[arg(long)]
    pub force: bool,
}
