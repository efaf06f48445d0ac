//! `jetlag data synth` of drives and `jetlag data convert`: what they write, read back by jetlag itself.

use std::path::Path;
use std::process::{Command, Output};

use nvidia_doubles::machine;
use serde_json::Value;

fn jetlag(folder: &Path, arguments: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_jetlag"));
    command
        .current_dir(folder)
        .args(arguments.split(' '))
        .output()
        .unwrap()
}

fn said(output: &Output) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    text(&output.stdout) + &text(&output.stderr)
}

#[track_caller]
fn done(folder: &Path, arguments: &str) -> String {
    let output = jetlag(folder, arguments);
    assert_eq!(output.status.code(), Some(0), "{arguments}: {}", said(&output));
    said(&output)
}

#[track_caller]
fn refused(folder: &Path, arguments: &str, words: &str) {
    let output = jetlag(folder, arguments);
    let text = said(&output);
    assert_eq!(output.status.code(), Some(2), "{arguments}: {text}");
    assert!(text.contains(words), "no `{words}` in {text}");
    assert_eq!(text.trim().lines().count(), 1, "{text}");
}

/// Topics of a bag, each with its messages.
fn topics(folder: &Path, bag: &str) -> Vec<(String, u64)> {
    let output = jetlag(folder, &format!("inspect {bag} --format json"));
    let report: Value =
        serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", said(&output)));
    let topics = report["bag"]["topics"].as_array().unwrap().iter();
    topics
        .map(|topic| {
            (
                topic["name"].as_str().unwrap().to_owned(),
                topic["messages"].as_u64().unwrap(),
            )
        })
        .collect()
}

/// A run of two tenants without networks over these sources, to their end: frames that each completed.
fn run(folder: &Path, sources: [&str; 2]) -> Vec<u64> {
    run_with(folder, sources, "")
}

/// The same with these fields of the tenants.
fn run_with(folder: &Path, sources: [&str; 2], more: &str) -> Vec<u64> {
    let tenant = |name: &str, source: &str| {
        format!(
            "Tenant(name: \"{name}\", backend: Null, source: {source}, arrival: Replay, overload: Queue(capacity: 100), {more})"
        )
    };
    let scenario = format!(
        "Scenario(duration: \"1h\", warmup: \"0s\", telemetry: (interval: \"1s\", sources: [Host]), tenants: [{}, {}])",
        tenant("a", sources[0]),
        tenant("b", sources[1])
    );
    std::fs::write(folder.join("s.ron"), scenario).unwrap();
    let output = jetlag(folder, "run s.ron --quiet --format json --out run.mcap --force");
    let report: Value =
        serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", said(&output)));
    let tenants = report["tenants"].as_array().unwrap().iter();
    tenants
        .map(|tenant| tenant["frames"]["completed"].as_u64().unwrap())
        .collect()
}

#[test]
fn a_drive_as_nuscenes_is_replayed_and_becomes_a_bag_that_is_replayed_too() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let text = done(
        folder,
        "data synth --format nuscenes --out drive --seconds 1 --seed 5",
    );
    assert!(
        text.contains("1 s with 13 images and 21 sweeps written to drive; next: jetlag run"),
        "{text}"
    );
    let source = |sensor: &str| format!("NuScenes(path: \"drive\", sensor: \"{sensor}\", repeat: false)");
    assert_eq!(
        run(folder, [&source("CAM_FRONT"), &source("LIDAR_TOP")]),
        [13, 21]
    );

    let text = done(folder, "data convert drive -o drive.mcap");
    assert!(
        text.contains("of 5 topics written to drive.mcap; next: jetlag inspect drive.mcap"),
        "{text}"
    );
    let wanted = [
        ("/cam_front/camera_info", 13),
        ("/cam_front/image_raw/compressed", 13),
        ("/lidar_top", 21),
        ("/tf", 34),
        ("/tf_static", 1),
    ];
    assert_eq!(
        topics(folder, "drive.mcap"),
        wanted.map(|(name, count)| (name.to_owned(), count))
    );
    let source = |topic: &str| format!("Bag(path: \"drive.mcap\", topic: \"{topic}\", repeat: false)");
    assert_eq!(
        run(
            folder,
            [&source("/cam_front/image_raw/compressed"), &source("/lidar_top")]
        ),
        [13, 21]
    );
    // The shipped scenarios name what is made so.
    for (config, path) in [("nuscenes", "drive"), ("bag", "drive.mcap")] {
        let path = folder.join(path);
        let config = format!(
            "run {0}/configs/{config}.ron --set tenants.camera.source.path={1} --set tenants.lidar.source.path={1} --dry-run",
            env!("CARGO_MANIFEST_DIR"),
            path.display()
        );
        done(folder, &config);
    }
}

#[test]
fn every_storage_and_compression_holds_the_same_and_becomes_each_other() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    done(
        folder,
        "data synth --format mcap --out a.mcap --seconds 1 --seed 2 --compression lz4",
    );
    let wanted = topics(folder, "a.mcap");
    assert_eq!(wanted.iter().map(|(_, count)| count).sum::<u64>(), 95);
    let mut from = "a.mcap";
    for (to, options) in [
        ("b.db3", ""),
        ("c", " --storage db3 --compression zstd"),
        ("d.mcap", " --compression zstd"),
        ("e", " --storage mcap"),
        ("f.mcap", " --compression lz4"),
    ] {
        let text = done(folder, &format!("data convert {from} -o {to}{options}"));
        assert!(text.contains("95 messages of 5 topics"), "{text}");
        assert_eq!(topics(folder, to), wanted, "{to}");
        from = to;
    }
    // All the way round or at once: not a byte differs.
    done(folder, "data convert a.mcap -o g.mcap --compression lz4");
    let bytes = |name| std::fs::read(folder.join(name)).unwrap();
    assert!(bytes("g.mcap") == bytes("f.mcap"));
    done(folder, "data convert a.mcap -o one.mcap --topic /lidar_top");
    assert_eq!(topics(folder, "one.mcap"), [("/lidar_top".to_owned(), 20)]);
}

#[test]
fn a_raw_drive_of_kitti_and_stills_become_bags() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    done(folder, "data synth --format kitti --seconds 1 --out raw");
    let source = |sensor: &str| {
        format!(
            "Kitti(path: \"raw\", layout: Raw, sequence: \"2023_11_14_drive_0001_sync\", sensor: {sensor}, repeat: false)"
        )
    };
    assert_eq!(run(folder, [&source("Camera"), &source("Lidar")]), [10, 10]);
    done(folder, "data convert raw -o raw.mcap");
    let count =
        |topics: &[(String, u64)], name: &str| topics.iter().find(|(topic, _)| topic == name).unwrap().1;
    let found = topics(folder, "raw.mcap");
    for topic in [
        "/camera_2/image_raw/compressed",
        "/camera_2/camera_info",
        "/velodyne_points",
        "/tf",
    ] {
        assert_eq!(count(&found, topic), 10, "{topic}");
    }
    done(folder, "data synth --out scenes --count 2");
    done(folder, "data convert scenes -o scenes.db3 --hz 5");
    let found = topics(folder, "scenes.db3");
    assert_eq!(
        (
            count(&found, "/camera/image_raw/compressed"),
            count(&found, "/lidar/points")
        ),
        (2, 2)
    );
}

#[test]
fn what_cannot_be_written_or_read_is_a_sentence() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    done(folder, "data synth --format mcap --out a.mcap --seconds 1");
    refused(
        folder,
        "data synth --format mcap --out a.mcap --seconds 1",
        "a.mcap exists",
    );
    done(
        folder,
        "data synth --format mcap --out a.mcap --seconds 1 --force",
    );
    refused(folder, "data convert a.mcap -o a.mcap --force", "is what is read");
    refused(
        folder,
        "data synth --format nuscenes --out d --seconds 0",
        "--seconds 0: must be from 1 to 600",
    );
    refused(
        folder,
        "data synth --format nuscenes --out d --seconds 1 --compression zstd",
        "is of bags",
    );
    refused(
        folder,
        "data synth --format db3 --out d --seconds 1 --compression lz4",
        "is of MCAP",
    );
    refused(
        folder,
        "data synth --format mcap --out d --count 3",
        "are of stills",
    );
    refused(
        folder,
        "data synth --format mcap --out d.db3 --seconds 1",
        "another storage",
    );
    refused(
        folder,
        "data convert a.mcap -o b.db3 --compression zstd",
        "name a folder",
    );
    refused(
        folder,
        "data convert a.mcap -o b.mcap --topic /lidar",
        "is `/lidar_top` meant?",
    );
    refused(
        folder,
        "data convert a.mcap -o b.mcap --scene x",
        "--scene is of nuScenes",
    );
    refused(
        folder,
        "data convert a.mcap -o b.mcap --hz 5",
        "--hz is of files without times, and a.mcap is a bag or a video",
    );
    refused(folder, "data convert nowhere -o b.mcap", "nowhere");
    std::fs::write(folder.join("notes.txt"), "no video").unwrap();
    refused(
        folder,
        "data convert notes.txt -o b.mcap",
        "notes.txt is no recording: it is neither a bag (MCAP, SQLite) nor a video",
    );
    std::fs::create_dir(folder.join("empty")).unwrap();
    refused(folder, "data convert empty -o b.mcap", "empty is no recording");
    std::fs::create_dir(folder.join("mine")).unwrap();
    std::fs::write(folder.join("mine/notes.txt"), "x").unwrap();
    refused(
        folder,
        "data convert a.mcap -o mine --force",
        "holds something else",
    );
    assert!(folder.join("mine/notes.txt").is_file());
    assert!(!folder.join("b.mcap").exists() && !folder.join("d").exists());
}

/// Real bags and datasets, of every kind that is at hand.
/// A bag with one changed bit, and one that is cut off: each command says what is missing in its last line, and ends with 4.
#[test]
fn what_a_damaged_bag_lacks_is_told_by_every_command() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    done(at, "data synth --format nuscenes --out d --seconds 1 --seed 5");
    done(at, "data convert d --out whole.mcap --compression none");
    let whole = std::fs::read(at.join("whole.mcap")).unwrap();
    let mut changed = whole.clone();
    changed[whole.len() / 2] ^= 4;
    std::fs::write(at.join("changed.mcap"), changed).unwrap();
    std::fs::write(at.join("cut.mcap"), &whole[..whole.len() * 2 / 3]).unwrap();
    done(at, "data convert d --out whole.db3");
    // A page of a message that leads nowhere any more.
    let mut database = std::fs::read(at.join("whole.db3")).unwrap();
    let middle = database.len() / 2 / 4096 * 4096;
    database[middle..middle + 4096].fill(0);
    std::fs::write(at.join("changed.db3"), database).unwrap();
    let topic = "/lidar_top";
    for (bag, why) in [
        ("changed.mcap", "checksum"),
        ("cut.mcap", "cut off"),
        ("changed.db3", "is damaged ("),
    ] {
        for line in [
            format!("inspect {bag}"),
            format!("data convert {bag} --out new-{bag}"),
        ] {
            let output = jetlag(at, &line);
            let text = String::from_utf8_lossy(&output.stdout).into_owned();
            assert_eq!(output.status.code(), Some(4), "{line}: {}", said(&output));
            let missing = |line: &&str| line.starts_with("missing: ");
            assert!(
                text.trim().lines().last().is_some_and(|last| missing(&last)),
                "{line}: {text}"
            );
            assert!(
                text.lines().filter(missing).any(|line| line.contains(why)),
                "{line}: {text}"
            );
        }
        for sharing in ["Streams", "Processes"] {
            let scenario = format!(
                "Scenario(duration: \"600s\", warmup: \"0s\", sharing: {sharing}, telemetry: (interval: \"1s\", sources: [Host]), \
                 tenants: [Tenant(name: \"t\", backend: Null, source: Bag(path: \"{bag}\", topic: \"{topic}\", repeat: false), \
                 arrival: Closed())])"
            );
            std::fs::write(at.join("s.ron"), scenario).unwrap();
            let output = jetlag(at, "run s.ron --quiet --out run.mcap --force --format json");
            assert_eq!(output.status.code(), Some(4), "{}", said(&output));
            let report: Value = serde_json::from_slice(&output.stdout).unwrap();
            let findings = report["run"]["findings"].to_string();
            assert!(
                findings.contains("source-damaged") && findings.contains(why),
                "{findings}"
            );
            assert_eq!(jetlag(at, "report run.mcap").status.code(), Some(4));
        }
    }
    assert_eq!(jetlag(at, "inspect whole.mcap").status.code(), Some(0));
}

#[test]
fn tables_that_lack_what_they_should_have_are_told() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    done(at, "data synth --format nuscenes --out d --seconds 1 --seed 5");
    let version = std::fs::read_dir(at.join("d"))
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let mut version = version;
    let version = version
        .find(|path| path.join("sample_data.json").is_file())
        .unwrap();
    let empty = |table: &str, code: i32, words: &str| {
        let path = version.join(format!("{table}.json"));
        let whole = std::fs::read(&path).unwrap();
        std::fs::write(&path, "[]").unwrap();
        let output = jetlag(at, &format!("data convert d --out {table}.mcap"));
        assert_eq!(output.status.code(), Some(code), "{table}: {}", said(&output));
        assert!(said(&output).contains(words), "{}", said(&output));
        std::fs::write(&path, whole).unwrap();
    };
    empty("sample_data", 2, "has no captures");
    assert!(!at.join("sample_data.mcap").exists());
    empty("ego_pose", 4, "captures have no row in ego_pose");
    done(at, "data convert d --out o.mcap");
}

#[test]
fn real_recordings_become_bags() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    for (n, (path, topic)) in [
        ("data/sensors/bags/kitti_sqlite3", "/velodyne_points"),
        (
            "data/sensors/bags/nuscenes_zstd.mcap",
            "/cam_front/image_raw/compressed",
        ),
        ("data/sensors/nuscenes_one_sample", "/lidar_top"),
        ("data/sensors/kitti", "/velodyne_points"),
    ]
    .into_iter()
    .enumerate()
    {
        let Some(path) = machine::shared(path) else { return };
        for out in [format!("{n}.mcap"), format!("{n}.db3")] {
            done(folder, &format!("data convert {} -o {out}", path.display()));
            let found = topics(folder, &out);
            assert!(
                found.iter().any(|(name, count)| name == topic && *count > 0),
                "{found:?}"
            );
        }
        let source = format!("Bag(path: \"{n}.mcap\", topic: \"{topic}\", repeat: false)");
        assert_eq!(run_with(folder, [&source, &source], "frames: 1"), [1, 1]);
    }
}

/// What the demo's detectors were trained on are stills; of a drive they find most of what counts as well.
#[test]
fn the_demo_s_detectors_find_most_of_what_counts_on_a_drive() {
    use jetlag::source::kitti::write_scene;
    use jetlag::source::synthetic::{Observation, calibration};
    use jetlag::units::Nanos;
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    for n in 0..12 {
        let seen = jetlag_world::Drive::new(n, 20)
            .at(Nanos::from_millis(1700 * n as i64))
            .observe();
        let seen = Observation {
            image: seen.image,
            sweep: seen.sweep.cloud,
            objects: seen.objects,
        };
        write_scene(folder, &format!("{n:06}"), &seen, &calibration()).unwrap();
    }
    for detector in ["builtin:camera", "builtin:lidar"] {
        let output = jetlag(folder, &format!("eval {detector} --data . --format json"));
        let report: Value =
            serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", said(&output)));
        let all = report["rows"].as_array().unwrap().last().unwrap();
        let share = |name: &str| all[name].as_f64().unwrap();
        assert!(all["labels"].as_u64().unwrap() > 30, "{detector}: {report:#}");
        assert!(
            share("recall") > 0.75 && share("precision") > 0.75,
            "{detector}: {report:#}"
        );
    }
}
