//! A small nuScenes dataset, made up: scenes of 2 s with a LiDAR at 20 Hz, cameras at 12 and 10 Hz, a car in a curve, three
//! objects.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

/// Channels and their rates.
pub(crate) const CHANNELS: [(&str, i64); 3] = [("LIDAR_TOP", 20), ("CAM_FRONT", 12), ("CAM_BACK", 10)];

/// Keyframes of a scene, half a second apart.
pub(crate) const KEY_FRAMES: i64 = 5;

const SCENE_US: i64 = 500_000 * (KEY_FRAMES - 1);

/// The tables as rows, to be changed by a test before they are written.
pub(crate) struct Made {
    pub(crate) tables: BTreeMap<&'static str, Vec<Value>>,
    /// Folder of the files of sensors, and their contents.
    pub(crate) files: Vec<(String, Vec<u8>)>,
}

/// 32 digits that differ for each kind and number.
pub(crate) fn token(kind: u64, number: i64) -> String {
    let mixed = |salt: u64| {
        let mut x = (number as u64 ^ kind << 48 ^ salt).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        x ^= x >> 29;
        x.wrapping_mul(0xbf58_476d_1ce4_e5b9)
    };
    format!("{:016x}{:016x}", mixed(0), mixed(1 << 40))
}

/// When a scene begins: 100 s after the one before it.
pub(crate) fn begin_us(scene: i64) -> i64 {
    1_532_402_927_600_000 + scene * 100_000_000
}

impl Made {
    pub(crate) fn new(scenes: i64) -> Self {
        let mut made = Made {
            tables: [
                "scene",
                "sample",
                "sensor",
                "calibrated_sensor",
                "sample_data",
                "ego_pose",
                "sample_annotation",
                "instance",
                "category",
                "visibility",
                "attribute",
                "log",
                "map",
            ]
            .map(|table| (table, Vec::new()))
            .into(),
            files: vec![("maps/blank.png".to_owned(), BLANK.to_vec())],
        };
        made.sensors();
        for scene in 0..scenes {
            made.scene(scene);
        }
        made
    }

    fn add(&mut self, table: &'static str, row: Value) {
        self.tables.get_mut(table).unwrap().push(row);
    }

    fn sensors(&mut self) {
        let turns = [
            [0.7, 0.0, 0.01, -0.71],
            [0.5, -0.5, 0.5, -0.5],
            [0.5, -0.5, -0.5, 0.5],
        ];
        for (number, (channel, _)) in CHANNELS.iter().enumerate() {
            let camera = channel.starts_with("CAM");
            let modality = if camera { "camera" } else { "lidar" };
            let intrinsic = match camera {
                true => json!([[1266.4, 0.0, 816.3], [0.0, 1266.4, 491.5], [0.0, 0.0, 1.0]]),
                false => json!([]),
            };
            let number = number as i64;
            self.add(
                "sensor",
                json!({"token": token(1, number), "channel": channel, "modality": modality}),
            );
            self.add(
                "calibrated_sensor",
                json!({
                    "token": token(2, number), "sensor_token": token(1, number),
                    "translation": [0.9 - number as f64, 0.1, 1.8], "rotation": turns[number as usize],
                    "camera_intrinsic": intrinsic
                }),
            );
        }
        for (number, name) in ["vehicle.car", "human.pedestrian.adult"].iter().enumerate() {
            self.add(
                "category",
                json!({"token": token(3, number as i64), "name": name, "description": "", "index": number}),
            );
        }
        for (number, level) in ["v0-40", "v40-60", "v60-80", "v80-100"].iter().enumerate() {
            self.add(
                "visibility",
                json!({"token": (number + 1).to_string(), "level": level, "description": ""}),
            );
        }
        self.add(
            "log",
            json!({"token": token(4, 0), "logfile": "n015", "vehicle": "n015", "date_captured": "2018-07-24", "location": "singapore-onenorth"}),
        );
        self.add(
            "map",
            json!({"token": token(5, 0), "log_tokens": [token(4, 0)], "category": "semantic_prior", "filename": "maps/blank.png"}),
        );
    }

    fn scene(&mut self, scene: i64) {
        let sample = |key: i64| token(6, scene * 100 + key);
        let end = |key: i64| {
            if (0..KEY_FRAMES).contains(&key) {
                sample(key)
            } else {
                String::new()
            }
        };
        self.add(
            "scene",
            json!({
                "token": token(7, scene), "log_token": token(4, 0), "nbr_samples": KEY_FRAMES, "first_sample_token": sample(0),
                "last_sample_token": sample(KEY_FRAMES - 1), "name": format!("scene-{scene:04}"), "description": "made up"
            }),
        );
        for key in 0..KEY_FRAMES {
            self.add(
                "sample",
                json!({
                    "token": sample(key), "timestamp": begin_us(scene) + key * 500_000, "prev": end(key - 1), "next": end(key + 1),
                    "scene_token": token(7, scene)
                }),
            );
        }
        for (channel, (name, hz)) in CHANNELS.iter().enumerate() {
            self.channel(scene, channel as i64, name, *hz);
        }
        self.objects(scene);
    }

    /// From the first keyframe to the last; each capture belongs to the next keyframe.
    fn channel(&mut self, scene: i64, channel: i64, name: &str, hz: i64) {
        let count = SCENE_US * hz / 1_000_000 + 1;
        let number = |index: i64| (scene * 10 + channel) * 1000 + index;
        let link = |index: i64| {
            if (0..count).contains(&index) {
                token(8, number(index))
            } else {
                String::new()
            }
        };
        for index in 0..count {
            let since = index * 1_000_000 / hz;
            let key = (since + 499_999) / 500_000;
            let is_key_frame = key * 500_000 == since;
            let time = begin_us(scene) + since;
            let camera = name.starts_with("CAM");
            let (folder, ending) = (
                if is_key_frame { "samples" } else { "sweeps" },
                if camera { "jpg" } else { "pcd.bin" },
            );
            let file = format!("{folder}/{name}/n015__{name}__{time}.{ending}");
            let (turned, x) = (0.1 * since as f64 / 1e6, 400.0 + 5.0 * since as f64 / 1e6);
            self.add(
                "ego_pose",
                json!({
                    "token": token(8, number(index)), "timestamp": time, "translation": [x, 1180.0 + turned, 0.01],
                    "rotation": [(turned / 2.0).cos(), 0.001, -0.002, (turned / 2.0).sin()]
                }),
            );
            self.add(
                "sample_data",
                json!({
                    "token": token(8, number(index)), "sample_token": token(6, scene * 100 + key),
                    "ego_pose_token": token(8, number(index)), "calibrated_sensor_token": token(2, channel),
                    "timestamp": time, "fileformat": if camera { "jpg" } else { "pcd" }, "is_key_frame": is_key_frame,
                    "height": if camera { 900 } else { 0 }, "width": if camera { 1600 } else { 0 }, "filename": file,
                    "prev": link(index - 1), "next": link(index + 1)
                }),
            );
            self.files.push((
                file,
                if camera {
                    Vec::new()
                } else {
                    sweep(number(index) as u64)
                },
            ));
        }
    }

    /// A car all along, a pedestrian from the second keyframe on, and one seen once.
    fn objects(&mut self, scene: i64) {
        for (object, first, last) in [(0, 0, KEY_FRAMES - 1), (1, 1, KEY_FRAMES - 1), (2, 2, 2)] {
            let annotation = |key: i64| token(9, (scene * 10 + object) * 100 + key);
            let link = |key: i64| {
                if (first..=last).contains(&key) {
                    annotation(key)
                } else {
                    String::new()
                }
            };
            let instance = token(10, scene * 10 + object);
            self.add(
                "instance",
                json!({
                    "token": instance, "category_token": token(3, i64::from(object > 0)), "nbr_annotations": last - first + 1,
                    "first_annotation_token": annotation(first), "last_annotation_token": annotation(last)
                }),
            );
            for key in first..=last {
                let (along, turned) = (key as f64 * 0.9, 0.4 * key as f64);
                self.add(
                    "sample_annotation",
                    json!({
                        "token": annotation(key), "sample_token": token(6, scene * 100 + key), "instance_token": instance,
                        "visibility_token": (object + 1).to_string(), "attribute_tokens": [],
                        "translation": [410.0 + along + object as f64, 1185.0 - 0.3 * along, 0.8], "size": [1.9, 4.5, 1.6],
                        "rotation": [(turned / 2.0).cos(), 0.0, 0.0, (turned / 2.0).sin()], "prev": link(key - 1),
                        "next": link(key + 1), "num_lidar_pts": 7 + object, "num_radar_pts": 1
                    }),
                );
            }
        }
    }

    /// The row of a table, to be changed.
    pub(crate) fn row(&mut self, table: &str, number: usize) -> &mut Value {
        &mut self.tables.get_mut(table).unwrap()[number]
    }

    /// The rows of sample_data of a channel.
    pub(crate) fn rows_of(&self, channel: &str) -> Vec<usize> {
        let within = format!("/{channel}/");
        let rows = self.tables["sample_data"].iter().enumerate();
        rows.filter(|(_, row)| row["filename"].as_str().unwrap().contains(&within))
            .map(|(number, _)| number)
            .collect()
    }

    /// Writes the tables alone.
    pub(crate) fn write_tables(&self, root: &Path) {
        let folder = root.join("v1.0-mini");
        std::fs::create_dir_all(&folder).unwrap();
        for (table, rows) in &self.tables {
            let text = serde_json::to_vec_pretty(rows).unwrap();
            std::fs::write(folder.join(format!("{table}.json")), text).unwrap();
        }
    }

    /// Writes the tables and the files of the sensors.
    pub(crate) fn write(&self, root: &Path) {
        self.write_tables(root);
        for (name, content) in &self.files {
            let path: PathBuf = root.join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, content).unwrap();
        }
    }
}

/// A thousand points within 60 m, some of them on the car.
fn sweep(seed: u64) -> Vec<u8> {
    let mut state = seed
        .wrapping_mul(2_862_933_555_777_941_757)
        .wrapping_add(3_037_000_493);
    let mut next = |most: f32| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        ((state >> 40) as f32 / (1 << 24) as f32 - 0.5) * most
    };
    let mut bytes = Vec::new();
    for number in 0..1000 {
        let reach = if number % 10 == 0 { 3.0 } else { 120.0 };
        let point = [
            next(reach),
            next(reach),
            next(6.0),
            next(255.0).abs(),
            (number % 32) as f32,
        ];
        bytes.extend(point.iter().flat_map(|v| v.to_le_bytes()));
    }
    bytes
}

/// A picture of one black pixel, for the devkit wants a map.
const BLANK: &[u8] = &[
    0x89, b'P', b'N', b'G', 0x0d, 0x0a, 0x1a, 0x0a, 0, 0, 0, 13, b'I', b'H', b'D', b'R', 0, 0, 0, 1, 0, 0, 0,
    1, 8, 0, 0, 0, 0, 0x3a, 0x7e, 0x9b, 0x55, 0, 0, 0, 10, b'I', b'D', b'A', b'T', 0x78, 0x9c, 0x63, 0x60, 0,
    0, 0, 2, 0, 1, 0x48, 0xaf, 0xa4, 0x71, 0, 0, 0, 0, b'I', b'E', b'N', b'D', 0xae, 0x42, 0x60, 0x82,
];
