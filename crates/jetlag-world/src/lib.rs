//! A seeded world of cars, people and cyclists, seen by one camera and one LiDAR.
//!
//! [`World::scene`] lays a street out that stands still; a [`Drive`] goes along one, among traffic. The two sensors cast rays
//! against the same solids, so image and sweep agree exactly and the ground truth is the geometry itself. Equal seeds give
//! equal worlds on every machine, whatever the number of threads.
//!
//! ```
//! use jetlag_record::units::Nanos;
//! use jetlag_world::{Drive, World};
//!
//! let still = World::scene(7, 0).observe();
//! assert_eq!(still.image.rgb.len(), 640 * 384 * 3);
//!
//! let drive = Drive::new(7, 20);
//! let (now, then) = (drive.at(Nanos::ZERO), drive.at(Nanos::from_millis(100)));
//! // Whoever is seen at both times is known by his identity.
//! let one = now.actors().iter().find(|actor| actor.is_moving()).unwrap();
//! let again = then.actors().iter().find(|actor| actor.identity == one.identity).unwrap();
//! let way = again.position[0] - one.position[0];
//! assert!((way - one.velocity[0] * 0.1).abs() < 0.1);
//! ```
//!
//! What counts as an object (what a detector is expected to find):
//! - for the camera: at least [`MIN_HEIGHT`] pixels of visible height, at least [`MIN_VISIBLE`] of its
//!   pixels not hidden, at most [`MAX_TRUNCATED`] of its box beyond the image's edge;
//! - for the LiDAR: at least [`MIN_POINTS`] points on it and its centre in [`LIDAR_RANGE`].
//!
//! | file | what it holds |
//! |---|---|
//! | `layout` | what stands where in a still, and the light |
//! | `course` | where the street of a drive runs, and how things move along it |
//! | `drive` | who moves along it and what stands beside it, at any time |
//! | `models` | what things look like, in solids |
//! | `shape` | the solids, and where rays meet them |
//! | `ground` | where a place that a sensor sees lies on the street |
//! | `camera`, `lidar` | the two sensors |
//! | `calibration` | how they lie against each other, as KITTI has it |
//! | `vector` | arithmetic and chance that are the same everywhere |
//! | `files` (a feature) | drives as nuScenes, KITTI's raw layout, ROS 2 bags |

#![forbid(unsafe_code)]

pub mod calibration;
mod camera;
mod course;
mod drive;
#[cfg(feature = "files")]
pub mod files;
mod ground;
mod layout;
mod lidar;
mod models;
mod shape;
#[cfg(test)]
mod tests;
mod vector;

use layout::Layout;

use calibration::Calibration;
use jetlag_record::detection::{Box2d, Box3d};

pub use camera::IMAGE_SIZE;
pub use drive::{
    Actor, CAMERA, CAMERA_PLACE, Drive, Ego, Identity, LIDAR, LIDAR_PLACE, MAX_SECONDS, Moment, Rate, Seen,
};
pub use lidar::{RANGE, RINGS, STEPS};

/// Compiles the README's example.
#[cfg(all(doctest, feature = "files"))]
#[doc = include_str!("../README.md")]
struct Readme;

/// An 8-bit RGB image, rows packed, top row first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Image {
    /// The width, in pixels.
    pub width: usize,
    /// The height, in pixels.
    pub height: usize,
    /// `height × width × 3` bytes: red, green, blue.
    pub rgb: Vec<u8>,
}

/// One LiDAR sweep: x forward, y left, z up, in metres from the sensor, and the return's intensity.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PointCloud {
    /// `x, y, z, intensity` of each point, in the order in which they are stored.
    pub points: Vec<[f32; 4]>,
    /// How much older than the newest sweep each point's sweep is, in seconds; empty where all are of one sweep.
    pub time: Vec<f32>,
    /// The laser of each point, from 0; empty where it is not known, or nobody asked for it.
    pub ring: Vec<f32>,
}

impl PointCloud {
    /// Of one sweep, without rings.
    pub fn of(points: Vec<[f32; 4]>) -> PointCloud {
        PointCloud {
            points,
            ..PointCloud::default()
        }
    }

    /// Forgets the points, and keeps the memory.
    pub fn clear(&mut self) {
        self.points.clear();
        self.time.clear();
        self.ring.clear();
    }
}

/// Least visible height of an object that the camera is expected to find, pixels.
pub const MIN_HEIGHT: f32 = 25.0;
/// Least share of an object's pixels that must not be hidden by others.
pub const MIN_VISIBLE: f32 = 0.5;
/// Largest share of an object's box that may lie beyond the image's edge.
pub const MAX_TRUNCATED: f32 = 0.5;
/// Fewest points on an object that the LiDAR is expected to find.
pub const MIN_POINTS: u32 = 10;
/// Least and largest x and y of such an object's centre, metres.
pub const LIDAR_RANGE: [[f32; 2]; 2] = [[0.0, 51.2], [-25.6, 25.6]];

/// A sweep, and which ring each of its points is of.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sweep {
    /// The points.
    pub cloud: PointCloud,
    /// As many numbers, from 0, the lowest ring.
    pub rings: Vec<u8>,
}

/// The kinds of object, under KITTI's names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names are the kinds")]
pub enum Class {
    Car,
    Pedestrian,
    Cyclist,
}

impl Class {
    /// All of them, in the order of the demo camera network's outputs.
    pub const ALL: [Class; 3] = [Class::Car, Class::Pedestrian, Class::Cyclist];
    /// The name that KITTI gives the class.
    pub const fn name(self) -> &'static str {
        match self {
            Class::Car => "Car",
            Class::Pedestrian => "Pedestrian",
            Class::Cyclist => "Cyclist",
        }
    }
}

/// One object and what the sensors see of it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Object {
    /// The class of the object.
    pub class: Class,
    /// Where it is, in the LiDAR frame.
    pub place: Box3d,
    /// Around the pixels that show it; of no extent where none does.
    pub image: Box2d,
    /// Pixels that show it.
    pub visible_pixels: u32,
    /// Share of its pixels that nothing hides, of those within the image; 0 where none is.
    pub visible: f32,
    /// Share of its projected box beyond the image's edge, 0..=1.
    pub truncated: f32,
    /// LiDAR points on it.
    pub points: u32,
}

impl Object {
    /// Whether a camera detector is expected to find it.
    pub fn counts_for_camera(&self) -> bool {
        self.image.y2 - self.image.y1 >= MIN_HEIGHT
            && self.visible >= MIN_VISIBLE
            && self.truncated <= MAX_TRUNCATED
    }
    /// Whether a LiDAR detector is expected to find it.
    pub fn counts_for_lidar(&self) -> bool {
        self.points >= MIN_POINTS && in_lidar_range(&self.place)
    }
}

/// Whether a LiDAR detector is expected to find an object there, judged by the sweep alone: the rule of
/// [`Object::counts_for_lidar`] for boxes that were read from labels.
pub fn counts_for_lidar(place: &Box3d, sweep: &PointCloud) -> bool {
    in_lidar_range(place) && lidar::points_on(sweep, place) >= MIN_POINTS
}

fn in_lidar_range(place: &Box3d) -> bool {
    let [x, y] = LIDAR_RANGE;
    (x[0]..x[1]).contains(&place.x) && (y[0]..y[1]).contains(&place.y)
}

/// All scenes there are.
#[derive(Clone, Copy, Debug)]
pub struct World;

impl World {
    /// The scene of that number in the series of that seed.
    pub fn scene(seed: u64, index: u64) -> Scene {
        Scene {
            layout: Layout::new(seed, index),
        }
    }
}

/// A street at one moment.
#[derive(Clone, Debug)]
pub struct Scene {
    layout: Layout,
}

/// A scene as both sensors see it.
#[derive(Clone, Debug)]
pub struct Observation {
    /// The camera's image, [`IMAGE_SIZE`].
    pub image: Image,
    /// The sweep that the LiDAR sees of the scene.
    pub sweep: PointCloud,
    /// All objects, also those that do not count.
    pub objects: Vec<Object>,
}

impl Scene {
    /// Draws what the camera sees of the scene.
    pub fn render_camera(&self) -> Image {
        camera::render(&self.layout).0
    }
    /// Casts the LiDAR's rays into the scene.
    pub fn sweep(&self) -> PointCloud {
        lidar::sweep(&self.layout).cloud
    }
    /// The ground truth. What is seen of an object is counted by rendering, so this costs as much as
    /// both sensors do; where their data are wanted too, take [`Scene::observe`].
    pub fn objects(&self) -> Vec<Object> {
        self.observe().objects
    }
    /// How LiDAR and image lie against each other: the same for all scenes.
    pub fn calibration(&self) -> Calibration {
        calibration()
    }
    /// Both sensors' data and the ground truth.
    pub fn observe(&self) -> Observation {
        let (image, sights) = camera::render(&self.layout);
        let sweep = lidar::sweep(&self.layout).cloud;
        let objects = objects(&self.layout, &sights, &sweep);
        Observation {
            image,
            sweep,
            objects,
        }
    }
}

/// The ground truth of a layout, in the order of its things: what was seen of each that has a class.
fn objects(layout: &Layout, sights: &[camera::Sight], sweep: &PointCloud) -> Vec<Object> {
    let calibration = calibration();
    let things = layout.things.iter().zip(sights);
    things
        .filter_map(|(thing, sight)| {
            Some(Object {
                class: thing.class?,
                place: thing.place,
                image: sight.around,
                visible_pixels: sight.visible,
                visible: sight.visible as f32 / sight.alone.max(1) as f32,
                truncated: truncation(&calibration, &thing.place),
                points: lidar::points_on(sweep, &thing.place),
            })
        })
        .collect()
}

/// How the synthetic LiDAR and camera lie against each other.
pub fn calibration() -> Calibration {
    Calibration::pinhole(
        f64::from(camera::FOCAL),
        camera::CENTRE.map(f64::from),
        camera::POSITION.map(f64::from),
    )
}

/// Share of a box's projected rectangle beyond the image's edge; all of it where the box reaches behind
/// the camera.
fn truncation(calibration: &Calibration, place: &Box3d) -> f32 {
    let Some(full) = calibration.project_box(place) else {
        return 1.0;
    };
    let [width, height] = IMAGE_SIZE.map(|n| n as f32);
    let inside =
        (full.x2.min(width) - full.x1.max(0.0)).max(0.0) * (full.y2.min(height) - full.y1.max(0.0)).max(0.0);
    (1.0 - inside / ((full.x2 - full.x1) * (full.y2 - full.y1))).clamp(0.0, 1.0)
}
