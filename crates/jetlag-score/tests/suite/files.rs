//! Result files: what stands in them, and what they refuse.

use std::io;

use jetlag_score::files::{FilesError, Meta, coco_categories};
use jetlag_score::kitti::CameraBox;
use jetlag_score::{ScoreError, What, coco, files, kitti, nuscenes};

fn text(write: impl FnOnce(&mut Vec<u8>) -> Result<(), FilesError>) -> String {
    let mut out = Vec::new();
    write(&mut out).unwrap();
    String::from_utf8(out).unwrap()
}

const IN_IMAGE: coco::Found = coco::Found {
    class: 1,
    bbox: [1.5, 2.0, 30.0, 40.25],
    score: 0.75,
};

#[test]
fn cocos_results_are_one_list() {
    let written = text(|out| files::coco(out, &[1, 3], [(7, &[IN_IMAGE, IN_IMAGE][..]), (9, &[][..])]));
    let rows: Vec<serde_json::Value> = serde_json::from_str(&written).unwrap();
    assert_eq!(rows.len(), 2);
    assert_eq!(
        rows[0],
        serde_json::json!({ "image_id": 7, "category_id": 3, "bbox": [1.5, 2.0, 30.0, 40.25], "score": 0.75 })
    );
    assert_eq!(text(|out| files::coco(out, &[1], [])), "[]\n");
    let categories = coco_categories();
    assert_eq!((categories.len(), categories[0], categories[79]), (80, 1, 90));
    let refused = files::coco(&mut Vec::new(), &[1], [(7, &[IN_IMAGE][..])]).unwrap_err();
    let beyond = ScoreError::Beyond {
        frame: 0,
        what: What::Detection,
        index: 0,
        field: "class",
        number: 1,
        count: 1,
    };
    assert!(
        matches!(&refused, FilesError::Detection(why) if *why == beyond),
        "{refused}"
    );
}

fn in_space() -> nuscenes::Found {
    nuscenes::Found {
        class: 0,
        centre: [1.0, 2.0, 3.0],
        size: [2.0, 4.0, 1.5],
        yaw: std::f64::consts::FRAC_PI_2,
        velocity: None,
        attribute: Some(5),
        score: 0.5,
    }
}

#[test]
fn nuscenes_submission_has_every_sample() {
    let meta = Meta {
        camera: true,
        ..Meta::default()
    };
    let found = [in_space()];
    let written = text(|out| files::nuscenes(out, meta, [("one", &found[..]), ("a \"two\"", &[][..])]));
    let read: serde_json::Value = serde_json::from_str(&written).unwrap();
    assert_eq!(read["meta"]["use_camera"], true);
    assert_eq!(read["meta"]["use_external"], false);
    assert_eq!(read["results"]["a \"two\""], serde_json::json!([]));
    let row = &read["results"]["one"][0];
    assert_eq!(row["sample_token"], "one");
    assert_eq!(row["velocity"], serde_json::json!([0.0, 0.0]));
    assert_eq!(row["detection_name"], "car");
    assert_eq!(row["attribute_name"], "vehicle.moving");
    assert!((row["rotation"][3].as_f64().unwrap() - 0.5f64.sqrt()).abs() < 1e-12);
    let empty = text(|out| files::nuscenes(out, meta, []));
    assert!(serde_json::from_str::<serde_json::Value>(&empty).unwrap()["results"].is_object());
    let bad = [nuscenes::Found {
        size: [2.0, f64::NAN, 1.0],
        ..in_space()
    }];
    let refused = files::nuscenes(&mut Vec::new(), meta, [("one", &bad[..])]).unwrap_err();
    assert!(
        matches!(
            refused,
            FilesError::Detection(ScoreError::BadNumber { field: "size", .. })
        ),
        "{refused}"
    );
    let many = vec![in_space(); 501];
    let refused = files::nuscenes(&mut Vec::new(), meta, [("one", &many[..])]).unwrap_err();
    assert!(
        matches!(
            refused,
            FilesError::Detection(ScoreError::TooManyBoxes { most: 500, .. })
        ),
        "{refused}"
    );
}

#[test]
fn kittis_lines_say_what_is_not_known() {
    let found = kitti::Found {
        kind: kitti::Kind::PersonSitting,
        alpha: Some(-0.5),
        bbox: [1.0, 2.0, 3.5, 4.0],
        space: Some(CameraBox {
            size: [1.5, 2.0, 4.0],
            place: [0.5, 1.6, 20.0],
            heading: 1.25,
        }),
        score: 0.75,
    };
    let flat = kitti::Found {
        alpha: None,
        space: None,
        ..found
    };
    assert_eq!(
        text(|out| files::kitti(out, &[found, flat])),
        "Person_sitting -1 -1 -0.5 1 2 3.5 4 1.5 2 4 0.5 1.6 20 1.25 0.75\n\
         Person_sitting -1 -1 -10 1 2 3.5 4 -1 -1 -1 -1000 -1000 -1000 -10 0.75\n"
    );
    assert_eq!(text(|out| files::kitti(out, &[])), "");
    let bad = kitti::Found {
        score: f64::INFINITY,
        ..found
    };
    assert!(files::kitti(&mut Vec::new(), &[bad]).is_err());
}

#[test]
fn a_full_disk_is_an_error() {
    struct Full;
    impl io::Write for Full {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(io::ErrorKind::StorageFull.into())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let refused = files::coco(&mut Full, &[1, 2], [(7, &[IN_IMAGE][..])]).unwrap_err();
    assert!(matches!(refused, FilesError::Write(_)), "{refused}");
    let refused = files::nuscenes(&mut Full, Meta::default(), []).unwrap_err();
    assert!(matches!(refused, FilesError::Write(_)), "{refused}");
}
