//! The static work of a run's networks, for its file: counted before the clock starts, from the networks' files. What cannot be
//! counted is said in the manifest and never keeps a run from starting.

use jetlag_work::{As, Bound, Element, Given, Graph, Moves, NodeWork, Options, Work, WorkError, work};

use super::opening;
use super::work::of_detector;
use crate::backend::NetworkSource;
use crate::detector::Detector;
use crate::record::{Manifest, MovedTensor, NetworkWork, Sureness, WorkRecord};
use crate::scenario::{BackendChoice, Scenario, Tenant};

/// Counts the work of all tenants that execute networks: totals go into the manifest, nodes are returned for their channels.
pub(in crate::commands) fn count(scenario: &Scenario, manifest: &mut Manifest) -> Vec<WorkRecord> {
    let mut records = Vec::new();
    for (number, tenant) in scenario.tenants.iter().enumerate() {
        if tenant.backend.executes() {
            records.extend(of_tenant(number, tenant, manifest, false));
        }
    }
    records
}

/// Counts again what a run's file lacks, from networks that are still where they were and have the hash that the file states. The
/// sentences say of which tenants.
pub(in crate::commands) fn again(manifest: &mut Manifest) -> (Vec<WorkRecord>, Vec<String>) {
    let Some(scenario) = manifest.scenario().cloned() else {
        return (Vec::new(), Vec::new());
    };
    let (mut records, mut notes) = (Vec::new(), Vec::new());
    for (number, tenant) in scenario.tenants.iter().enumerate() {
        let own = manifest.tenants.get(number).map_or(&[][..], |own| &own.networks);
        let is_told = own
            .iter()
            .any(|network| network.work.is_some() || network.no_work.is_some());
        if own.is_empty() || is_told || !tenant.backend.executes() {
            continue;
        }
        records.extend(of_tenant(number, tenant, manifest, true));
        let networks = manifest.tenants.get(number).map_or(&[][..], |own| &own.networks);
        if networks.iter().any(|network| network.work.is_some()) {
            notes.push(format!(
                "The file of {}'s run does not have the work of its networks; it was counted now, from the same files.",
                tenant.name
            ));
        }
    }
    (records, notes)
}

/// The nodes of one tenant's networks; sums, or why there are none, go into the manifest.
fn of_tenant(number: usize, tenant: &Tenant, manifest: &mut Manifest, checks_hash: bool) -> Vec<WorkRecord> {
    let Some(own) = manifest.tenants.get_mut(number) else {
        return Vec::new();
    };
    let Some(reference) = &tenant.detector else {
        return Vec::new();
    };
    let detector = match opening::fed(reference, tenant.made.as_ref()) {
        Ok(detector) => detector,
        Err(error) => {
            own.networks
                .iter_mut()
                .for_each(|network| network.no_work = Some(error.to_string()));
            return Vec::new();
        }
    };
    let mut records = Vec::new();
    let engines = detector.program.engines.iter().zip(&mut own.networks).enumerate();
    for (place, (engine, network)) in engines {
        let is_same = !checks_hash || hash(engine).is_some_and(|hash| hash == network.blake3);
        let steps = detector.program.steps.iter();
        let executions = steps.filter(|step| step.engine() == Some(place)).count();
        let counted = match is_same {
            // Its nodes' times are those of all executions, and its work that of one.
            true if executions > 1 => Err(format!(
                "a frame executes it {executions} times, once for each camera, and work is counted where that is once"
            )),
            true => one(&detector, engine, &tenant.backend),
            false => Err("its file is not there any more, or is another one now".to_owned()),
        };
        match counted {
            Ok(counted) => {
                network.work = Some(totals(&counted));
                let nodes = counted.nodes.iter().enumerate();
                records.extend(nodes.map(|(node, of)| record(of, (number, place, node))));
            }
            Err(why) => {
                log::info!(
                    "tenant {}: the work of {} is not known: {why}",
                    tenant.name,
                    network.name
                );
                network.no_work = Some(why);
            }
        }
    }
    records
}

/// Why no backend can execute a network: nodes in a circle, shapes that contradict each other or the graph; a sentence. What keeps its work
/// from being counted for another reason is no such thing.
pub(in crate::commands) fn contradiction(detector: &Detector, engine: &NetworkSource) -> Option<String> {
    if engine.is_plan() {
        return None;
    }
    let graph = match engine {
        NetworkSource::File(path) => Graph::open(path),
        NetworkSource::Embedded { bytes, .. } => Graph::from_bytes(bytes),
    };
    let given = of_detector(detector, engine, Given::default()).ok()?;
    let error = match graph.and_then(|graph| work(&graph, &given, &Options::default())) {
        Ok(_) => return None,
        Err(error) => error,
    };
    let is_contradiction = matches!(
        error,
        WorkError::Cycle { .. }
            | WorkError::Undefined { .. }
            | WorkError::Twice { .. }
            | WorkError::GivenShape { .. }
            | WorkError::Contradiction { .. }
    );
    is_contradiction.then(|| error.to_string())
}

fn hash(engine: &NetworkSource) -> Option<String> {
    let hash = match engine {
        NetworkSource::File(path) => blake3::hash(&crate::files::read(path, crate::files::NETWORK).ok()?),
        NetworkSource::Embedded { bytes, .. } => blake3::hash(bytes),
    };
    Some(hash.to_hex().to_string())
}

fn one(detector: &Detector, engine: &NetworkSource, backend: &BackendChoice) -> Result<Work, String> {
    if engine.is_plan() {
        return Err("it is a plan, which does not hold the network that it was built of".to_owned());
    }
    let graph = match engine {
        NetworkSource::File(path) => Graph::open(path),
        NetworkSource::Embedded { bytes, .. } => Graph::from_bytes(bytes),
    };
    let graph = graph.map_err(|error| error.to_string())?;
    let given = of_detector(detector, engine, Given::default()).map_err(|error| error.to_string())?;
    let options = Options {
        element: element(backend),
        training: None,
    };
    work(&graph, &given, &options).map_err(|error| error.to_string())
}

/// What a plan's options make of floats; a plan that is given says nothing here.
fn element(backend: &BackendChoice) -> As {
    let BackendChoice::TensorRt { build, .. } = backend else {
        return As::Stored;
    };
    let asked = |precision: &str| {
        let spelled = format!("--precision={precision}");
        let pairs = build.windows(2).any(|pair| {
            pair.first().is_some_and(|word| word == "--precision")
                && pair.get(1).is_some_and(|word| word == precision)
        });
        pairs
            || build
                .iter()
                .any(|word| *word == spelled || word.contains(&format!("--precision {precision}")))
    };
    match (asked("int8"), asked("fp16")) {
        (true, _) => As::Int8,
        (_, true) => As::Fp16,
        _ => As::Stored,
    }
}

fn totals(counted: &Work) -> NetworkWork {
    let totals = &counted.totals;
    NetworkWork {
        inputs: counted.inputs.iter().cloned().collect(),
        precision: precision(counted),
        nodes: totals.nodes as u64,
        nodes_at_load: totals.nodes_at_load as u64,
        nodes_bound: totals.nodes_bound as u64,
        flops: totals.flops,
        macs: totals.macs,
        params: totals.params,
        params_bytes: totals.params_bytes,
        round_trip_bytes: totals.round_trip_bytes,
        fused_bytes: totals.fused_bytes,
        peak_activation_bytes: totals.peak_activation_bytes,
        not_counted: counted
            .unknown
            .operators
            .iter()
            .map(|(operator, (count, _))| (operator.clone(), *count as u64))
            .collect(),
    }
}

/// The format that most operations are in.
fn precision(counted: &Work) -> String {
    let mut sums: Vec<(&str, u64)> = Vec::new();
    for node in counted.nodes.iter().filter(|node| !node.at_load) {
        let name = match counted.element {
            As::Fp16 if node.element.is_float() => "fp16",
            As::Int8 if node.element.is_float() => "int8",
            // Its products are of 8 bits, and their sums of 32.
            _ if node.operator.ends_with("Integer") => "int8",
            _ => format_of(node.element),
        };
        let flops = node.flops.unwrap_or(0);
        match sums.iter_mut().find(|(known, _)| *known == name) {
            Some((_, sum)) => *sum = sum.saturating_add(flops),
            None => sums.push((name, flops)),
        }
    }
    let most = sums.iter().max_by_key(|(_, flops)| *flops);
    most.map_or("fp32", |(name, _)| name).to_owned()
}

fn format_of(element: Element) -> &'static str {
    match element {
        Element::Float16 => "fp16",
        Element::Bfloat16 => "bf16",
        Element::Double => "fp64",
        Element::Float8 => "fp8",
        Element::Float4 => "fp4",
        Element::Int8 | Element::Uint8 => "int8",
        Element::Int4 | Element::Uint4 => "int4",
        // Whole numbers of other sizes are indices and sizes: few, and beside the floats.
        _ => "fp32",
    }
}

fn record(node: &NodeWork, (tenant, network, place): (usize, usize, usize)) -> WorkRecord {
    let (sureness, why) = match &node.bound {
        Bound::Exact => (Sureness::Exact, String::new()),
        Bound::UpperBound => (Sureness::UpperBound, String::new()),
        Bound::Unknown(why) => (Sureness::Unknown, why.clone()),
    };
    let Moves { reads, writes } = node.moves.clone().unwrap_or_default();
    let moved = |all: Vec<jetlag_work::TensorMoved>| -> Vec<MovedTensor> {
        all.into_iter()
            .map(|one| MovedTensor {
                tensor: u32::try_from(one.tensor).unwrap_or(u32::MAX),
                bytes: one.bytes,
                leaves: one.leaves,
            })
            .collect()
    };
    WorkRecord {
        tenant: u16::try_from(tenant).unwrap_or(u16::MAX),
        network: u16::try_from(network).unwrap_or(u16::MAX),
        node: u32::try_from(place).unwrap_or(u32::MAX),
        name: node.name.clone(),
        operator: node.operator.clone(),
        element: serde_json::to_value(node.element)
            .ok()
            .and_then(|name| name.as_str().map(str::to_owned))
            .unwrap_or_default(),
        input_shape: node.input.as_deref().map(spelled),
        output_shape: node
            .outputs
            .first()
            .and_then(|shape| shape.as_deref())
            .map(spelled),
        flops: node.flops,
        macs: node.macs,
        params: node.params,
        bytes_read: node.bytes_read,
        bytes_written: node.bytes_written,
        times: node.times,
        at_load: node.at_load,
        sureness,
        why,
        reads: moved(reads),
        writes: moved(writes),
    }
}

/// `1x3x224x224`.
fn spelled(dims: &[u64]) -> String {
    match dims.is_empty() {
        true => "scalar".to_owned(),
        false => dims.iter().map(u64::to_string).collect::<Vec<_>>().join("x"),
    }
}
