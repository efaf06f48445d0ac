//! Reads frames before they are asked for, on a thread of its own, into buffers that go round.
//!
//! The buffers are as many as frames are read ahead, and one that is being filled. Once each has held the largest frame nothing is
//! allocated. Of frames that are larger than all this is for, fewer are read ahead, so that memory is bounded. The reader is told which frame is wanted next and goes on from there, so that frames
//! that are passed over are not read if that can still be helped.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, sync_channel};
use std::thread::JoinHandle;
use std::time::Instant;

use super::{SourceError, Store, Waits};

/// Bytes of the frames that were read and not yet asked for, about: with more, the reader waits. Four raw 4K images have 100 MB.
const MOST_BYTES: usize = 256 << 20;

/// A frame that was read.
struct Frame {
    /// How often the source had been rewound before.
    round: u64,
    /// Its number since then, counted through all repetitions.
    number: u64,
    raw: Vec<u8>,
    outcome: Result<(), SourceError>,
}

/// What the reader is told.
#[derive(Default)]
struct Wanted {
    round: AtomicU64,
    number: AtomicU64,
    /// Bytes of the frames on their way, which the near end subtracts.
    bytes: AtomicUsize,
}

/// The near end of the reader's thread.
pub(super) struct Ahead {
    wanted: Arc<Wanted>,
    round: u64,
    number: u64,
    /// Taken from the reader, and not yet asked for.
    held: Option<Frame>,
    /// `None` while it is being dropped.
    ends: Option<Ends>,
    reader: Option<JoinHandle<()>>,
    /// Ends a fetch that waits.
    stop: Option<Box<dyn FnOnce() + Send>>,
    waits: Waits,
}

struct Ends {
    full: Receiver<Frame>,
    empty: SyncSender<Frame>,
}

impl Ahead {
    /// Starts to read `store` from its first frame, as many `frames` ahead.
    ///
    /// # Errors
    /// No thread can be started.
    pub(super) fn start(mut store: Box<dyn Store>, frames: u32, repeat: bool) -> Result<Ahead, SourceError> {
        let buffers = frames as usize + 1;
        let (give_full, full) = sync_channel(buffers);
        let (empty, take_empty) = sync_channel(buffers);
        for _ in 0..buffers {
            let buffer = Frame {
                round: 0,
                number: 0,
                raw: Vec::new(),
                outcome: Ok(()),
            };
            // There is room for all of them.
            let _ = empty.try_send(buffer);
        }
        let wanted = Arc::new(Wanted::default());
        let told = Arc::clone(&wanted);
        let stop = store.stop();
        let reader = std::thread::Builder::new()
            .name("jetlag-read".to_owned())
            .spawn(move || {
                stand_behind();
                read(store.as_mut(), repeat, &told, buffers, &take_empty, &give_full);
            })
            .map_err(SourceError::NoThread)?;
        Ok(Ahead {
            wanted,
            round: 0,
            number: 0,
            held: None,
            ends: Some(Ends { full, empty }),
            reader: Some(reader),
            stop,
            waits: Waits::default(),
        })
    }

    /// The bytes of the next frame, in place of those in `raw`. Waits for them if they are not there yet.
    pub(super) fn take(&mut self, raw: &mut Vec<u8>) -> Result<(), SourceError> {
        let mut frame = match self.there() {
            Some(frame) => frame,
            None => {
                let began = Instant::now();
                let frame = self.awaited()?;
                self.waits.note(began.elapsed());
                frame
            }
        };
        self.want(self.round, self.number + 1);
        std::mem::swap(&mut frame.raw, raw);
        let outcome = std::mem::replace(&mut frame.outcome, Ok(()));
        self.give_back(frame);
        outcome
    }

    /// Passes over the next `frames` frames.
    pub(super) fn skip(&mut self, frames: u64) {
        self.want(self.round, self.number.saturating_add(frames));
        self.held = self.there();
    }

    /// Goes back to the first frame.
    pub(super) fn rewind(&mut self) {
        self.want(self.round + 1, 0);
        self.held = self.there();
    }

    pub(super) fn take_waits(&mut self) -> Waits {
        std::mem::take(&mut self.waits)
    }

    fn want(&mut self, round: u64, number: u64) {
        (self.round, self.number) = (round, number);
        // The number first: a reader that sees the new round sees no number of the old one.
        self.wanted.number.store(number, Ordering::Release);
        self.wanted.round.store(round, Ordering::Release);
    }

    /// The next frame, if it was read already; buffers of frames that nobody wants any more go back to the reader.
    fn there(&mut self) -> Option<Frame> {
        loop {
            let frame = match self.held.take() {
                Some(frame) => frame,
                None => match self.ends.as_ref()?.full.try_recv() {
                    Ok(frame) => self.came(frame),
                    Err(TryRecvError::Empty | TryRecvError::Disconnected) => return None,
                },
            };
            if (frame.round, frame.number) == (self.round, self.number) {
                return Some(frame);
            }
            self.give_back(frame);
        }
    }

    fn awaited(&mut self) -> Result<Frame, SourceError> {
        loop {
            let full = self.ends.as_ref().map(|ends| &ends.full);
            let frame = full
                .and_then(|full| full.recv().ok())
                .ok_or(SourceError::ReaderDied)?;
            let frame = self.came(frame);
            if (frame.round, frame.number) == (self.round, self.number) {
                return Ok(frame);
            }
            self.give_back(frame);
        }
    }

    fn came(&self, frame: Frame) -> Frame {
        self.wanted.bytes.fetch_sub(frame.raw.len(), Ordering::AcqRel);
        frame
    }

    fn give_back(&self, frame: Frame) {
        if let Some(ends) = &self.ends {
            // There is room for all of them; a reader that died needs none.
            let _ = ends.empty.try_send(frame);
        }
    }
}

impl Drop for Ahead {
    fn drop(&mut self) {
        // Without the channels the reader ends, at the latest when it has read its frame.
        self.ends = None;
        if let Some(stop) = self.stop.take() {
            stop();
        }
        if let Some(reader) = self.reader.take() {
            let _ = reader.join();
        }
    }
}

/// Batch threads have their share of the processors, but take none from a thread that runs when they are woken. A frame that takes its
/// bytes wakes this one; without this it waited on its own processor until the next frame was read.
#[allow(unsafe_code, reason = "no library that is used here asks this of the system")]
fn stand_behind() {
    let batch = libc::sched_param { sched_priority: 0 };
    // SAFETY: `batch` is read during the call, which changes how this thread (0) is scheduled and nothing else.
    if unsafe { libc::sched_setscheduler(0, libc::SCHED_BATCH, &raw const batch) } != 0 {
        let error = std::io::Error::last_os_error();
        log::debug!("frames are read ahead by a thread that takes the processor when it is woken: {error}");
    }
}

fn read(
    store: &mut dyn Store,
    repeat: bool,
    wanted: &Wanted,
    buffers: usize,
    empty: &Receiver<Frame>,
    full: &SyncSender<Frame>,
) {
    let length = store.length() as u64;
    let (mut round, mut number) = (0, 0);
    // The most that a frame had so far: buffers are as large before they are filled, and grow no more.
    let mut largest: usize = 0;
    // Buffers that are not filled for now, because those that are hold enough.
    let mut spare = Vec::with_capacity(buffers);
    while let Ok(frame) = empty.recv() {
        spare.push(frame);
        while wanted.bytes.load(Ordering::Acquire) <= MOST_BYTES
            && let Some(mut frame) = spare.pop()
        {
            let current = wanted.round.load(Ordering::Acquire);
            if current != round {
                (round, number) = (current, 0);
            }
            number = number.max(wanted.number.load(Ordering::Acquire));
            (frame.round, frame.number) = (round, number);
            let index = match repeat {
                true => number.checked_rem(length),
                false => Some(number).filter(|number| *number < length),
            };
            // Past the end the buffers wait on the other side until the source is rewound.
            if let Some(index) = index {
                match largest.saturating_mul(buffers) <= MOST_BYTES {
                    true => frame.raw.reserve(largest.saturating_sub(frame.raw.len())),
                    false => frame.raw = Vec::new(),
                }
                frame.outcome = store.fetch_over(index as usize, &mut frame.raw);
                largest = largest.max(frame.raw.len());
            } else {
                frame.raw.clear();
            }
            number += 1;
            wanted.bytes.fetch_add(frame.raw.len(), Ordering::AcqRel);
            if full.send(frame).is_err() {
                return;
            }
        }
    }
}
