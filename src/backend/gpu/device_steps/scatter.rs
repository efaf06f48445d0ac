//! The scatter between a pillar encoder and its backbone, as a network.

use std::sync::Arc;

use super::f32_port;
use crate::backend::gpu::{Described, Execution, Location, Network, Port, Ports, failed};
use crate::backend::{BackendError, DeviceScatter};
use crate::device_step::CanvasShape;
use crate::gpu::{Module, Scatter, Stream};
use crate::tensor::{ElementType, Shape};

/// Over the features as their encoder describes them.
pub(super) fn network(
    backend: &'static str,
    name: &str,
    module: Arc<Module>,
    step: &DeviceScatter,
    features: Port,
) -> Box<dyn Network> {
    let [nx, ny] = step.shape.cells;
    let cells = Port {
        name: step.cells.clone(),
        element: ElementType::I32,
        shape: vec![Some(1), None, Some(2)],
        is_on_host: false,
    };
    let ports = Ports {
        network: name.to_owned(),
        inputs: vec![features, cells],
        outputs: vec![f32_port(&step.canvas, &[1, step.shape.channels, ny, nx])],
    };
    Box::new(ScatterNetwork {
        backend,
        module,
        shape: step.shape,
        ports,
    })
}

struct ScatterNetwork {
    backend: &'static str,
    module: Arc<Module>,
    shape: CanvasShape,
    ports: Ports,
}

impl ScatterNetwork {
    fn canvas(&self) -> Result<Shape, BackendError> {
        let [nx, ny] = self.shape.cells;
        Shape::new(&[1, self.shape.channels, ny, nx]).ok_or_else(|| BackendError::Load {
            network: self.ports.network.clone(),
            backend: self.backend,
            problem: "its canvas has too many dimensions".to_owned(),
        })
    }
}

impl Described for ScatterNetwork {
    fn ports(&self) -> &Ports {
        &self.ports
    }

    fn output_shapes(&self, _: &[Shape]) -> Result<Vec<Shape>, BackendError> {
        Ok(vec![self.canvas()?])
    }
}

impl Network for ScatterNetwork {
    fn bind(&self, memory: &[Location]) -> Result<Box<dyn Execution>, BackendError> {
        let [features, cells, canvas] = memory else {
            return Err(BackendError::Load {
                network: self.ports.network.clone(),
                backend: self.backend,
                problem: format!("it got {} tensors instead of 3", memory.len()),
            });
        };
        let scatter = || {
            let span = |location: &Location| location.on_device().cloned();
            Scatter::new(
                &self.module,
                self.shape,
                span(features)?,
                span(cells)?,
                span(canvas)?,
            )
        };
        let scatter = scatter().map_err(|error| failed(self.backend, "the scatter", error))?;
        Ok(Box::new(ScatterExecution {
            backend: self.backend,
            scatter,
            channels: self.shape.channels,
            canvas: self.canvas()?,
            rows: features.max_shape().len() / self.shape.channels,
            pillars: cells.max_shape().len() / 2,
        }))
    }
}

struct ScatterExecution {
    backend: &'static str,
    scatter: Scatter,
    channels: usize,
    canvas: Shape,
    /// Rows of the frame's features, and its pillars.
    rows: usize,
    pillars: usize,
}

impl Execution for ScatterExecution {
    fn reshape(&mut self, inputs: &[Shape], outputs: &mut [Shape]) -> Result<(), BackendError> {
        let [features, cells] = inputs else { return Ok(()) };
        self.rows = features.len() / self.channels;
        self.pillars = cells.len() / 2;
        outputs.fill(self.canvas);
        Ok(())
    }

    unsafe fn enqueue(&mut self, stream: &Stream) -> Result<(), BackendError> {
        self.scatter
            .enqueue(stream, self.pillars, self.rows)
            .map_err(|error| failed(self.backend, "the scatter", error))
    }
}
