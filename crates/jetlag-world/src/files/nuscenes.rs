//! A drive as nuScenes: one scene with keyframes twice a second, sweeps between them, ego poses, and boxes with identities.
//!
//! What differs from nuScenes: the LiDAR's frame has x forward (its calibration says so), a sweep is of one instant, the
//! intensity is 0 to 1 and the front half alone is seen, by one camera. Boxes are of everybody within 85 m ahead, also of those
//! that no point is on; how much of somebody is visible is told by this camera, of what is in the image.

use std::collections::BTreeMap;
use std::path::Path;

use jetlag_record::units::Nanos;
use jetlag_stats::random::scattered;
use serde_json::{Value, json};

use super::json::{Table, table};
use super::order::in_order;
use super::{
    BEGIN, CAMERA_TURN, FilesError, Progress, Sensor, Written, captured, intrinsic, jpeg, make_folder, map,
    turn, write,
};
use crate::{
    Actor, CAMERA, CAMERA_PLACE, Class, Drive, IMAGE_SIZE, Identity, LIDAR, LIDAR_PLACE, Object, Sweep,
};

/// The folder of the tables: the devkit knows its scenes.
pub const VERSION: &str = "v1.0-mini";
/// The scene, whose name the devkit has in its split `mini_val`.
pub const SCENE: &str = "scene-0103";

/// Keyframes a second.
const KEYFRAMES: u64 = 2;
const LOG: &str = "jetlag-0000-2023-11-14-22-13-20+0000";

/// Kinds of rows, which tokens are of.
#[derive(Clone, Copy)]
enum Of {
    Annotation,
    Attribute,
    Calibrated,
    Capture,
    Category,
    Instance,
    Log,
    Map,
    Sample,
    Scene,
    Sensor,
}

/// Makes the tokens of a drive.
struct Tokens(u64);

impl Tokens {
    fn of(&self, kind: Of, number: u64) -> String {
        let high = scattered(scattered(self.0 ^ (kind as u64) << 56) ^ number);
        format!("{high:016x}{:016x}", scattered(high ^ self.0))
    }

    /// Of another row of the same kind; empty where there is none.
    fn link(&self, kind: Of, number: Option<u64>, count: u64) -> String {
        let number = number.filter(|number| *number < count);
        number.map_or_else(String::new, |number| self.of(kind, number))
    }
}

const SENSORS: [(Sensor, &str, &str); 2] = [
    (Sensor::Camera, "CAM_FRONT", "camera"),
    (Sensor::Lidar, "LIDAR_TOP", "lidar"),
];

const ATTRIBUTES: [&str; 6] = [
    "vehicle.moving",
    "vehicle.stopped",
    "vehicle.parked",
    "cycle.with_rider",
    "pedestrian.moving",
    "pedestrian.standing",
];

fn category(class: Class) -> &'static str {
    match class {
        Class::Car => "vehicle.car",
        Class::Pedestrian => "human.pedestrian.adult",
        Class::Cyclist => "vehicle.bicycle",
    }
}

fn attribute(actor: &Actor) -> &'static str {
    match (actor.class, actor.is_moving()) {
        (Class::Car, true) => "vehicle.moving",
        (Class::Car, false) => "vehicle.parked",
        (Class::Cyclist, _) => "cycle.with_rider",
        (Class::Pedestrian, true) => "pedestrian.moving",
        (Class::Pedestrian, false) => "pedestrian.standing",
    }
}

/// A capture that is to be written.
struct Planned {
    sensor: usize,
    number: u64,
    /// From the drive's beginning.
    time: Nanos,
    /// The keyframe that it is, or that comes next.
    sample: u64,
    is_key: bool,
}

/// What was made of a capture.
struct Made {
    bytes: Result<Vec<u8>, FilesError>,
    position: [f64; 3],
    yaw: f64,
    /// Of keyframes: everybody, and what is seen of each.
    truth: Vec<(Actor, Object)>,
}

/// A box at a keyframe.
struct Annotation {
    sample: u64,
    actor: Actor,
    object: Object,
}

/// Writes a drive into a folder, which is made.
///
/// # Errors
/// The first file that cannot be written.
pub fn nuscenes(drive: &Drive, out: &Path, progress: Progress<'_>) -> Result<Written, FilesError> {
    let tables = out.join(VERSION);
    for folder in ["samples", "sweeps"] {
        for (_, channel, _) in SENSORS {
            make_folder(&out.join(folder).join(channel))?;
        }
    }
    make_folder(&out.join("maps"))?;
    make_folder(&tables)?;
    let tokens = Tokens(scattered(drive.seed() ^ 0x006e_7573));
    let samples = u64::from(drive.seconds()) * KEYFRAMES + 1;
    let planned = planned(drive);
    let mut writer = Captures {
        out,
        tokens: &tokens,
        counts: [CAMERA, LIDAR].map(|rate| rate.captures(drive.seconds()) + 1),
        data: Table::new(&tables, "sample_data")?,
        poses: Table::new(&tables, "ego_pose")?,
    };
    let mut annotations: BTreeMap<Identity, Vec<Annotation>> = BTreeMap::new();
    let (mut done, of) = (0, planned.len() as u64);
    in_order(
        &planned,
        |planned| make(drive, planned),
        |planned, mut made| {
            for (actor, object) in std::mem::take(&mut made.truth) {
                annotations.entry(actor.identity).or_default().push(Annotation {
                    sample: planned.sample,
                    actor,
                    object,
                });
            }
            writer.add(planned, made)?;
            done += 1;
            progress(done, of);
            Ok(())
        },
    )?;
    let [images, sweeps] = writer.counts;
    writer.data.end()?;
    writer.poses.end()?;
    annotated(&tables, &tokens, &annotations)?;
    map::write(
        drive,
        &out.join("maps").join(format!("{}.png", tokens.of(Of::Map, 0))),
    )?;
    small(&tables, &tokens, drive, samples)?;
    Ok(Written { images, sweeps })
}

/// All captures of both sensors, in the order of their times, up to the last keyframe's.
fn planned(drive: &Drive) -> Vec<Planned> {
    let mut all = Vec::new();
    for (place, rate) in [CAMERA, LIDAR].into_iter().enumerate() {
        let sensor = SENSORS[place].0;
        let gap = u64::from(rate.hz) / KEYFRAMES;
        all.extend((0..=rate.captures(drive.seconds())).map(|number| Planned {
            sensor: place,
            number,
            time: captured(drive, sensor, rate, number),
            sample: number.div_ceil(gap),
            is_key: number.is_multiple_of(gap),
        }));
    }
    all.sort_by_key(|planned| (planned.time, planned.sensor));
    all
}

fn make(drive: &Drive, planned: &Planned) -> Made {
    let moment = drive.at(planned.time);
    let mut truth = Vec::new();
    let bytes = match SENSORS[planned.sensor].0 {
        Sensor::Camera => jpeg(&moment.render_camera()),
        Sensor::Lidar if planned.is_key => {
            let seen = moment.observe();
            truth = moment.actors().iter().copied().zip(seen.objects).collect();
            Ok(points(&seen.sweep))
        }
        Sensor::Lidar => Ok(points(&moment.sweep())),
    };
    Made {
        bytes,
        position: moment.ego().position,
        yaw: moment.ego().yaw,
        truth,
    }
}

fn points(sweep: &Sweep) -> Vec<u8> {
    let both = sweep.cloud.points.iter().zip(&sweep.rings);
    both.flat_map(|([x, y, z, intensity], ring)| [*x, *y, *z, *intensity, f32::from(*ring)])
        .flat_map(f32::to_le_bytes)
        .collect()
}

/// Writes the files of sensors, and the tables of them.
struct Captures<'a> {
    out: &'a Path,
    tokens: &'a Tokens,
    counts: [u64; 2],
    data: Table,
    poses: Table,
}

/// A number for a capture, different from those of the other sensor.
fn capture(sensor: usize, number: u64) -> u64 {
    number * 2 + sensor as u64
}

fn microseconds(time: Nanos) -> i64 {
    (BEGIN + time).0 / 1000
}

impl Captures<'_> {
    fn add(&mut self, planned: &Planned, made: Made) -> Result<(), FilesError> {
        let Planned {
            sensor,
            number,
            sample,
            is_key,
            ..
        } = *planned;
        let (kind, channel, _) = SENSORS[sensor];
        let stamp = microseconds(planned.time);
        let folder = if is_key { "samples" } else { "sweeps" };
        let (ending, format, [width, height]) = match kind {
            Sensor::Camera => ("jpg", "jpg", IMAGE_SIZE),
            Sensor::Lidar => ("pcd.bin", "pcd", [0, 0]),
        };
        let name = format!("{folder}/{channel}/{LOG}__{channel}__{stamp}.{ending}");
        write(&self.out.join(&name), made.bytes?)?;
        let tokens = self.tokens;
        let token = tokens.of(Of::Capture, capture(sensor, number));
        let link = |other: Option<u64>| {
            let other = other.filter(|other| *other < self.counts[sensor]);
            tokens.link(Of::Capture, other.map(|other| capture(sensor, other)), u64::MAX)
        };
        self.poses.row(&json!({
            "token": token, "timestamp": stamp, "rotation": turn(made.yaw), "translation": made.position,
        }))?;
        self.data.row(&json!({
            "token": token, "sample_token": tokens.of(Of::Sample, sample), "ego_pose_token": token,
            "calibrated_sensor_token": tokens.of(Of::Calibrated, sensor as u64), "timestamp": stamp,
            "fileformat": format, "is_key_frame": is_key, "height": height, "width": width, "filename": name,
            "prev": link(number.checked_sub(1)), "next": link(Some(number + 1)),
        }))
    }
}

/// Tables sample_annotation and instance.
fn annotated(
    tables: &Path,
    tokens: &Tokens,
    annotations: &BTreeMap<Identity, Vec<Annotation>>,
) -> Result<(), FilesError> {
    let mut boxes = Table::new(tables, "sample_annotation")?;
    let mut instances = Table::new(tables, "instance")?;
    for (identity, all) in annotations {
        let instance = tokens.of(Of::Instance, identity.number());
        let token = |number: usize| {
            let sample = all.get(number)?.sample;
            Some(tokens.of(Of::Annotation, scattered(identity.number()) ^ sample))
        };
        for (
            number,
            Annotation {
                sample,
                actor,
                object,
            },
        ) in all.iter().enumerate()
        {
            let [length, width, height] = actor.size;
            boxes.row(&json!({
                "token": token(number), "sample_token": tokens.of(Of::Sample, *sample), "instance_token": instance,
                "visibility_token": visibility(object),
                "attribute_tokens": [tokens.of(Of::Attribute, place_of(&ATTRIBUTES, attribute(actor)))],
                "translation": actor.position, "size": [width, length, height], "rotation": turn(actor.yaw),
                "prev": number.checked_sub(1).and_then(token).unwrap_or_default(),
                "next": token(number + 1).unwrap_or_default(),
                "num_lidar_pts": object.points, "num_radar_pts": 0,
            }))?;
        }
        let class = all.first().map_or(Class::Car, |first| first.actor.class);
        instances.row(&json!({
            "token": instance, "category_token": tokens.of(Of::Category, class as u64),
            "nbr_annotations": all.len(), "first_annotation_token": token(0),
            "last_annotation_token": token(all.len() - 1),
        }))?;
    }
    boxes.end()?;
    instances.end()
}

fn place_of(names: &[&str], name: &str) -> u64 {
    names.iter().position(|known| *known == name).unwrap_or_default() as u64
}

/// The token of the level, as nuScenes has them.
fn visibility(object: &Object) -> &'static str {
    match object.visible {
        share if share > 0.8 => "4",
        share if share > 0.6 => "3",
        share if share > 0.4 => "2",
        _ => "1",
    }
}

/// Tables of few rows.
fn small(tables: &Path, tokens: &Tokens, drive: &Drive, samples: u64) -> Result<(), FilesError> {
    let of = |kind, number: usize| tokens.of(kind, number as u64);
    let sensor = |(number, (_, channel, modality)): (usize, &(Sensor, &str, &str))| json!({ "token": of(Of::Sensor, number), "channel": channel, "modality": modality });
    let calibrated = |(number, (kind, ..)): (usize, &(Sensor, &str, &str))| {
        let (place, turned, camera) = match kind {
            Sensor::Camera => (CAMERA_PLACE, CAMERA_TURN, json!(intrinsic())),
            Sensor::Lidar => (LIDAR_PLACE, [1.0, 0.0, 0.0, 0.0], json!([])),
        };
        json!({
            "token": of(Of::Calibrated, number), "sensor_token": of(Of::Sensor, number), "translation": place,
            "rotation": turned, "camera_intrinsic": camera,
        })
    };
    let named = |kind, names: &[&str]| -> Vec<Value> {
        let row = |(number, name): (usize, &&str)| json!({ "token": of(kind, number), "name": name, "description": "" });
        names.iter().enumerate().map(row).collect()
    };
    let levels = [(1, "v0-40"), (2, "v40-60"), (3, "v60-80"), (4, "v80-100")];
    let level = |(token, level): (u8, &str)| {
        let share = level.trim_start_matches('v');
        json!({ "token": token.to_string(), "level": level, "description": format!("{share} % of it is visible") })
    };
    let log = tokens.of(Of::Log, 0);
    let map = tokens.of(Of::Map, 0);
    let scene = tokens.of(Of::Scene, 0);
    table(
        tables,
        "sensor",
        &SENSORS.iter().enumerate().map(sensor).collect::<Vec<_>>(),
    )?;
    table(
        tables,
        "calibrated_sensor",
        &SENSORS.iter().enumerate().map(calibrated).collect::<Vec<_>>(),
    )?;
    table(tables, "attribute", &named(Of::Attribute, &ATTRIBUTES))?;
    table(
        tables,
        "category",
        &named(Of::Category, &Class::ALL.map(category)),
    )?;
    table(tables, "visibility", &levels.map(level))?;
    table(
        tables,
        "log",
        &[json!({
            "token": log, "logfile": LOG, "vehicle": "jetlag", "date_captured": "2023-11-14",
            "location": "synthetic-street",
        })],
    )?;
    table(
        tables,
        "map",
        &[json!({
            "token": map, "log_tokens": [log], "category": "semantic_prior", "filename": format!("maps/{map}.png"),
        })],
    )?;
    table(
        tables,
        "scene",
        &[json!({
            "token": scene, "log_token": log, "nbr_samples": samples, "first_sample_token": tokens.of(Of::Sample, 0),
            "last_sample_token": tokens.of(Of::Sample, samples - 1), "name": SCENE,
            "description": format!("Synthetic drive of {} s, seed {}", drive.seconds(), drive.seed()),
        })],
    )?;
    let mut rows = Table::new(tables, "sample")?;
    for number in 0..samples {
        // A keyframe has the time of its sweep.
        let stamp = microseconds(LIDAR.time(number * u64::from(LIDAR.hz) / KEYFRAMES));
        rows.row(&json!({
            "token": tokens.of(Of::Sample, number), "timestamp": stamp, "scene_token": scene,
            "prev": tokens.link(Of::Sample, number.checked_sub(1), samples),
            "next": tokens.link(Of::Sample, Some(number + 1), samples),
        }))?;
    }
    rows.end()
}
