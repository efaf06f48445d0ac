//! Opening what a scenario or a command line names: a detector's spec, a source of frames.

use std::path::Path;

use crate::backend::NetworkSource;
use crate::built::NotEmbedded;
use crate::detector::{Detector, DetectorError, network, spec};
use crate::embedded;
use crate::scenario::{DetectorRef, MadeInputs, SourceSpec};
use crate::source::empty::EmptySource;
use crate::source::recordings::Opened;
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

/// Whether a file is a network, by its name.
pub fn is_network(path: &Path) -> bool {
    path.extension()
        .is_some_and(|ending| ending.eq_ignore_ascii_case("onnx"))
}

/// Reads a detector's spec; a network runs on made inputs.
pub fn detector(reference: &DetectorRef) -> Result<Detector, NoDetector> {
    fed(reference, None)
}

/// As [`detector`], of a tenant; `made` is what its network is fed where it has no spec.
pub fn fed(reference: &DetectorRef, made: Option<&MadeInputs>) -> Result<Detector, NoDetector> {
    match reference {
        DetectorRef::File(path) if made.is_some() || is_network(path) => {
            let made = made.cloned().unwrap_or_default();
            let bare = network::bare(NetworkSource::File(path.clone()), &made, network::stem(path));
            Ok(bare.map_err(DetectorError::from)?)
        }
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

/// Opens the source of a tenant's frames. Tenants of one recording share what is `opened` of it.
pub fn source(spec: &SourceSpec, opened: &mut Opened) -> Result<Box<dyn Source>, SourceError> {
    Ok(match spec {
        SourceSpec::Empty => Box::new(EmptySource::default()),
        SourceSpec::Images {
            path,
            repeat,
            max_megapixels,
            reading,
        } => Box::new(images::open(path, *repeat, *max_megapixels)?.read(*reading)?),
        SourceSpec::Points {
            path,
            repeat,
            format,
            max_points,
            reading,
        } => Box::new(points::open(path, *repeat, *format, *max_points)?.read(*reading)?),
        SourceSpec::NuScenes(of) => Box::new(opened.nuscenes(of)?),
        SourceSpec::Kitti(of) => Box::new(opened.kitti(of)?),
        SourceSpec::Bag(of) => Box::new(opened.bag(of)?),
        SourceSpec::Video(of) => Box::new(opened.video(of)?),
        SourceSpec::Camera(of) => opened.camera(of)?,
        SourceSpec::Synthetic { sensor, scenes, seed } => {
            Box::new(SyntheticSource::open(*sensor, *seed, *scenes, true))
        }
    })
}
