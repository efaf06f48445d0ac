//! Nodes, totals and the training step, out of a walk.

use std::collections::BTreeSet;

use super::weights::{Weights, elements, overflow};
use super::{Bound, NodeWork, Options, Totals, TrainingWork, Unknown, Work};
use crate::element::{As, Element};
use crate::error::WorkError;
use crate::given::{Given, resolve};
use crate::graph::Graph;
use crate::live;
use crate::traffic::{self, Moved};
use crate::training::{self, Optimiser};
use crate::walk::{Id, Step, Walk, walk};

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
        input: fed(walk, step),
        element: step
            .outputs
            .first()
            .and_then(|id| walk.values.get(*id))
            .map_or(Element::Unknown, |value| value.element),
        moves: (!is_unknown)
            .then(|| traffic::moves(walk, step, wanted))
            .flatten(),
    })
}

/// The shape of the first input that is no constant, or of the first one.
fn fed(walk: &Walk, step: &Step) -> Option<Vec<u64>> {
    let mut given = step.inputs.iter().flatten();
    let is_fed = |id: &&Id| walk.values.get(**id).is_some_and(|value| !value.constant);
    let id = given.clone().find(is_fed).or_else(|| given.next())?;
    let shape = walk.values.get(*id)?.shape.as_ref().ok()?;
    Some(shape.dims.clone())
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
