//! What is to be built: the command line's options and input as one job a network.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::super::outcome::WrongUse;
use super::super::{calibration, opening};
use crate::backend::{NetworkSource, TensorSpec, without_camera};
use crate::cli::PlanArgs;
use crate::engine::manifest::NetworkIdentity;
use crate::engine::network::{self, NetworkFacts, Port};
use crate::engine::options::{BuildOptions, Profile, ShapeRange, profiles};
use crate::files;
use crate::scenario::{DetectorRef, MadeInputs};
use crate::source::ContentKind;

/// One network to be built.
pub(super) struct Job {
    pub(super) source: NetworkSource,
    pub(super) facts: NetworkFacts,
    pub(super) identity: NetworkIdentity,
    pub(super) options: BuildOptions,
    /// Where the plan goes; `None` for the cache alone.
    pub(super) output: Option<PathBuf>,
}

/// A network, and what its detector feeds it.
struct Source {
    network: NetworkSource,
    fed: Vec<TensorSpec>,
    /// Frames of one size, so that a dynamic extent is that size always.
    is_fixed: bool,
}

/// What plans are built of.
pub(in crate::commands) enum Input {
    /// One network.
    Network(PathBuf),
    /// The networks of a detector; for a network on made inputs, these.
    Detector(DetectorRef, Option<MadeInputs>),
}

impl Input {
    /// As the command line has it.
    ///
    /// # Errors
    /// [`WrongUse`] for a file of another kind.
    pub(super) fn read(text: &str) -> Result<Input, WrongUse> {
        let is_kind = |extension: &str| {
            let kind = Path::new(text).extension();
            kind.is_some_and(|kind| kind.eq_ignore_ascii_case(extension))
        };
        match text.strip_prefix("builtin:") {
            Some(name) => Ok(Input::Detector(DetectorRef::Builtin(name.to_owned()), None)),
            None if is_kind("onnx") => Ok(Input::Network(PathBuf::from(text))),
            None if is_kind("ron") => Ok(Input::Detector(DetectorRef::File(PathBuf::from(text)), None)),
            None => {
                let takes =
                    "build takes a network (.onnx), a detector spec (.ron), builtin:camera or builtin:lidar";
                Err(WrongUse(format!("{text}: {takes}")))
            }
        }
    }

    /// The detector; none for a network.
    pub(super) fn detector(&self) -> Option<&DetectorRef> {
        match self {
            Input::Network(_) => None,
            Input::Detector(reference, _) => Some(reference),
        }
    }
}

/// The jobs that the input and the arguments come to.
///
/// # Errors
/// [`WrongUse`] for what cannot be; a network or detector that cannot be read.
pub(super) fn jobs(input: &Input, args: &PlanArgs, options: &BuildOptions) -> anyhow::Result<Vec<Job>> {
    let sources = sources(input)?;
    let outputs = outputs(args.output.as_deref(), &sources)?;
    let mut jobs = Vec::new();
    for (source, output) in sources.iter().zip(outputs) {
        let name = source.network.to_string();
        let (facts, blake3, bytes) = match &source.network {
            NetworkSource::File(path) => {
                let (blake3, bytes) = network::identity(path)?;
                (network::read(path)?, blake3, bytes)
            }
            NetworkSource::Embedded { bytes, .. } => {
                let facts = network::facts(bytes).map_err(|problem| anyhow::anyhow!("{name}: {problem}"))?;
                (facts.clone(), facts.blake3, bytes.len() as u64)
            }
        };
        let identity = NetworkIdentity { name, blake3, bytes };
        jobs.push(Job {
            source: source.network.clone(),
            facts,
            identity,
            options: options.clone(),
            output,
        });
    }
    for (job, source) in jobs
        .iter_mut()
        .zip(&sources)
        .filter(|(_, source)| !source.fed.is_empty())
    {
        // A detector's engines have different inputs; each takes what is its own.
        for profile in &mut job.options.profiles {
            profile.retain(|input, _| job.facts.inputs.iter().any(|port| port.name == *input));
        }
        if job.options.profiles.iter().all(BTreeMap::is_empty) {
            job.options.profiles = default_profile(&job.facts.inputs, source).into_iter().collect();
        }
    }
    let known: BTreeSet<&str> = jobs
        .iter()
        .flat_map(|job| &job.facts.inputs)
        .map(|port| port.name.as_str())
        .collect();
    let named = options.profiles.iter().flat_map(BTreeMap::keys);
    if let Some(unknown) = named.into_iter().find(|name| !known.contains(name.as_str())) {
        let known: Vec<&str> = known.into_iter().collect();
        return Err(WrongUse(format!(
            "shapes are given for `{unknown}`, but the network's inputs are {}",
            known.join(", ")
        ))
        .into());
    }
    Ok(jobs)
}

/// The options of the command line.
///
/// # Errors
/// Shapes that do not make profiles; calibration of a bare network.
pub(super) fn options(input: &Input, args: &PlanArgs) -> Result<BuildOptions, WrongUse> {
    let wrong = |error: crate::engine::options::OptionError| WrongUse(error.to_string());
    let mut compute_capabilities: Vec<u16> = args
        .compute_capabilities
        .iter()
        .map(|capability| capability.0)
        .collect();
    compute_capabilities.sort_unstable();
    compute_capabilities.dedup();
    Ok(BuildOptions {
        precision: args.precision,
        profiles: profiles(&args.min_shapes, &args.opt_shapes, &args.max_shapes).map_err(wrong)?,
        pools: args.pools.iter().map(|limit| (limit.0, limit.1)).collect(),
        optimization_level: args.optimization_level,
        max_aux_streams: args.max_aux_streams,
        contexts: args.contexts.unwrap_or(1),
        sparsity: args.sparsity,
        version_compatible: args.version_compatible,
        hardware_compatibility: args.hardware_compatibility,
        verbosity: args.profiling_verbosity,
        dla_core: args.dla_core,
        gpu_fallback: args.gpu_fallback,
        compute_capabilities,
        plugins: args.plugins.clone(),
        calibration: calibration(input, args)?,
    })
}

/// What calibration depends on, in words and hashes: the frames, and the detector that prepares them.
fn calibration(input: &Input, args: &PlanArgs) -> Result<Option<String>, WrongUse> {
    let Some(source) = &args.calibrate else {
        return Ok(None);
    };
    if args.calibration_frames == 0 {
        return Err(WrongUse("--calibration-frames must be at least 1".to_owned()));
    }
    let spec = match input.detector() {
        Some(DetectorRef::Fusion(_)) => {
            let advice = "a fusion has networks of two detectors, each prepared in its own way: build the plans of each by itself with --calibrate, and name them in TensorRt(plans: […])";
            return Err(WrongUse(advice.to_owned()));
        }
        Some(reference) if takes_sets(reference, input) => {
            let advice = "--calibrate takes frames of one sensor, and this network takes sets of several: build its plan elsewhere and name it in TensorRt(plans: […]), or build it here with --precision fp16";
            return Err(WrongUse(advice.to_owned()));
        }
        Some(reference) => spec_text(reference),
        None => {
            let advice = "--calibrate prepares frames like the detector: name the detector spec (.ron), not the network";
            return Err(WrongUse(advice.to_owned()));
        }
    };
    let frames = calibration::describe(source, args.calibration_frames);
    Ok(Some(format!(
        "{frames}, prepared by {}",
        &blake3::hash(&spec).to_hex()[..16]
    )))
}

/// Whether frames are sets, of one network. What cannot be opened is told where its networks are sought.
fn takes_sets(reference: &DetectorRef, input: &Input) -> bool {
    match (reference.spec(), input) {
        (DetectorRef::Whole(_), _) => true,
        (DetectorRef::File(_), Input::Detector(_, made)) => {
            let opened = opening::fed(reference, made.as_ref());
            opened.is_ok_and(|detector| detector.input == ContentKind::Set)
        }
        _ => false,
    }
}

/// What a detector's spec says.
fn spec_text(reference: &DetectorRef) -> Vec<u8> {
    match reference {
        DetectorRef::File(path) | DetectorRef::Whole(path) => {
            files::read(path, files::TEXT).unwrap_or_default()
        }
        DetectorRef::Builtin(name) => format!("{name} of jetlag {}", env!("CARGO_PKG_VERSION")).into_bytes(),
        // Which network it is goes into the plan's key by itself.
        DetectorRef::WithNetwork { spec, .. } => spec_text(spec),
        DetectorRef::Fusion(of) => [spec_text(&of.camera), spec_text(&of.lidar)].concat(),
    }
}

fn sources(input: &Input) -> anyhow::Result<Vec<Source>> {
    let (reference, made) = match input {
        Input::Network(path) => {
            return Ok(vec![Source {
                network: NetworkSource::File(path.clone()),
                fed: Vec::new(),
                is_fixed: false,
            }]);
        }
        Input::Detector(reference, made) => (reference, made.as_ref()),
    };
    let detector = opening::fed(reference, made).map_err(WrongUse::because)?;
    let (fed, is_fixed) = (
        detector.program.host_tensors,
        detector.input == ContentKind::Image || detector.input == ContentKind::Empty,
    );
    let source = |network| Source {
        network,
        fed: fed.clone(),
        is_fixed,
    };
    Ok(detector.program.engines.into_iter().map(source).collect())
}

fn stem(network: &NetworkSource) -> String {
    let path = match network {
        NetworkSource::File(path) => path.as_path(),
        NetworkSource::Embedded { name, .. } => Path::new(name),
    };
    path.file_stem()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned()
}

/// The plan's name in the working folder, for builds without cache and without -o.
pub(super) fn plan_name(network: &NetworkSource) -> PathBuf {
    PathBuf::from(format!("{}.plan", stem(network)))
}

/// Where each plan goes. Makes nothing yet.
fn outputs(output: Option<&Path>, sources: &[Source]) -> Result<Vec<Option<PathBuf>>, WrongUse> {
    let Some(output) = output else {
        return Ok(vec![None; sources.len()]);
    };
    if sources.len() == 1 && !output.is_dir() {
        return Ok(vec![Some(output.to_owned())]);
    }
    if output.extension().is_some() && !output.is_dir() {
        let (count, output) = (sources.len(), output.display());
        return Err(WrongUse(format!(
            "this detector has {count} engines: name a folder with -o, not {output}"
        )));
    }
    let paths: Vec<PathBuf> = sources
        .iter()
        .map(|source| output.join(plan_name(&source.network)))
        .collect();
    if let Some(twice) = paths
        .iter()
        .enumerate()
        .find_map(|(n, path)| paths[..n].contains(path).then_some(path))
    {
        return Err(WrongUse(format!(
            "two of the detector's networks would be written to {}: rename one",
            twice.display()
        )));
    }
    Ok(paths.into_iter().map(Some).collect())
}

/// A profile for the inputs with dynamic extents that the detector feeds: from 1 to the largest that it makes, tuned for
/// half of that; where it feeds one size, that size.
fn default_profile(inputs: &[Port], source: &Source) -> Option<Profile> {
    let mut profile = BTreeMap::new();
    for port in inputs {
        let fixed: Vec<Option<i64>> = port.shape.iter().map(|extent| extent.parse().ok()).collect();
        if fixed.iter().all(Option::is_some) {
            continue;
        }
        let mut fed = source.fed.iter();
        let tensor = fed.find(|tensor| without_camera(&tensor.name) == port.name)?;
        let largest = tensor.max_shape.dims();
        if largest.len() != fixed.len() {
            return None;
        }
        let shape = |of: &dyn Fn(i64) -> i64| -> Vec<i64> {
            let extents = fixed.iter().zip(largest);
            extents
                .map(|(fixed, largest)| {
                    fixed.unwrap_or_else(|| of(i64::try_from(*largest).unwrap_or(i64::MAX)).max(1))
                })
                .collect()
        };
        let max = shape(&|largest| largest);
        let range = if source.is_fixed {
            ShapeRange {
                min: max.clone(),
                opt: max.clone(),
                max,
            }
        } else {
            ShapeRange {
                min: shape(&|_| 1),
                opt: shape(&|largest| largest / 2),
                max,
            }
        };
        profile.insert(port.name.clone(), range);
    }
    (!profile.is_empty()).then_some(profile)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tensor::{ElementType, Shape};

    fn port(name: &str, shape: &[&str]) -> Port {
        Port {
            name: name.into(),
            element: "float".into(),
            shape: shape.iter().map(|extent| (*extent).to_owned()).collect(),
            is_shaped: true,
            made_by: None,
        }
    }

    fn source(file: &str, is_fixed: bool) -> Source {
        let max_shape = Shape::new(&[4000, 16, 9]).expect("a shape");
        let fed = vec![TensorSpec {
            name: "pillars".into(),
            element: ElementType::F32,
            max_shape,
        }];
        Source {
            network: NetworkSource::File(PathBuf::from(file)),
            fed,
            is_fixed,
        }
    }

    #[test]
    fn a_detectors_dynamic_inputs_get_the_shapes_that_it_makes() {
        let ports = [port("pillars", &["n", "16", "9"]), port("fixed", &["1"])];
        let profile = default_profile(&ports, &source("a.onnx", false)).expect("a profile");
        let range = ShapeRange {
            min: vec![1, 16, 9],
            opt: vec![2000, 16, 9],
            max: vec![4000, 16, 9],
        };
        assert_eq!(profile, BTreeMap::from([("pillars".to_owned(), range)]));
        assert_eq!(
            default_profile(&[port("fixed", &["1"])], &source("a.onnx", false)),
            None
        );
        assert_eq!(
            default_profile(&[port("unknown", &["n"])], &source("a.onnx", false)),
            None
        );
    }

    #[test]
    fn a_detector_that_feeds_one_size_is_built_for_that() {
        let profile = default_profile(&[port("pillars", &["n", "h", "9"])], &source("a.onnx", true))
            .expect("a profile");
        let range = &profile["pillars"];
        assert_eq!(
            (&range.min, &range.opt, &range.max),
            (&range.max, &range.max, &vec![4000, 16, 9])
        );
    }

    #[test]
    fn several_engines_go_into_a_folder_under_names_of_their_own() {
        let two = [source("a/encoder.onnx", false), source("a/backbone.onnx", false)];
        assert!(outputs(Some(Path::new("x.plan")), &two).is_err());
        let paths = outputs(Some(Path::new("plans")), &two).expect("paths");
        assert_eq!(paths[1], Some(PathBuf::from("plans/backbone.plan")));
        assert_eq!(outputs(None, &two).expect("the cache"), [None, None]);
        let same = [source("a/net.onnx", false), source("b/net.onnx", false)];
        assert!(outputs(Some(Path::new("plans")), &same).is_err());
    }
}
