//! `jetlag predict fit|eval|apply`: latency, memory and energy of networks that were not run.
//!
//! Features, models and their errors are in `jetlag-predict`; here is what the command line says, and how a network's file becomes a
//! table of layers.

use std::path::Path;

use jetlag_figure::Style;
use jetlag_figure::section::terminal;
use jetlag_predict::{
    Dataset, EvalOptions, FeatureSet, FitOptions, LayerTable, Model, ModelError, PredictError, Protocol,
    Question, Stage, Verdict, dataset, eval, fit, sections,
};
use jetlag_work::{Dim, Given, Graph};

use super::outcome::{Outcome, WrongUse};
use super::output::{print, say};
use super::section::{Medium, print_sections};
use super::work;
use crate::cli::{
    Features, PredictApply, PredictCommand, PredictEval, PredictFit, PredictProtocol, PredictStage,
};
use crate::record::Manifest;

/// Fits, evaluates or applies a model.
///
/// # Errors
/// [`WrongUse`] for data, models and networks that cannot be read or do not suffice, with what would.
pub(super) fn run(command: &PredictCommand) -> anyhow::Result<Outcome> {
    match command {
        PredictCommand::Fit(args) => fit_model(args),
        PredictCommand::Eval(args) => evaluate(args),
        PredictCommand::Apply(args) => apply(args),
        PredictCommand::Pairs(command) => pairs::run(command),
    }
}

fn features(wanted: Features) -> Option<FeatureSet> {
    match wanted {
        Features::Auto => None,
        Features::Jetlag => Some(FeatureSet::Jetlag),
        Features::Perf4sight => Some(FeatureSet::Perf4sight),
        Features::Both => Some(FeatureSet::Both),
    }
}

fn stage(wanted: PredictStage) -> Stage {
    match wanted {
        PredictStage::Training => Stage::Training,
        PredictStage::Inference => Stage::Inference,
    }
}

/// The measurements of a sweep's folder, or of one with tables. What a sweep's runs do not give is said on stderr.
fn measured(folder: &Path, only: &[String]) -> anyhow::Result<Dataset> {
    if !sweep::is_one(folder) {
        if let Some(given) = only.first() {
            return Err(WrongUse(format!(
                "--where {given} chooses among the runs of a sweep, and {} is not a sweep's folder; leave it out",
                folder.display()
            ))
            .into());
        }
        return Ok(dataset::open(folder).map_err(WrongUse::because)?);
    }
    let measured = sweep::open(folder, only)?;
    measured.notes.iter().for_each(|note| say(note));
    Ok(measured.data)
}

fn evaluate(args: &PredictEval) -> anyhow::Result<Outcome> {
    let protocol = args.protocol.unwrap_or_default();
    let is_of_modes = protocol == PredictProtocol::LeaveModesOut && args.fit.is_none();
    if let (Some(modes), false) = (args.modes, is_of_modes) {
        return Err(WrongUse(format!(
            "--modes {modes} is of --protocol leave-modes-out, without --fit; leave it out, or choose that protocol"
        ))
        .into());
    }
    let data = measured(&args.data, &args.only)?;
    let fitted = args
        .fit
        .as_deref()
        .map(|folder| measured(folder, &args.only))
        .transpose()?;
    let defaults = EvalOptions::default();
    let options = EvalOptions {
        fit: FitOptions {
            features: features(args.features),
            seed: args.seed,
            ..FitOptions::default()
        },
        protocol: match protocol {
            PredictProtocol::SameNetwork => Protocol::SameNetwork,
            PredictProtocol::Pooled => Protocol::Pooled,
            PredictProtocol::LeaveOneNetworkOut => Protocol::LeaveOneNetworkOut,
            PredictProtocol::LeaveModesOut => Protocol::LeaveModesOut,
        },
        modes: args.modes.unwrap_or(defaults.modes),
        stage: args.stage.map(stage),
        ..defaults
    };
    let evaluation = eval(&data, fitted.as_ref(), &options).map_err(|error| refused(&data, error))?;
    match Medium::of(args.format) {
        Some(medium) => print_sections(&[sections::evaluation(&evaluation)], medium)?,
        None => print(&(serde_json::to_string_pretty(&evaluation)? + "\n"))?,
    }
    Ok(Outcome::Done)
}

/// Where rows do not suffice, those that were left out may be the cause.
fn refused(data: &Dataset, error: PredictError) -> WrongUse {
    if let Some(left_out) = sections::left_out(data) {
        say(terminal::section(&left_out, |none| match *none {}, &Style::default()).trim_end());
    }
    WrongUse::because(error)
}

fn fit_model(args: &PredictFit) -> anyhow::Result<Outcome> {
    if args.output.exists() && !args.force {
        return Err(WrongUse(format!(
            "{} exists; choose another name, or --force",
            args.output.display()
        ))
        .into());
    }
    let data = measured(&args.data, &args.only)?;
    let options = FitOptions {
        features: features(args.features),
        seed: args.seed,
        ..FitOptions::default()
    };
    let model = fit(&data, &options).map_err(|error| refused(&data, error))?;
    model.save(&args.output).map_err(WrongUse::because)?;
    let fitted = [sections::model(&model)]
        .into_iter()
        .chain(sections::left_out(&data));
    print_sections(&fitted.collect::<Vec<_>>(), Medium::Terminal)?;
    print(&format!("wrote {}\n", args.output.display()))?;
    Ok(Outcome::Done)
}

fn apply(args: &PredictApply) -> anyhow::Result<Outcome> {
    let model = Model::load(&args.model).map_err(|error| match error {
        ModelError::File { .. } => WrongUse::because(error),
        other => WrongUse(format!("{}: {other}", args.model.display())),
    })?;
    let given = work::given(&args.dims, &args.shapes)?;
    let (table, batch) = layers(&args.network, &given)?;
    let device = modes::device(&model.facts().devices, args)?;
    let question = Question {
        table: &table,
        batch: args.batch.unwrap_or(batch),
        stage: args
            .stage
            .map_or_else(|| only_stage(&model), |wanted| Ok(stage(wanted)))?,
        device: device.as_ref(),
        deadline_ms: args.deadline.as_deref().map(milliseconds).transpose()?,
    };
    let answer = model.apply(&question).map_err(WrongUse::because)?;
    match Medium::of(args.format) {
        Some(medium) => print_sections(&[sections::answer(&answer)], medium)?,
        None => print(&(serde_json::to_string_pretty(&answer)? + "\n"))?,
    }
    // A latency that is not told is not known to be in time.
    let late = args.deadline.is_some() && answer.late.is_none_or(|late| late.in_time != Verdict::Yes);
    let lacks_room = args.deadline.is_some() && answer.fits.is_some_and(|fits| fits.verdict == Verdict::No);
    Ok(match late || lacks_room {
        true => Outcome::ExpectationBroken,
        false => Outcome::Done,
    })
}

fn milliseconds(text: &str) -> Result<f64, WrongUse> {
    let duration =
        crate::units::parse_duration(text).map_err(|error| WrongUse(format!("--deadline: {error}")))?;
    Ok(duration.as_secs_f64() * 1e3)
}

/// The board and what executed there.
fn chip(manifest: &Manifest, backend: &str, is_on_gpu: bool) -> String {
    let fact = |name: &str| manifest.machine.get(name).cloned();
    let chip = if is_on_gpu { fact("gpu") } else { fact("cpu") };
    let board = fact("board").or(chip).unwrap_or_else(|| "unknown".to_owned());
    format!("{board}, {backend}")
}

/// The stage that a model knows, where it is one.
fn only_stage(model: &Model) -> Result<Stage, WrongUse> {
    let mut stages: Vec<Stage> = model.targets().iter().map(|target| target.stage).collect();
    stages.sort_unstable();
    stages.dedup();
    match stages[..] {
        [only] => Ok(only),
        _ => Err(WrongUse(
            "the model was fitted on training and on inference: say which with --stage".to_owned(),
        )),
    }
}

/// Sizes for a network whose file fixes the batch at one, and the batch that was asked for instead: models count layers for a batch of
/// one and take the batch apart.
fn batch_apart(graph: &Graph, given: &Given) -> (Given, Option<u32>) {
    let (mut given, mut asked) = (given.clone(), None);
    for input in graph.inputs() {
        let fixed = input.shape.as_deref().and_then(<[Dim]>::first) == Some(&Dim::Fixed(1));
        if let Some(first) = given
            .shapes
            .get_mut(&input.name)
            .and_then(|shape| shape.first_mut())
            && fixed
            && *first > 1
        {
            asked = u32::try_from(*first).ok();
            *first = 1;
        }
    }
    (given, asked)
}

/// The layers of a network's file for a batch of one, and the batch that it was asked for.
fn layers(path: &Path, given: &Given) -> anyhow::Result<(LayerTable, u32)> {
    let kind = path
        .extension()
        .and_then(|kind| kind.to_str())
        .unwrap_or_default();
    let instead = match kind.to_ascii_lowercase().as_str() {
        "ron" => "is a detector spec; name the ONNX file of one of its networks",
        "plan" | "engine" | "trt" => {
            "is a plan, which does not hold the network that it was built of; name its ONNX file"
        }
        "mcap" => "is a run file or a bag; name the ONNX file of a network",
        _ => "",
    };
    if !instead.is_empty() {
        return Err(WrongUse(format!("{} {instead}", path.display())).into());
    }
    let graph = work::open(path)?;
    let (given, asked) = batch_apart(&graph, given);
    let (table, batch) =
        described(&graph, &given, None).map_err(|error| WrongUse(format!("{}: {error}", path.display())))?;
    Ok((table, asked.unwrap_or(batch)))
}

/// The layers of a network, and the batch that these sizes are of: the one that is known, or the first dimension; or a sentence.
fn described(graph: &Graph, given: &Given, known: Option<u32>) -> Result<(LayerTable, u32), String> {
    let layers = jetlag_work::layers(graph, given).map_err(|error| error.to_string())?;
    let batch = known.unwrap_or_else(|| u32::try_from(layers.batch).unwrap_or(u32::MAX).max(1));
    let table = LayerTable::new(table::of(&layers.layers, batch)).map_err(|error| error.to_string())?;
    Ok((table, batch))
}

mod modes;
mod pairs;
mod sweep;
mod table;
