use jetlag_record::activity::{OnStream, Owner};
use jetlag_record::{Activity, Launch};
use proptest::prelude::*;

use super::*;

fn began() -> Began {
    Began {
        version: VERSION.to_owned(),
        process: 7,
        parent: 3,
        arguments: vec!["python3".to_owned(), "a.py".to_owned()],
        at_ns: 11,
        not_written: not_written(0),
    }
}

fn raw(from: i64, name: Option<u32>, work: Work, node: u64) -> Raw {
    Raw {
        activity: Activity {
            from: Stamp(from),
            to: Stamp(from + 5),
            name,
            owner: Owner::default(),
            work,
        },
        node,
    }
}

fn kernel(from: i64, name: u32, node: u64) -> Raw {
    let work = Work::Kernel {
        on: OnStream::default(),
        correlation: 1,
        graph: u32::from(node != 0),
    };
    raw(from, Some(name), work, node)
}

fn range(from: i64, name: u32) -> Raw {
    let work = Work::Range {
        thread: 9,
        domain: Some(1 << 20),
        payload: Some(4),
    };
    raw(from, Some(name), work, 0)
}

/// Everything that a spool may hold.
fn whole() -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut writer = Writer::new(&mut bytes, &began());
    let name = |number, text: &str, launch| Definition {
        number,
        text: text.to_owned(),
        launch,
    };
    writer.names(vec![
        name(0, "_Z4convIfEvPT_", Some(Launch::default())),
        name(1 << 20, "domain", None),
        name((1 << 20) + 1, "range", None),
    ]);
    writer.note(&Note::Nodes(vec![Node::Made(5, 9, 100), Node::Cloned(15, 5)]));
    writer.activities(&[kernel(100, 0, 0), kernel(200, 0, 15)]);
    writer.activities(&[range(90, (1 << 20) + 1)]);
    writer.note(&Note::Started);
    writer.activities(&[range(91, (1 << 20) + 1)]);
    writer.activities(&[range(92, 77)]);
    writer.trace(&TraceRecord {
        tracer: "first".to_owned(),
        ..TraceRecord::default()
    });
    writer.trace(&TraceRecord {
        tracer: "last".to_owned(),
        ..TraceRecord::default()
    });
    writer.note(&Note::Untraced("no driver".to_owned()));
    let counts = Counts {
        lost: 1,
        unbalanced: 2,
        not_kept: 3,
        of_children: 4,
        not_written: 0,
    };
    writer.note(&Note::Counts(counts));
    writer.note(&Note::Ended);
    writer.flush().unwrap();
    bytes
}

#[test]
fn what_was_not_written_takes_the_place_of_a_number_that_was() {
    let mut bytes = Vec::new();
    let mut began = began();
    began.arguments.push("\"not_written\":\"".to_owned());
    let mut writer = Writer::new(&mut bytes, &began);
    let at = usize::try_from(writer.digits_at().unwrap()).unwrap();
    writer.flush().unwrap();
    for ranges in [0, 182_355, u64::MAX] {
        let digits = not_written(ranges);
        bytes[at..at + digits.len()].copy_from_slice(digits.as_bytes());
        let found = read(bytes.as_slice(), 1).unwrap().unwrap();
        assert_eq!((found.counts.not_written, found.broken), (ranges, None));
        assert_eq!(found.began.arguments, began.arguments);
    }
}

#[test]
fn what_a_process_passes_on_arrives() {
    let found = read(whole().as_slice(), 2).unwrap().unwrap();
    assert_eq!(found.began, began());
    let nodes: Vec<u64> = found.gathered.all.iter().map(|raw| raw.node).collect();
    assert_eq!(nodes, [0, 15]);
    let names = found.gathered.names.definitions();
    let first = 2 << 20;
    assert!(names.iter().map(|name| name.number).eq(first..first + 3));
    assert_eq!(names[0].text, "conv<float>");
    assert_eq!(found.gathered.all[1].activity.name, Some(first));
    assert_eq!(found.gathered.nodes[1], NodeEvent::Cloned { node: 15, of: 5 });
    let ranges: Vec<(bool, Option<u32>)> = found.ranges.iter().map(|r| (r.started, r.name)).collect();
    assert_eq!(
        ranges,
        [(false, Some(first + 2)), (true, Some(first + 2)), (false, None)],
        "a name that was never told is none"
    );
    assert_eq!(found.ranges[0].domain, Some(first + 1));
    assert_eq!(found.ranges[0].payload, Some(4));
    assert_eq!(found.trace.unwrap().tracer, "last");
    assert_eq!(found.untraced.as_deref(), Some("no driver"));
    assert_eq!(found.counts.unbalanced, 2);
    assert!(found.ended && found.broken.is_none());
}

#[test]
fn wherever_it_is_cut_what_came_before_is_there() {
    let bytes = whole();
    let mut known = 0;
    for length in 0..bytes.len() {
        let Some(found) = read(&bytes[..length], 0).unwrap() else {
            assert_eq!(known, 0);
            continue;
        };
        let now = found.gathered.all.len() + found.ranges.len();
        assert!(now >= known, "{length}");
        known = now;
        assert!(!found.ended);
    }
    assert_eq!(known, 5);
}

#[test]
fn moments_that_cannot_be_are_brought_into_what_can() {
    let mut bytes = Vec::new();
    let mut writer = Writer::new(&mut bytes, &began());
    let mut strange = range(0, 0);
    (strange.activity.from, strange.activity.to) = (Stamp(i64::MIN), Stamp(i64::MAX));
    let mut backwards = range(0, 0);
    (backwards.activity.from, backwards.activity.to) = (Stamp(70), Stamp(7));
    writer.activities(&[strange, backwards]);
    writer.flush().unwrap();
    let found = read(bytes.as_slice(), 0).unwrap().unwrap();
    let spans: Vec<(i64, i64)> = found
        .ranges
        .iter()
        .map(|range| (range.from.0, range.to.0))
        .collect();
    assert_eq!(spans, [(0, LATEST), (70, 70)]);
}

#[test]
fn another_version_is_told_and_what_is_no_spool_is_none() {
    let mut bytes = Vec::new();
    let other = Began {
        version: "0.0.9".to_owned(),
        ..began()
    };
    Writer::new(&mut bytes, &other).flush().unwrap();
    assert_eq!(read(bytes.as_slice(), 0).unwrap_err(), "0.0.9");
    for garbage in [&b""[..], b"jetlag", b"\0\0\0\0\xff", &[0xff; 100]] {
        assert!(read(garbage, 0).unwrap().is_none());
    }
}

#[test]
fn a_name_that_is_no_text_or_endless_is_made_one() {
    assert_eq!(&*text(b"a\xffb"), "a\u{fffd}b");
    let long = text(&vec![b'x'; 1 << 20]);
    assert!(long.len() < (16 << 10) + 4 && long.ends_with('…'));
}

proptest! {
    #[test]
    fn any_bytes_are_read_without_panic(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        let _ = read(bytes.as_slice(), 0);
    }

    #[test]
    fn a_spool_with_wrong_bytes_is_read_without_panic(
        wrong in proptest::collection::vec((0usize..10_000, any::<u8>()), 1..20)
    ) {
        let mut bytes = whole();
        for (place, byte) in wrong {
            let place = place % bytes.len();
            bytes[place] = byte;
        }
        let _ = read(bytes.as_slice(), u16::MAX);
    }
}
