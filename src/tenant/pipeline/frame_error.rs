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
    /// No inputs could be made of it, or no detections of its outputs.
    #[error(transparent)]
    Detector(#[from] DetectorError),
    /// It could not be executed.
    #[error(transparent)]
    Backend(#[from] BackendError),
}
