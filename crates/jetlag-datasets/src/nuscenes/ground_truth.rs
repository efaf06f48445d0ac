//! The annotated boxes of nuScenes, at keyframes and between them.
//!
//! Between keyframes a box is where the devkit's `get_boxes` has it: on the way from the keyframe before to the one that the
//! capture belongs to, along the same instance; an instance that is new there stands where it is annotated.

use std::path::Path;
use std::sync::Arc;

use jetlag_record::detection::Box3d;
use jetlag_record::units::Nanos;

use super::NuScenes;
use super::keys::{Keys, NO_ROW, NewKeys, linked};
use super::note::{Loose, Note};
use super::recording::DatasetFrame;
use super::rows::{AnnotationRow, InstanceRow, NameRow};
use super::small::Samples;
use super::table::read;
use super::token::Token;
use crate::error::DatasetError;
use crate::geometry::Pose;
use crate::table_error::TableError;

/// The annotations of a version.
pub struct GroundTruth {
    samples: Arc<Samples>,
    categories: Vec<String>,
    /// Each with its category's row.
    instances: Vec<(Token, u32)>,
    /// In the order of their samples.
    annotations: Vec<Annotation>,
    /// Of each sample, where its annotations begin; and the end of the last.
    begins: Vec<usize>,
    notes: Vec<Note>,
}

struct Annotation {
    token: Token,
    sample: u32,
    instance: u32,
    place: Pose,
    /// Width, length, height.
    size: [f64; 3],
    visibility: Option<Visibility>,
    lidar_points: Option<u32>,
    radar_points: Option<u32>,
    velocity: Option<[f64; 3]>,
}

/// A box that somebody drew around an object.
#[derive(Clone, Debug, PartialEq)]
pub struct TrueBox<'a> {
    /// The annotation's token; between keyframes that of the keyframe which the capture belongs to.
    pub token: &'a Token,
    /// Of the object through a scene.
    pub instance: &'a Token,
    /// `vehicle.car`, …
    pub category: &'a str,
    /// The box upright in the frame asked for, in single precision: in the global frame to a tenth of a millimetre.
    pub place: Box3d,
    /// Its centre, metres, and its axes, in the frame asked for: boxes may lean a little.
    pub pose: Pose,
    /// Metres a second along the axes of the frame asked for, relative to the ground; by the devkit's rule: over the annotations
    /// before and after, `None` where there are none within 1.5 s.
    pub velocity: Option<[f64; 3]>,
    /// LiDAR points within it, where counted.
    pub lidar_points: Option<u32>,
    /// Radar points within it, where counted.
    pub radar_points: Option<u32>,
    /// How much of it the cameras see, where known.
    pub visibility: Option<Visibility>,
    /// Whether it lies between two annotations, rather than where somebody drew it.
    pub interpolated: bool,
}

/// Which share of an object the six cameras together see.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Visibility {
    /// Below 40 %.
    UpTo40,
    /// 40 to 60 %.
    UpTo60,
    /// 60 to 80 %.
    UpTo80,
    /// Above 80 %.
    UpTo100,
}

/// Where boxes count from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BoxFrame {
    /// The map's: x east, y north, z up.
    Global,
    /// The car's at the capture time: x forward, y left, z up, from the rear axle.
    Ego,
    /// The sensor's at the capture time. That of nuScenes's LIDAR_TOP has x to the right and y forward.
    Sensor,
}

/// Annotations further apart say nothing of a speed: the devkit's `max_time_diff`. Twice that from before to after.
const LONGEST_STEP: Nanos = Nanos::from_millis(1500);

impl GroundTruth {
    /// Reads the annotations of a dataset: tables category, instance, visibility (if there) and sample_annotation.
    ///
    /// # Errors
    /// A table that is absent or damaged, a field that cannot be understood, a token that leads nowhere.
    pub fn read(nuscenes: &NuScenes) -> Result<GroundTruth, DatasetError> {
        let folder = nuscenes.folder();
        let file = |table: &str| folder.join(format!("{table}.json"));
        let tables: Vec<String> = ["category", "instance", "sample_annotation"]
            .iter()
            .filter(|table| !file(table).is_file())
            .map(|table| format!("{table}.json"))
            .collect();
        if !tables.is_empty() {
            return Err(DatasetError::NoTables {
                folder: folder.to_owned(),
                tables,
            });
        }
        let (mut categories, mut category_keys) = (Vec::new(), NewKeys::of("category"));
        read(&file("category"), |_, row: NameRow| {
            category_keys.push(row.token.needed("token")?);
            categories.push(row.name.needed("name")?);
            Ok(())
        })?;
        let category_keys = category_keys.sorted(&file("category"))?;
        let (mut instances, mut instance_keys) = (Vec::new(), NewKeys::of("instance"));
        read(&file("instance"), |_, row: InstanceRow| {
            let token = row.token.needed("token")?;
            instance_keys.push(token.clone());
            let category = row.category_token.needed("category_token")?;
            instances.push((token, category_keys.row("category_token", &category, 0)?));
            Ok(())
        })?;
        let instance_keys = instance_keys.sorted(&file("instance"))?;
        let (mut levels, mut level_keys) = (Vec::new(), NewKeys::of("visibility"));
        if file("visibility").is_file() {
            read(&file("visibility"), |_, row: NameRow| {
                level_keys.push(row.token.needed("token")?);
                levels.push(
                    row.level
                        .optional("level")?
                        .and_then(|level| Visibility::of(&level)),
                );
                Ok(())
            })?;
        }
        let level_keys = level_keys.sorted(&file("visibility"))?;
        let mut loose = Loose::NONE;
        let samples = Arc::clone(&nuscenes.samples);
        let keys = Tables {
            samples: &samples,
            instances: &instance_keys,
            visibility: (&level_keys, &levels),
        };
        let mut annotations = annotations(&file("sample_annotation"), &keys, &mut loose)?;
        // Stable: those of a sample stay as the table has them.
        annotations.sort_by_key(|annotation| annotation.sample);
        let mut begins = vec![0; samples.rows.len() + 1];
        for annotation in &annotations {
            begins[annotation.sample as usize + 1] += 1;
        }
        for sample in 0..samples.rows.len() {
            begins[sample + 1] += begins[sample];
        }
        Ok(GroundTruth {
            samples,
            categories,
            instances,
            annotations,
            begins,
            notes: loose.notes("sample_annotation").collect(),
        })
    }

    /// What of the table differs from the specification and was taken all the same.
    pub fn notes(&self) -> &[Note] {
        &self.notes
    }

    /// The names of the categories, in their order.
    pub fn categories(&self) -> &[String] {
        &self.categories
    }

    /// The boxes at a frame, in the order of its keyframe's annotations. The frame must be of the dataset whose annotations these
    /// are; one of another has no boxes.
    ///
    /// # Errors
    /// A frame without pose, where boxes are asked for in another frame than the global one.
    pub fn boxes(&self, frame: &DatasetFrame, within: BoxFrame) -> Result<Vec<TrueBox<'_>>, DatasetError> {
        let known = self.samples.rows.get(frame.sample_row as usize);
        let Some(sample) = known.filter(|_| *self.samples.token(frame.sample_row) == frame.sample) else {
            return Ok(Vec::new());
        };
        let to_global = match within {
            BoxFrame::Global => Some(Pose::NONE),
            BoxFrame::Ego => frame.ego_pose,
            BoxFrame::Sensor => frame.to_global(),
        };
        let from_global = to_global
            .ok_or_else(|| DatasetError::NoPlace {
                file: frame.file.clone(),
            })?
            .inverse();
        let before = linked(sample.previous).filter(|_| !frame.is_key_frame);
        let way = before.map(|row| {
            let (from, to) = (self.samples.rows[row].time, sample.time);
            // Some captures lie outside: the devkit holds them to the ends.
            let share = (frame.captured - from).0 as f64 / ((to - from).0 as f64).max(1.0);
            (self.of_sample(row), share.clamp(0.0, 1.0))
        });
        let boxes = self.of_sample(frame.sample_row as usize).iter().map(|now| {
            let from = way.and_then(|(annotations, share)| {
                let same = annotations
                    .iter()
                    .find(|before| before.instance == now.instance)?;
                Some(same.place.towards(&now.place, share))
            });
            let pose = from_global.after(&from.unwrap_or(now.place));
            let (instance, category) = &self.instances[now.instance as usize];
            TrueBox {
                token: &now.token,
                instance,
                category: &self.categories[*category as usize],
                place: upright(&pose, now.size),
                pose,
                velocity: now.velocity.map(|velocity| from_global.rotation.turn(velocity)),
                lidar_points: now.lidar_points,
                radar_points: now.radar_points,
                visibility: now.visibility,
                interpolated: from.is_some(),
            }
        });
        Ok(boxes.collect())
    }

    fn of_sample(&self, row: usize) -> &[Annotation] {
        &self.annotations[self.begins[row]..self.begins[row + 1]]
    }
}

impl Visibility {
    fn of(level: &str) -> Option<Self> {
        match level {
            "v0-40" => Some(Visibility::UpTo40),
            "v40-60" => Some(Visibility::UpTo60),
            "v60-80" => Some(Visibility::UpTo80),
            "v80-100" => Some(Visibility::UpTo100),
            _ => None,
        }
    }
}

fn upright(pose: &Pose, [width, length, height]: [f64; 3]) -> Box3d {
    let [x, y, z] = pose.translation.map(|v| v as f32);
    let yaw = pose.rotation.yaw() as f32;
    Box3d {
        x,
        y,
        z,
        l: length as f32,
        w: width as f32,
        h: height as f32,
        // Rounded, an angle just below π lies above it.
        yaw: if yaw >= std::f32::consts::PI { -yaw } else { yaw },
    }
}

/// What annotations refer to.
struct Tables<'a> {
    samples: &'a Samples,
    instances: &'a Keys,
    visibility: (&'a Keys, &'a [Option<Visibility>]),
}

fn annotations(path: &Path, tables: &Tables, loose: &mut Loose) -> Result<Vec<Annotation>, TableError> {
    let (mut annotations, mut keys) = (Vec::new(), NewKeys::of("sample_annotation"));
    let mut links = Vec::new();
    let mut last = (0, 0);
    read(path, |_, row: AnnotationRow| {
        let rotation = row.rotation.needed("rotation")?;
        loose.matrices += usize::from(rotation.was_matrix);
        let token = row.token.needed("token")?;
        keys.push(token.clone());
        let sample = row.sample_token.needed("sample_token")?;
        let instance = row.instance_token.needed("instance_token")?;
        // Tables go either from instance to instance or from sample to sample.
        last = (
            tables.samples.keys.row("sample_token", &sample, last.0)?,
            tables.instances.row("instance_token", &instance, last.1)?,
        );
        let visibility = row
            .visibility_token
            .optional("visibility_token")?
            .and_then(|link| link.0);
        let visibility = match visibility {
            // Without the table the token says nothing.
            Some(token) if !tables.visibility.0.is_empty() => {
                let level = tables.visibility.0.row("visibility_token", &token, 0)?;
                tables.visibility.1[level as usize]
            }
            _ => None,
        };
        annotations.push(Annotation {
            token,
            sample: last.0,
            instance: last.1,
            place: Pose {
                translation: row.translation.needed("translation")?.0,
                rotation: rotation.turn,
            },
            size: row.size.needed("size")?.0,
            visibility,
            lidar_points: row
                .num_lidar_pts
                .optional("num_lidar_pts")?
                .and_then(|count| count.0),
            radar_points: row
                .num_radar_pts
                .optional("num_radar_pts")?
                .and_then(|count| count.0),
            velocity: None,
        });
        links.push([row.prev.optional("prev")?, row.next.optional("next")?].map(|link| link?.0));
        Ok(())
    })?;
    let keys = keys.sorted(path)?;
    for (number, [previous, next]) in links.iter().enumerate() {
        let link = |field, token: &Option<Token>, guess| {
            keys.link(field, token.as_ref(), guess)
                .map_err(|wrong| wrong.in_row(path, number))
        };
        let ends = [
            link("prev", previous, (number as u32).wrapping_sub(1))?,
            link("next", next, number as u32 + 1)?,
        ];
        annotations[number].velocity = velocity(&annotations, number, ends, tables.samples);
    }
    Ok(annotations)
}

/// From the annotation before to the one after, or from and to this one where there is none.
fn velocity(
    annotations: &[Annotation],
    number: usize,
    [previous, next]: [u32; 2],
    samples: &Samples,
) -> Option<[f64; 3]> {
    let end = |row: u32| &annotations[linked(row).unwrap_or(number)];
    let (first, last) = (end(previous), end(next));
    let time = |annotation: &Annotation| samples.rows[annotation.sample as usize].time;
    let took = time(last) - time(first);
    let steps = i64::from(previous != NO_ROW) + i64::from(next != NO_ROW);
    // Alone, it takes no time at all.
    let known = took.0 > 0 && took <= LONGEST_STEP * steps;
    known.then(|| {
        let (to, from) = (last.place.translation, first.place.translation);
        std::array::from_fn(|i| (to[i] - from[i]) / took.as_secs_f64())
    })
}
