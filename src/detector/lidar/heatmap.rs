//! Heat maps to boxes: CenterPoint and what follows it.
//!
//! Each task of the network has a map of scores for its classes, and maps with the offset, height, sides, heading and
//! velocity of what has its centre in a cell (Yin et al., "Center-based 3D Object Detection and Tracking", 2021).

use std::f64::consts::FRAC_PI_2;

use serde::Deserialize;

use super::anchors::{Activation, Convention};
use super::angle::normalised_angle;
use super::grid::Grid;
use super::nms::{Candidate, Suppress};
use crate::detector::{Box3d, Carry, Detection, DetectorError, Place, Postprocess};
use crate::record::fields;
use crate::tensor::{HostTensor, TensorError, TensorSet};

fields! {
    /// The outputs of one task, and the classes that it finds.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Task: no default, "Task", "(classes: [0, 1, 2], heatmap: \"heatmap\")",
        list "a task", "a list of tasks, such as [(classes: [0, 1, 2])]" {
        /// Indices into the detector's classes, in the order of the map's channels.
        pub classes: Vec<u16>, required "classes: [0, 1, 2]";
        /// `[1, classes, h, w]`: scores.
        pub heatmap: String = "heatmap".to_owned();
        /// `[1, 2, h, w]`: offset of the centre from the cell's corner along x and y, in cells.
        pub offset: String = "reg".to_owned();
        /// `[1, 1, h, w]`: height of the centre, in metres.
        pub height: String = "height".to_owned();
        /// `[1, 3, h, w]`: sides.
        pub size: String = "dim".to_owned();
        /// `[1, 2, h, w]`: sine and cosine of the heading.
        pub rotation: String = "rot".to_owned();
        /// `[1, 2, h, w]`: velocity along x and y, in metres a second.
        pub velocity: Option<String> = None;
        /// A box goes if the centre of a better one of its task is nearer than this, in metres.
        pub distance: Option<f64> = None;
    }
}

/// What the sides are given as.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
pub enum Sides {
    /// Their natural logarithms.
    #[default]
    Logarithms,
    /// Metres.
    Metres,
}

/// Order of the two channels of rotation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
pub enum RotationOrder {
    /// Sine first (CenterPoint, mmdetection3d, Autoware).
    #[default]
    SinCos,
    /// Cosine first (OpenPCDet).
    CosSin,
}

fields! {
    /// How a network's heat maps are read, as a spec says it.
    #[derive(Clone, Debug, PartialEq)]
    pub struct HeatmapSpec: no default, "Heatmap", "fields of a head of heat maps" {
        /// The tasks, in the network's order.
        pub tasks: Vec<Task>, required "tasks: [(classes: [0, 1, 2])]";
        /// Pillars per cell along x and along y.
        pub stride: u32 = 1;
        /// Of the heat map.
        pub activation: Activation = Activation::default();
        /// Of the sides.
        pub sides: Sides = Sides::default();
        /// Of the rotation.
        pub rotation_order: RotationOrder = RotationOrder::default();
        /// What sides and rotation mean.
        pub convention: Convention = Convention::Heading;
        /// Whether only the best cell of each neighbourhood of three by three counts, class by class.
        pub peaks: bool = false;
        /// Least length of (sine, cosine) that counts as a heading: below it a cell is left out.
        pub least_rotation: f32 = 0.0;
    }
}

/// The head over a grid.
#[derive(Clone, Debug, PartialEq)]
pub struct Head {
    /// The outputs and how to read them.
    pub how: HeatmapSpec,
    /// Least score that is reported.
    pub score_threshold: f32,
    /// Candidates of a task, best first, that go into suppression.
    pub before: usize,
    /// Lower corner of the range in metres, x and y.
    pub min: [f64; 2],
    /// Sides of a pillar in metres, x and y.
    pub pillar: [f64; 2],
}

/// The postprocess of heat maps, with the memory that it takes.
pub struct HeatmapDecode {
    head: Head,
    cells: [usize; 2],
    suppress: Suppress,
    scored: Vec<Scored>,
    candidates: Vec<Candidate>,
    velocities: Vec<Option<[f32; 2]>>,
    /// What all tasks found, one task after the other, with its place.
    unordered: Vec<(usize, Detection)>,
}

/// A cell whose score is high enough.
#[derive(Clone, Copy, Debug)]
struct Scored {
    score: f32,
    class: u16,
    cell: u32,
}

impl HeatmapDecode {
    /// For a head over this grid.
    pub fn new(head: Head, grid: Grid, suppress: Suppress) -> Self {
        HeatmapDecode {
            cells: grid.cells.map(|n| (n / head.how.stride.max(1)) as usize),
            scored: Vec::with_capacity(head.before),
            candidates: Vec::with_capacity(head.before),
            velocities: Vec::with_capacity(head.before),
            unordered: Vec::with_capacity(head.before),
            head,
            suppress,
        }
    }

    /// A map of so many channels.
    fn map<'a>(
        &self,
        outputs: &'a TensorSet,
        name: &str,
        channels: usize,
    ) -> Result<Channels<'a>, TensorError> {
        let tensor: &HostTensor = outputs.get(name)?;
        let [nx, ny] = self.cells;
        match *tensor.shape().dims() {
            [1, c, h, w] | [c, h, w] if c == channels && [w, h] == self.cells => Ok(Channels {
                values: tensor.f32()?,
                cells: nx * ny,
            }),
            _ => Err(TensorError::WrongShape {
                name: name.to_owned(),
                found: *tensor.shape(),
                wanted: format!("[1, {channels}, {ny}, {nx}]"),
            }),
        }
    }

    /// The cells of a task whose score is high enough, best first.
    fn score(&mut self, number: usize, outputs: &TensorSet) -> Result<(), TensorError> {
        self.scored.clear();
        let Some(task) = self.head.how.tasks.get(number) else {
            return Ok(());
        };
        let map = self.map(outputs, &task.heatmap, task.classes.len())?;
        let threshold = self.head.score_threshold;
        // The exact comparison is made of the score; this one is only there to be quick.
        let cut = match self.head.how.activation {
            Activation::Sigmoid => (threshold / (1.0 - threshold)).ln() - 1e-3,
            Activation::Identity => threshold,
        };
        let across = self.cells[0].max(1);
        for (channel, class) in task.classes.iter().enumerate() {
            let plane = map.channel(channel);
            for (cell, raw) in (0u32..).zip(plane) {
                if *raw >= cut && (!self.head.how.peaks || is_peak(plane, across, cell as usize)) {
                    let score = match self.head.how.activation {
                        Activation::Sigmoid => 1.0 / (1.0 + (-raw).exp()),
                        Activation::Identity => *raw,
                    };
                    if score >= threshold && score.is_finite() {
                        self.scored.push(Scored {
                            score,
                            class: *class,
                            cell,
                        });
                    }
                }
            }
        }
        // Equal scores in the order of memory, so that results repeat.
        let order = |a: &Scored, b: &Scored| {
            let place = |s: &Scored| (s.class, s.cell);
            b.score.total_cmp(&a.score).then_with(|| place(a).cmp(&place(b)))
        };
        if self.scored.len() > self.head.before {
            self.scored.select_nth_unstable_by(self.head.before, order);
            self.scored.truncate(self.head.before);
        }
        self.scored.sort_unstable_by(order);
        Ok(())
    }

    /// The boxes of the cells that are left.
    fn decode(&mut self, number: usize, outputs: &TensorSet) -> Result<(), TensorError> {
        self.candidates.clear();
        self.velocities.clear();
        let Some(task) = self.head.how.tasks.get(number) else {
            return Ok(());
        };
        let offset = self.map(outputs, &task.offset, 2)?;
        let height = self.map(outputs, &task.height, 1)?;
        let size = self.map(outputs, &task.size, 3)?;
        let rotation = self.map(outputs, &task.rotation, 2)?;
        let velocity = match &task.velocity {
            Some(name) => Some(self.map(outputs, name, 2)?),
            None => None,
        };
        let head = &self.head;
        let stride = f64::from(head.how.stride);
        for scored in &self.scored {
            let cell = scored.cell as usize;
            let at = |map: &Channels<'_>, channel: usize| {
                map.channel(channel).get(cell).copied().unwrap_or(f32::NAN)
            };
            let [first, second] = [at(&rotation, 0), at(&rotation, 1)];
            let (sin, cos) = match head.how.rotation_order {
                RotationOrder::SinCos => (first, second),
                RotationOrder::CosSin => (second, first),
            };
            if head.how.least_rotation > 0.0 && sin.hypot(cos) < head.how.least_rotation {
                continue;
            }
            let sides = [0, 1, 2].map(|k| match head.how.sides {
                Sides::Logarithms => at(&size, k).exp(),
                Sides::Metres => at(&size, k),
            });
            let angle = f64::from(sin).atan2(f64::from(cos));
            let (l, w, yaw) = match head.how.convention {
                Convention::Second => (sides[1], sides[0], -angle - FRAC_PI_2),
                Convention::Heading => (sides[0], sides[1], angle),
            };
            let position = [cell % self.cells[0], cell / self.cells[0]];
            let [x, y] = [0, 1].map(|axis| {
                let cells = position[axis] as f64 + f64::from(at(&offset, axis));
                (cells * stride * head.pillar[axis] + head.min[axis]) as f32
            });
            let place = Box3d {
                x,
                y,
                z: at(&height, 0),
                l,
                w,
                h: sides[2],
                yaw: normalised_angle(yaw),
            };
            // A box that is not finite comes from a network gone wrong; it would poison what reads it.
            let finite = [place.x, place.y, place.z, place.l, place.w, place.h, place.yaw];
            if !finite.iter().all(|v| v.is_finite()) {
                continue;
            }
            self.candidates.push(Candidate {
                score: scored.score,
                class: scored.class,
                at: place,
            });
            let moves = velocity.as_ref().map(|map| [at(map, 0), at(map, 1)]);
            self.velocities
                .push(moves.filter(|v| v.iter().all(|v| v.is_finite())));
        }
        Ok(())
    }
}

impl Postprocess for HeatmapDecode {
    fn run(
        &mut self,
        outputs: &TensorSet,
        _: &Carry,
        found: &mut Vec<Detection>,
    ) -> Result<(), DetectorError> {
        found.clear();
        self.unordered.clear();
        for number in 0..self.head.how.tasks.len() {
            self.score(number, outputs)?;
            self.decode(number, outputs)?;
            let (velocities, unordered) = (&self.velocities, &mut self.unordered);
            let distance = self.head.how.tasks.get(number).and_then(|task| task.distance);
            self.suppress
                .run_with(&self.candidates, distance, |index, candidate| {
                    let one = Detection {
                        class: candidate.class,
                        score: candidate.score,
                        place: Place::Space(candidate.at),
                        velocity: velocities.get(index).copied().flatten(),
                        camera: 0,
                    };
                    unordered.push((unordered.len(), one));
                });
        }
        // Best first over all tasks, equal scores in the tasks' order. A stable sort would allocate.
        self.unordered
            .sort_unstable_by(|(m, a), (n, b)| b.score.total_cmp(&a.score).then_with(|| m.cmp(n)));
        found.extend(self.unordered.iter().map(|(_, one)| *one));
        Ok(())
    }
}

/// The planes of an output.
#[derive(Clone, Copy)]
struct Channels<'a> {
    values: &'a [f32],
    cells: usize,
}

impl<'a> Channels<'a> {
    fn channel(&self, channel: usize) -> &'a [f32] {
        let start = channel * self.cells;
        self.values.get(start..start + self.cells).unwrap_or_default()
    }
}

/// Whether no neighbour of a cell has a larger value; of equal ones the first counts.
fn is_peak(plane: &[f32], across: usize, cell: usize) -> bool {
    let Some(own) = plane.get(cell).copied() else {
        return false;
    };
    let (x, y, down) = (cell % across, cell / across, plane.len() / across);
    (y.saturating_sub(1)..(y + 2).min(down)).all(|v| {
        (x.saturating_sub(1)..(x + 2).min(across)).all(|u| {
            let other = v * across + u;
            other == cell
                || plane
                    .get(other)
                    .is_none_or(|value| *value < own || (*value == own && other > cell))
        })
    })
}

#[cfg(test)]
mod tests;
