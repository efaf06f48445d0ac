//! The hot path's way to the recorder: bounded lock-free queues, and a count of what found them full.
//!
//! A pipeline thread pushes plain values and never waits for the disk. Each thread has queues of its own
//! (single producer, single consumer), so nothing is shared between tenants. When the recorder falls behind
//! and a queue is full, the record is counted as lost and the run goes on.

use std::mem::MaybeUninit;

use rtrb::{Consumer, Producer, RingBuffer};

use crate::detector::Detection;
use crate::record::{DetectionsRecord, FrameRecord};
use crate::units::Stamp;

/// Frame records that fit between two visits of the recorder (10 ms apart): 800 000 frames a second.
const FRAME_CAPACITY: usize = 1 << 13;
/// Detections that fit between two visits of the recorder.
const DETECTION_CAPACITY: usize = 1 << 14;

/// One detection on its way, with what is needed to put its frame's list together again.
#[derive(Clone, Copy)]
pub struct DetectionItem {
    sequence: u64,
    source_index: u64,
    at: Stamp,
    /// How many of the same frame follow.
    following: u32,
    detection: Detection,
}

/// The writing ends of one pipeline thread.
pub struct RecordSink {
    frames: Producer<FrameRecord>,
    detections: Option<Producer<DetectionItem>>,
    lost: u64,
    lost_detections: u64,
}

/// The reading ends, for the recorder.
pub struct RecordFeed {
    frames: Consumer<FrameRecord>,
    detections: Option<Consumer<DetectionItem>>,
    gathered: DetectionsRecord,
}

/// A pair of connected ends; with `detections`, found objects travel too.
pub fn channel(tenant: u16, detections: bool) -> (RecordSink, RecordFeed) {
    let (frame_in, frame_out) = queue(FRAME_CAPACITY);
    let (detection_in, detection_out) = detections
        .then(|| queue(DETECTION_CAPACITY))
        .map_or((None, None), |(p, c)| (Some(p), Some(c)));
    (
        RecordSink {
            frames: frame_in,
            detections: detection_in,
            lost: 0,
            lost_detections: 0,
        },
        RecordFeed {
            frames: frame_out,
            detections: detection_out,
            gathered: DetectionsRecord {
                tenant,
                sequence: 0,
                source_index: 0,
                at: Stamp(0),
                detections: Vec::with_capacity(512),
            },
        },
    )
}

/// A queue whose memory is there from the start: touched page by page as it fills for the first time, it would put page
/// faults into frames, and make the process seem to grow for minutes.
fn queue<T: Copy>(capacity: usize) -> (Producer<T>, Consumer<T>) {
    let (mut producer, consumer) = RingBuffer::new(capacity);
    if let Ok(mut all) = producer.write_chunk_uninit(capacity) {
        let (first, second) = all.as_mut_slices();
        first.fill(MaybeUninit::zeroed());
        second.fill(MaybeUninit::zeroed());
    }
    (producer, consumer)
}

impl RecordSink {
    /// Records a frame: a copy into the queue.
    pub fn frame(&mut self, record: FrameRecord) {
        if self.frames.push(record).is_err() {
            self.lost += 1;
        }
    }
    /// Records what was found in a frame; all of it or, where the queue has no room, none.
    pub fn detections(&mut self, record: &FrameRecord, found: &[Detection]) {
        self.found(record.sequence, record.source_index, record.finished, found);
    }
    fn found(&mut self, sequence: u64, source_index: u64, at: Stamp, found: &[Detection]) {
        let Some(queue) = &mut self.detections else { return };
        let Ok(chunk) = queue.write_chunk_uninit(found.len()) else {
            self.lost_detections += 1;
            return;
        };
        let last = found.len().saturating_sub(1);
        chunk.fill_from_iter(found.iter().enumerate().map(|(i, &detection)| DetectionItem {
            sequence,
            source_index,
            at,
            following: (last - i) as u32,
            detection,
        }));
    }
    /// Passes on what another process found in a frame, as [`detections`](Self::detections) does.
    pub fn pass_on(&mut self, found: &DetectionsRecord) {
        self.found(found.sequence, found.source_index, found.at, &found.detections);
    }
    /// Frame records that found the queue full since this was last asked.
    pub fn take_lost(&mut self) -> u64 {
        std::mem::take(&mut self.lost)
    }
    /// Frames whose detections found the queue full since this was last asked.
    pub fn take_lost_detections(&mut self) -> u64 {
        std::mem::take(&mut self.lost_detections)
    }
}

/// What a feed is emptied into.
pub trait FeedSink {
    /// Queues the record of a frame.
    fn frame(&mut self, record: &FrameRecord);
    /// What was found in a frame.
    fn detections(&mut self, found: &DetectionsRecord);
}

impl RecordFeed {
    /// Hands over everything that has come in; returns how many frame records it was.
    pub fn drain(&mut self, sink: &mut impl FeedSink) -> usize {
        let waiting = self.frames.slots();
        if let Ok(chunk) = self.frames.read_chunk(waiting) {
            let (first, second) = chunk.as_slices();
            first.iter().chain(second).for_each(|record| sink.frame(record));
            chunk.commit_all();
        }
        if let Some(queue) = &mut self.detections {
            while let Ok(item) = queue.pop() {
                self.gathered.detections.push(item.detection);
                if item.following == 0 {
                    self.gathered.sequence = item.sequence;
                    self.gathered.source_index = item.source_index;
                    self.gathered.at = item.at;
                    sink.detections(&self.gathered);
                    self.gathered.detections.clear();
                }
            }
        }
        waiting
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::detector::{Box2d, Place};
    use crate::record::NO_CONTENT;

    #[derive(Default)]
    struct Kept {
        frames: Vec<u64>,
        lists: Vec<DetectionsRecord>,
    }

    impl FeedSink for Kept {
        fn frame(&mut self, record: &FrameRecord) {
            self.frames.push(record.sequence);
        }
        fn detections(&mut self, found: &DetectionsRecord) {
            self.lists.push(found.clone());
        }
    }

    fn frame(sequence: u64) -> FrameRecord {
        FrameRecord {
            tenant: 3,
            sequence,
            source_index: NO_CONTENT - sequence,
            started: Stamp(2),
            ..FrameRecord::completed(Stamp(1), Stamp(30 + sequence as i64))
        }
    }

    /// So many, told apart by their class.
    fn found(number: u16) -> Vec<Detection> {
        let one = |class| Detection::still(class, 0.5, Place::Image(Box2d::default()));
        (0..number).map(one).collect()
    }

    fn list(sequence: u64, number: u16) -> DetectionsRecord {
        DetectionsRecord {
            tenant: 3,
            sequence,
            source_index: NO_CONTENT - sequence,
            at: Stamp(30 + sequence as i64),
            detections: found(number),
        }
    }

    #[test]
    fn what_was_found_comes_out_frame_by_frame() {
        let (mut sink, mut feed) = channel(3, true);
        let mut kept = Kept::default();
        for (sequence, number) in [(1, 3), (2, 1), (3, 0)] {
            sink.frame(frame(sequence));
            sink.detections(&frame(sequence), &found(number));
        }
        assert_eq!(feed.drain(&mut kept), 3);
        sink.pass_on(&list(4, 2));
        assert_eq!(feed.drain(&mut kept), 0);
        assert_eq!(kept.frames, [1, 2, 3]);
        assert_eq!(kept.lists, [list(1, 3), list(2, 1), list(4, 2)]);
        assert_eq!((sink.take_lost(), sink.take_lost_detections()), (0, 0));
    }

    #[test]
    fn what_finds_a_queue_full_is_lost_as_a_whole_and_counted() {
        let (mut sink, mut feed) = channel(3, true);
        let mut kept = Kept::default();
        let fits = FRAME_CAPACITY as u64;
        (0..fits + 5).for_each(|sequence| sink.frame(frame(sequence)));
        let most = DETECTION_CAPACITY as u16;
        for (sequence, number) in [(0, most - 1), (1, 2), (2, 1), (3, 1), (4, 7)] {
            sink.detections(&frame(sequence), &found(number));
        }
        assert_eq!((sink.take_lost(), sink.take_lost_detections()), (5, 3));
        assert_eq!(feed.drain(&mut kept), FRAME_CAPACITY);
        assert_eq!(kept.frames, (0..fits).collect::<Vec<_>>());
        assert_eq!(kept.lists, [list(0, most - 1), list(2, 1)]);
        // There is room again, and no loss is told twice.
        sink.frame(frame(9));
        sink.detections(&frame(9), &found(1));
        assert_eq!((sink.take_lost(), sink.take_lost_detections()), (0, 0));
        assert_eq!(feed.drain(&mut kept), 1);
        assert_eq!(kept.lists.last(), Some(&list(9, 1)));
    }

    #[test]
    fn where_nobody_asked_for_detections_none_travel_and_none_are_lost() {
        let (mut sink, mut feed) = channel(3, false);
        let mut kept = Kept::default();
        sink.detections(&frame(1), &found(3));
        feed.drain(&mut kept);
        assert_eq!((kept.lists.len(), sink.take_lost_detections()), (0, 0));
    }
}
