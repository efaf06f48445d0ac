//! Why a frame failed, whichever part of its way it was in.

use crate::backend::BackendError;
use crate::detector::DetectorError;
use crate::source::SourceError;

/// What kept a frame from its detections.
#[derive(Debug, thiserror::Error)]
pub(super) enum FrameError {
    /// It could not be read or decoded.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// A timer took it again after it could not be read.
    #[error("the newest frame could not be read before, and no other has come since")]
    NotThere,
    /// No inputs could be made of it, or no detections of its outputs.
    #[error(transparent)]
    Detector(#[from] DetectorError),
    /// It could not be executed.
    #[error(transparent)]
    Backend(#[from] BackendError),
}
