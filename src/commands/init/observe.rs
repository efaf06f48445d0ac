//! A network's shapes where its file leaves them open: sizes that are given or usual, and outputs as they come out of it.

use std::path::Path;

use super::trial;
use crate::backend::NetworkSource;
use crate::detector::network::{self, NoInputs};
use crate::detector::propose::{USUAL_SIDE, noted_size};
use crate::engine::network::{NetworkFacts, Port};
use crate::scenario::{MadeInputs, Shapes};
use crate::tensor::TensorSet;

/// A network with its sizes filled in.
pub(super) struct Observed {
    /// Its facts with fixed inputs, and fixed outputs where it could be executed.
    pub(super) facts: NetworkFacts,
    /// The shapes of those inputs that its file leaves open.
    pub(super) shapes: Shapes,
    /// What was guessed, each a sentence.
    pub(super) guesses: Vec<String>,
    /// Why the network cannot run on made inputs, where it cannot.
    pub(super) problem: Option<NoInputs>,
}

impl Observed {
    /// A network as its file has it, whose sizes stay open.
    pub(super) fn open(facts: NetworkFacts, problem: NoInputs) -> Self {
        Observed {
            facts,
            shapes: Shapes::default(),
            guesses: Vec::new(),
            problem: Some(problem),
        }
    }
}

/// Fills in what is open.
///
/// # Errors
/// Sizes that were not given and cannot be guessed, all in one message; sizes that do not fit.
pub(super) fn complete(
    path: &Path,
    facts: &NetworkFacts,
    given: Option<&Shapes>,
) -> Result<Observed, NoInputs> {
    let mut shapes = given.cloned().unwrap_or_default();
    let mut guesses = Vec::new();
    let noted = noted_size(facts);
    for port in &facts.inputs {
        if shapes.0.contains_key(&port.name) {
            continue;
        }
        if let Some((extents, guess)) = guessed(port, noted) {
            shapes.0.insert(port.name.clone(), extents);
            guesses.push(guess);
        }
    }
    let made = MadeInputs {
        shapes,
        ..MadeInputs::default()
    };
    let inputs = network::inputs(facts, &made).map_err(|problems| NoInputs::Inputs {
        network: path.display().to_string(),
        problems,
    })?;
    let is_batch_stated = facts.inputs.iter().all(first_is_stated);
    let mut facts = facts.clone();
    for (port, input) in facts.inputs.iter_mut().zip(&inputs) {
        port.shape = input.max_shape.dims().iter().map(usize::to_string).collect();
    }
    if facts.outputs.iter().any(is_open) {
        match executed(path, &made) {
            Ok(tensors) => fix(&mut facts.outputs, &tensors, is_batch_stated),
            Err(error) => log::info!("{}: shapes of its outputs stay open: {error:#}", path.display()),
        }
    }
    Ok(Observed {
        facts,
        shapes: made.shapes,
        guesses,
        problem: None,
    })
}

fn is_open(port: &Port) -> bool {
    port.shape.is_empty() || port.shape.iter().any(|extent| extent.parse::<usize>().is_err())
}

/// A batch of one, and the size of an image that the exporter noted, else the usual one; none where more is open, or nothing.
fn guessed(port: &Port, noted: Option<[usize; 2]>) -> Option<(Vec<usize>, String)> {
    let stated: Vec<Option<usize>> = port.shape.iter().map(|extent| extent.parse().ok()).collect();
    let (batch, rest) = stated.split_first()?;
    if stated.iter().all(Option::is_some) {
        return None;
    }
    let [width, height] = noted.unwrap_or([USUAL_SIDE; 2]);
    let usual = match rest {
        [Some(3), _, _] => Some([3, height, width]),
        [_, _, Some(3)] => Some([height, width, 3]),
        _ => None,
    };
    let is_batch_alone = rest.iter().all(Option::is_some);
    let mut extents = vec![batch.unwrap_or(1)];
    let sides = match usual {
        _ if is_batch_alone => {
            extents.extend(rest.iter().flatten());
            String::new()
        }
        Some(usual) => {
            extents.extend(
                rest.iter()
                    .zip(usual)
                    .map(|(extent, usual)| extent.unwrap_or(usual)),
            );
            match noted {
                Some(_) => format!(" and the {width} × {height} pixels that the file notes as `imgsz`"),
                None => format!(" and the usual {USUAL_SIDE} × {USUAL_SIDE} pixels"),
            }
        }
        None => return None,
    };
    let guess = format!(
        "The network leaves `{}` [{}] open: a batch of one{sides} was taken; --shapes sets others.",
        port.name,
        port.shape.join(", ")
    );
    Some((extents, guess))
}

/// The tensors after one execution on the embedded backend.
fn executed(path: &Path, made: &MadeInputs) -> anyhow::Result<Vec<(String, Vec<String>)>> {
    let name = network::stem(path);
    let mut detector = network::bare(NetworkSource::File(path.to_owned()), made, name)?;
    let mut bench = trial::Bench::open(&detector.program)?;
    bench.execute(&mut detector, &Default::default())?;
    let shapes = |tensors: &TensorSet| {
        let all = tensors.as_slice().iter();
        all.map(|tensor| {
            let dims = tensor.shape().dims().iter().map(usize::to_string).collect();
            (tensor.name().to_owned(), dims)
        })
        .collect()
    };
    Ok(shapes(bench.tensors()))
}

fn first_is_stated(port: &Port) -> bool {
    port.shape
        .first()
        .is_none_or(|extent| extent.parse::<usize>().is_ok())
}

/// Of a stated batch an open number of rows is that of what was found in this frame, and stays open.
fn fix(outputs: &mut [Port], tensors: &[(String, Vec<String>)], is_batch_stated: bool) {
    for port in outputs {
        if let Some((_, dims)) = tensors.iter().find(|(name, _)| *name == port.name) {
            let open = port
                .shape
                .first()
                .filter(|_| is_batch_stated && !first_is_stated(port))
                .cloned();
            port.shape.clone_from(dims);
            if let (Some(open), Some(first)) = (open, port.shape.first_mut()) {
                *first = open;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(shape: &[&str]) -> Option<Vec<usize>> {
        noting(shape, None)
    }

    fn noting(shape: &[&str], noted: Option<[usize; 2]>) -> Option<Vec<usize>> {
        let port = Port {
            name: "x".to_owned(),
            element: "float".to_owned(),
            shape: shape.iter().map(|extent| (*extent).to_owned()).collect(),
            is_shaped: true,
            made_by: None,
        };
        guessed(&port, noted).map(|(extents, _)| extents)
    }

    #[test]
    fn a_batch_and_an_image_s_size_are_guessed_and_nothing_else() {
        assert_eq!(of(&["batch", "3", "h", "w"]), Some(vec![1, 3, 640, 640]));
        assert_eq!(of(&["?", "3", "320", "480"]), Some(vec![1, 3, 320, 480]));
        assert_eq!(of(&["1", "h", "w", "3"]), Some(vec![1, 640, 640, 3]));
        assert_eq!(of(&["n", "4"]), Some(vec![1, 4]));
        assert_eq!(of(&["1", "3", "320", "480"]), None, "nothing is open");
        let noted = Some([416, 320]);
        assert_eq!(noting(&["n", "3", "h", "w"], noted), Some(vec![1, 3, 320, 416]));
        assert_eq!(noting(&["n", "h", "w", "3"], noted), Some(vec![1, 320, 416, 3]));
        assert_eq!(noting(&["1", "3", "h", "640"], noted), Some(vec![1, 3, 320, 640]));
        assert_eq!(of(&["batch", "sequence"]), None);
        assert_eq!(of(&["1", "1", "num_pillars", "100"]), None);
    }
}
