//! What the columns of a network's inputs hold.

use serde::Deserialize;

/// A column of a tensor of cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub enum CellColumn {
    /// 0: the index in a batch of one, or along z.
    Zero,
    /// Index of the pillar along x.
    X,
    /// Index of the pillar along y.
    Y,
}

/// A column of a tensor of points.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[allow(missing_docs, reason = "the names say it")]
pub enum PointColumn {
    X,
    Y,
    Z,
    Intensity,
    /// 0: a ring or time that the source does not have.
    Zero,
}
