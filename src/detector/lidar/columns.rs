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
    /// Seconds by which the point's sweep is older than the newest; 0 where there is one sweep.
    Time,
    /// The laser that measured the point, from 0; 0 where the source does not know it.
    Ring,
    /// Always 0.
    Zero,
}
