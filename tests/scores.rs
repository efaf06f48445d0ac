//! Scores of detectors and of runs, results as benchmarks read them, pictures: through the program, on made data.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use nvidia_doubles::machine;
use serde_json::Value;

use crate::common::output::{assert_refused, run, stderr, stdout};

fn json(output: &std::process::Output) -> Value {
    assert!(output.status.success(), "{}", stderr(output));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// A made drive of nuScenes, and a run over it that answers each frame once.
fn drive(folder: &Path) -> PathBuf {
    let synth = [
        "data",
        "synth",
        "--format",
        "nuscenes",
        "--out",
        "drive",
        "--seconds",
        "4",
        "--seed",
        "9",
    ];
    assert!(run(&synth, folder).status.success());
    fs::write(
        folder.join("drive.ron"),
        r#"Scenario(
            name: "drive", duration: "1h", warmup: "0s", telemetry: (sources: [Host]),
            tenants: [Tenant(
                name: "lidar", detector: "builtin:lidar", backend: Cpu(threads: 1), record_detections: true,
                source: NuScenes(path: "drive", sensor: "LIDAR_TOP", keyframes: true), arrival: Closed(), frames: 9,
            )],
        )"#,
    )
    .unwrap();
    let made = run(&["run", "drive.ron", "--quiet", "--out", "drive.mcap"], folder);
    assert!(made.status.success(), "{}", stderr(&made));
    folder.join("drive.mcap")
}

fn value(scores: &Value, tenant: &str, figure: &str) -> Option<f64> {
    scores["tenants"][tenant]["figures"][figure]["value"].as_f64()
}

#[test]
fn a_part_of_a_drive_is_run_and_scored_and_what_is_missing_is_counted() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    drive(folder);
    let sweeps = folder.join("drive/samples/LIDAR_TOP");
    let mut files: Vec<PathBuf> = fs::read_dir(&sweeps)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    files.sort();
    for file in &files[2..4] {
        fs::remove_file(file).unwrap();
    }
    let part = [
        "run",
        "drive.ron",
        "--quiet",
        "--out",
        "part.mcap",
        "--set",
        "tenants.lidar.frames=7",
        "--format",
        "json",
    ];
    let output = run(&part, folder);
    assert_eq!(output.status.code(), Some(4), "{}", stderr(&output));
    let summary: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(summary["tenants"][0]["frames"]["completed"], 7, "{summary}");
    assert_eq!(summary["tenants"][0]["frames"]["failed"], 0, "{summary}");
    let said = summary["run"]["findings"].to_string();
    assert!(
        said.contains("2 of 9 files of LIDAR_TOP are missing")
            && said.contains("The 7 frames that are whole are played"),
        "{said}"
    );
    // Each answer is held against its own frame's truth.
    let scores = json(&run(&["eval", "part.mcap", "--format", "json"], folder));
    assert_eq!(scores["tenants"]["lidar"]["frames"], 7, "{scores}");
    let whole = json(&run(&["eval", "drive.mcap", "--format", "json"], folder));
    let markdown = stdout(&run(&["eval", "drive.mcap", "--format", "markdown"], folder));
    assert!(
        markdown.starts_with("#### Scores of ") && markdown.contains("| figure | value | 95 % |"),
        "{markdown}"
    );
    let (part, whole) = (value(&scores, "lidar", "ap"), value(&whole, "lidar", "ap"));
    assert!((part.unwrap() - whole.unwrap()).abs() < 0.2, "{part:?} {whole:?}");
    // A bag of a part would look whole.
    let convert = ["data", "convert", "drive", "-o", "drive-bag.mcap"];
    assert_refused(
        &run(&convert, folder),
        2,
        &["2 of 81 files of LIDAR_TOP are missing"],
    );
}

#[test]
fn the_folder_that_a_source_reads_is_evaluated_and_classes_go_by_their_names() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let synth = "data synth --out scenes --count 20 --seed 9001";
    assert!(
        run(&synth.split(' ').collect::<Vec<_>>(), folder)
            .status
            .success()
    );
    let of = |data: &str| {
        json(&run(
            &["eval", "builtin:camera", "--data", data, "--format", "json"],
            folder,
        ))
    };
    let whole = of("scenes");
    assert_eq!(of("scenes/image_2"), whole);
    // People are called otherwise by half of the world's detectors.
    let found = |table: &Value, class: &str| {
        let rows = table["rows"].as_array().unwrap();
        let row = rows.iter().find(|row| row["class"] == class);
        row.map(|row| row["found"].as_u64().unwrap())
    };
    let people = found(&whole, "Pedestrian");
    for file in fs::read_dir(folder.join("scenes/label_2")).unwrap() {
        let file = file.unwrap().path();
        let text = fs::read_to_string(&file).unwrap();
        let (from, to) = ("Pedestrian", "person");
        fs::write(&file, text.replace(from, to)).unwrap();
    }
    let renamed = of("scenes");
    assert_eq!(found(&renamed, "Pedestrian"), people);
    assert!(people > Some(0), "{whole}");
    let text = stdout(&run(&["eval", "builtin:camera", "--data", "scenes"], folder));
    assert!(text.contains("all ") && !text.contains('–'), "{text}");
}

#[test]
fn a_run_over_a_drive_is_scored_as_by_nuscenes_own_tools() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    drive(folder);
    let still = json(&run(&["eval", "drive.mcap", "--format", "json"], folder));
    assert_eq!(still["tenants"]["lidar"]["benchmark"], "nuScenes");
    let precision = value(&still, "lidar", "ap").unwrap();
    assert!((0.0..=1.0).contains(&precision), "{still}");
    let text = stdout(&run(&["eval", "drive.mcap"], folder));
    assert!(text.contains("still: truth at each frame's own time"), "{text}");
    // The dataset may lie elsewhere by now.
    fs::rename(folder.join("drive"), folder.join("moved")).unwrap();
    let moved = json(&run(
        &["eval", "drive.mcap", "--data", "moved", "--format", "json"],
        folder,
    ));
    assert_eq!(value(&moved, "lidar", "ap"), Some(precision));
    // Another drive of as many frames is another dataset.
    let other = "data synth --format nuscenes --out other --seconds 4 --seed 10";
    assert!(
        run(&other.split(' ').collect::<Vec<_>>(), folder)
            .status
            .success()
    );
    for words in [
        "eval drive.mcap --data other",
        "view drive.mcap --frame 1 -o other.png --data other",
        "export drive.mcap --format nuscenes -o other.json --data other",
    ] {
        assert_refused(
            &run(&words.split(' ').collect::<Vec<_>>(), folder),
            2,
            &[
                "tenant lidar: other is not what the run was recorded with: it has as many frames (9), and they are others",
            ],
        );
    }
    // Its tables are enough.
    for sensors in ["samples", "sweeps"] {
        fs::rename(folder.join("moved").join(sensors), folder.join(sensors)).unwrap();
    }
    let eval = ["eval", "drive.mcap", "--data", "moved", "--format", "json"];
    assert_eq!(json(&run(&eval, folder)), moved);
    let view = [
        "view",
        "drive.mcap",
        "--frame",
        "1",
        "--data",
        "moved",
        "-o",
        "x.png",
    ];
    assert_refused(
        &run(&view, folder),
        2,
        &["files of LIDAR_TOP are missing under moved"],
    );
    for sensors in ["samples", "sweeps"] {
        fs::rename(folder.join(sensors), folder.join("moved").join(sensors)).unwrap();
    }
    let export = [
        "export",
        "drive.mcap",
        "--format",
        "nuscenes",
        "--data",
        "moved",
        "-o",
        "results.json",
    ];
    let exported = run(&export, folder);
    assert!(exported.status.success(), "{}", stderr(&exported));
    assert_refused(
        &run(&export, folder),
        2,
        &["results.json exists; choose another name, or --force"],
    );
    let results: Value = serde_json::from_slice(&fs::read(folder.join("results.json")).unwrap()).unwrap();
    assert_eq!(results["meta"]["use_lidar"], true);
    let Some(python) = machine::python("pyquaternion, PIL, scipy") else {
        return;
    };
    let script =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("crates/jetlag-score/tests/python/nuscenes_eval.py");
    let judged = Command::new(python)
        .arg(script)
        .args(["drive", "moved", "results.json"])
        .current_dir(folder)
        .output()
        .unwrap();
    assert!(judged.status.success(), "{}", stderr(&judged));
    let theirs: Value = serde_json::from_slice(&judged.stdout).unwrap();
    // The devkit takes the mean over all ten classes, labelled or not.
    let ours = value(&still, "lidar", "devkit.ap").unwrap();
    let devkit = theirs["mean_ap"].as_f64().unwrap();
    assert!((ours - devkit).abs() < 1e-6, "{ours} and the devkit's {devkit}");
}

#[test]
fn boxes_in_images_have_no_truth_in_nuscenes() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    drive(folder);
    fs::write(
        folder.join("camera.ron"),
        r#"Scenario(name: "camera", duration: "1h", warmup: "0s", telemetry: (sources: [Host]), tenants: [Tenant(
            name: "camera", detector: "builtin:camera", backend: Cpu(threads: 1), record_detections: true,
            source: NuScenes(path: "drive", sensor: "CAM_FRONT", keyframes: true), arrival: Closed(), frames: 1,
        )])"#,
    )
    .unwrap();
    let made = run(&["run", "camera.ron", "--quiet", "--out", "camera.mcap"], folder);
    assert!(made.status.success(), "{}", stderr(&made));
    assert_refused(
        &run(&["eval", "camera.mcap"], folder),
        2,
        &["tenant camera: nuScenes has boxes in space and none in images"],
    );
}

#[test]
fn late_answers_are_worth_less_and_a_limit_ends_with_3() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    drive(folder);
    let stream = json(&run(
        &["eval", "drive.mcap", "--mode", "stream", "--format", "json"],
        folder,
    ));
    assert_eq!(stream["tenants"]["lidar"]["mode"], "stream");
    assert!(value(&stream, "lidar", "ap").is_some(), "{stream}");
    let fails = run(&["eval", "drive.mcap", "--fail-if", "lidar.ap < 1.1"], folder);
    assert_eq!(fails.status.code(), Some(3), "{}", stderr(&fails));
    assert!(
        stdout(&fails).contains("fails: not lidar.ap < 1.1"),
        "{}",
        stdout(&fails)
    );
    let holds = run(&["eval", "drive.mcap", "--fail-if", "lidar.ap < 0"], folder);
    assert_eq!(holds.status.code(), Some(0));
    // What is not known is no success.
    let unknown = run(&["eval", "drive.mcap", "--fail-if", "lidar.apx < 0"], folder);
    assert_eq!(unknown.status.code(), Some(3));
    assert!(
        stdout(&unknown).contains("did you mean `ap`?"),
        "{}",
        stdout(&unknown)
    );
    assert_refused(
        &run(&["eval", "drive.mcap", "--fail-if", "camera.ap < 0"], folder),
        2,
        &["begins with no tenant of this run (`lidar`)"],
    );
    // A run beside itself differs by nothing.
    let same = json(&run(
        &[
            "eval",
            "drive.mcap",
            "--against",
            "drive.mcap",
            "--format",
            "json",
        ],
        folder,
    ));
    assert_eq!(same["tenants"]["lidar"]["figures"]["ap"]["difference"], 0.0);
}

fn scenes(folder: &Path) {
    let synth = [
        "data", "synth", "--out", "scenes", "--count", "6", "--seed", "9001",
    ];
    assert!(run(&synth, folder).status.success());
}

#[test]
fn a_detector_finds_the_same_on_a_backend_that_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    scenes(folder);
    for detector in ["builtin:camera", "builtin:lidar"] {
        let usual = ["eval", detector, "--data", "scenes", "--format", "json"];
        let here = json(&run(&usual, folder));
        let named = json(&run(
            &[&usual[..], &["--backend", "Cpu(threads: 1)"]].concat(),
            folder,
        ));
        assert_eq!(here, named);
        assert!(here["rows"][0]["labels"].as_u64().unwrap() > 0);
    }
    assert_refused(
        &run(
            &[
                "eval",
                "builtin:camera",
                "--data",
                "scenes",
                "--backend",
                "Tensor()",
            ],
            folder,
        ),
        2,
        &["--backend Tensor()", "unknown backend `Tensor`"],
    );
    assert_refused(
        &run(&["eval", "builtin:camera"], folder),
        2,
        &["name the labelled frames"],
    );
}

#[test]
fn a_run_on_kittis_layout_is_scored_exported_and_drawn() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    scenes(folder);
    fs::write(
        folder.join("both.ron"),
        r#"Scenario(
            name: "both", duration: "1h", warmup: "0s", telemetry: (sources: [Host]),
            tenants: [
                Tenant(
                    name: "camera", detector: "builtin:camera", backend: Cpu(threads: 1), record_detections: true,
                    source: Images(path: "scenes/image_2"), arrival: Closed(), frames: 6,
                ),
                Tenant(
                    name: "lidar", detector: "builtin:lidar", backend: Cpu(threads: 1), record_detections: true,
                    source: Points(path: "scenes/velodyne"), arrival: Closed(), frames: 6,
                ),
            ],
        )"#,
    )
    .unwrap();
    let made = run(&["run", "both.ron", "--quiet", "--out", "both.mcap"], folder);
    assert!(made.status.success(), "{}", stderr(&made));
    let scored = json(&run(&["eval", "both.mcap", "--format", "json"], folder));
    for tenant in ["camera", "lidar"] {
        assert_eq!(scored["tenants"][tenant]["benchmark"], "KITTI", "{scored}");
        assert_eq!(scored["tenants"][tenant]["frames"], 6);
    }
    assert_refused(
        &run(&["eval", "both.mcap", "--mode", "stream"], folder),
        2,
        &["these labels have no identities"],
    );
    assert_refused(
        &run(&["export", "both.mcap", "--format", "kitti", "-o", "out"], folder),
        2,
        &["has detections of camera, lidar: name one with --tenant"],
    );
    let exported = run(
        &[
            "export",
            "both.mcap",
            "--format",
            "kitti",
            "--tenant",
            "lidar",
            "-o",
            "out",
        ],
        folder,
    );
    assert!(exported.status.success(), "{}", stderr(&exported));
    let files: Vec<_> = fs::read_dir(folder.join("out")).unwrap().collect();
    assert_eq!(files.len(), 6);
    let coco = run(
        &[
            "export",
            "both.mcap",
            "--format",
            "coco",
            "--tenant",
            "camera",
            "-o",
            "coco.json",
        ],
        folder,
    );
    assert!(coco.status.success(), "{}", stderr(&coco));
    let found: Value = serde_json::from_slice(&fs::read(folder.join("coco.json")).unwrap()).unwrap();
    assert!(
        found[0]["bbox"].as_array().is_some_and(|sides| sides.len() == 4),
        "{found}"
    );
    for tenant in ["camera", "lidar"] {
        let file = format!("{tenant}.png");
        let view = [
            "view",
            "both.mcap",
            "--tenant",
            tenant,
            "--frame",
            "2",
            "-o",
            &file,
        ];
        let drawn = run(&view, folder);
        assert!(drawn.status.success(), "{}", stderr(&drawn));
        let picture = image::open(folder.join(&file)).unwrap();
        assert!(picture.width() > 300 && picture.height() > 200);
    }
    assert_refused(
        &run(
            &[
                "view",
                "both.mcap",
                "--tenant",
                "camera",
                "--frame",
                "99",
                "-o",
                "x.png",
            ],
            folder,
        ),
        2,
        &["tenant camera has no measured frame 99; its frames are 0 to 5"],
    );
    // An option that would have no effect is refused.
    for (arguments, said) in [
        (
            &[
                "eval",
                "builtin:camera",
                "--data",
                "scenes",
                "--fail-if",
                "camera.ap < 0.5",
            ][..],
            "only a run file (.mcap) takes --fail-if, and builtin:camera is none",
        ),
        (
            &["eval", "both.mcap", "--limit", "1", "--iou", "0.7"],
            "only a detector takes --iou and --limit, and both.mcap is none",
        ),
        (
            &[
                "view",
                "both.mcap",
                "--tenant",
                "camera",
                "--frame",
                "2",
                "-o",
                "x.jpg",
            ],
            "name a file that ends in .png",
        ),
        (
            &[
                "export",
                "both.mcap",
                "--tenant",
                "lidar",
                "--format",
                "coco",
                "-o",
                "x.json",
            ],
            "what it found is in space",
        ),
    ] {
        assert_refused(&run(arguments, folder), 2, &[said]);
    }
    // A dataset that lies elsewhere now.
    fs::rename(folder.join("scenes"), folder.join("elsewhere")).unwrap();
    let moved = [
        "view",
        "both.mcap",
        "--tenant",
        "camera",
        "--frame",
        "2",
        "-o",
        "moved.png",
    ];
    assert_refused(
        &run(&moved, folder),
        2,
        &["if the dataset has moved, say with --data where it is now"],
    );
    let named = run(&[&moved[..], &["--data", "elsewhere"]].concat(), folder);
    assert!(named.status.success(), "{}", stderr(&named));
    assert_eq!(
        fs::read(folder.join("moved.png")).unwrap(),
        fs::read(folder.join("camera.png")).unwrap()
    );
    fs::rename(folder.join("elsewhere"), folder.join("scenes")).unwrap();
    // A folder in which something has changed is another dataset.
    let image = folder.join("scenes/image_2/000003.png");
    let mut bytes = fs::read(&image).unwrap();
    bytes.push(0);
    fs::write(&image, bytes).unwrap();
    assert_refused(
        &run(&["eval", "both.mcap", "--tenant", "camera"], folder),
        2,
        &["image_2 is not what the run was recorded with"],
    );
    assert!(
        run(&["eval", "both.mcap", "--tenant", "lidar"], folder)
            .status
            .success()
    );
    fs::remove_file(folder.join("scenes/image_2/000005.png")).unwrap();
    assert_refused(
        &run(&["eval", "both.mcap", "--tenant", "camera"], folder),
        2,
        &["image_2 is not what the run was recorded with: it has 5 frames, and the run had 6"],
    );
}

#[test]
fn a_run_without_detections_says_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    fs::write(
        folder.join("sim.ron"),
        r#"Scenario(name: "sim", clock: Virtual, duration: "1s", tenants: [
            Tenant(name: "camera", source: Empty, backend: Sim(Fixed("5ms")), arrival: Periodic(hz: 30)),
        ])"#,
    )
    .unwrap();
    let made = run(&["run", "sim.ron", "--quiet", "--out", "sim.mcap"], folder);
    assert!(made.status.success(), "{}", stderr(&made));
    assert_refused(
        &run(&["eval", "sim.mcap"], folder),
        2,
        &["no tenant's detections are in it; give the tenant `record_detections: true`"],
    );
    assert_refused(
        &run(&["eval", "sim.mcap", "--tenant", "lidar"], folder),
        2,
        &["has no tenant `lidar`; it has camera"],
    );
}

#[test]
fn coco_annotations_are_found_by_the_images_names() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    scenes(folder);
    fs::write(
        folder.join("camera.ron"),
        r#"Scenario(name: "camera", duration: "1h", warmup: "0s", telemetry: (sources: [Host]), tenants: [Tenant(
            name: "camera", detector: "builtin:camera", backend: Cpu(threads: 1), record_detections: true,
            source: Images(path: "scenes/image_2"), arrival: Closed(), frames: 2,
        )])"#,
    )
    .unwrap();
    let made = run(&["run", "camera.ron", "--quiet", "--out", "camera.mcap"], folder);
    assert!(made.status.success(), "{}", stderr(&made));
    let annotations = r#"{
        "images": [{"id": 17, "file_name": "000000.png"}, {"id": 4, "file_name": "000001.png"}],
        "categories": [{"id": 3, "name": "car"}, {"id": 1, "name": "person"}],
        "annotations": [{"image_id": 17, "category_id": 3, "bbox": [10, 10, 50, 40], "area": 2000, "iscrowd": 0}]
    }"#;
    fs::write(folder.join("instances.json"), annotations).unwrap();
    let scored = json(&run(
        &[
            "eval",
            "camera.mcap",
            "--data",
            "instances.json",
            "--format",
            "json",
        ],
        folder,
    ));
    assert_eq!(scored["tenants"]["camera"]["benchmark"], "COCO", "{scored}");
    assert!(value(&scored, "camera", "ap").is_some(), "{scored}");
    let export = [
        "export",
        "camera.mcap",
        "--format",
        "coco",
        "--data",
        "instances.json",
        "-o",
        "found.json",
    ];
    let exported = run(&export, folder);
    assert!(exported.status.success(), "{}", stderr(&exported));
    let found: Value = serde_json::from_slice(&fs::read(folder.join("found.json")).unwrap()).unwrap();
    for row in found.as_array().unwrap() {
        assert!([17, 4].contains(&row["image_id"].as_u64().unwrap()), "{row}");
        assert!([3, 1].contains(&row["category_id"].as_u64().unwrap()), "{row}");
    }
    fs::write(
        folder.join("instances.json"),
        annotations.replace("000001", "other"),
    )
    .unwrap();
    assert_refused(
        &run(&["eval", "camera.mcap", "--data", "instances.json"], folder),
        2,
        &["no image is called 000001.png"],
    );
}
