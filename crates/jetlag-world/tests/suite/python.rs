//! Readers that know nothing of ours: nuscenes-devkit, pykitti, rosbags, where `scripts/setup.sh --test` installed them.

use std::path::Path;
use std::process::Command;

use jetlag_record::units::Nanos;
use jetlag_world::files::{
    BEGIN, BagWriter, ChunkCompression, DATE, Format, VERSION, bag, kitti_raw, nuscenes,
};
use jetlag_world::{Actor, Class, Drive};
use nvidia_doubles::machine::python;
use serde_json::Value;

/// The datasets' readers are installed together with these.
const DATASETS: &str = "pyquaternion, PIL";

fn ask(modules: &str, arguments: &[&str]) -> Option<Value> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/python/readers.py");
    let output = Command::new(python(modules)?)
        .arg(script)
        .args(arguments)
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    Some(serde_json::from_slice(&output.stdout).unwrap())
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value}"))
}

#[test]
fn nuscenes_devkit_sees_the_drive() {
    let folder = tempfile::tempdir().unwrap();
    let drive = Drive::new(8, 2);
    nuscenes(&drive, folder.path(), &mut |_, _| ()).unwrap();
    let Some(found) = ask(DATASETS, &["nuscenes", folder.path().to_str().unwrap(), VERSION]) else {
        return;
    };
    let samples = found["samples"].as_array().unwrap();
    assert_eq!(samples.len(), 5);
    let mut moving = 0;
    for (n, sample) in samples.iter().enumerate() {
        let time = Nanos::from_millis(n as i64 * 500);
        assert_eq!(sample["timestamp"].as_i64(), Some((BEGIN + time).0 / 1000));
        let moment = drive.at(time);
        assert_eq!(number(&sample["ego"][0]), moment.ego().position[0]);
        let boxes = sample["boxes"].as_array().unwrap();
        assert_eq!(boxes.len(), moment.actors().len());
        for found in boxes {
            let near = |actor: &&Actor| {
                (0..3).all(|k| (number(&found["center"][k]) - actor.position[k]).abs() < 1e-9)
            };
            let actor = moment.actors().iter().find(near).unwrap();
            for (k, size) in [1, 0, 2].into_iter().zip([0, 1, 2]) {
                assert!((number(&found["wlh"][k]) - f64::from(actor.size[size])).abs() < 1e-6);
            }
            let turned = libm_turn(number(&found["yaw"]) - actor.yaw);
            assert!(turned.abs() < 1e-9, "{turned}");
            let wanted = match (actor.class, actor.is_moving()) {
                (Class::Car, true) => "vehicle.moving",
                (Class::Car, false) => "vehicle.parked",
                (Class::Cyclist, _) => "cycle.with_rider",
                (Class::Pedestrian, true) => "pedestrian.moving",
                (Class::Pedestrian, false) => "pedestrian.standing",
            };
            assert_eq!(found["attributes"], serde_json::json!([wanted]));
            if let Some(velocity) = found["velocity"].as_array() {
                // The devkit's is a difference over a second.
                for (told, wanted) in velocity.iter().zip(actor.velocity).take(2) {
                    assert!((number(told) - wanted).abs() < 0.6, "{found} {actor:?}");
                }
                moving += usize::from(actor.is_moving());
            }
        }
    }
    assert!(moving > 10);
    assert_eq!(
        found["sweeps"], 9,
        "sweeps before the last keyframe, put together"
    );
    assert!(found["multisweep_points"].as_u64().unwrap() > 100_000);
    assert!(
        found["projected"].as_u64().unwrap() > 2,
        "boxes in the image by the devkit's own arithmetic"
    );
    assert_eq!(found["on_street"], true, "the map has the vehicle on the street");
    assert_eq!(found["splits"], true, "the scene is in mini_val");
}

/// The same angle, from −π to π.
fn libm_turn(angle: f64) -> f64 {
    angle.sin().atan2(angle.cos())
}

#[test]
fn pykitti_sees_the_drive() {
    let folder = tempfile::tempdir().unwrap();
    let drive = Drive::new(8, 1);
    kitti_raw(&drive, folder.path(), &mut |_, _| ()).unwrap();
    let Some(found) = ask(
        DATASETS,
        &["kitti", folder.path().to_str().unwrap(), DATE, "0001"],
    ) else {
        return;
    };
    let frames = found["frames"].as_array().unwrap();
    assert_eq!(frames.len(), 10);
    let first = drive.ego(Nanos::ZERO);
    for (n, frame) in frames.iter().enumerate() {
        let time = Nanos::from_millis(n as i64 * 100);
        assert_eq!(frame["microseconds"].as_i64(), Some((BEGIN + time).0 / 1000));
        let ego = drive.ego(time);
        for k in 0..3 {
            let moved = number(&frame["pose"][k][3]) - number(&frames[0]["pose"][k][3]);
            assert!((moved - (ego.position[k] - first.position[k])).abs() < 1e-6);
        }
        let sweep = drive.at(time).sweep();
        assert_eq!(frame["points"].as_u64(), Some(sweep.cloud.points.len() as u64));
        assert_eq!(frame["size"], serde_json::json!([640, 384]));
    }
    let mut boxes = found["boxes"].as_array().unwrap().iter();
    let mut wanted = 0;
    for frame in 0..10 {
        for actor in drive.at(Nanos::from_millis(frame * 100)).actors() {
            let p = actor.place;
            let low = p.z - p.h / 2.0;
            let is_it = |found: &&Value| {
                let near = |k: usize, v: f32| (number(&found[k]) - f64::from(v)).abs() < 1e-5;
                found[0] == frame
                    && found[1] == actor.class.name()
                    && near(2, p.x)
                    && near(3, p.y)
                    && near(4, low)
                    && near(5, p.yaw)
            };
            assert!(boxes.clone().any(|found| is_it(&found)), "{frame} {actor:?}");
            wanted += 1;
        }
    }
    assert_eq!(boxes.by_ref().count(), wanted);
    assert_eq!(number(&found["K_cam2"][0][0]), 350.0);
    let place = &found["T_cam2_velo"];
    let ours = jetlag_world::calibration().lidar_to_camera;
    for (row, ours) in ours.iter().enumerate() {
        for (column, ours) in ours.iter().enumerate() {
            assert!((number(&place[row][column]) - ours).abs() < 1e-12);
        }
    }
}

#[test]
fn rosbags_reads_every_storage_and_compression() {
    let folder = tempfile::tempdir().unwrap();
    let drive = Drive::new(8, 1);
    let formats = [
        (Format::Mcap(ChunkCompression::None), true),
        (Format::Mcap(ChunkCompression::Lz4), false),
        (Format::Mcap(ChunkCompression::Zstd), false),
        (Format::Sqlite3, true),
        (Format::Sqlite3, false),
        (Format::Sqlite3Zstd, false),
    ];
    let mut bags = Vec::new();
    for (n, (format, is_file)) in formats.into_iter().enumerate() {
        let name = folder.path().join(format!("bag{n}"));
        let (path, writer) = match is_file {
            true => {
                let path = name.with_extension(format.ending());
                (path.clone(), BagWriter::create_file(&path, format))
            }
            false => (name.clone(), BagWriter::create(&name, format)),
        };
        bag(&drive, writer.unwrap(), &mut |_, _| ()).unwrap();
        bags.push(path.display().to_string());
    }
    let arguments: Vec<&str> = ["bags"]
        .into_iter()
        .chain(bags.iter().map(String::as_str))
        .collect();
    let Some(found) = ask("rosbags.highlevel, numpy", &arguments) else {
        return;
    };
    let first = &found[0];
    assert_eq!(first["messages"], 12 + 12 + 20 + 50 + 1);
    assert_eq!(
        first["point_fields"],
        serde_json::json!(["x", "y", "z", "intensity", "ring"])
    );
    assert_eq!(first["widths"], serde_json::json!([640]));
    for other in found.as_array().unwrap() {
        assert_eq!(other, first, "all bags hold the same");
    }
}
