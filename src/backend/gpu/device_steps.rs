//! Host steps that the device can do: they become networks of our own, so that nothing goes back to the host between the
//! engines on either side.
//!
//! [`fold`] changes the program; layout, slots and graphs then treat such a step as they treat any engine.

use std::sync::Arc;

use super::{Described, Execution, KernelError, Location, Network, Port, Ports, failed, kernels};
use crate::backend::{BackendError, DeviceStep, Program, Step};
use crate::gpu::{CanvasShape, Gpu, Module, SCATTER, Scatter, Span, Stream};
use crate::record::Finding;
use crate::tensor::{ElementType, Shape};

/// A program whose host steps became networks where the device can do them, with these networks after the others.
///
/// A step whose kernels the device does not have stays on the host: that is a finding, and no error.
pub fn fold(
    backend: &'static str,
    gpu: &Arc<Gpu>,
    program: &Program,
    networks: &mut Vec<Box<dyn Network>>,
) -> (Program, Option<Finding>) {
    let mut folded = program.clone();
    for step in &mut folded.steps {
        let Step::Host(host) = step else { continue };
        let Some(DeviceStep::Scatter(scatter)) = host.on_device() else {
            continue;
        };
        let module = match kernels(gpu, SCATTER) {
            Ok(module) => module,
            Err(error) => return (program.clone(), Some(stays(host.name(), &error))),
        };
        let port = |name: &str| {
            let made = networks.iter().flat_map(|network| &network.ports().outputs);
            made.into_iter().find(|port| port.name == name).cloned()
        };
        let Some(features) = port(&scatter.features) else {
            continue;
        };
        let [nx, ny] = scatter.shape.cells;
        let f32_port = |name: &str, dims: [usize; 4]| Port {
            name: name.to_owned(),
            element: ElementType::F32,
            shape: dims.map(Some).to_vec(),
            is_on_host: false,
        };
        let cells = Port {
            name: scatter.cells.clone(),
            element: ElementType::I32,
            shape: vec![Some(1), None, Some(2)],
            is_on_host: false,
        };
        let ports = Ports {
            network: host.name().to_owned(),
            inputs: vec![features, cells],
            outputs: vec![f32_port(&scatter.canvas, [1, scatter.shape.channels, ny, nx])],
        };
        *step = Step::Engine(networks.len());
        networks.push(Box::new(ScatterNetwork {
            backend,
            module,
            shape: scatter.shape,
            ports,
        }));
    }
    (folded, None)
}

fn stays(step: &str, error: &KernelError) -> Finding {
    Finding {
        code: "step-on-host".to_owned(),
        tenant: None,
        message: format!("`preprocess: Gpu` was asked for, and its {step} stays on the host: {error}."),
        advice: "Install NVRTC, or set `preprocess: Host`.".to_owned(),
    }
}

/// The scatter as a network.
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
        let span = |location: &Location| Span {
            address: location.device,
            bytes: location.bytes,
        };
        let [features, cells, canvas] = memory else {
            return Err(BackendError::Load {
                network: self.ports.network.clone(),
                backend: self.backend,
                problem: format!("it was given {} tensors instead of 3", memory.len()),
            });
        };
        let scatter = Scatter::new(
            &self.module,
            self.shape,
            span(features),
            span(cells),
            span(canvas),
        )
        .map_err(|error| failed(self.backend, "the scatter", error))?;
        Ok(Box::new(ScatterExecution {
            backend: self.backend,
            scatter,
            channels: self.shape.channels,
            canvas: self.canvas()?,
            rows: features.max_shape.len() / self.shape.channels,
            pillars: cells.max_shape.len() / 2,
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

    fn enqueue(&mut self, stream: &Stream) -> Result<(), BackendError> {
        self.scatter
            .enqueue(stream, self.pillars, self.rows)
            .map_err(|error| failed(self.backend, "the scatter", error))
    }
}
