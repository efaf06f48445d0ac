//! Follows channels through the graph once: which tensors hold which, what ties them, which weights and numbers change with them.
//!
//! Each family of operators has a file here. A rule says what becomes of the channels, or why it cannot; then all channels that the
//! node takes stay. So does whatever reaches an output of the network or a graph within a node.

mod convolutions;
mod joins;
mod parts;
mod regroup;
mod shapes;

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, HashMap};

use super::channels::{Channels, Ids, Reason};
use super::edits::{Count, Edit, Number, Place};
use super::params::{Axis, Params, View};
use crate::call::{Call, Stop};
use crate::graph::{self, Graph};
use crate::onnx::Node;
use crate::order::taken;
use crate::value::Value;
use crate::walk::Walk;

/// The channels of a tensor lie along one axis.
#[derive(Clone, Debug)]
pub(super) struct Along {
    pub(super) axis: usize,
    pub(super) ids: Ids,
}

/// A layer with filters.
#[derive(Clone, Debug)]
pub(super) struct Layer {
    pub(super) name: String,
    pub(super) operator: String,
    pub(super) filters: u64,
    /// Its filters as channels; or why they stay.
    pub(super) channels: Result<Ids, Reason>,
    /// The weight and the axis along which its filters lie.
    pub(super) weight: Option<(usize, usize)>,
}

/// What is known when the whole graph was followed.
#[derive(Debug)]
pub(super) struct Flow<'a> {
    graph: &'a Graph,
    walk: &'a Walk,
    /// What makes each tensor.
    makers: HashMap<&'a str, &'a Node>,
    /// Shapes that are computed when the network runs are trusted to follow the tensors that they are of.
    trusting: bool,
    pub(super) channels: Channels,
    pub(super) params: Params,
    /// In one order, so that equal seeds choose equal channels.
    pub(super) tensors: BTreeMap<String, Along>,
    /// By the node's first output and the place there.
    pub(super) edits: BTreeMap<(String, Place), Edit>,
    pub(super) layers: Vec<Layer>,
}

impl<'a> Flow<'a> {
    /// Follows a graph; `params` are its initializers.
    pub(super) fn of(graph: &'a Graph, walk: &'a Walk, params: Params, trusting: bool) -> Flow<'a> {
        let nodes = graph.main.nodes.iter();
        let makers = nodes.flat_map(|node| node.outputs.iter().map(move |name| (&**name, node)));
        let mut flow = Flow {
            graph,
            walk,
            makers: makers.collect(),
            trusting,
            channels: Channels::new(),
            params,
            tensors: BTreeMap::new(),
            edits: BTreeMap::new(),
            layers: Vec::new(),
        };
        for node in &graph.main.nodes {
            let before = flow.layers.len();
            if let Err(why) = flow.node(node) {
                flow.layers.truncate(before);
                let why: Reason = format!("`{}` ({}) {why}", node.label(), node.operator).into();
                for name in taken(node) {
                    flow.stays(name, &why);
                }
                flow.unprunable(node, &why);
            }
        }
        for output in &graph.main.outputs {
            let why: Reason = format!("they reach the output `{}`", output.name).into();
            flow.stays(&output.name, &why);
        }
        flow
    }

    fn node(&mut self, node: &'a Node) -> Result<(), Reason> {
        let call = Call {
            node,
            opset: graph::version(&self.graph.model.opsets, &node.domain),
            inputs: node.inputs.iter().map(|name| self.value(name)).collect(),
        };
        if node.attributes.iter().any(|attribute| attribute.graph.is_some()) {
            return Err("holds a graph of its own".into());
        }
        if !node.domain.is_empty() {
            return match self.takes_channels(node) {
                true => Err("is of a domain whose operators have no rule here".into()),
                false => Err("takes weights in a way that has no rule here".into()),
            };
        }
        match &*node.operator {
            "Conv" => self.conv(&call),
            "ConvTranspose" => self.conv_transpose(&call),
            "Gemm" => self.gemm(&call),
            "MatMul" => self.matmul(&call),
            "BatchNormalization"
            | "InstanceNormalization"
            | "GroupNormalization"
            | "LayerNormalization"
            | "RMSNormalization" => self.normalization(&call),
            "AveragePool" | "GlobalAveragePool" | "GlobalLpPool" | "GlobalMaxPool" | "LpPool" | "MaxPool" => {
                self.pool(&call)
            }
            "Constant" | "ConstantOfShape" => self.constant(&call),
            "Concat" => self.concat(&call),
            "Split" => self.split(&call),
            "Slice" => self.slice(&call),
            "Gather" => self.gather(&call),
            "Pad" => self.pad(&call),
            "Tile" => self.tile(&call),
            "Expand" => self.expand(&call),
            "Resize" | "Upsample" => self.resize(&call),
            "DepthToSpace" | "SpaceToDepth" => self.blocks(&call),
            "Flatten" | "Reshape" => self.reshape(&call),
            "Squeeze" | "Unsqueeze" => self.ones(&call),
            "Transpose" => self.transpose(&call),
            "Shape" | "Size" => self.shape(&call),
            "QuantizeLinear" | "DequantizeLinear" => self.quantize(&call),
            operator if joins::is_join(operator) => self.join(&call),
            operator if joins::is_each(operator) => self.each(&call),
            operator if operator.starts_with("Reduce") => self.reduce(&call),
            _ => match self.takes_channels(node) || self.takes_weights(node) {
                true => Err("has no rule that says what becomes of channels".into()),
                false => Ok(()),
            },
        }
    }

    fn takes_channels(&self, node: &Node) -> bool {
        node.inputs.iter().any(|name| self.tensors.contains_key(name))
    }

    fn takes_weights(&self, node: &Node) -> bool {
        node.inputs.iter().any(|name| self.params.view(name).is_some())
    }

    /// A layer with filters whose node has no rule, so that it is counted.
    fn unprunable(&mut self, node: &Node, why: &Reason) {
        let axis = match &*node.operator {
            "Conv" | "ConvTranspose" => 1,
            "Gemm" => 1,
            "MatMul" => match self.out_dims(node) {
                Some(dims) => dims.len().saturating_sub(1),
                None => return,
            },
            _ => return,
        };
        let is_layer = node.operator.starts_with("Conv")
            || node
                .inputs
                .get(1)
                .is_some_and(|name| self.params.view(name).is_some());
        if let (true, Some(filters)) = (is_layer, self.out_dims(node).and_then(|dims| dims.get(axis))) {
            self.layers.push(Layer {
                name: node.label().to_owned(),
                operator: node.operator.clone(),
                filters: *filters,
                channels: Err(why.clone()),
                weight: None,
            });
        }
    }

    /// Whatever a tensor holds stays.
    fn stays(&mut self, name: &str, why: &Reason) {
        if let Some(along) = self.tensors.get(name) {
            self.channels.pin(&along.ids, why);
        }
        if let Some(view) = self.params.view(name).cloned() {
            self.params.stay(&mut self.channels, &view, why);
        }
    }

    fn value(&self, name: &str) -> Option<&'a Value> {
        self.walk.values.get(*self.walk.names.get(name)?)
    }

    fn dims(&self, name: &str) -> Option<&'a [u64]> {
        self.value(name)?.shape.as_ref().ok().map(|shape| &*shape.dims)
    }

    fn out_dims(&self, node: &Node) -> Option<&'a [u64]> {
        self.dims(node.outputs.first()?)
    }

    /// The dimensions of an input.
    fn in_dims(&self, call: &Call<'a>, at: usize) -> Result<&'a [u64], Reason> {
        call.shape(at).map(|shape| &*shape.dims).map_err(told)
    }

    /// The channels of an input that is data; a weight in its place is used as it is.
    fn along(&mut self, call: &Call, at: usize) -> Option<Along> {
        let name = call.node.inputs.get(at)?;
        if let Some(view) = self.params.view(name).cloned() {
            let why: Reason =
                format!("`{}` ({}) takes it as data", call.node.label(), call.operator()).into();
            self.params.stay(&mut self.channels, &view, &why);
        }
        self.tensors.get(name).cloned()
    }

    /// The channels of an input along this axis; none where all of it stays.
    fn channels_on(&mut self, call: &Call, at: usize, axis: usize) -> Result<Option<Ids>, Reason> {
        match self.along(call, at) {
            None => Ok(None),
            Some(along) if along.axis == axis => Ok(Some(along.ids)),
            Some(_) => Err("takes channels along another axis than its own".into()),
        }
    }

    fn view(&self, call: &Call, at: usize) -> Option<View> {
        self.params.view(call.node.inputs.get(at)?).cloned()
    }

    /// The weight that a node takes.
    fn weight(&self, call: &Call, at: usize) -> Result<View, Reason> {
        self.view(call, at)
            .ok_or_else(|| "takes weights that are computed".into())
    }

    /// Whether an input is there.
    fn has(call: &Call, at: usize) -> bool {
        call.node.inputs.get(at).is_some_and(|name| !name.is_empty())
    }

    /// Uses a weight, if the input is one; what else it may be holds no channels of its own.
    fn bind(&mut self, call: &Call, at: usize, axes: &[Option<Ids>]) -> Result<(), Reason> {
        if !Self::has(call, at) {
            return Ok(());
        }
        let view = self.weight(call, at)?;
        let why: Reason = format!("`{}` ({}) takes it as it is", call.node.label(), call.operator()).into();
        self.params.bind(&mut self.channels, &view, axes, &why)
    }

    /// A vector with a number for each channel; with none, it stays as it is.
    fn bind_vector(&mut self, call: &Call, at: usize, ids: Option<&Ids>) -> Result<(), Reason> {
        match self.view(call, at) {
            None if ids.is_none() => Ok(()),
            _ => self.bind(call, at, &[ids.cloned()]),
        }
    }

    /// The node's output holds these channels.
    fn set(&mut self, node: &Node, output: usize, axis: usize, ids: Ids) -> Result<(), Reason> {
        let Some(name) = node.outputs.get(output).filter(|name| !name.is_empty()) else {
            return Ok(());
        };
        let dims = self.dims(name).ok_or("makes a tensor of unknown shape")?;
        if dims.get(axis) != Some(&(ids.len() as u64)) {
            return Err("makes a tensor whose channels are not those that it takes".into());
        }
        self.tensors.insert(name.clone(), Along { axis, ids });
        Ok(())
    }

    /// Numbers in an input of the node that say counts of channels.
    ///
    /// # Errors
    /// They are computed when the network runs, and such numbers are not trusted.
    fn count_in_input(&mut self, call: &Call<'a>, input: usize, numbers: Vec<Number>) -> Result<(), Reason> {
        let value = call.require(input).map_err(told)?;
        if value.constant {
            return self.count_in_list(call.node, input, numbers);
        }
        self.computed()?;
        // Exporters put a shape together of sizes that they ask for and others that they know; these are in the file.
        let maker = call
            .node
            .inputs
            .get(input)
            .and_then(|name| self.makers.get(&**name));
        let Some(maker) = maker.copied().filter(|maker| maker.operator == "Concat") else {
            return Ok(());
        };
        let mut begin = 0;
        for (at, name) in maker.inputs.iter().enumerate() {
            let Some(&[length]) = self.dims(name) else {
                return Ok(());
            };
            let own = begin..begin + length as usize;
            begin = own.end;
            let numbers = numbers.iter().filter(|number| own.contains(&number.at));
            let numbers: Vec<Number> = numbers
                .map(|number| Number {
                    at: number.at - own.start,
                    ..number.clone()
                })
                .collect();
            if !numbers.is_empty() && self.value(name).is_some_and(|value| value.constant) {
                self.count_in_list(maker, at, numbers)?;
            }
        }
        Ok(())
    }

    /// As [`Flow::count_in_input`], of a list in the file.
    fn count_in_list(&mut self, node: &Node, input: usize, numbers: Vec<Number>) -> Result<(), Reason> {
        let value = node.inputs.get(input).and_then(|name| self.value(name));
        let list =
            value.and_then(|value| Some((value.as_ints()?, value.shape.as_ref().ok()?, value.element)));
        let Some((values, shape, element)) = list else {
            return Err("takes numbers that are not in the file".into());
        };
        self.push_edit(Edit {
            node: key(node).to_owned(),
            place: Place::Input(input),
            values: values.to_vec(),
            element,
            dims: shape.dims.clone(),
            numbers,
        });
        Ok(())
    }

    fn count_in_attribute(&mut self, call: &Call, place: Place, values: Vec<i64>, numbers: Vec<Number>) {
        self.push_edit(Edit {
            node: key(call.node).to_owned(),
            place,
            values,
            element: crate::element::Element::Int64,
            dims: Vec::new(),
            numbers,
        });
    }

    fn push_edit(&mut self, edit: Edit) {
        if edit.numbers.is_empty() {
            return;
        }
        match self.edits.entry((edit.node.clone(), edit.place)) {
            Entry::Occupied(mut same) => same.get_mut().numbers.extend(edit.numbers),
            Entry::Vacant(free) => drop(free.insert(edit)),
        }
    }

    /// What depends on a shape that is computed when the network runs.
    fn computed(&self) -> Result<(), Reason> {
        match self.trusting {
            true => Ok(()),
            false => Err("takes a shape that is computed when the network runs".into()),
        }
    }

    /// Operators that say the shape of what they take.
    fn shape(&mut self, call: &Call) -> Result<(), Reason> {
        match self.takes_channels(call.node) {
            true => self.computed(),
            false if self.takes_weights(call.node) => Err("tells the shape of a weight".into()),
            false => Ok(()),
        }
    }

    fn constant(&mut self, call: &Call<'a>) -> Result<(), Reason> {
        let Some(name) = call.node.outputs.first() else {
            return Ok(());
        };
        if let Some(value) = self.value(name) {
            self.params.made_by(call.node, value);
        }
        // The shape that it is made of says how many channels there are.
        if call.operator() == "ConstantOfShape"
            && let Some(view) = self.params.view(name).cloned()
        {
            let numbers = (0..view.axes.len()).map(|axis| Number {
                at: axis,
                count: Count::OfAxis {
                    param: view.param,
                    axis,
                },
                per: 1,
            });
            return self.count_in_input(call, 0, numbers.collect());
        }
        Ok(())
    }
}

/// Why a node is not followed, from a rule about shapes.
fn told(stop: Stop) -> Reason {
    match stop {
        Stop::Unknown(why) | Stop::Operator(why) => format!("cannot be followed: {why}").into(),
        Stop::Contradiction(problem) => format!("cannot be followed: {problem}").into(),
        Stop::Overflow => "has sizes beyond 64 bits".into(),
    }
}

/// A node's name within the file: its first output, which no other node has.
pub(super) fn key(node: &Node) -> &str {
    node.outputs
        .iter()
        .find(|name| !name.is_empty())
        .map_or("", |name| name)
}

/// A weight's axis as channels, if it holds any.
pub(super) fn held(axis: &Axis) -> Option<&Ids> {
    match axis {
        Axis::Channels(ids) => Some(ids),
        _ => None,
    }
}
