//! A detector's frames for INT8 calibration: any source, through the detector's own preprocessing. The input of a
//! later engine is what the earlier ones make of the frame, computed on the cpu backend.

use std::path::PathBuf;

use super::WrongUse;
use super::prepare;
use crate::backend::cpu::CpuBackend;
use crate::backend::tensorrt::calibrate::Frames;
use crate::backend::{Backend, Slot};
use crate::detector::{Carry, Detector, Preprocess};
use crate::scenario::{PointFormat, Sensor, SourceSpec};
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
    left: usize,
}

impl DetectorFrames {
    /// At most `frames` frames of `text` (`synthetic`, or a folder) for a detector; `executes` says whether engines
    /// must run for the tensors that are asked for.
    pub(super) fn open(
        text: &str,
        frames: usize,
        detector: Detector,
        executes: bool,
    ) -> anyhow::Result<Self> {
        let spec = spec(text, detector.input)?;
        let source = prepare::source(&spec).map_err(WrongUse)?;
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        let mut slots = CpuBackend::new(threads, false).open(&detector.program, 1)?;
        let slot = slots
            .pop()
            .ok_or_else(|| anyhow::anyhow!("the backend made no slot"))?;
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

fn spec(text: &str, kind: ContentKind) -> Result<SourceSpec, WrongUse> {
    let path = PathBuf::from(text);
    match (text, kind) {
        ("synthetic", ContentKind::Image) => Ok(SourceSpec::Synthetic {
            sensor: Sensor::Camera,
            scenes: SCENES,
            seed: 0,
        }),
        ("synthetic", _) => Ok(SourceSpec::Synthetic {
            sensor: Sensor::Lidar,
            scenes: SCENES,
            seed: 0,
        }),
        (_, ContentKind::Image) if path.is_dir() => Ok(SourceSpec::Images { path, repeat: false }),
        (_, _) if path.is_dir() => Ok(SourceSpec::Points {
            path,
            repeat: false,
            format: PointFormat::Kitti,
        }),
        _ => Err(WrongUse(format!(
            "--calibrate {text}: write synthetic, or a folder of the detector's frames"
        ))),
    }
}

impl Frames for DetectorFrames {
    fn advance(&mut self) -> Result<bool, String> {
        if self.left == 0
            || !self
                .source
                .acquire(&mut self.frame)
                .map_err(|error| error.to_string())?
        {
            return Ok(false);
        }
        self.left -= 1;
        self.source
            .decode(&mut self.frame)
            .map_err(|error| error.to_string())?;
        let inputs = self.slot.tensors_mut();
        self.preprocess
            .run(&self.frame, inputs, &mut self.carry)
            .map_err(|error| error.to_string())?;
        if self.executes {
            self.slot
                .submit()
                .and_then(|()| self.slot.wait())
                .map_err(|error| error.to_string())?;
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
        let detector = prepare::detector(&DetectorRef::Builtin("lidar".into())).expect("a detector");
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
    fn what_is_no_source_is_told() {
        let error = spec("nowhere", ContentKind::Image).expect_err("refused");
        assert!(
            error.to_string().contains("--calibrate nowhere: write synthetic"),
            "{error}"
        );
    }
}
