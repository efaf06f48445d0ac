//! Tables that are cut, wrong or absurd: one sentence each, never a panic, never without end.

use jetlag_datasets::nuscenes::{BoxFrame, GroundTruth, NuScenes, Selection};
use serde_json::{Value, json};

use crate::made::{Made, token};

/// Opens, selects and reads the ground truth, for whatever comes of it.
fn everything(root: &std::path::Path) -> Result<(), String> {
    let nuscenes = NuScenes::open(root, None).map_err(|error| error.to_string())?;
    let selection = Selection {
        sweeps: 10,
        ..Selection::of("LIDAR_TOP")
    };
    let recording = nuscenes.select(&selection).map_err(|error| error.to_string())?;
    let truth = GroundTruth::read(&nuscenes).map_err(|error| error.to_string())?;
    for (number, frame) in recording.frames().enumerate() {
        truth
            .boxes(frame, BoxFrame::Sensor)
            .map_err(|error| error.to_string())?;
        assert!(recording.sweeps(number).count() <= 10);
    }
    Ok(())
}

#[test]
fn a_field_that_is_wrong_is_told_with_table_and_row() {
    type Change = (&'static str, usize, &'static str, Value, &'static str);
    let changes: [Change; 20] = [
        (
            "scene",
            0,
            "name",
            json!(7),
            "scene.json, row 1, `name`: must be a text; found 7",
        ),
        (
            "sample",
            1,
            "timestamp",
            json!("now"),
            "sample.json, row 2, `timestamp`: must be a time",
        ),
        (
            "sample",
            1,
            "scene_token",
            json!("x"),
            "row 2, `scene_token`: `x` is no token of table scene",
        ),
        (
            "sample",
            1,
            "prev",
            json!("x"),
            "row 2, `prev`: `x` is no token of table sample",
        ),
        (
            "sensor",
            0,
            "channel",
            Value::Null,
            "sensor.json, row 1, `channel`: is absent",
        ),
        (
            "calibrated_sensor",
            2,
            "rotation",
            json!([0, 0, 0, 0]),
            "calibrated_sensor.json, row 3, `rotation`: must be a quaternion",
        ),
        (
            "calibrated_sensor",
            0,
            "translation",
            json!([1e300, 0, 0]),
            "row 1, `translation`: must be three numbers of metres",
        ),
        (
            "calibrated_sensor",
            0,
            "camera_intrinsic",
            json!([[1, 2], [3, 4]]),
            "found 2 lists of 4 numbers in all",
        ),
        (
            "sample_data",
            3,
            "ego_pose_token",
            json!("nothing"),
            "row 4, `ego_pose_token`: `nothing` is no token of table ego_pose",
        ),
        (
            "sample_data",
            3,
            "ego_pose_token",
            json!(""),
            "row 4, `ego_pose_token`: is absent",
        ),
        (
            "sample_data",
            3,
            "prev",
            json!("nothing"),
            "row 4, `prev`: `nothing` is no token of table sample_data",
        ),
        (
            "sample_data",
            3,
            "token",
            json!(token(8, 0)),
            "is the token of an earlier row too",
        ),
        (
            "sample_data",
            3,
            "is_key_frame",
            json!("yes"),
            "`is_key_frame`: must be true or false; found the text `yes`",
        ),
        (
            "sample_data",
            3,
            "timestamp",
            json!(1e300),
            "`timestamp`: must be a time",
        ),
        (
            "sample_data",
            3,
            "width",
            json!(-4),
            "`width`: must be a whole number from 0; found -4",
        ),
        (
            "sample_data",
            3,
            "filename",
            json!("../../etc/passwd"),
            "must be a path within the dataset",
        ),
        (
            "sample_data",
            3,
            "filename",
            json!("/etc/passwd"),
            "must be a path within the dataset",
        ),
        (
            "ego_pose",
            5,
            "rotation",
            json!({"w": 1}),
            "ego_pose.json, row 6, `rotation`: must be a quaternion w x y z (or the three rows of a rotation matrix); found an object",
        ),
        (
            "sample_annotation",
            0,
            "instance_token",
            json!("x"),
            "sample_annotation.json, row 1, `instance_token`: `x` is no token of table instance",
        ),
        (
            "sample_annotation",
            0,
            "size",
            json!([1, -1, 1]),
            "row 1, `size`: must be width, length and height",
        ),
    ];
    let folder = tempfile::tempdir().unwrap();
    Made::new(1).write(folder.path());
    assert_eq!(everything(folder.path()), Ok(()));
    for (table, row, field, value, phrase) in changes {
        let mut made = Made::new(1);
        made.row(table, row)[field] = value;
        made.write_tables(folder.path());
        let error = everything(folder.path()).unwrap_err();
        assert!(error.contains(phrase), "{table} {field}: {error}");
        assert!(!error.contains('\n'), "{error}");
    }
}

#[test]
fn links_in_a_circle_or_to_another_channel_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let mut made = Made::new(1);
    made.write(folder.path());
    let third = made.row("sample_data", 3)["token"].clone();
    made.row("sample_data", 1)["prev"] = third;
    made.write_tables(folder.path());
    let error = everything(folder.path()).unwrap_err();
    assert!(
        error.contains("row 2, `prev`: leads to a row that is not earlier"),
        "{error}"
    );
    let mut made = Made::new(1);
    let own = made.row("sample_data", 4)["token"].clone();
    made.row("sample_data", 4)["prev"] = own;
    made.write_tables(folder.path());
    assert!(everything(folder.path()).unwrap_err().contains("not earlier"));
    let mut made = Made::new(1);
    let camera = made.rows_of("CAM_FRONT")[0];
    let other = made.row("sample_data", camera)["token"].clone();
    made.row("sample_data", 4)["prev"] = other;
    made.write_tables(folder.path());
    let error = everything(folder.path()).unwrap_err();
    assert!(
        error.contains("row 5, `prev`: leads to a row of channel CAM_FRONT"),
        "{error}"
    );
    // Annotations and samples in circles are never followed more than a step.
    let mut made = Made::new(1);
    for table in ["sample", "sample_annotation"] {
        for row in 0..3 {
            let own = made.row(table, row)["token"].clone();
            made.row(table, row)["prev"] = own.clone();
            made.row(table, row)["next"] = own;
        }
    }
    made.write_tables(folder.path());
    assert_eq!(everything(folder.path()), Ok(()));
}

#[test]
fn tables_cut_anywhere_are_one_sentence() {
    let folder = tempfile::tempdir().unwrap();
    let made = Made::new(1);
    made.write(folder.path());
    for table in made.tables.keys() {
        let path = folder.path().join(format!("v1.0-mini/{table}.json"));
        let whole = std::fs::read(&path).unwrap();
        let read = !["attribute", "log", "map"].contains(table);
        for cut in (0..whole.len()).step_by(whole.len() / 60 + 1) {
            std::fs::write(&path, &whole[..cut]).unwrap();
            match everything(folder.path()) {
                Ok(()) => assert!(!read, "{table} cut at {cut}"),
                Err(error) => {
                    assert!(
                        error.contains(table) && error.contains("the file ends in the middle"),
                        "{table}: {error}"
                    );
                }
            }
        }
        std::fs::write(&path, &whole).unwrap();
    }
}

#[test]
fn bytes_changed_anywhere_never_panic() {
    let folder = tempfile::tempdir().unwrap();
    let made = Made::new(1);
    made.write(folder.path());
    let mut state = 1_u64;
    let mut next = |below: usize| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % below
    };
    let interesting = b"{}[]\",:-0e9\\ tn\0\xff";
    for table in made.tables.keys() {
        let path = folder.path().join(format!("v1.0-mini/{table}.json"));
        let whole = std::fs::read(&path).unwrap();
        for _ in 0..40 {
            let mut changed = whole.clone();
            for _ in 0..1 + next(3) {
                let at = next(changed.len());
                changed[at] = interesting[next(interesting.len())];
            }
            std::fs::write(&path, &changed).unwrap();
            if let Err(error) = everything(folder.path()) {
                assert!(error.len() < 600, "{error}");
            }
        }
        std::fs::write(&path, &whole).unwrap();
    }
}

#[test]
fn absent_tables_are_named_together() {
    let folder = tempfile::tempdir().unwrap();
    Made::new(1).write(folder.path());
    let remove =
        |table: &str| std::fs::remove_file(folder.path().join(format!("v1.0-mini/{table}.json"))).unwrap();
    remove("category");
    remove("instance");
    let error = everything(folder.path()).unwrap_err();
    assert!(error.contains("lacks category.json, instance.json"), "{error}");
    remove("sensor");
    remove("sample");
    remove("attribute");
    let error = everything(folder.path()).unwrap_err();
    assert!(error.contains("lacks sample.json, sensor.json"), "{error}");
}
