//! What of a run file is on the disk when: where it is full, and before the file is finished.

use std::io::{self, Cursor, Seek, SeekFrom, Write};
use std::path::Path;

use jetlag::record::{Completeness, RecordError, RunReader, RunWriter};
use jetlag::units::Nanos;

use super::{NAME, made, read, written};

/// A disk with room for so many bytes.
struct SmallDisk {
    file: Cursor<Vec<u8>>,
    room: usize,
}

impl Write for SmallDisk {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        let left = self.room - self.file.get_ref().len().min(self.room);
        if left == 0 && !data.is_empty() {
            return Err(io::ErrorKind::StorageFull.into());
        }
        self.file.write(&data[..data.len().min(left)])
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Seek for SmallDisk {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.file.seek(to)
    }
}

#[test]
fn a_full_disk_stops_the_recording_and_spares_what_is_written() {
    let events = made::events(300);
    let size = written(&made::manifest(), &events).len();
    let mut readable = Vec::new();
    for room in [size / 4, size / 2, size - 30] {
        let mut disk = SmallDisk {
            file: Cursor::new(Vec::new()),
            room,
        };
        let mut writer = RunWriter::over(&mut disk, Path::new(NAME), &made::manifest()).unwrap();
        let failure = events.iter().find_map(|e| writer.write(e).err());
        if let Some(failure) = failure {
            assert!(matches!(failure, RecordError::Write { .. }), "{failure}");
            let words = failure.to_string();
            assert!(
                words.contains("made.mcap") && words.contains("Free some space"),
                "{words}"
            );
            assert!(matches!(
                writer.write(&events[0]),
                Err(RecordError::Stopped { .. })
            ));
            assert!(matches!(writer.finish(), Err(RecordError::Stopped { .. })));
        } else {
            assert!(
                matches!(writer.finish(), Err(RecordError::Write { .. })),
                "{room} of {size}"
            );
        }
        let (got, completeness) = read(disk.file.get_ref()).unwrap();
        assert!(events.starts_with(&got), "room for {room}");
        assert!(matches!(completeness, Completeness::Truncated { .. }));
        readable.push(got.len());
    }
    assert!(readable[0] > 0 && readable.is_sorted(), "{readable:?}");
    assert_eq!(readable[2], events.len(), "only the index did not fit");
}

#[test]
fn a_disk_without_any_room_is_an_error_at_once() {
    let disk = SmallDisk {
        file: Cursor::new(Vec::new()),
        room: 100,
    };
    let refused = RunWriter::over(disk, Path::new(NAME), &made::manifest())
        .err()
        .unwrap();
    assert!(
        refused
            .to_string()
            .contains("cannot write to the run file made.mcap"),
        "{refused}"
    );
    let folder = tempfile::tempdir().unwrap();
    let refused = RunWriter::create(folder.path(), &made::manifest()).err().unwrap();
    assert!(
        refused.to_string().contains("Name a file, not a folder"),
        "{refused}"
    );
}

#[test]
fn what_is_older_than_a_second_is_in_the_file_before_it_is_finished() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("killed.mcap");
    let mut writer = RunWriter::create(&path, &made::manifest()).unwrap();
    assert_eq!(
        RunReader::open(&path).unwrap().count(),
        0,
        "the manifest is there from the start"
    );
    for n in 0..100 {
        let record = made::frame(0, n);
        writer.frame(&record).unwrap();
        let oldest_missing = RunReader::open(&path).unwrap().count() as u64;
        let missing = record.finished - made::frame(0, oldest_missing.min(n)).finished;
        assert!(
            missing < Nanos::from_secs(1),
            "at frame {n}, {missing} are missing"
        );
    }
    // With no further record, time alone brings the rest out.
    let now = made::frame(0, 99).finished;
    writer.tick(now + Nanos::from_millis(2500)).unwrap();
    assert_eq!(RunReader::open(&path).unwrap().count(), 100);
    // A process that is killed runs no destructors.
    std::mem::forget(writer);
    let mut reader = RunReader::open(&path).unwrap();
    assert_eq!(reader.by_ref().filter(Result::is_ok).count(), 100);
    assert!(matches!(reader.completeness(), Completeness::Truncated { .. }));
}
