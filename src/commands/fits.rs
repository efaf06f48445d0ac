//! Whether a detector and its networks' files go together, before anything runs.
//!
//! A head checks the shapes of a network's outputs on the first frame; here it is given outputs of zeros of the shapes that the
//! network's file states, so that the same sentences come before the run. What a file leaves open shows on the first frame only.

use std::collections::BTreeMap;

use crate::backend::{DeviceInput, Program, Step};
use crate::detector::inputs::{takes_element, takes_shape};
use crate::detector::network::facts_of;
use crate::detector::propose::class_names;
use crate::detector::{Carry, Detector, DetectorError};
use crate::engine::network::{NetworkFacts, Port};
use crate::nearest::nearest;
use crate::tensor::{ElementType, HostTensor, Shape, TensorError, TensorSet};

/// What was found.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Checked {
    /// What keeps it from running; each is a sentence without its end.
    pub(super) problems: Vec<String>,
    /// What somebody should know, and what could not be told.
    pub(super) notes: Vec<String>,
}

/// A tensor of a frame as far as it is known: an extent that a network leaves open is `None`.
type Known = BTreeMap<String, Vec<Option<usize>>>;

/// Checks a detector against its networks' files.
pub(super) fn detector(detector: &mut Detector) -> Checked {
    let mut checked = Checked::default();
    let facts: Vec<Option<NetworkFacts>> = detector
        .program
        .engines
        .iter()
        .map(|engine| {
            facts_of(engine)
                .map_err(|error| checked.problems.push(error.to_string()))
                .ok()
        })
        .collect();
    if !checked.problems.is_empty() {
        return checked;
    }
    let Some(known) = connect(&detector.program, &facts, &mut checked) else {
        return checked;
    };
    if detector.classes.is_empty() {
        return checked;
    }
    for names in facts.iter().flatten().filter_map(class_names) {
        if names.len() == detector.classes.len() && names != detector.classes {
            let differs = names
                .iter()
                .zip(&detector.classes)
                .position(|(a, b)| a != b)
                .unwrap_or(0);
            checked.notes.push(format!(
                "the network's file calls class {differs} `{}`, the spec `{}`",
                names[differs], detector.classes[differs]
            ));
        }
    }
    head(detector, &known, &mut checked);
    checked
}

/// Follows the tensors through the program; none where an engine's inputs are not there or do not fit.
fn connect(program: &Program, facts: &[Option<NetworkFacts>], checked: &mut Checked) -> Option<Known> {
    let mut known: Known = program
        .host_tensors
        .iter()
        .map(|tensor| {
            (
                tensor.name.clone(),
                tensor.max_shape.dims().iter().copied().map(Some).collect(),
            )
        })
        .collect();
    for step in &program.steps {
        let Some(number) = step.engine() else { continue };
        let (Some(Some(facts)), Some(engine)) = (facts.get(number), program.engines.get(number)) else {
            continue;
        };
        let mut sizes = BTreeMap::new();
        for port in &facts.inputs {
            if let Some(problem) = misfit(port, step, program, &known, &mut sizes) {
                checked.problems.push(format!("{engine}: {problem}"));
            }
        }
        for port in &facts.outputs {
            let dims = port
                .shape
                .iter()
                .map(|extent| extent.parse().ok().or_else(|| sizes.get(extent).copied()));
            known.insert(step.tensor(&port.name).into_owned(), dims.collect());
        }
    }
    checked.problems.is_empty().then_some(known)
}

/// Why an input of a network cannot be fed; else the sizes of the dimensions that it names.
fn misfit<'a>(
    port: &'a Port,
    step: &Step,
    program: &Program,
    known: &Known,
    sizes: &mut BTreeMap<&'a String, usize>,
) -> Option<String> {
    let own = step.tensor(&port.name);
    let Some(found) = known.get(&*own) else {
        let names = || known.keys().map(String::as_str);
        let meant = nearest(&port.name, names()).map_or_else(String::new, |name| {
            format!("; the spec's `{name}` is probably meant")
        });
        let has_image = program
            .first
            .iter()
            .any(|first| matches!(first, DeviceInput::Fit(_)));
        let beside = match has_image && meant.is_empty() {
            true => "; what it takes beside the image stands in `also`",
            false => "",
        };
        return Some(format!(
            "its input is `{}`, and the spec's tensors are {}{meant}{beside}",
            port.name,
            names().collect::<Vec<_>>().join(", ")
        ));
    };
    let shown = || {
        let dims: Vec<String> = found
            .iter()
            .map(|dim| dim.map_or("?".to_owned(), |dim| dim.to_string()))
            .collect();
        format!("[{}]", dims.join(", "))
    };
    if !takes_shape(port, found) {
        return Some(format!(
            "its input `{}` is [{}], and the spec makes {}",
            port.name,
            port.shape.join(", "),
            shown()
        ));
    }
    for (name, found) in port.shape.iter().zip(found) {
        if let (Err(_), Some(found)) = (name.parse::<usize>(), found) {
            sizes.insert(name, *found);
        }
    }
    let made = program.host_tensors.iter().find(|tensor| tensor.name == *own)?;
    (!takes_element(port, made.element)).then(|| {
        format!(
            "its input `{}` has type {}, and the spec makes {}",
            port.name,
            port.element,
            made.element.name()
        )
    })
}

/// Lets the head read outputs of zeros.
fn head(detector: &mut Detector, known: &Known, checked: &mut Checked) {
    let mut tensors = Vec::new();
    let mut open = Vec::new();
    for (name, dims) in known {
        let dims: Option<Vec<usize>> = dims.iter().copied().collect();
        let shape = dims
            .filter(|dims| !dims.is_empty())
            .and_then(|dims| Shape::new(&dims));
        let element = detector
            .program
            .host_tensors
            .iter()
            .find(|tensor| tensor.name == *name);
        let element = element.map_or(ElementType::F32, |tensor| tensor.element);
        match shape.and_then(|shape| HostTensor::try_zeroed(name.clone(), element, shape).ok()) {
            Some(tensor) => tensors.push(tensor),
            None => open.push(name.clone()),
        }
    }
    let tensors = TensorSet::new(tensors);
    match detector
        .postprocess
        .run(&tensors, &Carry::default(), &mut Vec::new())
    {
        Ok(()) => {}
        Err(DetectorError::Tensor(TensorError::Unknown { name, .. })) if open.contains(&name) => {
            checked.notes.push(format!(
                "the network's file does not state the shape of its output `{name}`, so the head is checked on the first frame"
            ));
        }
        Err(error) => checked
            .problems
            .push(format!("the head does not fit the network: {error}")),
    }
}
