//! Datasets and bags as sources of tenants: what real ones give, on the recording's own time line.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use nvidia_doubles::machine;
use serde_json::Value;

fn jetlag(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_jetlag"));
    command.args(arguments).output().unwrap()
}

fn said(output: &Output) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    text(&output.stdout) + &text(&output.stderr)
}

/// A run of one tenant without networks over this source, which ends after its frames; `arrival` may say how many.
fn run(folder: &Path, source: &str, arrival: &str) -> Output {
    let file = folder.join("s.ron");
    let scenario = format!(
        "Scenario(duration: \"600s\", warmup: \"0s\", telemetry: (interval: \"1s\", sources: [Host]), tenants: [\n\
         Tenant(name: \"t\", backend: Null, source: {source}, arrival: {arrival}, overload: Queue(capacity: 100))])"
    );
    std::fs::write(&file, scenario).unwrap();
    let out = folder.join("run.mcap").display().to_string();
    let file = file.display().to_string();
    jetlag(&[
        "run", &file, "--quiet", "--format", "json", "--out", &out, "--force",
    ])
}

fn tenant(output: &Output) -> Value {
    let report: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", said(output)));
    report["tenants"][0].clone()
}

/// The frames of the run: number in the source, release and capture from the first release, in nanoseconds.
fn frames(folder: &Path) -> Vec<(u64, i64, Option<i64>, u32)> {
    use jetlag::record::{Event, Phase, RunReader};
    let mut reader = RunReader::open(&folder.join("run.mcap")).unwrap();
    let frames: Vec<_> = reader
        .by_ref()
        .map(Result::unwrap)
        .filter_map(|event| match event {
            Event::Frame(frame) if frame.phase == Phase::Together => Some(frame),
            _ => None,
        })
        .collect();
    let first = frames.iter().map(|frame| frame.released).min().unwrap();
    frames
        .iter()
        .map(|frame| {
            let captured = frame.captured.map(|at| (at - first).0);
            (
                frame.source_index,
                (frame.released - first).0,
                captured,
                frame.input_size,
            )
        })
        .collect()
}

fn shared(path: &str) -> Option<PathBuf> {
    machine::shared(path)
}

#[test]
fn a_topic_of_a_bag_is_replayed_when_it_was_logged_and_is_as_old_as_its_stamp() {
    let Some(bag) = shared("data/sensors/bags/kitti_sqlite3") else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let bag = bag.display();
    let source = format!("Bag(path: \"{bag}\", topic: \"/velodyne_points\", repeat: false)");
    let output = run(folder.path(), &source, "Replay(speed: 2.0)");
    assert_eq!(tenant(&output)["frames"]["completed"], 4, "{}", said(&output));
    let mut seen = frames(folder.path());
    seen.sort_unstable();
    // Recorded every 100 ms, at twice the speed.
    let wanted = [0, 1, 2, 3].map(|n| (n, n as i64 * 50_000_000));
    assert_eq!(
        seen.iter().map(|frame| (frame.0, frame.1)).collect::<Vec<_>>(),
        wanted
    );
    assert!(
        seen.iter()
            .all(|frame| frame.2.is_some_and(|captured| captured <= frame.1))
    );
    assert!(tenant(&output)["age_ms"]["mean"].is_number());
    // The whole bag is opened once and shared: images of the same recording follow the same line.
    let source = format!("Bag(path: \"{bag}\", topic: \"/camera/image_raw\", repeat: true)");
    let output = run(folder.path(), &source, "Replay, frames: 5");
    assert_eq!(tenant(&output)["frames"]["completed"], 5, "{}", said(&output));
    let mut released: Vec<i64> = frames(folder.path()).iter().map(|frame| frame.1).collect();
    released.sort_unstable();
    let laps: Vec<i64> = released.windows(2).map(|pair| pair[1] - pair[0]).collect();
    // 300 ms of the bag, and the gap of its fastest topic.
    assert!(laps.iter().all(|lap| *lap == 400_000_000), "{laps:?}");
}

#[test]
fn images_of_a_bag_are_detected_in_like_those_of_a_folder() {
    let Some(bag) = shared("data/sensors/bags/nuscenes_zstd.mcap") else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("s.ron");
    let source = format!(
        "Bag(path: \"{}\", topic: \"/cam_front/image_raw/compressed\", by: Header)",
        bag.display()
    );
    let scenario = format!(
        "Scenario(duration: \"60s\", warmup: \"0s\", telemetry: (interval: \"1s\", sources: [Host]), tenants: [\n\
         Tenant(name: \"t\", detector: \"builtin:camera\", backend: Cpu(threads: 1), source: {source}, frames: 1)])"
    );
    std::fs::write(&file, scenario).unwrap();
    let out = folder.path().join("run.mcap").display().to_string();
    let output = jetlag(&[
        "run",
        file.to_str().unwrap(),
        "--quiet",
        "--format",
        "json",
        "--out",
        &out,
    ]);
    assert_eq!(tenant(&output)["frames"]["completed"], 1, "{}", said(&output));
    assert_eq!(frames(folder.path())[0].3, 1600 * 900);
}

#[test]
fn inspect_shows_a_bag_s_topics_and_tells_it_from_a_run() {
    let Some(bag) = shared("data/sensors/bags/nuscenes_mcap") else {
        return;
    };
    let folder = bag.display().to_string();
    let text = said(&jetlag(&["inspect", &folder]));
    for wanted in [
        "/lidar_top",
        "sensor_msgs/msg/PointCloud2",
        "7 messages of 7 topics",
        "MCAP",
    ] {
        assert!(text.contains(wanted), "no {wanted} in {text}");
    }
    let file = bag.join("nuscenes_mcap.mcap").display().to_string();
    let output = jetlag(&["inspect", &file, "--format", "json"]);
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report["kind"], "bag");
    assert_eq!(report["bag"]["topics"].as_array().unwrap().len(), 7);
    assert_eq!(report["bag"]["messages"], 7);
    // A run is one still.
    let run = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/records/run.mcap");
    assert!(said(&jetlag(&["inspect", run])).contains("made"));
    let sqlite = shared("data/sensors/bags/kitti_sqlite3/kitti_sqlite3.db3").unwrap();
    let text = said(&jetlag(&["inspect", &sqlite.display().to_string()]));
    assert!(
        text.contains("/velodyne_points") && text.contains("SQLite"),
        "{text}"
    );
}

#[test]
fn what_a_bag_does_not_have_is_told_before_the_run() {
    let Some(bag) = shared("data/sensors/bags/kitti_sqlite3") else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let bag = bag.display();
    let refused = |source: &str, words: &str| {
        let output = run(folder.path(), source, "Replay");
        assert_eq!(output.status.code(), Some(2), "{}", said(&output));
        assert!(said(&output).contains(words), "no {words} in {}", said(&output));
    };
    refused(
        &format!("Bag(path: \"{bag}\", topic: \"/velodyne_point\")"),
        "/velodyne_points",
    );
    refused(
        &format!("Bag(path: \"{bag}\", topic: \"/camera/camera_info\")"),
        "frames are made of Image, CompressedImage and PointCloud2",
    );
    refused(
        &format!("Bag(path: \"{bag}\", topic: \"/velodyne_points\", from: \"5s\")"),
        "between `from` and `to`",
    );
    refused("Bag(path: \"nowhere\", topic: \"/x\")", "nowhere");
}

#[test]
fn a_keyframe_of_nuscenes_is_a_frame_and_what_is_missing_is_told_at_once() {
    let Some(dataset) = shared("data/sensors/nuscenes_one_sample") else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let dataset = dataset.display();
    for sensor in ["LIDAR_TOP", "CAM_BACK"] {
        let source = format!("NuScenes(path: \"{dataset}\", sensor: \"{sensor}\", repeat: false)");
        let output = run(folder.path(), &source, "Replay");
        assert_eq!(tenant(&output)["frames"]["completed"], 1, "{}", said(&output));
    }
    let source = format!("NuScenes(path: \"{dataset}\", sensor: \"LIDAR_TOP\", sweeps: 3, repeat: false)");
    let output = run(folder.path(), &source, "Replay");
    assert_eq!(tenant(&output)["frames"]["completed"], 1, "{}", said(&output));
    let source = format!("NuScenes(path: \"{dataset}\", sensor: \"LIDAR_TPO\")");
    let output = run(folder.path(), &source, "Replay");
    assert!(said(&output).contains("LIDAR_TOP"), "{}", said(&output));
    let loose = shared("data/sensors/nuscenes_like_4lidar").unwrap();
    let source = format!("NuScenes(path: \"{}\", sensor: \"CAM_FRONT\")", loose.display());
    let output = run(folder.path(), &source, "Replay");
    assert_eq!(output.status.code(), Some(2), "{}", said(&output));
}

#[test]
fn kitti_s_object_layout_has_frames_without_times() {
    let Some(dataset) = shared("data/sensors/kitti") else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    for sensor in ["Lidar", "Camera"] {
        let source = format!(
            "Kitti(path: \"{}\", layout: Object, sensor: {sensor}, repeat: false)",
            dataset.display()
        );
        let output = run(folder.path(), &source, "Periodic(hz: 50)");
        assert_eq!(tenant(&output)["frames"]["completed"], 2, "{}", said(&output));
        assert!(tenant(&output)["age_ms"].is_null());
        let output = run(folder.path(), &source, "Replay");
        assert!(said(&output).contains("need capture times"), "{}", said(&output));
    }
}

#[test]
fn a_timer_takes_the_newest_message_and_counts_what_it_repeats() {
    let Some(bag) = shared("data/sensors/bags/kitti_sqlite3") else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let source = format!(
        "Bag(path: \"{}\", topic: \"/velodyne_points\", repeat: false)",
        bag.display()
    );
    // Ten messages a second, looked at forty times; the fourth is the last, and ends it when a fifth would come.
    let output = run(folder.path(), &source, "Sampled(hz: 40)");
    let told = tenant(&output);
    assert_eq!(told["sampled"]["skipped"], 0, "{}", said(&output));
    assert_eq!(told["sampled"]["repeated"], 12, "{}", said(&output));
    let output = run(folder.path(), &source, "Sampled(hz: 5)");
    let told = tenant(&output);
    assert_eq!(told["sampled"]["skipped"], 1, "{}", said(&output));
}

#[test]
fn tenants_of_a_shared_source_have_each_frame_decoded_once() {
    let folder = tempfile::tempdir().unwrap();
    let images = folder.path().join("images");
    std::fs::create_dir(&images).unwrap();
    for n in 0..5u8 {
        let image = image::RgbImage::from_pixel(640, 480, image::Rgb([n * 40, 9, 9]));
        image.save(images.join(format!("{n}.png"))).unwrap();
    }
    let file = folder.path().join("s.ron");
    let tenant = |name: &str, hz: u32| {
        format!(
            "Tenant(name: \"{name}\", backend: Cpu, detector: \"builtin:camera\", source: Shared(\"front\"), \
             arrival: Periodic(hz: {hz}), overload: Queue(capacity: 100), frames: 10),"
        )
    };
    let scenario = format!(
        "Scenario(duration: \"120s\", warmup: \"0s\", telemetry: (interval: \"1s\", sources: [Host]),\n\
         sources: (front: Images(\"{}\")), tenants: [{}{}])",
        images.display(),
        tenant("one", 5),
        tenant("other", 5)
    );
    std::fs::write(&file, &scenario).unwrap();
    let out = folder.path().join("run.mcap").display().to_string();
    let file = file.display().to_string();
    let output = jetlag(&["run", &file, "--quiet", "--format", "json", "--out", &out]);
    let report: Value =
        serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", said(&output)));
    for tenant in report["tenants"].as_array().unwrap() {
        assert_eq!(tenant["frames"]["completed"], 10, "{}", said(&output));
    }
    let facts = jetlag(&["inspect", &out, "--format", "json"]);
    let facts: Value = serde_json::from_slice(&facts.stdout).unwrap_or_else(|_| panic!("{}", said(&facts)));
    let log = facts["log"].to_string();
    assert!(
        log.contains("source front:") && log.contains("decoded once for 2 tenants"),
        "{log}"
    );
    // What is asked for is told as it may be written again.
    let dry = jetlag(&["run", &file, "--dry-run"]);
    let again = folder.path().join("again.ron");
    std::fs::write(&again, &dry.stdout).unwrap();
    let text = String::from_utf8(dry.stdout.clone()).unwrap();
    assert!(
        text.contains("sources: (front: Images(") && text.contains("source: Shared(\"front\")"),
        "{}",
        said(&dry)
    );
    let twice = jetlag(&["run", &again.display().to_string(), "--dry-run"]);
    assert!(twice.status.success(), "{}", said(&twice));
    for (from, to, wanted) in [
        ("Shared(\"front\")", "Shared(\"frnt\")", "did you mean `front`?"),
        (
            "sources: (front:",
            "sources: (front: Empty, roof:",
            "no source `front`",
        ),
        (
            "Scenario(",
            "Scenario(sharing: Processes, ",
            "a process of its own",
        ),
        (
            "sources: (front:",
            "sources: (roof: Shared(\"front\"), front:",
            "`roof`: no tenant has it",
        ),
    ] {
        // The second case gives the tenants a source that has no frames.
        let wanted = if to.contains("Empty") {
            "Empty frames"
        } else {
            wanted
        };
        std::fs::write(&again, scenario.replace(from, to)).unwrap();
        let refused = jetlag(&["run", &again.display().to_string(), "--dry-run"]);
        assert_eq!(refused.status.code(), Some(2), "{}", said(&refused));
        assert!(said(&refused).contains(wanted), "{wanted}: {}", said(&refused));
    }
}
