//! Tables as large as those of the whole of nuScenes, made up, and how long and how much memory opening them takes.
//!
//! ```text
//! cargo run --release -p jetlag-datasets --example made_nuscenes -- write /tmp/made
//! cargo run --release -p jetlag-datasets --example made_nuscenes -- read /tmp/made
//! ```
//!
//! `write` makes 850 scenes of 40 keyframes (as v1.0-trainval): 2.6 million captures of twelve sensors with as many poses, and
//! 1.4 million annotations, 2.8 GB; a number after the folder makes so many scenes instead. There are no files of sensors.

#![allow(clippy::print_stdout, reason = "it is a program")]

use std::error::Error;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::time::Instant;

use jetlag_datasets::nuscenes::{GroundTruth, NuScenes, Selection};

type Outcome = Result<(), Box<dyn Error>>;

/// Channel, captures a scene of 20 s.
const CHANNELS: [(&str, u64); 12] = [
    ("LIDAR_TOP", 390),
    ("CAM_FRONT", 235),
    ("CAM_FRONT_LEFT", 235),
    ("CAM_FRONT_RIGHT", 235),
    ("CAM_BACK", 235),
    ("CAM_BACK_LEFT", 235),
    ("CAM_BACK_RIGHT", 235),
    ("RADAR_FRONT", 260),
    ("RADAR_FRONT_LEFT", 260),
    ("RADAR_FRONT_RIGHT", 260),
    ("RADAR_BACK_LEFT", 260),
    ("RADAR_BACK_RIGHT", 260),
];
const KEY_FRAMES: u64 = 40;
const OBJECTS: u64 = 41;

fn main() -> Outcome {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["write", folder] => write(folder.as_ref(), 850),
        ["write", folder, scenes] => write(folder.as_ref(), scenes.parse()?),
        ["read", folder] => read(folder.as_ref()),
        _ => Err("usage: made_nuscenes write FOLDER [SCENES] | read FOLDER".into()),
    }
}

fn read(root: &Path) -> Outcome {
    let begin = Instant::now();
    let nuscenes = NuScenes::open(root, None)?;
    println!(
        "open: {} captures, {:.2?}, {}",
        nuscenes.captures(),
        begin.elapsed(),
        peak()
    );
    let begin = Instant::now();
    let truth = GroundTruth::read(&nuscenes)?;
    println!(
        "annotations: {} categories, {:.2?}, {}",
        truth.categories().len(),
        begin.elapsed(),
        peak()
    );
    let begin = Instant::now();
    // There are no files: the whole of it is one error, after everything was looked for.
    match nuscenes.select(&Selection::of("LIDAR_TOP")) {
        Ok(recording) => println!("select: {} frames", recording.len()),
        Err(error) => println!("select: {error}"),
    }
    println!("select: {:.2?}, {}", begin.elapsed(), peak());
    Ok(())
}

/// The most memory that was in use, as the system counts it.
fn peak() -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmHWM"));
    line.map_or_else(
        || "memory unknown".to_owned(),
        |line| line.replace("VmHWM:\t", "peak "),
    )
}

struct Table {
    file: BufWriter<File>,
    rows: u64,
}

impl Table {
    fn new(folder: &Path, name: &str) -> Result<Self, Box<dyn Error>> {
        let mut file = BufWriter::new(File::create(folder.join(format!("{name}.json")))?);
        file.write_all(b"[\n")?;
        Ok(Table { file, rows: 0 })
    }

    fn row(&mut self, fields: std::fmt::Arguments) -> Outcome {
        let comma = if self.rows == 0 { "" } else { ",\n" };
        self.rows += 1;
        Ok(write!(self.file, "{comma}{{\n{fields}\n}}")?)
    }

    fn end(mut self) -> Outcome {
        self.file.write_all(b"\n]\n")?;
        Ok(self.file.flush()?)
    }
}

/// Scattered over all values, as nuScenes's are.
fn token(kind: u64, number: u64) -> String {
    let mut x = (number ^ kind << 56).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    x ^= x >> 29;
    format!("{:016x}{:016x}", x.wrapping_mul(0xbf58_476d_1ce4_e5b9), x)
}

/// A link within a list of so many.
fn link(kind: u64, first: u64, number: Option<u64>, count: u64) -> String {
    let number = number.filter(|number| *number < count);
    number.map_or_else(String::new, |number| token(kind, first + number))
}

fn write(root: &Path, scenes: u64) -> Outcome {
    let folder = root.join("v1.0-made");
    std::fs::create_dir_all(&folder)?;
    small(&folder, scenes)?;
    captures(&folder, scenes)?;
    annotations(&folder, scenes)
}

fn small(folder: &Path, scenes: u64) -> Outcome {
    let (mut sensors, mut places) = (
        Table::new(folder, "sensor")?,
        Table::new(folder, "calibrated_sensor")?,
    );
    for (number, (channel, _)) in (0..).zip(CHANNELS) {
        sensors.row(format_args!(
            "\"token\": \"{}\",\n\"channel\": \"{channel}\",\n\"modality\": \"any\"",
            token(1, number)
        ))?;
        places.row(format_args!(
            "\"token\": \"{}\",\n\"sensor_token\": \"{}\",\n\"translation\": [\n0.94,\n0.0,\n1.84\n],\n\"rotation\": \
             [\n0.7077955119164311,\n-0.006492241857679724,\n0.010646214602139572,\n-0.7063073142912114\n],\n\
             \"camera_intrinsic\": []",
            token(2, number),
            token(1, number)
        ))?;
    }
    sensors.end()?;
    places.end()?;
    let (mut rows, mut samples) = (Table::new(folder, "scene")?, Table::new(folder, "sample")?);
    for scene in 0..scenes {
        rows.row(format_args!(
            "\"token\": \"{}\",\n\"name\": \"scene-{scene:04}\"",
            token(3, scene)
        ))?;
        for key in 0..KEY_FRAMES {
            let first = scene * KEY_FRAMES;
            samples.row(format_args!(
                "\"token\": \"{}\",\n\"timestamp\": {},\n\"prev\": \"{}\",\n\"next\": \"{}\",\n\"scene_token\": \"{}\"",
                token(4, first + key),
                time(scene, key * 500_000),
                link(4, first, key.checked_sub(1), KEY_FRAMES),
                link(4, first, Some(key + 1), KEY_FRAMES),
                token(3, scene)
            ))?;
        }
    }
    rows.end()?;
    samples.end()
}

/// Microseconds since 1970; scenes begin a minute apart.
fn time(scene: u64, since: u64) -> u64 {
    1_532_402_927_647_951 + scene * 60_000_000 + since
}

fn captures(folder: &Path, scenes: u64) -> Outcome {
    let (mut data, mut poses) = (
        Table::new(folder, "sample_data")?,
        Table::new(folder, "ego_pose")?,
    );
    let mut first = 0;
    for scene in 0..scenes {
        for (channel, (name, count)) in (0..).zip(CHANNELS) {
            for index in 0..count {
                let since = index * 19_500_000 / (count - 1);
                let key = since.div_ceil(500_000).min(KEY_FRAMES - 1);
                let (own, at) = (token(5, first + index), time(scene, since));
                poses.row(format_args!(
                    "\"token\": \"{own}\",\n\"timestamp\": {at},\n\"rotation\": [\n0.5731787718287827,\n-0.0015811634307974854,\
                     \n0.013859363182046986,\n-0.8193116095230444\n],\n\"translation\": [\n{}.77878632230204,\n1179.4673290964536,\
                     \n0.0\n]",
                    400 + index
                ))?;
                data.row(format_args!(
                    "\"token\": \"{own}\",\n\"sample_token\": \"{}\",\n\"ego_pose_token\": \"{own}\",\n\
                     \"calibrated_sensor_token\": \"{}\",\n\"timestamp\": {at},\n\"fileformat\": \"pcd\",\n\
                     \"is_key_frame\": {},\n\"height\": 0,\n\"width\": 0,\n\"filename\": \
                     \"sweeps/{name}/n015-2018-07-24-11-22-45+0800__{name}__{at}.pcd.bin\",\n\"prev\": \"{}\",\n\"next\": \"{}\"",
                    token(4, scene * KEY_FRAMES + key),
                    token(2, channel),
                    since % 500_000 < 45_000,
                    link(5, first, index.checked_sub(1), count),
                    link(5, first, Some(index + 1), count)
                ))?;
            }
            first += count;
        }
    }
    data.end()?;
    poses.end()
}

fn annotations(folder: &Path, scenes: u64) -> Outcome {
    let mut categories = Table::new(folder, "category")?;
    categories.row(format_args!(
        "\"token\": \"{}\",\n\"name\": \"vehicle.car\"",
        token(6, 0)
    ))?;
    categories.end()?;
    let (mut instances, mut rows) = (
        Table::new(folder, "instance")?,
        Table::new(folder, "sample_annotation")?,
    );
    for object in 0..scenes * OBJECTS {
        instances.row(format_args!(
            "\"token\": \"{}\",\n\"category_token\": \"{}\"",
            token(7, object),
            token(6, 0)
        ))?;
        for key in 0..KEY_FRAMES {
            let first = object * KEY_FRAMES;
            rows.row(format_args!(
                "\"token\": \"{}\",\n\"sample_token\": \"{}\",\n\"instance_token\": \"{}\",\n\"visibility_token\": \"\",\n\
                 \"attribute_tokens\": [\n\"{}\"\n],\n\"translation\": [\n373.256,\n1130.419,\n0.8\n],\n\"size\": \
                 [\n0.621,\n0.669,\n1.642\n],\n\"rotation\": [\n0.9831098797903927,\n0.0,\n0.0,\n-0.18301629506281616\n],\n\
                 \"prev\": \"{}\",\n\"next\": \"{}\",\n\"num_lidar_pts\": 5,\n\"num_radar_pts\": 0",
                token(8, first + key),
                token(4, object / OBJECTS * KEY_FRAMES + key),
                token(7, object),
                token(9, object),
                link(8, first, key.checked_sub(1), KEY_FRAMES),
                link(8, first, Some(key + 1), KEY_FRAMES)
            ))?;
        }
    }
    instances.end()?;
    rows.end()
}
