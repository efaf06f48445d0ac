//! A detector's frames for INT8 calibration: any source, through the detector's own preprocessing. The input of a
//! later engine is what the earlier ones make of the frame, computed on the cpu backend.

use std::path::PathBuf;

use super::opening;
use super::outcome::WrongUse;
use crate::backend::cpu::CpuBackend;
use crate::backend::tensorrt::calibrate::{FrameError, Frames};
use crate::backend::{Backend, Slot};
use crate::detector::{Carry, Detector, Preprocess};
use crate::scenario::{
    self, MAX_MEGAPIXELS, MAX_POINTS, PointFormat, Reading, ResolveEnv, Sensor, SourceSpec,
};
use crate::source::recordings::Opened;
use crate::source::{ContentKind, Frame, Source};

/// Scenes of the synthetic source, made before the first is used.
const SCENES: usize = 32;

/// Frames of a source as tensors.
pub(super) struct DetectorFrames {
    source: Box<dyn Source>,
    preprocess: Box<dyn Preprocess>,
    slot: Box<dyn Slot>,
    frame: Frame,
    carry: Carry,
    executes: bool,
    left: u32,
}

impl DetectorFrames {
    /// At most `frames` frames of `text` (`synthetic`, or a folder) for a detector; `executes` says whether engines
    /// must run for the tensors that are asked for.
    pub(super) fn open(text: &str, frames: u32, detector: Detector, executes: bool) -> anyhow::Result<Self> {
        let spec = spec(text, detector.input)?;
        let source = opening::source(&spec, &mut Opened::default()).map_err(WrongUse::because)?;
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        let mut slots = CpuBackend::new(threads, false).open(&detector.program, 1)?.slots;
        let slot = slots
            .pop()
            .ok_or_else(|| anyhow::anyhow!("the backend returned no slot"))?;
        Ok(Self {
            source,
            preprocess: detector.preprocess,
            slot,
            frame: Frame::default(),
            carry: Carry::default(),
            executes,
            left: frames,
        })
    }
}

/// A source as scenarios write it, or in short.
fn spec(text: &str, kind: ContentKind) -> Result<SourceSpec, WrongUse> {
    let path = PathBuf::from(text);
    let sensor = if kind == ContentKind::Image {
        Sensor::Camera
    } else {
        Sensor::Lidar
    };
    match kind {
        _ if text == "synthetic" => Ok(SourceSpec::Synthetic {
            sensor,
            scenes: SCENES,
            seed: 0,
        }),
        ContentKind::Image if path.is_dir() => Ok(SourceSpec::Images {
            path,
            repeat: false,
            max_megapixels: MAX_MEGAPIXELS,
            reading: Reading::default(),
        }),
        _ if path.is_dir() => Ok(SourceSpec::Points {
            path,
            repeat: false,
            format: PointFormat::Kitti,
            max_points: MAX_POINTS,
            reading: Reading::default(),
        }),
        _ if text.contains('(') => from_ron(text),
        _ => Err(WrongUse(format!(
            "--calibrate {text}: use synthetic, a folder of the detector's frames, or a source in scenario syntax"
        ))),
    }
}

/// Read by the scenario's own reader, within the smallest scenario that has a source.
fn from_ron(text: &str) -> Result<SourceSpec, WrongUse> {
    let scenario = format!(
        "Scenario(name: \"calibration\", duration: \"1s\", tenants: [Tenant(name: \"frames\", backend: Null, source: {text}, \
         arrival: Periodic(hz: 1))])"
    );
    let folder = std::env::current_dir().unwrap_or_default();
    let resolved = scenario::from_str(&scenario, "--calibrate", &folder, &[], &ResolveEnv::default());
    let resolved = resolved.map_err(|problems| WrongUse(problems.to_string()))?;
    let source = resolved.tenants.into_iter().next().map(|tenant| tenant.source);
    source.ok_or_else(|| WrongUse(format!("--calibrate {text}: not a source")))
}

/// What decides which frames come: the source, how many, and for a folder the names, lengths and times of its files.
pub(super) fn describe(text: &str, frames: u32) -> String {
    let mut hasher = blake3::Hasher::new();
    let quoted = text.split('"').nth(1).unwrap_or(text);
    if let Ok(folder) = std::fs::canonicalize(quoted) {
        hasher.update(folder.as_os_str().as_encoded_bytes());
        let mut files: Vec<_> = std::fs::read_dir(&folder)
            .into_iter()
            .flatten()
            .flatten()
            .collect();
        files.sort_by_key(std::fs::DirEntry::file_name);
        for file in files {
            hasher.update(file.file_name().as_encoded_bytes());
            let Ok(metadata) = file.metadata() else { continue };
            hasher.update(&metadata.len().to_le_bytes());
            let modified = metadata
                .modified()
                .ok()
                .and_then(|time| time.duration_since(std::time::UNIX_EPOCH).ok());
            hasher.update(&modified.map_or(0, |since| since.as_nanos()).to_le_bytes());
        }
    }
    format!(
        "{frames} frames of {text} ({})",
        &hasher.finalize().to_hex()[..16]
    )
}

impl Frames for DetectorFrames {
    fn advance(&mut self) -> Result<bool, FrameError> {
        if self.left == 0 || !self.source.acquire(&mut self.frame)? {
            return Ok(false);
        }
        self.left -= 1;
        self.source.decode(&mut self.frame)?;
        let inputs = self.slot.tensors_mut();
        self.preprocess.run(&self.frame, inputs, &mut self.carry)?;
        if self.executes {
            self.slot.submit().and_then(|()| self.slot.wait())?;
        }
        Ok(true)
    }

    fn tensor(&self, name: &str) -> Option<&[u8]> {
        self.slot.tensors().get(name).ok().map(|tensor| tensor.bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::DetectorRef;

    #[test]
    fn the_synthetic_world_becomes_the_tensors_of_both_engines() {
        let detector = opening::detector(&DetectorRef::Builtin("lidar".into())).expect("a detector");
        let mut frames = DetectorFrames::open("synthetic", 2, detector, true).expect("frames");
        for _ in 0..2 {
            assert!(frames.advance().expect("a frame"));
            let scattered = frames.tensor("spatial_features").expect("the backbone's input");
            assert_eq!(scattered.len(), 32 * 128 * 128 * 4);
            assert!(scattered.iter().any(|byte| *byte != 0));
        }
        assert!(!frames.advance().expect("the end"));
        assert!(frames.tensor("nothing").is_none());
    }

    #[test]
    fn sources_are_written_as_in_scenarios_too() {
        let points = spec("Points(path: \"src\", format: NuScenes)", ContentKind::Points).expect("a source");
        assert!(
            matches!(
                points,
                SourceSpec::Points {
                    format: PointFormat::NuScenes,
                    ..
                }
            ),
            "{points:?}"
        );
        let wrong = spec("Pionts(path: \"src\")", ContentKind::Points)
            .expect_err("refused")
            .to_string();
        assert!(wrong.contains("Pionts"), "{wrong}");
    }

    #[test]
    fn other_frames_in_a_folder_are_another_calibration() {
        let folder = tempfile::tempdir().expect("a folder");
        let name = folder.path().display().to_string();
        let empty = describe(&name, 8);
        std::fs::write(folder.path().join("0.png"), b"one").expect("written");
        let one = describe(&name, 8);
        assert_ne!(empty, one);
        assert_eq!(one, describe(&name, 8));
        assert_ne!(one, describe(&name, 9));
    }

    #[test]
    fn what_is_no_source_is_told() {
        let error = spec("nowhere", ContentKind::Image).expect_err("refused");
        assert!(
            error.to_string().contains("--calibrate nowhere: use synthetic"),
            "{error}"
        );
    }
}
