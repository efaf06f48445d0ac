//! In the place of the demo within the binary, in a jetlag that was built without the backend that every machine can run it on.

use crate::backend::NetworkSource;
use crate::built::{LeftOut, NotEmbedded};

const MISSING: LeftOut = LeftOut {
    part: "the demo's scenario and detectors",
    feature: "cpu",
};

/// There is none.
///
/// # Errors
/// Always.
pub fn demo_scenario() -> Result<&'static str, LeftOut> {
    Err(MISSING)
}

/// Names of the built-in detectors; this build has none.
pub fn detector_names() -> impl Iterator<Item = &'static str> {
    std::iter::empty()
}

/// There are none.
///
/// # Errors
/// Always.
pub fn detector_spec(_name: &str) -> Result<&'static str, NotEmbedded> {
    Err(MISSING.into())
}

/// A built-in network; this build has none.
pub fn network(_name: &str) -> Option<NetworkSource> {
    None
}
