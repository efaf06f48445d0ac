//! Synthetic scenes as a source of frames.
//!
//! All scenes are rendered when the source is opened, so that fetching a frame is one copy into buffers
//! that the frame already has and costs no more than a real driver would.

use super::{IMAGE_SIZE, World};
use crate::scenario::Sensor;
use crate::source::context::{Contexts, FrameContext, Placed, Pose, Projection};
use crate::source::timeline::Timeline;
use crate::source::wants::{Lack, Wants};
use crate::source::{
    Content, ContentKind, Frame, Image, PointCloud, Recorded, Source, SourceError, SourceInfo, position_after,
};
use crate::units::Nanos;

/// Time between two scenes, for both sensors.
const INTERVAL: Nanos = Nanos::from_millis(100);

/// A fixed number of scenes of one seed, as one of the sensors sees them; then they repeat.
#[derive(Debug)]
pub struct SyntheticSource {
    contents: Vec<Content>,
    timeline: Timeline,
    contexts: Contexts,
    sensor: Sensor,
    seed: u64,
    next: usize,
    repeats: bool,
}

impl SyntheticSource {
    /// Renders scenes `0..scenes` of `seed` (on all cores; at least one scene). `repeats`: begin again
    /// after the last scene instead of ending.
    pub fn open(sensor: Sensor, seed: u64, scenes: usize, repeats: bool) -> Self {
        let scenes = scenes.max(1);
        let mut contents = vec![Content::Empty; scenes];
        let threads = std::thread::available_parallelism().map_or(1, |n| n.get());
        let share = scenes.div_ceil(threads);
        std::thread::scope(|scope| {
            for (part, some) in contents.chunks_mut(share).enumerate() {
                scope.spawn(move || {
                    for (offset, content) in some.iter_mut().enumerate() {
                        let scene = World::scene(seed, (part * share + offset) as u64);
                        *content = match sensor {
                            Sensor::Camera => Content::Image(scene.render_camera()),
                            Sensor::Lidar => Content::Points(scene.sweep()),
                        };
                    }
                });
            }
        });
        SyntheticSource {
            contents,
            timeline: Timeline::of_captures((0..scenes as i64).map(|i| INTERVAL * i)),
            contexts: Contexts::each([context(sensor)]),
            sensor,
            seed,
            next: 0,
            repeats,
        }
    }
}

/// How the two sensors lie against each other, in the LiDAR's frame: a still has no vehicle.
fn context(sensor: Sensor) -> FrameContext {
    let calibration = super::calibration();
    let [x, y, z] = calibration.lidar_to_camera;
    let onto = Pose::from_matrix(&[x, y, z, [0.0, 0.0, 0.0, 1.0]]);
    let (name, place, projection) = match sensor {
        Sensor::Lidar => ("lidar", Some(Pose::NONE), None),
        Sensor::Camera => {
            let matrix = calibration.projection.map(|row| [row[0], row[1], row[2]]);
            let projection = Projection {
                matrix,
                size: Some(IMAGE_SIZE.map(|pixels| pixels as u32)),
                is_distorted: false,
            };
            ("camera", onto.map(|onto| onto.inverse()), Some(projection))
        }
    };
    FrameContext {
        sensor: name.into(),
        place: place.map(|pose| Placed::new("lidar", pose)),
        projection,
        vehicle: None,
    }
}

impl Source for SyntheticSource {
    fn info(&self) -> SourceInfo {
        let scenes = self.contents.len();
        let [width, height] = IMAGE_SIZE;
        let (kind, what) = match self.sensor {
            Sensor::Camera => (ContentKind::Image, format!("images of {width}×{height}")),
            Sensor::Lidar => (ContentKind::Points, "sweeps".to_owned()),
        };
        SourceInfo {
            kind,
            frames: (!self.repeats).then_some(scenes as u64),
            description: format!("{scenes} synthetic {what}, seed {}", self.seed),
            selection: None,
        }
    }

    fn acquire(&mut self, frame: &mut Frame) -> Result<bool, SourceError> {
        if self.next == self.contents.len() {
            if !self.repeats {
                return Ok(false);
            }
            self.next = 0;
        }
        frame.index = self.next as u64;
        frame.captured = self.timeline.at(frame.index).map(|time| time.captured);
        frame.context = self.contexts.of(self.next);
        copy(&self.contents[self.next], &mut frame.content);
        self.next += 1;
        Ok(true)
    }

    fn skip(&mut self, frames: u64) -> Result<(), SourceError> {
        self.next = position_after(self.next, frames, self.contents.len(), self.repeats);
        Ok(())
    }

    fn rewind(&mut self) -> Result<(), SourceError> {
        self.next = 0;
        Ok(())
    }

    fn want(&mut self, wants: Wants) -> Option<Lack> {
        match self.sensor {
            Sensor::Camera => None,
            Sensor::Lidar => wants.lack(true, false, || {
                "synthetic sweeps have x, y, z and intensity".to_owned()
            }),
        }
    }

    fn timeline(&self) -> Option<&Timeline> {
        Some(&self.timeline)
    }

    fn recorded(&self) -> Option<Recorded<'_>> {
        Some(Recorded {
            frames: self.contents.len(),
            repeats: self.repeats,
            contexts: &self.contexts,
        })
    }
}

/// Copies into the buffer that is there; it grows while warming up and then no more.
fn copy(from: &Content, to: &mut Content) {
    match (from, to) {
        (Content::Image(from), Content::Image(to)) => {
            to.width = from.width;
            to.height = from.height;
            to.rgb.clear();
            to.rgb.extend_from_slice(&from.rgb);
        }
        (Content::Points(from), Content::Points(to)) => {
            to.points.clear();
            to.points.extend_from_slice(&from.points);
        }
        (Content::Image(_), to) => {
            *to = Content::Image(Image::default());
            copy(from, to);
        }
        (Content::Points(_), to) => {
            // Room for the largest sweep, so that a later one does not make the buffer grow.
            let points = Vec::with_capacity(super::RINGS * super::STEPS);
            *to = Content::Points(PointCloud::of(points));
            copy(from, to);
        }
        (Content::Empty | Content::Set(_), to) => *to = Content::Empty,
    }
}
