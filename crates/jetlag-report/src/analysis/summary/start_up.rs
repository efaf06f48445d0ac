//! How long each tenant took from nothing to its first result.

use serde::Serialize;

/// One tenant's start. Parts that the run file does not have are `None`.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct TenantStart {
    /// Its name.
    pub tenant: String,
    /// Opening the GPUs, once for all tenants of its process.
    pub devices_ms: Option<f64>,
    /// Reading its detector and opening its source.
    pub detector_ms: Option<f64>,
    /// Reading the files of its networks.
    pub networks_ms: Option<f64>,
    /// Making its backend ready: libraries, and plans loaded or built.
    pub load_ms: Option<f64>,
    /// Contexts and memory, and what the backend runs once to be warm.
    pub allocate_ms: Option<f64>,
    /// Its first completed frame, from the begin of work on it to its result.
    pub first_frame_ms: Option<f64>,
}
