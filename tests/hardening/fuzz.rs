//! Each input of `inputs`, read as it lies in fuzz/corpus and changed at random. The long way, which sees what the code does with
//! the bytes, is scripts/hardening/fuzz.sh.

use std::fs;
use std::path::Path;

use super::campaign::{Campaign, Random};
use super::inputs::{INPUTS, decoded};

fn corpus(name: &str) -> Vec<Vec<u8>> {
    let folder = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/fuzz/corpus")).join(name);
    let files = fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut paths: Vec<_> = files.map(|file| file.unwrap().path()).collect();
    paths.sort();
    paths.iter().map(|path| fs::read(path).unwrap()).collect()
}

/// One of them with a few changes.
fn changed(corpus: &[Vec<u8>], random: &mut Random) -> Vec<u8> {
    let mut bytes = corpus[random.below(corpus.len())].clone();
    for _ in 0..random.below(6) {
        if bytes.is_empty() {
            break;
        }
        let range = random.range(bytes.len(), 16);
        match random.below(5) {
            0 => bytes[range.start] = random.byte(),
            1 => bytes[range].fill([0, 0xff, b'9', b'['][random.below(4)]),
            2 => drop(bytes.drain(range)),
            3 => {
                let part = bytes[range.clone()].to_vec();
                bytes.splice(range.end..range.end, part);
            }
            _ => {
                let other = &corpus[random.below(corpus.len())];
                let part = match other.len() {
                    0 => Vec::new(),
                    length => other[random.range(length, 64)].to_vec(),
                };
                bytes.splice(range, part);
            }
        }
    }
    bytes
}

#[test]
fn inputs() {
    // One of them, as under libFuzzer, or all.
    let asked = std::env::var("JETLAG_FUZZ").ok();
    let is_asked = |name: &str| asked.as_deref().is_none_or(|asked| asked == name);
    for (name, read) in INPUTS.into_iter().filter(|(name, _)| is_asked(name)) {
        let corpus = corpus(name);
        assert!(!corpus.is_empty(), "{name} has no corpus");
        corpus.iter().for_each(|bytes| read(bytes));
        let mut campaign = Campaign::new(200);
        for (seed, mut random) in campaign.by_ref() {
            let bytes = changed(&corpus, &mut random);
            if let Err(panic) = std::panic::catch_unwind(|| read(&bytes)) {
                eprintln!("{name}, seed {seed}: {bytes:?}");
                std::panic::resume_unwind(panic);
            }
        }
        println!(
            "{name:<14} {:>9} times, 0 panics   {}",
            campaign.done(),
            campaign.seeds()
        );
    }
}

/// Else the fuzzer begins with nothing that gets past the spec.
#[test]
fn each_head_of_the_corpus_reads_its_outputs() {
    let corpus = corpus("heads");
    assert!(corpus.len() >= 16);
    let unread = corpus.iter().filter(|bytes| !decoded(bytes));
    let unread: Vec<_> = unread.map(|bytes| String::from_utf8_lossy(bytes)).collect();
    assert!(unread.is_empty(), "{unread:?}");
}
