//! The work of a network, put together.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use crate::cost::is_weight;
use crate::element::{As, Element};
use crate::error::WorkError;
use crate::given::{Given, resolve};
use crate::graph::Graph;
use crate::live;
use crate::traffic::{self, Moved};
use crate::training::{self, Backward, Optimiser};
use crate::value::product;
use crate::walk::{Id, Step, Walk, walk};

/// What is counted, and how.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Element sizes of the traffic.
    pub element: As,
    /// A training step with this optimiser instead of an inference.
    pub training: Option<Optimiser>,
}

/// The work of a network with sizes for its inputs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Work {
    /// The inputs with their sizes.
    pub inputs: Vec<(String, Vec<u64>)>,
    /// The outputs with their sizes; none where they are not known.
    pub outputs: Vec<(String, Option<Vec<u64>>)>,
    /// Element sizes of the traffic.
    pub element: As,
    /// Every node at work, in the order of execution; those of branches, loops and functions by themselves.
    pub nodes: Vec<NodeWork>,
    /// All of them together.
    pub totals: Totals,
    /// What is not in the totals, and why.
    pub unknown: Unknown,
    /// The training step, where one was asked for.
    pub training: Option<TrainingWork>,
}

/// One node's work. What is not known is none, and `bound` has the reason.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct NodeWork {
    /// Its name, or its first output's, with the nodes around it: `loop/add`.
    pub name: String,
    /// Its operator.
    pub operator: String,
    /// The operator's domain; empty for ONNX's own.
    pub domain: String,
    /// Shapes of its outputs; none where one is not known.
    pub outputs: Vec<Option<Vec<u64>>>,
    /// Operations: two for each multiply-add, and all others.
    pub flops: Option<u64>,
    /// Multiply-adds of matrix products and convolutions.
    pub macs: Option<u64>,
    /// Elements of its weights.
    pub params: u64,
    /// Bytes read, if every operator goes through memory.
    pub bytes_read: Option<u64>,
    /// Bytes written, likewise.
    pub bytes_written: Option<u64>,
    /// How often it is executed (loops).
    pub times: u64,
    /// It takes constants alone and is computed once, when the network is loaded; not in the totals.
    pub at_load: bool,
    /// With which other nodes it shares a trip to memory, if chains stay on the chip: the position of the first of them.
    pub group: Option<usize>,
    /// How sure this is.
    pub bound: Bound,
    /// Its part of the way back, in a training step.
    pub backward: Option<Backward>,
}

/// How sure a count is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Bound {
    /// Every execution does just this.
    Exact,
    /// It depends on data and is at most this.
    UpperBound,
    /// Not known, for this reason.
    Unknown(String),
}

/// All nodes together, without those that are computed at load.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Totals {
    /// How many nodes there are.
    pub nodes: usize,
    /// How many of them are computed at load and are not in the sums.
    pub nodes_at_load: usize,
    /// How many of them have upper bounds.
    pub nodes_bound: usize,
    /// Operations. At least this where nodes are unknown.
    pub flops: u64,
    /// Multiply-adds of matrix products and convolutions.
    pub macs: u64,
    /// Elements of the weights, each tensor once.
    pub params: u64,
    /// Their bytes.
    pub params_bytes: u64,
    /// Bytes read and written, if every operator goes through memory.
    pub round_trip_bytes: u64,
    /// Bytes read and written, if chains stay on the chip.
    pub fused_bytes: u64,
    /// In how many groups.
    pub fused_groups: usize,
    /// Operations for each byte of a round trip; none where nothing moves.
    pub intensity_round_trip: Option<f64>,
    /// Operations for each byte, if chains stay on the chip.
    pub intensity_fused: Option<f64>,
    /// The most that activations take at once; none where a size is not known.
    pub peak_activation_bytes: Option<u64>,
    /// The node at which they do.
    pub peak_at: Option<String>,
    /// Weights and activations at that time.
    pub peak_live_bytes: Option<u64>,
    /// Multiply-adds by operator.
    pub macs_by_operator: BTreeMap<String, u64>,
    /// Operations by operator.
    pub flops_by_operator: BTreeMap<String, u64>,
}

/// Nodes of which something is not known.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Unknown {
    /// How many nodes there are.
    pub nodes: usize,
    /// Their share of all nodes, 0 to 1.
    pub share: f64,
    /// By operator: how many, and the reason of the first.
    pub operators: BTreeMap<String, (usize, String)>,
    /// Reads or writes of the fused traffic that are not in its sum.
    pub fused_transfers: usize,
    /// Why the peak is not known, if it is not.
    pub peak: Option<String>,
}

/// A training step.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TrainingWork {
    /// What updates the weights.
    pub optimiser: Optimiser,
    /// Operations forward.
    pub forward_flops: u64,
    /// Multiply-adds forward.
    pub forward_macs: u64,
    /// Operations of the way back.
    pub backward_flops: u64,
    /// Multiply-adds of the way back.
    pub backward_macs: u64,
    /// Operations of the optimiser.
    pub optimiser_flops: u64,
    /// All of them.
    pub flops: u64,
    /// Bytes of the three, every operator through memory; none where a size is not known.
    pub bytes: Option<u64>,
    /// Elements of the weights that are learnt.
    pub trained_params: u64,
    /// Activations that the way forward leaves for the way back; none where a size is not known.
    pub kept_activation_bytes: Option<u64>,
    /// Weights, gradients and what the optimiser keeps, 4 bytes each unless the weights are stored smaller.
    pub weights_bytes: u64,
    /// All of it together with the activations.
    pub memory_bytes: Option<u64>,
}

/// Counts the work of a network.
///
/// # Errors
/// Sizes are missing or contradict the graph, nodes contradict their inputs, or a number does not fit into 64 bits.
pub fn work(graph: &Graph, given: &Given, options: &Options) -> Result<Work, WorkError> {
    let resolved = resolve(graph, given, false)?;
    let walk = walk(graph, &resolved)?;
    let wanted = options.element;
    let fused = traffic::fused(&walk, wanted)?;
    let pass = match options.training {
        Some(_) => {
            Some(training::backward(&walk, wanted).ok_or_else(|| overflow("the work of the backward pass"))?)
        }
        None => None,
    };
    let weights = Weights::of(&walk);
    let mut nodes = Vec::with_capacity(walk.steps.len());
    for (at, step) in walk.steps.iter().enumerate() {
        let mut node = of_step(&walk, step, wanted, &weights)?;
        node.group = fused.group.get(at).copied().flatten();
        node.backward = pass
            .as_ref()
            .and_then(|pass| pass.steps.get(at).cloned().flatten());
        nodes.push(node);
    }
    let unknown = unknown(&nodes, &fused);
    let mut made = Work {
        inputs: inputs(&resolved.inputs),
        outputs: outputs(graph, &walk),
        element: wanted,
        totals: totals(&walk, &nodes, &weights, &fused, wanted)?,
        nodes,
        unknown,
        training: None,
    };
    match live::peak(&walk, wanted) {
        Ok(peak) => {
            made.totals.peak_activation_bytes = Some(peak.bytes);
            made.totals.peak_live_bytes = peak.bytes.checked_add(made.totals.params_bytes);
            made.totals.peak_at = peak
                .step
                .and_then(|at| made.nodes.get(at))
                .map(|node| node.name.clone());
        }
        Err(why) => made.unknown.peak = Some(why.to_string()),
    }
    if let (Some(optimiser), Some(pass)) = (options.training, pass) {
        made.training = Some(train(&walk, &made, &pass, optimiser)?);
    }
    Ok(made)
}

fn overflow(what: &str) -> WorkError {
    WorkError::Overflow {
        what: what.to_owned(),
    }
}

fn inputs(inputs: &[(String, crate::value::Value)]) -> Vec<(String, Vec<u64>)> {
    let sizes = |value: &crate::value::Value| {
        value
            .shape
            .as_ref()
            .map(|shape| shape.dims.clone())
            .unwrap_or_default()
    };
    inputs
        .iter()
        .map(|(name, value)| (name.clone(), sizes(value)))
        .collect()
}

fn outputs(graph: &Graph, walk: &Walk) -> Vec<(String, Option<Vec<u64>>)> {
    let shape = |id: &Id| Some(walk.values.get(*id)?.shape.as_ref().ok()?.dims.clone());
    let each = graph.main.outputs.iter().zip(&walk.outputs);
    each.map(|(output, id)| (output.name.clone(), shape(id)))
        .collect()
}

/// Which constant tensors are weights, and what they lie in.
struct Weights {
    /// For what a quantised weight is taken apart into: the quantised one.
    stored: BTreeMap<Id, Id>,
}

impl Weights {
    fn of(walk: &Walk) -> Weights {
        let mut stored = BTreeMap::new();
        for step in walk
            .steps
            .iter()
            .filter(|step| step.operator == "DequantizeLinear")
        {
            if let (Some(Some(from)), Some(to)) = (step.inputs.first(), step.outputs.first()) {
                stored.insert(*to, *from);
            }
        }
        Weights { stored }
    }

    /// The weights among a step's inputs, as they are stored.
    fn among(&self, walk: &Walk, step: &Step) -> Vec<Id> {
        let mut found = Vec::new();
        // It is a weight where it is used.
        if step.operator == "DequantizeLinear"
            || matches!(step.kind, crate::cost::Kind::Free | crate::cost::Kind::View)
        {
            return found;
        }
        for (at, id) in step.inputs.iter().enumerate() {
            let Some(id) = *id else { continue };
            let Some(value) = walk.values.get(id).filter(|value| value.constant) else {
                continue;
            };
            let counts = match value.element {
                Element::Int64 | Element::Uint64 | Element::Bool | Element::String => false,
                Element::Int32 | Element::Uint32 => step.operator == "QLinearConv" && at == 8,
                _ => is_weight(&step.operator, at),
            };
            if counts {
                let root = walk.roots.get(id).copied().unwrap_or(id);
                found.push(
                    self.stored
                        .get(&root)
                        .or(self.stored.get(&id))
                        .copied()
                        .unwrap_or(root),
                );
            }
        }
        found
    }
}

fn elements(walk: &Walk, id: Id) -> Result<u64, WorkError> {
    match walk.values.get(id).map(|value| &value.shape) {
        Some(Ok(shape)) => product(&shape.dims).ok_or_else(|| overflow("the elements of a weight")),
        _ => Ok(0),
    }
}

fn of_step(walk: &Walk, step: &Step, wanted: As, weights: &Weights) -> Result<NodeWork, WorkError> {
    let scaled = |count: u64| {
        count
            .checked_mul(step.times)
            .ok_or_else(|| overflow(&format!("the work of node `{}`", step.name)))
    };
    let (flops, macs) = match &step.cost {
        Ok(cost) => {
            let flops = cost
                .flops()
                .map_err(|_| overflow(&format!("the work of node `{}`", step.name)))?;
            (Some(scaled(flops)?), Some(scaled(cost.macs)?))
        }
        Err(_) => (None, None),
    };
    let is_unknown = step.cost.is_err();
    let Moved { read, written } = traffic::round_trip(walk, step, wanted);
    let reason = match (&step.cost, &read, &written) {
        (Err(why), _, _) | (_, Err(why), _) | (_, _, Err(why)) => Some(why.to_string()),
        _ => None,
    };
    let bound = match reason {
        Some(why) => Bound::Unknown(why),
        None if step.may_rest || step.cost.as_ref().is_ok_and(|cost| cost.bound) => Bound::UpperBound,
        None => Bound::Exact,
    };
    let mut params = 0_u64;
    let mut seen = BTreeSet::new();
    for id in weights.among(walk, step) {
        if seen.insert(id) {
            params = params
                .checked_add(elements(walk, id)?)
                .ok_or_else(|| overflow("the weights"))?;
        }
    }
    let sizes = |id: &Id| {
        let shape = walk.values.get(*id)?.shape.as_ref().ok()?;
        Some(shape.dims.clone())
    };
    Ok(NodeWork {
        name: step.name.clone(),
        operator: step.operator.clone(),
        domain: step.domain.clone(),
        outputs: step.outputs.iter().map(sizes).collect(),
        flops,
        macs,
        params,
        // In a loop that nobody counts, the rounds are missing here too.
        bytes_read: read.ok().filter(|_| !is_unknown),
        bytes_written: written.ok().filter(|_| !is_unknown),
        times: step.times,
        at_load: step.at_load,
        group: None,
        bound,
        backward: None,
    })
}

fn unknown(nodes: &[NodeWork], fused: &traffic::Fused) -> Unknown {
    let mut unknown = Unknown {
        fused_transfers: fused.unknown,
        ..Unknown::default()
    };
    for node in nodes {
        if let Bound::Unknown(why) = &node.bound {
            unknown.nodes += 1;
            let name = match node.domain.is_empty() {
                true => node.operator.clone(),
                false => format!("{}.{}", node.domain, node.operator),
            };
            unknown
                .operators
                .entry(name)
                .or_insert_with(|| (0, why.clone()))
                .0 += 1;
        }
    }
    if !nodes.is_empty() {
        unknown.share = unknown.nodes as f64 / nodes.len() as f64;
    }
    unknown
}

fn totals(
    walk: &Walk,
    nodes: &[NodeWork],
    weights: &Weights,
    fused: &traffic::Fused,
    wanted: As,
) -> Result<Totals, WorkError> {
    let mut totals = Totals {
        nodes: nodes.len(),
        fused_groups: fused.groups,
        ..Totals::default()
    };
    let all = || overflow("the work of all nodes together");
    let mut stored = BTreeSet::new();
    for (node, step) in nodes.iter().zip(&walk.steps) {
        if node.at_load {
            totals.nodes_at_load += 1;
            continue;
        }
        totals.nodes_bound += usize::from(node.bound == Bound::UpperBound);
        let add = |to: &mut u64, count: Option<u64>| -> Result<(), WorkError> {
            *to = to.checked_add(count.unwrap_or(0)).ok_or_else(all)?;
            Ok(())
        };
        add(&mut totals.flops, node.flops)?;
        add(&mut totals.macs, node.macs)?;
        add(&mut totals.round_trip_bytes, node.bytes_read)?;
        add(&mut totals.round_trip_bytes, node.bytes_written)?;
        if node.macs.is_some_and(|macs| macs > 0) {
            add(
                totals.macs_by_operator.entry(node.operator.clone()).or_default(),
                node.macs,
            )?;
        }
        if node.flops.is_some_and(|flops| flops > 0) {
            add(
                totals.flops_by_operator.entry(node.operator.clone()).or_default(),
                node.flops,
            )?;
        }
        stored.extend(weights.among(walk, step));
    }
    for id in stored {
        totals.params = totals.params.checked_add(elements(walk, id)?).ok_or_else(all)?;
        let bytes = traffic::bytes_of(walk, id, None, wanted).unwrap_or(0);
        totals.params_bytes = totals.params_bytes.checked_add(bytes).ok_or_else(all)?;
    }
    totals.fused_bytes = fused.read.checked_add(fused.written).ok_or_else(all)?;
    let intensity = |bytes: u64| (bytes > 0).then(|| totals.flops as f64 / bytes as f64);
    totals.intensity_round_trip = intensity(totals.round_trip_bytes);
    totals.intensity_fused = intensity(totals.fused_bytes);
    Ok(totals)
}

fn train(
    walk: &Walk,
    work: &Work,
    pass: &training::Pass,
    optimiser: Optimiser,
) -> Result<TrainingWork, WorkError> {
    let all = || overflow("the work of a training step");
    let trained = training::trained_elements(walk, pass).ok_or_else(all)?;
    let (mut flops, mut macs, mut bytes) = (0_u64, 0_u64, Some(work.totals.round_trip_bytes));
    for back in pass.steps.iter().flatten() {
        flops = flops.checked_add(back.flops).ok_or_else(all)?;
        macs = macs.checked_add(back.macs).ok_or_else(all)?;
        bytes = bytes.and_then(|sum| {
            sum.checked_add(back.bytes_read?)?
                .checked_add(back.bytes_written?)
        });
    }
    let optimiser_flops = trained
        .checked_mul(optimiser.flops_per_parameter())
        .ok_or_else(all)?;
    // Weight and gradient are read, the weight is written; states are read and written.
    let words = 3 + 2 * optimiser.states();
    bytes = bytes.and_then(|sum| sum.checked_add(trained.checked_mul(4)?.checked_mul(words)?));
    let kept_bytes = trained
        .checked_mul(4 * (1 + optimiser.states()))
        .ok_or_else(all)?;
    let weights_bytes = work.totals.params_bytes.checked_add(kept_bytes).ok_or_else(all)?;
    let sum = [work.totals.flops, flops, optimiser_flops];
    Ok(TrainingWork {
        optimiser,
        forward_flops: work.totals.flops,
        forward_macs: work.totals.macs,
        backward_flops: flops,
        backward_macs: macs,
        optimiser_flops,
        flops: sum
            .iter()
            .try_fold(0_u64, |sum, flops| sum.checked_add(*flops))
            .ok_or_else(all)?,
        bytes: bytes.filter(|_| work.unknown.nodes == 0),
        trained_params: trained,
        kept_activation_bytes: pass.kept_bytes,
        weights_bytes,
        memory_bytes: pass.kept_bytes.and_then(|kept| kept.checked_add(weights_bytes)),
    })
}
