//! What this jetlag was built with, and the one answer to whoever asks for a part that was left out.
//!
//! A part is left out at the boundary of a module: another of the same surface takes its place (`backend/without_cpu.rs`,
//! `commands/without_gpu.rs`), so that nobody else asks what was built. docs/shipping.md has the feature sets.

use std::sync::LazyLock;

/// The features, as Cargo.toml has them, and whether this jetlag has them.
pub const FEATURES: [(&str, bool); 8] = [
    ("cpu", cfg!(feature = "cpu")),
    ("gpu", cfg!(feature = "gpu")),
    ("models", cfg!(feature = "models")),
    ("nvtx", cfg!(feature = "nvtx")),
    ("onnxruntime", cfg!(feature = "onnxruntime")),
    ("parquet", cfg!(feature = "parquet")),
    ("recordings", cfg!(feature = "recordings")),
    ("trace", cfg!(feature = "trace")),
];

/// Those that it has, or lacks, with commas between; `none` if there are none.
pub fn list(has: bool) -> String {
    let names: Vec<&str> = FEATURES
        .into_iter()
        .filter_map(|(name, is_built)| (is_built == has).then_some(name))
        .collect();
    match names.is_empty() {
        true => "none".to_owned(),
        false => names.join(", "),
    }
}

/// `0.1.0 (features: cpu, gpu)`.
pub fn version() -> &'static str {
    static VERSION: LazyLock<String> =
        LazyLock::new(|| format!("{} (features: {})", env!("CARGO_PKG_VERSION"), list(true)));
    &VERSION
}

/// A part that was left out, and how to have it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("this jetlag was built without {part}; build it with cargo build --release --features {feature}")]
pub struct LeftOut {
    /// What it is called.
    pub part: &'static str,
    /// The feature that has it.
    pub feature: &'static str,
}

impl LeftOut {
    /// CUDA and TensorRT.
    pub const GPU: LeftOut = LeftOut {
        part: "GPU support (CUDA and TensorRT)",
        feature: "gpu",
    };
    /// Scores, pictures, static work and predictions.
    pub const MODELS: LeftOut = LeftOut {
        part: "scores of detections, work of networks and predictions",
        feature: "models",
    };
    /// ONNX Runtime.
    pub const ONNXRUNTIME: LeftOut = LeftOut {
        part: "ONNX Runtime",
        feature: "onnxruntime",
    };
    /// Datasets, bags, videos and cameras.
    pub const RECORDINGS: LeftOut = LeftOut {
        part: "recordings (nuScenes, KITTI, ROS 2 bags, videos, cameras)",
        feature: "recordings",
    };
    /// CUPTI.
    pub const TRACE: LeftOut = LeftOut {
        part: "tracing (CUPTI)",
        feature: "trace",
    };
}

/// Why there is no detector of a name in this binary.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotEmbedded {
    /// There is none at all.
    #[error(transparent)]
    LeftOut(#[from] LeftOut),
    /// There are others.
    #[error("unknown built-in detector `{name}`; there are: {}", known.join(", "))]
    Unknown {
        /// What was asked for.
        name: String,
        /// The names that there are.
        known: Vec<&'static str>,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_feature_of_the_manifest_is_told() {
        let manifest = include_str!("../Cargo.toml");
        let section = manifest.split("[features]\n").nth(1).expect("the section");
        let declared = section
            .lines()
            .take_while(|line| !line.starts_with('['))
            .filter_map(|line| line.split_once(" = "))
            .map(|(name, _)| name)
            .filter(|name| !matches!(*name, "default" | "full"));
        assert!(declared.eq(FEATURES.map(|(name, _)| name)), "{section}");
    }
}
