//! Bags of others, of which every message is known: where the checkout has them (`../shared`, or `JETLAG_SHARED`).

use std::path::Path;

use jetlag_bags::message::{CameraInfo, CompressedImage, Image, PointCloud, kind};
use jetlag_bags::pixels::to_rgb;
use jetlag_bags::{Bag, Points, Storage, Want};
use nvidia_doubles::machine;
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::bags::open;

fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes)
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

fn is_near(found: f64, wanted: &Value) -> bool {
    (found - wanted.as_f64().unwrap()).abs() <= 1e-4 * found.abs().max(1.0)
}

/// Every message, in the order of its log time: topic, time and bytes.
fn in_order(bag: &Bag) -> Vec<(String, String, i64, Vec<u8>)> {
    let mut all = Vec::new();
    for topic in bag.topics() {
        all.extend(
            topic
                .entries()
                .iter()
                .map(|entry| (entry.log_time(), topic, entry)),
        );
    }
    all.sort_by_key(|(time, ..)| *time);
    let mut reader = bag.reader();
    let mut message = Vec::new();
    all.into_iter()
        .map(|(time, topic, entry)| {
            reader.read(entry, &mut message).unwrap();
            (
                topic.name().to_owned(),
                topic.kind().to_owned(),
                time.0,
                message.clone(),
            )
        })
        .collect()
}

fn check(path: &Path, expected: &Path) {
    let expected: Vec<Value> = serde_json::from_slice(&std::fs::read(expected).unwrap()).unwrap();
    let bag = open(path);
    assert!(bag.completeness().is_whole(), "{:?}", bag.completeness());
    let mut found = in_order(&bag);
    assert_eq!(found.len(), expected.len(), "{}", path.display());
    for wanted in &expected {
        let is_it = |(topic, _, time, _): &(String, String, i64, Vec<u8>)| {
            wanted["topic"] == **topic && wanted["log_time_ns"] == *time
        };
        let at = found
            .iter()
            .position(is_it)
            .unwrap_or_else(|| panic!("{wanted} is missing"));
        let (topic, kind, _, message) = found.swap_remove(at);
        assert_eq!(wanted["type"], *kind, "{topic}");
        assert_eq!(wanted["cdr_bytes"], message.len());
        assert_eq!(wanted["cdr_sha256"], sha256(&message));
        check_content(&kind, &message, wanted);
    }
}

fn check_content(kind: &str, message: &[u8], wanted: &Value) {
    match kind {
        kind::POINT_CLOUD => {
            let cloud = PointCloud::decode(message).unwrap();
            let fields: Vec<Value> = cloud
                .fields
                .map(|field| serde_json::json!([field.name, field.offset, field.number.datatype()]))
                .collect();
            assert_eq!(wanted["fields"], Value::from(fields));
            assert_eq!(wanted["point_step"], cloud.point_step);
            let mut points = Points::default();
            points
                .decode(
                    message,
                    Want {
                        ring: true,
                        time: true,
                    },
                )
                .unwrap();
            assert_eq!(wanted["points"], points.xyzi.len());
            for axis in 0..3 {
                let sum: f64 = points.xyzi.iter().map(|point| f64::from(point[axis])).sum();
                assert!(
                    is_near(sum / points.xyzi.len() as f64, &wanted["mean_xyz"][axis]),
                    "{wanted}"
                );
                assert!(
                    is_near(f64::from(points.xyzi[0][axis]), &wanted["first_point"][axis]),
                    "{wanted}"
                );
            }
            let has_ring = wanted["fields"]
                .as_array()
                .unwrap()
                .iter()
                .any(|field| field[0] == "ring");
            assert_eq!(points.ring.len(), if has_ring { points.xyzi.len() } else { 0 });
            assert!(points.ring.iter().all(|ring| *ring < 32));
        }
        kind::IMAGE => {
            let image = Image::decode(message).unwrap();
            assert_eq!(wanted["width"], image.width);
            assert_eq!(wanted["height"], image.height);
            assert_eq!(wanted["encoding"], image.encoding.name());
            assert_eq!(wanted["step"], image.step);
            let mut rgb = Vec::new();
            to_rgb(&image, &mut rgb).unwrap();
            assert_eq!(rgb.len() as u32, image.width * image.height * 3);
            let mean = rgb.iter().map(|value| f64::from(*value)).sum::<f64>() / rgb.len() as f64;
            assert!(is_near(mean, &wanted["mean_pixel"]), "{mean}, not {wanted}");
        }
        kind::COMPRESSED_IMAGE => {
            let image = CompressedImage::decode(message).unwrap();
            assert_eq!(wanted["format"], image.format);
            assert_eq!(wanted["bytes"], image.data.len());
            if let Some(hash) = wanted.get("image_sha256") {
                assert_eq!(*hash, sha256(image.data));
            }
        }
        kind::CAMERA_INFO => {
            let info = CameraInfo::decode(message).unwrap();
            assert!(info.k[0] > 0.0 && info.k[8] == 1.0 && info.width > 0);
        }
        other => panic!("{other} is not expected"),
    }
}

#[test]
fn every_message_of_real_sensors_is_as_its_recorder_had_it() {
    let Some(folder) = machine::shared("data/sensors/bags") else {
        return;
    };
    for (bag, expected) in [
        ("kitti_sqlite3", "kitti_sqlite3"),
        ("kitti_sqlite3/kitti_sqlite3.db3", "kitti_sqlite3"),
        ("nuscenes_mcap", "nuscenes_mcap"),
        ("nuscenes_mcap/nuscenes_mcap.mcap", "nuscenes_mcap"),
        ("nuscenes_zstd.mcap", "nuscenes_mcap"),
    ] {
        check(
            &folder.join(bag),
            &folder.join(format!("{expected}.expected.json")),
        );
    }
}

#[test]
fn bags_split_into_several_files_have_all_their_messages() {
    let Some(folder) = machine::shared("data/sensors/bags/public_rosbag2") else {
        return;
    };
    for (name, storage) in [("wbag_mcap", Storage::Mcap), ("wbag_sqlite3", Storage::Sqlite3)] {
        let bag = open(&folder.join(name));
        let summary = bag.summary();
        assert!(summary.losses.is_empty(), "{:?}", summary.losses);
        assert_eq!((summary.messages, summary.files.len()), (6074, 5), "{name}");
        assert!(summary.files.iter().all(|file| file.storage == storage));
        assert_eq!(summary.files.iter().map(|file| file.messages).sum::<u64>(), 6074);
        // What metadata.yaml says of it is not so.
        assert_eq!(summary.duration.unwrap().0, 1998);
        assert_eq!(bag.topic("HHH").unwrap().entries().len(), 726);
        assert_eq!(in_order(&bag).len(), 6074);
    }
    // Both were written from the same messages.
    let [mcap, sqlite] =
        ["cdr_test_mcap", "cdr_test_sqlite3"].map(|name| in_order(&open(&folder.join(name))));
    assert!(mcap == sqlite && mcap.len() == 7);
}

#[test]
fn messages_of_many_types_are_read_and_an_image_that_is_not_there_is_an_error() {
    let Some(folder) = machine::shared("data/sensors/bags/public_rosbags_rs") else {
        return;
    };
    for name in ["test_bag_mcap", "test_bag_sqlite3"] {
        let bag = open(&folder.join(name));
        assert!(bag.completeness().is_whole());
        let messages = in_order(&bag);
        assert_eq!(messages.len(), 188, "{name}");
        let (mut images, mut clouds) = (0, 0);
        for (topic, kind, _, message) in &messages {
            match kind.as_str() {
                kind::IMAGE => {
                    let refused = Image::decode(message).unwrap_err().to_string();
                    assert!(
                        refused.contains("640×480") && refused.contains("but it holds"),
                        "{refused}"
                    );
                    images += 1;
                }
                kind::POINT_CLOUD => {
                    let mut points = Points::default();
                    points.decode(message, Want::default()).unwrap();
                    assert_eq!(points.xyzi.len(), 3);
                    clouds += 1;
                }
                kind::CAMERA_INFO => {
                    CameraInfo::decode(message).unwrap();
                }
                kind::COMPRESSED_IMAGE => {
                    CompressedImage::decode(message).unwrap();
                }
                _ => assert!(!topic.is_empty()),
            }
        }
        assert!(images > 0 && clouds > 0, "{name}");
    }
}
