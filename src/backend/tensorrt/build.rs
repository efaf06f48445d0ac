//! From a network and options to a plan: one build through the library, from refusals to manifest.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use tensorrt_dyn::{
    Builder, BuilderConfig, DataType, Error, Flavour, Library, OnnxParser, Plan, TimingCache,
};

use super::calibrate::FrameCalibrator;
use super::library::describe;
use super::options::{self, MachineTraits, NetworkTraits};
use super::progress::{BuildProgress, Monitor};
use crate::backend::NetworkSource;
use crate::engine::manifest::{NetworkIdentity, PlanManifest, PlanTensor, SCHEMA, Target};
use crate::engine::network::{NetworkFacts, Port};
use crate::engine::options::BuildOptions;
use crate::gpu::{Device, Gpu};

/// Sees how far a build is, from the library's threads.
pub type OnProgress = Box<dyn Fn(&BuildProgress) + Send + Sync>;

/// What is to be built, and for whom.
pub struct Request<'a> {
    /// The network from which the plan is built.
    pub network: &'a NetworkSource,
    /// Its name and content.
    pub identity: NetworkIdentity,
    /// What its file says.
    pub facts: &'a NetworkFacts,
    /// The options of `jetlag build`.
    pub options: BuildOptions,
    /// The command line's arguments, for the manifest.
    pub arguments: Vec<String>,
    /// The GPU that the plan is to run on.
    pub target: Target,
    /// Which of this machine's GPUs is built on; none where there is none.
    pub gpu: Option<u16>,
    /// The bytes of an earlier timing cache; `None` builds without one.
    pub timing_cache: Option<Vec<u8>>,
    /// Sees how far the build is, several times a second.
    pub watch: Option<OnProgress>,
    /// Set to stop the build.
    pub stop: Arc<AtomicBool>,
    /// Supplies frames for INT8 calibration.
    pub calibrator: Option<FrameCalibrator>,
}

/// A plan with its manifest.
#[derive(Debug)]
pub struct Built {
    /// The plan as TensorRT serialised it.
    pub plan: Plan,
    /// How it was made.
    pub manifest: PlanManifest,
    /// The timing cache after the build.
    pub timing_cache: Option<Vec<u8>>,
}

/// Why there is no plan.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    /// Options that this release, network or machine cannot do.
    #[error("cannot build {network} with these options:{}", bullets(problems))]
    Refused {
        /// Name of the network.
        network: String,
        /// Each in a sentence.
        problems: Vec<String>,
    },
    /// The network's file is damaged, or made to harm.
    #[error("cannot build {network}: {problem}")]
    Network {
        /// Name of the network.
        network: String,
        /// What is wrong with it.
        problem: String,
    },
    /// Stopped by the user.
    #[error("the build of {network} was stopped; nothing was written")]
    Stopped {
        /// Name of the network.
        network: String,
    },
    /// A call of the TensorRT library failed.
    #[error("cannot build {network}: {error}")]
    Library {
        /// Name of the network.
        network: String,
        /// With the library's own words.
        error: Box<Error>,
    },
}

fn bullets(problems: &[String]) -> String {
    problems
        .iter()
        .map(|problem| format!("\n  - {problem}"))
        .collect()
}

/// Whether the network says how its numbers are scaled.
fn is_quantised(facts: &NetworkFacts) -> bool {
    // Also TRT_FP8QuantizeLinear and its kin, which Model Optimizer writes.
    let is_quantiser = |operator: &String| {
        (operator.contains("QuantizeLinear") || operator.contains("DequantizeLinear"))
            && !operator.contains("DynamicQuantize")
    };
    facts.operators.keys().any(is_quantiser)
}

/// Everything in the options that this release, network or machine cannot do; empty if a build can be tried.
pub fn refusals(
    library: Library,
    options: &BuildOptions,
    facts: &NetworkFacts,
    gpu: Option<&Device>,
) -> Vec<String> {
    let network = NetworkTraits {
        is_quantised: is_quantised(facts),
    };
    let machine = MachineTraits {
        compute_capability: gpu.map(|gpu| gpu.compute_capability),
    };
    options::refusals(options, library.version(), network, machine)
}

/// Whether kernels are timed while building, so that timings can be kept. TensorRT-RTX compiles for GPUs that are not
/// there and times none.
pub fn keeps_timings(library: Library) -> bool {
    library.version().flavour == Flavour::TensorRt
}

/// The bytes that calibration reads of each input: those of the first profile's opt shape, which it calibrates with.
fn calibration_lengths(facts: &NetworkFacts, options: &BuildOptions) -> BTreeMap<String, usize> {
    let length = |port: &Port| {
        let element = match port.element.as_str() {
            "float" | "int32" => 4,
            "float16" => 2,
            "int64" => 8,
            _ => 1,
        };
        let given = options
            .profiles
            .first()
            .and_then(|profile| profile.get(&port.name));
        let shape: Option<Vec<i64>> = match given {
            Some(range) => Some(range.opt.clone()),
            None => port.shape.iter().map(|extent| extent.parse().ok()).collect(),
        };
        let extents = shape?
            .into_iter()
            .map(|extent| usize::try_from(extent).unwrap_or(0));
        Some((port.name.clone(), extents.fold(element, usize::saturating_mul)))
    };
    facts.inputs.iter().filter_map(length).collect()
}

/// NVIDIA's library of plugins beside TensorRT, for a network that has layers of it (`EfficientNMS_TRT`); none where it has none, or
/// there is no such library.
pub fn nvidias_plugins(library: Library, facts: &NetworkFacts) -> Option<PathBuf> {
    // Its layers, and no other operator, are named so.
    let is_nvidias = |operator: &String| operator.ends_with("_TRT");
    let version = library.version();
    if version.flavour != Flavour::TensorRt || !facts.operators.keys().any(is_nvidias) {
        return None;
    }
    let name = format!("libnvinfer_plugin.so.{}", version.major);
    let file = library.path().parent()?.join(name);
    file.is_file().then_some(file)
}

/// Whether each context of a plan with dynamic shapes needs a profile of its own.
pub fn wants_a_profile_each(library: Library) -> bool {
    let version = library.version();
    version.era() == tensorrt_dyn::Era::A && !version.at_least(8, 6, 1)
}

/// Whether a running build can be stopped: releases from 9.1 on and RTX have progress monitors.
pub fn can_be_stopped(library: Library) -> bool {
    let version = library.version();
    version.era() != tensorrt_dyn::Era::A || version.at_least(9, 1, 0)
}

/// Builds. The library's own threads work too; this one waits.
///
/// # Errors
/// See [`BuildError`].
pub fn build(library: Library, request: Request<'_>) -> Result<Built, BuildError> {
    let network = request.identity.name.clone();
    let failed = |error| BuildError::Library {
        network: network.clone(),
        error: Box::new(error),
    };
    let refused = |problems: Vec<String>| BuildError::Refused {
        network: network.clone(),
        problems,
    };
    let began = Instant::now();
    request.network.check().map_err(|error| BuildError::Network {
        network: network.clone(),
        problem: error.to_string(),
    })?;
    // The builder times kernels on the GPU whose context is this thread's.
    let bound = request.gpu.map(Gpu::open).transpose();
    let _bound = bound.map_err(|error| refused(vec![error.to_string()]))?;
    for plugins in &request.options.plugins {
        library.load_plugins(plugins).map_err(failed)?;
    }
    let builder = library.builder().map_err(failed)?;
    if let Some(problem) = dla_problem(&builder, &request.options).map_err(failed)? {
        return Err(refused(vec![problem]));
    }
    let empty = builder
        .network(options::network_options(&request.options))
        .map_err(failed)?;
    let mut parser = empty.parser().map_err(failed)?;
    parse(&mut parser, request.network).map_err(failed)?;
    let problems = options::profile_problems(&request.options, &parser).map_err(failed)?;
    if !problems.is_empty() {
        return Err(refused(problems));
    }
    let mut config = builder.config().map_err(failed)?;
    options::apply(
        &request.options,
        &config,
        library.version(),
        capability(&request.target),
        is_quantised(request.facts) || request.calibrator.is_some(),
    )
    .map_err(failed)?;
    let problems = options::pools_not_taken(&request.options, &config).map_err(failed)?;
    if !problems.is_empty() {
        return Err(refused(problems));
    }
    options::add_profiles(&request.options, &builder, &parser, &config).map_err(failed)?;
    if let Some(calibrator) = request.calibrator {
        let calibrator = calibrator.reading(calibration_lengths(request.facts, &request.options));
        // SAFETY: it gives blocks that its uploads own (`Upload`), of the length just said, that of the first profile's opt shape,
        // which is the calibration profile; they stay until other bytes come under the name.
        unsafe { config.set_int8_calibrator(Box::new(calibrator)) }.map_err(failed)?;
    }
    let cache = request
        .timing_cache
        .as_deref()
        .and_then(|bytes| timing_cache(&mut config, bytes));
    watch(&mut config, request.watch, &request.stop);
    let plan =
        builder
            .build(&parser, &config)
            .map_err(|error| match request.stop.load(Ordering::Relaxed) {
                true => BuildError::Stopped {
                    network: network.clone(),
                },
                false => failed(error),
            })?;
    let manifest = PlanManifest {
        schema: SCHEMA,
        jetlag: env!("CARGO_PKG_VERSION").to_owned(),
        network: request.identity,
        options: request.options,
        arguments: request.arguments,
        builder: describe(library.version()),
        target: request.target,
        built_unix_s: SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .map_or(0, |since| since.as_secs()),
        build_seconds: began.elapsed().as_secs_f64(),
        plan_blake3: blake3::hash(plan.bytes()).to_hex().to_string(),
        plan_bytes: plan.bytes().len() as u64,
        network_layers: u32::try_from(parser.layer_count().map_err(failed)?).unwrap_or(0),
        tensors: tensors(&parser).map_err(failed)?,
    };
    let timing_cache = cache.and_then(|cache| match cache.serialize() {
        Ok(bytes) => Some(bytes.bytes().to_vec()),
        Err(error) => {
            log::warn!("the timing cache cannot be saved: {error}");
            None
        }
    });
    Ok(Built {
        plan,
        manifest,
        timing_cache,
    })
}

fn parse(parser: &mut OnnxParser, network: &NetworkSource) -> tensorrt_dyn::Result<()> {
    match network {
        NetworkSource::File(path) => parser.parse_file(path),
        NetworkSource::Embedded { name, bytes } => parser.parse(bytes, name),
    }
}

/// The compute capability that is built for, where it is one.
fn capability(target: &Target) -> Option<u16> {
    match target {
        Target::Gpu {
            compute_capability, ..
        } => Some(*compute_capability),
        Target::ComputeCapabilities(all) => all.iter().min().copied(),
    }
}

/// An accelerator that is not there is found by asking the builder, which is the only one to know.
fn dla_problem(builder: &Builder, options: &BuildOptions) -> tensorrt_dyn::Result<Option<String>> {
    let Some(core) = options.dla_core else {
        return Ok(None);
    };
    let cores = builder.dla_cores()?;
    Ok((core >= cores).then(|| match cores {
        ..=0 => format!("DLA core {core} was requested, but this machine has no DLA"),
        _ => format!("DLA core {core} was requested, but this machine has {cores}, numbered from 0"),
    }))
}

/// Uses a timing cache; one that the library does not take is left, since a build without it is only slower.
fn timing_cache(config: &mut BuilderConfig, bytes: &[u8]) -> Option<TimingCache> {
    let made = config.create_timing_cache(bytes).or_else(|error| {
        log::warn!("the timing cache is unreadable and starts empty: {error}");
        config.create_timing_cache(&[])
    });
    let used = made.and_then(|cache| config.set_timing_cache(&cache, false).map(|()| cache));
    used.map_err(|error| log::warn!("building without a timing cache: {error}"))
        .ok()
}

/// Releases before 9.1 have no progress monitor: nothing is shown there, and an interrupt ends the process.
fn watch(config: &mut BuilderConfig, watch: Option<OnProgress>, stop: &Arc<AtomicBool>) {
    let stop = Arc::clone(stop);
    let monitor = Monitor::new(Box::new(move |progress| {
        if let Some(watch) = &watch {
            watch(progress);
        }
        match stop.load(Ordering::Relaxed) {
            true => std::ops::ControlFlow::Break(()),
            false => std::ops::ControlFlow::Continue(()),
        }
    }));
    if let Err(error) = config.set_progress_monitor(Box::new(monitor)) {
        log::debug!("no progress is shown: {error}");
    }
}

fn tensors(network: &OnnxParser) -> tensorrt_dyn::Result<Vec<PlanTensor>> {
    let inputs = network.inputs()?.into_iter().map(|tensor| (tensor, "input"));
    let outputs = network.outputs()?.into_iter().map(|tensor| (tensor, "output"));
    inputs
        .chain(outputs)
        .map(|(tensor, mode)| {
            Ok(PlanTensor {
                name: tensor.name()?,
                mode: mode.to_owned(),
                data_type: type_name(tensor.data_type()?),
                shape: tensor.dimensions()?,
            })
        })
        .collect()
}

/// `float`, `half`, `int8`: the library's names without their prefix.
pub(super) fn type_name(data_type: Option<DataType>) -> String {
    data_type.map_or_else(
        || "unknown".to_owned(),
        |known| known.name().trim_start_matches('k').to_lowercase(),
    )
}

/// The file of timings for a library and target inside a cache folder.
pub fn timing_cache_file(folder: &Path, library: Library, target: &Target) -> PathBuf {
    let builder = describe(library.version());
    let name = format!("{}-{}-{target}", builder.flavour, builder.version);
    let safe: String = name
        .chars()
        .map(|c| {
            if c.is_ascii_alphanumeric() || c == '.' {
                c
            } else {
                '-'
            }
        })
        .collect();
    folder.join(format!("{}.timing", safe.to_lowercase()))
}
