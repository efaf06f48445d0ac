//! Graphs of layers as pictures: boxes in layers from top to bottom, lanes for what runs beside each other. The same graph is always the
//! same picture.

mod engine;
mod layout;
mod svg;

pub use engine::of_engine;
pub use svg::svg;

/// What is drawn.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Graph {
    /// What the picture is of.
    pub title: String,
    /// The boxes, each behind those that it takes something from.
    pub nodes: Vec<Node>,
    /// From box to box, by number; the first is the smaller.
    pub edges: Vec<Edge>,
}

/// A box.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Node {
    /// Its heading.
    pub name: String,
    /// Lines below.
    pub lines: Vec<String>,
    /// What the tooltip says; all of it, for lines are cut.
    pub tooltip: String,
    /// Its colour.
    pub paint: Paint,
}

/// An edge.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Edge {
    /// The box above.
    pub from: usize,
    /// The box below.
    pub to: usize,
    /// What the tooltip says.
    pub tooltip: String,
}

/// Kinds of boxes, which have colours of their own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Paint {
    /// Whatever has no colour of its own.
    #[default]
    Plain,
    /// Convolutions and products of matrices.
    Product,
    /// Element by element.
    Pointwise,
    /// Only changes layout or format.
    Reformat,
    /// What comes in and goes out.
    Outside,
}
