//! Run files that lost, doubled or swapped parts: none passes as whole, and what is read of one stands before the damage.

use jetlag::record::Completeness;

use super::run_bytes::{self, doubled, records, without, zeroed};
use super::{made, opened, written};
use crate::common::planned::Planned as _;

/// A closed file of several chunks.
struct File {
    bytes: Vec<u8>,
}

impl File {
    fn new() -> File {
        let bytes = written(&made::manifest(), &made::events(600));
        let file = File { bytes };
        assert!(file.chunks().len() > 5, "{}", file.chunks().len());
        file
    }

    /// The records of this kind, each from where to where.
    fn of(&self, opcode: u8) -> Vec<std::ops::Range<usize>> {
        run_bytes::of(&self.bytes, opcode)
    }

    fn chunks(&self) -> Vec<std::ops::Range<usize>> {
        self.of(mcap::records::op::CHUNK)
    }

    /// A chunk with the indexes of its messages.
    fn stretch(&self, number: usize) -> std::ops::Range<usize> {
        let chunks = self.chunks();
        let end = chunks.get(number + 1).map_or_else(
            || self.of(mcap::records::op::DATA_END)[0].start,
            |next| next.start,
        );
        chunks[number].start..end
    }

    /// As a kill leaves it: without its closing index.
    fn unclosed(&self) -> Vec<u8> {
        self.bytes[..self.of(mcap::records::op::DATA_END)[0].start].to_vec()
    }
}

/// What reading says of it, "cut" where it is a file that was not closed; none where it passes as whole.
fn said(bytes: &[u8]) -> Option<String> {
    let mut reader = match opened(bytes) {
        Ok(reader) => reader,
        Err(error) => return Some(error.to_string()),
    };
    let events = made::events(600);
    let mut got = Vec::new();
    for event in reader.by_ref() {
        match event {
            Ok(event) => got.push(event),
            Err(error) => {
                // A channel that had nothing in what is missing may go on, until another's message is missed.
                assert!(got.len() <= events.len(), "no event twice");
                return Some(error.to_string());
            }
        }
    }
    match reader.completeness() {
        Completeness::Whole => {
            assert!(
                got == events,
                "{} of {} events, and called whole",
                got.len(),
                events.len()
            );
            None
        }
        Completeness::Truncated { .. } => {
            assert!(events.starts_with(&got), "cut");
            Some("cut".to_owned())
        }
    }
}

#[track_caller]
fn tells(bytes: &[u8], words: &str) {
    let said = said(bytes).expect("a damaged file passes as whole");
    assert!(said.contains(words), "{said}");
}

#[test]
fn the_file_itself_is_whole() {
    assert_eq!(said(&File::new().bytes), None);
}

#[test]
fn one_flipped_bit_in_a_chunks_operation_code() {
    let file = File::new();
    for chunk in file.chunks() {
        for bit in 0..8 {
            let mut bytes = file.bytes.clone();
            bytes[chunk.start] ^= 1 << bit;
            assert!(said(&bytes).is_some_and(|said| said != "cut"), "bit {bit}");
        }
    }
}

#[test]
fn a_chunk_that_is_missing_doubled_or_elsewhere() {
    let file = File::new();
    let last = file.chunks().len() - 1;
    for bytes in [&file.bytes, &file.unclosed()] {
        for number in 0..last {
            for range in [file.stretch(number), file.chunks()[number].clone()] {
                // Later chunks lack what it told of a channel, or a message before theirs.
                let missing = said(&without(bytes, range.clone())).unwrap();
                assert!(
                    missing.contains("is expected") || missing.contains("not declared"),
                    "{missing}"
                );
                tells(&doubled(bytes, range), "is expected");
            }
            let (one, other) = (file.stretch(number), file.stretch(number + 1));
            let swapped = [
                &bytes[..one.start],
                &bytes[other.clone()],
                &bytes[one],
                &bytes[other.end..],
            ];
            let swapped = said(&swapped.concat()).unwrap();
            assert!(
                swapped.contains("is expected") || swapped.contains("not declared"),
                "{swapped}"
            );
        }
        tells(&doubled(bytes, file.stretch(last)), "is expected");
    }
    // Of the last one only the closing index knows, so a file that has none is called cut anyway.
    tells(
        &without(&file.bytes, file.stretch(last)),
        "the data before the closing index",
    );
    tells(&without(&file.unclosed(), file.stretch(last)), "cut");
}

/// Files before 1.6, and those that other programs wrote, have no checksum over all.
#[test]
fn without_a_checksum_over_all_the_index_still_counts() {
    let file = File::new();
    let last = file.chunks().len() - 1;
    let end = file.of(mcap::records::op::DATA_END)[0].clone();
    let unchecked = zeroed(&file.bytes, end.start + 9..end.end);
    assert_eq!(said(&unchecked), None);
    tells(
        &without(&unchecked, file.stretch(last)),
        "chunks, but the file has",
    );
    // As many chunks, and fewer messages.
    let empty = [&[6, 40, 0, 0, 0, 0, 0, 0, 0][..], &[0; 40]].concat();
    let gone = file.stretch(last);
    let filled = [&unchecked[..gone.start], &empty, &unchecked[gone.end..]].concat();
    tells(&filled, "messages, but the file has");
}

#[test]
fn a_stretch_of_zeros() {
    let file = File::new();
    for bytes in [&file.bytes, &file.unclosed()] {
        for number in 0..file.chunks().len() {
            let chunk = file.chunks()[number].clone();
            let middle = (chunk.start + chunk.end) / 2;
            tells(&zeroed(bytes, chunk.clone()), "there are zeros where");
            tells(&zeroed(bytes, middle..middle + 64), "is damaged after");
            tells(&zeroed(bytes, middle..chunk.end + 20), "is damaged after");
        }
    }
    // After a power cut, a file often ends in zeros.
    for zeros in [1, 8, 9, 4096] {
        let said = said(&[file.unclosed(), vec![0; zeros]].concat()).unwrap();
        assert!(
            zeros < 9 && said == "cut" || said.contains("there are zeros"),
            "{said}"
        );
    }
}

#[test]
fn a_chunk_without_its_checksum_or_of_another_size() {
    let file = File::new();
    for chunk in file.chunks() {
        let crc = chunk.start + 9 + 24..chunk.start + 9 + 28;
        tells(&zeroed(&file.bytes, crc.clone()), "no checksum");
        // Nor may what it no longer covers be taken for what was written.
        let mut bytes = zeroed(&file.bytes, crc);
        bytes[chunk.end - 4] ^= 0xff;
        assert!(said(&bytes).is_some());
        let mut bytes = file.bytes.clone();
        bytes[chunk.start + 9 + 16] ^= 1;
        assert!(said(&bytes).is_some_and(|said| said.contains("is damaged after")));
    }
}

#[test]
fn a_closing_index_that_is_missing_damaged_or_of_another_file() {
    let file = File::new();
    let of = |opcode| file.of(opcode)[0].clone();
    use mcap::records::op;
    for opcode in [
        op::STATISTICS,
        op::SCHEMA,
        op::CHANNEL,
        op::CHUNK_INDEX,
        op::SUMMARY_OFFSET,
    ] {
        tells(
            &without(&file.bytes, of(opcode)),
            "the closing index has the checksum",
        );
        tells(&zeroed(&file.bytes, of(opcode)), "there are zeros");
    }
    let footer = of(op::FOOTER);
    tells(
        &zeroed(&file.bytes, footer.end - 4..footer.end),
        "the closing index has the checksum",
    );
    tells(&without(&file.bytes, of(op::DATA_END)), "between chunks");
    tells(
        &without(&file.bytes, of(op::DATA_END).start..footer.start),
        "between chunks",
    );
    tells(&file.bytes[..footer.start], "cut");
    tells(&file.bytes[..file.bytes.len() - 1], "cut");
    // The index of a shorter run behind the chunks of a longer one.
    let shorter = written(&made::manifest(), &made::events(500));
    let end = records(&shorter)
        .into_iter()
        .find(|(_, opcode)| *opcode == op::DATA_END)
        .unwrap();
    tells(
        &[&file.unclosed(), &shorter[end.0..]].concat(),
        "the data before the closing index",
    );
}

#[test]
fn what_follows_the_end_or_stands_where_it_may_not() {
    let file = File::new();
    tells(&[&file.bytes[..], &file.bytes].concat(), "does not end as");
    tells(&[&file.bytes[..], b"x"].concat(), "does not end as");
    let insert = |at: usize, record: &[u8]| [&file.bytes[..at], record, &file.bytes[at..]].concat();
    let chunk = file.chunks()[2].start;
    for opcode in [0x10, 0x7f, 0x80, 0xff] {
        tells(
            &insert(chunk, &[opcode, 0, 0, 0, 0, 0, 0, 0, 0]),
            "the operation code",
        );
    }
    // Records that no checksum covers: a message outside of a chunk, a second header.
    let first = file.of(mcap::records::op::HEADER)[0].clone();
    tells(
        &insert(chunk, &file.bytes[first]),
        "operation code 0x01 between chunks",
    );
    let message = [&[5, 22, 0, 0, 0, 0, 0, 0, 0][..], &[0; 22]].concat();
    tells(&insert(chunk, &message), "operation code 0x05 between chunks");
    let index = file.of(mcap::records::op::STATISTICS)[0].start;
    tells(
        &insert(index, &file.bytes[file.chunks()[0].clone()]),
        "in the closing index",
    );
}

/// A chunk that was made anew, with a right checksum, from fewer messages or without a channel's description.
#[test]
fn a_message_taken_out_of_a_chunk() {
    let file = File::new();
    let chunk = file.chunks()[0].clone();
    let content = run_bytes::content(&file.bytes, chunk.clone());
    // Only the checksum over all could tell that this is not what was written, and it is left out.
    let made_anew = |content: &[u8]| run_bytes::made_anew(&file.bytes, chunk.clone(), content);
    assert_eq!(said(&made_anew(&content)), None);
    let mut at = 0;
    while at < content.len() {
        let length = u64::from_le_bytes(content[at + 1..at + 9].try_into().unwrap());
        let record = at..at + 9 + length as usize;
        let words: &[&str] = match content[at] {
            // Of the last one of its channel only the closing index knows.
            mcap::records::op::MESSAGE => &["is expected", "the closing index counts"],
            // Its messages are then of no channel.
            mcap::records::op::CHANNEL => &["not declared before it"],
            _ => &[],
        };
        at = record.end;
        if words.is_empty() {
            continue;
        }
        let said = said(&made_anew(&without(&content, record))).unwrap();
        assert!(words.iter().any(|words| said.contains(words)), "{said}");
    }
    tells(
        &made_anew(&content[..content.len() - 3]),
        "is shorter than its fields",
    );
}

#[test]
fn a_manifest_with_one_bit_flipped() {
    let file = File::new();
    let manifest = file.of(mcap::records::op::METADATA)[0].clone();
    for at in manifest {
        for bit in [0, 3, 5] {
            let mut bytes = file.bytes.clone();
            bytes[at] ^= 1 << bit;
            assert!(
                said(&bytes).is_some_and(|said| said != "cut"),
                "byte {at}, bit {bit}"
            );
        }
    }
}

#[test]
fn a_report_of_such_a_file_has_a_finding_and_exit_code_4() {
    let mut manifest = made::manifest();
    manifest.plan().expect.clear();
    let bytes = written(&manifest, &made::events(600));
    let file = File { bytes };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.mcap");
    std::fs::write(&path, without(&file.bytes, file.stretch(3))).unwrap();
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_jetlag"))
        .args(["report", "--format", "json"])
        .arg(&path)
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(4));
    let summary: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let findings = summary["run"]["findings"].as_array().unwrap();
    let found = findings
        .iter()
        .find(|finding| finding["code"] == "truncated-file");
    let message = found.unwrap()["message"].as_str().unwrap();
    assert!(
        message.contains("is expected") || message.contains("not declared"),
        "{message}"
    );
}
