//! Critical paths of a traced phase.

use serde::Serialize;

/// What the response times of a traced phase depend on.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct CriticalPath {
    /// The phase, in words.
    pub phase: String,
    /// Each tenant that ran a frame in it.
    pub tenants: Vec<TenantPath>,
    /// What limits the paths, a sentence each.
    pub notes: Vec<String>,
}

/// One tenant's critical path.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct TenantPath {
    /// Name of the tenant.
    pub tenant: String,
    /// Completed frames after the warm-up.
    pub steady: Option<Part>,
    /// Completed frames of the warm-up.
    pub start_up: Option<Part>,
    /// Calls of CUDA before the first frame, outside of any.
    pub calls_before: Vec<CallRow>,
    /// Calls of CUDA between frames, outside of any.
    pub calls_between: Vec<CallRow>,
    /// Calls of CUDA after the last frame.
    pub calls_after: Vec<CallRow>,
    /// Completed frames whose stamps contradict each other; they are in no figure.
    pub skipped: u64,
}

/// Means over some frames.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Part {
    /// Number of these frames.
    pub frames: u64,
    /// Their mean response time; the rows' `path_ms` add up to it.
    pub response_ms: f64,
    /// What is on the critical path or waited, the longest first.
    pub rows: Vec<PathRow>,
    /// Calls of CUDA, the longest first.
    pub calls: Vec<CallRow>,
    /// Frames of which no work on the device was recorded.
    pub without_work: u64,
    /// Frames of which no call was recorded.
    pub without_calls: u64,
}

/// An activity on the critical path.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PathRow {
    /// `release`, `stage`, `host`, `call`, `kernel`, `copy`, `fill`, `graph`, `device`, `busy` or `unknown`.
    pub kind: &'static str,
    /// Its name.
    pub name: String,
    /// Its share of the response time, from 0 to 1; shares add up to 1.
    pub share: f64,
    /// Mean time per frame on the critical path.
    pub path_ms: f64,
    /// Mean time per frame in which it waited: a call for the device, work for a device that others had.
    pub waiting_ms: f64,
    /// How often it is on a frame's path, on average.
    pub per_frame: f64,
}

/// Calls of one name.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CallRow {
    /// Name of the function.
    pub name: String,
    /// How many there were.
    pub calls: u64,
    /// Host time in all of them.
    pub total_ms: f64,
    /// The part of it in which they waited for the device.
    pub waiting_ms: f64,
    /// Mean of a call.
    pub mean_ms: f64,
    /// The longest.
    pub max_ms: f64,
    /// Calls per frame; `None` outside of frames.
    pub calls_per_frame: Option<f64>,
    /// Host time per frame; `None` outside of frames.
    pub ms_per_frame: Option<f64>,
}
