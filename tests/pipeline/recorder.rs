//! The recorder: all that came in is in the file and was shown, also where something cannot be written.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};

use jetlag::clock::RealClock;
use jetlag::detector::{Box2d, Detection, Place};
use jetlag::record::{Completeness, Event, FrameRecord, LogRecord, RecordError, RunReader, RunWriter};
use jetlag::tenant::recorder::{Recorder, Watcher};
use jetlag::tenant::recording;

use crate::run_file::made;

/// Writes down what it is shown.
struct Shown(Arc<Mutex<Vec<String>>>);

impl Watcher for Shown {
    fn frame(&mut self, record: &FrameRecord) {
        let line = format!("frame {} of {}", record.sequence, record.tenant);
        self.0.lock().unwrap().push(line);
    }
    fn event(&mut self, event: &Event) {
        let Event::Log(log) = event else {
            panic!("{event:?}");
        };
        self.0.lock().unwrap().push(log.message.clone());
    }
    fn tick(&mut self) {
        self.0.lock().unwrap().push("redraw".to_owned());
    }
}

fn log() -> Event {
    Event::Log(LogRecord {
        at: made::ANCHOR,
        level: "warn".to_owned(),
        message: "a line".to_owned(),
    })
}

struct Recorded {
    result: Result<(), RecordError>,
    stop: bool,
    shown: Vec<String>,
}

/// Records what these put in, which is done before the recorder begins.
fn recorded(path: &Path, frames: &[FrameRecord]) -> Recorded {
    let (mut sink, feed) = recording::channel(0, true);
    for record in frames {
        sink.frame(*record);
    }
    let found = Detection::still(4, 0.5, Place::Image(Box2d::default()));
    sink.detections(&frames[0], &[found]);
    let (notes, events) = channel();
    notes.send(log()).unwrap();
    let shown = Arc::default();
    let recorder = Recorder {
        writer: RunWriter::create(path, &made::manifest()).unwrap(),
        feeds: vec![feed],
        events,
        watcher: Box::new(Shown(Arc::clone(&shown))),
    };
    let stop = AtomicBool::new(false);
    let result = recorder.run(&RealClock, &AtomicBool::new(true), &stop);
    let shown = shown.lock().unwrap().clone();
    Recorded {
        result,
        stop: stop.load(Ordering::Relaxed),
        shown,
    }
}

fn read(path: &Path) -> (Vec<Event>, Completeness) {
    let mut reader = RunReader::open(path).unwrap();
    let events = reader.by_ref().map(Result::unwrap).collect();
    (events, reader.completeness())
}

#[test]
fn what_came_in_before_the_end_is_recorded_and_shown() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.mcap");
    let frames = [made::frame(0, 0), made::frame(1, 1)];
    let recorded = recorded(&path, &frames);
    recorded.result.unwrap();
    assert!(!recorded.stop);
    assert_eq!(
        recorded.shown,
        ["frame 0 of 0", "frame 1 of 1", "a line", "redraw"]
    );
    let (events, completeness) = read(&path);
    assert_eq!(completeness, Completeness::Whole);
    let [first, second, Event::Detections(found), last] = events.as_slice() else {
        panic!("{events:?}");
    };
    assert_eq!(
        [first, second],
        [&Event::Frame(frames[0]), &Event::Frame(frames[1])]
    );
    assert_eq!((found.sequence, found.detections.len()), (0, 1));
    assert_eq!(*last, log());
}

#[test]
fn after_an_error_nothing_is_written_all_is_shown_and_the_run_is_to_stop() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.mcap");
    // The manifest has two tenants.
    let recorded = recorded(&path, &[made::frame(0, 0), made::frame(7, 1), made::frame(1, 2)]);
    let error = recorded.result.unwrap_err();
    assert!(
        matches!(error, RecordError::UnknownTenant { tenant: 7, .. }),
        "{error}"
    );
    assert!(recorded.stop);
    assert_eq!(
        recorded.shown,
        ["frame 0 of 0", "frame 1 of 7", "frame 2 of 1", "a line", "redraw"]
    );
    let (events, _) = read(&path);
    assert_eq!(events, [Event::Frame(made::frame(0, 0))]);
}
