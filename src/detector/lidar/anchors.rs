//! Head outputs to boxes, for networks that correct anchors: SECOND, PointPillars and what follows them.
//!
//! Two conventions are in use for what a box's numbers mean ([`Convention`]); everything else is the same.
//! What leaves here has one meaning: length along the heading, heading from +x towards +y.

mod occupancy;

use std::f64::consts::{FRAC_PI_2, FRAC_PI_4, PI};

use serde::Deserialize;

use crate::record::fields;

use super::angle::normalised_angle;
use super::encode::CELLS;
use super::grid::Grid;
use super::nms::{Candidate, Suppress};
use crate::detector::{Box3d, Carry, Detection, DetectorError, Place, Postprocess};
use crate::tensor::{HostTensor, TensorError, TensorSet};
use occupancy::Occupancy;

/// What sizes and rotations of anchors mean. In both, the first side lies along x and the second along y
/// at rotation 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
pub enum Convention {
    /// Sides are width, length, height; rotation is KITTI's `rotation_y`, clockwise seen from above, so that
    /// the heading is −rotation − π/2 (second.pytorch).
    #[default]
    Second,
    /// Sides are length, width, height; the rotation is the heading (OpenPCDet, mmdetection3d from 1.0).
    Heading,
}

fields! {
    /// How the direction classes, two per anchor, settle which end of a box is its front.
    #[derive(Clone, Copy, Debug, Default, PartialEq)]
    pub enum DirectionRule: "direction rule", else "Sign" {
        /// Turn around if (rotation > 0) differs from (the second class is the larger) (second.pytorch).
        #[default]
        Sign,
        /// Bring the rotation less `offset` into [−`limit_offset`·π, (1−`limit_offset`)·π), then add `offset`,
        /// and π if the second class is the larger (OpenPCDet).
        Bins(0, "Bins(offset: 0.78539, limit_offset: 0.0)") {
            /// Angle that is subtracted before and added afterwards, in radians.
            offset: f64, required "offset: 0.78539";
            /// Share of π by which the range starts below 0.
            limit_offset: f64, required "limit_offset: 0.0";
        },
    }
}

/// How head outputs lie in memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
pub enum HeadLayout {
    /// `[1, y, x, anchors × values]`, or that flattened to `[1, y × x × anchors, values]`.
    #[default]
    CellsChannels,
    /// `[1, anchors × values, y, x]`.
    ChannelsCells,
}

/// What stands in the tensor of scores.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
pub enum Scores {
    /// One for each class at each anchor; the best of them gives the class.
    #[default]
    PerClass,
    /// One for each anchor, whose class is the anchor's.
    PerAnchor,
}

/// What turns a network's score into 0..=1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
pub enum Activation {
    /// The network gives logits.
    #[default]
    Sigmoid,
    /// The network gives scores.
    Identity,
}

/// Where the anchors of the first and last cell lie.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
pub enum Placement {
    /// In the middle of each cell.
    #[default]
    Centres,
    /// From one end of the range to the other, the ends included (OpenPCDet's default).
    Ends,
}

/// One anchor of every cell.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Anchor {
    /// Index into the detector's classes.
    pub class: u16,
    /// Sides in metres, as [`Convention`] says.
    pub size: [f64; 3],
    /// Height of its middle in metres.
    pub z: f64,
    /// In radians, as [`Convention`] says.
    pub rotation: f64,
}

/// The head's outputs and how to read them.
#[derive(Clone, Debug)]
pub struct Head {
    /// Tensor of seven corrections an anchor.
    pub boxes: String,
    /// The name of the output with scores.
    pub scores: String,
    /// Tensor of two direction classes an anchor.
    pub directions: Option<(String, DirectionRule)>,
    /// The order of dimensions of all these outputs.
    pub layout: HeadLayout,
    /// Of the tensor of scores.
    pub score_kind: Scores,
    /// Of the tensor of scores.
    pub activation: Activation,
    /// Number of the detector's classes.
    pub classes: usize,
    /// The anchors of a cell, in the network's order.
    pub anchors: Vec<Anchor>,
    /// Of sizes and rotations.
    pub convention: Convention,
    /// Of the cells' anchors.
    pub placement: Placement,
    /// Lower corner of the range in metres, x and y, and the sides of a pillar. In double precision, as
    /// written: bounds of anchors often fall on edges of pillars, and rounding decides which side they take.
    pub min: [f64; 2],
    /// Sides of a pillar in metres, x and y.
    pub pillar: [f64; 2],
    /// Pillars per cell along x and along y.
    pub stride: u32,
    /// Whether anchors over fewer than two occupied pillars are left out.
    pub drop_empty: bool,
    /// Least score that is reported.
    pub score_threshold: f32,
    /// Candidates, best first, that go into suppression.
    pub before: usize,
}

/// The postprocess of anchor networks, with the memory that it takes.
pub struct AnchorDecode {
    head: Head,
    grid: Grid,
    cells: [usize; 2],
    suppress: Suppress,
    occupied: Occupancy,
    scored: Vec<Scored>,
    candidates: Vec<Candidate>,
}

/// An anchor whose score is high enough.
#[derive(Clone, Copy, Debug)]
struct Scored {
    score: f32,
    class: u16,
    anchor: u16,
    cell: u32,
}

impl AnchorDecode {
    /// For a head over this grid.
    pub fn new(head: Head, grid: Grid, suppress: Suppress) -> Self {
        AnchorDecode {
            cells: grid.cells.map(|n| (n / head.stride) as usize),
            occupied: Occupancy::default(),
            scored: Vec::with_capacity(head.before),
            candidates: Vec::with_capacity(head.before),
            head,
            grid,
            suppress,
        }
    }

    /// How many anchors there are that [`Head::drop_empty`] would keep for these pillars.
    pub fn anchors_with_points(&mut self, pillars: &[[i32; 2]]) -> usize {
        self.occupied.count(&self.grid, pillars);
        let cells = (self.cells[0] * self.cells[1]) as u32;
        let all = (0..cells).flat_map(|cell| self.head.anchors.iter().map(move |anchor| (cell, anchor)));
        all.filter(|(cell, anchor)| self.covers_points(*cell, anchor))
            .count()
    }

    /// Position of a cell's anchors in metres.
    fn position(&self, cell: u32) -> [f64; 2] {
        let at = [cell as usize % self.cells[0], cell as usize / self.cells[0]];
        [0, 1].map(|axis| {
            let (min, pillar) = (self.head.min[axis], self.head.pillar[axis]);
            let step = pillar * f64::from(self.head.stride);
            let span = pillar * f64::from(self.grid.cells[axis]);
            match self.head.placement {
                Placement::Centres => (min + step / 2.0) + step * at[axis] as f64,
                Placement::Ends => min + span / (self.cells[axis].max(2) - 1) as f64 * at[axis] as f64,
            }
        })
    }

    /// Whether an anchor's upright bounds hold more than one occupied pillar.
    fn covers_points(&self, cell: u32, anchor: &Anchor) -> bool {
        let position = self.position(cell);
        let quarter_turned = (anchor.rotation.rem_euclid(PI) - FRAC_PI_2).abs() < FRAC_PI_4;
        let bounds = [0, 1].map(|axis| {
            let side = anchor.size[if quarter_turned { 1 - axis } else { axis }];
            let pillar = self.head.pillar[axis];
            let middle = (position[axis] - self.head.min[axis]) / pillar;
            [middle - side / (2.0 * pillar), middle + side / (2.0 * pillar)]
        });
        self.occupied.within(bounds) > 1
    }

    /// Collects the anchors whose score is high enough, in the order of memory.
    fn score(&mut self, scores: &HostTensor) -> Result<(), TensorError> {
        let head = &self.head;
        let per_anchor = match head.score_kind {
            Scores::PerClass => head.classes,
            Scores::PerAnchor => 1,
        };
        let map = Map::of(scores, head, self.cells, per_anchor)?;
        let raw = scores.f32()?;
        // The exact comparison is made of the score; this one is only there to be quick.
        let cut = match head.activation {
            Activation::Sigmoid => (head.score_threshold / (1.0 - head.score_threshold)).ln() - 1e-3,
            Activation::Identity => head.score_threshold,
        };
        self.scored.clear();
        for (index, value) in raw.iter().enumerate() {
            if *value >= cut {
                let (cell, channel) = map.place(index);
                let (anchor, class) = (channel / per_anchor, channel % per_anchor);
                let rival = |k: usize| raw[map.index(cell, anchor * per_anchor + k)];
                let is_best = (0..per_anchor)
                    .all(|k| k == class || rival(k) < *value || (rival(k) == *value && k > class));
                let score = match head.activation {
                    Activation::Sigmoid => 1.0 / (1.0 + (-value).exp()),
                    Activation::Identity => *value,
                };
                if is_best && score >= head.score_threshold {
                    self.scored.push(Scored {
                        score,
                        class: match head.score_kind {
                            Scores::PerClass => class as u16,
                            Scores::PerAnchor => head.anchors[anchor].class,
                        },
                        anchor: anchor as u16,
                        cell: cell as u32,
                    });
                }
            }
        }
        Ok(())
    }

    /// Leaves the best, in order; equal scores in the order of memory, so that results repeat.
    fn keep_best(&mut self) {
        let order = |a: &Scored, b: &Scored| {
            let place = |s: &Scored| (s.cell, s.anchor);
            b.score.total_cmp(&a.score).then_with(|| place(a).cmp(&place(b)))
        };
        if self.scored.len() > self.head.before {
            self.scored.select_nth_unstable_by(self.head.before, order);
            self.scored.truncate(self.head.before);
        }
        self.scored.sort_unstable_by(order);
    }

    /// The box that seven corrections make of an anchor, and its rotation before direction is settled.
    fn corrected(&self, cell: u32, anchor: &Anchor, by: [f32; 7]) -> (Box3d, f64) {
        let by = by.map(f64::from);
        let [a, b, c] = anchor.size;
        let [x, y] = self.position(cell);
        let diagonal = a.hypot(b);
        let (first, second) = (by[3].exp() * a, by[4].exp() * b);
        let (l, w) = match self.head.convention {
            Convention::Second => (second, first),
            Convention::Heading => (first, second),
        };
        let at = Box3d {
            x: (by[0] * diagonal + x) as f32,
            y: (by[1] * diagonal + y) as f32,
            z: (by[2] * c + anchor.z) as f32,
            l: l as f32,
            w: w as f32,
            h: (by[5].exp() * c) as f32,
            yaw: 0.0,
        };
        (at, by[6] + anchor.rotation)
    }

    fn decode(&mut self, outputs: &TensorSet) -> Result<(), TensorError> {
        let boxes = outputs.get(&self.head.boxes)?;
        let box_map = Map::of(boxes, &self.head, self.cells, 7)?;
        let boxes = boxes.f32()?;
        let directions = match &self.head.directions {
            Some((name, rule)) => {
                let tensor = outputs.get(name)?;
                Some((tensor.f32()?, Map::of(tensor, &self.head, self.cells, 2)?, *rule))
            }
            None => None,
        };
        self.candidates.clear();
        for scored in &self.scored {
            let (cell, k) = (scored.cell as usize, scored.anchor as usize);
            let anchor = &self.head.anchors[k];
            let by = std::array::from_fn(|n| boxes[box_map.index(cell, k * 7 + n)]);
            let (mut at, mut rotation) = self.corrected(scored.cell, anchor, by);
            if let Some((values, map, rule)) = &directions {
                let second = values[map.index(cell, k * 2 + 1)] > values[map.index(cell, k * 2)];
                rotation = directed(rotation, second, *rule);
            }
            at.yaw = normalised_angle(match self.head.convention {
                Convention::Second => -rotation - FRAC_PI_2,
                Convention::Heading => rotation,
            });
            // A box that is not finite comes from a network gone wrong; it would poison what reads it.
            if [at.x, at.y, at.z, at.l, at.w, at.h, at.yaw]
                .iter()
                .all(|v| v.is_finite())
            {
                self.candidates.push(Candidate {
                    score: scored.score,
                    class: scored.class,
                    at,
                });
            }
        }
        Ok(())
    }
}

impl Postprocess for AnchorDecode {
    fn run(
        &mut self,
        outputs: &TensorSet,
        _: &Carry,
        found: &mut Vec<Detection>,
    ) -> Result<(), DetectorError> {
        found.clear();
        self.score(outputs.get(&self.head.scores)?)?;
        if self.head.drop_empty && !self.scored.is_empty() {
            let (cells, _) = outputs.get(CELLS)?.i32()?.as_chunks::<2>();
            self.occupied.count(&self.grid, cells);
            let mut scored = std::mem::take(&mut self.scored);
            scored.retain(|s| self.covers_points(s.cell, &self.head.anchors[s.anchor as usize]));
            self.scored = scored;
        }
        self.keep_best();
        self.decode(outputs)?;
        self.suppress.run(&self.candidates, |candidate| {
            let place = Place::Space(candidate.at);
            found.push(Detection::still(candidate.class, candidate.score, place));
        });
        Ok(())
    }
}

/// The rotation of a box once its direction class is known.
fn directed(rotation: f64, second_class: bool, rule: DirectionRule) -> f64 {
    match rule {
        DirectionRule::Sign => {
            if (rotation > 0.0) != second_class {
                rotation + PI
            } else {
                rotation
            }
        }
        DirectionRule::Bins { offset, limit_offset } => {
            let from = rotation - offset;
            let limited = from - (from / PI + limit_offset).floor() * PI;
            limited + offset + if second_class { PI } else { 0.0 }
        }
    }
}

/// Where in a head output a cell's channel lies.
#[derive(Clone, Copy)]
struct Map {
    layout: HeadLayout,
    cells: usize,
    channels: usize,
}

impl Map {
    /// Checks the tensor's shape: `values` numbers for each anchor of each cell.
    fn of(
        tensor: &HostTensor,
        head: &Head,
        [nx, ny]: [usize; 2],
        values: usize,
    ) -> Result<Self, TensorError> {
        let (cells, channels) = (nx * ny, head.anchors.len() * values);
        let shape = tensor.shape();
        let last = shape.dims().last().copied().unwrap_or(0);
        let fits = shape.len() == cells * channels
            && match head.layout {
                HeadLayout::CellsChannels => last == channels || last == values,
                HeadLayout::ChannelsCells => last == nx,
            };
        if fits {
            return Ok(Map {
                layout: head.layout,
                cells,
                channels,
            });
        }
        Err(TensorError::WrongShape {
            name: tensor.name().to_owned(),
            found: *shape,
            wanted: match head.layout {
                HeadLayout::CellsChannels => format!("[1, {ny}, {nx}, {channels}]"),
                HeadLayout::ChannelsCells => format!("[1, {channels}, {ny}, {nx}]"),
            },
        })
    }

    fn index(&self, cell: usize, channel: usize) -> usize {
        match self.layout {
            HeadLayout::CellsChannels => cell * self.channels + channel,
            HeadLayout::ChannelsCells => channel * self.cells + cell,
        }
    }

    /// The cell and channel at an index.
    fn place(&self, index: usize) -> (usize, usize) {
        match self.layout {
            HeadLayout::CellsChannels => (index / self.channels, index % self.channels),
            HeadLayout::ChannelsCells => (index % self.cells, index / self.cells),
        }
    }
}

#[cfg(test)]
mod tests;
