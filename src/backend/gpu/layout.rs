//! Which tensors a frame has, where each lies, and what is copied when: decided once, from the program and from what the
//! engines say of themselves.
//!
//! The steps are cut into segments: runs of engines that follow each other on the stream without a host step between. At
//! a segment's begin its inputs that the host made are copied in; at its end its outputs are copied out, but for those
//! that a later engine of the same segment takes: these stay on the device, unless the program reads them back.

use std::collections::BTreeMap;

use super::{Described, Port};
use crate::backend::{BackendError, Program, Step, TensorSpec, unknown_input};
use crate::gpu::{DeviceMemory, GpuError, PinnedAddress, Span};
use crate::tensor::{ElementType, Shape};

/// A tensor of a frame, in its largest shape.
#[derive(Clone, Debug, PartialEq)]
pub struct Tensor {
    /// Name of the tensor in the detector.
    pub name: String,
    /// Type of its elements.
    pub element: ElementType,
    /// The largest shape that a frame may give it.
    pub max_shape: Shape,
    /// Whether an engine reads or writes it in device memory.
    pub is_on_device: bool,
    /// Whether the host, or an engine there, reads or writes it. What only engines of one segment exchange is not.
    pub is_on_host: bool,
}

impl Tensor {
    /// Bytes of the largest shape.
    pub fn bytes(&self) -> usize {
        self.max_shape.len().saturating_mul(self.element.size())
    }
}

/// Where an engine finds a tensor. It keeps the memory alive, and has room for the largest shape.
#[derive(Clone, Debug)]
pub struct Location {
    host: Option<PinnedAddress>,
    on_device: Option<Span>,
    max_shape: Shape,
}

impl Location {
    /// Of a tensor with this memory on the host and on the device; none where it has none.
    pub(super) fn new(tensor: &Tensor, host: Option<PinnedAddress>, on_device: Option<Span>) -> Self {
        let has_room = |bytes: usize| bytes >= tensor.bytes();
        Location {
            host: host.filter(|host| has_room(host.bytes())),
            on_device: on_device.filter(|span| has_room(span.bytes())),
            max_shape: tensor.max_shape,
        }
    }

    /// Its pinned memory.
    ///
    /// # Errors
    /// The host does not have it.
    pub fn host(&self) -> Result<&PinnedAddress, GpuError> {
        self.host
            .as_ref()
            .ok_or_else(|| self.lacking("a tensor on the host"))
    }

    /// Its memory as the device sees it (pinned memory, where the device reads that directly).
    ///
    /// # Errors
    /// The device does not see it.
    pub fn on_device(&self) -> Result<&Span, GpuError> {
        self.on_device
            .as_ref()
            .ok_or_else(|| self.lacking("a tensor on the device"))
    }

    /// The largest shape that a frame may give it.
    pub fn max_shape(&self) -> Shape {
        self.max_shape
    }

    fn lacking(&self, what: &'static str) -> GpuError {
        GpuError::TooSmall {
            what,
            wanted: self.max_shape.len() as u64,
            found: 0,
        }
    }
}

/// An engine's place in the program.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct EngineUse {
    /// Position among the program's engines.
    pub engine: usize,
    /// Tensors that it reads, in the order of its ports.
    pub inputs: Vec<usize>,
    /// Tensors that it writes.
    pub outputs: Vec<usize>,
    /// Whether a shape can differ from frame to frame.
    pub is_dynamic: bool,
}

/// Engines that follow each other on the stream.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Segment {
    /// The engines, in order of execution.
    pub engines: Vec<EngineUse>,
    /// Tensors copied to the device before the first.
    pub uploads: Vec<usize>,
    /// Tensors copied back after the last.
    pub downloads: Vec<usize>,
}

/// One piece of a frame's work.
#[derive(Clone, Debug, PartialEq)]
pub enum Work {
    /// Engines and copies on the device.
    Segment(Segment),
    /// On the host: a step of the program, by position.
    Host(usize),
}

/// A frame's tensors and its work.
#[derive(Clone, Debug, PartialEq)]
pub struct Layout {
    /// All tensors of a frame; everything else refers to them by index.
    pub tensors: Vec<Tensor>,
    /// What is done for a frame, in order.
    pub work: Vec<Work>,
}

impl Layout {
    /// Decides for a program over these engines; with `zero_copy` nothing is copied.
    ///
    /// # Errors
    /// Every tensor of an engine that does not fit what the detector or an earlier engine makes of it, in one message
    /// each engine.
    pub fn new<N: Described + ?Sized>(
        backend: &'static str,
        program: &Program,
        networks: &[Box<N>],
        zero_copy: bool,
    ) -> Result<Self, BackendError> {
        let mut making = Making {
            backend,
            tensors: program.host_tensors.iter().map(of_host).collect(),
            by_name: BTreeMap::new(),
            read_back: &program.read_back,
        };
        for (place, tensor) in making.tensors.iter().enumerate() {
            making.by_name.insert(tensor.name.clone(), place);
        }
        let mut work = Vec::new();
        let mut segment = Segment::default();
        for (place, step) in program.steps.iter().enumerate() {
            match step {
                Step::Engine(engine) | Step::OfCamera { engine, .. } => {
                    let network = networks.get(*engine).ok_or_else(|| BackendError::Load {
                        network: format!("engine {engine}"),
                        backend,
                        problem: "the detector has no such engine".to_owned(),
                    })?;
                    segment
                        .engines
                        .push(making.engine(step, *engine, network.as_ref())?);
                }
                Step::Host(_) => {
                    making.close(&mut segment, &mut work, zero_copy);
                    work.push(Work::Host(place));
                }
            }
        }
        making.close(&mut segment, &mut work, zero_copy);
        for tensor in &mut making.tensors {
            tensor.is_on_host |= !tensor.is_on_device;
        }
        Ok(Layout {
            tensors: making.tensors,
            work,
        })
    }
}

fn of_host(spec: &TensorSpec) -> Tensor {
    Tensor {
        name: spec.name.clone(),
        element: spec.element,
        max_shape: spec.max_shape,
        is_on_device: false,
        is_on_host: false,
    }
}

struct Making<'a> {
    backend: &'static str,
    read_back: &'a [String],
    tensors: Vec<Tensor>,
    by_name: BTreeMap<String, usize>,
}

impl Making<'_> {
    fn engine<N: Described + ?Sized>(
        &mut self,
        step: &Step,
        engine: usize,
        network: &N,
    ) -> Result<EngineUse, BackendError> {
        let ports = network.ports();
        let mut problems = Vec::new();
        let mut inputs = Vec::new();
        for port in &ports.inputs {
            match self.by_name.get(&*step.tensor(&port.name)) {
                Some(&place) => {
                    let tensor = &mut self.tensors[place];
                    // Releases of TensorRT before 10 have no 64-bit integers, and take 32 bits in their place.
                    if (tensor.element, port.element) == (ElementType::I64, ElementType::I32) {
                        tensor.element = ElementType::I32;
                    }
                    if let Some(problem) = misfit(port, &self.tensors[place]) {
                        problems.push(problem);
                    }
                    self.uses(place, port);
                    inputs.push(place);
                }
                None => {
                    let known: Vec<&str> = self.tensors.iter().map(|tensor| tensor.name.as_str()).collect();
                    problems.push(unknown_input(&port.name, &known));
                }
            }
        }
        if !problems.is_empty() {
            return Err(self.unfit(&ports.network, &problems));
        }
        let shapes: Vec<Shape> = inputs
            .iter()
            .map(|place| self.tensors[*place].max_shape)
            .collect();
        let made = network.output_shapes(&shapes)?;
        let mut outputs = Vec::new();
        for (port, max_shape) in ports.outputs.iter().zip(made) {
            let place = *self
                .by_name
                .entry(step.tensor(&port.name).into_owned())
                .or_insert(self.tensors.len());
            if place == self.tensors.len() {
                self.tensors.push(Tensor {
                    name: step.tensor(&port.name).into_owned(),
                    element: port.element,
                    max_shape,
                    is_on_device: !port.is_on_host,
                    is_on_host: port.is_on_host,
                });
            } else if self.tensors[place].bytes() < max_shape.len().saturating_mul(port.element.size()) {
                problems.push(format!(
                    "its output `{}` of shape {max_shape} does not fit the detector's tensor of that name, of shape {}",
                    port.name, self.tensors[place].max_shape
                ));
            } else {
                self.uses(place, port);
            }
            outputs.push(place);
        }
        if !problems.is_empty() {
            return Err(self.unfit(&ports.network, &problems));
        }
        Ok(EngineUse {
            engine,
            inputs,
            outputs,
            is_dynamic: ports.inputs.iter().any(|port| port.shape.contains(&None)),
        })
    }

    fn uses(&mut self, place: usize, port: &Port) {
        self.tensors[place].is_on_device |= !port.is_on_host;
        self.tensors[place].is_on_host |= port.is_on_host;
    }

    fn unfit(&self, network: &str, problems: &[String]) -> BackendError {
        BackendError::Load {
            network: network.to_owned(),
            backend: self.backend,
            problem: format!("it does not fit the detector: {}", problems.join("; ")),
        }
    }

    /// Ends a segment: what the host made goes in, what no later engine of it takes comes out.
    fn close(&mut self, segment: &mut Segment, work: &mut Vec<Work>, zero_copy: bool) {
        if segment.engines.is_empty() {
            return;
        }
        let mut segment = std::mem::take(segment);
        let (mut made, mut taken) = (Vec::new(), Vec::new());
        for engine in &segment.engines {
            for input in &engine.inputs {
                if made.contains(input) {
                    taken.push(*input);
                } else if self.tensors[*input].is_on_device && !segment.uploads.contains(input) {
                    segment.uploads.push(*input);
                }
            }
            made.extend(&engine.outputs);
        }
        let is_read =
            |output: &usize| !taken.contains(output) || self.read_back.contains(&self.tensors[*output].name);
        made.retain(|output| is_read(output) && self.tensors[*output].is_on_device);
        segment.downloads = made;
        for place in segment.uploads.iter().chain(&segment.downloads) {
            self.tensors[*place].is_on_host = true;
        }
        if zero_copy {
            segment.uploads.clear();
            segment.downloads.clear();
        }
        work.push(Work::Segment(segment));
    }
}

/// Why a tensor cannot be an engine's input.
fn misfit(port: &Port, tensor: &Tensor) -> Option<String> {
    let dims = tensor.max_shape.dims();
    let fits = port.shape.len() == dims.len()
        && port
            .shape
            .iter()
            .zip(dims)
            .all(|(wanted, found)| wanted.is_none_or(|wanted| wanted == *found));
    if !fits {
        let shown: Vec<String> = port
            .shape
            .iter()
            .map(|dim| dim.map_or("?".to_owned(), |dim| dim.to_string()))
            .collect();
        return Some(format!(
            "its input `{}` has shape [{}], but the detector produces {}",
            port.name,
            shown.join(", "),
            tensor.max_shape
        ));
    }
    (port.element != tensor.element).then(|| {
        format!(
            "its input `{}` has type {}, but the detector produces {}",
            port.name,
            port.element.name(),
            tensor.element.name()
        )
    })
}

/// Device memory for each tensor that needs some: without copies, what the host does not have.
pub(super) fn allocate(
    layout: &Layout,
    gpu: &std::sync::Arc<crate::gpu::Gpu>,
    zero_copy: bool,
) -> Result<Vec<Option<DeviceMemory>>, crate::gpu::GpuError> {
    let needed = |tensor: &Tensor| {
        let is_copied = !zero_copy || !tensor.is_on_host;
        (tensor.is_on_device && is_copied).then(|| DeviceMemory::new(gpu, tensor.bytes()))
    };
    layout
        .tensors
        .iter()
        .map(|tensor| needed(tensor).transpose())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::gpu::Ports;

    /// From some tensors to others, of four numbers each.
    struct Link(Ports);

    impl Described for Link {
        fn ports(&self) -> &Ports {
            &self.0
        }
        fn output_shapes(&self, _: &[Shape]) -> Result<Vec<Shape>, BackendError> {
            Ok(vec![four(); self.0.outputs.len()])
        }
    }

    fn four() -> Shape {
        Shape::new(&[4]).expect("one dimension")
    }

    fn link(inputs: &[&str], outputs: &[&str]) -> Box<Link> {
        let port = |name: &&str| Port {
            name: (*name).to_owned(),
            element: ElementType::F32,
            shape: vec![Some(4)],
            is_on_host: false,
        };
        Box::new(Link(Ports {
            network: "link".to_owned(),
            inputs: inputs.iter().map(port).collect(),
            outputs: outputs.iter().map(port).collect(),
        }))
    }

    /// Which tensors the host has, which are copied in and out.
    fn of_chain(read_back: &[&str], zero_copy: bool) -> [Vec<String>; 3] {
        let networks = [
            link(&["in"], &["features", "cells"]),
            link(&["features", "cells"], &["canvas"]),
            link(&["canvas"], &["out"]),
        ];
        let program = Program {
            steps: (0..3).map(Step::Engine).collect(),
            // A step of the host would have made the canvas.
            host_tensors: ["in", "canvas"]
                .map(|name| TensorSpec {
                    name: name.to_owned(),
                    element: ElementType::F32,
                    max_shape: four(),
                })
                .into(),
            read_back: read_back.iter().map(|name| (*name).to_owned()).collect(),
            ..Program::default()
        };
        let layout = Layout::new("test", &program, &networks, zero_copy).expect("it fits");
        let [Work::Segment(segment)] = &layout.work[..] else {
            panic!("one segment: {:?}", layout.work)
        };
        let names = |places: &[usize]| -> Vec<String> {
            let named = places.iter().map(|place| layout.tensors[*place].name.clone());
            named.collect()
        };
        let on_host = layout.tensors.iter().filter(|tensor| tensor.is_on_host);
        [
            on_host.map(|tensor| tensor.name.clone()).collect(),
            names(&segment.uploads),
            names(&segment.downloads),
        ]
    }

    #[test]
    fn what_only_engines_exchange_has_no_place_on_the_host() {
        let [on_host, uploads, downloads] = of_chain(&[], false);
        assert_eq!(on_host, ["in", "out"]);
        assert_eq!(
            (uploads, downloads),
            (vec!["in".to_owned()], vec!["out".to_owned()])
        );
        let [on_host, uploads, downloads] = of_chain(&[], true);
        assert_eq!(on_host, ["in", "out"]);
        assert!(uploads.is_empty() && downloads.is_empty());
    }

    #[test]
    fn what_the_program_reads_back_comes_back() {
        let [on_host, _, downloads] = of_chain(&["cells"], false);
        assert_eq!(on_host, ["in", "cells", "out"]);
        assert_eq!(downloads, ["cells", "out"]);
        assert_eq!(of_chain(&["cells"], true)[0], ["in", "cells", "out"]);
    }
}
