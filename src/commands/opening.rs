//! Opening what a scenario or a command line names: a detector's spec, a source of frames.

use std::path::Path;

use crate::built::NotEmbedded;
use crate::detector::{Detector, DetectorError, spec};
use crate::embedded;
use crate::scenario::{DetectorRef, SourceSpec};
use crate::source::empty::EmptySource;
use crate::source::synthetic::SyntheticSource;
use crate::source::{Source, SourceError, images, points};

/// Why a detector cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum NoDetector {
    /// The binary has none of that name.
    #[error(transparent)]
    Embedded(#[from] NotEmbedded),
    /// Its spec cannot be taken.
    #[error(transparent)]
    Spec(#[from] DetectorError),
}

/// Reads a detector's spec.
pub fn detector(reference: &DetectorRef) -> Result<Detector, NoDetector> {
    match reference {
        DetectorRef::File(path) => Ok(spec::load(path)?),
        DetectorRef::Builtin(name) => {
            let text = embedded::detector_spec(name)?;
            Ok(spec::from_str(
                text,
                name,
                Path::new("engines"),
                &embedded::network,
            )?)
        }
    }
}

/// Opens the source of a tenant's frames.
pub fn source(spec: &SourceSpec) -> Result<Box<dyn Source>, SourceError> {
    Ok(match spec {
        SourceSpec::Empty => Box::new(EmptySource::default()),
        SourceSpec::Images {
            path,
            repeat,
            max_megapixels,
        } => Box::new(images::open(path, *repeat, *max_megapixels)?),
        SourceSpec::Points {
            path,
            repeat,
            format,
            max_points,
        } => Box::new(points::open(path, *repeat, *format, *max_points)?),
        SourceSpec::Synthetic { sensor, scenes, seed } => {
            Box::new(SyntheticSource::open(*sensor, *seed, *scenes, true))
        }
    })
}
