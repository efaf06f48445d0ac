//! Opening what a scenario or a command line names: a detector's spec, a source of frames.

use std::path::Path;

use crate::detector::{Detector, spec};
use crate::embedded;
use crate::scenario::{DetectorRef, SourceSpec};
use crate::source::empty::EmptySource;
use crate::source::synthetic::SyntheticSource;
use crate::source::{Source, images, points};

/// Reads a detector's spec.
pub fn detector(reference: &DetectorRef) -> Result<Detector, String> {
    match reference {
        DetectorRef::File(path) => spec::load(path).map_err(|e| e.to_string()),
        DetectorRef::Builtin(name) => {
            let text = embedded::detector_spec(name)?;
            spec::from_str(text, name, Path::new("engines"), &embedded::network).map_err(|e| e.to_string())
        }
    }
}

/// Opens the source of a tenant's frames.
pub fn source(spec: &SourceSpec) -> Result<Box<dyn Source>, String> {
    Ok(match spec {
        SourceSpec::Empty => Box::new(EmptySource::default()),
        SourceSpec::Images {
            path,
            repeat,
            max_megapixels,
        } => Box::new(images::open(path, *repeat, *max_megapixels).map_err(|e| e.to_string())?),
        SourceSpec::Points {
            path,
            repeat,
            format,
            max_points,
        } => Box::new(points::open(path, *repeat, *format, *max_points).map_err(|e| e.to_string())?),
        SourceSpec::Synthetic { sensor, scenes, seed } => {
            Box::new(SyntheticSource::open(*sensor, *seed, *scenes, true))
        }
    })
}
