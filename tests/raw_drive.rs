//! A run on a raw drive of KITTI is scored by the drive's tracklets, beside a reader and figures in Python; and drawn with them.

use std::fs;
use std::path::Path;
use std::process::Command;

use nvidia_doubles::machine;
use serde_json::Value;

use crate::common::output::{assert_refused, run, stderr};

const DRIVE: &str = "drive/2023_11_14/2023_11_14_drive_0001_sync";

fn done(folder: &Path, line: &str) -> Vec<u8> {
    let words: Vec<&str> = line.split(' ').collect();
    let output = run(&words, folder);
    assert!(output.status.success(), "{line}: {}", stderr(&output));
    output.stdout
}

fn json(folder: &Path, line: &str) -> Value {
    serde_json::from_slice(&done(folder, line)).unwrap()
}

/// A made drive of a second, and a run over it that answers each frame once.
fn made(folder: &Path) {
    done(
        folder,
        "data synth --format kitti --seconds 1 --seed 5 --out drive",
    );
    let tenant = |name: &str, sensor: &str| {
        format!(
            r#"Tenant(name: "{name}", detector: "builtin:{name}", backend: Cpu(threads: 1), record_detections: true,
                source: Kitti(path: "drive", layout: Raw, sequence: "2023_11_14_drive_0001_sync", sensor: {sensor}),
                arrival: Closed(), frames: 10)"#
        )
    };
    let scenario = format!(
        r#"Scenario(name: "raw", duration: "1h", warmup: "0s", telemetry: (sources: [Host]), tenants: [{}, {}])"#,
        tenant("camera", "Camera"),
        tenant("lidar", "Lidar")
    );
    fs::write(folder.join("raw.ron"), scenario).unwrap();
    done(folder, "run raw.ron --quiet --out raw.mcap");
}

#[test]
fn a_run_on_a_raw_drive_is_scored_by_its_tracklets() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    made(folder);
    let still = json(folder, "eval raw.mcap --format json");
    let stream = json(folder, "eval raw.mcap --mode stream --format json");
    for tenant in ["camera", "lidar"] {
        let (still, stream) = (&still["tenants"][tenant], &stream["tenants"][tenant]);
        assert_eq!(
            (&still["benchmark"], &still["frames"]),
            (&"KITTI".into(), &10.into())
        );
        assert_eq!(stream["mode"], "stream");
        assert!(stream["frames"].as_u64().unwrap() > 0, "{stream}");
        assert!(still["figures"]["ap"]["value"].as_f64().unwrap() > 0.0, "{still}");
    }
    for tenant in ["camera", "lidar"] {
        done(
            folder,
            &format!("view raw.mcap --tenant {tenant} --frame 4 -o {tenant}.png"),
        );
    }
    done(folder, "export raw.mcap --format csv -o tables");
    if let Some(python) = machine::python("numpy, scipy") {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/python/raw_drive.py");
        for tenant in ["camera", "lidar"] {
            let judged = Command::new(&python)
                .arg(&script)
                .args([DRIVE, "tables/detections.csv", tenant])
                .current_dir(folder)
                .output()
                .unwrap();
            assert!(judged.status.success(), "{}", stderr(&judged));
            let theirs: Value = serde_json::from_slice(&judged.stdout).unwrap();
            let mut known = 0;
            for (name, theirs) in theirs["figures"].as_object().unwrap() {
                // Of a detector without boxes in space ours has no figure, and not 0.
                if tenant == "camera" && !name.contains(".2d.") {
                    continue;
                }
                let ours = &still["tenants"][tenant]["figures"][name]["value"];
                assert_eq!(
                    ours.is_null(),
                    theirs.is_null(),
                    "{tenant} {name}: {ours} and {theirs}"
                );
                if let (Some(ours), Some(theirs)) = (ours.as_f64(), theirs.as_f64()) {
                    assert!(
                        (ours - theirs).abs() < 1e-6,
                        "{tenant} {name}: {ours} and {theirs}"
                    );
                    known += 1;
                }
            }
            assert!(known >= 3, "{tenant}: {theirs}");
        }
    }
    // Labels that are damaged, and none.
    let file = folder.join(DRIVE).join("tracklet_labels.xml");
    let text = fs::read_to_string(&file).unwrap();
    fs::write(&file, &text[..text.len() / 2]).unwrap();
    assert_refused(
        &run(&["eval", "raw.mcap"], folder),
        2,
        &["tracklet_labels.xml, line ", "is no XML"],
    );
    fs::remove_file(&file).unwrap();
    assert_refused(
        &run(&["eval", "raw.mcap"], folder),
        2,
        &["the drive 2023_11_14_drive_0001_sync has no tracklet_labels.xml"],
    );
    // A picture does not need it.
    done(folder, "view raw.mcap --tenant lidar --frame 4 -o without.png");
    // Where the car was is needed for answers that come late.
    fs::write(&file, &text).unwrap();
    fs::remove_dir_all(folder.join(DRIVE).join("oxts")).unwrap();
    assert_refused(
        &run(&["eval", "raw.mcap", "--mode", "stream"], folder),
        2,
        &["the drive has no `oxts`; --mode still does not need it"],
    );
}
