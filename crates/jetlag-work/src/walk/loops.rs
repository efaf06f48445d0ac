//! Loops and scans.

use std::collections::HashMap;
use std::sync::Arc;

use super::control::{graph_of, nothing, own_step};
use super::{Id, Place, Scope, Walker, contradiction};
use crate::element::Element;
use crate::error::WorkError;
use crate::onnx::{Data, GraphDef, Node};
use crate::value::{Shape, Value};

/// As many rounds as are walked one by one, where each changes the shapes for the next.
const MOST_ROUNDS: u64 = 256;
/// A loop of more is written to go on until something happens: its number says nothing.
const MOST_STATED: u64 = 1_000_000_000;

/// Why nobody knows how often a loop goes round.
#[derive(Clone, Copy)]
enum NoRounds {
    Data,
    NoNumber,
    TooMany,
    OldScan,
}

impl NoRounds {
    fn why(self) -> &'static str {
        match self {
            NoRounds::Data => "it is in a loop whose number of rounds depends on data",
            NoRounds::NoNumber => {
                "it is in a loop that states no number of rounds and ends when its condition does"
            }
            NoRounds::TooMany => {
                "it is in a loop of more than 1000 million rounds by its number, which no loop goes through"
            }
            NoRounds::OldScan => {
                "it is in a Scan of opset 8, whose batches differ in length; export with opset 9 or later"
            }
        }
    }
}

impl Walker<'_> {
    /// As many rounds as are stated; one that may end earlier is a bound, and one without a number is not known.
    pub(super) fn repeat(
        &mut self,
        node: &Node,
        inputs: &[Option<Id>],
        place: &Place,
        scope: &mut Scope,
    ) -> Result<(), WorkError> {
        let Some(body) = graph_of(node, "body") else {
            return Err(contradiction(node, "it has no body".to_owned()));
        };
        let number = |walker: &Self, at: usize| {
            let id = inputs.get(at).copied().flatten()?;
            walker.value(id)?.as_ints()?.first().copied()
        };
        let begins = inputs
            .get(1)
            .copied()
            .flatten()
            .is_none_or(|_| number(self, 1) != Some(0));
        let has_number = inputs.first().copied().flatten().is_some();
        let stated = match (number(self, 0), has_number) {
            (Some(most), _) => match most.max(0).unsigned_abs() {
                most if most <= MOST_STATED => Ok(most),
                _ => Err(NoRounds::TooMany),
            },
            (None, true) => Err(NoRounds::Data),
            (None, false) => Err(NoRounds::NoNumber),
        };
        let rounds = if begins { stated } else { Ok(0) };
        let carried: Vec<Id> = inputs.iter().skip(2).copied().flatten().collect();
        if body.inputs.len() != carried.len() + 2 || body.outputs.len() < carried.len() + 1 {
            return Err(contradiction(
                node,
                format!(
                    "it carries {} tensors, and its body has {} inputs",
                    carried.len(),
                    body.inputs.len()
                ),
            ));
        }
        let goes_on = body
            .outputs
            .first()
            .map(|output| output.name.clone())
            .unwrap_or_default();
        let is_sure = stops_never(body, &goes_on);
        let made = self.rounds(node, body, &carried, &[], rounds, is_sure, place, scope)?;
        self.loop_outputs(
            node,
            inputs,
            carried.len(),
            made,
            rounds.ok(),
            is_sure,
            1,
            place,
            scope,
        )
    }

    /// A round for each element along an axis.
    pub(super) fn scan(
        &mut self,
        node: &Node,
        inputs: &[Option<Id>],
        place: &Place,
        scope: &mut Scope,
    ) -> Result<(), WorkError> {
        let Some(body) = graph_of(node, "body") else {
            return Err(contradiction(node, "it has no body".to_owned()));
        };
        let count = node
            .attribute("num_scan_inputs")
            .and_then(|attribute| attribute.int)
            .unwrap_or(0);
        let ids: Vec<Id> = inputs.iter().copied().flatten().collect();
        // The first version of the operator had lengths and batches.
        let is_old = crate::graph::version(place.opsets, "") < 9;
        let offset = usize::from(is_old && inputs.len() == body.inputs.len() + 1);
        let states = body.inputs.len().checked_sub(usize::try_from(count).unwrap_or(0));
        let Some((states, ids)) =
            states.zip(ids.get(if inputs.first() == Some(&None) { 0 } else { offset }..))
        else {
            return Err(contradiction(
                node,
                format!("its body has less than {count} inputs"),
            ));
        };
        if ids.len() != body.inputs.len() || body.outputs.len() < states {
            let problem = format!("it has {} inputs, and its body {}", ids.len(), body.inputs.len());
            return Err(contradiction(node, problem));
        }
        let (carried, scanned) = ids.split_at(states);
        let axes = node
            .attribute("scan_input_axes")
            .map(|attribute| attribute.ints.clone())
            .unwrap_or_default();
        let mut rounds = Err(NoRounds::Data);
        let mut elements = Vec::new();
        for (at, id) in scanned.iter().enumerate() {
            let value = self.value(*id).cloned().unwrap_or_else(|| nothing(""));
            let Ok(shape) = &value.shape else {
                elements.push(value);
                continue;
            };
            let mut dims = shape.dims.clone();
            let axis = axes.get(at).copied().unwrap_or(i64::from(is_old));
            let axis = if axis < 0 { axis + dims.len() as i64 } else { axis };
            let axis = usize::try_from(axis).ok().filter(|axis| *axis < dims.len());
            let Some(axis) = axis else {
                return Err(contradiction(
                    node,
                    "an axis that it scans is not there".to_owned(),
                ));
            };
            rounds = Ok(dims.remove(axis));
            if is_old && !dims.is_empty() {
                dims.remove(0);
            }
            elements.push(Value {
                shape: Ok(Shape {
                    dims,
                    ..shape.clone()
                }),
                data: None,
                ..value
            });
        }
        if is_old {
            // Batches are walked one by one, and lengths differ; nothing is said of it rather than something wrong.
            rounds = Err(NoRounds::OldScan);
        }
        let made = self.rounds(node, body, carried, &elements, rounds, true, place, scope)?;
        self.loop_outputs(
            node,
            inputs,
            carried.len(),
            made,
            rounds.ok(),
            true,
            0,
            place,
            scope,
        )
    }

    /// Walks the rounds of a loop; the outputs of the last.
    #[allow(clippy::too_many_arguments)] // What a loop is made of.
    fn rounds(
        &mut self,
        node: &Node,
        body: &GraphDef,
        carried: &[Id],
        elements: &[Value],
        rounds: Result<u64, NoRounds>,
        is_sure: bool,
        place: &Place,
        scope: &Scope,
    ) -> Result<Vec<Id>, WorkError> {
        let is_loop = elements.is_empty() && body.inputs.len() == carried.len() + 2;
        let mut carried = carried.to_vec();
        let mut left = rounds.unwrap_or(1);
        let is_once = rounds.ok() == Some(1);
        let mut walked = 0;
        let region = self.region();
        loop {
            let mut names = Scope {
                names: HashMap::new(),
                around: Some(scope),
            };
            let mut fed = body.inputs.iter();
            if is_loop {
                for input in fed.by_ref().take(2) {
                    let value = Value::new(Shape::default(), input.element.unwrap_or(Element::Int64));
                    let id = self.add(value);
                    names.names.insert(input.name.clone(), id);
                }
            }
            for (input, id) in fed.by_ref().take(carried.len()).zip(&carried) {
                let mut value = self.value(*id).cloned().unwrap_or_else(|| nothing(&input.name));
                if !is_once {
                    value.data = None;
                    value.constant = false;
                }
                let id = self.add_view(value, *id);
                names.names.insert(input.name.clone(), id);
            }
            for (input, value) in fed.zip(elements) {
                let id = self.add(value.clone());
                names.names.insert(input.name.clone(), id);
            }
            let before = self.walk.steps.len();
            let inner = Place {
                path: format!("{}{}/", place.path, node.label()),
                may_rest: place.may_rest || !is_sure,
                region,
                ..place.clone()
            };
            // Without any round, what would be made is asked for as well.
            let outputs = self.graph(body, &inner, &mut names)?;
            walked += 1;
            let state = outputs.iter().skip(usize::from(is_loop)).take(carried.len());
            let next: Vec<Id> = state.copied().collect();
            let is_same = carried
                .iter()
                .zip(&next)
                .all(|(a, b)| match (self.value(*a), self.value(*b)) {
                    (Some(a), Some(b)) => a.shape == b.shape,
                    _ => true,
                });
            let times = match (rounds, is_same) {
                (Err(_), _) => None,
                (Ok(_), true) => Some(left),
                (Ok(_), false) => Some(left.min(1)),
            };
            let too_long = !is_same && walked >= MOST_ROUNDS && left > 1;
            let why: Option<Arc<str>> = match (rounds, too_long) {
                (Err(unknown), _) => Some(unknown.why().into()),
                (_, true) => Some("it is in a loop whose shapes change with every round".into()),
                _ => None,
            };
            for step in self.walk.steps.iter_mut().skip(before) {
                step.at_load = false;
                match (&why, times) {
                    (Some(why), _) => step.cost = Err(why.clone()),
                    (None, Some(times)) => {
                        step.times = step.times.checked_mul(times).ok_or_else(|| WorkError::Overflow {
                            what: format!("how often node `{}` is executed", step.name),
                        })?;
                    }
                    _ => {}
                }
            }
            left = left.saturating_sub(times.unwrap_or(left));
            if left == 0 || why.is_some() {
                let unknown = match (rounds, is_same, too_long) {
                    (Err(_), false, _) | (_, _, true) => why,
                    _ => None,
                };
                if let Some(why) = unknown {
                    for id in outputs.iter().skip(usize::from(is_loop)) {
                        if let Some(value) = self.walk.values.get_mut(*id) {
                            value.shape = Err(why.clone());
                        }
                    }
                }
                return Ok(outputs);
            }
            carried = next;
        }
    }

    /// What is carried out of a loop, and what its rounds made, one after the other.
    #[allow(clippy::too_many_arguments)] // What a loop is made of.
    fn loop_outputs(
        &mut self,
        node: &Node,
        inputs: &[Option<Id>],
        carried: usize,
        made: Vec<Id>,
        rounds: Option<u64>,
        is_sure: bool,
        skipped: usize,
        place: &Place,
        scope: &mut Scope,
    ) -> Result<(), WorkError> {
        let axes = node
            .attribute("scan_output_axes")
            .map(|attribute| attribute.ints.clone())
            .unwrap_or_default();
        let mut outputs = Vec::new();
        for (at, name) in node.outputs.iter().enumerate() {
            let Some(id) = made.get(at + skipped).copied() else {
                return Err(contradiction(node, format!("its body makes no `{name}`")));
            };
            let mut value = self.value(id).cloned().unwrap_or_else(|| nothing(name));
            value.data = None;
            value.constant = false;
            if at < carried {
                // Without a round, what goes in comes out.
                let original = inputs
                    .get(at + if skipped == 1 { 2 } else { 0 })
                    .copied()
                    .flatten();
                let of = if rounds == Some(0) {
                    original.unwrap_or(id)
                } else {
                    id
                };
                if rounds == Some(0) {
                    value = self.value(of).cloned().unwrap_or(value);
                }
                outputs.push(self.bind(value, Some(of), name, scope));
                continue;
            }
            value.shape = match (value.shape, rounds) {
                (Ok(mut shape), Some(rounds)) => {
                    let axis = axes.get(at - carried).copied().unwrap_or(0);
                    let axis = if axis < 0 {
                        axis + shape.rank() as i64 + 1
                    } else {
                        axis
                    };
                    let axis = usize::try_from(axis).unwrap_or(0).min(shape.rank());
                    shape.dims.insert(axis, rounds);
                    shape.bound |= !is_sure;
                    Ok(shape)
                }
                (Ok(_), None) => Err("a loop makes it, whose number of rounds depends on data".into()),
                (why, _) => why,
            };
            outputs.push(self.bind(value, None, name, scope));
        }
        self.push(own_step(node, inputs, outputs, place))
    }
}

/// Whether a loop's body says at every round that it goes on.
fn stops_never(body: &GraphDef, goes_on: &str) -> bool {
    let mut name = goes_on;
    for node in body.nodes.iter().rev() {
        if node.outputs.iter().any(|output| output == name) {
            match (&*node.operator, node.inputs.first()) {
                ("Identity" | "Cast", Some(input)) => name = input,
                ("Constant", _) => {
                    let tensor = node.attribute("value").and_then(|value| value.tensor.as_ref());
                    return matches!(tensor.and_then(|tensor| tensor.data.as_ref()), Some(data) if is_true(data));
                }
                _ => return false,
            }
        }
    }
    // What comes in goes out: it was true, or there would be no round.
    body.inputs.get(1).is_some_and(|input| input.name == name)
        || body
            .initializers
            .iter()
            .any(|tensor| tensor.name == name && tensor.data.as_ref().is_some_and(is_true))
}

fn is_true(data: &Data) -> bool {
    matches!(data, Data::Ints(values) if values.first().is_some_and(|value| *value != 0))
}
