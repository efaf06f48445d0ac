//! `jetlag inspect FILE`: what a run file, an ONNX network or a detector spec holds.
//!
//! The kind of file is told by its name. A run file is summarised as `jetlag report` does it, below what
//! its manifest says; a network may be executed with zeros to see the time per node.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::Context;
use serde_json::json;

use super::{Outcome, WrongUse, prepare, print, report};
use crate::backend::cpu::CpuBackend;
use crate::backend::{Backend, NetworkSource, NodeTime, Program, Step, TensorSpec};
use crate::cli::{Format, InspectArgs};
use crate::engine::network::{self, NetworkFacts, Port};
use crate::report::inspect as show;
use crate::scenario::DetectorRef;
use crate::tensor::{ElementType, Shape};
use crate::units::Nanos;

/// Nodes shown of a profile.
const MOST_NODES: usize = 20;

/// Inspects one file.
pub fn run(args: &InspectArgs) -> anyhow::Result<Outcome> {
    let kind = args
        .file
        .extension()
        .and_then(|e| e.to_str())
        .unwrap_or_default()
        .to_ascii_lowercase();
    match kind.as_str() {
        "mcap" => report::inspect(&args.file, args.format),
        "onnx" => inspect_network(args),
        "ron" => inspect_detector(&args.file, args.format),
        _ => Err(WrongUse(format!(
            "{}: inspect takes a run file (.mcap), a network (.onnx) or a detector spec (.ron)",
            args.file.display()
        ))
        .into()),
    }
}

fn inspect_network(args: &InspectArgs) -> anyhow::Result<Outcome> {
    let facts = network::read(&args.file)?;
    let times = args
        .profile
        .map(|n| profile_network(&args.file, &facts, n.max(1), &args.dims))
        .transpose()?;
    let name = args.file.display().to_string();
    match args.format {
        Format::Text => {
            let mut text = show::network(&name, &facts);
            if let Some(times) = &times {
                text += &show::node_times(times, args.profile.unwrap_or(1), MOST_NODES);
            }
            print(&text);
        }
        Format::Json => {
            let nodes = times.map(|times| {
                times
                    .iter()
                    .map(|t| json!({ "name": t.name, "operator": t.operator, "median_ms": t.took.as_millis_f64() }))
                    .collect::<Vec<_>>()
            });
            let value = json!({ "kind": "network", "file": name, "network": facts, "nodes": nodes });
            print(&(serde_json::to_string_pretty(&value)? + "\n"));
        }
    }
    Ok(Outcome::Done)
}

/// Executes a network with zeros and takes the median time of each node.
fn profile_network(
    path: &Path,
    facts: &NetworkFacts,
    executions: u32,
    dims: &[String],
) -> anyhow::Result<Vec<NodeTime>> {
    let sizes = sizes(dims)?;
    let host_tensors = facts
        .inputs
        .iter()
        .map(|port| tensor_of(port, &sizes))
        .collect::<anyhow::Result<Vec<_>>>()?;
    let program = Program {
        engines: vec![NetworkSource::File(path.to_owned())],
        steps: vec![Step::Engine(0)],
        host_tensors,
    };
    let mut slots = CpuBackend::new(1, true).open(&program, 1)?;
    let slot = slots.first_mut().context("the backend made no slot")?;
    let mut took: Vec<Vec<i64>> = Vec::new();
    let mut times = Vec::new();
    // The first execution warms caches and is not counted.
    for execution in 0..=executions {
        slot.submit()?;
        slot.wait()?;
        if execution == 0 {
            times = slot.node_times().to_vec();
            took = vec![Vec::new(); times.len()];
        } else {
            for (all, time) in took.iter_mut().zip(slot.node_times()) {
                all.push(time.took.0);
            }
        }
    }
    for (time, mut all) in times.iter_mut().zip(took) {
        all.sort_unstable();
        time.took = Nanos(all.get(all.len() / 2).copied().unwrap_or(0));
    }
    Ok(times)
}

fn sizes(dims: &[String]) -> anyhow::Result<BTreeMap<&str, usize>> {
    dims.iter()
        .map(|text| {
            let (name, size) = text.split_once('=').unwrap_or((text, ""));
            let size = size.parse().map_err(|_| {
                WrongUse(format!(
                    "--dim {text}: write NAME=SIZE, for example --dim batch=1"
                ))
            })?;
            Ok((name, size))
        })
        .collect()
}

fn tensor_of(port: &Port, sizes: &BTreeMap<&str, usize>) -> anyhow::Result<TensorSpec> {
    let element = match port.element.as_str() {
        "float" => ElementType::F32,
        "int32" | "int64" | "bool" => ElementType::I32,
        "int8" => ElementType::I8,
        "uint8" => ElementType::U8,
        other => anyhow::bail!(
            "input `{}` is of type {other}, which the cpu backend does not take",
            port.name
        ),
    };
    let dims = port
        .shape
        .iter()
        .map(|d| {
            d.parse()
                .ok()
                .or_else(|| sizes.get(d.as_str()).copied())
                .ok_or_else(|| {
                    WrongUse(format!(
                        "input `{}` has the dynamic dimension `{d}`: give it with --dim {d}=SIZE",
                        port.name
                    ))
                })
        })
        .collect::<Result<Vec<usize>, _>>()?;
    let max_shape =
        Shape::new(&dims).with_context(|| format!("input `{}` has {} dimensions", port.name, dims.len()))?;
    Ok(TensorSpec {
        name: port.name.clone(),
        element,
        max_shape,
    })
}

fn inspect_detector(path: &Path, format: Format) -> anyhow::Result<Outcome> {
    let detector = prepare::detector(&DetectorRef::File(path.to_owned())).map_err(anyhow::Error::msg)?;
    let name = path.display().to_string();
    // A network that cannot be read is told, and does not hide the rest.
    let networks: Vec<(String, Result<NetworkFacts, String>)> = detector
        .program
        .engines
        .iter()
        .map(|engine| match engine {
            NetworkSource::File(path) => (engine.to_string(), network::read(path).map_err(|e| e.to_string())),
            NetworkSource::Embedded { bytes, .. } => (engine.to_string(), network::facts(bytes)),
        })
        .collect();
    match format {
        Format::Text => {
            let mut text = show::detector(&name, &detector);
            for (name, facts) in &networks {
                text.push('\n');
                match facts {
                    Ok(facts) => text += &show::network(name, facts),
                    Err(problem) => text += &format!("{problem}\n"),
                }
            }
            print(&text);
        }
        Format::Json => {
            let engines: Vec<_> = networks
                .iter()
                .map(|(name, facts)| match facts {
                    Ok(facts) => json!({ "name": name, "network": facts }),
                    Err(problem) => json!({ "name": name, "error": problem }),
                })
                .collect();
            let value = json!({
                "kind": "detector",
                "file": name,
                "name": detector.name,
                "input": detector.input,
                "classes": detector.classes,
                "steps": show::steps(&detector),
                "engines": engines,
            });
            print(&(serde_json::to_string_pretty(&value)? + "\n"));
        }
    }
    let broken = networks.iter().any(|(_, facts)| facts.is_err());
    Ok(if broken { Outcome::Failed } else { Outcome::Done })
}
