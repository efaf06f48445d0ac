//! Readers and writers that know nothing of ours: `rosbags` and `mcap-ros2-support`.

use std::path::{Path, PathBuf};
use std::process::Command;

use jetlag_bags::message::{CompressedImage, Encoding, Image, Region, TransformStamped, kind};
use jetlag_bags::pixels::to_rgb;
use jetlag_bags::write::{CameraMessage, Message};
use jetlag_bags::{BagWriter, Compression, Points, Select, Time, Want};
use nvidia_doubles::machine;
use serde_json::{Value, json};

use crate::bags::{CLOUDS, FORMATS, IMAGES, START, content, header, open, write_cloud, write_image};

const MODULES: &str = "rosbags.rosbag2, mcap_ros2.reader, numpy";

fn run(python: &Path, script: &str, arguments: &[PathBuf]) -> Vec<u8> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/python")
        .join(script);
    let done = Command::new(python).arg(script).args(arguments).output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    done.stdout
}

/// One message of each kind, and five of the usual ones.
fn write_every_kind(folder: &Path, format: jetlag_bags::write::Format) {
    let mut writer = BagWriter::create(folder, format).unwrap();
    for n in 0..5 {
        write_image(&mut writer, n, Time(START + n as i64 * 33_000_000));
        write_cloud(&mut writer, n, Time(START + n as i64 * 100_000_000));
    }
    let at = header(Time(START + 7));
    let jpeg = CompressedImage {
        header: at,
        format: "jpeg",
        data: &content(1001, 3),
    };
    writer
        .write("/jpeg", Time(START), &Message::CompressedImage(jpeg))
        .unwrap();
    let info = CameraMessage {
        header: at,
        height: 48,
        width: 64,
        distortion_model: "plumb_bob",
        d: &[0.5, 0.25, 0.0, -1.0, 3.0],
        k: [50.0, 0.0, 32.0, 0.0, 50.0, 24.0, 0.0, 0.0, 1.0],
        r: [0.0; 9],
        p: [0.0; 12],
        binning_x: 0,
        binning_y: 0,
        roi: Region::default(),
    };
    writer
        .write("/info", Time(START), &Message::CameraInfo(&info))
        .unwrap();
    let places = ["lidar", "camera"].map(|child| TransformStamped {
        header: at,
        child_frame_id: child,
        translation: [1.0, 2.0, 3.0],
        rotation: [0.0, 0.0, 0.6, 0.8],
    });
    writer
        .write("/tf_static", Time(START), &Message::Transforms(&places))
        .unwrap();
    writer.finish().unwrap();
}

fn sum(bytes: &[u8]) -> u64 {
    bytes.iter().map(|byte| u64::from(*byte)).sum()
}

fn check(found: &Value, with: &str) {
    let of = |topic: &str| -> Vec<&Value> {
        found
            .as_array()
            .unwrap()
            .iter()
            .filter(|message| message[0] == topic)
            .collect()
    };
    assert_eq!(found.as_array().unwrap().len(), 13, "{with}");
    let images = of(IMAGES);
    for (n, image) in images.iter().enumerate() {
        let time = START + n as i64 * 33_000_000;
        let wanted = json!([IMAGES, kind::IMAGE, time, {
            "stamp": time - 4_000_000, "frame": "sensor", "width": 64, "height": 48, "encoding": "bgr8", "step": 192,
            "bytes": 64 * 48 * 3, "sum": sum(&content(64 * 48 * 3, n)),
        }]);
        assert_eq!(**image, wanted, "{with}");
    }
    let clouds = of(CLOUDS);
    assert_eq!((images.len(), clouds.len()), (5, 5), "{with}");
    assert_eq!(clouds[4][3]["width"], 500);
    assert_eq!(clouds[4][3]["fields"][3], json!(["intensity", 16, 7, 1]));
    assert_eq!(clouds[4][3]["point_step"], 32);
    assert_eq!(clouds[4][3]["is_dense"], true);
    let jpeg = &of("/jpeg")[0][3];
    assert_eq!((&jpeg["format"], &jpeg["bytes"]), (&json!("jpeg"), &json!(1001)));
    assert_eq!(jpeg["sum"], sum(&content(1001, 3)));
    let info = &of("/info")[0][3];
    assert_eq!(info["d"], json!([0.5, 0.25, 0.0, -1.0, 3.0]), "{with}");
    assert_eq!(
        (&info["k"][2], &info["distortion_model"]),
        (&json!(32.0), &json!("plumb_bob"))
    );
    let place = &of("/tf_static")[0][3];
    assert_eq!(
        *place,
        json!({"child": "lidar", "rotation": [0.6, 0.8], "count": 2}),
        "{with}"
    );
}

#[test]
fn others_read_all_that_is_written_here() {
    let Some(python) = machine::python(MODULES) else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let bags: Vec<PathBuf> = FORMATS
        .iter()
        .enumerate()
        .map(|(n, format)| {
            let bag = folder.path().join(format!("bag{n}"));
            write_every_kind(&bag, *format);
            bag
        })
        .collect();
    let found: Value = serde_json::from_slice(&run(&python, "check_bag.py", &bags)).unwrap();
    for (found, format) in found.as_array().unwrap().iter().zip(FORMATS) {
        check(&found["rosbags"], &format!("rosbags, {format:?}"));
        if let Some(found) = found.get("mcap") {
            check(found, &format!("mcap-ros2-support, {format:?}"));
        }
    }
}

#[test]
fn all_that_others_write_is_read_here() {
    let Some(python) = machine::python(MODULES) else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    run(&python, "make_bags.py", &[folder.path().to_owned()]);
    let mut bags = 0;
    for entry in folder.path().read_dir().unwrap() {
        let path = entry.unwrap().path();
        let bag = open(&path);
        assert!(
            bag.completeness().is_whole(),
            "{}: {:?}",
            path.display(),
            bag.completeness()
        );
        let (mut reader, mut message) = (bag.reader(), Vec::new());
        let index = bag.index("/image", Select::default()).unwrap();
        assert_eq!(index.entries().len(), 10, "{}", path.display());
        for (n, entry) in index.entries().iter().enumerate() {
            reader.read(entry, &mut message).unwrap();
            let image = Image::decode(&message).unwrap();
            assert_eq!(image.encoding, Encoding::Rgb8);
            assert_eq!(image.header.stamp, entry.log_time());
            let mut rgb = Vec::new();
            to_rgb(&image, &mut rgb).unwrap();
            assert_eq!(rgb, vec![n as u8; 8 * 6 * 3]);
        }
        let index = bag.index("/points", Select::default()).unwrap();
        for (n, entry) in index.entries().iter().enumerate() {
            reader.read(entry, &mut message).unwrap();
            let mut points = Points::default();
            points.decode(&message, Want::default()).unwrap();
            assert_eq!(points.xyzi, vec![[n as f32; 4]; 50]);
        }
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let compression = match name.rsplit_once('_').unwrap().1 {
            "none" => Compression::None,
            "message" => Compression::MessageZstd,
            "file" => Compression::FileZstd,
            _ => Compression::ChunkZstd,
        };
        let told = bag.summary().topics[0].compression.clone();
        assert!(told.contains(&compression), "{name}: {told:?}");
        bags += 1;
    }
    assert_eq!(bags, 7);
}
