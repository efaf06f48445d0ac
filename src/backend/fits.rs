//! Whether the tensors of networks fit into this machine's memory, told before a runtime asks for them: one that is refused memory
//! may end the process, or the system ends it.
//!
//! The largest tensor that a single node makes is a lower bound of what any runtime needs. Nodes of constants count too, for a runtime
//! computes them when it loads a network. Sizes that depend on data are known from above alone: these are told and not refused.

use jetlag_work::{Bound, Given, Graph, NodeWork, Options, work};

use super::{BackendError, NetworkSource, Program, TensorSpec, without_camera};

/// Looks at each network of a program, with the largest tensors that the host feeds. One whose sizes are not known is not refused.
///
/// # Errors
/// [`BackendError::OutOfMemory`], where a tensor has more bytes than the `free` ones.
#[cfg_attr(not(any(feature = "cpu", feature = "onnxruntime")), expect(dead_code))]
pub(super) fn check(backend: &'static str, program: &Program, free: Option<u64>) -> Result<(), BackendError> {
    let Some(free) = free else { return Ok(()) };
    let is_fed = |tensor: &TensorSpec| {
        let elements = tensor
            .max_shape
            .dims()
            .iter()
            .map(|dim| *dim as f64)
            .product::<f64>();
        elements <= free as f64
    };
    if !program.host_tensors.iter().all(is_fed) {
        return Ok(()); // What the host feeds is told where its memory is set aside.
    }
    for engine in &program.engines {
        let Some(nodes) = nodes(engine, program) else {
            continue;
        };
        let too_large = |bound: Bound| {
            let of_bound = nodes.iter().filter(move |node| node.bound == bound);
            let mut sizes = of_bound.map(|node| (node, largest(node)));
            sizes.find(|(_, bytes)| *bytes > free as f64)
        };
        let told = |(node, bytes): (&NodeWork, f64), of: &str| {
            format!(
                "its node `{}` ({}) makes a tensor of {of}{:.1} GB, and {:.1} GB are free",
                node.name.escape_debug(),
                node.operator.escape_debug(),
                bytes / 1e9,
                free as f64 / 1e9
            )
        };
        if let Some(found) = too_large(Bound::Exact) {
            return Err(BackendError::OutOfMemory {
                backend,
                problem: format!(
                    "not enough memory for {engine}: {}; use smaller shapes or a smaller batch",
                    told(found, "")
                ),
            });
        }
        if let Some(found) = too_large(Bound::UpperBound) {
            log::warn!(
                "{engine}: {}; where its data ask for more than that, the run ends without a report",
                told(found, "up to ")
            );
        }
    }
    Ok(())
}

fn nodes(engine: &NetworkSource, program: &Program) -> Option<Vec<NodeWork>> {
    let graph = match engine {
        NetworkSource::File(path) => Graph::open(path),
        NetworkSource::Embedded { bytes, .. } => Graph::from_bytes(bytes),
    }
    .ok()?;
    let mut given = Given::default();
    let inputs = graph.inputs();
    for tensor in &program.host_tensors {
        let name = without_camera(&tensor.name);
        if inputs.iter().any(|input| input.name == name) {
            let dims = tensor.max_shape.dims().iter().map(|dim| *dim as u64);
            given.shapes.insert(name.to_owned(), dims.collect());
        }
    }
    Some(work(&graph, &given, &Options::default()).ok()?.nodes)
}

/// At least so many bytes; elements of a type that is not known have one.
fn largest(node: &NodeWork) -> f64 {
    let bytes = node.element.bits().unwrap_or(8) as f64 / 8.0;
    let elements = |dims: &Vec<u64>| dims.iter().map(|dim| *dim as f64).product::<f64>();
    let outputs = node.outputs.iter().flatten();
    // The type is the first output's; others may have smaller elements.
    let sizes = outputs.enumerate().map(|(place, dims)| match place {
        0 => elements(dims) * bytes,
        _ => elements(dims) / 8.0,
    });
    sizes.fold(0.0, f64::max)
}
