//! What became of the outputs of bare networks.

use serde::Serialize;

use crate::record::OutputRecord;

/// One output of a network after the last frame of the run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OutputSummary {
    /// Its name in the network.
    pub name: String,
    /// Type of its elements: `f32`.
    pub element: String,
    /// Its extents, outermost first.
    pub shape: Vec<u64>,
    /// How many elements it has.
    pub elements: u64,
    /// How many of them are NaN.
    pub not_numbers: u64,
    /// Elements further from the reference than the tolerances allow, or NaN; `None` where it was not compared.
    pub differing: Option<u64>,
    /// Largest finite distance from the reference.
    pub largest_absolute: Option<f64>,
    /// The same over the reference's magnitude, where that is not zero.
    pub largest_relative: Option<f64>,
    /// Whether all elements are within the tolerances; `None` where it was not compared.
    pub within: Option<bool>,
    /// The file that it was written to.
    pub kept: Option<String>,
    /// Why it was not compared, or not kept.
    pub problem: Option<String>,
}

impl From<&OutputRecord> for OutputSummary {
    fn from(record: &OutputRecord) -> Self {
        let extents = record.shape.split('x').filter_map(|extent| extent.parse().ok());
        OutputSummary {
            name: record.name.clone(),
            element: record.element.clone(),
            shape: extents.collect(),
            elements: record.elements,
            not_numbers: record.not_numbers,
            differing: record.compared.map(|compared| compared.differing),
            largest_absolute: record.compared.and_then(|compared| compared.largest_absolute),
            largest_relative: record.compared.and_then(|compared| compared.largest_relative),
            within: record.compared.map(|_| record.is_within()),
            kept: record.kept.clone(),
            problem: record.problem.clone(),
        }
    }
}
