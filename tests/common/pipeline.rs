//! Frames one at a time through a detector on the cpu backend, as a tenant drives them: preprocess into the
//! slot, submit, wait, postprocess.

use std::path::Path;
use std::process::Command;

use jetlag::backend::cpu::CpuBackend;
use jetlag::backend::{Backend, BackendError, Program, Slot, StageTimes};
use jetlag::detector::{Carry, Detection, Detector};
use jetlag::source::{Frame, Source};
use serde_json::Value;

/// The only slot of a program on the cpu backend, or why there is none.
pub(crate) fn try_open_slot(program: &Program) -> Result<Box<dyn Slot>, BackendError> {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let mut slots = CpuBackend::new(threads, false).open(program, 1)?.slots;
    Ok(slots.pop().expect("one slot was asked for"))
}

/// A detector and the one slot that all its frames pass through, so that each also meets what the one before
/// it left behind.
pub(crate) struct Pipeline {
    pub(crate) detector: Detector,
    pub(crate) slot: Box<dyn Slot>,
    pub(crate) carry: Carry,
}

impl Pipeline {
    pub(crate) fn open(detector: Detector) -> Self {
        let slot = try_open_slot(&detector.program).unwrap();
        Pipeline {
            detector,
            slot,
            carry: Carry::default(),
        }
    }

    /// One frame; what was found.
    pub(crate) fn run(&mut self, frame: &Frame) -> Vec<Detection> {
        let Pipeline {
            detector,
            slot,
            carry,
        } = self;
        let (found, times) = through(detector, &mut **slot, carry, frame);
        assert!(times.queue.is_some() && times.compute.is_some() && times.h2d.is_none());
        found
    }
}

/// One frame through a detector and a slot of any backend; what was found, and what its stages took.
fn through(
    detector: &mut Detector,
    slot: &mut dyn Slot,
    carry: &mut Carry,
    frame: &Frame,
) -> (Vec<Detection>, StageTimes) {
    detector.preprocess.run(frame, slot.tensors_mut(), carry).unwrap();
    slot.submit().unwrap();
    let times = slot.wait().unwrap();
    let mut found = Vec::new();
    let read = detector.postprocess.run(slot.tensors(), carry, &mut found);
    read.unwrap_or_else(|error| panic!("{}: {error}", detector.name));
    (found, times)
}

/// What a detector finds in one frame by itself.
pub(crate) fn found_in(detector: &mut Detector, slot: &mut dyn Slot, frame: &Frame) -> Vec<Detection> {
    through(detector, slot, &mut Carry::default(), frame).0
}

/// What a script of tests/python that decodes by itself says of a question.
pub(crate) fn numpy(python: &Path, script: &str, folder: &Path, question: &Value) -> Value {
    let file = folder.join("question.json");
    std::fs::write(&file, question.to_string()).unwrap();
    let script = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/python")
        .join(script);
    let output = Command::new(python).arg(script).arg(&file).output().unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    serde_json::from_slice(&output.stdout).unwrap()
}

/// The frame of a source at this index, acquired and decoded as in a run.
pub(crate) fn frame_at(source: &mut dyn Source, index: usize) -> Frame {
    let mut frame = Frame::default();
    for _ in 0..=index {
        assert!(source.acquire(&mut frame).unwrap(), "the source ended early");
    }
    source.decode(&mut frame).unwrap();
    frame
}
