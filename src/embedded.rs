//! What the binary carries so that it needs no file: the demo scenario, its detector specs, its networks.
//!
//! The networks are compressed by the build script and unpacked when they are asked for.

use std::sync::Arc;

use miniz_oxide::inflate::decompress_to_vec;

use crate::backend::NetworkSource;
use crate::built::{LeftOut, NotEmbedded};

/// The demo's scenario, configs/demo.ron.
const DEMO_SCENARIO: &str = include_str!("../configs/demo.ron");

const SPECS: [(&str, &str); 2] = [
    ("camera", include_str!("../engines/camera.ron")),
    ("lidar", include_str!("../engines/lidar.ron")),
];

const NETWORKS: [(&str, &[u8]); 3] = [
    (
        "camera.onnx",
        include_bytes!(concat!(env!("OUT_DIR"), "/camera.onnx.deflate")),
    ),
    (
        "lidar_encoder.onnx",
        include_bytes!(concat!(env!("OUT_DIR"), "/lidar_encoder.onnx.deflate")),
    ),
    (
        "lidar_backbone.onnx",
        include_bytes!(concat!(env!("OUT_DIR"), "/lidar_backbone.onnx.deflate")),
    ),
];

/// The demo scenario (RON).
///
/// # Errors
/// Never here: a jetlag that was built without it has none.
pub fn demo_scenario() -> Result<&'static str, LeftOut> {
    Ok(DEMO_SCENARIO)
}

/// Names of the detectors in the binary, as in `builtin:camera`.
pub fn detector_names() -> impl Iterator<Item = &'static str> {
    SPECS.iter().map(|(name, _)| *name)
}

/// The spec (RON) of a detector in the binary.
///
/// # Errors
/// There is none of that name; those that there are.
pub fn detector_spec(name: &str) -> Result<&'static str, NotEmbedded> {
    let found = SPECS.iter().find(|(n, _)| *n == name);
    found.map(|(_, spec)| *spec).ok_or_else(|| NotEmbedded::Unknown {
        name: name.to_owned(),
        known: detector_names().collect(),
    })
}

/// A network in the binary, by the name that its spec uses.
pub fn network(name: &str) -> Option<NetworkSource> {
    let (name, packed) = NETWORKS.iter().find(|(n, _)| *n == name)?;
    // The build script made it; only a damaged binary could fail here, and then the network is not there.
    let bytes = decompress_to_vec(packed).ok()?;
    Some(NetworkSource::Embedded {
        name,
        bytes: Arc::from(bytes),
    })
}
