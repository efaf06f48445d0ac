//! Whatever the bytes are, walking over them neither panics nor hangs nor reads beyond them, and everything is counted.

use cupti_dyn::record::{Counts, read_buffer};
use cupti_dyn::sys::kinds;
use cupti_dyn::text::NoTexts;
use cupti_dyn::walk::Walk;
use cupti_dyn::{Kind, Record};
use proptest::prelude::*;

/// Lengths as a library of one release could have them: `more` bytes beyond the newest.
fn lengths(more: usize) -> impl Fn(Kind) -> Option<usize> + Copy {
    move |kind| {
        kind.row()
            .filter(|row| row.newest > 0)
            .map(|row| row.newest + more)
    }
}

fn read(bytes: &[u8], lengths: impl Fn(Kind) -> Option<usize>) -> (Vec<Record>, Counts) {
    let mut counts = Counts::default();
    let mut records = Vec::new();
    read_buffer(bytes, lengths, &mut NoTexts, &mut counts, &mut |record| {
        records.push(record)
    });
    (records, counts)
}

/// Records of kinds that are read, each of its length, with any content.
fn records() -> impl Strategy<Value = Vec<(Kind, Vec<u8>)>> {
    let known: Vec<(Kind, usize)> = kinds()
        .filter(|row| row.oldest > 0)
        .map(|row| (row.kind, row.newest))
        .collect();
    let one = proptest::sample::select(known)
        .prop_flat_map(|(kind, length)| (Just(kind), proptest::collection::vec(any::<u8>(), length)));
    proptest::collection::vec(one, 0..40)
}

/// A buffer of them, each with `more` bytes.
fn buffer(records: &[(Kind, Vec<u8>)], more: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (kind, content) in records {
        bytes.extend(kind.0.to_ne_bytes());
        bytes.extend(&content[4..]);
        bytes.extend(std::iter::repeat_n(0xee, more));
    }
    bytes
}

proptest! {
    #[test]
    fn random_bytes_are_read_or_left_and_nothing_else(
        bytes in proptest::collection::vec(any::<u8>(), 0..4096),
        lengths in proptest::collection::vec(proptest::option::of(0usize..300), 64),
    ) {
        let length = |kind: Kind| lengths.get(kind.0 as usize).copied().flatten();
        let (records, counts) = read(&bytes, length);
        prop_assert_eq!(records.len() as u64, counts.records);
        let mut walk = Walk::new(&bytes, length);
        let walked: usize = walk.by_ref().map(|raw| raw.bytes.len()).sum();
        let left = walk.stop().map_or(0, |stop| stop.left());
        prop_assert_eq!(walked + left, bytes.len());
        prop_assert_eq!(counts.left_bytes, left as u64);
    }

    #[test]
    fn kinds_that_are_common_are_read_whatever_they_hold(
        words in proptest::collection::vec(prop_oneof![0u32..64, any::<u32>()], 0..1024),
    ) {
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
        let (records, counts) = read(&bytes, lengths(0));
        prop_assert_eq!(records.len() as u64, counts.records);
    }

    #[test]
    fn whole_records_all_come_with_the_kind_that_they_are_of(wanted in records()) {
        let (found, counts) = read(&buffer(&wanted, 0), lengths(0));
        prop_assert_eq!(found.len(), wanted.len());
        for (record, (kind, _)) in found.iter().zip(&wanted) {
            let kind = if *kind == Kind::KERNEL { Kind::CONCURRENT_KERNEL } else { *kind };
            prop_assert_eq!(record.kind(), kind);
        }
        prop_assert_eq!((counts.stopped, counts.longer, counts.left_bytes), (0, 0, 0));
    }

    #[test]
    fn longer_records_are_read_as_far_as_they_are_known(wanted in records(), more in (1usize..20).prop_map(|n| n * 8)) {
        let (short, _) = read(&buffer(&wanted, 0), lengths(0));
        let (long, counts) = read(&buffer(&wanted, more), lengths(more));
        // Not compared as they are: payloads may be numbers that are not equal to themselves.
        prop_assert_eq!(format!("{short:?}"), format!("{long:?}"));
        prop_assert_eq!(counts.longer, wanted.len() as u64);
    }

    #[test]
    fn a_buffer_that_is_cut_loses_what_is_cut_and_says_so(wanted in records(), part in 0.0f64..1.0) {
        let bytes = buffer(&wanted, 0);
        let cut = (bytes.len() as f64 * part) as usize;
        let (whole, _) = read(&bytes, lengths(0));
        let (found, counts) = read(&bytes[..cut], lengths(0));
        prop_assert_eq!(format!("{:?}", &whole[..found.len()]), format!("{found:?}"));
        let read: usize = wanted[..found.len()].iter().map(|(_, content)| content.len()).sum();
        prop_assert_eq!(counts.left_bytes as usize, cut - read);
        prop_assert_eq!(counts.stopped, u64::from(cut > read));
    }

    #[test]
    fn records_of_older_releases_have_what_came_later_left_out(wanted in records()) {
        let oldest = |kind: Kind| kind.oldest();
        let mut bytes = Vec::new();
        for (kind, content) in &wanted {
            bytes.extend(kind.0.to_ne_bytes());
            bytes.extend(&content[4..kind.oldest().expect("it is read")]);
        }
        let (found, counts) = read(&bytes, oldest);
        prop_assert_eq!(found.len(), wanted.len());
        prop_assert!(counts.short.is_empty());
        for record in found {
            if let Record::Kernel(kernel) = record {
                prop_assert_eq!((kernel.channel, kernel.cluster_x, kernel.source_graph_node), (None, None, None));
            }
        }
    }

    #[test]
    fn records_shorter_than_the_oldest_are_refused_and_the_walk_goes_on(wanted in records(), less in 1usize..4) {
        let short = |kind: Kind| kind.oldest().map(|oldest| oldest - less * 4);
        let mut bytes = Vec::new();
        for (kind, content) in &wanted {
            bytes.extend(kind.0.to_ne_bytes());
            bytes.extend(&content[4..short(*kind).expect("it is read")]);
        }
        let (found, counts) = read(&bytes, short);
        prop_assert_eq!(found.len(), 0);
        prop_assert_eq!(counts.short.values().sum::<u64>(), wanted.len() as u64);
        prop_assert_eq!(counts.stopped, 0);
    }

    #[test]
    fn kinds_that_are_not_read_are_passed_over_and_counted(wanted in records(), kind in 60u32..10_000) {
        let stranger = (Kind(kind), vec![0xab; 48]);
        let mut mixed = Vec::new();
        for record in &wanted {
            mixed.extend([stranger.clone(), record.clone()]);
        }
        let known = lengths(0);
        let with_stranger = move |asked: Kind| if asked.0 == kind { Some(48) } else { known(asked) };
        let (found, counts) = read(&buffer(&mixed, 0), with_stranger);
        prop_assert_eq!(found.len(), wanted.len());
        prop_assert_eq!(counts.unknown_kinds.get(&Kind(kind)).copied().unwrap_or(0), wanted.len() as u64);
    }
}
