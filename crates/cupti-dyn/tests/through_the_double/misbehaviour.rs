//! A library that loses, changes and adds things: nothing breaks, and everything is counted.

use cupti_dyn::{Kind, Record};

use crate::scene::{ALL, activity, over, rest};

#[test]
fn dropped_records_are_counted() {
    over("misbehaviour::dropped_records_are_counted", &ALL, |scene| {
        let mut session = scene.session(&[Kind::CONCURRENT_KERNEL]);
        scene.control.tell("drop", 3);
        scene.kernels(5);
        session.read(drop);
        // It counts from zero each time.
        scene.control.tell("drop", 2);
        scene.kernels(4);
        let (records, ended) = rest(session);
        assert_eq!((records.len(), ended.loss.dropped), (4, 5));
        assert!(ended.loss.sentences()[0].starts_with("CUPTI dropped 5 records"));
    });
}

#[test]
fn stamps_that_were_lost_are_counted() {
    over("misbehaviour::stamps_that_were_lost_are_counted", &ALL, |scene| {
        let session = scene.session(&[Kind::CONCURRENT_KERNEL, Kind::MEMCPY]);
        scene.control.tell("zero_stamps", 2);
        scene.kernels(1);
        scene.control.emit(&activity(Kind::MEMCPY, 5, 6), b"", None);
        scene.kernels(1);
        let (records, ended) = rest(session);
        let lost: Vec<bool> = records.iter().map(Record::has_lost_stamps).collect();
        assert_eq!(lost, [true, true, false]);
        assert_eq!(ended.loss.counts.lost_stamps, 2);
        assert!(
            ended
                .loss
                .sentences()
                .join("\n")
                .contains("2 kernels, copies or fills have no stamps")
        );
    });
}

#[test]
fn a_kind_whose_records_are_shorter_than_any_release_has_them_is_refused() {
    let test = "misbehaviour::a_kind_whose_records_are_shorter_than_any_release_has_them_is_refused";
    over(test, &ALL, |scene| {
        scene.control.tell_of("length", Kind::CONCURRENT_KERNEL.0, 160);
        let session = scene.session(&[Kind::CONCURRENT_KERNEL, Kind::MEMCPY]);
        assert_eq!(session.enabled(), [Kind::MEMCPY]);
        let said = session.refused()[0].to_string();
        assert_eq!(
            said,
            "CONCURRENT_KERNEL: records of 160 bytes, and the oldest that are known have 168"
        );
        assert_eq!(scene.control.ask("enabled:10"), 0);
    });
}

#[test]
fn longer_records_are_read_as_far_as_they_are_known() {
    over(
        "misbehaviour::longer_records_are_read_as_far_as_they_are_known",
        &ALL,
        |scene| {
            scene.control.tell("longer", 120);
            let session = scene.session(&[Kind::CONCURRENT_KERNEL, Kind::MEMCPY]);
            scene.kernels(3);
            scene.control.emit(&activity(Kind::MEMCPY, 5, 6), b"", None);
            let (records, ended) = rest(session);
            assert_eq!(records.len(), 4);
            assert_eq!(records[2].device_span(), Some((1020, 1025)));
            assert_eq!(ended.loss.counts.longer, 4);
            assert!(ended.loss.is_none());
        },
    );
}

#[test]
fn records_of_unknown_kinds_are_passed_over_and_counted() {
    over(
        "misbehaviour::records_of_unknown_kinds_are_passed_over_and_counted",
        &ALL,
        |scene| {
            let session = scene.session(&[Kind::CONCURRENT_KERNEL]);
            scene.kernels(1);
            scene.control.tell_of("unknown", 4711, 48);
            scene.control.tell_of("unknown", 61, 1024);
            scene.control.tell_of("unknown", 4711, 48);
            scene.kernels(1);
            let (records, ended) = rest(session);
            assert_eq!(records.len(), 2);
            let counts = &ended.loss.counts.unknown_kinds;
            assert_eq!((counts[&Kind(4711)], counts[&Kind(61)]), (2, 1));
            assert!(
                ended
                    .loss
                    .sentences()
                    .join("\n")
                    .contains("2 records of kind 4711 were passed over")
            );
        },
    );
}

#[test]
fn a_record_of_which_nobody_knows_the_length_ends_its_buffer_and_the_next_is_read() {
    let test = "misbehaviour::a_record_of_which_nobody_knows_the_length_ends_its_buffer_and_the_next_is_read";
    over(test, &ALL, |scene| {
        let session = scene.session(&[Kind::CONCURRENT_KERNEL]);
        scene.kernels(2);
        scene.control.tell("stray", 9999);
        scene.kernels(2);
        session.flush(true).expect("flushed");
        scene.kernels(1);
        let (records, ended) = rest(session);
        assert_eq!(records.len(), 3);
        let counts = &ended.loss.counts;
        let kernel = scene
            .library
            .record_length(Kind::CONCURRENT_KERNEL)
            .expect("a length") as u64;
        assert_eq!((counts.stopped, counts.left_bytes), (1, 64 + 2 * kernel));
        assert!(ended.loss.sentences().join("\n").contains("kind 9999 at byte"));
    });
}

#[test]
fn a_buffer_that_ends_within_a_record_is_read_as_far_as_it_goes() {
    over(
        "misbehaviour::a_buffer_that_ends_within_a_record_is_read_as_far_as_it_goes",
        &ALL,
        |scene| {
            let session = scene.session(&[Kind::CONCURRENT_KERNEL]);
            scene.kernels(3);
            scene.control.tell("cut", 16);
            let (records, ended) = rest(session);
            assert_eq!(records.len(), 2);
            assert_eq!(ended.loss.counts.stopped, 1);
            assert!(!ended.loss.is_none());
            assert!(
                ended
                    .loss
                    .sentences()
                    .join("\n")
                    .contains("were not read to their end: CONCURRENT_KERNEL")
            );
        },
    );
}

#[test]
fn names_that_are_100_kb_long_or_no_utf8_are_taken() {
    over(
        "misbehaviour::names_that_are_100_kb_long_or_no_utf8_are_taken",
        &ALL,
        |scene| {
            let session = scene.session(&[Kind::CONCURRENT_KERNEL]);
            let kernel = activity(Kind::CONCURRENT_KERNEL, 1, 2);
            scene.control.emit(&kernel, &vec![b'x'; 100_000], None);
            scene.control.emit(&kernel, b"caf\xe9", None);
            scene.control.emit(&kernel, b"", None);
            let (records, ended) = rest(session);
            let names: Vec<Option<String>> = records
                .iter()
                .map(|record| match record {
                    Record::Kernel(kernel) => kernel.name.as_deref().map(str::to_owned),
                    other => panic!("{other:?}"),
                })
                .collect();
            assert_eq!(
                names[0].as_ref().map(String::len),
                Some(cupti_dyn::text::MOST_BYTES + '…'.len_utf8())
            );
            assert_eq!(names[1].as_deref(), Some("caf\u{fffd}"));
            assert_eq!(names[2], None);
            assert_eq!((ended.loss.cut_names, ended.loss.names_not_utf8), (1, 1));
        },
    );
}

#[test]
fn enum_values_that_came_later_keep_their_number_and_are_counted() {
    over(
        "misbehaviour::enum_values_that_came_later_keep_their_number_and_are_counted",
        &ALL,
        |scene| {
            let session = scene.session(&[Kind::MEMCPY]);
            let mut copy = activity(Kind::MEMCPY, 1, 2);
            (copy.what, copy.source) = (99, 77);
            scene.control.emit(&copy, b"", None);
            let (records, ended) = rest(session);
            let [Record::Copy(copy)] = records.as_slice() else {
                panic!("{records:?}")
            };
            assert_eq!((copy.kind.0, copy.source.0), (99, 77));
            assert_eq!(copy.kind.to_string(), "CopyKind 99");
            assert_eq!(ended.loss.counts.unknown_values, 2);
        },
    );
}
