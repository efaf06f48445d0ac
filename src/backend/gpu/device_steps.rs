//! Steps of the host that the device can do: they become networks of our own, so that nothing goes back to the host between
//! the engines on either side, and what comes before the first engine is done beside it.
//!
//! [`fold`] changes the program; layout, slots and graphs then treat such a step as they treat any engine.

mod fit;
mod pillars;
mod scatter;

use std::sync::Arc;

use super::{KernelError, Location, Network, Port, kernels};
use crate::backend::{DeviceInput, DeviceStep, Program, Step, TensorSpec};
use crate::gpu::{FIT, Gpu, Module, PILLARS, SCATTER, Span};
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
) -> (Program, Vec<Finding>) {
    let (mut folded, mut findings) = (program.clone(), Vec::new());
    for step in &mut folded.steps {
        let Step::Host(host) = step else { continue };
        let Some(DeviceStep::Scatter(scatter)) = host.on_device() else {
            continue;
        };
        let made = networks.iter().flat_map(|network| &network.ports().outputs);
        let Some(features) = made
            .into_iter()
            .find(|port| port.name == scatter.features)
            .cloned()
        else {
            continue;
        };
        match kernels(gpu, SCATTER) {
            Ok(module) => {
                networks.push(scatter::network(backend, host.name(), module, &scatter, features));
                *step = Step::Engine(networks.len() - 1);
            }
            Err(error) => findings.push(stays(host.name(), &error)),
        }
    }
    if let Some(first) = &program.first {
        let (name, source) = match first {
            DeviceInput::Fit(_) => ("pre-processing of images", FIT),
            DeviceInput::Pillars(_) => ("voxelisation", PILLARS),
        };
        match kernels(gpu, source) {
            Ok(module) => begin(backend, &mut folded, networks, module, first),
            Err(error) => findings.push(stays(name, &error)),
        }
    }
    (folded, findings)
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

fn stays(step: &str, error: &KernelError) -> Finding {
    Finding {
        code: "step-on-host".to_owned(),
        tenant: None,
        message: format!("`preprocess: Gpu` was asked for, and its {step} stays on the host: {error}."),
        advice: "Install NVRTC, or set `preprocess: Host`.".to_owned(),
    }
}

fn f32_port(name: &str, dims: &[usize]) -> Port {
    Port {
        name: name.to_owned(),
        element: ElementType::F32,
        shape: dims.iter().copied().map(Some).collect(),
        is_on_host: false,
    }
}

fn span(location: &Location) -> Span {
    Span {
        address: location.device,
        bytes: location.bytes,
    }
}
