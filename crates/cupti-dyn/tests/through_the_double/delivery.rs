//! Buffers: many, from several threads, none left, late, never; the end in its order.

use std::time::Duration;

use cupti_dyn::{Error, Kind, Record, Session, Settings};

use crate::scene::{ALL, desktop, over, rest};

fn small(most_buffers: usize) -> Settings {
    Settings {
        buffer_bytes: 4096,
        most_buffers,
        ..Settings::default()
    }
}

#[test]
fn records_fill_many_buffers_and_none_is_lost_while_they_are_read() {
    over(
        "delivery::records_fill_many_buffers_and_none_is_lost_while_they_are_read",
        &ALL,
        |scene| {
            let mut session = scene.session_with(&small(64), &[Kind::CONCURRENT_KERNEL]);
            let mut starts = Vec::new();
            for turn in 0..50 {
                for at in 0..100 {
                    scene.kernel("kernel", 1 + turn * 100 + at, 2 + turn * 100 + at);
                }
                session.read(|record| starts.extend(record.device_span().map(|(start, _)| start)));
            }
            let loss = session.loss();
            let ended = session.finish(|record| starts.extend(record.device_span().map(|(start, _)| start)));
            assert_eq!(starts, (1..=5000).collect::<Vec<u64>>());
            assert!(ended.loss.is_none(), "{:?}", ended.loss.sentences());
            assert!(loss.pool.came_back > 100, "{loss:?}");
            assert_eq!(ended.loss.counts.records, 5000);
        },
    );
}

#[test]
fn a_reader_of_its_own_reads_what_several_threads_make() {
    over(
        "delivery::a_reader_of_its_own_reads_what_several_threads_make",
        &ALL,
        |scene| {
            let mut session = scene.session_with(&small(256), &[Kind::CONCURRENT_KERNEL]);
            let done = std::sync::atomic::AtomicUsize::new(0);
            let mut found = 0u64;
            std::thread::scope(|scope| {
                for _ in 0..4 {
                    scope.spawn(|| {
                        // Four buffers' worth each, and the reader is waited for.
                        scene.kernels(60);
                        done.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                    });
                }
                while done.load(std::sync::atomic::Ordering::Relaxed) < 4 {
                    session.wait(Duration::from_millis(5));
                    session.read(|_| found += 1);
                }
            });
            let ended = session.finish(|_| found += 1);
            assert_eq!(found, 240);
            assert!(ended.loss.is_none());
        },
    );
}

#[test]
fn where_no_buffer_is_left_records_are_dropped_counted_and_told() {
    over(
        "delivery::where_no_buffer_is_left_records_are_dropped_counted_and_told",
        &ALL,
        |scene| {
            let mut session = scene.session_with(&small(2), &[Kind::CONCURRENT_KERNEL]);
            scene.kernels(1000);
            assert!(scene.control.ask("empty") > 0);
            let mut found = 0;
            session.read(|_| found += 1);
            // There is room again.
            scene.kernels(3);
            session.flush(true).expect("flushed");
            session.read(|_| found += 1);
            let loss = session.loss();
            assert_eq!(found + loss.dropped, 1003);
            assert_eq!(loss.pool.none_left, scene.control.ask("empty"));
            let said = loss.sentences().join("\n");
            assert!(
                said.contains(&format!("CUPTI dropped {} records", loss.dropped)),
                "{said}"
            );
            assert!(said.contains("when all were in use"), "{said}");
            assert!(!loss.is_none());
            rest(session);
        },
    );
}

#[test]
fn buffers_that_come_back_after_the_end_are_counted_and_in_no_later_trace() {
    over(
        "delivery::buffers_that_come_back_after_the_end_are_counted_and_in_no_later_trace",
        &ALL,
        |scene| {
            let session = scene.session(&[Kind::CONCURRENT_KERNEL]);
            scene.kernels(5);
            scene.control.tell("keep", 1);
            let (records, ended) = rest(session);
            assert!(records.is_empty());
            assert_eq!(ended.loss.out, 1);
            assert!(ended.loss.sentences().join("\n").contains("gave none back"));
            // It comes when nobody waits for it.
            scene.control.tell("keep", 0);
            scene.control.flush();
            assert_eq!(scene.control.ask("handed_back"), 1);
            let session = scene.session(&[Kind::CONCURRENT_KERNEL]);
            scene.kernel("new", 1, 2);
            let (records, ended) = rest(session);
            assert_eq!(records.len(), 1);
            assert!(ended.loss.is_none());
        },
    );
}

#[test]
fn a_buffer_of_the_last_trace_that_comes_back_in_the_next_is_late() {
    over(
        "delivery::a_buffer_of_the_last_trace_that_comes_back_in_the_next_is_late",
        &ALL,
        |scene| {
            let session = scene.session(&[Kind::CONCURRENT_KERNEL]);
            scene.kernel("old", 1, 2);
            scene.control.tell("keep", 1);
            rest(session);
            let session = scene.session(&[Kind::CONCURRENT_KERNEL]);
            scene.control.tell("keep", 0);
            session.flush(true).expect("flushed");
            scene.kernel("new", 3, 4);
            let (records, ended) = rest(session);
            let names: Vec<_> = records
                .iter()
                .filter_map(|record| match record {
                    Record::Kernel(kernel) => kernel.name.as_deref(),
                    _ => None,
                })
                .collect();
            assert_eq!(names, ["new"]);
            assert_eq!(ended.loss.pool.late, 1);
            assert!(
                ended
                    .loss
                    .sentences()
                    .join("\n")
                    .contains("1 buffers came back after the trace had ended")
            );
        },
    );
}

#[test]
fn after_the_end_cupti_is_given_no_buffer() {
    over(
        "delivery::after_the_end_cupti_is_given_no_buffer",
        &ALL,
        |scene| {
            let session = scene.session(&[Kind::CONCURRENT_KERNEL]);
            rest(session);
            // A library that goes on all the same.
            scene.control.tell_of("unknown", 77, 64);
            assert_eq!(scene.control.ask("empty"), 1);
        },
    );
}

#[test]
fn the_end_gives_up_cuptis_place_and_a_trace_that_is_dropped_does_too() {
    over(
        "delivery::the_end_gives_up_cuptis_place_and_a_trace_that_is_dropped_does_too",
        &ALL,
        |scene| {
            let session = scene.session(&[Kind::CONCURRENT_KERNEL, Kind::MEMCPY]);
            assert_eq!(
                (scene.control.ask("subscribed"), scene.control.ask("enabled:10")),
                (1, 1)
            );
            let second = Session::open_on(scene.library, &Settings::default(), &desktop());
            assert!(matches!(second, Err(Error::AlreadyOpen)), "{second:?}");
            rest(session);
            assert_eq!(
                (scene.control.ask("subscribed"), scene.control.ask("enabled:10")),
                (0, 0)
            );
            drop(scene.session(&[Kind::MEMCPY]));
            assert_eq!(
                (scene.control.ask("subscribed"), scene.control.ask("enabled:1")),
                (0, 0)
            );
            rest(scene.session(&[Kind::MEMCPY]));
        },
    );
}

#[test]
fn a_reader_that_panics_loses_no_buffer() {
    over(
        "delivery::a_reader_that_panics_loses_no_buffer",
        &["13.0"],
        |scene| {
            let mut session = scene.session_with(&small(1), &[Kind::CONCURRENT_KERNEL]);
            scene.kernel("kernel", 1, 2);
            session.flush(true).expect("flushed");
            let read = std::panic::AssertUnwindSafe(|| session.read(|_| panic!("the reader's own")));
            std::panic::catch_unwind(read).expect_err("it panics");
            scene.kernel("kernel", 3, 4);
            let (records, ended) = rest(session);
            assert_eq!(records.len(), 1);
            assert_eq!(ended.loss.pool.none_left, 0);
        },
    );
}
