//! The parts of an ONNX file that decide its work: nodes, attributes, shapes, small tensors. Weights are passed over, never
//! read, and files beside the network are not opened.

mod read;
pub(crate) mod splice;
mod tensor;
mod wire;

pub(crate) use read::read;
pub(crate) use tensor::{Data, Tensor, from_raw};

use crate::element::Element;

/// A whole file.
#[derive(Clone, Debug, Default)]
pub(crate) struct Model {
    pub(crate) ir_version: i64,
    /// Domain (empty: ONNX's own) and version.
    pub(crate) opsets: Vec<(String, i64)>,
    pub(crate) graph: Option<GraphDef>,
    pub(crate) functions: Vec<Function>,
}

/// A graph, also one within a node.
#[derive(Clone, Debug, Default)]
pub(crate) struct GraphDef {
    pub(crate) nodes: Vec<Node>,
    pub(crate) initializers: Vec<Tensor>,
    pub(crate) inputs: Vec<ValueInfo>,
    pub(crate) outputs: Vec<ValueInfo>,
    pub(crate) values: Vec<ValueInfo>,
}

/// One operator at work.
#[derive(Clone, Debug, Default)]
pub(crate) struct Node {
    pub(crate) name: String,
    pub(crate) operator: String,
    /// Empty for ONNX's own.
    pub(crate) domain: String,
    /// An empty name is an input that is left out.
    pub(crate) inputs: Vec<String>,
    pub(crate) outputs: Vec<String>,
    pub(crate) attributes: Vec<Attribute>,
}

/// A setting of a node.
#[derive(Clone, Debug, Default)]
pub(crate) struct Attribute {
    pub(crate) name: String,
    /// Within a function: the attribute of the calling node whose value it takes.
    pub(crate) reference: Option<String>,
    pub(crate) int: Option<i64>,
    pub(crate) float: Option<f32>,
    pub(crate) text: Option<String>,
    pub(crate) ints: Vec<i64>,
    pub(crate) floats: Vec<f32>,
    pub(crate) texts: usize,
    pub(crate) tensor: Option<Tensor>,
    pub(crate) graph: Option<GraphDef>,
}

/// A tensor's declared type and shape.
#[derive(Clone, Debug, Default)]
pub(crate) struct ValueInfo {
    pub(crate) name: String,
    pub(crate) element: Option<Element>,
    /// None where the graph does not even say how many dimensions there are.
    pub(crate) shape: Option<Vec<Dimension>>,
    /// A sequence, a map or an optional value: no tensor.
    pub(crate) is_other: bool,
}

/// A declared dimension.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Dimension {
    Fixed(u64),
    Named(String),
    Open,
}

/// A function that the file itself defines.
#[derive(Clone, Debug, Default)]
pub(crate) struct Function {
    pub(crate) name: String,
    pub(crate) domain: String,
    pub(crate) inputs: Vec<String>,
    pub(crate) outputs: Vec<String>,
    /// Attributes with a value for callers that set none.
    pub(crate) defaults: Vec<Attribute>,
    pub(crate) nodes: Vec<Node>,
    pub(crate) opsets: Vec<(String, i64)>,
}

impl Node {
    /// The name to show: its own, or its first output's.
    pub(crate) fn label(&self) -> &str {
        match self.name.is_empty() {
            false => &self.name,
            true => self
                .outputs
                .iter()
                .find(|name| !name.is_empty())
                .map_or("", |name| name),
        }
    }

    pub(crate) fn attribute(&self, name: &str) -> Option<&Attribute> {
        self.attributes.iter().find(|attribute| attribute.name == name)
    }
}
