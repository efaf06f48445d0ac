//! `cargo +nightly fuzz run tables -- -dict=fuzz/tables.dict`, from the crate's folder; `TMPDIR=/dev/shm` makes it faster.
//!
//! The first byte chooses a table, the rest becomes its text; the others are of a sound dataset of two sweeps. Whatever comes of
//! it is no panic, and an error is one line.
#![no_main]

use jetlag_datasets::nuscenes::{BoxFrame, GroundTruth, NuScenes, Selection};
use libfuzzer_sys::fuzz_target;

const TABLES: [(&str, &str); 10] = [
    ("scene", r#"[{"token":"s","name":"scene-0001"}]"#),
    (
        "sample",
        r#"[{"token":"k","scene_token":"s","timestamp":1000000,"prev":"","next":""}]"#,
    ),
    ("sensor", r#"[{"token":"e","channel":"LIDAR_TOP"}]"#),
    (
        "calibrated_sensor",
        r#"[{"token":"c","sensor_token":"e","translation":[0,0,1],"rotation":[1,0,0,0],"camera_intrinsic":[]}]"#,
    ),
    (
        "sample_data",
        r#"[{"token":"a","sample_token":"k","ego_pose_token":"p","calibrated_sensor_token":"c","timestamp":950000,
"is_key_frame":false,"filename":"a","prev":"","next":"b"},
{"token":"b","sample_token":"k","ego_pose_token":"p","calibrated_sensor_token":"c","timestamp":1000000,
"is_key_frame":true,"filename":"b","prev":"a","next":""}]"#,
    ),
    (
        "ego_pose",
        r#"[{"token":"p","translation":[400,1000,0],"rotation":[[1,0,0],[0,1,0],[0,0,1]]}]"#,
    ),
    ("category", r#"[{"token":"g","name":"vehicle.car"}]"#),
    ("instance", r#"[{"token":"i","category_token":"g"}]"#),
    ("visibility", r#"[{"token":"4","level":"v80-100"}]"#),
    (
        "sample_annotation",
        r#"[{"token":"n","sample_token":"k","instance_token":"i","visibility_token":"4","translation":[401,1000,1],
"size":[2,4,1.5],"rotation":[1,0,0,0],"prev":"","next":"","num_lidar_pts":3,"num_radar_pts":0}]"#,
    ),
];

thread_local! {
    static ROOT: tempfile::TempDir = {
        let root = tempfile::tempdir().expect("a folder for the tables");
        std::fs::create_dir(root.path().join("v")).expect("a folder within it");
        for name in ["a", "b"] {
            std::fs::write(root.path().join(name), "").expect("an empty file");
        }
        for (table, rows) in TABLES {
            std::fs::write(root.path().join(format!("v/{table}.json")), rows).expect("a small file");
        }
        root
    };
}

fuzz_target!(|bytes: &[u8]| {
    let Some((choice, text)) = bytes.split_first() else {
        return;
    };
    let (table, sound) = TABLES[usize::from(*choice) % TABLES.len()];
    ROOT.with(|root| {
        let path = root.path().join(format!("v/{table}.json"));
        std::fs::write(&path, text).expect("a file of the input's length");
        if let Err(error) = everything(root.path()) {
            assert!(!error.to_string().is_empty());
        }
        std::fs::write(&path, sound).expect("a small file");
    });
});

fn everything(root: &std::path::Path) -> Result<(), jetlag_datasets::DatasetError> {
    let nuscenes = NuScenes::open(root, None)?;
    let lidar = nuscenes.select(&Selection {
        sweeps: 10,
        ..Selection::of("LIDAR_TOP")
    })?;
    assert!(lidar.time_line.lap.0 > 0);
    let truth = GroundTruth::read(&nuscenes)?;
    for (number, frame) in lidar.frames().enumerate() {
        assert!((1..=10).contains(&lidar.sweeps(number).count()));
        truth.boxes(frame, BoxFrame::Sensor)?;
    }
    Ok(())
}
