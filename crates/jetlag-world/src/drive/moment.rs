//! A drive at one time: everybody's place, and what the sensors see. Both are taken at that one instant: a sweep does not last.

use jetlag_record::detection::Box3d;
use jetlag_record::units::Nanos;
use jetlag_stats::random::scattered;

use super::place::Placed;
use super::{Drive, Ego, Identity, LIDAR_PLACE, Span};
use crate::ground::Ground;
use crate::layout::{GROUND, Layout, Thing, wrap};
use crate::vector::Pose;
use crate::{Class, Image, Object, Sweep, camera, lidar, objects};

/// Somebody at a moment: the ground truth in the world.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Actor {
    /// Who it is.
    pub identity: Identity,
    /// What it is.
    pub class: Class,
    /// The middle of its box, metres.
    pub position: [f64; 3],
    /// Length, width and height, metres.
    pub size: [f32; 3],
    /// Which way it faces, from x to y, radians.
    pub yaw: f64,
    /// Metres a second.
    pub velocity: [f64; 2],
    /// The same box in the LiDAR's frame.
    pub place: Box3d,
}

impl Actor {
    /// Whether it moves through the world.
    pub fn is_moving(&self) -> bool {
        self.velocity != [0.0; 2]
    }
}

/// What both sensors see at a moment.
#[derive(Clone, Debug)]
pub struct Seen {
    /// The camera's image, [`IMAGE_SIZE`](crate::IMAGE_SIZE).
    pub image: Image,
    /// The LiDAR's sweep.
    pub sweep: Sweep,
    /// What is seen of each actor, in their order.
    pub objects: Vec<Object>,
}

/// All of a drive at one time.
#[derive(Clone, Debug)]
pub struct Moment {
    time: Nanos,
    ego: Ego,
    actors: Vec<Actor>,
    layout: Layout,
}

/// How far ahead of the sensors things are there, metres; the LiDAR does not reach so far, and what comes into being there is a
/// few pixels high.
const AHEAD: f64 = 85.0;
/// How far behind, so that what is beside the sensors is there.
const BEHIND: f64 = 12.0;

impl Moment {
    pub(super) fn new(drive: &Drive, time: Nanos) -> Self {
        let ego = drive.ego(time);
        let sensors = ego.place(LIDAR_PLACE);
        let x = ego.position[0];
        let span = Span {
            from: x - BEHIND,
            to: x + AHEAD,
        };
        let mut placed = Vec::new();
        drive.traffic.within(span, time.as_secs_f64(), &mut placed);
        drive.roadside.within(span, &drive.course, &mut placed);
        let layout = Layout {
            things: Vec::new(),
            solids: Vec::new(),
            street: drive.street,
            ground: Ground::Drive {
                sensors: Pose::new(sensors.map(|v| v as f32), ego.yaw as f32),
                course: drive.course,
            },
            light: drive.light.turned(ego.yaw as f32),
            key: drive.key,
            noise: scattered(drive.key ^ time.0 as u64),
        };
        let mut moment = Moment {
            time,
            ego,
            actors: Vec::new(),
            layout,
        };
        let from = Sensors::at(&ego);
        placed.into_iter().for_each(|one| moment.add(drive, &from, one));
        moment
    }

    fn add(&mut self, drive: &Drive, from: &Sensors, mut one: Placed) {
        let standing = one.standing(&drive.course);
        let [x, y] = from.locate(standing.position);
        let [l, w, h] = one.size;
        // What is wholly behind is seen by nobody.
        if x + (l + w) / 2.0 < 0.0 {
            return;
        }
        let place = Box3d {
            x,
            y,
            z: GROUND + h / 2.0,
            l,
            w,
            h,
            yaw: wrap((standing.yaw - self.ego.yaw) as f32),
        };
        let class = one.class();
        if let (Some(class), Some(identity)) = (class, one.identity) {
            let [x, y] = standing.position;
            self.actors.push(Actor {
                identity,
                class,
                position: [x, y, f64::from(h) / 2.0],
                size: one.size,
                yaw: standing.yaw,
                velocity: standing.velocity,
                place,
            });
        }
        let pose = Pose::new([x, y, GROUND], place.yaw);
        let first = self.layout.solids.len();
        one.build(&pose, &mut self.layout.solids);
        self.layout.things.push(Thing {
            class,
            place,
            pose,
            first,
            last: self.layout.solids.len(),
        });
    }

    /// The time from the drive's beginning.
    pub fn time(&self) -> Nanos {
        self.time
    }

    /// The vehicle that carries the sensors.
    pub fn ego(&self) -> &Ego {
        &self.ego
    }

    /// Everybody near: at most 85 m ahead, and not wholly behind the LiDAR.
    pub fn actors(&self) -> &[Actor] {
        &self.actors
    }

    /// Draws what the camera sees.
    pub fn render_camera(&self) -> Image {
        camera::render(&self.layout).0
    }

    /// Casts the LiDAR's rays.
    pub fn sweep(&self) -> Sweep {
        lidar::sweep(&self.layout)
    }

    /// Both sensors' data, and what is seen of each actor.
    pub fn observe(&self) -> Seen {
        let (image, sights) = camera::render(&self.layout);
        let sweep = lidar::sweep(&self.layout);
        let objects = objects(&self.layout, &sights, &sweep.cloud);
        Seen {
            image,
            sweep,
            objects,
        }
    }
}

/// The LiDAR's frame in the world.
struct Sensors {
    position: [f64; 3],
    sin: f64,
    cos: f64,
}

impl Sensors {
    fn at(ego: &Ego) -> Self {
        Sensors {
            position: ego.place(LIDAR_PLACE),
            sin: libm::sin(ego.yaw),
            cos: libm::cos(ego.yaw),
        }
    }

    /// A place of the world, in the LiDAR's frame.
    fn locate(&self, [x, y]: [f64; 2]) -> [f32; 2] {
        let (dx, dy) = (x - self.position[0], y - self.position[1]);
        [
            (dx * self.cos + dy * self.sin) as f32,
            (dy * self.cos - dx * self.sin) as f32,
        ]
    }
}
