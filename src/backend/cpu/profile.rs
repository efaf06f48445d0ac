//! Time per node on the cpu backend.
//!
//! rten prints its own profile and returns none, so on request the network is executed node by node:
//! each ONNX node's output is asked for with everything computed before it given as input. Nodes that
//! the runtime fused away (a Relu into its Conv, say) have no value of their own; their time appears with
//! the node that they were fused into, whose operator is then written `Conv+Relu`. Values are not reused in
//! place and each step is planned anew, so a profiled frame is slower than an ordinary one: profile in a
//! run of its own.

use std::collections::HashMap;
use std::path::PathBuf;

use rten::{Model, NodeId, RunOptions, Value, ValueOrView};
use rten_onnx::onnx::ModelProto;

use crate::backend::{NetworkSource, NodeTime, Unusable};
use crate::clock::{Clock, RealClock};
use crate::files;

/// The nodes of an ONNX graph in the order of the file.
pub struct NodeList {
    nodes: Vec<Node>,
}

struct Node {
    name: String,
    operator: String,
    outputs: Vec<String>,
}

/// Views of all values that exist so far.
fn known_values<'a>(
    inputs: &'a [(NodeId, ValueOrView)],
    computed: &'a HashMap<NodeId, Value>,
) -> Vec<(NodeId, ValueOrView<'a>)> {
    let given = inputs
        .iter()
        .map(|(id, value)| (*id, ValueOrView::View(value.as_view())));
    given
        .chain(
            computed
                .iter()
                .map(|(id, value)| (*id, ValueOrView::View(value.as_view()))),
        )
        .collect()
}

/// Why the nodes of a network are not known.
#[derive(Debug, thiserror::Error)]
pub enum NoNodes {
    /// It is given to no parser.
    #[error(transparent)]
    Unusable(#[from] Unusable),
    /// Its file cannot be opened.
    #[error("{}: {error}", path.display())]
    Unreadable {
        /// The ONNX file that was read.
        path: PathBuf,
        /// What the system said.
        error: std::io::Error,
    },
    /// The parser does not take it.
    #[error("not a readable ONNX file: {0}")]
    NotOnnx(String),
    /// There is nothing in it.
    #[error("the ONNX file holds no graph")]
    NoGraph,
}

impl NodeList {
    /// Reads the nodes of a network.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn of(network: &NetworkSource) -> Result<NodeList, NoNodes> {
        network.check()?;
        let model = match network {
            NetworkSource::File(path) => {
                let unreadable = |error| NoNodes::Unreadable {
                    path: path.clone(),
                    error,
                };
                ModelProto::parse_file(files::open(path).map_err(unreadable)?)
            }
            NetworkSource::Embedded { bytes, .. } => ModelProto::parse_buf(bytes),
        };
        let model = model.map_err(|error| NoNodes::NotOnnx(error.to_string()))?;
        let graph = model.graph.ok_or(NoNodes::NoGraph)?;
        let nodes = graph
            .node
            .into_iter()
            .map(|node| Node {
                name: node.name.unwrap_or_default(),
                operator: node.op_type.unwrap_or_default(),
                outputs: node.output,
            })
            .collect();
        Ok(NodeList { nodes })
    }

    /// Executes the network node by node, appends what each took to `times`, and returns `outputs`.
    pub(super) fn run(
        &self,
        model: &Model,
        inputs: Vec<(NodeId, ValueOrView)>,
        outputs: &[NodeId],
        options: &RunOptions,
        times: &mut Vec<NodeTime>,
    ) -> Result<Vec<Value>, String> {
        let mut computed: HashMap<NodeId, Value> = HashMap::new();
        let mut fused = Vec::new();
        for node in &self.nodes {
            let ids: Vec<NodeId> = node
                .outputs
                .iter()
                .filter_map(|name| model.find_node(name))
                .collect();
            if ids.is_empty() || ids.iter().any(|id| computed.contains_key(id)) {
                fused.push(node.operator.as_str());
                continue;
            }
            let known = known_values(&inputs, &computed);
            let began = RealClock.now();
            let Ok(values) = model.run(known, &ids, Some(options.clone())) else {
                // No operator of the optimised graph makes this value: it was fused into a later node.
                fused.push(node.operator.as_str());
                continue;
            };
            let took = RealClock.now() - began;
            fused.push(node.operator.as_str());
            times.push(NodeTime {
                name: node.name.clone(),
                operator: fused.join("+"),
                took,
            });
            fused.clear();
            computed.extend(ids.into_iter().zip(values));
        }
        let known = known_values(&inputs, &computed);
        model
            .run(known, outputs, Some(options.clone()))
            .map_err(|error| super::executing(&error))
    }
}
