//! Frames one at a time through a detector on the cpu backend, as a tenant drives them: preprocess into the
//! slot, submit, wait, postprocess.

use jetlag::backend::cpu::CpuBackend;
use jetlag::backend::{Backend, BackendError, Program, Slot};
use jetlag::detector::{Carry, Detection, Detector};
use jetlag::source::{Frame, Source};

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
        detector.preprocess.run(frame, slot.tensors_mut(), carry).unwrap();
        slot.submit().unwrap();
        let times = slot.wait().unwrap();
        assert!(times.queue.is_some() && times.compute.is_some() && times.h2d.is_none());
        let mut found = Vec::new();
        detector
            .postprocess
            .run(slot.tensors(), carry, &mut found)
            .unwrap();
        found
    }
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
