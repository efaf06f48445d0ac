//! What was asked of the device and is done otherwise, as facts, and the finding that each becomes: its code, message and advice
//! are made here.

use super::KernelError;
use crate::backend::BackendError;
use crate::record::Finding;

/// Something that a device does differently than requested, or that the host does instead.
#[derive(Debug)]
pub(super) enum Fallback<'a> {
    /// What executes cannot be captured as a CUDA graph.
    NeverCaptured { backend: &'static str },
    /// A capture failed.
    NotCaptured { error: &'a BackendError },
    /// There are no kernels for these steps; why not, of the first.
    StepsOnHost {
        steps: &'a [&'a str],
        error: &'a KernelError,
    },
    /// No step of the detector is one that a device does.
    NoStepHasAKernel,
}

impl Fallback<'_> {
    fn code(&self) -> &'static str {
        match self {
            Fallback::NeverCaptured { .. } | Fallback::NotCaptured { .. } => "no-graph",
            Fallback::StepsOnHost { .. } | Fallback::NoStepHasAKernel => "step-on-host",
        }
    }

    fn message(&self) -> String {
        match self {
            Fallback::NeverCaptured { backend } => format!(
                "{backend} cannot capture its work as a CUDA graph (never, or not while layers are timed), so the work \
                 is enqueued anew for each frame."
            ),
            Fallback::NotCaptured { error } => {
                format!(
                    "its work could not be captured as a CUDA graph and is enqueued anew for each frame: {error}."
                )
            }
            Fallback::StepsOnHost { steps, error } => format!(
                "`preprocess: Gpu` was requested, but the host does the {}: {error}.",
                steps.join(" and the ")
            ),
            Fallback::NoStepHasAKernel => {
                "`preprocess: Gpu` was requested, but no step of its detector has a kernel.".to_owned()
            }
        }
    }

    fn advice(&self) -> &'static str {
        match self {
            Fallback::NeverCaptured { .. } => "Set `graph: Off`.",
            Fallback::NotCaptured { .. } => {
                "Set `graph: Off`, or build the engine without what cannot be captured."
            }
            Fallback::StepsOnHost { .. } => "Install NVRTC, or set `preprocess: Host`.",
            Fallback::NoStepHasAKernel => "Set `preprocess: Host`.",
        }
    }
}

impl From<Fallback<'_>> for Finding {
    /// Whose it is, the caller of the backend knows.
    fn from(fallback: Fallback<'_>) -> Finding {
        Finding {
            code: fallback.code().to_owned(),
            tenant: None,
            message: fallback.message(),
            advice: fallback.advice().to_owned(),
        }
    }
}
