//! What `jetlag init` takes.

use std::path::PathBuf;

use clap::Args;

use crate::scenario::Shapes;

/// Arguments of `jetlag init`.
#[derive(Debug, Args)]
pub struct InitArgs {
    /// A network (.onnx), or a detector spec (.ron), for which only a scenario is written.
    pub input: PathBuf,
    /// A folder of images: to try colour order and scaling on, and as the scenario's source.
    #[arg(long, value_name = "DIR", conflicts_with = "sweeps")]
    pub images: Option<PathBuf>,
    /// A folder of LiDAR sweeps (.bin, .pcd): to try the detector on, and as the scenario's source.
    #[arg(long, value_name = "DIR")]
    pub sweeps: Option<PathBuf>,
    /// A ROS 2 bag (file or folder): its images or sweeps to try the detector on, and as the scenario's source.
    #[arg(long, value_name = "BAG", conflicts_with_all = ["images", "sweeps"])]
    pub bag: Option<PathBuf>,
    /// The bag's topic, where it has several that the network takes.
    #[arg(long, value_name = "TOPIC", requires = "bag")]
    pub topic: Option<String>,
    /// Sizes of dynamic inputs, INPUT:1x3x640x640, separated by commas.
    #[arg(long, visible_alias = "shape", value_name = "SHAPES")]
    pub shapes: Option<Shapes>,
    /// The folder to write to; nothing in it is overwritten.
    #[arg(short, long, value_name = "DIR", default_value = ".")]
    pub out: PathBuf,
}
