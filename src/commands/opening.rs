//! Opening what a scenario or a command line names: a detector's spec, a source of frames.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use crate::backend::NetworkSource;
use crate::built::NotEmbedded;
use crate::detector::fusion::{NoFusion, fuse};
use crate::detector::{Detector, DetectorError, network, spec};
use crate::embedded;
use crate::engine::plan::is_plan;
use crate::scenario::{DetectorRef, Fill, MadeInputs, Scenario, SetSpec, SourceSpec, Tenant};
use crate::source::empty::EmptySource;
use crate::source::recordings::Opened;
use crate::source::several::Several;
use crate::source::shared::Feed;
use crate::source::synchronised::{Rules, Synchronised};
use crate::source::synthetic::SyntheticSource;
use crate::source::{ContentKind, Source, SourceError, images, points};

/// Why a detector cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum NoDetector {
    /// The binary has none of that name.
    #[error(transparent)]
    Embedded(#[from] NotEmbedded),
    /// Its spec cannot be taken.
    #[error(transparent)]
    Spec(#[from] DetectorError),
    /// A network in place of that of a detector which has several: no scenario says so, but a changed run file may.
    #[error("a network can stand in for that of one spec alone, and the detector is none")]
    SeveralNetworks,
    /// Two that make no fusion.
    #[error(transparent)]
    Fusion(#[from] NoFusion),
}

/// A detector of sets that was named where frames are of one sensor.
#[derive(Debug, thiserror::Error)]
#[error(
    "detector {detector} takes the images of {} and a sweep together; name it in a scenario, detector: Fusion(whole: {spec:?}), with a source of {} and a LiDAR",
    of_cameras(*cameras),
    of_cameras(*cameras)
)]
pub struct OnlyInFusion {
    detector: String,
    spec: String,
    cameras: usize,
}

fn of_cameras(count: usize) -> String {
    match count {
        1 => "1 camera".to_owned(),
        count => format!("{count} cameras"),
    }
}

/// What there is to say of a detector that is named by itself, if it can only be part of a fusion.
pub fn only_in_fusion(reference: &DetectorRef, detector: &Detector) -> Option<OnlyInFusion> {
    match reference.spec() {
        DetectorRef::File(path) if detector.input == ContentKind::Set => Some(OnlyInFusion {
            detector: detector.name.clone(),
            spec: path.display().to_string(),
            cameras: detector.cameras,
        }),
        _ => None,
    }
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
        DetectorRef::File(path) if made.is_some() || is_network(path) || is_plan(path) => {
            let made = made.cloned().unwrap_or_default();
            let bare = network::bare(NetworkSource::File(path.clone()), &made, network::stem(path));
            Ok(bare.map_err(DetectorError::from)?)
        }
        DetectorRef::Fusion(of) => Ok(fuse(
            detector(&of.camera)?,
            of.cameras,
            detector(&of.lidar)?,
            of.associate,
        )?),
        DetectorRef::File(path) | DetectorRef::Whole(path) => Ok(spec::load(path)?),
        DetectorRef::Builtin(name) => {
            let text = embedded::detector_spec(name)?;
            Ok(spec::from_str(
                text,
                name,
                Path::new("engines"),
                &embedded::network,
            )?)
        }
        DetectorRef::WithNetwork { spec, network } => with_network(spec, network),
    }
}

/// That the batch which a bare network's file leaves open is taken to be one.
pub fn batch_note(tenant: &Tenant) -> Option<String> {
    let (Some(DetectorRef::File(path)), Some(made)) = (&tenant.detector, &tenant.made) else {
        return None;
    };
    if matches!(made.fill, Fill::Files(_)) {
        return None;
    }
    let facts = network::facts_of(&NetworkSource::File(path.clone())).ok()?;
    network::batch_note(&facts, &made.shapes)
}

/// The detector of a spec with `network` in place of its own.
fn with_network(of: &DetectorRef, network: &Path) -> Result<Detector, NoDetector> {
    match of {
        DetectorRef::File(path) | DetectorRef::Whole(path) => Ok(spec::load_with(path, network)?),
        DetectorRef::Builtin(name) => {
            let (text, base) = (embedded::detector_spec(name)?, Path::new("engines"));
            Ok(spec::with_network(text, name, base, network)?)
        }
        DetectorRef::Fusion(_) | DetectorRef::WithNetwork { .. } => Err(NoDetector::SeveralNetworks),
    }
}

/// What tenants of one scenario have in common.
pub struct Common {
    recordings: Opened,
    feeds: BTreeMap<String, Arc<Feed>>,
}

impl Common {
    /// Nothing yet; programs that the scenario names may be started where its user allowed it.
    pub fn of(scenario: &Scenario) -> Common {
        Common {
            recordings: Opened::guarded_by(std::env::current_exe().ok(), scenario.allow_commands),
            feeds: BTreeMap::new(),
        }
    }
}

/// Opens the source of a tenant's frames, or takes the one that it shares with others.
pub fn source_of(tenant: &Tenant, common: &mut Common) -> Result<Box<dyn Source>, SourceError> {
    let Some(name) = &tenant.shared else {
        return source(&tenant.source, &mut common.recordings);
    };
    let feed = match common.feeds.get(name) {
        Some(feed) => Arc::clone(feed),
        None => {
            let feed = Feed::new(name, source(&tenant.source, &mut common.recordings)?);
            Arc::clone(common.feeds.entry(name.clone()).or_insert(feed))
        }
    };
    Ok(Box::new(feed.subscribe()))
}

/// Opens cameras and a LiDAR as one source of sets.
fn sets(of: &SetSpec, opened: &mut Opened) -> Result<Synchronised, SourceError> {
    let cameras: Result<Vec<Box<dyn Source>>, SourceError> =
        of.cameras().map(|camera| source(camera, opened)).collect();
    let (cameras, lidar) = (cameras?, source(&of.lidar, opened)?);
    let rules = Rules {
        tolerance: of.tolerance,
        queue: of.queue,
        rule: of.rule,
    };
    Synchronised::open(cameras, lidar, rules)
}

/// Opens a source of frames. Those of one recording share what is `opened` of it.
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
        SourceSpec::Cameras(cameras) => {
            let cameras = cameras.iter().map(|camera| source(camera, opened));
            Box::new(Several::open(cameras.collect::<Result<_, _>>()?)?)
        }
        SourceSpec::Synchronised(set) => Box::new(sets(set, opened)?),
        SourceSpec::Synthetic { sensor, scenes, seed } => {
            Box::new(SyntheticSource::open(*sensor, *seed, *scenes, true))
        }
    })
}
