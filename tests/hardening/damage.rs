//! Damaged run files through everything that reads them, under 1 GiB of memory: no panic, no abort, no hang, and nothing lost in
//! silence.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use jetlag::record::{Completeness, Event, Manifest, RunReader};
use mcap::records::op;

use super::campaign::{Campaign, Random};
use super::run_bytes;

/// A run file, and what is in it.
struct Original {
    bytes: Vec<u8>,
    manifest: Manifest,
    events: Vec<Event>,
}

fn originals() -> Vec<Original> {
    let records = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/records"));
    let folder = tempfile::tempdir().unwrap();
    let text = "Scenario(name: \"damaged\", duration: \"8s\", warmup: \"1s\", clock: Virtual, baseline: (alone: true), \
         tenants: [Tenant(name: \"a\", backend: Sim(Normal(mean: \"3ms\", sd: \"1ms\")), arrival: Periodic(hz: 100), \
         deadline: \"10ms\"), Tenant(name: \"b\", backend: Sim(Fixed(\"9ms\")), arrival: Poisson(hz: 70))])";
    fs::write(folder.path().join("s.ron"), text).unwrap();
    let run = folder.path().join("run.mcap");
    let made = Command::new(env!("CARGO_BIN_EXE_jetlag"))
        .current_dir(folder.path())
        .args(["run", "s.ron", "--quiet", "--out", "run.mcap"])
        .stdout(Stdio::null())
        .status()
        .unwrap();
    assert_eq!(made.code(), Some(0));
    let old = fs::read_dir(records).unwrap().map(|entry| entry.unwrap().path());
    let mut paths: Vec<_> = old
        .filter(|path| path.extension().is_some_and(|e| e == "mcap"))
        .collect();
    paths.sort();
    paths.push(run);
    let original = |path: &std::path::PathBuf| {
        let mut reader = RunReader::open(path).unwrap();
        let events = reader.by_ref().map(Result::unwrap).collect();
        assert_eq!(reader.completeness(), Completeness::Whole);
        Original {
            bytes: fs::read(path).unwrap(),
            manifest: reader.manifest().clone(),
            events,
        }
    };
    paths.iter().map(original).collect()
}

/// Bytes changed, and whether somebody made them fit again: then nothing can tell that they are not what was written.
struct Damaged {
    bytes: Vec<u8>,
    forged: bool,
}

/// Changes a few bytes: a bit, any value, an extreme, a stretch of zeros.
fn scribble(bytes: &mut [u8], random: &mut Random) {
    for _ in 0..=random.below(4) {
        let range = random.range(bytes.len(), 8);
        match random.below(4) {
            0 => bytes[range.start] ^= 1 << random.below(8),
            1 => bytes[range.start] = random.byte(),
            2 => bytes[range].fill([0xff, 0x7f, 0x80][random.below(3)]),
            _ => {
                let range = random.range(bytes.len(), 512);
                bytes[range].fill(0);
            }
        }
    }
}

fn damage(original: &[u8], random: &mut Random) -> Damaged {
    let mut bytes = original.to_vec();
    let length = bytes.len();
    let mut forged = false;
    match random.below(8) {
        0 | 1 => scribble(&mut bytes, random),
        2 => bytes.truncate(random.below(length)),
        3 => bytes = run_bytes::without(original, random.range(length, 4096)),
        4 => bytes = run_bytes::doubled(original, random.range(length, 4096)),
        5 => {
            // A whole record, somewhere else.
            let records = run_bytes::records(original);
            let at = |n: usize| records.get(n).map_or(length, |(at, _)| *at);
            let (one, other) = (random.below(records.len()), random.below(records.len()));
            let record = original[at(one)..at(one + 1)].to_vec();
            let to = at(other);
            bytes.splice(to..to, record);
        }
        // In a chunk that has a right checksum: what decodes messages and adds them up sees it.
        _ => {
            let chunks = run_bytes::of(original, op::CHUNK);
            let chunk = chunks[random.below(chunks.len())].clone();
            let mut content = run_bytes::content(original, chunk.clone());
            scribble(&mut content, random);
            bytes = run_bytes::made_anew(original, chunk, &content);
            forged = true;
        }
    }
    Damaged { bytes, forged }
}

/// What reads run files: the arguments, with the file's name `x.mcap`, and that of a whole one `whole.mcap`.
const READERS: [&[&str]; 12] = [
    &["report", "x.mcap"],
    &["report", "x.mcap", "--format", "json"],
    &["report", "x.mcap", "--html", "page.html"],
    &["report", "x.mcap", "whole.mcap", "--layers"],
    &["report", "x.mcap", "--compat", "trtexec10"],
    &["compare", "whole.mcap", "x.mcap"],
    &["export", "x.mcap", "--format", "csv", "-o", "tables"],
    &["export", "x.mcap", "--format", "perfetto", "-o", "trace"],
    &["export", "x.mcap", "--format", "markdown"],
    &["export", "x.mcap", "--format", "cvcuda", "-o", "benchmark"],
    &["monitor", "--replay", "x.mcap", "--format", "json"],
    &["inspect", "x.mcap"],
];

/// Whether the file passes as whole although something is missing or changed.
fn is_silent_loss(damaged: &Damaged, original: &Original) -> bool {
    let length = damaged.bytes.len() as u64;
    let Ok(mut reader) = RunReader::over(damaged.bytes.as_slice(), length, Path::new("x.mcap")) else {
        return false;
    };
    let mut events = Vec::new();
    for event in reader.by_ref() {
        match event {
            Ok(event) => events.push(event),
            Err(_) => return false,
        }
    }
    // As text, since a reading that is NaN is like no other.
    let same = || {
        *reader.manifest() == original.manifest && format!("{events:?}") == format!("{:?}", original.events)
    };
    !damaged.forged && reader.completeness() == Completeness::Whole && !same()
}

#[test]
fn damaged_files() {
    let originals = originals();
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("whole.mcap"), &originals.last().unwrap().bytes).unwrap();
    let mut campaign = Campaign::new(8);
    let (mut calls, mut silent, mut codes) = (0u64, Vec::new(), [0u64; 5]);
    for (seed, mut random) in campaign.by_ref() {
        let original = &originals[random.below(originals.len())];
        let damaged = damage(&original.bytes, &mut random);
        if is_silent_loss(&damaged, original) {
            silent.push(seed);
        }
        fs::write(folder.path().join("x.mcap"), &damaged.bytes).unwrap();
        for arguments in READERS {
            let output = Command::new("sh")
                .current_dir(folder.path())
                // In KiB. What is not done in ten minutes hangs.
                .args(["-c", "ulimit -v 1048576; exec timeout -s KILL 600 \"$@\"", "sh"])
                .arg(env!("CARGO_BIN_EXE_jetlag"))
                .args(arguments)
                .stdout(Stdio::null())
                .output()
                .unwrap();
            let said = String::from_utf8_lossy(&output.stderr);
            let code = output.status.code();
            assert!(
                matches!(code, Some(0..=4)) && !said.contains("panicked"),
                "seed {seed}, {arguments:?}: {:?}: {said}",
                output.status
            );
            calls += 1;
            codes[code.unwrap() as usize] += 1;
        }
    }
    println!(
        "{} damaged files, {calls} calls (exit codes 0 to 4: {codes:?}), 0 panics, aborts and hangs, {} silent losses   {}",
        campaign.done(),
        silent.len(),
        campaign.seeds()
    );
    assert_eq!(silent, [0u64; 0], "seeds of what was lost in silence");
}
