//! Steps of the host that the device can do: they become networks of our own, so that nothing goes back to the host between
//! the engines on either side, and what comes before the first engine is done beside it.
//!
//! [`fold`] changes the program; layout, slots and graphs then treat such a step as they treat any engine.

mod fit;
mod pillars;
mod scatter;

use std::sync::Arc;

use super::fallback::Fallback;
use super::{KernelError, Network, Port, kernels};
use crate::backend::{DeviceInput, DeviceStep, HostStep, Program, Step, TensorSpec};
use crate::gpu::{FIT, Gpu, Module, PILLARS, SCATTER};
use crate::record::Finding;
use crate::tensor::ElementType;

/// A program whose steps of the host became networks where the device can do them, with these networks after the others.
///
/// A step whose kernels the device does not have stays on the host: that is a finding, and no error.
pub(super) fn fold(
    backend: &'static str,
    gpu: &Arc<Gpu>,
    program: &Program,
    networks: &mut Vec<Box<dyn Network>>,
) -> (Program, Option<Finding>) {
    let (mut folded, before) = (program.clone(), networks.len());
    let mut staying: Vec<(&str, KernelError)> = Vec::new();
    for first in &program.first {
        let (name, source) = match first {
            DeviceInput::Fit(_) => ("resize of images", FIT),
            DeviceInput::Pillars(_) => ("voxelisation", PILLARS),
        };
        match kernels(gpu, source) {
            Ok(module) => begin(backend, &mut folded, networks, module, first),
            Err(error) => staying.push((name, error)),
        }
    }
    for (host, step) in host_steps(program) {
        let Some(DeviceStep::Scatter(scatter)) = host.on_device() else {
            continue;
        };
        let mut made = networks.iter().flat_map(|network| &network.ports().outputs);
        let Some(features) = made.find(|port| port.name == scatter.features).cloned() else {
            continue;
        };
        match kernels(gpu, SCATTER) {
            Ok(module) => {
                // What begins stands before all of the program's own.
                let place = step + folded.steps.len() - program.steps.len();
                folded.steps[place] = Step::Engine(networks.len());
                folded
                    .host_tensors
                    .retain(|tensor| tensor.name != scatter.written);
                networks.push(scatter::network(backend, host.name(), module, &scatter, features));
            }
            Err(error) => staying.push((host.name(), error)),
        }
    }
    let finding = match staying.first() {
        Some((_, error)) => {
            let steps: Vec<&str> = staying.iter().map(|(name, _)| *name).collect();
            Some(Fallback::StepsOnHost { steps: &steps, error }.into())
        }
        None if networks.len() == before => Some(Fallback::NoStepHasAKernel.into()),
        None => None,
    };
    (folded, finding)
}

/// The program's host steps with their places.
fn host_steps(program: &Program) -> impl Iterator<Item = (&dyn HostStep, usize)> {
    let steps = program.steps.iter().enumerate();
    steps.filter_map(|(place, step)| match step {
        Step::Host(host) => Some((host.as_ref(), place)),
        Step::Engine(_) | Step::OfCamera { .. } => None,
    })
}

/// Puts the step before all others: the host fills a block, and what it made before is made on the device.
fn begin(
    backend: &'static str,
    program: &mut Program,
    networks: &mut Vec<Box<dyn Network>>,
    module: Arc<Module>,
    step: &DeviceInput,
) {
    let mut take = |name: &String| {
        let tensors = &mut program.host_tensors;
        let place = tensors.iter().position(|tensor| tensor.name == *name)?;
        Some(tensors.remove(place))
    };
    let (block, network) = match step {
        DeviceInput::Fit(fit) => {
            take(&fit.input);
            (&fit.block, fit::network(backend, module, fit))
        }
        DeviceInput::Pillars(pillars) => {
            let names = std::iter::once(&pillars.cells).chain(pillars.tensors.iter().map(|(name, _)| name));
            let made: Vec<TensorSpec> = names.filter_map(&mut take).collect();
            (&pillars.block, pillars::network(backend, module, pillars, &made))
        }
    };
    program.host_tensors.push(block.clone());
    program.steps.insert(0, Step::Engine(networks.len()));
    networks.push(network);
}

fn f32_port(name: &str, dims: &[usize]) -> Port {
    Port {
        name: name.to_owned(),
        element: ElementType::F32,
        shape: dims.iter().copied().map(Some).collect(),
        is_on_host: false,
    }
}
