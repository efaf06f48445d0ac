//! Points to pillars and to an encoder's inputs, as a network.

use std::sync::Arc;

use crate::backend::gpu::{Described, Execution, Location, Network, Port, Ports, failed};
use crate::backend::{BackendError, DevicePillars, TensorSpec};
use crate::device_step::{PillarRules, PillarTensor};
use crate::gpu::{GpuError, Module, Pillars, Stream};
use crate::tensor::Shape;

/// From the block that the host fills to `made`: the cells, then the tensors, each in its largest shape.
pub(super) fn network(
    backend: &'static str,
    module: Arc<Module>,
    step: &DevicePillars,
    made: &[TensorSpec],
) -> Box<dyn Network> {
    let port = |spec: &TensorSpec| Port {
        name: spec.name.clone(),
        element: spec.element,
        shape: spec.max_shape.dims().iter().copied().map(Some).collect(),
        is_on_host: false,
    };
    let block = Port {
        shape: vec![None, Some(4)],
        ..port(&step.block)
    };
    Box::new(PillarNetwork {
        backend,
        module,
        rules: step.rules,
        tensors: step.tensors.iter().map(|(_, tensor)| tensor.clone()).collect(),
        ports: Ports {
            network: "voxelisation".to_owned(),
            inputs: vec![block],
            outputs: made.iter().map(port).collect(),
        },
        shapes: made.iter().map(|spec| spec.max_shape).collect(),
    })
}

struct PillarNetwork {
    backend: &'static str,
    module: Arc<Module>,
    rules: PillarRules,
    tensors: Vec<PillarTensor>,
    ports: Ports,
    shapes: Vec<Shape>,
}

impl Described for PillarNetwork {
    fn ports(&self) -> &Ports {
        &self.ports
    }

    fn output_shapes(&self, _: &[Shape]) -> Result<Vec<Shape>, BackendError> {
        Ok(self.shapes.clone())
    }
}

impl Network for PillarNetwork {
    fn bind(&self, memory: &[Location]) -> Result<Box<dyn Execution>, BackendError> {
        let [block, cells, tensors @ ..] = memory else {
            return Err(BackendError::Load {
                network: self.ports.network.clone(),
                backend: self.backend,
                problem: format!("it got {} tensors, but needs at least 2", memory.len()),
            });
        };
        let pillars = || {
            let span = |location: &Location| location.on_device().cloned();
            let spans = tensors.iter().map(span).zip(self.tensors.iter().cloned());
            let tensors = spans.map(|(span, tensor)| Ok((span?, tensor)));
            Pillars::new(
                &self.module,
                self.rules,
                span(block)?,
                span(cells)?,
                tensors.collect::<Result<_, GpuError>>()?,
            )
        };
        let pillars = pillars().map_err(|error| failed(self.backend, "the voxelisation", error))?;
        Ok(Box::new(PillarExecution {
            backend: self.backend,
            pillars,
        }))
    }
}

struct PillarExecution {
    backend: &'static str,
    pillars: Pillars,
}

impl Execution for PillarExecution {
    /// Blocks differ in length; what is made of them does not.
    fn reshape(&mut self, _: &[Shape], _: &mut [Shape]) -> Result<(), BackendError> {
        Ok(())
    }

    unsafe fn enqueue(&mut self, stream: &Stream) -> Result<(), BackendError> {
        self.pillars
            .enqueue(stream)
            .map_err(|error| failed(self.backend, "the voxelisation", error))
    }

    fn serves_every_shape(&self) -> bool {
        true
    }
}
