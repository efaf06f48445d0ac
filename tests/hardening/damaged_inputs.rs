//! Damaged bags, datasets, networks and journals through everything that reads them, under 1 GiB of memory: no panic, no abort, no hang,
//! and no message of a bag with checksums is lost in silence.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use super::campaign::{Campaign, Random};

/// Something whole, of which one file is damaged in each round.
struct Kind {
    name: &'static str,
    /// The files that may be damaged.
    files: Vec<PathBuf>,
    /// What reads it.
    readers: Vec<Vec<&'static str>>,
    /// Whether a copy that is made without a word is that of the whole: of bags with checksums.
    has_checksums: bool,
}

fn jetlag(folder: &Path, arguments: &[&str]) -> Output {
    Command::new("sh")
        .current_dir(folder)
        // In KiB. What is not done in ten minutes hangs.
        .args(["-c", "ulimit -v 1048576; exec timeout -s KILL 600 \"$@\"", "sh"])
        .arg(env!("CARGO_BIN_EXE_jetlag"))
        .args(arguments)
        .env_remove("RUST_LOG")
        .env("MALLOC_ARENA_MAX", "2")
        .stdout(Stdio::piped())
        .output()
        .unwrap()
}

#[track_caller]
fn made(folder: &Path, line: &str) {
    let arguments: Vec<&str> = line.split(' ').collect();
    let output = jetlag(folder, &arguments);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{line}: {said}");
}

/// All files in a folder and below it.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
            match entry.file_type().unwrap().is_dir() {
                true => folders.push(entry.path()),
                false => found.push(entry.path()),
            }
        }
    }
    found.sort();
    found
}

fn kinds(at: &Path) -> Vec<Kind> {
    made(
        at,
        "data synth --format nuscenes --out nuscenes --seconds 1 --seed 5",
    );
    made(at, "data synth --format kitti --out kitti --seed 5");
    made(at, "data convert nuscenes --out bag.mcap --compression zstd");
    made(at, "data convert nuscenes --out bag.db3");
    fs::copy("fuzz/corpus/onnx/lidar_encoder.onnx", at.join("network.onnx")).unwrap();
    let tenants = "tenants: [Tenant(name: \"a\", backend: Sim(Fixed(\"2ms\")), arrival: Periodic(hz: 50))]";
    let base = format!("Scenario(name: \"s\", duration: \"1s\", warmup: \"0s\", clock: Virtual, {tenants})");
    fs::write(at.join("base.ron"), base).unwrap();
    fs::write(
        at.join("s.ron"),
        "Sweep(base: \"base.ron\", axes: [Axis(set: \"tenants.a.arrival.hz\", values: [10, 20, 40])])",
    )
    .unwrap();
    made(at, "sweep s.ron -o sweep --quiet");
    let bag = |file: &'static str, has_checksums| Kind {
        name: file,
        files: vec![at.join(file)],
        readers: vec![
            vec!["inspect", file],
            vec!["data", "convert", file, "--out", "new.mcap", "--force"],
        ],
        has_checksums,
    };
    vec![
        bag("bag.mcap", true),
        bag("bag.db3", false),
        Kind {
            name: "nuscenes",
            files: files(&at.join("nuscenes")),
            readers: vec![
                vec!["inspect", "nuscenes"],
                vec!["data", "convert", "nuscenes", "--out", "new.mcap", "--force"],
            ],
            has_checksums: false,
        },
        Kind {
            name: "kitti",
            files: files(&at.join("kitti")),
            readers: vec![
                vec!["inspect", "kitti"],
                vec!["data", "convert", "kitti", "--out", "new.mcap", "--force"],
            ],
            has_checksums: false,
        },
        Kind {
            name: "network",
            files: vec![at.join("network.onnx")],
            readers: vec![
                vec!["inspect", "network.onnx"],
                vec!["init", "network.onnx", "--out", "new.ron", "--force"],
            ],
            has_checksums: false,
        },
        Kind {
            name: "sweep",
            files: ["journal.jsonl", "table.csv", "sweep.ron"]
                .map(|name| at.join("sweep").join(name))
                .into_iter()
                .filter(|file| file.is_file())
                .collect(),
            readers: vec![
                vec!["sweep", "sweep"],
                vec!["sweep", "s.ron", "-o", "sweep", "--quiet"],
            ],
            has_checksums: false,
        },
    ]
}

/// A few bytes changed, a part left out, doubled or cut off.
fn damaged(original: &[u8], random: &mut Random) -> Vec<u8> {
    let mut bytes = original.to_vec();
    if bytes.is_empty() {
        return vec![random.byte(); 10];
    }
    match random.below(6) {
        0 => bytes.truncate(random.below(bytes.len())),
        1 => drop(bytes.drain(random.range(original.len(), 4096))),
        2 => {
            let range = random.range(bytes.len(), 4096);
            let part = bytes[range.clone()].to_vec();
            bytes.splice(range.end..range.end, part);
        }
        3 => bytes[random.range(original.len(), 512)].fill(0),
        _ => {
            for _ in 0..=random.below(4) {
                bytes[random.below(original.len())] ^= 1 << random.below(8);
            }
        }
    }
    bytes
}

#[test]
fn damaged_inputs() {
    let folder = tempfile::tempdir().unwrap();
    for kind in kinds(folder.path()) {
        assert!(!kind.files.is_empty(), "{}", kind.name);
        let mut campaign = Campaign::new(3);
        let (mut calls, mut silent, mut codes) = (0u64, Vec::new(), [0u64; 5]);
        let copy = folder.path().join("new.mcap");
        let whole = kind.has_checksums.then(|| {
            made(folder.path(), &kind.readers[1].join(" "));
            fs::read(&copy).unwrap()
        });
        for (seed, mut random) in campaign.by_ref() {
            let file = &kind.files[random.below(kind.files.len())];
            let original = fs::read(file).unwrap();
            let bytes = damaged(&original, &mut random);
            fs::write(file, &bytes).unwrap();
            for reader in &kind.readers {
                let output = jetlag(folder.path(), reader);
                let said = String::from_utf8_lossy(&output.stderr);
                let code = output.status.code();
                assert!(
                    matches!(code, Some(0..=4)) && !said.contains("panicked"),
                    "{}, seed {seed}, {reader:?}: {:?}: {said}",
                    kind.name,
                    output.status
                );
                calls += 1;
                codes[code.unwrap() as usize] += 1;
                // What was changed may be of no matter: where a reader is told, or what lies between records.
                let is_copied = code == Some(0) && reader[0] == "data";
                if is_copied
                    && whole
                        .as_ref()
                        .is_some_and(|whole| fs::read(&copy).unwrap() != *whole)
                {
                    silent.push(seed);
                }
            }
            fs::write(file, &original).unwrap();
            // What a reader has written is not the next one's.
            if kind.name == "sweep" {
                fs::remove_dir_all(folder.path().join("sweep")).unwrap();
                made(folder.path(), "sweep s.ron -o sweep --quiet");
            }
        }
        println!(
            "{:<10} {:>6} damaged files, {calls} calls (exit codes 0 to 4: {codes:?}), 0 panics, aborts and hangs; {} silent   {}",
            kind.name,
            campaign.done(),
            silent.len(),
            campaign.seeds()
        );
        assert_eq!(
            silent, [0u64; 0],
            "{}: seeds of what was lost in silence",
            kind.name
        );
    }
}
