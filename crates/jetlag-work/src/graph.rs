//! A network that was read: its inputs, and everything else for [`crate::work()`].

use std::collections::HashSet;
use std::fs::File;
use std::io::{BufReader, Cursor};
use std::path::Path;

use serde::Serialize;

use crate::element::Element;
use crate::error::WorkError;
use crate::onnx::{self, Dimension, GraphDef, Model, ValueInfo};
use crate::order;

/// A network of an ONNX file. Its weights are not in memory.
#[derive(Clone, Debug)]
pub struct Graph {
    pub(crate) model: Model,
    pub(crate) main: GraphDef,
}

/// An input that a caller has to feed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Input {
    /// Its name in the network.
    pub name: String,
    /// Its element type.
    pub element: Element,
    /// Its dimensions; none where the graph does not say how many there are.
    pub shape: Option<Vec<Dim>>,
}

/// A dimension of an input.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Dim {
    /// Always this size.
    Fixed(u64),
    /// Whatever is given for this name.
    Named(String),
    /// Open, without a name.
    Open,
}

impl Graph {
    /// Reads a file. Weights, within it or beside it, are passed over.
    ///
    /// # Errors
    /// It cannot be read, is no whole ONNX file, or its nodes do not go together.
    pub fn open(path: impl AsRef<Path>) -> Result<Graph, WorkError> {
        let path = path.as_ref();
        let failed = |error| WorkError::Io {
            path: path.to_owned(),
            error,
        };
        // Before it is opened, which waits where it is a pipe.
        let facts = std::fs::metadata(path).map_err(failed)?;
        if !facts.is_file() {
            return Err(WorkError::NotAFile {
                path: path.to_owned(),
            });
        }
        let file = File::open(path).map_err(failed)?;
        Graph::new(onnx::read(BufReader::with_capacity(1 << 16, file), facts.len())?)
    }

    /// A network in memory.
    ///
    /// # Errors
    /// It is no whole ONNX file, or its nodes do not go together.
    pub fn from_bytes(bytes: &[u8]) -> Result<Graph, WorkError> {
        Graph::new(onnx::read(Cursor::new(bytes), bytes.len() as u64)?)
    }

    fn new(mut model: Model) -> Result<Graph, WorkError> {
        let mut main = model.graph.take().ok_or(WorkError::NoGraph)?;
        if main.nodes.is_empty() && main.outputs.is_empty() {
            return Err(WorkError::NoGraph);
        }
        order::sort_graph(&mut main, &HashSet::new())?;
        for function in &mut model.functions {
            order::sort(&mut function.nodes, function.inputs.iter().cloned().collect())?;
        }
        Ok(Graph { model, main })
    }

    /// The version of ONNX's own operator set.
    pub fn opset(&self) -> i64 {
        version(&self.model.opsets, "")
    }

    /// The version of ONNX's own operator set where it is outside of [`OPSETS`]; none where the file does not name one.
    pub fn untried_opset(&self) -> Option<i64> {
        let mut own = self.model.opsets.iter().filter(|(domain, _)| domain.is_empty());
        own.next()
            .map(|(_, version)| *version)
            .filter(|version| !OPSETS.contains(version))
    }

    /// The version of the file format.
    pub fn ir_version(&self) -> i64 {
        self.model.ir_version
    }

    /// The inputs that must be fed; weights that are listed as inputs (IR 3) are none.
    pub fn inputs(&self) -> Vec<Input> {
        self.fed().map(input).collect()
    }

    pub(crate) fn fed(&self) -> impl Iterator<Item = &ValueInfo> {
        let weights: HashSet<&str> = self
            .main
            .initializers
            .iter()
            .map(|tensor| &*tensor.name)
            .collect();
        self.main
            .inputs
            .iter()
            .filter(move |input| !weights.contains(&*input.name))
    }
}

/// Versions of ONNX's own operator set whose operators are known as they are counted. What older and newer ones mean otherwise is not.
pub const OPSETS: std::ops::RangeInclusive<i64> = 7..=23;

/// The version of a domain's operators; 1 where the file does not say.
pub(crate) fn version(opsets: &[(String, i64)], domain: &str) -> i64 {
    let found = opsets.iter().find(|(name, _)| name == domain);
    found.map_or(1, |(_, version)| *version)
}

fn input(value: &ValueInfo) -> Input {
    let shape = value.shape.as_ref().map(|shape| {
        shape
            .iter()
            .map(|dim| match dim {
                Dimension::Fixed(size) => Dim::Fixed(*size),
                Dimension::Named(name) => Dim::Named(name.clone()),
                Dimension::Open => Dim::Open,
            })
            .collect()
    });
    Input {
        name: value.name.clone(),
        element: value.element.unwrap_or(Element::Unknown),
        shape,
    }
}
