//! How the images of several cameras get through one network: all in one inference where it takes so many, and otherwise one after the
//! other, each in tensors of its own.

use std::collections::BTreeSet;

use super::{NoFusion, ports_of};
use crate::backend::{
    DeviceFit, DeviceInput, NetworkSource, NotBatched, Program, Step, TensorSpec, of_camera,
};
use crate::detector::{Carry, DetectorError, Preprocess};
use crate::engine::network::Port;
use crate::source::Frame;
use crate::tensor::side_by_side::{SideBySide, copy};
use crate::tensor::{TensorError, TensorSet};

/// Gives a camera's detector the tensors of one camera at a time.
pub(super) enum Views {
    /// There is one.
    One,
    /// An inference each.
    InTurn {
        /// Of each camera: what its inputs are called, in the slot and by the detector.
        inputs: Vec<Vec<[String; 2]>>,
        /// Of each camera: how the names of all its tensors end in the slot.
        endings: Vec<String>,
        /// The outputs of the camera in hand.
        lifted: TensorSet,
    },
    /// One inference.
    Together {
        tensors: SideBySide,
        outputs: BTreeSet<String>,
    },
}

/// The program of a camera's detector for so many cameras.
pub(super) fn for_cameras(program: Program, count: usize) -> Result<(Program, [Views; 2]), NoFusion> {
    if count == 1 {
        return Ok((program, [Views::One, Views::One]));
    }
    let outputs: BTreeSet<String> = outputs(&program).map(|(_, port)| port.name).collect();
    let answers = other_answers(&program, count);
    match (program.batched(count), answers) {
        (Ok(_), Some(other)) if other.fixed != 1 => Err(NoFusion::OtherOutput {
            network: other.network,
            output: other.output,
            fixed: other.fixed,
            cameras: count,
        }),
        // Of a file that cannot be read nobody knows how many images it takes: those of one, as its spec says.
        (Ok(batched), None) if !outputs.is_empty() => {
            let view = || {
                let inputs = program
                    .host_tensors
                    .iter()
                    .map(|tensor| (tensor.name.as_str(), tensor.element, tensor.max_shape));
                Ok(Views::Together {
                    tensors: SideBySide::new(count, inputs)?,
                    outputs: outputs.clone(),
                })
            };
            let views: Result<[Views; 2], TensorError> = view().and_then(|one| Ok([one, view()?]));
            Ok((batched, views.map_err(|error| NoFusion::Memory(Box::new(error)))?))
        }
        (Ok(_) | Err(NotBatched::Fixed { fixed: 1, .. }), _) => {
            let (program, inputs) = in_turn(&program, count);
            let endings: Vec<String> = (0..count).map(|camera| of_camera("", camera)).collect();
            let view = || Views::InTurn {
                inputs: inputs.clone(),
                endings: endings.clone(),
                lifted: TensorSet::default(),
            };
            Ok((program, [view(), view()]))
        }
        (
            Err(NotBatched::Fixed {
                network,
                input,
                fixed,
                size,
            }),
            _,
        ) => Err(NoFusion::OtherBatch {
            network,
            input,
            fixed,
            cameras: size,
        }),
        (Err(other), _) => Err(NoFusion::Cameras(Box::new(other))),
    }
}

/// Its networks' outputs, as far as their files tell, each with its network.
fn outputs(program: &Program) -> impl Iterator<Item = (&NetworkSource, Port)> {
    let of = |engine| {
        ports_of(engine, false)
            .into_iter()
            .map(move |port| (engine, port))
    };
    program.engines.iter().flat_map(of)
}

/// An output whose first dimension is always the same, and not the number of cameras.
struct OtherAnswer {
    network: String,
    output: String,
    fixed: usize,
}

fn other_answers(program: &Program, count: usize) -> Option<OtherAnswer> {
    outputs(program).find_map(|(engine, port)| {
        let fixed = port.shape.first()?.parse::<usize>().ok()?;
        (fixed != count).then(|| OtherAnswer {
            network: engine.to_string(),
            output: port.name,
            fixed,
        })
    })
}

/// Each step for each camera, with what each tensor of a camera is called in the slot and by the detector.
fn in_turn(program: &Program, count: usize) -> (Program, Vec<Vec<[String; 2]>>) {
    let mut all = Program {
        engines: program.engines.clone(),
        ..Program::default()
    };
    let mut inputs = Vec::new();
    for camera in 0..count {
        let own = |name: &String| of_camera(name, camera);
        let renamed = |tensor: &TensorSpec| TensorSpec {
            name: own(&tensor.name),
            ..tensor.clone()
        };
        all.host_tensors.extend(program.host_tensors.iter().map(renamed));
        all.steps.extend(program.steps.iter().map(|step| match step {
            Step::Engine(engine) => Step::OfCamera {
                engine: *engine,
                camera,
            },
            other => other.clone(),
        }));
        all.first.extend(program.first.iter().map(|first| match first {
            DeviceInput::Fit(fit) => DeviceInput::Fit(DeviceFit {
                block: renamed(&fit.block),
                input: own(&fit.input),
                shape: fit.shape,
            }),
            other => other.clone(),
        }));
        let blocks = program.first.iter().filter_map(|first| match first {
            DeviceInput::Fit(fit) => Some(&fit.block.name),
            DeviceInput::Pillars(_) => None,
        });
        let names = program
            .host_tensors
            .iter()
            .map(|tensor| &tensor.name)
            .chain(blocks);
        inputs.push(names.map(|name| [own(name), name.clone()]).collect());
    }
    (all, inputs)
}

impl Views {
    /// Makes the inputs of a camera.
    pub(super) fn make(
        &mut self,
        camera: usize,
        preprocess: &mut dyn Preprocess,
        frame: &Frame,
        inputs: &mut TensorSet,
        carry: &mut Carry,
    ) -> Result<(), DetectorError> {
        match self {
            Views::One => preprocess.run(frame, inputs, carry)?,
            Views::InTurn { inputs: names, .. } => {
                let names = || names.get(camera).into_iter().flatten();
                rename(names().map(|[own, name]| (own, name)), inputs);
                let made = preprocess.run(frame, inputs, carry);
                rename(names().map(|[own, name]| (name, own)), inputs);
                made?
            }
            Views::Together { tensors, .. } => {
                let made = preprocess.run(frame, tensors.inputs_mut(), carry)?;
                tensors.lay(camera, inputs)?;
                made
            }
        };
        Ok(())
    }

    /// The outputs of a camera, as its detector calls them.
    pub(super) fn outputs<'t>(
        &'t mut self,
        camera: usize,
        all: &'t TensorSet,
    ) -> Result<&'t TensorSet, DetectorError> {
        match self {
            Views::One => Ok(all),
            Views::InTurn {
                inputs,
                endings,
                lifted,
            } => {
                let is_input = |name: &str| {
                    inputs
                        .get(camera)
                        .into_iter()
                        .flatten()
                        .any(|[own, _]| own == name)
                };
                let ending = endings.get(camera).map_or("", String::as_str);
                for tensor in all.as_slice() {
                    // What the host has of them.
                    if let Some(name) = tensor.name().strip_suffix(ending)
                        && !is_input(tensor.name())
                        && tensor.bytes().len() == tensor.size()
                    {
                        copy(lifted, name, tensor.element(), *tensor.shape(), tensor.bytes())?;
                    }
                }
                Ok(lifted)
            }
            Views::Together { tensors, outputs } => {
                Ok(tensors.lift(camera, all, |name| outputs.contains(name))?)
            }
        }
    }
}

/// Calls the camera's tensors something else. A slot has either an input, or a block for it.
fn rename<'n>(names: impl Iterator<Item = (&'n String, &'n String)>, inputs: &mut TensorSet) {
    for (from, to) in names {
        if let Some(place) = inputs.find(from)
            && let Some(tensor) = inputs.as_mut_slice().get_mut(place)
        {
            tensor.rename(to);
        }
    }
}
