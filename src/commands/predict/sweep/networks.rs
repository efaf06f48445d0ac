//! The layers of the networks that runs name, each read once, from the file that has the hash that the run states.

use std::collections::HashMap;

use jetlag_predict::LayerTable;
use jetlag_work::{Given, Graph};

use super::super::super::opening;
use super::super::super::work::of_detector;
use super::super::described;
use super::runs::Run;
use crate::backend::NetworkSource;
use crate::detector::Detector;
use crate::files;

/// A network as a model takes it.
pub(super) struct Described {
    pub(super) table: LayerTable,
    /// The shapes of its inputs for one item: `3x224x224`.
    pub(super) shape: String,
}

/// Networks by the detector that names them, what it is fed, and their hash.
#[derive(Default)]
pub(super) struct Networks {
    known: HashMap<String, Result<Described, String>>,
}

impl Networks {
    /// The network of a run, or a sentence why its layers are not known.
    pub(super) fn of(&mut self, run: &Run<'_>) -> &Result<Described, String> {
        let key = format!(
            "{:?} {:?} {} {}",
            run.detector,
            run.made.as_ref().map(|made| &made.shapes),
            run.is_batched,
            run.hash
        );
        self.known.entry(key).or_insert_with(|| read(run))
    }
}

fn read(run: &Run<'_>) -> Result<Described, String> {
    let detector = opening::fed(&run.detector, run.made.as_ref()).map_err(|error| {
        format!("{error}; paths are those of the run, so start from the folder where the sweep was started")
    })?;
    let [engine] = &detector.program.engines[..] else {
        return Err("the detector has several networks now".to_owned());
    };
    let changed = |found: &str| {
        format!(
            "{engine} has changed since the run: its BLAKE3 is {found}, and the run's {}; restore it, or run the sweep again",
            run.hash
        )
    };
    let (hash, graph) = match engine {
        NetworkSource::File(path) => {
            let bytes = files::read(path, files::NETWORK)
                .map_err(|error| format!("cannot read {}: {error}", path.display()))?;
            (blake3::hash(&bytes), Graph::open(path))
        }
        NetworkSource::Embedded { bytes, .. } => (blake3::hash(bytes), Graph::from_bytes(bytes)),
    };
    if hash.to_hex().as_str() != run.hash {
        return Err(changed(hash.to_hex().as_str()));
    }
    let graph = graph.map_err(|error| error.to_string())?;
    let mut given = of_detector(&detector, engine, Given::default()).map_err(|error| error.to_string())?;
    if run.is_batched {
        // Models count layers for a batch of one and take the batch apart.
        for first in given.shapes.values_mut().filter_map(|shape| shape.first_mut()) {
            *first = 1;
        }
    }
    // A detector's frame is one item, also where the first dimension is something else, as pillars are.
    let (table, _) = described(&graph, &given, Some(1))?;
    Ok(Described {
        table,
        shape: shape(&detector),
    })
}

/// The inputs for one item, in the network's order.
fn shape(detector: &Detector) -> String {
    let one = |tensor: &crate::backend::TensorSpec| {
        let dims = tensor.max_shape.dims().iter().skip(1);
        dims.map(ToString::to_string).collect::<Vec<_>>().join("x")
    };
    let all: Vec<String> = detector.program.host_tensors.iter().map(one).collect();
    all.join(",")
}
