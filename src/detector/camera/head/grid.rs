//! One head for networks of cells: the spec says what each column of the outputs is and how it becomes a length or a score.
//!
//! Levels have a stride and, where the network has them, anchors. A box is a centre and a size, four distances from a
//! point (as numbers or as distributions), or two corners. The heads that have a name of their own are shorter ways to
//! write some of these.

mod check;
mod view;

#[cfg(test)]
mod tests;

use serde::Deserialize;

use super::super::nms::{Candidates, Labels};
use super::curve::{Curve, Function, Unit, Units};
use super::{Decode, Geometry, HeadError, centred, logit, sigmoid};
use crate::detector::Box2d;
use crate::record::{fields, words};
use crate::tensor::{HostTensor, TensorSet};
use crate::written::Rules;
use view::{Extent, View};

fields! {
    /// The general head.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Grid: no default, "Grid", "fields of the head" {
        /// Outputs that hold all levels, one after another; empty where each level has its own.
        pub tensors: Vec<String> = Vec::new();
        /// What the columns of each output are, in the order of `tensors`.
        pub columns: Vec<Vec<Column>>, required "columns: [[X, Y, Width, Height, Classes]]";
        /// Order of the outputs' dimensions.
        pub layout: Layout = Layout::Rows;
        /// Order of boxes in `Rows` and `Columns` where cells have several anchors.
        pub order: Order = Order::AnchorsInCells;
        /// The levels, in the network's order.
        pub levels: Vec<Level>, required "levels: [(stride: 8), (stride: 16)]";
        /// Where offsets and distances count from.
        pub point: Point = Point::Corner;
        /// From `X`, `Y`, `Left` to `Bottom` and `X1` to `Y2` to pixels.
        pub offset: Curve = Curve::plain(Function::Identity, Unit::Stride);
        /// From `Width` and `Height` to pixels.
        pub size: Curve = Curve::plain(Function::Identity, Unit::Pixels);
        /// Bins of each distance where it is a distribution, else 1.
        pub bins: usize = 1;
        /// From raw objectness to 0..=1.
        pub objectness: Score = Score::Identity;
        /// From raw class scores to 0..=1.
        pub classes: Score = Score::Identity;
        /// How objectness and class make the score.
        pub score: Combine = Combine::Product;
        /// Whether only the best cell of each neighbourhood of three by three counts, class by class.
        pub peaks: bool = false;
    }
}

fields! {
    /// One scale of the network.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Level: no default, "Level", "(stride: 8, anchors: [[10, 13]])",
        list "a level", "a list of levels, such as [(stride: 8), (stride: 16)]" {
        /// Pixels of the input a cell.
        pub stride: u32, required "stride: 8";
        /// Cells across and down; none: the input's size divided by the stride.
        pub cells: Option<[usize; 2]> = None;
        /// Width and height of each anchor in pixels of the input.
        pub anchors: Vec<[f32; 2]> = Vec::new();
        /// The outputs of this level, where they are not in [`Grid::tensors`].
        pub tensors: Vec<String> = Vec::new();
    }
}

/// What a column of an output is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[allow(missing_docs, reason = "the names say it")]
pub enum Column {
    /// Centre.
    X,
    Y,
    Width,
    Height,
    /// Distances of the sides from the point; as many columns each as there are bins.
    Left,
    Top,
    Right,
    Bottom,
    /// Corners.
    X1,
    Y1,
    X2,
    Y2,
    /// One score of the cell.
    Objectness,
    /// One score a class.
    Classes,
    /// The score of no class, which a softmax takes in.
    Background,
    /// Something else.
    Skip,
}

/// Order of an output's dimensions: `N` boxes, `K` columns, `A` anchors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
pub enum Layout {
    /// `[1, N, K]`, also `[N, K]` and `[1, N, 1, K]`.
    #[default]
    Rows,
    /// `[1, K, N]`
    Columns,
    /// `[1, A·K, h, w]` or `[1, A, K, h, w]`, an output a level.
    Maps,
    /// `[1, h, w, A·K]` or `[1, A, h, w, K]`, an output a level.
    Cells,
}

/// Order of boxes where cells have several anchors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
pub enum Order {
    /// All anchors of the first cell, then those of the second.
    #[default]
    AnchorsInCells,
    /// All cells of the first anchor, then those of the second.
    CellsInAnchors,
}

/// Where in its cell a box counts from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
pub enum Point {
    /// `cell · stride`
    #[default]
    Corner,
    /// `(cell + ½) · stride`
    Middle,
    /// `cell · stride + (stride − 1) / 2`, the middle in whole pixels.
    MiddlePixel,
    /// The corner of the input: values are positions already.
    Origin,
}

/// What makes a score of a raw value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
pub enum Score {
    /// It is one already.
    #[default]
    Identity,
    /// `1 / (1 + e^−v)`
    Sigmoid,
    /// Over the classes, and the background where there is one.
    Softmax,
}

fields! {
    /// How objectness and class score make one.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub enum Combine: "score", else "Product" {
        /// Their product.
        Product,
        /// The root of their product.
        GeometricMean,
        /// The product of their powers.
        Powers(0, "Powers(objectness: 0.6, class: 0.4)") {
            /// Exponent of objectness.
            objectness: f32, required "objectness: 0.6";
            /// Exponent of the class score.
            class: f32, required "class: 0.4";
        },
    }
}

words! {
    Column: "column", "a list of columns, such as [X, Y, Width, Height]";
    Layout: "layout";
    Order: "order";
    Point: "point";
    Score: "score";
}

impl Combine {
    /// The score of two that are not above 1.
    fn of(self, objectness: f32, class: f32) -> f32 {
        match self {
            Combine::Product => class * objectness,
            Combine::GeometricMean => (class * objectness).max(0.0).sqrt(),
            Combine::Powers {
                objectness: a,
                class: b,
            } => objectness.max(0.0).powf(a) * class.max(0.0).powf(b),
        }
    }

    /// What objectness and class score must reach for the two to reach a threshold, given that neither is above 1.
    fn least(self, threshold: f32) -> [f32; 2] {
        match self {
            Combine::Product => [threshold; 2],
            Combine::GeometricMean => [threshold * threshold; 2],
            // A little less, since rounding must not rule out what reaches it.
            Combine::Powers { objectness, class } => {
                [objectness, class].map(|power| threshold.powf(power.recip()) * (1.0 - 1e-5))
            }
        }
    }
}

/// How a box is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shape {
    Centred,
    Sides,
    Corners,
}

/// The columns that make a box, in their order.
const CENTRED: [Column; 4] = [Column::X, Column::Y, Column::Width, Column::Height];
const SIDES: [Column; 4] = [Column::Left, Column::Top, Column::Right, Column::Bottom];
const CORNERS: [Column; 4] = [Column::X1, Column::Y1, Column::X2, Column::Y2];

/// Where a column stands: which output, and at which column of it.
type At = (usize, usize);

impl Grid {
    /// Columns of the network's output that one column of the spec stands for.
    fn width(&self, column: Column, classes: usize) -> usize {
        match column {
            Column::Classes => classes,
            column if SIDES.contains(&column) => self.bins,
            _ => 1,
        }
    }

    fn total(&self, columns: &[Column], classes: usize) -> usize {
        columns.iter().map(|column| self.width(*column, classes)).sum()
    }

    fn place(&self, wanted: Column, classes: usize) -> Option<At> {
        self.columns.iter().enumerate().find_map(|(tensor, columns)| {
            let at = columns.iter().position(|column| *column == wanted)?;
            Some((tensor, self.total(columns.get(..at)?, classes)))
        })
    }

    fn box_at(&self, classes: usize) -> Option<(Shape, [At; 4])> {
        [
            (Shape::Centred, CENTRED),
            (Shape::Sides, SIDES),
            (Shape::Corners, CORNERS),
        ]
        .into_iter()
        .find_map(|(shape, columns)| {
            let [a, b, c, d] = columns.map(|column| self.place(column, classes));
            Some((shape, [a?, b?, c?, d?]))
        })
    }

    fn tensors_of<'a>(&'a self, level: &'a Level) -> &'a [String] {
        if level.tensors.is_empty() {
            &self.tensors
        } else {
            &level.tensors
        }
    }

    /// Boxes of the levels before one that share its outputs, and of all of them.
    fn boxes_around(&self, geometry: &Geometry, number: usize) -> [usize; 2] {
        let Some(own) = self.levels.get(number).map(|level| self.tensors_of(level)) else {
            return [0, 0];
        };
        let mut found = [0, 0];
        for (index, level) in self.levels.iter().enumerate() {
            if self.tensors_of(level) == own {
                let boxes = level.boxes(geometry);
                found[0] += if index < number { boxes } else { 0 };
                found[1] += boxes;
            }
        }
        found
    }
}

impl Level {
    fn grid(&self, geometry: &Geometry) -> [usize; 2] {
        self.cells.unwrap_or_else(|| geometry.grid(self.stride))
    }

    fn each_anchor(&self) -> usize {
        self.anchors.len().max(1)
    }

    fn boxes(&self, geometry: &Geometry) -> usize {
        let [across, down] = self.grid(geometry);
        across.saturating_mul(down).saturating_mul(self.each_anchor())
    }
}

/// A column of a level as numbers.
#[derive(Clone, Copy)]
struct Values<'a> {
    values: &'a [f32],
    view: View,
    column: usize,
}

impl Values<'_> {
    #[inline]
    fn at(&self, cell: usize, anchor: usize, further: usize) -> f32 {
        let index = self.view.index(cell, anchor, self.column + further);
        self.values.get(index).copied().unwrap_or(f32::NAN)
    }
}

/// The numbers of one level, found in the outputs.
struct Found<'a> {
    level: &'a Level,
    across: usize,
    cells: usize,
    shape: Shape,
    sides: [Values<'a>; 4],
    classes: Values<'a>,
    objectness: Option<Values<'a>>,
    background: Option<Values<'a>>,
}

impl Decode for Grid {
    fn check(&self, geometry: &Geometry, rules: &mut Rules<'_>) {
        check::check(self, geometry, rules);
    }

    fn outputs(&self) -> Vec<&str> {
        let levels = self.levels.iter().flat_map(|level| &level.tensors);
        self.tensors.iter().chain(levels).map(String::as_str).collect()
    }

    fn decode(
        &mut self,
        geometry: &Geometry,
        outputs: &TensorSet,
        found: &mut Candidates,
    ) -> Result<(), HeadError> {
        for number in 0..self.levels.len() {
            if let Some(level) = self.find(number, geometry, outputs)? {
                self.decode_level(&level, geometry, found);
            }
        }
        Ok(())
    }
}

impl Grid {
    /// The columns of a level; `None` only for a head that its check refuses.
    fn find<'a>(
        &'a self,
        number: usize,
        geometry: &Geometry,
        outputs: &'a TensorSet,
    ) -> Result<Option<Found<'a>>, HeadError> {
        let Some(level) = self.levels.get(number) else {
            return Ok(None);
        };
        let [across, down] = level.grid(geometry);
        let [before, all] = self.boxes_around(geometry, number);
        let column = |at: At| -> Result<Option<Values<'a>>, HeadError> {
            let (tensor, column) = at;
            let (Some(name), Some(columns)) = (self.tensors_of(level).get(tensor), self.columns.get(tensor))
            else {
                return Ok(None);
            };
            let extent = Extent {
                cells: [across, down],
                anchors: level.each_anchor(),
                columns: self.total(columns, geometry.classes),
                before,
                all,
            };
            let tensor = outputs.get(name)?;
            let view = view_of(tensor, self, extent, geometry, level)?;
            Ok(Some(Values {
                values: tensor.f32()?,
                view,
                column,
            }))
        };
        let optional = |wanted| match self.place(wanted, geometry.classes) {
            Some(at) => column(at),
            None => Ok(None),
        };
        let Some((shape, [a, b, c, d])) = self.box_at(geometry.classes) else {
            return Ok(None);
        };
        let sides = [column(a)?, column(b)?, column(c)?, column(d)?];
        let ([Some(a), Some(b), Some(c), Some(d)], Some(classes)) = (sides, optional(Column::Classes)?)
        else {
            return Ok(None);
        };
        Ok(Some(Found {
            level,
            across,
            cells: across * down,
            shape,
            sides: [a, b, c, d],
            classes,
            objectness: optional(Column::Objectness)?,
            background: optional(Column::Background)?,
        }))
    }

    fn decode_level(&self, level: &Found<'_>, geometry: &Geometry, found: &mut Candidates) {
        for anchor in 0..level.level.each_anchor() {
            // With one column a class, cells of a plane lie side by side, and going class by class reads them in order.
            let planes = level.classes.view.cell == 1 && level.objectness.is_none();
            if planes && self.classes != Score::Softmax && found.labels() == Labels::Best && !self.peaks {
                self.by_planes(level, anchor, geometry, found);
            } else {
                self.by_cells(level, anchor, geometry, found);
            }
        }
    }

    /// Cell by cell: for rows, and wherever another value can rule a cell out first.
    fn by_cells(&self, level: &Found<'_>, anchor: usize, geometry: &Geometry, found: &mut Candidates) {
        let [least_objectness, least_class] = self.score.least(found.threshold());
        let raw_objectness = raw_cut(self.objectness, least_objectness);
        let raw_class = raw_cut(self.classes, least_class);
        for cell in 0..level.cells {
            let objectness = match &level.objectness {
                None => 1.0,
                Some(values) => {
                    let raw = values.at(cell, anchor, 0);
                    // Raw values are compared raw, which saves an exponential for nearly every cell. NaN is no score.
                    if raw.is_nan() || raw < raw_objectness {
                        continue;
                    }
                    squash(self.objectness, raw)
                }
            };
            let raw = |class: usize| level.classes.at(cell, anchor, class);
            let background = level.background.map(|values| values.at(cell, anchor, 0));
            let normal = match self.classes {
                Score::Softmax => Normal::of((0..geometry.classes).map(raw), background),
                _ if !(0..geometry.classes).any(|class| raw(class) >= raw_class) => continue,
                _ => Normal::default(),
            };
            let scores = (0..geometry.classes).map(|class| {
                if self.peaks && !is_peak(level, anchor, cell, class) {
                    return f32::NEG_INFINITY;
                }
                let score = match self.classes {
                    Score::Softmax => normal.share(raw(class)),
                    kind => squash(kind, raw(class)),
                };
                match self.score {
                    Combine::Product => score,
                    combine => combine.of(objectness, score),
                }
            });
            let factor = match self.score {
                Combine::Product => objectness,
                Combine::GeometricMean | Combine::Powers { .. } => 1.0,
            };
            found.push_cell(factor, scores, || self.place_of(level, cell, anchor, geometry));
        }
    }

    /// Class by class over a stretch of cells, for scores that lie in planes.
    fn by_planes(&self, level: &Found<'_>, anchor: usize, geometry: &Geometry, found: &mut Candidates) {
        const STRETCH: usize = 256;
        let least = raw_cut(self.classes, found.threshold());
        let mut best = [(f32::NEG_INFINITY, 0u16); STRETCH];
        for start in (0..level.cells).step_by(STRETCH) {
            let cells = STRETCH.min(level.cells - start);
            let best = &mut best[..cells];
            best.fill((f32::NEG_INFINITY, 0));
            for (class, column) in (0u16..).zip(0..geometry.classes) {
                let first = level
                    .classes
                    .view
                    .index(start, anchor, level.classes.column + column);
                let Some(plane) = level.classes.values.get(first..first + cells) else {
                    return;
                };
                for (best, score) in best.iter_mut().zip(plane) {
                    if *score > best.0 {
                        *best = (*score, class);
                    }
                }
            }
            for (cell, (raw, class)) in (start..).zip(best.iter()) {
                if *raw >= least {
                    let place = self.place_of(level, cell, anchor, geometry);
                    found.push(squash(self.classes, *raw), *class, place);
                }
            }
        }
    }

    fn place_of(&self, level: &Found<'_>, cell: usize, anchor: usize, geometry: &Geometry) -> Box2d {
        let stride = level.level.stride as f32;
        let at = [cell % level.across, cell / level.across].map(|index| index as f32);
        let point = at.map(|index| match self.point {
            Point::Corner => index * stride,
            Point::Middle => (index + 0.5) * stride,
            Point::MiddlePixel => index * stride + 0.5 * (stride - 1.0),
            Point::Origin => 0.0,
        });
        let of_anchor = level.level.anchors.get(anchor).copied().unwrap_or([1.0; 2]);
        let input = [geometry.width as f32, geometry.height as f32];
        let units = [0, 1].map(|axis| Units {
            stride,
            anchor: of_anchor[axis],
            input: input[axis],
        });
        let length = |side: usize| {
            let values = level.sides[side];
            let raw = if self.bins > 1 && level.shape == Shape::Sides {
                expectation(self.bins, |bin| values.at(cell, anchor, bin))
            } else {
                values.at(cell, anchor, 0)
            };
            let curve = match (level.shape, side) {
                (Shape::Centred, 2 | 3) => &self.size,
                _ => &self.offset,
            };
            curve.of(raw, units[side % 2])
        };
        match level.shape {
            Shape::Centred => centred(point[0] + length(0), point[1] + length(1), length(2), length(3)),
            Shape::Sides => Box2d {
                x1: point[0] - length(0),
                y1: point[1] - length(1),
                x2: point[0] + length(2),
                y2: point[1] + length(3),
            },
            Shape::Corners => Box2d {
                x1: point[0] + length(0),
                y1: point[1] + length(1),
                x2: point[0] + length(2),
                y2: point[1] + length(3),
            },
        }
    }
}

fn view_of(
    tensor: &HostTensor,
    head: &Grid,
    extent: Extent,
    geometry: &Geometry,
    level: &Level,
) -> Result<View, HeadError> {
    let view = View::of(tensor.shape().dims(), head.layout, head.order, extent);
    view.filter(|view| view.fits(extent, tensor.shape().len()))
        .ok_or_else(|| HeadError::Shape {
            tensor: tensor.name().to_owned(),
            found: *tensor.shape(),
            expected: format!(
                "{} ({} classes, {} columns, {} anchors, stride {} at {} × {}, {} boxes in all)",
                View::expected(head.layout, extent),
                geometry.classes,
                extent.columns,
                extent.anchors,
                level.stride,
                geometry.width,
                geometry.height,
                extent.all
            ),
        })
}

/// The raw value at which a score reaches `least`.
fn raw_cut(kind: Score, least: f32) -> f32 {
    match kind {
        Score::Identity => least,
        Score::Sigmoid => logit(least),
        Score::Softmax => f32::NEG_INFINITY,
    }
}

fn squash(kind: Score, raw: f32) -> f32 {
    match kind {
        Score::Sigmoid => sigmoid(raw),
        Score::Identity | Score::Softmax => raw,
    }
}

/// What a softmax divides by: the sum of `e^(value − largest)`, and the largest value.
#[derive(Clone, Copy)]
pub(super) struct Normal {
    largest: f32,
    sum: f32,
}

impl Default for Normal {
    fn default() -> Self {
        Normal {
            largest: 0.0,
            sum: 1.0,
        }
    }
}

impl Normal {
    pub(super) fn of(values: impl Iterator<Item = f32> + Clone, background: Option<f32>) -> Self {
        let all = values.chain(background);
        let largest = all.clone().fold(f32::NEG_INFINITY, f32::max);
        let sum = all.map(|value| (value - largest).exp()).sum();
        Normal { largest, sum }
    }

    pub(super) fn share(&self, value: f32) -> f32 {
        (value - self.largest).exp() / self.sum
    }
}

/// Whether no neighbour of a cell has a larger score of the class; of equal ones the first counts.
fn is_peak(level: &Found<'_>, anchor: usize, cell: usize, class: usize) -> bool {
    let own = level.classes.at(cell, anchor, class);
    let (x, y) = (cell % level.across, cell / level.across);
    let down = level.cells / level.across;
    (y.saturating_sub(1)..(y + 2).min(down)).all(|v| {
        (x.saturating_sub(1)..(x + 2).min(level.across)).all(|u| {
            let other = v * level.across + u;
            let value = level.classes.at(other, anchor, class);
            other == cell || value < own || (value == own && other > cell)
        })
    })
}

/// Mean bin of the softmax of so many raw values.
fn expectation(bins: usize, raw: impl Fn(usize) -> f32) -> f32 {
    let normal = Normal::of((0..bins).map(&raw), None);
    (0..bins).map(|bin| normal.share(raw(bin)) * bin as f32).sum()
}
