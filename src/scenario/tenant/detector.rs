//! The detector of a tenant as meant: a spec, one in the binary, or a network without pre- and post-processing.

use std::path::{Path, PathBuf};

use super::super::file::{BackendFile, DetectorFile, SourceFile};
use super::super::{DetectorRef, Fill, MadeInputs};
use super::One;
use crate::nearest::nearest;
use crate::written::{Place, ProblemKind, Read, Reader, Spot, root_name, shown};

/// What names a network or a plan, which runs on made inputs, and no spec.
const BARE: [&str; 4] = [".onnx", ".plan", ".engine", ".trt"];

/// Why there is nothing that the field `network` could replace, and what to do.
const NO_SPEC: (&str, &str) = (
    "it stands in for the network of a detector's spec, and there is no `detector`",
    "name the spec: detector: \"engines/camera.ron\"; or run the network alone: detector: \"net.onnx\"",
);
const BARE_HAS_NO_SPEC: (&str, &str) = (
    "it stands in for the network of a detector's spec, and `detector` is a network already",
    "leave `network` out and name the network in `detector`",
);
const FUSION_HAS_SEVERAL: (&str, &str) = (
    "a fusion of two detectors has several networks",
    "name a copy of the spec with the other network: Fusion(camera: \"copy.ron\", …)",
);

/// A tenant's detector, and what it is fed where it is a bare network.
#[derive(Debug, Default)]
pub(super) struct Chosen {
    pub(super) detector: Option<DetectorRef>,
    pub(super) made: Option<MadeInputs>,
    /// Whether its inputs are made, so that no source has anything to say.
    pub(super) needs_no_source: bool,
}

impl Chosen {
    fn of(detector: Option<DetectorRef>) -> Self {
        let is_bare = |reference: &DetectorRef| match reference {
            DetectorRef::File(path) => is_bare_spec(path),
            _ => false,
        };
        Chosen {
            needs_no_source: detector.as_ref().map(DetectorRef::spec).is_some_and(is_bare),
            detector,
            made: None,
        }
    }
}

/// Whether a spec is that of a bare network. One that cannot be read is told of when it is opened.
fn is_bare_spec(path: &Path) -> bool {
    root_name(path).is_some_and(|name| name == "Network")
}

impl One<'_> {
    pub(super) fn detector(&self, r: &mut Reader) -> Chosen {
        let spot = match &self.typed.detector {
            Read::Wrong => return Chosen::default(),
            Read::Absent => {
                if self.simulates() == Some(false) {
                    let kind = ProblemKind::Missing {
                        field: "detector",
                        owner: self.label.to_owned(),
                        example: "detector: \"engines/camera.ron\" (a spec), or \"builtin:camera\" or \
                                  \"builtin:lidar\"; only the backends Sim, Null and Stress need none"
                            .into(),
                    };
                    r.report(&self.typed.place, kind);
                }
                // Of a stressor all of this is told at once.
                let is_stressor = |spot: &Spot<BackendFile>| matches!(spot.value, BackendFile::Stress(_));
                if !self.typed.backend.given().is_some_and(is_stressor) {
                    self.no_other_network(NO_SPEC, r);
                }
                return Chosen::default();
            }
            Read::Given(spot) => spot,
        };
        let name = match &spot.value {
            DetectorFile::Named(name) => name,
            DetectorFile::Network(file) => {
                self.no_other_network(BARE_HAS_NO_SPEC, r);
                let made = self.files_of(&file.made, &file.places, r);
                return self.network(&file.network.value, &file.network.place, made, r);
            }
            DetectorFile::Fusion(file) => {
                let detector = self.fusion(file, r);
                if let Some(DetectorRef::Fusion(_)) = detector {
                    self.no_other_network(FUSION_HAS_SEVERAL, r);
                    return Chosen::of(detector);
                }
                return Chosen::of(self.with_network(detector, r));
            }
        };
        let is_bare = BARE.iter().any(|ending| name.ends_with(ending));
        if is_bare && !name.starts_with("builtin:") {
            self.no_other_network(BARE_HAS_NO_SPEC, r);
            return self.network(name, &spot.place, MadeInputs::default(), r);
        }
        let detector = self.named(name, &spot.place, "detector", r);
        Chosen::of(self.with_network(detector, r))
    }

    /// The detector with the network that is to stand in for its spec's own, if one is given.
    fn with_network(&self, detector: Option<DetectorRef>, r: &mut Reader) -> Option<DetectorRef> {
        let Some(spot) = self.typed.network.given() else {
            return detector;
        };
        let network = self.find(&spot.value, &spot.place, "network", "network", Path::is_file, r)?;
        let spec = Box::new(detector?);
        Some(DetectorRef::WithNetwork { spec, network })
    }

    /// Where there is no spec of one network, none can stand in for it.
    fn no_other_network(&self, (why, advice): (&str, &str), r: &mut Reader) {
        if let Some(spot) = self.typed.network.given() {
            self.contradiction(r, &spot.place, "network", why, advice);
        }
    }

    /// A spec, or one in the binary.
    pub(super) fn named(
        &self,
        name: &str,
        place: &Place,
        field: &str,
        r: &mut Reader,
    ) -> Option<DetectorRef> {
        const BUILTIN: &[&str] = &["camera", "lidar"];
        if let Some(name) = name.strip_prefix("builtin:") {
            if !BUILTIN.contains(&name) {
                let kind = ProblemKind::UnknownChoice {
                    what: "builtin detector",
                    found: shown(name),
                    nearest: nearest(name, BUILTIN.iter().copied()),
                    known: BUILTIN.to_vec(),
                };
                r.report(place, kind);
            }
            return Some(DetectorRef::Builtin(name.to_owned()));
        }
        self.find(name, place, field, "detector spec", Path::is_file, r)
            .map(DetectorRef::File)
    }

    /// What a network is fed, and its outputs compared with, where that was found.
    fn files_of(&self, made: &MadeInputs, places: &[Place], r: &mut Reader) -> MadeInputs {
        let mut made = made.clone();
        let mut places = places.iter();
        if let Fill::Files(files) = &mut made.fill {
            for (file, place) in files.iter_mut().zip(&mut places) {
                let written = file.file.display().to_string();
                let found = self.find(&written, place, "fill", "file of an input", Path::is_file, r);
                file.file = found.unwrap_or_default();
            }
        }
        if let Some(outputs) = &mut made.record_outputs {
            if let (Some(folder), Some(place)) = (&mut outputs.reference, places.next()) {
                let written = folder.display().to_string();
                let wanted = "folder of .npy files";
                let found = self.find(&written, place, "reference", wanted, Path::is_dir, r);
                *folder = found.unwrap_or_default();
            }
            if let Some(folder) = &mut outputs.keep {
                *folder = self.context.base_dir.join(&*folder);
            }
        }
        made
    }

    fn network(&self, written: &str, place: &Place, made: MadeInputs, r: &mut Reader) -> Chosen {
        let found = self.find(written, place, "detector", "network", Path::is_file, r);
        Chosen {
            detector: found.map(DetectorRef::File),
            made: Some(made),
            needs_no_source: true,
        }
    }

    /// Where a network's inputs are made, a source would not be looked at.
    pub(super) fn no_source_for_made_inputs(&self, r: &mut Reader) {
        let Some(Spot { value, place }) = self.typed.source.given() else {
            return;
        };
        if !matches!(value, SourceFile::Empty) {
            let why = "its network runs on made inputs, which no source feeds";
            let advice = "leave it out, or name a detector spec, which describes the network's input and outputs: `jetlag init NET.onnx` writes one";
            self.contradiction(r, place, "source", why, advice);
        }
    }

    /// A file or folder that must be there.
    pub(super) fn find(
        &self,
        written: &str,
        place: &Place,
        field: &str,
        wanted: &'static str,
        is_one: fn(&Path) -> bool,
        r: &mut Reader,
    ) -> Option<PathBuf> {
        let kind = match self.context.find(written) {
            Ok(found) if is_one(&found) => return Some(found),
            Ok(other) => ProblemKind::OutOfRange {
                what: self.of(field),
                found: format!("{}, a {}", shown(&other.display().to_string()), kind_of(&other)),
                wanted: format!("a {wanted}"),
            },
            Err(tried) => ProblemKind::NotFound {
                what: self.of(field),
                wanted,
                tried: tried.iter().map(|path| shown_path(path)).collect(),
            },
        };
        r.report(place, kind);
        None
    }
}

fn kind_of(path: &Path) -> &'static str {
    match (path.is_dir(), path.is_file()) {
        (true, _) => "folder",
        (false, true) => "file",
        (false, false) => "pipe or device",
    }
}

fn shown_path(path: &str) -> String {
    path.chars().flat_map(char::escape_debug).collect()
}
