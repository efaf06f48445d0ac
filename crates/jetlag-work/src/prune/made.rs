//! From the channels that stay to the changes of the file, and the check of what came out.

use std::collections::{BTreeSet, HashMap, HashSet};

use super::Structure;
use super::channels::Id;
use super::choose::Choice;
use super::edits::Place;
use super::error::PruneError;
use super::file::{Changes, List, Replaced, Smaller, weights};
use super::flow::{held, key};
use super::numbers::{norms, raw, width};
use super::params::{Axis, Param, Stored};
use crate::call::spelled;
use crate::element::Element;
use crate::error::WorkError;
use crate::given::{Given, resolve};
use crate::graph::Graph;
use crate::onnx::splice::{Piece, fields};
use crate::order::taken;
use crate::value::product;
use crate::walk::{Walk, walk};

/// The names of the weights that are in the file.
///
/// # Errors
/// A weight lies in another file, or the file is damaged.
pub(super) fn stored(model: &[u8]) -> Result<HashSet<String>, PruneError> {
    let mut names = HashSet::new();
    weights::<PruneError>(model, |name, message| {
        let mut is_external = false;
        fields(message, |field, piece| {
            is_external |= field == 14 && matches!(piece, Piece::Number(1));
            Ok(())
        })?;
        if is_external {
            return Err(PruneError::External { tensor: name });
        }
        names.insert(name);
        Ok(())
    })?;
    Ok(names)
}

/// Of each channel: the sum of the absolute weights of the filters that make it.
///
/// # Errors
/// A weight is damaged.
pub(super) fn sizes(model: &[u8], structure: &Structure) -> Result<Vec<f64>, WorkError> {
    let mut wanted: HashMap<&str, Vec<usize>> = HashMap::new();
    let mut sizes = vec![0.0; structure.channels.count()];
    let mut add = |param: &Param, axis: usize, norms: &[f64]| {
        let ids = param.axes.get(axis).and_then(held);
        for (id, norm) in ids.into_iter().flat_map(|ids| ids.iter()).zip(norms) {
            if let Some(size) = sizes.get_mut(*id as usize) {
                *size += norm;
            }
        }
    };
    let mut seen = BTreeSet::new();
    for (param, axis) in structure.layers.iter().filter_map(|layer| layer.weight) {
        let Some(found) = structure.params.get(param) else {
            continue;
        };
        // A weight that several layers have counts once.
        if !seen.insert((param, axis)) {
            continue;
        }
        match found.stored {
            Stored::File => wanted.entry(&found.name).or_default().push(param),
            Stored::Filled { number } => {
                let size = found.dims.get(axis).copied().unwrap_or(0);
                let each = product(&found.dims).unwrap_or(0) / size.max(1);
                add(found, axis, &vec![number.abs() * each as f64; size as usize]);
            }
        }
    }
    weights::<WorkError>(model, |name, message| {
        let Some(params) = wanted.get(&*name) else {
            return Ok(());
        };
        for param in params.iter().filter_map(|at| structure.params.get(*at)) {
            let Some(width) = width(param.element) else {
                continue;
            };
            let raw = raw(message, width, &param.dims)?;
            for (_, axis) in seen.iter().filter(|(at, _)| {
                structure
                    .params
                    .get(*at)
                    .is_some_and(|own| own.name == param.name)
            }) {
                if let Some(norms) = norms(&raw, param.element, &param.dims, *axis) {
                    add(param, *axis, &norms);
                }
            }
        }
        Ok(())
    })?;
    Ok(sizes)
}

/// What changes in the file.
pub(super) fn changes(graph: &Graph, walk: &Walk, structure: &Structure, choice: &Choice) -> Changes {
    let stays = |id: Id| choice.stays(id);
    let mut changes = Changes {
        sizes: resized(structure, choice),
        ..Changes::default()
    };
    for param in structure.params.all() {
        let smaller = |axis: &Axis| {
            let ids = held(axis).filter(|ids| choice.kept(ids) < ids.len())?;
            Some(ids.iter().map(|id| stays(*id)).collect::<Vec<bool>>())
        };
        let keeps: Vec<Option<Vec<bool>>> = param.axes.iter().map(smaller).collect();
        if keeps.iter().any(Option::is_some) && matches!(param.stored, Stored::File) {
            let made = Smaller {
                element: param.element,
                dims: param.dims.clone(),
                keeps,
            };
            changes.weights.insert(param.name.clone(), made);
        }
    }
    let mut uses: HashMap<&str, usize> = HashMap::new();
    for name in graph.main.nodes.iter().flat_map(taken) {
        *uses.entry(name).or_default() += 1;
    }
    for output in &graph.main.outputs {
        *uses.entry(&output.name).or_default() += 1;
    }
    let nodes: HashMap<&str, &crate::onnx::Node> =
        graph.main.nodes.iter().map(|node| (key(node), node)).collect();
    for edit in &structure.edits {
        let Some(values) = edit.changed(&structure.params, &stays) else {
            continue;
        };
        let replaced = match edit.place {
            Place::Input(at) => {
                let old = nodes.get(&*edit.node).and_then(|node| node.inputs.get(at));
                if let Some(old) = old
                    && let Some(count) = uses.get_mut(&**old)
                {
                    *count = count.saturating_sub(1);
                    if *count == 0 {
                        changes.dropped.insert(old.clone());
                    }
                }
                let name = unused(walk, changes.lists.len());
                changes.lists.push(List {
                    name: name.clone(),
                    is_narrow: edit.element == Element::Int32,
                    dims: edit.dims.clone(),
                    values,
                });
                Replaced::Input(at, name)
            }
            place => Replaced::Numbers(place, values),
        };
        changes.nodes.entry(edit.node.clone()).or_default().push(replaced);
    }
    // A node goes with all that it makes, so it stays where any of that is taken.
    for node in graph.main.nodes.iter().filter(|node| node.outputs.len() > 1) {
        let is_unused = |name: &String| uses.get(&**name).is_none_or(|count| *count == 0);
        let all = node.outputs.iter().filter(|name| !name.is_empty());
        match all.clone().all(is_unused) {
            true if all.clone().any(|name| changes.dropped.contains(name)) => {
                changes.dropped.extend(all.cloned());
            }
            true => {}
            false => changes.dropped.retain(|name| !node.outputs.contains(name)),
        }
    }
    changes
}

/// A name that no tensor has.
fn unused(walk: &Walk, number: usize) -> String {
    let mut name = format!("pruned_{number}");
    while walk.names.contains_key(&name) {
        name.insert(0, '_');
    }
    name
}

/// Sizes that change, by tensor.
fn resized(structure: &Structure, choice: &Choice) -> HashMap<String, Vec<(usize, u64)>> {
    let mut sizes: HashMap<String, Vec<(usize, u64)>> = HashMap::new();
    for (name, along) in &structure.tensors {
        let kept = choice.kept(&along.ids);
        if kept < along.ids.len() {
            sizes.insert(name.clone(), vec![(along.axis, kept as u64)]);
        }
    }
    for (name, view) in structure.params.views() {
        let Some(param) = structure.params.get(view.param) else {
            continue;
        };
        for (at, own) in view.axes.iter().enumerate() {
            let ids = own.and_then(|own| param.axes.get(own)).and_then(held);
            if let Some(ids) = ids
                && choice.kept(ids) < ids.len()
            {
                let size = (at, choice.kept(ids) as u64);
                sizes.entry(name.clone()).or_default().push(size);
            }
        }
    }
    sizes
}

/// Holds the network that came out against what it should be: every tensor of the first one that is still there has its shape, with
/// the sizes that changed.
///
/// # Errors
/// A tensor has another shape, or nodes contradict each other.
pub(super) fn check(
    made: &Graph,
    given: &Given,
    before: &Walk,
    graph: &Graph,
    sizes: &HashMap<String, Vec<(usize, u64)>>,
) -> Result<(), PruneError> {
    let unsound = |tensor: &str, found: String, expected: String| PruneError::Unsound {
        tensor: tensor.to_owned(),
        found,
        expected,
    };
    let after = match walk(made, &resolve(made, given, false)?) {
        Ok(after) => after,
        Err(WorkError::Contradiction {
            node,
            operator,
            problem,
        }) => {
            let found = format!("nothing, since {operator} cannot work on its inputs ({problem}),");
            return Err(unsound(&node, found, "as it was".to_owned()));
        }
        Err(error) => return Err(error.into()),
    };
    let shape = |walk: &Walk, name: &str| {
        let value = walk.values.get(*walk.names.get(name)?)?;
        value.shape.as_ref().ok().map(|shape| shape.dims.clone())
    };
    // In the graph's order, so that the first tensor that is wrong is named.
    let made_by_nodes = graph.main.nodes.iter().flat_map(|node| &node.outputs);
    let names = graph.main.initializers.iter().map(|tensor| &tensor.name);
    for name in names.chain(made_by_nodes) {
        let (Some(mut expected), Some(found)) = (shape(before, name), shape(&after, name)) else {
            continue;
        };
        for (axis, size) in sizes.get(name).into_iter().flatten() {
            if let Some(own) = expected.get_mut(*axis) {
                *own = *size;
            }
        }
        if found != expected {
            return Err(unsound(name, spelled(&found), spelled(&expected)));
        }
    }
    for output in &graph.main.outputs {
        let (known, found) = (shape(before, &output.name), shape(&after, &output.name));
        if let (Some(known), None) = (known, found) {
            return Err(unsound(&output.name, "unknown".to_owned(), spelled(&known)));
        }
    }
    Ok(())
}
