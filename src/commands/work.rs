//! `jetlag inspect --work FILE`: what a network computes, moves and keeps in memory, told from its file.
//!
//! The counting is in `jetlag-work`; which sizes a detector's networks get is said here.

use std::collections::BTreeMap;
use std::path::Path;

use jetlag_work::{As, Given, Graph, OPSETS, Optimiser, Options, Work, WorkError, pagoda, text, work};

use super::opening;
use super::outcome::{Outcome, WrongUse};
use super::output::{print, say};
use crate::backend::{NetworkSource, without_camera};
use crate::cli::{CountedAs, Format, InspectArgs, OptimiserArg, WorkRules};
use crate::detector::Detector;
use crate::detector::network::facts_of;
use crate::engine::plan::is_plan;
use crate::engine::{manifest, network};
use crate::scenario::DetectorRef;

/// Columns of a table where nothing is known of the terminal.
const WIDTH: usize = 100;

/// Prints the work of a network, or of each of a detector's.
///
/// # Errors
/// [`WrongUse`] for a file of another kind, sizes that are missing or contradict the network, a network that cannot be read.
pub(super) fn inspect(args: &InspectArgs, kind: &str) -> anyhow::Result<Outcome> {
    match kind {
        "onnx" => {
            let graph = open(&args.file)?;
            one(args, &graph, &given(&args.dims, &args.shapes)?)
        }
        "ron" => detector(args),
        _ if is_plan(&args.file) => plan(args),
        _ => Err(WrongUse(format!(
            "{}: --work reads networks (.onnx), plans with their manifest, and detector specs (.ron)",
            args.file.display()
        ))
        .into()),
    }
}

/// The work of the network that a plan was built of, where that is still there: a plan does not hold it.
fn plan(args: &InspectArgs) -> anyhow::Result<Outcome> {
    let shown = args.file.display();
    let manifest = manifest::read(&args.file).map_err(|error| {
        WrongUse(format!(
            "{shown}: a plan does not hold the network that it was built of, and {error}; name its ONNX file"
        ))
    })?;
    let file = Path::new(&manifest.network.name);
    let refuse = |found: &str| {
        WrongUse(format!(
            "{shown}: a plan does not hold the network that it was built of; that was {}, which {found}; name its ONNX file",
            file.display()
        ))
    };
    if !file.is_file() {
        return Err(refuse("is not here").into());
    }
    let (hash, _) = network::identity(file).map_err(|error| refuse(&format!("cannot be read ({error})")))?;
    if hash != manifest.network.blake3 {
        return Err(refuse("is another file now").into());
    }
    let graph = open(file)?;
    let mut sizes = given(&args.dims, &args.shapes)?;
    for tensor in manifest.tensors.iter().filter(|tensor| tensor.mode == "input") {
        let dims: Option<Vec<u64>> = tensor.shape.iter().map(|dim| u64::try_from(*dim).ok()).collect();
        if let Some(dims) = dims {
            sizes.shapes.entry(tensor.name.clone()).or_insert(dims);
        }
    }
    if args.format == Format::Text {
        print(&format!(
            "the network {} that {shown} was built of\n\n",
            file.display()
        ))?;
    }
    one(args, &graph, &sizes)
}

/// A network's graph; what its operators mean in a version that is not known is said on stderr.
///
/// # Errors
/// [`WrongUse`] that names the file.
pub(super) fn open(path: &Path) -> Result<Graph, WrongUse> {
    let graph = Graph::open(path).map_err(|error| of_file(path, &error))?;
    if let Some(version) = graph.untried_opset() {
        say(&format!(
            "{}: opset {version} is counted as if its operators were those of opset {} to {}; export it with one of these",
            path.display(),
            OPSETS.start(),
            OPSETS.end()
        ));
    }
    Ok(graph)
}

/// What is wrong with a network, with the file's name once.
pub(super) fn of_file(path: &Path, error: &WorkError) -> WrongUse {
    match error {
        WorkError::Io { .. } | WorkError::NotAFile { .. } => WrongUse(error.to_string()),
        _ => WrongUse(format!("{}: {error}", path.display())),
    }
}

/// Sizes as `--dim` and `--shape` give them.
///
/// # Errors
/// [`WrongUse`] for one that is written otherwise.
pub(super) fn given(dims: &[String], shapes: &[String]) -> Result<Given, WrongUse> {
    let mut given = Given::default();
    for text in dims {
        given.dim(text).map_err(WrongUse::because)?;
    }
    for text in shapes.iter().flat_map(|shapes| shapes.split(',')) {
        given.shape(text).map_err(WrongUse::because)?;
    }
    Ok(given)
}

fn options(args: &InspectArgs) -> Options {
    Options {
        element: match args.counted_as {
            None => As::Stored,
            Some(CountedAs::Fp16) => As::Fp16,
            Some(CountedAs::Int8) => As::Int8,
        },
        training: args.training.map(|optimiser| match optimiser {
            OptimiserArg::Sgd => Optimiser::Sgd,
            OptimiserArg::Momentum => Optimiser::Momentum,
            OptimiserArg::Adam => Optimiser::Adam,
        }),
    }
}

fn one(args: &InspectArgs, graph: &Graph, given: &Given) -> anyhow::Result<Outcome> {
    let out = match args.compat {
        Some(WorkRules::Pagoda) => {
            let batch = args.batch.unwrap_or(1);
            let counted = pagoda(graph, given, batch, args.training.is_some())
                .map_err(|error| of_file(&args.file, &error))?;
            match args.format {
                Format::Json => serde_json::to_string_pretty(&counted)? + "\n",
                Format::Text => format!(
                    "by Pagoda's rules (docs/work.md), batch {batch}\nFLOPs      {}\nbytes      {}\nweights    {} bytes\nintensity  {}\n",
                    counted.flops,
                    counted.bytes,
                    counted.param_bytes,
                    counted
                        .intensity
                        .map_or("–".to_owned(), |intensity| format!("{intensity:.3} FLOP/byte"))
                ),
            }
        }
        None => {
            let counted = work(graph, given, &options(args)).map_err(|error| of_file(&args.file, &error))?;
            match args.format {
                Format::Json => serde_json::to_string_pretty(&counted)? + "\n",
                Format::Text => text(&counted, width()) + "\n",
            }
        }
    };
    print(&out)?;
    Ok(Outcome::Done)
}

fn width() -> usize {
    let columns = std::env::var("COLUMNS")
        .ok()
        .and_then(|columns| columns.parse().ok());
    columns.unwrap_or(WIDTH)
}

/// Each network of a detector, with the sizes that the detector gives it.
fn detector(args: &InspectArgs) -> anyhow::Result<Outcome> {
    if args.compat.is_some() {
        return Err(WrongUse("--compat is for networks (.onnx)".to_owned()).into());
    }
    let reference = DetectorRef::File(args.file.clone());
    let detector = opening::detector(&reference).map_err(WrongUse::because)?;
    let mut all: BTreeMap<String, Work> = BTreeMap::new();
    for engine in &detector.program.engines {
        let graph = match engine {
            NetworkSource::File(path) => open(path)?,
            NetworkSource::Embedded { bytes, .. } => {
                Graph::from_bytes(bytes).map_err(|error| WrongUse(format!("{engine}: {error}")))?
            }
        };
        let given = of_detector(&detector, engine, given(&args.dims, &args.shapes)?)?;
        let counted =
            work(&graph, &given, &options(args)).map_err(|error| WrongUse(format!("{engine}: {error}")))?;
        all.insert(name(engine), counted);
    }
    let out = match args.format {
        Format::Json => serde_json::to_string_pretty(&all)? + "\n",
        Format::Text => {
            let tables = all
                .iter()
                .map(|(name, counted)| format!("{name}\n{}\n", text(counted, width())));
            tables.collect::<Vec<_>>().join("\n")
        }
    };
    print(&out)?;
    Ok(Outcome::Done)
}

fn name(engine: &NetworkSource) -> String {
    let text = engine.to_string();
    let file = Path::new(&text)
        .file_name()
        .map(|name| name.to_string_lossy().into_owned());
    file.unwrap_or(text)
}

/// The largest shapes that the detector feeds, for inputs that the network leaves open.
pub(super) fn of_detector(
    detector: &Detector,
    engine: &NetworkSource,
    mut given: Given,
) -> anyhow::Result<Given> {
    let facts = facts_of(engine).map_err(WrongUse::because)?;
    for tensor in &detector.program.host_tensors {
        let open = facts.inputs.iter().any(|port| {
            port.name == without_camera(&tensor.name)
                && port.shape.iter().any(|extent| extent.parse::<u64>().is_err())
        });
        if open {
            let dims = tensor.max_shape.dims().iter().map(|dim| *dim as u64);
            given
                .shapes
                .entry(without_camera(&tensor.name).to_owned())
                .or_insert_with(|| dims.collect());
        }
    }
    Ok(given)
}
