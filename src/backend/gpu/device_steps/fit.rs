//! An image fitted into a network's input, as a network.

use std::sync::Arc;

use super::f32_port;
use crate::backend::gpu::{Described, Execution, Location, Network, Port, Ports, failed};
use crate::backend::{BackendError, DeviceFit};
use crate::device_step::InputShape;
use crate::gpu::{Fit, Module, Stream};
use crate::tensor::Shape;

/// From the block that the host fills to the input.
pub(super) fn network(backend: &'static str, module: Arc<Module>, step: &DeviceFit) -> Box<dyn Network> {
    let block = Port {
        name: step.block.name.clone(),
        element: step.block.element,
        shape: vec![None],
        is_on_host: false,
    };
    let [width, height] = step.shape.size;
    let dims = match step.shape.interleaved {
        true => [1, height, width, 3],
        false => [1, 3, height, width],
    };
    Box::new(FitNetwork {
        backend,
        module,
        shape: step.shape,
        ports: Ports {
            network: "fit".to_owned(),
            inputs: vec![block],
            outputs: vec![f32_port(&step.input, &dims)],
        },
        input: Shape::new(&dims).expect("four dimensions are fewer than MAX_RANK"),
    })
}

struct FitNetwork {
    backend: &'static str,
    module: Arc<Module>,
    shape: InputShape,
    ports: Ports,
    input: Shape,
}

impl Described for FitNetwork {
    fn ports(&self) -> &Ports {
        &self.ports
    }

    fn output_shapes(&self, _: &[Shape]) -> Result<Vec<Shape>, BackendError> {
        Ok(vec![self.input])
    }
}

impl Network for FitNetwork {
    fn bind(&self, memory: &[Location]) -> Result<Box<dyn Execution>, BackendError> {
        let [block, input] = memory else {
            return Err(BackendError::Load {
                network: self.ports.network.clone(),
                backend: self.backend,
                problem: format!("it got {} tensors instead of 2", memory.len()),
            });
        };
        let fail = |error| failed(self.backend, "the fit", error);
        let spans = || Ok((block.on_device()?.clone(), input.on_device()?.clone()));
        let (block, input) = spans().map_err(fail)?;
        let fit = Fit::new(&self.module, self.shape, block, input).map_err(fail)?;
        Ok(Box::new(FitExecution {
            backend: self.backend,
            fit,
        }))
    }
}

struct FitExecution {
    backend: &'static str,
    fit: Fit,
}

impl Execution for FitExecution {
    /// Blocks differ in length; the input does not.
    fn reshape(&mut self, _: &[Shape], _: &mut [Shape]) -> Result<(), BackendError> {
        Ok(())
    }

    unsafe fn enqueue(&mut self, stream: &Stream) -> Result<(), BackendError> {
        self.fit
            .enqueue(stream)
            .map_err(|error| failed(self.backend, "the fit", error))
    }

    fn serves_every_shape(&self) -> bool {
        true
    }
}
