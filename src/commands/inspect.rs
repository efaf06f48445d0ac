//! `jetlag inspect FILE`: what a run file, an ONNX network or a detector spec holds.
//!
//! The kind of file is told by its name. Of a run file there is what it holds, and no results, which are
//! those of `jetlag report`; a network may be executed with zeros to see the time per node.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read as _;
use std::path::Path;

use anyhow::Context;
use jetlag_stats::median::upper_median;
use serde_json::json;

use super::outcome::{Outcome, WrongUse};
use super::output::{print, say};
use super::run_path::spare_files;
use super::words::did_you_mean;
use super::{bag, fits, opening, report, tensorrt};
use crate::backend::cpu::CpuBackend;
use crate::backend::{Backend, NetworkSource, NodeTime, Program, Step, TensorSpec};
use crate::cli::{Format, InspectArgs};
use crate::detector::propose::{Proposal, propose};
use crate::engine::graph;
use crate::engine::manifest;
use crate::engine::network::{self, NetworkFacts, Port};
use crate::engine::plan::{PlanFacts, is_plan};
use crate::files;
use crate::record::MAGIC;
use crate::scenario::DetectorRef;
use crate::show::graph::{of_engine, svg};
use crate::show::inspect as show;
use crate::show::plan;
use crate::tensor::{ElementType, Shape};
use crate::units::Nanos;
use crate::whole;

/// Nodes shown of a profile.
const MOST_NODES: usize = 20;

/// Most boxes of a picture.
const MOST_BOXES: usize = 5000;

/// Bytes within which a run's manifest begins.
const HEAD: u64 = 4096;
/// A file that is shorter has no manifest yet.
const SHORT: usize = 64;

/// Inspects one file.
///
/// # Errors
/// A file that is not there or cannot be read; [`WrongUse`] for another kind of file, and for options that
/// its kind does not take.
pub fn run(args: &InspectArgs) -> anyhow::Result<Outcome> {
    if !args.file.exists() {
        let problem = format!(
            "cannot read {}: the file does not exist{}",
            args.file.display(),
            did_you_mean(&args.file)
        );
        return Err(WrongUse(problem).into());
    }
    let kind = args
        .file
        .extension()
        .and_then(|e| e.to_str())
        .unwrap_or_default()
        .to_ascii_lowercase();
    if args.work {
        return super::work::inspect(args, &kind);
    }
    check_options(args, &kind)?;
    match kind.as_str() {
        _ if args.file.is_dir() => bag::inspect(&args.file, args.format),
        "mcap" if is_run(&args.file) => report::inspect(&args.file, args.format),
        "mcap" | "db3" | "zstd" => bag::inspect(&args.file, args.format),
        "onnx" => inspect_network(args),
        "ron" => inspect_detector(&args.file, args.format),
        _ if is_plan(&args.file) => inspect_plan(args),
        _ => Err(WrongUse(format!(
            "{}: inspect reads run files (.mcap), bags (a folder, .mcap, .db3), networks (.onnx), plans (.plan, .engine, .trt) and detector specs (.ron)",
            args.file.display()
        ))
        .into()),
    }
}

/// Whether an MCAP file is a run of jetlag's and not a bag: a run's manifest is its first record. What is no MCAP file, or ends
/// before it could have one, counts as a run.
fn is_run(path: &Path) -> bool {
    let mut head = Vec::new();
    let read = files::open(path).and_then(|file| file.take(HEAD).read_to_end(&mut head));
    let manifest = b"jetlag.manifest";
    read.is_err()
        || head.len() < SHORT
        || !head.starts_with(MAGIC)
        || head.windows(manifest.len()).any(|window| window == manifest)
}

/// Whether profiling was asked for in a way that makes sense.
fn check_options(args: &InspectArgs, kind: &str) -> Result<(), WrongUse> {
    let is_network = kind == "onnx";
    let asked = args.profile.is_some() || !args.dims.is_empty();
    let problem = if asked && !is_network {
        format!(
            "{}: --profile and --dim are only for networks (.onnx)",
            args.file.display()
        )
    } else if args.graph.is_some() && !is_plan(&args.file) {
        format!(
            "{}: --graph draws plans (.plan, .engine, .trt)",
            args.file.display()
        )
    } else if args.profile == Some(0) {
        "--profile must be at least 1".to_owned()
    } else if args.profile.is_none() && !args.dims.is_empty() {
        "--dim is for --profile TIMES and --work: add one of them".to_owned()
    } else {
        return Ok(());
    };
    Err(WrongUse(problem))
}

fn inspect_network(args: &InspectArgs) -> anyhow::Result<Outcome> {
    let facts = network::read(&args.file)?;
    let times = args
        .profile
        .map(|n| profile_network(&args.file, &facts, n, &args.dims))
        .transpose()?;
    let name = args.file.display().to_string();
    match args.format {
        Format::Text => {
            let mut text = show::network(&name, &facts);
            text += &show::looks_like(&args.file, &propose(&facts));
            if let Some(times) = &times {
                text += &show::node_times(times, args.profile.unwrap_or(1), MOST_NODES);
            }
            print(&text)?;
        }
        Format::Json => {
            let nodes = times.map(|times| {
                times
                    .iter()
                    .map(|t| json!({ "name": t.name, "operator": t.operator, "median_ms": t.took.as_millis_f64() }))
                    .collect::<Vec<_>>()
            });
            let value = json!({
                "kind": "network", "file": name, "network": facts, "looks_like": looks_like(&facts), "nodes": nodes,
            });
            print(&(serde_json::to_string_pretty(&value)? + "\n"))?;
        }
    }
    Ok(Outcome::Done)
}

/// What a network may be, best first.
fn looks_like(facts: &NetworkFacts) -> Vec<serde_json::Value> {
    let proposal = |proposal: Proposal| json!({ "family": proposal.family, "head": proposal.head(), "reasons": proposal.reasons });
    propose(facts).into_iter().map(proposal).collect()
}

/// Executes a network with zeros and takes the median time of each node.
fn profile_network(
    path: &Path,
    facts: &NetworkFacts,
    executions: u32,
    dims: &[String],
) -> anyhow::Result<Vec<NodeTime>> {
    let sizes = sizes(dims)?;
    known_dimensions(&sizes, &facts.inputs)?;
    let host_tensors = facts
        .inputs
        .iter()
        .map(|port| tensor_of(port, &sizes))
        .collect::<anyhow::Result<Vec<_>>>()?;
    let program = Program {
        engines: vec![NetworkSource::File(path.to_owned())],
        steps: vec![Step::Engine(0)],
        host_tensors,
        ..Program::default()
    };
    let mut slots = CpuBackend::new(1, true).open(&program, 1)?.slots;
    let slot = slots.first_mut().context("the backend returned no slot")?;
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
        time.took = Nanos(upper_median(&mut all, Ord::cmp).unwrap_or(0));
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

/// Refuses a size for a dimension that no input has.
fn known_dimensions(sizes: &BTreeMap<&str, usize>, inputs: &[Port]) -> Result<(), WrongUse> {
    let dynamic: BTreeSet<&str> = inputs
        .iter()
        .flat_map(|port| &port.shape)
        .map(String::as_str)
        .filter(|d| d.parse::<usize>().is_err())
        .collect();
    let Some(unknown) = sizes.keys().find(|name| !dynamic.contains(*name)) else {
        return Ok(());
    };
    let there_are = if dynamic.is_empty() {
        "every size is fixed".to_owned()
    } else {
        let names: Vec<&str> = dynamic.into_iter().collect();
        format!("its dynamic dimensions are: {}", names.join(", "))
    };
    Err(WrongUse(format!(
        "--dim {unknown}: the network has no dynamic dimension of that name; {there_are}"
    )))
}

fn tensor_of(port: &Port, sizes: &BTreeMap<&str, usize>) -> anyhow::Result<TensorSpec> {
    let element = match port.element.as_str() {
        "float" => ElementType::F32,
        "int32" | "int64" | "bool" => ElementType::I32,
        "int8" => ElementType::I8,
        "uint8" => ElementType::U8,
        other => anyhow::bail!(
            "input `{}` has type {other}, which the cpu backend does not support",
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
                        "input `{}` has the dynamic dimension `{d}`: set it with --dim {d}=SIZE",
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

fn inspect_plan(args: &InspectArgs) -> anyhow::Result<Outcome> {
    let bytes = files::read(&args.file, files::NETWORK)
        .with_context(|| format!("cannot read {}", args.file.display()))?;
    let manifest = manifest::read(&args.file);
    let loaded = tensorrt::load(args, &bytes, manifest.as_ref().ok());
    let (manifest, loaded) = (
        manifest.map_err(|e| e.to_string()),
        loaded.map_err(|e| format!("{e:#}")),
    );
    let name = args.file.display().to_string();
    if let Some(picture) = &args.graph {
        return draw(args, picture, loaded.as_ref().map_err(String::as_str));
    }
    let view = plan::PlanView {
        name: &name,
        bytes: bytes.len() as u64,
        manifest: manifest.as_ref().map_err(String::as_str),
        loaded: loaded.as_ref().map_err(String::as_str),
    };
    match args.format {
        Format::Text => print(&plan::plan(&view))?,
        Format::Json => print(&(serde_json::to_string_pretty(&plan::plan_json(&view))? + "\n"))?,
    }
    let is_damaged = manifest
        .as_ref()
        .is_ok_and(|manifest| manifest.plan_blake3 != blake3::hash(&bytes).to_hex().as_str());
    // With neither manifest nor engine nothing was said of the plan.
    Ok(if is_damaged || (manifest.is_err() && loaded.is_err()) {
        Outcome::WrongUse
    } else {
        Outcome::Done
    })
}

/// `--graph`: the layers of a plan as a picture.
fn draw(args: &InspectArgs, picture: &Path, loaded: Result<&PlanFacts, &str>) -> anyhow::Result<Outcome> {
    spare_files(picture, args.force)?;
    let name = args.file.display().to_string();
    let facts = loaded.map_err(|problem| {
        WrongUse(format!(
            "{name} cannot be drawn, since it was not loaded: {problem}"
        ))
    })?;
    let layers = graph::layers(&facts.layer_information);
    if layers.is_empty() || layers.len() > MOST_BOXES {
        let problem = match layers.len() {
            0 => "it keeps nothing of its layers; build it with --profiling-verbosity detailed".to_owned(),
            many => format!("it has {many} layers, and a picture of more than {MOST_BOXES} shows nothing"),
        };
        return Err(WrongUse(format!("{name} cannot be drawn: {problem}")).into());
    }
    let edges = graph::edges(&layers).len();
    let drawn = svg(&of_engine(format!("{name}, {} layers", layers.len()), &layers));
    whole::write(picture, drawn, args.force)
        .with_context(|| format!("cannot write {}", picture.display()))?;
    say(&format!(
        "{}: {} layers; open it in a browser",
        picture.display(),
        layers.len()
    ));
    if edges == 0 {
        say(
            "The plan keeps no tensors between its layers, so there are no edges: build it with --profiling-verbosity detailed.",
        );
    }
    Ok(Outcome::Done)
}

fn inspect_detector(path: &Path, format: Format) -> anyhow::Result<Outcome> {
    let mut detector = opening::detector(&DetectorRef::File(path.to_owned())).map_err(WrongUse::because)?;
    let checked = fits::detector(&mut detector);
    let name = path.display().to_string();
    // A network that cannot be read is told, and does not hide the rest.
    let networks: Vec<(String, anyhow::Result<NetworkFacts>)> = detector
        .program
        .engines
        .iter()
        .map(|engine| match engine {
            NetworkSource::File(path) => (engine.to_string(), network::read(path).map_err(Into::into)),
            NetworkSource::Embedded { bytes, .. } => {
                (engine.to_string(), network::facts(bytes).map_err(Into::into))
            }
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
            text += &show::checked(&checked.problems, &checked.notes);
            print(&text)?;
        }
        Format::Json => {
            let engines: Vec<_> = networks
                .iter()
                .map(|(name, facts)| match facts {
                    Ok(facts) => json!({ "name": name, "network": facts }),
                    Err(problem) => json!({ "name": name, "error": problem.to_string() }),
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
                "problems": checked.problems,
                "notes": checked.notes,
            });
            print(&(serde_json::to_string_pretty(&value)? + "\n"))?;
        }
    }
    let broken = networks.iter().any(|(_, facts)| facts.is_err()) || !checked.problems.is_empty();
    Ok(if broken { Outcome::WrongUse } else { Outcome::Done })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_size_for_a_dimension_that_no_input_has_is_refused_with_those_there_are() {
        let input = |shape: &[&str]| Port {
            name: "images".to_owned(),
            element: "float".to_owned(),
            shape: shape.iter().map(|d| (*d).to_owned()).collect(),
            is_shaped: true,
            made_by: None,
        };
        let dynamic = [input(&["batch", "3", "height"])];
        let check = |name, inputs: &[Port]| known_dimensions(&BTreeMap::from([(name, 1)]), inputs);
        assert!(check("batch", &dynamic).is_ok());
        let text = check("bacth", &dynamic).unwrap_err().to_string();
        assert!(text.contains("--dim bacth"), "{text}");
        assert!(
            text.ends_with("its dynamic dimensions are: batch, height"),
            "{text}"
        );
        let text = check("3", &[input(&["1", "3"])]).unwrap_err().to_string();
        assert!(text.ends_with("every size is fixed"), "{text}");
    }
}
