//! `jetlag build NETWORK_OR_DETECTOR`: TensorRT plans, through the plan cache.
//!
//! ```text
//! $ jetlag build engines/camera.ron --compute-capability 89 -o camera.plan
//! camera.plan: built in 1.2 s by TensorRT-RTX 1.7.1.116 for compute capability 8.9
//! ```
//!
//! Everything that can be refused is refused before anything is built, all at once. A plan that the cache holds
//! already is taken from there. The first Ctrl-C stops a build cleanly, the second ends the program.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use anyhow::Context;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::calibration::DetectorFrames;
use super::{Outcome, WrongUse, prepare, print, run::stop_on_signals};
use crate::backend::tensorrt::build::{self, BuildError, Built, Request};
use crate::backend::tensorrt::calibrate::FrameCalibrator;
use crate::backend::tensorrt::{self, BuildProgress, Library};
use crate::backend::{NetworkSource, TensorSpec};
use crate::cli::{BuildArgs, Format};
use crate::engine::cache::{self, CachedPlan, PlanCache, PlanKey};
use crate::engine::manifest::{NetworkIdentity, PlanManifest, Target};
use crate::engine::network::{self, NetworkFacts, Port};
use crate::engine::options::{BuildOptions, Profile, ShapeRange, profiles};
use crate::gpu;
use crate::report::plan::{self as show, Finished};
use crate::scenario::DetectorRef;

/// One network to be built.
struct Job {
    source: NetworkSource,
    facts: NetworkFacts,
    identity: NetworkIdentity,
    options: BuildOptions,
}

/// Builds what the arguments ask for.
///
/// # Errors
/// [`WrongUse`] for options that cannot be, all at once; failures of the library in its own words.
pub fn run(args: &BuildArgs) -> anyhow::Result<Outcome> {
    let options = options(args)?;
    let sources = sources(&args.input)?;
    let several = sources.len() > 1;
    let outputs = outputs(args.output.as_deref(), &sources)?;
    let jobs = jobs(sources, &options)?;
    let library = tensorrt::find(args.tensorrt.as_deref())?;
    let device = gpu::first();
    let mut problems = Vec::new();
    for job in &jobs {
        let of = if several {
            format!("{}: ", job.identity.name)
        } else {
            String::new()
        };
        let found = build::refusals(library, &job.options, &job.facts, device.is_ok());
        problems.extend(found.into_iter().map(|problem| format!("{of}{problem}")));
    }
    problems.dedup();
    if !problems.is_empty() {
        return Err(WrongUse(format!("this cannot be built:\n  - {}", problems.join("\n  - "))).into());
    }
    let target = match &device {
        _ if !options.compute_capabilities.is_empty() => {
            Target::ComputeCapabilities(options.compute_capabilities.clone())
        }
        Ok(device) => Target::Gpu {
            name: device.name.clone(),
            compute_capability: device.compute_capability,
        },
        // The library will say that it needs one, in its own words.
        Err(_) => Target::Gpu {
            name: "no GPU".to_owned(),
            compute_capability: 0,
        },
    };
    let cache = PlanCache::new(args.cache.clone().unwrap_or_else(cache::default_folder));
    let stop = stop_where_it_is_clean(library)?;
    let session = Session {
        library,
        target,
        missing_gpu: device.err(),
        cache: &cache,
        args,
        stop,
    };
    let mut finished = Vec::new();
    for (job, output) in jobs.into_iter().zip(outputs) {
        match session.build(job, output) {
            Ok(plan) => finished.push(plan),
            Err(error) if matches!(error.downcast_ref(), Some(BuildError::Stopped { .. })) => {
                super::say(&error.to_string());
                return Ok(Outcome::Interrupted);
            }
            Err(error) => return Err(wrong_use(error)),
        }
    }
    match args.format {
        Format::Text => print(&show::finished(&finished)),
        Format::Json => print(&(serde_json::to_string_pretty(&show::finished_json(&finished))? + "\n")),
    }
    Ok(Outcome::Done)
}

/// Options that only the parsed network showed to be impossible are wrong use as well.
fn wrong_use(error: anyhow::Error) -> anyhow::Error {
    match error.downcast_ref() {
        Some(BuildError::Refused { .. }) => WrongUse(error.to_string()).into(),
        _ => error,
    }
}

/// What all builds of one command share.
struct Session<'a> {
    library: Library,
    target: Target,
    missing_gpu: Option<gpu::GpuError>,
    cache: &'a PlanCache,
    args: &'a BuildArgs,
    stop: Arc<AtomicBool>,
}

impl Session<'_> {
    fn build(&self, job: Job, output: Option<PathBuf>) -> anyhow::Result<Finished> {
        let builder = tensorrt::describe(self.library.version());
        let key = PlanKey::new(&job.identity.blake3, &job.options, &builder, &self.target);
        if self.args.no_cache {
            let built = self.make(job)?;
            let path = output.unwrap_or_else(|| PathBuf::from(format!("{}.plan", key.as_str())));
            write(&path, built.plan.bytes(), &built.manifest)?;
            return Ok(Finished {
                path,
                was_cached: false,
                manifest: built.manifest,
            });
        }
        // Held until the plan is stored: another process that wants the same waits, and finds it.
        let _lock = self.cache.lock(&key)?;
        let found = self.cache.find(&key);
        let was_cached = found.is_some();
        let CachedPlan { path, manifest } = match found {
            Some(plan) => plan,
            None => {
                let built = self.make(job)?;
                self.cache.store(&key, built.plan.bytes(), &built.manifest)?
            }
        };
        let Some(output) = output else {
            return Ok(Finished {
                path,
                was_cached,
                manifest,
            });
        };
        let plan = std::fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
        write(&output, &plan, &manifest)?;
        Ok(Finished {
            path: output,
            was_cached,
            manifest,
        })
    }

    fn make(&self, job: Job) -> anyhow::Result<Built> {
        let timings = self.timing_cache();
        let earlier = timings
            .as_ref()
            .map(|file| std::fs::read(file).unwrap_or_default());
        let calibrator = self.calibrator(&job)?;
        let bar = progress_bar(&job.identity.name, self.args.quiet);
        let shown = bar.clone();
        let request = Request {
            network: &job.source,
            identity: job.identity,
            facts: &job.facts,
            options: job.options,
            target: self.target.clone(),
            timing_cache: earlier,
            watch: Some(Box::new(move |progress| show_progress(&shown, progress))),
            stop: Arc::clone(&self.stop),
            calibrator,
        };
        let built = build::build(self.library, request);
        bar.finish_and_clear();
        let built = built.map_err(|error| match (&error, &self.missing_gpu) {
            (BuildError::Library { .. }, Some(missing)) if self.args.compute_capabilities.is_empty() => {
                anyhow::anyhow!("{missing}; {error}")
            }
            _ => error.into(),
        })?;
        if let (Some(file), Some(bytes)) = (timings, &built.timing_cache) {
            let folder = file.parent().unwrap_or(Path::new("."));
            let kept = std::fs::create_dir_all(folder).and_then(|()| cache::write_whole(&file, bytes));
            // Only time is lost without it.
            if let Err(error) = kept {
                log::warn!("the timing cache {} is not kept: {error}", file.display());
            }
        }
        Ok(built)
    }

    fn calibrator(&self, job: &Job) -> anyhow::Result<Option<Box<dyn tensorrt::Calibrator>>> {
        let (Some(source), Some(description)) = (&self.args.calibrate, &job.options.calibration) else {
            return Ok(None);
        };
        let Some(reference) = detector_of(&self.args.input) else {
            return Err(WrongUse("--calibrate prepares frames as a detector does: give the detector spec (.ron), not the network".to_owned()).into());
        };
        let detector = prepare::detector(&reference).map_err(WrongUse)?;
        // What the host does not feed by itself comes out of engines.
        let is_first = detector
            .program
            .engines
            .first()
            .is_some_and(|first| first.to_string() == job.identity.name);
        let frames = DetectorFrames::open(source, self.args.calibration_frames, detector, !is_first)?;
        let uploads = gpu::Uploads::open(0).context("calibration needs the GPU's memory")?;
        let key = blake3::hash(format!("{} {description}", job.identity.blake3).as_bytes()).to_hex();
        let file = self.cache.folder().join(format!("{}.calibration", &key[..32]));
        Ok(Some(Box::new(FrameCalibrator::new(
            Box::new(frames),
            Box::new(uploads),
            file,
        ))))
    }

    fn timing_cache(&self) -> Option<PathBuf> {
        let args = self.args;
        let default = || build::timing_cache_file(self.cache.folder(), self.library, &self.target);
        // Timings are of a GPU; a build for others measures none.
        let measures = matches!(self.target, Target::Gpu { .. });
        (measures && !args.no_timing_cache).then(|| args.timing_cache.clone().unwrap_or_else(default))
    }
}

fn write(path: &Path, plan: &[u8], manifest: &PlanManifest) -> anyhow::Result<()> {
    cache::write_plan(path, plan, manifest).with_context(|| {
        format!(
            "cannot write the plan {}; nothing half-written stays",
            path.display()
        )
    })
}

/// Releases without a progress monitor cannot stop a build: there, Ctrl-C ends the program as it always does, and
/// nothing is written before the end.
fn stop_where_it_is_clean(library: Library) -> anyhow::Result<Arc<AtomicBool>> {
    if build::can_be_stopped(library) {
        stop_on_signals()
    } else {
        Ok(Arc::default())
    }
}

fn progress_bar(name: &str, quiet: bool) -> ProgressBar {
    let target = if quiet {
        ProgressDrawTarget::hidden()
    } else {
        ProgressDrawTarget::stderr()
    };
    let bar = ProgressBar::with_draw_target(Some(1000), target);
    // A template that does not parse would be a mistake of ours; the default bar then serves.
    if let Ok(style) = ProgressStyle::with_template("{prefix} {elapsed:>4} {bar:24} {wide_msg}") {
        bar.set_style(style);
    }
    let short = Path::new(name)
        .file_name()
        .map_or_else(|| name.to_owned(), |name| name.to_string_lossy().into_owned());
    bar.set_prefix(short);
    bar
}

fn show_progress(bar: &ProgressBar, progress: &BuildProgress) {
    // A phase that was not announced makes the fraction fall; a bar that goes back tells nobody anything.
    let position = (progress.fraction * 1000.0) as u64;
    bar.set_position(bar.position().max(position));
    bar.set_message(progress.phase.clone());
}

/// The options of the command line.
fn options(args: &BuildArgs) -> Result<BuildOptions, WrongUse> {
    let profiles = profiles(&args.min_shapes, &args.opt_shapes, &args.max_shapes)
        .map_err(|error| WrongUse(error.to_string()))?;
    Ok(BuildOptions {
        precision: args.precision,
        profiles,
        pools: args.pools.iter().map(|limit| (limit.0, limit.1)).collect(),
        optimization_level: args.optimization_level,
        max_aux_streams: args.max_aux_streams,
        sparsity: args.sparsity,
        version_compatible: args.version_compatible,
        hardware_compatibility: args.hardware_compatibility,
        verbosity: args.profiling_verbosity,
        dla_core: args.dla_core,
        gpu_fallback: args.gpu_fallback,
        compute_capabilities: args
            .compute_capabilities
            .iter()
            .map(|capability| capability.0)
            .collect(),
        plugins: args.plugins.clone(),
        calibration: args
            .calibrate
            .as_ref()
            .map(|source| format!("{} frames of {source}", args.calibration_frames)),
    })
}

/// The detector that the input names; none for a network.
fn detector_of(input: &str) -> Option<DetectorRef> {
    match input.strip_prefix("builtin:") {
        Some(name) => Some(DetectorRef::Builtin(name.to_owned())),
        None => is_kind(input, "ron").then(|| DetectorRef::File(PathBuf::from(input))),
    }
}

fn is_kind(input: &str, extension: &str) -> bool {
    Path::new(input)
        .extension()
        .is_some_and(|kind| kind.eq_ignore_ascii_case(extension))
}

/// The networks, each with the largest shapes that its detector feeds it.
fn sources(input: &str) -> anyhow::Result<Vec<(NetworkSource, Vec<TensorSpec>)>> {
    if is_kind(input, "onnx") {
        return Ok(vec![(NetworkSource::File(PathBuf::from(input)), Vec::new())]);
    }
    let Some(detector) = detector_of(input) else {
        let takes = "build takes a network (.onnx), a detector spec (.ron), builtin:camera or builtin:lidar";
        return Err(WrongUse(format!("{input}: {takes}")).into());
    };
    let detector = prepare::detector(&detector).map_err(WrongUse)?;
    let fed = detector.program.host_tensors;
    Ok(detector
        .program
        .engines
        .into_iter()
        .map(|engine| (engine, fed.clone()))
        .collect())
}

/// Where each plan goes; `None` for the cache alone.
fn outputs(
    output: Option<&Path>,
    sources: &[(NetworkSource, Vec<TensorSpec>)],
) -> Result<Vec<Option<PathBuf>>, WrongUse> {
    let Some(output) = output else {
        return Ok(vec![None; sources.len()]);
    };
    if sources.len() == 1 && !output.is_dir() {
        return Ok(vec![Some(output.to_owned())]);
    }
    if output.extension().is_some() && !output.is_dir() {
        return Err(WrongUse(format!(
            "this detector has {} engines: give a folder with -o, not {}",
            sources.len(),
            output.display()
        )));
    }
    if let Err(error) = std::fs::create_dir_all(output) {
        return Err(WrongUse(format!(
            "cannot make the folder {}: {error}",
            output.display()
        )));
    }
    let name = |source: &NetworkSource| match source {
        NetworkSource::File(path) => path
            .file_stem()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned(),
        NetworkSource::Embedded { name, .. } => Path::new(name)
            .file_stem()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned(),
    };
    Ok(sources
        .iter()
        .map(|(source, _)| Some(output.join(format!("{}.plan", name(source)))))
        .collect())
}

fn jobs(sources: Vec<(NetworkSource, Vec<TensorSpec>)>, options: &BuildOptions) -> anyhow::Result<Vec<Job>> {
    sources
        .into_iter()
        .map(|(source, fed)| {
            let name = source.to_string();
            let (facts, blake3, bytes) = match &source {
                NetworkSource::File(path) => {
                    let (blake3, bytes) = network::identity(path)?;
                    (network::read(path)?, blake3, bytes)
                }
                NetworkSource::Embedded { bytes, .. } => {
                    let facts =
                        network::facts(bytes).map_err(|problem| anyhow::anyhow!("{name}: {problem}"))?;
                    (facts.clone(), facts.blake3, bytes.len() as u64)
                }
            };
            let mut options = options.clone();
            if options.profiles.is_empty() {
                options.profiles.extend(default_profile(&facts.inputs, &fed));
            } else {
                // A detector's engines have different inputs; each takes what is its own.
                for profile in options.profiles.iter_mut().filter(|_| !fed.is_empty()) {
                    profile.retain(|input, _| facts.inputs.iter().any(|port| port.name == *input));
                }
                options.profiles.retain(|profile| !profile.is_empty());
            }
            Ok(Job {
                source,
                facts,
                identity: NetworkIdentity { name, blake3, bytes },
                options,
            })
        })
        .collect()
}

/// A profile for the inputs with dynamic extents that the detector feeds: from 1 to the largest that it makes, tuned
/// for half of that.
fn default_profile(inputs: &[Port], fed: &[TensorSpec]) -> Option<Profile> {
    let mut profile = BTreeMap::new();
    for port in inputs {
        let fixed: Vec<Option<i64>> = port.shape.iter().map(|extent| extent.parse().ok()).collect();
        if fixed.iter().all(Option::is_some) {
            continue;
        }
        let largest = fed
            .iter()
            .find(|tensor| tensor.name == port.name)?
            .max_shape
            .dims()
            .to_vec();
        if largest.len() != fixed.len() {
            return None;
        }
        let with = |of: &dyn Fn(i64) -> i64| -> Vec<i64> {
            fixed
                .iter()
                .zip(&largest)
                .map(|(fixed, largest)| fixed.unwrap_or_else(|| of(*largest as i64)))
                .collect()
        };
        let range = ShapeRange {
            min: with(&|_| 1),
            opt: with(&|largest| (largest / 2).max(1)),
            max: with(&|largest| largest.max(1)),
        };
        profile.insert(port.name.clone(), range);
    }
    (!profile.is_empty()).then_some(profile)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tensor::{ElementType, Shape};

    #[test]
    fn a_detectors_dynamic_inputs_get_the_shapes_that_it_makes() {
        let port = |name: &str, shape: &[&str]| Port {
            name: name.into(),
            element: "float".into(),
            shape: shape.iter().map(|extent| (*extent).to_owned()).collect(),
        };
        let fed = [TensorSpec {
            name: "pillars".into(),
            element: ElementType::F32,
            max_shape: Shape::new(&[4000, 16, 9]).expect("a shape"),
        }];
        let profile = default_profile(&[port("pillars", &["n", "16", "9"]), port("fixed", &["1"])], &fed)
            .expect("a profile");
        assert_eq!(
            profile["pillars"],
            ShapeRange {
                min: vec![1, 16, 9],
                opt: vec![2000, 16, 9],
                max: vec![4000, 16, 9]
            }
        );
        assert_eq!(profile.len(), 1);
        assert_eq!(default_profile(&[port("fixed", &["1"])], &fed), None);
        assert_eq!(default_profile(&[port("unknown", &["n"])], &fed), None);
    }

    #[test]
    fn several_engines_go_into_a_folder() {
        let source = |name: &str| (NetworkSource::File(PathBuf::from(name)), Vec::new());
        let two = [source("a/encoder.onnx"), source("a/backbone.onnx")];
        assert!(outputs(Some(Path::new("x.plan")), &two).is_err());
        let folder = tempfile::tempdir().expect("a folder");
        let paths = outputs(Some(folder.path()), &two).expect("paths");
        assert_eq!(paths[1], Some(folder.path().join("backbone.plan")));
        assert_eq!(outputs(None, &two).expect("the cache"), [None, None]);
    }
}
